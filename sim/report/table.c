/* SPDX-License-Identifier: Apache-2.0 */
#include "report/table.h"

#include <assert.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "report/common.h"
#include "report/page.h"
#include "report/text.h"

#define CELL 96 /* bytes of a number with what stands behind it */

/* ---- columns ---- */

static struct ss_report_format format_of(const struct ss_report_table *t, char *p)
{
    struct ss_report_format f = {.gap = (int)strspn(p, " "), .decimals = -1};

    for (p += f.gap; *p == '-' || *p == '+'; p++)
        *(*p == '-' ? &f.left : &f.sign) = 1;
    f.width = (int)strtol(p, &p, 10);
    if (*p == '*') {
        f.most = (int)strtol(p + 1, &p, 10);
        f.most = f.most ? f.most : INT_MAX;
    }
    if (p[0] == '.' && p[1] == '*') {
        f.decimals = t->decimals;
        p += 2;
    } else if (*p == '.')
        f.decimals = (int)strtol(p + 1, &p, 10);
    f.kind = *p;
    f.behind = *p ? p + 1 : p;
    return f;
}

/* The part that begins at *rest, which is moved behind it. */
static char *next_part(char **rest, const char *ends)
{
    char *part = *rest, *end = part + strcspn(part, ends);

    *rest = *end ? end + 1 : end;
    *end = '\0';
    return part;
}

static void begin(struct ss_report_table *t, enum ss_report_form form, FILE *out)
{
    char *rest = t->parts;

    assert(strlen(t->columns) < sizeof t->parts);
    ss_copy(t->parts, sizeof t->parts, t->columns);
    t->form = form;
    t->out = out;
    for (t->n = 0; *rest; t->n++) {
        struct ss_report_column *c = &t->column[t->n];
        char *parts = next_part(&rest, "|");
        assert(t->n < SS_COLUMNS_MOST);
        c->head = next_part(&parts, ":");
        c->text = format_of(t, next_part(&parts, ":"));
        c->key = next_part(&parts, ":");
        c->data = format_of(t, parts);
        c->width = c->text.width + (int)strlen(c->text.behind);
        if (!c->text.gap && t->n)
            c->text.gap = c->text.left ? 2 : 1;
    }
}

static bool is_shown(const struct ss_report_table *t, int column)
{
    return t->column[column].text.kind && !(t->left_out >> column & 1);
}

/* ---- cells ---- */

static double scale_of(int kind)
{
    static const char kinds[] = "pmuMGNT";
    static const double scales[] = {100, 1e3, 1e6, 1 / SS_MIB, 1 / SS_GIB, 1e-9, 1e-12};
    const char *at = kind ? strchr(kinds, kind) : NULL;

    assert(at || !kind || strchr("sdfgtch", kind));
    return at ? scales[at - kinds] : 1;
}

/* What people read; "" of what is not known. */
static const char *text_of(const struct ss_report_format *f, struct ss_cell c, char buf[CELL])
{
    const double value = c.kind == SS_CELL_WHOLE ? (double)c.whole : c.number * scale_of(f->kind);
    const int decimals = f->decimals < 0 ? 0 : f->decimals;

    buf[0] = '\0';
    if (c.kind == SS_CELL_TEXT)
        return c.text;
    if (c.kind == SS_CELL_FLAG)
        return c.flag ? "yes" : "no";
    if (c.kind == SS_CELL_NONE || !isfinite(value))
        return buf;
    if (f->kind == 't')
        ss_text_time(value, buf, CELL);
    else if (f->kind == 'c')
        ss_report_count(value, buf, CELL);
    else if (f->kind == 'g')
        snprintf(buf, CELL, "%.*g", decimals, value);
    else /* "-0.0" says something where there are signs, alone */
        snprintf(buf, CELL, f->sign ? "%+.*f" : "%.*f", decimals,
                 !f->sign && fabs(value) < 0.5 * pow(10, -decimals) ? 0 : value);
    strncat(buf, f->behind, CELL - strlen(buf) - 1);
    return buf;
}

/* ---- text ---- */

/* Blanks wait for what follows them: no line ends with one. What is too long takes those of the next column. */
static void put_cell(struct ss_report_table *t, const struct ss_report_format *f, int width, const char *text)
{
    const int n = (int)strlen(text), pad = width - n;

    t->blanks += f->left || pad < 0 ? 0 : pad;
    if (n) {
        fprintf(t->out, "%*s%s", t->blanks < f->gap ? f->gap : t->blanks, "", text);
        t->blanks = 0;
    }
    t->blanks += f->left || pad < 0 ? pad : 0;
}

static void end_line(struct ss_report_table *t)
{
    fputc('\n', t->out);
    t->blanks = 0;
}

static void text_row(struct ss_report_table *t, const struct ss_cell *cells, int n, int indent)
{
    static const struct ss_report_format rest = {.left = 1, .gap = 2};
    char buf[CELL];

    t->blanks = t->indent - indent;
    for (int i = 0; i < n; i++) {
        const struct ss_report_column *c = &t->column[i];
        const int behind = (int)strlen(c->text.behind);
        const char *text = text_of(&c->text, cells[i], buf);
        if (!is_shown(t, i))
            continue;
        t->blanks += i + 1 == n && n < t->n ? rest.gap : c->text.gap;
        if (i + 1 == n && n < t->n)
            put_cell(t, &rest, 0, text);
        else if (cells[i].kind == SS_CELL_NUMBER && !text[0]) {
            put_cell(t, &c->text, c->width - behind, "-");
            t->blanks += behind;
        } else
            put_cell(t, &c->text, c->width + indent, text);
        indent = 0;
    }
    end_line(t);
}

/* ---- pages ---- */

