/* SPDX-License-Identifier: Apache-2.0 */
/* Hugging Face's Trainer: what the rows of sharding.map cannot say of GPUs, ZeRO, FSDP and degrees. */
#include <strings.h>

#include "base/base.h"
#include "import/hf.h"

#define STAGE "deepspeed.zero_optimization.stage"
#define TP "accelerate.parallelism_config.parallelism_config_tp_size"
#define CP "accelerate.parallelism_config.parallelism_config_cp_size"
#define SP "accelerate.parallelism_config.parallelism_config_sp_size"
#define COPIES "accelerate.parallelism_config.parallelism_config_dp_replicate_size"
#define SHARDS "accelerate.parallelism_config.parallelism_config_dp_shard_size"
#define STRATEGY "accelerate.fsdp_config.fsdp_sharding_strategy"

/* accelerate says all processes, and machines. */
static void add_sizes(struct ss_reading *r)
{
    const struct ss_tree_node *at = ss_reading_node(r, "accelerate.num_processes");
    int64_t all = ss_reading_size(r, "accelerate.num_processes", 0, -1, 1 << 26);
    int64_t machines = ss_reading_size(r, "accelerate.num_machines", 1, 1, 1 << 20);

    if (all <= 0 || r->nodes)
        return;
    if (all % machines)
        ss_reading_fail(r, at, SS_ERR_CONFIG, "%lld processes do not divide by %lld machines", (long long)all,
                        (long long)machines);
    r->nodes = (int)machines;
    r->gpus_per_node = (int)(all / machines);
    ss_reading_whole_flag(r, ss_reading_node(r, "accelerate.num_machines"), "--nodes", machines);
    ss_reading_whole_flag(r, at, "--gpus-per-node", all / machines);
}

/* Ranks of data parallelism, as far as the files and the launcher say them; else 0. */
int64_t ss_hf_ranks(struct ss_reading *r)
{
    static const char *const degrees[] = {TP, CP, SP};
    int64_t ranks = (int64_t)r->nodes * r->gpus_per_node;

    for (size_t i = 0; i < SS_ARRAY_LEN(degrees); i++)
        ranks /= ss_reading_size(r, degrees[i], 1, 1, 1 << 20);
    return ranks;
}

/* ---- ZeRO ---- */

/* A size in parameters as a prop of the stack; "auto" is what the Trainer fills in. */
static void add_size(struct ss_reading *r, const char *key, int prop, double filled)
{
    const struct ss_tree_node *at = ss_reading_node(r, key);
    int64_t size = 0;

    if (!at || (ss_hf_is_auto(at) && filled <= 0))
        return;
    if (!ss_hf_is_auto(at) && (!ss_tree_whole(at, &size) || size < 0))
        ss_reading_fail(r, at, SS_ERR_INPUT, "a number of parameters is expected");
    else
        ss_reading_prop(r, at, prop, ss_hf_is_auto(at) ? filled : (double)size);
}

/* Behind the model, whose width the Trainer fills in for "auto". */
SS_KEY_CALLED(ss_hf_buckets)
{
    double h = r->has_model ? r->model.hidden_size : 0;

    if (ss_hf_of(r)->stage >= 1)
        add_size(r, "deepspeed.zero_optimization.reduce_bucket_size", SS_PROP_zero_bucket, h * h);
    if (ss_hf_of(r)->stage == 3)
        add_size(r,
                 "deepspeed.zero_optimization.stage3_max_live_parameters "
                 "deepspeed.zero_optimization.max_live_parameters",
                 SS_PROP_zero_live, 0);
    if (ss_hf_of(r)->stage == 3 &&
        ss_reading_holds(ss_tree_root(r->tree), "",
                         "deepspeed.zero_optimization.offload_param.device=cpu|nvme"))
        add_size(r,
                 "deepspeed.zero_optimization.stage3_prefetch_bucket_size "
                 "deepspeed.zero_optimization.prefetch_bucket_size",
                 SS_PROP_zero_prefetch, 0.9 * h * h);
}

/* ---- FSDP ---- */

