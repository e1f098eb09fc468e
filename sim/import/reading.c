/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign configurations: what functions of a keymap's rows ask of the tree, and the words and notes that come of it. */
#include <unistd.h>

#include "base/base.h"
#include "import/reading.h"
#include "model/hub.h"

void ss_reading_begin(struct ss_reading *r, const char *name, struct ss_tree *tree,
                      struct ss_request *request, struct ss_error *err)
{
    *r = (struct ss_reading){
        .name = name, .told_by = name, .default_line = 1, .tree = tree, .request = request, .err = err};
}

static void no_memory(struct ss_reading *r)
{
    if (!r->rc)
        r->rc = ss_nomem(r->err);
}

/* ---- reading ---- */

/* Returns the names of the key whose row begins with this name. A key that a function asks for without a row
 * would be reported as unknown, whatever becomes of it. */
static const char *names_of(struct ss_reading *r, const char *key)
{
    const struct ss_key_row *row = r->map ? ss_keymap_find(r->map, key) : NULL;
    size_t n = strlen(key);

    if (r->map && !row && !r->rc)
        r->rc = ss_fail(r->err, SS_ERR_INPUT, r->map->file, 0,
                        "no row says what becomes of %.200s, which is read", key);
    return row && !strncmp(row->key, key, n) && row->key[n] == '|' ? row->key : key;
}

struct ss_tree_node *ss_reading_either(struct ss_reading *r, struct ss_tree_node *first,
                                       struct ss_tree_node *other)
{
    char path[SS_KEY_PATH];

    if (!first || ss_tree_is_null(other))
        return first || ss_tree_is_null(other) ? first : other;
    if (r->map && r->map->renamed && first != other && first->text && other->text &&
        strcmp(first->text, other->text) != 0)
        ss_reading_fail(r, other, SS_ERR_INPUT, "%.60s, but %s, another name of this key, has %.60s",
                        other->text, ss_tree_path(first, path, sizeof path), first->text);
    return first;
}

struct ss_tree_node *ss_reading_node(struct ss_reading *r, const char *keys)
{
    struct ss_tree_node *first = NULL;

    for (const char *p = keys; *p; p += strcspn(p, " "), p += *p == ' ') {
        char key[240];
        snprintf(key, sizeof key, "%.*s", (int)strcspn(p, " "), p);
        for (const char *name = names_of(r, key); *name; name += *name == '|') {
            char path[SS_KEY_PATH];
            size_t n = strcspn(name, "|");
            snprintf(path, sizeof path, "%.*s", (int)n, name);
            struct ss_tree_node *node = ss_tree_get(ss_tree_root(r->tree), path);
            first = ss_reading_either(r, first, node);
            name += n;
        }
    }
    return first;
}

void ss_reading_fact(struct ss_reading *r, const char *name, const char *value)
{
    struct ss_tree_node *is = ss_tree_child(ss_tree_root(r->tree), "is", 2);
    char path[64];

    if (is && !is->off) {
        ss_reading_fail(r, is, SS_ERR_INPUT, "%s has no such key", r->name);
        return;
    }
    snprintf(path, sizeof path, "is.%s", name);
    ss_reading_set(r, path, value, NULL, 0);
    is = ss_tree_child(ss_tree_root(r->tree), "is", 2);
    ss_tree_take(is);
    if (is)
        is->off = true;
}

int64_t ss_reading_size(struct ss_reading *r, const char *keys, int64_t missing, int64_t low, int64_t high)
{
    const struct ss_tree_node *node = ss_reading_node(r, keys);
    int64_t value = missing;

    if (node && !ss_tree_whole(node, &value))
        ss_reading_fail(r, node, SS_ERR_INPUT, "a whole number is asked%s%.40s", node->text ? ", not " : "",
                        node->text ? node->text : "");
    else if (node && (value < low || value > high))
        ss_reading_fail(r, node, SS_ERR_INPUT, "%.40s is not within %lld .. %lld", node->text, (long long)low,
                        (long long)high);
    return r->rc ? missing : value;
}

int ss_reading_truth(struct ss_reading *r, const char *keys, int missing)
{
    const struct ss_tree_node *node = ss_reading_node(r, keys);
    int value = node ? ss_tree_truth(node) : missing;

    if (node && value < 0)
        ss_reading_fail(r, node, SS_ERR_INPUT, "true or false is asked");
    return value < 0 ? missing : value;
}

