/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the events of slots are. Unfolded ranks have templates of their own, which differ in numbers of channels and collectives
 * alone, and the same order of them: one order serves all of these, so that it stays in the caches, and of a rank's own only
 * the templates at hand are read.
 */
#include "replay/native.h"

/* The order of a class, counted from its lowest template. */
static void write_order(const struct ss_program_class *c, int base, int *order)
{
    for (int i = 0; i < ss_program_stored(c); i++)
        order[i] = c->slots[i].template_index - base;
}

static int lowest_template(const struct ss_program_class *c)
{
    int base = 0;
    for (int i = 0; i < ss_program_stored(c); i++)
        if (i == 0 || c->slots[i].template_index < base)
            base = c->slots[i].template_index;
    return base;
}

/* Orders one after another; one that is like the class's before it is left out. */
static void share_orders(struct ss_native *k)
{
    const struct ss_program *p = k->p;
    int *next = k->orders, *last = k->orders, nlast = -1;
    for (int c = 0; c < p->nclasses; c++) {
        const struct ss_program_class *pc = &p->classes[c];
        struct ss_native_class *out = &k->classes[c];
        int n = ss_program_stored(pc), base = lowest_template(pc);
        write_order(pc, base, next);
        if (n != nlast || memcmp(next, last, (size_t)n * sizeof *next) != 0) {
            last = next;
            nlast = n;
            next += n;
        }
        out->order = last;
        out->base = k->templates + base;
        out->loop = pc->loop;
        out->nslots = pc->nslots;
    }
}

/* Entries of orders at most: what share_orders writes. */
static size_t room_for_orders(const struct ss_program *p)
{
    size_t n = 0;
    for (int c = 0; c < p->nclasses; c++)
        n += (size_t)ss_program_stored(&p->classes[c]);
    return n;
}

int ss_slots_init(struct ss_native *k)
{
    const struct ss_program *p = k->p;
    k->templates = malloc(((size_t)p->ntemplates + 1) * sizeof *k->templates);
    k->orders = malloc((room_for_orders(p) + 1) * sizeof *k->orders);
    if (!k->templates || !k->orders)
        return -1;
    for (int i = 0; i < p->ntemplates; i++) {
        const struct ss_template *t = &p->templates[i];
        k->templates[i] =
            (struct ss_native_template){t->events, t->events + t->nevents, ss_tape_events(k->tape, i)};
    }
    share_orders(k);
    return 0;
}

void ss_slots_free(struct ss_native *k)
{
    free(k->templates);
    free(k->orders);
}
