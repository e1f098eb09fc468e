/* SPDX-License-Identifier: Apache-2.0 */
/* The flags of a job, for programs that list or complete them; docs/reference/flags.md is made from the same tables. */
#pragma once

#include "stepsim/error.h"

SS_C_BEGIN

/* One flag. All texts are static, or live until the next call. */
struct ss_flag_info {
    const char *name; /* "--tp" */
    /* text for its value: "N", "NAME|FILE", "uniform|block"; NULL: it takes none */
    const char *value;
    const char *doc; /* one line, or NULL: as Megatron-LM documents it */
    char values;     /* number of values, as in argparse: '0', '1', '+' (one or more), '*' (any) */
    int own;         /* 1: stepsim's own, or a short name; 0: Megatron's */
    int read;        /* 1: the prediction reads it; 0: accepted without effect, or refused */
};
/* Where a walk over all flags stands; {0} is before the first one. */
struct ss_flag_cursor {
    size_t setter, group;
    const char *names;
    char name[96], value[160]; /* of the flag that was listed last */
};
/* Sets *out to the next flag and returns 1; returns 0 past the last one. The texts of *out live until the next call with the same
 * cursor. */
int ss_flag_list(struct ss_flag_cursor *at, struct ss_flag_info *out);
/* Returns 1 when jobs have a flag of this name ("--tp"), modelled, without effect or refused. */
int ss_flag_known(const char *name);
/* What stepsim does with a flag. */
enum ss_flag_effect {
    SS_FLAG_IS_UNKNOWN,        /* there is no flag of this name */
    SS_FLAG_IS_READ,           /* the prediction reads it */
    SS_FLAG_IS_WITHOUT_EFFECT, /* it changes neither time nor memory */
    SS_FLAG_IS_NOT_MODELLED,   /* accepted, though it may change time or memory */
    SS_FLAG_IS_REFUSED
};
/* Returns what stepsim does with the flag of this name ("--tp"); *why, which may be NULL, gets the reason, a
 * static text, or NULL where there is none. */
enum ss_flag_effect ss_flag_effect(const char *name, const char **why);
/* Returns 1 when both names mean one flag: "--tp" and "--tensor-model-parallel-size". */
int ss_flag_same(const char *a, const char *b);

SS_C_END
