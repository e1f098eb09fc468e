/* SPDX-License-Identifier: Apache-2.0 */
/* Names of Megatron core (NVIDIA/Megatron-LM@d98e8a64dd: megatron/core/transformer/transformer_config.py, model_parallel_config.py). */
#include "import/core_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "import/foreign_rows.h"

void ss_core_skip(const struct ss_tree_node *from, const char *names)
{
    for (const char *p = names; *p; p += strcspn(p, " "), p += *p == ' ') {
        size_t len = strcspn(p, " "), all = len > 0 && p[len - 1] == '*';
        for (struct ss_tree_node *n = from ? from->first : NULL; n; n = n->next)
            if (n->key && (all ? !strncmp(n->key, p, len - 1) : !strncmp(n->key, p, len) && !n->key[len]))
                ss_tree_take(n);
    }
}

bool ss_core_true(const struct ss_tree_node *from, const char *name)
{
    return ss_tree_truth(ss_tree_find(from, name)) == 1;
}

/* ---- precision ---- */

static int add_format(struct ss_foreign *f, const struct ss_tree_node *from, const char *name,
                      const char *rest, const char *flag, struct ss_error *err)
{
    struct ss_tree_node *format = ss_tree_get(from, name);

    if (ss_tree_is_null(format) || ss_tree_truth(format) == 0) {
        ss_core_skip(from, rest);
        return SS_OK;
    }
    if (format->kind != SS_TREE_SCALAR)
        return ss_tree_fail(format, SS_ERR_INPUT, err, "is no name of a format");
    return ss_foreign_flag(f, format, flag, format->text, err);
}

int ss_core_precision(struct ss_foreign *f, const struct ss_tree_node *from, struct ss_error *err)
{
    static const struct ss_foreign_row rows[] = {
        TRUE("bf16", "--bf16"),
        TRUE("fp16", "--fp16"),
        TRUE("fp8_param_gather", "--fp8-param-gather"),
        TRUE("fp4_param_gather", "--fp4-param-gather"),
        VALUE("fp8_recipe", "--fp8-recipe"),
        VALUE("fp4_recipe", "--fp4-recipe"),
        TRUE("first_last_layers_bf16", "--first-last-layers-bf16"),
        TRUE("fp8_dot_product_attention", "--fp8-dot-product-attention"),
        REFUSE("fp8_multi_head_attention", NULL, "attention in fp8 is not modelled"),
    };
    static const char fp8[] = "fp8_*", fp4[] = "fp4_*";
    struct ss_tree_node *format = ss_tree_find(from, "fp8"), *narrow = ss_tree_find(from, "fp4");
    int rc = add_format(f, from, "fp8", fp8, "--fp8-format", err);

    rc = rc ? rc : add_format(f, from, "fp4", fp4, "--fp4-format", err);
    if (!ss_core_true(from, "first_last_layers_bf16"))
        ss_core_skip(from, "num_layers_at_start_in_bf16 num_layers_at_end_in_bf16");
    for (size_t i = 0; i < SS_ARRAY_LEN(rows) && !rc; i++) {
        bool off = (!strncmp(rows[i].key, "fp8_", 4) && ss_tree_is_null(format)) ||
                   (!strncmp(rows[i].key, "fp4_", 4) && ss_tree_is_null(narrow));
        rc = off ? SS_OK : ss_foreign_map(f, from, &rows[i], 1, err);
    }
    ss_core_skip(from, "fp8_margin fp8_interval fp8_amax_* fp8_wgrad fp8_param fp4_param params_dtype "
                       "pipeline_dtype autocast_* enable_autocast");
    return rc;
}

/* ---- what belongs together ---- */

/* Last part of "torch.nn.functional.silu", or of the map that stands for that function. */
static const char *function_of(const struct ss_tree_node *node)
{
    const struct ss_tree_node *target =
        node && node->kind == SS_TREE_MAP ? ss_tree_find(node, "_target_") : node;
    const char *dot = target && target->text ? strrchr(target->text, '.') : NULL;

    return dot ? dot + 1 : target && target->text ? target->text : "";
}

