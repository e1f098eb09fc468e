/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NeMo 1: the YAML of megatron_gpt_pretraining.py, as NeMo reads it (NVIDIA/NeMo@d2283e3620, v1.23.0: nemo/collections/nlp/models/
 * language_modeling/megatron_{base,gpt}_model.py, nemo/collections/nlp/parts/megatron_trainer_builder.py).
 */
#include <string.h>

#include "base/base.h"
#include "import/core_names.h"
#include "import/foreign_rows.h"

#define STACK "nemo-24.03"

static bool knows(const struct ss_tree_node *root)
{
    return ss_tree_find(root, "trainer") && ss_tree_find(root, "model.micro_batch_size") &&
           (ss_tree_find(root, "model.tensor_model_parallel_size") ||
            ss_tree_find(root, "model.encoder_seq_length"));
}

/* Whether a name is true, as OmegaConf gives it to Python. */
static bool is_true(const struct ss_foreign *f, const char *path)
{
    return ss_tree_truth(ss_tree_find(ss_tree_root(f->tree), path)) == 1;
}

/* ---- names of which the value alone does not tell ---- */

/* 8, or [0, 1, 2]; -1 and "auto" are all of the node. */
static int add_devices(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    char text[24];
    int64_t n = 0;

    ss_tree_take(node);
    if (node && node->kind == SS_TREE_LIST)
        n = (int64_t)node->n;
    else if (node && !ss_tree_whole(node, &n) && !ss_tree_is(node, "auto"))
        return ss_tree_fail(node, SS_ERR_INPUT, err, "is no number of GPUs");
    snprintf(text, sizeof text, "%lld", (long long)n);
    return n > 0 ? ss_foreign_flag(f, node, "--gpus-per-node", text, err) : SS_OK;
}

static int add_defaults(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    ss_tree_take(node);
    for (struct ss_tree_node *n = node ? node->first : NULL; n; n = n->next) {
        const char *name = n->kind == SS_TREE_MAP && n->first ? n->first->key : n->text;
        if (name && strcmp(name, "_self_") != 0 && strncmp(name, "optional ", 9) != 0) {
            ss_tree_fail(n, SS_ERR_UNSUPPORTED, err, "composed of other files, which are not read");
            return ss_hint(err, SS_ERR_UNSUPPORTED, "give what the script prints with --cfg job --resolve");
        }
    }
    (void)f;
    return SS_OK;
}

/* Whether parameters are of 16 bit: "O2" of older words. FSDP switches it off. */
static int add_o2(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    const struct ss_tree_node *precision = ss_tree_find(ss_tree_root(f->tree), "trainer.precision");
    int o2 = ss_tree_truth(node) == 1 && !is_true(f, "model.fsdp");

    if (!precision || !precision->text || strncmp(precision->text, "bf16", 4) != 0)
        return SS_OK;
    return ss_foreign_flag(f, node ? node : precision, "--set",
                           o2 ? "ss.default.fp32_params=0" : "ss.default.fp32_params=1", err);
}

/* What the dataset gives, beside the length that stages expect of one another. */
static int check_rows(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    int64_t rows, length;

    ss_tree_take(node);
    if (!ss_tree_whole(node, &rows) ||
        !ss_tree_whole(ss_tree_find(ss_tree_root(f->tree), "model.encoder_seq_length"), &length) ||
        rows == length)
        return SS_OK;
    ss_tree_fail(node, SS_ERR_UNSUPPORTED, err,
                 "rows of %lld tokens for a model of %lld (encoder_seq_length)", (long long)rows,
                 (long long)length);
    return ss_hint(err, SS_ERR_UNSUPPORTED, "give both the same");
}

static int add_recompute(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    static const struct ss_foreign_row more[] = {
        {"activations_checkpoint_method", SS_ROW_VALUE, "--recompute-method", NULL, NULL},
        {"activations_checkpoint_num_layers", SS_ROW_WHOLE, "--recompute-num-layers", NULL, NULL},
    };
    struct ss_tree_node *model = ss_tree_find(ss_tree_root(f->tree), "model");

    ss_tree_get(model, more[0].key); /* nothing without the first */
    ss_tree_get(model, more[1].key);
    if (!node)
        return SS_OK;
    int rc = ss_foreign_flag(f, node, "--recompute-granularity", node->text ? node->text : "", err);
    return rc || ss_tree_is(node, "selective") ? rc : ss_foreign_map(f, model, more, SS_ARRAY_LEN(more), err);
}

