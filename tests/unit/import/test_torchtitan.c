/* SPDX-License-Identifier: Apache-2.0 */
/* Job files of torchtitan: the words that they stand for, and what is refused at which line. */
#include "base/base.h"
#include "import/torchtitan.h"
#include "import_helper.h"
#include "suite.h"

TEST(files)
{
    static const struct import_row rows[] = {
        /* 8 copies, each sharded over a node; every second of 32 layers is recomputed: 16 */
        {"torchtitan/llama3_8b.toml",
         "--stack torchtitan-2025 --model llama3-8b --make-vocab-size-divisible-by 1 --seq 8192 --mbs 1 --tp "
         "1 "
         "--fsdp hybrid --gpus 64 --recompute-granularity full --recompute-method block "
         "--recompute-num-layers 16 --set ss.fused.elementwise=0 --set ss.fused.cross_entropy=0 --bf16",
         NULL},
        {"torchtitan/llama3_405b.toml",
         "--stack torchtitan-2025 --model llama3.1-405b --vocab-size 128256 --make-vocab-size-divisible-by 1 "
         "--seq 8192 --mbs 2 --tp 8 --sequence-parallel --tp-comm-overlap --fsdp full --recompute full "
         "--precision fp8 --fp8-recipe tensorwise --fp8-param-gather",
         "optimizer.lr"},
        /* 8 sequences in as many microbatches as stages: 4 of 2. 80 layers, embedding and output layer are 82 on 8 stages: two of
         * 11, six of 10, of which the first and the last have one that is no layer. */
        {"torchtitan/llama3_70b_2024.toml",
         "--stack torchtitan-2024 --model llama3-70b --make-vocab-size-divisible-by 1 --seq 8192 --mbs 2 "
         "--gradient-accumulation-steps 4 --tp 8 --sequence-parallel --cp 2 --cp-comm-type p2p "
         "--fsdp full --pp 4 --schedule "
         "interleaved --pipeline-model-parallel-layout "
         "'Et*10|t*11|t*10|t*10|t*10|t*10|t*10|t*9L' --recompute full --set ss.fused.elementwise=0 --bf16",
         NULL},
        /* 16,384 tokens are 2 sequences, 1,048,576 are 128 */
        {"torchtitan/llama3_8b_2026.json",
         "--stack torchtitan-2026 --model llama3-8b --make-vocab-size-divisible-by 1 --seq 8192 --mbs 2 "
         "--gbs "
         "128 --tp 2 --sequence-parallel --fsdp full --recompute op-selective --bf16 "
         "--use-precision-aware-optimizer --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16",
         "no linear layer is in fp8"},
        /* after pytorch/torchtitan@74485ea:torchtitan/models/llama3/config_registry.py, llama3_405b */
        {"torchtitan/llama3_405b_april_2026.json",
         "--stack torchtitan-2026 --model llama3.1-405b --vocab-size 128256 --make-vocab-size-divisible-by 1 "
         "--seq 8192 --mbs 2 --tp 8 --sequence-parallel --tp-comm-overlap --fsdp full --recompute full "
         "--set ss.loss.chunks=0 --bf16 "
         "--precision fp8 --fp8-recipe tensorwise --fp8-param-gather",
         "hf_assets_path"},
        /* what the command says comes from its own file */
        {"torchtitan/run.txt",
         "--nodes 4 --gpus-per-node 8 --stack torchtitan-2025 --model llama3.1-405b --vocab-size 128256 "
         "--make-vocab-size-divisible-by 1 --seq 8192 --tp 8 --sequence-parallel --fsdp full --bf16 --mbs 4 "
         "--recompute none",
         NULL},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++)
        check_import(&rows[i]);
}

