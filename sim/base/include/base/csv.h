/* SPDX-License-Identifier: Apache-2.0 */
/* Comma-separated values as RFC 4180 has them: quotes, doubled quotes, line breaks inside quotes. */
#ifndef SS_CSV_H
#define SS_CSV_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "stepsim/error.h"

struct ss_csv;

/* Every row has as many fields as the first, which names the columns; blank lines are skipped. At
 * most 256 columns; a name may stand only once. `name` stands for the file in messages. */
int ss_csv_parse(const char *text, size_t len, const char *name, struct ss_csv **out, struct ss_error *err);
int ss_csv_load(const char *path, struct ss_csv **out, struct ss_error *err);
void ss_csv_free(struct ss_csv *csv);
/* The same row by row: at first only the columns' names are there; ss_csv_next makes the next row row 0, in place of the one
 * before, and sets *more, or 0 behind the last. A row that is wrong is an error when it is reached. */
int ss_csv_open(const char *path, struct ss_csv **out, struct ss_error *err);
int ss_csv_next(struct ss_csv *csv, int *more, struct ss_error *err);

const char *ss_csv_file(const struct ss_csv *csv);
size_t ss_csv_rows(const struct ss_csv *csv); /* without the first */
size_t ss_csv_columns(const struct ss_csv *csv);
const char *ss_csv_column_name(const struct ss_csv *csv, size_t column);
/* Index of a column, -1 if there is none. */
int ss_csv_column(const struct ss_csv *csv, const char *name);
/* Text of a field, "" for a column < 0. */
const char *ss_csv_field(const struct ss_csv *csv, size_t row, int column);
/* Line of the file on which a row begins. */
int ss_csv_line(const struct ss_csv *csv, size_t row);
/* The whole number in low..high of a field; else SS_ERR_INPUT with the line and the column's name. */
int ss_csv_whole(const struct ss_csv *csv, size_t row, int column, int64_t low, int64_t high, int64_t *out,
                 struct ss_error *err);

/* Writes one field, in quotes where it needs them. */
void ss_csv_write(FILE *out, const char *text);

#endif
