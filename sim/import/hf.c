/* SPDX-License-Identifier: Apache-2.0 */
/* Hugging Face's Trainer: what the rows of huggingface.map cannot say of model, batch, precision, recompute and the script's arguments. */
#include "import/hf.h"

#include "base/base.h"

#define MOST ((int64_t)1 << 26)
#define MODEL "args.model_name_or_path"
#define LENGTH "args.cutoff_len"
#define SIZE "args.per_device_train_batch_size"
#define STEPS "args.gradient_accumulation_steps"
#define DS_SIZE "deepspeed.train_micro_batch_size_per_gpu"
#define DS_STEPS "deepspeed.gradient_accumulation_steps"
#define DS_ALL "deepspeed.train_batch_size"

/* Files that arguments name. */
static SS_KEY_CALLED(add_files)
{
    const struct ss_words *words = ss_hf_of(r)->words;

    ss_hf_set_kind(r);
    if (!r->rc)
        r->rc = ss_hf_graft_deepspeed(r->tree, words, r->err);
    if (!r->rc)
        r->rc = ss_hf_graft_fsdp(r->tree, words, r->err);
    for (size_t i = 0; i < 2; i++) {
        const struct ss_tree_node *map = ss_tree_find(ss_tree_root(r->tree), i ? "accelerate" : "deepspeed");
        for (const struct ss_tree_node *n = map ? map->first : NULL; n && map; n = n->next)
            if (strstr(n->file, "importers/known.yaml")) {
                ss_reading_assume(
                    r,
                    "the file of %s is not here: what is published under its name is taken (known.yaml:%d)",
                    map->key, n->parent->line);
                map = NULL;
            }
    }
}

/* ---- model and batch ---- */

static SS_KEY_CALLED(add_model)
{
    const struct ss_tree_node *at = ss_reading_node(r, MODEL);

    if (!at) {
        ss_reading_assume(r, "--model says the model");
        return;
    }
    ss_reading_model(r, at, ss_reading_text(r, MODEL, ""));
    ss_reading_flag(r, at, "--make-vocab-size-divisible-by", "1"); /* rows as they are */
    if (r->has_model && r->model.num_experts > 0)
        ss_reading_assume(r, "the products of a rank's experts are one grouped GEMM, tokens are spread by "
                             "data parallelism alone");
}

static SS_KEY_CALLED(add_sequence)
{
    const struct ss_hf *x = ss_hf_of(r);
    int clm = strstr(x->script, "run_clm") != NULL, full = clm || ss_reading_truth(r, "args.packing", 0);
    int apart = ss_reading_truth(r, "args.neat_packing", 0);
    int64_t seq = ss_reading_size(r, LENGTH, x->kind->length ? x->kind->length : clm ? 1024 : 0, 0, MOST);

    if (ss_hf_is_factory(r) && ss_tree_is(ss_reading_node(r, "args.stage"), "pt"))
        full = 1;
    if (!seq) {
        ss_reading_assume(r, "--seq says the length of a row");
        return;
    }
    ss_reading_whole_flag(r, ss_reading_node(r, LENGTH), "--seq", seq);
    if (apart)
        ss_reading_assume(r,
                          "a row is one document; --packed-lengths says those that neat_packing keeps apart");
    else if (!full)
        ss_reading_assume(r, "every row has all of its %lld tokens", (long long)seq);
}

/* A number that HF's arguments and DeepSpeed's file may both say: they must agree. */
static int64_t agreed(struct ss_reading *r, const char *args, const char *ds, int64_t missing)
{
    const struct ss_tree_node *ours = ss_reading_node(r, args), *theirs = ss_reading_node(r, ds);
    int64_t value = ss_reading_size(r, args, missing, 1, MOST), other = value;

    if (!theirs || ss_hf_is_auto(theirs) || r->rc)
        return value;
    other = ss_reading_size(r, ds, value, 1, MOST);
    if (ours && other != value)
        ss_reading_fail(
            r, theirs, SS_ERR_CONFIG,
            "%lld here and %lld at %s:%d: the Trainer refuses values that differ from its own; write "
            "\"auto\"",
            (long long)other, (long long)value, ours->file, ours->line);
    return other;
}

