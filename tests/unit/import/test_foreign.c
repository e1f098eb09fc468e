/* SPDX-License-Identifier: Apache-2.0 */
/* Configurations of other frameworks: the words that each name stands for, by hand. */
#include <stdlib.h>
#include <string.h>

#include "stepsim/import.h"
#include "suite.h"

/* The words of a text, place by place: "file: words;". */
static char *words_of(const char *text, struct ss_request *r)
{
    struct ss_error err = {0};
    char *out = NULL;
    size_t len;
    FILE *stream = open_memstream(&out, &len);

    CU_ASSERT_PTR_NOT_NULL_FATAL(stream);
    ss_request_init(r);
    if (ss_request_read_text(r, text, strlen(text), "t.yaml", &err))
        fprintf(stream, "%s:%d: %s", err.file, err.line, err.message);
    for (size_t i = 0; i < r->n && !err.code; i++)
        fprintf(stream, "%s%s", i ? " " : "", r->word[i].text);
    fclose(stream);
    return out;
}

static void check(const char *text, const char *expected)
{
    struct ss_request r;
    char *words = words_of(text, &r);
    if (strcmp(words, expected) != 0)
        printf("\n  %s\n  instead of\n  %s\n", words, expected);
    CU_ASSERT_STRING_EQUAL(words, expected);
    free(words);
    ss_request_free(&r);
}

static int line_of(const struct ss_request *r, const char *word)
{
    for (size_t i = 0; i < r->n; i++)
        if (!strcmp(r->word[i].text, word))
            return r->word[i].line;
    return -1;
}

/* Written anew, as NVIDIA/NeMo-Framework-Launcher@0446d2c0:launcher_scripts/conf/training/llama/llama2_13b.yaml says it. */
static const char llama2[] = "defaults:\n"
                             "  - _self_\n"
                             "  - optional tp_overlap@model.ub_tp_comm_overlap_cfg: none\n"
                             "trainer: {num_nodes: 32, devices: 8, precision: bf16, max_steps: 300000}\n"
                             "exp_manager: {explicit_log_dir: '${run.dir}/results'}\n"
                             "model:\n"
                             "  mcore_gpt: true\n"
                             "  micro_batch_size: 1\n"
                             "  global_batch_size: 2048\n"
                             "  rampup_batch_size: null\n"
                             "  tensor_model_parallel_size: 2\n"
                             "  pipeline_model_parallel_size: 1\n"
                             "  virtual_pipeline_model_parallel_size: null\n"
                             "  encoder_seq_length: 4096\n"
                             "  max_position_embeddings: ${.encoder_seq_length}\n"
                             "  num_layers: 40\n"
                             "  hidden_size: 5120\n"
                             "  ffn_hidden_size: 13824\n"
                             "  num_attention_heads: 40\n"
                             "  hidden_dropout: 0.0\n"
                             "  kv_channels: null\n"
                             "  normalization: rmsnorm\n"
                             "  bias: false\n"
                             "  activation: fast-swiglu\n"
                             "  position_embedding_type: rope\n"
                             "  share_embeddings_and_output_weights: false\n"
                             "  megatron_amp_O2: true\n"
                             "  gradient_accumulation_fusion: true\n"
                             "  activations_checkpoint_granularity: null\n"
                             "  activations_checkpoint_method: block\n"
                             "  activations_checkpoint_num_layers: 0\n"
                             "  sequence_parallel: true\n"
                             "  transformer_engine: true\n"
                             "  fp8: false\n"
                             "  use_flash_attention: true\n"
                             "  my_own: 3\n"
                             "  optim: {name: distributed_fused_adam, overlap_grad_sync: true}\n";