/* As pytorch/torchtitan@73a0e69:torchtitan/models/deepseek_v3/train_configs say it, in words of today and of 2026. */
TEST(mixtures)
{
    static const struct text_row toml = {
        "[model]\nname = 'deepseek_v3'\nflavor = '16B'\n[training]\nlocal_batch_size = 4\nseq_len = 4096\n"
        "[parallelism]\ndata_parallel_shard_degree = -1\nexpert_parallel_degree = 8\n"
        "[activation_checkpoint]\nmode = 'selective'\nselective_ac_option = 'op'\n"
        "[compile]\nenable = true\ncomponents = ['loss']\n",
        "--stack torchtitan-2025 --model deepseek-v2-lite --make-vocab-size-divisible-by 1 --seq 4096 --mbs "
        "4 --tp 1 --ep 8 --etp 1 "
        "--moe-token-dispatcher-type alltoall --fsdp full --recompute op-selective --set "
        "ss.fused.elementwise=0 --bf16"};
    static const struct text_row json = {
        "{\"model_spec\": {\"name\": \"deepseek_v3\", \"flavor\": \"671B\"},\n"
        "\"training\": {\"num_tokens_per_microbatch_per_dp_rank\": 16384, \"max_context_length\": 4096},\n"
        "\"parallelism\": {\"expert_parallel_degree\": 2},\n"
        "\"activation_checkpoint\": {\"force_recompute_mm_shapes_by_fqns\": [\"moe.router.gate\"]},\n"
        "\"compile\": {\"enable\": true, \"components\": [\"loss\"]}}\n",
        "--stack torchtitan-2026 --model deepseek-v3 --mtp-num-layers 0 --make-vocab-size-divisible-by 1 "
        "--seq 4096 --mbs 4 --tp 1 --ep 2 --etp 1 "
        "--moe-token-dispatcher-type alltoall --fsdp full --recompute op-selective --set "
        "ss.fused.elementwise=0 --bf16"};

    check_text(&toml, "job.toml");
    check_text(&json, "job.json");
}

/* What a file says of the loss and of graphs: chunks since 27 April 2026, compiled by a component since August 2025, one piece before; a
 * graph where nothing in it waits for the host. */
TEST(releases)
{
#define SAVED                                                                                                \
    "{\"model_spec\": {\"name\": \"llama3\", \"flavor\": \"8B\"}, \"activation_checkpoint\": "               \
    "null,\n\"parallelism\": "
#define WORDS "--model llama3-8b --make-vocab-size-divisible-by 1 "
    static const struct text_row json[] = {
        {SAVED
         "{}, \"training\": {\"num_tokens_per_microbatch_per_dp_rank\": 8192, \"max_context_length\": 8192, "
         "\"disable_cuda_graphs\": false},\n"
         "\"compile\": {\"enable\": true, \"components\": [\"model\"]}, \"loss\": {\"num_chunks\": 4, "
         "\"loss_fn\": {}}}",
         "--stack torchtitan-2026 " WORDS "--seq 8192 --mbs 1 --tp 1 --fsdp full --recompute none --set "
         "ss.fused.cross_entropy=0 --set ss.loss.chunks=4 --cuda-graph-impl local --cuda-graph-scope "
         "full_iteration --bf16"},
        {SAVED
         "{\"expert_parallel_degree\": 2}, \"training\": {\"num_tokens_per_microbatch_per_dp_rank\": 8192, "
         "\"max_context_length\": 8192, \"disable_cuda_graphs\": false},\n"
         "\"compile\": {\"enable\": true}, \"loss\": {\"global_vocab_size\": 128256}}",
         "--stack torchtitan-2026 " WORDS
         "--seq 8192 --mbs 1 --tp 1 --ep 2 --etp 1 --moe-token-dispatcher-type "
         "alltoall --fsdp full --recompute none --set ss.loss.chunks=0 --bf16"},
    };
    static const struct text_row toml[] = {
        {"[model]\nname = 'llama3'\nflavor = '8B'\n[training]\nbatch_size = 1\nseq_len = 8192\ncompile = "
         "true\n",
         "--stack torchtitan-2024 " WORDS
         "--seq 8192 --mbs 1 --tp 1 --fsdp full --recompute-granularity full "
         "--recompute-method block --recompute-num-layers 16 --bf16"},
        {"[model]\nname = 'llama3'\nflavor = '8B'\n[training]\nlocal_batch_size = 1\nseq_len = 8192\ncompile "
         "= true\n[debug]\ndeterministic = true\n",
         "--stack torchtitan-2025 " WORDS
         "--seq 8192 --mbs 1 --tp 1 --deterministic-mode --fsdp full --recompute-granularity full "
         "--recompute-method block --recompute-num-layers 16 --bf16"},
    };
    static const struct refused_row wrong = {SAVED "{}, \"training\": {},\n\"loss\": {\"num_chunks\": 0}}",
                                             SS_ERR_INPUT, 3, "loss.num_chunks"};

    for (size_t i = 0; i < SS_ARRAY_LEN(json); i++)
        check_text(&json[i], "job.json");
    for (size_t i = 0; i < SS_ARRAY_LEN(toml); i++)
        check_text(&toml[i], "job.toml");
    check_refused(&wrong, "job.json");
}

