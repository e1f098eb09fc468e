/* SPDX-License-Identifier: Apache-2.0 */
/* DeepSpeed's keys: all of a release at their defaults are accepted, and ask for what an empty file asks for; other values are modelled,
 * without effect, or refused. */

#include "base/base.h"
#include "import_helper.h"
#include "suite.h"

#define PLAIN                                                                                                \
    "--set ss.fused.linear_cross_entropy=0 --set ss.fused.inplace_activation=0 --set "                       \
    "ss.fused.cross_entropy=0 --set ss.loss.peak_bytes=14 --set ss.fused.elementwise=0"
#define ZERO "--stack deepspeed-2026 "
#define FP32 "--precision fp32 --attention-backend auto " PLAIN

#define STAGE3 "{\"zero_optimization\": {\"stage\": 3,\n"

/* Every key of DeepSpeed 0.19.6 stands in the file with its default; the stage alone differs here. */
TEST(defaults)
{
    static const char *const words[] = {
        ZERO FP32,
        ZERO "--use-distributed-optimizer --set ss.zero.bucket_params=500000000 " FP32,
        ZERO "--fsdp grad --set ss.zero.bucket_params=500000000 " FP32,
        ZERO "--fsdp full --set ss.zero.bucket_params=500000000 --set ss.zero.live_params=1000000000 " FP32,
    };
    char *text;
    size_t len;

    CU_ASSERT_EQUAL_FATAL(
        ss_file_read(SS_SOURCE_DIR "/tests/import/deepspeed/every_key.json", 1 << 20, &text, &len, NULL),
        SS_OK);
    char *stage = strstr(text, "\"stage\": 0");
    CU_ASSERT_PTR_NOT_NULL_FATAL(stage);
    for (size_t i = 0; i < SS_ARRAY_LEN(words); i++) {
        stage[strlen("\"stage\": ")] = (char)('0' + i);
        const struct text_row row = {text, words[i]};
        check_text(&row, "ds.json");
    }
    free(text);
}

/* offload_param and NVMe, under the names of today and of 2020, of DeepSpeed's file and of accelerate's. */
TEST(offload)
{
    static const struct {
        const char *text, *words, *note;
    } rows[] = {
        {STAGE3 "\"offload_param\": {\"device\": \"cpu\", \"pin_memory\": true}}}", "--param-offload cpu",
         NULL},
        {STAGE3 "\"offload_param\": {\"device\": \"cpu\", \"pin_memory\": false}}}", "--param-offload cpu",
         "pageable"},
        {STAGE3 "\"cpu_offload_params\": true}}", "--param-offload cpu", NULL},
        {STAGE3 "\"offload_param\": {\"device\": \"nvme\", \"nvme_path\": \"/nvme\", \"max_in_cpu\": 1e8,\n"
                "\"buffer_count\": 5, \"buffer_size\": 1e8}}, \"aio\": {\"queue_depth\": 32}}",
         "--param-offload nvme --param-offload-max-in-cpu 100000000", "whatever aio says"},
        {STAGE3 "\"offload_optimizer\": {\"device\": \"nvme\", \"pipeline_read\": true}}}",
         "--optimizer-cpu-offload --optimizer-offload-nvme --optimizer-offload-pipeline read "
         "--optimizer-offload-fraction 1",
         "whatever aio says"},
        {STAGE3 "\"offload_optimizer\": {\"device\": \"nvme\", \"pipeline_read\": true, \"pipeline_write\": "
                "true}}}",
         "--optimizer-cpu-offload --optimizer-offload-nvme --optimizer-offload-pipeline both "
         "--optimizer-offload-fraction 1",
         NULL},
        {"distributed_type: DEEPSPEED\nmixed_precision: bf16\ndeepspeed_config:\n  zero_stage: 3\n"
         "  offload_param_device: cpu\n  offload_optimizer_device: cpu\n",
         "--param-offload cpu --optimizer-cpu-offload --optimizer-offload-fraction 1", NULL},
        {"model_name_or_path: Qwen/Qwen3-4B\nfinetuning_type: full\nstage: sft\nbf16: true\n"
         "deepspeed: examples/deepspeed/ds_z3_offload_config.json\n",
         "--param-offload cpu --optimizer-cpu-offload --optimizer-offload-fraction 1", NULL},
        /* without the fetch ahead of its own that the stage has */
        {STAGE3 "\"offload_param\": {\"device\": \"cpu\"}, \"stage3_prefetch_bucket_size\": 0,\n"
                "\"max_live_parameters\": 0}}",
         "--set ss.zero.live_params=0 --set ss.zero.prefetch_params=0", NULL},
        {"{\"zero_optimization\": {\"stage\": 2, \"offload_param\": {\"device\": \"cpu\"}}}", "--fsdp grad",
         "of stage 3 alone"},
    };
    static const struct refused_row refused[] = {
        {"{\"zero_optimization\": {\"stage\": 2,\n\"offload_optimizer\": {\"device\": \"nvme\"}}}",
         SS_ERR_UNSUPPORTED, 2, "in this stage"},
        {STAGE3 "\"offload_param\": {\"device\": \"disk\"}}}", SS_ERR_UNSUPPORTED, 2, "cpu, nvme or none"},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        char text[1024];
        struct ss_request r;
        ss_request_init(&r);
        CU_ASSERT_EQUAL(ss_request_read_text(&r, rows[i].text, strlen(rows[i].text), "job.yaml", NULL),
                        SS_OK);
        ss_request_text(&r, 0, text, sizeof text);
        if (!strstr(text, rows[i].words) || (rows[i].note && !has_note(&r, rows[i].note)))
            printf("\n%s\n  is  %s\n", rows[i].text, text);
        CU_ASSERT_PTR_NOT_NULL(strstr(text, rows[i].words));
        CU_ASSERT(!rows[i].note || has_note(&r, rows[i].note));
        ss_request_free(&r);
    }
    for (size_t i = 0; i < SS_ARRAY_LEN(refused); i++)
        check_refused(&refused[i], "ds.json");
}