TEST(nemo)
{
    struct ss_request r;
    char *words = words_of(llama2, &r);

    CU_ASSERT_STRING_EQUAL(
        words, "--stack nemo-24.03 --nodes 32 --gpus-per-node 8 --bf16 --micro-batch-size 1 "
               "--global-batch-size 2048 "
               "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 1 --sequence-parallel "
               "--seq-length 4096 "
               "--max-position-embeddings 4096 --num-layers 40 --hidden-size 5120 --ffn-hidden-size 13824 "
               "--num-attention-heads 40 --hidden-dropout 0.0 --normalization RMSNorm --disable-bias-linear "
               "--swiglu "
               "--position-embedding-type rope --untie-embeddings-and-output-weights "
               "--set ss.default.fp32_params=0 --use-distributed-optimizer --overlap-grad-reduce");
    CU_ASSERT_EQUAL(line_of(&r, "--nodes"), 4);
    CU_ASSERT_EQUAL(line_of(&r, "--num-layers"), 16);
    CU_ASSERT_EQUAL(line_of(&r, "--stack"), 0);
    CU_ASSERT_EQUAL_FATAL(r.notes.n, 2);
    CU_ASSERT_STRING_EQUAL(r.notes.text[0],
                           "t.yaml: assumed: NeMo 24.03 (--stack nemo-24.03); --stack says another release");
    CU_ASSERT_EQUAL_FATAL(r.ignored.n, 3);
    CU_ASSERT_STRING_EQUAL(r.ignored.text[0], "exp_manager");
    CU_ASSERT_STRING_EQUAL(r.ignored.text[1], "trainer.*");
    CU_ASSERT_STRING_EQUAL(r.notes.text[1], "t.yaml: not known, hence ignored: model.my_own (line 36)");
    free(words);
    ss_request_free(&r);
}

#define NEMO(more)                                                                                           \
    "trainer: {precision: bf16}\nmodel: {micro_batch_size: 1, encoder_seq_length: 8, " more "}\n"
#define WORDS(more)                                                                                          \
    "--stack nemo-24.03 --bf16 --micro-batch-size 1 --seq-length 8 " more "--set ss.default.fp32_params=1"
TEST(nemo_by_name)
{
    check(NEMO("transformer_engine: true, fp8: true, fp8_hybrid: true, fp8_params: true"),
          WORDS("") " --fp8-format hybrid --fp8-param-gather");
    check(NEMO("mcore_gpt: false, transformer_engine: false"), WORDS("--transformer-impl local "));
    check(NEMO("mcore_gpt: true, fsdp: true, fsdp_sharding_strategy: hybrid, megatron_amp_O2: true"),
          "--stack nemo-24.03 --bf16 --micro-batch-size 1 --fsdp hybrid --seq-length 8 --set "
          "ss.default.fp32_params=1");
    check(NEMO("mcore_gpt: true, activations_checkpoint_granularity: full, activations_checkpoint_method: "
               "block, activations_checkpoint_num_layers: 2"),
          WORDS("") " --recompute-granularity full --recompute-method block --recompute-num-layers 2");
    check(NEMO("mcore_gpt: true, activations_checkpoint_granularity: selective, "
               "activations_checkpoint_num_layers: 2"),
          WORDS("") " --recompute-granularity selective");
    check(NEMO("mcore_gpt: true, virtual_pipeline_model_parallel_size: 4, overlap_p2p_comm: false, "
               "pipeline_model_parallel_size: 4"),
          "--stack nemo-24.03 --bf16 --micro-batch-size 1 --pipeline-model-parallel-size 4 "
          "--virtual-pipeline-model-parallel-size 4 --no-overlap-p2p-communication --seq-length 8 "
          "--set ss.default.fp32_params=1");
    check(NEMO("mcore_gpt: true, cpu_offloading: true, cpu_offloading_num_layers: 3, cpu_offloading_weights: "
               "false"),
          WORDS("") " --cpu-offloading --cpu-offloading-num-layers 3 --no-cpu-offloading-weights");
    check(NEMO("mcore_gpt: true, qk_layernorm: true, num_moe_experts: 8, moe_router_topk: 2"),
          WORDS("") " --num-experts 8 --qk-layernorm --moe-router-topk 2");
    check(NEMO("mcore_gpt: true, window_size: [4096, 0]"), WORDS("") " --window-size 4096,0");
    check(NEMO("activation: reglu"), "t.yaml:2: model.activation: \"reglu\": its cost is not known");
    check(NEMO("fp8: true"),
          "t.yaml:2: model.fp8: fp8 enabled but fp8_format (fp8_e4m3 | fp8_hybrid) is not set.");
    check("defaults: [other]\n" NEMO("bias: true"),
          "t.yaml:1: defaults[0]: composed of other files, which are not read");
    check("some: thing\n", "t.yaml:1: a configuration of a kind that is not known");
}

