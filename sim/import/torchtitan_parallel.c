/* SPDX-License-Identifier: Apache-2.0 */
/* torchtitan: model, degrees of parallelism, batch. */
#include "import/torchtitan.h"

#include <string.h>
#include <strings.h>

#include "base/base.h"

/* ---- model ---- */

static const struct {
    const char *name, *flavor, *model;
} models[] = {
    {"llama3", "1B", "llama3.2-1b"},
    {"llama3", "3B", "llama3.2-3b"},
    {"llama3", "8B", "llama3-8b"},
    {"llama3", "70B", "llama3-70b"},
    {"llama3", "405B", "llama3.1-405b"},
    {"llama2", "7B", "llama2-7b"},
    {"llama2", "13B", "llama2-13b"},
    {"llama2", "70B", "llama2-70b"},
    {"llama4", "17bx16e", "llama4-scout"},
    {"llama4", "17bx128e", "llama4-maverick"},
    {"deepseek_v3", "16B", "deepseek-v2-lite"},
    {"deepseek_v3", "236B", "deepseek-v2"},
    {"deepseek_v3", "671B", "deepseek-v3"},
    {"gpt_oss", "20b", "gpt-oss-20b"},
    {"gpt_oss", "120b", "gpt-oss-120b"},
    {"qwen3", "0.6B", "qwen3-0.6b"},
    {"qwen3", "1.7B", "qwen3-1.7b"},
    {"qwen3", "4B", "qwen3-4b"},
    {"qwen3", "8B", "qwen3-8b"},
    {"qwen3", "14B", "qwen3-14b"},
    {"qwen3", "32B", "qwen3-32b"},
    {"qwen3", "30B-A3B", "qwen3-30b-a3b"},
    {"qwen3", "235B-A22B", "qwen3-235b-a22b"},
};

/* "8B_flex": the flavor and how its attention is computed. */
static size_t length_of_flavor(const char *flavor)
{
    static const char *const ends[] = {"_flex_attn", "_varlen_attn", "_irope", "_flex", "_varlen"};
    size_t n = strlen(flavor);

    for (size_t i = 0; i < SS_ARRAY_LEN(ends); i++) {
        size_t m = strlen(ends[i]);
        if (n > m && !strcmp(flavor + n - m, ends[i]))
            return n - m;
    }
    return n;
}

/* Linear layers of LoRA have a rank and an alpha. */
static const struct ss_tree_node *find_lora(const struct ss_tree_node *node)
{
    const struct ss_tree_node *found = NULL;

    if (node && node->kind == SS_TREE_MAP && ss_tree_child(node, "rank", 4) &&
        ss_tree_child(node, "alpha", 5))
        return node;
    for (const struct ss_tree_node *child = node ? node->first : NULL; child && !found; child = child->next)
        found = find_lora(child);
    return found;
}

static void map_model(struct ss_titan *x)
{
    struct ss_trainer *t = &x->t;
    const struct ss_tree_node *at = ss_trainer_node(t, "model.flavor model_spec.flavor");
    const char *name = ss_trainer_text(t, "model.name model_spec.name", "llama3"), *model = NULL;
    const char *flavor = ss_trainer_text(t, "model.flavor model_spec.flavor", "debugmodel");
    size_t n = length_of_flavor(flavor);
    char word[160];

    struct ss_tree_node *layers = ss_tree_find(ss_tree_root(t->tree), "model_spec.model");
    const struct ss_tree_node *lora = find_lora(layers);
    if (lora)
        ss_trainer_refuse(t, lora, "LoRA is not modelled: weights are frozen and gradients are of adapters");
    ss_tree_take(layers);
    for (size_t i = 0; i < SS_ARRAY_LEN(models); i++)
        if (!strcmp(models[i].name, name) && !strncasecmp(models[i].flavor, flavor, n) &&
            !models[i].flavor[n])
            model = models[i].model;
    if (!strncmp(name, "flux", 4))
        ss_trainer_refuse(t, ss_trainer_node(t, "model.name model_spec.name"),
                          "diffusion models are not modelled");
    snprintf(word, sizeof word, "%.70s-%.70s", name, flavor);
    ss_trainer_model(t, at, model ? model : word);
    ss_copy(x->model, sizeof x->model, model ? model : word);
    if (!model)
        ss_trainer_assume(t, "its model \"%s\" of flavor \"%s\" is given by --model config.json", name,
                          flavor);
    else if (flavor[n])
        ss_trainer_assume(t, "attention of %s costs what FlashAttention costs", flavor);
    if (model && t->has_model && t->model.mtp_num_layers > 0)
        ss_trainer_add(t, at, "--mtp-num-layers", "0"); /* torchtitan's DeepSeek-V3 predicts one token */
    ss_trainer_add(t, NULL, "--make-vocab-size-divisible-by", "1"); /* rows as they are */
}

