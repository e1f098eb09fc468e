/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the events of one slot after another and makes each a template of the program. */
#pragma once

#include "stepsim/program.h"

/* Mixes are few but asked for at every COMPUTE: found by hash. */
struct ss_mix_table {
    int *slot; /* mix + 1, or 0 */
    size_t size, cap;
};

/* Work that bucket marks cut into parts. */
struct ss_work {
    double seconds;
    int mix;
    double done; /* fraction */
};

/* Work that was asked for, found by its seconds: like layers take the same. */
struct ss_known_work {
    double by_label[SS_LABEL_COUNT];
    struct ss_work work;
};
#define SS_KNOWN_WORKS 64

/* Starts as {.p = ..., .err = ...}. After an error nothing more is collected. */
struct ss_emitter {
    struct ss_program *p; /* gets mixes and templates */
    struct ss_error *err;
    int failed;      /* first error code */
    int outstanding; /* posts on the data-parallel stream that are not waited for */
    struct ss_mix_table mixes;
    struct ss_known_work *known; /* [SS_KNOWN_WORKS], of 0 s where there is none; NULL: not made yet */
    struct ss_event *events;     /* of all templates; those of the next template begin at `first` */
    size_t nevents, first, cap, template_cap;
};
/* Gives the program its events, once all templates are made. */
void ss_emitter_end(struct ss_emitter *e);
/* Makes room for so many times the events and templates that there are: one large array is not moved as it grows. */
void ss_emitter_expect(struct ss_emitter *e, int times);
void ss_emitter_free(struct ss_emitter *e);

void ss_emit_event(struct ss_emitter *e, int kind, int index, int aux, double amount);
void ss_emit_post(struct ss_emitter *e, int collective, int stream);
void ss_emit_wait(struct ss_emitter *e, int stream);
/* ALLOC or FREE of a class of memory; nothing where bytes <= 0. */
void ss_emit_memory(struct ss_emitter *e, int kind, int mem, double bytes);
void ss_emit_compute(struct ss_emitter *e, int label, double seconds);

struct ss_work ss_emit_work(struct ss_emitter *e, const double seconds[SS_LABEL_COUNT]);
/* Emits the part of the work up to this fraction. */
void ss_emit_work_until(struct ss_emitter *e, struct ss_work *w, double fraction);

/* Writes "F3" to out[32] or, for the nth variant but the first, "F3.1". */
void ss_emit_suffix(int phase, int chunk, int nth, char *out);
/* Makes the collected events the template "CLASS.SUFFIX"; its index, or -1 when there are none or on error. */
int ss_emit_template(struct ss_emitter *e, const char *cls, const char *suffix);
