/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the text form of a program: the statements and what they have in common. */
#include <stdlib.h>
#include <string.h>

#include "program/program_text.h"

#define TEXT_MAX ((size_t)1 << 30)

const char *const ss_link_kind_words[SS_LINK_KIND_COUNT] = {[SS_LINK_NVLINK] = "nvlink",
                                                            [SS_LINK_NIC] = "nic",
                                                            [SS_LINK_UPLINK] = "uplink",
                                                            [SS_LINK_OTHER] = "other"};

int ss_read_fail(struct ss_reader *r, const char *fmt, ...)
{
    char text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return ss_fail(r->err, SS_ERR_INPUT, r->in.file, r->in.line, "%s", text);
}

int ss_read_nomem(struct ss_reader *r)
{
    return ss_fail(r->err, SS_ERR_NOMEM, r->in.file, r->in.line, "no memory to read the program");
}

static int hint_nearest(struct ss_reader *r, int rc, const char *word, const char *const *names, size_t n)
{
    const char *near = n < 10000 ? ss_nearest(word, names, n) : NULL;
    return near ? ss_hint(r->err, rc, "did you mean '%s'?", near) : rc;
}

int ss_pairs_next(struct ss_pairs *p)
{
    struct ss_reader *r = p->r;
    if (p->at >= r->in.nwords)
        return -1;
    const char *word = r->in.words[p->at].text;
    for (size_t i = 0; i < p->nkeys; i++) {
        if (strcmp(word, p->keys[i]) != 0)
            continue;
        if (p->at + 1 >= r->in.nwords)
            return ss_read_fail(r, "'%s' lacks its value", word) - 1;
        if (p->seen & 1u << i)
            return ss_read_fail(r, "'%s' is given twice", word) - 1;
        p->seen |= 1u << i;
        p->at += 2;
        return (int)i;
    }
    int rc = ss_read_fail(r, "unknown word '%.60s'", word);
    const char *near = ss_nearest(word, p->keys, p->nkeys);
    ss_hint(r->err, rc, near ? "did you mean '%s'?" : "a line of this kind takes %s and the like",
            near ? near : p->keys[0]);
    return rc - 1;
}

int ss_read_unit(struct ss_reader *r, size_t word, const char *what, enum ss_unit unit, double *out)
{
    const char *why = "";
    if (word >= r->in.nwords)
        return ss_read_fail(r, "%s is missing", what);
    if (ss_unit_parse(r->in.words[word].text, unit, out, &why))
        return ss_read_fail(r, "%s '%.60s' %s", what, r->in.words[word].text, why);
    return SS_OK;
}

int ss_read_int(struct ss_reader *r, size_t word, const char *what, int lo, int hi, int *out)
{
    int64_t value;
    if (word >= r->in.nwords)
        return ss_read_fail(r, "%s is missing", what);
    if (ss_parse_i64(r->in.words[word].text, lo, hi, &value))
        return ss_read_fail(r, "%s '%.60s' is not a whole number from %d to %d", what, r->in.words[word].text,
                            lo, hi);
    *out = (int)value;
    return SS_OK;
}

int ss_read_ref(struct ss_reader *r, size_t word, const char *what, const struct ss_names *names, int *out)
{
    if (word >= r->in.nwords)
        return ss_read_fail(r, "the name of a %s is missing", what);
    const char *name = r->in.words[word].text;
    *out = ss_names_find(names, name);
    if (*out >= 0)
        return SS_OK;
    int rc = ss_read_fail(r, "there is no %s '%.80s' above", what, name);
    return hint_nearest(r, rc, name, names->name, names->n);
}

int ss_read_name(struct ss_reader *r, size_t word, const char *what, char *out, size_t size)
{
    if (word >= r->in.nwords || !r->in.words[word].text[0])
        return ss_read_fail(r, "the name of the %s is missing", what);
    if (!ss_copy(out, size, r->in.words[word].text))
        return ss_read_fail(r, "the name of the %s is longer than %zu bytes", what, size - 1);
    return SS_OK;
}

int ss_read_line_of(struct ss_reader *r, int **lines, size_t *cap, int index, int line)
{
    if (ss_grow(lines, cap, (size_t)index + 1, sizeof **lines))
        return ss_read_nomem(r);
    (*lines)[index] = line;
    return SS_OK;
}

int ss_read_label(const char *word)
{
    for (int i = 0; i < SS_LABEL_COUNT; i++)
        if (!strcmp(word, ss_label_name(i)))
            return i;
    return -1;
}

/* ---- statements ---- */