/* ---- Megatron-LM's own YAML ---- */

/* As NVIDIA/Megatron-LM@9ad1a56f82:examples/gpt3/gpt_config.yaml is built. */
TEST(yaml_cfg)
{
    check("language_model:\n"
          "  num_layers: 24\n"
          "  hidden_size: 1024\n"
          "  num_attention_heads: 16\n"
          "  ffn_hidden_size: null\n"
          "  hidden_dropout: 0.0\n"
          "  add_bias_linear: False\n"
          "  gated_linear_unit: False\n"
          "  activation_func: swiglu\n"
          "  num_moe_experts: null\n"
          "  moe_router_topk: 2\n"
          "  recompute_granularity: null\n"
          "  recompute_method: uniform\n"
          "  apply_rope_fusion: True\n"
          "  fp8: null\n"
          "  fp8_margin: 0\n"
          "  init_method: null\n"
          "model_parallel:\n"
          "  tensor_model_parallel_size: 2\n"
          "  pipeline_model_parallel_size: 4\n"
          "  virtual_pipeline_model_parallel_size: 2\n"
          "  overlap_p2p_comm: False\n"
          "  sequence_parallel: True\n"
          "  fp16: False\n"
          "  bf16: True\n"
          "  cpu_offloading: False\n"
          "  cpu_offloading_num_layers: 3\n"
          "micro_batch_size: 2\n"
          "global_batch_size: 128\n"
          "seq_length: 4096\n"
          "position_embedding_type: rope\n"
          "untie_embeddings_and_output_weights: True\n"
          "use_distributed_optimizer: False\n"
          "overlap_grad_reduce: True\n"
          "lr: 1e-4\n",
          "--swiglu --disable-bias-linear --num-layers 24 --hidden-size 1024 --num-attention-heads 16 "
          "--hidden-dropout 0.0 --bf16 --no-overlap-p2p-communication --tensor-model-parallel-size 2 "
          "--pipeline-model-parallel-size 4 --virtual-pipeline-model-parallel-size 2 --sequence-parallel "
          "--micro-batch-size 2 --global-batch-size 128 --seq-length 4096 --position-embedding-type rope "
          "--untie-embeddings-and-output-weights --overlap-grad-reduce --lr 1e-4");
}

/* As NVIDIA/Megatron-LM@d98e8a64dd:tests/functional_tests/test_cases/moe and yanring/Megatron-MoE-ModelZoo have them. */
TEST(model_args)
{
    check("ENV_VARS: {CUDA_DEVICE_MAX_CONNECTIONS: 1}\n"
          "MODEL_ARGS:\n"
          "  --num-layers: 8\n"
          "  --bf16: true\n"
          "  --swiglu: false\n"
          "  --moe-layer-freq: ([0]*1+[1]*7)\n"
          "  --recompute-modules: '[core_attn mlp]'\n"
          "  --cp-comm-type: [p2p]\n",
          "--num-layers 8 --bf16 --moe-layer-freq ([0]*1+[1]*7) --recompute-modules core_attn mlp "
          "--cp-comm-type p2p");
}

