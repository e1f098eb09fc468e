/* SPDX-License-Identifier: Apache-2.0 */
/* What packed rows that differ cost, against iterations that are run with rows drawn here, replica by replica. */
#include <math.h>
#include <stdlib.h>

#include "job/packing.h"
#include "scale_job.h"
#include "stepsim/replay.h"
#include "suite.h"

/* Draws of their own (xorshift64*). */
static uint64_t state = 88172645463325252ULL;

static double random_square(const struct ss_packing *p)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return p->square[(state * 2685821657736338717ULL >> 33) % (uint64_t)p->nrows];
}

static struct ss_packing pack(int law, double low, double high, int row)
{
    const struct ss_packing_input in = {.law = law, .low = low, .high = high, .row = row, .multiple = 1};
    struct ss_packing p;
    CU_ASSERT_EQUAL_FATAL(ss_packing_build(&in, &p, NULL), 0);
    return p;
}

static double label_sum(const double *by_label)
{
    return ss_label_sum(by_label);
}

/* Seconds that the F (or B) of a chunk takes more for a row of twice the squares: a slope between rows of one document and of
 * two, at the keys of the mean row. */
struct slopes {
    double f[16], b[16]; /* [stage * chunks + chunk] */
};

static struct slopes slopes_of(struct scale_job *s, const struct ss_packing *p)
{
    struct ss_packing one = pack(SS_PACKED_FIXED, s->job.seq_length, 0, s->job.seq_length),
                      two = pack(SS_PACKED_FIXED, s->job.seq_length / 2, 0, s->job.seq_length);
    const struct ss_packing *const rows[] = {&one, &two};
    struct slopes slopes = {{0}, {0}};
    double per_row = ss_packing_keys(p, 0, 0) / (s->job.seq_length / 2);
    for (int i = 0; i < 2; i++) {
        struct ss_run run;
        s->job.packed.rows = rows[i];
        CU_ASSERT_EQUAL_FATAL(scale_run(s, NULL, &run), 0);
        for (int c = 0; c < run.plan->nclasses; c++)
            for (int k = 0; k < run.plan->schedule->chunks; k++) {
                int at = run.plan->classes[c].stage * run.plan->schedule->chunks + k;
                slopes.f[at] += (i ? -per_row : per_row) * label_sum(run.plan->classes[c].chunks[k].forward);
                slopes.b[at] += (i ? -per_row : per_row) * label_sum(run.plan->classes[c].chunks[k].backward);
            }
        ss_run_free(&run);
    }
    ss_packing_free(&one);
    ss_packing_free(&two);
    return slopes;
}

/* Gives each slot of the schedule a template of its own, whose computations take what its microbatch's row says. */
static void vary(struct ss_program *p, const struct slopes *slopes, int chunks, const double *squares)
{
    int n = p->ntemplates, slots = 0;
    for (int c = 0; c < p->nclasses; c++)
        slots += p->classes[c].nslots;
    p->templates = realloc(p->templates, (size_t)(n + slots) * sizeof *p->templates);
    for (int c = 0; c < p->nclasses; c++)
        for (int i = 0; i < p->classes[c].nslots; i++) {
            struct ss_program_slot *slot = &p->classes[c].slots[i];
            if (slot->phase < 0)
                continue;
            const struct ss_template *old = &p->templates[slot->template_index];
            struct ss_template *own = &p->templates[p->ntemplates];
            double seconds = 0, more = slot->phase == SS_PHASE_F
                                           ? slopes->f[p->classes[c].stage * chunks + slot->chunk]
                                           : slopes->b[p->classes[c].stage * chunks + slot->chunk];
            *own = *old;
            snprintf(own->name, sizeof own->name, "own%d", p->ntemplates);
            own->events = malloc((size_t)old->nevents * sizeof *old->events);
            memcpy(own->events, old->events, (size_t)old->nevents * sizeof *old->events);
            for (int e = 0; e < own->nevents; e++)
                seconds += own->events[e].kind == SS_EV_COMPUTE ? own->events[e].amount : 0;
            for (int e = 0; e < own->nevents; e++)
                if (own->events[e].kind == SS_EV_COMPUTE)
                    own->events[e].amount *= 1 + more * (squares[slot->microbatch] - 1) / seconds;
            slot->template_index = p->ntemplates++;
        }
}

