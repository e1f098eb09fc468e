/* SPDX-License-Identifier: Apache-2.0 */
/* A list of items that is being dealt: what the one who deals knows of it. */
#ifndef SS_WORKERS_DEAL_H
#define SS_WORKERS_DEAL_H

#include "workers/journal.h"
#include "workers/relay.h"

struct ss_crew {
    const struct ss_pool *pool;
    int nworkers; /* 0: all is done in this process */
    int nhere;    /* the first so many are of this process */
    size_t cap;
    struct ss_worker *workers;
    struct pollfd *ready;       /* [nhere] */
    struct ss_team *team;       /* NULL: none */
    uint64_t digest;            /* of the pool and the build, the same in all processes of the team */
    struct ss_journal *journal; /* NULL: none */
};

/* A list of items that is being dealt. */
struct ss_deal {
    struct ss_crew *crew;
    const int *items;
    int n;
    char *answers;
    int *todo; /* [ntodo]: places whose answers are not in the journal */
    int ntodo;
    int next;  /* first of them that was never dealt out */
    int *back; /* places whose workers died */
    int nback;
    size_t cap_back;
    int list;    /* of a team */
    char *tries; /* [n]: how often a process died at it */
    int done, in_flight;
    int failed, status; /* first place that failed, n: none */
    struct ss_error error;
    int broken; /* the journal: nothing goes on without it */
};

/* ---- deal.c ---- */
void *ss_deal_answer(const struct ss_deal *d, int at);
/* Notes that the item at a place failed. */
void ss_deal_fail(struct ss_deal *d, int at, int status, const struct ss_error *error);
/* Counts the answer at a place, which is there, and keeps it in the journal. */
void ss_deal_count(struct ss_deal *d, int at);
/* Either, of an item that was in flight. */
void ss_deal_note(struct ss_deal *d, int at, int status, const struct ss_error *error);
/* A place to be dealt out again; and all of a worker, where nobody is to blame. */
void ss_deal_put_back(struct ss_deal *d, int at);
void ss_deal_put_all_back(struct ss_deal *d, struct ss_worker *s);
/* The worker of a worker has died. The item that it was at is dealt out again, for the machine may have ended it for reasons of its own;
 * those that waited behind it are not to blame. */
void ss_deal_bury(struct ss_deal *d, struct ss_worker *s);

/* ---- deal_team.c ---- */
/* Takes what processes of the team say: that they are there, answers, losses; and what those have that are dead. */
void ss_deal_hear(struct ss_deal *d);
/* Hands all answers, or the error rc, to all others: they go on from them as this process does. */
void ss_deal_tell(const struct ss_deal *d, int rc);

#endif
