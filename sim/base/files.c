/* SPDX-License-Identifier: Apache-2.0 */
#include "stepsim/files.h"

#include <sys/stat.h>

#include "base/base.h"

int ss_files_add(struct ss_files *files, const char *path, struct ss_error *err)
{
    if (!files)
        return SS_OK;
    for (size_t i = 0; i < files->n; i++)
        if (!strcmp(files->path[i], path))
            return SS_OK;
    char *own = strdup(path);
    if (!own || ss_grow(&files->path, &files->cap, files->n + 1, sizeof *files->path)) {
        free(own);
        return ss_nomem(err);
    }
    files->path[files->n++] = own;
    return SS_OK;
}

int ss_files_add_all(struct ss_files *files, const struct ss_files *more, struct ss_error *err)
{
    int rc = SS_OK;

    for (size_t i = 0; files && i < more->n && !rc; i++)
        rc = ss_files_add(files, more->path[i], err);
    return rc;
}

int ss_files_have(const struct ss_files *files, const char *path)
{
    struct stat st, other;
    for (size_t i = 0; ss_inside(path) && i < files->n; i++)
        if (!strcmp(files->path[i], path))
            return 1;
    if (stat(path, &st))
        return 0;
    for (size_t i = 0; i < files->n; i++)
        if (!stat(files->path[i], &other) && st.st_dev == other.st_dev && st.st_ino == other.st_ino)
            return 1;
    return 0;
}

void ss_files_free(struct ss_files *files)
{
    if (!files)
        return;
    for (size_t i = 0; i < files->n; i++)
        free(files->path[i]);
    free(files->path);
    *files = (struct ss_files){0};
}
