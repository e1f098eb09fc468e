/* SPDX-License-Identifier: Apache-2.0 */
/* What Megatron-LM and NeMo refuse, and near neighbours that they accept. */

#include "base/base.h"
#include "job_helper.h"
#include "stepsim/job.h"
#include "suite.h"

#define STEP_GRAPH "--stack megatron-bridge-26.08 --optimizer-cuda-graph "

/* Configurations that the frameworks refuse, with words of their reason. */
TEST(refused)
{
    static const struct {
        const char *flags;
        int world;
        const char *reason;
    } rows[] = {
        /* as measured */
        {L13 "--tp 8 --cp 2", 8, "tensor 8 x pipeline 1 x context 2 needs 16 GPUs, the cluster has 8"},
        {L13 "--tp 4 --cp 2", 8,
         "Context parallelism is only implemented with Flash Attention and Fused Attention"},
        {L8B "--fp8-format hybrid --pp 2 --num-layers-per-virtual-pipeline-stage 4 --cpu-offloading "
             "--cpu-offloading-num-layers 1",
         32, "Currently there is no support for Pipeline parallelism with CPU offloading"},
        {Q14 "--pp 4 --cpu-offloading", 32,
         "Currently there is no support for Pipeline parallelism with CPU offloading"},
        {Q14 "--tp 2 --pp 2 --num-layers-per-virtual-pipeline-stage 5", 32,
         "number of layers per pipeline stage must be divisible number of layers per virtual pipeline stage"},
        {Q72 "--tp 4 --pp 4 --cp 8", 64,
         "tensor 4 x pipeline 4 x context 8 needs 128 GPUs, the cluster has 64"},
        {Q72 "--tp 4 --pp 8 --cp 4", 64,
         "tensor 4 x pipeline 8 x context 4 needs 128 GPUs, the cluster has 64"},
        {L8B "--mtp-num-layers 1 --recompute-granularity full --recompute-method uniform "
             "--recompute-num-layers 2",
         32, "recompute_num_layers must be 1 for MTP recompute"},
        {L8B "--optimizer-cuda-graph", 32, "megatron-2407 has no CUDA graph of the optimizer's step"},
        {L8B "--optimizer-cuda-graph --stack megatron-bridge-26.06", 32,
         "has no CUDA graph of the optimizer"},
        {L8B STEP_GRAPH "--optimizer muon", 32, "is of Adam alone"},
        {L8B STEP_GRAPH "--optimizer-cpu-offload --use-distributed-optimizer", 32, "waits for the host"},
        {L8B STEP_GRAPH "--swap-optimizer --use-distributed-optimizer", 32, "waits for the host"},
        {L8B STEP_GRAPH "--log-num-zeros-in-grad", 32, "no CUDA graph captures: the count of zeros"},
        {"--model llama3.1-8b --mbs 1 --gbs 1024 --seq 8192 --fp16 " STEP_GRAPH, 32, "found_inf of fp16"},
        {"--model gpt2-7.5b --seq 1024 --mbs 1 --gbs 64 --bf16 --mtp-num-layers 1", 8,
         "not supported with learned_absolute position embedding type"},
        /* layout */
        {L8B "--tp 3", 32, "world size (32) is not divisible by tensor parallel size (3)"},
        {L8B "--tp 1048576 --pp 1048576 --cp 1048576", 32, "1152921504606846976 GPUs"},
        {L8B "--gbs 100", 32, "global batch size (100) is not divisible by micro batch size (1) times data"},
        {L8B "--pp 3", 3, "number of layers should be divisible by the pipeline parallel size"},
        {L8B "--num-layers-per-virtual-pipeline-stage 4", 32,
         "pipeline-model-parallel size should be greater than 1"},
        {L8B "--pp 2 --no-overlap-p2p-communication --num-layers-per-virtual-pipeline-stage 4", 32,
         "pipeline-model-parallel size should be greater than 2"},
        {L8B "--pp 4 --num-layers-per-virtual-pipeline-stage 4 --gbs 144", 32,
         "number of microbatches (18) is not divisible by pipeline-model-parallel-size (4)"},
        {L8B "--pp 4 --num-layers-per-virtual-pipeline-stage 4 --num-virtual-stages-per-pipeline-rank 2", 32,
         "No more than one"},
        {L8B "--pp 4 --num-virtual-stages-per-pipeline-rank 3", 32, "virtual pipeline parallel degree 3"},
        {L8B "--pp 4 --num-virtual-stages-per-pipeline-rank 2 --gbs 64 "
             "--microbatch-group-size-per-virtual-pipeline-stage 9",
         32, "should range in [PP=4, M=8]"},
        {L8B "--pp 4 --num-virtual-stages-per-pipeline-rank 2 --gbs 64 "
             "--microbatch-group-size-per-virtual-pipeline-stage 3",
         32, "should range in [PP=4, M=8]"},
        {L8B "--pp 4 --num-virtual-stages-per-pipeline-rank 2 --gbs 64 "
             "--microbatch-group-size-per-virtual-pipeline-stage 6",
         32, "but it is 2"},
        {L8B "--pp 4 --decoder-first-pipeline-num-layers 7", 32, "number of layers at middle stage: 25"},
        {L8B "--pp 4 --decoder-first-pipeline-num-layers 7 --decoder-last-pipeline-num-layers 7 "
             "--num-virtual-stages-per-pipeline-rank 3",
         32, "number of layers at first stage: 7"},
        {L8B "--pp 4 --decoder-first-pipeline-num-layers 5 --num-layers-per-virtual-pipeline-stage 3", 32,
         "please use --num-virtual-stages-per-pipeline-rank"},
        {L8B "--decoder-last-pipeline-num-layers 5", 32, "needs a pipeline-model-parallel size above 1"},
        {L8B "--pp 2 --decoder-first-pipeline-num-layers 20 --decoder-last-pipeline-num-layers 20", 32,
         "middle stage"},
        {L8B "--tp 16", 32, "num_query_groups (8) must be a multiple of tensor_model_parallel_size (16)"},
        {"--model qwen2.5-14b --bf16 --mbs 1 --seq 8192 --tp 16", 32,
         "num_attention_heads (40) must be a multiple"},
        {L8B "--ffn-hidden-size 1001 --tp 2", 32, "1001 is not divisible by 2"},
        {L8B "--cp 2 --seq 8190", 32, "seq-length should be a multiple of 2 * context-parallel-size"},
        {L8B "--tp 4 --sequence-parallel --seq 8190", 32,
         "First dimension of the tensor should be divisible"},
        {L8B "--rank-order tp-dp-pp --cp 2", 32, "you haven't specified the order"},
        {L8B "--rank-order tp-ep-pp-dp", 32, "The ep and dp must be adjacent"},
        {L8B "--use-tp-pp-dp-mapping --cp 2", 32, "can't be used with tp-pp-dp mapping"},
        {L8B "--ep 2", 32, "num_experts must be non None"},
        /* recompute, offload, data parallel */
        {L8B "--recompute-granularity full", 32, "recompute_method must be"},
        {L8B "--recompute-granularity full --recompute-method uniform", 32,
         "recompute_num_layers must be between 1 and"},
        {L8B "--recompute-granularity full --recompute-method block --recompute-num-layers 17 --pp 2", 32,
         "num_layers_per_pipeline_rank: 16"},
        {L8B "--recompute-activations --recompute-method block", 32, "recompute method is not yet supported"},
        {L8B "--recompute-activations --recompute-num-layers 1", 32, "recompute_num_layers must be None"},
        {L8B "--recompute-activations --cpu-offloading", 32, "CPU offloading does not work when activation"},
        {L8B "--cpu-offloading-num-layers 32", 32, "CPU offloading can be done only for layers less than 32"},
        {L8B "--cpu-offloading-num-layers 2 --transformer-impl local", 32,
         "CPU Offloading is enabled when TE"},
        {L8B "--overlap-param-gather --overlap-grad-reduce", 32, "only supported with distributed optimizer"},
        {L8B "--overlap-param-gather --use-distributed-optimizer", 32,
         "--overlap-grad-reduce should be turned on"},
        {L8B "--fsdp full --pp 2", 32, "FSDP is not supported with pipeline parallelism"},
        {L8B "--fp8-param-gather --use-distributed-optimizer", 32,
         "fp8_param must be used together with fp8"},
        {L8B "--fp8-dot-product-attention", 32, "attention in fp8 is modelled in mxfp8 alone"},
        {L8B "--fp8-format hybrid --fp8-dot-product-attention", 32,
         "attention in fp8 is modelled in mxfp8 alone"},
        {L8B "--fp8-format hybrid --fp8-param-gather", 32, "--fp8-param-gather only supported with"},
        {L8B "--fp4-format e2m1 --fp4-param-gather", 32, "--fp4-param-gather only supported with"},
        {L8B "--fp4-param-gather --use-distributed-optimizer", 32,
         "--fp4-param-gather must be used together with --fp4-format"},
        {L8B "--fp8-format hybrid --fp4-param-gather --use-distributed-optimizer", 32,
         "--fp4-param-gather must be used together with --fp4-format"},
        {L8B "--fp4-format e2m1 --fp8-param-gather --use-distributed-optimizer", 32,
         "fp8_param must be used together with fp8 mode"},
        {L8B "--tp 2 --tp-comm-overlap", 32, "only when sequence parallelism is enabled"},
        /* precision and attention */
        {L8B "--fp16", 32, "--fp16 beside --bf16"},
        {L8B "--fp8-format hybrid --transformer-impl local", 32, "fp8 needs Transformer Engine"},
        {L8B "--fp8-format hybrid --stack megatron-2021", 32, "fp8 needs Transformer Engine"},
        {L8B "--fp8-format hybrid --seq 8190 --mbs 2 --gbs 64", 32, "height divisible by 8"},
        {L8B "--fp8-format hybrid --ffn-hidden-size 14344", 32, "width divisible by 16"},
        {L8B "--cp 2 --attention-backend unfused", 32, "only implemented with Flash"},
        {L8B "--cp 2 --stack megatron-2021", 32, "only supported by TEDotProductAttention"},
        {L8B "--cp 16 --cp-comm-type a2a", 32, "query groups"},
        {L8B "--max-position-embeddings 4096", 32, "max_position_embeddings (4096) must be greater than"},
        {"--model gpt2-7.5b --fp16 --mbs 1 --gbs 4 --seq 2048", 4, "max_position_embeddings (1024) must be"},
        {"--model gpt2-7.5b --fp16 --mbs 1 --gbs 4 --seq 1024 --no-position-embedding", 4,
         "--no-position-embedding is deprecated"},
        /* what left Megatron, and PyTorch's FSDP2 */
        {L8B "--checkpoint-activations", 8, "no longer valid, use --recompute-activations"},
        {L8B "--use-torch-fsdp2 --use-distributed-optimizer", 8,
         "not supported with MCore's distributed optimizer"},
        {"--model gpt2-7.5b --bf16 --mbs 1 --gbs 4 --seq 1024 --use-torch-fsdp2", 4,
         "requires --untie-embeddings-and-output-weights"},
        {"--model llama3.1-8b --fp16 --mbs 1 --gbs 8 --seq 1024 --use-torch-fsdp2", 8,
         "not supported with fp16 yet"},
        /* incomplete */
        {"--model llama2-7b --mbs 1 --gbs 8", 8, "--seq-length"},
        {"--model llama2-7b --seq 4096 --gbs 8", 8, "--micro-batch-size"},
        {"--mbs 1 --seq 512", 8, "--num-layers"},
        {"--mbs 1 --seq 512 --num-layers 2 --hidden-size 64 --num-attention-heads 4", 8, "--vocab-size"},
        {"--mbs 1 --seq 512 --num-layers 2 --hidden-size 66 --num-attention-heads 4 --vocab-size 9", 8,
         "not divisible by 4 attention heads"},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_job job;
        struct ss_error err = {0};
        int rc = complete(&job, rows[i].flags, rows[i].world, NULL, &err);
        if (rc != SS_ERR_CONFIG || !strstr(err.message, rows[i].reason))
            fprintf(stderr, "%s: %d %s\n", rows[i].flags, rc, err.message);
        CU_ASSERT_EQUAL(rc, SS_ERR_CONFIG);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, rows[i].reason));
        if (!err.hint[0])
            fprintf(stderr, "no hint: %s\n", err.message);
        CU_ASSERT_TRUE(err.hint[0] != '\0');
    }
}