void ss_hf_check_batch(struct ss_reading *r, int64_t micro, int64_t steps, int64_t ranks)
{
    const struct ss_tree_node *at = ss_reading_node(r, DS_ALL);
    int64_t all = ss_hf_is_auto(at) ? 0 : ss_reading_size(r, DS_ALL, 0, 1, MOST);

    if (!all || !micro || !steps || r->rc)
        return;
    if (all % steps || all / steps % micro)
        ss_reading_fail(
            r, at, SS_ERR_CONFIG,
            "%lld is no multiple of %lld x %lld, micro batch x gradient accumulation: DeepSpeed refuses it",
            (long long)all, (long long)micro, (long long)steps);
    else if (!ranks)
        ss_reading_assume(
            r,
            "the number of GPUs makes %lld data-parallel ranks: with any other DeepSpeed refuses a "
            "train_batch_size of %lld (%lld x %lld a rank)",
            (long long)(all / steps / micro), (long long)all, (long long)micro, (long long)steps);
    else if (all / steps / micro != ranks)
        ss_reading_fail(
            r, at, SS_ERR_CONFIG,
            "%lld is not %lld x %lld x %lld, micro batch x gradient accumulation x data-parallel ranks: "
            "DeepSpeed refuses it",
            (long long)all, (long long)micro, (long long)steps, (long long)ranks);
}

static SS_KEY_CALLED(add_batch)
{
    const struct ss_tree_node *all = ss_reading_node(r, DS_ALL),
                              *said = ss_reading_node(r, STEPS " " DS_STEPS);
    int trainer = ss_tree_find(ss_tree_root(r->tree), "args") != NULL;
    int64_t micro = agreed(r, SIZE, DS_SIZE, trainer ? ss_hf_of(r)->kind->batch : 0),
            number = agreed(r, STEPS, DS_STEPS, 1);

    if (micro)
        ss_reading_whole_flag(r, ss_reading_node(r, SIZE " " DS_SIZE), "--mbs", micro);
    else
        ss_reading_assume(r, "--mbs says the sequences of a microbatch");
    ss_hf_check_batch(r, micro, said && !ss_hf_is_auto(said) ? number : 0, ss_hf_ranks(r));
    if (all && !ss_hf_is_auto(all))
        ss_reading_whole_flag(r, all, "--gbs", ss_reading_size(r, DS_ALL, 1, 1, MOST));
    else if (number > 1)
        ss_reading_whole_flag(r, ss_reading_node(r, STEPS), "--gradient-accumulation-steps", number);
}

/* ---- precision ---- */

/* A truth of DeepSpeed's file, "auto" and missing: the Trainer's. */
static int ds_truth(struct ss_reading *r, const char *path, int trainers)
{
    const struct ss_tree_node *node = ss_reading_node(r, path);

    return !node || ss_hf_is_auto(node) ? trainers : ss_reading_truth(r, path, trainers);
}

static void add_autocast(struct ss_reading *r, const struct ss_tree_node *at, int half)
{
    const char *paths = "args.torch_dtype args.dtype", *type = ss_reading_text(r, paths, "float32");
    enum ss_hf_sharding how = ss_hf_of(r)->how;
    int pure = ss_reading_truth(r, "args.pure_bf16", 0), whole = strstr(type, "bfloat16") ||
                                                                 !strcmp(type, "bf16") || pure ||
                                                                 (ss_hf_of(r)->kind->whole && !half);

    if (how == SS_HF_FSDP && pure)
        ss_reading_refuse(r, ss_reading_node(r, "args.pure_bf16"),
                          "FSDP without fp32 parameters is not modelled");
    if (how != SS_HF_DDP)
        return;
    if (half)
        ss_reading_refuse(r, at, "fp16 under autocast is not modelled: take bf16, or DeepSpeed");
    ss_reading_prop(r, whole ? ss_reading_node(r, paths) : at,
                    whole ? SS_PROP_model_type : SS_PROP_fp32_params, 1);
}

