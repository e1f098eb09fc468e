/* SPDX-License-Identifier: Apache-2.0 */
#include "job/loaded.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "job/documents.h"
#include "job/job_internal.h"

struct machine {
    char *key; /* what the request says of it */
    int set;   /* values of --set and --scale were put into it */
    int users; /* that have not given it back */
    struct ss_platform *platform;
    struct ss_stack stack;
    struct machine *next;
};
struct named_stack {
    char *name, *card;
    struct ss_stack stack;
    struct named_stack *next;
};
struct named_model {
    char *name;
    struct ss_model model;
    struct named_model *next;
};
struct named_loads {
    char *path;
    int top_k;
    struct ss_moe_loads loads;
    struct named_loads *next;
};
struct ss_loaded {
    int owners;
    struct machine *machines;
    struct named_stack *stacks;
    struct named_model *models;
    struct named_loads *loads;
    struct ss_documents *documents;
};

struct ss_loaded *ss_loaded_new(void)
{
    struct ss_loaded *l = ss_calloc(1, sizeof *l);

    return l ? ss_loaded_share(l) : NULL;
}

struct ss_loaded *ss_loaded_share(struct ss_loaded *l)
{
    l->owners++;
    return l;
}

static void free_machine(struct machine *m)
{
    if (!m)
        return;
    ss_platform_free(m->platform);
    free(m->key);
    free(m);
}

static void free_stack(struct named_stack *s)
{
    if (!s)
        return;
    free(s->name);
    free(s->card);
    free(s);
}

static void free_loads(struct named_loads *n)
{
    if (!n)
        return;
    free(n->loads.load);
    free(n->path);
    free(n);
}

void ss_loaded_drop(struct ss_loaded *l)
{
    if (!l || --l->owners > 0)
        return;
    for (struct machine *m = l->machines, *next; m; m = next) {
        next = m->next;
        free_machine(m);
    }
    for (struct named_stack *s = l->stacks, *next; s; s = next) {
        next = s->next;
        free_stack(s);
    }
    for (struct named_model *m = l->models, *next; m; m = next) {
        next = m->next;
        free(m->name);
        free(m);
    }
    for (struct named_loads *n = l->loads, *next; n; n = next) {
        next = n->next;
        free_loads(n);
    }
    ss_documents_free(l->documents);
    free(l);
}

/* A text that two requests share only if they mean the same cluster and stack, whose first *read characters say what is read;
 * allocated, or NULL. */
static char *key_of(const struct ss_job *job, const struct ss_request *r, size_t *read)
{
    size_t size = 64 + r->n + 24 * ((size_t)job->nfailed + (size_t)job->nranges + 1) + strlen(job->platform) +
                  strlen(job->stack) + 2;

    for (size_t i = 0; i < r->n; i++)
        size += strlen(r->word[i].text) + 1;
    char *key = malloc(size), *at = key;
    if (!key)
        return NULL;
    at += snprintf(at, size, "%s\n%s\n%d %d", job->platform, job->stack, job->nodes, job->gpus_per_node);
    for (int i = 0; i < job->nfailed; i++)
        at += snprintf(at, size - (size_t)(at - key), " %d:%d", job->failed[i].node, job->failed[i].gpu);
    at += snprintf(at, size - (size_t)(at - key), "\n%d", job->cluster_nodes);
    for (int i = 0; i < job->nranges; i++)
        at +=
            snprintf(at, size - (size_t)(at - key), " %d-%d", job->on_nodes[i].first, job->on_nodes[i].last);
    *read = (size_t)(at - key);
    for (size_t i = 0; i < r->n; i += ss_request_span(r, i)) {
        const char *setting = ss_request_value_of(r, i, "--set"),
                   *scale = ss_request_value_of(r, i, "--scale");
        if (setting || scale)
            at += snprintf(at, size - (size_t)(at - key), "\n%s%s", setting ? "" : "x",
                           setting ? setting : scale);
    }
    return key;
}

/* A name that is not found was read in the file of the job. */
static int located(const struct ss_request *r, const char *flag, int rc, struct ss_error *err)
{
    if (rc)
        ss_request_locate(r, flag, err);
    return rc;
}

static int check_failed(const struct ss_job *job, const struct ss_platform *p, struct ss_error *err)
{
    int nodes = ss_platform_nodes(p), gpus = ss_platform_gpus_per_node(p);

    if (ss_platform_joined_nodes(p) > 1)
        return ss_fail(err, SS_ERR_UNSUPPORTED, NULL, 0,
                       "--failed-gpu on nodes that an NVLink switch joins: what fails there is not modelled");
    for (int i = 0; i < job->nfailed; i++)
        if (job->failed[i].node >= nodes || job->failed[i].gpu >= gpus)
            return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                           "--failed-gpu: the job has nodes 0 to %d, with GPUs 0 to %d, none is %d:%d",
                           nodes - 1, gpus - 1, job->failed[i].node,
                           job->failed[i].gpu > 0 ? job->failed[i].gpu : 0);
    return SS_OK;
}

