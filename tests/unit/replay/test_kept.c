/* SPDX-License-Identifier: Apache-2.0 */
/* A replay that is known from one with another number of microbatches is the same to the last bit as one of its own. */
#include "base/map.h"
#include "replay/engine.h"
#include "replay_make.h"
#include "scale_job.h"
#include "suite.h"

#define COMMON                                                                                               \
    "--bf16 --mbs 1 --seq 4096 --sequence-parallel --use-distributed-optimizer --overlap-grad-reduce "
#define SMALL "h800 2;--model llama3.1-8b " COMMON
#define TURNS 5 /* numbers of microbatches of a case */

/* gbs: the first, and what each of the next has more. */
static const struct {
    const char *job;
    int gbs, more, level, unfold;
} cases[] = {
    {SMALL "--tp 2 --pp 4", 128, 64, SS_LEVEL_CHUNK, 0},
    {SMALL "--tp 2 --pp 4", 96, 32, SS_LEVEL_CHUNK, 1},
    {SMALL "--tp 2 --pp 8 --num-layers-per-virtual-pipeline-stage 2", 128, 64, SS_LEVEL_CHUNK, 0},
    {SMALL "--tp 2 --pp 4 --num-layers-per-virtual-pipeline-stage 4", 136, 24, SS_LEVEL_CHUNK, 0},
    {SMALL "--tp 2 --pp 4 --num-layers-per-virtual-pipeline-stage 2", 160, 32, SS_LEVEL_LAYER, 0},
    {SMALL "--tp 2 --pp 4 --cp 2", 64, 32, SS_LEVEL_FLOW, 0},
    {SMALL "--tp 4 --pp 4 --schedule zb-h1", 96, 40, SS_LEVEL_CHUNK, 0},
    {SMALL "--tp 4 --pp 4 --schedule zb-v", 96, 40, SS_LEVEL_CHUNK, 0},
    {SMALL "--tp 8", 96, 32, SS_LEVEL_CHUNK, 0},
};

/* Every computation and message takes up to three times as long, drawn by seed and place. */
static void stretch(struct ss_program *p, uint64_t seed)
{
    for (size_t i = 0; i < p->nevents; i++)
        if (p->events[i].kind == SS_EV_COMPUTE || p->events[i].kind == SS_EV_SEND)
            p->events[i].amount *= 1 + 2 * (double)(ss_mix64(seed << 32 ^ i) >> 11) * 0x1p-53;
}

static struct ss_program *make_run(size_t i, int turn)
{
    struct scale_job s;
    struct ss_run run;
    struct ss_run_options o = {.engine = SS_ENGINE_NATIVE, .unchecked = 1, .level_choice = SS_LEVEL_BLIND};
    char job[512];
    snprintf(job, sizeof job, "%s --gbs %d", cases[i].job, cases[i].gbs + turn * cases[i].more);
    CU_ASSERT_FATAL(scale_open(&s, job) == 0);
    o.plan.level = cases[i].level;
    o.plan.unfold = cases[i].unfold;
    CU_ASSERT_FATAL(scale_run(&s, &o, &run) == 0);
    struct ss_program *p = run.program;
    run.program = NULL;
    ss_run_free(&run);
    scale_close(&s);
    return p;
}

static struct ss_board *replay(const struct ss_program *p, struct ss_cache *cache, int accounts)
{
    const struct ss_replay_options how = {.engine = SS_ENGINE_NATIVE, .cache = cache};
    struct ss_board *board = NULL;
    CU_ASSERT_FATAL(ss_replay_board(p, &how, NULL, 0, accounts, &board, NULL) == 0);
    return board;
}

static int same_account(const struct ss_account *a, const struct ss_account *b)
{
    return a->end == b->end && a->peak_total == b->peak_total && a->peak_time == b->peak_time &&
           a->peak_slot == b->peak_slot && !memcmp(a->peak, b->peak, sizeof a->peak) &&
           !memcmp(a->label, b->label, sizeof a->label);
}

