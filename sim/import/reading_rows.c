/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a keymap, applied to a tree. */
#include <strings.h>

#include "base/base.h"
#include "import/reading.h"
#include "stepsim/flags.h"

static void bad_value(struct ss_reading *r, const struct ss_tree_node *node, const char *asked)
{
    ss_reading_fail(r, node, SS_ERR_INPUT, "%s%.80s%s is no %s", node->text ? "\"" : "",
                    node->text ? node->text : "a map or a list", node->text ? "\"" : "", asked);
}

/* ---- what a value becomes ---- */

void ss_reading_value(struct ss_reading *r, const struct ss_tree_node *node, const char *flag)
{
    const struct ss_tree_node *one = ss_reading_single(node);

    if (node->kind != SS_TREE_LIST) {
        if (one)
            ss_reading_flag(r, node, flag, one->text);
        else
            bad_value(r, node, "single value");
        return;
    }
    if (node->n)
        ss_reading_flag(r, node, flag, NULL);
    for (const struct ss_tree_node *item = node->first; item; item = item->next)
        if ((one = ss_reading_single(item)) != NULL)
            ss_reading_flag(r, item, one->text, NULL);
        else
            bad_value(r, item, "single value");
}

static void add_whole(struct ss_reading *r, const struct ss_tree_node *node, const char *flag)
{
    int64_t value;

    if (ss_tree_whole(node, &value))
        ss_reading_whole_flag(r, node, flag, value);
    else
        bad_value(r, node, "whole number");
}

/* A list as one text: "[0,1,1]", "128,0". `words`: the flag and, behind a blank, the brackets. */
static void add_list(struct ss_reading *r, const struct ss_tree_node *node, const char *words)
{
    const char *around = strchr(words, ' ');
    char flag[96], text[1024];

    snprintf(flag, sizeof flag, "%.*s", (int)strcspn(words, " "), words);
    if (node->kind == SS_TREE_SCALAR) {
        ss_reading_flag(r, node, flag, node->text);
        return;
    }
    if (node->kind == SS_TREE_MAP)
        bad_value(r, node, "list");
    snprintf(text, sizeof text, "%.1s", around ? around + 1 : "");
    bool fits = true;
    for (const struct ss_tree_node *item = node->first; item && fits; item = item->next)
        fits = ss_append(text, sizeof text, "%s%s", item == node->first ? "" : ",",
                         item->text ? item->text : "?");
    if (!fits || !ss_append(text, sizeof text, "%s", around ? around + 2 : ""))
        ss_reading_fail(r, node, SS_ERR_INPUT, "a list that is too long");
    ss_reading_flag(r, node, flag, text);
}

static void add_switch(struct ss_reading *r, const struct ss_tree_node *node, const char *words, int when)
{
    int truth = ss_reading_truth_of(node);

    if (truth < 0)
        bad_value(r, node, "true or false");
    else if (truth == when)
        ss_reading_words(r, node, words);
}

/* Returns whether the value is one of a case's values, in any case of letters: "torch.nn.functional.silu"
 * equals silu. */
static bool has_value(const char *values, const char *value)
{
    const char *dot = isalpha((unsigned char)value[0]) ? strrchr(value, '.') : NULL,
               *last = dot ? dot + 1 : value;

    for (const char *p = values + strspn(values, " "); *p; p += strspn(p, " ")) {
        size_t n = strcspn(p, " ");
        if ((n == 1 && *p == '*') || (!strncasecmp(p, value, n) && !value[n]) ||
            (!strncasecmp(p, last, n) && !last[n]))
            return true;
        p += n;
    }
    return false;
}

/* `text` with the value in the place of "%s". */
static char *fill(const char *text, const char *value, char *out, size_t size)
{
    const char *at = strstr(text, "%s");

    snprintf(out, size, "%.*s%.60s%s", at ? (int)(at - text) : (int)strlen(text), text, at ? value : "",
             at ? at + 2 : "");
    return out;
}

/* "why; hint what to do". */
static void refuse(struct ss_reading *r, const struct ss_tree_node *node, int code, const char *text)
{
    const char *hint = strstr(text, "; hint ");

    char why[512];

    snprintf(why, sizeof why, "%.*s", hint ? (int)(hint - text) : (int)strlen(text), text);
    ss_reading_fault(r, node, code, why, hint ? hint + strlen("; hint ") : "");
}

