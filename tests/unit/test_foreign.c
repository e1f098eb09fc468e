/* SPDX-License-Identifier: Apache-2.0 */
/* Configurations of other frameworks: the words that each name stands for, by hand. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "import/foreign.h"
#include "import/hydra.h"
#include "stepsim/job.h"
#include "stepsim/table.h"
#include "suite.h"

/* ---- rows ---- */

static int twice(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    return ss_foreign_add(f, node, node ? "--there" : "--not-there", err);
}

static const struct ss_foreign_row rows[] = {
    {"value", SS_ROW_VALUE, "--value", NULL, NULL},
    {"whole", SS_ROW_WHOLE, "--whole", NULL, NULL},
    {"yes", SS_ROW_TRUE, "--yes --too", NULL, NULL},
    {"no", SS_ROW_FALSE, "--no", NULL, NULL},
    {"choice", SS_ROW_CHOICE, "a=--a;b=;bad=!it is not modelled", NULL, NULL},
    {"refuse", SS_ROW_REFUSE, "fine", "it is not modelled", NULL},
    {"none", SS_ROW_NONE, NULL, NULL, NULL},
    {"call", SS_ROW_CALL, NULL, NULL, twice},
};

/* The words of a map after these rows, with blanks between; or the error's text. */
static const char *map(const char *text, int *rc)
{
    static char out[600];
    struct ss_foreign f = {0};
    struct ss_error err = {0};

    CU_ASSERT_EQUAL_FATAL(ss_tree_parse(text, strlen(text), "t.yaml", &f.tree, NULL), SS_OK);
    *rc = ss_foreign_map(&f, ss_tree_root(f.tree), rows, SS_ARRAY_LEN(rows), &err);
    *out = '\0';
    for (size_t i = 0; i < f.n; i++) {
        size_t at = strlen(out);
        snprintf(out + at, sizeof out - at, "%s%s", i ? " " : "", f.word[i].text);
        free(f.word[i].text);
    }
    if (*rc)
        snprintf(out, sizeof out, "%s:%d: %.200s", err.file, err.line, err.message);
    free(f.word);
    ss_notes_free(&f.none);
    ss_notes_free(&f.assumed);
    ss_tree_free(f.tree);
    return out;
}

static void test_rows(void)
{
    static const struct {
        const char *text;
        int rc;
        const char *out;
    } cases[] = {
        {"{}", SS_OK, "--not-there"},
        {"{value: x y, whole: 1e3, yes: true, no: false, choice: A}", SS_OK,
         "--value x y --whole 1000 --yes --too --no --a --not-there"},
        {"{value: [1, 2], yes: 0, no: 'True', choice: b, refuse: fine, none: {a: 1}, call: 1}", SS_OK,
         "--value 1 2 --there"},
        {"{value: null, whole: ~, yes: null, choice: , refuse: false, call: null}", SS_OK, "--not-there"},
        {"{refuse: {}}", SS_OK, "--not-there"},
        {"a: 1\nwhole: 1.5", SS_ERR_INPUT, "t.yaml:2: whole: \"1.5\" is no whole number"},
        {"yes: 2", SS_ERR_INPUT, "t.yaml:1: yes: \"2\" is no true or false"},
        {"choice: c", SS_ERR_INPUT, "t.yaml:1: choice: \"c\" is no value that is known here"},
        {"choice: bad", SS_ERR_UNSUPPORTED, "t.yaml:1: choice: \"bad\": it is not modelled"},
        {"refuse: 3", SS_ERR_UNSUPPORTED, "t.yaml:1: refuse: it is not modelled"},
        {"value: {a: 1}", SS_ERR_INPUT, "t.yaml:1: value: a map or a list is no single value"},
    };
    for (size_t i = 0; i < SS_ARRAY_LEN(cases); i++) {
        int rc;
        const char *out = map(cases[i].text, &rc);
        if (rc != cases[i].rc || strcmp(out, cases[i].out) != 0)
            printf("\n  %s: %d '%s'\n", cases[i].text, rc, out);
        CU_ASSERT(rc == cases[i].rc && !strcmp(out, cases[i].out));
    }
}

/* ---- Hydra ---- */

