/* SPDX-License-Identifier: Apache-2.0 */
/* Hugging Face's Trainer: model, batch, precision, kernels, optimizer. */
#include "import/hf.h"

#include <string.h>
#include <strings.h>

#include "base/base.h"

#define MOST ((int64_t)1 << 26)

/* ---- model and batch ---- */

static void map_model(struct ss_hf *x)
{
    struct ss_trainer *t = &x->t;
    const char *paths = "args.model_name_or_path args.model_name args.model_id args.model args.config_name";
    const struct ss_tree_node *at = ss_trainer_node(t, paths);

    if (!at) {
        ss_trainer_assume(t, "--model says the model");
        return;
    }
    ss_trainer_model(t, at, ss_trainer_text(t, paths, ""));
    ss_trainer_add(t, at, "--make-vocab-size-divisible-by", "1"); /* rows as they are */
    if (t->has_model && t->model.num_experts > 0)
        ss_trainer_assume(t, "the products of a rank's experts are one grouped GEMM, tokens are spread by "
                             "data parallelism alone");
}

static void map_sequence(struct ss_hf *x)
{
    struct ss_trainer *t = &x->t;
    const char *paths =
        "args.cutoff_len args.block_size args.max_seq_length args.max_length args.max_seq_len "
        "args.model_max_length";
    const struct ss_tree_node *at = ss_trainer_node(t, paths);
    int clm = strstr(x->script, "run_clm") != NULL, full = clm || ss_trainer_truth(t, "args.packing", 0);
    int apart = ss_trainer_truth(t, "args.neat_packing", 0);
    int64_t seq = ss_trainer_size(t, paths, x->factory ? 2048 : clm ? 1024 : 0, 0, MOST);

    if (x->factory && ss_tree_is(ss_trainer_node(t, "args.stage"), "pt"))
        full = 1;
    if (!seq) {
        ss_trainer_assume(t, "--seq says the length of a row");
        return;
    }
    ss_trainer_add_whole(t, at, "--seq", seq);
    if (apart)
        ss_trainer_assume(t,
                          "a row is one document; --packed-lengths says those that neat_packing keeps apart");
    else if (!full)
        ss_trainer_assume(t, "every row has all of its %lld tokens", (long long)seq);
}

/* A number that HF's arguments and DeepSpeed's file may both say: they must agree. */
static int64_t agreed(struct ss_hf *x, const char *args, const char *ds, int64_t missing)
{
    struct ss_trainer *t = &x->t;
    const struct ss_tree_node *ours = ss_trainer_node(t, args), *theirs = ss_trainer_node(t, ds);
    int64_t value = ss_trainer_size(t, args, missing, 1, MOST), other = value;

    if (!theirs || ss_hf_is_auto(theirs) || t->rc)
        return value;
    other = ss_trainer_size(t, ds, value, 1, MOST);
    if (ours && other != value)
        ss_trainer_fail(
            t, theirs, SS_ERR_CONFIG,
            "%lld here and %lld at %s:%d: the Trainer refuses values that differ from its own; write "
            "\"auto\"",
            (long long)other, (long long)value, ours->file, ours->line);
    return other;
}

void ss_hf_check_batch(struct ss_trainer *t, int64_t micro, int64_t steps, int64_t ranks)
{
    const struct ss_tree_node *at = ss_trainer_node(t, "deepspeed.train_batch_size");
    int64_t all = ss_hf_is_auto(at) ? 0 : ss_trainer_size(t, "deepspeed.train_batch_size", 0, 1, MOST);

    if (!all || !micro || !steps || t->rc)
        return;
    if (all % steps || all / steps % micro)
        ss_trainer_fail(
            t, at, SS_ERR_CONFIG,
            "%lld is no multiple of %lld x %lld, micro batch x gradient accumulation: DeepSpeed refuses it",
            (long long)all, (long long)micro, (long long)steps);
    else if (!ranks)
        ss_trainer_assume(
            t,
            "the GPUs are as many as make %lld data-parallel ranks: with others DeepSpeed refuses a "
            "train_batch_size of %lld (%lld x %lld a rank)",
            (long long)(all / steps / micro), (long long)all, (long long)micro, (long long)steps);
    else if (all / steps / micro != ranks)
        ss_trainer_fail(
            t, at, SS_ERR_CONFIG,
            "%lld is not %lld x %lld x %lld, micro batch x gradient accumulation x data-parallel ranks: "
            "DeepSpeed refuses it",
            (long long)all, (long long)micro, (long long)steps, (long long)ranks);
}

