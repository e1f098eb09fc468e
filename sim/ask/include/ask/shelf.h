/* SPDX-License-Identifier: Apache-2.0 */
/* What one answer leaves for the next. A shelf is one answer's at a time; none changes an answer, for a
 * file that has changed empties it, as another folder or STEPSIM_DATA does. */
#pragma once

#include "stepsim/bands.h"
#include "stepsim/cache.h"
#include "stepsim/scenario.h"

struct ss_shelves; /* those that no answer has */
struct ss_shelf {
    struct ss_cache *cache;   /* parts of plans, and whole answers */
    struct ss_scenario *like; /* lends what was read; NULL: nothing was */
    struct ss_bands *bands;   /* those of the data; NULL: not read yet */
    struct ss_files files;    /* that were read */
    uint64_t stamp;           /* of these files */
    size_t stamped;           /* how many they were */
    int answers;              /* number of answers that it was taken for */
    struct ss_shelf *next;
};

/* The caller frees *out with ss_shelves_free. Error: SS_ERR_NOMEM. */
int ss_shelves_new(struct ss_shelves **out, struct ss_error *err);
/* Frees shelves, of which no answer has one. NULL is allowed. */
void ss_shelves_free(struct ss_shelves *s);
/* Takes a shelf, until it is given back. `start`: words that may name files; NULL: none. Error:
 * SS_ERR_NOMEM. */
int ss_shelf_take(struct ss_shelves *s, const struct ss_request *start, struct ss_shelf **out,
                  struct ss_error *err);
void ss_shelf_give_back(struct ss_shelves *s, struct ss_shelf *shelf);

/* Does ss_scenario_build with what was read before; `files`, which may be NULL, gets those of this job, read now or before. */
int ss_shelf_build(struct ss_shelf *shelf, const struct ss_request *r, struct ss_files *files,
                   struct ss_scenario **out, struct ss_error *err);
/* Sets *out to the bands of the data, which the shelf owns. Errors of ss_bands_load. */
int ss_shelf_bands(struct ss_shelf *shelf, const struct ss_bands **out, struct ss_error *err);
/* Returns the options of such a build. */
struct ss_scenario_options ss_shelf_how(struct ss_shelf *shelf);