static const char base[] = "a: {b: 1, c: [x, y], d: '${.b}', e: '${multiply:${a.b},8}'}\n"
                           "f: ${sum:${multiply:3,4},-1}\ng: ${nowhere}\nh: ${h}\ni: ${oc.env:HOME,here}\n"
                           "j: ${a.c}\nk: n-${a.b}-${a.c[1]}\nl: {m: {n: '${...a.b}'}}\n"
                           "o: ${divide_ceil:7,2}\n";

static void has(const struct ss_tree *tree, const char *path, const char *text)
{
    const struct ss_tree_node *node = ss_tree_find(ss_tree_root(tree), path);
    if (!ss_tree_is(node, text))
        printf("\n  %s: '%s' instead of '%s'\n", path, node && node->text ? node->text : "-", text);
    CU_ASSERT(ss_tree_is(node, text));
}

static void test_overrides_and_interpolations(void)
{
    static const char *const words[] = {"a.b=2",  "+a.new.x=[1,2]", "++a.b=4",
                                        "~a.c.0", "++q='null'",     "k.z=${a.b}"};
    static const char *const not [] = {"--a=b", "=b", "a", "1a=b", "a b=c", "-x=1", "~"};
    struct ss_tree *tree;
    struct ss_error err = {0};

    CU_ASSERT_EQUAL_FATAL(ss_tree_parse(base, strlen(base), "t.yaml", &tree, NULL), SS_OK);
    for (size_t i = 0; i < SS_ARRAY_LEN(words); i++) {
        CU_ASSERT(ss_hydra_is_override(words[i]));
        CU_ASSERT_EQUAL(ss_hydra_override(tree, words[i], "job.sh", 7, i == 5, &err), SS_OK);
    }
    for (size_t i = 0; i < SS_ARRAY_LEN(not ); i++)
        CU_ASSERT_FALSE(ss_hydra_is_override(not [i]));
    CU_ASSERT_EQUAL(ss_hydra_override(tree, "a.none=1", "job.sh", 9, false, &err), SS_ERR_INPUT);
    CU_ASSERT(err.line == 9 && !strcmp(err.file, "job.sh") && strstr(err.message, "has no such name"));
    CU_ASSERT_EQUAL(ss_hydra_override(tree, "+a.b=1", NULL, 0, false, &err), SS_ERR_USAGE);
    CU_ASSERT(strstr(err.message, "is there already") && !err.file[0]);
    CU_ASSERT_EQUAL(ss_hydra_override(tree, "~a.none", NULL, 0, false, &err), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_hydra_override(tree, "a.b=[1", "job.sh", 3, false, &err), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(ss_hydra_override(tree, "+a.b=4", NULL, 0, true, &err), SS_OK);
    CU_ASSERT_EQUAL(ss_hydra_resolve(tree, &err), SS_OK);
    has(tree, "a.b", "4");
    has(tree, "a.c.0", "y"); /* the first item was taken out */
    has(tree, "a.d", "4");
    has(tree, "a.e", "32");
    has(tree, "a.new.x.1", "2");
    has(tree, "f", "11");
    has(tree, "g", "${nowhere}");
    has(tree, "h", "${h}");
    has(tree, "i", "here"); /* the environment of this program is not the job's */
    has(tree, "j.0", "y");
    has(tree, "k.z", "4");
    has(tree, "l.m.n", "4");
    has(tree, "o", "4");
    CU_ASSERT_FALSE(ss_tree_is_null(ss_tree_find(ss_tree_root(tree), "q")));
    const struct ss_tree_node *b = ss_tree_find(ss_tree_root(tree), "a.b");
    CU_ASSERT(b->line == 0 && !strcmp(b->file, ""));
    CU_ASSERT_EQUAL(ss_tree_find(ss_tree_root(tree), "a.new.x")->line, 7);
    ss_tree_free(tree);
}

/* A text in which each name stands for two of the next: it may not take 2^40 steps, nor bytes. */
static void test_doubling_ends(void)
{
    char text[2048] = "", *at = text;
    struct ss_tree *tree;

    for (int i = 0; i < 40; i++)
        at += sprintf(at, "n%d: ${n%d}${n%d}\n", i, i + 1, i + 1);
    sprintf(at, "n40: x\n");
    CU_ASSERT_EQUAL_FATAL(ss_tree_parse(text, strlen(text), "t.yaml", &tree, NULL), SS_OK);
    CU_ASSERT_EQUAL(ss_hydra_resolve(tree, NULL), SS_OK);
    has(tree, "n38", "xxxx");
    has(tree, "n0", "${n1}${n1}");
    ss_tree_free(tree);
}

/* ---- kinds ---- */

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

static void test_nemo(void)
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
               "--position-embedding-type rope --untie-embeddings-and-output-weights --use-flash-attn "
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
static void test_nemo_by_name(void)
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
static void test_yaml_cfg(void)
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
static void test_model_args(void)
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

static void test_dumped_arguments(void)
{
    check("num_layers: 4\nhidden_size: 8\ntensor_model_parallel_size: 1\nmicro_batch_size: 1\nbf16: true\n"
          "add_bias_linear: false\nswiglu: true\nnum_experts: null\nmoe_router_topk: 2\n"
          "add_position_embedding: true\nmasked_softmax_fusion: false\n",
          "--bf16 --disable-bias-linear --num-layers 4 --hidden-size 8 --tensor-model-parallel-size 1 "
          "--micro-batch-size 1 --swiglu --no-masked-softmax-fusion");
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
static void test_bridge(void)
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
          "t.yaml:11: model.is_hybrid_model: Mamba layers are not modelled");
    check(BRIDGE("  bf16: true\n  num_moe_experts: 8\n  moe_layer_freq: [0, 1]\n  window_size: [128, 0]\n"
                 "  moe_token_dispatcher_type: alltoall\n  moe_deepep_num_sms: 20\n",
                 ""),
          BRIDGED("--bf16 --window-size 128,0 --moe-layer-freq [0,1] --num-experts 8 --num-layers 16 "
                  "--hidden-size 2048 "
                  "--moe-token-dispatcher-type alltoall"));
}

