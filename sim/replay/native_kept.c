/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a replay at its first jump over a steady state, kept for programs that are the same up to there: those of another number of
 * microbatches have more or fewer turns of the loops that are jumped over. Such a replay goes on from there, and is the same to the last
 * bit as one from the beginning.
 *
 * Most programs come once. So a cheap mark of a program is remembered, and a state is kept when its mark comes for the second time.
 */
#include <limits.h>

#include "base/cache.h"
#include "replay/native.h"
#include "replay/steps.h"

#define MARKS 256
/* Events of templates beyond which nothing is kept: those of unfolded ranks. */
#define MOST_EVENTS 65536

struct ss_keeping {
    struct ss_cache *cache;
    struct ss_cache_key key;
};

struct kept {
    int *slot, *shift; /* [classes]: where a class was, slots of a period */
    int *templates;    /* of the slots up to that behind these, class after class */
    struct ss_pass state;
};

/* ---- what a program is ---- */

static void mix_real(struct ss_cache_key *key, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    ss_cache_mix(key, bits);
}

static void mix_event(struct ss_cache_key *key, const struct ss_event *e)
{
    ss_cache_mix(key,
                 (uint64_t)(uint32_t)e->index << 32 ^ (uint64_t)(uint32_t)e->aux << 8 ^ (uint64_t)e->kind);
    mix_real(key, e->amount);
}

/* Sizes and some amounts: programs of one mark are mostly the same but for turns of loops. */
static uint64_t mark_of(const struct ss_program *p)
{
    struct ss_cache_key key = ss_cache_key(SS_CACHE_REPLAY);
    const int numbers[] = {p->nlinks,    p->npaths,       p->nmixes,  p->ntemplates,
                           p->nchannels, p->ncollectives, p->nclasses};
    ss_cache_mix_ints(&key, numbers, (int)(sizeof numbers / sizeof numbers[0]));
    for (int i = 0; i < p->ntemplates; i += 1 + p->ntemplates / 64) {
        const struct ss_template *t = &p->templates[i];
        ss_cache_mix(&key, (uint64_t)t->nevents);
        for (int e = 0; e < t->nevents; e += 1 + t->nevents / 8)
            mix_event(&key, &t->events[e]);
    }
    for (int i = 0; i < p->nlinks; i += 1 + p->nlinks / 16)
        mix_real(&key, p->links[i].bandwidth);
    for (int i = 0; i < p->nchannels; i += 1 + p->nchannels / 16)
        mix_real(&key, p->channels[i].latency);
    return key.a ^ key.b;
}

static void mix_collective(struct ss_cache_key *key, const struct ss_collective *g)
{
    ss_cache_mix(key, (uint64_t)g->label);
    mix_real(key, g->sm_share);
    ss_cache_mix_ints(key, g->members, g->nmembers);
    ss_cache_mix(key, (uint64_t)g->nphases);
    for (int i = 0; i < g->nphases; i++) {
        const struct ss_flow_phase *phase = &g->phases[i];
        mix_real(key, phase->latency);
        ss_cache_mix(key, (uint64_t)phase->nflows);
        for (int f = 0; f < phase->nflows; f++) {
            ss_cache_mix(key, (uint64_t)(uint32_t)phase->flows[f].path);
            mix_real(key, phase->flows[f].bytes);
        }
    }
}

static void mix_links(struct ss_cache_key *key, const struct ss_program *p)
{
    for (int i = 0; i < p->nlinks; i++)
        mix_real(key, p->links[i].bandwidth);
    for (int i = 0; i < p->npaths; i++) {
        ss_cache_mix_ints(key, p->paths[i].link, p->paths[i].nlinks);
        for (int l = 0; l < p->paths[i].nlinks; l++)
            mix_real(key, p->paths[i].weight[l]);
    }
    for (int i = 0; i < p->nchannels; i++) {
        const struct ss_channel *c = &p->channels[i];
        const int numbers[] = {c->from, c->to, c->rendezvous, c->path};
        ss_cache_mix_ints(key, numbers, 4);
        mix_real(key, c->latency);
        mix_real(key, c->sm_share);
    }
}

