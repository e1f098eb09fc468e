/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration whose words are known, as places and notes of a request. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "import/foreign.h"

#define MAX_TOLD 60 /* names of a list; the rest is a number */

static int same_file(const char *a, const char *b)
{
    return !strcmp(a, b);
}

/* What a word's place is: that of its node, or of the configuration where it was assumed; NULL: the command line. */
static const char *file_of(const struct ss_foreign *f, const struct ss_foreign_word *w)
{
    return w->file ? w->file : f->file;
}

/* Words of the file, in a place of their own. */
static int add_place(struct ss_foreign *f, struct ss_request *r, const char *file, struct ss_error *err)
{
    int rc = ss_request_add_place(r, file[0] ? file : NULL, err);

    for (size_t i = 0; i < f->n && !rc; i++)
        if (same_file(file, file_of(f, &f->word[i])))
            rc = ss_request_add(r, f->word[i].text, f->word[i].line, err);
    return rc;
}

static int is_new(const struct ss_foreign *f, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (same_file(file_of(f, &f->word[k]), file_of(f, &f->word[i])))
            return 0;
    return 1;
}

static int add_words(struct ss_foreign *f, struct ss_request *r, struct ss_words *own, struct ss_error *err)
{
    int rc = SS_OK;

    for (size_t i = 0; i < f->n && !rc; i++) {
        const char *file = file_of(f, &f->word[i]), *mine = own ? own->file ? own->file : "" : NULL;
        if (!mine || !same_file(mine, file))
            rc = is_new(f, i) ? add_place(f, r, file, err) : SS_OK;
        else if (ss_words_add(own, f->word[i].text, strlen(f->word[i].text), f->word[i].line))
            rc = ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory");
    }
    return rc;
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

static void tell_list(struct ss_notes *notes, const char *file, const char *what,
                      const struct ss_notes *names)
{
    char *list = names->n ? list_of(names) : NULL;

    if (list)
        ss_note(notes, "%s: %s: %s", file, what, list);
    else if (names->n)
        notes->lost = 1;
    free(list);
}

static void tell(struct ss_foreign *f, struct ss_request *r)
{
    struct ss_notes *notes = &r->notes;
    struct ss_notes unread = {0};
    char path[160];

    for (unsigned long i = 0; i < f->assumed.n; i++)
        ss_note(notes, "%s: assumed: %s", f->file, f->assumed.text[i]);
    ss_notes_add_all(&r->ignored, &f->none);
    for (struct ss_tree_node *n = NULL; (n = ss_tree_unread(f->tree, n)) != NULL;) {
        ss_tree_path(n, path, sizeof path);
        if (n->line && same_file(n->file, f->file))
            ss_notes_add(&unread, "%s (line %d)", path, n->line);
        else if (n->line)
            ss_notes_add(&unread, "%s (%s:%d)", path, n->file, n->line);
        else
            ss_notes_add(&unread, "%s", path);
    }
    tell_list(notes, f->file, "not known, hence ignored", &unread);
    notes->lost |= unread.lost || f->none.lost || f->assumed.lost;
    ss_notes_free(&unread);
}

const struct ss_foreign_kind *ss_foreign_kind_of(const struct ss_tree_node *root)
{
    for (size_t i = 0; i < ss_foreign_kind_count; i++)
        if (ss_foreign_kinds[i]->knows(root))
            return ss_foreign_kinds[i];
    return NULL;
}

static int unknown(const struct ss_tree *tree, struct ss_error *err)
{
    char names[256] = "";

    for (size_t i = 0; i < ss_foreign_kind_count; i++) {
        size_t at = strlen(names);
        snprintf(names + at, sizeof names - at, "%s%s", i ? ", " : "", ss_foreign_kinds[i]->name);
    }
    ss_fail(err, SS_ERR_INPUT, ss_tree_file(tree), 1, "a configuration of a kind that is not known");
    return ss_hint(
        err, SS_ERR_INPUT,
        "give one of %s, torchtitan, DeepSpeed, accelerate, LLaMA-Factory, or the job in Megatron-LM's "
        "flags",
        names);
}

int ss_foreign_request(struct ss_request *r, struct ss_words *own, struct ss_tree *tree,
                       const struct ss_foreign_kind *kind, struct ss_error *err)
{
    struct ss_foreign f = {.tree = tree, .file = ss_tree_file(tree)};

    kind = kind ? kind : ss_foreign_kind_of(ss_tree_root(tree));
    if (!kind)
        return unknown(tree, err);
    f.name = kind->name;
    int rc = kind->read(&f, err);
    rc = rc ? rc : add_words(&f, r, own, err);
    if (!rc)
        tell(&f, r);
    for (size_t i = 0; i < f.n; i++)
        free(f.word[i].text);
    free(f.word);
    ss_notes_free(&f.assumed);
    ss_notes_free(&f.none);
    return rc;
}

/* Behind the line at p. */
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
