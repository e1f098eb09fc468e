/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends and receives around the slots of every pipeline rank, as Megatron core's schedules issue them. "Posting" is what the
 * framework does when it launches the operation behind the work that is queued on the GPU; a wait holds back what follows.
 *
 * Blocking (1F1B): every operation is waited for before the next slot. In the steady part a forward's send and the next backward's
 * receive are one batch, as are a backward's send and the next forward's receive; in warm-up and cool-down sends and receives
 * follow each other.
 *
 * Overlapped (interleaved): behind a forward its send and the receive that is due are posted; both are waited for before the next
 * forward, so that they run beside the backward between them. Backwards alike. Cool-down blocks, as in Megatron, which has nothing
 * to overlap there.
 *
 * Batched (interleaved without overlap): one batch of up to four operations behind each backward of the steady part, behind each
 * slot of warm-up and cool-down; waited for at once.
 *
 * Asynchronous (all other schedules): a send is posted behind its slot and nobody waits for it; its channel is not a rendezvous, so
 * it begins at once. A slot waits for the message that it needs and, as messages of a channel come in order, for those before it.
 *
 * A receive is due when the sender, which runs the same order of forwards (or backwards), sends: ranks work aligned, each later
 * rank one slot later in a forward, so rank r posts behind its own forward number i = s + (q - r) to get what rank q made in its
 * forward number s. For a neighbour that is one slot ahead of use; where the output of the last rank comes back to the first one it
 * is too, unless groups are larger than p: then it comes earlier and is kept.
 *
 * NCCL's sends need the receiver to be there, so all channels are rendezvous. That does not deadlock: receives are posted no later
 * than the sender can be blocked by its wait (the checker and the tests prove it for every (p, v, m) of the test range).
 */
#include <assert.h>

#include "base/base.h"
#include "program/program_internal.h"

enum { FWD, BWD };

/* One forward or backward of a rank, in its order. */
struct step {
    int chunk;
    int source, target; /* ranks of input and output; -1: none, or the rank itself */
    int post;           /* own step behind which the input's receive is posted; -1: before all steps */
    int message;        /* asynchronous: the input's number among those from `source` */
};

struct op_list {
    struct ss_comm_op *op;
    size_t n, cap;
    int failed;
};

struct lowering {
    const struct ss_schedule *s;
    struct ss_error *err;
    int *stage_of;   /* [rank * chunks + chunk] */
    int *order[2];   /* [virtual stage, microbatch]: number of that step in its rank's order */
    int *from[2];    /* [virtual stage]: where its input comes from, -1: nowhere */
    int *peer[2];    /* [virtual stage]: rank of the neighbour stage, -1: none, or the own rank */
    int *message[2]; /* likewise: number of its output among those for the same rank */
    /* of the rank at hand */
    int rank, warmup, total;
    struct step *step[2];
    int posted[2], waited[2]; /* steps whose input has been posted, waited for */
    int *taken[2];            /* [rank]: messages counted for it, later taken from it */
    int pending[2];           /* peer of a send that is not waited for, or -1 */
    struct op_list before, after;
    struct op_list held;     /* batched: the steady forward's operations, until the backward */
    int *first_of, *last_of; /* [chunk]: slots of the first forward and the last weight gradient */
    int asked, *aligned;     /* SS_COMM_...; [backward]: chunk that ss_comm_align puts there */
    int *chain;              /* [phase * chunks + chunk]: first variant, or -1 */
    size_t variant_cap;
    struct ss_comm_variant variant; /* of the slot at hand, without its operations */
};

static inline void emit(struct op_list *list, int kind, int backward, int peer, int chunk)
{
    if (list->n == list->cap && ss_grow(&list->op, &list->cap, list->n + 1, sizeof *list->op)) {
        list->failed = 1;
        return;
    }
    list->op[list->n++] = (struct ss_comm_op){kind, backward, peer, kind == SS_EV_SEND ? chunk : -1};
}

