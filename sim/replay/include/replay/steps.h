/* SPDX-License-Identifier: Apache-2.0 */
/* A walk over the slots of a class, loops included, without a division a slot. */
#pragma once

#include "stepsim/program.h"

struct ss_steps {
    const struct ss_program_class *c;
    int slot, entry; /* among all that run; in c->slots */
};

static inline struct ss_steps ss_steps_from(const struct ss_program_class *c, int slot)
{
    return (struct ss_steps){c, slot, slot - ss_program_turn(c, slot) * c->loop.length};
}

static inline void ss_step(struct ss_steps *s)
{
    const struct ss_program_loop *l = &s->c->loop;
    s->slot++;
    s->entry++;
    if (s->entry == l->first + l->length && s->slot < l->first + l->length * (l->more + 1))
        s->entry = l->first;
}
