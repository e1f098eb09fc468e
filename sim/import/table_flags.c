/* SPDX-License-Identifier: Apache-2.0 */
/* The column `flags`: what the other columns have no words for. */
#include "base/base.h"
#include "import/import.h"
#include "import/table_internal.h"

/* Puts the column's name before an error. */
static int of_column(const struct ss_table_row *r, int rc)
{
    char text[sizeof r->err->message];

    if (rc != SS_ERR_INPUT)
        return rc;
    snprintf(text, sizeof text, "column flags: %.400s", r->err->message);
    ss_copy(r->err->message, sizeof r->err->message, text);
    return rc;
}

/* Adds the words of the field, in a place of their own behind the words of `out`. */
static int add_field(const struct ss_table_row *r, struct ss_request *out)
{
    const char *field = ss_table_field(r, "flags");
    int line = ss_table_line(r->table, r->row) - 1;
    struct ss_words words = {0};
    int rc = ss_args_read(&words, field, strlen(field), ss_table_file(r->table), r->err);

    if (rc)
        r->err->line += line;
    else
        rc = ss_table_place(r, out);
    for (size_t i = 0; i < words.n && !rc; i++)
        rc = ss_request_add(out, words.w[i].text, line + words.w[i].line, r->err);
    ss_words_free(&words);
    return rc;
}

static int append(struct ss_request *out, const struct ss_request *more)
{
    int rc = SS_OK;

    for (size_t i = 0; i < more->n && !rc; i++)
        rc = ss_request_add(out, more->word[i].text, 0, NULL);
    return rc;
}

/* The job that both make, `second` beating `first`. */
static int parse_both(const struct ss_request *first, const struct ss_request *second, struct ss_asked *asked)
{
    struct ss_request both;

    ss_request_init(&both);
    int rc = append(&both, first);
    SS_THEN(rc, append(&both, second));
    ss_asked_init(asked);
    SS_THEN(rc, ss_asked_parse(asked, &both, NULL, NULL, NULL));
    ss_request_free(&both);
    return rc;
}

/* Whether it matters who beats whom. */
static int differ(const struct ss_request *columns, const struct ss_request *flags)
{
    struct ss_asked one, other;

    return parse_both(columns, flags, &one) || parse_both(flags, columns, &other) ||
           memcmp(&one, &other, sizeof one);
}

/* Whether `columns` give the flag with which `flags` begin. */
static int repeats(const struct ss_request *columns, const struct ss_request *flags)
{
    char name[96];

    snprintf(name, sizeof name, "%.*s", (int)strcspn(flags->word[0].text, "="), flags->word[0].text);
    return ss_request_find(columns, name) < columns->n;
}

/* The flag at index i of `flags`, alone. */
static int take_one(const struct ss_request *flags, size_t i, struct ss_request *one)
{
    int rc = SS_OK;

    ss_request_init(one);
    for (size_t k = i; k < i + ss_request_span(flags, i) && !rc; k++)
        rc = ss_request_add(one, flags->word[k].text, 0, NULL);
    return rc;
}

/* Refuses one flag if it says again what a column says, or what that forbids. */
static int compare(const struct ss_table_row *r, const struct ss_table_column *column,
                   const struct ss_request *one)
{
    struct ss_request words, denied;
    char text[160];
    int again, differs, rc;

    ss_request_init(&words);
    ss_request_init(&denied);
    rc = ss_table_add_column(r, column, &words);
    SS_THEN(rc, ss_table_add_denied(r, column, &denied));
    again = !rc && words.n && repeats(&words, one);
    differs = !rc && !again && ((words.n && differ(&words, one)) || repeats(&denied, one));
    ss_request_free(&words);
    ss_request_free(&denied);
    if (rc || (!again && !differs))
        return rc;
    ss_table_fail(r, "%s %s what the column %s says (\"%.60s\")", ss_request_text(one, 0, text, sizeof text),
                  again ? "says again" : "contradicts", column->name, ss_table_field(r, column->name));
    return ss_hint(r->err, SS_ERR_INPUT,
                   "flags are for what no other column says: leave one of the two empty");
}

static int check_one(const struct ss_table_row *r, const struct ss_request *flags, size_t i)
{
    struct ss_request one;
    int rc = take_one(flags, i, &one);

    for (size_t c = 0; c < ss_table_column_count && !rc; c++)
        rc = compare(r, &ss_table_columns[c], &one);
    ss_request_free(&one);
    return rc;
}

/* Whether a flag may be at odds with a column. */
static int is_suspect(const struct ss_table_row *r, const struct ss_request *columns,
                      const struct ss_request *flags)
{
    struct ss_request said;
    int suspect = differ(columns, flags);

    ss_request_init(&said);
    suspect |= append(&said, columns) != SS_OK;
    for (size_t c = 0; c < ss_table_column_count && !suspect; c++)
        suspect = ss_table_add_denied(r, &ss_table_columns[c], &said) != SS_OK;
    for (size_t i = 0; i < flags->n && !suspect; i += ss_request_span(flags, i)) {
        struct ss_request one;
        suspect = take_one(flags, i, &one) || repeats(&said, &one);
        ss_request_free(&one);
    }
    ss_request_free(&said);
    return suspect;
}

/* Looks at each flag beside each column only where something is wrong: most rows are right. */
static int check_columns(const struct ss_table_row *r, const struct ss_request *columns,
                         const struct ss_request *flags)
{
    int rc = SS_OK;

    if (!is_suspect(r, columns, flags))
        return SS_OK;
    for (size_t i = 0; i < flags->n && !rc; i += ss_request_span(flags, i))
        rc = check_one(r, flags, i);
    return rc ? rc : ss_table_fail(r, "they contradict the other columns");
}

/* Refuses measurements, which have columns of their own. */
static int check_measured(const struct ss_table_row *r, const struct ss_request *flags)
{
    static const char *const own[][2] = {{"--measured", "iteration_ms"}, {"--measured-memory", "memory_mib"}};

    for (size_t i = 0; i < SS_ARRAY_LEN(own); i++)
        if (ss_request_find(flags, own[i][0]) < flags->n) {
            ss_table_fail(r, "%s has a column of its own", own[i][0]);
            return ss_hint(r->err, SS_ERR_INPUT, "write it in %s", own[i][1]);
        }
    return SS_OK;
}

static int check(const struct ss_table_row *r, const struct ss_request *columns,
                 const struct ss_request *flags)
{
    struct ss_notes notes = {0};
    int rc = ss_job_check_words(flags, &notes, r->err);

    for (size_t i = 0; i < notes.n && !rc; i++)
        ss_note(r->notes, "column flags: %s", notes.text[i]);
    ss_notes_free(&notes);
    SS_THEN(rc, check_measured(r, flags));
    return rc ? rc : check_columns(r, columns, flags);
}

int ss_table_add_flags(const struct ss_table_row *r, const struct ss_request *columns, struct ss_request *out)
{
    struct ss_request flags;

    ss_request_init(&flags);
    int rc = add_field(r, &flags);
    SS_THEN(rc, check(r, columns, &flags));
    ss_request_free(&flags);
    return of_column(r, rc ? rc : add_field(r, out));
}