/* ---- receives and sends ---- */

/* Posts the receives due behind step i of direction d. */
static void post_due(struct lowering *l, struct op_list *list, int d, int i)
{
    for (; l->posted[d] < l->total && l->step[d][l->posted[d]].post <= i; l->posted[d]++)
        if (l->step[d][l->posted[d]].source >= 0)
            emit(list, SS_EV_RECV, d, l->step[d][l->posted[d]].source, -1);
}

/* The input of step i is here after this; posted now if it was not before. */
static void receive(struct lowering *l, struct op_list *list, int d, int i)
{
    i = i < l->total ? i : l->total - 1;
    for (; l->posted[d] <= i; l->posted[d]++)
        if (l->step[d][l->posted[d]].source >= 0)
            emit(list, SS_EV_RECV, d, l->step[d][l->posted[d]].source, -1);
    for (; l->waited[d] <= i; l->waited[d]++)
        if (l->step[d][l->waited[d]].source >= 0)
            emit(list, SS_EV_WAIT_RECV, d, l->step[d][l->waited[d]].source, -1);
}

/* Waits for every receive that was posted. */
static void wait_posted(struct lowering *l, struct op_list *list, int d)
{
    if (l->posted[d] > l->waited[d])
        receive(l, list, d, l->posted[d] - 1);
}

static void send(struct lowering *l, struct op_list *list, int d, int i)
{
    const struct step *step = &l->step[d][i];
    if (step->target < 0)
        return;
    emit(list, SS_EV_SEND, d, step->target, step->chunk);
    l->pending[d] = step->target;
}

static void wait_send(struct lowering *l, struct op_list *list, int d)
{
    if (l->pending[d] >= 0)
        emit(list, SS_EV_WAIT_SEND, d, l->pending[d], -1);
    l->pending[d] = -1;
}

/* ---- the three policies; i is the number of the forward or backward in its order ---- */

static void blocking(struct lowering *l, int d, int i)
{
    /* The steady partner: backward i - warmup after forward i, forward i + warmup + 1 after backward i. */
    int partner = d == FWD ? i - l->warmup : i + l->warmup + 1, ordered = l->s->p2p == SS_P2P_ORDERED;
    receive(l, &l->before, d, i);
    if (!ordered || d == FWD)
        send(l, &l->after, d, i);
    if (ordered)
        wait_send(l, &l->after, d);
    if (partner >= 0 && partner < l->total)
        receive(l, &l->after, !d, partner);
    if (ordered && d == BWD)
        send(l, &l->after, d, i);
    wait_send(l, &l->after, d);
}

static void overlapped(struct lowering *l, int d, int i)
{
    int remaining = l->total - l->warmup;
    wait_send(l, &l->before, d);
    receive(l, &l->before, d, i);
    send(l, &l->after, d, i);
    post_due(l, &l->after, d, i);
    if (d == FWD && i == l->warmup - 1 && remaining)
        post_due(l, &l->after, BWD, -1);
    if (d == BWD && i >= remaining) {
        wait_posted(l, &l->after, d);
        wait_send(l, &l->after, d);
    }
}

static void wait_batch(struct lowering *l)
{
    wait_posted(l, &l->after, FWD);
    wait_posted(l, &l->after, BWD);
    wait_send(l, &l->after, FWD);
    wait_send(l, &l->after, BWD);
}

static void batched(struct lowering *l, int d, int i)
{
    int remaining = l->total - l->warmup;
    receive(l, &l->before, d, i);
    if (d == FWD && i >= l->warmup) {
        send(l, &l->held, d, i);
        post_due(l, &l->held, d, i);
        return;
    }
    for (size_t k = 0; k < l->held.n; k++)
        emit(&l->after, l->held.op[k].kind, l->held.op[k].backward, l->held.op[k].peer, l->held.op[k].chunk);
    l->held.n = 0;
    send(l, &l->after, d, i);
    post_due(l, &l->after, d, i);
    if (d == FWD && i == l->warmup - 1 && remaining)
        post_due(l, &l->after, BWD, -1);
    wait_batch(l);
}