/* Whether the function is that of a model's class of NeMo 2, as Llama31Config8B; GPTConfig has Megatron core's. */
static bool has_class(const struct ss_tree_node *from)
{
    const struct ss_tree_node *target = ss_tree_find(from, "_target_");

    return target && target->text && !strncmp(target->text, "nemo.", 5) &&
           strcmp(function_of(target), "GPTConfig");
}

static int add_activation(struct ss_foreign *f, const struct ss_tree_node *from, struct ss_error *err)
{
    struct ss_tree_node *node = ss_tree_get(from, "activation_func");
    const char *name = function_of(node);
    bool gated = ss_core_true(from, "gated_linear_unit");

    ss_core_skip(from, "gated_linear_unit activation_func");
    if (ss_tree_is_null(node) && gated && !has_class(from)) {
        ss_tree_fail(ss_tree_find(from, "gated_linear_unit"), SS_ERR_UNSUPPORTED, err,
                     "of gelu, what there is without activation_func: its cost is not known");
        return ss_hint(err, SS_ERR_UNSUPPORTED, "swiglu is activation_func: torch.nn.functional.silu");
    }
    if (ss_tree_is_null(node) || (!gated && !strcmp(name, "gelu")))
        return SS_OK;
    if (!strcmp(name, "swiglu") || (gated && (!strcmp(name, "silu") || !strcmp(name, "swish"))))
        return ss_foreign_flag(f, node, "--swiglu", NULL, err);
    if (gated && !strcmp(name, "quick_gelu"))
        return ss_foreign_flag(f, node, "--quick-geglu", NULL, err);
    return ss_tree_fail(node, SS_ERR_UNSUPPORTED, err, "%.60s%s: its cost is not known", name,
                        gated ? ", gated" : "");
}

/* Names that say nothing beside a layout, or without virtual stages. */
static void skip_stages(const struct ss_tree_node *from)
{
    if (!ss_tree_is_null(ss_tree_find(from, "pipeline_model_parallel_layout")))
        ss_core_skip(from, "virtual_pipeline_model_parallel_size");
    if (ss_tree_is_null(ss_tree_find(from, "virtual_pipeline_model_parallel_size")))
        ss_core_skip(from, "microbatch_group_size_per_vp_stage");
}

/* Names that say nothing where the first one is off. */
static int skip_what_is_off(struct ss_foreign *f, const struct ss_tree_node *from, struct ss_error *err)
{
    const struct ss_tree_node *granularity = ss_tree_find(from, "recompute_granularity"),
                              *graphs = ss_tree_find(from, "cuda_graph_impl"),
                              *dispatcher = ss_tree_find(from, "moe_token_dispatcher_type"),
                              *experts = ss_tree_find(from, "num_moe_experts");
    bool graphed = ss_core_true(from, "enable_cuda_graph") || ss_core_true(from, "external_cuda_graph") ||
                   (!ss_tree_is_null(graphs) && !ss_tree_is(graphs, "none"));

    experts = experts ? experts : ss_tree_find(from, "num_experts");
    if (ss_tree_is_null(granularity))
        ss_core_skip(from, "recompute_*");
    else if (ss_tree_is(granularity, "full"))
        ss_core_skip(from, "recompute_modules");
    if (!graphed)
        ss_core_skip(from, "cuda_graph_* enable_cuda_graph external_cuda_graph");
    if (ss_tree_is_null(experts))
        ss_core_skip(from, "moe_* num_moe_experts num_experts expert_tensor_parallel_size");
    else if (!ss_tree_is(dispatcher, "flex") && !ss_core_true(from, "moe_enable_deepep"))
        ss_core_skip(from, "moe_flex_dispatcher_* moe_deepep_num_sms moe_hybridep_*");
    if (ss_tree_is_null(ss_tree_find(from, "experimental_attention_variant")))
        ss_core_skip(from, "dsa_* gdp_* linear_*");
    if (!ss_core_true(from, "fine_grained_activation_offloading"))
        ss_core_skip(from,
                     "delta_offload_* offload_modules min_offloaded_tensor_size activation_offload_fraction "
                     "fine_grained_offloading_*");
    if (!ss_tree_is(ss_tree_find(from, "position_embedding_type"), "yarn"))
        ss_core_skip(from, "yarn_*");
    if (!ss_core_true(from, "cpu_offloading"))
        ss_core_skip(from, "cpu_offloading*");
    if (!ss_core_true(from, "multi_latent_attention"))
        ss_core_skip(from, "q_lora_rank kv_lora_rank qk_head_dim qk_pos_emb_head_dim v_head_dim");
    skip_stages(from);
    (void)f, (void)err;
    return SS_OK;
}

