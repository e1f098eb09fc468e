/* SPDX-License-Identifier: Apache-2.0 */
/* Runs jobs beside each other on one cluster. */
#include "stepsim/share.h"
#include "stepsim/job.h"

#include "base/base.h"
#include "stepsim/result.h"

#define COUNTED 4       /* number of iterations of the longest job that are measured */
#define MOST_EVENTS 3e8 /* events of one replay: some 20 s on the native engine */
#define MOST_SLOTS 5e7  /* slots of one replay: 0.8 GB */

/* The jobs, each as it runs alone. */
struct sharers {
    int n;
    struct ss_run run[SS_SHARERS_MOST];
    double alone[SS_SHARERS_MOST];
    double shortest, longest; /* s of an iteration alone */
    int times[SS_SHARERS_MOST];
    double slack; /* so much longer than the longest job would the others run if none were slowed down */
};

/* ---- one replay ---- */

/* An observer that notes when iterations end. */
struct clock {
    const struct sharers *x;
    int first_class[SS_SHARERS_MOST + 1];
    int delayed[SS_SHARERS_MOST]; /* slots before the first iteration */
    double *end[SS_SHARERS_MOST];
};

static void see(void *ctx, int cls, int slot, int event, double start, double busy_from, double end)
{
    struct clock *c = ctx;
    int job = 0;

    (void)event;
    (void)start;
    (void)busy_from;
    while (cls >= c->first_class[job + 1])
        job++;
    slot -= c->delayed[job];
    if (slot < 0)
        return;
    const struct ss_program *p = c->x->run[job].program;
    double *at = &c->end[job][slot / p->classes[cls - c->first_class[job]].nslots];
    *at = fmax(*at, end);
}

/* Measures the mean iteration of each job while all of them run, and counts the iterations. */
static void measure(const struct clock *c, double *seconds, int *iterations)
{
    const struct sharers *x = c->x;
    double all = INFINITY;

    for (int j = 0; j < x->n; j++)
        all = fmin(all, c->end[j][x->times[j] - 1]);
    for (int j = 0; j < x->n; j++) {
        int n = 0;
        while (n < x->times[j] && c->end[j][n] <= all * (1 + 1e-12))
            n++;
        int from =
            n > 2; /* in the first iteration ranks that run on into the next one take up their offsets */
        iterations[j] = n - 1 - from;
        seconds[j] = iterations[j] > 0 ? (c->end[j][n - 1] - c->end[j][from]) / iterations[j] : NAN;
    }
}

static int check_size(const struct sharers *x, struct ss_error *err)
{
    double events = 0, slots = 0;

    for (int j = 0; j < x->n; j++) {
        const struct ss_program *p = x->run[j].program;
        events += (double)x->times[j] * (double)ss_program_event_count(p);
        for (int c = 0; c < p->nclasses; c++)
            slots += (double)x->times[j] * p->classes[c].nslots;
    }
    if (events <= MOST_EVENTS && slots <= MOST_SLOTS)
        return SS_OK;
    return ss_fail(
        err, SS_ERR_UNSUPPORTED, NULL, 0,
        "the jobs beside each other are %.2g events of %.2g slots, one iteration of the longest is "
        "%.0f of the shortest" SS_HINT "take smaller global batches, or --level chunk",
        events, slots, x->longest / x->shortest);
}

static int replay(const struct sharers *x, int engine, double delay, struct clock *c, struct ss_error *err)
{
    struct ss_program_part parts[SS_SHARERS_MOST];
    char prefix[SS_SHARERS_MOST][12];
    const struct ss_observer observer = {.ctx = c, .span = see};
    struct ss_program *p;

    for (int j = 0; j < x->n; j++) {
        snprintf(prefix[j], sizeof prefix[j], "%d", j + 1);
        parts[j] = (struct ss_program_part){x->run[j].program, x->times[j], j * delay, prefix[j]};
        c->delayed[j] = parts[j].delay > 0;
        c->first_class[j + 1] = c->first_class[j] + x->run[j].program->nclasses;
        memset(c->end[j], 0, (size_t)x->times[j] * sizeof *c->end[j]);
    }
    SS_TRY(ss_programs_join(parts, x->n, &p, err));
    int rc = ss_replay(p, engine, &observer, 1, NULL, err);
    ss_program_free(p);
    return rc;
}

/* Runs one start. *few gets 1 if a job was slowed down so much that others ended before COUNTED of its
 * iterations. */
