/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NeMo 2: a recipe of nemo.collections.llm as NeMo-Run writes it (NVIDIA/NeMo@v2.3.0: nemo/collections/llm/{recipes,gpt/model},
 * nemo/lightning/pytorch/strategies/megatron_strategy.py, nemo/lightning/_strategy_lib.py).
 */
#include <string.h>

#include "base/base.h"
#include "import/core_names.h"
#include "import/foreign_rows.h"

#define STACK "nemo-25.03"

static bool names(const struct ss_tree_node *node, const char *part)
{
    const struct ss_tree_node *target = ss_tree_find(node, "_target_");

    return target && target->text && strstr(target->text, part);
}

static bool knows(const struct ss_tree_node *root)
{
    return names(ss_tree_find(root, "trainer.strategy"), "MegatronStrategy") &&
           ss_tree_find(root, "model.config._target_");
}

/* The first of a list whose class has this name, or the node itself; NULL: none. */
static struct ss_tree_node *find_class(struct ss_tree_node *node, const char *part)
{
    if (!node || node->kind != SS_TREE_LIST)
        return names(node, part) ? node : NULL;
    for (struct ss_tree_node *n = node->first; n; n = n->next)
        if (names(n, part))
            return n;
    return NULL;
}

/* Classes of configurations, whose shapes are in their code; each field of the file beats its class. */
static int add_model(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    static const char *const models[][2] = {
        {"Llama2Config7B", "llama2-7b"},       {"Llama2Config13B", "llama2-13b"},
        {"Llama2Config70B", "llama2-70b"},     {"Llama3Config8B", "llama3-8b"},
        {"Llama3Config70B", "llama3-70b"},     {"Llama31Config8B", "llama3.1-8b"},
        {"Llama31Config70B", "llama3.1-70b"},  {"Llama31Config405B", "llama3.1-405b"},
        {"Llama32Config1B", "llama3.2-1b"},    {"Llama32Config3B", "llama3.2-3b"},
        {"MistralConfig7B", "mistral-7b"},     {"MistralNeMoConfig12B", "mistral-nemo-12b"},
        {"MixtralConfig8x7B", "mixtral-8x7b"}, {"MixtralConfig8x22B", "mixtral-8x22b"},
        {"GPTConfig175B", "gpt3-175b"},        {"DeepSeekV3Config", "deepseek-v3"},
    };
    const char *dot = node && node->text ? strrchr(node->text, '.') : NULL, *name = dot ? dot + 1 : "";

    for (size_t i = 0; i < SS_ARRAY_LEN(models); i++)
        if (!strcmp(name, models[i][0]))
            return ss_foreign_flag(f, node, "--model", models[i][1], err);
    if (ss_tree_find(ss_tree_root(f->tree), "model.config.num_layers")) {
        ss_foreign_assume(f, "fields of %s that the file leaves out are Megatron-LM's defaults",
                          name[0] ? name : "model.config");
        return SS_OK;
    }
    if (!node) /* the key is there, see knows(), without a value */
        return ss_tree_fail(ss_tree_find(ss_tree_root(f->tree), "model.config"), SS_ERR_INPUT, err,
                            "_target_ names no class, and there is no num_layers");
    return ss_tree_fail(node, SS_ERR_UNSUPPORTED, err,
                        "the shape of \"%.80s\" is in its code, which is not known here", name);
}

/* What trainer.strategy says of itself: NeMo sets it in model.config, with its own defaults (set_model_parallel_attributes). */
#define PARALLELISM                                                                                          \
    "tensor_model_parallel_size pipeline_model_parallel_size pipeline_model_parallel_comm_backend "          \
    "num_layers_in_first_pipeline_stage num_layers_in_last_pipeline_stage "                                  \
    "virtual_pipeline_model_parallel_size microbatch_group_size_per_vp_stage context_parallel_size "         \
    "sequence_parallel expert_model_parallel_size expert_tensor_parallel_size moe_extended_tp "              \
    "encoder_tensor_model_parallel_size encoder_pipeline_model_parallel_size "                               \
    "account_for_embedding_in_pipeline_split account_for_loss_in_pipeline_split pipeline_dtype "             \
    "use_te_rng_tracker use_tp_pp_dp_mapping"

static int add_stages(struct ss_foreign *f, struct ss_tree_node *strategy, struct ss_error *err)
{
    const struct ss_tree_node *config = ss_tree_find(ss_tree_root(f->tree), "model.config");

    for (const struct ss_tree_node *n = config->first; n; n = n->next)
        if (n->key && ss_has_word(PARALLELISM, n->key) && !ss_tree_is_null(n) && ss_tree_truth(n) != 0 &&
            !ss_tree_find(strategy, n->key))
            ss_foreign_assume(f, "model.config.%.60s says nothing: NeMo sets trainer.strategy's, its default",
                              n->key);
    ss_core_skip(config, PARALLELISM);
    return ss_core_stages(f, strategy, err);
}

