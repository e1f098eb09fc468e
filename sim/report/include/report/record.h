/* SPDX-License-Identifier: Apache-2.0 */
/* What a replay did, as boxes in lanes: a lane for each class's compute stream, each outgoing channel, each
 * collective stream. Long runs are merged while they are recorded, so the room is bounded. */
#pragma once

#include "report/follow.h"
#include "stepsim/replay.h"

enum ss_box_kind { SS_BOX_RUN, SS_BOX_WAIT, SS_BOX_SEND, SS_BOX_COLLECTIVE };

struct ss_box {
    double start, end;
    double busy;    /* s: sum over the boxes that were merged into it */
    double bytes;   /* SEND, COLLECTIVE: bytes that are moved */
    int kind, slot; /* slot -1: not known */
    int label;      /* WAIT, COLLECTIVE: enum ss_label */
    int index; /* SEND: channel; COLLECTIVE: collective; RUN: microbatch of the last box that was merged */
    int count; /* number of slots whose boxes were merged into it; 1: nothing was merged */
    int mixed; /* RUN: 1: the merged boxes are of several phases */
};

enum ss_lane_kind { SS_LANE_COMPUTE, SS_LANE_SEND, SS_LANE_STREAM };
struct ss_lane {
    int cls, kind, index; /* SEND: channel; STREAM: stream */
    struct ss_box *boxes;
    size_t n, cap;
};

struct ss_record_book {
    const struct ss_program *program;
    double start, end; /* s: the window that is recorded */
    double makespan;   /* s: of the whole replay */
    double quantum;    /* s: neighbours shorter than this are merged; 0: no box is merged */
    struct ss_follow follow;
    int nlanes;
    struct ss_lane *lanes; /* class by class: compute, sends, streams */
    int *first_lane;       /* [nclasses + 1]: where a class begins in `lanes` */
    int *send_lane;        /* [nchannels]: the lane of a channel's sender */
    unsigned char
        *shown; /* [nclasses]: 0: the class is not drawn, because one like it on the same stage is */
    int nshown;
    int failed;
};

/* Begins a book that keeps about `most` boxes at most. Where the program has very many classes, only the
 * lowest class of each stage is kept. Returns 0 or SS_ERR_NOMEM. */
int ss_book_init(struct ss_record_book *b, const struct ss_program *p, double start, double end,
                 double makespan, double most);
void ss_book_free(struct ss_record_book *b);
/* Returns what a lane is called beside its class: "compute", "to stage1", "collectives 1". */
const char *ss_lane_name(const struct ss_program *p, const struct ss_lane *lane, char *buf, size_t size);
struct ss_observer ss_book_observer(struct ss_record_book *b);
