/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers with units as texts: "25GBps" in files and on command lines, 25e9 in the library. No function depends on the locale. */
#pragma once

#include <stdint.h>

#include "stepsim/error.h"

SS_C_BEGIN

enum ss_unit {
    SS_UNIT_NONE,      /* plain number                                  */
    SS_UNIT_COUNT,     /* whole number >= 0                             */
    SS_UNIT_FRACTION,  /* 0..1, also "85%"                              */
    SS_UNIT_BYTES,     /* B kB MB GB TB KiB MiB GiB TiB                 */
    SS_UNIT_BANDWIDTH, /* Bps kBps MBps GBps TBps GiBps, Gbps = bits/8  */
    SS_UNIT_FLOPS,     /* f Mf Gf Tf Pf (FLOP/s), also TFLOPs           */
    SS_UNIT_TIME,      /* s ms us ns (result in s)                      */
    SS_UNIT_WATT,      /* W kW                                          */
    SS_UNIT_PRICE,     /* USD/h                                         */
    SS_UNIT_HOURS      /* h (result in hours)                           */
};
/* Reads "25GBps" as 25e9: a number and, except for NONE, COUNT and FRACTION, a unit. Numbers are >= 0 except
 * for NONE, whole for COUNT, at most 1 for FRACTION. Returns SS_OK, or SS_ERR_INPUT for any other text; *why
 * (which may be NULL) then points to a static text that says what is wrong. */
int ss_unit_parse(const char *text, enum ss_unit unit, double *out, const char **why);
/* Writes the shortest text that ss_unit_parse reads back as exactly the same value, without an exponent where
 * possible. The text is cut to `size` bytes with the final 0; 64 bytes hold every value. Returns buf. */
char *ss_unit_format(double value, enum ss_unit unit, char *buf, size_t size);
/* Returns an example of a value of that unit, for messages: "50GBps or 400Gbps". Never NULL. */
const char *ss_unit_example(enum ss_unit unit);
/* Reads a whole number from lo to hi; the text holds nothing else. Returns SS_OK or SS_ERR_INPUT. */
int ss_parse_i64(const char *text, int64_t lo, int64_t hi, int64_t *out);
/* Reads a finite number; the text holds nothing else. Returns SS_OK or SS_ERR_INPUT. */
int ss_parse_double(const char *text, double *out);

SS_C_END
