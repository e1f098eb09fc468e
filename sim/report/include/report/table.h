/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table is told once, by its columns and a function that gives its rows, and written as text, as HTML, as CSV or as JSON:
 *
 *     static void rows(struct ss_report_table *t, const void *of)
 *     {
 *         const struct ss_sharing *x = of;
 *         for (int j = 0; j < x->n; j++)
 *             SS_ROW(t, x->sharer[j].name, x->sharer[j].gpus, x->sharer[j].alone);
 *     }
 *     struct ss_report_table t = {.columns = "job:-3*s:name|GPUs:5d:gpus|alone:11t:alone_ms:m"};
 *     ss_report_table_text(&t, rows, sharing, out);
 *
 * Columns are parted by "|", their parts by ":"
 *     HEAD    of text and pages
 *     FORMAT  blanks before it (else one, before a column to the left two), "-" to the left, "+" with its sign, width, "*" where the
 *             width grows with the longest value ("*44": but with none that is longer), "." and decimals ("*": those of the table), kind, and what stands behind the value.
 *             No format: the column is of CSV and JSON alone.
 *     KEY     of CSV and JSON. No key: the column is of text and pages alone.
 *     UNIT    of CSV and JSON: a kind, 10 significant digits; with decimals CSV has those.
 * Kinds are
 *     s text  d whole number  f fixed  g significant digits  t time of seconds, "23.57 s"  c count, "8.03B"
 *     h a text that is HTML, of pages alone
 * and of fixed decimals, over the cell's value
 *     p per cent of a share  m ms of s  u us of s  M MiB of bytes  G GiB of bytes  N 1e9  T 1e12
 */
#ifndef SS_REPORT_TABLE_H
#define SS_REPORT_TABLE_H

#include "report/cell.h"

#define SS_COLUMNS_MOST 32

enum ss_report_form { SS_FORM_TEXT, SS_FORM_PAGE, SS_FORM_CSV, SS_FORM_JSON, SS_FORM_MEASURE };

/* A format, taken apart. */
struct ss_report_format {
    int gap, left, sign, width, most, decimals,
        kind; /* most 0: it does not grow; decimals -1: not said; kind 0: no format */
    const char *behind;
};
struct ss_report_column {
    const char *head, *key;
    struct ss_report_format text, data;
    int width; /* of the longest value or head */
};

struct ss_report_table {
    const char *columns;
    const char *title; /* of a text in place of the first head, of a page as the caption; may be NULL */
    int indent;        /* blanks before a row of a text, which the head begins at */
    int decimals;
    unsigned
        left_out; /* columns that text and pages do not show, a bit each; their cells are given all the same */
    /* Of the writer: */
    enum ss_report_form form;
    FILE *out;
    json_t *list;
    int n, blanks; /* columns; blanks before what comes next */
    struct ss_report_column column[SS_COLUMNS_MOST];
    char parts[1024]; /* of `columns` */
};

/* A row: a cell a column, or fewer, the last one a text that takes the room of the others. SS_NO_CELL is empty, and no key of JSON; a
 * number that is not known is "-" in text, empty on pages and in CSV, null in JSON. */
void ss_report_table_row(struct ss_report_table *t, const struct ss_cell *cells, int n);
#define SS_ROW(t, ...)                                                                                       \
    ss_report_table_row(                                                                                     \
        t, (const struct ss_cell[])SS_CELLS(__VA_ARGS__),                                                    \
        (int)(sizeof((const struct ss_cell[])SS_CELLS(__VA_ARGS__)) / sizeof(struct ss_cell)))
/* A line of a text between its rows, which begins as column number `column` does; nothing in other forms. */
void ss_report_table_line(struct ss_report_table *t, int column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Gives the rows to the table. It is called once more before, where widths of a text grow. */
typedef void ss_report_rows(struct ss_report_table *t, const void *of);
/* Writes the table as text, page or CSV. */
void ss_report_table_write(struct ss_report_table *t, enum ss_report_form form, ss_report_rows *rows,
                           const void *of, FILE *out);
/* An array of an object a row. */
json_t *ss_report_table_json(struct ss_report_table *t, ss_report_rows *rows, const void *of);
/* Writes the head of a text whose widths do not grow; rows follow. */
void ss_report_table_begin(struct ss_report_table *t, FILE *out);

#endif
