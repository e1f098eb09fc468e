/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers with units, as in files and on command lines. */
#ifndef STEPSIM_UNITS_H
#define STEPSIM_UNITS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ss_unit {
    SS_UNIT_NONE,      /* plain number                                  */
    SS_UNIT_COUNT,     /* whole number >= 0                             */
    SS_UNIT_FRACTION,  /* 0..1, also "85%"                              */
    SS_UNIT_BYTES,     /* B kB MB GB TB KiB MiB GiB TiB                 */
    SS_UNIT_BANDWIDTH, /* Bps kBps MBps GBps TBps GiBps, Gbps = bits/8  */
    SS_UNIT_FLOPS,     /* f Mf Gf Tf Pf (FLOP/s), also TFLOPs           */
    SS_UNIT_TIME,      /* s ms us ns (result in s)                      */
    SS_UNIT_WATT,      /* W kW                                          */
    SS_UNIT_PRICE      /* USD/h                                         */
};
/* Parses "25GBps" -> 25e9. A unit is required except for NONE, COUNT and FRACTION. Finite only.
 * 0, or SS_ERR_INPUT with *why set to a static text. */
int ss_unit_parse(const char *text, enum ss_unit unit, double *out, const char **why);
/* Prints the shortest text, without an exponent where possible, that ss_unit_parse reads back to
 * exactly the same value. */
char *ss_unit_format(double value, enum ss_unit unit, char *buf, size_t size);
/* How a value of that unit is written, for messages: "50GBps or 400Gbps". Never NULL. */
const char *ss_unit_example(enum ss_unit unit);
/* Strict number parsing: the whole text, no overflow. */
int ss_parse_i64(const char *text, int64_t lo, int64_t hi, int64_t *out);
int ss_parse_double(const char *text, double *out);

#ifdef __cplusplus
}
#endif
#endif