TEST(dumped_arguments)
{
    check("num_layers: 4\nhidden_size: 8\ntensor_model_parallel_size: 1\nmicro_batch_size: 1\nbf16: true\n"
          "add_bias_linear: false\nswiglu: true\nnum_experts: null\nmoe_router_topk: 2\n"
          "add_position_embedding: true\nmasked_softmax_fusion: false\n",
          "--bf16 --disable-bias-linear --num-layers 4 --hidden-size 8 --tensor-model-parallel-size 1 "
          "--micro-batch-size 1 --swiglu --no-masked-softmax-fusion");
    /* how many layers at the ends stay in bf16 says nothing where none do */
#define DUMP "num_layers: 4\nhidden_size: 8\ntensor_model_parallel_size: 1\nmicro_batch_size: 1\nbf16: true\n"
#define DUMPED "--num-layers 4 --hidden-size 8 --tensor-model-parallel-size 1 --micro-batch-size 1"
    check(DUMP "num_layers_at_start_in_bf16: 1\n", "--bf16 " DUMPED);
    check(DUMP "num_layers_at_start_in_bf16: 1\nfirst_last_layers_bf16: true\n",
          "--bf16 --first-last-layers-bf16 " DUMPED " --num-layers-at-start-in-bf16 1");
}

/* ---- Megatron-Bridge ---- */

#define BRIDGE(model, more)                                                                                  \
    "_target_: megatron.bridge.training.config.ConfigContainer\n"                                            \
    "train: {micro_batch_size: 1, global_batch_size: 512, rampup_batch_size: null, train_iters: 10}\n"       \
    "dataset: {_target_: megatron.bridge.training.config.GPTDatasetConfig, seq_length: 8192}\n"              \
    "peft: null\n"                                                                                           \
    "model:\n  _target_: megatron.bridge.models.gpt_provider.GPTModelProvider\n  num_layers: 16\n"           \
    "  hidden_size: 2048\n  seq_length: 131072\n  vocab_size: 128256\n" model more
#define BRIDGED(words)                                                                                       \
    "--stack megatron-bridge-26.06 --micro-batch-size 1 --global-batch-size 512 --seq-length 8192 "          \
    "--vocab-size 128256 " words

