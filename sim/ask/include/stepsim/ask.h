/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door for other languages: the words of a command in, one JSON document out. No structure crosses it, so that its functions stay
 * the same as long as the name of the shared library, libstepsim.so.0.3, does; docs/reference/formats.md says what documents have.
 *
 *     const char *words[] = {"run", "--job", "8b-16", "--tp", "2"};
 *     int status = ss_ask(5, words, &json, &size);     python/stepsim does this by ctypes
 *     ss_ask_free(json);
 */
#pragma once

#include "stepsim/error.h"

SS_C_BEGIN

/*
 * Answers words[0 .. n-1] as the program does under --json, with the native engine where the words name none. Commands: run, plan, explain, check,
 * compare, sweep, search, capacity, validate, list, doctor, version. They take the flags of a job and, of the options of the
 * program, those that say what is simulated and write no file: --engine, --level, --unfold, --full-replay, --placement, --straggler,
 * --slow-link, --spread-seed, --jitter, --replicas, --seed, --vary, --with, --workers, --axes, --exhaustive, --unconfirmed, --tokens, --deadline,
 * --budget, --layout, --spread, --coverage, --regret, --log, --tokens-per-second, --samples-per-second, --tflops, --mfu, --memory. Any other is an error.
 *
 * Returns the exit status of the program: 0, 1 (the job does not fit, the document is whole), 5 or 6 (check: slower, faster), 2 or 3 (the document has `error`).
 * *json ends with a 0, *size (NULL: not wanted) is the bytes before it; the caller frees it with ss_ask_free. Where memory lacks even for an error *json is
 * NULL. Several threads may ask at the same time; those commands that start processes (sweep, search and capacity of more than one worker,
 * doctor, SimGrid) while no other thread is in a library that takes locks. Nothing is printed; "--job -" reads stdin.
 */
int ss_ask(int n, const char *const *words, char **json, size_t *size);
/* Does ss_ask, and calls `watch` in this process some ten times a second while sweep, search, capacity or validate work, with the share of the work
 * that is done, 0..1. Where it returns 1 the command ends soon, with the error "stopped". */
int ss_ask_watched(int n, const char *const *words, int (*watch)(void *ctx, double share), void *ctx,
                   char **json, size_t *size);
/* What one answer leaves for the next: files that were read and have not changed, and parts of plans. No answer depends on it. */
struct ss_asker;
/* Returns a new one, which the caller frees with ss_asker_free; NULL: no memory. */
struct ss_asker *ss_asker_new(void);
/* Does ss_ask_watched with what is kept; `asker` and `watch` may be NULL. Several threads may ask at the same time. */
int ss_asker_ask(struct ss_asker *asker, int n, const char *const *words,
                 int (*watch)(void *ctx, double share), void *ctx, char **json, size_t *size);
/* Frees it while nobody asks. NULL is allowed. */
void ss_asker_free(struct ss_asker *asker);
/* Frees a document. NULL is allowed. */
void ss_ask_free(char *json);

SS_C_END