static void asynchronous(struct lowering *l, int d, int i)
{
    const struct step *step = &l->step[d][i];
    for (; step->source >= 0 && l->taken[d][step->source] <= step->message; l->taken[d][step->source]++) {
        emit(&l->before, SS_EV_RECV, d, step->source, -1);
        emit(&l->before, SS_EV_WAIT_RECV, d, step->source, -1);
    }
    if (step->target >= 0)
        emit(&l->after, SS_EV_SEND, d, step->target, step->chunk);
}

static void around(struct lowering *l, int d, int i)
{
    if (l->s->p2p == SS_P2P_ASYNC)
        asynchronous(l, d, i);
    else if (l->s->p2p == SS_P2P_BLOCKING || l->s->p2p == SS_P2P_ORDERED)
        blocking(l, d, i);
    else if (l->s->p2p == SS_P2P_OVERLAPPED)
        overlapped(l, d, i);
    else
        batched(l, d, i);
}

/* ---- the orders of a rank ---- */

static int forward_part(const struct ss_slot *slot)
{
    return slot->phase == SS_PHASE_F || slot->phase == SS_PHASE_FB;
}

static void number_step(struct lowering *l, int d, int stage, int microbatch, int order)
{
    size_t at = (size_t)stage * (size_t)l->s->microbatches + (size_t)microbatch;
    int to = l->from[!d][stage];
    l->order[d][at] = order;
    if (l->s->p2p == SS_P2P_ASYNC && to >= 0)
        l->message[d][at] = l->taken[d][l->s->virtual_rank[to]]++;
}

static void number_steps(struct lowering *l)
{
    for (int r = 0; r < l->s->stages; r++) {
        int count[2] = {0, 0}, chunk, mb;
        for (int d = 0; d < 2; d++)
            memset(l->taken[d], 0, (size_t)l->s->stages * sizeof *l->taken[d]);
        for (int i = 0; i < l->s->nslots[r]; i++) {
            const struct ss_slot *slot = &l->s->slots[r][i];
            const int *stage = l->stage_of + (size_t)r * (size_t)l->s->chunks;
            if (forward_part(slot))
                number_step(l, FWD, stage[slot->chunk], slot->microbatch, count[FWD]++);
            if (ss_slot_backward(slot, &chunk, &mb))
                number_step(l, BWD, stage[chunk], mb, count[BWD]++);
        }
        /* ss_schedule_check holds: each rank runs each of its actions once. */
        assert(count[FWD] == l->s->chunks * l->s->microbatches && count[BWD] == count[FWD]);
    }
}

static void fill_step(struct lowering *l, int d, int i, int chunk, int microbatch)
{
    const struct ss_schedule *s = l->s;
    int r = l->rank, stage = l->stage_of[r * s->chunks + chunk];
    struct step *step = &l->step[d][i];
    *step = (struct step){chunk, l->peer[d][stage], l->peer[!d][stage], -1, -1};
    if (step->source < 0) /* nothing to post holds nobody back */
        return;
    size_t at = (size_t)l->from[d][stage] * (size_t)s->microbatches + (size_t)microbatch;
    int aligned = l->order[d][at] + (d == FWD ? step->source - r : r - step->source);
    step->post = aligned < -1 ? -1 : aligned < i ? aligned : i - 1;
    step->message = s->p2p == SS_P2P_ASYNC ? l->message[d][at] : -1;
}

/* Checks that receives meet sends in order: a rank that wants them in another order cannot use one channel,
 * unless it keeps messages on the way. Tests hold our own schedules to it (unit.program), not every run. */