/* Where one of a flag's values is wrong, the message has all of them as they were given. */
TEST(values)
{
    struct ss_error err = {0};
    struct ss_asked asked;

    ss_asked_init(&asked);
    CU_ASSERT_EQUAL(parse(&asked, L8B "--recompute-modules mlp moe_rooter layernorm", NULL, &err),
                    SS_ERR_USAGE);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(err.message, "--recompute-modules mlp moe_rooter layernorm: it is none of "));
}

/* A refusal names the line of the job file that it comes from, unless the command line said so. */
TEST(lines)
{
    static const char text[] = "--model llama3.1-8b --bf16\n--pp 2\n--mbs 1\n--seq 8192 --gbs 1024\n";
    static const struct {
        const char *file, *command;
        int line;
    } rows[] = {
        {"", "", -1},
        {"--tensor-model-parallel-size 3", "", 5},
        {"", "--tp 3", 0},
        {"--tp 3\n--num-layers 32", "", 5},
        {"--tp 4", "--tensor-model-parallel-size 3", 0},
        {"\n--num-layers-per-virtual-pipeline-stage 5", "", 6},
        {"--num-layers-per-virtual-pipeline-stage 5", "--tp 2", 5},
        {"--decoder-first-pipeline-num-layers 5 --num-virtual-stages-per-pipeline-rank 2", "", 5},
        {"--global-batch-size 7", "", 5},
        {"--cpu-offloading-num-layers 2", "", 5},
        {"--model llama9", "", 5},
        {"", "--model llama9", 0},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        char all[512], *argv[JOB_MAX_ARGS];
        struct ss_asked asked;
        struct ss_job job;
        struct ss_request request;
        struct ss_stack stack;
        struct ss_error err = {0};
        snprintf(all, sizeof all, "%s%s", text, rows[i].file);
        ss_asked_init(&asked);
        ss_request_init(&request);
        CU_ASSERT_EQUAL(ss_request_read_text(&request, all, strlen(all), "job.args", &err), 0);
        strcpy(all, rows[i].command);
        CU_ASSERT_EQUAL(ss_request_read(&request, split(all, argv), argv, &err), 0);
        CU_ASSERT_EQUAL(ss_asked_parse(&asked, &request, NULL, NULL, &err), 0);
        CU_ASSERT_EQUAL(ss_stack_load(asked.job.stack, NULL, &stack, &err), 0);
        int rc = ss_asked_finish(&asked, &request, &stack, 32, 8, NULL, &job, &err);
        ss_request_free(&request);
        CU_ASSERT_EQUAL(rc != 0, rows[i].line >= 0);
        CU_ASSERT_EQUAL(err.line, rows[i].line > 0 ? rows[i].line : 0);
        CU_ASSERT_STRING_EQUAL(err.file, rows[i].line > 0 ? "job.args" : "");
        if (err.line != (rows[i].line > 0 ? rows[i].line : 0))
            fprintf(stderr, "%s | %s: line %d: %s\n", rows[i].file, rows[i].command, err.line, err.message);
    }
}

