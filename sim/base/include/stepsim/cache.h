/* SPDX-License-Identifier: Apache-2.0 */
/* A cache keeps what predictions of like jobs share. A cached thing never changes an answer. */
#pragma once

#include "stepsim/error.h"

SS_C_BEGIN

struct ss_cache;

/*
 * Makes an empty cache, which serves one thread at a time. The cache keeps senders and receivers by schedule;
 * groups, routes and classes of ranks by layout; error bands by model and card. It grows to about 64 MiB,
 * then drops what was unused for the longest time. The caller closes it with ss_cache_close. Error:
 * SS_ERR_NOMEM.
 */
int ss_cache_open(struct ss_cache **out, struct ss_error *err);
/* Frees a cache. No build may be using it; results that were built with it do not need it. NULL is
 * allowed. */
void ss_cache_close(struct ss_cache *cache);

SS_C_END