/* A list as one text: "[0,1,1]", "128,0". */
static int add_list(struct ss_foreign *f, const struct ss_tree_node *from, const char *name, const char *flag,
                    const char *around, struct ss_error *err)
{
    struct ss_tree_node *node = ss_tree_get(from, name);
    char text[1024];
    size_t n = 0;

    if (ss_tree_is_null(node) || node->kind == SS_TREE_MAP)
        return SS_OK;
    ss_tree_take(node);
    if (node->kind == SS_TREE_SCALAR)
        return ss_foreign_flag(f, node, flag, node->text, err);
    n += (size_t)snprintf(text, sizeof text, "%.1s", around);
    for (const struct ss_tree_node *item = node->first; item && n < sizeof text; item = item->next)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", item == node->first ? "" : ",",
                              item->text ? item->text : "?");
    if (n < sizeof text)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s", *around ? around + 1 : "");
    if (n >= sizeof text)
        return ss_tree_fail(node, SS_ERR_INPUT, err, "a list that is too long");
    return ss_foreign_flag(f, node, flag, text, err);
}

int ss_core_lists(struct ss_foreign *f, const struct ss_tree_node *from, struct ss_error *err)
{
    int rc = add_list(f, from, "window_size", "--window-size", "", err);

    rc = rc ? rc : add_list(f, from, "window_attn_skip_freq", "--window-attn-skip-freq", "[]", err);
    if (!rc && !ss_tree_is_null(ss_tree_find(from, "num_moe_experts")))
        rc = add_list(f, from, "moe_layer_freq", "--moe-layer-freq", "[]", err);
    return rc;
}

/* Backends by number, as enums are dumped, or by name. */
static int add_backend(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    static const char *const names[] = {"flash", "fused", "unfused", "local", "auto"};
    const struct ss_tree_node *number = ss_tree_find(node, "_args_.0"), *name = ss_tree_find(node, "_name_");
    const char *text = name ? name->text : node && node->text ? function_of(node) : NULL;
    int64_t i = 0;

    ss_tree_take(node);
    if (!text && ss_tree_whole(number, &i) && i >= 1 && i <= 5)
        text = names[i - 1];
    if (!node || (text && (!strcmp(text, "auto") || !strcmp(text, "local"))))
        return SS_OK;
    return text ? ss_foreign_flag(f, node, "--attention-backend", text, err)
                : ss_tree_fail(node, SS_ERR_INPUT, err, "is no backend that is known here");
}

static char letter_of(const char *layer)
{
    static const char *const names[] = {"embedding", "decoder", "mtp", "loss"};

    for (size_t i = 0; layer && i < SS_ARRAY_LEN(names); i++)
        if (!strcmp(layer, names[i]))
            return "EtmL"[i];
    return 0;
}