/* Near neighbours of what is refused. */
TEST(accepted)
{
    static const char *const rows[] = {
        L8B "--pp 4 --num-virtual-stages-per-pipeline-rank 2 --gbs 64 "
            "--microbatch-group-size-per-virtual-pipeline-stage 8",
        L8B "--pp 4 --num-virtual-stages-per-pipeline-rank 2 --gbs 72 "
            "--microbatch-group-size-per-virtual-pipeline-stage 16",
        L8B "--pp 4 --num-layers-per-virtual-pipeline-stage 8",
        L8B "--pp 4 --no-overlap-p2p-communication --num-layers-per-virtual-pipeline-stage 4",
        L8B "--num-layers 24 --gbs 1023 --pp 3 --no-overlap-p2p-communication "
            "--num-layers-per-virtual-pipeline-stage 4",
        L8B "--pp 4 --decoder-first-pipeline-num-layers 7 --decoder-last-pipeline-num-layers 7",
        L8B "--pp 2 --decoder-first-pipeline-num-layers 20 --decoder-last-pipeline-num-layers 12",
        L8B "--num-virtual-stages-per-pipeline-rank 1",
        L8B STEP_GRAPH,
        L8B "--cpu-offloading --cpu-offloading-num-layers 31",
        L8B "--use-megatron-fsdp --data-parallel-sharding-strategy optim --use-distributed-optimizer --pp 2",
        L8B "--fsdp full --overlap-grad-reduce --overlap-param-gather",
        L8B "--cp 2 --cp-comm-type a2a --attention-backend fused",
        L8B "--cp 2 --rank-order cp-tp-pp-dp",
        L8B "--recompute full --recompute-method block --recompute-num-layers 32",
        L8B "--recompute full --recompute selective",
        L8B "--checkpoint-activations --recompute full",
        L8B "--checkpoint-activations --recompute-granularity full --recompute-method uniform "
            "--recompute-num-layers 1",
        "--model gpt2-7.5b --fp16 --mbs 1 --gbs 4 --seq 1024 --checkpoint-activations --stack megatron-2021",
        L8B "--use-torch-fsdp2",
        L8B "--use-torch-fsdp2 --use-distributed-optimizer --fsdp none",
        L13 "--tp 8",
        "--model gpt2-7.5b --fp16 --mbs 1 --gbs 4 --seq 2048 --stack nemo-24.03",
        "--model gpt2-7.5b --fp16 --mbs 1 --gbs 4 --seq 2048 --max-position-embeddings 2048",
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_job job;
        struct ss_error err = {0};
        int rc = complete(&job, rows[i],
                          strstr(rows[i], "gpt2")     ? 4
                          : strstr(rows[i], "--pp 3") ? 3
                                                      : 8,
                          NULL, &err);
        if (rc)
            fprintf(stderr, "%s: %s\n", rows[i], err.message);
        CU_ASSERT_EQUAL(rc, 0);
    }
}

