/* SPDX-License-Identifier: Apache-2.0 */
/* Where a program finds the files that came with it. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"

bool ss_is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* "FOLDER OF THE RUNNING PROGRAM/below" without dots and links; false where there is none or it is too long. */
static bool below_program(const char *below, char *path, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", path, size);
    if (n <= 0 || (size_t)n >= size)
        return false;
    path[n] = '\0';
    char *name = strrchr(path, '/');
    if (!name || !ss_copy(name + 1, size - (size_t)(name + 1 - path), below))
        return false;
    char *whole = realpath(path, NULL);
    bool found = whole && ss_copy(path, size, whole);
    free(whole);
    return found;
}

void ss_home_find(const struct ss_home_place *place, char *path, size_t size)
{
    if (!place->below_program || !below_program(place->below_program, path, size))
        ss_copy(path, size, place->folder);
}
