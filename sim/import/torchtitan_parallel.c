/* SPDX-License-Identifier: Apache-2.0 */
/* torchtitan: model, degrees of parallelism, batch. */
#include "import/torchtitan.h"

#include <strings.h>

#include "base/base.h"

/* ---- model ---- */

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

static SS_KEY_CALLED(add_model)
{
    struct ss_titan *x = ss_titan_of(r);
    const struct ss_tree_node *at = ss_reading_node(r, "model.flavor");
    const char *name = ss_reading_text(r, "model.name", "llama3");
    const char *flavor = ss_reading_text(r, "model.flavor", "debugmodel");
    size_t n = length_of_flavor(flavor);
    char word[160];

    const struct ss_tree_node *lora = find_lora(ss_tree_find(ss_tree_root(r->tree), "model_spec.model"));
    if (lora)
        ss_reading_refuse(r, lora, "LoRA is not modelled: weights are frozen and gradients are of adapters");
    snprintf(word, sizeof word, "%.70s/%.*s", name, (int)(n < 70 ? n : 70), flavor);
    const char *model = ss_reading_lookup(r, "$models", word);
    if (!strncmp(name, "flux", 4))
        ss_reading_refuse(r, ss_reading_node(r, "model.name"), "diffusion models are not modelled");
    snprintf(word, sizeof word, "%.70s-%.70s", name, flavor);
    ss_reading_model(r, at, model ? model : word);
    ss_copy(x->model, sizeof x->model, model ? model : word);
    if (!model)
        ss_reading_assume(r, "its model \"%s\" of flavor \"%s\" is given by --model config.json", name,
                          flavor);
    else if (flavor[n])
        ss_reading_assume(r, "attention of %s costs what FlashAttention costs", flavor);
    if (model && r->has_model && r->model.mtp_num_layers > 0)
        ss_reading_flag(r, at, "--mtp-num-layers", "0"); /* torchtitan's DeepSeek-V3 predicts one token */
    ss_reading_flag(r, NULL, "--make-vocab-size-divisible-by", "1"); /* rows as they are */
}

/* ---- parallelism ---- */

/* Files of before June 2025 say training.batch_size; those since March 2026 are saved by functions of a registry. */
static void add_stack(struct ss_titan *x, const struct ss_tree_node *root)
{
    x->first = ss_tree_find(root, "training.batch_size") != NULL;
    const char *stack = x->newest ? "torchtitan-2026" : x->first ? "torchtitan-2024" : "torchtitan-2025";

    ss_reading_flag(&x->r, NULL, "--stack", stack);
    ss_reading_assume(&x->r, "the software is that of the stack %s, unless --stack says another", stack);
}

static SS_KEY_CALLED(begin)
{
    const struct ss_tree_node *root = ss_tree_root(r->tree);
    struct ss_titan *x = ss_titan_of(r);

    x->newest = ss_tree_find(root, "model_spec") != NULL;
    x->tokens = ss_tree_find(root, "training.max_context_length") != NULL;
    add_stack(x, root);
    x->tp = ss_reading_size(r, "parallelism.tensor_parallel_degree", 1, 1, SS_TITAN_MOST);
    x->pp = ss_reading_size(r, "parallelism.pipeline_parallel_degree", 1, 1, SS_TITAN_MOST);
    x->cp = ss_reading_size(r, "parallelism.context_parallel_degree", 1, 1, SS_TITAN_MOST);
    x->ep = ss_reading_size(r, "parallelism.expert_parallel_degree", 1, 1, SS_TITAN_MOST);
    x->replicate = ss_reading_size(r, "parallelism.data_parallel_replicate_degree", 1, 1, SS_TITAN_MOST);
    x->shard = ss_reading_size(r, "parallelism.data_parallel_shard_degree", -1, -1, SS_TITAN_MOST);
}

static SS_KEY_CALLED(add_tensor)
{
    ss_reading_whole_flag(r, ss_reading_node(r, "parallelism.tensor_parallel_degree"), "--tp",
                          ss_titan_of(r)->tp);
}

static SS_KEY_CALLED(add_context)
{
    if (ss_titan_of(r)->cp > 1)
        ss_reading_whole_flag(r, ss_reading_node(r, "parallelism.context_parallel_degree"), "--cp",
                              ss_titan_of(r)->cp);
}