/* ---- a command that names a configuration ---- */

/* The words of ../launch's NeMo script behind the name of its program, of which the base is said by `path`. */
static int read_script(struct ss_request *r, const char *path, struct ss_error *err)
{
    const char *const argv[] = {
        path,
        "--config-name=megatron_llama_config-13b",
        "trainer.devices=8",
        "trainer.num_nodes=1",
        "trainer.precision=bf16-mixed",
        "model.micro_batch_size=1",
        "model.global_batch_size=1",
        "model.tensor_model_parallel_size=2",
        "model.pipeline_model_parallel_size=1",
        "+model.context_parallel_size=4",
        "model.sequence_parallel=True",
        "model.optim.name=distributed_fused_adam",
        "model.transformer_engine=True",
        "++model.use_flash_attention=True",
        "model.megatron_amp_O2=True",
        "+model.rampup_batch_size=null",
        "model.encoder_seq_length=16384",
    };

    ss_request_init(r);
    return ss_request_read(r, SS_ARRAY_LEN(argv), (char **)argv, err);
}

static void test_shipped_base(void)
{
    struct ss_request r;
    char text[2048];

    CU_ASSERT_EQUAL_FATAL(read_script(&r, "--config-path=/nowhere/conf", NULL), SS_OK);
    /* first what the base says, then what the command does, which beats it */
    CU_ASSERT_STRING_EQUAL(
        ss_request_text(&r, 0, text, sizeof text),
        "--vocab-size 32000 --stack nemo-24.03 --clip-grad 1.0 --max-position-embeddings 16384 --num-layers "
        "40 "
        "--hidden-size 5120 --ffn-hidden-size 13824 --num-attention-heads 40 --num-query-groups 40 "
        "--hidden-dropout 0.0 --attention-dropout 0.0 --normalization RMSNorm --disable-bias-linear --swiglu "
        "--position-embedding-type rope --untie-embeddings-and-output-weights --make-vocab-size-divisible-by "
        "128 --nodes 1 --gpus-per-node 8 --bf16 --micro-batch-size 1 --global-batch-size 1 "
        "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 1 --context-parallel-size 4 "
        "--sequence-parallel --seq-length 16384 --use-flash-attn --set ss.default.fp32_params=0 "
        "--use-distributed-optimizer");
    CU_ASSERT_EQUAL_FATAL(r.nplaces, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.place[0].file, "workloads/nemo/megatron_llama_config.yaml"));
    CU_ASSERT_PTR_NULL(r.place[1].file);
    CU_ASSERT_STRING_EQUAL(r.notes.text[0],
                           "megatron_llama_config-13b.yaml is not at hand: its base is assumed to be "
                           "NVIDIA/NeMo@d2283e3620:examples/nlp/language_modeling/conf/"
                           "megatron_llama_config.yaml, with the shape of 13b");
    ss_request_free(&r);
}

