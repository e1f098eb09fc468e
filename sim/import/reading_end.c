/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a foreign configuration: keys that nobody has read, and its words as places and notes of a request. */
#include "base/base.h"
#include "import/reading.h"

#define MAX_TOLD 60 /* names of a list; the rest is a number */

/* ---- keys that nobody has read ---- */

/* Returns the key of the map that is nearest to a path, by at most `most` letters; NULL: none. */
static const char *nearest(const struct ss_reading *r, const char *path, size_t most)
{
    const char **names = ss_calloc(r->map->npaths + 1, sizeof *names);
    size_t many = 0;

    for (size_t i = 0; names && i < r->map->npaths; i++)
        if (r->map->row[r->map->path[i].row].kind != SS_KEY_TABLE)
            names[many++] = r->map->path[i].text;
    const char *near = names ? ss_nearest_within(path, names, many, most) : NULL;
    free(names);
    return near;
}

/* Returns a key of the map whose first letters, all but a few, are the path: Python's arguments may be abbreviated; NULL: none. */
static const char *begun(const struct ss_reading *r, const char *path)
{
    size_t n = strlen(path);

    for (size_t i = 0; i < r->map->npaths; i++)
        if (!strncmp(r->map->path[i].text, path, n) && !strchr(r->map->path[i].text + n, '.'))
            return r->map->path[i].text;
    return NULL;
}

static void no_such_key(struct ss_reading *r, const struct ss_tree_node *node, const char *near)
{
    char why[128], hint[256];

    snprintf(why, sizeof why, "%.80s has no such key that is known here", r->name);
    snprintf(hint, sizeof hint,
             near ? "did you mean %.100s? Else take it out if it has no effect on time or memory"
                  : "take it out if it has no effect on time or memory%.0s",
             near ? near : "");
    ss_reading_fault(r, node, SS_ERR_INPUT, why, hint);
}

static void unknown(struct ss_reading *r, const struct ss_tree_node *node, const char *path)
{
    const char *dot = strrchr(path, '.');
    size_t len = strlen(dot ? dot + 1 : path);

    no_such_key(r, node, len < 4 ? NULL : nearest(r, path, 1 + len / 5));
}

bool ss_reading_is_misspelt(struct ss_reading *r, const struct ss_tree_node *node, const char *path)
{
    size_t len = node->key ? strlen(node->key) : 0;
    const char *near = len < 4 ? NULL : nearest(r, path, len < 10 ? 1 : 2), *dot;

    near = near || len < 12 ? near : begun(r, path);
    if (!near || ss_reading_find(ss_tree_root(r->tree), near) || ss_keymap_find(r->map, path))
        return false;
    dot = strrchr(near, '.');
    no_such_key(r, node, dot ? dot + 1 : near);
    return true;
}

/* Refuses each value, or list, that no row knows; of the others the rows say it. */
static void refuse_rest(struct ss_reading *r, struct ss_tree_node *node)
{
    char path[256];

    for (struct ss_tree_node *child = node->first; child && !r->rc; child = child->next) {
        if (child->kind == SS_TREE_MAP)
            refuse_rest(r, child);
        else if (!child->read) {
            const struct ss_key_row *row = ss_keymap_find(r->map, ss_tree_path(child, path, sizeof path));
            if (row && row->kind != SS_KEY_TABLE)
                ss_reading_settle(r, row, child);
            else if (!ss_tree_is_null(child) || !ss_keymap_is_section(r->map, path))
                unknown(r, child, path);
        }
    }
}

/* "a, b and 7 more", to be freed. */
static char *list_of(const struct ss_notes *names)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    for (unsigned long i = 0; out && i < names->n && i < MAX_TOLD; i++)
        fprintf(out, "%s%s", i ? ", " : "", names->text[i]);
    if (out && names->n > MAX_TOLD)
        fprintf(out, " and %lu more", names->n - MAX_TOLD);
    if (!out || fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}

/* Opens sections that have rows, which are reported key by key. */
static void open_sections(struct ss_reading *r)
{
    char path[SS_KEY_PATH], last[SS_KEY_PATH] = "";

    for (size_t i = 0; i < r->map->npaths; i++) {
        char *dot = ss_copy(path, sizeof path, r->map->path[i].text) ? strrchr(path, '.') : NULL;
        if (!dot)
            continue;
        *dot = '\0';
        if (!strcmp(path, last))
            continue;
        struct ss_tree_node *node = ss_reading_find(ss_tree_root(r->tree), path);
        ss_copy(last, sizeof last, path);
        /* the path of a list, for which a class was asked, ends there, too */
        path[strcspn(path, "@")] = '\0';
        node = node ? node : ss_reading_find(ss_tree_root(r->tree), path);
        if (ss_tree_is_null(node))
            ss_tree_take(node);
        for (; node && node->kind != SS_TREE_SCALAR && !node->touched; node = node->parent)
            node->touched = true;
    }
}

