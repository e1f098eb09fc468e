/* SPDX-License-Identifier: Apache-2.0 */
#include "report/table.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "report/common.h"
#include "report/text.h"

#define CELL 96 /* bytes of a number with what stands behind it */

/* ---- columns ---- */

static struct ss_report_format format_of(const struct ss_report_table *t, char *p)
{
    struct ss_report_format f = {.gap = (int)strspn(p, " "), .decimals = -1};

    for (p += f.gap; *p == '-' || *p == '+'; p++)
        *(*p == '-' ? &f.left : &f.sign) = 1;
    f.width = (int)strtol(p, &p, 10);
    f.grows = *p == '*';
    p += f.grows;
    if (p[0] == '.' && p[1] == '*') {
        f.decimals = t->decimals;
        p += 2;
    } else if (*p == '.')
        f.decimals = (int)strtol(p + 1, &p, 10);
    f.kind = *p;
    f.behind = *p ? p + 1 : p;
    assert(!f.kind || strchr("sdfgtcpmuMGNT", f.kind));
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
        if (c->text.grows && (int)strlen(c->head) > c->width)
            c->width = (int)strlen(c->head);
    }
}

static bool is_shown(const struct ss_report_table *t, int column)
{
    return t->column[column].text.kind && !(t->left_out >> column & 1);
}

/* ---- cells ---- */

static double scale_of(int kind)
{
    switch (kind) {
    case 'p': return 100;
    case 'm': return 1e3;
    case 'u': return 1e6;
    case 'M': return 1 / SS_MIB;
    case 'G': return 1 / SS_GIB;
    case 'N': return 1e-9;
    case 'T': return 1e-12;
    default: return 1;
    }
}

static struct ss_cell scaled(struct ss_cell c, int kind)
{
    if (c.kind == SS_CELL_NUMBER)
        c.number *= scale_of(kind);
    return c;
}

static void number_text(const struct ss_report_format *f, double value, char buf[CELL])
{
    int decimals = f->decimals < 0 ? 0 : f->decimals;

    if (f->kind == 't')
        ss_text_time(value, buf, CELL);
    else if (f->kind == 'c')
        ss_report_count(value, buf, CELL);
    else if (f->kind == 'g')
        snprintf(buf, CELL, f->sign ? "%+.*g" : "%.*g", decimals, value);
    else /* a sign of 0 would mean nothing */
        snprintf(buf, CELL, f->sign ? "%+.*f" : "%.*f", decimals,
                 fabs(value) < 0.5 * pow(10, -decimals) ? 0 : value);
}

/* What people read; "" of what is not known. */
static const char *text_of(const struct ss_report_format *f, struct ss_cell c, char buf[CELL])
{
    double value = c.kind == SS_CELL_WHOLE ? (double)c.whole : c.number * scale_of(f->kind);

    buf[0] = '\0';
    if (c.kind == SS_CELL_TEXT)
        return c.text;
    if (c.kind == SS_CELL_FLAG)
        return c.flag ? "yes" : "no";
    if (c.kind == SS_CELL_NONE || !isfinite(value))
        return buf;
    if (f->kind == 'd' && c.kind == SS_CELL_WHOLE)
        snprintf(buf, CELL, f->sign ? "%+" PRId64 : "%" PRId64, c.whole);
    else
        number_text(f, value, buf);
    strncat(buf, f->behind, CELL - strlen(buf) - 1);
    return buf;
}

/* ---- text ---- */

/* Blanks wait for what follows them: no line ends with one. */
static void put_blanks(struct ss_report_table *t, int n)
{
    t->blanks += n > 0 ? n : 0;
}

static void put_cell(struct ss_report_table *t, int left, int width, const char *text)
{
    int pad = width - (int)strlen(text);

    put_blanks(t, left ? 0 : pad);
    if (text[0]) {
        fprintf(t->out, "%*s%s", t->blanks, "", text);
        t->blanks = 0;
    }
    put_blanks(t, left ? pad : 0);
}

static void end_line(struct ss_report_table *t)
{
    fputc('\n', t->out);
    t->blanks = 0;
}

static int gap_before(const struct ss_report_table *t, int column)
{
    const struct ss_report_format *f = &t->column[column].text;

    return f->gap ? f->gap : column == 0 ? 0 : f->left ? 2 : 1;
}

static void text_row(struct ss_report_table *t, const struct ss_cell *cells, int n)
{
    char buf[CELL];

    put_blanks(t, t->indent);
    for (int i = 0; i < n; i++) {
        const struct ss_report_column *c = &t->column[i];
        int behind = (int)strlen(c->text.behind);
        if (!is_shown(t, i))
            continue;
        const char *text = text_of(&c->text, cells[i], buf);
        if (i + 1 == n && n < t->n) {
            put_blanks(t, 2);
            put_cell(t, 1, 0, text);
        } else if (cells[i].kind == SS_CELL_NUMBER && !text[0]) {
            put_blanks(t, gap_before(t, i));
            put_cell(t, c->text.left, c->width - behind, "-");
            put_blanks(t, behind);
        } else {
            put_blanks(t, gap_before(t, i));
            put_cell(t, c->text.left, c->width, text);
        }
    }
    end_line(t);
}