TEST(experts)
{
    struct ss_job job;
    struct ss_error err = {0};

    CU_ASSERT_EQUAL(
        complete(&job, L8B "--num-experts 8 --ep 2 --moe-router-topk 2 --moe-grouped-gemm", 32, NULL, &err),
        SS_OK);
    CU_ASSERT_EQUAL(job.model.num_experts, 8);
    CU_ASSERT_EQUAL(job.model.top_k, 2);
    CU_ASSERT_EQUAL(complete(&job, L8B "--mtp-num-layers 1", 32, NULL, &err), SS_OK);
    CU_ASSERT_EQUAL(job.model.mtp_num_layers, 1);
    CU_ASSERT_EQUAL(
        complete(&job, L8B "--position-embedding-type yarn --activation-func-clamp-value 7", 32, NULL, &err),
        SS_OK);
    CU_ASSERT(job.model.position == SS_POSITION_ROPE && job.model.yarn == 1 &&
              job.model.activation_clamp == 1);
    CU_ASSERT(complete(&job, L8B "--activation-func-clamp-value 0", 32, NULL, &err) != SS_OK);
    CU_ASSERT_EQUAL(complete(&job, L8B "--num-experts 8 --ep 8 --etp 1 --fsdp hybrid", 32, NULL, &err),
                    SS_OK);
    CU_ASSERT_EQUAL(complete(&job, "--model llama3.1-8b --mbs 1 --gbs 1024 --seq 8192 --fp8-format hybrid",
                             32, NULL, &err),
                    SS_ERR_UNSUPPORTED);
    CU_ASSERT_EQUAL(complete(&job, L8B "--num-experts 0 --moe-grouped-gemm", 32, NULL, &err), 0);
}
