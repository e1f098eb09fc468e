/* SPDX-License-Identifier: Apache-2.0 */
/* accelerate's Megatron-LM: its keys are Megatron-LM's flags behind "megatron_lm_". */
#include <string.h>

#include "base/base.h"
#include "import/hf.h"

#define AT "accelerate.megatron_lm_config.megatron_lm_"

static const struct {
    const char *key, *flag;
    int is_switch;
} keys[] = {
    {"tp_degree", "--tp", 0},
    {"pp_degree", "--pp", 0},
    {"num_micro_batches", "--gradient-accumulation-steps", 0},
    {"sequence_parallelism", "--sequence-parallel", 1},
    {"use_distributed_optimizer", "--use-distributed-optimizer", 1},
    {"recompute_activations", "--recompute-activations", 1},
    {"recompute_granularity", "--recompute-granularity", 0},
    {"recompute_method", "--recompute-method", 0},
    {"recompute_num_layers", "--recompute-num-layers", 0},
    {"context_parallel_size", "--cp", 0},
    {"expert_model_parallel_size", "--ep", 0},
    {"expert_tensor_parallel_size", "--etp", 0},
    {"decoder_last_pipeline_num_layers", "--decoder-last-pipeline-num-layers", 0},
    {"num_layers_per_virtual_pipeline_stage", "--num-layers-per-virtual-pipeline-stage", 0},
    {"attention_dropout", "--attention-dropout", 0},
    {"hidden_dropout", "--hidden-dropout", 0},
    {"use_precision_aware_optimizer", "--use-precision-aware-optimizer", 1},
    {"optimizer_cpu_offload", "--optimizer-cpu-offload", 1},
    {"use_custom_fsdp", "--use-custom-fsdp", 1},
};

/* Defaults that differ between releases (huggingface/accelerate@7e38469 of December 2025 changed them). */
static void tell_defaults(struct ss_trainer *t)
{
    const struct ss_tree_node *kind = ss_trainer_node(t, AT "recompute_granularity");

    if (!kind)
        ss_trainer_assume(
            t, "layers are recomputed as megatron_lm_recompute_activations says; accelerate since "
               "December 2025 recomputes all unless megatron_lm_recompute_granularity says otherwise");
    else if (ss_tree_is(kind, "full") && !ss_trainer_node(t, AT "recompute_method"))
        ss_trainer_add(t, kind, "--recompute-method", "uniform");
    if (kind && ss_tree_is(kind, "full") && !ss_trainer_node(t, AT "recompute_num_layers"))
        ss_trainer_add(t, kind, "--recompute-num-layers", "1");
    if (!ss_trainer_node(t, AT "context_parallel_size"))
        ss_trainer_assume(t, "context parallelism is 1; accelerate since December 2025 takes 2 unless "
                             "megatron_lm_context_parallel_size says otherwise");
}

void ss_hf_map_megatron(struct ss_hf *x)
{
    struct ss_trainer *t = &x->t;
    char path[128];

    ss_trainer_add(t, NULL, "--stack", "megatron-lm-2025");
    ss_trainer_assume(t, "the software is that of the stack megatron-lm-2025 (--stack)");
    for (size_t i = 0; i < SS_ARRAY_LEN(keys); i++) {
        snprintf(path, sizeof path, AT "%s", keys[i].key);
        const struct ss_tree_node *at = ss_trainer_node(t, path);
        if (!at)
            continue;
        if (!keys[i].is_switch)
            ss_trainer_add(t, at, keys[i].flag, ss_trainer_text(t, path, ""));
        else if (ss_trainer_truth(t, path, 0))
            ss_trainer_add(t, at, keys[i].flag, NULL);
    }
    tell_defaults(t);
}
