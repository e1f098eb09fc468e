/* SPDX-License-Identifier: Apache-2.0 */
/* Hugging Face's Trainer: what of its three configurations sets nothing here. */
#include <string.h>

#include "base/base.h"
#include "import/hf.h"

/* Arguments of the Trainer, of trl and of LLaMA-Factory without effect on time or memory of a training step. */
static const char fine[] =
    "output_dir overwrite_output_dir do_train do_eval do_predict eval_strategy evaluation_strategy "
    "prediction_loss_only "
    "per_device_eval_batch_size per_gpu_eval_batch_size eval_accumulation_steps eval_delay learning_rate "
    "weight_decay adam_beta1 adam_beta2 adam_epsilon num_train_epochs max_steps lr_scheduler_type "
    "lr_scheduler_kwargs warmup_ratio warmup_steps num_warmup_steps log_level log_level_replica "
    "log_on_each_node "
    "logging_dir logging_strategy logging_first_step logging_steps logging_nan_inf_filter save_strategy "
    "save_steps "
    "save_total_limit save_safetensors save_on_each_node save_only_model "
    "restore_callback_states_from_checkpoint seed "
    "data_seed local_rank ddp_backend ddp_timeout ddp_find_unused_parameters ddp_bucket_cap_mb "
    "ddp_broadcast_buffers dataloader_drop_last dataloader_num_workers dataloader_pin_memory "
    "dataloader_persistent_workers dataloader_prefetch_factor eval_steps past_index run_name disable_tqdm "
    "remove_unused_columns label_names load_best_model_at_end metric_for_best_model greater_is_better "
    "ignore_data_skip report_to project push_to_hub hub_model_id hub_strategy hub_token "
    "resume_from_checkpoint "
    "gradient_checkpointing_kwargs include_inputs_for_metrics torchdynamo ray_scope "
    "skip_memory_metrics "
    "neftune_noise_alpha label_smoothing_factor length_column_name accelerator_config "
    "average_tokens_across_devices "
    "trust_remote_code use_fast_tokenizer tokenizer_name cache_dir model_revision token use_auth_token "
    "low_cpu_mem_usage dataset dataset_name dataset_config_name dataset_text_field dataset_num_proc "
    "dataset_dir "
    "train_file validation_file validation_split_percentage max_train_samples max_eval_samples "
    "preprocessing_num_workers overwrite_cache streaming keep_linebreaks data_path eval_data_path "
    "lazy_preprocess "
    "template max_samples plot_loss val_size eval_dataset mix_strategy interleave_probs buffer_size "
    "media_dir "
    "tool_format default_system enable_thinking train_on_prompt mask_history ignore_pad_token_for_loss "
    "tokenized_path preprocessing_batch_size eval_num_beams data_shared_file_system print_param_status "
    "use_swanlab compute_accuracy disable_shuffling include_num_input_tokens_seen tracker_project_name "
    "with_tracking checkpointing_steps hf_hub_token packing block_size data_split deepspeed finetuning_type "
    "stage "
    "fp16_opt_level fp16_full_eval bf16_full_eval half_precision_backend tf32 save_interval num_workers "
    "torch_empty_cache_steps add_eos_token use_reentrant_gc upcast_layernorm min_num_params dataset_path "
    "max_grad_norm gradient_clipping fsdp_min_num_params fsdp_transformer_layer_cls_to_wrap config "
    "print_loss "
    "enable_tensorboard tensorboard_path freeze_vision_tower freeze_multi_modal_projector";