static void add_strategy(struct ss_reading *r, const struct ss_tree_node *at, const char *name)
{
    const char *fsdp = ss_reading_lookup(r, "$strategies", name);

    if (!fsdp) {
        ss_reading_fail(r, at, SS_ERR_INPUT, "\"%.40s\" is no strategy of FSDP that is known", name);
    } else if (!strcmp(fsdp, "none")) {
        ss_hf_of(r)->how = SS_HF_DDP;
        ss_reading_fact(r, "ddp", "true");
    } else if (!fsdp[0]) {
        ss_reading_refuse(r, at, "copies on each node that shard gradients alone are not modelled");
    } else {
        ss_reading_flag(r, at, "--fsdp", fsdp);
    }
}

/* --fsdp "full_shard auto_wrap", as words of a text or items of a list. */
static char *words_of(const struct ss_tree_node *at, char *text, size_t size)
{
    ss_copy(text, size, at->text ? at->text : "");
    for (const struct ss_tree_node *item = at->first; item; item = item->next)
        ss_append(text, size, " %s", item->text ? item->text : "");
    return text;
}

static void add_fsdp_words(struct ss_reading *r, char *rest, const struct ss_tree_node *at)
{
    const char *name = "full_shard";
    char *word;

    while ((word = strsep(&rest, " ,")) != NULL)
        if (word[0] && strcmp(word, "auto_wrap") != 0)
            name = word;
    add_strategy(r, at, !strcasecmp(name, "true") ? "full_shard" : name);
}

/* Whether it is FSDP2, which takes no strategy but reshard_after_forward: false of the Trainer (_process_fsdp_args), true of accelerate
 * where it is not given. */
static int add_fsdp2(struct ss_reading *r, const struct ss_tree_node *words)
{
    const struct ss_tree_node *version =
        ss_reading_node(r, words ? "args.fsdp_config.version args.fsdp_config.fsdp_version"
                                 : "accelerate.fsdp_config.fsdp_version");
    const struct ss_tree_node *again = ss_reading_node(
        r, words ? "args.fsdp_config.reshard_after_forward args.fsdp_config.fsdp_reshard_after_forward"
                 : "accelerate.fsdp_config.fsdp_reshard_after_forward");
    const char *text = again && again->text ? again->text : words ? "false" : "true";
    int yes = ss_has_word("true True TRUE yes on 1", text);

    if (!version || !ss_tree_is(version, "2"))
        return 0;
    if (!yes && !ss_has_word("false False FALSE no off 0", text))
        ss_reading_fail(r, again, SS_ERR_CONFIG, "\"%.40s\" is no value of FSDP2: true or false", text);
    if (!again && words)
        ss_reading_assume(
            r, "parameters stay gathered behind the forward: the Trainer has reshard_after_forward "
               "false in FSDP2, whatever strategy --fsdp names");
    ss_reading_flag(r, again ? again : version, "--fsdp", yes ? "full" : "grad");
    return 1;
}

SS_KEY_CALLED(ss_hf_fsdp)
{
    struct ss_tree_node *words = ss_reading_node(r, "args.fsdp");
    const struct ss_tree_node *again = ss_reading_node(r, "accelerate.fsdp_config.fsdp_reshard_after_forward "
                                                          "args.fsdp_config.reshard_after_forward "
                                                          "args.fsdp_config.fsdp_reshard_after_forward");
    char text[160] = "";

    ss_tree_take(words);
    if (words && (ss_tree_is(words, "") || ss_tree_truth(words) == 0))
        words = NULL;
    if (words && strstr(words_of(words, text, sizeof text), "offload"))
        ss_reading_refuse(r, words, "FSDP with parameters on the host is not modelled");
    if (add_fsdp2(r, words))
        return;
    if (words)
        add_fsdp_words(r, text, words);
    else if (again && ss_tree_truth(again) >= 0)
        ss_reading_flag(r, again, "--fsdp", ss_tree_truth(again) ? "full" : "grad");
    else
        add_strategy(r, ss_reading_node(r, STRATEGY) ? ss_reading_node(r, STRATEGY) : again,
                     ss_reading_text(r, STRATEGY, again && again->text ? again->text : "FULL_SHARD"));
}

