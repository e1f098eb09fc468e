/* SPDX-License-Identifier: Apache-2.0 */
/* What predictions of like jobs share, kept from one to the next. None of it changes an answer. */
#ifndef STEPSIM_CACHE_H
#define STEPSIM_CACHE_H

#include "stepsim/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ss_cache;

/*
 * Makes an empty cache, which serves one thread at a time: who sends what to whom, by schedule; groups, routes and classes of ranks,
 * by layout; error bands, by model and card. It grows to some 64 MiB, then what was not asked for the longest goes. The caller closes
 * it with ss_cache_close. Error: SS_ERR_NOMEM.
 */
int ss_cache_open(struct ss_cache **out, struct ss_error *err);
/* Frees a cache from which nothing is being built; what was built with it does not need it. NULL is allowed. */
void ss_cache_close(struct ss_cache *cache);

#ifdef __cplusplus
}
#endif
#endif
