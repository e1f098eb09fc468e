/* SPDX-License-Identifier: Apache-2.0 */
/* Makespans of schedules that differ in turns of their loop alone are found from one, and are the same to the last bit. */
#include "base/map.h"
#include "schedule/spans.h"
#include "suite.h"

/* Seconds of slots, drawn by seed, rank, phase and chunks; asked: how often. */
struct clock {
    uint64_t seed;
    int asked;
};

static double seconds_of(void *ctx, int rank, const struct ss_slot *slot)
{
    struct clock *c = ctx;
    uint64_t place = (uint64_t)rank << 24 ^ (uint64_t)slot->phase << 16 ^ (uint64_t)slot->chunk << 8 ^
                     (uint64_t)slot->chunk2;
    c->asked++;
    return 1 + (double)(ss_mix64(c->seed << 32 ^ place) >> 11) * 0x1p-53;
}

/* The makespans with the cache; returns 1 where fewer slots were asked for than without it. */
static int check(const struct ss_schedule *s, struct ss_cache *cache, uint64_t seed)
{
    struct clock clocks[2][2] = {{{seed, 0}, {seed + 1, 0}}, {{seed, 0}, {seed + 1, 0}}};
    double makespan[2][2], idle[2][2 * 8], one[2], idle_one[2][8], durations[SS_PHASE_COUNT * 3];
    const double *duration[SS_PHASE_COUNT];
    for (int way = 0; way < 2; way++) {
        void *const ctx[2] = {&clocks[way][0], &clocks[way][1]};
        CU_ASSERT_FATAL(ss_schedule_makespans_kept(s, seconds_of, ctx, way ? cache : NULL, makespan[way],
                                                   idle[way], NULL) == 0);
    }
    for (int i = 0; i < SS_PHASE_COUNT * 3; i++)
        durations[i] = 1 + (double)(ss_mix64(seed + (uint64_t)i) >> 11) * 0x1p-53;
    for (int phase = 0; phase < SS_PHASE_COUNT; phase++)
        duration[phase] = phase == SS_PHASE_FB ? NULL : durations + 3 * phase;
    for (int way = 0; way < 2; way++)
        CU_ASSERT_FATAL(
            ss_schedule_makespan_kept(s, duration, way ? cache : NULL, &one[way], idle_one[way], NULL) == 0);
    CU_ASSERT(!memcmp(makespan[0], makespan[1], sizeof makespan[0]));
    CU_ASSERT(!memcmp(idle[0], idle[1], 2 * (size_t)s->stages * sizeof idle[0][0]));
    CU_ASSERT(one[0] == one[1]);
    CU_ASSERT(!memcmp(idle_one[0], idle_one[1], (size_t)s->stages * sizeof idle_one[0][0]));
    return clocks[1][0].asked < clocks[0][0].asked;
}

/* Whether the cache gave what is built without it. */
static int same_loop(const char *name, const struct ss_schedule_params *params,
                     const struct ss_schedule *kept)
{
    struct ss_schedule *s;
    CU_ASSERT_FATAL(ss_schedule_build_loop(name, params, &s, NULL) == 0);
    int same = s->loop_more == kept->loop_more && s->loop_length == kept->loop_length &&
               s->loop_step == kept->loop_step && s->microbatches == kept->microbatches &&
               s->p2p == kept->p2p && s->sound == kept->sound && !strcmp(s->name, kept->name);
    for (int r = 0; same && r < s->stages; r++)
        same = s->nslots[r] == kept->nslots[r] && s->warmup[r] == kept->warmup[r] &&
               (!s->loop_more || s->loop_first[r] == kept->loop_first[r]) &&
               !memcmp(s->slots[r], kept->slots[r], (size_t)s->nslots[r] * sizeof **s->slots);
    ss_schedule_free(s);
    return same;
}

/* Of six numbers of microbatches three each have one remainder: all but the first are found from it, unless they have
 * too few turns. */
TEST(turns)
{
    struct ss_cache *cache = NULL;
    const char *name;
    int known = 0, first = 0;
    CU_ASSERT_FATAL(ss_cache_open(&cache, NULL) == 0);
    for (int n = 0; ss_schedule_known(n, &name, NULL); n++)
        for (int p = 2; p <= 8; p += 3)
            for (int m = 0; m < 6; m++) {
                const struct ss_schedule_params params = {.stages = p,
                                                          .chunks = ss_schedule_known_chunks(n, 3),
                                                          .microbatches = 40 * p * (m / 2 + 1) + m % 2,
                                                          .overlap_p2p = 1};
                struct ss_schedule *s;
                if (ss_schedule_build_kept(name, &params, cache, &s, NULL))
                    continue;
                CU_ASSERT(same_loop(name, &params, s));
                for (uint64_t seed = 0; seed < 2; seed++) {
                    int found = check(s, cache, 100 * (uint64_t)n + 10 * (uint64_t)p + seed);
                    known += found;
                    first += found && m < 2;
                }
                ss_schedule_free(s);
            }
    CU_ASSERT(known >= 100);
    CU_ASSERT_EQUAL(first, 0);
    ss_cache_close(cache);
}