static void apply_case(struct ss_reading *r, const struct ss_tree_node *node, const struct ss_key_case *c,
                       const char *value)
{
    size_t n = strlen(c->words);
    char text[512], more[600];

    if (n > 3 && !strcmp(c->words + n - 3, " %s")) { /* the value is one word, whatever is in it */
        snprintf(text, sizeof text, "%.*s", (int)n - 3, c->words);
        ss_reading_flag(r, node, text, value);
    } else if (!strncmp(c->words, "refuse ", 7)) {
        snprintf(more, sizeof more, "%s%s", strstr(c->words, "%s") ? "" : "\"%s\": ", c->words + 7);
        refuse(r, node, SS_ERR_UNSUPPORTED, fill(more, value, text, sizeof text));
    } else {
        ss_reading_words(r, node, c->words);
    }
    if (c->assumed)
        ss_reading_assume(r, "%s", fill(c->assumed, value, text, sizeof text));
}

/* A text, or what was dumped as a map: "_name_" of an enum, else its number "_args_: [2]", or the "_target_" torch.bfloat16. */
static const struct ss_tree_node *picked(const struct ss_tree_node *node)
{
    static const char *const ways[] = {"_args_.0", "_target_"};
    const struct ss_tree_node *one = ss_reading_single(node);

    for (size_t i = 0; i < SS_ARRAY_LEN(ways) && !one && node && node->kind == SS_TREE_MAP; i++)
        one = ss_reading_single(ss_tree_find(node, ways[i]));
    return one;
}

static const struct ss_key_case *find_case(const struct ss_reading *r, const struct ss_key_row *row,
                                           const char *value)
{
    const struct ss_key_case *c = r->map->choice + row->first, *end = c + row->ncases;

    while (c < end && !has_value(c->values, value))
        c++;
    return c < end ? c : NULL;
}

const char *ss_reading_lookup(const struct ss_reading *r, const char *table, const char *value)
{
    const struct ss_key_row *row = r->rc ? NULL : ss_keymap_find(r->map, table);
    const struct ss_key_case *c = row ? find_case(r, row, value) : NULL;

    return c ? c->words : NULL;
}

static void pick(struct ss_reading *r, const struct ss_key_row *row, const struct ss_tree_node *node)
{
    const struct ss_tree_node *one = picked(node);
    const char *value = one ? one->text : !node && row->text[0] ? row->text + strlen("else ") : NULL;

    const struct ss_key_case *c = value ? find_case(r, row, value) : NULL;

    if (c)
        apply_case(r, node, c, value);
    else if (node)
        bad_value(r, node, "value that is known here");
}

/* ---- keys that become no flag ---- */

/* Returns whether a refused key asks for nothing: null, false, 0, empty, or a value of "unless V V: why";
 * *why is then the end of that text. */
static bool is_harmless(const struct ss_tree_node *node, const char *text, const char **why)
{
    const char *end = strncmp(text, "unless ", 7) ? NULL : strstr(text, ": ");
    char values[160];

    *why = end ? end + 2 : text;
    if (ss_tree_is_null(node) || ss_reading_truth_of(node) == 0)
        return true;
    if (node->kind != SS_TREE_SCALAR)
        return node->n == 0;
    snprintf(values, sizeof values, "%.*s", end ? (int)(end - text - 7) : 0, text + 7);
    return !node->text[0] || has_value(values, node->text);
}

static void tell(struct ss_reading *r, const char *path, const char *end)
{
    if (ss_notes_add(&r->ignored, "%s%s", path, end) && !r->rc)
        r->rc = ss_nomem(r->err);
}

/* Notes a section whose parts have no effect; ss_reading_end finds out whether that holds for all of it. */
static void tell_section(struct ss_reading *r, const char *section)
{
    const struct ss_tree_node *node = ss_reading_find(ss_tree_root(r->tree), section);

    if (node && node->n)
        tell(r, section, ".*");
}