static int add_fp8(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    struct ss_tree_node *model = ss_tree_find(ss_tree_root(f->tree), "model");
    int e4m3 = ss_tree_truth(ss_tree_get(model, "fp8_e4m3")) == 1,
        hybrid = ss_tree_truth(ss_tree_get(model, "fp8_hybrid")) == 1,
        params = ss_tree_truth(ss_tree_get(model, "fp8_params")) == 1;

    if (ss_tree_truth(node) != 1)
        return SS_OK;
    if (!e4m3 && !hybrid)
        return ss_tree_fail(node, SS_ERR_CONFIG, err,
                            "fp8 enabled but fp8_format (fp8_e4m3 | fp8_hybrid) is not set.");
    int rc = ss_foreign_flag(f, node, "--fp8-format", e4m3 ? "e4m3" : "hybrid", err);
    return rc || !params ? rc : ss_foreign_flag(f, node, "--fp8-param-gather", NULL, err);
}

static int add_fsdp(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    static const struct ss_foreign_row strategy[] = {
        {"fsdp_sharding_strategy", SS_ROW_CHOICE, "full=--fsdp full;grad=--fsdp grad;hybrid=--fsdp hybrid",
         NULL, NULL},
        {"fsdp_cpu_offload", SS_ROW_REFUSE, NULL, "FSDP that offloads to the CPU is not modelled", NULL},
    };
    struct ss_tree_node *model = ss_tree_find(ss_tree_root(f->tree), "model");

    if (ss_tree_truth(node) != 1) {
        ss_tree_get(model, strategy[0].key);
        return SS_OK;
    }
    if (ss_tree_is_null(ss_tree_find(model, strategy[0].key)))
        return ss_foreign_add(f, node, "--fsdp full", err);
    return ss_foreign_map(f, model, strategy, SS_ARRAY_LEN(strategy), err);
}

static int add_offloading(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    static const struct ss_foreign_row more[] = {
        {"cpu_offloading_num_layers", SS_ROW_WHOLE, "--cpu-offloading-num-layers", NULL, NULL},
        {"cpu_offloading_activations", SS_ROW_FALSE, "--no-cpu-offloading-activations", NULL, NULL},
        {"cpu_offloading_weights", SS_ROW_FALSE, "--no-cpu-offloading-weights", NULL, NULL},
    };
    struct ss_tree_node *model = ss_tree_find(ss_tree_root(f->tree), "model");

    for (size_t i = 0; i < SS_ARRAY_LEN(more); i++)
        ss_tree_get(model, more[i].key);
    if (ss_tree_truth(node) != 1)
        return SS_OK;
    int rc = ss_foreign_flag(f, node, "--cpu-offloading", NULL, err);
    return rc ? rc : ss_foreign_map(f, model, more, SS_ARRAY_LEN(more), err);
}

/* Without Megatron core's model and without Transformer Engine the layers are NeMo's own. */
static int add_engine(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    struct ss_tree_node *core = ss_tree_get(ss_tree_root(f->tree), "model.mcore_gpt");

    if (ss_tree_truth(node) == 1 || ss_tree_truth(core) == 1)
        return SS_OK;
    return ss_foreign_flag(f, node ? node : core, "--transformer-impl", "local", err);
}

/* "This config does nothing when transformer_engine=True" (NeMo's megatron_gpt_config.yaml). */
static int add_flash(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    struct ss_tree_node *engine = ss_tree_get(ss_tree_root(f->tree), "model.transformer_engine"),
                        *core = ss_tree_get(ss_tree_root(f->tree), "model.mcore_gpt");

    if (ss_tree_truth(node) != 1 || ss_tree_truth(engine) == 1 || ss_tree_truth(core) == 1)
        return SS_OK;
    return ss_foreign_flag(f, node, "--use-flash-attn", NULL, err);
}

/* Interleaving alone can overlap its sends and receives. */
static int add_p2p(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    int64_t v = 0;

    if (!ss_tree_whole(ss_tree_find(ss_tree_root(f->tree), "model.virtual_pipeline_model_parallel_size"),
                       &v) ||
        v < 2 || ss_tree_truth(node) == 1)
        return SS_OK;
    return ss_foreign_flag(f, node, "--no-overlap-p2p-communication", NULL, err);
}

static int add_rampup(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    ss_tree_take(node);
    if (node)
        ss_foreign_assume(f, "the global batch has grown to its full size (rampup_batch_size)");
    (void)err;
    return SS_OK;
}

static int add_tokenizer(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    struct ss_tree_node *type = ss_tree_get(node, "type"), *library = ss_tree_get(node, "library");

    ss_tree_take(node);
    if (ss_tree_is(library, "megatron") && ss_tree_is(type, "GPT2BPETokenizer"))
        return ss_foreign_flag(f, type, "--tokenizer-type", type->text, err);
    return SS_OK;
}

