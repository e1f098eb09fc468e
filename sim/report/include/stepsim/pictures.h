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

#ifdef __cplusplus
}
#endif
#endif
