/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Islands: what of a replay need not be run in the order of time. The pipelines of data-parallel replicas meet in a few
 * collectives; between these each is run by itself, in which all that it reads stays in the caches, however many there are.
 * Why nothing changes by it: docs/design/replay-contract.md, "Islands".
 */
#include "replay/native.h"

/* Classes of an island at least: some hundred KiB. Ranks in lockstep share moments, so that some together cost less than one. */
#define LEAST 256
/* Islands pay where at most one slot in so many posts collectives. */
#define RARE 4

/* ---- which classes hang together ---- */

static int find(int *up, int i)
{
    while (up[i] != i)
        i = up[i] = up[up[i]];
    return i;
}

/* The lower one stands for both. */
static void join(int *up, int a, int b)
{
    a = find(up, a);
    b = find(up, b);
    up[a > b ? a : b] = a < b ? a : b;
}

/* Classes that exchange messages, or whose messages use the same link. sender: [nlinks]: one whose messages do, or -1. */
static void join_classes(const struct ss_program *p, int *up, int *sender)
{
    for (int c = 0; c < p->nclasses; c++)
        up[c] = c;
    for (int l = 0; l < p->nlinks; l++)
        sender[l] = -1;
    for (int i = 0; i < p->nchannels; i++) {
        const struct ss_channel *ch = &p->channels[i];
        const struct ss_path *path = ch->path >= 0 ? &p->paths[ch->path] : NULL;
        join(up, ch->from, ch->to);
        for (int j = 0; path && j < path->nlinks; j++) {
            int *other = &sender[path->link[j]];
            if (*other >= 0)
                join(up, *other, ch->from);
            *other = ch->from;
        }
    }
}

/* Puts parts that hang together, by their lowest class, on one island after the other. size: [nclasses], all 0. */
static void number_islands(struct ss_islands *s, int nclasses, int *up, int *size)
{
    int room = 0;
    for (int c = 0; c < nclasses; c++)
        size[find(up, c)]++;
    for (int c = 0; c < nclasses; c++) {
        int lowest = find(up, c);
        if (lowest == c && room <= 0) {
            s->n++;
            room = LEAST;
        }
        room -= lowest == c ? size[c] : 0;
        s->of[c] = lowest == c ? s->n - 1 : s->of[lowest];
    }
}

/* ---- what is on each ---- */

/* By counting: class0 and channel0 are where an island's end, until these are in their places. */
static void list_members(const struct ss_program *p, struct ss_islands *s)
{
    struct ss_island *all = s->all;
    for (int c = 0; c < p->nclasses; c++)
        all[s->of[c]].class0++;
    for (int i = 0; i < p->nchannels; i++)
        all[s->of[p->channels[i].from]].channel0++;
    for (int i = 1; i <= s->n; i++) {
        all[i].class0 += all[i - 1].class0;
        all[i].channel0 += all[i - 1].channel0;
    }
    for (int c = p->nclasses - 1; c >= 0; c--)
        s->classes[--all[s->of[c]].class0] = c;
    for (int i = p->nchannels - 1; i >= 0; i--)
        s->channels[--all[s->of[p->channels[i].from]].channel0] = i;
}

/* An island whose link a collective crosses without having a member there would not know when: it is never free. */
static void tie_crossed(const struct ss_program *p, struct ss_islands *s, const int *sender, int *mark)
{
    for (int g = 0; g < p->ncollectives; g++) {
        const struct ss_collective *c = &p->collectives[g];
        for (int i = 0; i < c->nmembers; i++)
            mark[s->of[c->members[i]]] = g + 1;
        for (int i = 0; i < c->nphases; i++)
            for (int f = 0; f < c->phases[i].nflows; f++) {
                int index = c->phases[i].flows[f].path;
                const struct ss_path *path = index >= 0 ? &p->paths[index] : NULL;
                for (int j = 0; path && j < path->nlinks; j++) {
                    int cls = sender[path->link[j]];
                    if (cls >= 0 && mark[s->of[cls]] != g + 1)
                        s->all[s->of[cls]].tied = 1;
                }
            }
    }
}