/* All of a program without jitter that the engine reads, but for the slots: `mark` has the sizes of its tables. */
static struct ss_cache_key key_of(const struct ss_native *k, uint64_t mark)
{
    const struct ss_program *p = k->p;
    struct ss_cache_key key = ss_cache_key(SS_CACHE_REPLAY);
    const int numbers[] = {k->board->accounts != NULL, k->anchor, ss_jump_period(k), k->anchor_slot};
    ss_cache_mix(&key, mark);
    ss_cache_mix_ints(&key, numbers, 4);
    mix_links(&key, p);
    for (int i = 0; i < p->nmixes; i++)
        ss_cache_mix_bytes(&key, &p->mixes[i], sizeof p->mixes[i]);
    for (int i = 0; i < p->ntemplates; i++) {
        ss_cache_mix(&key, (uint64_t)p->templates[i].nevents);
        for (int e = 0; e < p->templates[i].nevents; e++)
            mix_event(&key, &p->templates[i].events[e]);
    }
    for (int i = 0; i < p->ncollectives; i++)
        mix_collective(&key, &p->collectives[i]);
    for (int c = 0; c < p->nclasses; c++)
        ss_cache_mix(&key, (uint64_t)p->classes[c].nstreams);
    return key;
}

/* Whether a program of this mark came before; remembers that it has come now. */
static int is_known(struct ss_cache *cache, uint64_t mark)
{
    const struct ss_cache_key key = ss_cache_key(SS_CACHE_REPLAY);
    uint64_t *marks = ss_cache_take(cache, key);
    if (!marks) {
        marks = calloc(MARKS, sizeof *marks);
        if (!marks || ss_cache_put(cache, key, marks, MARKS * sizeof *marks, free)) {
            free(marks);
            return 0;
        }
    }
    int known = marks[mark % MARKS] == mark;
    marks[mark % MARKS] = mark;
    ss_cache_give_back(cache, key);
    return known;
}

/* ---- the state ---- */

static void pass_ring(struct ss_pass *s, void **ring, uint32_t mask, size_t size)
{
    size_t n = ((size_t)mask + 1) * size;
    if (!*ring)
        return;
    if (s->back && !(*ring = s->failed ? NULL : malloc(n)))
        s->failed = 1;
    ss_pass(s, *ring, n);
}

static void pass_books(struct ss_state *st, struct ss_pass *s)
{
    const struct ss_program *p = st->p;
    size_t ng = (size_t)p->ncollectives, ns = (size_t)st->nstreams;
    ss_pass(s, st->posts, (size_t)st->member0[ng] * sizeof *st->posts);
    ss_pass(s, st->first_instance, ng * sizeof *st->first_instance);
    ss_pass(s, st->instances, ns * sizeof *st->instances);
    ss_pass(s, st->channels, (size_t)p->nchannels * sizeof *st->channels);
    for (int i = 0; i < p->nchannels; i++)
        pass_ring(s, (void **)&st->channels[i].ring, st->channels[i].mask, sizeof *st->channels[i].ring);
    ss_pass(s, st->streams, ns * sizeof *st->streams);
    for (size_t i = 0; i < ns; i++)
        pass_ring(s, (void **)&st->streams[i].ring, st->streams[i].mask, sizeof *st->streams[i].ring);
}

static void pass_class(struct ss_native *k, struct ss_native_class *c, struct ss_pass *s)
{
    struct ss_native_class is = *c;
    int event = s->back ? 0 : (int)(c->ev - c->first);
    SS_PASS(s, is);
    SS_PASS(s, event);
    ss_pass(s, k->holds + is.hold0, (size_t)is.nholds * sizeof *k->holds);
    if (!s->back || s->failed)
        return;
    is.kind = c->kind;
    is.event_s0 = c->event_s0;
    *c = is;
    c->slot--;
    ss_slots_look_up(c);
    ss_slots_enter(c, c->then);
    c->ev = c->first + event;
    c->slot++;
    ss_slots_look_up(c);
}

static void pass_state(struct ss_native *k, struct ss_pass *s)
{
    struct ss_board *b = k->board;
    size_t nc = (size_t)k->p->nclasses;
    SS_PASS(s, k->now);
    SS_PASS(s, k->held);
    SS_PASS(s, k->held_growth);
    SS_PASS(s, k->due);
    SS_PASS(s, k->events);
    SS_PASS(s, b->makespan);
    SS_PASS(s, b->doublings);
    if (b->accounts) {
        ss_pass(s, b->accounts, nc * sizeof *b->accounts);
        ss_pass(s, b->event_s, ss_template_events(k->p) * sizeof *b->event_s);
    }
    pass_books(&k->st, s);
    for (size_t c = 0; c < nc; c++)
        pass_class(k, &k->classes[c], s);
    ss_timers_pass(&k->timers, s);
    ss_fluid_pass(&k->fluid, s);
    ss_jump_pass(k, s);
}