const char *ss_reading_text(struct ss_reading *r, const char *keys, const char *missing)
{
    const struct ss_tree_node *node = ss_reading_node(r, keys);

    if (node && node->kind != SS_TREE_SCALAR)
        ss_reading_fail(r, node, SS_ERR_INPUT, "a text is asked");
    return node && node->text ? node->text : missing;
}

bool ss_reading_lists(struct ss_reading *r, const char *keys, const char *item)
{
    struct ss_tree_node *node = ss_reading_node(r, keys);
    size_t n = strlen(item);

    ss_tree_take(node);
    for (const struct ss_tree_node *child = node ? node->first : NULL; child; child = child->next)
        if (ss_tree_is(child, item))
            return true;
    for (const char *p = node ? node->text : NULL; p && *p; p += strcspn(p, ","), p += *p == ',')
        if (strcspn(p, ",") == n && !strncmp(p, item, n))
            return true;
    return false;
}

void ss_reading_set(struct ss_reading *r, const char *path, const char *text, const char *file, int line)
{
    struct ss_tree_node *at = ss_tree_root(r->tree);

    for (const char *p = path; !r->rc;) {
        size_t n = strcspn(p, ".");
        struct ss_tree_node *child = at->kind == SS_TREE_MAP ? ss_tree_child(at, p, n) : NULL;
        if (child && (!p[n] || child->kind != SS_TREE_MAP)) {
            ss_tree_drop(child);
            child = NULL;
        }
        const struct ss_tree_made made = {.kind = p[n] ? SS_TREE_MAP : SS_TREE_SCALAR,
                                          .key = p,
                                          .key_len = n,
                                          .text = p[n] ? NULL : text,
                                          .text_len = strlen(text),
                                          .file = file,
                                          .line = line};
        if (!child)
            r->rc = ss_tree_add(r->tree, at, &made, &child, r->err);
        if (r->rc || !p[n])
            return;
        at = child;
        p += n + 1;
    }
}

void ss_reading_option(struct ss_reading *r, const char *section, const struct ss_words *words, size_t end,
                       size_t *at, char between)
{
    const struct ss_word *w = &words->w[*at];
    char path[160], value[512];
    size_t n = strcspn(w->text, "="),
           k = (size_t)snprintf(path, sizeof path, "%s%s", section, section[0] ? "." : "");

    ss_append(path, sizeof path, "%.*s", (int)(n > 2 ? n - 2 : 0), w->text + 2);
    for (char *p = path + k; *p; p++)
        *p = *p == '-' ? '_' : *p;
    snprintf(value, sizeof value, "%s", w->text[n] ? w->text + n + 1 : "");
    while (!w->text[n] && *at + 1 < end && strncmp(words->w[*at + 1].text, "--", 2) != 0)
        ss_append(value, sizeof value, "%.*s%s", value[0] != '\0', &between, words->w[++*at].text);
    char *last = strrchr(path, '.');
    int alone = !value[0] && !w->text[n], no = alone && !section[0] && last && !strncmp(last, ".no_", 4);
    if (no)
        memmove(last + 1, last + 4, strlen(last + 4) + 1);
    ss_reading_set(r, path, !alone ? value : no ? "false" : "true", words->file, w->line);
}

/* ---- words ---- */

static void add_word(struct ss_reading *r, const struct ss_tree_node *at, const char *text, size_t len)
{
    char *copy = r->rc ? NULL : strndup(text, len);

    if (!copy || ss_grow(&r->word, &r->cap, r->n + 1, sizeof *r->word)) {
        free(copy);
        no_memory(r);
        return;
    }
    r->word[r->n++] = (struct ss_reading_word){copy, at ? at->file : ss_tree_file(r->tree),
                                               at ? at->line : r->default_line};
}

void ss_reading_flag(struct ss_reading *r, const struct ss_tree_node *at, const char *flag, const char *value)
{
    if (value && !strncmp(value, "--", 2)) /* no file may add flags by its values */
        ss_reading_fail(r, at, SS_ERR_INPUT, "%s is no value of %s: it begins as a flag does", value, flag);
    add_word(r, at, flag, strlen(flag));
    if (value)
        add_word(r, at, value, strlen(value));
}

void ss_reading_whole_flag(struct ss_reading *r, const struct ss_tree_node *at, const char *flag,
                           int64_t value)
{
    char text[32];

    snprintf(text, sizeof text, "%lld", (long long)value);
    ss_reading_flag(r, at, flag, text);
}

