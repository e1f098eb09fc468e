/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of a run: Gantt chart, trace, memory chart and one HTML page, all fed by one replay (docs/guide/pictures.md). */
#ifndef STEPSIM_PICTURES_H
#define STEPSIM_PICTURES_H

#include <stdio.h>

#include "stepsim/error.h"
#include "stepsim/program.h"
#include "stepsim/replay.h"
#include "stepsim/report.h"
#include "stepsim/result.h"

#ifdef __cplusplus
extern "C" {
#endif

enum ss_picture_color { SS_COLOR_PHASE, SS_COLOR_MICROBATCH };

struct ss_picture_request {
    /* Where each goes; NULL = not wanted. */
    FILE *gantt;  /* SVG: stages x time */
    FILE *memory; /* SVG: memory over time, a panel a class */
    FILE *report; /* HTML: one page that needs nothing else */
    FILE *trace;  /* JSON in the Trace Event Format, written while the replay goes on, in bounded memory */
    FILE *kineto; /* the same with the names, categories and streams of a trace of PyTorch's profiler */
    double window_start, window_end; /* s: what is drawn; end <= start: the whole iteration */
    int color;                       /* enum ss_picture_color: boxes of the Gantt chart */
    /* NULL: a program without a model, so without capacity and answer */
    const struct ss_run *run;
    const struct ss_report_options *options; /* notes, measured values and fixes for the page; NULL = none */
    /* Called about a hundred times with the share of the iteration replayed so far, 0..1; may be NULL. */
    void (*progress)(void *ctx, double share);
    void *progress_ctx;
};

/* Replays the program once more on `engine` and draws all that the request wants; `timeline` is that of the same program. Errors:
 * those of ss_replay, SS_ERR_IO. */
int ss_pictures_draw(const struct ss_program *program, const struct ss_timeline *timeline, int engine,
                     const struct ss_picture_request *request, struct ss_error *err);

/* ---- several schedules ---- */
/* When a rank ran a slot, or work outside the schedule (phase, chunk and microbatch -1); times in s or in the unit of the slots. */
struct ss_slot_time {
    int rank, phase, chunk, microbatch;
    double start, end;
};
/* What a schedule did; by rank, and of a rank by time. */
struct ss_schedule_strip {
    char name[256];
    int stages, chunks;
    double length;          /* of the iteration */
    double bubble_fraction; /* of the rank that idles most */
    double kept;            /* most activations of a rank, GiB or microbatches of a whole stage */
    struct ss_slot_time *slots;
    size_t n, cap;
};
/* Draws schedules as an SVG, one below the other on one time axis. seconds: 1: times are seconds and activations GiB. Error:
 * SS_ERR_IO. */
int ss_schedules_svg(const struct ss_schedule_strip *strips, int n, int seconds, FILE *out,
                     struct ss_error *err);

/* Draws a cluster as an SVG: nodes, switches and links with their rates, as the routes of messages cross them. Where there are more than
 * four nodes, one of each kind is drawn, with how many there are. Errors: SS_ERR_NOMEM, SS_ERR_IO. */
int ss_platform_svg(const struct ss_platform *p, FILE *out, struct ss_error *err);

#ifdef __cplusplus
}
#endif
#endif