/* The platform of the cluster, on some nodes of which the job is. */
static int load_cluster(struct machine *m, const struct ss_job *job, struct ss_platform_options options,
                        struct ss_error *err)
{
    int last, named = ss_job_named_nodes(job, &last);

    if (job->nfailed)
        return ss_fail(err, SS_ERR_UNSUPPORTED, NULL, 0,
                       "--failed-gpu beside %s: name the nodes that are well",
                       named ? "--on-nodes" : "--cluster-nodes");
    if (!named && !job->nodes)
        return ss_hint(err,
                       ss_fail(err, SS_ERR_CONFIG, NULL, 0, "--cluster-nodes needs --nodes or --on-nodes"),
                       "say how many of them the job has");
    if (named && job->nodes && job->nodes != named)
        return ss_hint(err,
                       ss_fail(err, SS_ERR_CONFIG, NULL, 0, "--on-nodes names %d nodes, --nodes says %d",
                               named, job->nodes),
                       "give one of them");
    if (job->cluster_nodes && job->cluster_nodes <= (named ? last : job->nodes - 1))
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0, "the cluster has nodes 0 to %d, the job is on node %d",
                       job->cluster_nodes - 1, named ? last : job->nodes - 1);
    options.nodes = job->cluster_nodes ? job->cluster_nodes : last + 1;
    int rc = ss_platform_load(job->platform, &options, &m->platform, err);
    if (rc || ss_platform_joined_nodes(m->platform) == 1)
        return rc;
    return ss_fail(err, SS_ERR_UNSUPPORTED, NULL, 0,
                   "%s on nodes that an NVLink switch joins: a job on some of them is not modelled",
                   named ? "--on-nodes" : "--cluster-nodes");
}

/* The platform of the job's nodes and of a spare one behind them for each that has failed. */
static int load_platform(struct machine *m, const struct ss_job *job, const struct ss_request *r,
                         struct ss_platform_options options, struct ss_error *err)
{
    int rc = located(r, "--platform", ss_platform_load(job->platform, &options, &m->platform, err), err);

    if (rc || !job->nfailed)
        return rc;
    rc = located(r, "--failed-gpu", check_failed(job, m->platform, err), err);
    options.nodes = ss_platform_nodes(m->platform) + job->nfailed;
    ss_platform_free(m->platform);
    m->platform = NULL;
    if (rc)
        return rc;
    rc = located(r, "--failed-gpu", ss_platform_load(job->platform, &options, &m->platform, err), err);
    return rc ? ss_hint(err, rc,
                        "--failed-gpu takes a spare node for each that has failed: take fewer --nodes")
              : rc;
}

int ss_loaded_stack(struct ss_loaded *l, const char *name_or_path, const char *card, struct ss_files *files,
                    struct ss_stack *out, struct ss_error *err)
{
    struct named_stack *s = l->stacks;

    while (s && (strcmp(s->name, name_or_path) != 0 || strcmp(s->card, card) != 0))
        s = s->next;
    if (!s) {
        s = ss_calloc(1, sizeof *s);
        int rc = s && (s->name = strdup(name_or_path)) && (s->card = strdup(card))
                     ? ss_stack_load_with(name_or_path, card, files, &s->stack, err)
                     : ss_nomem(err);
        if (rc) {
            free_stack(s);
            return rc;
        }
        s->next = l->stacks;
        l->stacks = s;
    }
    *out = s->stack;
    return SS_OK;
}

/* What files say. */
static int load(struct ss_loaded *l, struct machine *m, const struct ss_job *job, const struct ss_request *r,
                ss_route_asker asker, struct ss_files *files, struct ss_error *err)
{
    const struct ss_platform_options options = {
        .nodes = job->nodes, .gpus_per_node = job->gpus_per_node, .asker = asker, .files = files};
    int rc = ss_job_is_placed(job) ? located(r, job->nranges ? "--on-nodes" : "--cluster-nodes",
                                             load_cluster(m, job, options, err), err)
                                   : load_platform(m, job, r, options, err);

    SS_THEN(rc, located(r, "--stack",
                        ss_loaded_stack(l, job->stack, ss_platform_card(m->platform)->name, files, &m->stack,
                                        err),
                        err));
    return rc;
}

/* Takes over `key`, and the machine where it fails. */
static int keep(struct ss_loaded *l, struct machine *m, char *key, struct ss_error *err)
{
    m->key = key;
    if (!key) {
        free_machine(m);
        return ss_nomem(err);
    }
    m->next = l->machines;
    l->machines = m;
    return SS_OK;
}

static struct machine *find_machine(const struct ss_loaded *l, const char *key, size_t n)
{
    struct machine *m = l->machines;

    while (m && (strncmp(m->key, key, n) != 0 || m->key[n]))
        m = m->next;
    return m;
}