/* ---- kept states ---- */

static void destroy(void *thing)
{
    struct kept *kept = thing;
    free(kept->slot);
    free(kept->templates);
    free(kept->state.bytes);
    free(kept);
}

/* Whether the replay of a program of the same key comes to the same state, and jumps there. */
static int is_way(const struct ss_program *p, const struct kept *kept)
{
    const int *templates = kept->templates;
    for (int c = 0; c < p->nclasses; c++) {
        const struct ss_program_class *pc = &p->classes[c];
        if (kept->slot[c] + 1 >= pc->nslots)
            return 0;
        for (struct ss_steps s = ss_steps_from(pc, 0); s.slot <= kept->slot[c] + 1; ss_step(&s))
            if (pc->slots[s.entry].template_index != *templates++)
                return 0;
    }
    return ss_jump_left(p, kept->slot, kept->shift) >= 1;
}

int ss_kept_resume(struct ss_native *k)
{
    struct ss_cache *cache = k->options->cache;
    if (!cache || !k->jump || ss_template_events(k->p) > MOST_EVENTS)
        return 0;
    const uint64_t mark = mark_of(k->p);
    if (!is_known(cache, mark))
        return 0;
    const struct ss_cache_key key = key_of(k, mark);
    const struct kept *kept = ss_cache_take(cache, key);
    if (!kept) {
        k->keeping = malloc(sizeof *k->keeping);
        if (k->keeping)
            *k->keeping = (struct ss_keeping){cache, key};
        return 0;
    }
    int same = is_way(k->p, kept);
    if (same) {
        struct ss_pass s = kept->state;
        s.back = 1;
        k->lowest = INT_MAX;
        pass_state(k, &s);
        k->failed |= s.failed;
        k->kept_events = k->events;
        if (!k->failed)
            ss_jump(k);
    }
    ss_cache_give_back(cache, key);
    return same;
}

static size_t count_slots(const struct ss_program *p, const int *slot)
{
    size_t n = 0;
    for (int c = 0; c < p->nclasses; c++)
        n += (size_t)slot[c] + 2;
    return n;
}

static struct kept *make(struct ss_native *k, const int *slot, const int *shift)
{
    const struct ss_program *p = k->p;
    size_t nc = (size_t)p->nclasses;
    struct kept *kept = calloc(1, sizeof *kept);
    if (!kept)
        return NULL;
    kept->slot = malloc((2 * nc + 1) * sizeof *kept->slot);
    kept->templates = malloc(count_slots(p, slot) * sizeof *kept->templates);
    if (!kept->slot || !kept->templates) {
        destroy(kept);
        return NULL;
    }
    kept->shift = kept->slot + nc;
    memcpy(kept->slot, slot, nc * sizeof *slot);
    memcpy(kept->shift, shift, nc * sizeof *shift);
    int *to = kept->templates;
    for (int c = 0; c < p->nclasses; c++)
        for (struct ss_steps s = ss_steps_from(&p->classes[c], 0); s.slot <= slot[c] + 1; ss_step(&s))
            *to++ = p->classes[c].slots[s.entry].template_index;
    pass_state(k, &kept->state);
    return kept;
}

void ss_kept_save(struct ss_native *k)
{
    const struct ss_keeping *keeping = k->keeping;
    const int *slot, *shift;
    ss_jump_slots(k, &slot, &shift);
    int running = keeping != NULL;
    for (int c = 0; c < k->p->nclasses && running; c++)
        running = slot[c] >= 0 && slot[c] + 1 < k->p->classes[c].nslots;
    struct kept *kept = running ? make(k, slot, shift) : NULL;
    if (kept &&
        (kept->state.failed ||
         ss_cache_put(keeping->cache, keeping->key, kept,
                      sizeof *kept + kept->state.cap + count_slots(k->p, slot) * sizeof *slot, destroy)))
        destroy(kept);
    else if (kept)
        ss_cache_give_back(keeping->cache, keeping->key);
    ss_kept_free(k);
}

void ss_kept_free(struct ss_native *k)
{
    free(k->keeping);
    k->keeping = NULL;
}
