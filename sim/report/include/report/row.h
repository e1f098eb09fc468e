/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a report says of one thing is a row: values under keys, filled once. JSON has all of them; a table of text or CSV has those
 * that its columns name:
 *
 *     static void job_row(struct ss_row *r, const struct ss_sharer *s)
 *     {
 *         SS_ADD(r, SS_KEY("name", s->name), SS_KEY("alone_ms", 1e3 * s->alone), SS_SAME(s, gpus));
 *     }
 *     static const struct ss_column columns[] = {{"name", "job", "%-12s", 1}, {"gpus", "GPUs", " %5.0f", 1},
 *                                                {"alone_ms", "alone", " %11s", 1e-3}};
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "stepsim/summary.h"
#include "stepsim/text.h"

struct ss_json; /* an object, a list or another value of a document, as text */

/* ---- values ---- */
enum ss_cell_kind { SS_CELL_NONE, SS_CELL_WHOLE, SS_CELL_NUMBER, SS_CELL_TEXT, SS_CELL_FLAG, SS_CELL_JSON };
/* A number that is not finite means "not known". A text must live as long as the cell; a JSON value
 * belongs to the object that takes it. */
struct ss_cell {
    enum ss_cell_kind kind;
    union {
        int64_t whole;
        double number;
        const char *text;
        bool flag;
        struct ss_json *json;
    };
};
struct ss_keyed {
    const char *key; /* a constant */
    struct ss_cell cell;
};

static inline struct ss_cell ss_cell_whole(int64_t value)
{
    return (struct ss_cell){SS_CELL_WHOLE, .whole = value};
}
static inline struct ss_cell ss_cell_number(double value)
{
    return (struct ss_cell){SS_CELL_NUMBER, .number = value};
}
static inline struct ss_cell ss_cell_text(const char *value)
{
    return (struct ss_cell){SS_CELL_TEXT, .text = value};
}
static inline struct ss_cell ss_cell_flag(bool value)
{
    return (struct ss_cell){SS_CELL_FLAG, .flag = value};
}
static inline struct ss_cell ss_cell_json(struct ss_json *value)
{
    return (struct ss_cell){SS_CELL_JSON, .json = value};
}
static inline struct ss_cell ss_cell_same(struct ss_cell cell)
{
    return cell;
}
/* Makes the cell of an index into a list; -1: not known. */
static inline struct ss_cell ss_cell_index(int index)
{
    return index < 0 ? ss_cell_number(NAN) : ss_cell_whole(index);
}
/* Returns a figure, and NaN for 0, which means "not known". */
static inline double ss_known(double value)
{
    return value > 0 ? value : NAN;
}
/* A cell without a value: JSON leaves the key out, CSV leaves the field empty. */
#define SS_NO_CELL ((struct ss_cell){.kind = SS_CELL_NONE})

/* Makes the cell of a value by its type. */
#define SS_CELL(value)                                                                                       \
    _Generic((value), bool                                                                                   \
             : ss_cell_flag, float                                                                           \
             : ss_cell_number, double                                                                       \
             : ss_cell_number, char *                                                                        \
             : ss_cell_text, const char *                                                                    \
             : ss_cell_text, struct ss_json *                                                                        \
             : ss_cell_json, struct ss_cell                                                                  \
             : ss_cell_same, default                                                                         \
             : ss_cell_whole)(value)
#define SS_KEY(key, value) ((struct ss_keyed){key, SS_CELL(value)})
/* Leaves the key out where the condition is false; the value is looked at only where it is true. */
#define SS_KEY_IF(condition, key, value) ((struct ss_keyed){key, (condition) ? SS_CELL(value) : SS_NO_CELL})
/* Makes a key with the name of a struct's field. SS_TRUTH: the field is an int that is true or false. */
#define SS_SAME(from, field) SS_KEY(#field, (from)->field)
#define SS_TRUTH(from, field) SS_KEY(#field, (bool)(from)->field)
/* Makes an array of keys that ends with the key NULL. */
#define SS_KEYS(...) ((const struct ss_keyed[]){__VA_ARGS__, {.key = NULL}})