/* ---- which of them ---- */

/* tensor and context parallelism of accelerate's parallelism_config. */
SS_KEY_CALLED(ss_hf_degrees)
{
    int64_t tp = ss_reading_size(r, TP, 1, 1, 1 << 20), cp = ss_reading_size(r, CP, 1, 1, 1 << 20);
    int64_t sp = ss_reading_size(r, SP, 1, 1, 1 << 20), copies = ss_reading_size(r, COPIES, 1, 1, 1 << 20);
    double all = (double)tp * (double)cp * (double)sp * (double)copies *
                 (double)ss_reading_size(r, SHARDS, 1, 1, 1 << 20);
    double gpus = (double)r->nodes * r->gpus_per_node;

    if (ss_reading_node(r, SHARDS) && gpus > 0 && all > 1 && all != gpus)
        ss_reading_fail(r, ss_reading_node(r, SHARDS), SS_ERR_CONFIG,
                        "parallelism_config is of %.0f processes (total_size), not of %.0f", all, gpus);
    if (tp > 1)
        ss_reading_whole_flag(r, ss_reading_node(r, TP), "--tp", tp);
    if (cp > 1)
        ss_reading_whole_flag(r, ss_reading_node(r, CP), "--cp", cp);
    if (sp > 1) { /* Ulysses */
        ss_reading_whole_flag(r, ss_reading_node(r, SP), "--cp", sp);
        ss_reading_flag(r, ss_reading_node(r, SP), "--cp-comm-type", "a2a");
    }
    if (copies > 1 && r->nodes != copies)
        ss_reading_refuse(
            r, ss_reading_node(r, COPIES),
            "copies are modelled that are sharded over a node each: %lld copies of %d nodes are not",
            (long long)copies, r->nodes);
    if (copies > 1)
        ss_reading_flag(r, ss_reading_node(r, COPIES), "--fsdp", "hybrid");
}

static int64_t stage_of(struct ss_reading *r, const char *kind)
{
    if (ss_tree_find(ss_tree_root(r->tree), "deepspeed"))
        return ss_reading_size(r, STAGE, 0, 0, 3);
    if (!strcmp(kind, "DEEPSPEED"))
        return ss_reading_size(r, STAGE, 2, 0, 3); /* accelerate's default */
    return ss_reading_size(r, "args.zero_stage", -1, 0, 3);
}

SS_KEY_CALLED(ss_hf_sharding)
{
    static const char *const facts[] = {"plain", "zero", "fsdp", "megatron"}; /* of enum ss_hf_sharding */
    struct ss_hf *x = ss_hf_of(r);
    const char *kind = ss_reading_text(r, "accelerate.distributed_type", "");
    const struct ss_tree_node *at = ss_reading_node(r, "accelerate.distributed_type"),
                              *fsdp = ss_reading_node(r, "args.fsdp");
    char stage[8];

    add_sizes(r);
    x->stage = stage_of(r, kind);
    if (kind[0] && !ss_has_word("NO MULTI_GPU FSDP DEEPSPEED MEGATRON_LM no", kind))
        ss_reading_refuse(r, at, "%.40s is no training on GPUs that is modelled", kind);
    x->how = !strcmp(kind, "MEGATRON_LM") ? SS_HF_MEGATRON
             : x->stage >= 0              ? SS_HF_ZERO
             : !strcmp(kind, "FSDP") || (fsdp && !ss_tree_is(fsdp, "") && ss_tree_truth(fsdp) != 0)
                 ? SS_HF_FSDP
                 : SS_HF_DDP;
    snprintf(stage, sizeof stage, "%d", (int)x->stage);
    ss_reading_fact(r, facts[x->how], "true");
    ss_reading_fact(r, "stage", stage);
    if (x->how == SS_HF_DDP)
        ss_reading_fact(r, "ddp", "true");
    if (x->megatron)
        ss_reading_fact(r, "pretrain", "true");
    if (ss_hf_is_factory(r))
        ss_reading_fact(r, "factory", "true");
}
