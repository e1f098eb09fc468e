/* SPDX-License-Identifier: Apache-2.0 */
#include "job/input_cache.h"

#include "base/base.h"
#include "job/job_internal.h"

struct machine {
    int set;   /* values of --set and --scale were put into it */
    int users; /* that have not given it back */
    struct ss_platform *platform;
    struct ss_stack stack;
};
enum kind { MACHINE, STACK, MODEL, LOADS, LENGTHS, PACKING, RECIPES, KINDS };
/* What was read or made once. */
struct entry {
    char *key; /* what a job says of it */
    struct entry *next;
    struct ss_files files; /* that a machine's platform, or a stack, was read from */
    union {
        struct machine machine;
        struct ss_stack stack;
        struct ss_model model;
        struct ss_moe_loads loads;
        struct ss_lengths lengths;
        struct ss_packing packing; /* of the rows of documents */
        struct ss_csv *recipes;
    };
};
struct ss_input_cache {
    int owners;
    struct entry *list[KINDS];
    int has_finished;
    struct ss_model asked, finished; /* the last model that was finished, before and after */
};

/* ---- entries ---- */

static void free_entry(struct entry *e, enum kind kind)
{
    if (!e)
        return;
    switch (kind) {
    case MACHINE: ss_platform_free(e->machine.platform); break;
    case LOADS: free(e->loads.load); break;
    case LENGTHS: ss_lengths_free(&e->lengths); break;
    case PACKING: ss_packing_free(&e->packing); break;
    case RECIPES: ss_csv_free(e->recipes); break;
    default: break;
    }
    ss_files_free(&e->files);
    SS_FREE(e->key, e);
}

/* The entry of the key of n characters; NULL: there is none. */
static struct entry *find(const struct ss_input_cache *l, enum kind kind, const char *key, size_t n)
{
    struct entry *e = l->list[kind];

    while (e && (strncmp(e->key, key, n) != 0 || e->key[n]))
        e = e->next;
    return e;
}

/* A new one, which is in no list; NULL when out of memory. */
static struct entry *new_entry(const char *key, size_t n)
{
    struct entry *e = ss_calloc(1, sizeof *e);

    if (!e || (e->key = strndup(key, n)) != NULL)
        return e;
    free(e);
    return NULL;
}

/* Takes over an entry, into its list where what filled it returned 0. Returns what that returned. */
static int keep(struct ss_input_cache *l, enum kind kind, struct entry *e, int rc)
{
    if (rc) {
        free_entry(e, kind);
        return rc;
    }
    e->next = l->list[kind];
    l->list[kind] = e;
    return SS_OK;
}

struct ss_input_cache *ss_input_cache_new(void)
{
    struct ss_input_cache *l = ss_calloc(1, sizeof *l);

    return l ? ss_input_cache_share(l) : NULL;
}

struct ss_input_cache *ss_input_cache_share(struct ss_input_cache *l)
{
    l->owners++;
    return l;
}

void ss_input_cache_drop(struct ss_input_cache *l)
{
    if (!l || --l->owners > 0)
        return;
    for (int kind = 0; kind < KINDS; kind++)
        for (struct entry *e = l->list[kind], *next; e; e = next) {
            next = e->next;
            free_entry(e, (enum kind)kind);
        }
    free(l);
}

/* ---- platforms ---- */

/* A text that two requests share only if they mean the same cluster and stack, whose first *read characters say what is read, the
 * platform by the first of their lines but the last; allocated, or NULL. */
