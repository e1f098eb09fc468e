/* SPDX-License-Identifier: Apache-2.0 */
/* How far a study is that is made of parts which tell how far they are. */
#ifndef SS_STUDY_PROGRESS_H
#define SS_STUDY_PROGRESS_H

#include "stepsim/schedule_study.h"

/* Part i of n, which take as long each. */
struct ss_study_part {
    const struct ss_study_progress *whole;
    int i, n;
};

static inline void ss_study_tell(const struct ss_study_progress *p, double share)
{
    if (p && p->tell)
        p->tell(p->ctx, share);
}

/* Tells the whole about the progress of a part, `ctx`. */
static inline void ss_study_tell_part(void *ctx, double share)
{
    const struct ss_study_part *part = ctx;
    ss_study_tell(part->whole, (part->i + share) / part->n);
}

#endif
