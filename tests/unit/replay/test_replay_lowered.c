/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both engines against the reference replay on programs of jobs, written as text by "stepsim program write --expanded"
 * and read back; folded ranks on the engines against every rank on the reference; and every program file of the
 * sources.
 */
#include <unistd.h>

#include "reference_compare.h"
#include "stepsim/replay.h"
#include "suite.h"

#define COMMON "--bf16 --mbs 1 --use-distributed-optimizer "
#define OVERLAP "--overlap-grad-reduce --overlap-param-gather "
#define LLAMA "--model llama3.1-8b --seq 4096 --sequence-parallel " COMMON
#define LLAMA_SHORT "--model llama3.1-8b --seq 1024 " COMMON
#define QWEN "--model qwen2.5-0.5b --seq 1024 " COMMON
#define LEAVES "--set ss.oversubscription=4 --set ss.nodes_per_leaf=2 "
#define PLACED "--placement %s " /* neighbours on different nodes, see make_folder */

static const struct {
    const char *job;
    int contended; /* flows share links for some of the time */
} cases[] = {
    {"--platform h800 --nodes 1 " LLAMA "--tp 2 --pp 4 --gbs 8", 0},
    {"--platform h800 --nodes 2 " LLAMA "--tp 2 --pp 4 --gbs 256 " OVERLAP, 0}, /* the native engine jumps */
    {"--platform h800 --nodes 1 " LLAMA "--tp 2 --pp 4 --gbs 8 --level layer " OVERLAP, 0},
    {"--platform h800 --nodes 2 " LLAMA "--tp 2 --pp 2 --cp 2 --gbs 8 --level flow", 0},
    {"--platform h800 --nodes 2 " LLAMA
     "--tp 2 --pp 4 --gbs 16 --level layer --straggler 5:1.3 --slow-link nic-1-3:4",
     0},
    {"--platform h800 --nodes 8 " LEAVES LLAMA "--tp 2 --pp 4 --gbs 64", 0},
    {"--platform a100-roce400 --nodes 4 " LEAVES QWEN "--tp 2 --pp 4 --gbs 32 --level flow " OVERLAP, 0},
    {"--platform h800 --nodes 2 " QWEN "--tp 2 --pp 4 --gbs 16 --schedule dualpipe --level flow", 1},
    {"--platform h800 --nodes 2 " QWEN "--tp 2 --pp 4 --gbs 16 --schedule zb-v", 0},
    {"--platform h800 --nodes 2 " QWEN
     "--tp 2 --pp 4 --gbs 32 --num-layers-per-virtual-pipeline-stage 2 --level layer " OVERLAP,
     1},
    {"--platform h800 --nodes 4 " LEAVES LLAMA_SHORT "--tp 4 --pp 2 --gbs 8 " PLACED OVERLAP, 1},
    {"--platform h800 --nodes 4 " LEAVES QWEN "--tp 2 --pp 2 --gbs 32 --level flow " PLACED
     "--overlap-grad-reduce",
     1}, /* chaotic */
    {"--platform h800 --nodes 4 " LEAVES LLAMA_SHORT "--tp 4 --pp 2 --gbs 4 --level flow " PLACED, 1},
    {"--platform h800 --nodes 4 " LEAVES LLAMA "--tp 4 --pp 2 --gbs 4 --level flow " PLACED, 1},
};

static char folder[] = "/tmp/stepsim-lowered-XXXXXX";
static char program_file[64], placement_file[64];

static int make_folder(void)
{
    if (!mkdtemp(folder))
        return -1;
    snprintf(program_file, sizeof program_file, "%s/program", folder);
    snprintf(placement_file, sizeof placement_file, "%s/placement", folder);
    FILE *f = fopen(placement_file, "w");
    if (!f)
        return -1;
    for (int r = 0; r < 32; r++)
        fprintf(f, "gpu %d %d\n", (11 * r + 7) % 32 / 8, (11 * r + 7) % 8);
    return fclose(f);
}

static int drop_folder(void)
{
    unlink(program_file);
    unlink(placement_file);
    return rmdir(folder);
}

/* The program of a job, or NULL and a failure. */
static struct ss_program *lower(const char *job, const char *more)
{
    char options[800], command[1200];
    struct ss_program *p = NULL;
    struct ss_error err = {0};
    const char *placed = strstr(job, "%s");
    snprintf(options, sizeof options, "%.*s%s%s %s", (int)(placed ? placed - job : (long)strlen(job)), job,
             placed ? placement_file : "", placed ? placed + 2 : "", more);
    snprintf(command, sizeof command, "'%s' program write %s --expanded -o %s", SS_CLI, options,
             program_file);
    int rc = system(command);
    CU_ASSERT_EQUAL(rc, 0);
    if (rc == 0 && ss_program_read(program_file, &p, &err))
        CU_FAIL("a written program does not read back");
    return p;
}

