/* SPDX-License-Identifier: Apache-2.0 */
/* GPT-NeoX: its files, by themselves or as deepy.py merges them, and what the rows of neox.map cannot say of them. */
#include "base/base.h"
#include "import/foreign.h"
#include "import/hf.h"
#include "import/launcher.h"

#define MOST ((int64_t)1 << 26)

/* ---- which file it is ---- */

static int begins_map(const char *text, size_t len)
{
    const char *p = text + ss_byte_order_mark(text, len), *end = text + len;

    while (p < end && (isspace((unsigned char)*p) || *p == '#')) {
        const char *line = *p == '#' ? memchr(p, '\n', (size_t)(end - p)) : p;
        p = line ? line + 1 : end;
    }
    return p < end && *p == '{';
}

/* Whether a name of the file is this one, in quotes or not, with "_" or "-". */
static int has_key(const char *text, size_t len, const char *key)
{
    size_t n = strlen(key);

    for (const char *p = text, *end = text + len; p + n < end; p++) {
        size_t i = 0;
        while (i < n && (p[i] == key[i] || (p[i] == '-' && key[i] == '_')))
            i++;
        const char *rest = p + i;
        if (i < n || (p > text && (isalnum((unsigned char)p[-1]) || strchr("_-.", p[-1]))))
            continue;
        rest += rest < end && (*rest == '"' || *rest == '\'');
        while (rest < end && (*rest == ' ' || *rest == '\t'))
            rest++;
        if (rest < end && *rest == ':')
            return 1;
    }
    return 0;
}

int ss_neox_sniff(const char *text, size_t len)
{
    return (begins_map(text, len) || ss_foreign_sniff(text, len)) &&
           (has_key(text, len, "pipe_parallel_size") ||
            (has_key(text, len, "num_layers") && has_key(text, len, "train_micro_batch_size_per_gpu")));
}

/* ---- functions of neox.map ---- */