/* Seconds of an iteration of one replica with rows drawn here. */
static double replica(const struct ss_packing *p, const struct slopes *slopes, const struct ss_plan *plan,
                      int rows)
{
    double squares[64];
    struct ss_program *program;
    struct ss_timeline *t;
    for (int m = 0; m < plan->microbatches; m++) {
        squares[m] = 0;
        for (int k = 0; k < rows; k++) /* of replicas in lockstep */
            squares[m] = fmax(squares[m], random_square(p));
    }
    CU_ASSERT_EQUAL_FATAL(ss_program_build(plan, &program, NULL), 0);
    vary(program, slopes, plan->schedule->chunks, squares);
    CU_ASSERT_EQUAL_FATAL(ss_timeline_replay(program, SS_ENGINE_NATIVE, &t, NULL), 0);
    double seconds = t->iteration_s;
    ss_timeline_free(t);
    ss_program_free(program);
    return seconds;
}

/* What rows that differ add to an iteration. */
struct added {
    double predicted; /* s */
    double
        run; /* s; the mean of iterations with rows drawn here, less the one whose rows are all the mean one */
    double error;     /* s; standard error of the difference of both: DRAWS iterations are predicted from */
    double iteration; /* s; all rows the mean one */
};

#define DRAWS 4096

/* Takes the mean over iterations of the slowest of `replicas`. */
static struct added brute_force(const char *text, const struct ss_packing *p, int replicas, int lockstep,
                                int iterations)
{
    struct scale_job s;
    struct ss_run run;
    struct added a = {0};
    CU_ASSERT_EQUAL_FATAL(scale_open(&s, text), 0);
    const struct slopes slopes = slopes_of(&s, p);
    s.job.packed.rows = p;
    CU_ASSERT_EQUAL_FATAL(scale_run(&s, NULL, &run), 0);
    a.predicted = run.plan->packing.imbalance.mean;
    a.iteration = run.result->iteration_s - a.predicted;
    CU_ASSERT_DOUBLE_EQUAL(run.result->stages[run.result->critical_stage].breakdown[SS_LABEL_IMBALANCE],
                           a.predicted, 1e-6 * a.iteration);
    for (int c = 0; c < run.plan->nclasses; c++)
        run.plan->classes[c].imbalance_s = 0;
    double squares = 0;
    for (int i = 0; i < iterations; i++) {
        double most = 0;
        for (int r = 0; r < replicas; r++)
            most = fmax(most, replica(p, &slopes, run.plan, lockstep));
        a.run += (most - a.iteration) / iterations;
        squares += (most - a.iteration) * (most - a.iteration) / iterations;
    }
    a.error = sqrt((squares - a.run * a.run) * (1.0 / iterations + 1.0 / DRAWS));
    ss_run_free(&run);
    scale_close(&s);
    return a;
}

#define JOB "--model llama3.1-8b --bf16 --seq 16384 --mbs 1 --use-distributed-optimizer "

/* The prediction is right to three standard errors, of pipelines to a thousandth of the iteration beyond. */
static void expect(const char *name, const char *text, const struct ss_packing *p, int replicas, int lockstep,
                   double of_iteration)
{
    struct added a = brute_force(text, p, replicas, lockstep, 4000);
    double tolerance = 3 * a.error + of_iteration * a.iteration;
    if (!(fabs(a.predicted - a.run) < tolerance))
        printf("\n%s: %.3f ms predicted, %.3f +- %.3f ms run\n", name, 1e3 * a.predicted, 1e3 * a.run,
               1e3 * a.error);
    CU_ASSERT_DOUBLE_EQUAL(a.predicted, a.run, tolerance);
}