static struct distance worst;

/* Replays p on an engine and holds the answer against the reference's replay of it; returns the makespan. */
static double compare_on(const char *what, const struct ss_program *p, const struct reference *r, int engine)
{
    struct answer a;
    struct ss_error err = {0};
    struct distance d = {0};
    int rc = answer_get(p, engine, &a, &err);
    double makespan = a.stats.makespan;
    CU_ASSERT_EQUAL(rc, 0);
    if (rc) {
        printf("\n  %s: %s: %s\n", what, ss_engine_name(engine), err.message);
    } else {
        distance_answer(p, r, &a, &d);
        CU_ASSERT(d.most <= REFERENCE_TOLERANCE);
        if (d.most > REFERENCE_TOLERANCE)
            printf("\n  %s: %s: %.3g: %s\n", what, ss_engine_name(engine), d.most, d.where);
    }
    if (d.most > worst.most)
        worst = d;
    answer_free(&a);
    return makespan;
}

/* Every rank on the reference, and on the native engine, takes as long as the folded ranks on an engine. */
static void compare_unfolded(const char *job, const double makespan[2])
{
    struct ss_program *p = lower(job, "--unfold");
    struct reference r;
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(reference_replay(p, &r), 0);
    compare_on(job, p, &r, SS_ENGINE_NATIVE);
    for (int e = 0; e < 2; e++)
        CU_ASSERT_DOUBLE_EQUAL(makespan[e], r.makespan, REFERENCE_TOLERANCE * r.makespan);
    reference_free(&r);
    ss_program_free(p);
}

/* Folded, every rank, and nothing if the program is chaotic. 1 if it is. */
static int compare_job(const char *job, int contended, int *folded)
{
    struct ss_program *p = lower(job, "");
    struct reference r;
    double makespan[2];
    int ranks = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(reference_replay(p, &r), 0);
    CU_ASSERT(!contended || r.contended > 0);
    int chaotic = reference_chaotic(p, &r);
    if (chaotic)
        printf("\n  chaotic: %s", job);
    for (int e = 0; e < 2 && !chaotic; e++)
        makespan[e] = compare_on(job, p, &r, e);
    for (int c = 0; c < p->nclasses; c++)
        ranks += p->classes[c].count;
    if (ranks > p->nclasses && !chaotic) {
        compare_unfolded(job, makespan);
        ++*folded;
    }
    reference_free(&r);
    ss_program_free(p);
    return chaotic;
}

static size_t stride = 1;

TEST(jobs)
{
    int folded = 0, chaotic = 0, n = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i += stride, n++)
        chaotic += compare_job(cases[i].job, cases[i].contended, &folded);
    printf("\n  %d jobs, %d chaotic, %d folded; largest relative difference %.3g (%s)\n", n, chaotic, folded,
           worst.most, worst.where);
    CU_ASSERT(chaotic <= 1);
    CU_ASSERT(folded >= n / 2);
}

/* Every program of the sources. One that blocks blocks everywhere. */
TEST(files)
{
    char path[1024];
    int n = 0, blocked = 0;
    FILE *list =
        popen("find '" SS_SOURCE_DIR "/docs' '" SS_SOURCE_DIR "/tests' -name '*.prog' | LC_ALL=C sort", "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(list);
    for (; fgets(path, sizeof path, list); n++) {
        struct ss_program *p = NULL;
        struct reference r;
        path[strcspn(path, "\n")] = '\0';
        CU_ASSERT_EQUAL_FATAL(ss_program_read(path, &p, NULL), 0);
        int rc = reference_replay(p, &r);
        for (int e = 0; e < 2; e++) {
            struct ss_replay_stats stats;
            if (rc) {
                CU_ASSERT_EQUAL(ss_replay(p, e, NULL, 0, &stats, NULL), SS_ERR_DEADLOCK);
            } else {
                compare_on(path, p, &r, e);
            }
        }
        blocked += rc != 0;
        reference_free(&r);
        ss_program_free(p);
    }
    pclose(list);
    CU_ASSERT(n - blocked >= 2 && blocked >= 1);
}

SUITE(replay_lowered)
{
    ss_simgrid_load(NULL); /* once for all replays */
    stride = suite_stride(argc, argv, 4);
    return suite_file(argv[0], make_folder, drop_folder);
}