static int posts(const struct ss_native_template *t)
{
    const struct ss_event *e = t->first;
    while (e < t->end && e->kind != SS_EV_POST)
        e++;
    return e < t->end;
}

/* Would there hardly be a moment without a collective? Like classes follow one another. */
static int post_often(const struct ss_native *k)
{
    int64_t slots = 0, posting = 0;
    int n = 0;
    for (int c = 0; c < k->p->nclasses; c++) {
        const struct ss_native_kind *kind = k->classes[c].kind;
        const struct ss_program_class *pc = &k->p->classes[c];
        if (c == 0 || kind != k->classes[c - 1].kind) {
            n = 0;
            for (int i = 0; i < ss_program_stored(pc); i++)
                n += posts(&kind->templates[kind->order[i]]) ? ss_program_times(pc, i) : 0;
        }
        slots += kind->nslots;
        posting += n;
    }
    return RARE * posting > slots;
}

static int find_islands(struct ss_native *k, int *up, int *size, int *sender)
{
    const struct ss_program *p = k->p;
    struct ss_islands *s = &k->islands;
    size_t n = (size_t)p->nclasses;
    join_classes(p, up, sender);
    number_islands(s, p->nclasses, up, size);
    if (s->n < 2) {
        s->n = 0;
        return 0;
    }
    s->all = calloc((size_t)s->n + 1, sizeof *s->all);
    s->free = malloc((size_t)s->n * sizeof *s->free);
    s->classes = malloc(n * sizeof *s->classes);
    s->channels = malloc(((size_t)p->nchannels + 1) * sizeof *s->channels);
    if (!s->all || !s->free || !s->classes || !s->channels || ss_timers_init(&s->timers, k->timers.ids))
        return -1;
    list_members(p, s);
    memset(size, 0, n * sizeof *size);
    tie_crossed(p, s, sender, size);
    for (int i = s->n - 1; i >= 0; i--) {
        s->all[i].listed = 1;
        s->free[s->nfree++] = i;
    }
    return 0;
}

int ss_islands_init(struct ss_native *k)
{
    size_t n = (size_t)k->p->nclasses + 1;
    if (k->shared || k->p->nclasses <= LEAST || post_often(k))
        return 0;
    int *up = malloc(n * sizeof *up), *size = calloc(n, sizeof *size);
    int *sender = malloc(((size_t)k->p->nlinks + 1) * sizeof *sender);
    k->islands.of = malloc(n * sizeof *k->islands.of);
    int rc = up && size && sender && k->islands.of ? find_islands(k, up, size, sender) : -1;
    free(up);
    free(size);
    free(sender);
    return rc;
}

void ss_islands_free(struct ss_native *k)
{
    struct ss_islands *s = &k->islands;
    free(s->all);
    free(s->of);
    free(s->classes);
    free(s->channels);
    free(s->free);
    ss_timers_free(&s->timers);
}

/* ---- one on its own ---- */

static void swap_timers(struct ss_native *k)
{
    struct ss_timers swap = k->timers;
    k->timers = k->islands.timers;
    k->islands.timers = swap;
}

static void bring_timer(struct ss_native *k, int id)
{
    double time;
    if (ss_timers_take(&k->islands.timers, id, &time))
        ss_timers_set(&k->timers, id, time);
}

int ss_islands_enter(struct ss_native *k, int island)
{
    const struct ss_islands *s = &k->islands;
    const struct ss_island *i = &s->all[island];
    int left = 0;
    swap_timers(k);
    for (int c = i[0].class0; c < i[1].class0; c++) {
        bring_timer(k, s->classes[c]);
        left += k->classes[s->classes[c]].slot < k->classes[s->classes[c]].kind->nslots;
    }
    for (int c = i[0].channel0; c < i[1].channel0; c++)
        bring_timer(k, k->flow0 + s->channels[c]);
    return left;
}

void ss_islands_leave(struct ss_native *k)
{
    swap_timers(k);
    while (ss_timers_any(&k->islands.timers)) {
        double time = k->islands.timers.heap[0].time;
        ss_timers_set(&k->timers, ss_timers_pop(&k->islands.timers), time);
    }
}