static int check_channel_order(struct lowering *l, int d, int i, int microbatch, int *latest)
{
    const struct step *step = &l->step[d][i];
    if (step->source < 0 || l->s->p2p == SS_P2P_ASYNC)
        return SS_OK;
    int stage = l->from[d][l->stage_of[l->rank * l->s->chunks + step->chunk]];
    int sent = l->order[d][(size_t)stage * (size_t)l->s->microbatches + (size_t)microbatch];
    if (sent <= latest[step->source])
        return ss_fail(
            l->err, SS_ERR_UNSUPPORTED, NULL, 0,
            "schedule %s: rank %d uses what rank %d sends (%s, chunk %d, microbatch %d) in another order "
            "than it is sent",
            l->s->name, l->rank, step->source, d == FWD ? "forward" : "backward", step->chunk, microbatch);
    latest[step->source] = sent;
    return SS_OK;
}

static int fill_steps(struct lowering *l)
{
    const struct ss_schedule *s = l->s;
    int count[2] = {0, 0}, chunk, mb, rc = SS_OK;
    int *latest = malloc(2 * (size_t)s->stages * sizeof *latest);
    SS_NEED(latest, l->err);
    for (int i = 0; i < 2 * s->stages; i++)
        latest[i] = -1;
    for (int c = 0; c < s->chunks; c++)
        l->first_of[c] = l->last_of[c] = -1;
    for (int i = 0; i < s->nslots[l->rank] && !rc; i++) {
        const struct ss_slot *slot = &s->slots[l->rank][i];
        if (forward_part(slot)) {
            fill_step(l, FWD, count[FWD], slot->chunk, slot->microbatch);
            rc = s->sound ? SS_OK : check_channel_order(l, FWD, count[FWD], slot->microbatch, latest);
            count[FWD]++;
            if (l->first_of[slot->chunk] < 0)
                l->first_of[slot->chunk] = i;
        }
        if (!rc && ss_slot_backward(slot, &chunk, &mb)) {
            fill_step(l, BWD, count[BWD], chunk, mb);
            rc = s->sound ? SS_OK : check_channel_order(l, BWD, count[BWD], mb, latest + s->stages);
            count[BWD]++;
        }
        if (slot->phase != SS_PHASE_F)
            l->last_of[slot->phase == SS_PHASE_FB ? slot->chunk2 : slot->chunk] = i;
    }
    free(latest);
    return rc;
}

/* ---- variants ---- */

static const struct ss_comm_neighbour nobody = {-1, -1, 0};

/* Returns what slot i of the rank at hand is to a neighbour. */
static struct ss_comm_neighbour neighbour(const struct lowering *l, int i)
{
    if (i < 0 || i >= l->s->nslots[l->rank])
        return nobody;
    const struct ss_slot *slot = &l->s->slots[l->rank][i];
    int marked = slot->phase == SS_PHASE_F ? l->first_of[slot->chunk] == i
                                           : !(l->asked & SS_COMM_ALIGN) && l->last_of[slot->chunk] == i;
    return (struct ss_comm_neighbour){slot->phase, slot->chunk, marked};
}

/* Whether a variant is that of the slot at hand. */
static int same(const struct lowering *l, const struct ss_comm_variant *a)
{
    const struct ss_comm_variant *b = &l->variant;
    return a->chunk2 == b->chunk2 && a->first == b->first && a->last == b->last && a->aligned == b->aligned &&
           (!(l->asked & SS_COMM_NEIGHBOURS) || (!memcmp(&a->before, &b->before, sizeof a->before) &&
                                                 !memcmp(&a->behind, &b->behind, sizeof a->behind))) &&
           (size_t)a->nbefore == l->before.n && (size_t)a->nafter == l->after.n &&
           (!a->nbefore || !memcmp(a->op, l->before.op, l->before.n * sizeof *a->op)) &&
           (!a->nafter || !memcmp(a->op + a->nbefore, l->after.op, l->after.n * sizeof *a->op));
}