/* Ranks of data parallelism, as far as the files and the launcher say them; else 0. */
static int64_t ranks_of(struct ss_hf *x)
{
    static const char *const degrees[] = {"accelerate.parallelism_config.parallelism_config_tp_size",
                                          "accelerate.parallelism_config.parallelism_config_cp_size",
                                          "accelerate.parallelism_config.parallelism_config_sp_size"};
    int64_t ranks = (int64_t)x->t.nodes * x->t.gpus_per_node;

    for (size_t i = 0; i < SS_ARRAY_LEN(degrees); i++)
        ranks /= ss_trainer_size(&x->t, degrees[i], 1, 1, 1 << 20);
    return ranks;
}

static void map_batch(struct ss_hf *x)
{
    struct ss_trainer *t = &x->t;
    const char *ds_steps = "deepspeed.gradient_accumulation_steps";
    const char *size = "args.per_device_train_batch_size args.per_gpu_train_batch_size args.train_batch_size";
    const char *ds_size = "deepspeed.train_micro_batch_size_per_gpu";
    const char *steps =
        "args.gradient_accumulation_steps accelerate.deepspeed_config.gradient_accumulation_steps";
    const struct ss_tree_node *all = ss_trainer_node(t, "deepspeed.train_batch_size");
    int trainer = ss_tree_find(ss_tree_root(t->tree), "args") != NULL;
    int64_t micro = agreed(x, size, ds_size, trainer ? 8 : 0);
    int64_t number = agreed(x, steps, ds_steps, 1);
    const struct ss_tree_node *said =
        ss_trainer_node(t, steps) ? ss_trainer_node(t, steps) : ss_trainer_node(t, ds_steps);

    if (ss_trainer_truth(t, "args.auto_find_batch_size", 0))
        ss_trainer_refuse(t, ss_trainer_node(t, "args.auto_find_batch_size"),
                          "the batch is what fits when it runs: give --mbs");
    if (micro)
        ss_trainer_add_whole(
            t, ss_trainer_node(t, size) ? ss_trainer_node(t, size) : ss_trainer_node(t, ds_size), "--mbs",
            micro);
    else
        ss_trainer_assume(t, "--mbs says the sequences of a microbatch");
    ss_hf_check_batch(t, micro, said && !ss_hf_is_auto(said) ? number : 0, ranks_of(x));
    if (all && !ss_hf_is_auto(all))
        ss_trainer_add_whole(t, all, "--gbs", ss_trainer_size(t, "deepspeed.train_batch_size", 1, 1, MOST));
    else if (number > 1)
        ss_trainer_add_whole(t, ss_trainer_node(t, steps), "--gradient-accumulation-steps", number);
}

/* ---- precision ---- */

/* A truth of DeepSpeed's file, "auto" and missing: the Trainer's. */
static int ds_truth(struct ss_hf *x, const char *path, int trainers)
{
    const struct ss_tree_node *node = ss_trainer_node(&x->t, path);

    return !node || ss_hf_is_auto(node) ? trainers : ss_trainer_truth(&x->t, path, trainers);
}

static void map_autocast(struct ss_hf *x, const struct ss_tree_node *at, int half)
{
    struct ss_trainer *t = &x->t;
    const char *paths = "args.torch_dtype args.dtype";
    const char *type = ss_trainer_text(t, paths, "float32");
    int whole = strstr(type, "bfloat16") || !strcmp(type, "bf16") || ss_trainer_truth(t, "args.pure_bf16", 0);

    if (x->how == SS_HF_FSDP && ss_trainer_truth(t, "args.pure_bf16", 0))
        ss_trainer_refuse(t, ss_trainer_node(t, "args.pure_bf16"),
                          "FSDP without fp32 parameters is not modelled");
    if (x->how != SS_HF_DDP)
        return;
    if (half)
        ss_trainer_refuse(t, at, "fp16 under autocast is not modelled: take bf16, or DeepSpeed");
    ss_trainer_add_prop(t, whole ? ss_trainer_node(t, paths) : at,
                        whole ? SS_PROP_model_type : SS_PROP_fp32_params, 1);
}

/* DeepSpeed accumulates in the model's type, but bf16 without ZeRO in fp32, unless its file says another (get_data_types of its
 * engine.py). */
