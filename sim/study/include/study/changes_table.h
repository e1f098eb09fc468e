/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the table of changes. */
#pragma once

#include "study/changes.h"

/* The powers of two by which the degrees of parallelism are multiplied. */
struct ss_degrees_twos {
    int tp, pp, cp;
};
/* Writes the words that give the job other degrees of parallelism; data parallelism gets the GPUs that
 * are left. Returns 0 where GPUs or layers cannot be divided so. */
int ss_change_degrees(const struct ss_job *job, int dp, struct ss_degrees_twos by, char *words, size_t size);

/* Writes the words that change `job` when they follow its own. Returns 0 where the change does not apply
 * to the job. */
typedef int (*ss_change_fn)(const struct ss_job *job, int dp, char *words, size_t size);
#define DEFINE(name) static int name(const struct ss_job *job, int dp, char *words, size_t size)
struct ss_change_row {
    ss_change_fn words;
    int aims;         /* enum ss_change_aim */
    int kind;         /* what ss_change_kind returns */
    const char *note; /* what ss_change_note returns */
};
/* changes_time.c, changes_layout.c */
extern const struct ss_change_row ss_changes_for_time[], ss_changes_of_layout[];
extern const int ss_nchanges_for_time, ss_nchanges_of_layout;