static int read_program(struct ss_reader *r)
{
    static const char *const keys[] = {"version"};
    struct ss_pairs pairs = {r, 2, keys, SS_ARRAY_LEN(keys), 0};
    int version = SS_PROGRAM_VERSION, key, rc = SS_OK;
    if (r->p->name[0])
        return ss_read_fail(r, "a second 'program' line");
    rc = ss_read_name(r, 1, "program", r->p->name, sizeof r->p->name);
    while (!rc && (key = ss_pairs_next(&pairs)) != -1)
        rc = key < -1 ? key + 1 : ss_read_int(r, pairs.at - 1, "version", 1, SS_PROGRAM_VERSION, &version);
    return rc;
}

static int read_overhead(struct ss_reader *r)
{
    int rc = ss_read_unit(r, 1, "memory-overhead", SS_UNIT_NONE, &r->p->memory_overhead_factor);
    if (!rc && r->in.nwords > 2)
        return ss_read_fail(r, "unexpected '%.60s'", r->in.words[2].text);
    return rc;
}

static const struct {
    const char *word;
    int (*read)(struct ss_reader *);
} statements[] = {
    {"program", read_program},
    {"memory-overhead", read_overhead},
    {"link", ss_read_link},
    {"path", ss_read_path},
    {"mix", ss_read_mix},
    {"channel", ss_read_channel},
    {"collective", ss_read_collective},
    {"template", ss_read_template},
    {"class", ss_read_class},
};

static int read_statement(struct ss_reader *r)
{
    const char *names[SS_ARRAY_LEN(statements)], *word = r->in.words[0].text;
    for (size_t i = 0; i < SS_ARRAY_LEN(statements); i++) {
        names[i] = statements[i].word;
        if (r->in.words[0].quoted || strcmp(word, names[i]) != 0)
            continue;
        if (i && !r->p->name[0])
            break;
        return statements[i].read(r);
    }
    if (!r->p->name[0])
        return ss_hint(r->err, ss_read_fail(r, "the first line must be 'program NAME'"),
                       "is this a program text? docs/reference/formats-program.md describes it");
    return hint_nearest(r, ss_read_fail(r, "unknown word '%.60s'", word), word, names, SS_ARRAY_LEN(names));
}

static int read_all(struct ss_reader *r)
{
    int more;
    while ((more = ss_lines_next(&r->in)) == 1) {
        int rc = read_statement(r);
        if (rc)
            return rc;
    }
    if (more < 0)
        return more;
    if (!r->p->name[0])
        return ss_fail(r->err, SS_ERR_INPUT, r->in.file, r->in.line, "there is no program in the file");
    return ss_read_resolve(r);
}

static int begin(struct ss_reader *r, const char *name)
{
    r->p = ss_calloc(1, sizeof *r->p);
    r->source = ss_calloc(1, sizeof *r->source);
    if (!r->p || !r->source)
        return ss_read_nomem(r);
    r->p->source = r->source;
    r->p->memory_overhead_factor = 1;
    ss_copy(r->source->file, sizeof r->source->file, name);
    r->in.file = r->source->file;
    return SS_OK;
}

/* `text` is cut up; len is its length. */
static int parse(char *text, size_t len, const char *name, struct ss_program **out, struct ss_error *err)
{
    struct ss_reader r = {.err = err, .in = {.file = name, .next = text, .err = err}};
    int rc;
    if (strlen(text) != len)
        rc = ss_fail(err, SS_ERR_INPUT, name, 0, "the file holds a zero byte: it is not a program text");
    else if (!(rc = begin(&r, name)))
        rc = read_all(&r);
    struct ss_names *tables[] = {&r.links,       &r.paths,     &r.mixes,  &r.channels,
                                 &r.collectives, &r.templates, &r.classes};
    for (size_t i = 0; i < SS_ARRAY_LEN(tables); i++)
        ss_names_clear(tables[i]);
    ss_lines_free(&r.in);
    free(r.refs);
    for (size_t i = 0; i < r.nmade; i++)
        free(r.made[i]);
    free(r.made);
    if (!rc) {
        *out = r.p;
        return SS_OK;
    }
    if (!r.p || !r.p->source)
        free(r.source);
    ss_program_free(r.p);
    return rc;
}

int ss_program_parse(const char *text, unsigned long len, const char *name, struct ss_program **out,
                     struct ss_error *err)
{
    char *copy = malloc(len + 1);
    if (!copy)
        return ss_fail(err, SS_ERR_NOMEM, name, 0, "no memory for a text of %lu bytes", len);
    memcpy(copy, text, len);
    copy[len] = '\0';
    int rc = parse(copy, len, name, out, err);
    free(copy);
    return rc;
}

int ss_program_read(const char *path, struct ss_program **out, struct ss_error *err)
{
    char *text;
    size_t len;
    int rc = ss_file_read(path, TEXT_MAX, &text, &len, err);
    if (rc)
        return rc;
    rc = parse(text, len, strcmp(path, "-") ? path : "stdin", out, err);
    free(text);
    return rc;
}
