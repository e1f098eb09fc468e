/* SPDX-License-Identifier: Apache-2.0 */
/* What a prediction stands on, in one line: every table of predictions begins with it. */
#pragma once

#include "stepsim/scenario.h"

/* Characters that a line needs. */
#define SS_PREMISES_SIZE 512

/*
 * Writes "llama3.1-70b, bf16 (assumed), sequence 8192, batch 1024 on h800, stack megatron-2407" without what
 * the flags in `varied` say, which are separated by blanks, because rows differ in that. Words that nobody gave
 * are said to be assumed, and a recipe is named. Returns buf.
 */
char *ss_report_premises(const struct ss_scenario *s, const char *varied, char *buf, size_t size);
