/* SPDX-License-Identifier: Apache-2.0 */
/* A program that is being built from a plan: what program_build.c and program_work.c share. */
#pragma once

#include "program/program_emit.h"
#include "program/program_internal.h"
#include "stepsim/plan.h"

struct ss_program_builder {
    const struct ss_plan *plan;
    const struct ss_schedule *schedule;
    struct ss_program *p;
    struct ss_error *err;
    struct ss_cache *cache; /* that has comm; NULL: the builder has it */
    struct ss_comm comm;
    struct ss_emitter e;
    size_t channel_cap;
    int *out_start, *out_entry; /* p2p entries by sender: out_entry[out_start[c] .. out_start[c + 1]) */
    int *in_start, *in_entry;   /* by receiver */
    int *channel_of;            /* [2 * p2p entry + backward]: channel + 1, or 0 */
    struct ss_schedule
        *whole; /* the schedule without its loop, where sends and receives do not repeat with it; or NULL */
    int beside; /* 1: ss_program_build_beside */
    /* of the class at hand */
    int cls;
    int apart_from,
        apart_to; /* slots of its rank with no data-parallel transfer beside them; none where both are 0 */
    int apart;    /* 1: the slot at hand is one of those, and has its closed forms */
    int *known;   /* [4 * peer + 2 * sends + backward]: channel + 1, or 0: not asked for yet */
};

/* program_issue.c: posts the host's launches before a slot: its own where the host was in step with the GPU, and
 * those of the slot behind it where the host runs ahead. */
void ss_program_issue_ahead(struct ss_program_builder *b, const struct ss_comm_variant *v);
/* Posts the launches of a slot whose host was in step with the GPU when its input came. */
void ss_program_issue(struct ss_program_builder *b, const struct ss_comm_variant *v);
/* program_work.c: appends the work of a slot, without its sends and receives. */
void ss_program_slot_work(struct ss_program_builder *b, const struct ss_comm_variant *v);
/* All buckets of a chunk at once. */
void ss_program_reduce(struct ss_program_builder *b, int chunk);
