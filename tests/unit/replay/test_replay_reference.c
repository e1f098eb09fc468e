/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both engines against the reference replay on random programs with contention: every span, transfer, change of
 * memory, label, link and the makespan to 1e-9. Programs whose own answer moves by more than that when the bandwidths
 * move by 1e-12 are counted and left out.
 * unit_replay replay_reference [first seed] [number of seeds] [how many of them on SimGrid, too]
 */

#include "random_program.h"
#include "reference_compare.h"
#include "stepsim/replay.h"
#include "suite.h"

static uint64_t first_seed = 1, nseeds = 600, nsimgrid = 90;

struct tally {
    int compared[2], refused, chaotic, contended;
    struct distance worst[2];
    uint64_t worst_seed[2];
};

static void compare_on(const struct ss_program *p, const struct reference *r, int engine, uint64_t seed,
                       struct tally *tally)
{
    struct answer a;
    struct ss_error err = {0};
    struct distance d = {0};
    int rc = answer_get(p, engine, &a, &err);
    if (rc == SS_ERR_UNSUPPORTED && engine == SS_ENGINE_SIMGRID) {
        tally->refused++;
    } else if (rc) {
        CU_FAIL("an engine fails");
        printf("\n  seed %llu: %s: %s\n", (unsigned long long)seed, ss_engine_name(engine), err.message);
    } else {
        distance_answer(p, r, &a, &d);
        CU_ASSERT(d.most <= REFERENCE_TOLERANCE);
        if (d.most > REFERENCE_TOLERANCE)
            printf("\n  seed %llu: %s: %.3g: %s\n", (unsigned long long)seed, ss_engine_name(engine), d.most,
                   d.where);
        tally->compared[engine]++;
        if (d.most > tally->worst[engine].most) {
            tally->worst[engine] = d;
            tally->worst_seed[engine] = seed;
        }
    }
    answer_free(&a);
}

TEST(random)
{
    struct tally t = {0};
    int n = (int)nseeds;
    for (uint64_t i = 0; i < nseeds; i++) {
        struct ss_program *p = random_program(first_seed + i, 1);
        struct reference r;
        CU_ASSERT_EQUAL(reference_replay(p, &r), 0);
        t.contended += r.contended > 0.01 * r.makespan;
        if (reference_chaotic(p, &r)) {
            t.chaotic++;
        } else {
            compare_on(p, &r, SS_ENGINE_NATIVE, first_seed + i, &t);
            if (i < nsimgrid)
                compare_on(p, &r, SS_ENGINE_SIMGRID, first_seed + i, &t);
        }
        reference_free(&r);
        make_free(p);
    }
    printf("\n  %d programs, %d chaotic, %d with contention; simgrid refuses %d\n", n, t.chaotic, t.contended,
           t.refused);
    for (int e = 0; e < 2; e++)
        printf("  %s: %d compared, largest relative difference %.3g (seed %llu: %s)\n", ss_engine_name(e),
               t.compared[e], t.worst[e].most, (unsigned long long)t.worst_seed[e], t.worst[e].where);
    CU_ASSERT(t.chaotic <= n / 33 + 1);
    CU_ASSERT_EQUAL(t.compared[SS_ENGINE_NATIVE], n - t.chaotic);
    CU_ASSERT(t.contended >= n * 6 / 10);
    CU_ASSERT(t.compared[SS_ENGINE_SIMGRID] >= (nsimgrid < nseeds ? (int)nsimgrid : n) * 7 / 10);
}

SUITE(replay_reference)
{
    if (argc > 1)
        first_seed = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        nseeds = nsimgrid = strtoull(argv[2], NULL, 10);
    if (argc > 3)
        nsimgrid = strtoull(argv[3], NULL, 10);
    ss_simgrid_load(NULL); /* once for all replays */
    return suite_file(argv[0], NULL, NULL);
}
