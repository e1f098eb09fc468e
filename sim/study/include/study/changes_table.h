/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the table of changes. */
#ifndef SS_STUDY_CHANGES_TABLE_H
#define SS_STUDY_CHANGES_TABLE_H

#include "study/changes.h"

/* Powers of two by which degrees are multiplied. */
struct ss_degrees_twos {
    int tp, pp, cp;
};
/* Writes the words of the job with other degrees; data parallelism takes the rest. Returns 0 where degrees or
 * layers do not divide. */
int ss_change_degrees(const struct ss_job *job, int dp, struct ss_degrees_twos by, char *words, size_t size);

/* Writes the words that change `job`, to which they are added; 0: does not apply to it. */
typedef int (*ss_change_fn)(const struct ss_job *job, int dp, char *words, size_t size);
#define DEFINE(name) static int name(const struct ss_job *job, int dp, char *words, size_t size)
struct ss_change_row {
    ss_change_fn words;
    int aims;         /* enum ss_change_aim */
    int kind;         /* as ss_change_kind */
    const char *note; /* as ss_change_note */
};
/* changes_time.c, changes_layout.c */
extern const struct ss_change_row ss_changes_for_time[], ss_changes_of_layout[];
extern const int ss_nchanges_for_time, ss_nchanges_of_layout;

#endif
