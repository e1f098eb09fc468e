/* SPDX-License-Identifier: Apache-2.0 */
/* Flows of those slots alone that data-parallel transfers can be beside: they tell how far closed forms are off flows of all slots. */
#include "job_helper.h"
#include "program/program_internal.h"
#include "result/level.h"
#include "suite.h"

#define L8B_NODE                                                                                             \
    "--platform h800 --nodes 1 --model llama3.1-8b --bf16 --seq 4096 --mbs 1 --use-distributed-optimizer "
#define OVERLAPS "--sequence-parallel --overlap-grad-reduce --overlap-param-gather "

/* A run by closed forms, and its programs at flow level. */
struct made {
    struct ss_scenario *scenario;
    struct ss_run run;
    struct ss_level_doubt doubt;
    struct ss_plan *plan;
    struct ss_program *all, *beside;
};

static void make(const char *line, struct made *m)
{
    const struct ss_run_options blind = {
        .engine = SS_ENGINE_NATIVE, .unchecked = 1, .level_choice = SS_LEVEL_BLIND};
    const struct ss_plan_options flows = {.level = SS_LEVEL_FLOW};
    char *text = strdup(line), *argv[JOB_MAX_ARGS];
    struct ss_error err = {0};

    memset(m, 0, sizeof *m);
    CU_ASSERT_EQUAL_FATAL(make_scenario(split(text, argv), argv, &m->scenario, &err), 0);
    CU_ASSERT_EQUAL_FATAL(ss_run_scenario(m->scenario, &blind, &m->run, &err), 0);
    m->doubt = ss_level_doubt(&m->run);
    const struct ss_plan *p = m->run.plan;
    CU_ASSERT_EQUAL_FATAL(ss_plan_build(p->job, p->stack, p->platform, p->schedule, &flows, &m->plan, &err),
                          0);
    CU_ASSERT_EQUAL_FATAL(ss_program_build(m->plan, &m->all, &err), 0);
    CU_ASSERT_EQUAL_FATAL(ss_program_build_beside(m->plan, NULL, &m->beside, &err), 0);
    free(text);
}

static void end(struct made *m)
{
    ss_program_free(m->all);
    ss_program_free(m->beside);
    ss_plan_free(m->plan);
    ss_run_free(&m->run);
    ss_scenario_free(m->scenario);
}

static double seconds(const struct made *m, struct ss_program *p)
{
    const struct ss_replay_options native = {.engine = SS_ENGINE_NATIVE};
    double s = NAN;
    CU_ASSERT_EQUAL_FATAL(
        ss_replay_seconds(p, &native, m->plan->nclasses > 1 && !ss_plan_has_barrier(m->plan), &s, NULL), 0);
    return s;
}

static int events_of(const struct ss_program *p, int slot)
{
    return p->templates[ss_program_template_at(&p->classes[0], slot)].nevents;
}

/* One stage, four microbatches: step, F B F B F B F B, finish. Parameters are gathered in the first F and gradients reduced in the last B, whose
 * 32 layers have two collectives each at least; an F or B by closed forms is one computation between its tensors. */
TEST(slots)
{
    struct made m;

    make(L8B_NODE OVERLAPS "--tp 2 --gbs 16", &m);
    CU_ASSERT_EQUAL_FATAL(m.all->classes[0].nslots, 10);
    CU_ASSERT_EQUAL_FATAL(m.beside->classes[0].nslots, 10);
    for (int i = 1; i <= 8; i++) {
        CU_ASSERT(events_of(m.all, i) > 128);
        if (i == 1 || i == 8)
            CU_ASSERT_EQUAL(events_of(m.beside, i), events_of(m.all, i))
        else
            CU_ASSERT(events_of(m.beside, i) < 8);
    }
    end(&m);

    make(L8B_NODE "--sequence-parallel --overlap-grad-reduce --tp 2 --gbs 16", &m);
    CU_ASSERT(events_of(m.beside, 1) < 8);
    CU_ASSERT_EQUAL(events_of(m.beside, 8), events_of(m.all, 8));
    end(&m);

    /* nothing is overlapped, and so nothing beside a slot */
    make(L8B_NODE "--sequence-parallel --tp 2 --gbs 16", &m);
    for (int i = 1; i <= 8; i++)
        CU_ASSERT(events_of(m.beside, i) < 8);
    end(&m);
}

