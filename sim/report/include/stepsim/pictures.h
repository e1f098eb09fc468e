/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of a run: Gantt chart, trace, memory chart and one HTML page, all fed by one replay (docs/guide/pictures.md). */
#pragma once

#include "stepsim/report.h"

SS_C_BEGIN

enum ss_picture_color { SS_COLOR_PHASE, SS_COLOR_MICROBATCH };

/* From an ideal to the answer, for the card. */
#define SS_CARD_STEPS 24
#define SS_CARD_CHANGES 2
struct ss_card_steps {
    int n, stage; /* stage: the busiest one, whose time is opened */
    struct {
        char words[64];
        double seconds;
        int tone; /* enum ss_step_tone of report/palette.h */
    } step[SS_CARD_STEPS];
    int nchanges; /* what helps most, best first */
    struct {
        char words[256]; /* flags */
        double seconds;  /* of the iteration with them */
        int outcome;     /* enum ss_outcome */
    } change[SS_CARD_CHANGES];
    /* of several cards in one file: which this is and of how many; the longest time of all; how it compares with the first */
    int index, of;
    double longest;
    char against[96];
};

struct ss_picture_request {
    /* Where each goes; NULL = not wanted. */
    FILE *gantt;  /* SVG: stages x time */
    FILE *memory; /* SVG: memory over time, a panel a class */
    FILE *report; /* HTML: one page that needs nothing else */
    FILE *trace;  /* JSON in the Trace Event Format, written while the replay goes on, in bounded memory */
    FILE *kineto; /* the same with the names, categories and streams of a trace of PyTorch's profiler */
    FILE *card;   /* SVG: one iteration, explained; needs `run` and `steps` */
    double window_start, window_end;   /* s: what is drawn; end <= start: the whole iteration */
    int whole;                         /* 1: Gantt chart and card are not folded */
    double width;                      /* px of each picture; 0: its own */
    int color;                         /* enum ss_picture_color: boxes of the Gantt chart */
    const struct ss_card_steps *steps; /* for the card, which heads the page, too; NULL: none */
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
    int chunk2, microbatch2; /* the backward of a pair (SS_PHASE_FB); -1: not known */
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
/* Draws schedules as an SVG, one below the other on one time axis. seconds: 1: times are seconds and activations GiB; width: px, 0: as
 * their slots need. Error: SS_ERR_IO. */
int ss_schedules_svg(const struct ss_schedule_strip *strips, int n, int seconds, double width, FILE *out,
                     struct ss_error *err);

/* Draws a cluster as an SVG: nodes, switches and links with their rates, as the routes of messages cross them. Where there are more than
 * four nodes, one of each kind is drawn, with how many there are. width: px, 0: as the boxes need. Errors: SS_ERR_NOMEM, SS_ERR_IO. */
int ss_platform_svg(const struct ss_platform *p, double width, FILE *out, struct ss_error *err);

SS_C_END
