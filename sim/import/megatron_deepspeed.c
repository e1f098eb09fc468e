/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Megatron-DeepSpeed: Megatron-LM's flags, DeepSpeed's beside them (deepspeedai/Megatron-DeepSpeed@4efb479:megatron/arguments.py), and
 * DeepSpeed's configuration. What is Megatron's is passed on as it stands.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base.h"
#include "import/hf.h"

/* Without effect on time or memory, the first ones with a value. Those of experts are of mixtures, which are refused. */
static const char without_effect_1[] =
    "--aml-data-download-path --kill-switch-file --load-tag --load-teacher --lr-decay-tokens "
    "--lr-warmup-tokens --mlp-type --profile_steps --rotary-position-embeddings-theta --tile-factor "
    "--topk --train-data-exact-num-epochs --train-desc-path --train-doc-idx-path --train-idx-path "
    "--train-sample-idx-path --train-shuffle-idx-path --train-tokens --moe-expert-parallel-size "
    "--moe-loss-coeff --moe-train-capacity-factor --moe-eval-capacity-factor --moe-min-capacity "
    "--ds-sequence-parallel-fpdt-chunk-size --kd-alpha-ce --kd-beta-ce --kd-temp";
static const char without_effect_0[] =
    "--cpu_torch_adam --create-moe-param-group --disable-mem-efficient-ln "
    "--disable-moe-token-dropping --disable-moe-top2-2nd-expert-sampling "
    "--enable-expert-tensor-parallelism --enable-zbh1-exact-semantics "
    "--log-optimizer-states-to-tensorboard --no-load-lr-state --profile-backward "
    "--repeated-dataloader --reset-iteration --return-data-index --universal-checkpoint";

/* What another of its own flags is. */
enum treatment { FINE, TAKEN, RENAMED, REFUSED };
static const struct {
    const char *name;
    enum treatment treatment;
    int values;
    const char *text; /* the other name, the path of the tree, or the reason */
} flags[] = {
    {"--deepspeed", FINE, 0, NULL},
    {"--deepspeed_config", TAKEN, 1, "args.deepspeed_config"},
    {"--zero-stage", TAKEN, 1, "args.zero_stage"},
    {"--deepspeed_mpi", FINE, 0, NULL},
    {"--zero-reduce-scatter", FINE, 0, NULL},
    {"--zero-contigious-gradients", FINE, 0, NULL},
    {"--zero-reduce-bucket-size", FINE, 1, NULL},
    {"--zero-allgather-bucket-size", FINE, 1, NULL},
    {"--deepspeed-activation-checkpointing", FINE, 0, NULL},
    {"--contigious-checkpointing", FINE, 0, NULL},
    {"--synchronize-each-layer", FINE, 0, NULL},
    {"--no-pipeline-parallel", FINE, 0, NULL},
    {"--cpu-optimizer", FINE, 0, NULL}, /* DeepSpeed's file says where it is */
    {"--ds_fused_adam", FINE, 0, NULL},
    {"--use-pin-memory", FINE, 0, NULL},
    {"--kill-switch-path", FINE, 1, NULL},
    {"--num-key-value-heads", RENAMED, 1, "--num-query-groups"},
    {"--use-flash-attn-v1", RENAMED, 0, "--use-flash-attn"},
    {"--use-flash-attn-v2", RENAMED, 0, "--use-flash-attn"},
    {"--use-flash-attn-triton", RENAMED, 0, "--use-flash-attn"},
    {"--use-flash-attn-builder", RENAMED, 0, "--use-flash-attn"},
    {"--enable-zbh1-pipeline", REFUSED, 0, "give --schedule zb-h1"},
    {"--partition-activations", REFUSED, 0, "activations kept in parts on tensor ranks are not modelled"},
    {"--checkpoint-in-cpu", REFUSED, 0, "activations on the host are not modelled here"},
    {"--ds-sequence-parallel-size", REFUSED, 1,
     "DeepSpeed's sequence parallelism is not modelled with this software: --cp with --cp-comm-type a2a and "
     "another --stack"},
    {"--remote-device", REFUSED, 1, "parameters on the host or on disks are not modelled"},
    {"--scattered-embeddings", REFUSED, 0, "scattered embeddings are not modelled"},
    {"--split-transformers", REFUSED, 0, "split layers are not modelled"},
    {"--memory-centric-tiled-linear", REFUSED, 0, "tiled linear layers are not modelled"},
    {"--use-tutel", REFUSED, 0, "Tutel is not modelled"},
    {"--random-ltd", REFUSED, 0, "rows whose length changes are not modelled"},
    {"--curriculum-learning-legacy", REFUSED, 0, "rows whose length changes are not modelled"},
    {"--data-efficiency-curriculum-learning", REFUSED, 0, "rows whose length changes are not modelled"},
    {"--compression-training", REFUSED, 0, "compression is not modelled"},
    {"--num-experts", REFUSED, 1, "DeepSpeed's mixtures of experts are not modelled"},
    {"--ds-inference", REFUSED, 0, "inference is not modelled"},
    {"--inference", REFUSED, 0, "inference is not modelled"},
    {"--ds-sequence-parallel-fpdt", REFUSED, 0,
     "DeepSpeed's sequence parallelism is not modelled with this software"},
    {"--force-ds-sequence-parallel", REFUSED, 0,
     "DeepSpeed's sequence parallelism is not modelled with this software"},
    {"--mos", REFUSED, 0, "distillation is not modelled"},
    {"--kd", REFUSED, 0, "distillation is not modelled"},
};

