/* SPDX-License-Identifier: Apache-2.0 */
/* Flows around links that have failed: bytes of every NIC of a pipeline over two nodes. */
#include "scale_job.h"
#include "suite.h"

/* GPU i of node 0 sends its share of the activation to GPU i of node 1, and takes the gradient from it. */
#define JOB "--model llama3.1-8b --bf16 --seq 4096 --mbs 1 --gbs 8 --tp 8 --pp 2 --sequence-parallel "

/* How many of the 16 channels cross NIC i of a node, up and down. */
static void crossed(const char *platform, const char *const *failed, int n, int times[2][8][2])
{
    struct ss_slow_link slow[4] = {{.factor = 0}};
    struct ss_run_options o = {.engine = SS_ENGINE_NATIVE, .level_choice = SS_LEVEL_BLIND};
    struct scale_job s;
    struct ss_run run;
    struct ss_program *p;
    char text[256];
    snprintf(text, sizeof text, "%s;" JOB, platform);
    for (int i = 0; i < n; i++)
        snprintf(slow[i].name, sizeof slow[i].name, "%s", failed[i]);
    o.plan.slow_links = slow;
    o.plan.nslow_links = n;
    o.plan.unfold = 1;
    CU_ASSERT_EQUAL_FATAL(scale_open(&s, text), 0);
    CU_ASSERT_EQUAL_FATAL(scale_run(&s, &o, &run), 0);
    CU_ASSERT_EQUAL_FATAL(ss_program_build(run.plan, &p, NULL), 0);
    CU_ASSERT_EQUAL(p->nchannels, 16);
    memset(times, 0, 2 * sizeof *times);
    for (int c = 0; c < p->nchannels; c++) {
        const struct ss_path *path = &p->paths[p->channels[c].path];
        for (int i = 0; i < path->nlinks; i++) {
            int node, gpu;
            char way;
            if (sscanf(p->links[path->link[i]].name, "nic-%d-%d.%c", &node, &gpu, &way) == 3)
                times[node][gpu][way == 'd']++;
        }
    }
    ss_program_free(p);
    ss_run_free(&run);
    scale_close(&s);
}

/* As many on both nodes and in both directions. */
static void expect(const char *const *failed, int n, const int want[8])
{
    int times[2][8][2];
    crossed("h100 2", failed, n, times);
    for (int i = 0; i < 32; i++)
        CU_ASSERT_EQUAL((&times[0][0][0])[i], want[i / 2 % 8]);
}

/* NICs are on rails, GPU i's of one node to GPU i's of the other: where one end fails, what took its rail takes the next GPU's over
 * NVLink, and GPU 0's for the last one. */
TEST(one)
{
    static const char *const third[] = {"nic-0-3"}, *const last[] = {"nic-1-7"};
    expect(third, 1, (int[8]){1, 1, 1, 0, 2, 1, 1, 1});
    expect(last, 1, (int[8]){2, 1, 1, 1, 1, 1, 1, 0});
}

/* Two ends of one rail are as one of them; where the next rail has failed too, both take the one behind it. */
TEST(two)
{
    static const char *const ends[] = {"nic-0-3", "nic-1-3"}, *const next[] = {"nic-0-3", "nic-1-4"};
    expect(ends, 2, (int[8]){1, 1, 1, 0, 2, 1, 1, 1});
    expect(next, 2, (int[8]){1, 1, 1, 0, 0, 3, 1, 1});
}

/* Nodes on leaves of their own: a NIC reaches any other over the spine, so that only the end that failed has a stand-in, which is the
 * next GPU's, as sender and as receiver. */
TEST(spine)
{
    static const char *const third[] = {"nic-1-3"};
    int times[2][8][2];
    crossed("h100 2 ss.nodes_per_leaf=1", third, 1, times);
    for (int gpu = 0; gpu < 8; gpu++)
        for (int way = 0; way < 2; way++) {
            CU_ASSERT_EQUAL(times[0][gpu][way], 1);
            CU_ASSERT_EQUAL(times[1][gpu][way], gpu == 3 ? 0 : gpu == 4 ? 2 : 1);
        }
}
