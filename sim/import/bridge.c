/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Megatron-Bridge (NeMo 2): the ConfigContainer that a recipe resolves to, as scripts/performance/dump_perf_configs.py and the log of
 * a run write it (NVIDIA-NeMo/Megatron-Bridge@067f987: src/megatron/bridge/training/{config,mixed_precision,comm_overlap}.py).
 */
#include <string.h>

#include "base/base.h"
#include "import/core_names.h"
#include "import/foreign_rows.h"

#define STACK "megatron-bridge-26.06"

static bool knows(const struct ss_tree_node *root)
{
    const struct ss_tree_node *target = ss_tree_find(root, "_target_"),
                              *model = ss_tree_find(root, "model._target_");

    return ss_tree_find(root, "train.micro_batch_size") && ss_tree_find(root, "model") &&
           ((target && target->text && strstr(target->text, "ConfigContainer")) ||
            (model && model->text && strstr(model->text, "megatron.bridge")));
}

/* ---- precision: that of mixed_precision beats the model's, the optimizer's and DDP's ---- */

#define FP8(recipe, more) "--bf16 --fp8-format " recipe " " more
static const struct ss_foreign_row named_precision[] = {
    CHOICE(
        "mixed_precision",
        "bf16_mixed=--bf16;fp16_mixed=--fp16;"
        "bf16_with_fp8_delayed_scaling_mixed=" FP8(
            "hybrid",
            "--fp8-recipe delayed --fp8-param-gather") ";"
                                                       "bf16_with_fp8_current_scaling_mixed=" FP8(
                                                           "hybrid",
                                                           "--fp8-recipe tensorwise --fp8-param-gather "
                                                           "--first-last-layers-bf16") ";"
                                                                                       "bf16_with_fp8_"
                                                                                       "subchannel_scaling_"
                                                                                       "mixed=" FP8(
                                                                                           "hybrid",
                                                                                           "--fp8-recipe "
                                                                                           "blockwise") ";"
                                                                                                        "bf16"
                                                                                                        "_wit"
                                                                                                        "h_"
                                                                                                        "mxfp"
                                                                                                        "8_"
                                                                                                        "mixe"
                                                                                                        "d"
                                                                                                        "=" FP8(
                                                                                                            "e4m3",
                                                                                                            "--fp8-recipe mxfp8 --fp8-param-gather") ";"
                                                                                                                                                     "bf16_with_nvfp4_mixed=--bf16 --fp4-format e2m1 --fp4-recipe nvfp4 --fp4-param-gather;"
                                                                                                                                                     "*=!a recipe of precision that is not known here"),
};

static int add_precision(struct ss_foreign *f, const struct ss_tree_node *root, struct ss_error *err)
{
    struct ss_tree_node *mixed = ss_tree_get(root, "mixed_precision"), *model = ss_tree_find(root, "model");
    int rc;

    if (ss_tree_is_null(mixed)) {
        rc = ss_core_precision(f, model, err);
        return rc ? rc : ss_core_reduction(f, ss_tree_find(root, "ddp"), err);
    }
    if (mixed->kind == SS_TREE_SCALAR)
        rc = ss_foreign_map(f, root, named_precision, 1, err);
    else {
        rc = ss_core_precision(f, mixed, err);
        rc = rc ? rc : ss_core_reduction(f, mixed, err);
    }
    ss_tree_take(mixed);
    ss_core_skip(model, "bf16 fp16 fp8 fp8_* fp4 fp4_* first_last_layers_bf16 num_layers_at_start_in_bf16 "
                        "num_layers_at_end_in_bf16 params_dtype pipeline_dtype autocast_* enable_autocast");
    ss_core_skip(ss_tree_find(root, "ddp"), "grad_reduce_in_fp32 fp8_param_gather");
    return rc;
}

/* ---- the rest ---- */

