/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of measured runs: CSV with the columns of docs/reference/formats.md, and their rows as requests. */
#pragma once

#include "stepsim/request.h"

SS_C_BEGIN

struct ss_table;
/* Reads a table by path, or by name (validation/NAME.csv of the data: "runs"); the caller frees *out with ss_table_free. `notes`,
 * which may be NULL, gets a note for every unknown column. Errors: SS_ERR_IO, SS_ERR_INPUT. */
int ss_table_load(const char *name_or_path, struct ss_table **out, struct ss_notes *notes,
                  struct ss_error *err);
/* Reads a table from `len` bytes of memory as ss_table_load does; messages call it `name`. */
int ss_table_parse(const char *text, unsigned long len, const char *name, struct ss_table **out,
                   struct ss_notes *notes, struct ss_error *err);
/* Frees a table and all texts that it returned. NULL is allowed. */
void ss_table_free(struct ss_table *t);
/* Returns the path of the table. It belongs to `t`. */
const char *ss_table_file(const struct ss_table *t);
/* Returns the number of rows without the head; rows count from 0. */
int ss_table_rows(const struct ss_table *t);
/* Returns the line of the file that a row stands in, from 1. */
int ss_table_line(const struct ss_table *t, int row);
/* Returns the text of a field, "" where the table lacks the column. The text belongs to `t`. */
const char *ss_table_get(const struct ss_table *t, int row, const char *column);
/* Reads a field as a number; an empty field gives `missing`. Error: SS_ERR_INPUT with file and line. */
int ss_table_number(const struct ss_table *t, int row, const char *column, double missing, double *out,
                    struct ss_error *err);
/* Returns 1 when the row is of a mixture of experts. */
int ss_table_has_experts(const struct ss_table *t, int row);

/*
 * Makes the request that a row stands for, in three places, each word with the row's file and line: what the
 * named model decides without a column, the columns, and the words of the column `flags`. The caller frees
 * *out, unless the call fails. `notes` (may be NULL) says what was assumed, and which of `flags` have no
 * effect. SS_ERR_INPUT with file, line and column: a value that the column does not know; in `flags` a word
 * that is no flag, a wrong value, a flag that another column has a word for or contradicts.
 * SS_ERR_UNSUPPORTED, SS_ERR_CONFIG: a refused flag.
 */
int ss_table_request(const struct ss_table *t, int row, struct ss_request *out, struct ss_notes *notes,
                     struct ss_error *err);
/* Gives an error without a place the place of this row, and names the row; returns the error's code. A
 * refusal stays as it is, because it is an answer. */
int ss_table_locate(const struct ss_table *t, int row, struct ss_error *err);

SS_C_END