void ss_reading_settle(struct ss_reading *r, const struct ss_key_row *row, struct ss_tree_node *node)
{
    size_t n = strlen(row->key);
    char path[240];
    const char *why;

    if ((row->kind == SS_KEY_REFUSE || row->kind == SS_KEY_DENY) && !is_harmless(node, row->text, &why)) {
        refuse(r, node, row->kind == SS_KEY_DENY ? SS_ERR_CONFIG : SS_ERR_UNSUPPORTED, why);
    } else if (row->kind == SS_KEY_PART) {
        node->part |= !node->read;
        if (r->map->strict)
            tell(r, row->section, "");
    } else if (row->kind == SS_KEY_NONE || r->map->strict) {
        ss_tree_path(node, path, sizeof path);
        /* for a key below, only the row's key is shown */
        tell(r, !strncmp(path, row->key, n) ? row->key : path, "");
    }
    node->off |= row->kind == SS_KEY_OFF;
    ss_tree_take(node);
}

/* ---- Megatron-LM's names ---- */

/* Number of values of the flag, as in argparse; 0: there is none of that name. */
static char values_of(const char *flag)
{
    struct ss_flag_cursor at = {0};
    struct ss_flag_info info;

    if (!ss_flag_known(flag))
        return 0;
    while (ss_flag_list(&at, &info))
        if (!strcmp(info.name, flag))
            return info.values;
    return 0;
}

/* The value of a name that argparse has under another one: "--no-x", "--disable-x". */
static void add_opposite(struct ss_reading *r, struct ss_tree_node *node, const char *name)
{
    static const char *const before[] = {"--no-", "--disable-"};
    char flag[128];
    int truth = ss_tree_is_null(node) ? 1 : ss_reading_truth_of(node);

    for (size_t i = 0; i < SS_ARRAY_LEN(before) && truth >= 0; i++) {
        snprintf(flag, sizeof flag, "%s%s", before[i], name);
        if (values_of(flag) != '0')
            continue;
        ss_tree_take(node);
        if (!truth)
            ss_reading_flag(r, node, flag, NULL);
        return;
    }
}

static void add_by_name(struct ss_reading *r, struct ss_tree_node *node)
{
    char name[96], flag[128];

    if (!node->key || (node->kind == SS_TREE_MAP && !ss_reading_single(node)) ||
        !ss_copy(name, sizeof name, node->key))
        return;
    for (char *p = name; *p; p++)
        *p = *p == '_' ? '-' : *p;
    snprintf(flag, sizeof flag, "--%s", name);
    char values = values_of(flag);
    if (!values) {
        add_opposite(r, node, name);
        return;
    }
    ss_tree_take(node);
    if (ss_tree_is_null(node))
        return;
    if (values == '0')
        add_switch(r, node, flag, 1);
    else
        ss_reading_value(r, node, flag);
}

static void add_names(struct ss_reading *r, const struct ss_tree_node *map)
{
    for (struct ss_tree_node *n = map ? map->first : NULL; n; n = n->next)
        if (!n->read && !n->touched)
            add_by_name(r, n);
}

/* ---- rows ---- */

/* Puts a node in another place of the tree, from which its own file and line are told as before. What another file has there is beaten. */
static void move(struct ss_reading *r, const char *path, struct ss_tree_node *from)
{
    struct ss_tree_node *root = ss_tree_root(r->tree), *to = ss_tree_find(root, path);

    if (to && !strcmp(to->file, from->file))
        ss_reading_fail(r, from, SS_ERR_INPUT, "%s:%d says it, too", to->file, to->line);
    ss_reading_set(r, path, "", from->file, from->line);
    to = ss_tree_find(root, path);
    if (!r->rc)
        r->rc = ss_tree_assign(r->tree, to, from, r->err);
    if (!r->rc)
        ss_tree_drop(from);
}

/* A value is read as a whole; of a section each key is read by a row of its own. */
static void take(const struct ss_reading *r, struct ss_tree_node *node)
{
    char path[240];

    if (node->kind == SS_TREE_MAP && ss_keymap_is_section(r->map, ss_tree_path(node, path, sizeof path)))
        ss_tree_get(node, "");
    else
        ss_tree_take(node);
}

static void apply(struct ss_reading *r, const struct ss_key_row *row, struct ss_tree_node *node)
{
    if (node && row->kind != SS_KEY_ADD && row->kind != SS_KEY_AS)
        take(r, node);
    switch (row->kind) {
    case SS_KEY_VALUE: ss_reading_value(r, node, row->text); break;
    case SS_KEY_WHOLE: add_whole(r, node, row->text); break;
    case SS_KEY_LIST: add_list(r, node, row->text); break;
    case SS_KEY_TRUE: add_switch(r, node, row->text, 1); break;
    case SS_KEY_FALSE: add_switch(r, node, row->text, 0); break;
    case SS_KEY_PICK: pick(r, row, node); break;
    case SS_KEY_ADD: ss_reading_words(r, node, row->text); break;
    case SS_KEY_AS: move(r, row->text, node); break;
    default: ss_reading_assume(r, "%s", row->text); /* SS_KEY_ASSUME */
    }
}

