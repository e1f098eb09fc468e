/* SPDX-License-Identifier: Apache-2.0 */
/* Comma-separated values of RFC 4180: quotes, doubled quotes, line breaks inside quotes. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "stepsim/error.h"

struct ss_csv;

/* The first row names the columns; every row has as many fields, and blank lines are skipped. Limits: 256
 * columns, each name once. `name` stands for the file in messages. */
int ss_csv_parse(const char *text, size_t len, const char *name, struct ss_csv **out, struct ss_error *err);
int ss_csv_load(const char *path, struct ss_csv **out, struct ss_error *err);
void ss_csv_free(struct ss_csv *csv);
/* Reads a file row by row. ss_csv_open reads the names of the columns. ss_csv_next reads the next row into
 * row 0 and sets *more, to 0 behind the last row. An error in a row is told when that row is read. */
int ss_csv_open(const char *path, struct ss_csv **out, struct ss_error *err);
int ss_csv_next(struct ss_csv *csv, int *more, struct ss_error *err);

const char *ss_csv_file(const struct ss_csv *csv);
size_t ss_csv_rows(const struct ss_csv *csv); /* rows without the first */
size_t ss_csv_columns(const struct ss_csv *csv);
const char *ss_csv_column_name(const struct ss_csv *csv, size_t column);
/* Returns the index of a column, -1 if there is none. */
int ss_csv_column(const struct ss_csv *csv, const char *name);
/* Returns the text of a field, "" for a column < 0. */
const char *ss_csv_field(const struct ss_csv *csv, size_t row, int column);
/* Returns the first row from `from` on whose field is `value`; the number of rows: there is none. */
size_t ss_csv_find(const struct ss_csv *csv, size_t from, int column, const char *value);
/* Returns the line of the file on which a row begins. */
int ss_csv_line(const struct ss_csv *csv, size_t row);
/* The whole number in low..high of a field; else SS_ERR_INPUT with the line and the column's name. */
int ss_csv_whole(const struct ss_csv *csv, size_t row, int column, int64_t low, int64_t high, int64_t *out,
                 struct ss_error *err);

/* Writes one field, in quotes where it needs them. */
void ss_csv_write(FILE *out, const char *text);
