/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments that Megatron-LM prints when it starts, "  num_layers ........ 32", in its log or by themselves. */
#include "base/base.h"
#include "import/foreign.h"

static const char head[] = "--- arguments ---", tail[] = "--- end of arguments ---";

struct row {
    const char *name, *value;
    size_t nname, nvalue;
};

static size_t line_of(const char *p, const char *end)
{
    const char *newline = memchr(p, '\n', (size_t)(end - p));

    return (size_t)((newline ? newline : end) - p);
}

/* Reads "name .... value" behind whatever a launcher or a collector of logs puts before it. Long names have few dots: `least` has those that must
 * be there. */
static bool is_row(const char *line, size_t len, const char *least, struct row *out)
{
    const char *dots = memmem(line, len, least, strlen(least)), *end = line + len, *p;

    for (p = dots ? dots + 1 : end; p < end && *p == '.'; p++)
        ;
    while (end > line && isspace((unsigned char)end[-1]))
        end--;
    const char *name = dots ? dots : line;
    while (name > line && (isalnum((unsigned char)name[-1]) || name[-1] == '_'))
        name--;
    if (!dots || name == dots || p >= end || *p != ' ')
        return false;
    *out = (struct row){name, p + 1, (size_t)(dots - name), (size_t)(end - p - 1)};
    return true;
}

/* Where the rows begin; NULL: the text has none. */
static const char *rows_of(const char *text, size_t len)
{
    const char *p = memmem(text, len, head, sizeof head - 1), *end = text + len;
    struct row row;

    if (p)
        return p + line_of(p, end);
    for (p = text + ss_byte_order_mark(text, len); p < end && isspace((unsigned char)*p); p++)
        ;
    return p < end && is_row(p, line_of(p, end), " ....", &row) ? text : NULL;
}

int ss_megatron_log_sniff(const char *text, size_t len)
{
    return rows_of(text, len) != NULL;
}

/* Writes a row as YAML: what Python prints of numbers, truths and lists is YAML, too, any other value a text. */
static void write_row(FILE *out, const struct row *row)
{
    int none = row->nvalue == 4 && !memcmp(row->value, "None", 4), plain = row->nvalue > 0;

    for (size_t i = 0; i < row->nvalue && row->value[0] != '['; i++)
        plain &= isalnum((unsigned char)row->value[i]) || strchr("_.+-/", row->value[i]) != NULL;
    fprintf(out, "%.*s: ", (int)row->nname, row->name);
    if (none || plain) {
        fprintf(out, "%.*s", (int)row->nvalue, none ? "null" : row->value);
        return;
    }
    putc('\'', out);
    for (size_t i = 0; i < row->nvalue; i++)
        fprintf(out, row->value[i] == '\'' ? "''" : "%c", row->value[i]);
    putc('\'', out);
}

static void write_rows(FILE *out, const char *text, size_t len)
{
    const char *rows = rows_of(text, len), *end = text + len;
    const char *last = memmem(text, len, tail, sizeof tail - 1);
    struct row row;

    for (const char *p = text; p < end && !(last && p > last); p += line_of(p, end) + 1) {
        if (p >= rows && is_row(p, line_of(p, end), " .", &row))
            write_row(out, &row);
        putc('\n', out);
    }
}

int ss_megatron_log_add(struct ss_request *r, const char *text, size_t len, const char *file,
                        struct ss_error *err)
{
    struct ss_tree *tree = NULL;
    char *yaml = NULL;
    size_t n;
    FILE *out = open_memstream(&yaml, &n);

    SS_NEED(out, err);
    write_rows(out, text, len);
    int rc = fclose(out) ? ss_nomem(err) : ss_tree_parse(yaml, n, file, &tree, err);
    SS_THEN(rc, ss_foreign_request(r, NULL, tree, NULL, err));
    ss_tree_free(tree);
    free(yaml);
    return rc;
}
