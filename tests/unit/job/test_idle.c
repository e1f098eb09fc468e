/* SPDX-License-Identifier: Apache-2.0 */
/* Flags that do nothing for want of another one, and have a note. */

#include "base/base.h"
#include "job_helper.h"
#include "stepsim/job.h"
#include "suite.h"

/* What does nothing is told. */
TEST(idle)
{
    static const struct {
        const char *flags, *note;
        int told;
    } rows[] = {
        {"--fp8-recipe blockwise", "--fp8-recipe is not active without --fp8-format", 1},
        {"--fp8-recipe blockwise --fp8-format hybrid", "--fp8-recipe", 0},
        {"--fp8-recipe mxfp8 --fp4-format e2m1", "--fp8-recipe is not active", 1},
        {"--fp4-recipe nvfp4", "--fp4-recipe is not active without --fp4-format", 1},
        {"--fp4-recipe nvfp4 --fp4-format e2m1", "--fp4-recipe", 0},
        {"--attention-dropout 0.1", "--attention-dropout: what it costs inside of flash or fused attention",
         1},
        {"--attention-dropout 0.1 --attention-backend unfused", "--attention-dropout", 0},
        {"--attention-dropout 0", "--attention-dropout", 0},
        {"--cuda-graph-scope attn", "--cuda-graph-scope is not active without --cuda-graph-impl", 1},
        {"--cuda-graph-scope full", "--cuda-graph-scope is not active without --cuda-graph-impl", 1},
        {"--cuda-graph-scope full_iteration", "--cuda-graph-scope", 0},
        {"--cuda-graph-modules attn --cuda-graph-impl local", "--cuda-graph-scope", 0},
        {"--pp 4 --schedule interleaved", "made for several chunks a rank and has one here", 1},
        {"--pp 4 --schedule looped-bfs --vp 1", "made for several chunks a rank", 1},
        {"--pp 4 --schedule interleaved --vp 2", "made for several chunks a rank", 0},
        {"--pp 4 --schedule 1f1b", "made for several chunks a rank", 0},
        {"--pp 4 --schedule zb-v", "made for several chunks a rank", 0},
        {"--schedule interleaved", "made for several chunks a rank", 0},
        {"--offload-modules core_attn", "--offload-modules is not active", 1},
        {"--min-offloaded-tensor-size 8", "--min-offloaded-tensor-size is not active", 1},
        {"--activation-offload-fraction 0.5", "--activation-offload-fraction is not active", 1},
        {"--fine-grained-offloading-max-inflight-offloads 0", "max-inflight-offloads is not active", 1},
        {"--cpu-offloading-weights", "--cpu-offloading-weights is not active", 1},
        {"--cpu-offloading-weights --cpu-offloading-num-layers 2", "--cpu-offloading-weights", 0},
        {"--no-cpu-offloading-weights", "--cpu-offloading-weights", 0},
        {"--cpu-offloading-activations", "--cpu-offloading-activations is not active", 1},
        {"--cpu-offloading-activations --cpu-offloading-num-layers 2", "not active", 0},
        {"--no-cpu-offloading-activations", "not active", 0},
        {"--cpu-offloading-activations --cpu-offloading-num-layers 2 --recompute full --stack nemo-24.03",
         "--cpu-offloading-activations", 0}, /* CPU offloading is not active under full recompute */
        {"--expert-tensor-parallel-size 4 --tp 2", "num-experts: --expert-tensor-parallel-size", 1},
        {"--expert-tensor-parallel-size 2 --tp 2", "not active", 0}, /* its default */
        {"--ddp-bucket-size 1e6", "--ddp-bucket-size is not active without --overlap-grad-reduce", 1},
        {"--ddp-bucket-size 1e6 --use-distributed-optimizer", "--ddp-bucket-size is not active", 1},
        {"--ddp-bucket-size 1e6 --overlap-grad-reduce", "not active", 0},
        {"--ddp-bucket-size 1e6 --overlap-grad-reduce --tp 8", "--ddp-bucket-size is not active", 1},
        {"--ddp-bucket-size 1e6 --fsdp full", "--ddp-bucket-size is not active under FSDP", 1},
        {"--no-overlap-p2p-communication", "--no-overlap-p2p-communication is not active", 1},
        {"--no-overlap-p2p-communication --pp 4", "--no-overlap-p2p-communication is not active", 1},
        {"--no-overlap-p2p-communication --pp 4 --schedule zb-v", "p2p-communication is not active", 1},
        {"--no-overlap-p2p-communication --pp 4 --vp 2", "not active", 0},
        {"--no-overlap-p2p-communication --pp 4 --vp 2 --schedule interleaved", "not active", 0},
        {"--no-overlap-p2p-communication --pp 4 --stack megatron-2021", "p2p-communication", 0},
        {"--no-scatter-gather-tensors-in-pipeline --pp 2 --tp 2", "--no-scatter-gather", 1},
        {"--no-scatter-gather-tensors-in-pipeline --pp 2 --tp 2 --stack megatron-2021", "not active", 0},
        {"--no-scatter-gather-tensors-in-pipeline --pp 2 --stack megatron-2021", "--no-scatter-gather", 1},
        {"--no-scatter-gather-tensors-in-pipeline --tp 2 --stack megatron-2021", "--no-scatter-gather", 1},
        {"--account-for-embedding-in-pipeline-split", "split is not active without pipeline stages", 1},
        {"--account-for-loss-in-pipeline-split", "split is not active without pipeline stages", 1},
        {"--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split --pp 2",
         "not active", 0},
        {"--use-transformer-engine-op-fuser --fp8-format e4m3 --fp8-recipe mxfp8", "fuser is not active", 1},
        {"--fused-single-qkv-rope --qk-layernorm", "qkv-rope is not active", 1},
        {"--fused-single-qkv-rope", "qkv-rope is not active", 0},
        {"--use-transformer-engine-op-fuser --fp8-format e4m3 --fp8-recipe mxfp8 --num-experts 8 "
         "--moe-grouped-gemm",
         "not active", 0},
        {"--use-megatron-fsdp", "--use-megatron-fsdp is not active", 1},
        {"--use-megatron-fsdp --data-parallel-sharding-strategy no_shard", "not active", 0},
        {"--fsdp full", "not active", 0},
        {"--data-parallel-sharding-strategy optim", "--data-parallel-sharding-strategy is not active", 1},
        {"--outer-dp-sharding-strategy optim", "--outer-dp-sharding-strategy is not active without", 1},
        {"--microbatch-group-size-per-vp-stage 4", "--microbatch-group-size-per-virtual-pipeline-stage", 1},
        {"--pp 4 --microbatch-group-size-per-vp-stage 4", "is not active with this schedule", 1},
        {"--pp 4 --vp 2 --microbatch-group-size-per-vp-stage 4", "not active", 0},
        {"--no-align-grad-reduce --pp 4 --vp 2", "--no-align-grad-reduce is not active without", 1},
        {"--no-delay-grad-reduce --pp 4 --overlap-grad-reduce", "--no-align-grad-reduce is not", 1},
        {"--disable-align-grad-reduce --overlap-grad-reduce", "--no-align-grad-reduce is not", 1},
        {"--no-align-grad-reduce --pp 4 --vp 2 --overlap-grad-reduce", "not active", 0},
        {"--no-align-grad-reduce --pp 4 --schedule ./a.txt --overlap-grad-reduce", "not active", 0},
        {"--no-align-grad-reduce --pp 4 --vp 2 --schedule group-interleaved --overlap-grad-reduce",
         "--no-align-grad-reduce is not active", 1},
        {"--align-param-gather --use-distributed-optimizer --overlap-grad-reduce",
         "--align-param-gather is not", 1},
        {"--activation-func-clamp-value 7", "--activation-func-clamp-value is not active", 1},
        {"--moe-layer-recompute", "not active without --num-experts: --moe-layer-recompute", 1},
        {"--moe-layer-recompute --recompute none", "--moe-layer-recompute is not active without --rec", 1},
        {"--num-experts 8 --moe-layer-recompute --recompute op-selective --stack torchtitan-2025",
         "--moe-layer-recompute is not active beside --recompute op-selective", 1},
        {"--moe-layer-recompute --recompute full", "--moe-layer-recompute is not active without --rec", 1},
        {"--recompute none --moe-layer-recompute --num-experts 8", "not active", 0},
        {"--recompute-modules moe --recompute none", "--recompute-modules is not active without --rec", 1},
        {"--moe-enable-deepep", "not active without --num-experts: --moe-flex-dispatcher-backend", 1},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_job job;
        struct ss_notes notes = {0};
        char flags[256];
        snprintf(flags, sizeof(flags), L8B "%s", rows[i].flags);
        CU_ASSERT_EQUAL(complete(&job, flags, 8, &notes, NULL), 0);
        CU_ASSERT_EQUAL(has_note(&notes, rows[i].note), rows[i].told);
        ss_notes_free(&notes);
    }
    struct ss_job job;
    CU_ASSERT_EQUAL(
        complete(&job, L8B "--fp4-format e2m1 --fp4-param-gather --use-distributed-optimizer", 8, NULL, NULL),
        0);
    CU_ASSERT_EQUAL(job.fp8_param_gather, 1);
}
