/* SPDX-License-Identifier: Apache-2.0 */
/* What people and scripts read. Every function writes to a stream and returns 0 or an error. */
#pragma once

#include "stepsim/result.h"
#include "stepsim/text.h"

SS_C_BEGIN

/* Version of the JSON documents; CONTRIBUTING.md says when it is raised. */
#define SS_SCHEMA_VERSION 3
/* Returns the version of the library, "0.3.0". */
const char *ss_version(void);

struct ss_report_options {
    int json;
    int brief;                         /* text of a run: the answer alone, a line */
    int verbose;                       /* text of a run: all of it, not one screen */
    int color, width;                  /* text: as in struct ss_display */
    double measured_s, measured_bytes; /* 0 = not given */
    double wall_s;                     /* < 0: not asked for (--timing) */
    const struct ss_notes *notes;      /* may be NULL */
    const struct ss_notes *ignored;    /* what of the job has no effect on time or memory; may be NULL */
    const struct ss_fix *fixes;        /* for a job that does not fit */
    int nfixes;
    const struct ss_smallest *smallest; /* for such a job; NULL: not searched */
    /* What makes `inputs` enough to run the job again (stepsim/import.h reads it back); NULL: left out. */
    const struct ss_request *request; /* words of the job */
    const struct ss_request *how;     /* options that say how it was simulated */
    const struct ss_files *files;     /* that the job was read from; those of the words are left out */
    const struct ss_notes *dropped;   /* names of flags of the real job that this one lacks; may be NULL */
    struct ss_cache *cache;           /* keeps hashes of the files; may be NULL */
};
struct ss_scenario;
/* Returns the options that a scenario knows: what was measured, its notes and its words, which stay the scenario's; text, no wall time. */
struct ss_report_options ss_report_of(const struct ss_scenario *s);
/* Writes what `stepsim run` prints of a run: answer first, breakdown, memory, warnings. `opt` may be NULL: text. Error: SS_ERR_IO, as of all reports. */
int ss_report_run(const struct ss_run *run, const struct ss_report_options *opt, FILE *out,
                  struct ss_error *err);
/* Writes what `stepsim plan` prints: groups, layers of every stage and chunk, microbatches, memory. The run needs a schedule and
 * a plan; where it has no result, memory is left out. `opt` may be NULL: text. */
int ss_report_plan(const struct ss_run *run, const struct ss_report_options *opt, FILE *out,
                   struct ss_error *err);
/* Writes as CSV what a rank of a pipeline stage does in each kind of slot, in order: its operators, the collectives that it posts and
 * waits for (`stepsim plan --steps`). The plan is of layer level or below; a plan of another level has no rows. The rows are those of
 * the stage's first class. Errors: SS_ERR_USAGE where there is no such stage, SS_ERR_IO. */
int ss_report_steps(const struct ss_plan *plan, int stage, FILE *out, struct ss_error *err);
/* Writes what `stepsim program read` prints of a replayed program without a model: time by class and label, peaks of memory. */
int ss_report_timeline(const struct ss_program *program, const struct ss_timeline *timeline, int engine,
                       const struct ss_report_options *opt, FILE *out, struct ss_error *err);
/* Writes as CSV the time of every rank by label, in ms, and its memory at its peak, in MiB (`--ranks-csv`; columns:
 * docs/reference/formats.md). What idles is one column, `idle_ms`; the times of a row sum to `iteration_ms`. `plan` NULL: a row a class of the
 * program. */
int ss_report_ranks(const struct ss_plan *plan, const struct ss_program *program,
                    const struct ss_timeline *timeline, FILE *out, struct ss_error *err);
/* Writes what `stepsim platform show` prints. */
int ss_report_platform(const struct ss_platform *p, int json, FILE *out, struct ss_error *err);
/* Writes what `stepsim import` prints: a file of flags that makes the job of this request, each with the file and line that it is from,
 * or the same as JSON. The words stand as ss_request_flatten leaves them; `assumed` is what was assumed, or is not modelled. Flags
 * that are refused, or that there are none of, are told so; then the file makes no job. */
int ss_report_request(const struct ss_request *r, const struct ss_notes *assumed, int json, FILE *out,
                      struct ss_error *err);
/* Returns how many flags of a request are refused, or unknown. */
int ss_report_refused(const struct ss_request *r);
/* Writes what `stepsim list` prints; `what` is "models", "platforms", "cards", "stacks", "schedules" or "props"; NULL lists all but the props. */
int ss_report_list(const char *what, const struct ss_display *view, FILE *out, struct ss_error *err);
/* Calls `name` with each name of that kind and a line about it, "" for a file, which is not read. Calls it for no other word
 * than those of ss_report_list. */
int ss_list_names(const char *what, void (*name)(void *ctx, const char *name, const char *description),
                  void *ctx, struct ss_error *err);
/* Writes what `stepsim schedule list` prints: source, conditions, bubble and activations in flight of every known schedule. */
int ss_report_schedules(int json, FILE *out, struct ss_error *err);
struct ss_schedule_view {
    int json, color;
    int width;       /* columns */
    double times[3]; /* F, I, W of a chunk; B = I + W */
};
/* Writes what `stepsim schedule show` prints: the order as a Gantt chart of letters, F or f (chunk 1) and the microbatch, with free
 * communication. */
int ss_report_schedule(const struct ss_schedule *s, const struct ss_schedule_view *view, FILE *out,
                       struct ss_error *err);
/* Writes as JSON that a command (`program check`, `platform check`) found n files good. */
int ss_report_checked(const char *command, int n, const char *const *names, FILE *out, struct ss_error *err);
/* Writes an error as one JSON object. */
int ss_report_error(const struct ss_error *e, FILE *out);

/* An output file that appears whole or not at all, gzipped when its name ends in ".gz". NULL, "" and "-"
 * are stdout. Commit and abort free it; commit fails when the text did not reach the disk (or the pipe). */
struct ss_output;
/* Returns 1 when both are names of one file, by device and inode; "-" is stdout, where that goes to a file or pipe. "" and NULL
 * are no file, and /dev/null takes any number. */
int ss_output_same(const char *a, const char *b);
/* Would writing it destroy an input? SS_ERR_INPUT for one of `inputs`, and, `start` not NULL, for a file that begins
 * otherwise or, `start` "", that is no text: a slip of who means to read it. */
int ss_output_check(const char *path, const char *start, const struct ss_files *inputs, struct ss_error *err);
/* Returns 1 where a path ends in .png or .pdf: what is written to it is an SVG, which a program converts when the output ends. */
int ss_convert_wanted(const char *path);
/* Checks that such a program is installed. Error: SS_ERR_UNSUPPORTED. */
int ss_convert_check(const char *path, struct ss_error *err);
/* *stream belongs to the output, which closes it. */
int ss_output_begin(const char *path, struct ss_output **out, FILE **stream, struct ss_error *err);
/* Puts the finished file in its place and frees the output, also when it fails: SS_ERR_IO, and there is no file. */
int ss_output_commit(struct ss_output *o, struct ss_error *err);
/* Commits when rc, the status of who wrote, is 0, and aborts else. A stream that failed is told with the file's name and the
 * reason. Returns the status of both. */
int ss_output_end(struct ss_output *o, int rc, struct ss_error *err);
/* Throws the unfinished file away and frees the output. NULL is allowed. */
void ss_output_abort(struct ss_output *o);
/* Removes the unfinished file and frees nothing: for the signal handler of a program about to die. */
void ss_output_discard(const struct ss_output *o);

SS_C_END