#define HEAD "[model]\nname = 'llama3'\nflavor = '8B'\n[training]\nseq_len = 4096\n" /* 5 lines */
#define PARALLEL HEAD "[parallelism]\n"

TEST(refused)
{
    static const struct refused_row rows[] = {
        {"[model]\nname = 'flux'\n[training]\nclassifier_free_guidance_prob = 0.447\n", SS_ERR_UNSUPPORTED, 2,
         "diffusion"},
        {HEAD "dtype = 'bfloat16'\n", SS_ERR_UNSUPPORTED, 6, "without an fp32 copy"},
        {HEAD "mixed_precision_reduce = \"bfloat16\"\n", SS_ERR_UNSUPPORTED, 6, "reduces in 16 bit"},
        {HEAD "enable_cpu_offload = true\n", SS_ERR_UNSUPPORTED, 6, "on the host"},
        {HEAD "local_batch_size = 'many'\n", SS_ERR_INPUT, 6, "training.local_batch_size: a whole number"},
        {HEAD "local_batch_size = 0\n", SS_ERR_INPUT, 6, "not within 1"},
        {HEAD "lokal_batch_size = 1\n", SS_ERR_INPUT, 6, "no such key"},
        {HEAD "[optimizer]\nname = 'Muon'\n", SS_ERR_UNSUPPORTED, 7, "optimizer Muon"},
        {HEAD "[optimizer]\nearly_step_in_backward = true\n", SS_ERR_UNSUPPORTED, 7, "inside the backward"},
        {HEAD "[activation_checkpoint]\nmode = 'memory_budget'\n", SS_ERR_UNSUPPORTED, 7, "memory_budget"},
        {HEAD "[debug]\ndetect_anomaly = true\n", SS_ERR_UNSUPPORTED, 7, "detect_anomaly"},
        {HEAD "[fault_tolerance]\nenable = true\n", SS_ERR_UNSUPPORTED, 7, "TorchFT"},
        {PARALLEL "data_parallel_replicate_degree = 2\n", SS_ERR_UNSUPPORTED, 7,
         "data_parallel_shard_degree"},
        {PARALLEL "data_parallel_replicate_degree = 2\ndata_parallel_shard_degree = 16\n", SS_ERR_UNSUPPORTED,
         7, "one node of 8 GPUs"},
        {PARALLEL "tensor_parallel_degree = 2\ndisable_loss_parallel = true\n", SS_ERR_UNSUPPORTED, 8,
         "gathered logits"},
        {PARALLEL "pipeline_parallel_degree = 2\npipeline_parallel_schedule = 'Mine'\n", SS_ERR_UNSUPPORTED,
         8, "schedule Mine is not known"},
        {PARALLEL "pipeline_parallel_degree = 2\npipeline_parallel_microbatch_size = 3\n", SS_ERR_CONFIG, 8,
         "the local batch of 8"},
        {PARALLEL "pipeline_parallel_degree = 2\npipeline_parallel_layers_per_stage = 4\n",
         SS_ERR_UNSUPPORTED, 8, "9 stages do not suit 2 ranks"},
        {HEAD "tensor_parallel_degree = 4\n[parallelism]\ntensor_parallel_degree = 2\n", SS_ERR_INPUT, 6,
         "training.tensor_parallel_degree: 4, but parallelism.tensor_parallel_degree, another name of this "
         "key, has 2"},
        {HEAD "batch_size = 4\nlocal_batch_size = 2\n", SS_ERR_INPUT, 6, "another name of this key, has 2"},
        {HEAD "deterministic = true\n[debug]\ndeterministic = false\n", SS_ERR_INPUT, 6,
         "another name of this key"},
        {HEAD "batch_size = 2\nlocal_batch_size = 2\n[parallelism\n", SS_ERR_INPUT, 8, "without"},
        {HEAD "[parallelism\n", SS_ERR_INPUT, 6, "without \"]\""},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++)
        check_refused(&rows[i], "job.toml");
}