/* ---- JSON ---- */
/* SS_OBJECT(SS_KEY("n", s->n), SS_KEY("mean_ms", 1e3 * s->mean)) is a new object, SS_PUT adds to one. */
#define SS_OBJECT(...) ss_json_object(SS_KEYS(__VA_ARGS__))
#define SS_PUT(object, ...) ss_json_put(object, SS_KEYS(__VA_ARGS__))
struct ss_json *ss_json_object(const struct ss_keyed *keys);
void ss_json_put(struct ss_json *object, const struct ss_keyed *keys);
#define SS_ITEM(list, value) ss_json_item(list, SS_CELL(value))
void ss_json_item(struct ss_json *list, struct ss_cell value);
/* SS_LIST(row_object, rows, n) is an array of the objects that row_object makes, one for each row. */
#define SS_LIST(object, rows, n) ss_json_list(object, rows, n, sizeof *(rows))
struct ss_json *ss_json_list(struct ss_json *(*object)(const void *row), const void *rows, int n,
                             size_t size);
/* Returns {"name of 0": scale * values[0], ...}. */
struct ss_json *ss_json_named(int n, const char *(*name)(int), const double *values, double scale);

/* ---- rows ---- */
#define SS_ROW_MOST 80
/* A row; {0} is an empty row. */
struct ss_row {
    size_t n;
    struct ss_keyed at[SS_ROW_MOST + 1]; /* the last one has no key */
};
#define SS_ADD(row, ...) ss_row_add(row, SS_KEYS(__VA_ARGS__))
void ss_row_add(struct ss_row *r, const struct ss_keyed *keys);
/* Adds "verdict", "reason" and, for a refused job, "code". */
void ss_row_verdict(struct ss_row *r, const struct ss_summary *s);
/* Adds all figures of SS_METRIC_LIST. A figure that is not known has no value. */
void ss_row_metrics(struct ss_row *r, const struct ss_summary *s);
/* Finds the value of a key, from *at on, which the value's neighbour becomes: columns mostly stand in the order of the row. */
struct ss_cell ss_row_find(const struct ss_row *r, const char *key, size_t *at);
/* Returns the number in a cell; NaN of what is no number. */
double ss_cell_value(struct ss_cell c);

/* ---- text ---- */
struct ss_column {
    const char *key,
        *head; /* head: in one line, or in two with a '\n' between them; NULL: the table has no heads */
    const char *
        format; /* a format of printf: %f or %g for a number, %s for a text (%-s: to the left) or a time; NULL: the text has no such column */
    double scale; /* the number that is shown, divided by the row's; for a time the factor to s */
    int weight; /* 0: the column is always shown; else columns go, the largest first, where a table is too wide */
};
/*
 * A table for people. Its columns are as wide as what they hold; where that is wider than the view, the writer does what is needed of
 * this, in this order: one blank between columns in place of two; columns of weight that are the same in all rows are told once, above
 * the table; columns of weight 2 and more go; columns of text are folded; columns of weight 1 go. A line below the table names those that
 * went. A verdict has its colour.
 */
struct ss_grid {
    const struct ss_column *columns;
    size_t n, nrows, room;
    struct ss_grid_row *rows;
    struct ss_arena texts;
    bool lost; /* memory ran out */
};
/* Begins a table; the columns must live as long as the grid. */
void ss_grid_begin(struct ss_grid *g, const struct ss_column *columns, size_t n);
/* Adds a row. A value that is not known is "-". */
void ss_grid_row(struct ss_grid *g, const struct ss_row *r);
/* Adds a row whose cells end before the column of that key; the text stands in the place of the others. */
void ss_grid_span(struct ss_grid *g, const struct ss_row *r, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Adds a line between rows. */
void ss_grid_line(struct ss_grid *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Writes the table and frees it. Returns SS_OK or SS_ERR_NOMEM. */
int ss_grid_end(struct ss_grid *g, const struct ss_display *view, FILE *out);
/* Frees a table that nobody writes. */
void ss_grid_free(struct ss_grid *g);
/* Writes a text that begins with a verdict ("fits", "near limit", ...), which gets its colour where the view has colours. */
void ss_put_verdict(const char *text, const struct ss_display *view, FILE *out);

/* ---- CSV ---- */
/* Writes a line: the keys where r is NULL, else the row's values for them. A key that is NULL stands for
 * all of SS_METRIC_LIST. A number has 10 digits, a flag is 0 or 1, a value that is not known is empty. */
void ss_row_csv(const struct ss_row *r, const char *const *keys, size_t n, FILE *out);
/* Writes all values of a row, or its keys. */
void ss_row_csv_whole(const struct ss_row *r, bool keys, FILE *out);
