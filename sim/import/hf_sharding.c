/* SPDX-License-Identifier: Apache-2.0 */
/* Hugging Face's Trainer: GPUs, ZeRO, FSDP, plain data parallelism. */
#include <string.h>
#include <strings.h>

#include "base/base.h"
#include "import/hf.h"

/* accelerate says all processes, and machines. */
static void map_sizes(struct ss_hf *x)
{
    struct ss_trainer *t = &x->t;
    const struct ss_tree_node *at = ss_trainer_node(t, "accelerate.num_processes");
    int64_t all = ss_trainer_size(t, "accelerate.num_processes", 0, -1, 1 << 26);
    int64_t machines = ss_trainer_size(t, "accelerate.num_machines", 1, 1, 1 << 20);

    if (all <= 0 || t->nodes)
        return;
    if (all % machines)
        ss_trainer_fail(t, at, SS_ERR_CONFIG, "%lld processes do not divide by %lld machines", (long long)all,
                        (long long)machines);
    t->nodes = (int)machines;
    t->gpus_per_node = (int)(all / machines);
    ss_trainer_add_whole(t, ss_trainer_node(t, "accelerate.num_machines"), "--nodes", machines);
    ss_trainer_add_whole(t, at, "--gpus-per-node", all / machines);
}

/* ---- ZeRO ---- */

static void map_offload(struct ss_hf *x)
{
    struct ss_trainer *t = &x->t;
    const char *states = "deepspeed.zero_optimization.offload_optimizer.device "
                         "accelerate.deepspeed_config.offload_optimizer_device";
    const char *weights = "deepspeed.zero_optimization.offload_param.device "
                          "accelerate.deepspeed_config.offload_param_device";
    const struct ss_tree_node *at = ss_trainer_node(t, states), *param = ss_trainer_node(t, weights);
    int old = ss_trainer_truth(t, "deepspeed.zero_optimization.cpu_offload", 0);
    const char *where = ss_trainer_text(t, states, old ? "cpu" : "none");

    if (param && !ss_tree_is(param, "none"))
        ss_trainer_refuse(t, param,
                          "parameters on the host or on disks are not modelled: take the optimizer "
                          "alone (offload_optimizer)");
    if (!strcmp(where, "none"))
        return;
    if (strcmp(where, "cpu") != 0)
        ss_trainer_refuse(t, at, "an optimizer on \"%.20s\" is not modelled: cpu or none", where);
    if (!at)
        at = ss_trainer_node(t, "deepspeed.zero_optimization.cpu_offload");
    ss_trainer_add(t, at, "--optimizer-cpu-offload", NULL);
    const char *part = "deepspeed.zero_optimization.offload_optimizer.ratio";
    ss_trainer_add(t, ss_trainer_node(t, part) ? ss_trainer_node(t, part) : at,
                   "--optimizer-offload-fraction", ss_trainer_text(t, part, "1"));
}

/* A size in parameters as a prop of the stack; "auto" is what the Trainer fills in. */
static void add_size(struct ss_hf *x, const char *path, int prop, double filled)
{
    const struct ss_tree_node *at = ss_trainer_node(&x->t, path);
    int64_t size = 0;

    if (!at || (ss_hf_is_auto(at) && filled <= 0))
        return;
    if (!ss_hf_is_auto(at) && (!ss_tree_whole(at, &size) || size < 0))
        ss_trainer_fail(&x->t, at, SS_ERR_INPUT, "a number of parameters is asked");
    else
        ss_trainer_add_prop(&x->t, at, prop, ss_hf_is_auto(at) ? filled : (double)size);
}

