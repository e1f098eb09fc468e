/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the job reader share. */
#ifndef SS_JOB_INTERNAL_H
#define SS_JOB_INTERNAL_H

#include <stddef.h>

#include "stepsim/job.h"
#include "stepsim/request.h"

/* Whether a word is a flag, not a value: "--x". */
static inline int ss_is_flag(const char *text)
{
    return text[0] == '-' && text[1] == '-' && text[2];
}
/* Values of the flag at index i, which takes `values` ('0', '1', '+', '*') of them: the words behind it in its place. */
size_t ss_request_values(const struct ss_request *r, size_t i, char values);

/* What finish works on. */
struct ss_finish {
    struct ss_job *job;
    const struct ss_request *request; /* for the places of errors; may be NULL */
    struct ss_loaded *loaded;         /* where models are read; NULL: anew */
    const struct ss_stack *stack;
    int world_size, gpus_per_node;
    struct ss_notes *notes;
    struct ss_error *err;
    int positions_given; /* --max-position-embeddings */
};
/* Completes f->job, which is of no use if this fails. */
int ss_job_complete(struct ss_finish *f);
/* The backend that runs: what the job asks for, or what the stack takes by itself, and in fp32 no other than unfused. */
int ss_job_attention(const struct ss_job *job, const struct ss_stack *stack);
/* What the framework refuses before and after the defaults are in place. */
int ss_job_check_layout(struct ss_finish *f);
int ss_job_check_stages(struct ss_finish *f);
int ss_job_check_features(struct ss_finish *f);
/* SS_ERR_CONFIG with this cause. */
int ss_job_refuse(struct ss_finish *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
