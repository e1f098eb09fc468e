/* SPDX-License-Identifier: Apache-2.0 */
/* What context parallelism sends, and what of it sticks out of attention, by hand. */
#include "small_job.h"
#include "stepsim/job_kinds.h"

#define MIB (1024.0 * 1024)

/* Seconds that a layer waits for its context group of `ranks` on NVLinks of `busbw` bytes/s; of 8192 tokens with 16 heads of 64 for
 * queries and outputs and 4 for keys and values Q is 16 MiB, O as much and K and V together 8 MiB, over the ranks. */
static void wait(int how, int ranks, double busbw, double overlap, double out[2])
{
    struct setting t;
    struct ss_layer_cost cost;
    setting_make(&t);
    t.job.cp = ranks;
    t.job.cp_comm_type = how;
    t.stack.cp_overlap = overlap;
    t.c.cp = (struct ss_group_shape){.n = ranks, .nodes = 1, .per_node = ranks};
    t.c.net.fabric_busbw = busbw;
    struct ss_ops ops = layer_of(&t, DENSE);
    ss_cost_layer(&t.c, &ops, SS_RECOMPUTE_NONE, &cost);
    out[0] = cost.forward[SS_LABEL_CP];
    out[1] = cost.input_grad[SS_LABEL_CP];
}

/* Heads and tokens change places: Q, K, V and the output go through an all-to-all of which half stays at home with two ranks and a
 * quarter with four; in the backward the output's gradient comes beside the output, and then those of Q, K and V. */
TEST(all_to_all)
{
    double got[2];
    wait(SS_CP_A2A, 2, 1e11, 0, got);
    CU_ASSERT_DOUBLE_EQUAL(got[0], (8 + 4 + 8) * MIB / 2 / 1e11, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(got[1], (8 + 4 + 2 * 8) * MIB / 2 / 1e11, 1e-15);
    wait(SS_CP_A2A, 4, 1e11, 0, got);
    CU_ASSERT_DOUBLE_EQUAL(got[0], (4 + 2 + 4) * MIB * 3 / 4 / 1e11, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(got[1], (4 + 2 + 2 * 4) * MIB * 3 / 4 / 1e11, 1e-15);
}

/* K and V of all ranks, 8 MiB, come to each before attention, and with their gradients in the backward. */
TEST(gathered)
{
    double got[2];
    wait(SS_CP_ALLGATHER, 2, 1e11, 1, got);
    CU_ASSERT_DOUBLE_EQUAL(got[0], 8 * MIB / 2 / 1e11, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(got[1], 2 * 8 * MIB / 2 / 1e11, 1e-15);
    wait(SS_CP_ALLGATHER, 4, 1e11, 1, got);
    CU_ASSERT_DOUBLE_EQUAL(got[0], 8 * MIB * 3 / 4 / 1e11, 1e-15);
}

/* A ring of four sends 2 MiB of K and V in each of three steps. However long attention takes, what cannot be hidden of a step stays;
 * where steps are longer than attention, a byte more is a byte later. */
TEST(ring)
{
    double got[2], slow[2], slower[2];
    wait(SS_CP_P2P, 4, 1e12, 0.75, got);
    CU_ASSERT_DOUBLE_EQUAL(got[0], 3 * 0.25 * 2 * MIB / 1e12, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(got[1], 3 * 0.25 * 4 * MIB / 1e12, 1e-15);
    wait(SS_CP_P2P, 4, 1e12, 0, got);
    CU_ASSERT_DOUBLE_EQUAL(got[0], 3 * 2 * MIB / 1e12, 1e-15);
    wait(SS_CP_P2P, 4, 1e9, 0.75, slow);
    wait(SS_CP_P2P, 4, 5e8, 0.75, slower);
    CU_ASSERT_DOUBLE_EQUAL(slower[0] - slow[0], 3 * 2 * MIB / 1e9, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(slower[1] - slow[1], 3 * 4 * MIB / 1e9, 1e-12);
    CU_ASSERT(slow[0] < 3 * 2 * MIB / 1e9);
}

/* Attention of four ranks of a ring, s: 4096^2 x 1024 FLOP of the causal half forward at 0.4 PFLOP/s and 2.5 times that backward
 * at 0.25, at 0.5 x 9 / 8 of these rates with 1024 queries; in blocks of 128 on 100 SMs. Forward the last step alone leaves them dry:
 * half a block of 128, those of 512 queries of 32 heads. Backward the first step is causal, of 256 blocks, and the others are even, of
 * 256 or of 128. Copies move bytes at 1 TB/s: test_attention.c counts them. */
static double attention_forward(void)
{
    double dry = 0.5 * 100 / 128, copied = 4 * MIB * (1 + 3 * 3.25 + 1.5) + 2 * MIB * (2 + 1.5);
    return 4096. * 4096 * 1024 / 0.4e15 / (0.5 * 9 / 8) * (1 + dry / 4) + copied / 1e12;
}

static double attention_backward(void)
{
    double causal = (2 / 3. - 8 / 200.) * 2 * 100 / 256, even = (0.5 * 100 / 256 + 0.5 * 100 / 128) / 2;
    double copied = (4 + 2) * MIB * (2 + 3 * 2.25) + 3 * 4 * MIB * 1.5;
    return 2.5 * 4096 * 4096 * 1024 / 0.25e15 / (0.5 * 9 / 8) * (1 + (causal + 3 * even) / 4) + copied / 1e12;
}

/* A part of attention hides the ring's steps, a fourth of it each of three. */
TEST(hidden)
{
    static const double parts[] = {0.25, 0.75};
    double none[2], some[2];
    wait(SS_CP_P2P, 4, 1e9, 0, none);
    for (int i = 0; i < 2; i++) {
        wait(SS_CP_P2P, 4, 1e9, parts[i], some);
        CU_ASSERT_DOUBLE_EQUAL(none[0] - some[0], 3 * parts[i] / 4 * attention_forward(), 1e-12);
        CU_ASSERT_DOUBLE_EQUAL(none[1] - some[1], 3 * parts[i] / 4 * attention_backward(), 1e-12);
    }
}