/* Every word has the line of what it comes from. */
TEST(lines)
{
    static const char text[] = PARALLEL "tensor_parallel_degree = 2\n";
    struct ss_request r;
    struct ss_error err = {0};

    ss_request_init(&r);
    CU_ASSERT_EQUAL(ss_request_read_text(&r, text, strlen(text), "job.toml", &err), SS_OK);
    CU_ASSERT_EQUAL(r.word[ss_request_find(&r, "--tp")].line, 7);
    CU_ASSERT_EQUAL(r.word[ss_request_find(&r, "--seq")].line, 5);
    CU_ASSERT_EQUAL(r.word[ss_request_find(&r, "--model")].line, 3);
    CU_ASSERT_STRING_EQUAL(r.place[0].file, "job.toml");
    ss_request_free(&r);
}

/* A file without headers is none of flags; overrides of Hydra are none of its. */
TEST(dotted_keys)
{
    static const char text[] = "# job\ndump_folder = 'out'\nmodel.name = 'llama3'\nmodel.flavor = '8B'\n"
                               "training.seq_len = 4096\nparallelism.tensor_parallel_degree = 2\n"
                               "activation_checkpoint.mode = 'none'\n";
    static const char tight[] = "\n# job\nmodel.name=\"llama3\"\nmodel.flavor=\"8B\"\ntraining.seq_len=4096\n"
                                "parallelism.tensor_parallel_degree=2\n";
    static const char hydra[] = "python3 train.py \\\n  model.seq_length=4096 \\\n  training.seq_len=8\n";
    struct ss_request r;
    struct ss_error err = {0};

    ss_request_init(&r);
    CU_ASSERT_EQUAL(ss_request_read_text(&r, text, strlen(text), "job.toml", &err), SS_OK);
    CU_ASSERT_EQUAL(r.word[ss_request_find(&r, "--seq")].line, 5);
    CU_ASSERT_EQUAL(r.word[ss_request_find(&r, "--tp")].line, 6);
    ss_request_free(&r);
    ss_request_init(&r);
    CU_ASSERT_EQUAL(ss_request_read_text(&r, tight, strlen(tight), "job.toml", &err), SS_OK);
    CU_ASSERT_EQUAL(r.word[ss_request_find(&r, "--seq")].line, 5);
    CU_ASSERT_EQUAL(r.word[ss_request_find(&r, "--tp")].line, 6);
    ss_request_free(&r);
    CU_ASSERT_FALSE(ss_titan_toml_sniff(hydra, strlen(hydra)));
}

/* A model that nobody knows leaves --model to the command line. */
TEST(unknown_model)
{
    static const char text[] = "[model]\nname = 'llama3'\nflavor = '9B'\n[training]\n";
    struct ss_request r;
    struct ss_error err = {0};

    ss_request_init(&r);
    CU_ASSERT_EQUAL(ss_request_read_text(&r, text, strlen(text), "job.toml", &err), SS_ERR_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "which layers are recomputed"));
    ss_request_free(&r);
    err = (struct ss_error){0};
    static const char other[] =
        "[model]\nflavor = '9B'\n[training]\n[activation_checkpoint]\nmode = 'none'\n";
    CU_ASSERT_EQUAL(ss_request_read_text(&r, other, strlen(other), "job.toml", &err), SS_OK);
    CU_ASSERT_TRUE(has_note(&r, "--model config.json"));
    ss_request_free(&r);
}

/* Python code is not run: the error says how to write it out. */
TEST(python)
{
    static const char text[] =
        "torchrun --nproc_per_node=8 -m torchtitan.train --module llama3 --config llama3_8b\n";
    struct ss_request r;
    struct ss_error err = {0};

    ss_request_init(&r);
    CU_ASSERT_EQUAL(ss_request_read_text(&r, text, strlen(text), "run.txt", &err), SS_ERR_UNSUPPORTED);
    CU_ASSERT_EQUAL(err.line, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.hint, "--debug.save_config_file"));
    ss_request_free(&r);
}

/* A log has it behind a prefix, with more lines behind it; lines count as in the log. */
TEST(log)
{
    static const char text[] =
        "[titan] starting\n[titan] Running with configs: {\n\"training\": {\"seq_len\": 4096,\n"
        "\"local_batch_size\": 3}, \"model\": {\"flavor\": \"8B\"},\n\"parallelism\": {},\n"
        "\"activation_checkpoint\": {\"mode\": \"full\"}}\n[titan] step: 1\n";
    struct ss_request r;
    struct ss_error err = {0};

    ss_request_init(&r);
    CU_ASSERT_EQUAL(ss_request_read_text(&r, text, strlen(text), "log", &err), SS_OK);
    CU_ASSERT_EQUAL(r.word[ss_request_find(&r, "--mbs")].line, 4);
    ss_request_free(&r);
}