/* clang-format off */
#define FINE(path) {path, "*", NULL},
#define BF16(key) FINE("deepspeed.bf16." key)
#define FP16(key) FINE("deepspeed.fp16." key)
#define ZERO(key) FINE("deepspeed.zero_optimization." key)
#define STATES(key) FINE("deepspeed.zero_optimization.offload_optimizer." key)
#define PARAM(key) FINE("deepspeed.zero_optimization.offload_param." key)
#define SHARDED(key) FINE("args.fsdp_config." key) FINE("args.fsdp_config.fsdp_" key) FINE("accelerate.fsdp_config.fsdp_" key)
#define PLUGIN(key) FINE("accelerate.deepspeed_config." key)
#define DEGREES(key) FINE("accelerate.parallelism_config.parallelism_config_" key)
#define ON_HOST "FSDP with parameters on the host is not modelled"
#define PLUS_PLUS "ZeRO++ is not modelled"
static const struct ss_trainer_rule rules[] = {
    /* ---- arguments ---- */
    {"args.use_peft", "false", "LoRA is not modelled: weights are frozen, gradients are of adapters"},
    {"args.use_lora", "false", "LoRA is not modelled: weights are frozen, gradients are of adapters"},
    {"args.lora_dim", "0", "LoRA is not modelled: weights are frozen, gradients are of adapters"},
    {"args.adapter_name_or_path", "", "adapters are not modelled: weights are frozen"},
    {"args.load_in_4bit", "false", "quantized weights are not modelled"},
    {"args.load_in_8bit", "false", "quantized weights are not modelled"},
    {"args.quantization_bit", "0", "quantized weights are not modelled"},
    {"args.full_determinism", "false", "deterministic kernels are not modelled"},
    {"args.use_galore", "false", "the optimizer GaLore is not modelled"},
    {"args.use_apollo", "false", "the optimizer APOLLO is not modelled"},
    {"args.use_badam", "false", "BAdam, which trains some layers at a time, is not modelled"},
    {"args.use_adam_mini", "false", "the optimizer Adam-mini is not modelled"},
    {"args.use_muon", "false", "Muon is not modelled in Hugging Face's Trainer"},
    {"args.adafactor", "false", "the optimizer Adafactor is not modelled"},
    {"args.use_llama_pro", "false", "layers that are frozen are not modelled"},
    {"args.use_unsloth", "false", "Unsloth's kernels are not modelled"},
    {"args.use_unsloth_gc", "false", "activations on the host (use_unsloth_gc) are not modelled"},
    {"args.use_kt", "false", "KTransformers is not modelled"},
    {"args.use_mca", "false", "mcore_adapter is not read: give Megatron-LM's own flags"},
    {"args.use_megatron_bridge", "false", "give the configuration that Megatron-Bridge writes out"},
    {"args.use_hyper_parallel", "false", "hyper parallelism is not modelled"},
    {"args.use_asft_loss", "false", "a loss with a second model is not modelled"},
    {"args.mixture_of_depths", "", "mixture of depths is not modelled"},
    {"args.shift_attn", "false", "shifted sparse attention is not modelled"},
    {"args.group_by_length", "false", "rows of unlike lengths are not modelled: take packing"},
    {"args.use_cpu", "false", "training without GPUs is not modelled"},
    {"args.offload", "false", "ZeRO-Offload of parameters is not modelled"},
    {"args.optim_target_modules", "", "an optimizer of some modules alone is not modelled"},
    {"args.config_overrides", "", "a shape by --config_overrides is not read: give --model config.json"},
    {"args.tp_size", "0 1", "tensor parallelism of the Trainer is not read: give --tp"},
    {"args.only_optimize_lora", "false", "LoRA is not modelled"},
    SHARDED("version") SHARDED("min_num_params") SHARDED("transformer_layer_cls_to_wrap")
    SHARDED("auto_wrap_policy") SHARDED("backward_prefetch") SHARDED("backward_prefetch_policy")
    SHARDED("forward_prefetch") SHARDED("limit_all_gathers") SHARDED("use_orig_params")
    SHARDED("sync_module_states") SHARDED("cpu_ram_efficient_loading") SHARDED("state_dict_type")
    SHARDED("activation_checkpointing") SHARDED("reshard_after_forward") SHARDED("sharding_strategy")
    {"args.fsdp_config.cpu_offload", "false", ON_HOST}, {"args.fsdp_config.offload_params", "false", ON_HOST},
    {"args.fsdp_config.fsdp_offload_params", "false", ON_HOST}, {"accelerate.fsdp_config.fsdp_offload_params", "false", ON_HOST},
    {"args.fsdp_config.xla", "false", "training without GPUs is not modelled"},
    /* ---- DeepSpeed ---- */
    FINE("deepspeed.steps_per_print") FINE("deepspeed.wall_clock_breakdown") FINE("deepspeed.dump_state")
    FINE("deepspeed.zero_allow_untested_optimizer") FINE("deepspeed.zero_force_ds_cpu_optimizer")
    {"deepspeed.fp16.fp16_master_weights_and_grads", "false", "fp16 without an fp32 copy is not modelled in DeepSpeed"},
    FP16("enabled") FP16("auto_cast") FP16("loss_scale") FP16("initial_scale_power") FP16("loss_scale_window")
    FP16("hysteresis") FP16("consecutive_hysteresis") FP16("min_loss_scale") FP16("opt_level")
    FINE("deepspeed.optimizer.*") FINE("deepspeed.scheduler.*") FINE("deepspeed.tensorboard.*")
    FINE("deepspeed.wandb.*") FINE("deepspeed.comet.*") FINE("deepspeed.csv_monitor.*") FINE("deepspeed.comms_logger.*")
    FINE("deepspeed.comms_config.*") FINE("deepspeed.monitor_config.*") FINE("deepspeed.flops_profiler.*")
    FINE("deepspeed.aio.*") FINE("deepspeed.checkpoint.*") FINE("deepspeed.prescale_gradients")
    FINE("deepspeed.gradient_predivide_factor") FINE("deepspeed.gradient_clipping") FINE("deepspeed._comment")
    {"deepspeed.bf16.bf16_master_weights_and_grads", "false", "bf16 without an fp32 copy is not modelled in DeepSpeed"},
    {"deepspeed.bf16.bf16_optimizer_states", "false", "states in bf16 are not modelled in DeepSpeed"},
    BF16("enabled") BF16("immediate_grad_update") BF16("check_grad_overflow") BF16("auto_cast")
    BF16("loss_scale") BF16("initial_scale_power") BF16("loss_scale_window") BF16("hysteresis")
    BF16("min_loss_scale")
    {"deepspeed.amp.enabled", "false", "apex.amp is not modelled"}, FINE("deepspeed.amp.*")
    {"deepspeed.torch_autocast.enabled", "false", "torch.autocast in DeepSpeed is not modelled"},
    FINE("deepspeed.torch_autocast.*")
    {"deepspeed.data_types.grad_accum_dtype", "fp32 null", "gradients that are accumulated in 16 bit are not modelled"},
    {"deepspeed.communication_data_type", "", "gradients reduced in another type are not modelled"},
    {"deepspeed.sparse_gradients", "false", "sparse gradients are not modelled"},
    {"deepspeed.zero_optimization.zero_quantized_weights", "false", PLUS_PLUS},
    {"deepspeed.zero_optimization.zero_quantized_gradients", "false", PLUS_PLUS},
    {"deepspeed.zero_optimization.zero_hpz_partition_size", "0 1", "ZeRO++'s second copy in a node is not modelled"},
    {"deepspeed.zero_optimization.mics_shard_size", "-1 0", "MiCS is not modelled"},
    {"deepspeed.zero_optimization.zenflow", "", "ZenFlow is not modelled"},
    {"deepspeed.zero_optimization.zeropp_loco_param", "", PLUS_PLUS},
    {"deepspeed.zero_optimization.offload_optimizer.super_offload", "false", "SuperOffload is not modelled"},
    {"deepspeed.zero_optimization.cpu_offload_param", "false", "ZeRO-Offload of parameters is not modelled"},
    {"deepspeed.zero_optimization.cpu_offload_params", "false", "ZeRO-Offload of parameters is not modelled"},
    ZERO("stage") ZERO("contiguous_gradients") ZERO("reduce_scatter") ZERO("reduce_bucket_size")
    ZERO("use_multi_rank_bucket_allreduce") ZERO("allgather_partitions") ZERO("allgather_bucket_size")
    ZERO("overlap_comm") ZERO("load_from_fp32_weights") ZERO("elastic_checkpoint") ZERO("sub_group_size")
    ZERO("cpu_offload") ZERO("cpu_offload_use_pin_memory") ZERO("stage3_prefetch_bucket_size")
    ZERO("prefetch_bucket_size") ZERO("stage3_param_persistence_threshold") ZERO("param_persistence_threshold")
    ZERO("stage3_model_persistence_threshold") ZERO("model_persistence_threshold")
    ZERO("stage3_max_live_parameters") ZERO("max_live_parameters") ZERO("stage3_max_reuse_distance")
    ZERO("max_reuse_distance") ZERO("stage3_gather_16bit_weights_on_model_save")
    ZERO("gather_16bit_weights_on_model_save") ZERO("stage3_gather_fp16_weights_on_model_save")
    ZERO("stage3_module_granularity_threshold") ZERO("module_granularity_threshold")
    ZERO("stage3_use_all_reduce_for_fetch_params") ZERO("use_all_reduce_for_fetch_params")
    ZERO("ignore_unused_parameters") ZERO("grad_hooks") ZERO("legacy_stage1") ZERO("round_robin_gradients")
    ZERO("zero_quantized_nontrainable_weights") ZERO("mics_hierarchical_params_gather")
    ZERO("memory_efficient_linear") ZERO("pipeline_loading_checkpoint") ZERO("override_module_apply")
    ZERO("log_trace_cache_warnings") ZERO("enable_sanity_checks") ZERO("save_muon_momentum_buffer_in_memory")
    ZERO("compute_grad_norm") ZERO("stage3_leaf_modules") ZERO("leaf_module.*")
    STATES("device") STATES("ratio") STATES("nvme_path") STATES("buffer_count") STATES("buffer_size")
    STATES("pin_memory") STATES("pipeline") STATES("pipeline_read") STATES("pipeline_write") STATES("fast_init")
    STATES("cpuadam_cores_perc")
    PARAM("device") PARAM("nvme_path") PARAM("buffer_count") PARAM("buffer_size") PARAM("max_in_cpu")
    PARAM("pin_memory")
    {"deepspeed.activation_checkpointing.cpu_checkpointing", "false", "activations on the host are not modelled here"},
    FINE("deepspeed.activation_checkpointing.*")
    {"deepspeed.tensor_parallel.autotp_size", "0 1", "DeepSpeed's automatic tensor parallelism is not modelled"},
    FINE("deepspeed.tensor_parallel.*")
    {"deepspeed.expert_parallel.enabled", "false", "DeepSpeed's expert parallelism is not modelled"},
    FINE("deepspeed.expert_parallel.*")
    {"deepspeed.sequence_parallel_size", "1", "Ulysses is not read from here: give --cp and --cp-comm-type a2a"},
    {"deepspeed.sparse_attention.*", "", "sparse attention is not modelled"},
    {"deepspeed.data_efficiency.enabled", "false", "rows whose length changes are not modelled"},
    FINE("deepspeed.data_efficiency.*")
    {"deepspeed.curriculum_learning.enabled", "false", "rows whose length changes are not modelled"},
    FINE("deepspeed.curriculum_learning.*")
    {"deepspeed.progressive_layer_drop.enabled", "false", "layers that are left out are not modelled"},
    FINE("deepspeed.progressive_layer_drop.*")
    {"deepspeed.compression_training.*", "", "compression is not modelled"},
    {"deepspeed.hybrid_engine.enabled", "false", "generation between steps is not modelled"},
    FINE("deepspeed.hybrid_engine.*")
    {"deepspeed.autotuning.enabled", "false", "autotuning chooses when it runs: give what it chose"},
    FINE("deepspeed.autotuning.*")
    {"deepspeed.elasticity.enabled", "false", "a batch that follows the number of GPUs is not read: give --gbs"},
    FINE("deepspeed.elasticity.*")
    {"deepspeed.compile.enabled", "false", "DeepCompile is not modelled"}, FINE("deepspeed.compile.*")
    {"deepspeed.pipeline.*", "", "DeepSpeed's own pipeline is not read: how layers are split is in the script"},
    /* ---- accelerate ---- */
    FINE("accelerate.compute_environment") FINE("accelerate.debug") FINE("accelerate.downcast_bf16")
    FINE("accelerate.machine_rank") FINE("accelerate.main_process_ip") FINE("accelerate.main_process_port")
    FINE("accelerate.main_training_function") FINE("accelerate.rdzv_backend") FINE("accelerate.same_network")
    FINE("accelerate.tpu_env") FINE("accelerate.tpu_use_cluster") FINE("accelerate.tpu_use_sudo")
    FINE("accelerate.gpu_ids") FINE("accelerate.enable_cpu_affinity") FINE("accelerate.mpirun_config.*")
    FINE("accelerate.num_machines") FINE("accelerate.num_processes") FINE("accelerate.quiet") FINE("accelerate.role")
    FINE("accelerate.tee") FINE("accelerate.log_dir") FINE("accelerate.max_restarts") FINE("accelerate.monitor_interval")
    FINE("accelerate.rdzv_conf") FINE("accelerate.num_cpu_threads_per_process") FINE("accelerate.multi_gpu")
    FINE("accelerate.deepspeed_hostfile") FINE("accelerate.launch") FINE("accelerate.module")
    FINE("accelerate.megatron_lm_config.*")
    {"accelerate.use_cpu", "false", "training without GPUs is not modelled"},
    PLUGIN("deepspeed_config_file") PLUGIN("deepspeed_hostfile") PLUGIN("deepspeed_multinode_launcher")
    PLUGIN("deepspeed_inclusion_filter") PLUGIN("deepspeed_exclusion_filter")
    PLUGIN("deepspeed_moe_layer_cls_names") PLUGIN("gradient_accumulation_steps") PLUGIN("gradient_clipping")
    PLUGIN("offload_optimizer_device") PLUGIN("offload_optimizer_nvme_path") PLUGIN("offload_param_device")
    PLUGIN("offload_param_nvme_path") PLUGIN("zero3_init_flag") PLUGIN("zero3_save_16bit_model")
    PLUGIN("zero_stage") PLUGIN("train_micro_batch_size_per_gpu") PLUGIN("enable_msamp")
    PLUGIN("msamp_opt_level")
    DEGREES("dp_replicate_size") DEGREES("dp_shard_size") DEGREES("tp_size") DEGREES("cp_size")
    DEGREES("cp_backend") DEGREES("cp_comm_strategy") DEGREES("sp_size") DEGREES("sp_backend")
    DEGREES("sp_seq_length") DEGREES("sp_seq_length_is_variable") DEGREES("sp_attn_implementation")
    FINE("accelerate.dynamo_config.*") FINE("accelerate.fp8_config.*")
};
/* clang-format on */

