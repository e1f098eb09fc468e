/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request: the words that ask for a job, each with its place, in the order in which they apply. It is the only
 * thing that anybody edits: a what-if is a copy of a request with words set or dropped.
 *
 *     ss_request_init(&r);
 *     ss_request_read(&r, argc, argv, &err);        stepsim/import.h: command line, --job files
 *     ss_request_set(&r, "--tp", "4", &err);        a later word beats an earlier one
 *     ss_scenario_build(&r, NULL, &scenario, &err); stepsim/scenario.h
 *     ss_request_free(&r);
 */
#pragma once

#include <stdint.h>

#include "stepsim/files.h"
#include "stepsim/notes.h"

SS_C_BEGIN

/* A place where words stand: a file, or the command line. The words of a later place beat those of an earlier
 * one. A flag and its values stand in one place. */
struct ss_request_place {
    char *file; /* NULL: the command line */
    /* 1: options of how an earlier result was simulated; a command leaves out those that it lacks */
    int how;
    /* NULL: somebody asked for the words; else where they come from, as nobody said otherwise: "default", or the name of a recipe */
    char *whence;
    /* 1: words of a recorded program, whose flags alone they may be: none of stepsim's own names is among them */
    int program;
};
struct ss_arena_block;
struct ss_flag_setter;
struct ss_flag_group;
struct ss_request_word {
    char *text;
    int place; /* index into ss_request.place; it never falls from one word to the next */
    int line;  /* of the file; 0 on the command line */
    const struct ss_flag_setter
        *setter; /* the library's: what the flag sets; NULL: not looked for, or nothing */
    const struct ss_flag_group
        *group; /* the library's: flags that set nothing and are treated as this one; NULL likewise */
};
/* Owned by the caller of ss_request_init; the texts belong to the request. */
struct ss_request {
    size_t n, cap;
    struct ss_request_word *word;
    struct ss_arena_block *texts; /* of the words, those that were removed too */
    int nplaces;
    size_t cap_places;
    struct ss_request_place *place;
    int edited;            /* 1: the last place was made by ss_request_set */
    struct ss_notes notes; /* notes of the readers of the words; a scenario of this request has them, too */
    /* words that the readers left out because they have no effect on time or memory, one entry each */
    struct ss_notes ignored;
    /* what a launch script left to say, one entry each: it may be the reason of every refusal of these words */
    struct ss_notes behind;
};

/* Makes an empty request. The caller ends it with ss_request_free. */
void ss_request_init(struct ss_request *r);
/* Frees the words of a request, which is empty afterwards. */
void ss_request_free(struct ss_request *r);
/* Makes *copy, which must not be initialised, a copy of `r`; the caller frees it with ss_request_free, unless this fails. Error:
 * SS_ERR_NOMEM. */
int ss_request_copy(const struct ss_request *r, struct ss_request *copy, struct ss_error *err);

/* Begins a place for the words that are added next; `file` NULL: the command line. Error: SS_ERR_NOMEM. */
int ss_request_add_place(struct ss_request *r, const char *file, struct ss_error *err);
/* Adds a copy of a word to the last place. Error: SS_ERR_NOMEM. */
int ss_request_add(struct ss_request *r, const char *text, int line, struct ss_error *err);
/* Adds a flag, "--tp", and its value (NULL: it takes none) behind all other words, which it beats.
 * ss_scenario_build says whether there is such a flag. Error: SS_ERR_NOMEM. */
int ss_request_set(struct ss_request *r, const char *flag, const char *value, struct ss_error *err);
/* Removes every word that gives this flag, under any of its names, with its values. */
void ss_request_drop(struct ss_request *r, const char *flag);
/* Removes n words from index i on. */
void ss_request_remove(struct ss_request *r, size_t i, size_t n);