/* "use_custom_fsdp" until Megatron core 0.13. */
static int add_fsdp(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    struct ss_tree_node *ddp = ss_tree_find(ss_tree_root(f->tree), "trainer.strategy.ddp"),
                        *own = ss_tree_get(ddp, "use_megatron_fsdp"),
                        *old = ss_tree_get(ddp, "use_custom_fsdp");

    if (ss_tree_is(ddp, "megatron")) /* with all its defaults */
        ss_tree_take(ddp);
    if (node && ss_tree_is(node, "pytorch"))
        return ss_foreign_flag(f, node, "--use-torch-fsdp2", NULL, err);
    node = node ? node : ss_tree_truth(own) == 1 ? own : ss_tree_truth(old) == 1 ? old : NULL;
    int rc = node ? ss_foreign_flag(f, node, "--use-megatron-fsdp", NULL, err) : SS_OK;
    return rc ? rc : ss_core_ddp(f, ddp, node != NULL, err);
}

/* Later releases have the strategy's, which they set in its `ddp`. */
static int add_instances(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    static const char name[] = "num_distributed_optimizer_instances";
    struct ss_tree_node *own = ss_tree_get(ss_tree_find(ss_tree_root(f->tree), "trainer.strategy.ddp"), name);

    node = node ? node : own;
    return ss_tree_is_null(node) || !node->text
               ? SS_OK
               : ss_foreign_flag(f, node, "--num-distributed-optimizer-instances", node->text, err);
}

static int add_precision(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    static const struct ss_foreign_row kind =
        CHOICE("precision", "bf16-mixed=--bf16;bf16=--bf16;16-mixed=--fp16;16=--fp16;32=");
    struct ss_tree_node *plugin = find_class(node, "MixedPrecision"),
                        *ddp = ss_tree_find(ss_tree_root(f->tree), "trainer.strategy.ddp");

    if (!plugin)
        return SS_OK;
    int rc = ss_foreign_map(f, plugin, &kind, 1, err);
    rc = rc ? rc : ss_core_precision(f, plugin, err);
    rc = rc ? rc : ss_core_reduction(f, ss_tree_find(plugin, "grad_reduce_in_fp32") ? plugin : ddp, err);
    ss_core_skip(ddp, "grad_reduce_in_fp32");
    ss_tree_take(plugin);
    return rc;
}

/* MegatronTokenDropCallback, whose values beat the model's, its defaults too. */
static int add_token_drop(struct ss_foreign *f, struct ss_tree_node *list, struct ss_error *err)
{
    struct ss_tree_node *drop = find_class(list, "MegatronTokenDropCallback"),
                        *factor = ss_tree_get(drop, "moe_expert_capacity_factor"),
                        *pad = ss_tree_get(drop, "moe_pad_expert_input_to_capacity");
    const char *text = ss_tree_is_null(factor) || !factor->text ? "1.0" : factor->text;
    int rc = SS_OK;

    if (!drop)
        return SS_OK;
    ss_core_skip(drop, "_target_");
    ss_core_skip(ss_tree_find(ss_tree_root(f->tree), "model.config"),
                 "moe_expert_capacity_factor moe_pad_expert_input_to_capacity");
    if (text[0] == '-' && ss_tree_truth(pad) != 0)
        return ss_tree_fail(factor, SS_ERR_CONFIG, err,
                            "must be set to use moe_pad_expert_input_to_capacity, which is true by default");
    if (text[0] != '-')
        rc = ss_foreign_flag(f, ss_tree_is_null(factor) ? drop : factor, "--moe-expert-capacity-factor", text,
                             err);
    if (!rc && ss_tree_truth(pad) != 0)
        rc = ss_foreign_flag(f, ss_tree_is_null(pad) ? drop : pad, "--moe-pad-expert-input-to-capacity", NULL,
                             err);
    return rc;
}

static int add_overlaps(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    const struct ss_tree_node *root = ss_tree_root(f->tree);
    struct ss_tree_node *overlap = find_class(node, "MegatronCommOverlapCallback");
    bool sharded = ss_core_true(ss_tree_find(root, "optim.config"), "use_distributed_optimizer");

    int rc = ss_core_overlaps(f, overlap, ss_tree_find(root, "trainer.strategy.ddp"),
                              ss_tree_find(root, "model.config"), sharded, err);
    return rc ? rc : add_token_drop(f, node, err);
}

static int add_sequence(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    struct ss_tree_node *model = ss_tree_get(ss_tree_root(f->tree), "model.config.seq_length");

    node = node ? node : model;
    return ss_tree_is_null(node) || !node->text ? SS_OK
                                                : ss_foreign_flag(f, node, "--seq-length", node->text, err);
}

static int add_stack(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    (void)node;
    ss_foreign_assume(f, "NeMo 25.03 (--stack " STACK "); --stack says another release");
    return ss_foreign_flag(f, NULL, "--stack", STACK, err);
}

