/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers and writers of schedule files share. */
#pragma once

#include <stdbool.h>

#include "schedule/builder.h"

/* Words of torch.distributed.pipelining's actions; the first four are computed, in the order of enum ss_phase.
 * X(symbol, word, has a microbatch) */
#define SS_ACTION_LIST(X)                                                                                    \
    X(SS_ACTION_F, "F", 1)                                                                                   \
    X(SS_ACTION_B, "B", 1)                                                                                   \
    X(SS_ACTION_I, "I", 1)                                                                                   \
    X(SS_ACTION_W, "W", 1)                                                                                   \
    X(SS_ACTION_PAIR, "OVERLAP_F_B", 1)                                                                      \
    X(SS_ACTION_SEND_F, "SEND_F", 1)                                                                         \
    X(SS_ACTION_RECV_F, "RECV_F", 1)                                                                         \
    X(SS_ACTION_SEND_B, "SEND_B", 1)                                                                         \
    X(SS_ACTION_RECV_B, "RECV_B", 1)                                                                         \
    X(SS_ACTION_UNSHARD, "UNSHARD", 0)                                                                       \
    X(SS_ACTION_RESHARD, "RESHARD", 0)                                                                       \
    X(SS_ACTION_REDUCE_GRAD, "REDUCE_GRAD", 0)
enum ss_action_kind {
#define X(sym, word, microbatch) sym,
    SS_ACTION_LIST(X)
#undef X
        SS_ACTION_COUNT
};

/* One cell. A pair runs F of `stage`, `microbatch` beside B of `stage2`, `microbatch2`. */
struct ss_action {
    int kind;
    int stage, microbatch;
    int stage2, microbatch2;
    int line, column;
};

struct ss_action_row {
    struct ss_action *action;
    size_t n, cap;
    int line; /* of the first word, 0 = the rank is not there */
};

/* A file as it was read: one row a rank. */
struct ss_action_table {
    char file[256];
    char name[32];
    int pipelines, p2p;
    struct ss_action_row *row;
    size_t rows, cap;
    int *warmup; /* as the file says, or NULL */
    size_t nwarmup, warmup_cap;
    int warmup_line;
    struct ss_error *err;
};

/* Largest virtual stage, microbatch and rank that a file may name. */
#define SS_ACTION_STAGE_MAX 65535
#define SS_ACTION_MICROBATCH_MAX 16777215

/* cell.c: reads the word [text, text + n) into *a, whose place is set; blank words are not actions. */
int ss_action_parse(const struct ss_action_table *t, const char *text, size_t n, struct ss_action *a);
int ss_action_fail(const struct ss_action_table *t, const struct ss_action *a, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Text of an action as torch writes it; returns buf. */
char *ss_action_format(const struct ss_action *a, char *buf, size_t size);
/* cell.c: appends to the row of a rank. */
int ss_action_add(struct ss_action_table *t, size_t rank, const struct ss_action *a);
/* read_text.c: our own form. */
int ss_action_read_text(struct ss_action_table *t, const char *text, size_t len);
/* assemble.c: placement, slots, and checks of the actions that are no slots. */
int ss_action_assemble(const struct ss_action_table *t, struct ss_schedule **out);
/* communication.c: sends, receives, gathers and reductions stand where they may. */
int ss_action_check(const struct ss_action_table *t, const struct ss_schedule *s);
