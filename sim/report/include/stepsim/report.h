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

#define SS_SCHEMA_VERSION 2
const char *ss_version(void);

struct ss_report_options {
    int json;
    int color;                         /* text: ANSI colours */
    double measured_s, measured_bytes; /* 0 = not given */
    double wall_s;                     /* < 0: not asked for (--timing) */
    const struct ss_notes *notes;      /* may be NULL */
    const struct ss_fix *fixes;        /* for a job that does not fit */
    int nfixes;
};
/* `run`: answer first, breakdown, memory, warnings. */
int ss_report_run(const struct ss_run *run, const struct ss_report_options *opt, FILE *out, struct ss_error *err);
/* `plan`: groups, layers of every stage and chunk, microbatches, memory. The run needs schedule and
 * plan; memory is left out where there is no result. */
int ss_report_plan(const struct ss_run *run, const struct ss_report_options *opt, FILE *out, struct ss_error *err);
/* `program read`: a replayed program without a model: time by class and label, memory peaks. */
int ss_report_timeline(const struct ss_program *program, const struct ss_timeline *timeline, int engine,
                       const struct ss_report_options *opt, FILE *out, struct ss_error *err);
/* `platform show`. */
int ss_report_platform(const struct ss_platform *p, int json, FILE *out, struct ss_error *err);
/* `list`: what is "models", "platforms", "cards", "stacks", "schedules" or "props"; NULL lists all but the props. */
int ss_report_list(const char *what, int json, FILE *out, struct ss_error *err);
/* The names, one after the other, and a line on each, "" for those that are files (which it does not read); of another word
 * than above none. */
int ss_list_names(const char *what, void (*name)(void *ctx, const char *name, const char *description), void *ctx,
                  struct ss_error *err);
/* `schedule list`: source, conditions, bubble, activations in flight of every known schedule. */
int ss_report_schedules(int json, FILE *out, struct ss_error *err);
struct ss_schedule_view {
    int json, color;
    int width;       /* columns */
    double times[3]; /* F, I, W of a chunk; B = I + W */
};
/* `schedule show`: the order as a Gantt chart of letters: F or f (chunk 1) and the microbatch, free communication. */
int ss_report_schedule(const struct ss_schedule *s, const struct ss_schedule_view *view, FILE *out,
                       struct ss_error *err);
/* `program check`, `platform check` as JSON: the files found good. */
int ss_report_checked(const char *command, int n, const char *const *names, FILE *out, struct ss_error *err);
/* An error as one JSON object. */
int ss_report_error(const struct ss_error *e, FILE *out);

/* An output file that appears whole or not at all, gzipped when its name ends in ".gz". NULL, "" and "-"
 * are stdout. Commit and abort free it; commit fails when the text did not reach the disk (or the pipe). */
struct ss_output;
/* Whether both are names of one file; "", "-" and NULL are stdout, which is none. */
int ss_output_same(const char *a, const char *b);
/* Would writing it destroy an input? SS_ERR_INPUT for one of `inputs`, and, `start` not NULL, for a file that begins
 * otherwise: a slip of who means to read it. */
int ss_output_check(const char *path, const char *start, const struct ss_files *inputs, struct ss_error *err);
/* *stream belongs to the output, which closes it. */
int ss_output_begin(const char *path, struct ss_output **out, FILE **stream, struct ss_error *err);
int ss_output_commit(struct ss_output *o, struct ss_error *err);
void ss_output_abort(struct ss_output *o);
/* Removes the unfinished file and frees nothing: for the signal handler of a program about to die. */
void ss_output_discard(const struct ss_output *o);

#ifdef __cplusplus
}
#endif
#endif
