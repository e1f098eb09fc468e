/* SPDX-License-Identifier: Apache-2.0 */
/* Appends slots to the order of a rank and counts what its chunks have run. */
#include "base/base.h"
#include "schedule/builder.h"

int ss_order_begin(struct ss_order *o, const char *name, const struct ss_schedule_params *params, int nslots,
                   struct ss_error *err)
{
    struct ss_schedule *s = ss_schedule_alloc(name, params, nslots);
    *o = (struct ss_order){.s = s};
    if (s) {
        size_t chunks = (size_t)s->chunks;
        o->next = ss_calloc(SS_PHASE_COUNT * chunks, sizeof *o->next);
        o->owed = ss_calloc(chunks * (size_t)s->microbatches, sizeof *o->owed);
    }
    if (!o->next || !o->owed) {
        ss_order_end(o);
        ss_schedule_free(s);
        return ss_nomem(err);
    }
    for (int r = 0; r < s->stages; r++)
        s->nslots[r] = 0;
    return SS_OK;
}

void ss_order_rank(struct ss_order *o, int rank)
{
    memset(o->next, 0, SS_PHASE_COUNT * (size_t)o->s->chunks * sizeof *o->next);
    o->rank = rank;
    o->nowed = o->paid = 0;
}

static void append(struct ss_order *o, struct ss_slot slot)
{
    o->s->slots[o->rank][o->s->nslots[o->rank]++] = slot;
}

/* B and I count together: both make the gradient of the input. */
static int take(struct ss_order *o, int phase, int chunk)
{
    int counter = phase == SS_PHASE_I ? SS_PHASE_B : phase;
    return o->next[counter * o->s->chunks + chunk]++;
}

void ss_order_add(struct ss_order *o, int phase, int chunk)
{
    if (phase == SS_PHASE_I)
        o->owed[o->nowed++] = o->s->nslots[o->rank];
    append(o, (struct ss_slot){phase, chunk, take(o, phase, chunk), -1, -1});
}

void ss_order_pair(struct ss_order *o, int forward, int backward)
{
    int f = take(o, SS_PHASE_F, forward), b = take(o, SS_PHASE_B, backward);
    append(o, (struct ss_slot){SS_PHASE_FB, forward, f, backward, b});
}

void ss_order_weight(struct ss_order *o)
{
    if (o->paid == o->nowed)
        return;
    struct ss_slot slot = o->s->slots[o->rank][o->owed[o->paid++]];
    slot.phase = SS_PHASE_W;
    append(o, slot);
}

void ss_order_weight_of(struct ss_order *o, int chunk)
{
    int at = o->paid;
    while (at < o->nowed && o->s->slots[o->rank][o->owed[at]].chunk != chunk)
        at++;
    if (at == o->nowed)
        return;
    int slot = o->owed[at];
    memmove(&o->owed[o->paid + 1], &o->owed[o->paid], (size_t)(at - o->paid) * sizeof *o->owed);
    o->owed[o->paid] = slot;
    ss_order_weight(o);
}

int ss_order_owed(const struct ss_order *o)
{
    return o->nowed - o->paid;
}

void ss_order_end(struct ss_order *o)
{
    SS_FREE(o->next, o->owed);
    o->next = o->owed = NULL;
}
