/* SPDX-License-Identifier: Apache-2.0 */
/* What the text and the JSON report share. */
#ifndef SS_REPORT_COMMON_H
#define SS_REPORT_COMMON_H

#include <jansson.h>
#include <stdio.h>

#include "base/base.h"
#include "report/row.h"
#include "stepsim/model.h"
#include "stepsim/params.h"
#include "stepsim/report.h"

/* The iteration without jitter, s. */
double ss_report_undisturbed_s(const struct ss_result *r);

/* Everything the user should know, plan's and reader's, in one list; frees with ss_notes_free. */
int ss_report_warnings(const struct ss_run *run, const struct ss_report_options *opt, struct ss_notes *out);
int ss_report_guessed(const struct ss_run *run, struct ss_notes *out);

/* "8.03B" with three digits; returns buf. */
char *ss_report_count(double n, char *buf, size_t size);
/* "671B parameters (37.6B active)" of a mixture, "8.03B parameters" of another model, where `word` is " parameters", with
 * so many rows of the vocabulary; returns buf. */
char *ss_report_parameters(const struct ss_model *m, int padded_vocab, const char *word, char *buf,
                           size_t size);

/* Whether a result tells how its experts are loaded: they are not alike, or drop copies of tokens. */
int ss_report_shows_load(const struct ss_plan *plan);
/* Whether it tells how many copies are dropped: in per cent of two digits they are not 0. */
static inline int ss_report_shows_dropped(const struct ss_load_figures *l)
{
    return l->dropped >= 5e-5;
}
/* Whether collectives of tensor, context or expert groups are inside slots, so that no link of the result counts them. */
int ss_report_links_partial(const struct ss_run *run);
/* "tp 2, pp 8, cp 1, dp 16", of a mixture of experts ", ep 32, etp 1, alltoall" behind it. Returns buf. */
char *ss_report_layout(const struct ss_plan *plan, char *buf, size_t size);
/* "bf16", "mxfp8", "fp8 blockwise": of fp8 the recipe where it is not "delayed", the one without a word. Returns buf. */
char *ss_report_precision(const struct ss_job *job, char *buf, size_t size);

/* SS_ERR_IO when the stream has failed. */
int ss_report_done(FILE *out, struct ss_error *err);

/* ---- json_common.c ---- */
/* These take `value`, as jansson does. Where there is no memory, or `value` is NULL, what should hold it is spoiled: it cannot be
 * written any more, so that no document appears that lacks a part. */
void ss_json_set(json_t *object, const char *key, json_t *value);
void ss_json_append(json_t *array, json_t *value);
/* Whether nothing is missing in it. */
bool ss_json_is_whole(const json_t *value);
/* json_decref for what may be spoiled. */
void ss_json_free(json_t *value);
/* json_string; paths and names may hold any bytes, JSON holds UTF-8 only: others become '?'. */
json_t *ss_json_string(const char *text);
/* "verdict", "reason" and, of a refused job, "code". */
void ss_json_verdict(json_t *object, const struct ss_summary *s);
/* Those of one place (enum ss_metric_place; < 0: of all) that are known, in the order of their list. */
void ss_json_metrics(json_t *object, int place, const struct ss_summary *s);
/* {"schema_version": 2, "version": "...", "command": "..."} */
json_t *ss_json_document(const char *command);
/* What kernels are of (run.compute, not NULL). */
json_t *ss_json_compute(const struct ss_run *run);
json_t *ss_json_notes(const struct ss_notes *notes);
/* Mean and percentiles, times `scale`. */
json_t *ss_json_spread(const struct ss_load_spread *s, double scale);
/* "packing" of packed sequences; nothing of other jobs. */
void ss_json_add_packing(json_t *to, const struct ss_plan *plan);
/* "expert_load" of mixtures of experts; nothing of other jobs. */
void ss_json_add_load(json_t *to, const struct ss_plan *plan);
/* job, model, stack, platform: everything that the prediction read, resolved */
json_t *ss_json_inputs(const struct ss_plan *plan, const struct ss_report_options *opt);
json_t *ss_json_platform(const struct ss_platform *p);
/* Seconds by label as milliseconds. */
json_t *ss_json_labels(const double seconds[SS_LABEL_COUNT]);
/* Writes with 10 significant digits and a newline, frees the document. */
int ss_json_write(json_t *document, FILE *out, struct ss_error *err);

#endif
