/* SPDX-License-Identifier: Apache-2.0 */
/* TOML 1.0 as a tree. Numbers and dates stay texts, without underscores. */
#include "import/toml.h"

#include "base/base.h"

#define MAX_DEPTH 32
#define MAX_TABLES 4096

/* How a table came to be, which says who may add to it. */
enum made_by { BY_HEADER = 1, BY_DOTS = 2, INLINE = 4 };
struct ss_toml_table {
    const struct ss_tree_node *node;
    int made_by;
};

static void skip_blanks(struct ss_toml *r)
{
    while (ss_toml_peek(r) == ' ' || ss_toml_peek(r) == '\t')
        r->p++;
}

/* Behind blanks and a comment to the end of the line, which is passed. */
static int end_line(struct ss_toml *r)
{
    skip_blanks(r);
    if (ss_toml_peek(r) == '#')
        while (ss_toml_peek(r) >= 0 && ss_toml_peek(r) != '\n')
            r->p++;
    if (ss_toml_peek(r) == '\r' && r->p + 1 < r->end && r->p[1] == '\n')
        r->p++;
    if (ss_toml_peek(r) >= 0 && ss_toml_peek(r) != '\n')
        return ss_toml_wrong(r, "the line goes on behind its value: one key a line");
    r->p += ss_toml_peek(r) == '\n';
    r->line++;
    return SS_OK;
}

static void skip_lines(struct ss_toml *r)
{
    for (;; r->p++) {
        if (ss_toml_peek(r) == '#')
            while (ss_toml_peek(r) >= 0 && ss_toml_peek(r) != '\n')
                r->p++;
        if (ss_toml_peek(r) <= 0 || !strchr(" \t\r\n", *r->p))
            return;
        r->line += *r->p == '\n';
    }
}

/* ---- keys and tables ---- */

static int made_by(const struct ss_toml *r, const struct ss_tree_node *node)
{
    for (size_t i = 0; i < r->ntables; i++)
        if (r->table[i].node == node)
            return r->table[i].made_by;
    return 0;
}

static int mark(struct ss_toml *r, const struct ss_tree_node *node, int how)
{
    for (size_t i = 0; i < r->ntables; i++)
        if (r->table[i].node == node) {
            r->table[i].made_by |= how;
            return SS_OK;
        }
    if (r->ntables >= MAX_TABLES)
        return ss_toml_wrong(r, "more than 4096 tables and lists");
    SS_NEED(!ss_grow(&r->table, &r->cap, r->ntables + 1, sizeof *r->table), r->err);
    r->table[r->ntables++] = (struct ss_toml_table){node, how};
    return SS_OK;
}

static int add(struct ss_toml *r, struct ss_tree_node *parent, enum ss_tree_kind kind, const char *key,
               size_t key_len, struct ss_tree_node **out)
{
    struct ss_tree_made made = {.kind = kind, .key = key, .key_len = key_len, .line = r->line};

    return ss_tree_add(r->tree, parent, &made, out, r->err);
}

/* One name of a key, into the text. */
static int read_name(struct ss_toml *r)
{
    r->len = 0;
    skip_blanks(r);
    if (ss_toml_peek(r) == '"' || ss_toml_peek(r) == '\'') {
        int rc = ss_toml_quoted(r, 0);
        return !rc && r->len == 0 ? ss_toml_wrong(r, "a key is empty") : rc;
    }
    while (ss_toml_peek(r) > 0 && (isalnum(ss_toml_peek(r)) || strchr("-_", ss_toml_peek(r))))
        r->text[r->len++] = *r->p++;
    return r->len ? SS_OK : ss_toml_wrong(r, "a key is missing: \"key = value\", \"[table]\"");
}

/* Whether another name follows, which is then next. */
static int dot_follows(struct ss_toml *r)
{
    skip_blanks(r);
    if (ss_toml_peek(r) != '.')
        return 0;
    r->p++;
    return 1;
}

/* The table of that name (of the text) below *at, made where there is none; of a list of tables its last one. */
static int enter(struct ss_toml *r, struct ss_tree_node **at, int how)
{
    struct ss_tree_node *child = ss_tree_child(*at, r->text, r->len);

    if (!child) {
        int rc = add(r, *at, SS_TREE_MAP, r->text, r->len, &child);
        if (rc || (how && (rc = mark(r, child, how)) != 0))
            return rc;
    }
    if (child->kind == SS_TREE_LIST && child->last && !how && !made_by(r, child))
        child = child->last;
    if (child->kind != SS_TREE_MAP || made_by(r, child) & INLINE)
        return ss_toml_wrong(r, "this key has a value already: nothing can be below it");
    if (how && !(made_by(r, child) & how))
        return ss_toml_wrong(r, "this table has a header of its own: add to it there");
    *at = child;
    return SS_OK;
}

static int read_value(struct ss_toml *r, struct ss_tree_node *parent, const char *key, size_t key_len);

/* key = value below `table`; dotted keys make tables. */
static int read_pair(struct ss_toml *r, struct ss_tree_node *table)
{
    int rc = read_name(r);

    while (!rc && dot_follows(r)) {
        rc = enter(r, &table, BY_DOTS);
        rc = rc ? rc : read_name(r);
    }
    if (rc)
        return rc;
    if (ss_tree_child(table, r->text, r->len))
        return ss_fail(r->err, SS_ERR_INPUT, ss_tree_file(r->tree), r->line, "%.*s is there already",
                       (int)(r->len < 100 ? r->len : 100), r->text);
    if (ss_toml_peek(r) != '=')
        return ss_toml_wrong(r, "a key without \"= value\"");
    char *key = strndup(r->text, r->len);
    SS_NEED(key, r->err);
    r->p++;
    skip_blanks(r);
    rc = read_value(r, table, key, r->len);
    free(key);
    return rc;
}

