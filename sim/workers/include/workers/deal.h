/* SPDX-License-Identifier: Apache-2.0 */
/* How lists of items are dealt to workers: what the dealing process knows of its workers and of a list. */
#pragma once

#include "base/map.h"
#include "workers/journal.h"
#include "workers/relay.h"

/* gone: may be begun again; asked: a list has asked for it, so nobody begins it any more */
enum { SS_AHEAD_GONE, SS_AHEAD_BEGUN, SS_AHEAD_ANSWERED, SS_AHEAD_ASKED };
/* What is worked at before it is asked for. */
struct ss_ahead {
    int n;
    size_t cap;
    struct ss_ahead_entry {
        int item, state; /* SS_AHEAD_... */
        void *answer;
    } * entry;
    struct ss_map at; /* by item */
};

/* Homes of items that were dealt or begun. */
struct ss_homes {
    struct ss_map at; /* by the number of the home */
    int n;
    size_t cap;
    struct ss_homes_entry {
        int owner; /* its worker; -1: none yet */
        int next,
            last; /* indices into todo: its first place that may not be dealt out yet (-1: none), and its last place */
    } * home;
};

struct ss_crew {
    const struct ss_pool *pool;
    int nworkers; /* 0: this process does all work itself */
    int nhere;    /* the first `nhere` workers belong to this process, the others to processes of the team */
    size_t cap;
    struct ss_worker *workers;
    struct pollfd *ready; /* [2 * nhere]: those of `next` stand behind */
    struct ss_crew *next; /* whose items workers in the place of this crew's have begun; NULL: none yet */
    void *scratch;        /* where this process works at an answer of many lengths; else NULL */
    struct ss_team *team; /* NULL: none */
    uint64_t digest;      /* of the pool and the build; equal in all processes of the team */
    struct ss_journal *journal; /* NULL: none */
    struct ss_homes homes;
    struct ss_ahead ahead; /* place -1 - i of a worker is its entry i */
};

/* A list of items that is being dealt. */
struct ss_deal {
    struct ss_crew *crew;
    const int *items;
    int n;
    void *answers;
    int *todo; /* [ntodo]: places in the list whose answers are not in the journal */
    int ntodo;
    int next, left;    /* index into todo of the first place never dealt out, and how many there are */
    char *given;       /* [ntodo]: 1: it was dealt out */
    int nhomes, fresh; /* the homes of these places, and the first that may have no worker yet */
    int *home;         /* [nhomes]: indices of the crew's homes; NULL: items go in their order */
    int *follow;       /* [ntodo]: index into todo of the next place with that home; -1: none */
    int *back;         /* stack of places whose workers died; they are dealt out again */
    int nback;
    size_t cap_back;
    int list;    /* number of the list in the team */
    char *tries; /* [n]: how often a process died at the item */
    int done, in_flight;
    int failed, status; /* first place that failed, or n; and its status */
    struct ss_error error;
    int broken; /* not 0: the journal cannot be written, or the study is stopped, so no more is dealt */
};

/* ---- deal.c: functions on one list ---- */
/* Returns where the answer at a place is. */
void *ss_deal_answer(const struct ss_deal *d, int at);
/* Makes room for the answer at a place, of so many bytes. Returns NULL without memory; no more is dealt then. */
void *ss_deal_room(struct ss_deal *d, int at, size_t bytes);
/* Notes that the item at a place failed. */
void ss_deal_fail(struct ss_deal *d, int at, int status, const struct ss_error *error);
/* Counts the answer at a place, which is there, and keeps it in the journal. */
void ss_deal_count(struct ss_deal *d, int at);
/* Counts the answer, or notes the failure, of an item that was in flight. */
void ss_deal_note(struct ss_deal *d, int at, int status, const struct ss_error *error);
/* Deals out one place again, or all places of a worker that is not to blame. */
void ss_deal_put_back(struct ss_deal *d, int at);
void ss_deal_put_all_back(struct ss_deal *d, struct ss_worker *s);
/* Notes that a worker has died. The item that it was at is dealt out again, because the machine may have
 * ended the worker for its own reasons. The items behind that item are not to blame. */
void ss_deal_bury(struct ss_deal *d, struct ss_worker *s);

/* ---- homes.c ---- */
/* Sorts the places to do by their homes. Error: SS_ERR_NOMEM. */
int ss_homes_find(struct ss_deal *d);
/* Returns the index into todo of the next place for a worker, of those never dealt out: in a home of its own, else in one that has no
 * worker yet, else the last one of all. */
int ss_homes_place(struct ss_deal *d, int worker);
/* Gives the home of an item to a worker, unless it has one. */
void ss_homes_take(struct ss_crew *c, int item, int worker);

/* ---- ahead.c ---- */
/* Gives an item that is likely to be asked for later to a worker that idles. Returns 0 where there is none. */
int ss_ahead_give(struct ss_deal *d, struct ss_worker *s);
/* Keeps the answer to a worker's first item, which nobody has asked for yet. Returns 0, or -1 where the worker has died. */
int ss_ahead_take(struct ss_crew *c, struct ss_worker *s, const struct ss_reply *reply);
/* Takes items that are kept, or worked at, off those that are to do. */
void ss_ahead_claim(struct ss_deal *d);
void ss_ahead_free(struct ss_ahead *ahead);

/* ---- deal_team.c ---- */
/* Takes the messages of the team (readiness, answers, losses) and what dead processes still had. */
void ss_deal_hear(struct ss_deal *d);
/* Sends all answers, or the error rc, to all other processes, which go on from there as this process does. */
void ss_deal_tell(struct ss_deal *d, int rc);
