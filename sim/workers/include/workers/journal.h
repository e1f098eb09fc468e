/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A journal: a file that keeps answers as they come, so that interrupted work can go on. Its head says which
 * answers they are; each answer is one line, written at once. A line has the number of the item, the bytes of
 * its answer (two hexadecimal digits each; "zN." stands for N zeros) and a checksum. A last line that is cut
 * counts as never written.
 */
#pragma once

#include <stdint.h>

#include "stepsim/error.h"

/* What the answers belong to. The bytes of an answer mean something only to this build of the library. */
struct ss_journal_head {
    const char *what; /* one word: "sweep" */
    size_t size;      /* bytes of an answer */
    int nitems;
    uint64_t digest; /* of everything that the answers depend on beside the library */
};
struct ss_journal;

/* Opens the file to add answers, and makes it where it is missing or empty. `resume` must be 1 where the file
 * has answers. Only one process may have it open. Errors: SS_ERR_IO, SS_ERR_NOMEM, or SS_ERR_INPUT for a file
 * that is no journal, belongs to another build or other inputs, is damaged, in use, or not to be resumed. */
int ss_journal_open(const char *path, int resume, const struct ss_journal_head *head, struct ss_journal **out,
                    struct ss_error *err);
/* Returns how many items have an answer in the journal. */
int ss_journal_count(const struct ss_journal *j);
/* Returns 1 where the journal has an answer to the item. */
int ss_journal_has(const struct ss_journal *j, int item);
/* Reads the answer to an item that the journal has. Errors: SS_ERR_IO; SS_ERR_INPUT, the file has changed. */
int ss_journal_get(struct ss_journal *j, int item, void *answer, struct ss_error *err);
/* Adds an answer. After the call the answer survives the process, and some seconds later a crash of the
 * machine. Error: SS_ERR_IO. */
int ss_journal_put(struct ss_journal *j, int item, const void *answer, struct ss_error *err);
/* Closes the file. NULL is allowed. */
void ss_journal_close(struct ss_journal *j);

/* Writes the hexadecimal digits that tell this build of the library from others; "-" where the linker left no
 * build mark. */
void ss_build_id(char id[41]);
