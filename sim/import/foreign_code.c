/* SPDX-License-Identifier: Apache-2.0 */
/* What the rows of core.map, nemo.map, nemo2.map and megatron-arguments.map cannot say. */
#include "base/base.h"
#include "import/foreign.h"
#include "stepsim/flags.h"

/* ---- Megatron core ---- */

static char letter_of(const char *layer)
{
    static const char *const names[] = {"embedding", "decoder", "mtp", "loss"};

    for (size_t i = 0; layer && i < SS_ARRAY_LEN(names); i++)
        if (!strcmp(layer, names[i]))
            return "EtmL"[i];
    return 0;
}

/* "Et|tt|tL", or lists of names: [[embedding, decoder], [decoder, loss]]. */
static void add_layout(struct ss_reading *r, struct ss_tree_node *node)
{
    char text[4096];
    size_t n = 0;

    ss_tree_take(node);
    if (node && node->kind == SS_TREE_SCALAR)
        ss_reading_flag(r, node, "--pipeline-model-parallel-layout", node->text);
    if (!node || node->kind == SS_TREE_SCALAR)
        return;
    for (const struct ss_tree_node *stage = node->first; stage; stage = stage->next) {
        for (const struct ss_tree_node *layer = stage->first; layer && n + 2 < sizeof text;
             layer = layer->next)
            if (!(text[n++] = letter_of(layer->text)))
                ss_reading_fail(r, layer, SS_ERR_INPUT, "is no layer of a pipeline's layout");
        if (n + 2 >= sizeof text) {
            ss_reading_fail(r, node, SS_ERR_INPUT, "a layout that is too long");
            return;
        }
        text[n++] = '|';
    }
    text[n ? n - 1 : 0] = '\0';
    ss_reading_flag(r, node, "--pipeline-model-parallel-layout", text);
}

/* FlagScale: the width of a gated MLP as a multiple. */
static void add_width(struct ss_reading *r, struct ss_tree_node *node)
{
    const struct ss_tree_node *times = ss_reading_node(r, "model.hidden_dim_multiplier");
    int64_t of = 0, hidden = 0;
    double by = 1;

    ss_tree_take(node);
    if (!node || !node->text)
        return;
    if (ss_parse_i64(node->text, 1, 1 << 24, &of) ||
        !ss_tree_whole(ss_reading_node(r, "model.hidden_size"), &hidden) || hidden < 1 || hidden > 1 << 24 ||
        (times && (!times->text || ss_parse_double(times->text, &by) || !(by > 0 && by < 1000)))) {
        ss_reading_fail(r, node, SS_ERR_INPUT,
                        "a width of hidden_size by multiple_of and hidden_dim_multiplier is asked");
        return;
    }
    int64_t width = (int64_t)((double)(8 * hidden / 3) * by);
    ss_reading_whole_flag(r, node, "--ffn-hidden-size", (width + of - 1) / of * of);
}

const struct ss_key_code ss_core_code[] = {{"layout", add_layout}, {NULL, NULL}};
const struct ss_key_code ss_flagscale_code[] = {{"layout", add_layout}, {"width", add_width}, {NULL, NULL}};

/* ---- NeMo 1 ---- */

/* 8, or [0, 1, 2]; -1 and "auto" are all of the node. */
static void add_devices(struct ss_reading *r, struct ss_tree_node *node)
{
    int64_t n = 0;

    ss_tree_take(node);
    if (node && node->kind == SS_TREE_LIST)
        n = (int64_t)node->n;
    else if (node && !ss_tree_whole(node, &n) && !ss_tree_is(node, "auto"))
        ss_reading_fail(r, node, SS_ERR_INPUT, "is no number of GPUs");
    if (n > 0)
        ss_reading_whole_flag(r, node, "--gpus-per-node", n);
}

static void check_defaults(struct ss_reading *r, struct ss_tree_node *node)
{
    ss_tree_take(node);
    for (struct ss_tree_node *n = node ? node->first : NULL; n && !r->rc; n = n->next) {
        const char *name = n->kind == SS_TREE_MAP && n->first ? n->first->key : n->text;
        if (name && strcmp(name, "_self_") != 0 && strncmp(name, "optional ", 9) != 0) {
            ss_reading_fault(r, n, SS_ERR_UNSUPPORTED, "composed of other files, which are not read",
                             "give what the script prints with --cfg job --resolve");
        }
    }
}

/* What the dataset gives, beside the length that stages expect of one another. */
static void check_rows(struct ss_reading *r, struct ss_tree_node *node)
{
    const struct ss_tree_node *model = ss_reading_node(r, "model.encoder_seq_length");
    int64_t rows, length;
    char why[160];

    ss_tree_take(node);
    if (!ss_tree_whole(node, &rows) || !ss_tree_whole(model, &length) || rows == length)
        return;
    snprintf(why, sizeof why, "rows of %lld tokens for a model of %lld (encoder_seq_length)", (long long)rows,
             (long long)length);
    ss_reading_fault(r, node, SS_ERR_UNSUPPORTED, why, "give both the same");
}

/* The vocabulary that a shipped part of a configuration assumes (hydra_command.c). */
static void add_own(struct ss_reading *r, struct ss_tree_node *node)
{
    if (!node || !node->text || ss_reading_node(r, "model.override_vocab_size"))
        return;
    ss_reading_assume(r, "a vocabulary of %s; --vocab-size says another", node->text);
    ss_reading_flag(r, node, "--vocab-size", node->text);
}

const struct ss_key_code ss_nemo_code[] = {{"defaults", check_defaults},
                                           {"devices", add_devices},
                                           {"own", add_own},
                                           {"rows", check_rows},
                                           {NULL, NULL}};