/* Stages of LLaMA-Factory, and kinds of training, that are more than one model's forward and backward. */
static void check_method(struct ss_hf *x)
{
    struct ss_trainer *t = &x->t;
    const struct ss_tree_node *stage = ss_trainer_node(t, "args.stage"),
                              *type = ss_trainer_node(t, "args.finetuning_type");

    if (stage && !ss_tree_is(stage, "sft") && !ss_tree_is(stage, "pt"))
        ss_trainer_refuse(t, stage,
                          "the stage %.20s is not modelled: it runs other models, or the model more than "
                          "once a step; pt and sft are",
                          stage->text ? stage->text : "");
    if (type && !ss_tree_is(type, "full"))
        ss_trainer_refuse(
            t, type,
            "%.20s is not modelled: weights are frozen, and gradients and states are of a part alone; "
            "full is",
            type->text ? type->text : "");
    else if (x->factory && !type)
        ss_trainer_refuse(t, NULL,
                          "LLaMA-Factory's default is LoRA, which is not modelled: finetuning_type: full");
}

/* Whether an argument that is not known says by its name that it is not without effect. */
static void check_own(struct ss_hf *x, const struct ss_tree_node *node)
{
    int off = node->kind == SS_TREE_SCALAR &&
              (ss_tree_is_null(node) || ss_has_word("0 1 false False none no", node->text));

    if (!off && strstr(node->key, "parallel"))
        ss_trainer_refuse(&x->t, node,
                          "parallelism of the script's own is not read: give --tp, --pp, --cp or --ep "
                          "in place of it");
    if (strstr(node->key, "lora") && ss_tree_truth(node) == 1)
        ss_trainer_refuse(&x->t, node, "LoRA is not modelled: weights are frozen, gradients are of adapters");
}

