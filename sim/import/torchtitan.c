/* SPDX-License-Identifier: Apache-2.0 */
/* torchtitan: what its files and commands are. */
#include "import/torchtitan.h"

#include "base/base.h"
#include "import/toml.h"

static int map(struct ss_request *request, struct ss_tree *tree, const struct ss_words *words,
               const struct ss_command *c, struct ss_error *err)
{
    struct ss_titan x = {.steps = 1};

    ss_reading_begin(&x.r, "torchtitan", tree, request, err);
    if (c) {
        struct ss_command whole = *c;
        ss_command_resolve(words, &whole);
        x.r.nodes = whole.nodes;
        x.r.gpus_per_node = whole.gpus_per_node;
    }
    ss_reading_load(&x.r, "torchtitan", ss_titan_code);
    ss_reading_rows(&x.r);
    int rc = ss_reading_end(&x.r);
    ss_tree_free(tree);
    return rc;
}

/* ---- files ---- */

/* Whether a line sets a key of torchtitan, "training.seq_len = 8192". NeMo's overrides have a "model." too. */
static int is_dotted(const char *p, const char *end, int blank_wanted)
{
    static const char *const begins[] = {"model.name", "model.flavor", "training.", "parallelism.",
                                         "activation_checkpoint."};

    for (size_t i = 0; i < SS_ARRAY_LEN(begins); i++) {
        size_t n = strlen(begins[i]);
        const char *q = p + n;
        if ((size_t)(end - p) <= n || memcmp(p, begins[i], n) != 0)
            continue;
        while (q < end && (isalnum((unsigned char)*q) || *q == '_' || *q == '.'))
            q++;
        const char *blank = q;
        while (q < end && (*q == ' ' || *q == '\t'))
            q++;
        return q - blank >= blank_wanted && q < end && *q == '=';
    }
    return 0;
}

/* Returns whether the first line that is neither empty nor a comment begins a table, as "[model]" does, or
 * whether any line sets such a key. No other form begins so. Overrides of Hydra may do so further down, but
 * without a blank before "=". */
static int is_toml(const char *text, size_t len)
{
    int first = 1;

    for (const char *p = text + ss_byte_order_mark(text, len), *end = text + len, *next; p < end; p = next) {
        next = memchr(p, '\n', (size_t)(end - p));
        next = next ? next + 1 : end;
        while (p < next && isspace((unsigned char)*p))
            p++;
        if (p == next || *p == '#')
            continue;
        if (is_dotted(p, next, !first) ||
            (first && next - p > 1 && *p == '[' && isalpha((unsigned char)p[1])))
            return 1;
        first = 0;
    }
    return 0;
}

int ss_titan_toml_sniff(const char *text, size_t len)
{
    return is_toml(text, len) || ss_has_line(text, len, "[training]", true) ||
           ss_has_line(text, len, "[parallelism]", true);
}

int ss_titan_toml_add(struct ss_request *r, const char *text, size_t len, const char *file,
                      struct ss_error *err)
{
    struct ss_tree *tree;
    int rc = ss_toml_parse(text, len, file, &tree, err);

    return rc ? rc : map(r, tree, NULL, NULL, err);
}

/* Where the JSON begins; NULL: there is none. */
static const char *json_of(const char *text, size_t len)
{
    static const char before[] = "Running with configs: ";
    const char *log = memmem(text, len, before, sizeof before - 1);
    size_t i = log ? (size_t)(log - text) + sizeof before - 1 : ss_byte_order_mark(text, len);

    while (i < len && text[i] && strchr(" \t\r\n", text[i]))
        i++;
    return i < len && text[i] == '{' ? text + i : NULL;
}

int ss_titan_json_sniff(const char *text, size_t len)
{
    const char *json = json_of(text, len);
    size_t rest = json ? len - (size_t)(json - text) : 0;

    return json && memmem(json, rest, "\"parallelism\"", 13) && memmem(json, rest, "\"training\"", 10);
}

/* Bytes up to the brace that closes the first one: a log goes on behind it. */
static size_t length_of(const char *json, size_t len)
{
    int depth = 0, quoted = 0;

    for (size_t i = 0; i < len; i++) {
        if (quoted && json[i] == '\\')
            i++;
        else if (json[i] == '"')
            quoted = !quoted;
        else if (!quoted && json[i] == '{')
            depth++;
        else if (!quoted && json[i] == '}' && --depth == 0)
            return i + 1;
    }
    return len;
}

