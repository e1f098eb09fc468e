/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words and files in one input: words separated by blanks, then files, each behind a line "%% NAME". A word "@NAME" stands for the path
 * of that file. No other word names a file: a slash, a lone dash and the words that run a script are refused, so that what an
 * input does depends on its bytes alone.
 */
#ifndef FUZZ_BUNDLE_H
#define FUZZ_BUNDLE_H

#include <stddef.h>
#include <stdint.h>

#define FUZZ_MOST_WORDS 160
#define FUZZ_MOST_FILES 6
#define FUZZ_NAME_SIZE 24
#define FUZZ_MARK "%% "

struct fuzz_file {
    char name[FUZZ_NAME_SIZE]; /* letters, digits, dots, dashes */
    const char *text;          /* in the input */
    size_t size;
    char path[128];
};
struct fuzz_bundle {
    int nwords, nfiles;
    char *word[FUZZ_MOST_WORDS]; /* own copies, paths in place of @NAME */
    struct fuzz_file file[FUZZ_MOST_FILES];
};

/* Splits an input and writes its files into a folder of this process, which is removed when it ends. The caller frees *b with
 * fuzz_bundle_free in any case. Returns 0, or -1: no such input. */
int fuzz_bundle_read(const uint8_t *data, size_t size, struct fuzz_bundle *b);
/* The files of an input alone: no word is looked at, and nothing is written. Returns the length of the text of words. */
size_t fuzz_bundle_split(const char *data, size_t size, struct fuzz_bundle *b);
/* Writes a text into that folder; path: of 128 characters. Returns 0 or -1. */
int fuzz_bundle_put(const char *name, const char *text, size_t size, char *path);
void fuzz_bundle_free(struct fuzz_bundle *b);

#endif