static void map_zero(struct ss_hf *x)
{
    static const char *const words[][2] = {
        {NULL, NULL}, {"--use-distributed-optimizer", NULL}, {"--fsdp", "grad"}, {"--fsdp", "full"}};
    struct ss_trainer *t = &x->t;
    const char *stage =
        "deepspeed.zero_optimization.stage accelerate.deepspeed_config.zero_stage args.zero_stage";
    const struct ss_tree_node *at = ss_trainer_node(t, stage),
                              *beside = ss_trainer_node(t, "deepspeed.zero_optimization.overlap_comm");
    int overlap = ss_hf_is_auto(beside)
                      ? x->stage == 3
                      : ss_trainer_truth(t, "deepspeed.zero_optimization.overlap_comm", x->stage == 3);

    const char *stack = x->megatron ? "megatron-deepspeed-2022" : "deepspeed-2026";

    ss_trainer_add(t, NULL, "--stack", stack);
    ss_trainer_assume(t, "the software is that of the stack %s (--stack)", stack);
    if (words[x->stage][0])
        ss_trainer_add(t, at, words[x->stage][0], words[x->stage][1]);
    if (x->stage == 1 && overlap)
        ss_trainer_add(t, beside, "--overlap-grad-reduce", NULL);
    if (x->stage >= 2 && !overlap)
        ss_trainer_assume(t, "gradients are reduced beside the backward, as with overlap_comm; without it "
                             "DeepSpeed takes longer");
    map_offload(x);
}

void ss_hf_map_buckets(struct ss_hf *x)
{
    double h = x->t.has_model ? x->t.model.hidden_size : 0;

    if (x->stage < 1)
        return;
    add_size(x, "deepspeed.zero_optimization.reduce_bucket_size", SS_PROP_zero_bucket, h * h);
    if (x->stage == 3)
        add_size(x,
                 "deepspeed.zero_optimization.stage3_max_live_parameters "
                 "deepspeed.zero_optimization.max_live_parameters",
                 SS_PROP_zero_live, 0);
}

/* ---- FSDP ---- */

static const struct {
    const char *name;
    const char *fsdp; /* NULL: not sharded; "": refused */
} strategies[] = {
    {"FULL_SHARD", "full"},     {"1", "full"}, {"SHARD_GRAD_OP", "grad"},  {"2", "grad"},
    {"NO_SHARD", NULL},         {"3", NULL},   {"HYBRID_SHARD", "hybrid"}, {"4", "hybrid"},
    {"HYBRID_SHARD_ZERO2", ""}, {"5", ""},
};

static void add_strategy(struct ss_hf *x, const struct ss_tree_node *at, const char *name)
{
    struct ss_trainer *t = &x->t;
    size_t i = 0;

    while (i < SS_ARRAY_LEN(strategies) && strcasecmp(strategies[i].name, name) != 0)
        i++;
    if (i == SS_ARRAY_LEN(strategies))
        ss_trainer_fail(t, at, SS_ERR_INPUT, "\"%.40s\" is no strategy of FSDP that is known", name);
    else if (!strategies[i].fsdp)
        x->how = SS_HF_DDP;
    else if (!strategies[i].fsdp[0])
        ss_trainer_refuse(t, at, "copies on each node that shard gradients alone are not modelled");
    else
        ss_trainer_add(t, at, "--fsdp", strategies[i].fsdp);
}

/* --fsdp "full_shard auto_wrap", as words of a text or items of a list. */
static char *words_of(const struct ss_tree_node *at, char *text, size_t size)
{
    ss_copy(text, size, at->text ? at->text : "");
    for (const struct ss_tree_node *item = at->first; item; item = item->next) {
        size_t used = strlen(text);
        snprintf(text + used, size - used, " %s", item->text ? item->text : "");
    }
    return text;
}

static void map_fsdp_words(struct ss_hf *x, char *rest, const struct ss_tree_node *at)
{
    const char *name = "full_shard";
    char *word;

    while ((word = strsep(&rest, " ,")) != NULL)
        if (word[0] && strcmp(word, "auto_wrap") != 0)
            name = word;
    add_strategy(x, at, !strcasecmp(name, "true") ? "full_shard" : name);
}

/* Whether it is FSDP2, which takes no strategy but reshard_after_forward: false of the Trainer (_process_fsdp_args), true of accelerate
 * where it is not given. */
