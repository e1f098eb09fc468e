/* SPDX-License-Identifier: Apache-2.0 */
/* Words and writers that all pictures share. */
#ifndef SS_REPORT_NAMES_H
#define SS_REPORT_NAMES_H

#include <stdio.h>

#include "stepsim/program.h"

/* "F 12", "F 12 chunk 1" of a slot, the template's name outside the schedule. Both count from 0. */
const char *ss_slot_name(const struct ss_program *p, int cls, int slot, char *buf, size_t size);
/* "stage0: rank 0 and 7 more like it" */
const char *ss_class_name(const struct ss_program *p, int cls, char *buf, size_t size);
/* A JSON string with quotes; what is not ASCII becomes '?', "</" cannot end a script element. */
void ss_put_json_text(const char *text, FILE *out);
/* A number with at most `decimals` of them, no trailing zeros; from 1e15 on with an exponent. */
void ss_put_number(double value, int decimals, FILE *out);

#endif