/* ---- NeMo 2 ---- */

/* Classes of configurations, whose shapes are in their code; each field of the file beats its class. */
static void add_model(struct ss_reading *r, struct ss_tree_node *node)
{
    const char *dot = node && node->text ? strrchr(node->text, '.') : NULL, *name = dot ? dot + 1 : "";

    const char *model = node && node->text ? ss_reading_lookup(r, "$models", node->text) : NULL;

    if (model)
        ss_reading_flag(r, node, "--model", model);
    else if (ss_tree_find(ss_tree_root(r->tree), "model.config.num_layers"))
        ss_reading_assume(r, "fields of %s that the file leaves out are Megatron-LM's defaults",
                          name[0] ? name : "model.config");
    else if (!node) /* the key is there, or it would not be NeMo 2, without a value */
        ss_reading_fail(r, ss_tree_find(ss_tree_root(r->tree), "model.config"), SS_ERR_INPUT,
                        "_target_ names no class, and there is no num_layers");
    else
        ss_reading_refuse(r, node, "the shape of \"%.80s\" is in its code, which is not known here", name);
}

/* What nemo2.map itself has as off in model.config: NeMo sets trainer.strategy's, with its own defaults
 * (set_model_parallel_attributes). */
static SS_KEY_CALLED(tell_parallelism)
{
    const struct ss_tree_node *root = ss_tree_root(r->tree),
                              *strategy = ss_tree_find(root, "trainer.strategy"),
                              *config = ss_tree_find(root, "model.config");
    char path[160];

    for (const struct ss_tree_node *n = config->first; n; n = n->next) {
        const struct ss_key_row *row = ss_keymap_find(r->map, ss_tree_path(n, path, sizeof path));
        if (row && row->kind == SS_KEY_OFF && row->block < 0 && row->file == r->map->file &&
            !ss_tree_is_null(n) && ss_tree_truth(n) != 0 && !ss_tree_find(strategy, n->key))
            ss_reading_assume(r, "model.config.%.60s says nothing: NeMo sets trainer.strategy's, its default",
                              n->key);
    }
}

const struct ss_key_code ss_nemo2_code[] = {
    {"model", add_model}, {"stages", tell_parallelism}, {"layout", add_layout}, {NULL, NULL}};

/* ---- "MODEL_ARGS: {--num-layers: 12, --bf16: true}", as test cases and model zoos of Megatron-LM have it ---- */

const struct ss_tree_node *ss_arguments_of(const struct ss_tree_node *root)
{
    static const char *const names[] = {"MODEL_ARGS", "ARGS"};

    for (size_t i = 0; i < SS_ARRAY_LEN(names); i++) {
        const struct ss_tree_node *node = ss_tree_find(root, names[i]);
        if (node && node->kind == SS_TREE_MAP && node->first && !strncmp(node->first->key, "--", 2))
            return node;
    }
    return NULL;
}

/* Whether the prediction needs the flag's value: not of files of a tokenizer. */
static bool is_read(const char *flag)
{
    struct ss_flag_cursor at = {0};
    struct ss_flag_info info;

    if (!strcmp(flag, "--merge-file") || !strcmp(flag, "--tokenizer-model"))
        return false;
    while (ss_flag_list(&at, &info))
        if (!strcmp(info.name, flag))
            return info.read;
    return false;
}

/* "${TP}", which the environment of the test case has. */
static void lacks_variable(struct ss_reading *r, const struct ss_tree_node *node)
{
    const char *begin = strstr(node->text, "${") + 2;

    ss_reading_fail(r, node, SS_ERR_INPUT, "\"%.60s\" is a variable that is not set", node->text);
    ss_hint(r->err, r->rc, "give it behind the file: %.*s=VALUE", (int)strcspn(begin, "}:"), begin);
}

/* A value is words of a shell: "[core_attn mlp]" is two, and quotes within the text are the shell's. */
static void add_argument(struct ss_reading *r, struct ss_tree_node *node)
{
    size_t len = node->text ? strlen(node->text) : 0;
    int quoted = len > 1 && strchr("'\"", node->text[0]) && node->text[len - 1] == node->text[0];
    int list = len > 2 && node->text[0] == '[' && strchr(node->text, ' ');
    char words[1024];

    ss_tree_take(node);
    if (ss_tree_is_null(node))
        return;
    if (node->text && strstr(node->text, "${") && is_read(node->key)) {
        lacks_variable(r, node);
    } else if (ss_tree_truth(node) >= 0) {
        if (ss_tree_truth(node))
            ss_reading_flag(r, node, node->key, NULL);
    } else if ((!list && !quoted) || len >= sizeof words) {
        ss_reading_value(r, node, node->key);
    } else {
        snprintf(words, sizeof words, "%.*s", (int)(len - 2), node->text + 1);
        ss_reading_flag(r, node, node->key, NULL);
        ss_reading_words(r, node, words);
    }
}

static SS_KEY_CALLED(add_arguments)
{
    for (struct ss_tree_node *n = ss_arguments_of(ss_tree_root(r->tree))->first; n && !r->rc; n = n->next)
        if (!strncmp(n->key, "--", 2))
            add_argument(r, n);
    for (struct ss_tree_node *n = ss_tree_root(r->tree)->first; n; n = n->next)
        if (n->kind == SS_TREE_SCALAR) /* variables, which stand elsewhere now */
            ss_tree_take(n);
}

const struct ss_key_code ss_arguments_code[] = {{"arguments", add_arguments}, {NULL, NULL}};
