/* SPDX-License-Identifier: Apache-2.0 */
/* What emscripten's C library lacks; every file of ours is compiled behind this one (cmake/alone.cmake). */
#include <stddef.h>

void qsort_r(void *base, size_t n, size_t size, int (*compare)(const void *, const void *, void *),
             void *ctx);
int close_range(unsigned first, unsigned last, int flags);
