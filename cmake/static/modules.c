/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loader of a static program, which loads nothing: libc's would want the very libc that it was linked with. A module that was linked is
 * found by the name of its file, in whatever folder, and its symbols by this table.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#ifdef SS_HTTP_LINKED
#include <microhttpd.h>

#include "serve/http.h"

ss_http_main_fn ss_http_main;
static const struct linked {
    const char *file, *symbol;
    void *function;
} linked[] = {{"stepsim-http.so", SS_HTTP_SYMBOL, (void *)ss_http_main},
              {"stepsim-http.so", "MHD_get_version", (void *)MHD_get_version}};
#define N_LINKED (sizeof linked / sizeof linked[0])
#else
static const struct linked {
    const char *file, *symbol;
    void *function;
} linked[1];
#define N_LINKED 0
#endif

void *dlopen(const char *file, int mode)
{
    const char *slash = file ? strrchr(file, '/') : NULL;

    (void)mode;
    for (size_t i = 0; slash && i < N_LINKED; i++)
        if (!strcmp(slash + 1, linked[i].file))
            return (void *)linked[i].file;
    return NULL;
}

void *dlsym(void *restrict handle, const char *restrict name)
{
    for (size_t i = 0; handle && i < N_LINKED; i++)
        if (!strcmp(handle, linked[i].file) && !strcmp(name, linked[i].symbol))
            return linked[i].function;
    return NULL;
}

char *dlerror(void)
{
    static char text[] = "this program is a static one, which loads no modules";
    return text;
}

int dlclose(void *handle)
{
    (void)handle;
    return -1;
}

int dladdr(const void *address, Dl_info *info)
{
    (void)address, (void)info;
    return 0;
}
