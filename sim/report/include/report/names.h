/* SPDX-License-Identifier: Apache-2.0 */
/* Words and writers that all pictures share. */
#pragma once

#include "stepsim/program.h"

/* Returns the name of a slot: "F 12" or "F 12 chunk 1", both counted from 0. A slot outside the schedule
 * has its template's name. */
const char *ss_slot_name(const struct ss_program *p, int cls, int slot, char *buf, size_t size);
/* Returns the name of a class: "stage0: rank 0 and 7 more like it". */
const char *ss_class_name(const struct ss_program *p, int cls, char *buf, size_t size);
/* Writes a JSON string with its quotes. A byte that is not ASCII becomes '?', and "</" is escaped, so
 * that it cannot end a script element. */
void ss_put_json_text(const char *text, FILE *out);
/* Writes a number with at most `decimals` decimals and no trailing zeros; from 1e15 on it has an
 * exponent. */
void ss_put_number(double value, int decimals, FILE *out);
