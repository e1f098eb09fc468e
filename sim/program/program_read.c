/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the text form of a program, statement by statement. */
#include "program/program_text.h"

#define TEXT_MAX ((size_t)1 << 30)

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
    return ss_read_hint_nearest(r, ss_read_fail(r, "unknown word '%.60s'", word), word, names,
                                SS_ARRAY_LEN(names));
}

static int read_all(struct ss_reader *r)
{
    int more;
    while ((more = ss_lines_next(&r->in)) == 1) {
        SS_TRY(read_statement(r));
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
    SS_NEED(r->p && r->source, r->err);
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
    SS_NEED(copy, err);
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
    SS_TRY(ss_file_read(path, TEXT_MAX, &text, &len, err));
    int rc = parse(text, len, strcmp(path, "-") ? path : "stdin", out, err);
    free(text);
    return rc;
}
