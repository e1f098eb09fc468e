/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of a job that are worth a try: they may make it fit, or make it faster. A change is words that
 * follow the job's. */
#pragma once

#include "job/asked.h"
#include "stepsim/scenario.h"

enum ss_change_aim {
    SS_CHANGE_FOR_MEMORY = 1,
    SS_CHANGE_FOR_TIME = 2,
    SS_CHANGE_BESIDE = 4, /* for time, and it leaves the layout as it is */
    SS_CHANGE_SWITCH = 8  /* what a search tries of these, and offload: the same results on the same ranks */
};

/* A request with changes, and what it asks for, which tells whether the next change applies. No job is
 * made of it, because two changes may run together of which each alone is refused. */
struct ss_changed {
    struct ss_request request;
    struct ss_asked asked;
};

/* Changes are numbered from 0. */
int ss_change_count(void);
/* Writes the words of change i for a job with `dp` data-parallel ranks. Returns 0 where the change does
 * not serve the aim or does not apply to the job. */
int ss_change_words(int i, enum ss_change_aim aim, const struct ss_job *job, int dp, char *words,
                    size_t size);
/* Returns whether change i serves an aim. */
int ss_change_serves(int i, enum ss_change_aim aim);
/* Returns 1 if a flag of `words` is also in `before`: one would beat the other. */
int ss_change_shares_flag(const char *before, const char *words);
/* Returns what a change alters or needs beside time and memory: "another arithmetic"; NULL: nothing. */
const char *ss_change_note(int i);
enum ss_change_kind {
    SS_CHANGE_PLAIN,
    SS_CHANGE_ARITHMETIC, /* the training computes other results */
    SS_CHANGE_SPLIT       /* the change moves layers between stages */
};
enum ss_change_kind ss_change_kind(int i);
/* Begins with the job of a scenario and adds the global batch, which without a flag would follow from
 * the layout. The caller frees out->request. Error: SS_ERR_NOMEM. */
int ss_change_start(const struct ss_scenario *s, struct ss_changed *out, struct ss_error *err);
/* Makes *out of `from` and further words, separated by blanks. A --without among them removes words of
 * the request; fields of the job stay. The caller frees out->request after success. Errors: those of
 * ss_asked_parse. */
int ss_change_apply(const struct ss_changed *from, const char *words, struct ss_changed *out);
/* Writes the words that people have to add to those of `base` to get the job `changed`. They include its
 * global batch where the batch followed from the layout and would change with it. */
void ss_change_tell(const struct ss_scenario *base, const struct ss_job *changed, const char *words,
                    char *out, size_t size);