/* Of a part of a configuration that is shipped (nemo_command.c). */
static int add_own(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    const struct ss_tree_node *vocabulary = ss_tree_find(node, "vocab_size"), *tokens;

    ss_tree_take(node);
    tokens = ss_tree_find(ss_tree_root(f->tree), "model.override_vocab_size");
    if (!vocabulary || !ss_tree_is_null(tokens))
        return SS_OK;
    ss_foreign_assume(f, "a vocabulary of %s; --vocab-size says another", vocabulary->text);
    return ss_foreign_flag(f, vocabulary, "--vocab-size", vocabulary->text, err);
}

static int add_stack(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    (void)node;
    ss_foreign_assume(f, "NeMo 24.03 (--stack " STACK "); --stack says another release");
    return ss_foreign_flag(f, NULL, "--stack", STACK, err);
}

/* clang-format off */
static const struct ss_foreign_row rows[] = {
    CALL("defaults", add_defaults), CALL("stepsim", add_own), CALL("", add_stack),
    WHOLE("trainer.num_nodes", "--nodes"), CALL("trainer.devices", add_devices),
    CHOICE("trainer.precision", "32=;32-true=;16=--fp16;16-mixed=--fp16;bf16=--bf16;bf16-mixed=--bf16"),
    REFUSE("trainer.accumulate_grad_batches", "1", "NeMo accumulates by global_batch_size alone"),
    VALUE("trainer.gradient_clip_val", "--clip-grad"),

    WHOLE("model.micro_batch_size", "--micro-batch-size"), WHOLE("model.global_batch_size", "--global-batch-size"),
    CALL("model.rampup_batch_size", add_rampup),
    WHOLE("model.tensor_model_parallel_size", "--tensor-model-parallel-size"),
    WHOLE("model.pipeline_model_parallel_size", "--pipeline-model-parallel-size"),
    WHOLE("model.virtual_pipeline_model_parallel_size", "--virtual-pipeline-model-parallel-size"),
    WHOLE("model.context_parallel_size", "--context-parallel-size"),
    WHOLE("model.expert_model_parallel_size", "--expert-model-parallel-size"),
    REFUSE("model.pipeline_model_parallel_split_rank", "0", "encoders and decoders are not modelled"),
    TRUE("model.sequence_parallel", "--sequence-parallel"), CALL("model.overlap_p2p_comm", add_p2p),
    TRUE("model.ub_tp_comm_overlap", "--tp-comm-overlap"),
    CALL("model.fsdp", add_fsdp),

    WHOLE("model.encoder_seq_length", "--seq-length"),
    WHOLE("model.max_position_embeddings", "--max-position-embeddings"),
    WHOLE("model.num_layers", "--num-layers"), WHOLE("model.hidden_size", "--hidden-size"),
    WHOLE("model.ffn_hidden_size", "--ffn-hidden-size"),
    WHOLE("model.num_attention_heads", "--num-attention-heads"),
    WHOLE("model.num_query_groups", "--num-query-groups"), WHOLE("model.kv_channels", "--kv-channels"),
    VALUE("model.hidden_dropout", "--hidden-dropout"), VALUE("model.attention_dropout", "--attention-dropout"),
    REFUSE("model.ffn_dropout", "0.0", "dropout inside the MLP is not modelled"),
    CHOICE("model.normalization", "layernorm=;layernorm1p=;rmsnorm=--normalization RMSNorm"),
    FALSE("model.bias", "--disable-bias-linear"),
    CHOICE("model.activation", "gelu=;swiglu=--swiglu;fast-swiglu=--swiglu;*=!its cost is not known"),
    CHOICE("model.position_embedding_type",
        "rope=--position-embedding-type rope;learned_absolute=--position-embedding-type learned_absolute;"
        "alibi=--position-embedding-type none;none=--position-embedding-type none;*=!its cost is not known"),
    FALSE("model.share_embeddings_and_output_weights", "--untie-embeddings-and-output-weights"),
    CHOICE("model.transformer_block_type", "pre_ln=;*=!norms elsewhere are not modelled"),
    CHOICE("model.attention_type", "multihead=;*=!its cost is not known"),
    REFUSE("model.headscale", NULL, "its cost is not known"),
    REFUSE("model.use_emha", NULL, "its cost is not known"),
    WHOLE("model.make_vocab_size_divisible_by", "--make-vocab-size-divisible-by"),
    WHOLE("model.override_vocab_size", "--padded-vocab-size"), CALL("model.tokenizer", add_tokenizer),
    CALL("model.transformer_engine", add_engine), CALL("model.use_flash_attention", add_flash),
    CALL("model.megatron_amp_O2", add_o2), CALL("model.fp8", add_fp8),
    REFUSE("model.fp32_residual_connection", NULL, "residuals in fp32 are not modelled"),

    CALL("model.activations_checkpoint_granularity", add_recompute),
    REFUSE("model.num_micro_batches_with_partial_activation_checkpoints", "0", "recompute of some microbatches is not modelled"),
    REFUSE("model.activations_checkpoint_layers_per_pipeline", "0", "recompute by stage is not modelled"),
    CALL("model.cpu_offloading", add_offloading),
    WHOLE("model.num_moe_experts", "--num-experts"),
    CHOICE("model.optim.name", "fused_adam=;adam=;adamw=;distributed_fused_adam=--use-distributed-optimizer;"
        "mcore_distributed_optim=--use-distributed-optimizer;*=!its cost is not known"),
    TRUE("model.optim.overlap_grad_sync", "--overlap-grad-reduce"),
    TRUE("model.optim.overlap_param_sync", "--overlap-param-gather"),
    CHOICE("model.optim.grad_sync_dtype", "fp32=;float32=;32=;bf16=--grad-reduce-in-bf16;bfloat16=--grad-reduce-in-bf16"),
    CALL("model.data.seq_length", check_rows), TRUE("model.data.reset_attention_mask", "--reset-attention-mask"),
    FALSE("model.gradient_accumulation_fusion", "--no-gradient-accumulation-fusion"),
    FALSE("model.masked_softmax_fusion", "--no-masked-softmax-fusion"),
    FALSE("model.bias_dropout_add_fusion", "--no-bias-dropout-fusion"),
    TRUE("model.qkv_bias", "--add-qkv-bias"), FALSE("model.reduce_amax", "--set ss.fp8.amax_group=0"),
    FALSE("model.apply_rope_fusion", "--no-rope-fusion"),

    NONE("name"), NONE("restore_from_path"), NONE("exp_manager"), NONE("run"), NONE("hydra"), NONE("cluster_type"),
    NONE("inference"), NONE("target"), NONE("nemo_version"),
    NONE("trainer"), NONE("model.data"), NONE("model.optim"), NONE("model.nsys_profile"),
    NONE("model.init_method_std"), NONE("model.use_scaled_init_method"), NONE("model.layernorm_epsilon"),
    NONE("model.do_layer_norm_weight_decay"), NONE("model.pre_process"), NONE("model.post_process"),
    NONE("model.persist_layer_norm"), NONE("model.openai_gelu"), NONE("model.normalize_attention_scores"),
    NONE("model.rotary_percentage"), NONE("model.rotary_base"), NONE("model.seq_len_interpolation_factor"), NONE("model.batch_p2p_comm"),
    NONE("model.native_amp_init_scale"), NONE("model.native_amp_growth_interval"), NONE("model.hysteresis"),
    NONE("model.grad_allreduce_chunk_size_mb"), NONE("model.grad_div_ar_fusion"), NONE("model.seed"), NONE("model.resume_from_checkpoint"),
    NONE("model.use_cpu_initialization"), NONE("model.onnx_safe"), NONE("model.apex_transformer_log_level"),
    NONE("model.gradient_as_bucket_view"), NONE("model.sync_batch_comm"), NONE("model.get_attention_mask_from_fusion"),
    NONE("model.fp16_lm_cross_entropy"), NONE("model.apply_query_key_layer_scaling"),
    NONE("model.fp8_margin"), NONE("model.fp8_interval"), NONE("model.fp8_amax_history_len"), NONE("model.fp8_amax_compute_algo"),
    NONE("model.ub_tp_comm_overlap_cfg"), NONE("model.nccl_communicator_config_path"), NONE("model.fsdp_grad_reduce_dtype"),
    NONE("model.fsdp_sharded_checkpoint"), NONE("model.enable_megatron_timers"), NONE("model.megatron_timer_kwargs"),
    NONE("s3_checkpointing"), NONE("env_vars"), NONE("model.name"), NONE("model.bias_activation_fusion"), NONE("model.sharp"),
    NONE("model.layernorm_zero_centered_gamma"), NONE("model.scale_positional_embedding"), NONE("model.use_te_rng_tracker"),
    NONE("model.validation_param_sync_overlap"), NONE("model.dist_ckpt_parallel_save"), NONE("model.dist_ckpt_load_on_device"),
    NONE("model.gc_interval"), NONE("model.restore_from_path"), NONE("model.precision"), NONE("model.target"),
};
/* clang-format on */

static int read(struct ss_foreign *f, struct ss_error *err)
{
    const struct ss_tree_node *root = ss_tree_root(f->tree);
    int rc = ss_foreign_map(f, root, rows, SS_ARRAY_LEN(rows), err);

    rc = rc ? rc : ss_core_lists(f, ss_tree_find(root, "model"), err);
    rc = rc ? rc : ss_foreign_by_name(f, ss_tree_find(root, "model"), err);
    return rc ? rc : ss_foreign_by_name(f, ss_tree_find(root, "model.mcore_customization_config"), err);
}

const struct ss_foreign_kind ss_foreign_nemo = {"NeMo 1", knows, read, true, false};
