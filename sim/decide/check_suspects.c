/* SPDX-License-Identifier: Apache-2.0 */
/* Finds why a run is slower or faster than predicted. Each suspect is simulated, or computed from the
 * figure. */
#include "base/base.h"
#include "decide/check_internal.h"
#include "report/text.h"
#include "stepsim/params.h"
#include "study/changes.h"

#define LEAST_SHARE 0.05 /* share of the difference: a cause that explains less is no suspect */
/* share of the difference: a suspect that explains less is no explanation, even near the end of the band */
#define LARGE_SHARE 0.5
#define BISECTIONS 12
#define CLOSE 0.003 /* share of the time: so near to the measured time a factor is found */

/* How a suspect is tried. WORDS: by words added to the job's. FACTOR, STRAGGLER, LINK: by the factor of
 * a prop, a GPU or a link that gives the measured time. SAID: not at all. */
enum kind { WORDS, FACTOR, STRAGGLER, LINK, SAID };
/* When a suspect applies. A row may have several conditions; all must hold. */
enum when {
    SLOWER = 1,
    FASTER = 2,
    NODES = 4,
    PER_ITERATION = 8,
    OF_TOKENS = 16,
    TIGHT = 32,
    COLD = 64,
    NO_STACK = 128
};

static const struct suspect_row {
    const char *id;
    enum kind kind;
    unsigned when;
    double limit; /* the largest or smallest factor that is tried */
    const char *what, *words, *next;
} rows[] = {
    /* ---- switches that the job tells, and the run may lack ---- */
    {"fp8", WORDS, SLOWER, 0, "fp8 does not act: GEMMs run in 16 bit", "--without fp8-format",
     "names of GEMM kernels in a trace: e4m3 or not"},
    {"tp-overlap", WORDS, SLOWER, 0, "the overlap of tensor-parallel collectives does not act",
     "--without tp-comm-overlap", "a trace: do gathers run beside GEMMs, or NCCL's kernels between them?"},
    {"dp-overlap", WORDS, SLOWER, 0, "gradients are reduced behind the backward, not beside it",
     "--without overlap-param-gather --without overlap-grad-reduce",
     "a trace: NCCL's kernels behind the last backward; CUDA_DEVICE_MAX_CONNECTIONS"},
    {"grad-overlap", WORDS, SLOWER, 0, "gradients are reduced behind the backward, not beside it",
     "--without overlap-grad-reduce", "a trace: NCCL's kernels behind the last backward"},
    {"grouped-gemm", WORDS, SLOWER, 0, "experts run one after the other, not as grouped GEMMs",
     "--without moe-grouped-gemm",
     "a trace: one GEMM an expert, or one for all; is grouped_gemm or Transformer Engine's installed?"},
    {"permute-fusion", WORDS, SLOWER, 0, "the permutation of tokens is not fused",
     "--without moe-permute-fusion", "a trace: kernels between router and experts"},
    {"expert-overlap", WORDS, SLOWER, 0, "the exchange of experts is not overlapped",
     "--without overlap-moe-expert-parallel-comm", "a trace: all-to-alls beside kernels or between them"},
    {"dispatcher", WORDS, SLOWER, 0, "tokens go by NCCL's all-to-all, not by the dispatcher that is told",
     "--moe-token-dispatcher-type alltoall",
     "the log's arguments, and a trace: kernels of DeepEP or of NCCL"},
    {"graphs", WORDS, SLOWER, 0, "CUDA graphs do not act", "--cuda-graph-impl none",
     "a trace: cudaGraphLaunch, or a launch for each kernel"},
    {"attention", WORDS, SLOWER, 0, "attention is not fused: no flash attention",
     "--attention-backend unfused", "names of attention kernels in a trace; NVTE_DEBUG=1 NVTE_DEBUG_LEVEL=2"},
    {"checks", WORDS, SLOWER, 0,
     "PyTorch checks each collective before it runs: TORCH_DISTRIBUTED_DEBUG=DETAIL",
     "--set ss.host.check=" SS_HOST_CHECK,
     "the launcher's environment; a trace: the host between collectives"},
    {"recompute", WORDS, SLOWER, 0, "all layers are recomputed", "--recompute full", "the log's arguments"},
    /* ---- the cluster ---- */
    {"nic-half", WORDS, SLOWER | NODES, 0,
     "NICs of half the rate: 200 for 400 Gb/s, or one of two ports is down", "--scale nic.bandwidth=0.5x",
     "nccl-tests' all_reduce_perf over all nodes; ibstat"},
    {"half-gpus", WORDS, SLOWER | NODES | PER_ITERATION, 0, "half of the nodes train", "--nodes HALF",
     "the world size in the log"},
    {"batch", WORDS, SLOWER | PER_ITERATION, 0, "a global batch of twice the size",
     "--global-batch-size TWICE", "the log's global batch, and steps of accumulation"},
    {"imbalance", WORDS, SLOWER, 0, "experts get uneven loads", "--moe-load zipf:0.6",
     "tokens of each expert; a run with forced balancing beside this one"},
    {"nic", FACTOR, SLOWER | NODES, 1.0 / 256, "each NIC at %.1f %% of its rate", "nic.bandwidth",
     "nccl-tests between nodes; NCCL_DEBUG=INFO: NET/IB or NET/Socket, GDRDMA"},
    {"fabric", FACTOR, SLOWER, 1.0 / 32, "NVLink at %.1f %% of its rate", "nvlink.bandwidth",
     "nccl-tests inside a node; nvidia-smi nvlink -s, topo -m"},
    {"host", FACTOR, SLOWER, 32, "the host takes %.1f times as long to launch kernels", "launch",
     "a trace: gaps between kernels; CPU frequency, Python's work in each layer, cores that processes are "
     "bound to"},
    {"clock", FACTOR, SLOWER, 1.0 / 8, "all GPUs compute at %.1f %% of their rate", "peak",
     "nvidia-smi -q -d CLOCK,POWER,PERFORMANCE under load; a GEMM alone"},
    {"straggler", STRAGGLER, SLOWER, 8, "one GPU is %.2f times as slow as the others", "0",
     "time of each rank's forward (--timing-log-option all, or a barrier before each step)"},
    {"link", LINK, SLOWER | NODES, 256, "one NIC has 1/%.1f of its rate", "nic-0-0",
     "ibstat and error counters of each NIC; nccl-tests over pairs of nodes"},
    {"stack", WORDS, SLOWER | NO_STACK, 0, "the software is older: as Megatron-LM of 2022",
     "--stack megatron-lm-2022", "the release of the framework; name it by --stack"},
    {"stack", WORDS, SLOWER | NO_STACK, 0, "the software is Megatron-LM of 2025 with its own defaults",
     "--stack megatron-lm-2025", "the release of the framework; name it by --stack"},
    /* ---- what is not simulated ---- */
    {"memory", SAID, SLOWER | TIGHT, 0,
     "memory is near the limit: the allocator frees its cache and tries again", NULL,
     "torch.cuda.memory_stats: num_alloc_retries; a run with more recompute beside this one"},
    {"warm-up", SAID, SLOWER | COLD, 0,
     "the figure holds first iterations: compilation, autotuning, cold caches", NULL,
     "the median of ten iterations behind the first ten"},
    {"padding", SAID, SLOWER | OF_TOKENS, 0,
     "%.1f %% of the tokens are padding, which the figure does not count", NULL,
     "tokens of a batch without padding over batch times sequence"},
    {"host-work", SAID, SLOWER, 0,
     "%s of each iteration outside of the model: data, logging, evaluation, checkpoints", NULL,
     "a run on synthetic data without evaluation and checkpoints; a trace of the end of the iteration"},
    /* ---- faster ---- */
    {"stack", WORDS, FASTER | NO_STACK, 0, "the software is newer: as NeMo of 2025", "--stack nemo-25.03",
     "the release of the framework; name it by --stack"},
    {"stack", WORDS, FASTER | NO_STACK, 0, "the software is newer: as Megatron-Bridge of 2026",
     "--stack megatron-bridge-26.06", "the release of the framework; name it by --stack"},
    {"fp8", WORDS, FASTER, 0, "GEMMs run in fp8", "--fp8-format hybrid",
     "names of GEMM kernels in a trace; the log's arguments"},
    {"bf16", WORDS, FASTER, 0, "the run is in bf16", "--bf16", "the log's arguments"},
    {"recompute", WORDS, FASTER, 0, "nothing is recomputed", "--recompute none", "the log's arguments"},
    {"recompute-selective", WORDS, FASTER, 0, "attention alone is recomputed", "--recompute selective",
     "the log's arguments"},
    {"batch", WORDS, FASTER | PER_ITERATION, 0, "a global batch of half the size", "--global-batch-size HALF",
     "the log's global batch, and steps of accumulation"},
    {"twice-gpus", WORDS, FASTER | PER_ITERATION, 0, "twice as many nodes train", "--nodes TWICE",
     "the world size in the log"},
    {"short-rows", SAID, FASTER, 0, "rows are shorter than the sequence: %.1f %% of the tokens are there",
     NULL, "tokens of a batch over batch times sequence"},
};