static void page_row(struct ss_report_table *t, const struct ss_cell *cells, int n, bool head)
{
    char buf[CELL];

    fputs("<tr>", t->out);
    for (int i = 0; i < n; i++) {
        const char *cell = head || i == 0 ? "th" : "td";
        const struct ss_report_format *f = &t->column[i].text;
        int left = 0;
        if (!is_shown(t, i))
            continue;
        for (int k = i; i + 1 == n && k < t->n; k++)
            left += is_shown(t, k);
        fprintf(t->out, "<%s%s%s", cell,
                head ? " scope=\"col\""
                : i  ? ""
                     : " scope=\"row\"",
                i && (f->kind == 's' || left > 1) ? " class=\"text\"" : "");
        if (left > 1)
            fprintf(t->out, " colspan=\"%d\"", left);
        if (f->kind == 'h' && !head)
            fprintf(t->out, ">%s</%s>", cells[i].text, cell);
        else
            ss_markup(t->out, ">%s</%s>", text_of(f, cells[i], buf), cell);
    }
    fputs("</tr>", t->out);
}

/* ---- CSV, JSON ---- */

static struct ss_cell scaled(struct ss_cell c, int kind)
{
    if (c.kind == SS_CELL_NUMBER)
        c.number *= scale_of(kind);
    return c;
}

static void csv_row(struct ss_report_table *t, const struct ss_cell *cells, int n)
{
    char buf[CELL];

    for (int i = 0, some = 0; i < n; i++) {
        const struct ss_report_column *c = &t->column[i];
        if (!c->key[0])
            continue;
        fputs(some++ ? "," : "", t->out);
        if (c->data.decimals < 0)
            ss_cell_csv(scaled(cells[i], c->data.kind), t->out);
        else
            ss_csv_write(t->out, text_of(&c->data, cells[i], buf));
    }
    fputc('\n', t->out);
}

static void json_row(struct ss_report_table *t, const struct ss_cell *cells, int n)
{
    json_t *row = json_object();

    for (int i = 0; i < n; i++)
        if (t->column[i].key[0])
            SS_PUT(row, SS_KEY(t->column[i].key, scaled(cells[i], t->column[i].data.kind)));
    ss_json_append(t->list, row);
}

/* ---- all forms ---- */

static void measure(struct ss_report_table *t, const struct ss_cell *cells, int n)
{
    char buf[CELL];

    for (int i = 0; i < n - (n < t->n); i++) {
        struct ss_report_column *c = &t->column[i];
        const int width = c->text.most ? (int)strlen(text_of(&c->text, cells[i], buf)) : 0;
        c->width = width > c->width && width <= c->text.most ? width : c->width;
    }
}

void ss_report_table_row(struct ss_report_table *t, const struct ss_cell *cells, int n)
{
    assert(n <= t->n);
    switch (t->form) {
    case SS_FORM_TEXT: text_row(t, cells, n, 0); break;
    case SS_FORM_PAGE:
        page_row(t, cells, n, false);
        fputc('\n', t->out);
        break;
    case SS_FORM_CSV: csv_row(t, cells, n); break;
    case SS_FORM_JSON: json_row(t, cells, n); break;
    case SS_FORM_MEASURE: measure(t, cells, n); break;
    }
}

void ss_report_table_line(struct ss_report_table *t, int column, const char *format, ...)
{
    va_list args;

    if (t->form != SS_FORM_TEXT)
        return;
    t->blanks = column ? t->indent + t->column[column].text.gap : 0;
    for (int i = 0; i < column; i++)
        t->blanks += is_shown(t, i) ? t->column[i].text.gap + t->column[i].width : 0;
    fprintf(t->out, "%*s", t->blanks, "");
    va_start(args, format);
    vfprintf(t->out, format, args);
    va_end(args);
    end_line(t);
}

static void write_head(struct ss_report_table *t)
{
    struct ss_cell heads[SS_COLUMNS_MOST];

    for (int i = 0; i < t->n; i++)
        heads[i] = ss_cell_text(t->form == SS_FORM_CSV ? t->column[i].key : t->column[i].head);
    if (t->title && t->form != SS_FORM_PAGE)
        heads[0] = ss_cell_text(t->title);
    if (t->form == SS_FORM_TEXT)
        text_row(t, heads, t->n, t->indent);
    else if (t->form != SS_FORM_PAGE)
        ss_report_table_row(t, heads, t->n);
    else {
        fputs("<div class=\"wide\"><table>", t->out);
        ss_markup(t->out, t->title ? "<caption>%s</caption>\n<thead>" : "%s\n<thead>",
                  t->title ? t->title : "");
        page_row(t, heads, t->n, true);
        fputs("</thead>\n<tbody>\n", t->out);
    }
}

void ss_report_table_begin(struct ss_report_table *t, FILE *out)
{
    begin(t, SS_FORM_TEXT, out);
    write_head(t);
}

void ss_report_table_write(struct ss_report_table *t, enum ss_report_form form, ss_report_rows *rows,
                           const void *of, FILE *out)
{
    bool grows = false;

    begin(t, form, out);
    for (int i = 0; i < t->n; i++)
        grows |= t->column[i].text.most > 0;
    if (grows && form == SS_FORM_TEXT) {
        t->form = SS_FORM_MEASURE;
        write_head(t);
        rows(t, of);
        t->form = SS_FORM_TEXT;
    }
    write_head(t);
    rows(t, of);
    if (form == SS_FORM_PAGE)
        fputs("</tbody></table></div>\n", out);
}

json_t *ss_report_table_json(struct ss_report_table *t, ss_report_rows *rows, const void *of)
{
    begin(t, SS_FORM_JSON, NULL);
    t->list = json_array();
    rows(t, of);
    return t->list;
}
