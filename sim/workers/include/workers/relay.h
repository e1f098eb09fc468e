/* SPDX-License-Identifier: Apache-2.0 */
/* A relay: a process of a team, not the first, that hands the items of a list to its own workers. */
#pragma once

#include <poll.h>

#include "workers/team.h"
#include "workers/worker.h"

struct ss_relay {
    const struct ss_pool *pool;
    uint64_t digest; /* of the pool; it must equal the digest of the first process */
    int nworkers;
    struct ss_worker *workers;
    struct pollfd *ready; /* [nworkers] */
};

/* Works at the list until all n answers are in *answers. Returns the error of the first process, or
 * SS_ERR_ENGINE where that process has ended or died. */
int ss_relay_serve(struct ss_relay *r, int n, void *answers, struct ss_error *err);
/* Sets what to wait for from workers: nothing, of one that has no item. */
void ss_relay_watch(const struct ss_worker *workers, struct pollfd *ready, int n);