/* Replaces the text before and behind the JSON by blanks, so that lines count as in the file. */
int ss_titan_json_add(struct ss_request *r, const char *text, size_t len, const char *file,
                      struct ss_error *err)
{
    const char *json = json_of(text, len);
    size_t first = json ? (size_t)(json - text) : 0, end = first + (json ? length_of(json, len - first) : 0);
    char *copy = malloc(len + 1);
    struct ss_tree *tree;

    SS_NEED(copy, err);
    for (size_t i = 0; i < end; i++)
        copy[i] = i >= first || text[i] == '\n' ? text[i] : ' ';
    int rc = ss_tree_parse(copy, end, file, &tree, err);
    free(copy);
    return rc ? rc : map(r, tree, NULL, NULL, err);
}

/* ---- commands ---- */

/* The file's name, and at which word it stands. */
static const char *config_file(const struct ss_words *words, const struct ss_command *c, size_t *at)
{
    static const char *const names[] = {"--job.config_file", "--job.config-file"};

    for (*at = c->script + 1; *at < c->end; ++*at)
        for (size_t k = 0; k < SS_ARRAY_LEN(names); k++)
            if (!strncmp(words->w[*at].text, names[k], strlen(names[k])))
                return ss_command_value(words, *at, c->end, names[k]);
    return NULL;
}

int ss_titan_command_sniff(const struct ss_words *words, const struct ss_command *c)
{
    size_t at;

    return strstr(words->w[c->script].text, "torchtitan") != NULL || config_file(words, c, &at) != NULL;
}

/* --compile.enable, --compile.no-enable, --training.seq_len=8192, --training.seq_len 8192, --model.converters a b */
static void override(struct ss_reading *r, const struct ss_words *words, const struct ss_command *c,
                     size_t *at)
{
    const struct ss_word *w = &words->w[*at];
    size_t n = strcspn(w->text, "=");
    const char *dot = memrchr(w->text, '.', n);

    if (strncmp(w->text, "--", 2) != 0 || !dot || dot == w->text + 2 || dot + 1 == w->text + n)
        r->rc = ss_fail(r->err, SS_ERR_INPUT, words->file, w->line,
                        "\"%.100s\" is no option of torchtitan: --SECTION.KEY", w->text);
    else
        ss_reading_option(r, "", words, c->end, at, ',');
}

static int override_all(struct ss_tree *tree, struct ss_request *r, const struct ss_words *words,
                        const struct ss_command *c, size_t config, struct ss_error *err)
{
    struct ss_reading options;

    ss_reading_begin(&options, "torchtitan", tree, r, err);
    for (size_t i = c->script + 1; i < c->end && !options.rc; i++) {
        if (i == config)
            i += !strchr(words->w[i].text, '=');
        else
            override(&options, words, c, &i);
    }
    return ss_reading_end(&options);
}

static int no_file(const struct ss_words *words, const struct ss_command *c, struct ss_error *err)
{
    return ss_fail(
        err, SS_ERR_UNSUPPORTED, words->file, words->w[c->script].line,
        "this configuration of torchtitan is Python code, which is not run" SS_HINT
        "write it out with --debug.save_config_file FILE, or by python -c 'import json; from "
        "torchtitan.config.manager import ConfigManager as C; print(json.dumps(C().parse_args().to_dict()))' "
        "and these options, and give that by --job");
}

int ss_titan_command_add(struct ss_request *r, const struct ss_words *words, const struct ss_command *c,
                         struct ss_error *err)
{
    size_t config = 0, len;
    const char *name = config_file(words, c, &config);
    char path[1024], *text;
    struct ss_tree *tree;

    if (!name)
        return no_file(words, c, err);
    int rc = ss_command_read(words, name, words->file, path, sizeof path, &text, &len, err);
    if (rc)
        return ss_command_locate(words, config, err);
    rc = ss_toml_parse(text, len, path, &tree, err);
    free(text);
    if (rc)
        return rc;
    rc = override_all(tree, r, words, c, config, err);
    SS_THEN(rc, ss_command_add_sizes(r, words, c, err));
    if (!rc)
        return map(r, tree, words, c, err);
    ss_tree_free(tree);
    return rc;
}
