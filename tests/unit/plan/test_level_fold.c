/* SPDX-License-Identifier: Apache-2.0 */
/* A slot of chunk level takes what the steps of layer level do one after the other, collectives beside them, and these what
 * their flows take alone: to 1e-12, by the program that is replayed. */
#include "scale_job.h"
#include "stepsim/replay.h"
#include "suite.h"

#define COMMON "--model llama3.1-8b --bf16 --seq 4096 --mbs 1 --use-distributed-optimizer "
#define OVERLAP "--sequence-parallel --tp-comm-overlap "

static const char *const jobs[] = {
    "h800 1;" COMMON "--sequence-parallel --tp 4 --pp 2 --gbs 8",
    "h800 1;" COMMON OVERLAP "--tp 4 --pp 2 --gbs 8 --fp8-format hybrid",
    "h800 1;" COMMON OVERLAP "--tp 4 --pp 2 --gbs 8 --recompute-granularity full --recompute-method block "
    "--recompute-num-layers 3",
    "h800 4;" COMMON OVERLAP "--tp 8 --pp 4 --gbs 16 --schedule zb-h1",
    "h800 2;" COMMON OVERLAP "--tp 2 --cp 8 --gbs 2",
    "h800 2;" COMMON "--tp 8 --cp 2 --gbs 2 --num-query-groups 16 --cp-comm-type a2a",
    "a100-roce400 2;" COMMON "--tp 1 --cp 16 --gbs 2",
    /* a host that is slower than the GPU: ahead of it, and in step where it waits in sends and receives */
    "h100 1;--stack nanotron-2025 --bf16 --num-layers 6 --hidden-size 1024 --num-attention-heads 16 "
    "--vocab-size 32000 --max-position-embeddings 1024 --seq 1024 --mbs 1 --gbs 16 --tp 2 --pp 1 "
    "--overlap-grad-reduce",
    "h100 1;--stack nanotron-2025 --bf16 --num-layers 6 --hidden-size 1024 --num-attention-heads 16 "
    "--vocab-size 32000 --max-position-embeddings 1024 --seq 1024 --mbs 1 --gbs 16 --tp 2 --pp 2",
    /* whole layers again, but for their last operators, with what the host makes them wait */
    "a100 1;--stack torchtitan-2025 --bf16 --num-layers 4 --hidden-size 1024 --num-attention-heads 16 "
    "--ffn-hidden-size 4096 "
    "--vocab-size 32000 --max-position-embeddings 2048 --seq 2048 --mbs 1 --gbs 8 --tp 2 --pp 2 "
    "--sequence-parallel "
    "--recompute full",
};

/* Time of a collective with one flow a phase, alone on its links; < 0: it has several flows. */
static double alone(const struct ss_program *p, const struct ss_collective *g)
{
    double seconds = 0;
    for (int i = 0; i < g->nphases; i++) {
        const struct ss_flow_phase *phase = &g->phases[i];
        const struct ss_path *path =
            phase->nflows && phase->flows[0].path >= 0 ? &p->paths[phase->flows[0].path] : NULL;
        double rate = INFINITY;
        if (phase->nflows > 1)
            return -1;
        for (int l = 0; path && l < path->nlinks; l++)
            rate = fmin(rate, p->links[path->link[l]].bandwidth / path->weight[l]);
        seconds += phase->latency + (path ? phase->flows[0].bytes / rate : 0);
    }
    return seconds;
}

/* What a slot of chunk level takes where it begins in step with its host. */
static double chunk_seconds(const struct ss_chunk_cost *cost, const double *of, int phase)
{
    const struct ss_chunk_issue *issue = phase <= SS_PHASE_B ? &cost->issue[phase] : NULL;
    double work = ss_label_sum(of) - (issue ? ss_issue_left(issue) : 0);
    return issue && issue->host > 0 ? fmax(work, issue->host + issue->tail * work) : work;
}

/* Steps one after the other, kernels at the pace of the class, their collectives beside them in the order of each stream, the launches
 * of the host from the beginning on; < 0: one takes SMs. */
