/* SPDX-License-Identifier: Apache-2.0 */
/* What a replay did, as boxes in lanes: a lane for each class's compute stream, each outgoing channel, each
 * collective stream. Long runs are merged while they are recorded, so the room is bounded. */
#ifndef SS_REPORT_RECORD_H
#define SS_REPORT_RECORD_H

#include "report/follow.h"
#include "stepsim/replay.h"

enum ss_box_kind { SS_BOX_RUN, SS_BOX_WAIT, SS_BOX_SEND, SS_BOX_COLLECTIVE };

struct ss_box {
    double start, end;
    double busy;    /* s: of the boxes merged into it */
    double bytes;   /* SEND, COLLECTIVE */
    int kind, slot; /* slot -1: not known */
    int label;      /* WAIT, COLLECTIVE: enum ss_label */
    int index;      /* SEND: channel, COLLECTIVE: collective; RUN: microbatch of the last one merged */
    int count;      /* boxes merged into it, of slots, 1 = none */
    int mixed;      /* RUN: they are of several phases */
};

enum ss_lane_kind { SS_LANE_COMPUTE, SS_LANE_SEND, SS_LANE_STREAM };
struct ss_lane {
    int cls, kind, index; /* SEND: channel; STREAM: stream */
    struct ss_box *boxes;
    size_t n, cap;
};

struct ss_record_book {
    const struct ss_program *program;
    double start, end; /* s: the window */
    double makespan;   /* s: of the whole replay */
    double quantum;    /* s: shorter neighbours are merged; 0: nothing is */
    struct ss_follow follow;
    int nlanes;
    struct ss_lane *lanes; /* class by class: compute, sends, streams */
    int *first_lane;       /* [nclasses + 1] */
    int *send_lane;        /* [nchannels] */
    unsigned char *shown;  /* [nclasses]: 0: not drawn, one like it on the same stage is */
    int nshown;
    int failed;
};

/* At most about `most` boxes are kept; of very many classes the lowest one of each stage. 0 or SS_ERR_NOMEM. */
int ss_book_init(struct ss_record_book *b, const struct ss_program *p, double start, double end,
                 double makespan, double most);
void ss_book_free(struct ss_record_book *b);
/* "compute", "to stage1", "collectives 1": what a lane is called beside its class. */
const char *ss_lane_name(const struct ss_program *p, const struct ss_lane *lane, char *buf, size_t size);
struct ss_observer ss_book_observer(struct ss_record_book *b);

#endif