/* ---- parallelism ---- */

static void read_degrees(struct ss_titan *x)
{
    struct ss_trainer *t = &x->t;

    x->tp = ss_trainer_size(t, "parallelism.tensor_parallel_degree training.tensor_parallel_degree", 1, 1,
                            SS_TITAN_MOST);
    x->pp = ss_trainer_size(t,
                            "parallelism.pipeline_parallel_degree experimental.pipeline_parallel_degree "
                            "training.pipeline_parallel_degree",
                            1, 1, SS_TITAN_MOST);
    x->cp = ss_trainer_size(t, "parallelism.context_parallel_degree experimental.context_parallel_degree", 1,
                            1, SS_TITAN_MOST);
    x->ep = ss_trainer_size(t, "parallelism.expert_parallel_degree", 1, 1, SS_TITAN_MOST);
    x->replicate = ss_trainer_size(
        t, "parallelism.data_parallel_replicate_degree training.data_parallel_replicate_degree", 1, 1,
        SS_TITAN_MOST);
    x->shard = ss_trainer_size(t,
                               "parallelism.data_parallel_shard_degree training.data_parallel_shard_degree "
                               "training.data_parallel_degree",
                               -1, -1, SS_TITAN_MOST);
}

static void map_tensor(struct ss_titan *x)
{
    struct ss_trainer *t = &x->t;
    const char *async = "parallelism.enable_async_tensor_parallel compile.enable_async_tensor_parallel "
                        "experimental.enable_async_tensor_parallel";
    const struct ss_tree_node *at =
        ss_trainer_node(t, "parallelism.tensor_parallel_degree training.tensor_parallel_degree");
    int overlap = ss_trainer_truth(t, async, 0);
    int split = ss_trainer_truth(t, "parallelism.enable_sequence_parallel", 1);
    const char *whole = "parallelism.disable_loss_parallel training.disable_loss_parallel";

    if (ss_trainer_truth(t, whole, 0) && x->tp > 1)
        ss_trainer_refuse(t, ss_trainer_node(t, whole),
                          "a loss over gathered logits is not modelled: each tensor rank has its part of the "
                          "vocabulary");
    ss_trainer_add_whole(t, at, "--tp", x->tp);
    if (x->tp > 1 && split)
        ss_trainer_add(t, at, "--sequence-parallel", NULL);
    if (x->tp > 1 && overlap)
        ss_trainer_add(t, ss_trainer_node(t, async), "--tp-comm-overlap", NULL);
}

static void map_context(struct ss_titan *x)
{
    struct ss_trainer *t = &x->t;
    const char *path =
        "parallelism.context_parallel_rotate_method experimental.context_parallel_rotate_method";
    const struct ss_tree_node *at = ss_trainer_node(t, path);
    const char *method = ss_trainer_text(t, path, "allgather");

    if (x->cp == 1)
        return;
    ss_trainer_add_whole(
        t, ss_trainer_node(t, "parallelism.context_parallel_degree experimental.context_parallel_degree"),
        "--cp", x->cp);
    if (!strcmp(method, "alltoall"))
        ss_trainer_add(t, at, "--cp-comm-type", "p2p");
    else if (strcmp(method, "allgather") != 0)
        ss_trainer_refuse(t, at, "\"%.40s\" is no method that is known: allgather or alltoall", method);
}

static void map_experts(struct ss_titan *x)
{
    struct ss_trainer *t = &x->t;
    const struct ss_tree_node *at = ss_trainer_node(t, "parallelism.expert_parallel_degree");
    int64_t etp = ss_trainer_size(t, "parallelism.expert_tensor_parallel_degree", 1, 1, SS_TITAN_MOST);
    const struct ss_tree_node *exchange = ss_trainer_node(t, "parallelism.expert_parallel_comm_backend");
    const char *backend = ss_trainer_text(t, "parallelism.expert_parallel_comm_backend", "standard");
    const struct ss_tree_node *even =
        ss_trainer_node(t, "debug.moe_force_load_balance training.debug_moe_force_load_balance");

    if (even && ss_tree_truth(even) == 1)
        ss_trainer_add(t, even, "--moe-load", "balanced");
    if (x->ep == 1)
        return;
    if (x->newest && !exchange)
        ss_trainer_assume(
            t, "experts exchange tokens by all-to-all, for what torchtitan saves does not say how");
    ss_trainer_add_whole(t, at, "--ep", x->ep);
    ss_trainer_add_whole(t, at, "--etp", etp);
    if (!strcmp(backend, "deepep")) {
        ss_trainer_add(t, exchange, "--moe-token-dispatcher-type", "flex");
        ss_trainer_add(t, exchange, "--moe-flex-dispatcher-backend", "deepep");
    } else if (!strcmp(backend, "hybridep")) {
        ss_trainer_add(t, exchange, "--moe-token-dispatcher-type", "flex");
        ss_trainer_add(t, exchange, "--moe-flex-dispatcher-backend", "hybridep");
    } else if (!strcmp(backend, "standard")) {
        ss_trainer_add(t, exchange, "--moe-token-dispatcher-type", "alltoall");
    } else {
        ss_trainer_refuse(t, exchange, "the exchange \"%.40s\" is not modelled: standard, deepep or hybridep",
                          backend);
    }
}

