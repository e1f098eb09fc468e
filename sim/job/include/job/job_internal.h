/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the job reader share. */
#ifndef SS_JOB_INTERNAL_H
#define SS_JOB_INTERNAL_H

#include <stddef.h>

#include "stepsim/job.h"

/* One word of a command line or file. */
struct ss_word {
    char *text;
    int line; /* 0 on the command line */
};
/* Words from one place; a flag and its values never cross it. */
struct ss_words {
    struct ss_word *w;
    size_t n, cap;
    char *file; /* NULL on the command line */
};
/* Splits text as a shell would: quotes, backslashes, # comments. */
int ss_words_split(struct ss_words *out, const char *text, size_t len, const char *file,
                   struct ss_error *err);
int ss_words_add(struct ss_words *words, const char *text, size_t len, int line);
/* Of a whole command, as "torchrun --nnodes 4 --nproc_per_node 8 ... pretrain_gpt.py --flags ... 2>&1 | tee log", leaves
 * the script's flags and, in our words, the launcher's sizes; of several commands, the first whose script has flags.
 * Words that begin with a flag, or have no script among them, are left alone. 0 or SS_ERR_NOMEM. */
int ss_words_strip_command(struct ss_words *words);
void ss_words_free(struct ss_words *words);

/* Places in the order in which they are applied: a named file before the place that names it. */
struct ss_places {
    struct ss_words *place;
    size_t n, cap;
};
/* Takes `words` over, whatever it returns, and reads the files that they name. */
int ss_places_expand(struct ss_places *out, struct ss_words *words, struct ss_error *err);
void ss_places_free(struct ss_places *places);

/* ss_job_parse_file on a text; `file` stands for it in messages. */
int ss_job_parse_text(struct ss_job *job, const char *text, size_t len, const char *file,
                      ss_other_option other, void *ctx, struct ss_notes *notes, struct ss_error *err);

/* What finish works on. */
struct ss_finish {
    struct ss_job *job;
    const struct ss_stack *stack;
    int world_size, gpus_per_node;
    struct ss_notes *notes;
    struct ss_error *err;
    int positions_given; /* --max-position-embeddings */
};
/* What the framework refuses before and after the defaults are in place. */
int ss_job_check_layout(struct ss_finish *f);
int ss_job_check_stages(struct ss_finish *f);
int ss_job_check_features(struct ss_finish *f);
/* SS_ERR_CONFIG with this cause. */
int ss_job_refuse(struct ss_finish *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Remembers who set a flag; file NULL: the command line. */
struct ss_flag_setter;
void ss_job_origin_set(struct ss_job *job, const struct ss_flag_setter *s, const char *file, int line);

#endif
