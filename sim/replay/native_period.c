/* SPDX-License-Identifier: Apache-2.0 */
/* How the slots of a class repeat: their period, and how long it holds. */
#include "replay/native.h"

/* By the failure function of Knuth, Morris and Pratt. */
int ss_slots_period(const struct ss_program_class *c, int from, int n)
{
    int *fail = malloc(((size_t)n + 1) * sizeof *fail), k = 0;
    if (!fail)
        return 0;
    fail[0] = fail[1] = 0;
    for (int i = 1; i < n; i++) {
        int t = ss_program_template_at(c, from + i);
        while (k > 0 && t != ss_program_template_at(c, from + k))
            k = fail[k];
        k += t == ss_program_template_at(c, from + k);
        fail[i + 1] = k;
    }
    int period = n - fail[n];
    free(fail);
    return period;
}

/* A walk over the slots of a class, loops included, without a division a slot. */
struct walk {
    const struct ss_program_class *c;
    int slot, entry; /* among all that run; in c->slots */
};

static struct walk walk_from(const struct ss_program_class *c, int slot)
{
    return (struct walk){c, slot, slot - ss_program_turn(c, slot) * c->loop.length};
}

static void walk_on(struct walk *s)
{
    const struct ss_program_loop *l = &s->c->loop;
    s->slot++;
    s->entry++;
    if (s->entry == l->first + l->length && s->slot < l->first + l->length * (l->more + 1))
        s->entry = l->first;
}

/* First slot from `from` on that differs from the one `step` before it. */
static int same_until(const struct ss_program_class *c, int from, int step)
{
    struct walk at = walk_from(c, from), before = walk_from(c, from - step);
    const struct ss_program_loop *l = &c->loop;
    int in_loop = 0, loop_end = l->first + l->length * (l->more + 1);
    while (at.slot < c->nslots &&
           c->slots[at.entry].template_index == c->slots[before.entry].template_index) {
        in_loop = before.slot >= l->first && at.slot < loop_end ? in_loop + 1 : 0;
        walk_on(&at);
        walk_on(&before);
        /* what holds for one turn holds for all */
        if (l->more > 0 && in_loop >= l->length && at.slot < loop_end) {
            at = walk_from(c, loop_end);
            before = walk_from(c, loop_end - step);
        }
    }
    return at.slot;
}

/* Slots that other classes may be ahead of the anchor, as told by what repeats: a forward and a backward. */
#define AHEAD 2

/* Looks are one period apart. They lie so near the end of the repeating slots that as many periods as possible are
 * jumped over, and not before these slots begin, because ranks do other things before. */
int ss_slots_first_look(const struct ss_program_class *c, int from, int period)
{
    while (from > 0 && ss_program_template_at(c, from - 1) == ss_program_template_at(c, from - 1 + period))
        from--;
    int last = same_until(c, from + period, period) - 1 - AHEAD, turns = (last - from) / period;
    return turns < 2 ? -1 : last - turns * period;
}

int64_t ss_jump_left(const struct ss_program *p, const int *slot, const int *shift)
{
    int64_t most = INT32_MAX;
    for (int c = 0; c < p->nclasses; c++) {
        if (shift[c] == 0)
            continue;
        int64_t n = (same_until(&p->classes[c], slot[c], shift[c]) - 1 - slot[c]) / shift[c];
        most = n < most ? n : most;
    }
    return most == INT32_MAX ? 0 : most;
}