/* clang-format off */
static const struct ss_foreign_row rows[] = {
    CALL("", add_stack), CALL("model.config._target_", add_model),
    REFUSE("data.packed_sequence_specs", NULL, "give the lengths by --packed-lengths"),
    REFUSE("peft", NULL, "training of a part of the parameters (LoRA) is not modelled"),
    WHOLE("trainer.num_nodes", "--nodes"), WHOLE("trainer.devices", "--gpus-per-node"),
    WHOLE("data.micro_batch_size", "--micro-batch-size"), WHOLE("data.global_batch_size", "--global-batch-size"),
    CALL("data.seq_length", add_sequence),
    WHOLE("trainer.strategy.tensor_model_parallel_size", "--tensor-model-parallel-size"),
    WHOLE("trainer.strategy.pipeline_model_parallel_size", "--pipeline-model-parallel-size"),
    CALL("trainer.strategy", add_stages),
    WHOLE("trainer.strategy.context_parallel_size", "--context-parallel-size"),
    WHOLE("trainer.strategy.expert_model_parallel_size", "--expert-model-parallel-size"),
    WHOLE("trainer.strategy.expert_tensor_parallel_size", "--expert-tensor-parallel-size"),
    TRUE("trainer.strategy.sequence_parallel", "--sequence-parallel"),
    TRUE("trainer.strategy.use_tp_pp_dp_mapping", "--use-tp-pp-dp-mapping"), TRUE("trainer.strategy.use_sharp", "--use-sharp"),
    CALL("trainer.strategy.num_distributed_optimizer_instances", add_instances), CALL("trainer.strategy.fsdp", add_fsdp),
    REFUSE("trainer.strategy.encoder_tensor_model_parallel_size", NULL, "encoders and decoders are not modelled"),
    REFUSE("trainer.strategy.encoder_pipeline_model_parallel_size", NULL, "encoders and decoders are not modelled"),
    REFUSE("trainer.strategy.moe_extended_tp", NULL, "take expert_tensor_parallel_size"),
    REFUSE("trainer.accumulate_grad_batches", "1", "NeMo accumulates by global_batch_size alone"),
    REFUSE("trainer.deterministic", NULL, "deterministic kernels are not modelled"),
    REFUSE("trainer.detect_anomaly", NULL, "its cost is not known"),
    TRUE("optim.config.use_distributed_optimizer", "--use-distributed-optimizer"),
    CALL("optim.config", ss_core_optimizer), CALL("trainer.plugins", add_precision), CALL("trainer.callbacks", add_overlaps),
};
static const struct ss_foreign_row rest[] = {
    NONE("_target_"), NONE("_partial_"), NONE("model._target_"), NONE("model.tokenizer"), NONE("model.optim"), NONE("data"), NONE("optim"), NONE("log"), NONE("resume"),
    NONE("tokenizer"), NONE("model.config.model_name"),
};
/* clang-format on */

/* Lightning's, NeMo's strategy's and callbacks' names without effect on time or memory of a step. */
static void skip_harmless(struct ss_foreign *f)
{
    static const char *const callbacks[] = {"Timing",     "GarbageCollection", "Nsys",    "Checkpoint",
                                            "Preemption", "Debugger",          "Memory",  "Progress",
                                            "FLOPs",      "ParityCh",          "Monitor", "Stopping",
                                            "Straggler",  "FaultTol"};
    struct ss_tree_node *trainer = ss_tree_find(ss_tree_root(f->tree), "trainer"),
                        *list = ss_tree_find(trainer, "callbacks");

    for (size_t i = 0; i < SS_ARRAY_LEN(callbacks); i++)
        for (struct ss_tree_node *n = list && list->kind == SS_TREE_LIST ? list->first : list; n;
             n = n == list ? NULL : n->next)
            if (names(n, callbacks[i]))
                ss_tree_take(n);
    ss_core_harmless(
        f, ss_tree_find(trainer, "strategy"),
        "_target_ find_unused_parameters gradient_as_bucket_view ckpt_* save_ckpt_format lazy_init "
        "pipeline_dtype use_te_rng_tracker setup_optimizers init_model_parallel progress_interval "
        "replace_progress_bar restore_config megatron_log_level use_gloo_process_groups "
        "parallel_devices cluster_environment checkpoint_io data_sampler no_ddp_communication_hook");
    ss_core_harmless(
        f, trainer,
        "_target_ accelerator logger fast_dev_run max_* min_* limit_* overfit_batches val_check_interval "
        "check_val_every_n_epoch num_sanity_val_steps log_every_n_steps enable_* inference_mode "
        "use_distributed_sampler profiler barebones benchmark default_root_dir model_registry "
        "reload_dataloaders_every_n_epochs sync_batchnorm");
}

static int read(struct ss_foreign *f, struct ss_error *err)
{
    const struct ss_tree_node *root = ss_tree_root(f->tree);
    int rc = ss_foreign_map(f, root, rows, SS_ARRAY_LEN(rows), err);

    rc = rc ? rc : ss_core_names(f, ss_tree_find(root, "model.config"), err);
    skip_harmless(f);
    return rc ? rc : ss_foreign_map(f, root, rest, SS_ARRAY_LEN(rest), err);
}

const struct ss_foreign_kind ss_foreign_nemo2 = {"NeMo 2", knows, read, true, false};