/* As scripts/performance/dump_perf_configs.py of NVIDIA-NeMo/Megatron-Bridge@067f987 writes a recipe. */
TEST(bridge)
{
    check(
        BRIDGE(
            "  activation_func:\n    _call_: false\n    _target_: torch.nn.functional.silu\n"
            "  gated_linear_unit: true\n  add_bias_linear: false\n  bf16: false\n  fp8_recipe: delayed\n"
            "  attention_backend:\n    _args_: [2]\n    _call_: true\n    _target_: "
            "megatron.core.transformer.enums.AttnBackend\n"
            "  cuda_graph_impl: transformer_engine\n"
            "  cuda_graph_scope:\n  - {_args_: [3], _call_: true, _name_: attn, _target_: x.CudaGraphScope}\n"
            "  tp_comm_overlap: false\n  recompute_granularity: null\n  recompute_modules: [core_attn]\n"
            "  pipeline_model_parallel_layout: [[embedding, decoder], [decoder, mtp, loss]]\n"
            "  virtual_pipeline_model_parallel_size: 2\n  moe_router_topk: 2\n  no_sync_func: null\n",
            "mixed_precision: {bf16: true, fp8: e4m3, fp8_recipe: mxfp8, fp8_param_gather: true, "
            "grad_reduce_in_fp32: false}\n"
            "ddp: {use_distributed_optimizer: true, overlap_grad_reduce: false, bucket_size: null}\n"
            "optimizer: {optimizer: adam, lr: 0.1, exp_avg_dtype: {_call_: false, _target_: "
            "torch.bfloat16}}\n"
            "comm_overlap: {tp_comm_overlap: true, overlap_grad_reduce: null, overlap_param_gather: "
            "false}\n"),
        BRIDGED(
            "--use-distributed-optimizer --optimizer adam --exp-avg-dtype bf16 --fp8-format e4m3 --bf16 "
            "--fp8-param-gather --fp8-recipe mxfp8 --grad-reduce-in-bf16 --tp-comm-overlap "
            "--overlap-grad-reduce --ddp-bucket-size 134217728 --swiglu --disable-bias-linear "
            "--pipeline-model-parallel-layout Et|tmL --attention-backend fused --num-layers 16 --hidden-size "
            "2048 --cuda-graph-impl transformer_engine --cuda-graph-scope attn"));
    check(BRIDGE("  should_pad_vocab: false\n  tp_comm_overlap: true\n",
                 "mixed_precision: bf16_with_nvfp4_mixed\ncomm_overlap: null\n"
                 "ddp: {use_distributed_optimizer: false, overlap_grad_reduce: true, grad_reduce_in_fp32: "
                 "true}\n"),
          "--stack megatron-bridge-26.06 --micro-batch-size 1 --global-batch-size 512 --seq-length 8192 "
          "--padded-vocab-size 128256 --bf16 --fp4-format e2m1 --fp4-recipe nvfp4 --fp4-param-gather "
          "--tp-comm-overlap --overlap-grad-reduce --num-layers 16 --hidden-size 2048");
    check(BRIDGE("  is_hybrid_model: true\n", ""),
          "t.yaml:11: model.is_hybrid_model: layers of several kinds need hybrid_layer_pattern");
    check(BRIDGE("  is_hybrid_model: true\n  hybrid_layer_pattern: M*-\n  mamba_num_heads: 64\n"
                 "  bf16: true\n  activation_func: megatron.core.activations.squared_relu\n",
                 ""),
          BRIDGED("--bf16 --squared-relu --num-layers 16 --hidden-size 2048 "
                  "--hybrid-layer-pattern M*- --mamba-num-heads 64"));
    check(BRIDGE("  bf16: true\n  num_moe_experts: 8\n  moe_layer_freq: [0, 1]\n  window_size: [128, 0]\n"
                 "  moe_token_dispatcher_type: alltoall\n  moe_deepep_num_sms: 20\n",
                 ""),
          BRIDGED("--bf16 --window-size 128,0 --moe-layer-freq [0,1] --num-experts 8 --num-layers 16 "
                  "--hidden-size 2048 "
                  "--moe-token-dispatcher-type alltoall"));
}