static char *key_of(const struct ss_job *job, const struct ss_request *r, size_t *read)
{
    size_t size = 64 + r->n + 24 * ((size_t)job->nfailed + (size_t)job->nranges + 1) + strlen(job->platform) +
                  strlen(job->stack) + strlen(job->card) + 3;

    for (size_t i = 0; i < r->n; i++)
        size += strlen(r->word[i].text) + 1;
    char *key = malloc(size), *at = key;
    if (!key)
        return NULL;
    at += snprintf(at, size, "%s\n%s\n%d %d", job->platform, job->card, job->nodes, job->gpus_per_node);
    for (int i = 0; i < job->nfailed; i++)
        at += snprintf(at, size - (size_t)(at - key), " %d:%d", job->failed[i].node, job->failed[i].gpu);
    at += snprintf(at, size - (size_t)(at - key), "\n%d", job->cluster_nodes);
    for (int i = 0; i < job->nranges; i++)
        at +=
            snprintf(at, size - (size_t)(at - key), " %d-%d", job->on_nodes[i].first, job->on_nodes[i].last);
    at += snprintf(at, size - (size_t)(at - key), "\n%s", job->stack);
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

/* Loads the platform of the cluster on whose nodes the job is. */
static int load_cluster(struct machine *m, const struct ss_job *job, struct ss_platform_options options,
                        struct ss_error *err)
{
    int last, named = ss_job_named_nodes(job, &last);

    if (job->nfailed)
        return ss_fail(err, SS_ERR_UNSUPPORTED, NULL, 0,
                       "--failed-gpu beside %s: name the nodes that are well",
                       named ? "--on-nodes" : "--cluster-nodes");
    if (!named && !job->nodes)
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "--cluster-nodes needs --nodes or --on-nodes" SS_HINT
                       "say how many of them the job has");
    if (named && job->nodes && job->nodes != named)
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "--on-nodes names %d nodes, --nodes says %d" SS_HINT "give one of them", named,
                       job->nodes);
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
    int rc = ss_platform_load(job->platform, &options, &m->platform, err);

    rc = located(r, rc && err && err->flags[0] ? err->flags : "--platform", rc, err);
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

/* Adds what an entry was read from, also where reading failed. Returns rc, or what went wrong here. */
static int noted(struct ss_files *files, const struct entry *e, int rc, struct ss_error *err)
{
    int lost = e ? ss_files_add_all(files, &e->files, rc ? NULL : err) : SS_OK;

    return rc ? rc : lost;
}

int ss_input_cache_stack(struct ss_input_cache *l, const char *name_or_path, const char *card,
                         struct ss_files *files, struct ss_stack *out, struct ss_error *err)
{
    char key[sizeof(ss_job_text) + 160];
    size_t n = (size_t)snprintf(key, sizeof key, "%s\n%.150s", name_or_path, card);
    struct entry *e = find(l, STACK, key, n);

    if (!e) {
        e = new_entry(key, n);
        int rc = e ? ss_stack_load_with(name_or_path, card, &e->files, &e->stack, err) : ss_nomem(err);
        SS_TRY(keep(l, STACK, e, noted(files, e, rc, err)));
    }
    *out = e->stack;
    return noted(files, e, SS_OK, err);
}

/* Copies the platform of a machine whose key differs in its last line alone, the stack; there may be none. */
static int copy_platform(const struct ss_input_cache *l, const char *key, size_t n, struct entry *to,
                         struct ss_error *err)
{
    while (n && key[n - 1] != '\n')
        n--;
    for (const struct entry *e = l->list[MACHINE]; e; e = e->next)
        if (!e->machine.set && !strncmp(e->key, key, n) && !strchr(e->key + n, '\n')) {
            int rc = ss_files_add_all(&to->files, &e->files, err);
            return rc ? rc : ss_platform_copy(e->machine.platform, &to->machine.platform, err);
        }
    return SS_OK;
}

/* Reads a machine; `files` gets those of the stack, the entry those of the platform. */
static int load(struct ss_input_cache *l, const char *key, size_t n, struct entry *e,
                const struct ss_job *job, const struct ss_request *r, ss_route_asker asker,
                struct ss_files *files, struct ss_error *err)
{
    struct machine *m = &e->machine;
    const struct ss_platform_options options = {.nodes = job->nodes,
                                                .gpus_per_node = job->gpus_per_node,
                                                .asker = asker,
                                                .files = &e->files,
                                                .card = job->card};
    int rc = copy_platform(l, key, n, e, err);

    if (!rc && !m->platform)
        rc = ss_job_is_placed(job) ? located(r, job->nranges ? "--on-nodes" : "--cluster-nodes",
                                             load_cluster(m, job, options, err), err)
                                   : load_platform(m, job, r, options, err);
    rc = noted(files, e, rc, err);
    SS_THEN(rc, located(r, "--stack",
                        ss_input_cache_stack(l, job->stack, ss_platform_card(m->platform)->name, files,
                                             &m->stack, err),
                        err));
    return rc;
}