static int flag_of(const char *text)
{
    size_t n = strcspn(text, "=");

    for (size_t i = 0; i < SS_ARRAY_LEN(flags); i++)
        if (strlen(flags[i].name) == n && !strncmp(text, flags[i].name, n))
            return (int)i;
    return -1;
}

int ss_megatron_deepspeed_sniff(const struct ss_words *words, const struct ss_command *c)
{
    int megatron = strstr(words->w[c->script].text, "pretrain_") != NULL, deepspeed = 0;

    for (size_t i = c->script + 1; i < c->end; i++) {
        deepspeed |= !strncmp(words->w[i].text, "--deepspeed", 11);
        megatron |= !strncmp(words->w[i].text, "--num-layers", 12);
    }
    return megatron && deepspeed;
}

/* Adds a word of Megatron-LM's. Names of norms are in small letters there. */
static int pass(struct ss_words *own, const char *text, int line)
{
    const char *before = own->n ? own->w[own->n - 1].text : "";

    if (!strcmp(before, "--normalization"))
        text = !strcasecmp(text, "rmsnorm") ? "RMSNorm" : !strcasecmp(text, "layernorm") ? "LayerNorm" : text;
    return ss_words_add(own, text, strlen(text), line);
}

/* Values of a flag without effect; -1: it is none of these. */
static int values_without_effect(const char *text)
{
    char name[96];

    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "="), text);
    return ss_has_word(without_effect_1, name) ? 1 : ss_has_word(without_effect_0, name) ? 0 : -1;
}

/* One word of the command and its value. Returns how many words more it takes. */
static size_t take_word(struct ss_trainer *t, const struct ss_words *words, size_t i, size_t end,
                        struct ss_words *own)
{
    const struct ss_word *w = &words->w[i];
    const char *equal = strchr(w->text, '='), *value = equal         ? equal + 1
                                                       : i + 1 < end ? words->w[i + 1].text
                                                                     : "";
    int k = flag_of(w->text), values = k < 0 ? values_without_effect(w->text) : flags[k].values, rc = SS_OK;

    if (k < 0 && values < 0) {
        rc = pass(own, w->text, w->line);
    } else if (k >= 0 && flags[k].treatment == REFUSED && !(values && !strcmp(value, "1"))) {
        ss_fail(t->err, SS_ERR_UNSUPPORTED, words->file, w->line, "%s: %s", flags[k].name, flags[k].text);
        t->rc = SS_ERR_UNSUPPORTED;
    } else if (k >= 0 && flags[k].treatment == TAKEN) {
        ss_trainer_set(t, flags[k].text, value, words->file, w->line);
    } else if (k >= 0 && flags[k].treatment == RENAMED) {
        rc = pass(own, flags[k].text, w->line);
        if (!rc && values)
            rc = pass(own, value, w->line);
    } else {
        rc = ss_notes_add(&t->ignored, "%.*s", (int)strcspn(w->text, "="), w->text);
    }
    if (rc)
        t->rc = ss_fail(t->err, SS_ERR_NOMEM, NULL, 0, "out of memory");
    return values > 0 && !equal;
}

/* Takes DeepSpeed's words of the command; the others go to *own. */
static void take_words(struct ss_trainer *t, const struct ss_words *words, const struct ss_command *c,
                       struct ss_words *own)
{
    for (size_t i = c->script + 1; i < c->end && !t->rc; i++)
        i += take_word(t, words, i, c->end, own);
}

/* The word behind one of two names of a flag; NULL: it is not there. */
static const struct ss_word *value_of(const struct ss_words *own, const char *name, const char *other)
{
    const struct ss_word *found = NULL;

    for (size_t i = 0; i < own->n; i++)
        if (!strcmp(own->w[i].text, name) || !strcmp(own->w[i].text, other))
            found = i + 1 < own->n ? &own->w[i + 1] : &own->w[i];
    return found;
}

/* Layers of a group, of which Megatron-LM of that time recomputes one unless told otherwise. */
static void map_recompute(struct ss_trainer *t, const struct ss_words *own)
{
    const struct ss_word *kind = value_of(own, "--recompute-granularity", "--recompute-granularity");

    if (kind && !strcmp(kind->text, "full") &&
        !value_of(own, "--recompute-num-layers", "--recompute-num-layers"))
        ss_trainer_add(t, NULL, "--recompute-num-layers", "1");
}