/* Arguments of the user's own script are no more than names here. */
static void pass_own(struct ss_hf *x, const struct ss_tree_node *args)
{
    char list[480] = "";
    size_t used = 0;

    for (struct ss_tree_node *child = args ? args->first : NULL; child; child = child->next) {
        int ruled = 0;
        for (size_t i = 0; i < SS_ARRAY_LEN(rules); i++) {
            size_t n = strlen(child->key);
            ruled |= !strncmp(rules[i].path, "args.", 5) && !strncmp(rules[i].path + 5, child->key, n) &&
                     (!rules[i].path[5 + n] || rules[i].path[5 + n] == '.');
        }
        if (child->read || ruled)
            continue;
        ss_tree_take(child);
        if (ss_has_word(fine, child->key)) {
            if (ss_notes_add(&x->t.ignored, "%s", child->key) && !x->t.rc)
                x->t.rc = ss_fail(x->t.err, SS_ERR_NOMEM, NULL, 0, "out of memory");
            continue;
        }
        check_own(x, child);
        if (used + 80 < sizeof list)
            used +=
                (size_t)snprintf(list + used, sizeof list - used, "%s%.60s", used ? ", " : "", child->key);
    }
    if (used)
        ss_trainer_assume(&x->t, "these arguments, which are not known here, change no time: %s", list);
}

void ss_hf_rest(struct ss_hf *x)
{
    check_method(x);
    pass_own(x, ss_tree_find(ss_tree_root(x->t.tree), "args"));
    ss_trainer_rest(&x->t, rules, SS_ARRAY_LEN(rules));
}