static void map_accumulation(struct ss_hf *x, const char *own)
{
    const struct ss_tree_node *at = ss_trainer_node(&x->t, "deepspeed.data_types.grad_accum_dtype");
    int told = at && !ss_tree_is_null(at);

    if (told ? ss_tree_is(at, own) : x->stage > 0 || strcmp(own, "bf16") != 0)
        return;
    if (told && !ss_tree_is(at, "fp32"))
        ss_trainer_refuse(
            &x->t, at,
            "gradients that are accumulated in \"%.20s\" are not modelled: the model's type (%s) or fp32",
            at->text ? at->text : "", own);
    ss_trainer_add(&x->t, at, "--accumulate-allreduce-grads-in-fp32", NULL);
}

static void map_precision(struct ss_hf *x)
{
    struct ss_trainer *t = &x->t;
    const char *mixed = ss_trainer_text(t, "accelerate.mixed_precision", "");
    const struct ss_tree_node *b = ss_trainer_node(
        t, "args.bf16 deepspeed.bf16.enabled deepspeed.bfloat16.enabled accelerate.mixed_precision "
           "args.dtype");
    const char *chat =
        x->script[0] && ss_trainer_node(t, "args.zero_stage") ? ss_trainer_text(t, "args.dtype", "fp16") : "";
    int bf16 = ss_trainer_truth(t, "args.bf16", 0) || !strcmp(mixed, "bf16") || !strcmp(chat, "bf16") ||
               ss_trainer_truth(t, "args.pure_bf16", 0);
    int fp16 = ss_trainer_truth(t, "args.fp16", 0) || !strcmp(mixed, "fp16") || !strcmp(chat, "fp16");
    int fp8 = ss_trainer_truth(t, "args.fp8", 0) || !strcmp(mixed, "fp8");

    if (x->stage >= 0) {
        bf16 = ds_truth(x, "deepspeed.bf16.enabled deepspeed.bfloat16.enabled", bf16);
        fp16 = ds_truth(x, "deepspeed.fp16.enabled", fp16) && !bf16;
        map_accumulation(x, bf16 || fp8 ? "bf16" : fp16 ? "fp16" : "fp32");
    }
    if (bf16 || fp8)
        ss_trainer_add(t, b, "--bf16", NULL);
    else
        ss_trainer_add(t, ss_trainer_node(t, "args.fp16 deepspeed.fp16.enabled accelerate.mixed_precision"),
                       fp16 ? "--fp16" : "--precision", fp16 ? NULL : "fp32");
    if (fp8) {
        ss_trainer_add(t, ss_trainer_node(t, "args.fp8 accelerate.mixed_precision"), "--precision", "fp8");
        ss_trainer_add(t, NULL, "--fp8-recipe", "tensorwise");
        ss_trainer_assume(t, "fp8 costs what scales of whole tensors cost");
    }
    if (bf16 || fp16 || fp8)
        map_autocast(x, b, fp16);
    else if (!ss_trainer_node(t, "args") && x->stage >= 0)
        ss_trainer_assume(t, "fp32, where neither bf16 nor fp16 is enabled: else give --bf16");
    if (!bf16 && !fp16 && !fp8 && ss_trainer_truth(t, "args.tf32", 0))
        ss_trainer_refuse(t, ss_trainer_node(t, "args.tf32"), "fp32 with products in TF32 is not modelled");
}

/* ---- kernels, recompute, optimizer ---- */

static void map_attention(struct ss_hf *x)
{
    struct ss_trainer *t = &x->t;
    const char *paths = "args.attn_implementation args.flash_attn";
    const struct ss_tree_node *at = ss_trainer_node(t, paths);
    const char *name = ss_trainer_text(t, paths, "sdpa");

    if (ss_has_word("eager disabled", name)) {
        ss_trainer_add(t, at, "--attention-backend", "unfused");
    } else if (ss_has_word("sdpa auto", name)) { /* PyTorch takes what it likes best on the card */
        ss_trainer_add(t, at, "--attention-backend", "auto");
    } else if (ss_has_word("flash_attention_3 fa3", name)) {
        ss_trainer_add(t, at, "--attention-backend", "fused");
        ss_trainer_assume(t, "FlashAttention 3 costs what cuDNN's attention costs");
    } else {
        ss_trainer_add(t, at, "--attention-backend", "flash");
        if (!ss_has_word("flash_attention_2 fa2 true", name))
            ss_trainer_assume(t, "attention by %.40s costs what FlashAttention 2 costs", name);
    }
}

