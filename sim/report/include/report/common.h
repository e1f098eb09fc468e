/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the text and the JSON report share. */
#pragma once

#include <jansson.h>

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

/* ---- json_kept.c: parts that are the same for many jobs, kept as text in a cache, which may be NULL ---- */
#define SS_JSON_KEPT_MOST 4
struct ss_json_kept {
    struct ss_cache *cache;
    int n;
    struct ss_json_kept_part {
        const json_t *hole; /* the empty object that stands in the document for the part */
        const char *text;
        struct ss_cache_key key;
    } part[SS_JSON_KEPT_MOST];
};
/* Returns an object for a document that ss_json_write_kept writes with `kept`: that of a key, which `object` makes of `of` where it is
 * not kept. `depth`: how many objects are around it. Without a cache the object itself is returned. */
json_t *ss_json_keep(struct ss_json_kept *kept, struct ss_cache_key key, json_t *(*object)(const void *of),
                     const void *of, int depth);
/* Does ss_json_write with parts that are kept, and gives them back. */
int ss_json_write_kept(json_t *document, struct ss_json_kept *kept, FILE *out, struct ss_error *err);

/* ---- json_text.c ---- */
struct ss_json_text {
    char *at; /* freed by the caller */
    size_t n, cap;
    bool lost; /* no memory, or no whole value */
    const struct ss_json_kept *kept;
};
/* Adds a value; returns whether all of it was added. */
bool ss_json_add(struct ss_json_text *t, const json_t *value, int depth);

/* ---- json_common.c ---- */
/* These take over `value`, as jansson does. Where memory runs out, or `value` is NULL, the object or
 * array that should hold it is spoiled: it can no longer be written, so that no document lacks a part. */
void ss_json_set(json_t *object, const char *key, json_t *value);
void ss_json_append(json_t *array, json_t *value);
/* Returns true if no part of a value is missing. */
bool ss_json_is_whole(const json_t *value);
/* Does json_decref for a value that may be spoiled. */
void ss_json_free(json_t *value);
/* Does json_string for a path or a name, which may hold any bytes. Bytes that are no UTF-8 become '?'. */
json_t *ss_json_string(const char *text);
/* Adds "verdict", "reason" and, for a refused job, "code". */
void ss_json_verdict(json_t *object, const struct ss_summary *s);
/* Adds the known metrics of one place (enum ss_metric_place; < 0: of all places) in the order of their
 * list. */
void ss_json_metrics(json_t *object, int place, const struct ss_summary *s);
/* Begins a document: {"schema_version": 2, "version": "...", "command": "..."} */
json_t *ss_json_document(const char *command);
/* Returns what the kernels of a run compute; run.compute must not be NULL. */
json_t *ss_json_compute(const struct ss_run *run);
json_t *ss_json_notes(const struct ss_notes *notes);
/* Adds "packing" if the job packs sequences. */
void ss_json_add_packing(json_t *to, const struct ss_plan *plan);
/* Adds "expert_load" if the model is a mixture of experts. */
void ss_json_add_load(json_t *to, const struct ss_plan *plan);
/* Returns all that the prediction was made from, with defaults filled in: job, model, stack, platform. The latter three are taken from `kept`,
 * which may be NULL, in a document that has the inputs at its top. */
json_t *ss_json_inputs(const struct ss_plan *plan, const struct ss_report_options *opt,
                       struct ss_json_kept *kept);
json_t *ss_json_platform(const struct ss_platform *p);
/* Returns the seconds of each label as milliseconds. */
json_t *ss_json_labels(const double seconds[SS_LABEL_COUNT]);
/* Does ss_json_keep of a platform. */
json_t *ss_json_platform_kept(const struct ss_platform *p, struct ss_json_kept *kept, int depth);
/* Writes a document with 10 significant digits and a newline, and frees it. */
int ss_json_write(json_t *document, FILE *out, struct ss_error *err);