/* Adds what a machine was read from to the caller's list. */
static int note_machine(struct ss_input_cache *l, const struct ss_job *job, struct ss_files *files,
                        const struct entry *e, struct ss_error *err)
{
    struct ss_stack ignored;
    int rc = noted(files, e, SS_OK, err);

    return rc || !files ? rc
                        : ss_input_cache_stack(l, job->stack, ss_platform_card(e->machine.platform)->name,
                                               files, &ignored, err);
}

/* One that is as files say, which are read once. */
static int find_read(struct ss_input_cache *l, const struct ss_job *job, const struct ss_request *r,
                     ss_route_asker asker, struct ss_files *files, const char *key, size_t n,
                     struct entry **out, struct ss_error *err)
{
    *out = find(l, MACHINE, key, n);
    if (*out)
        return note_machine(l, job, files, *out, err);
    *out = new_entry(key, n);
    return keep(l, MACHINE, *out, *out ? load(l, key, n, *out, job, r, asker, files, err) : ss_nomem(err));
}

/* Adds a copy with the request's values; a platform that cannot be copied is read again. */
static int add_set(struct ss_input_cache *l, const struct ss_job *job, const struct ss_request *r,
                   ss_route_asker asker, struct ss_files *files, const char *key, size_t n,
                   struct entry **out, struct ss_error *err)
{
    struct entry *read = NULL, *e = new_entry(key, strlen(key));
    int rc = e ? find_read(l, job, r, asker, files, key, n, &read, err) : ss_nomem(err);

    SS_THEN(rc, ss_platform_copy(read->machine.platform, &e->machine.platform, err));
    SS_THEN(rc, ss_files_add_all(&e->files, &read->files, err));
    if (!rc && e->machine.platform)
        e->machine.stack = read->machine.stack;
    else if (!rc)
        rc = load(l, key, n, e, job, r, asker, files, err);
    SS_THEN(rc, ss_sets_apply(r, e->machine.platform, &e->machine.stack, err));
    if (!rc)
        e->machine.set = 1;
    *out = e;
    return keep(l, MACHINE, e, rc);
}

int ss_input_cache_find(struct ss_input_cache *l, const struct ss_job *job, const struct ss_request *r,
                        ss_route_asker asker, struct ss_files *files, struct ss_platform **platform,
                        struct ss_stack **stack, struct ss_error *err)
{
    size_t n = 0;
    char *key = key_of(job, r, &n);
    struct entry *e = key ? find(l, MACHINE, key, strlen(key)) : NULL;
    int rc = key ? SS_OK : ss_nomem(err);

    if (!rc)
        rc = e ? note_machine(l, job, files, e, err)
               : (key[n] ? add_set : find_read)(l, job, r, asker, files, key, n, &e, err);
    free(key);
    if (rc)
        return rc;
    e->machine.users++;
    *platform = e->machine.platform;
    *stack = &e->machine.stack;
    return SS_OK;
}

void ss_input_cache_give_back(struct ss_input_cache *l, const struct ss_platform *platform)
{
    struct entry *given = l->list[MACHINE];

    while (given && given->machine.platform != platform)
        given = given->next;
    if (!given || --given->machine.users > 0 || !given->machine.set)
        return;
    for (struct entry **link = &l->list[MACHINE], *e; (e = *link);) {
        if (e == given || e->machine.users > 0 || !e->machine.set) {
            link = &e->next;
            continue;
        }
        *link = e->next;
        free_entry(e, MACHINE);
    }
}

/* ---- models, recipes, loads and documents ---- */

int ss_input_cache_recipes(struct ss_input_cache *l, const struct ss_csv **out, struct ss_error *err)
{
    struct entry *e = find(l, RECIPES, "", 0);
    char path[4096];

    if (!e) {
        e = new_entry("", 0);
        int rc = e ? ss_data_find("workloads", "recipes", ".csv", path, sizeof path, err) : ss_nomem(err);
        SS_TRY(keep(l, RECIPES, e, rc ? rc : ss_csv_load(path, &e->recipes, err)));
    }
    *out = e->recipes;
    return SS_OK;
}

