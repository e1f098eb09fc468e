/* SPDX-License-Identifier: Apache-2.0 */
/* What a process of a team that is not the first one does with a list: it hands items to its own workers. */
#ifndef SS_WORKERS_RELAY_H
#define SS_WORKERS_RELAY_H

#include <poll.h>

#include "workers/team.h"
#include "workers/worker.h"

struct ss_relay {
    const struct ss_pool *pool;
    uint64_t digest; /* of the pool: the first one's must be the same */
    int nworkers;
    struct ss_worker *workers;
    struct pollfd *ready; /* [nworkers] */
};

/* Works at the list until all its answers have come: n of them, in *answers. Error: that of the first one; SS_ERR_ENGINE: it has ended
 * or died. */
int ss_relay_serve(struct ss_relay *r, int n, void *answers, struct ss_error *err);
/* Takes what the workers have to say: waits for it ms milliseconds at most, then calls `take` for each worker that has something. */
void ss_relay_poll(struct ss_worker *workers, struct pollfd *ready, int n, int ms,
                   void (*take)(void *ctx, struct ss_worker *s), void *ctx);

#endif
