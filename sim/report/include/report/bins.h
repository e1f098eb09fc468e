/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and link load over time in a fixed number of bins: as much room for a long run as for a short one. */
#pragma once

#include "stepsim/program.h"

struct ss_bins {
    const struct ss_program *program;
    int n;
    double start, width; /* s: begin of the first bin, width of each bin */
    /* [class * n + bin]: dynamic bytes by class of memory at the moment of the bin's highest total */
    double (*memory)[SS_MEM_COUNT];
    double *total;               /* [class * n + bin] */
    double (*now)[SS_MEM_COUNT]; /* [class]: bytes now */
    int *at;                     /* [class]: the bin of the last event */
    double *load;                /* [link * n + bin]: bytes */
    struct ss_link_bytes
        *parts;      /* the links of every collective and the bytes on each, one collective after the other */
    int *first_part; /* [ncollectives + 1]: where a collective begins in `parts` */
    double *link_bytes;    /* [link]: bytes of the whole iteration */
    double *channel_bytes; /* [channel]: bytes of the whole iteration */
    int *channel_messages; /* [channel]: messages of the whole iteration */
};
struct ss_link_bytes {
    int link;
    double bytes;
};

/* Makes n bins for the time from `start` to `end`, s. Returns 0 or SS_ERR_NOMEM. */
int ss_bins_init(struct ss_bins *b, const struct ss_program *p, double start, double end, int n);
void ss_bins_free(struct ss_bins *b);
void ss_bins_memory(struct ss_bins *b, int cls, double time, int mem, double bytes);
/* Adds a transfer, whose bytes are spread evenly over its time. */
void ss_bins_transfer(struct ss_bins *b, int channel, int collective, double start, double end, double bytes);
/* Closes the bins when the replay is over. */
void ss_bins_end(struct ss_bins *b);
/* Returns which share of a link's bandwidth is used in a bin. */
double ss_bins_load(const struct ss_bins *b, int link, int bin);