static double folded(const struct ss_program *p, const struct ss_step *steps, int n,
                     const struct ss_chunk_issue *issue, double pace, int *checked)
{
    enum { STREAMS = 16, POSTS = 4096 };
    static double end[STREAMS][POSTS];
    int posted[STREAMS] = {0}, waited[STREAMS] = {0};
    double now = 0;
    for (int i = 0; issue && i < issue->n; i++) {
        double begin = i ? end[SS_STREAM(SS_COMM_ISSUE)][i - 1] : 0;
        end[SS_STREAM(SS_COMM_ISSUE)][i] = begin + alone(p, &p->collectives[issue->collective[i]]);
        posted[SS_STREAM(SS_COMM_ISSUE)]++;
    }
    for (int i = 0; i < n; i++) {
        int s = steps[i].stream;
        if (steps[i].kind == SS_STEP_COMPUTE) {
            int kernels = steps[i].label == SS_LABEL_COMPUTE || steps[i].label == SS_LABEL_RECOMPUTE;
            now += steps[i].seconds * (kernels ? pace : 1);
            continue;
        }
        CU_ASSERT_FATAL(s >= 0 && s < STREAMS && posted[s] < POSTS);
        if (steps[i].kind == SS_STEP_WAIT) {
            CU_ASSERT_FATAL(waited[s] < posted[s]);
            now = fmax(now, end[s][waited[s]++]);
            continue;
        }
        const struct ss_collective *g = &p->collectives[steps[i].collective];
        if (g->sm_share > 0)
            return -1;
        double begin = posted[s] ? fmax(now, end[s][posted[s] - 1]) : now, seconds = alone(p, g);
        if (seconds >= 0) {
            CU_ASSERT_DOUBLE_EQUAL(steps[i].seconds, seconds, 1e-12 * seconds);
            ++*checked;
        }
        end[s][posted[s]++] = begin + steps[i].seconds;
    }
    return now;
}

TEST(fold)
{
    int slots = 0, checked = 0;
    for (size_t j = 0; j < sizeof jobs / sizeof jobs[0]; j++) {
        struct ss_run_options o = {.engine = SS_ENGINE_NATIVE, .plan.level = SS_LEVEL_LAYER},
                              chunks = {.engine = SS_ENGINE_NATIVE};
        struct scale_job s;
        struct ss_run layer, chunk;
        CU_ASSERT_FATAL(scale_open(&s, jobs[j]) == 0);
        CU_ASSERT_FATAL(scale_run(&s, &o, &layer) == 0);
        CU_ASSERT_FATAL(scale_run(&s, &chunks, &chunk) == 0);
        for (int r = 0; r < layer.plan->world_size; r++)
            for (int k = 0; k < layer.plan->schedule->chunks; k++) {
                const struct ss_chunk_cost *steps = &layer.plan->classes[layer.plan->class_of[r]].chunks[k];
                const struct ss_chunk_cost *cost = &chunk.plan->classes[chunk.plan->class_of[r]].chunks[k];
                const double *of[] = {[SS_PHASE_F] = cost->forward,
                                      [SS_PHASE_B] = cost->backward,
                                      [SS_PHASE_I] = cost->input_grad,
                                      [SS_PHASE_W] = cost->weight_grad};
                for (int phase = SS_PHASE_F; phase <= SS_PHASE_W; phase++) {
                    double seconds = folded(layer.program, steps->steps[phase], steps->nsteps[phase],
                                            phase <= SS_PHASE_B ? &steps->issue[phase] : NULL,
                                            layer.plan->classes[layer.plan->class_of[r]].pace, &checked);
                    if (seconds <= 0)
                        continue;
                    CU_ASSERT_DOUBLE_EQUAL(chunk_seconds(cost, of[phase], phase), seconds, 1e-12 * seconds);
                    slots++;
                }
            }
        ss_run_free(&layer);
        ss_run_free(&chunk);
        scale_close(&s);
    }
    CU_ASSERT(slots > 50 && checked > 1000);
    if (slots <= 50 || checked <= 1000)
        fprintf(stderr, "%d slots, %d collectives\n", slots, checked);
}

SUITE(level_fold)
{
    ss_simgrid_load(NULL); /* once for all replays */
    return suite_file(argv[0], NULL, NULL);
}