/* Makes *out, which must not be initialised, the words of `r` that count: without those that --without takes
 * away, and without flags that a later place beats. They make the same job when all of them stand in one
 * file, in their order. The caller frees *out with ss_request_free, unless the call fails. Errors: those of
 * ss_job_check_words; SS_ERR_CONFIG, no single file makes this job; SS_ERR_UNSUPPORTED, more than 2,048
 * words; SS_ERR_NOMEM. */
int ss_request_flatten(const struct ss_request *r, struct ss_request *out, struct ss_error *err);

/* Adds the files of the words to `files`, which may be NULL. Error: SS_ERR_NOMEM. */
int ss_request_files(const struct ss_request *r, struct ss_files *files, struct ss_error *err);

/* Takes away what --without, --drop and --drop-unknown name, and measurements before a --without or --scale of a later place, which
 * then are those of another job. A word "--dropped=NAME,NAME" stands for what --drop and --drop-unknown took. `notes` may be NULL.
 * Errors: SS_ERR_USAGE and, in a file, SS_ERR_INPUT: no such flag, or none before it; SS_ERR_NOMEM. */
int ss_request_resolve(struct ss_request *r, struct ss_notes *notes, struct ss_error *err);

/* Returns how many words the flag at index i and its values are, at least 1; 1 for a word that is no flag of
 * a job. */
size_t ss_request_span(const struct ss_request *r, size_t i);
/* Returns the index of the last word that gives this flag under any of its names; r->n where there is none. */
size_t ss_request_find(const struct ss_request *r, const char *flag);
/* A flag that nobody gave, and that no later place beats. */
struct ss_assumption {
    const char *flag;   /* "--recompute-modules" */
    const char *value;  /* its values with blanks between, "" for none; lives in `text` */
    const char *whence; /* as in struct ss_request_place */
    char text[1024];
};
/* Finds the next one from the word at *at on, which 0 begins, and sets *at behind it. Returns 0 where there is none. */
int ss_request_assumption(const struct ss_request *r, size_t *at, struct ss_assumption *out);
/* Adds a line for each source of assumed words, "default: --bf16", behind the text `before`. Lack of memory shows in lines->lost. */
void ss_request_list_assumed(const struct ss_request *r, const char *before, struct ss_notes *lines);
/* Makes *out, which must not be initialised, the words without the assumed ones of the thing that `flag` is a part of: flags of which one
 * without the others is no job. `flags` gets these, "--cuda-graph-impl local --cuda-graph-scope attn", cut to `size` bytes with the final 0.
 * The caller frees *out with ss_request_free, also when the call fails. Error: SS_ERR_NOMEM. */
int ss_request_leave_out(const struct ss_request *r, const char *flag, struct ss_request *out, char *flags,
                         size_t size, struct ss_error *err);
/* Makes *out, which must not be initialised, the words that somebody gave, without notes. The caller frees *out with ss_request_free,
 * unless the call fails. Error: SS_ERR_NOMEM. */
int ss_request_given(const struct ss_request *r, struct ss_request *out, struct ss_error *err);
/* Fails where a word is no flag that jobs have, and names all such words: SS_ERR_USAGE (a command line), SS_ERR_INPUT (a file),
 * SS_ERR_UNSUPPORTED. Words beside --without, --drop and --scale are not checked. */
int ss_request_check_known(const struct ss_request *r, struct ss_error *err);
/* Points an error that names no file at the line that gave the first of `flags` ("--tp --pp"), where a file
 * gave it. */
void ss_request_locate(const struct ss_request *r, const char *flags, struct ss_error *err);
/* Adds what a launch script left to say to the hint of a refusal. */
void ss_request_blame(const struct ss_request *r, struct ss_error *err);
/* Writes the words from index `first` on as one line for people and shells, cut to `size` bytes with the final 0. Returns buf. */
char *ss_request_text(const struct ss_request *r, size_t first, char *buf, size_t size);
/* Does so with n words. */
char *ss_request_words(const struct ss_request *r, size_t first, size_t n, char *buf, size_t size);

SS_C_END