/* With the base that its table's row tells, the script is that row. */
static void test_script_is_its_row(void)
{
    struct ss_request r;
    struct ss_table *table;
    struct ss_job job, row;
    int i = 0;

    CU_ASSERT_EQUAL_FATAL(read_script(&r, "--config-path=" SS_SOURCE_DIR "/tests/launch/nemo", NULL), SS_OK);
    ss_job_init(&job);
    CU_ASSERT_EQUAL_FATAL(ss_job_parse(&job, &r, NULL, NULL, NULL), SS_OK);
    CU_ASSERT_EQUAL_FATAL(ss_table_load("runs", &table, NULL, NULL), SS_OK);
    while (strcmp(ss_table_get(table, i, "id"), "nemo-16") != 0)
        i++;
    CU_ASSERT_EQUAL_FATAL(ss_table_job(table, i, &row, NULL, NULL), SS_OK);
#define SAME(field) CU_ASSERT(job.field == row.field)
    SAME(nodes);
    SAME(gpus_per_node);
    SAME(tp);
    SAME(pp);
    SAME(cp);
    SAME(micro_batch);
    SAME(global_batch);
    SAME(seq_length);
    SAME(precision);
    SAME(recompute);
    SAME(recompute_num_layers);
    SAME(sequence_parallel);
    SAME(distributed_optimizer);
    SAME(fsdp);
    SAME(tp_comm_overlap);
    SAME(overlap_grad_reduce);
    SAME(overlap_param_gather);
    SAME(model.num_layers);
    SAME(model.hidden_size);
    SAME(model.ffn_hidden_size);
    SAME(model.num_attention_heads);
    SAME(model.num_query_groups);
    CU_ASSERT(job.padded_vocab);
    SAME(model.vocab_size);
    SAME(model.normalization);
    SAME(model.position);
    SAME(model.gated_mlp);
    SAME(model.tied_embeddings);
    CU_ASSERT_STRING_EQUAL(job.stack, row.stack);
    ss_table_free(table);
    ss_request_free(&r);
}

static void test_sniff(void)
{
    static const char *const yes[] = {"trainer:\n", "# x\n\n---\na: 1", "\"a\": 1", "a_b.c-d: 1"};
    static const char *const no[] = {"--tp 4", "torchrun x.py",   "a:b",        "",
                                     "# only", "A=1 python x.py", "{\"a\": 2}", "https://x"};
    for (size_t i = 0; i < SS_ARRAY_LEN(yes); i++)
        CU_ASSERT(ss_foreign_sniff(yes[i], strlen(yes[i])));
    for (size_t i = 0; i < SS_ARRAY_LEN(no); i++)
        CU_ASSERT_FALSE(ss_foreign_sniff(no[i], strlen(no[i])));
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"rows", test_rows},
        {"overrides and interpolations", test_overrides_and_interpolations},
        {"doubling ends", test_doubling_ends},
        {"NeMo", test_nemo},
        {"NeMo by name", test_nemo_by_name},
        {"YAML of Megatron-LM", test_yaml_cfg},
        {"arguments of a test case", test_model_args},
        {"dumped arguments", test_dumped_arguments},
        {"Megatron-Bridge", test_bridge},
        {"shipped base", test_shipped_base},
        {"script is its row", test_script_is_its_row},
        {"sniff", test_sniff},
        CU_TEST_INFO_NULL,
    };
    return suite_run("foreign", NULL, NULL, tests);
}
