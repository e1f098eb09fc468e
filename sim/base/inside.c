/* SPDX-License-Identifier: Apache-2.0 */
/* Data that a program has inside of itself (cmake/inside.c makes the table). */
#include "base/base.h"

static int compare_path(const void *path, const void *file)
{
    return strcmp(path, ((const struct ss_inside_file *)file)->path);
}

/* The part of a path below SS_INSIDE; NULL: the path is one of the system. */
static const char *below(const char *path)
{
    size_t n = sizeof SS_INSIDE - 1;
    return ss_home.inside && !strncmp(path, SS_INSIDE "/", n + 1) ? path + n + 1 : NULL;
}

bool ss_inside(const char *path)
{
    return below(path) != NULL;
}

const struct ss_inside_file *ss_inside_find(const char *path)
{
    const char *name = below(path);
    return name ? bsearch(name, ss_home.inside, ss_home.ninside, sizeof *ss_home.inside, compare_path) : NULL;
}

const char *ss_inside_next(const char *folder, size_t *at)
{
    const char *name = below(folder);
    size_t n = name ? strlen(name) : 0;
    for (; name && *at < ss_home.ninside; ++*at) {
        const char *path = ss_home.inside[*at].path;
        if (!strncmp(path, name, n) && path[n] == '/' && !strchr(path + n + 1, '/'))
            return ss_home.inside[(*at)++].path + n + 1;
    }
    return NULL;
}