/* ---- simulations ---- */

struct court {
    const struct ss_run *run;
    struct ss_run_options quick;
    struct ss_changed from;
    struct ss_checked *c;
    struct ss_error *err;
};

/* Simulates the job with words added. Sets its seconds; NaN where the words are refused, or take away a
 * flag that the job lacks. */
static int simulate(struct court *k, const char *words, const struct ss_run_options *how, double *seconds)
{
    const struct ss_scenario_options like = {.like = k->run->scenario};
    struct ss_error why = {0};
    struct ss_scenario *s = NULL;
    struct ss_changed c;
    struct ss_run run;
    int rc = ss_change_apply(&k->from, words, &c);

    *seconds = NAN;
    if (rc)
        return rc == SS_ERR_NOMEM ? ss_nomem(k->err) : SS_OK;
    rc = ss_scenario_build(&c.request, &like, &s, &why);
    if (!rc) {
        k->c->runs++;
        rc = ss_run_scenario(s, how, &run, &why);
    }
    if (!rc) {
        *seconds = run.result->iteration_s;
        ss_run_free(&run);
    }
    ss_scenario_free(s);
    ss_request_free(&c.request);
    return rc == SS_ERR_NOMEM ? ss_nomem(k->err) : SS_OK;
}

/* Simulates the job with a factor of a row. */
static int simulate_factor(struct court *k, const struct suspect_row *row, double factor, double *seconds)
{
    struct ss_straggler gpu = {atoi(row->words), factor};
    struct ss_slow_link link = {.factor = factor};
    struct ss_run_options how = k->quick;
    char words[96] = "";

    if (row->kind == FACTOR) {
        snprintf(words, sizeof words, "--scale %s=%.5fx", row->words, factor);
    } else if (row->kind == STRAGGLER) {
        how.plan.nstragglers = 1;
        how.plan.stragglers = &gpu;
    } else {
        ss_copy(link.name, sizeof link.name, row->words);
        how.plan.nslow_links = 1;
        how.plan.slow_links = &link;
    }
    return simulate(k, words, &how, seconds);
}