int ss_input_cache_model(struct ss_input_cache *l, const char *name_or_path, struct ss_model *out,
                         struct ss_error *err)
{
    size_t n = strlen(name_or_path);
    struct entry *e = find(l, MODEL, name_or_path, n);

    if (!e) {
        e = new_entry(name_or_path, n);
        SS_TRY(keep(l, MODEL, e, e ? ss_model_load(name_or_path, &e->model, err) : ss_nomem(err)));
    }
    *out = e->model;
    return SS_OK;
}

int ss_input_cache_finish_model(struct ss_input_cache *l, struct ss_model *m, struct ss_error *err)
{
    if (l->has_finished && !memcmp(m, &l->asked, sizeof *m)) {
        memcpy(m, &l->finished, sizeof *m);
        return SS_OK;
    }
    struct ss_model asked;
    memcpy(&asked, m, sizeof asked);
    SS_TRY(ss_model_finish(m, err));
    memcpy(&l->asked, &asked, sizeof asked);
    memcpy(&l->finished, m, sizeof *m);
    l->has_finished = 1;
    return SS_OK;
}

int ss_input_cache_loads(struct ss_input_cache *l, const char *path, int experts, int top_k,
                         const struct ss_moe_loads **out, struct ss_error *err)
{
    char key[sizeof(ss_job_text) + 160];
    size_t n = (size_t)snprintf(key, sizeof key, "%d %d %s", experts, top_k, path);
    struct entry *e = find(l, LOADS, key, n);

    if (!e) {
        e = new_entry(key, n);
        int rc =
            keep(l, LOADS, e, e ? ss_moe_loads_read(path, experts, top_k, &e->loads, err) : ss_nomem(err));
        if (rc)
            return rc;
    }
    *out = &e->loads;
    return SS_OK;
}

static int find_lengths(struct ss_input_cache *l, const char *path, const struct ss_lengths **out,
                        struct ss_error *err)
{
    size_t n = strlen(path);
    struct entry *e = find(l, LENGTHS, path, n);

    if (!e) {
        e = new_entry(path, n);
        SS_TRY(keep(l, LENGTHS, e, e ? ss_lengths_read(path, &e->lengths, err) : ss_nomem(err)));
    }
    *out = &e->lengths;
    return SS_OK;
}

int ss_input_cache_packing(struct ss_input_cache *l, const struct ss_job *job, const struct ss_packing **out,
                           struct ss_error *err)
{
    struct ss_packing_input in = {.law = job->packed.law,
                                  .low = job->packed.low,
                                  .high = job->packed.high,
                                  .row = job->seq_length,
                                  .multiple = job->packed.multiple,
                                  .algorithm = job->packed.algorithm,
                                  .seed = (uint64_t)job->packed.seed};
    char key[sizeof(ss_job_text) + 160];
    size_t n = (size_t)snprintf(key, sizeof key, "%d %.17g %.17g %d %d %d %d %s", in.law, in.low, in.high,
                                in.row, in.multiple, in.algorithm, job->packed.seed, job->packed.source);
    struct entry *e = find(l, PACKING, key, n);

    if (!e) {
        int rc = in.law == SS_PACKED_FILE ? find_lengths(l, job->packed.source, &in.lengths, err) : SS_OK;
        e = rc ? NULL : new_entry(key, n);
        SS_THEN(rc, e ? ss_packing_build(&in, &e->packing, err) : ss_nomem(err));
        SS_TRY(keep(l, PACKING, e, rc));
    }
    *out = &e->packing;
    return SS_OK;
}

int ss_input_cache_note(const struct ss_job *job, struct ss_files *files, struct ss_error *err)
{
    int rc = files && job->moe.loads ? ss_files_add(files, job->moe.load_source, err) : SS_OK;

    if (!rc && files && job->packed.law == SS_PACKED_FILE)
        rc = ss_files_add(files, job->packed.source, err);
    return rc;
}
