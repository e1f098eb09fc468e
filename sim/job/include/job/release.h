/* SPDX-License-Identifier: Apache-2.0 */
/* Which of a job's flags are of a later release than its stack. */
#pragma once

#include "stepsim/job.h"
#include "stepsim/stack.h"

/* Returns the flags of `job` that are of a later release of Megatron core than `stack`, a bit each. */
unsigned ss_job_later(const struct ss_job *job, const struct ss_stack *stack);
/* Writes flags with their release: "--moe-router-fusion (Megatron core 0.14)". Returns buf. */
const char *ss_job_later_words(unsigned later, char *buf, size_t size);
/* Whether a flag with this value, "" for none, is one of them, or goes with one. */
int ss_flag_is_later(const char *flag, const char *value, const struct ss_stack *stack);
/* Whether `stack` has these kernels of attention (enum ss_attention) on its card: what it takes by itself, and what it offers. */
int ss_stack_has_attention(const struct ss_stack *stack, int attention);
/* Whether the stack stands for that of a job which names none: flags of later releases get a note there, elsewhere they are refused. */
int ss_stack_is_assumed(const struct ss_stack *stack);