#define BF16 "{\"zero_optimization\": {\"stage\": 1}, \"bf16\": {\"enabled\": true},\n"

TEST(values)
{
    static const struct text_row rows[] = {
        {BF16 "\"communication_data_type\": \"bf16\", \"gradient_allreduce_op\": \"sum\"}",
         ZERO "--use-distributed-optimizer --bf16 --attention-backend auto " PLAIN},
        {"{\"zero_optimization\": {\"stage\": 0}, \"communication_data_type\": \"fp32\"}", ZERO FP32},
        {"{\"zero_optimization\": {\"stage\": 0}, \"fp16\": {\"enabled\": true}, "
         "\"communication_data_type\": \"fp16\"}",
         ZERO "--fp16 --attention-backend auto " PLAIN},
    };
    static const struct refused_row refused[] = {
        {BF16 "\"communication_data_type\": \"fp32\"}", SS_ERR_UNSUPPORTED, 2, "in another type"},
        {BF16 "\"data_types\": {\"param_dtype\": \"fp32\"}}", SS_ERR_UNSUPPORTED, 2, "another type"},
        {BF16 "\"managed_gradient_accumulation\": false}", SS_ERR_UNSUPPORTED, 2, "the script calls"},
        {BF16 "\"disable_allgather\": true}", SS_ERR_UNSUPPORTED, 2, "without the gather"},
        {BF16 "\"graph_harvesting\": true}", SS_ERR_UNSUPPORTED, 2, "CUDA graphs"},
        {BF16 "\"eigenvalue\": {\"enabled\": true}}", SS_ERR_UNSUPPORTED, 2, "eigenvalues"},
        {BF16 "\"pipeline\": {\"stages\": 4}}", SS_ERR_UNSUPPORTED, 2, "own pipeline"},
        {BF16 "\"pipeline\": {\"partitions\": \"best\"}}", SS_ERR_INPUT, 2, "no such key"},
        {STAGE3 "\"allgather_sequential\": true}}", SS_ERR_UNSUPPORTED, 2, "one by one"},
        {STAGE3 "\"zenflow\": {\"topk_ratio\": 0.1}}}", SS_ERR_UNSUPPORTED, 2, "ZenFlow"},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++)
        check_text(&rows[i], "ds.json");
    for (size_t i = 0; i < SS_ARRAY_LEN(refused); i++)
        check_refused(&refused[i], "ds.json");
}

