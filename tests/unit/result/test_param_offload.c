/* SPDX-License-Identifier: Apache-2.0 */
/* DeepSpeed's offload_param: times are bytes over the rate of the link or of NVMe, and memory is what is live. */
#include "base/base.h"
#include "scale_job.h"
#include "suite.h"

#define LINK 55e9 /* ss.pcie.bandwidth of an H100 */
#define GPUS 8
#define JOB "--stack deepspeed-2026 --model llama3-8b --bf16 --fsdp full --seq 2048 --mbs 1 --gbs "
#define ON_HOST " --param-offload cpu"
#define STEPPED_THERE " --optimizer-cpu-offload --optimizer-offload-fraction 1"
#define UNFETCHED 0 /* ss.zero.prefetch_params */
#define FETCHED 5e7

struct seen {
    double offload, optimizer, iteration, parameters, host;
    double memory[SS_MEM_COUNT];
};

static struct seen seen_of(const char *text, double prefetch)
{
    const struct ss_run_options options = {.engine = SS_ENGINE_NATIVE};
    struct scale_job s;
    struct ss_run run;
    struct seen out;

    CU_ASSERT_FATAL(!scale_open(&s, text));
    s.stack.zero_prefetch = prefetch;
    CU_ASSERT_FATAL(!scale_run(&s, &options, &run));
    const struct ss_plan_class *pc = &run.plan->classes[0];
    out.offload = run.result->stages[0].breakdown[SS_LABEL_OFFLOAD];
    out.optimizer = pc->optimizer_s;
    out.iteration = run.result->iteration_s;
    out.parameters = pc->parameters;
    out.host = pc->host_bytes;
    memcpy(out.memory, pc->memory, sizeof out.memory);
    ss_run_free(&run);
    scale_close(&s);
    return out;
}

static struct seen look(const char *platform, const char *flags, double prefetch)
{
    char text[512];

    snprintf(text, sizeof text, "%s;" JOB "%s", platform, flags);
    return seen_of(text, prefetch);
}

#define NEAR(value, want) CU_ASSERT_DOUBLE_EQUAL(value, want, 1e-9 * (want))

/* Nothing is fetched ahead: all copies are waited for. Bytes of a parameter of the rank's shard, over the link in the direction that has
 * more of them: 2 in the forward; in the backward 2 come, or gradients leave, 2 in each microbatch and 4 behind the last. */
TEST(time)
{
    static const struct {
        const char *flags;
        double bytes;
    } rows[] = {
        {"8" ON_HOST, 2 + 2},
        {"8" ON_HOST STEPPED_THERE, 2 + (2 + 4)},
        {"32" ON_HOST STEPPED_THERE, 4 * 2 + (4 * 2 + 3 * 2)}, /* 4 microbatches: gradients of 3 come back */
        {"8" ON_HOST " --recompute full", 2 + 2},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct seen s = look("h100 1", rows[i].flags, UNFETCHED);
        NEAR(s.offload, rows[i].bytes * s.parameters / GPUS / LINK);
    }
}

/* A slow link: the job takes what its copies take, which hide all kernels of the layers; the gathers stand in their stream. */
TEST(transfer_bound)
{
    struct seen slow = look("h100 1 ss.pcie.bandwidth=1GBps", "8" ON_HOST, FETCHED);
    struct seen slower = look("h100 1 ss.pcie.bandwidth=500MBps", "8" ON_HOST, FETCHED);
    double once = 4 * slow.parameters / GPUS / 1e9;

    CU_ASSERT(slow.iteration - slow.optimizer > once && slow.iteration - slow.optimizer < 1.06 * once);
    NEAR(slower.iteration - slower.optimizer - (slow.iteration - slow.optimizer), once);
}

/* The step: on the device it sends 2 bytes a parameter; on the host nothing goes over the link, and states on NVMe are read (12 and the
 * gradient's 4) and written (12), before and behind the step or beside it. */
TEST(step)
{
    struct seen bare = look("h100 1", "8", FETCHED), kept = look("h100 1", "8" ON_HOST, FETCHED);
    struct seen host = look("h100 1", "8" ON_HOST STEPPED_THERE, FETCHED);
    double local = bare.parameters / GPUS, drive = 25.6e9 / GPUS;
    static const char *const words[] = {"none", "read", "write", "both"};

    NEAR(kept.optimizer - bare.optimizer, 2 * local / LINK);
    for (size_t i = 0; i < SS_ARRAY_LEN(words); i++) {
        char flags[256];
        snprintf(flags, sizeof flags,
                 "8" ON_HOST STEPPED_THERE " --optimizer-offload-nvme --optimizer-offload-pipeline %s",
                 words[i]);
        struct seen s = look("h100 1", flags, FETCHED);
        double read = 16 * local / drive, write = 12 * local / drive, step = 28 * local * GPUS / 109e9;
        const double want[] = {read + write, fmax(read, step) - step + write, read + fmax(write, step) - step,
                               fmax(read + write, step) - step};
        NEAR(s.optimizer - host.optimizer, want[i]);
    }
}

