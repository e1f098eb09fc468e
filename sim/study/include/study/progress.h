/* SPDX-License-Identifier: Apache-2.0 */
/* The progress of a study that consists of parts, each of which tells its own progress. */
#pragma once

#include "stepsim/schedule_study.h"

/* Part i of n parts that take equally long. */
struct ss_study_part {
    const struct ss_study_progress *whole;
    int i, n;
};

static inline void ss_study_tell(const struct ss_study_progress *p, double share)
{
    if (p && p->tell)
        p->tell(p->ctx, share);
}

/* Tells the listener of the whole study about the progress of a part, which is `ctx`. */
static inline void ss_study_tell_part(void *ctx, double share)
{
    const struct ss_study_part *part = ctx;
    ss_study_tell(part->whole, (part->i + share) / part->n);
}