static int64_t rounded(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

/* A gated MLP has a third of the width as GPT-NeoX says it: two thirds are for both of its halves (ParallelMLP of its transformer.py). */
static SS_KEY_CALLED(add_ffn)
{
    static const char gated[] = "geglu reglu swiglu bilinear glu";
    const struct ss_tree_node *at = ss_reading_node(r, "intermediate_size"),
                              *factor = ss_reading_node(r, "expansion_factor");
    int64_t hidden = ss_reading_size(r, "hidden_size", 0, 1, 1 << 20),
            of = ss_reading_size(r, "mlp_multiple_of", 1, 1, 1 << 20);
    double times = factor && factor->text ? strtod(factor->text, NULL) : 4;

    if (at && factor)
        ss_reading_fail(r, factor, SS_ERR_CONFIG, "GPT-NeoX refuses it beside intermediate_size, at line %d",
                        at->line);
    if (times < 1e-3 || times > 1e3)
        ss_reading_fail(r, factor, SS_ERR_INPUT, "no factor within 0.001 .. 1000");
    int64_t ffn =
        ss_reading_size(r, "intermediate_size", r->rc ? 0 : (int64_t)(times * (double)hidden), 1, MOST);
    if (ss_has_word(gated, ss_reading_text(r, "activation", "gelu")))
        ffn = rounded((int64_t)((double)ffn * 2 / 3) / 2, of);
    else
        ffn = rounded(ffn, 2 * of);
    if (ffn)
        ss_reading_whole_flag(r,
                              at       ? at
                              : factor ? factor
                                       : ss_reading_node(r, "hidden_size"),
                              "--ffn-hidden-size", ffn);
}

/* The kind that all layers of [[["flash"], 12], [["flash", "global"], 2]] have. */
static const char *kind_of(struct ss_reading *r, struct ss_tree_node *list)
{
    const char *kind = NULL;

    ss_tree_take(list);
    for (const struct ss_tree_node *part = list ? list->first : NULL; part; part = part->next)
        for (const struct ss_tree_node *n = part->first ? part->first->first : NULL; n; n = n->next) {
            if (kind && n->text && strcmp(kind, n->text) != 0)
                ss_reading_refuse(r, n,
                                  "layers of two kinds of attention, %.20s and %.20s, are not modelled here",
                                  kind, n->text);
            kind = n->text ? n->text : kind;
        }
    if (list && !kind)
        ss_reading_fail(r, list, SS_ERR_INPUT,
                        "[[[\"flash\"], 12]] is asked: kinds, and how often they repeat");
    return kind ? kind : "global";
}

static SS_KEY_CALLED(add_attention)
{
    struct ss_tree_node *list = ss_reading_node(r, "attention_config");
    const char *kind = kind_of(r, list);
    int64_t window = ss_reading_size(r, "sliding_window_width", 0, 1, MOST);
    char text[40];

    if (strcmp(kind, "flash") && strcmp(kind, "global"))
        ss_reading_refuse(r, list, "the attention \"%.20s\" is not modelled here: flash or global", kind);
    if (!strcmp(kind, "flash"))
        ss_reading_flag(r, list, "--use-flash-attn", NULL);
    if (!window || strcmp(kind, "flash"))
        return; /* of flash alone */
    snprintf(text, sizeof text, "%lld,0", (long long)window);
    ss_reading_flag(r, ss_reading_node(r, "sliding_window_width"), "--window-size", text);
}

static SS_KEY_CALLED(add_batch)
{
    static const char size[] = "deepspeed.train_micro_batch_size_per_gpu",
                      number[] = "deepspeed.gradient_accumulation_steps",
                      whole[] = "deepspeed.train_batch_size";
    int64_t micro = ss_reading_size(r, size, 0, 1, MOST), steps = ss_reading_size(r, number, 1, 1, MOST);
    const struct ss_tree_node *all = ss_reading_node(r, whole);

    ss_hf_check_batch(r, micro, steps, 0);
    if (micro)
        ss_reading_whole_flag(r, ss_reading_node(r, size), "--mbs", micro);
    else
        ss_reading_assume(r, "--mbs says the sequences of a microbatch");
    if (all)
        ss_reading_whole_flag(r, all, "--gbs", ss_reading_size(r, whole, 1, 1, MOST));
    else if (steps > 1)
        ss_reading_whole_flag(r, ss_reading_node(r, number), "--gradient-accumulation-steps", steps);
}

/* fp32 unless the file says another: as GPT-NeoX. */
static SS_KEY_CALLED(add_precision)
{
    static const struct {
        const char *name, *key, *flag, *value;
    } kinds[] = {{"fp16", "deepspeed.fp16.enabled", "--fp16", NULL},
                 {"bfloat16", "deepspeed.bf16.enabled", "--bf16", NULL},
                 {"fp32", "precision", "--precision", "fp32"}};
    const struct ss_tree_node *at = ss_reading_node(r, "precision");
    const char *name = ss_reading_text(r, "precision", NULL);
    size_t i = 0;

    for (size_t k = 0; k < 2; k++)
        if (ss_reading_truth(r, kinds[k].key, 0) && name && strcmp(name, kinds[k].name) != 0)
            ss_reading_fail(r, ss_reading_node(r, kinds[k].key), SS_ERR_CONFIG,
                            "GPT-NeoX refuses it beside \"%.20s\"", name);
        else if (!name && ss_reading_truth(r, kinds[k].key, 0)) {
            name = kinds[k].name;
            at = ss_reading_node(r, kinds[k].key);
        }
    while (name && i < 2 && strcmp(name, kinds[i].name) != 0)
        i++;
    if (name && strcmp(name, kinds[i].name) != 0)
        ss_reading_fail(r, at, SS_ERR_INPUT, "\"%.20s\" is no precision: fp16, bfloat16 or fp32", name);
    if (!name)
        ss_reading_assume(r, "fp32, GPT-NeoX's default: else give --bf16 or --fp16");
    i = name ? i : 2;
    ss_reading_flag(r, at, kinds[i].flag, kinds[i].value);
    ss_reading_fact(r, "type", i == 1 ? "bf16" : kinds[i].name);
}

const struct ss_key_code ss_neox_code[] = {{"ffn", add_ffn},     {"attention", add_attention},
                                           {"batch", add_batch}, {"precision", add_precision},
                                           SS_HF_SHARDING_CODE,  {NULL, NULL}};

/* ---- files ---- */

/* Puts the names of a file, in which "-" is "_", behind those of other files. */
static int merge(struct ss_tree *tree, const char *text, size_t len, const char *file, struct ss_error *err)
{
    struct ss_tree *other;
    int rc = SS_OK;

    SS_TRY(ss_tree_parse(text, len, file, &other, err));
    if (ss_tree_root(other)->kind != SS_TREE_MAP)
        rc = ss_fail(err, SS_ERR_INPUT, file, 1, "a map of names and values is expected");
    for (const struct ss_tree_node *n = ss_tree_root(other)->first; n && !rc; n = n->next) {
        char name[100];
        snprintf(name, sizeof name, "%s", n->key);
        for (char *p = name; *p; p++)
            *p = *p == '-' ? '_' : *p;
        if (strcmp(name, "deepspeed")) /* which is true, or GPT-NeoX stops */
            rc = ss_tree_graft(tree, ss_tree_root(tree), name, n, err);
    }
    ss_tree_free(other);
    return rc;
}

static int map(struct ss_request *request, struct ss_tree *tree, const struct ss_command *c,
               struct ss_error *err)
{
    const struct ss_tree_made made = {.kind = SS_TREE_MAP, .key = "deepspeed", .key_len = 9};
    struct ss_hf x = {.script = "", .megatron = 1};

    ss_reading_begin(&x.r, "GPT-NeoX", tree, request, err);
    x.r.rc = ss_tree_add(tree, ss_tree_root(tree), &made, NULL, err); /* all of it is DeepSpeed's */
    if (c) {
        x.r.nodes = c->nodes;
        x.r.gpus_per_node = c->gpus_per_node;
    }
    ss_reading_load(&x.r, "neox", ss_neox_code);
    ss_reading_rows(&x.r);
    int rc = ss_reading_end(&x.r);
    ss_tree_free(tree);
    return rc;
}

int ss_neox_add(struct ss_request *r, const char *text, size_t len, const char *file, struct ss_error *err)
{
    struct ss_tree *tree;

    SS_TRY(ss_tree_new(file, &tree, err));
    int rc = merge(tree, text, len, file, err);
    if (!rc)
        return map(r, tree, NULL, err);
    ss_tree_free(tree);
    return rc;
}

/* Reads a file that `from` names; *text is the caller's. */
static int read_named(const char *name, const char *from, char *path, size_t size, char **text, size_t *len,
                      struct ss_error *err)
{
    SS_TRY(ss_import_find(name, from, path, size, err));
    return ss_file_read(path, 8u << 20, text, len, err);
}

bool ss_neox_any(const char *const *name, size_t n, const char *from)
{
    bool found = false;

    for (size_t i = 0; i < n && !found; i++) {
        char path[1024], *text;
        size_t len;
        if (read_named(name[i], from, path, sizeof path, &text, &len, NULL))
            continue;
        found = ss_neox_sniff(text, len);
        free(text);
    }
    return found;
}

int ss_neox_files_add(struct ss_request *r, const char *const *name, size_t n, const char *from,
                      struct ss_error *err)
{
    struct ss_tree *tree;
    int rc = ss_tree_new(from ? from : name[0], &tree, err);

    for (size_t i = 0; i < n && !rc; i++) {
        char path[1024], *text;
        size_t len;
        rc = read_named(name[i], from, path, sizeof path, &text, &len, err);
        if (rc)
            break;
        rc = merge(tree, text, len, path, err);
        free(text);
    }
    if (!rc)
        return map(r, tree, NULL, err);
    ss_tree_free(tree);
    return rc;
}

/* ---- commands ---- */

int ss_neox_command_sniff(const struct ss_words *words, const struct ss_command *c)
{
    const char *script = words->w[c->script].text, *slash = strrchr(script, '/');

    return !strcmp(slash ? slash + 1 : script, "deepy.py");
}

/* "125M" is 125M.yml, below the folder of -d. */
static int merge_named(struct ss_tree *tree, const struct ss_words *words, const char *folder, size_t i,
                       struct ss_error *err)
{
    const char *name = words->w[i].text, *dot = strrchr(name, '.');
    int whole = dot && (!strcmp(dot, ".yml") || !strcmp(dot, ".json"));
    char full[1024], path[1024], *text;
    size_t len;

    snprintf(full, sizeof full, "%s%s%s%s", folder ? folder : "", folder ? "/" : "", name,
             whole ? "" : ".yml");
    int rc = ss_command_read(words, full, words->file, path, sizeof path, &text, &len, err);
    if (rc)
        return ss_command_locate(words, i, err);
    rc = merge(tree, text, len, path, err);
    free(text);
    return rc;
}

static int merge_all(struct ss_tree *tree, const struct ss_words *words, const struct ss_command *c,
                     struct ss_error *err)
{
    const char *folder = ss_command_value(words, c->script + 1, c->end, "-d");
    int files = 0, scripts = 0, rc = SS_OK;

    if (!folder)
        folder = ss_command_value(words, c->script + 1, c->end, "--conf_dir");
    for (size_t i = c->script + 1; i < c->end && !rc; i++) {
        const char *text = words->w[i].text;
        if (text[0] == '-')
            i += !strchr(text, '='); /* each has a value */
        else if (scripts++)
            files++, rc = merge_named(tree, words, folder, i, err);
    }
    return rc || files ? rc
                       : ss_fail(err, SS_ERR_INPUT, words->file, words->w[c->script].line,
                                 "deepy.py is given no configuration file");
}

int ss_neox_command_add(struct ss_request *r, const struct ss_words *words, const struct ss_command *c,
                        struct ss_error *err)
{
    const char *full = ss_command_value(words, c->script, c->end, "--hostfile"), /* as DeepSpeed takes it */
        *name = full ? full : ss_command_value(words, c->script, c->end, "-H");
    struct ss_command sized = *c;
    int64_t hosts = 0, slots = 0;
    struct ss_tree *tree;
    int rc = name ? ss_launcher_hosts(words, name, &hosts, &slots, err) : SS_OK;

    if (!rc && hosts)
        sized.nodes = (int)hosts, sized.gpus_per_node = (int)slots, sized.processes = 0;
    SS_TRY(rc ? rc : ss_tree_new(words->file, &tree, err));
    rc = merge_all(tree, words, c, err);
    SS_THEN(rc, ss_command_add_sizes(r, words, &sized, err));
    ss_command_resolve(words, &sized);
    if (!rc)
        return map(r, tree, &sized, err);
    ss_tree_free(tree);
    return rc;
}