/* Without a pipeline a replica takes the sum of its microbatches; the largest of eight. */
TEST(replicas)
{
    struct ss_packing p = pack(SS_PACKED_LOGNORMAL, 1500, 1, 16384);
    expect("8 replicas", "h800 1;" JOB "--gbs 32", &p, 8, 1, 0);
    ss_packing_free(&p);
}

/* In a pipeline the slower of the microbatches under way holds up the others. The prediction has free communication, while the
 * program that is run has sends that wait for their receivers. One replica waits for nobody else: what is left is pipelines. */
#define PIPELINED 1e-3
TEST(pipelines)
{
    struct ss_packing p = pack(SS_PACKED_LOGNORMAL, 1500, 1, 16384);
    expect("1f1b", "h800 2;" JOB "--tp 2 --pp 4 --gbs 16", &p, 2, 1, PIPELINED);
    expect("one pipeline", "h800 1;" JOB "--tp 2 --pp 4 --gbs 16", &p, 1, 1, PIPELINED);
    expect("interleaved", "h800 2;" JOB "--tp 2 --pp 4 --vp 2 --gbs 16", &p, 2, 1, PIPELINED);
    ss_packing_free(&p);
}

/* FSDP gathers parameters in every layer, experts take tokens of all replicas: these run at the pace of the slowest in each
 * microbatch. */
TEST(lockstep)
{
    struct ss_packing p = pack(SS_PACKED_UNIFORM, 100, 8000, 16384);
    expect("fsdp",
           "h800 1;--model llama3.1-8b --bf16 --seq 16384 --mbs 1 --stack megatron-bridge-26.06 --fsdp full "
           "--gbs 32",
           &p, 1, 8, 0);
    expect("experts", "h800 1;--model moonlight-16b --bf16 --seq 16384 --mbs 1 --ep 8 --gbs 32", &p, 1, 8, 0);
    ss_packing_free(&p);
}

/* Rows hold one document of 16,384 tokens or two of half as many: 4/3 or 2/3 of the mean squares, which are 3/4 of a full row's.
 * The slower of two replicas with one row each has 4/3 in three of four iterations: on average 1/6 more than the mean row, and
 * 1/3 more from the 25th percentile on. Attention takes seconds in proportion to the keys of its queries, so that the mean
 * squares are worth one and a half times what a full row takes more than a half one. */
TEST(two_replicas_by_hand)
{
    const struct ss_lengths lengths = {2, (int[]){16384, 8192}, (double[]){1, 2}, 3};
    const struct ss_packing_input in = {.law = SS_PACKED_FILE,
                                        .lengths = &lengths,
                                        .row = 16384,
                                        .multiple = 1,
                                        .algorithm = SS_PACKED_DECREASING};
    struct ss_packing rows[3];
    double seconds[2];
    struct scale_job s;
    struct ss_run run;
    rows[0] = pack(SS_PACKED_FIXED, 16384, 0, 16384);
    rows[1] = pack(SS_PACKED_FIXED, 8192, 0, 16384);
    CU_ASSERT_EQUAL_FATAL(ss_packing_build(&in, &rows[2], NULL), 0);
    CU_ASSERT_DOUBLE_EQUAL(rows[2].sigma, 1 / 3.0, 1e-12);
    CU_ASSERT_EQUAL_FATAL(scale_open(&s, "h800 1;" JOB "--tp 4 --gbs 2"), 0);
    for (int i = 0; i < 3; i++) {
        s.job.packed.rows = &rows[i];
        CU_ASSERT_EQUAL_FATAL(scale_run(&s, NULL, &run), 0);
        const struct ss_chunk_cost *chunk = &run.plan->classes[0].chunks[0];
        const struct ss_load_spread *imbalance = &run.plan->packing.imbalance;
        if (i < 2) {
            seconds[i] = label_sum(chunk->forward) + label_sum(chunk->backward);
            CU_ASSERT_EQUAL(imbalance->mean, 0);
        } else {
            double squares = 1.5 * (seconds[0] - seconds[1]);
            CU_ASSERT_DOUBLE_EQUAL(imbalance->mean, squares / 6,
                                   0.08 * squares / 6); /* 4096 draws: 3 sigma */
            CU_ASSERT_DOUBLE_EQUAL(imbalance->p50, squares / 3, 0.05 * squares / 3);
            CU_ASSERT_EQUAL(imbalance->p99, imbalance->p50);
        }
        ss_run_free(&run);
        ss_packing_free(&rows[i]);
    }
    scale_close(&s);
}