/* The number of the variant of the slot at hand, shared with an equal one. */
static int intern(struct lowering *l, struct ss_comm_rank *out)
{
    int *head = &l->chain[l->variant.phase * l->s->chunks + l->variant.chunk], nth = 0;
    for (int i = *head, before = -1; i >= 0; before = i, i = out->variants[i].next, nth++)
        if (same(l, &out->variants[i])) {
            if (before >= 0) { /* to the front: the next one is mostly like it */
                out->variants[before].next = out->variants[i].next;
                out->variants[i].next = *head;
                *head = i;
            }
            return i;
        }
    struct ss_comm_variant v = l->variant;
    size_t n = l->before.n + l->after.n;
    v.nth = nth;
    v.op = ss_calloc(n, sizeof *v.op);
    if (!v.op || ss_grow(&out->variants, &l->variant_cap, (size_t)out->nvariants + 1, sizeof v)) {
        free(v.op);
        return -1;
    }
    v.nbefore = (int)l->before.n;
    v.nafter = (int)l->after.n;
    if (v.nbefore)
        memcpy(v.op, l->before.op, l->before.n * sizeof *v.op);
    if (v.nafter)
        memcpy(v.op + v.nbefore, l->after.op, l->after.n * sizeof *v.op);
    v.next = *head;
    *head = out->nvariants;
    out->variants[out->nvariants] = v;
    return out->nvariants++;
}

static int lower_slots(struct lowering *l, struct ss_comm_rank *out)
{
    const struct ss_schedule *s = l->s;
    int count[2] = {0, 0}, chunk, mb;
    for (int i = 0; i < s->nslots[l->rank]; i++) {
        const struct ss_slot *slot = &s->slots[l->rank][i];
        l->before.n = l->after.n = 0;
        if (forward_part(slot))
            around(l, FWD, count[FWD]++);
        struct ss_comm_variant *v = &l->variant;
        *v = (struct ss_comm_variant){nobody, nobody, slot->phase, slot->chunk, slot->chunk2, .aligned = -1};
        if (ss_slot_backward(slot, &chunk, &mb)) {
            v->aligned = l->asked & SS_COMM_ALIGN ? l->aligned[count[BWD]] : -1;
            around(l, BWD, count[BWD]++);
        }
        if (l->asked & SS_COMM_NEIGHBOURS) {
            v->before = neighbour(l, i - 1);
            v->behind = neighbour(l, i + 1);
        }
        v->first = forward_part(slot) && l->first_of[slot->chunk] == i;
        v->last = !(l->asked & SS_COMM_ALIGN) && slot->phase != SS_PHASE_F && l->last_of[chunk] == i;
        int n = intern(l, out);
        out->slots[i] = (struct ss_program_slot){n, slot->phase, slot->chunk, slot->microbatch};
        if (n < 0 || l->before.failed || l->after.failed || l->held.failed)
            return SS_ERR_NOMEM;
    }
    l->after.n = 0;
    for (size_t k = 0; k < l->held.n; k++)
        emit(&l->after, l->held.op[k].kind, l->held.op[k].backward, l->held.op[k].peer, l->held.op[k].chunk);
    wait_batch(l);
    out->nend = (int)l->after.n;
    out->end = ss_calloc(l->after.n, sizeof *out->end);
    if (!out->end || l->after.failed)
        return SS_ERR_NOMEM;
    if (out->nend)
        memcpy(out->end, l->after.op, l->after.n * sizeof *out->end);
    return SS_OK;
}

