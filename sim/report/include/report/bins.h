/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and link load over time in a fixed number of bins: as much room for a long run as for a short one. */
#ifndef SS_REPORT_BINS_H
#define SS_REPORT_BINS_H

#include "stepsim/program.h"

struct ss_bins {
    const struct ss_program *program;
    int n;
    double start, width; /* s: of the first bin, of each */
    /* [class * n + bin]: dynamic bytes by class of memory at the moment of the bin's highest total */
    double (*memory)[SS_MEM_COUNT];
    double *total;               /* [class * n + bin] */
    double (*now)[SS_MEM_COUNT]; /* [class] */
    int *at;                     /* [class]: bin that the last event fell into */
    double *load;                /* [link * n + bin]: bytes */
    struct ss_link_bytes *parts; /* of every collective, one after the other */
    int *first_part;             /* [ncollectives + 1] */
    double *link_bytes;          /* [link]: bytes of the whole iteration */
    double *channel_bytes;       /* [channel] */
    int *channel_messages;       /* [channel] */
};
struct ss_link_bytes {
    int link;
    double bytes;
};

/* 0 or SS_ERR_NOMEM. */
int ss_bins_init(struct ss_bins *b, const struct ss_program *p, double start, double end, int n);
void ss_bins_free(struct ss_bins *b);
void ss_bins_memory(struct ss_bins *b, int cls, double time, int mem, double bytes);
/* A transfer's bytes are spread evenly over its time. */
void ss_bins_transfer(struct ss_bins *b, int channel, int collective, double start, double end, double bytes);
/* The replay is over. */
void ss_bins_end(struct ss_bins *b);
/* Share of the link's bandwidth in one bin. */
double ss_bins_load(const struct ss_bins *b, int link, int bin);

#endif
