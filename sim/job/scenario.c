/* SPDX-License-Identifier: Apache-2.0 */
#include "stepsim/scenario.h"

#include "base/base.h"
#include "job/input_cache.h"
#include "job/job_internal.h"
#include "job/recipe.h"

/* A scenario and what it points to. */
struct whole {
    struct ss_scenario s;
    struct ss_request request;
    /* the request after --without, and the request itself where there is no --without */
    struct ss_request left;
    const struct ss_request *used;
    struct ss_input_cache *inputs;
    struct ss_platform
        *assumed; /* that of the words before assumptions, mostly the scenario's: it is not made twice */
    ss_route_asker asker;
    /* not zeroed, for they are large: each is filled in one go */
    struct ss_asked asked;
    struct ss_job job;
};

static int note_files(const struct whole *w, struct ss_files *files, struct ss_error *err)
{
    int rc = ss_request_files(&w->request, files, err);

    SS_THEN(rc, ss_input_cache_note(&w->job, files, err));
    return rc ? rc : ss_data_note("workloads/models", w->job.model_ref, ".json", files, err);
}

static void note_spares(struct whole *w)
{
    int nodes = w->s.world_size / w->s.gpus_per_node;

    for (int i = 0; i < w->asked.job.nfailed; i++)
        ss_notes_add(&w->s.notes,
                     "node %d has a failed GPU and is left out: its ranks are on node %d, a spare one",
                     w->asked.job.failed[i].node, nodes + i);
}

static int resolve(struct whole *w, struct ss_error *err)
{
    w->used = &w->request;
    if (!ss_request_has_what_if(&w->request))
        return SS_OK;
    SS_TRY(ss_request_copy(&w->request, &w->left, err));
    w->used = &w->left;
    return ss_request_resolve(&w->left, &w->s.notes, err);
}

/* Puts what the words leave open in front of them. */
static int assume(struct whole *w, struct ss_files *files, struct ss_error *err)
{
    struct ss_asked asked;
    struct ss_platform *platform;
    struct ss_stack *stack;

    if (!ss_assume_may_apply(&w->request))
        return SS_OK;
    if (!ss_assume_asks_job(&w->request))
        return ss_assume_defaults(&w->request, err);
    int rc = ss_request_said(&w->request, &asked);
    if (rc || !ss_assume_applies(&w->request, &asked)) /* what is wrong is told when all words are read */
        return rc == SS_ERR_NOMEM ? ss_nomem(err) : SS_OK;
    SS_TRY(ss_input_cache_find(w->inputs, &asked.job, &w->request, w->asker, files, &platform, &stack, err));
    int each = ss_platform_gpus_per_node(platform);
    const struct ss_assume a = {.inputs = w->inputs,
                                .card = ss_platform_card(platform)->name,
                                .gpus = asked.job.gpus ? asked.job.gpus
                                        : asked.job.nodes
                                            ? ss_job_world_size(&asked.job, ss_platform_nodes(platform), each)
                                            : 0};
    w->assumed = platform;
    return ss_assume(&a, &asked, &w->request, err);
}

/* Says what the real job has and this one has not. */
static int note_dropped(struct whole *w)
{
    char list[1024] = "";
    int rc = ss_request_dropped(w->used, &w->s.dropped);

    for (unsigned long i = 0; i < w->s.dropped.n; i++)
        ss_append(list, sizeof list, "%s%s", i ? ", " : "", w->s.dropped.text[i]);
    return rc || !list[0]
               ? rc
               : ss_notes_add(&w->s.notes, "left out, whatever time and memory it takes: %s", list);
}

/* Whether words that give --gpus give --nodes behind it, which then counts. */
static int is_nodes_last(const struct ss_request *words)
{
    size_t nodes = ss_request_find(words, "--nodes");
    return nodes < words->n && nodes > ss_request_find(words, "--gpus");
}

/* Notes a file whose GPUs are not those of the nodes that the command line gives. */
static int note_nodes(struct whole *w, size_t word, int all, int each)
{
    const struct ss_job *job = &w->asked.job;
    const char *file = w->used->place[w->used->word[word].place].file;
    int64_t taken = (int64_t)job->nodes * (job->gpus_per_node ? job->gpus_per_node : each);

    if (!file || taken == all)
        return SS_OK;
    return ss_notes_add(
        &w->s.notes, "%s:%d: it is for %d GPUs; --nodes %d is obeyed, which are %lld: other data parallelism",
        file, w->used->word[word].line, all, job->nodes, (long long)taken);
}

