/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NeMo 2: a recipe of nemo.collections.llm as NeMo-Run writes it (NVIDIA/NeMo@v2.3.0: nemo/collections/llm/{recipes,gpt/model},
 * nemo/lightning/pytorch/strategies/megatron_strategy.py).
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

static int add_fsdp(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    static const struct ss_foreign_row strategy =
        VALUE("data_parallel_sharding_strategy", "--data-parallel-sharding-strategy");

    if (!node)
        return SS_OK;
    if (ss_tree_is(node, "pytorch"))
        return ss_foreign_flag(f, node, "--use-torch-fsdp2", NULL, err);
    int rc = ss_foreign_flag(f, node, "--use-megatron-fsdp", NULL, err);
    return rc ? rc : ss_foreign_map(f, ss_tree_find(node->parent, "ddp"), &strategy, 1, err);
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

static int add_overlaps(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    const struct ss_tree_node *root = ss_tree_root(f->tree);
    struct ss_tree_node *overlap = find_class(node, "MegatronCommOverlapCallback");
    bool sharded = ss_core_true(ss_tree_find(root, "optim.config"), "use_distributed_optimizer");

    return ss_core_overlaps(f, overlap, ss_tree_find(root, "trainer.strategy.ddp"),
                            ss_tree_find(root, "model.config"), sharded, err);
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
    REFUSE("peft", NULL, "training of a part of the parameters (LoRA) is not modelled"),
    WHOLE("trainer.num_nodes", "--nodes"), WHOLE("trainer.devices", "--gpus-per-node"),
    WHOLE("data.micro_batch_size", "--micro-batch-size"), WHOLE("data.global_batch_size", "--global-batch-size"),
    CALL("data.seq_length", add_sequence),
    WHOLE("trainer.strategy.tensor_model_parallel_size", "--tensor-model-parallel-size"),
    WHOLE("trainer.strategy.pipeline_model_parallel_size", "--pipeline-model-parallel-size"),
    WHOLE("trainer.strategy.virtual_pipeline_model_parallel_size", "--virtual-pipeline-model-parallel-size"),
    WHOLE("trainer.strategy.context_parallel_size", "--context-parallel-size"),
    WHOLE("trainer.strategy.expert_model_parallel_size", "--expert-model-parallel-size"),
    WHOLE("trainer.strategy.expert_tensor_parallel_size", "--expert-tensor-parallel-size"),
    TRUE("trainer.strategy.sequence_parallel", "--sequence-parallel"),
    TRUE("trainer.strategy.use_tp_pp_dp_mapping", "--use-tp-pp-dp-mapping"),
    CALL("trainer.strategy.fsdp", add_fsdp),
    TRUE("optim.config.use_distributed_optimizer", "--use-distributed-optimizer"),
    CALL("optim.config", ss_core_optimizer), CALL("trainer.plugins", add_precision), CALL("trainer.callbacks", add_overlaps),
};
static const struct ss_foreign_row rest[] = {
    NONE("_target_"), NONE("_partial_"), NONE("model._target_"), NONE("model.tokenizer"), NONE("model.optim"), NONE("trainer"), NONE("data"), NONE("optim"), NONE("log"), NONE("resume"),
    NONE("tokenizer"), NONE("model.config.model_name"),
};
/* clang-format on */

static int read(struct ss_foreign *f, struct ss_error *err)
{
    const struct ss_tree_node *root = ss_tree_root(f->tree);
    int rc = ss_foreign_map(f, root, rows, SS_ARRAY_LEN(rows), err);

    rc = rc ? rc : ss_core_names(f, ss_tree_find(root, "model.config"), err);
    return rc ? rc : ss_foreign_map(f, root, rest, SS_ARRAY_LEN(rest), err);
}

const struct ss_foreign_kind ss_foreign_nemo2 = {"NeMo 2", knows, read, true, false};
