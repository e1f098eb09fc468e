/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that comes from files, on its way to a terminal. A terminal takes some characters as orders: control
 * characters (C0, C1) move, colour and overwrite; marks of writing direction show a text as another one. In
 * JSON and in files text stays as it is.
 */
#pragma once

#include <stdio.h>

#include "stepsim/error.h"

SS_C_BEGIN

/* Makes one line of UTF-8 of the text, which is shortened in place. Each control character of ASCII becomes a
 * blank. Each other order to a terminal, and each byte that is no UTF-8, becomes a '?'. Returns text. */
char *ss_text_clean(char *text);
/* The columns of text that goes to no terminal, so that its bytes are the same on any machine. */
#define SS_TEXT_WIDTH 80
/* How an answer is written. NULL stands for {0}. */
struct ss_display {
    int json;  /* 1: as JSON, which has neither width nor colours */
    int width; /* columns that tables keep to; 0: SS_TEXT_WIDTH */
    int color; /* 1: verdicts are coloured */
};
/* Returns a stream that passes its text on to `under`. The stream writes '?' for each order to a terminal;
 * tabs and line ends pass, and with `color` 1 the colours of this library's reports. Lines of more than `width` columns are
 * wrapped as ss_text_wrap does; 0: lines stay as they are. Flushing the stream flushes `under`, but for a line that has no end yet; closing it leaves
 * `under` open. NULL: out of memory. The caller closes it. */
FILE *ss_text_stream(FILE *under, int color, int width);
/* Writes a line of n bytes, without its end, in lines of at most `width` columns. It breaks at blanks, not between a number and its unit, and not between a flag and its
 * value; what follows stands two columns further in. Between two flags a break has a backslash, so that a shell takes the lines as one. */
void ss_text_wrap(const char *line, size_t n, int width, FILE *out);
/* Returns how many columns n bytes of text take: a character takes one, a colour none. */
size_t ss_text_columns(const char *text, size_t n);
/* Returns SS_OK, or SS_ERR_IO where something could not be written to the stream: "cannot write WHAT: " and
 * the system's words. Call it before the stream is closed. */
int ss_text_written(FILE *stream, const char *what, struct ss_error *err);

SS_C_END