static void text_head(struct ss_report_table *t)
{
    int indent = t->indent;

    for (int i = 0; i < t->n; i++)
        if (is_shown(t, i)) {
            put_blanks(t, gap_before(t, i));
            put_cell(t, t->column[i].text.left, t->column[i].width + indent,
                     t->title && i == 0 ? t->title : t->column[i].head);
            indent = 0;
        }
    end_line(t);
}

/* ---- pages ---- */

static void page_cell(struct ss_report_table *t, int column, const char *element, const char *scope,
                      const char *text)
{
    fprintf(t->out, "<%s%s%s>", element, scope,
            column && t->column[column].text.kind == 's' ? " class=\"text\"" : "");
    ss_xml_escape(t->out, text);
    fprintf(t->out, "</%s>", element);
}

static void page_row(struct ss_report_table *t, const struct ss_cell *cells, int n)
{
    char buf[CELL];
    int left = 0;

    for (int i = n - 1; i < t->n; i++)
        left += is_shown(t, i);
    fputs("<tr>", t->out);
    for (int i = 0; i < n; i++) {
        const char *text = text_of(&t->column[i].text, cells[i], buf);
        if (!is_shown(t, i))
            continue;
        if (i + 1 == n && n < t->n) {
            fprintf(t->out, "<td class=\"text\" colspan=\"%d\">", left);
            ss_xml_escape(t->out, text);
            fputs("</td>", t->out);
        } else
            page_cell(t, i, i ? "td" : "th", i ? "" : " scope=\"row\"", text);
    }
    fputs("</tr>\n", t->out);
}

static void page_head(struct ss_report_table *t)
{
    fputs("<div class=\"wide\"><table>", t->out);
    if (t->title) {
        fputs("<caption>", t->out);
        ss_xml_escape(t->out, t->title);
        fputs("</caption>", t->out);
    }
    fputs("\n<thead><tr>", t->out);
    for (int i = 0; i < t->n; i++)
        if (is_shown(t, i))
            page_cell(t, i, "th", " scope=\"col\"", t->column[i].head);
    fputs("</tr></thead>\n<tbody>\n", t->out);
}

/* ---- CSV, JSON ---- */

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

static void csv_head(struct ss_report_table *t)
{
    for (int i = 0, some = 0; i < t->n; i++)
        if (t->column[i].key[0])
            fprintf(t->out, "%s%s", some++ ? "," : "", t->column[i].key);
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
        int width = c->text.grows ? (int)strlen(text_of(&c->text, cells[i], buf)) : 0;
        c->width = width > c->width ? width : c->width;
    }
}

void ss_report_table_row(struct ss_report_table *t, const struct ss_cell *cells, int n)
{
    assert(n <= t->n);
    switch (t->form) {
    case SS_FORM_MEASURE: measure(t, cells, n); break;
    case SS_FORM_TEXT: text_row(t, cells, n); break;
    case SS_FORM_PAGE: page_row(t, cells, n); break;
    case SS_FORM_CSV: csv_row(t, cells, n); break;
    case SS_FORM_JSON: json_row(t, cells, n); break;
    }
}

void ss_report_table_line(struct ss_report_table *t, int column, const char *format, ...)
{
    int blanks = column ? t->indent + gap_before(t, column) : 0;
    va_list args;

    if (t->form != SS_FORM_TEXT)
        return;
    for (int i = 0; i < column; i++)
        blanks += is_shown(t, i) ? gap_before(t, i) + t->column[i].width : 0;
    fprintf(t->out, "%*s", blanks, "");
    va_start(args, format);
    vfprintf(t->out, format, args);
    va_end(args);
    end_line(t);
}

void ss_report_table_text(struct ss_report_table *t, ss_report_rows *rows, const void *of, FILE *out)
{
    bool grows = false;

    begin(t, SS_FORM_MEASURE, out);
    for (int i = 0; i < t->n; i++)
        grows |= t->column[i].text.grows;
    if (grows)
        rows(t, of);
    t->form = SS_FORM_TEXT;
    text_head(t);
    rows(t, of);
}

void ss_report_table_page(struct ss_report_table *t, ss_report_rows *rows, const void *of, FILE *out)
{
    begin(t, SS_FORM_PAGE, out);
    page_head(t);
    rows(t, of);
    fputs("</tbody></table></div>\n", out);
}

void ss_report_table_csv(struct ss_report_table *t, ss_report_rows *rows, const void *of, FILE *out)
{
    begin(t, SS_FORM_CSV, out);
    csv_head(t);
    rows(t, of);
}

json_t *ss_report_table_json(struct ss_report_table *t, ss_report_rows *rows, const void *of)
{
    begin(t, SS_FORM_JSON, NULL);
    t->list = json_array();
    rows(t, of);
    return t->list;
}