/* Copies on each node: which is what --fsdp hybrid is. */
static void map_hybrid(struct ss_titan *x, const struct ss_tree_node *at)
{
    struct ss_trainer *t = &x->t;
    int64_t node = t->gpus_per_node ? t->gpus_per_node : 8, shard = x->shard;

    if (shard < 0 && t->nodes && t->gpus_per_node)
        shard = (int64_t)t->nodes * t->gpus_per_node / (x->replicate * x->tp * x->cp * x->pp);
    if (shard < 0)
        ss_trainer_refuse(t, at,
                          "over how many GPUs each of the %lld copies is sharded depends on their "
                          "number: give data_parallel_shard_degree",
                          (long long)x->replicate);
    else if (shard * x->tp * x->cp != node)
        ss_trainer_refuse(t, at,
                          "copies are modelled that are sharded over one node of %lld GPUs each, not over "
                          "%lld x tensor %lld x context %lld",
                          (long long)node, (long long)shard, (long long)x->tp, (long long)x->cp);
    ss_trainer_add(t, at, "--fsdp", "hybrid");
}

static void map_data(struct ss_titan *x)
{
    struct ss_trainer *t = &x->t;
    const char *path = "parallelism.fsdp_reshard_after_forward training.fsdp_reshard_after_forward";
    const struct ss_tree_node *at = ss_trainer_node(
        t, "parallelism.data_parallel_replicate_degree training.data_parallel_replicate_degree");
    const struct ss_tree_node *how = ss_trainer_node(t, path);
    const char *reshard = ss_trainer_text(t, path, "default");

    if (x->replicate > 1 && x->shard == 1) {
        if (x->tp * x->pp * x->cp > 1)
            ss_trainer_refuse(t, at,
                              "without sharding, torchtitan computes in fp32 beside other parallelism");
        ss_trainer_add(t, at, "--overlap-grad-reduce", NULL);
        ss_trainer_add_prop(t, at, SS_PROP_fp32_params, 1); /* bf16 by autocast */
    } else if (x->replicate > 1 && x->pp > 1) {
        ss_trainer_refuse(t, at, "sharded copies of a pipeline are not modelled");
    } else if (x->replicate > 1) {
        map_hybrid(x, at);
    } else if (x->pp > 1) {
        if (!strcmp(reshard, "always"))
            ss_trainer_refuse(t, how,
                              "a pipeline that gathers parameters anew for each microbatch is not "
                              "modelled");
        ss_trainer_add(t, how, "--use-distributed-optimizer", NULL);
        ss_trainer_add(t, how, "--overlap-grad-reduce", NULL);
        ss_trainer_add(t, how, "--overlap-param-gather", NULL);
        ss_trainer_assume(t,
                          "FSDP in a pipeline gathers parameters and scatters gradients once an iteration, "
                          "as the distributed optimizer does");
    } else {
        ss_trainer_add(t, how, "--fsdp", !strcmp(reshard, "never") ? "grad" : "full");
    }
}

/* ---- batch ---- */

/* Sequences of a microbatch; x->steps microbatches of a pipeline. */
static int64_t read_batch(struct ss_titan *x)
{
    struct ss_trainer *t = &x->t;
    int64_t local = ss_trainer_size(t, "training.local_batch_size training.batch_size", 8, 1, SS_TITAN_MOST);
    int64_t micro = ss_trainer_size(t, "parallelism.pipeline_parallel_microbatch_size", 1, 1, SS_TITAN_MOST);
    const char *old =
        "parallelism.pipeline_parallel_microbatches experimental.pipeline_parallel_microbatches";
    int by_number = ss_trainer_node(t, "experimental.pipeline_parallel_degree") != NULL;
    int64_t number = ss_trainer_size(t, old, by_number ? x->pp : 0, 0, SS_TITAN_MOST);

    if (x->pp == 1)
        return local;
    if (number > 0)
        micro = local % number ? local + 1 : local / number;
    if (local % micro)
        ss_trainer_fail(t,
                        ss_trainer_node(t, "training.local_batch_size training.batch_size "
                                           "parallelism.pipeline_parallel_microbatch_size"),
                        SS_ERR_CONFIG,
                        "the local batch of %lld is not divisible into the pipeline's microbatches",
                        (long long)local);
    x->steps = t->rc ? 1 : local / micro;
    return micro;
}