static void map_kernels(struct ss_hf *x)
{
    struct ss_trainer *t = &x->t;
    const char *paths = "args.use_liger_kernel args.use_liger args.enable_liger_kernel";
    const struct ss_tree_node *at = ss_trainer_node(t, paths);
    int liger = ss_trainer_truth(t, paths, 0);
    const char *dynamo = ss_trainer_text(t, "accelerate.dynamo_config.dynamo_backend", "no");
    int compiled = ss_trainer_truth(t, "args.torch_compile", 0) || strcasecmp(dynamo, "no") != 0;

    map_attention(x);
    ss_trainer_add_prop(t, at, SS_PROP_fused_linear_loss, liger);
    ss_trainer_add_prop(t, at, SS_PROP_inplace_activation, liger);
    if (!liger) { /* PyTorch's own, whose backward holds three fp32 tensors */
        ss_trainer_add_prop(t, NULL, SS_PROP_fused_cross_entropy, 0);
        ss_trainer_add_prop(t, NULL, SS_PROP_loss_peak_bytes, 14);
    }
    ss_trainer_add_prop(t, ss_trainer_node(t, "args.torch_compile accelerate.dynamo_config.dynamo_backend"),
                        SS_PROP_compiled, compiled);
    if (!compiled && !liger)
        ss_trainer_assume(t, "norms, rotary embeddings and activations are one kernel each; PyTorch's own "
                             "operators take longer");
}

/* By the Trainer, or by accelerate's FSDP, whose switch its fsdp_config beats. The Trainer refuses both; LLaMA-Factory has a third. */
static void map_recompute(struct ss_hf *x)
{
    struct ss_trainer *t = &x->t;
    const char *plugins =
        "args.fsdp_config.activation_checkpointing args.fsdp_config.fsdp_activation_checkpointing "
        "accelerate.fsdp_config.fsdp_activation_checkpointing";
    const struct ss_tree_node *at = ss_trainer_node(t, "args.gradient_checkpointing");
    int on = ss_trainer_truth(t, "args.gradient_checkpointing", 0);
    int wrapped = ss_trainer_truth(t, plugins, 0) && x->how == SS_HF_FSDP;

    if (x->factory) { /* on unless switched off */
        at = ss_trainer_node(t, "args.disable_gradient_checkpointing");
        on = !ss_trainer_truth(t, "args.disable_gradient_checkpointing", 0);
        if (!at && !wrapped)
            ss_trainer_assume(t, "layers are recomputed, LLaMA-Factory's default "
                                 "(disable_gradient_checkpointing)");
    } else if (on && wrapped) {
        ss_trainer_fail(t, ss_trainer_node(t, plugins), SS_ERR_CONFIG,
                        "the Trainer refuses FSDP's checkpointing beside gradient_checkpointing: take one");
    }
    if (wrapped || !at)
        at = ss_trainer_node(t, plugins) ? ss_trainer_node(t, plugins) : at;
    if (x->factory || ss_tree_find(ss_tree_root(t->tree), "args") || at)
        ss_trainer_add(t, at, "--recompute", on || wrapped ? "full" : "none");
}

static void check_optimizer(struct ss_hf *x)
{
    static const char fine[] = "adamw_torch adamw_torch_fused adamw_hf adamw_apex_fused adam adamw";
    struct ss_trainer *t = &x->t;
    const struct ss_tree_node *at = ss_trainer_node(t, "args.optim"),
                              *type = ss_trainer_node(t, "deepspeed.optimizer.type");
    const struct ss_tree_node *clip = ss_trainer_node(
        t, "args.max_grad_norm deepspeed.gradient_clipping accelerate.deepspeed_config.gradient_clipping "
           "accelerate.megatron_lm_config.megatron_lm_gradient_clipping");
    int64_t norm;

    ss_trainer_node(t, "deepspeed.gradient_clipping");
    if (at && !(at->text && ss_has_word(fine, at->text)))
        ss_trainer_refuse(t, at, "the optimizer %.40s is not modelled: take adamw_torch",
                          at->text ? at->text : "");
    if (type && strcasecmp(type->text ? type->text : "", "adamw") != 0 &&
        strcasecmp(type->text ? type->text : "", "adam") != 0)
        ss_trainer_refuse(t, type, "the optimizer %.40s is not modelled: take Adam or AdamW",
                          type->text ? type->text : "");
    if (clip && ss_tree_whole(clip, &norm) && norm == 0)
        ss_trainer_add(t, clip, "--clip-grad", "0");
}

void ss_hf_map(struct ss_hf *x)
{
    ss_hf_map_sharding(x);
    map_model(x);
    ss_hf_map_buckets(x);
    map_sequence(x);
    map_batch(x);
    map_precision(x);
    if (x->how != SS_HF_MEGATRON) {
        map_recompute(x);
        map_kernels(x);
    }
    check_optimizer(x);
    ss_hf_rest(x);
}