static int map_fsdp2(struct ss_hf *x, const struct ss_tree_node *words)
{
    struct ss_trainer *t = &x->t;
    const struct ss_tree_node *version =
        ss_trainer_node(t, words ? "args.fsdp_config.version args.fsdp_config.fsdp_version"
                                 : "accelerate.fsdp_config.fsdp_version");
    const struct ss_tree_node *again = ss_trainer_node(
        t, words ? "args.fsdp_config.reshard_after_forward args.fsdp_config.fsdp_reshard_after_forward"
                 : "accelerate.fsdp_config.fsdp_reshard_after_forward");
    const char *text = again && again->text ? again->text : words ? "false" : "true";
    int yes = ss_has_word("true True TRUE yes on 1", text);

    if (!version || !ss_tree_is(version, "2"))
        return 0;
    if (!yes && !ss_has_word("false False FALSE no off 0", text))
        ss_trainer_fail(t, again, SS_ERR_CONFIG, "\"%.40s\" is no value of FSDP2: true or false", text);
    if (!again && words)
        ss_trainer_assume(
            t, "parameters stay gathered behind the forward: the Trainer has reshard_after_forward "
               "false in FSDP2, whatever strategy --fsdp names");
    ss_trainer_add(t, again ? again : version, "--fsdp", yes ? "full" : "grad");
    return 1;
}

static void map_fsdp(struct ss_hf *x)
{
    struct ss_trainer *t = &x->t;
    struct ss_tree_node *words = ss_trainer_node(t, "args.fsdp");
    const char *config = "accelerate.fsdp_config.fsdp_sharding_strategy";
    const struct ss_tree_node *again = ss_trainer_node(t, "accelerate.fsdp_config.fsdp_reshard_after_forward "
                                                          "args.fsdp_config.reshard_after_forward "
                                                          "args.fsdp_config.fsdp_reshard_after_forward");
    const struct ss_tree_node *wrap = ss_trainer_node(t, "accelerate.fsdp_config.fsdp_auto_wrap_policy");
    char text[160] = "";

    ss_trainer_add(t, NULL, "--stack", "accelerate-2026");
    ss_trainer_assume(t, "PyTorch's software is that of the stack accelerate-2026 (--stack)");
    ss_tree_take(words);
    if (words && (ss_tree_is(words, "") || ss_tree_truth(words) == 0))
        words = NULL;
    if (wrap && ss_tree_is(wrap, "NO_WRAP"))
        ss_trainer_refuse(t, wrap, "FSDP of a model in one piece is not modelled: TRANSFORMER_BASED_WRAP");
    if (words && strstr(words_of(words, text, sizeof text), "offload"))
        ss_trainer_refuse(t, words, "FSDP with parameters on the host is not modelled");
    if (map_fsdp2(x, words))
        return;
    if (words)
        map_fsdp_words(x, text, words);
    else if (again && ss_tree_truth(again) >= 0)
        ss_trainer_add(t, again, "--fsdp", ss_tree_truth(again) ? "full" : "grad");
    else
        add_strategy(x, ss_trainer_node(t, config) ? ss_trainer_node(t, config) : again,
                     ss_trainer_text(t, config, again && again->text ? again->text : "FULL_SHARD"));
}

/* ---- which of them ---- */