/* FSDP2's gather in fp8, which LLaMA-Factory takes for fp8 itself, too. */
TEST(fp8_gather)
{
    static const char *const texts[] = {
        "distributed_type: FSDP\nmixed_precision: fp8\nfsdp_config: {fsdp_version: 2}\n"
        "fp8_config: {backend: AO, enable_fsdp_float8_all_gather: true, pad_inner_dim: true}\n",
        "base_model: Qwen/Qwen3-4B\nsequence_len: 2048\nmicro_batch_size: 1\nfp8: true\nfsdp_version: 2\n"
        "fp8_enable_fsdp_float8_all_gather: true\nfsdp_config: {reshard_after_forward: true}\n",
        "model_name_or_path: Qwen/Qwen3-4B\nfinetuning_type: full\nstage: sft\nbf16: true\nfsdp: full_shard\n"
        "fsdp_config: {version: 2, reshard_after_forward: true}\nfp8_enable_fsdp_float8_all_gather: true\n",
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(texts); i++) {
        struct ss_request r;
        ss_request_init(&r);
        CU_ASSERT_EQUAL(ss_request_read_text(&r, texts[i], strlen(texts[i]), "job.yaml", NULL), SS_OK);
        CU_ASSERT_TRUE(ss_request_find(&r, "--fp8-param-gather") < r.n);
        CU_ASSERT_TRUE(ss_request_find(&r, "--fp8-recipe") < r.n);
        ss_request_free(&r);
    }
}

/* Files of published checkouts that are not there, which DeepSpeed or accelerate would read. */
TEST(known)
{
#define ACCELERATE(file)                                                                                     \
    "accelerate launch --config_file ../" file " train.py --model_name_or_path Qwen/Qwen3-4B\n"
#define TRAINER(file)                                                                                        \
    "torchrun --nproc_per_node 8 train.py --model_name_or_path Qwen/Qwen3-4B --bf16 --deepspeed " file "\n"
    static const char *const rows[][2] = {
        {ACCELERATE("trl/accelerate_configs/zero2.yaml"),
         "--gpus-per-node 8 --fsdp grad --bf16 --stack deepspeed-2026"},
        {ACCELERATE("examples/accelerate_configs/deepspeed_zero3.yaml"),
         "--gpus-per-node 8 --fsdp full --bf16 --stack deepspeed-2026"},
        {ACCELERATE("examples/accelerate_configs/alst_ulysses_4gpu.yaml"), "--cp 2 --cp-comm-type a2a"},
        {ACCELERATE("examples/accelerate/fsdp2_config.yaml"),
         "--gpus-per-node 2 --fsdp full --bf16 --stack accelerate-2026"},
        {TRAINER("examples/deepspeed_config_templates/zero_stage3_offload_config.json"),
         "--fsdp full --param-offload cpu --optimizer-cpu-offload"},
        {TRAINER("deepspeed_configs/zero3_bf16_cpuoffload_params.json"),
         "--fsdp full --param-offload cpu --set"},
        {TRAINER("examples/deepspeed/ds_z3_config.json"), "--set ss.zero.live_params=1000000000"},
    };
    static const char *const refused[][2] = {
        {TRAINER("deepspeed_configs/zero2_torch_compile.json"), "torch.compile by DeepSpeed"},
        {TRAINER("examples/deepspeed/ds_z2_autotp_config.json"), "tensor parallelism"},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        char text[1024];
        struct ss_request r;
        ss_request_init(&r);
        CU_ASSERT_EQUAL(ss_request_read_text(&r, rows[i][0], strlen(rows[i][0]), "run.txt", NULL), SS_OK);
        ss_request_text(&r, 0, text, sizeof text);
        if (!strstr(text, rows[i][1]))
            printf("\n%s  is  %s\n", rows[i][0], text);
        CU_ASSERT_PTR_NOT_NULL(strstr(text, rows[i][1]));
        ss_request_free(&r);
    }
    for (size_t i = 0; i < SS_ARRAY_LEN(refused); i++) {
        struct ss_request r;
        struct ss_error err = {0};
        ss_request_init(&r);
        CU_ASSERT_EQUAL(ss_request_read_text(&r, refused[i][0], strlen(refused[i][0]), "run.txt", &err),
                        SS_ERR_UNSUPPORTED);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, refused[i][1]));
        ss_request_free(&r);
    }
}