/* Either switch, as ConfigContainer.validate sets both. */
static int add_fsdp(struct ss_foreign *f, struct ss_tree_node *ddp, struct ss_error *err)
{
    struct ss_tree_node *dist = ss_tree_find(ss_tree_root(f->tree), "dist"),
                        *torch = ss_tree_find(dist, "use_torch_fsdp2");
    const struct ss_tree_node *node = NULL, *said[] = {ss_tree_get(ddp, "use_megatron_fsdp"),
                                                       ss_tree_get(ddp, "use_custom_fsdp"),
                                                       ss_tree_get(dist, "use_megatron_fsdp")};

    for (size_t i = 0; i < SS_ARRAY_LEN(said); i++)
        node = !node && ss_tree_truth(said[i]) == 1 ? said[i] : node;
    if (node && ss_tree_truth(torch) == 1)
        return ss_tree_fail(torch, SS_ERR_CONFIG, err,
                            "use_megatron_fsdp and use_torch_fsdp2 are mutually exclusive");
    int rc = node ? ss_foreign_flag(f, node, "--use-megatron-fsdp", NULL, err) : SS_OK;
    return rc ? rc : ss_core_ddp(f, ddp, node != NULL, err);
}

static int add_vocabulary(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    struct ss_tree_node *pad = ss_tree_get(ss_tree_root(f->tree), "model.should_pad_vocab"),
                        *tokens = ss_tree_find(ss_tree_root(f->tree), "tokenizer.vocab_size");

    if (!node && !ss_tree_is_null(tokens) && tokens->text)
        return ss_foreign_flag(f, tokens, "--vocab-size", tokens->text, err);
    if (!node || !node->text)
        return SS_OK;
    return ss_foreign_flag(f, node, ss_tree_truth(pad) == 0 ? "--padded-vocab-size" : "--vocab-size",
                           node->text, err);
}

static int add_sequence(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    static const char *const paths[] = {"dataset.seq_length", "dataset.sequence_length", "model.seq_length"};
    struct ss_tree_node *found = NULL;

    for (size_t i = 0; i < SS_ARRAY_LEN(paths); i++) {
        struct ss_tree_node *n = ss_tree_get(ss_tree_root(f->tree), paths[i]);
        found = found || ss_tree_is_null(n) ? found : n;
    }
    (void)node;
    return found && found->text ? ss_foreign_flag(f, found, "--seq-length", found->text, err) : SS_OK;
}

static int add_rampup(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    ss_tree_take(node);
    if (node)
        ss_foreign_assume(f, "the global batch has grown to its full size (train.rampup_batch_size)");
    (void)err;
    return SS_OK;
}

static int add_stack(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    (void)node;
    ss_foreign_assume(f, "Megatron-Bridge 26.06 (--stack " STACK "); --stack says another release");
    return ss_foreign_flag(f, NULL, "--stack", STACK, err);
}

/* clang-format off */
static const struct ss_foreign_row rows[] = {
    CALL("", add_stack),
    REFUSE("peft", NULL, "training of a part of the parameters (LoRA) is not modelled"),
    REFUSE("dataset.packed_sequence_specs", NULL, "give the lengths by --packed-lengths"),
    REFUSE("dataset.enable_offline_packing", NULL, "give the lengths by --packed-lengths"),
    WHOLE("train.micro_batch_size", "--micro-batch-size"), WHOLE("train.global_batch_size", "--global-batch-size"),
    CALL("train.rampup_batch_size", add_rampup), CALL("dataset", add_sequence),
    CALL("model.vocab_size", add_vocabulary),
    TRUE("ddp.use_distributed_optimizer", "--use-distributed-optimizer"),
    WHOLE("ddp.num_distributed_optimizer_instances", "--num-distributed-optimizer-instances"),
    CALL("ddp", add_fsdp), CALL("optimizer", ss_core_optimizer),
    TRUE("optimizer.overlap_cpu_optimizer_d2h_h2d", "--overlap-cpu-optimizer-d2h-h2d"),
    TRUE("optimizer.use_torch_optimizer_for_cpu_offload", "--use-torch-optimizer-for-cpu-offload"),
    TRUE("optimizer.log_num_zeros_in_grad", "--log-num-zeros-in-grad"), TRUE("optimizer.optimizer_cuda_graph", "--optimizer-cuda-graph"),
    TRUE("train.decrease_batch_size_if_needed", "--decrease-batch-size-if-needed"),
    CHOICE("train.empty_unused_memory_level", "0=;1=--empty-unused-memory-level 1;2=--empty-unused-memory-level 2"),
    TRUE("dist.use_tp_pp_dp_mapping", "--use-tp-pp-dp-mapping"), TRUE("dist.use_torch_fsdp2", "--use-torch-fsdp2"),
    TRUE("dist.use_sharp", "--use-sharp"), TRUE("dist.disable_jit_fuser", "--disable-jit-fuser"), FALSE("dist.align_grad_reduce", "--no-align-grad-reduce"),
    VALUE("dist.nccl_communicator_config_path", "--nccl-communicator-config-path"),
    TRUE("dataset.reset_attention_mask", "--reset-attention-mask"),
};
static const struct ss_foreign_row rest[] = {
    NONE("_target_"), NONE("model._target_"), NONE("validation"),
    NONE("optimizer_config_override_provider"), NONE("scheduler"), NONE("logger"), NONE("tokenizer"), NONE("checkpoint"),
    NONE("rng"), NONE("rerun_state_machine"), NONE("ft"), NONE("straggler"), NONE("nvrx_straggler"), NONE("profiling"),
    NONE("inprocess_restart"), NONE("tensor_inspect"), NONE("env_vars"),
};
/* clang-format on */