/* Finds the factor between 1 and the row's limit that gives the measured time. Where even the limit
 * falls short, it is the limit. */
static int find_factor(struct court *k, const struct suspect_row *row, double *factor, double *seconds)
{
    double near = 0, far = log(row->limit), target = k->c->measured_s;
    int rc = simulate_factor(k, row, row->limit, seconds);

    *factor = row->limit;
    if (rc || !(*seconds > target))
        return rc;
    for (int i = 0; i < BISECTIONS && !rc && fabs(*seconds / target - 1) > CLOSE; i++) {
        double middle = (near + far) / 2;
        *factor = exp(middle);
        rc = simulate_factor(k, row, *factor, seconds);
        if (isnan(*seconds))
            return rc;
        *(*seconds < target ? &near : &far) = middle;
    }
    return rc;
}

/* ---- suspects ---- */

static double share_of(const struct ss_checked *c, double predicted_s, double seconds)
{
    return (seconds - predicted_s) / (c->measured_s - predicted_s);
}

static int by_rank(const void *pa, const void *pb)
{
    const struct ss_suspect *a = pa, *b = pb;

    return a->rank != b->rank ? (a->rank < b->rank ? -1 : 1) : strcmp(a->id, b->id);
}

/* Keeps a suspect. Where there is no room, it replaces the least likely one. */
static void keep(struct ss_checked *c, const struct ss_suspect *s)
{
    int at = c->nsuspects;

    for (int i = 0; i < c->nsuspects; i++)
        if (s->change[0] && !strcmp(c->suspect[i].change, s->change))
            return;
    if (c->nsuspects < SS_SUSPECTS_MOST)
        c->nsuspects++;
    else
        at = by_rank(&c->suspect[SS_SUSPECTS_MOST - 1], s) > 0 ? SS_SUSPECTS_MOST - 1 : -1;
    if (at < 0)
        return;
    c->suspect[at] = *s;
    qsort(c->suspect, (size_t)c->nsuspects, sizeof *s, by_rank);
}

