/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the text and the JSON report share. */
#pragma once

#include "base/base.h"
#include "base/cache.h"
#include "report/row.h"
#include "stepsim/model.h"
#include "stepsim/params.h"
#include "stepsim/report.h"

/* Returns the iteration without jitter, s. */
double ss_report_undisturbed_s(const struct ss_result *r);

/* Puts the warnings of the plan and of the reader of the job into one list, which the caller frees with
 * ss_notes_free. */
int ss_report_warnings(const struct ss_run *run, const struct ss_report_options *opt, struct ss_notes *out);
int ss_report_guessed(const struct ss_run *run, struct ss_notes *out);

/* Writes a count with three digits: "8.03B". Returns buf. */
char *ss_report_count(double n, char *buf, size_t size);
/* Writes the parameters of a model whose vocabulary has `padded_vocab` rows. With " parameters" as
 * `word` a mixture gets "671B parameters (37.6B active)", another model "8.03B parameters", and layers
 * that predict more tokens " and 11.5B of multi-token prediction (--mtp-num-layers 1)". Returns buf. */
char *ss_report_parameters(const struct ss_model *m, int padded_vocab, const char *word, char *buf,
                           size_t size);

/* Returns 1 if a report tells the load of the experts: they are loaded unequally, or copies of tokens
 * are dropped. */
int ss_report_shows_load(const struct ss_plan *plan);
/* Returns 1 if a report tells how many copies are dropped: the per cent with two digits are not 0. */
static inline int ss_report_shows_dropped(const struct ss_load_figures *l)
{
    return l->dropped >= 5e-5;
}
/* Returns 1 if collectives of tensor, context or expert groups are inside slots, so that the links of
 * the result do not count their bytes. */
int ss_report_links_partial(const struct ss_run *run);
/* Writes the layout: "tp 2, pp 8, cp 1, dp 16", and for a mixture of experts ", ep 32, etp 1, alltoall"
 * behind it. Returns buf. */
char *ss_report_layout(const struct ss_plan *plan, char *buf, size_t size);
/* Writes the precision: "bf16", "mxfp8", "fp8 blockwise". The fp8 recipe "delayed" has no word. Returns
 * buf. */
char *ss_report_precision(const struct ss_job *job, char *buf, size_t size);

/* Returns SS_ERR_IO when the stream has failed, else 0. */
int ss_report_done(FILE *out, struct ss_error *err);

/* ---- json_text.c ---- */
/* A value of a document. What takes one frees it. Where memory runs out, or a part is NULL or not whole, what holds it is not whole either:
 * it cannot be written, so that no document lacks a part. Nobody looks whether an object has a key already. */
struct ss_json {
    char *at; /* the text, in which lines of parts are indented as if the value were the document */
    size_t n, cap, lines;
    char open; /* '{' or '[' as long as parts are added; 0: the text is whole */
    bool lost;
};
struct ss_json *ss_json_begin_object(void);
struct ss_json *ss_json_begin_list(void);
struct ss_json *ss_json_null(void);
/* Returns true if no part of a value is missing. */
bool ss_json_is_whole(const struct ss_json *value);
void ss_json_free(struct ss_json *value);
/* Returns the object that `object` makes of `of`, whose text is kept by a key. Without a cache (NULL) it is made anew. */
struct ss_json *ss_json_keep(struct ss_cache *cache, struct ss_cache_key key,
                             struct ss_json *(*object)(const void *of), const void *of);
/* Writes a document with 10 significant digits and a newline, and frees it. */
int ss_json_write(struct ss_json *document, FILE *out, struct ss_error *err);
/* Frees a document and returns its text, which the caller frees; NULL: no memory, or it is not whole. */
char *ss_json_text(struct ss_json *document);

/* ---- json_common.c ---- */
/* Adds "verdict", "reason" and, for a refused job, "code". */
void ss_json_verdict(struct ss_json *object, const struct ss_summary *s);
/* Adds the known metrics of one place (enum ss_metric_place; < 0: of all places) in the order of their
 * list. */
void ss_json_metrics(struct ss_json *object, int place, const struct ss_summary *s);
/* Begins a document: {"schema_version": 2, "version": "...", "command": "..."} */
struct ss_json *ss_json_document(const char *command);
/* Returns what the kernels of a run compute; run.compute must not be NULL. */
struct ss_json *ss_json_compute(const struct ss_run *run);
/* The fewest GPUs that hold a job; null: none were found. */
struct ss_json *ss_json_smallest(const struct ss_smallest *s);
struct ss_json *ss_json_notes(const struct ss_notes *notes);
/* Adds "packing" if the job packs sequences. */
void ss_json_add_packing(struct ss_json *to, const struct ss_plan *plan);
/* Adds "expert_load" if the model is a mixture of experts. */
void ss_json_add_load(struct ss_json *to, const struct ss_plan *plan);
/* Returns all that the prediction was made from, with defaults filled in: job, model, stack, platform. The texts of the latter three are
 * kept in the cache of the options. */
struct ss_json *ss_json_inputs(const struct ss_plan *plan, const struct ss_report_options *opt);
struct ss_json *ss_json_platform(const struct ss_platform *p);
/* Returns the seconds of each label as milliseconds. */
struct ss_json *ss_json_labels(const double seconds[SS_LABEL_COUNT]);
/* Does ss_json_keep of a platform. */
struct ss_json *ss_json_platform_kept(const struct ss_platform *p, struct ss_cache *cache);