static void call(struct ss_reading *r, const struct ss_key_row *row, struct ss_tree_node *node)
{
    const struct ss_key_code *code = r->code;

    while (code->name && strcmp(code->name, row->text) != 0)
        code++;
    r->block = 0;
    if (code->name)
        code->call(r, node);
}

static bool block_holds(const struct ss_reading *r, int block)
{
    for (int i = block; i >= 0; i = r->map->block[i].outer) {
        const struct ss_key_block *b = &r->map->block[i];
        if (ss_reading_holds(ss_tree_root(r->tree), b->prefix, b->condition) == b->negated)
            return false;
    }
    return true;
}

/* Rows of one block ask the same, until a function has made facts. */
static bool is_open(struct ss_reading *r, const struct ss_key_row *row)
{
    if (row->block < 0)
        return true;
    if (r->block != row->block + 1)
        r->open = block_holds(r, row->block);
    r->block = row->block + 1;
    return r->open;
}

/* One name of a key that becomes no flag, or is in a block that does not hold: then it says nothing, unless other rows read it. */
static void pass(struct ss_reading *r, const struct ss_key_row *row, struct ss_tree_node *node, bool open)
{
    if (open)
        ss_reading_settle(r, row, node);
    else if (row->kind == SS_KEY_CODE || row->kind == SS_KEY_ADD)
        ss_tree_get(node, "");
    else if (row->kind != SS_KEY_NONE && row->kind != SS_KEY_PART && row->kind != SS_KEY_OFF)
        take(r, node);
}

/* Returns whether keys are strict and this one becomes nothing; a refusal under a condition comes at once. */
static bool is_of_the_end(const struct ss_reading *r, const struct ss_key_row *row)
{
    bool refused = row->kind == SS_KEY_REFUSE || row->kind == SS_KEY_DENY;

    return r->map->strict && ss_key_becomes_nothing(row->kind) && !(refused && row->block >= 0);
}

static void apply_row(struct ss_reading *r, const struct ss_key_row *row)
{
    bool open = is_open(r, row), passed = ss_key_becomes_nothing(row->kind);
    struct ss_tree_node *node = NULL;

    if ((row->kind == SS_KEY_CODE && !row->text[0]) || row->kind == SS_KEY_TABLE || is_of_the_end(r, row))
        return; /* other rows read it, or ss_reading_end looks at it in the order of the file */
    if (row->kind == SS_KEY_PART && open && !r->map->strict)
        tell_section(r, row->section);
    for (const char *p = row->key; *p; p += *p == '|') {
        char path[SS_KEY_PATH];
        size_t n = strcspn(p, "|"), cut = row->kind == SS_KEY_NAMES ? 1 + (n > 1) : 0;
        memcpy(path, p, n - cut);
        path[n - cut] = '\0';
        struct ss_tree_node *found = ss_reading_find(ss_tree_root(r->tree), path);
        p += n;
        if (!found || found->off)
            continue;
        if (passed || !open)
            pass(r, row, found, open);
        else if (row->kind != SS_KEY_NAMES)
            ss_tree_get(found, "");
        node = passed || !open ? node : ss_reading_either(r, node, found);
    }
    if (open && row->kind == SS_KEY_REFUSE && !row->key[0])
        refuse(r, NULL, SS_ERR_UNSUPPORTED, row->text);
    if (passed || !open)
        return;
    if (row->kind == SS_KEY_CODE)
        call(r, row, node);
    else if (row->kind == SS_KEY_NAMES)
        add_names(r, node);
    else if (node || row->kind == SS_KEY_ADD || row->kind == SS_KEY_PICK || !row->key[0])
        apply(r, row, node);
}

void ss_reading_load(struct ss_reading *r, const char *map, const struct ss_key_code *code)
{
    r->code = code;
    if (!r->rc)
        r->rc = ss_keymap_load(map, code, &r->map, r->err);
}

void ss_reading_rows(struct ss_reading *r)
{
    for (size_t i = 0; !r->rc && i < r->map->n; i++)
        apply_row(r, &r->map->row[i]);
}
