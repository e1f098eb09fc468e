/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a report, whatever form it has: cells of tables, and records of values under keys. */
#ifndef SS_REPORT_CELL_H
#define SS_REPORT_CELL_H

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "stepsim/summary.h"

enum ss_cell_kind { SS_CELL_NONE, SS_CELL_WHOLE, SS_CELL_NUMBER, SS_CELL_TEXT, SS_CELL_FLAG, SS_CELL_JSON };
/* A number that is not finite is not known. A text lives as long as the cell; a JSON value belongs to the cell until a document
 * takes it. */
struct ss_cell {
    enum ss_cell_kind kind;
    union {
        int64_t whole;
        double number;
        const char *text;
        bool flag;
        json_t *json;
    };
};
struct ss_keyed {
    const char *key; /* a constant */
    struct ss_cell cell;
};

#define SS_CELL_MAKER(name, symbol, type)                                                                    \
    static inline struct ss_cell ss_cell_##name(type value)                                                  \
    {                                                                                                        \
        return (struct ss_cell){.kind = SS_CELL_##symbol, .name = value};                                    \
    }
SS_CELL_MAKER(whole, WHOLE, int64_t)
SS_CELL_MAKER(number, NUMBER, double)
SS_CELL_MAKER(text, TEXT, const char *)
SS_CELL_MAKER(flag, FLAG, bool)
SS_CELL_MAKER(json, JSON, json_t *)
static inline struct ss_cell ss_cell_same(struct ss_cell cell)
{
    return cell;
}
/* An index into a list; -1: not known. */
static inline struct ss_cell ss_cell_index(int index)
{
    return index < 0 ? ss_cell_number(NAN) : ss_cell_whole(index);
}
/* A figure that is not known where it is 0. */
static inline double ss_known(double value)
{
    return value > 0 ? value : NAN;
}
/* A figure of a summary, in its unit. */
struct ss_cell ss_metric_cell(int metric, const struct ss_summary *s);
#define SS_NO_CELL ((struct ss_cell){.kind = SS_CELL_NONE})

/* SS_MAP(M, x, a, b) is M(x, a), M(x, b): of up to 80 arguments. M has no SS_MAP of its own. */
#define SS_MAP(M, x, ...) SS_AGAIN(SS_MAP_STEP(M, x, __VA_ARGS__))
#define SS_MAP_STEP(M, x, a, ...) M(x, a) __VA_OPT__(, SS_MAP_NEXT SS_NOTHING()()(M, x, __VA_ARGS__))
#define SS_MAP_NEXT() SS_MAP_STEP
#define SS_NOTHING()
#define SS_AGAIN(...) SS_AGAIN_27(SS_AGAIN_27(SS_AGAIN_27(__VA_ARGS__)))
#define SS_AGAIN_27(...) SS_AGAIN_9(SS_AGAIN_9(SS_AGAIN_9(__VA_ARGS__)))
#define SS_AGAIN_9(...) SS_AGAIN_3(SS_AGAIN_3(SS_AGAIN_3(__VA_ARGS__)))
#define SS_AGAIN_3(...) SS_AGAIN_1(SS_AGAIN_1(SS_AGAIN_1(__VA_ARGS__)))
#define SS_AGAIN_1(...) __VA_ARGS__

/* The cell of a value by its type. A comparison is an int: what is true or false is told by (bool). */
#define SS_CELL(x)                                                                                           \
    _Generic((x), bool                                                                                       \
             : ss_cell_flag, int                                                                             \
             : ss_cell_whole, unsigned                                                                       \
             : ss_cell_whole, long                                                                           \
             : ss_cell_whole, unsigned long                                                                  \
             : ss_cell_whole, long long                                                                      \
             : ss_cell_whole, unsigned long long                                                             \
             : ss_cell_whole, float                                                                          \
             : ss_cell_number, double                                                                        \
             : ss_cell_number, char *                                                                        \
             : ss_cell_text, const char *                                                                    \
             : ss_cell_text, json_t *                                                                        \
             : ss_cell_json, struct ss_cell                                                                  \
             : ss_cell_same)(x)

/* {the cells of values}: of SS_ROW, or to begin an array with. */
#define SS_CELLS(...)                                                                                        \
    {                                                                                                        \
        SS_MAP(SS_CELL_OF, , __VA_ARGS__)                                                                    \
    }
#define SS_CELL_OF(none, value) SS_CELL(value)
/* SS_KEY("tp", job->tp); SS_KEY_IF leaves the key out, and does not look at the value, where the condition is false. */
#define SS_KEY(key, value) ((struct ss_keyed){key, SS_CELL(value)})
#define SS_KEY_IF(condition, key, value) ((struct ss_keyed){key, (condition) ? SS_CELL(value) : SS_NO_CELL})
/* Keys that are called as the fields of a struct are: SS_FIELDS(job, tp, pp). SS_FLAGS: of fields that are true or false. */
#define SS_FIELDS(from, ...) SS_MAP(SS_FIELD_KEY, from, __VA_ARGS__)
#define SS_FLAGS(from, ...) SS_MAP(SS_FLAG_KEY, from, __VA_ARGS__)
/* Fields that are indices: -1 is not known. */
#define SS_INDICES(from, ...) SS_MAP(SS_INDEX_KEY, from, __VA_ARGS__)
#define SS_INDEX_KEY(from, field) SS_KEY(#field, ss_cell_index((from)->field))
#define SS_FIELD_KEY(from, field) SS_KEY(#field, (from)->field)
#define SS_FLAG_KEY(from, field) SS_KEY(#field, (bool)(from)->field)
/* Keys up to the one that is NULL. */
#define SS_KEYS(...) ((const struct ss_keyed[]){__VA_ARGS__, {.key = NULL}})

/* ---- JSON (cell.c) ---- */
/* SS_OBJECT(SS_KEY("n", s->n), SS_KEY("mean_ms", 1e3 * s->mean)) is a new object, SS_PUT adds to one. */
#define SS_OBJECT(...) ss_json_object(SS_KEYS(__VA_ARGS__))
#define SS_PUT(object, ...) ss_json_put(object, SS_KEYS(__VA_ARGS__))
json_t *ss_json_object(const struct ss_keyed *keys);
/* Takes JSON values, as jansson's _new functions do. */
void ss_json_put(json_t *object, const struct ss_keyed *keys);
/* An array of what `object` makes of each row: SS_LIST(row_object, rows, n). */
#define SS_LIST(object, rows, n) ss_json_list(object, rows, n, sizeof *(rows))
json_t *ss_json_list(json_t *(*object)(const void *row), const void *rows, int n, size_t size);
/* {"name of 0": scale * values[0], ...} */
json_t *ss_json_named(int n, const char *(*name)(int), const double *values, double scale);

/* ---- records (cell.c) ---- */
#define SS_RECORD_MOST 80
/* Values of one thing in the order of their columns, for JSON (ss_json_put of `at`) and CSV. {0} is an empty one. */
struct ss_record {
    size_t n;
    struct ss_keyed at[SS_RECORD_MOST + 1]; /* the last one has no key */
};
#define SS_ADD(record, ...) ss_record_add(record, SS_KEYS(__VA_ARGS__))
void ss_record_add(struct ss_record *r, const struct ss_keyed *keys);
/* All figures of SS_METRIC_LIST; those that are not known are cells without a value. */
void ss_record_metrics(struct ss_record *r, const struct ss_summary *s);
/* Takes the values away from number `first` on: the keys stay. */
void ss_record_clear(struct ss_record *r, size_t first);
/* A line of CSV: the keys, or the values. */
void ss_record_csv(const struct ss_record *r, bool keys, FILE *out);
/* A value as a field of CSV, in 10 significant digits: nothing where it is not known, a flag as 0 or 1. */
void ss_cell_csv(struct ss_cell cell, FILE *out);

#endif
