/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "stepsim/assumed.h"
#include "stepsim/report.h"

/* Parts that several reports print. */
/* Writes on how few GPUs the model fits; nothing if `s` is NULL. */
void ss_text_smallest(const struct ss_smallest *s, FILE *out);
/* Writes what the kernels compute in two or three lines, and the ten heaviest kernels; nothing without
 * run.compute. */
void ss_text_parts(const struct ss_run *run, FILE *out);
int ss_text_kernels(const struct ss_run *run, const struct ss_display *view, FILE *out);
void ss_text_job(const struct ss_plan *plan, FILE *out);
/* Tables of the stages: where the time goes, and memory; without `verbose` of four of them. Return SS_OK or SS_ERR_NOMEM. */
int ss_text_stages(const struct ss_result *r, const struct ss_report_options *opt, FILE *out);
/* Returns how many stages these tables lack. */
int ss_text_stages_left(const struct ss_result *r, const struct ss_report_options *opt);
int ss_text_memory(const struct ss_result *r, const struct ss_report_options *opt, FILE *out);
void ss_text_notes(const char *title, const struct ss_notes *notes, unsigned long most, FILE *out);
/* Lists the values that nobody gave, and where each comes from, and then what the iteration takes without
 * those that matter most; nothing where all were given. `r` and `assumed` may be NULL. */
void ss_text_assumed(const struct ss_request *r, const struct ss_assumed *assumed, FILE *out);
/* Writes "without: 14.20 s (+6.0 %), 81.0 GiB". Returns buf. */
char *ss_text_without(const struct ss_without *w, char *buf, size_t size);
/* Writes a paragraph about the flags that --drop left out, and one about the flags without effect, where
 * there are any. Returns SS_OK or SS_ERR_NOMEM. */
int ss_text_ignored(const struct ss_report_options *opt, FILE *out);
/* Writes "599 TFLOP/s/GPU as Megatron-Bridge logs it (causal half of attention)", or "725 TFLOP/s/GPU" where
 * no log has the figure. 128 bytes of buf hold the text. Returns buf. */
const char *ss_text_tflops(const struct ss_summary *u, char *buf, size_t size);
/* Returns the MFU that counts what the causal mask, windows and chunks leave of the attention square, as
 * kernels compute it: a share; 0 where there is no MFU. */
double ss_text_causal_mfu(const struct ss_summary *u);
/* Returns 1 if the causal MFU is so much lower than the MFU, as on long sequences, that both are told.
 * The whole square can be more than a card computes. */
int ss_text_is_causal(const struct ss_summary *u);
/* Writes "MFU 42 % (causal 22 %)", or without the causal MFU where it is not told. 64 bytes of buf hold
 * the text. Returns buf. */
const char *ss_text_mfu(const struct ss_summary *u, int digits, char *buf, size_t size);
/* Writes a time with four significant digits ("23.57 s", "451.2 ms"), or with one digit and a power of
 * ten, into 32 bytes of buf. */
const char *ss_text_time(double seconds, char *buf, size_t size);
/* Writes the error band of the iteration, " +-3.1 %", or " -5.1 to +14.0 %" of the predicted time where
 * assumptions widen it, or "" where it is not known. Returns buf. */
const char *ss_text_band(const struct ss_summary *u, char buf[32]);
/* Writes the time of an iteration in the digits that hold: "2.249 s (2.241 .. 2.251: order of equal
 * events decides)". Returns buf. */
const char *ss_text_iteration(const struct ss_result *r, char *buf, size_t size);
