/* SPDX-License-Identifier: Apache-2.0 */
/* What people and scripts read. Every function writes to a stream and returns 0 or an error. */
#ifndef STEPSIM_REPORT_H
#define STEPSIM_REPORT_H

#include <stdio.h>

#include "stepsim/error.h"
#include "stepsim/result.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SS_SCHEMA_VERSION 1
const char *ss_version(void);

struct ss_report_options {
    int json;
    double measured_s, measured_bytes; /* 0 = not given */
    double wall_s;                     /* < 0: not asked for (--timing) */
    const struct ss_notes *notes;
    const struct ss_fix *fixes;
    int nfixes;
};
/* `run`: answer first, breakdown, memory, warnings. */
int ss_report_run(const struct ss_run *run, const struct ss_report_options *opt, FILE *out, struct ss_error *err);
/* `plan`: groups, layers of every stage and chunk, microbatches, memory. */
int ss_report_plan(const struct ss_run *run, const struct ss_report_options *opt, FILE *out, struct ss_error *err);
/* `platform show`. */
int ss_report_platform(const struct ss_platform *p, int json, FILE *out, struct ss_error *err);
/* An error as one JSON object. */
int ss_report_error(const struct ss_error *e, FILE *out);

#ifdef __cplusplus
}
#endif
#endif