/* DeepSpeed accumulates in the model's type, but bf16 without ZeRO in fp32, unless its file says another (get_data_types of its
 * engine.py). */
static void add_accumulation(struct ss_reading *r, const char *own)
{
    const struct ss_tree_node *at = ss_reading_node(r, "deepspeed.data_types.grad_accum_dtype");

    if (at ? ss_tree_is(at, own) : ss_hf_of(r)->stage > 0 || strcmp(own, "bf16") != 0)
        return;
    if (at && !ss_tree_is(at, "fp32"))
        ss_reading_refuse(
            r, at,
            "gradients that are accumulated in \"%.20s\" are not modelled: the model's type (%s) or fp32",
            at->text ? at->text : "", own);
    ss_reading_flag(r, at, "--accumulate-allreduce-grads-in-fp32", NULL);
}

static SS_KEY_CALLED(add_precision)
{
    static const char mixed[] = "accelerate.mixed_precision", ds_bf16[] = "deepspeed.bf16.enabled",
                      ds_fp16[] = "deepspeed.fp16.enabled",
                      gather[] = "args.fp8_enable_fsdp_float8_all_gather "
                                 "accelerate.fp8_config.enable_fsdp_float8_all_gather";
    const struct ss_hf *x = ss_hf_of(r);
    const char *name = ss_reading_text(r, mixed, "");
    const struct ss_tree_node *b =
        ss_reading_node(r, "args.bf16 deepspeed.bf16.enabled accelerate.mixed_precision args.dtype");
    const char *own, *chat = x->script[0] && ss_reading_node(r, "args.zero_stage")
                                 ? ss_reading_text(r, "args.dtype", "fp16")
                                 : "";
    int fp16 = ss_reading_truth(r, "args.fp16", 0) || !strcmp(name, "fp16") || !strcmp(chat, "fp16");
    int bf16 = ss_reading_truth(r, "args.bf16", x->kind->bf16 && !fp16) || !strcmp(name, "bf16") ||
               !strcmp(chat, "bf16") || ss_reading_truth(r, "args.pure_bf16", 0);
    int narrow = ss_reading_truth(r, gather, 0); /* where LLaMA-Factory switches fp8 on, too */
    int fp8 = ss_reading_truth(r, "args.fp8", narrow && ss_hf_is_factory(r)) || !strcmp(name, "fp8");

    if (x->stage >= 0) {
        bf16 = ds_truth(r, ds_bf16, bf16);
        fp16 = ds_truth(r, ds_fp16, fp16) && !bf16;
        own = bf16 || fp8 ? "bf16" : fp16 ? "fp16" : "fp32";
        ss_reading_fact(r, "type", own);
        add_accumulation(r, own);
    }
    if (bf16 || fp8)
        ss_reading_flag(r, b, "--bf16", NULL);
    else
        ss_reading_flag(r, ss_reading_node(r, "args.fp16 deepspeed.fp16.enabled accelerate.mixed_precision"),
                        fp16 ? "--fp16" : "--precision", fp16 ? NULL : "fp32");
    if (fp8) {
        ss_reading_flag(r, ss_reading_node(r, "args.fp8 accelerate.mixed_precision"), "--precision", "fp8");
        ss_reading_flag(r, NULL, "--fp8-recipe", "tensorwise");
        ss_reading_assume(r, "fp8 costs what scales of whole tensors cost");
        if (narrow && x->how == SS_HF_FSDP)
            ss_reading_flag(r, ss_reading_node(r, gather), "--fp8-param-gather", NULL);
    }
    if (bf16 || fp16 || fp8)
        add_autocast(r, b, fp16);
    else if (!ss_reading_holds(ss_tree_root(r->tree), "", "args?") && x->stage >= 0)
        ss_reading_assume(r, "fp32, where neither bf16 nor fp16 is enabled: else give --bf16");
    if (!bf16 && !fp16 && !fp8 && ss_reading_truth(r, "args.tf32", 0))
        ss_reading_refuse(r, ss_reading_node(r, "args.tf32"), "fp32 with products in TF32 is not modelled");
}