/* "Et|tt|tL", or lists of names: [[embedding, decoder], [decoder, loss]]. */
static int add_layout(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    char text[4096];
    size_t n = 0;

    ss_tree_take(node);
    if (!node || node->kind == SS_TREE_SCALAR)
        return node ? ss_foreign_flag(f, node, "--pipeline-model-parallel-layout", node->text, err) : SS_OK;
    for (const struct ss_tree_node *stage = node->first; stage; stage = stage->next) {
        for (const struct ss_tree_node *layer = stage->first; layer && n + 2 < sizeof text;
             layer = layer->next)
            if (!(text[n++] = letter_of(layer->text)))
                return ss_tree_fail(layer, SS_ERR_INPUT, err, "is no layer of a pipeline's layout");
        if (n + 2 >= sizeof text)
            return ss_tree_fail(node, SS_ERR_INPUT, err, "a layout that is too long");
        text[n++] = '|';
    }
    text[n ? n - 1 : 0] = '\0';
    return ss_foreign_flag(f, node, "--pipeline-model-parallel-layout", text, err);
}

/* Interleaving alone can overlap its sends and receives. */
static int add_p2p(struct ss_foreign *f, const struct ss_tree_node *from, struct ss_error *err)
{
    struct ss_tree_node *overlap = ss_tree_get(from, "overlap_p2p_comm");
    int64_t v = 0;

    if (!ss_tree_whole(ss_tree_find(from, "virtual_pipeline_model_parallel_size"), &v) || v < 2 ||
        ss_tree_truth(overlap) != 0)
        return SS_OK;
    return ss_foreign_flag(f, overlap, "--no-overlap-p2p-communication", NULL, err);
}

static int add_group(struct ss_foreign *f, const struct ss_tree_node *from, struct ss_error *err)
{
    static const struct ss_foreign_row row =
        WHOLE("microbatch_group_size_per_vp_stage", "--microbatch-group-size-per-virtual-pipeline-stage");
    const struct ss_tree_node *node = ss_tree_find(from, row.key);

    return node && !node->read ? ss_foreign_map(f, from, &row, 1, err) : SS_OK;
}

/* clang-format off */
#define SPLIT \
    WHOLE("num_layers_in_first_pipeline_stage", "--decoder-first-pipeline-num-layers"), \
    WHOLE("num_layers_in_last_pipeline_stage", "--decoder-last-pipeline-num-layers"), \
    CALL("pipeline_model_parallel_layout", add_layout)
