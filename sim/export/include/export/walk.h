/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank of a program as a graph of operations: each begins when the operations that it depends on have
 * ended. The main thread becomes a chain of computations. Sends, receives and collectives depend on the
 * computation before their post and on the previous one of their queue; the computation behind a wait depends
 * on what it waits for.
 */
#pragma once

#include "stepsim/export.h"

enum ss_export_kind { SS_EXPORT_CALC, SS_EXPORT_SEND, SS_EXPORT_RECV, SS_EXPORT_COLLECTIVE };

/* Queues that run beside each other: computations, messages between classes, and a lane for each stream. */
enum { SS_LANE_COMPUTE, SS_LANE_MESSAGES, SS_LANE_STREAM };

struct ss_export_op {
    int kind;            /* enum ss_export_kind */
    int64_t id;          /* from 1, in the order of the calls */
    int lane;            /* SS_LANE_COMPUTE, SS_LANE_MESSAGES or SS_LANE_STREAM + stream */
    int64_t amount;      /* CALC: ticks, > 0; else bytes, > 0 */
    int peer;            /* SEND, RECV: the other rank */
    int64_t tag;         /* SEND, RECV */
    int collective;      /* index, -1: none */
    int slot;            /* of the class, as ss_program_slot_at counts */
    const int64_t *deps; /* [ndeps] */
    size_t ndeps;
};

struct ss_export_walk {
    double tick;          /* s */
    int keep_collectives; /* 1: a collective of a known kind with several members is one operation */
    int (*put)(void *ctx, const struct ss_export_op *op); /* 0, or an error, which ends the walk */
    void *ctx;
};

/* Process groups: collectives of the same members, in order, are one. */
struct ss_export_groups {
    int n;
    int *of;    /* [ncollectives]: 0 .. n-1 */
    int *first; /* [n]: its first collective */
};
/* The groups of the program, found by the first call; SS_ERR_NOMEM. */
int ss_export_groups(struct ss_export *x, const struct ss_export_groups **out);

/* Calls `put` for every operation of a rank. A computation is as many ticks as lie between its rounded beginning and end on the
 * rank's own clock, so that all of a rank are as long as the program's to half a tick; one of no tick is left out. */
int ss_export_walk(struct ss_export *x, int rank, const struct ss_export_walk *w, struct ss_error *err);
/* The kind of a collective (enum ss_collective_kind) that others know, or -1. */
int ss_export_kind_of(const struct ss_collective *c);
/* The program that is written. */
const struct ss_program *ss_export_program(const struct ss_export *x);
