/* SPDX-License-Identifier: Apache-2.0 */
/* Megatron-DeepSpeed: Megatron-LM's flags, DeepSpeed's flags beside them
 * (deepspeedai/Megatron-DeepSpeed@4efb479:megatron/arguments.py), and DeepSpeed's configuration. Megatron's
 * flags are passed on as they stand; the others are rows of megatron-deepspeed.map, "--flag=N" where one
 * takes a value. */
#include <strings.h>

#include "base/base.h"
#include "import/hf.h"

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

/* The row of a flag; NULL: it is Megatron-LM's, or nobody's. */
static const struct ss_key_row *row_of(const struct ss_reading *r, const char *text, char name[100])
{
    snprintf(name, 98, "%.*s", (int)strcspn(text, "="), text);
    const struct ss_key_row *row = strncmp(text, "--", 2) ? NULL : ss_keymap_find(r->map, name);

    return row ? row : ss_keymap_find(r->map, strcat(name, "=N"));
}

/* One word of the command and its value. Returns how many words more it takes. */
static size_t take_word(struct ss_reading *r, const struct ss_words *words, size_t i, size_t end,
                        struct ss_words *own, struct ss_notes *refused)
{
    const struct ss_word *w = &words->w[i];
    char name[100];
    const struct ss_key_row *row = row_of(r, w->text, name);
    const char *equal = strchr(w->text, '='), *value = equal         ? equal + 1
                                                       : i + 1 < end ? words->w[i + 1].text
                                                                     : "";
    size_t n = strcspn(name, "=");
    int values = name[n] == '=', rc = SS_OK;

    name[n] = '\0';
    if (!row) {
        rc = pass(own, w->text, w->line);
    } else if (row->kind == SS_KEY_REFUSE && !(values && !strcmp(value, "1"))) {
        rc = ss_notes_add(refused, "%s: %s (%d)", name, row->text, w->line);
    } else if (row->kind == SS_KEY_CODE) {
        ss_reading_set(r, strcmp(name, "--zero-stage") ? "args.deepspeed_config" : "args.zero_stage", value,
                       words->file, w->line);
    } else if (row->kind == SS_KEY_VALUE || row->kind == SS_KEY_TRUE) { /* another name */
        rc = pass(own, row->text, w->line);
        if (!rc && values)
            rc = pass(own, value, w->line);
    } else {
        rc = ss_notes_add(&r->ignored, "%s", name);
    }
    if (rc)
        r->rc = ss_nomem(r->err);
    return row && values && !equal;
}

/* Takes DeepSpeed's words of the command; the others go to *own. */
static void take_words(struct ss_reading *r, const struct ss_words *words, const struct ss_command *c,
                       struct ss_words *own)
{
    struct ss_notes refused = {0};
    char text[768] = "";

