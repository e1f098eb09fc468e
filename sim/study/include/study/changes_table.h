/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the table of changes. */
#ifndef SS_STUDY_CHANGES_TABLE_H
#define SS_STUDY_CHANGES_TABLE_H

#include "study/changes.h"

/* Writes the words that change `job`, to which they are added; 0: does not apply to it. */
typedef int (*ss_change_fn)(const struct ss_job *job, int dp, char *words, size_t size);
struct ss_change_row {
    ss_change_fn words;
    int aims;         /* enum ss_change_aim */
    const char *note; /* as ss_change_note */
};
extern const struct ss_change_row ss_changes_for_time[];
extern const int ss_nchanges_for_time;

#endif
