/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that comes from files, on its way to a terminal. A terminal takes some characters as orders: control
 * characters (C0, C1) move, colour and overwrite; marks of writing direction show a text as another one. In
 * JSON and in files text stays as it is.
 */
#ifndef STEPSIM_TEXT_H
#define STEPSIM_TEXT_H

#include <stdio.h>

#include "stepsim/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes one line of UTF-8 of the text, which is shortened in place. Each control character of ASCII becomes a
 * blank. Each other order to a terminal, and each byte that is no UTF-8, becomes a '?'. Returns text. */
char *ss_text_clean(char *text);
/* Returns a stream that passes its text on to `under`. The stream writes '?' for each order to a terminal;
 * tabs and line ends pass, and with `color` 1 the colours of this library's reports. Flushing the stream
 * flushes `under`; closing it leaves `under` open. NULL: out of memory. The caller closes it. */
FILE *ss_text_stream(FILE *under, int color);
/* Returns SS_OK, or SS_ERR_IO where something could not be written to the stream: "cannot write WHAT: " and
 * the system's words. Call it before the stream is closed. */
int ss_text_written(FILE *stream, const char *what, struct ss_error *err);

#ifdef __cplusplus
}
#endif
#endif