/* Copies on each node: which is what --fsdp hybrid is. */
static void add_hybrid(struct ss_titan *x, const struct ss_tree_node *at)
{
    struct ss_reading *r = &x->r;
    int64_t node = r->gpus_per_node ? r->gpus_per_node : 8, shard = x->shard;

    if (shard < 0 && r->nodes && r->gpus_per_node)
        shard = (int64_t)r->nodes * r->gpus_per_node / (x->replicate * x->tp * x->cp * x->pp);
    if (shard < 0)
        ss_reading_refuse(r, at,
                          "over how many GPUs each of the %lld copies is sharded depends on their "
                          "number: give data_parallel_shard_degree",
                          (long long)x->replicate);
    else if (shard * x->tp * x->cp != node)
        ss_reading_refuse(r, at,
                          "copies are modelled that are sharded over one node of %lld GPUs each, not over "
                          "%lld x tensor %lld x context %lld",
                          (long long)node, (long long)shard, (long long)x->tp, (long long)x->cp);
    ss_reading_flag(r, at, "--fsdp", "hybrid");
}

static void add_data(struct ss_titan *x)
{
    struct ss_reading *r = &x->r;
    const char *path = "parallelism.fsdp_reshard_after_forward";
    const struct ss_tree_node *at = ss_reading_node(r, "parallelism.data_parallel_replicate_degree");
    const struct ss_tree_node *how = ss_reading_node(r, path);
    const char *reshard = ss_reading_text(r, path, "default");

    if (x->replicate > 1 && x->shard == 1) {
        if (x->tp * x->pp * x->cp > 1)
            ss_reading_refuse(r, at,
                              "without sharding, torchtitan computes in fp32 beside other parallelism");
        ss_reading_flag(r, at, "--overlap-grad-reduce", NULL);
        ss_reading_prop(r, at, SS_PROP_fp32_params, 1); /* bf16 by autocast */
    } else if (x->replicate > 1 && x->pp > 1) {
        ss_reading_refuse(r, at, "sharded copies of a pipeline are not modelled");
    } else if (x->replicate > 1) {
        add_hybrid(x, at);
    } else if (x->pp > 1) {
        if (!strcmp(reshard, "always"))
            ss_reading_refuse(r, how,
                              "a pipeline that gathers parameters anew for each microbatch is not "
                              "modelled");
        ss_reading_flag(r, how, "--fsdp", "full"); /* ss.fsdp.once */
    } else {
        ss_reading_flag(r, how, "--fsdp", !strcmp(reshard, "never") ? "grad" : "full");
    }
}

/* ---- batch ---- */

/* Sequences of a microbatch; x->steps microbatches of a pipeline. */
static int64_t read_batch(struct ss_titan *x)
{
    struct ss_reading *r = &x->r;
    int64_t local = ss_reading_size(r, "training.local_batch_size", 8, 1, SS_TITAN_MOST);
    int64_t micro = ss_reading_size(r, "parallelism.pipeline_parallel_microbatch_size", 1, 1, SS_TITAN_MOST);
    const char *old = "parallelism.pipeline_parallel_microbatches";
    int by_number = ss_reading_node(r, "experimental.pipeline_parallel_degree") != NULL;
    int64_t number = ss_reading_size(r, old, by_number ? x->pp : 0, 0, SS_TITAN_MOST);

    if (x->pp == 1)
        return local;
    if (number > 0)
        micro = local % number ? local + 1 : local / number;
    if (local % micro)
        ss_reading_fail(r,
                        ss_reading_node(r, "training.local_batch_size "
                                           "parallelism.pipeline_parallel_microbatch_size"),
                        SS_ERR_CONFIG,
                        "the local batch of %lld is not divisible into the pipeline's microbatches",
                        (long long)local);
    x->steps = r->rc ? 1 : local / micro;
    return micro;
}