static const struct ss_foreign_row rows[] = {
    FALSE("add_bias_linear", "--disable-bias-linear"),
    FALSE("share_embeddings_and_output_weights", "--untie-embeddings-and-output-weights"),
    FALSE("apply_rope_fusion", "--no-rope-fusion"),
    WHOLE("num_moe_experts", "--num-experts"),
    SPLIT, CALL("attention_backend", add_backend),
    FALSE("cpu_offloading_activations", "--no-cpu-offloading-activations"),
    FALSE("cpu_offloading_weights", "--no-cpu-offloading-weights"),
    REFUSE("num_microbatches_with_partial_activation_checkpoints", NULL, "recompute of some microbatches is not modelled"),
    REFUSE("experimental_attention_variant", NULL, "attention of that kind is not modelled"),
    REFUSE("heterogeneous_block_specs", NULL, "layers of different shapes are not modelled"),
    REFUSE("is_hybrid_model", NULL, "Mamba layers are not modelled"),
    REFUSE("hybrid_layer_pattern", NULL, "Mamba layers are not modelled"),
    REFUSE("hybrid_override_pattern", NULL, "Mamba layers are not modelled"),
    REFUSE("enable_hyper_connections", NULL, "hyper-connections are not modelled"),
    REFUSE("use_kitchen", NULL, "its cost is not known"),
    REFUSE("dense_grouped_gemm", NULL, "its cost is not known"),
    REFUSE("mlp_chunks_for_training", "1", "MLPs cut in chunks are not modelled"),
    REFUSE("gtp_weight_remat_size", "1", "its cost is not known"),
    REFUSE("expert_gtp_weight_remat_size", "1", "its cost is not known"),
    TRUE("overlap_p2p_comm_warmup_flush", "--overlap-p2p-communication-warmup-flush"),
    REFUSE("moe_token_dropping", NULL, "its cost is not known"),
    REFUSE("pipeline_model_parallel_split_rank", NULL, "encoders and decoders are not modelled"),
};
/* clang-format on */
/* Functions, names of things and steps of a set-up. */
static const char harmless[] =
    "perform_initialization use_cpu_initialization init_method output_layer_init_method "
    "embedding_init_method "
    "no_sync_func grad_sync_func param_sync_func grad_scale_func finalize_model_grads_func timers "
    "_cpu_offloading_context barrier_with_L1_time deallocate_pipeline_outputs batch_p2p_comm batch_p2p_sync "
    "use_ring_exchange_p2p variable_seq_lengths layernorm_epsilon layernorm_zero_centered_gamma "
    "bias_activation_fusion clone_scatter_output_in_embedding attention_softmax_in_fp32 softmax_scale "
    "apply_residual_connection_post_layernorm async_tensor_model_parallel_allreduce tp_comm_split_* "
    "tp_comm_atomic_* tp_comm_bulk_* tp_comm_overlap_* tp_comm_bootstrap_backend mtp_enabled test_mode "
    "parallel_output scatter_embedding_sequence_parallel seq_len_interpolation_factor generation_config "
    "transformer_layer_spec config_logger_dir flash_decode inference_* mamba_* wgrad_deferral_limit "
    "hetereogenous_dist_checkpoint restore_modelopt_state symmetric_ar_type use_te_rng_tracker "
    "memory_efficient_layer_norm rotary_* scale_factor high_freq_factor low_freq_factor old_context_len "
    "microbatch_group_size_per_vp_stage quant_recipe _target_ _pg_collection mhc_* kitchen_* "
    "batch_invariant_* "
    "activation_func_fp8_input_store disable_parameter_transpose_cache experimental_attention_variant* "
    "fused_single_qkv_rope hf_model_* logit_dtype mtp_grad_scale_func rope_scaling tp_only_amax_red "
    "use_arbitrary_attention_mask use_inference_optimized_layers use_mamba_mem_eff_path "
    "use_transformer_engine_full_layer_spec mlp_chunks_for_prefill";

int ss_core_names(struct ss_foreign *f, const struct ss_tree_node *from, struct ss_error *err)
{
    int rc = skip_what_is_off(f, from, err);

    rc = rc ? rc : add_activation(f, from, err);
    rc = rc ? rc : add_p2p(f, from, err);
    rc = rc ? rc : ss_core_lists(f, from, err);
    for (size_t i = 0; i < SS_ARRAY_LEN(rows) && !rc; i++) {
        const struct ss_tree_node *node = ss_tree_find(from, rows[i].key);
        if (!node || !node->read) /* what is off is read already */
            rc = ss_foreign_map(f, from, &rows[i], 1, err);
    }
    rc = rc ? rc : add_group(f, from, err);
    ss_core_skip(from, harmless);
    return rc ? rc : ss_foreign_by_name(f, from, err);
}

int ss_core_stages(struct ss_foreign *f, const struct ss_tree_node *from, struct ss_error *err)
{
    static const struct ss_foreign_row virtual_stages = WHOLE("virtual_pipeline_model_parallel_size",
                                                              "--virtual-pipeline-model-parallel-size"),
                                       stages[] = {
                                           SPLIT,
                                           TRUE("account_for_embedding_in_pipeline_split",
                                                "--account-for-embedding-in-pipeline-split"),
                                           TRUE("account_for_loss_in_pipeline_split",
                                                "--account-for-loss-in-pipeline-split"),
                                       };
    const struct ss_tree_node *v = ss_tree_find(from, virtual_stages.key);

    skip_stages(from);
    int rc = v && !v->read ? ss_foreign_map(f, from, &virtual_stages, 1, err) : SS_OK;
    rc = rc ? rc : ss_foreign_map(f, from, stages, SS_ARRAY_LEN(stages), err);
    return rc ? rc : add_group(f, from, err);
}
