/* SPDX-License-Identifier: Apache-2.0 */
/* What one answer of the page leaves for the next. A shelf is one answer's at a time; none changes an answer, for a
 * file that has changed empties it. */
#ifndef SS_SERVE_SHELF_H
#define SS_SERVE_SHELF_H

#include "stepsim/cache.h"
#include "stepsim/files.h"
#include "stepsim/scenario.h"
#include "stepsim/serve.h"

struct ss_shelves; /* those that no answer has */
struct ss_shelf {
    struct ss_cache *cache;   /* parts of plans, and whole answers */
    struct ss_scenario *like; /* lends what was read; NULL: nothing was */
    struct ss_files files;    /* that were read */
    uint64_t stamp;           /* of these files */
    int answers;              /* number of answers that were kept */
    struct ss_shelf *next;
};

/* The caller frees *out with ss_shelves_free. Error: SS_ERR_NOMEM. */
int ss_shelves_new(struct ss_shelves **out, struct ss_error *err);
/* Frees shelves, of which no answer has one. NULL is allowed. */
void ss_shelves_free(struct ss_shelves *s);
/* Takes a shelf, until it is given back. `start`: the words that the page was started with, which may name files. Error:
 * SS_ERR_NOMEM. */
int ss_shelf_take(struct ss_shelves *s, const struct ss_request *start, struct ss_shelf **out,
                  struct ss_error *err);
void ss_shelf_give_back(struct ss_shelves *s, struct ss_shelf *shelf);

/* Does ss_scenario_build with what was read before. */
int ss_shelf_build(struct ss_shelf *shelf, const struct ss_request *r, struct ss_scenario **out,
                   struct ss_error *err);
/* Returns the options of such a build. */
struct ss_scenario_options ss_shelf_how(struct ss_shelf *shelf);

/* Fills *reply with a copy of an earlier answer to the same question; returns 0 where there is none. */
int ss_shelf_recall(struct ss_shelf *shelf, const char *path, const struct ss_serve_argument *arguments,
                    int n, struct ss_serve_reply *reply);
/* Keeps a copy of an answer. */
void ss_shelf_keep(struct ss_shelf *shelf, const char *path, const struct ss_serve_argument *arguments, int n,
                   const struct ss_serve_reply *reply);

#endif