/* Names without effect on time or memory of a step; what else there is, is told. */
static const char *const harmless[][2] = {
    {"train", "_target_ train_iters train_samples num_epochs _train_iters_from_num_epochs exit_* manual_gc* "
              "iterations_to_skip check_* gpu_sniff_test_interval train_sync_interval "
              "skip_sync_grad_norm_across_mp eval_* "
              "skip_train"},
    {"dist", "_target_ distributed_backend distributed_timeout_* local_rank lazy_* use_gloo_process_groups "
             "sharp_enabled_group high_priority_stream_groups flight_recorder_* "
             "external_gpu_device_mapping enable_megatron_core_experimental use_decentralized_pg eval_*"},
    {"dataset",
     "_target_ random_seed seed blend* data_path per_dataset_sequences_path multiple_* full_validation "
     "split* num_* "
     "path_to_cache mmap_* mock tokenizer mid_level_dataset_surplus allow_ambiguous_pad_tokens "
     "fast_cache_load "
     "defer_npy_index_mmap reset_position_ids eod_mask_loss create_attention_mask drop_last* "
     "add_extra_token_to_sequence object_storage_cache_path data_parallel_size sequences_per_dataset "
     "token_dtype_code dataloader_* data_sharding pin_memory persistent_workers trust_remote_code "
     "skip_getting_* "
     "dataset_root dataset_name dataset_subset dataset_dict dataset_kwargs hf_* memmap_workers "
     "max_train_samples "
     "preprocessing do_validation do_test rewrite delete_raw val_proportion process_example_fn "
     "offline_packing_specs"},
    {"optimizer",
     "_target_ lr min_lr decoupled_* lr_* weight_decay* apply_wd_* fp8_recipe fp16 bf16 params_dtype "
     "reuse_grad_buf_for_mxfp8_param_ag store_param_remainders loss_scale* initial_loss_scale min_loss_scale "
     "hysteresis adam_* sgd_* lion_* use_distributed_optimizer overlap_param_gather* align_param_gather "
     "pin_cpu_* "
     "muon_* adaptive_muon_* soap_* grad_norm_skip_threshold timers config_logger_dir barrier_with_L1_time "
     "optimizer_offload_fraction main_grads_dtype main_params_dtype exp_avg_dtype exp_avg_sq_dtype start_* "
     "end_*"},
};

static int read(struct ss_foreign *f, struct ss_error *err)
{
    const struct ss_tree_node *root = ss_tree_root(f->tree);
    int rc = ss_foreign_map(f, root, rows, SS_ARRAY_LEN(rows), err);

    rc = rc ? rc : add_precision(f, root, err);
    rc = rc ? rc
            : ss_core_overlaps(f, ss_tree_get(root, "comm_overlap"), ss_tree_find(root, "ddp"),
                               ss_tree_find(root, "model"),
                               ss_core_true(ss_tree_find(root, "ddp"), "use_distributed_optimizer"), err);
    rc = rc ? rc : ss_core_names(f, ss_tree_get(root, "model"), err);
    for (size_t i = 0; i < SS_ARRAY_LEN(harmless); i++)
        ss_core_harmless(f, ss_tree_find(root, harmless[i][0]), harmless[i][1]);
    return rc ? rc : ss_foreign_map(f, root, rest, SS_ARRAY_LEN(rest), err);
}

const struct ss_foreign_kind ss_foreign_bridge = {"Megatron-Bridge", knows, read, true, false};