/* Notes a flag of the command line that another one behind it beats. */
static int note_beaten(struct ss_notes *notes, const struct ss_request *r, const char *beaten, const char *by)
{
    size_t at = ss_request_find(r, beaten), other = ss_request_find(r, by);
    char text[64], counts[64];

    if (at == r->n || other == r->n || r->place[r->word[at].place].file)
        return SS_OK;
    ss_request_words(r, at, ss_request_span(r, at), text, sizeof text);
    ss_request_words(r, other, ss_request_span(r, other), counts, sizeof counts);
    return ss_notes_add(notes, "%s: %s behind it counts", text, counts);
}

/* Makes nodes of the GPUs of a parsed job, unless its words give --nodes behind --gpus. *each: GPUs that a node has. */
static int nodes_of_gpus(struct ss_input_cache *inputs, const struct ss_request *words, ss_route_asker asker,
                         struct ss_files *files, struct ss_job *job, int *each, struct ss_error *err)
{
    struct ss_job plain = *job;
    struct ss_platform *platform;
    struct ss_stack *stack;
    const int all = job->gpus;

    plain.gpus = plain.nodes = plain.cluster_nodes = plain.nranges = plain.nfailed = 0;
    SS_TRY(ss_input_cache_find(inputs, &plain, words, asker, files, &platform, &stack, err));
    *each = ss_platform_gpus_per_node(platform) / ss_platform_joined_nodes(platform);
    ss_input_cache_give_back(inputs, platform);
    job->gpus = 0;
    if (is_nodes_last(words))
        return SS_OK;
    if (all > *each && all % *each) {
        ss_fail(err, SS_ERR_CONFIG, NULL, 0, "%d GPUs are no whole nodes of %d", all, *each);
        ss_request_locate(words, "--gpus", err);
        return ss_hint(err, SS_ERR_CONFIG, "say by --nodes and --gpus-per-node on which nodes they are");
    }
    job->nodes = all > *each ? all / *each : 1;
    job->gpus_per_node = all < *each ? all : job->gpus_per_node;
    return SS_OK;
}

/* Makes nodes of --gpus. */
static int count_nodes(struct whole *w, struct ss_files *files, struct ss_error *err)
{
    struct ss_job *job = &w->asked.job;
    const int all = job->gpus, told = job->nodes, nodes_last = is_nodes_last(w->used);
    int each, rc = SS_OK;

    if (!all)
        return SS_OK;
    SS_TRY(nodes_of_gpus(w->inputs, w->used, w->asker, files, job, &each, err));
    if (nodes_last)
        rc = note_nodes(w, ss_request_find(w->used, "--gpus"), all, each);
    const int64_t taken = (int64_t)job->nodes * (job->gpus_per_node ? job->gpus_per_node : each);
    if (nodes_last ? taken != all : told != job->nodes)
        SS_THEN(rc, note_beaten(&w->s.notes, w->used, nodes_last ? "--gpus" : "--nodes",
                                nodes_last ? "--nodes" : "--gpus"));
    return rc ? ss_nomem(err) : SS_OK;
}

int ss_request_count_nodes(struct ss_input_cache *inputs, struct ss_request *r, ss_route_asker asker,
                           struct ss_files *files, struct ss_error *err)
{
    struct ss_asked asked;
    char number[16];
    int each;

    if (ss_request_find(r, "--gpus") == r->n)
        return SS_OK;
    const int nodes_last = is_nodes_last(r);
    if (note_beaten(&r->notes, r, nodes_last ? "--gpus" : "--nodes", nodes_last ? "--nodes" : "--gpus"))
        return ss_nomem(err);
    if (nodes_last) {
        ss_request_drop(r, "--gpus");
        return SS_OK;
    }
    ss_request_drop(r, "--nodes"); /* which may be a range */
    SS_TRY(ss_asked_read(&asked, r, err));
    const int before = asked.job.gpus_per_node;
    SS_TRY(nodes_of_gpus(inputs, r, asker, files, &asked.job, &each, err));
    ss_request_drop(r, "--gpus");
    snprintf(number, sizeof number, "%d", asked.job.nodes);
    SS_TRY(ss_request_set(r, "--nodes", number, err));
    snprintf(number, sizeof number, "%d", asked.job.gpus_per_node);
    return asked.job.gpus_per_node == before ? SS_OK : ss_request_set(r, "--gpus-per-node", number, err);
}

