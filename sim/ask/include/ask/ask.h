/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands behind ss_ask share. Functions return 0 or a negative SS_ERR_*. */
#pragma once

#include "ask/shelf.h"
#include "stepsim/ask.h"
#include "stepsim/options.h"
#include "stepsim/sweep.h"

#define SS_ASK_MOST_OPTIONS 64 /* rows of stepsim/options.def that the library has */

/* Bits: an option belongs to several. */
enum ss_ask_command {
    SS_ASK_RUN = 1,
    SS_ASK_PLAN = 2,
    SS_ASK_EXPLAIN = 4,
    SS_ASK_COMPARE = 8,
    SS_ASK_SWEEP = 16,
    SS_ASK_SEARCH = 32,
    SS_ASK_CAPACITY = 64,
    SS_ASK_VALIDATE = 128,
    SS_ASK_CHECK = 256,
    SS_ASK_NONE = 512 /* takes no option */
};

/* One command: its words, read. It begins with ss_ask_init and ends with ss_ask_end. */
struct ss_ask {
    int command; /* enum ss_ask_command */
    int n;       /* words behind the name; once options are read, those that are none */
    char **words;
    FILE *out;
    int status;                               /* of the answer, which begins as 0 */
    struct ss_scenario *scenario;             /* of SS_ASK_READS_JOB */
    struct ss_run run;                        /* freed with the command */
    struct ss_request request;                /* words of the job */
    struct ss_request told;                   /* options that say how it is simulated */
    struct ss_files files;                    /* that were read */
    struct ss_shelf *shelf;                   /* what earlier commands left, lent; NULL: nothing */
    struct ss_options options;                /* bands among them are owned where there is no shelf */
    unsigned char given[SS_ASK_MOST_OPTIONS]; /* [row of the options]: 1 when it was given */
    struct ss_sweep *vary;                    /* owned; what --vary says */
    struct ss_ask_watcher {
        int (*watch)(void *ctx, double share); /* NULL: nobody */
        void *ctx;
        double share, asked; /* of the work; when it was asked last, s */
    } watcher;
};
/* Listeners for options of studies; ctx is the watcher. */
void ss_ask_tell(void *ctx, int done, int all);
int ss_ask_stop(void *ctx);
int ss_ask_init(struct ss_ask *a, int command, struct ss_error *err);
void ss_ask_end(struct ss_ask *a);
/* Reads the words of a job, and takes the options out of them. */
int ss_ask_read(struct ss_ask *a, int n, char *const *words, struct ss_error *err);
/* Reads options; other words move to a->words[0 .. a->n-1], in order. */
int ss_ask_operands(struct ss_ask *a, struct ss_error *err);
/* Loads the error bands that came with the library. */
int ss_ask_bands(struct ss_ask *a, struct ss_error *err);
/* Makes the scenario of the words, and completes a->how for it. */
int ss_ask_scenario(struct ss_ask *a, struct ss_error *err);

/* Runs a scenario and writes the document of `run`, with what makes the job fit where it does not. `how`: options that say how it was simulated, `files`: that the job was read from; both may be NULL. *fits
 * tells the verdict. */
int ss_ask_write_run(const struct ss_scenario *s, const struct ss_run_options *options,
                     const struct ss_request *how, const struct ss_files *files, int *fits, FILE *out,
                     struct ss_error *err);

/* The commands. */
typedef int ss_ask_answer(struct ss_ask *a, struct ss_error *err);
ss_ask_answer ss_ask_run, ss_ask_plan, ss_ask_explain, ss_ask_check, ss_ask_compare, ss_ask_sweep,
    ss_ask_search, ss_ask_capacity, ss_ask_validate, ss_ask_list, ss_ask_doctor, ss_ask_version;