/* Sections beside the model's: switches that count, and names that are not known. */
TEST(bridge_sections)
{
    struct ss_request r;

    check(
        BRIDGE("",
               "dist: {use_megatron_fsdp: true, use_gloo_process_groups: true, align_grad_reduce: false}\n"
               "ddp: {use_megatron_fsdp: false, data_parallel_sharding_strategy: optim_grads_params, "
               "outer_dp_sharding_strategy: optim}\n"),
        BRIDGED(
            "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params "
            "--outer-dp-sharding-strategy optim --no-align-grad-reduce --num-layers 16 --hidden-size 2048"));
    check(BRIDGE("",
                 "ddp: {data_parallel_sharding_strategy: optim_grads_params, check_for_nan_in_grad: false}\n"
                 "optimizer: {optimizer: muon, muon_num_ns_steps: 3, muon_split_qkv: false}\n"),
          BRIDGED("--no-check-for-nan-in-loss-and-grad --optimizer muon --muon-num-ns-steps 3 "
                  "--muon-no-split-qkv --num-layers 16 --hidden-size 2048"));
    check(BRIDGE("", "ddp: {average_in_collective: false, check_for_nan_in_grad: true}\n"),
          BRIDGED("--check-for-nan-in-loss-and-grad --no-ddp-average-in-collective --num-layers 16 "
                  "--hidden-size 2048"));
    check(BRIDGE("", "dist: {use_megatron_fsdp: true, use_torch_fsdp2: true}\n"),
          "t.yaml:11: dist.use_torch_fsdp2: use_megatron_fsdp and use_torch_fsdp2 are mutually exclusive");
    check(BRIDGE("", "dist: {use_gloo_process_group: true}\n"),
          "t.yaml:11: dist.use_gloo_process_group: Megatron-Bridge has no such key that is known here");
    char *words = words_of(BRIDGE("", "dist: {own_groups: true, local_rank: 0}\n"
                                      "ddp: {own_sizes: 4, average_in_collective: true}\n"
                                      "optimizer: {lr: 1e-4, my_own: 3}\n"),
                           &r);
    CU_ASSERT_STRING_EQUAL(words, BRIDGED("--ddp-average-in-collective --num-layers 16 --hidden-size 2048"));
    CU_ASSERT_EQUAL_FATAL(r.notes.n, 2);
    CU_ASSERT_STRING_EQUAL(r.notes.text[1], "t.yaml: not known, hence ignored: dist.own_groups (line 11), "
                                            "ddp.own_sizes (line 12), optimizer.my_own (line 13)");
    free(words);
    ss_request_free(&r);
    words = words_of("_target_: megatron.bridge.training.config.ConfigContainer\nmodel: {num_layers: 16}\n"
                     "train: {micro_batch_size: 1, own_iters: 3}\ndataset: {seq_length: 8, path: a}\n",
                     &r);
    CU_ASSERT_EQUAL_FATAL(r.notes.n, 2);
    CU_ASSERT_STRING_EQUAL(r.notes.text[1], "t.yaml: not known, hence ignored: train.own_iters (line 3), "
                                            "dataset.path (line 4)");
    free(words);
    ss_request_free(&r);
}

/* ---- NeMo 2 ---- */

#define NEMO2(config)                                                                                        \
    "_target_: nemo.collections.llm.api.pretrain\n"                                                          \
    "data: {_target_: nemo.collections.llm.gpt.data.mock.MockDataModule, seq_length: 8192, "                 \
    "micro_batch_size: 1, global_batch_size: 128}\n"                                                         \
    "model:\n  _target_: nemo.collections.llm.gpt.model.llama.LlamaModel\n  config:\n" config                \
    "trainer:\n  devices: 8\n  num_nodes: 2\n  max_steps: 100\n"                                             \
    "  plugins: {_target_: nemo.lightning.pytorch.plugins.mixed_precision.MegatronMixedPrecision, "          \
    "precision: bf16-mixed, fp8: hybrid, fp8_recipe: tensorwise, fp8_param_gather: true, "                   \
    "grad_reduce_in_fp32: false, num_layers_at_start_in_bf16: 0}\n"                                          \
    "  callbacks:\n  - {_target_: nemo.lightning.pytorch.callbacks.nsys.NsysCallback, start_step: 5}\n"      \
    "  - {_target_: nemo.lightning.pytorch.callbacks.megatron_comm_overlap.MegatronCommOverlapCallback, "    \
    "tp_comm_overlap: true}\n"                                                                               \
    "  strategy:\n    _target_: nemo.lightning.pytorch.strategies.megatron_strategy.MegatronStrategy\n"      \
    "    tensor_model_parallel_size: 2\n    pipeline_model_parallel_size: 1\n    context_parallel_size: 2\n" \
    "    virtual_pipeline_model_parallel_size: null\n    sequence_parallel: true\n    fsdp: null\n"          \
    "    ddp: {_target_: x.DistributedDataParallelConfig, overlap_grad_reduce: true, "                       \
    "data_parallel_sharding_strategy: optim_grads_params, grad_reduce_in_fp32: true}\n"                      \
    "optim: {_target_: x.MegatronOptimizerModule, config: {_target_: x.OptimizerConfig, optimizer: adam, "   \
    "lr: 1e-4, use_distributed_optimizer: true}}\n"

