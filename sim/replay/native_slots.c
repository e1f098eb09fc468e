/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where slots and their events are. Unfolded ranks have templates of their own, which differ in numbers of channels and
 * collectives alone. One of like classes is kept, with these numbers counted from 0 in the order in which its slots name
 * them, and each class has a table of what they are: all ranks of a stage read the same events, a few words of their own aside.
 * A class that is alone on its stage, as those of folded jobs mostly are, reads the program's events, and its table is that of equals.
 */
#include "replay/native.h"

struct builder {
    struct ss_native *k;
    int *seen;    /* [ntemplates]: the last class + 1 that has it; negative: of a new kind, and copied */
    int *numbers; /* [channels, collectives]: number in the kind at hand, plus its first */
    int first;    /* no number of this kind is less, all others are */
    int nmaps, cap_maps;
    int equals;  /* where the table of its own numbers is in maps; -1: not made yet */
    int highest; /* template of the classes so far */
};

/* Which of `numbers` the event has; -1: it names neither channel nor collective. */
static int thing_of(const struct ss_program *p, const struct ss_event *e)
{
    switch (e->kind) {
    case SS_EV_SEND:
    case SS_EV_RECV:
    case SS_EV_WAIT_SEND:
    case SS_EV_WAIT_RECV: return e->index;
    case SS_EV_POST: return p->nchannels + e->index;
    default: return -1;
    }
}

static int add_to_map(struct builder *b, int index)
{
    if (b->nmaps == b->cap_maps) {
        int cap = 2 * b->cap_maps + 64, *grown = realloc(b->k->maps, (size_t)cap * sizeof *grown);
        if (!grown)
            return -1;
        b->k->maps = grown;
        b->cap_maps = cap;
    }
    b->k->maps[b->nmaps++] = index;
    return 0;
}

static int lowest_template(const struct ss_program_class *c, int *highest)
{
    int base = 0;
    *highest = -1;
    for (int i = 0; i < ss_program_stored(c); i++) {
        int t = c->slots[i].template_index;
        base = i == 0 || t < base ? t : base;
        *highest = t > *highest ? t : *highest;
    }
    return base;
}

/* Returns where the events of a template lie behind those of the lowest template. */
static size_t event0(const struct ss_native *k, int index, int base)
{
    return k->tape->accounts ? (size_t)(ss_tape_events(k->tape, index) - ss_tape_events(k->tape, base)) : 0;
}

/* ---- a new kind ---- */

static int number(struct builder *b, int cls, const struct ss_event *e, int thing)
{
    int next = b->first + b->nmaps - b->k->classes[cls].map0;
    if (b->numbers[thing] < b->first) {
        b->numbers[thing] = next;
        if (add_to_map(b, e->index))
            return -1;
    }
    return b->numbers[thing] - b->first;
}

static int copy_template(struct builder *b, int cls, int index, int base, struct ss_event **next)
{
    struct ss_native *k = b->k;
    const struct ss_template *t = &k->p->templates[index];
    k->kinds[k->nkinds].templates[index - base] =
        (struct ss_native_template){*next, *next + t->nevents, event0(k, index, base)};
    for (int i = 0; i < t->nevents; i++) {
        int thing = thing_of(k->p, &t->events[i]);
        struct ss_event *e = (*next)++;
        *e = t->events[i];
        if (thing >= 0 && (e->index = number(b, cls, &t->events[i], thing)) < 0)
            return -1;
    }
    return 0;
}

/* Is the class before it, or behind it, of its stage? */
static int has_neighbour(const struct ss_program *p, int cls)
{
    int stage = p->classes[cls].stage;
    return (cls > 0 && p->classes[cls - 1].stage == stage) ||
           (cls + 1 < p->nclasses && p->classes[cls + 1].stage == stage);
}

static int take_equals(struct builder *b, int cls)
{
    const struct ss_program *p = b->k->p;
    int n = p->nchannels > p->ncollectives ? p->nchannels : p->ncollectives, rc = 0;
    if (b->equals < 0) {
        b->equals = b->nmaps;
        for (int i = 0; i < n && !rc; i++)
            rc = add_to_map(b, i);
    }
    b->k->classes[cls].map0 = b->equals;
    return rc;
}

/* The kind of a class that is alone. */
static int add_alone(struct builder *b, int cls, int base, int highest)
{
    struct ss_native *k = b->k;
    const struct ss_program_class *pc = &k->p->classes[cls];
    struct ss_native_kind *kind = &k->kinds[k->nkinds++];
    int n = ss_program_stored(pc);
    *kind = (struct ss_native_kind){.loop = pc->loop, .nslots = pc->nslots};
    kind->order = malloc(((size_t)n + 1) * sizeof *kind->order);
    kind->templates = malloc((size_t)(highest - base + 2) * sizeof *kind->templates);
    if (!kind->order || !kind->templates)
        return -1;
    for (int i = 0; i < n; i++)
        kind->order[i] = pc->slots[i].template_index - base;
    for (int t = base; t <= highest; t++) {
        const struct ss_template *own = &k->p->templates[t];
        kind->templates[t - base] =
            (struct ss_native_template){own->events, own->events + own->nevents, event0(k, t, base)};
    }
    return take_equals(b, cls);
}

