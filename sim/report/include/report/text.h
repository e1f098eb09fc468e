/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_REPORT_TEXT_H
#define SS_REPORT_TEXT_H

#include "stepsim/report.h"

int ss_text_run(const struct ss_run *run, const struct ss_report_options *opt, FILE *out,
                struct ss_error *err);
int ss_text_plan(const struct ss_run *run, const struct ss_report_options *opt, FILE *out,
                 struct ss_error *err);

/* Parts that several reports print. */
/* On how few GPUs the model fits; nothing of NULL. */
void ss_text_smallest(const struct ss_smallest *s, FILE *out);
/* What kernels are of, in two or three lines, and the ten heaviest; nothing without run.compute. */
void ss_text_parts(const struct ss_run *run, FILE *out);
void ss_text_kernels(const struct ss_run *run, FILE *out);
void ss_text_job(const struct ss_plan *plan, FILE *out);
void ss_text_memory(const struct ss_result *r, FILE *out);
void ss_text_notes(const char *title, const struct ss_notes *notes, unsigned long most, FILE *out);
/* What was left out, and what of a job has no effect, a paragraph each; nothing where there is none. SS_OK or SS_ERR_NOMEM. */
int ss_text_ignored(const struct ss_report_options *opt, FILE *out);
/* MFU with half of the attention square, as causal kernels compute it: a share, 0 where there is no MFU. */
double ss_text_causal_mfu(const struct ss_summary *u);
/* Whether that is so much less than the MFU, on long sequences, that both are told: the whole square can be more than a card computes. */
int ss_text_is_causal(const struct ss_summary *u);
/* "MFU 42 % (causal 22 %)", the latter where it is told; 64 bytes of buf hold it. Returns buf. */
const char *ss_text_mfu(const struct ss_summary *u, int digits, char *buf, size_t size);
/* "23.57 s", "451.2 ms": four significant digits, or one and a power of ten; in 32 bytes of buf. */
const char *ss_text_time(double seconds, char *buf, size_t size);
/* " +-3.1 %", the error band of the iteration; "" where it is not known. Returns buf. */
const char *ss_text_band(const struct ss_summary *u, char buf[32]);
/* That of an iteration, in the digits that hold: "2.249 s (2.241 .. 2.251: order of equal events decides)"; returns buf. */
const char *ss_text_iteration(const struct ss_result *r, char *buf, size_t size);

#endif