/* As nemo.collections.llm.recipes.llama3_8b of NVIDIA/NeMo@v2.3.0 resolves, in performance mode. */
TEST(nemo2)
{
    check(NEMO2("    _target_: nemo.collections.llm.gpt.model.llama.Llama31Config8B\n"
                "    cross_entropy_fusion_impl: te\n    enable_cuda_graph: false\n"),
          "--stack nemo-25.03 --model llama3.1-8b --nodes 2 --gpus-per-node 8 --micro-batch-size 1 "
          "--global-batch-size 128 --seq-length 8192 --tensor-model-parallel-size 2 "
          "--pipeline-model-parallel-size 1 "
          "--context-parallel-size 2 --sequence-parallel --use-distributed-optimizer --optimizer adam --bf16 "
          "--fp8-format hybrid --fp8-param-gather --fp8-recipe tensorwise --grad-reduce-in-bf16 "
          "--tp-comm-overlap "
          "--overlap-grad-reduce --overlap-param-gather --ddp-bucket-size 134217728 "
          "--cross-entropy-fusion-impl te");
    check(NEMO2("    _target_: my.models.LlamaConfig9B\n"),
          "t.yaml:6: model.config._target_: the shape of \"LlamaConfig9B\" is in its code, which is not "
          "known here");
    check(NEMO2("    _target_:\n"),
          "t.yaml:5: model.config: _target_ names no class, and there is no num_layers");
}

#define NEMO2_STRATEGY(config, trainer, strategy)                                                            \
    "model:\n  config:\n    _target_: nemo.collections.llm.gpt.model.llama.Llama31Config405B\n" config       \
    "trainer:\n  num_nodes: 64\n  devices: 8\n" trainer "  strategy:\n    _target_: "                        \
    "nemo.lightning.pytorch.strategies.megatron_strategy.MegatronStrategy\n" strategy
#define NEMO2_WORDS "--stack nemo-25.03 --model llama3.1-405b --nodes 64 --gpus-per-node 8"