static int add_kind(struct builder *b, int cls, int base, int highest)
{
    struct ss_native *k = b->k;
    const struct ss_program_class *pc = &k->p->classes[cls];
    struct ss_native_kind *kind = &k->kinds[k->nkinds];
    int n = ss_program_stored(pc);
    size_t nevents = 0;
    for (int i = 0; i < n; i++)
        if (b->seen[pc->slots[i].template_index] != cls + 1) {
            b->seen[pc->slots[i].template_index] = cls + 1;
            nevents += (size_t)k->p->templates[pc->slots[i].template_index].nevents;
        }
    *kind = (struct ss_native_kind){.loop = pc->loop, .nslots = pc->nslots};
    kind->order = malloc(((size_t)n + 1) * sizeof *kind->order);
    kind->templates = malloc((size_t)(highest - base + 2) * sizeof *kind->templates);
    kind->events = malloc((nevents + 1) * sizeof *kind->events);
    k->nkinds++;
    if (!kind->order || !kind->templates || !kind->events)
        return -1;
    k->nkinds--;
    struct ss_event *next = kind->events;
    int rc = 0;
    for (int i = 0; i < n && !rc; i++) {
        int index = pc->slots[i].template_index;
        kind->order[i] = index - base;
        if (b->seen[index] == cls + 1) {
            b->seen[index] = -cls - 1;
            rc = copy_template(b, cls, index, base, &next);
        }
    }
    k->nkinds++;
    b->first += b->nmaps - k->classes[cls].map0;
    return rc;
}

/* ---- a class like the one before it ---- */

/* 1: the template is the kind's, with what its numbers are in the class's table; 0: it differs; -1: out of memory. */
static int same_template(struct builder *b, int cls, int index, int base)
{
    struct ss_native *k = b->k;
    const struct ss_template *t = &k->p->templates[index];
    const struct ss_native_template *kept = &k->kinds[k->nkinds - 1].templates[index - base];
    int map0 = k->classes[cls].map0;
    if (kept->end - kept->first != t->nevents || kept->event0 != event0(k, index, base))
        return 0;
    for (int i = 0; i < t->nevents; i++) {
        const struct ss_event *e = &t->events[i], *f = &kept->first[i];
        if (e->kind != f->kind || e->aux != f->aux || memcmp(&e->amount, &f->amount, sizeof e->amount) != 0)
            return 0;
        if (thing_of(k->p, e) < 0) {
            if (e->index != f->index)
                return 0;
            continue;
        }
        if (f->index == b->nmaps - map0 && add_to_map(b, e->index))
            return -1;
        if (k->maps[map0 + f->index] != e->index)
            return 0;
    }
    return 1;
}

static int like_last(struct builder *b, int cls, int base)
{
    struct ss_native *k = b->k;
    if (k->nkinds == 0)
        return 0;
    const struct ss_program_class *pc = &k->p->classes[cls], *last = &k->p->classes[cls - 1];
    const struct ss_native_kind *kind = &k->kinds[k->nkinds - 1];
    int n = ss_program_stored(pc), same = 1;
    if (pc->stage != last->stage || n != ss_program_stored(last) || pc->nslots != kind->nslots ||
        memcmp(&pc->loop, &kind->loop, sizeof pc->loop) != 0)
        return 0;
    for (int i = 0; i < n; i++)
        if (pc->slots[i].template_index - base != kind->order[i])
            return 0;
    for (int i = 0; i < n && same > 0; i++) {
        int index = pc->slots[i].template_index;
        if (b->seen[index] != cls + 1)
            same = same_template(b, cls, index, base);
        b->seen[index] = cls + 1;
    }
    return same;
}

static int add_class(struct builder *b, int cls)
{
    struct ss_native *k = b->k;
    struct ss_native_class *c = &k->classes[cls];
    int highest, base = lowest_template(&k->p->classes[cls], &highest);
    c->map0 = b->nmaps;
    k->shared |= base <= b->highest && highest >= 0;
    b->highest = highest > b->highest ? highest : b->highest;
    int alone = !has_neighbour(k->p, cls),
        like = alone ? add_alone(b, cls, base, highest) : like_last(b, cls, base);
    if (!alone && like == 0) {
        b->nmaps = c->map0;
        for (int i = 0; i < ss_program_stored(&k->p->classes[cls]); i++)
            b->seen[k->p->classes[cls].slots[i].template_index] = 0;
        like = add_kind(b, cls, base, highest);
    }
    c->kind = &k->kinds[k->nkinds - 1];
    c->event_s0 = k->p->ntemplates > 0 ? ss_tape_events(k->tape, base) : NULL;
    return like < 0 ? -1 : 0;
}

int ss_slots_init(struct ss_native *k)
{
    const struct ss_program *p = k->p;
    struct builder b = {.k = k, .first = 1, .equals = -1, .highest = -1};
    int rc = 0;
    b.seen = calloc((size_t)p->ntemplates + 1, sizeof *b.seen);
    b.numbers = calloc((size_t)p->nchannels + (size_t)p->ncollectives + 1, sizeof *b.numbers);
    k->kinds = calloc((size_t)p->nclasses + 1, sizeof *k->kinds);
    if (!b.seen || !b.numbers || !k->kinds)
        rc = -1;
    for (int c = 0; c < p->nclasses && !rc; c++)
        rc = add_class(&b, c);
    free(b.seen);
    free(b.numbers);
    return rc;
}

void ss_slots_free(struct ss_native *k)
{
    for (int i = 0; i < k->nkinds; i++) {
        free(k->kinds[i].order);
        free(k->kinds[i].templates);
        free(k->kinds[i].events);
    }
    free(k->kinds);
    free(k->maps);
}
