/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: a machine without libxml2. */
#include <dlfcn.h>
#include <string.h>

void *dlopen(const char *file, int mode)
{
    void *(*real)(const char *, int), *symbol = dlsym(RTLD_NEXT, "dlopen");
    memcpy(&real, &symbol, sizeof real);
    return real(file && strstr(file, "libxml2") ? "libxml2-is-not-here.so" : file, mode);
}