    for (size_t i = c->script + 1; i < c->end && !r->rc; i++)
        i += take_word(r, words, i, c->end, own, &refused);
    for (unsigned long i = 0; i < refused.n; i++)
        ss_append(text, sizeof text, "%s%s", i ? "; " : "", refused.text[i]);
    if (refused.n && !r->rc) {
        const char *line = strrchr(refused.text[0], '(');
        if (refused.n == 1)
            text[strlen(text) - strlen(line) - 1] = '\0';
        r->rc = ss_fail(r->err, SS_ERR_UNSUPPORTED, words->file, atoi(line + 1), "%s", text);
    }
    ss_notes_free(&refused);
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

/* Adds --recompute-num-layers 1 to full recompute without that flag: Megatron-LM of that time recomputes
 * groups of one layer by default. */
static SS_KEY_CALLED(add_recompute)
{
    const struct ss_words *own = ss_hf_of(r)->own;
    const struct ss_word *kind = value_of(own, "--recompute-granularity", "--recompute-granularity");

    if (kind && !strcmp(kind->text, "full") &&
        !value_of(own, "--recompute-num-layers", "--recompute-num-layers"))
        ss_reading_flag(r, NULL, "--recompute-num-layers", "1");
}

static int64_t number_of(const struct ss_words *own, const char *flag, const char *name);

/* DeepSpeed divides layers over stages that do not divide them. */
static SS_KEY_CALLED(add_partition)
{
    static const char flag[] = "--pp-partition-method";
    const struct ss_words *own = ss_hf_of(r)->own;
    int64_t layers = number_of(own, "--num-layers", "--num-layers"),
            pp = number_of(own, "--pipeline-model-parallel-size", "--pp");

    if (pp > 1 && layers % pp && !value_of(own, flag, flag))
        ss_reading_flag(r, NULL, flag, "type:transformer");
}

/* A number that both may say. */
static void agree(struct ss_reading *r, const struct ss_words *own, const char *path, const char *flag,
                  const char *name)
{
    const struct ss_tree_node *node = ss_reading_node(r, path);
    const struct ss_word *word = value_of(own, flag, name);
    int64_t theirs, ours;

    if (!node || ss_hf_is_auto(node))
        return;
    theirs = ss_reading_size(r, path, 1, 1, (int64_t)1 << 26);
    if (!word)
        ss_reading_whole_flag(r, node, name, theirs);
    else if (!ss_parse_i64(word->text, 1, (int64_t)1 << 26, &ours) && ours != theirs)
        ss_reading_fail(r, node, SS_ERR_CONFIG, "%lld here and %lld by %s at line %d of the command",
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
static SS_KEY_CALLED(add_batch)
{
    static const char size[] = "deepspeed.train_micro_batch_size_per_gpu",
                      number[] = "deepspeed.gradient_accumulation_steps";
    const struct ss_words *own = ss_hf_of(r)->own;
    const struct ss_command *c = ss_hf_of(r)->command;

    agree(r, own, size, "--micro-batch-size", "--mbs");
    agree(r, own, "deepspeed.train_batch_size", "--global-batch-size", "--gbs");
    const struct ss_tree_node *micro = ss_reading_node(r, size), *steps = ss_reading_node(r, number);
    int64_t tp = number_of(own, "--tensor-model-parallel-size", "--tp"),
            pp = number_of(own, "--pipeline-model-parallel-size", "--pp");
    if (micro && steps && !ss_hf_is_auto(micro) && !ss_hf_is_auto(steps))
        ss_hf_check_batch(r, ss_reading_size(r, size, 1, 1, 1 << 26),
                          ss_reading_size(r, number, 1, 1, 1 << 26),
                          (int64_t)c->nodes * c->gpus_per_node / (tp ? tp : 1) / (pp ? pp : 1));
}

static SS_KEY_CALLED(add_precision)
{
    static const char *const keys[] = {"deepspeed.bf16.enabled", "deepspeed.fp16.enabled"};
    const struct ss_words *own = ss_hf_of(r)->own;
    int bf16 = ss_reading_truth(r, keys[0], 0), fp16 = ss_reading_truth(r, keys[1], 0);

    if (value_of(own, "--bf16", "--fp16")) {
        bf16 = value_of(own, "--bf16", "--bf16") != NULL;
        fp16 = !bf16;
    } else if (bf16 || fp16) {
        ss_reading_flag(r, ss_reading_node(r, keys[!bf16]), bf16 ? "--bf16" : "--fp16", NULL);
    }
    ss_reading_fact(r, "type", bf16 ? "bf16" : fp16 ? "fp16" : "fp32");
}

static SS_KEY_CALLED(check_stage)
{
    static const char key[] = "deepspeed.zero_optimization.stage";
    int64_t file = ss_reading_size(r, key, -1, 0, 3),
            flag = ss_reading_size(r, "args.zero_stage", file, 0, 3);

    if (file != flag)
        ss_reading_fail(r, ss_reading_node(r, key), SS_ERR_CONFIG, "stage %lld here and %lld by --zero-stage",
                        (long long)file, (long long)flag);
}

static int add_own(struct ss_request *r, const struct ss_words *own, const char *file, struct ss_error *err)
{
    int rc = ss_request_add_place(r, file, err);

    if (!rc)
        r->place[r->nplaces - 1].program = 1;
    for (size_t i = 0; i < own->n && !rc; i++)
        rc = ss_request_add(r, own->w[i].text, own->w[i].line, err);
    return rc;
}

static const struct ss_key_code code[] = {{"stage", check_stage},
                                          {"batch", add_batch},
                                          {"precision", add_precision},
                                          {"recompute", add_recompute},
                                          {"partition", add_partition},
                                          SS_HF_SHARDING_CODE,
                                          {NULL, NULL}};

int ss_megatron_deepspeed_add(struct ss_request *request, const struct ss_words *words,
                              const struct ss_command *c, struct ss_error *err)
{
    struct ss_words own = {0};
    struct ss_command sized = *c;
    struct ss_hf x = {.script = "", .megatron = 1, .own = &own, .command = &sized};
    struct ss_reading *r = &x.r;
    struct ss_tree *tree;
    int rc = ss_tree_new(words->file, &tree, err);

    ss_command_resolve(words, &sized);
    if (rc)
        return rc;
    ss_reading_begin(r, "Megatron-DeepSpeed", tree, request, err);
    ss_reading_load(r, "megatron-deepspeed", code);
    take_words(r, words, c, &own);
    if (!r->rc)
        r->rc = ss_hf_graft_deepspeed(tree, words, err);
    ss_reading_rows(r);
    if (!r->rc)
        r->rc = ss_command_add_sizes(request, words, c, err);
    rc = ss_reading_end(r);
    rc = rc ? rc : add_own(request, &own, words->file, err);
    ss_words_free(&own);
    ss_tree_free(tree);
    return rc;
}
