/* SPDX-License-Identifier: Apache-2.0 */
/* The loader of a static program, which loads nothing: libc's would want the very libc that it was linked with. */
#include <dlfcn.h>
#include <stddef.h>

void *dlopen(const char *file, int mode)
{
    (void)file, (void)mode;
    return NULL;
}

void *dlsym(void *restrict handle, const char *restrict name)
{
    (void)handle, (void)name;
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