static int same_board(const struct ss_program *p, const struct ss_board *a, const struct ss_board *b)
{
    int same = a->makespan == b->makespan && a->doublings == b->doublings && a->events == b->events &&
               a->flows == b->flows;
    for (int c = 0; a->accounts && c < p->nclasses; c++)
        same &= same_account(&a->accounts[c], &b->accounts[c]) && a->at[c].slot == b->at[c].slot;
    return same &&
           (!a->accounts || (!memcmp(a->event_s, b->event_s, ss_template_events(p) * sizeof *a->event_s) &&
                             !memcmp(a->link_busy, b->link_busy, (size_t)p->nlinks * sizeof *a->link_busy)));
}

/* Replays a program with the cache and without; returns 1 where it was known. */
static int check(const struct ss_program *p, struct ss_cache *cache, int accounts)
{
    struct ss_board *whole = replay(p, NULL, accounts), *kept = replay(p, cache, accounts);
    int known = kept->events_run < whole->events_run;
    CU_ASSERT(whole->events_run > 0);
    CU_ASSERT(same_board(p, kept, whole));
    ss_board_free(whole);
    ss_board_free(kept);
    return known;
}

/* Of five numbers of microbatches the first is remembered and the second is kept; the others are known, unless they begin otherwise. */
TEST(turns)
{
    struct ss_cache *cache = NULL;
    int known = 0;
    CU_ASSERT_FATAL(ss_cache_open(&cache, NULL) == 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int turn = 0; turn < TURNS; turn++) {
            struct ss_program *p = make_run(i, turn);
            for (uint64_t seed = 0; seed < 3; seed++) {
                stretch(p, seed);
                known += check(p, cache, seed != 1);
            }
            ss_program_free(p);
        }
    CU_ASSERT(known >= 54);
    ss_cache_close(cache);
}

/* Two jumps, of which the turns of the loop tell the first; the time and the slot of a peak of memory behind both. With 7 turns the engine
 * looks for another period, and with 8 it does again. Where fewer messages are received than sent, more turns are another replay. */
TEST(two_states)
{
    static const int turns[][2] = {{100, 100}, {100, 100}, {40, 40},   {300, 300}, {9, 9},     {17, 17},
                                   {7, 7},     {8, 8},     {140, 100}, {140, 40},  {100, 100}, {100, 60}};
    struct ss_cache *cache = NULL;
    CU_ASSERT_FATAL(ss_cache_open(&cache, NULL) == 0);
    for (size_t i = 0; i < sizeof turns / sizeof turns[0]; i++) {
        struct ss_program *p = make_two_states(turns[i][0], turns[i][1]);
        int known = check(p, cache, 1);
        CU_ASSERT_EQUAL(known, i > 1 && turns[i][0] > 8 && turns[i][0] == turns[i][1]);
        make_free(p);
    }
    ss_cache_close(cache);
}

/* What the engine reads decides: the slightest change of one thing is another replay. */
TEST(changes)
{
    struct ss_cache *cache = NULL;
    struct ss_program *p = make_run(0, 0);
    double *const things[] = {&p->events[p->nevents / 2 + 1].amount, &p->events[p->nevents - 2].amount,
                              &p->links[p->nlinks - 1].bandwidth, &p->channels[p->nchannels - 1].latency,
                              &p->channels[0].sm_share};
    CU_ASSERT_FATAL(ss_cache_open(&cache, NULL) == 0);
    CU_ASSERT(!check(p, cache, 1));
    CU_ASSERT(!check(p, cache, 1));
    CU_ASSERT(check(p, cache, 1));
    CU_ASSERT(!check(p, cache, 0));
    for (size_t i = 0; i < sizeof things / sizeof things[0]; i++) {
        double was = *things[i];
        *things[i] = nextafter(was, 2 * was + 1);
        CU_ASSERT(!check(p, cache, 1));
        *things[i] = was;
        CU_ASSERT(check(p, cache, 1) || check(p, cache, 1)); /* its mark may have been another's meanwhile */
    }
    ss_program_free(p);
    ss_cache_close(cache);
}