static int run_start(const struct sharers *x, int engine, double delay, double *seconds, int *iterations,
                     int *few, struct ss_error *err)
{
    struct clock c = {.x = x};
    int rc = check_size(x, err);

    for (int j = 0; j < x->n && !rc; j++) {
        c.end[j] = ss_calloc((size_t)x->times[j], sizeof *c.end[j]);
        if (!c.end[j])
            rc = ss_nomem(err);
    }
    SS_THEN(rc, replay(x, engine, delay, &c, err));
    if (!rc) {
        measure(&c, seconds, iterations);
        *few = 0;
        for (int j = 0; j < x->n; j++)
            *few |= iterations[j] < COUNTED;
    }
    for (int j = 0; j < x->n; j++)
        free(c.end[j]);
    return rc;
}

/* ---- all starts ---- */

/* Sets how many iterations each job runs: the longest job as many as are measured, the others more than
 * fill its time. */
static void set_times(struct sharers *x)
{
    for (int j = 0; j < x->n; j++)
        x->times[j] = x->alone[j] < x->longest
                          ? (int)ceil((COUNTED + 2) * x->slack * x->longest / x->alone[j]) + 1
                          : COUNTED + 3;
}

static int run_starts(struct sharers *x, const struct ss_share_options *o, struct ss_sharing *out,
                      struct ss_error *err)
{
    double seconds[SS_SHARERS_MOST];
    int iterations[SS_SHARERS_MOST], few = 1;

    for (int k = 0; k < o->starts; k++) {
        double delay = x->shortest * k / o->starts;
        for (few = 1; few; x->slack *= few ? 2 : 1) {
            set_times(x);
            SS_TRY(run_start(x, o->engine, delay, seconds, iterations, &few, err));
        }
        for (int j = 0; j < x->n; j++) {
            struct ss_sharer *s = &out->sharer[j];
            s->beside += seconds[j] / o->starts;
            s->least = k ? fmin(s->least, seconds[j]) : seconds[j];
            s->most = k ? fmax(s->most, seconds[j]) : seconds[j];
            s->iterations = k && s->iterations < iterations[j] ? s->iterations : iterations[j];
        }
    }
    return SS_OK;
}

/* ---- links ---- */

struct user {
    const struct ss_link_use *link;
    int job;
};

static int by_name(const void *pa, const void *pb)
{
    const struct user *a = pa, *b = pb;
    int order = strcmp(a->link->link.name, b->link->link.name);

    return order ? order : a->job - b->job;
}

/* Takes one link and its users, one for each job. */
static void take_link(const struct user *users, int n, double *most, struct ss_sharing *out)
{
    struct ss_shared_link l = {.bandwidth = users[0].link->link.bandwidth};
    double sum = 0;

    for (int i = 0; i < n; i++) {
        double use = users[i].link->bytes / l.bandwidth / out->sharer[users[i].job].beside;
        l.use[users[i].job] = use;
        sum += use;
    }
    out->nlinks++;
    if (sum > *most) {
        ss_copy(l.name, sizeof l.name, users[0].link->link.name);
        out->limit = l;
        *most = sum;
    }
}

static int find_links(const struct sharers *x, struct ss_sharing *out, struct ss_error *err)
{
    size_t n = 0, all = 0;
    double most = 0;

    for (int j = 0; j < x->n; j++)
        all += (size_t)x->run[j].result->nlinks;
    struct user *users = ss_calloc(all + 1, sizeof *users);
    SS_NEED(users, err);
    for (int j = 0; j < x->n; j++)
        for (int i = 0; i < x->run[j].result->nlinks; i++)
            users[n++] = (struct user){&x->run[j].result->links[i], j};
    qsort(users, n, sizeof *users, by_name);
    for (size_t i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && !strcmp(users[i].link->link.name, users[next].link->link.name);)
            next++;
        if (next - i > 1)
            take_link(&users[i], (int)(next - i), &most, out);
    }
    free(users);
    return SS_OK;
}

/* ---- the whole ---- */

/* Checks that two jobs name the same cluster: its name, nodes and GPUs of a node. Bandwidths are
 * compared when the programs are joined. */
static int check_cluster(const struct ss_scenario *a, const struct ss_scenario *b, const char *const names[2],
                         struct ss_error *err)
{
    int nodes[2] = {ss_platform_nodes(a->platform), ss_platform_nodes(b->platform)};