/* One replica alone waits for nobody, and its rows are the mean ones on average; rows that are all alike cost nothing. */
TEST(nothing_to_wait_for)
{
    struct ss_packing p = pack(SS_PACKED_LOGNORMAL, 1500, 1, 16384),
                      q = pack(SS_PACKED_FIXED, 1024, 0, 16384);
    struct scale_job s;
    struct ss_run run;
    CU_ASSERT_EQUAL_FATAL(scale_open(&s, "h800 1;" JOB "--tp 8 --gbs 32"), 0);
    s.job.packed.rows = &p;
    CU_ASSERT_EQUAL_FATAL(scale_run(&s, NULL, &run), 0);
    CU_ASSERT_DOUBLE_EQUAL(run.plan->packing.imbalance.mean, 0, 1e-12);
    CU_ASSERT(run.plan->packing.imbalance.p99 > run.plan->packing.imbalance.p90 &&
              run.plan->packing.imbalance.p90 > 0);
    CU_ASSERT(run.plan->packing.imbalance.p50 < run.plan->packing.imbalance.p90);
    ss_run_free(&run);
    scale_close(&s);
    CU_ASSERT_EQUAL_FATAL(scale_open(&s, "h800 2;" JOB "--tp 2 --pp 4 --gbs 16"), 0);
    s.job.packed.rows = &q;
    CU_ASSERT_EQUAL_FATAL(scale_run(&s, NULL, &run), 0);
    CU_ASSERT_EQUAL(run.plan->packing.imbalance.mean, 0);
    ss_run_free(&run);
    scale_close(&s);
    ss_packing_free(&p);
    ss_packing_free(&q);
}

/* The more replicas, the longer all wait; the same job gives the same figure; both engines and the unfolded replay agree. */
TEST(more_replicas)
{
    struct ss_packing p = pack(SS_PACKED_LOGNORMAL, 1500, 1, 16384);
    double before = 0, iteration = 0;
    static const char *const jobs[] = {"h800 1;" JOB "--tp 4 --gbs 8", "h800 2;" JOB "--tp 4 --gbs 16",
                                       "h800 4;" JOB "--tp 4 --gbs 32", "h800 4;" JOB "--tp 4 --gbs 32"};
    for (int i = 0; i < 4; i++) {
        const struct ss_run_options options = {.engine = i == 3 ? SS_ENGINE_SIMGRID : SS_ENGINE_NATIVE,
                                               .plan = {.unfold = i == 3}};
        struct scale_job s;
        struct ss_run run;
        CU_ASSERT_EQUAL_FATAL(scale_open(&s, jobs[i]), 0);
        s.job.packed.rows = &p;
        CU_ASSERT_EQUAL_FATAL(scale_run(&s, &options, &run), 0);
        if (i < 3)
            CU_ASSERT(run.plan->packing.imbalance.mean > 1.1 * before);
        if (i == 3) {
            CU_ASSERT_EQUAL(run.plan->packing.imbalance.mean, before);
            CU_ASSERT_DOUBLE_EQUAL(run.result->iteration_s / iteration, 1, 1e-9);
        }
        before = run.plan->packing.imbalance.mean;
        iteration = run.result->iteration_s;
        ss_run_free(&run);
        scale_close(&s);
    }
    ss_packing_free(&p);
}

SUITE(imbalance)
{
    ss_simgrid_load(NULL); /* once for all replays */
    return suite_file(argv[0], NULL, NULL);
}
