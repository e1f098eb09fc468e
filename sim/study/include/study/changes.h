/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of a job that are worth a try, as words behind its own: what makes it fit, and what makes it faster. */
#ifndef SS_STUDY_CHANGES_H
#define SS_STUDY_CHANGES_H

#include <stddef.h>

#include "job/asked.h"
#include "stepsim/request.h"
#include "stepsim/scenario.h"

enum ss_change_aim { SS_CHANGE_FOR_MEMORY = 1, SS_CHANGE_FOR_TIME = 2 };

/* A request with changes, and what it asks for, to see whether the next change applies. No job is made of it,
 * because changes that are refused alone may run together. */
struct ss_changed {
    struct ss_request request;
    struct ss_asked asked;
};

/* Changes are numbered from 0. */
int ss_change_count(void);
/* Writes the words of change i for a job with so many data-parallel ranks; 0: it is not for this aim or does not apply. */
int ss_change_words(int i, enum ss_change_aim aim, const struct ss_job *job, int dp, char *words,
                    size_t size);
/* Returns what a change alters or needs beside time and memory: "another arithmetic"; NULL: nothing. */
const char *ss_change_note(int i);
enum ss_change_kind {
    SS_CHANGE_PLAIN,
    SS_CHANGE_ARITHMETIC, /* results of the training differ */
    SS_CHANGE_SPLIT       /* which stage has which layers */
};
enum ss_change_kind ss_change_kind(int i);
/* The job of a scenario, with its global batch, which follows from the layout where nobody gives it. The caller frees out->request.
 * SS_ERR_NOMEM. */
int ss_change_start(const struct ss_scenario *s, struct ss_changed *out, struct ss_error *err);
/* Makes *out of `from` with further words, separated by blanks; those of --without take words of the request
 * and leave the job's fields. The caller frees out->request if this succeeds. Errors: those of
 * ss_asked_parse. */
int ss_change_apply(const struct ss_changed *from, const char *words, struct ss_changed *out);
/* Writes the words that people add to the words of `base` for the job `changed`: with its global batch, where that followed from the
 * layout and would change with it. */
void ss_change_tell(const struct ss_scenario *base, const struct ss_job *changed, const char *words,
                    char *out, size_t size);

#endif
