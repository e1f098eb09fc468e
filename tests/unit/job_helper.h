/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs from flags in one text, for the tests of the job reader. */
#ifndef JOB_HELPER_H
#define JOB_HELPER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <CUnit/CUnit.h>

#include "job/asked.h"
#include "stepsim/import.h"
#include "stepsim/scenario.h"
#include "stepsim/stack.h"

#define JOB_MAX_ARGS 128
#define L8B "--model llama3.1-8b --bf16 --mbs 1 --gbs 1024 --seq 8192 "
#define Q14 "--model qwen2.5-14b --bf16 --mbs 1 --gbs 1024 --seq 8192 "
#define Q72 "--model qwen2.5-72b --bf16 --fp8-format hybrid --mbs 1 --gbs 1024 --seq 8192 "
#define L13 "--model llama2-13b --stack nemo-24.03 --mbs 1 --gbs 1 --seq 16384 "

/* Splits at blanks. */
static inline int split(char *text, char **argv)
{
    int n = 0;

    for (char *rest, *p = strtok_r(text, " \n", &rest); p && n < JOB_MAX_ARGS;
         p = strtok_r(NULL, " \n", &rest))
        argv[n++] = p;
    return n;
}

/* Words, and the files that they name, to what they ask for. */
static inline int parse_words(struct ss_asked *asked, int n, char *const *argv, struct ss_notes *notes,
                              struct ss_error *err)
{
    struct ss_request r;

    ss_request_init(&r);
    int rc = ss_request_read(&r, n, argv, err);
    if (!rc)
        rc = ss_asked_parse(asked, &r, notes, NULL, err);
    ss_request_free(&r);
    return rc;
}

/* The same for a text, as if it were a file of that name. */
static inline int parse_text(struct ss_asked *asked, const char *text, size_t len, const char *file,
                             struct ss_error *err)
{
    struct ss_request r;

    ss_request_init(&r);
    int rc = ss_request_read_text(&r, text, len, file, err);
    if (!rc)
        rc = ss_asked_parse(asked, &r, NULL, NULL, err);
    ss_request_free(&r);
    return rc;
}

static inline int parse_file(struct ss_asked *asked, const char *path, struct ss_error *err)
{
    char *const words[] = {"--job", (char *)path};

    return parse_words(asked, 2, words, NULL, err);
}

static inline int make_scenario(int n, char *const *argv, struct ss_scenario **out, struct ss_error *err)
{
    struct ss_request r;

    ss_request_init(&r);
    int rc = ss_request_read(&r, n, argv, err);
    if (!rc)
        rc = ss_scenario_build(&r, NULL, out, err);
    ss_request_free(&r);
    return rc;
}

static inline int parse(struct ss_asked *asked, const char *flags, struct ss_notes *notes,
                        struct ss_error *err)
{
    char *text = strdup(flags), *argv[JOB_MAX_ARGS];
    int n = split(text, argv);
    int rc = parse_words(asked, n, argv, notes, err);

    free(text);
    return rc;
}

/* From flags to a complete job on `world` GPUs, 8 a node; the stack's card does not matter here. */
static inline int complete(struct ss_job *job, const char *flags, int world, struct ss_notes *notes,
                           struct ss_error *err)
{
    struct ss_asked asked;
    struct ss_stack stack;
    struct ss_request r;
    char *text = strdup(flags), *argv[JOB_MAX_ARGS];
    int n = split(text, argv);

    ss_asked_init(&asked);
    ss_request_init(&r);
    int rc = ss_request_read(&r, n, argv, err);
    if (!rc)
        rc = ss_asked_parse(&asked, &r, notes, NULL, err);
    if (!rc)
        rc = ss_stack_load(asked.job.stack, NULL, &stack, err);
    if (!rc)
        rc = ss_asked_finish(&asked, &r, &stack, world, 8, notes, job, err);
    ss_request_free(&r);
    free(text);
    return rc;
}

static inline int has_note(const struct ss_notes *notes, const char *text)
{
    for (unsigned long i = 0; i < notes->n; i++)
        if (strstr(notes->text[i], text))
            return 1;
    return 0;
}

/* A job that is refused, and words of the message or of its hint. */
struct job_refusal {
    const char *flags, *reason;
};

/* Checks that each of the jobs is refused on `world` GPUs, in these words. */
static inline void check_refusals(const struct job_refusal *rows, size_t n, int world)
{
    for (size_t i = 0; i < n; i++) {
        struct ss_job job;
        struct ss_error err = {0};
        CU_ASSERT(complete(&job, rows[i].flags, world, NULL, &err) != SS_OK);
        if (!strstr(err.message, rows[i].reason) && !strstr(err.hint, rows[i].reason))
            fprintf(stderr, "%s: %s (%s)\n", rows[i].flags, err.message, err.hint);
        CU_ASSERT(strstr(err.message, rows[i].reason) || strstr(err.hint, rows[i].reason));
    }
}

#endif