/* ---- recompute ---- */

/* By the Trainer, or by accelerate's FSDP, whose switch its fsdp_config beats. The Trainer refuses both; LLaMA-Factory has a third. */
static SS_KEY_CALLED(add_recompute)
{
    static const char plugins[] = "args.fsdp_config.activation_checkpointing";
    const struct ss_hf *x = ss_hf_of(r);
    const struct ss_tree_node *at = ss_reading_node(r, "args.gradient_checkpointing");
    int own = x->kind->recompute, on = ss_reading_truth(r, "args.gradient_checkpointing", own);
    int wrapped = ss_reading_truth(r, plugins, 0) && x->how == SS_HF_FSDP;

    if (ss_hf_is_factory(r)) {
        at = ss_reading_node(r, "args.disable_gradient_checkpointing");
        on = !ss_reading_truth(r, "args.disable_gradient_checkpointing", 0);
    } else if (at && on && wrapped && !x->kind->root) {
        ss_reading_fail(r, ss_reading_node(r, plugins), SS_ERR_CONFIG,
                        "the Trainer refuses FSDP's checkpointing beside gradient_checkpointing: take one");
    }
    if (!at && !wrapped && own)
        ss_reading_assume(r, "layers are recomputed, %s's default (%s)", x->kind->name,
                          ss_hf_is_factory(r) ? "disable_gradient_checkpointing" : "gradient_checkpointing");
    if (wrapped || !at)
        at = ss_reading_node(r, plugins) ? ss_reading_node(r, plugins) : at;
    if (own || ss_tree_find(ss_tree_root(r->tree), "args") || at)
        ss_reading_flag(r, at, "--recompute", on || wrapped ? "full" : "none");
}

/* ---- arguments that have no row ---- */

/* Refuses an unknown argument whose name shows that it has an effect. */
static void check_own(struct ss_reading *r, const struct ss_tree_node *node)
{
    int off = node->kind == SS_TREE_SCALAR &&
              (ss_tree_is_null(node) || ss_has_word("0 1 false False none no", node->text));

    if (!off && strstr(node->key, "parallel"))
        ss_reading_refuse(r, node,
                          "the script's own parallelism is not read: give --tp, --pp, --cp or --ep "
                          "instead");
    if (strstr(node->key, "lora") && ss_tree_truth(node) == 1)
        ss_reading_refuse(r, node, "LoRA is not modelled: weights are frozen, gradients are of adapters");
}

/* Passes the arguments of the user's own script, which are only names here. Arguments of the Trainer without
 * effect are listed by name. */
static SS_KEY_CALLED(pass_own)
{
    const struct ss_tree_node *args = ss_tree_find(ss_tree_root(r->tree), "args");
    char list[480] = "", path[240];

    for (struct ss_tree_node *child = args ? args->first : NULL; child && !r->rc; child = child->next) {
        const struct ss_key_row *row = ss_keymap_find(r->map, ss_tree_path(child, path, sizeof path));
        if (child->read || (row && row->kind != SS_KEY_NONE) || !child->key ||
            (!row && ss_keymap_is_section(r->map, path)))
            continue;
        ss_tree_take(child);
        if (row && ss_notes_add(&r->ignored, "%s", child->key))
            r->rc = ss_nomem(r->err);
        if (row)
            continue;
        check_own(r, child);
        if (ss_reading_is_misspelt(r, child, path))
            continue;
        if (strlen(list) + 80 < sizeof list)
            ss_append(list, sizeof list, "%s%.60s", list[0] ? ", " : "", child->key);
    }
    if (list[0])
        ss_reading_assume(r, "these arguments, which are not known here, change no time: %s", list);
}

const struct ss_key_code ss_hf_code[] = {
    {"files", add_files}, {"model", add_model},         {"sequence", add_sequence},
    {"batch", add_batch}, {"precision", add_precision}, {"recompute", add_recompute},
    {"own", pass_own},    SS_HF_SHARDING_CODE,          {NULL, NULL}};