/* The law, and that it asks for something: flows of the slots beside are those of all slots to what sends may lose. */
TEST(law)
{
    static const char *const jobs[] = {
        L8B_NODE OVERLAPS "--tp 2 --gbs 16",
        L8B_NODE OVERLAPS "--tp 2 --gbs 8 --tp-comm-overlap",
        L8B_NODE OVERLAPS "--tp 2 --pp 2 --gbs 8",
        L8B_NODE OVERLAPS "--tp 2 --pp 2 --vp 4 --gbs 32",
        L8B_NODE OVERLAPS "--tp 2 --pp 2 --gbs 16 --recompute full",
        L8B_NODE "--sequence-parallel --overlap-grad-reduce --tp 2 --pp 2 --gbs 16 --schedule zb-h1",
        L8B_NODE "--overlap-grad-reduce --tp 1 --cp 2 --gbs 8",
        "--platform h800 --nodes 2 --model llama3.1-8b --bf16 --seq 4096 --mbs 1 " OVERLAPS
        "--use-distributed-optimizer --tp 2 --pp 2 --gbs 16 --stack megatron-lm-2025",
        "--platform h800 --nodes 2 --model mixtral-8x7b --bf16 --seq 4096 --mbs 1 " OVERLAPS
        "--use-distributed-optimizer --tp 2 --ep 4 --etp 1 --gbs 32",
    };
    int doubted = 0, off = 0;

    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        struct made m;
        make(jobs[i], &m);
        if (m.beside) {
            double all = seconds(&m, m.all), beside = seconds(&m, m.beside), sends = 0;
            for (int l = 0; l < m.run.result->nlinks; l++)
                sends = fmax(sends, m.run.result->links[l].utilisation * m.run.result->links[l].sends /
                                        m.run.result->links[l].bytes);
            CU_ASSERT(fabs(beside / all - 1) <= (m.doubt.beside ? m.doubt.sends : sends) + 1e-9);
            off += fabs(m.run.result->iteration_s / all - 1) > 1e-4;
            doubted += m.doubt.beside;
        }
        end(&m);
    }
    CU_ASSERT(doubted >= 5);
    CU_ASSERT(off >= 5);
}

/* Where a forward and a backward run at once, tensor ranks' collectives meet experts' in all slots: the run asks flows of all of them, with
 * data-parallel transfers beside and without, and has their time. */
TEST(two_passes)
{
    static const char *const overlaps[] = {"", "--overlap-grad-reduce --overlap-param-gather"};
    const struct ss_run_options how = {.engine = SS_ENGINE_NATIVE};

    for (int i = 0; i < 2; i++) {
        char line[600];
        struct made m;
        struct ss_run run;
        snprintf(line, sizeof line,
                 "--platform h800 --nodes 2 --model qwen3-235b-a22b --num-layers 4 --bf16 --seq 4096 --mbs 1 "
                 "--sequence-parallel --tp 2 --ep 16 --etp 1 --gbs 64 --use-distributed-optimizer "
                 "--moe-grouped-gemm --moe-token-dispatcher-type flex --overlap-moe-expert-parallel-comm %s",
                 overlaps[i]);
        make(line, &m);
        CU_ASSERT(!m.doubt.beside);
        CU_ASSERT(strstr(m.doubt.what, i ? "data-parallel" : "tp and ep share NVLinks inside nodes") != NULL);
        CU_ASSERT_EQUAL_FATAL(ss_run_scenario(m.scenario, &how, &run, NULL), 0);
        CU_ASSERT_EQUAL(run.plan->level, SS_LEVEL_FLOW);
        CU_ASSERT_DOUBLE_EQUAL(run.result->iteration_s / seconds(&m, m.all), 1, 1e-9);
        CU_ASSERT(run.result->iteration_s > (1 + SS_LEVEL_TOLERANCE) * m.run.result->iteration_s);
        ss_run_free(&run);
        end(&m);
    }
}