/* A number that both may say. */
static void agree(struct ss_trainer *t, const struct ss_words *own, const char *path, const char *flag,
                  const char *name)
{
    const struct ss_tree_node *node = ss_trainer_node(t, path);
    const struct ss_word *word = value_of(own, flag, name);
    int64_t theirs, ours;

    if (!node || ss_hf_is_auto(node))
        return;
    theirs = ss_trainer_size(t, path, 1, 1, (int64_t)1 << 26);
    if (!word)
        ss_trainer_add_whole(t, node, name, theirs);
    else if (!ss_parse_i64(word->text, 1, (int64_t)1 << 26, &ours) && ours != theirs)
        ss_trainer_fail(t, node, SS_ERR_CONFIG, "%lld here and %lld by %s at line %d of the command",
                        (long long)theirs, (long long)ours, flag, word->line);
}

/* The number behind a flag; 0: it is not there, or is none. */
static int64_t number_of(const struct ss_words *own, const char *flag, const char *name)
{
    const struct ss_word *word = value_of(own, flag, name);
    int64_t n;

    return word && !ss_parse_i64(word->text, 1, 1 << 26, &n) ? n : 0;
}

/* The batch against microbatch, accumulation and GPUs, which Megatron's tensor and pipeline groups divide. */
static void check_batch(struct ss_trainer *t, const struct ss_words *own, const struct ss_command *c)
{
    static const char size[] = "deepspeed.train_micro_batch_size_per_gpu",
                      number[] = "deepspeed.gradient_accumulation_steps";
    const struct ss_tree_node *micro = ss_trainer_node(t, size), *steps = ss_trainer_node(t, number);
    int64_t tp = number_of(own, "--tensor-model-parallel-size", "--tp"),
            pp = number_of(own, "--pipeline-model-parallel-size", "--pp");

    if (micro && steps && !ss_hf_is_auto(micro) && !ss_hf_is_auto(steps))
        ss_hf_check_batch(t, ss_trainer_size(t, size, 1, 1, 1 << 26),
                          ss_trainer_size(t, number, 1, 1, 1 << 26),
                          (int64_t)c->nodes * c->gpus_per_node / (tp ? tp : 1) / (pp ? pp : 1));
}

static void map_precision(struct ss_trainer *t, const struct ss_words *own)
{
    int said = value_of(own, "--bf16", "--fp16") != NULL;
    int bf16 = ss_trainer_truth(t, "deepspeed.bf16.enabled deepspeed.bfloat16.enabled", 0);
    int fp16 = ss_trainer_truth(t, "deepspeed.fp16.enabled", 0);

    if (!said && (bf16 || fp16))
        ss_trainer_add(t,
                       ss_trainer_node(t, bf16 ? "deepspeed.bf16.enabled deepspeed.bfloat16.enabled"
                                               : "deepspeed.fp16.enabled"),
                       bf16 ? "--bf16" : "--fp16", NULL);
}

static void check_stage(struct ss_hf *x)
{
    struct ss_trainer *t = &x->t;
    int64_t file = ss_trainer_size(t, "deepspeed.zero_optimization.stage", -1, 0, 3);
    int64_t flag = ss_trainer_size(t, "args.zero_stage", file, 0, 3);

    if (file >= 0 && file != flag)
        ss_trainer_fail(t, ss_trainer_node(t, "deepspeed.zero_optimization.stage"), SS_ERR_CONFIG,
                        "stage %lld here and %lld by --zero-stage", (long long)file, (long long)flag);
}

static int add_own(struct ss_request *r, const struct ss_words *own, const char *file, struct ss_error *err)
{
    int rc = ss_request_add_place(r, file, err);

    for (size_t i = 0; i < own->n && !rc; i++)
        rc = ss_request_add(r, own->w[i].text, own->w[i].line, err);
    return rc;
}

int ss_megatron_deepspeed_add(struct ss_request *r, const struct ss_words *words, const struct ss_command *c,
                              struct ss_error *err)
{
    struct ss_hf x = {.script = "", .megatron = 1};
    struct ss_words own = {0};
    struct ss_command sized = *c;
    struct ss_tree *tree;
    int rc = ss_hf_hosts(words, &sized, err);

    rc = rc ? rc : ss_tree_new(words->file, &tree, err);
    if (rc)
        return rc;
    ss_trainer_begin(&x.t, "Megatron-DeepSpeed", tree, r, err);
    take_words(&x.t, words, c, &own);
    if (!x.t.rc)
        x.t.rc = ss_hf_graft_deepspeed(tree, words, err);
    if (!x.t.rc) {
        check_stage(&x);
        ss_hf_map_sharding(&x);
        ss_hf_map_buckets(&x);
        agree(&x.t, &own, "deepspeed.train_micro_batch_size_per_gpu", "--micro-batch-size", "--mbs");
        agree(&x.t, &own, "deepspeed.train_batch_size", "--global-batch-size", "--gbs");
        check_batch(&x.t, &own, &sized);
        map_precision(&x.t, &own);
        map_recompute(&x.t, &own);
        ss_hf_rest(&x);
    }
    if (!x.t.rc)
        x.t.rc = ss_command_add_sizes(r, words, &sized, err);
    rc = ss_trainer_end(&x.t);
    rc = rc ? rc : add_own(r, &own, words->file, err);
    ss_words_free(&own);
    ss_tree_free(tree);
    return rc;
}
