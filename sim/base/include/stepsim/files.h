/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that something was read from, so that no output overwrites one of them. Whoever wants to know hands a list to
 * the loaders, most often as `files` of their options; without one nothing is kept. A list belongs to one thread.
 */
#ifndef STEPSIM_FILES_H
#define STEPSIM_FILES_H

#include <stddef.h>

#include "stepsim/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Begin with {0}; free with ss_files_free. */
struct ss_files {
    size_t n, cap;
    char **path; /* each once, in the order of reading */
};
/* Adds a path; a file need not be there. `files` NULL: nothing happens. SS_ERR_NOMEM. */
int ss_files_add(struct ss_files *files, const char *path, struct ss_error *err);
/* 1 when `path` is one of these files, under whatever name; 0 also where there is no such file. */
int ss_files_have(const struct ss_files *files, const char *path);
void ss_files_free(struct ss_files *files);

#ifdef __cplusplus
}
#endif
#endif