/* The strategy's fields, of which NeMo makes those of the model. */
TEST(nemo2_strategy)
{
    struct ss_request r;

    check(NEMO2_STRATEGY("", "",
                         "    tensor_model_parallel_size: 8\n    pipeline_model_parallel_size: 8\n"
                         "    virtual_pipeline_model_parallel_size: 8\n"
                         "    microbatch_group_size_per_vp_stage: 16\n    context_parallel_size: 4\n"
                         "    sequence_parallel: true\n"
                         "    account_for_embedding_in_pipeline_split: true\n"
                         "    account_for_loss_in_pipeline_split: true\n"),
          NEMO2_WORDS
          " --tensor-model-parallel-size 8 --pipeline-model-parallel-size 8 "
          "--virtual-pipeline-model-parallel-size 8 --account-for-embedding-in-pipeline-split "
          "--account-for-loss-in-pipeline-split --microbatch-group-size-per-virtual-pipeline-stage 16 "
          "--context-parallel-size 4 --sequence-parallel");
    /* without virtual stages there are no groups; an optimizer's copies are the strategy's, else DDP's */
    check(NEMO2_STRATEGY("", "",
                         "    num_layers_in_first_pipeline_stage: 3\n"
                         "    num_layers_in_last_pipeline_stage: 4\n"
                         "    microbatch_group_size_per_vp_stage: 16\n"
                         "    num_distributed_optimizer_instances: 2\n"
                         "    ddp: {num_distributed_optimizer_instances: 4, bucket_size: 40000000}\n"),
          NEMO2_WORDS " --decoder-first-pipeline-num-layers 3 --decoder-last-pipeline-num-layers 4 "
                      "--num-distributed-optimizer-instances 2 --ddp-bucket-size 40000000");
    check(NEMO2_STRATEGY("", "",
                         "    virtual_pipeline_model_parallel_size: 2\n"
                         "    pipeline_model_parallel_layout: Et|tL\n"
                         "    ddp: {num_distributed_optimizer_instances: 4, use_megatron_fsdp: true, "
                         "data_parallel_sharding_strategy: optim_grads, check_for_nan_in_grad: false}\n"),
          NEMO2_WORDS " --pipeline-model-parallel-layout Et|tL --num-distributed-optimizer-instances 4 "
                      "--use-megatron-fsdp --no-check-for-nan-in-loss-and-grad "
                      "--data-parallel-sharding-strategy optim_grads");
    check(NEMO2_STRATEGY("", "", "    encoder_pipeline_model_parallel_size: 2\n"),
          "t.yaml:9: trainer.strategy.encoder_pipeline_model_parallel_size: encoders and decoders are not "
          "modelled");
    check(NEMO2_STRATEGY("", "  deterministic: true\n", ""),
          "t.yaml:7: trainer.deterministic: deterministic kernels are not modelled");
    /* callbacks: token drop has a factor of 1 and pads unless told otherwise; of deferral the flags say that it is not known */
#define CALLBACK(name) "  callbacks:\n  - {_target_: nemo.lightning.pytorch.callbacks." name
    check(NEMO2_STRATEGY("", CALLBACK("moe_token_drop.MegatronTokenDropCallback}\n"), ""),
          NEMO2_WORDS " --moe-expert-capacity-factor 1.0 --moe-pad-expert-input-to-capacity");
    check(
        NEMO2_STRATEGY("    moe_expert_capacity_factor: 2.0\n",
                       CALLBACK("moe_token_drop.MegatronTokenDropCallback, moe_expert_capacity_factor: 1.5, "
                                "moe_pad_expert_input_to_capacity: false}\n"),
                       ""),
        NEMO2_WORDS " --moe-expert-capacity-factor 1.5");
    check(
        NEMO2_STRATEGY(
            "", CALLBACK("moe_token_drop.MegatronTokenDropCallback, moe_expert_capacity_factor: -1}\n"), ""),
        "t.yaml:8: trainer.callbacks[0].moe_expert_capacity_factor: must be set to use "
        "moe_pad_expert_input_to_capacity, which is true by default");
    check(NEMO2_STRATEGY("",
                         CALLBACK("megatron_comm_overlap.MegatronCommOverlapCallback, tp_comm_overlap: true, "
                                  "defer_embedding_wgrad_compute: true, wgrad_deferral_limit: 50}\n"),
                         ""),
          NEMO2_WORDS " --tp-comm-overlap --defer-embedding-wgrad-compute --wgrad-deferral-limit 50");
    check("data: {packed_sequence_specs: {packed_sequence_size: 4096}}\n" NEMO2_STRATEGY("", "", ""),
          "t.yaml:1: data.packed_sequence_specs: give the lengths by --packed-lengths");
    /* line 4: the strategy's default, no tensor parallelism, counts */
    char *words =
        words_of(NEMO2_STRATEGY("    tensor_model_parallel_size: 2\n", "  max_steps: 3\n",
                                "    my_own: 1\n    ddp: {average_in_collective: true, bucket_sizes: 3}\n"),
                 &r);
    CU_ASSERT_STRING_EQUAL(words, NEMO2_WORDS " --ddp-average-in-collective");
    CU_ASSERT_EQUAL_FATAL(r.notes.n, 3);
    CU_ASSERT_STRING_EQUAL(r.notes.text[1],
                           "t.yaml: assumed: model.config.tensor_model_parallel_size says nothing: NeMo sets "
                           "trainer.strategy's, its default");
    CU_ASSERT_STRING_EQUAL(r.notes.text[2],
                           "t.yaml: not known, hence ignored: trainer.strategy.my_own (line 11), "
                           "trainer.strategy.ddp.bucket_sizes (line 12)");
    free(words);
    ss_request_free(&r);
}
