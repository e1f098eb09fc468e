/* SPDX-License-Identifier: Apache-2.0 */
/* Where a program finds the files that came with it. */
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"

bool ss_is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Replaces path, a file's path, by that of "FOLDER/below" without dots and links, where FOLDER holds the
 * file. Returns false where there is none or it is too long. */
static bool below_file(const char *below, char *path, size_t size)
{
    char *name = strrchr(path, '/');
    if (!name || !ss_copy(name + 1, size - (size_t)(name + 1 - path), below))
        return false;
    char *whole = realpath(path, NULL);
    bool found = whole && ss_copy(path, size, whole);
    free(whole);
    return found;
}

static bool below_program(const char *below, char *path, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", path, size);
    if (n <= 0 || (size_t)n >= size)
        return false;
    path[n] = '\0';
    return below_file(below, path, size);
}

/* Writes the path of `below` beside the shared library that holds this code. Returns false where the code is
 * linked into a program. */
static bool below_library(const char *below, char *path, size_t size)
{
    Dl_info info;
    if (!dladdr(&ss_home, &info) || !info.dli_fname)
        return false;
    const char *name = strrchr(info.dli_fname, '/');
    return name && !strncmp(name, "/libstepsim.so", 14) && ss_copy(path, size, info.dli_fname) &&
           below_file(below, path, size);
}

void ss_home_find(const struct ss_home_place *place, char *path, size_t size)
{
    if ((!place->below_program || !below_program(place->below_program, path, size)) &&
        (!place->below_library || !below_library(place->below_library, path, size)))
        ss_copy(path, size, place->folder);
}