static int lower_rank(struct lowering *l, int rank, struct ss_comm_rank *out)
{
    const struct ss_schedule *s = l->s;
    l->rank = rank;
    l->total = s->chunks * s->microbatches;
    l->warmup = ss_schedule_warmup(s, rank);
    l->variant_cap = 0;
    for (int d = 0; d < 2; d++) {
        l->posted[d] = l->waited[d] = 0;
        memset(l->taken[d], 0, (size_t)s->stages * sizeof *l->taken[d]);
        l->pending[d] = -1;
    }
    l->held.n = 0;
    for (int i = 0; i < SS_PHASE_COUNT * s->chunks; i++)
        l->chain[i] = -1;
    out->slots = ss_calloc((size_t)s->nslots[rank], sizeof *out->slots);
    int rc = out->slots ? SS_OK : SS_ERR_NOMEM;
    if (!rc && (l->asked & SS_COMM_ALIGN))
        rc = ss_comm_align(s, rank, l->asked & SS_COMM_PASS, l->aligned, out);
    rc = rc ? rc : fill_steps(l);
    return rc ? rc : lower_slots(l, out);
}

static int make_room(struct lowering *l, struct ss_comm *comm)
{
    const struct ss_schedule *s = l->s;
    size_t chunks = (size_t)s->chunks, n = chunks * (size_t)s->microbatches;
    comm->stages = s->stages;
    comm->ranks = ss_calloc((size_t)s->stages, sizeof *comm->ranks);
    l->stage_of = malloc((size_t)s->stages * chunks * sizeof *l->stage_of);
    l->first_of = ss_calloc(2 * chunks, sizeof *l->first_of);
    l->last_of = l->first_of ? l->first_of + chunks : NULL;
    l->chain = ss_calloc(SS_PHASE_COUNT * chunks, sizeof *l->chain);
    l->aligned = malloc(n * sizeof *l->aligned);
    bool ok = comm->ranks && l->stage_of && l->first_of && l->chain && l->aligned;
    for (int d = 0; d < 2; d++) {
        l->from[d] = ss_calloc(2 * (size_t)s->stages * chunks, sizeof *l->from[d]);
        l->peer[d] = l->from[d] ? l->from[d] + (size_t)s->stages * chunks : NULL;
        l->order[d] = malloc((size_t)s->stages * n * sizeof *l->order[d]);
        l->message[d] = ss_calloc(s->p2p == SS_P2P_ASYNC ? (size_t)s->stages * n : 1, sizeof *l->message[d]);
        l->taken[d] = ss_calloc((size_t)s->stages, sizeof *l->taken[d]);
        l->step[d] = malloc(n * sizeof *l->step[d]);
        ok = ok && l->from[d] && l->order[d] && l->message[d] && l->taken[d] && l->step[d];
    }
    return ok ? SS_OK : SS_ERR_NOMEM;
}

int ss_comm_build(const struct ss_schedule *s, int asked, struct ss_comm *comm, struct ss_error *err)
{
    struct lowering l = {.s = s, .err = err, .asked = asked};
    *comm = (struct ss_comm){0};
    int rc = make_room(&l, comm);
    if (!rc) {
        for (int v = 0; v < s->stages * s->chunks; v++) {
            l.stage_of[s->virtual_rank[v] * s->chunks + s->virtual_chunk[v]] = v;
            l.from[FWD][v] = ss_schedule_before(s, v);
            l.from[BWD][v] = ss_schedule_after(s, v);
            for (int d = 0; d < 2; d++) {
                int rank = l.from[d][v] < 0 ? -1 : s->virtual_rank[l.from[d][v]];
                l.peer[d][v] = rank == s->virtual_rank[v] ? -1 : rank;
            }
        }
        number_steps(&l);
    }
    for (int r = 0; !rc && r < s->stages; r++)
        rc = lower_rank(&l, r, &comm->ranks[r]);
    if (rc == SS_ERR_NOMEM)
        ss_fail(err, rc, NULL, 0, "no memory to lower a schedule of %d ranks", s->stages);
    for (int d = 0; d < 2; d++) {
        SS_FREE(l.from[d], l.order[d], l.message[d], l.taken[d], l.step[d]);
    }
    SS_FREE(l.stage_of, l.first_of, l.aligned, l.chain, l.before.op, l.after.op, l.held.op);
    if (rc)
        ss_comm_free(comm);
    return rc;
}