static int read_list(struct ss_toml *r, struct ss_tree_node *list)
{
    int rc = SS_OK;

    for (r->p++; !rc;) {
        skip_lines(r);
        if (ss_toml_peek(r) == ']') {
            r->p++;
            return SS_OK;
        }
        rc = read_value(r, list, NULL, 0);
        skip_lines(r);
        if (!rc && ss_toml_peek(r) == ',')
            r->p++;
        else if (!rc && ss_toml_peek(r) != ']')
            return ss_toml_wrong(r, "a list goes on with \",\" or ends with \"]\"");
    }
    return rc;
}

/* { a = 1, b = 2 } on one line; nothing can be added to it later. */
static int read_inline(struct ss_toml *r, struct ss_tree_node *table)
{
    int rc = SS_OK;

    r->p++;
    skip_blanks(r);
    if (ss_toml_peek(r) != '}')
        for (rc = read_pair(r, table); !rc; rc = read_pair(r, table)) {
            skip_blanks(r);
            if (ss_toml_peek(r) != ',')
                break;
            r->p++;
        }
    if (!rc && ss_toml_peek(r) != '}')
        return ss_toml_wrong(r, "a table in one line goes on with \",\" or ends with \"}\"");
    r->p += !rc;
    return rc;
}

static int read_value(struct ss_toml *r, struct ss_tree_node *parent, const char *key, size_t key_len)
{
    int c = ss_toml_peek(r), quoted = c == '"' || c == '\'', rc;
    struct ss_tree_node *node;

    if (c == '[' || c == '{') {
        if (++r->depth > MAX_DEPTH)
            return ss_toml_wrong(r, "lists and tables are more than 32 deep");
        rc = add(r, parent, c == '[' ? SS_TREE_LIST : SS_TREE_MAP, key, key_len, &node);
        rc = rc ? rc : c == '[' ? read_list(r, node) : read_inline(r, node);
        r->depth--;
        return rc ? rc : mark(r, node, INLINE);
    }
    int line = r->line;
    SS_TRY(quoted ? ss_toml_quoted(r, 1) : ss_toml_bare(r));
    struct ss_tree_made made = {.kind = SS_TREE_SCALAR,
                                .key = key,
                                .key_len = key_len,
                                .text = r->text,
                                .text_len = r->len,
                                .line = line,
                                .quoted = quoted};
    return ss_tree_add(r->tree, parent, &made, NULL, r->err);
}

/* [a.b] or [[a.b]]: *table is then where the next keys go. */
static int read_header(struct ss_toml *r, struct ss_tree_node **table)
{
    int many = r->p + 1 < r->end && r->p[1] == '[', rc;
    struct ss_tree_node *at = ss_tree_root(r->tree), *child;

    r->p += 1 + many;
    rc = read_name(r);
    while (!rc && dot_follows(r)) {
        rc = enter(r, &at, 0);
        rc = rc ? rc : read_name(r);
    }
    if (rc)
        return rc;
    child = ss_tree_child(at, r->text, r->len);
    if (many && !child)
        rc = add(r, at, SS_TREE_LIST, r->text, r->len, &child);
    if (!rc && many && (child->kind != SS_TREE_LIST || made_by(r, child)))
        return ss_toml_wrong(r, "this key has a value already, which is no list of tables");
    if (!rc && many)
        rc = add(r, child, SS_TREE_MAP, NULL, 0, table);
    if (!rc && !many && child && (child->kind != SS_TREE_MAP || made_by(r, child)))
        return ss_toml_wrong(r, "this table is there already");
    if (!rc && !many && !child)
        rc = add(r, at, SS_TREE_MAP, r->text, r->len, &child);
    if (!rc && !many)
        *table = child;
    rc = rc ? rc : mark(r, *table, BY_HEADER);
    for (int i = 0; i <= many && !rc; i++, r->p++) {
        if (i == 0)
            skip_blanks(r);
        if (ss_toml_peek(r) != ']')
            return ss_toml_wrong(r, many ? "\"[[\" without \"]]\"" : "\"[\" without \"]\"");
    }
    return rc;
}

/* Refuses a text with a zero byte, at its line. */
static int find_zero(struct ss_toml *r, const char *text, size_t len)
{
    const char *zero = memchr(text, 0, len);

    if (!zero)
        return SS_OK;
    for (const char *p = text; p < zero; p++)
        r->line += *p == '\n';
    return ss_toml_wrong(r, "a zero byte: this is no text");
}

int ss_toml_parse(const char *text, size_t len, const char *file, struct ss_tree **out, struct ss_error *err)
{
    struct ss_toml r = {.line = 1, .err = err};
    char *copy = strndup(text, len); /* with a final 0: what looks ahead ends there */
    int rc = copy ? ss_tree_new(file, &r.tree, err) : ss_nomem(err);

    if (rc) {
        free(copy);
        return rc;
    }
    r.p = copy + ss_byte_order_mark(text, len);
    r.end = copy + strlen(copy);
    r.text = malloc(len + 8);
    rc = r.text ? SS_OK : ss_nomem(err);
    struct ss_tree_node *table = ss_tree_root(r.tree);
    rc = rc ? rc : find_zero(&r, text, len);
    while (!rc) {
        skip_lines(&r);
        if (r.p >= r.end)
            break;
        rc = *r.p == '[' ? read_header(&r, &table) : read_pair(&r, table);
        rc = rc ? rc : end_line(&r);
    }
    SS_FREE(copy, r.text, r.table);
    if (rc)
        ss_tree_free(r.tree);
    else
        *out = r.tree;
    return rc;
}
