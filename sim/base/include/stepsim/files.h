/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of files that were read, so that a program can refuse to overwrite one of them. A caller that wants
 * such a list gives an empty one to the loaders, most often as `files` of their options. A loader that gets
 * NULL keeps nothing. One thread at a time may use a list.
 */
#pragma once

#include "stepsim/error.h"

SS_C_BEGIN

/* The caller owns the list: it begins with {0} and ends with ss_files_free. */
struct ss_files {
    size_t n, cap;
    char **path; /* each path stands once, in the order of reading */
};
/* Adds a copy of `path` unless the list has it; the file need not exist. Does nothing where `files` is NULL. Error:
 * SS_ERR_NOMEM. */
int ss_files_add(struct ss_files *files, const char *path, struct ss_error *err);
/* Adds copies of all paths of another list. */
int ss_files_add_all(struct ss_files *files, const struct ss_files *more, struct ss_error *err);
/* Returns 1 when `path` is one of these files, by whatever name (device and inode are compared). Returns 0
 * when it is none or does not exist. */
int ss_files_have(const struct ss_files *files, const char *path);
/* Empties the list, which may then be used again. NULL is allowed. */
void ss_files_free(struct ss_files *files);

SS_C_END