void ss_reading_words(struct ss_reading *r, const struct ss_tree_node *at, const char *words)
{
    for (const char *p = words + strspn(words, " "); *p; p += strspn(p, " ")) {
        size_t len = strcspn(p, " ");
        add_word(r, at, p, len);
        p += len;
    }
}

void ss_reading_prop(struct ss_reading *r, const struct ss_tree_node *at, int prop, double value)
{
    char text[96];

    snprintf(text, sizeof text, "%s=%.15g", ss_prop_at(prop)->id, value);
    ss_reading_flag(r, at, "--set", text);
}

void ss_reading_assume(struct ss_reading *r, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (ss_notes_add(&r->assumed, "%s: assumed: %s", r->told_by, text))
        no_memory(r);
}

void ss_reading_fail(struct ss_reading *r, const struct ss_tree_node *at, int code, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    if (r->rc)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (code == SS_ERR_UNSUPPORTED)
        ss_reading_fault(r, at, code, text, "");
    else
        r->rc = ss_tree_fail(at ? at : ss_tree_root(r->tree), code, r->err, "%s", text);
}

void ss_reading_fault(struct ss_reading *r, const struct ss_tree_node *at, int code, const char *text,
                      const char *hint)
{
    struct ss_error why = {0};
    char place[300] = "", reason[700];

    if (r->rc)
        return;
    ss_tree_fail(at ? at : ss_tree_root(r->tree), code, &why, "%s", text);
    if (hint[0])
        ss_hint(&why, code, "%s", hint);
    if (!r->nfaults++)
        r->fault = why;
    if (strcmp(why.file, r->fault.file) != 0)
        snprintf(place, sizeof place, " (%s:%d)", why.file, why.line);
    else if (why.line)
        snprintf(place, sizeof place, " (%d)", why.line);
    snprintf(reason, sizeof reason, "%.400s%s%.250s", text, hint[0] ? ": " : "", hint);
    size_t name = strlen(why.message) - (strlen(text) < strlen(why.message) ? strlen(text) : 0);
    int again = ss_is_told_last(r->faults, reason);
    ss_append(r->faults, sizeof r->faults, "%s%.*s%s%s", r->nfaults > 1 ? "; " : "", (int)name, why.message,
              again ? "likewise" : reason, place);
}

/* ---- names of models ---- */

/* A file or folder of that path beside the tree's file, or as it stands. */
static int is_there(const struct ss_reading *r, const char *name, char *path, size_t size)
{
    const char *file = ss_tree_file(r->tree), *slash = strrchr(file, '/');

    if (ss_import_is_pasted(file))
        return 0;
    if (slash && name[0] != '/') {
        int n = snprintf(path, size, "%.*s/%s", (int)(slash - file), file, name);
        if (n > 0 && (size_t)n < size && access(path, R_OK) == 0)
            return 1;
    }
    return strchr(name, '/') && ss_copy(path, size, name) && access(name, R_OK) == 0;
}

/* Finds what --model takes for this name: *path. */
static int find(struct ss_reading *r, const char *name, char *path, size_t size, bool *found)
{
    const char *slash = strrchr(name, '/');

    *found = is_there(r, name, path, size);
    if (*found)
        return SS_OK;
    char file[4096];
    int rc = ss_model_known(name, path, size, found, r->err);
    if (rc || *found)
        return rc;
    ss_copy(path, size,
            slash && slash[1] ? slash + 1 : name); /* looked for, and missed, where the name stands */
    return ss_import_is_pasted(ss_tree_file(r->tree))
               ? SS_OK
               : ss_data_look("workloads/models", path, ".json", file, sizeof file, found, r->err);
}

void ss_reading_model(struct ss_reading *r, const struct ss_tree_node *at, const char *name)
{
    char path[256];
    bool found = false;

    if (r->rc)
        return;
    r->rc = find(r, name, path, sizeof path, &found);
    ss_reading_flag(r, at, "--model", path);
    if (r->rc || !found)
        return;
    ss_model_init(&r->model);
    r->rc = ss_model_load(path, &r->model, r->err);
    r->has_model = !r->rc;
    if (r->has_model && r->model.extra_vocab_size > 0 && !r->model.extra_in_checkpoint) /* Megatron's alone */
        ss_reading_whole_flag(r, at, "--vocab-size", r->model.vocab_size);
}
