/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that keeps answers as they come, so that work that was cut short goes on where it was: a head that tells which answers they
 * are, and a line for each, written at once. A line is the number of the item, the bytes of its answer (two hexadecimal digits each;
 * "zN." stands for N zeros) and a checksum. What was cut in the middle of the last line counts as never written.
 */
#ifndef SS_WORKERS_JOURNAL_H
#define SS_WORKERS_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

#include "stepsim/error.h"

/* Whose answers they are. Bytes of answers mean something to this build of the library alone. */
struct ss_journal_head {
    const char *what; /* one word: "sweep" */
    size_t size;      /* bytes of an answer */
    int nitems;
    uint64_t digest; /* of everything that answers depend on beside the library */
};
struct ss_journal;

/* Opens the file to add answers, and makes it where it is not there or is empty. Where it has answers `resume` must be 1. Nobody
 * else may have it open. Errors: SS_ERR_IO, SS_ERR_NOMEM, SS_ERR_INPUT: it is no journal, of another build of the library, of
 * other inputs, damaged, in use, or not to be resumed. */
int ss_journal_open(const char *path, int resume, const struct ss_journal_head *head, struct ss_journal **out,
                    struct ss_error *err);
/* Returns how many items it has answers to. */
int ss_journal_count(const struct ss_journal *j);
/* Returns 1 where it has an answer to the item. */
int ss_journal_has(const struct ss_journal *j, int item);
/* Reads the answer to an item that it has. Errors: SS_ERR_IO; SS_ERR_INPUT, the file has changed. */
int ss_journal_get(struct ss_journal *j, int item, void *answer, struct ss_error *err);
/* Adds an answer: behind this call it outlives the process, and the machine after some seconds. Error: SS_ERR_IO. */
int ss_journal_put(struct ss_journal *j, int item, const void *answer, struct ss_error *err);
/* Closes the file. NULL is allowed. */
void ss_journal_close(struct ss_journal *j);

/* Writes what tells this build of the library from others, hexadecimal digits; "-" where the linker left no such mark. */
void ss_build_id(char id[41]);

#endif