/* One that is as files say, which are read once. */
static int find_read(struct ss_loaded *l, const struct ss_job *job, const struct ss_request *r,
                     ss_route_asker asker, struct ss_files *files, const char *key, size_t n,
                     struct machine **out, struct ss_error *err)
{
    struct machine *m = find_machine(l, key, n);
    int rc = SS_OK;

    if (!m) {
        m = ss_calloc(1, sizeof *m);
        rc = m ? load(l, m, job, r, asker, files, err) : ss_nomem(err);
        if (rc)
            free_machine(m);
        else
            rc = keep(l, m, strndup(key, n), err);
    }
    *out = m;
    return rc;
}

/* A copy of that, with the request's values. Of what cannot be copied files are read again. */
static int add_set(struct ss_loaded *l, const struct ss_job *job, const struct ss_request *r,
                   ss_route_asker asker, struct ss_files *files, const char *key, size_t n,
                   struct machine **out, struct ss_error *err)
{
    struct machine *read = NULL, *m = ss_calloc(1, sizeof *m);
    int rc = m ? find_read(l, job, r, asker, files, key, n, &read, err) : ss_nomem(err);

    SS_THEN(rc, ss_platform_copy(read->platform, &m->platform, err));
    if (!rc && m->platform)
        m->stack = read->stack;
    else if (!rc)
        rc = load(l, m, job, r, asker, files, err);
    SS_THEN(rc, ss_sets_apply(r, m->platform, &m->stack, err));
    if (rc) {
        free_machine(m);
        return rc;
    }
    m->set = 1;
    *out = m;
    return keep(l, m, strdup(key), err);
}

int ss_loaded_find(struct ss_loaded *l, const struct ss_job *job, const struct ss_request *r,
                   ss_route_asker asker, struct ss_files *files, struct ss_platform **platform,
                   struct ss_stack **stack, struct ss_error *err)
{
    size_t n = 0;
    char *key = key_of(job, r, &n);
    struct machine *m = key ? find_machine(l, key, strlen(key)) : NULL;
    int rc = key ? SS_OK : ss_nomem(err);

    if (!rc && !m)
        rc = (key[n] ? add_set : find_read)(l, job, r, asker, files, key, n, &m, err);
    free(key);
    if (rc)
        return rc;
    m->users++;
    *platform = m->platform;
    *stack = &m->stack;
    return SS_OK;
}

void ss_loaded_give_back(struct ss_loaded *l, const struct ss_platform *platform)
{
    struct machine **link = &l->machines, *m;

    while (*link && (*link)->platform != platform)
        link = &(*link)->next;
    m = *link;
    if (!m || --m->users > 0 || !m->set)
        return;
    *link = m->next;
    free_machine(m);
}

int ss_loaded_model(struct ss_loaded *l, const char *name_or_path, struct ss_model *out, struct ss_error *err)
{
    struct named_model *m = l->models;
    int rc;

    while (m && strcmp(m->name, name_or_path) != 0)
        m = m->next;
    if (!m) {
        rc = ss_model_load(name_or_path, out, err);
        m = rc ? NULL : ss_calloc(1, sizeof *m);
        if (rc)
            return rc;
        if (!m || !(m->name = strdup(name_or_path))) {
            free(m);
            return ss_nomem(err);
        }
        m->model = *out;
        m->next = l->models;
        l->models = m;
    }
    *out = m->model;
    return SS_OK;
}

int ss_loaded_loads(struct ss_loaded *l, const char *path, int experts, int top_k,
                    const struct ss_moe_loads **out, struct ss_error *err)
{
    struct named_loads *n = l->loads;

    while (n && (strcmp(n->path, path) != 0 || n->loads.experts != experts || n->top_k != top_k))
        n = n->next;
    if (!n) {
        n = ss_calloc(1, sizeof *n);
        int rc = n && (n->path = strdup(path)) ? ss_moe_loads_read(path, experts, top_k, &n->loads, err)
                                               : ss_nomem(err);
        if (rc) {
            free_loads(n);
            return rc;
        }
        n->top_k = top_k;
        n->next = l->loads;
        l->loads = n;
    }
    *out = &n->loads;
    return SS_OK;
}

int ss_loaded_note(const struct ss_job *job, struct ss_files *files, struct ss_error *err)
{
    int rc = files && job->moe.loads ? ss_files_add(files, job->moe.load_source, err) : SS_OK;

    if (!rc && files && job->packed.law == SS_PACKED_FILE)
        rc = ss_files_add(files, job->packed.source, err);
    return rc;
}

int ss_loaded_packing(struct ss_loaded *l, const struct ss_job *job, const struct ss_packing **out,
                      struct ss_error *err)
{
    if (!l->documents && !(l->documents = ss_documents_new()))
        return ss_nomem(err);
    return ss_documents_packing(l->documents, job, out, err);
}
