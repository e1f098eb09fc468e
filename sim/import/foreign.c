/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of foreign YAML. */
#include "import/foreign.h"
#include "base/base.h"
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

/* Returns the map of flags, "MODEL_ARGS: {--num-layers: 12}"; NULL: there is none. */
static const struct ss_tree_node *arguments_of(const struct ss_tree_node *root)
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
    for (struct ss_tree_node *n = arguments_of(ss_tree_root(r->tree))->first; n && !r->rc; n = n->next)
        if (!strncmp(n->key, "--", 2))
            add_argument(r, n);
    for (struct ss_tree_node *n = ss_tree_root(r->tree)->first; n; n = n->next)
        if (n->kind == SS_TREE_SCALAR) /* variables, which stand elsewhere now */
            ss_tree_take(n);
}

const struct ss_key_code ss_arguments_code[] = {{"arguments", add_arguments}, {NULL, NULL}};

/* ---- kinds ---- */

static const struct ss_foreign_kind kinds[] = {
    {"NeMo 2", "nemo2", "trainer.strategy._target_~MegatronStrategy model.config._target_?", ss_nemo2_code,
     true, false},
    {"NeMo 1", "nemo",
     "trainer? model.micro_batch_size? model.tensor_model_parallel_size|model.encoder_seq_length?",
     ss_nemo_code, true, false},
    {"Megatron-Bridge", "bridge",
     "train.micro_batch_size? model? _target_~ConfigContainer or train.micro_batch_size? model? "
     "model._target_~megatron.bridge",
     ss_core_code, true, false},
    {"nanotron", "nanotron", "parallelism.tp? tokens.micro_batch_size?", ss_nanotron_code, false, false},
    {"FlagScale", "flagscale", "system? model.num_layers? or experiment.task? experiment.runner?",
     ss_flagscale_code, true, false},
    {"Megatron-LM's --yaml-cfg", "megatron-yaml", "language_model.num_layers? model_parallel?", ss_core_code,
     false, false},
    {"Megatron-LM's MODEL_ARGS", "megatron-arguments", NULL, ss_arguments_code, true, true},
    {"Megatron-LM's arguments as a dump", "megatron-dump",
     "num_layers? hidden_size? tensor_model_parallel_size? micro_batch_size?", ss_core_code, false, false},
};

const struct ss_foreign_kind *ss_foreign_kind_of(const struct ss_tree_node *root)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(kinds); i++)
        if (kinds[i].knows ? ss_reading_holds(root, "", kinds[i].knows) : arguments_of(root) != NULL)
            return &kinds[i];
    return NULL;
}

/* Files that start a job, or are of frameworks that are not modelled. */
static const struct {
    const char *knows, *what, *take;
} others[] = {
    {"apiVersion? kind?", "a manifest of Kubernetes",
     "put the command of its container into a script and give that by --launch, its replicas by --nodes"},
    {"resources? run?", "a task of SkyPilot", "put its \"run\" into a script and give that by --launch"},
    {"modules.pre_trainer?", "a configuration of Primus, which is not read",
     "give the job in Megatron-LM's flags"},
    {"per_device_batch_size? model_name? or base_config? per_device_batch_size?",
     "a configuration of MaxText, whose JAX is not modelled", "give the job in Megatron-LM's flags"},
    {"device_train_microbatch_size?", "a configuration of LLM Foundry, which is not read",
     "give the job in Megatron-LM's flags"},
};

static int unknown(const struct ss_tree *tree, struct ss_error *err)
{
    char names[256] = "";

    for (size_t i = 0; i < SS_ARRAY_LEN(others); i++)
        if (ss_reading_holds(ss_tree_root(tree), "", others[i].knows))
            return ss_fail(err, SS_ERR_UNSUPPORTED, ss_tree_file(tree), 1, "%s" SS_HINT "%s", others[i].what,
                           others[i].take);
    for (size_t i = 0; i < SS_ARRAY_LEN(kinds); i++)
        ss_append(names, sizeof names, "%s%s", i ? ", " : "", kinds[i].name);
    return ss_fail(err, SS_ERR_INPUT, ss_tree_file(tree), 1,
                   "a configuration of a kind that is not known" SS_HINT
                   "give one of %s, torchtitan, GPT-NeoX, DeepSpeed, accelerate, Hugging Face's Trainer, "
                   "TRL, LLaMA-Factory, Axolotl, or the job in Megatron-LM's "
                   "flags",
                   names);
}

int ss_foreign_request(struct ss_request *request, struct ss_words *own, struct ss_tree *tree,
                       const struct ss_foreign_kind *kind, struct ss_error *err)
{
    struct ss_reading r;

    kind = kind ? kind : ss_foreign_kind_of(ss_tree_root(tree));
    if (!kind)
        return unknown(tree, err);
    ss_reading_begin(&r, kind->name, tree, request, err);
    r.told_by = ss_tree_file(tree);
    r.default_line = 0;
    r.own = own;
    ss_reading_load(&r, kind->map, kind->code);
    ss_reading_rows(&r);
    return ss_reading_end(&r);
}

static const char *next_line(const char *p, const char *end)
{
    const char *line = memchr(p, '\n', (size_t)(end - p));

    return line ? line + 1 : end;
}

bool ss_foreign_sniff(const char *text, size_t len)
{
    const char *p = text + ss_byte_order_mark(text, len), *end = text + len;

    while (p < end) {
        while (p < end && isspace((unsigned char)*p))
            p++;
        if (p < end && *p == '#')
            p = next_line(p, end);
        else
            break;
    }
    const char *name = p;
    while (p < end && (isalnum((unsigned char)*p) || (p > name && strchr("_-.", *p)) || *p == '_' ||
                       *p == '"' || *p == '\''))
        p++;
    if (p > name && p < end && *p == ':')
        return p + 1 == end || isspace((unsigned char)p[1]);
    return end - name > 3 && !strncmp(name, "---", 3) && isspace((unsigned char)name[3]);
}