static int build(struct whole *w, struct ss_files *files, struct ss_error *err)
{
    struct ss_scenario *s = &w->s;
    struct ss_platform *platform;
    struct ss_stack *stack;
    int rc = ss_notes_add_all(&s->notes, &w->request.notes);

    SS_THEN(rc, ss_notes_add_all(&s->ignored, &w->request.ignored));
    SS_THEN(rc, assume(w, files, err));
    SS_THEN(rc, resolve(w, err));
    SS_THEN(rc, ss_asked_add(&w->asked, w->used, &s->notes, &s->ignored, err));
    if (!rc && note_dropped(w))
        rc = ss_nomem(err);
    SS_THEN(rc, ss_asked_check_given(&w->asked, w->used, SS_NEEDS_OF_A_RUN, err));
    SS_THEN(rc, count_nodes(w, files, err));
    SS_THEN(rc,
            ss_input_cache_find(w->inputs, &w->asked.job, w->used, w->asker, files, &platform, &stack, err));
    if (rc)
        return rc;
    s->platform = platform;
    s->stack = stack;
    s->gpus_per_node = ss_platform_gpus_per_node(platform);
    s->world_size = ss_job_world_size(&w->asked.job, ss_platform_nodes(platform), s->gpus_per_node);
    note_spares(w);
    if (ss_platform_untaken(platform)[0])
        ss_notes_add(&s->notes,
                     "of %s hosts, links and routes are taken; what its <config> says of SimGrid's own "
                     "kernel is not: %.300s",
                     ss_platform_file(platform), ss_platform_untaken(platform));
    s->measured_s = w->asked.measured_ms / 1e3;
    s->measured_bytes = w->asked.measured_mib * SS_MIB;
    struct ss_finish f = {.asked = &w->asked,
                          .job = &w->job,
                          .request = w->used,
                          .inputs = w->inputs,
                          .stack = stack,
                          .world_size = s->world_size,
                          .gpus_per_node = s->gpus_per_node,
                          .notes = &s->notes,
                          .err = err};
    rc = ss_job_complete(&f);
    return rc ? rc : note_files(w, files, err);
}

int ss_scenario_build_from(struct ss_input_cache *inputs, const struct ss_request *r, ss_route_asker asker,
                           struct ss_files *files, struct ss_scenario **out, struct ss_error *err)
{
    struct whole *w = malloc(sizeof *w);

    SS_NEED(w, err);
    memset(w, 0, offsetof(struct whole, asked));
    w->s.job = &w->job;
    w->s.request = &w->request;
    w->inputs = inputs ? ss_input_cache_share(inputs) : ss_input_cache_new();
    w->asker = asker;
    ss_asked_init(&w->asked);
    int rc = w->inputs ? ss_request_copy(r, &w->request, err) : ss_nomem(err);
    SS_THEN(rc, build(w, files, err));
    if (w->assumed)
        ss_input_cache_give_back(w->inputs, w->assumed);
    if (rc && err && !strcmp(err->file, SS_RECIPES_FILE))
        ss_hint(err, rc, "%s%sa recipe says this: give what you mean, or --recipe none", err->hint,
                err->hint[0] ? "; " : "");
    if (rc) {
        ss_request_blame(r, err);
        ss_scenario_free(&w->s);
        return rc;
    }
    *out = &w->s;
    return SS_OK;
}

int ss_scenario_build(const struct ss_request *r, const struct ss_scenario_options *o,
                      struct ss_scenario **out, struct ss_error *err)
{
    const struct whole *like = o ? (const struct whole *)o->like : NULL;
    return ss_scenario_build_from(like ? like->inputs : NULL, r,
                                  like ? like->asker
                                  : o  ? o->asker
                                       : NULL,
                                  o ? o->files : NULL, out, err);
}

void ss_scenario_free(struct ss_scenario *s)
{
    struct whole *w = (struct whole *)s; /* its first member */

    if (!w)
        return;
    if (s->platform)
        ss_input_cache_give_back(w->inputs, s->platform);
    ss_input_cache_drop(w->inputs);
    ss_notes_free(&w->s.notes);
    ss_notes_free(&w->s.ignored);
    ss_notes_free(&w->s.dropped);
    ss_request_free(&w->request);
    ss_request_free(&w->left);
    free(w);
}