/* Ranks a suspect. Suspects that explain all come first: fixed changes before factors, small factors
 * before large ones. The others follow by how near they come. */
static void rank(const struct court *k, struct ss_suspect *s, double extent)
{
    s->share = share_of(k->c, k->run->summary.iteration_s, s->seconds);
    s->explains = s->share >= LARGE_SHARE && ss_check_holds(k->c, s->seconds, k->c->measured_s);
    s->rank = s->explains ? (extent > 0 ? 1 + extent : fabs(1 - s->share))
                          : 4 - (s->share > 1 ? 1 / s->share : s->share);
}

/* Writes the words of a row with the numbers for HALF and TWICE of what the job has. Returns 0 where
 * there is no half. */
static int fill_words(const struct court *k, const char *words, char *out, size_t size)
{
    static const char *const names[] = {"HALF", "TWICE"};
    int value = strstr(words, "batch")
                    ? k->run->plan->job->global_batch
                    : k->run->plan->world_size / ss_platform_file_gpus(k->run->scenario->platform);

    for (int i = 0; i < 2; i++) {
        const char *at = strstr(words, names[i]);
        if (!at)
            continue;
        snprintf(out, size, "%.*s%d", (int)(at - words), words, i ? 2 * value : value / 2);
        return i || value % 2 == 0;
    }
    ss_copy(out, size, words);
    return 1;
}

static int try_row(struct court *k, const struct suspect_row *row)
{
    struct ss_suspect s = {.seconds = NAN, .share = NAN};
    char words[160] = "";
    double factor = 1;
    int rc = SS_OK;

    ss_copy(s.id, sizeof s.id, row->id);
    ss_copy(s.next, sizeof s.next, row->next);
    ss_copy(s.what, sizeof s.what, row->what);
    if (row->kind == WORDS) {
        if (!fill_words(k, row->words, words, sizeof words))
            return SS_OK;
        rc = simulate(k, words, &k->quick, &s.seconds);
        ss_copy(s.change, sizeof s.change, words);
    } else {
        rc = find_factor(k, row, &factor, &s.seconds);
        snprintf(s.what, sizeof s.what, row->what, row->limit < 1 ? 100 * factor : factor);
        snprintf(s.change, sizeof s.change,
                 row->kind == FACTOR      ? "--scale %s=%.3gx"
                 : row->kind == STRAGGLER ? "--straggler %s:%.3g"
                                          : "--slow-link %s:%.3g",
                 row->words, factor);
    }
    if (rc || isnan(s.seconds))
        return rc;
    rank(k, &s, row->kind == WORDS ? 0 : log(factor) / log(row->limit));
    if (s.share >= LEAST_SHARE)
        keep(k->c, &s);
    return SS_OK;
}

/* Adds a suspect that is not simulated. */
static void say_row(struct court *k, const struct suspect_row *row)
{
    struct ss_suspect s = {.seconds = NAN, .share = NAN, .rank = row->when & (TIGHT | COLD) ? 0.5 : 5};
    double predicted = k->run->summary.iteration_s, measured = k->c->measured_s;
    char time[48];

    ss_copy(s.id, sizeof s.id, row->id);
    ss_copy(s.next, sizeof s.next, row->next);
    if (strstr(row->what, "%s")) {
        snprintf(s.what, sizeof s.what, row->what, ss_text_time(measured - predicted, time, sizeof time));
    } else {
        snprintf(s.what, sizeof s.what, row->what,
                 100 * (row->when & FASTER ? measured / predicted : 1 - predicted / measured));
    }
    keep(k->c, &s);
}

static unsigned state_of(const struct court *k)
{
    const struct ss_checked *c = k->c;
    const struct ss_measurement *m = &c->measured;
    int told = c->figure[0].told;
    unsigned state = c->verdict == SS_CHECK_SLOWER ? SLOWER : FASTER;

    state |= k->run->plan->world_size > ss_platform_file_gpus(k->run->scenario->platform) ? NODES : 0;
    state |= told == SS_TOLD_SECONDS ? PER_ITERATION : 0;
    state |= told == SS_TOLD_TOKENS || told == SS_TOLD_TOKENS_GPU ? OF_TOKENS : 0;
    state |= k->run->summary.outcome != SS_OUTCOME_FITS ? TIGHT : 0;
    state |= m->iterations && (m->whole_run || m->used == m->iterations) ? COLD : 0;
    state |=
        ss_request_find(k->run->scenario->request, "--stack") == k->run->scenario->request->n ? NO_STACK : 0;
    return state;
}