/* Since 2026 batches are said in tokens. */
static int64_t read_tokens(struct ss_titan *x, int64_t seq)
{
    struct ss_reading *r = &x->r;
    const char *path = "training.num_tokens_per_microbatch_per_dp_rank";
    int64_t tokens = ss_reading_size(r, path, 16384, 1, (int64_t)1 << 40);
    int64_t number = ss_reading_size(r, "parallelism.num_pp_microbatches", 1, 1, SS_TITAN_MOST);

    if (tokens % seq)
        ss_reading_refuse(r, ss_reading_node(r, path), "%lld tokens are no whole number of sequences of %lld",
                          (long long)tokens, (long long)seq);
    x->steps = x->pp > 1 ? number : 1;
    return tokens / seq;
}

static SS_KEY_CALLED(add_batch)
{
    struct ss_titan *x = ss_titan_of(r);
    const char *length = x->tokens ? "training.max_context_length" : "training.seq_len";
    const char *all = x->tokens ? "training.num_tokens_per_train_step" : "training.global_batch_size";
    int64_t seq = ss_reading_size(r, length, 2048, 1, SS_TITAN_MOST);
    int64_t micro = x->tokens ? read_tokens(x, seq) : read_batch(x);
    int64_t global = ss_reading_size(r, all, -1, -1, (int64_t)1 << 40);
    const struct ss_tree_node *at = ss_reading_node(r, all);

    ss_reading_whole_flag(r, ss_reading_node(r, length), "--seq", seq);
    ss_reading_whole_flag(r,
                          ss_reading_node(r, "training.num_tokens_per_microbatch_per_dp_rank "
                                             "training.local_batch_size"),
                          "--mbs", micro);
    if (global > 0 && x->tokens && global % seq)
        ss_reading_refuse(r, at, "%lld tokens are no whole number of sequences of %lld", (long long)global,
                          (long long)seq);
    if (global > 0 && x->pp > 1) {
        int64_t gpus = (int64_t)r->nodes * r->gpus_per_node, dp = gpus / (x->tp * x->pp * x->cp);
        if (gpus && global / (x->tokens ? seq : 1) != micro * x->steps * dp)
            ss_reading_refuse(r, at,
                              "several passes of a pipeline in an iteration are not modelled: it "
                              "fills and drains in each");
        if (!gpus)
            ss_reading_assume(r, "the pipeline is filled once an iteration");
    }
    if (global > 0)
        ss_reading_whole_flag(r, at, "--gbs", x->tokens ? global / seq : global);
    else if (x->steps > 1)
        ss_reading_whole_flag(r, NULL, "--gradient-accumulation-steps", x->steps);
}

/* How many GPUs the degrees ask for, where they leave none open. */
static void add_nodes(struct ss_titan *x)
{
    struct ss_reading *r = &x->r;
    const struct ss_tree_node *at = ss_reading_node(r, "parallelism.data_parallel_shard_degree");
    double all = (double)x->shard * (double)x->replicate * (double)x->tp * (double)x->cp * (double)x->pp;

    if (x->shard < 1 || r->rc)
        return;
    if (r->nodes && r->gpus_per_node && all != (double)r->nodes * r->gpus_per_node) {
        ss_reading_fail(r, at, SS_ERR_CONFIG,
                        "the degrees ask for %.0f GPUs, the launcher has %d nodes of %d", all, r->nodes,
                        r->gpus_per_node);
    } else if (!r->nodes && !r->gpus_per_node && all <= SS_MAX_GPUS) {
        ss_reading_whole_flag(r, at, "--gpus", (int64_t)all);
    } else if (!r->nodes && all <= SS_MAX_GPUS && (int64_t)all % r->gpus_per_node == 0) {
        ss_reading_whole_flag(r, at, "--nodes", (int64_t)all / r->gpus_per_node);
    }
}

static SS_KEY_CALLED(add_data_and_nodes)
{
    add_data(ss_titan_of(r));
    add_nodes(ss_titan_of(r));
}

const struct ss_key_code ss_titan_code[] = {
    {"begin", begin},
    {"model", add_model},
    {"batch", add_batch},
    {"tensor", add_tensor},
    {"context", add_context},
    {"data", add_data_and_nodes},
    {"pipeline", ss_titan_pipeline},
    {"recompute", ss_titan_recompute},
    {"compile", ss_titan_compile},
    {"precision", ss_titan_precision},
    {"optimizer", ss_titan_optimizer},
    {NULL, NULL},
};
