/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays that are kept whole for programs that differ in the turns of their loops alone, as those of one job with other numbers of
 * microbatches do. What the engine does depends on all else: the periods that a jump leaves out are added behind the end. So such a replay
 * is the same to the last bit as one of its own.
 *
 * Most programs come once. So a cheap mark of a program is remembered, and a replay is kept when its mark comes for the second time.
 */

#include "base/cache.h"
#include "replay/native.h"

#define MARKS 256
/* Events of templates beyond which nothing is kept: those of unfolded ranks. */
#define MOST_EVENTS 65536
#define MOST_BYTES (1 << 20) /* of a replay */

/* The part of a class's slots that repeats: all turns of its loop, and what is before and behind that continues them. */
struct repeat {
    int first, length, end; /* entries of the class: of the first turn, in a turn, behind the part */
    int slots;
};

struct ss_keeping {
    struct ss_cache *cache;
    struct ss_cache_key key;
    struct repeat *repeats; /* [classes] */
};

struct kept {
    struct ss_leap *leaps;
    struct repeat *repeats; /* [classes] */
    struct ss_board *board; /* a copy, whose pointers are not valid */
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

/* One for all loops that stand for the same slots. `period`: of the slots of one class, and mostly of all. */
static struct repeat find_repeat(const struct ss_program_class *c, int period)
{
    const struct ss_program_slot *s = c->slots;
    const int n = ss_program_stored(c);
    struct repeat r = {c->loop.first, c->loop.length, c->loop.first + c->loop.length, 0};
    if (c->loop.more == 0)
        return (struct repeat){n, 0, n, 0};
    if (r.length % period == 0) {
        int i = r.first + period;
        while (i < r.end && s[i].template_index == s[i - period].template_index)
            i++;
        r.length = i == r.end ? period : r.length;
    }
    while (r.first > 0 && s[r.first - 1].template_index == s[r.first - 1 + r.length].template_index)
        r.first--;
    while (r.end < n && s[r.end].template_index == s[r.end - r.length].template_index)
        r.end++;
    r.slots = c->nslots - r.first - (n - r.end);
    return r;
}

static void mix_slots(struct ss_cache_key *key, const struct ss_program_class *c, const struct repeat *r)
{
    const int n = ss_program_stored(c), rest = r->length ? r->slots % r->length : 0;
    const int numbers[] = {c->nstreams, r->first, r->length, rest, n - r->end};
    ss_cache_mix_ints(key, numbers, 5);
    for (int i = 0; i < r->first + r->length; i++)
        ss_cache_mix(key, (uint64_t)(uint32_t)c->slots[i].template_index);
    for (int i = r->end; i < n; i++)
        ss_cache_mix(key, (uint64_t)(uint32_t)c->slots[i].template_index);
}

/* All of a program without jitter that the engine reads, but for how often slots repeat: `mark` has the sizes of its tables. */
static struct ss_cache_key key_of(const struct ss_native *k, uint64_t mark, const struct repeat *repeats)
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
        mix_slots(&key, &p->classes[c], &repeats[c]);
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

/* ---- kept replays ---- */

static void destroy(void *thing)
{
    struct kept *kept = thing;
    ss_leaps_free(kept->leaps);
    free(kept->repeats);
    free(kept->board);
    free(kept);
}

/* Whether a class does the same before its replay jumps and behind that, with `times` periods left out, as the kept one. */
static int same_class(const struct repeat *r, const struct repeat *kept, const struct ss_leap *leap, int cls,
                      int64_t times)
{
    const int64_t slot = leap->slot[cls], shift = leap->shift[cls], more = r->slots - kept->slots,
                  least = times < leap->times ? times : leap->times;
    if (more != shift * (times - leap->times))
        return 0;
    return more == 0 || (slot + 1 < r->first + r->slots && slot + 1 < r->first + kept->slots &&
                         slot + shift * least >= r->first);
}

/* Whether the replay of a program of the same key is the kept one but for the first jump. `times`: the periods that it leaves out there. */
static int is_same(const struct ss_native *k, const struct kept *kept, int64_t times)
{
    int same = times >= 1;
    for (int c = 0; c < k->p->nclasses && same; c++)
        same = same_class(&k->keeping->repeats[c], &kept->repeats[c], kept->leaps, c, times);
    return same;
}

/* Fills the board as a replay with `times` periods left out in the first jump would. */
static void fill_board(struct ss_native *k, const struct kept *kept, int64_t times)
{
    struct ss_board *board = k->board;
    const struct ss_leap *leap = kept->leaps;
    int accounts = board->accounts != NULL;
    memcpy(board, kept->board, ss_board_place(NULL, k->p, accounts));
    ss_board_place(board, k->p, accounts);
    board->events_run = 0;
    for (int c = 0; c < k->p->nclasses; c++) {
        board->at[c].slot = k->p->classes[c].nslots;
        if (accounts && board->accounts[c].peak_time > leap->now)
            board->accounts[c].peak_slot += (int)(times - leap->times) * leap->shift[c];
    }
    ss_leaps_add(k->p, board, leap, times);
}

/* What the cache is asked for; NULL: out of memory, and nothing is. */
static struct ss_keeping *ask(const struct ss_native *k, struct ss_cache *cache, uint64_t mark)
{
    const struct ss_program *p = k->p;
    struct ss_keeping *keeping = malloc(sizeof *keeping);
    struct repeat *repeats = malloc((size_t)p->nclasses * sizeof *repeats);
    if (!keeping || !repeats) {
        free(keeping);
        free(repeats);
        return NULL;
    }
    for (int c = 0; c < p->nclasses; c++)
        repeats[c] = find_repeat(&p->classes[c], ss_jump_period(k));
    *keeping = (struct ss_keeping){cache, key_of(k, mark, repeats), repeats};
    return keeping;
}

int ss_kept_find(struct ss_native *k)
{
    struct ss_cache *cache = k->options->cache;
    if (!cache || !k->jump || ss_template_events(k->p) > MOST_EVENTS)
        return 0;
    const uint64_t mark = mark_of(k->p);
    if (!is_known(cache, mark) || !(k->keeping = ask(k, cache, mark)))
        return 0;
    const struct kept *kept = ss_cache_take(cache, k->keeping->key);
    if (!kept)
        return 0;
    const int64_t times = ss_jump_left(k->p, kept->leaps->slot, kept->leaps->shift);
    int same = is_same(k, kept, times);
    if (same)
        fill_board(k, kept, times);
    ss_cache_give_back(cache, k->keeping->key);
    ss_kept_free(k);
    return same;
}

void ss_kept_free(struct ss_native *k)
{
    if (k->keeping)
        free(k->keeping->repeats);
    free(k->keeping);
    k->keeping = NULL;
}

/* Bytes of a kept replay, of which `board_size` are those of the board. */
static size_t bytes_of(const struct ss_native *k, size_t board_size)
{
    size_t n = sizeof(struct kept) + board_size + (size_t)k->p->nclasses * sizeof(struct repeat);
    for (const struct ss_leap *leap = k->leaps; leap; leap = leap->next)
        n += ss_leap_size(k->p, k->board->accounts != NULL);
    return n;
}

/* With nothing of the engine's yet but its board. */
static struct kept *make(const struct ss_native *k, size_t board_size)
{
    struct kept *kept = calloc(1, sizeof *kept);
    if (!kept || !(kept->board = malloc(board_size))) {
        free(kept);
        return NULL;
    }
    memcpy(kept->board, k->board, board_size);
    return kept;
}

void ss_kept_end(struct ss_native *k)
{
    struct ss_keeping *keeping = k->keeping;
    struct kept *kept = NULL;
    size_t board_size = ss_board_place(NULL, k->p, k->board->accounts != NULL),
           size = bytes_of(k, board_size);
    if (keeping && k->leaps && !k->others && size <= MOST_BYTES)
        kept = make(k, board_size);
    ss_leaps_add(k->p, k->board, k->leaps, k->leaps ? k->leaps->times : 0);
    if (!kept)
        return;
    kept->leaps = k->leaps;
    kept->repeats = keeping->repeats;
    k->leaps = NULL;
    keeping->repeats = NULL;
    if (ss_cache_put(keeping->cache, keeping->key, kept, size, destroy))
        destroy(kept);
    else
        ss_cache_give_back(keeping->cache, keeping->key);
}
