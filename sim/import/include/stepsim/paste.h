/* SPDX-License-Identifier: Apache-2.0 */
/* A text that somebody has at hand, as the words of a job: flags, a launch command or script, a framework's configuration, or the config.json of
 * a model. The text is read and never run, and names no file that is read but those of the data. */
#pragma once

#include <stdio.h>

#include "stepsim/request.h"

SS_C_BEGIN

#define SS_PASTE_MOST 65536 /* bytes of a text */

struct ss_pasted {
    struct ss_request request; /* words of the job; without --model and --platform where the text says none */
    /* Variables and flags that decide the job and have no value in the text; where there are some, the words are no job yet. */
    struct ss_notes missing;
    struct ss_notes notes; /* what was assumed */
    int asks_vocabulary;   /* 1: a file that is not read has the vocabulary */
};

/* Reads it. `values` says what the text leaves out, "NNODES=4" or "--vocab-size=50257" a line; NULL: nothing. The caller ends *out with ss_pasted_free, unless the call
 * fails. Errors: SS_ERR_USAGE (too long, a zero byte, no job in it), those of ss_request_read_text. */
int ss_paste_read(const char *text, size_t len, const char *values, struct ss_pasted *out,
                  struct ss_error *err);
/* Frees what was read. */
void ss_pasted_free(struct ss_pasted *p);

SS_C_END
