/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rounds of a search for switches have learnt of layouts. A layout with the switches that it had before is not
 * better now either, for what it has to beat only falls. Of one whose switches change, its bounds and its time with others
 * tell whether it is worth a look; rounds that are exact do not ask that.
 */
#include "base/base.h"
#include "base/map.h"
#include "decide/search_internal.h"

/* share of a bound of the time that the turn of a switch takes away at most */
#define TURNED 0.25
/* share by which the time of a layout with other switches, scaled as its bounds, is off at most */
#define SCALED 0.1

/* What is known of a layout. */
struct fact {
    float floor;         /* s: the least of its bounds so far; 0: none */
    float bound, time;   /* s: of its last prediction; 0: none */
    float bytes, memory; /* its bound of the memory then, and its memory */
};

struct ss_find_known {
    struct ss_map decided; /* layouts with their switches */
    struct fact *fact;     /* [layouts] */
};

struct ss_find_known *ss_find_known_open(size_t layouts)
{
    struct ss_find_known *k = ss_calloc(1, sizeof *k);
    if (k)
        k->fact = ss_calloc(layouts + 1, sizeof *k->fact);
    if (k && !k->fact) {
        free(k);
        return NULL;
    }
    return k;
}

void ss_find_known_close(struct ss_find_known *k)
{
    if (!k)
        return;
    ss_map_free(&k->decided);
    SS_FREE(k->fact, k);
}

static uint64_t key_of(int walk, unsigned set)
{
    return (uint64_t)walk << SS_FIND_MOST_SWITCHES | set;
}

int ss_find_known_decided(const struct ss_find_known *k, int walk, unsigned set)
{
    return ss_map_get(&k->decided, key_of(walk, set)) >= 0;
}

static int decide(struct ss_find_known *k, const struct ss_find_leaf *leaf, struct ss_error *err)
{
    return ss_map_put(&k->decided, key_of(leaf->walk, ss_find_switches_of(leaf->at)), 1) < 0 ? ss_nomem(err)
                                                                                             : SS_OK;
}

void ss_find_known_bound(struct ss_find_known *k, int walk, double seconds)
{
    struct fact *f = &k->fact[walk];
    f->floor = f->floor > 0 ? fminf(f->floor, (float)seconds) : (float)seconds;
}

void ss_find_known_point(struct ss_find_known *k, const struct ss_find_leaf *leaf,
                         const struct ss_find_point *p)
{
    struct fact *f = &k->fact[leaf->walk];
    f->bound = (float)leaf->quick;
    f->time = (float)p->summary.iteration_s;
    f->bytes = (float)leaf->bytes;
    f->memory = (float)p->summary.peak_device;
}

int ss_find_known_hopeless(const struct ss_find_known *k, int walk, double best)
{
    return k->fact[walk].floor * (1 - TURNED) >= best;
}

/* Returns whether a layout with new switches and bounds is slower than `best`, s, or needs more than `room`, by its last
 * prediction. */
static int is_worse(const struct ss_find_known *k, const struct ss_find_leaf *leaf, int block, double room,
                    double best)
{
    const struct fact *f = &k->fact[leaf->walk];
    if (!(f->bound > 0))
        return 0;
    if (f->time * (leaf->quick / f->bound) * (1 - SCALED) >= best)
        return 1;
    return !block && f->memory + (leaf->bytes - f->bytes) > room * (1 + SCALED);
}

int ss_find_known_wants(struct ss_find_round *round, const struct ss_find_cluster *c,
                        const struct ss_find_leaf *leaf, int stays, int *rc, struct ss_error *err)
{
    const double best = round->best[leaf->cluster];
    int block = ss_find_block_axis(c, leaf->at) >= 0;
    if (ss_find_known_decided(round->known, leaf->walk, ss_find_switches_of(leaf->at)))
        return 0;
    if (stays && !round->exact && is_worse(round->known, leaf, block, c->room, best))
        return 0;
    *rc = decide(round->known, leaf, err);
    return stays && !leaf->unsure && leaf->seconds < best;
}