static void tell_rest(struct ss_reading *r)
{
    struct ss_notes unread = {0};
    char path[160];

    open_sections(r);
    for (struct ss_tree_node *n = NULL; (n = ss_tree_unread(r->tree, n)) != NULL;) {
        ss_tree_path(n, path, sizeof path);
        if (ss_reading_is_misspelt(r, n, path))
            continue;
        if (n->line && !strcmp(n->file, ss_tree_file(r->tree)))
            ss_notes_add(&unread, "%s (line %d)", path, n->line);
        else if (n->line)
            ss_notes_add(&unread, "%s (%s:%d)", path, n->file, n->line);
        else
            ss_notes_add(&unread, "%s", path);
    }
    char *list = unread.n ? list_of(&unread) : NULL;
    if (list)
        ss_note(&r->request->notes, "%s: not known, hence ignored: %s", ss_tree_file(r->tree), list);
    r->request->notes.lost |= unread.lost || (unread.n && !list);
    ss_notes_free(&unread);
    free(list);
}

/* Reports "a.b.*" as "a.b" where everything below it has no effect. */
static void tell_sections(struct ss_reading *r)
{
    for (unsigned long i = 0; i < r->ignored.n; i++) {
        char *text = r->ignored.text[i];
        size_t n = strlen(text);
        bool whole = n > 2 && !strcmp(text + n - 2, ".*");
        if (!whole)
            continue;
        text[n - 2] = '\0';
        const struct ss_tree_node *node = ss_reading_find(ss_tree_root(r->tree), text);
        for (const struct ss_tree_node *child = node ? node->first : NULL; child; child = child->next)
            whole &= child->part;
        if (!whole)
            text[n - 2] = '.';
    }
}

/* ---- words ---- */

/* The words of one file, in a place of their own. */
static void add_place(struct ss_reading *r, const char *file)
{
    r->rc = ss_request_add_place(r->request, file[0] ? file : NULL, r->err);
    for (size_t i = 0; i < r->n && !r->rc; i++)
        if (!strcmp(r->word[i].file, file))
            r->rc = ss_request_add(r->request, r->word[i].text, r->word[i].line, r->err);
}

static bool is_first(const struct ss_reading *r, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (!strcmp(r->word[k].file, r->word[i].file))
            return false;
    return true;
}

static void add_words(struct ss_reading *r)
{
    const char *own = r->own ? r->own->file ? r->own->file : "" : NULL;

    for (size_t i = 0; i < r->n && !r->rc; i++) {
        const struct ss_reading_word *w = &r->word[i];
        if (own && !strcmp(own, w->file)) {
            if (ss_words_add(r->own, w->text, strlen(w->text), w->line))
                r->rc = ss_nomem(r->err);
        } else if (is_first(r, i)) {
            add_place(r, w->file);
        }
    }
}

/* An error that ended the reading counts for nothing where there are faults before it. */
static void tell_faults(struct ss_reading *r)
{
    if (!r->nfaults || r->rc == SS_ERR_NOMEM)
        return;
    r->rc = r->fault.code;
    if (r->nfaults > 1) {
        snprintf(r->fault.message, sizeof r->fault.message, "%d keys cannot be taken (lines in brackets): %s",
                 r->nfaults, r->faults);
        r->fault.hint[0] = '\0';
    }
    if (r->err)
        *r->err = r->fault;
}

int ss_reading_end(struct ss_reading *r)
{
    if (!r->rc && r->map && r->map->strict)
        refuse_rest(r, ss_tree_root(r->tree));
    if (!r->nfaults)
        add_words(r);
    tell_sections(r);
    if (!r->rc && !r->nfaults &&
        (ss_notes_add_all(&r->request->notes, &r->assumed) ||
         ss_notes_add_all(&r->request->ignored, &r->ignored)))
        r->rc = ss_nomem(r->err);
    if (!r->rc && r->map && !r->map->strict)
        tell_rest(r);
    tell_faults(r);
    for (size_t i = 0; i < r->n; i++)
        free(r->word[i].text);
    free(r->word);
    ss_notes_free(&r->assumed);
    ss_notes_free(&r->ignored);
    ss_keymap_free(r->map);
    return r->rc;
}