/* ---- the figure itself ---- */

/* Adds a suspect that the figure means something else, by which the run takes `seconds`. */
static void reread(struct court *k, const char *id, const char *what, const char *next, double seconds)
{
    double predicted = k->run->summary.iteration_s;
    struct ss_suspect s = {.seconds = NAN, .share = NAN, .explains = 1};

    if (!ss_check_holds(k->c, predicted, seconds))
        return;
    ss_copy(s.id, sizeof s.id, id);
    ss_copy(s.what, sizeof s.what, what);
    ss_copy(s.next, sizeof s.next, next);
    s.rank = fabs(log(seconds / predicted)) / 2; /* no fault of the run is needed */
    keep(k->c, &s);
}

static void reread_figure(struct court *k)
{
    const struct ss_check_figure *f = &k->c->figure[0];
    const struct ss_summary *u = &k->run->summary;
    const int has_windows = u->tflops_windows_per_gpu < u->tflops_causal_per_gpu;
    double gpus = u->gpus;
    char what[160];

    for (int i = SS_COUNT_FULL; i < SS_FLOP_COUNTS && f->count != SS_COUNT_STACK; i++) {
        snprintf(what, sizeof what, "the figure counts otherwise: %s", ss_flop_count_words(i));
        if (i != f->count && (i != SS_COUNT_WINDOWS || has_windows))
            reread(k, "count", what, "the framework's function of FLOP, and its release",
                   ss_check_seconds(k->run, f->told, i, f->measured));
    }
    if (f->told == SS_TOLD_MFU)
        reread(k, "peak", "the MFU is one of a peak with sparsity, twice the dense one",
               "the peak that it divides by", ss_check_seconds(k->run, f->told, f->count, 2 * f->measured));
    if (f->told == SS_TOLD_TOKENS || f->told == SS_TOLD_TOKENS_GPU)
        reread(k, "gpus",
               f->told == SS_TOLD_TOKENS ? "tokens/s are those of one GPU" : "tokens/s are those of all GPUs",
               "whether the framework divides by the world size",
               ss_check_seconds(k->run, f->told, f->count,
                                f->told == SS_TOLD_TOKENS ? f->measured * gpus : f->measured / gpus));
}

void ss_check_reread(const struct ss_run *run, struct ss_checked *c)
{
    struct court k = {.run = run, .c = c};

    reread_figure(&k);
}

/* Adds the changes that help such a job: a faster run may have these switches. */
static void add_switches(struct court *k)
{
    const struct ss_explanation *x = &k->c->help;

    for (int i = 0; i < x->nadvice && k->c->verdict == SS_CHECK_FASTER; i++) {
        struct ss_suspect s = {.id = "switch",
                               .what = "the run has a switch or a layout that the job does not tell"};
        ss_copy(s.change, sizeof s.change, x->advice[i].change);
        ss_copy(s.next, sizeof s.next, "the log's arguments");
        s.seconds = x->advice[i].summary.iteration_s;
        rank(k, &s, 0);
        if (s.share >= LEAST_SHARE)
            keep(k->c, &s);
    }
}

int ss_check_suspects(const struct ss_run *run, const struct ss_run_options *options, struct ss_checked *c,
                      struct ss_error *err)
{
    struct court k = {.run = run, .c = c, .err = err};
    int rc = ss_change_start(run->scenario, &k.from, err);

    if (rc)
        return rc;
    k.quick = (struct ss_run_options){.engine = SS_ENGINE_NATIVE,
                                      .plan = options->plan,
                                      .unchecked = 1,
                                      .brief = 1,
                                      .level_choice = SS_LEVEL_BLIND};
    k.quick.plan.level = run->result->level;
    unsigned state = state_of(&k);
    reread_figure(&k);
    for (size_t i = 0; i < SS_ARRAY_LEN(rows) && !rc; i++) {
        if (rows[i].when & ~state)
            continue;
        if (rows[i].kind == SAID)
            say_row(&k, &rows[i]);
        else
            rc = try_row(&k, &rows[i]);
    }
    add_switches(&k);
    ss_request_free(&k.from.request);
    return rc;
}