    if (strcmp(ss_platform_name(a->platform), ss_platform_name(b->platform)) != 0 ||
        a->gpus_per_node != b->gpus_per_node)
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "%s is on %s with %d GPUs a node, %s on %s with %d" SS_HINT
                       "give one --platform to all",
                       names[0], ss_platform_name(a->platform), a->gpus_per_node, names[1],
                       ss_platform_name(b->platform), b->gpus_per_node);
    if (nodes[0] != nodes[1])
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "%s is on a cluster of %d nodes, %s on one of %d" SS_HINT
                       "give --cluster-nodes to all",
                       names[0], nodes[0], names[1], nodes[1]);
    return SS_OK;
}

/* Checks that no node has two jobs. */
static int check_nodes(const struct ss_scenario *const *jobs, const char *const *names, int n,
                       struct ss_error *err)
{
    int *owner = ss_calloc((size_t)ss_platform_nodes(jobs[0]->platform), sizeof *owner), rc = SS_OK;

    SS_NEED(owner, err);
    for (int j = 0; j < n && !rc; j++) {
        int own = jobs[j]->world_size / jobs[j]->gpus_per_node;
        rc = check_cluster(jobs[0], jobs[j], (const char *const[2]){names[0], names[j]}, err);
        for (int i = 0; i < own && !rc; i++) {
            int *who = &owner[ss_job_node(jobs[j]->job, i)];
            if (*who)
                rc = ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                             "node %d is of %s and of %s" SS_HINT "give each job --on-nodes of its own",
                             ss_job_node(jobs[j]->job, i), names[*who - 1], names[j]);
            *who = j + 1;
        }
    }
    free(owner);
    return rc;
}

static int run_alone(struct sharers *x, const struct ss_scenario *job, const struct ss_share_options *o,
                     struct ss_error *err)
{
    struct ss_run_options how = {.engine = o->engine, .unchecked = 1, .level_choice = SS_LEVEL_BLIND};

    how.plan.level = o->level;
    how.plan.unfold = how.plan.keep_links = 1;
    SS_TRY(ss_run_scenario(job, &how, &x->run[x->n], err));
    x->alone[x->n] = x->run[x->n].result->iteration_s;
    x->longest = fmax(x->longest, x->alone[x->n]);
    x->shortest = x->n ? fmin(x->shortest, x->alone[x->n]) : x->alone[0];
    x->n++;
    return SS_OK;
}

static void describe(const struct sharers *x, const struct ss_scenario *const *jobs, const char *const *names,
                     const struct ss_share_options *o, struct ss_sharing *out)
{
    out->n = x->n;
    out->engine = o->engine;
    out->level = o->level;
    out->starts = o->starts;
    out->nodes = ss_platform_nodes(jobs[0]->platform);
    ss_copy(out->platform, sizeof out->platform, ss_platform_name(jobs[0]->platform));
    for (int j = 0; j < x->n; j++) {
        ss_copy(out->sharer[j].name, sizeof out->sharer[j].name, names[j]);
        ss_job_nodes_text(jobs[j]->job, jobs[j]->world_size / jobs[j]->gpus_per_node, out->sharer[j].nodes,
                          sizeof out->sharer[j].nodes);
        out->sharer[j].gpus = jobs[j]->world_size;
        out->sharer[j].alone = x->alone[j];
    }
}

int ss_share(const struct ss_scenario *const *jobs, const char *const *names, int n,
             const struct ss_share_options *options, struct ss_sharing *out, struct ss_error *err)
{
    static const struct ss_share_options usual = {SS_ENGINE_NATIVE, SS_LEVEL_FLOW, 4};
    struct sharers x = {.slack = 1.5};

    options = options ? options : &usual;
    memset(out, 0, sizeof *out);
    if (n < 2 || n > SS_SHARERS_MOST)
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0, "%d jobs beside each other: 2 to %d are possible", n,
                       SS_SHARERS_MOST);
    int rc = check_nodes(jobs, names, n, err);
    for (int j = 0; j < n && !rc; j++)
        rc = run_alone(&x, jobs[j], options, err);
    if (!rc) {
        describe(&x, jobs, names, options, out);
        rc = run_starts(&x, options, out, err);
    }
    SS_THEN(rc, find_links(&x, out, err));
    for (int j = 0; j < x.n; j++)
        ss_run_free(&x.run[j]);
    return rc;
}