/* NVMe of a node is shared by its GPUs. A rank's first billion parameters stay on the host by default. */
TEST(nvme)
{
    struct seen all = look("h100 1", "8 --param-offload nvme --param-offload-max-in-cpu 0", UNFETCHED);
    struct seen fits = look("h100 1", "8 --param-offload nvme --param-offload-max-in-cpu 2e9", UNFETCHED);
    struct seen half = look("h100 1 ss.nvme.bandwidth=10GBps",
                            "8 --param-offload nvme --param-offload-max-in-cpu 501907968", UNFETCHED);

    NEAR(all.offload, 4 * all.parameters / 25.6e9);
    NEAR(fits.offload, 4 * fits.parameters / GPUS / LINK);
    CU_ASSERT_DOUBLE_EQUAL(half.offload, 4 * half.parameters / 2 / 10e9, 1e-3 * half.offload);
    CU_ASSERT_EQUAL(all.host, 0);
}

#define MEGATRON                                                                                             \
    "h100 1;--model llama3-8b --bf16 --tp 2 --sequence-parallel --seq 2048 --mbs 1 --gbs 8 "                 \
    "--use-distributed-optimizer"

/* Swapped states (12 bytes a parameter) go over the link twice, one way after the other, and the device steps; the part of them that is stepped stays. */
TEST(swap)
{
    struct seen bare = seen_of(MEGATRON, FETCHED), swap = seen_of(MEGATRON " --swap-optimizer", FETCHED);
    struct seen whole = seen_of(MEGATRON " --swap-optimizer --swap-optimizer-times 0", FETCHED);
    double local = bare.parameters / (GPUS / 2);

    NEAR(swap.optimizer - bare.optimizer, 2 * 12 * local / LINK);
    NEAR(whole.optimizer, swap.optimizer);
    NEAR(bare.memory[SS_MEM_OPTIMIZER] - swap.memory[SS_MEM_OPTIMIZER], 12 * local * 15 / 16);
    CU_ASSERT_EQUAL(whole.memory[SS_MEM_OPTIMIZER], bare.memory[SS_MEM_OPTIMIZER]);
    CU_ASSERT_EQUAL(swap.memory[SS_MEM_GRADIENTS], bare.memory[SS_MEM_GRADIENTS]);
    NEAR(swap.host, 12 * local);
}

/* Neither parameters nor, where the host steps, gradients lie on the device; what is live stays. The host holds 2 bytes of parameters, 2 of
 * gradients, 4 of fp32 gradients and 12 of states. */
TEST(memory)
{
    struct seen bare = look("h100 1", "8", FETCHED), kept = look("h100 1", "8" ON_HOST, FETCHED);
    struct seen host = look("h100 1", "8" ON_HOST STEPPED_THERE, FETCHED);
    double local = bare.parameters / GPUS;

    NEAR(bare.memory[SS_MEM_WEIGHTS], 2 * local);
    CU_ASSERT_EQUAL(kept.memory[SS_MEM_WEIGHTS], 0);
    CU_ASSERT_EQUAL(kept.memory[SS_MEM_GRADIENTS], bare.memory[SS_MEM_GRADIENTS]);
    CU_ASSERT_EQUAL(kept.memory[SS_MEM_OTHER], bare.memory[SS_MEM_OTHER]);
    CU_ASSERT_EQUAL(host.memory[SS_MEM_GRADIENTS], 0);
    CU_ASSERT_EQUAL(host.memory[SS_MEM_OTHER], bare.memory[SS_MEM_OTHER]);
    NEAR(kept.host, 2 * local);
    NEAR(host.host, 20 * local);
}

TEST(refused)
{
    static const char *const rows[][3] = {
        {"h100 1 ss.host_memory=100GB", "8" ON_HOST STEPPED_THERE, "need 150 GiB of a node, which has 93"},
        {"h100 1 ss.host_memory=200GB", "8" ON_HOST STEPPED_THERE, NULL},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        const struct ss_run_options options = {.engine = SS_ENGINE_NATIVE};
        struct scale_job s;
        struct ss_run run;
        struct ss_error err = {0};
        char text[512];
        snprintf(text, sizeof text, "%s;" JOB "%s", rows[i][0], rows[i][1]);
        CU_ASSERT_FATAL(!scale_open(&s, text));
        int rc = scale_try(&s, &options, &run, &err);
        CU_ASSERT_EQUAL(rc != SS_OK, rows[i][2] != NULL);
        if (rc && !strstr(err.message, rows[i][2]))
            printf("\n%s\n", err.message);
        CU_ASSERT(!rc || strstr(err.message, rows[i][2]));
        if (!rc)
            ss_run_free(&run);
        scale_close(&s);
    }
}