/* tensor and context parallelism of accelerate's parallelism_config. */
static void map_degrees(struct ss_hf *x)
{
    struct ss_trainer *t = &x->t;
    const char *at[] = {"accelerate.parallelism_config.parallelism_config_tp_size",
                        "accelerate.parallelism_config.parallelism_config_cp_size",
                        "accelerate.parallelism_config.parallelism_config_sp_size",
                        "accelerate.parallelism_config.parallelism_config_dp_replicate_size"};
    int64_t tp = ss_trainer_size(t, at[0], 1, 1, 1 << 20), cp = ss_trainer_size(t, at[1], 1, 1, 1 << 20);
    int64_t sp = ss_trainer_size(t, at[2], 1, 1, 1 << 20), copies = ss_trainer_size(t, at[3], 1, 1, 1 << 20);

    const char *shards = "accelerate.parallelism_config.parallelism_config_dp_shard_size";
    double all = (double)tp * (double)cp * (double)sp * (double)copies *
                 (double)ss_trainer_size(t, shards, 1, 1, 1 << 20);
    double gpus = (double)t->nodes * t->gpus_per_node;

    if (ss_trainer_node(t, shards) && gpus > 0 && all > 1 && all != gpus)
        ss_trainer_fail(t, ss_trainer_node(t, shards), SS_ERR_CONFIG,
                        "parallelism_config is of %.0f processes (total_size), not of %.0f", all, gpus);
    if (tp > 1)
        ss_trainer_add_whole(t, ss_trainer_node(t, at[0]), "--tp", tp);
    if (cp > 1)
        ss_trainer_add_whole(t, ss_trainer_node(t, at[1]), "--cp", cp);
    if (sp > 1) { /* Ulysses */
        ss_trainer_add_whole(t, ss_trainer_node(t, at[2]), "--cp", sp);
        ss_trainer_add(t, ss_trainer_node(t, at[2]), "--cp-comm-type", "a2a");
    }
    if (copies > 1 && t->nodes != copies)
        ss_trainer_refuse(
            t, ss_trainer_node(t, at[3]),
            "copies are modelled that are sharded over a node each: %lld copies of %d nodes are not",
            (long long)copies, t->nodes);
    if (copies > 1)
        ss_trainer_add(t, ss_trainer_node(t, at[3]), "--fsdp", "hybrid");
}

static int64_t stage_of(struct ss_hf *x, const char *kind)
{
    struct ss_trainer *t = &x->t;
    const char *path =
        "deepspeed.zero_optimization.stage accelerate.deepspeed_config.zero_stage args.zero_stage";

    if (ss_tree_find(ss_tree_root(t->tree), "deepspeed"))
        return ss_trainer_size(t, path, 0, 0, 3);
    if (!strcmp(kind, "DEEPSPEED"))
        return ss_trainer_size(t, path, 2, 0, 3); /* accelerate's default */
    return ss_trainer_size(t, "args.zero_stage", -1, 0, 3);
}

void ss_hf_map_sharding(struct ss_hf *x)
{
    struct ss_trainer *t = &x->t;
    const char *kind = ss_trainer_text(t, "accelerate.distributed_type", "");
    const struct ss_tree_node *at = ss_trainer_node(t, "accelerate.distributed_type"),
                              *fsdp = ss_trainer_node(t, "args.fsdp");

    map_sizes(x);
    x->stage = stage_of(x, kind);
    x->how = SS_HF_DDP;
    if (kind[0] && !ss_has_word("NO MULTI_GPU FSDP DEEPSPEED MEGATRON_LM no", kind))
        ss_trainer_refuse(t, at, "%.40s is no training on GPUs that is modelled", kind);
    if (!strcmp(kind, "MEGATRON_LM")) {
        x->how = SS_HF_MEGATRON;
        ss_hf_map_megatron(x);
    } else if (x->stage >= 0) {
        x->how = SS_HF_ZERO;
        map_zero(x);
    } else if (!strcmp(kind, "FSDP") || (fsdp && !ss_tree_is(fsdp, "") && ss_tree_truth(fsdp) != 0)) {
        x->how = SS_HF_FSDP;
        map_fsdp(x);
    } else {
        ss_trainer_add(t, NULL, "--stack", "accelerate-2026");
        ss_trainer_assume(t, "PyTorch's software is that of the stack accelerate-2026 (--stack), its data "
                             "parallelism plain");
    }
    if (x->how == SS_HF_DDP)
        ss_trainer_add(t, at, "--overlap-grad-reduce", NULL);
    map_degrees(x);
}
