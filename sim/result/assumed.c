/* SPDX-License-Identifier: Apache-2.0 */
/* The job without each thing that was assumed, and by other stacks where none is told. */
#include "stepsim/assumed.h"

#include "base/base.h"
#include "result/build.h"
#include "stepsim/flags.h"
#include "stepsim/job.h"

#define STEP 0.1 /* per cent: changes of time are ranked in steps of this, and within a step by memory */
#define SLOW_HOST                                                                                            \
    2.0 /* times as slow as the host of the card: measured runs want 1.3, 1.5 and 1.9; Grace is 2.46 times as slow as a Xeon */
#define HOST_BOUND 1.05 /* a host that slow changes the time by more: the job is bound by it */
#define EQUAL 1e-7      /* per cent: what changes both by no more does not matter */

/* The newest stack of each framework that people train with today. A test compares them with workloads/stacks. */
static const char *const newest[SS_OTHER_STACKS] = {"megatron-lm-2025", "megatron-bridge-26.08",
                                                    "torchtitan-2026", "deepspeed-2026", "pytorch-2026"};

struct scales {
    const struct ss_run *run;
    const struct ss_scenario *like;
    struct ss_run_options quick;
    double time, memory; /* of the run, over those of its quick simulation */
};

/* Simulates a job quickly; what refuses it is told in `why`. */
static int simulate(const struct scales *x, const struct ss_request *r, double *seconds, double *bytes,
                    int *outcome, struct ss_error *why)
{
    const struct ss_scenario_options like = {.like = x->like};
    struct ss_scenario *s;
    struct ss_run run;

    SS_TRY(ss_scenario_build(r, &like, &s, why));
    int rc = ss_run_scenario(s, &x->quick, &run, why);
    if (!rc) {
        *seconds = x->time * run.summary.iteration_s;
        *bytes = x->memory * run.summary.peak_device;
        *outcome = run.summary.outcome == SS_OUTCOME_TOO_LARGE ? SS_OUTCOME_TOO_LARGE : SS_OUTCOME_FITS;
        ss_run_free(&run);
    }
    ss_scenario_free(s);
    return rc;
}

/* Without a precision flags mean fp32, in which nobody trains: the other precision is the one of fewest bits that the card has kernels for. */
static int choose_precision(const struct ss_run *run, struct ss_request *r, struct ss_without *out,
                            struct ss_error *err)
{
    const struct ss_card *card = ss_platform_card(run->scenario->platform);
    const char *word = card->gemm_eff_mxfp8 > 0 ? "mxfp8" : card->peak_fp8 > 0 ? "fp8" : "fp16";

    snprintf(out->instead, sizeof out->instead, "--precision %s", word);
    return ss_request_set(r, "--precision", word, err);
}

/* What an iteration consists of, which is the question and no way to do it. */
static int is_work(const char *flag)
{
    return ss_flag_same(flag, "--seq-length") || ss_flag_same(flag, "--global-batch-size");
}

static int leave_out(const struct scales *x, const struct ss_request *r, const char *flag,
                     struct ss_without *out, struct ss_error *err)
{
    struct ss_error why = {0};
    struct ss_request other;
    int rc = ss_request_leave_out(r, flag, &other, out->flags, sizeof out->flags, err);

    if (!rc && !strcmp(flag, "--bf16") && x->run->scenario->job->precision == SS_BF16)
        rc = choose_precision(x->run, &other, out, err);
    if (!rc)
        rc = simulate(x, &other, &out->iteration_s, &out->peak_device, &out->outcome, &why);
    ss_request_free(&other);
    if (rc == SS_ERR_NOMEM)
        return ss_nomem(err);
    if (rc) {
        out->outcome = SS_OUTCOME_REFUSED;
        ss_copy(out->reason, sizeof out->reason, why.message);
    }
    return SS_OK;
}