/* Since 2026 batches are said in tokens. */
static int64_t read_tokens(struct ss_titan *x, int64_t seq)
{
    struct ss_trainer *t = &x->t;
    const char *path = "training.num_tokens_per_microbatch_per_dp_rank";
    int64_t tokens = ss_trainer_size(t, path, 16384, 1, (int64_t)1 << 40);
    int64_t number = ss_trainer_size(t, "parallelism.num_pp_microbatches", 1, 1, SS_TITAN_MOST);

    if (tokens % seq)
        ss_trainer_refuse(t, ss_trainer_node(t, path), "%lld tokens are no whole number of sequences of %lld",
                          (long long)tokens, (long long)seq);
    x->steps = x->pp > 1 ? number : 1;
    return tokens / seq;
}

static void map_batch(struct ss_titan *x)
{
    struct ss_trainer *t = &x->t;
    const char *length = x->tokens ? "training.max_context_length" : "training.seq_len";
    const char *all = x->tokens ? "training.num_tokens_per_train_step" : "training.global_batch_size";
    int64_t seq = ss_trainer_size(t, length, 2048, 1, SS_TITAN_MOST);
    int64_t micro = x->tokens ? read_tokens(x, seq) : read_batch(x);
    int64_t global = ss_trainer_size(t, all, -1, -1, (int64_t)1 << 40);
    const struct ss_tree_node *at = ss_trainer_node(t, all);

    ss_trainer_add_whole(t, ss_trainer_node(t, length), "--seq", seq);
    ss_trainer_add_whole(t,
                         ss_trainer_node(t, "training.num_tokens_per_microbatch_per_dp_rank "
                                            "training.local_batch_size training.batch_size"),
                         "--mbs", micro);
    if (global > 0 && x->tokens && global % seq)
        ss_trainer_refuse(t, at, "%lld tokens are no whole number of sequences of %lld", (long long)global,
                          (long long)seq);
    if (global > 0 && x->pp > 1) {
        int64_t gpus = (int64_t)t->nodes * t->gpus_per_node, dp = gpus / (x->tp * x->pp * x->cp);
        if (gpus && global / (x->tokens ? seq : 1) != micro * x->steps * dp)
            ss_trainer_refuse(t, at,
                              "several passes of a pipeline in an iteration are not modelled: it "
                              "fills and drains in each");
        if (!gpus)
            ss_trainer_assume(t, "the pipeline is filled once an iteration");
    }
    if (global > 0)
        ss_trainer_add_whole(t, at, "--gbs", x->tokens ? global / seq : global);
    else if (x->steps > 1)
        ss_trainer_add_whole(t, NULL, "--gradient-accumulation-steps", x->steps);
}

/* How many GPUs the degrees ask for, where they leave none open. */
static void map_nodes(struct ss_titan *x)
{
    struct ss_trainer *t = &x->t;
    const struct ss_tree_node *at =
        ss_trainer_node(t, "parallelism.data_parallel_shard_degree training.data_parallel_shard_degree "
                           "training.data_parallel_degree");
    int64_t node = t->gpus_per_node ? t->gpus_per_node : 8;
    double all = (double)x->shard * (double)x->replicate * (double)x->tp * (double)x->cp * (double)x->pp;

    if (x->shard < 1 || t->rc)
        return;
    if (t->nodes && t->gpus_per_node && all != (double)t->nodes * t->gpus_per_node) {
        ss_trainer_fail(t, at, SS_ERR_CONFIG,
                        "the degrees ask for %.0f GPUs, the launcher has %d nodes of %d", all, t->nodes,
                        t->gpus_per_node);
    } else if (!t->nodes && all >= (double)node && all <= 1 << 26 && (int64_t)all % node == 0) {
        ss_trainer_add_whole(t, at, "--nodes", (int64_t)all / node);
        if (!t->gpus_per_node)
            ss_trainer_assume(t, "%.0f GPUs are %lld nodes of 8", all, (long long)all / node);
    }
}

void ss_titan_map_parallel(struct ss_titan *x)
{
    read_degrees(x);
    map_model(x);
    map_batch(x);
    map_tensor(x);
    map_context(x);
    map_experts(x);
    map_data(x);
    map_nodes(x);
}