/* Whether a flag is among flags with their values. */
static int has(const char *flags, const char *flag)
{
    size_t n = strlen(flag);

    for (const char *at = flags; (at = strstr(at, flag)); at += n)
        if ((at == flags || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
            return 1;
    return 0;
}

const struct ss_without *ss_assumed_thing(const struct ss_assumed *assumed, const char *flag)
{
    for (int i = 0; assumed && i < assumed->n; i++)
        if ((i < assumed->shown || assumed->things[i].outcome == SS_OUTCOME_REFUSED) &&
            has(assumed->things[i].flags, flag))
            return &assumed->things[i];
    return NULL;
}

/* How fast the host is nobody tells, but where it is a part of the card (Grace). It matters where it starts the kernels of experts and Megatron's plain all-to-all, which waits for the
 * ranks whose host is behind: measured runs of this kind took 1.4 to 1.7 times what is predicted (docs/reference/formats.md). */
static int is_host_open(const struct ss_run *run, const struct ss_request *r)
{
    const struct ss_job *job = run->scenario->job;

    if (!(job->model.num_experts > 0) || job->ep < 2 || job->moe.dispatcher != SS_DISPATCH_ALLTOALL ||
        ss_platform_card(run->scenario->platform)->host_slowdown != 1)
        return 0;
    for (size_t i = 0; i < r->n; i++)
        if (strstr(r->word[i].text, "host.slowdown=") || !strncmp(r->word[i].text, "launch=", 7))
            return 0;
    return 1;
}

static int slow_host(const struct scales *x, const struct ss_request *r, struct ss_without *out,
                     struct ss_error *err)
{
    struct ss_error why = {0};
    struct ss_request other;
    char value[32];

    SS_TRY(ss_request_copy(r, &other, err));
    ss_copy(out->flags, sizeof out->flags, SS_ASSUMED_HOST);
    snprintf(value, sizeof value, "host.slowdown=%gx", SLOW_HOST);
    int rc = ss_request_add_place(&other, NULL, err);
    SS_THEN(rc, ss_request_add(&other, "--scale", 0, err));
    SS_THEN(rc, ss_request_add(&other, value, 0, err));
    snprintf(out->instead, sizeof out->instead, "--scale %s", value);
    if (!rc && simulate(x, &other, &out->iteration_s, &out->peak_device, &out->outcome, &why)) {
        out->outcome = SS_OUTCOME_REFUSED;
        ss_copy(out->reason, sizeof out->reason, why.message);
    }
    ss_request_free(&other);
    return rc;
}

/* ---- which matter most ---- */

/* The most change first; refused things last. */
static int by_change(const void *pa, const void *pb)
{
    const struct ss_without *a = pa, *b = pb;
    const double by[] = {(a->outcome == SS_OUTCOME_REFUSED) - (b->outcome == SS_OUTCOME_REFUSED),
                         round(fabs(b->time_pct) / STEP) - round(fabs(a->time_pct) / STEP),
                         fabs(b->memory_pct) - fabs(a->memory_pct)};

    for (size_t i = 0; i < SS_ARRAY_LEN(by); i++)
        if (by[i] != 0)
            return by[i] > 0 ? 1 : -1;
    return strcmp(a->flags, b->flags);
}

static void rank(const struct ss_summary *u, struct ss_assumed *a)
{
    for (int i = 0; i < a->n; i++) {
        struct ss_without *w = &a->things[i];
        if (w->outcome == SS_OUTCOME_REFUSED)
            continue;
        w->time_pct = 100 * (w->iteration_s / u->iteration_s - 1);
        w->memory_pct = 100 * (w->peak_device / u->peak_device - 1);
        a->shown += fabs(w->time_pct) > EQUAL || fabs(w->memory_pct) > EQUAL;
    }
    qsort(a->things, (size_t)a->n, sizeof a->things[0], by_change);
    a->shown = a->shown < SS_ASSUMED_MOST ? a->shown : SS_ASSUMED_MOST;
}

/* ---- the bands ---- */

/* Moves an end of a band outwards (way: -1 or 1) by the squares of logarithms that assumptions may cost on that side. */
static double widened(double pct, int way, double squares)
{
    double side = log1p(pct / 100);

    return isfinite(side) && squares > 0 ? 100 * expm1(side + way * (hypot(side, sqrt(squares)) - fabs(side)))
                                         : pct;
}

/* A job that does not fit takes no time, and its memory is none that a run takes. */
static void widen(const struct ss_assumed *a, struct ss_summary *u)
{
    double time[2] = {0}, memory[2] = {0}; /* less, more */

    for (int i = 0; i < a->shown; i++) {
        const struct ss_without *w = &a->things[i];
        if (w->outcome == SS_OUTCOME_TOO_LARGE && strcmp(w->flags, SS_ASSUMED_HOST) != 0)
            continue;
        double t = log1p(w->time_pct / 100), m = log1p(w->memory_pct / 100);
        time[t > 0] += t * t;
        memory[m > 0] += m * m;
        u->weighed++;
    }
    u->time_low_pct = widened(u->time_low_pct, -1, time[0]);
    u->time_high_pct = widened(u->time_high_pct, 1, time[1]);
    u->memory_low_pct = widened(u->memory_low_pct, -1, memory[0]);
    u->memory_high_pct = widened(u->memory_high_pct, 1, memory[1]);
}

/* ---- stacks ---- */

static int by_time(const void *pa, const void *pb)
{
    const struct ss_other_stack *a = pa, *b = pb;

    return a->iteration_s != b->iteration_s ? (a->iteration_s > b->iteration_s ? 1 : -1)
                                            : strcmp(a->name, b->name);
}

static int try_stacks(const struct scales *x, const struct ss_request *words, struct ss_assumed *a,
                      struct ss_error *err)
{
    const struct ss_summary *u = &x->run->summary;
    struct ss_request given;
    int rc = SS_OK;

    SS_TRY(ss_request_given(words, &given, err));
    for (int i = 0; i < SS_OTHER_STACKS && !rc; i++) {
        struct ss_other_stack *o = &a->stacks[a->nstacks];
        double bytes;
        int outcome;
        ss_copy(o->name, sizeof o->name, newest[i]);
        rc = ss_request_set(&given, "--stack", newest[i], err);
        int refused = rc ? rc : simulate(x, &given, &o->iteration_s, &bytes, &outcome, NULL);
        a->nstacks += !refused;
        rc = refused == SS_ERR_NOMEM ? ss_nomem(err) : rc;
    }
    ss_request_free(&given);
    qsort(a->stacks, (size_t)a->nstacks, sizeof *a->stacks, by_time);
    for (int i = 0; i < a->nstacks; i++) {
        double off = 100 * (a->stacks[i].iteration_s / u->iteration_s - 1);
        a->stacks_differ |= off < u->time_low_pct || off > u->time_high_pct;
    }
    return rc;
}

/* ---- all ---- */

static int weigh(const struct scales *x, const struct ss_request *r, struct ss_assumed *a,
                 struct ss_error *err)
{
    struct ss_assumption word;
    int rc = SS_OK;

    for (size_t at = 0; !rc && ss_request_assumption(r, &at, &word);) {
        int known = is_work(word.flag);
        for (int i = 0; i < a->n && !known; i++)
            known = has(a->things[i].flags, word.flag);
        if (!known)
            rc = leave_out(x, r, word.flag, &a->things[a->n++], err);
    }
    if (!rc && is_host_open(x->run, r)) {
        struct ss_without *host = &a->things[a->n];
        rc = slow_host(x, r, host, err);
        a->n += host->outcome != SS_OUTCOME_REFUSED &&
                host->iteration_s > HOST_BOUND * x->run->summary.iteration_s;
    }
    rank(&x->run->summary, a);
    return rc;
}

/* Whether the run is what its quick simulation is, to the last bit: healthy GPUs, no flows, no jitter, nothing told of the plan. */
static int is_quick(const struct ss_run *run, const struct ss_run_options *how)
{
    static const struct ss_plan_options usual;

    return how && how->engine == SS_ENGINE_NATIVE && !how->full_replay && !(how->jitter.sigma > 0) &&
           run->plan->level == SS_LEVEL_CHUNK && !memcmp(&how->plan, &usual, sizeof usual);
}

/* Makes the quick simulation of the job itself, with which those of the others are compared. */
static int find_scales(struct scales *x, const struct ss_run_options *how, struct ss_error *err)
{
    struct ss_run run;

    x->time = x->memory = 1;
    if (is_quick(x->run, how))
        return SS_OK;
    SS_TRY(ss_run_scenario(x->run->scenario, &x->quick, &run, err));
    x->time = x->run->summary.iteration_s / run.summary.iteration_s;
    x->memory = x->run->summary.peak_device / run.summary.peak_device;
    ss_run_free(&run);
    return SS_OK;
}

static size_t count(const struct ss_request *r)
{
    struct ss_assumption word;
    size_t n = 0;

    for (size_t at = 0; ss_request_assumption(r, &at, &word);)
        n++;
    return n;
}

int ss_assumed_weigh(struct ss_run *run, const struct ss_request *words, const struct ss_scenario *like,
                     const struct ss_run_options *options, int stacks, struct ss_error *err)
{
    struct scales x = {.run = run,
                       .like = like,
                       .quick = {.engine = SS_ENGINE_NATIVE,
                                 .brief = 1,
                                 .unchecked = 1,
                                 .level_choice = SS_LEVEL_BLIND,
                                 .cache = options ? options->cache : NULL,
                                 .schedule = options ? options->schedule : NULL}};
    struct ss_cache *own = NULL;
    size_t most = count(words);
    struct ss_request r;
    int rc = SS_OK;

    stacks = stacks && ss_request_find(words, "--stack") == words->n;
    if (!most && !stacks && !is_host_open(run, words))
        return SS_OK;
    run->assumed = ss_calloc(1, sizeof *run->assumed + (most + 1) * sizeof run->assumed->things[0]);
    SS_NEED(run->assumed, err);
    rc = ss_request_copy(words, &r, err);
    SS_THEN(rc, ss_request_resolve(&r, NULL, err));
    if (!rc && !x.quick.cache) {
        rc = ss_cache_open(&own, err);
        x.quick.cache = own;
    }
    SS_THEN(rc, find_scales(&x, options, err));
    SS_THEN(rc, weigh(&x, &r, run->assumed, err));
    if (!rc)
        widen(run->assumed, &run->summary);
    if (!rc && stacks)
        rc = try_stacks(&x, words, run->assumed, err);
    ss_cache_close(own);
    ss_request_free(&r);
    return rc;
}

static int run_weighed(const struct ss_scenario *s, const struct ss_run_options *options, int stacks,
                       struct ss_run *out, struct ss_error *err)
{
    SS_TRY(ss_run_scenario(s, options, out, err));
    int rc = ss_assumed_weigh(out, s->request, s, options, stacks, err);
    if (rc)
        ss_run_free(out);
    return rc;
}

int ss_run_weighed(const struct ss_scenario *s, const struct ss_run_options *options, struct ss_run *out,
                   struct ss_error *err)
{
    return run_weighed(s, options, 1, out, err);
}

int ss_run_widened(const struct ss_scenario *s, const struct ss_run_options *options, struct ss_run *out,
                   struct ss_error *err)
{
    return run_weighed(s, options, 0, out, err);
}
