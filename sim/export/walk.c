/* SPDX-License-Identifier: Apache-2.0 */
#include "export/walk.h"

#include "base/base.h"
#include "base/map.h"
#include "stepsim/communicator.h"

#define MOST_ROUNDS 32 /* of a collective's messages: its members are fewer than 2^31 */

/* Numbers of operations; of a queue those from `head` on. */
struct ids {
    int64_t *id;
    size_t n, cap, head;
};

/* One end of a channel, valid where `walk` is that of the exporter. */
struct channel_end {
    unsigned walk;
    int64_t last;
    struct ids posted;      /* not waited for */
    struct ss_cursor sizes; /* receiver: behind the send of its last message */
};

struct ss_export {
    const struct ss_program *p;
    unsigned walk;
    struct channel_end *send, *recv; /* [nchannels] */
    double *alone;                   /* [ncollectives]: s, -1: not known yet */
    double *load;                    /* [nlinks]: 0 between calls */
    struct ss_export_groups groups;  /* of NULL: not found yet */
};

/* The last operations of a collective at a member: its last send and receive, or one operation. 0: none. */
struct ends {
    int64_t id[2];
};

struct stream {
    struct ends last;
    struct ends *posted; /* not waited for: from `head` on */
    size_t n, cap, head;
};

struct walker {
    struct ss_export *x;
    const struct ss_export_walk *how;
    int rank, slot;
    struct ids tail; /* what the next operation of the main thread depends on */
    struct ids deps; /* of the operation at hand */
    struct stream *stream;
    int64_t next;   /* number of the next operation */
    double seconds; /* computed so far */
    int64_t ticks;  /* the same, written */
    int failed;     /* SS_ERR_* */
};

const struct ss_program *ss_export_program(const struct ss_export *x)
{
    return x->p;
}

int ss_export_kind_of(const struct ss_collective *c)
{
    int kind = c->kind - 1;

    return kind == SS_COLL_RING_STEP ? -1 : kind;
}

/* ---- lists ---- */

static void add_id(struct walker *w, struct ids *list, int64_t id)
{
    if (id == 0)
        return;
    if (ss_grow(&list->id, &list->cap, list->n + 1, sizeof *list->id))
        w->failed = SS_ERR_NOMEM;
    else
        list->id[list->n++] = id;
}

static void add_once(struct walker *w, struct ids *list, int64_t id)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->id[i] == id)
            return;
    add_id(w, list, id);
}

static int64_t take_id(struct ids *queue)
{
    int64_t id = queue->head < queue->n ? queue->id[queue->head++] : 0;

    if (queue->head == queue->n)
        queue->head = queue->n = 0;
    return id;
}

/* ---- operations ---- */

/* An amount as a whole number; formats have no larger ones than 64 bits hold. */
static int64_t whole(struct walker *w, double amount)
{
    if (amount < 9e18)
        return llround(amount);
    if (!w->failed)
        w->failed = SS_ERR_UNSUPPORTED;
    return 1;
}

static int64_t whole_bytes(struct walker *w, double bytes)
{
    return bytes < 1 ? 1 : whole(w, bytes);
}

/* The operation at hand begins when the main thread is here. */
static void begin_deps(struct walker *w)
{
    w->deps.n = 0;
    for (size_t i = 0; i < w->tail.n; i++)
        add_id(w, &w->deps, w->tail.id[i]);
}

static int64_t put(struct walker *w, struct ss_export_op op)
{
    if (w->failed)
        return 0;
    op.id = w->next++;
    op.slot = w->slot;
    op.deps = w->deps.id;
    op.ndeps = w->deps.n;
    w->failed = w->how->put(w->how->ctx, &op);
    return op.id;
}

static void compute(struct walker *w, double seconds)
{
    w->seconds += seconds;
    int64_t ticks = whole(w, w->seconds / w->how->tick) - w->ticks;
    if (ticks <= 0)
        return;
    begin_deps(w);
    w->ticks += ticks;
    int64_t id =
        put(w, (struct ss_export_op){
                   .kind = SS_EXPORT_CALC, .lane = SS_LANE_COMPUTE, .amount = ticks, .collective = -1});
    w->tail.n = 0;
    add_id(w, &w->tail, id);
}

static struct channel_end *end_of(struct walker *w, struct channel_end *ends, int channel)
{
    struct channel_end *end = &ends[channel];

    if (end->walk != w->x->walk) {
        end->walk = w->x->walk;
        end->last = 0;
        end->posted.n = end->posted.head = 0;
        end->sizes = (struct ss_cursor){0, 0};
    }
    return end;
}

/* Bytes of the next message of a channel, which its sender knows. */
static double next_size(const struct ss_program *p, int channel, struct ss_cursor *at)
{
    const struct ss_event *e;

    while ((e = ss_program_next(p, p->channels[channel].from, at)) != NULL)
        if (e->kind == SS_EV_SEND && e->index == channel)
            return e->amount;
    return 0;
}

/* Messages of a channel follow each other: each depends on the one before it. */
static void message(struct walker *w, const struct ss_event *e)
{
    const struct ss_program *p = w->x->p;
    int sends = e->kind == SS_EV_SEND;
    struct channel_end *end = end_of(w, sends ? w->x->send : w->x->recv, e->index);
    double bytes = sends ? e->amount : next_size(p, e->index, &end->sizes);

    begin_deps(w);
    add_once(w, &w->deps, end->last);
    end->last =
        put(w, (struct ss_export_op){.kind = sends ? SS_EXPORT_SEND : SS_EXPORT_RECV,
                                     .lane = SS_LANE_MESSAGES,
                                     .amount = whole_bytes(w, bytes),
                                     .peer = sends ? p->channels[e->index].to : p->channels[e->index].from,
                                     .tag = e->index,
                                     .collective = -1});
    add_id(w, &end->posted, end->last);
}

static void wait_message(struct walker *w, const struct ss_event *e)
{
    struct channel_end *end = end_of(w, e->kind == SS_EV_WAIT_SEND ? w->x->send : w->x->recv, e->index);

    add_once(w, &w->tail, take_id(&end->posted));
}

/* ---- collectives ---- */

/* How long one takes with nobody else on its links. */
static double alone(struct ss_export *x, int index)
{
    const struct ss_collective *c = &x->p->collectives[index];
    double seconds = 0;

    if (x->alone[index] >= 0)
        return x->alone[index];
    for (int k = 0; k < c->nphases; k++) {
        double longest = 0;
        for (int clear = 0; clear < 2; clear++)
            for (int f = 0; f < c->phases[k].nflows; f++) {
                const struct ss_flow *flow = &c->phases[k].flows[f];
                const struct ss_path *path = flow->path >= 0 ? &x->p->paths[flow->path] : NULL;
                for (int i = 0; path && i < path->nlinks; i++) {
                    double *load = &x->load[path->link[i]];
                    *load = clear ? 0 : *load + flow->bytes * path->weight[i];
                    longest = fmax(longest, *load / x->p->links[path->link[i]].bandwidth);
                }
            }
        seconds += c->phases[k].latency + longest;
    }
    return x->alone[index] = seconds;
}

static int rounds_of(int members)
{
    int rounds = 0;

    while (1 << rounds < members)
        rounds++;
    return rounds;
}

/* Part `i` of n parts of `whole` that differ by one byte at most. */
static int64_t part(int64_t whole, int i, int n)
{
    return whole / n + (i < whole % n);
}

static double phase_bytes(const struct ss_collective *c, int phase)
{
    double bytes = 0;

    for (int f = 0; phase < c->nphases && f < c->phases[phase].nflows; f++)
        bytes += c->phases[phase].flows[f].bytes;
    return bytes;
}

/* The messages of one member, in rounds: in round k to the member 2^k behind it, so that none is through before all have begun. */
static struct ends exchange(struct walker *w, int index, int member, int lane)
{
    const struct ss_collective *c = &w->x->p->collectives[index];
    int n = c->nmembers, rounds = rounds_of(n);
    struct ends ends = {{0}};

    for (int phase = 0; phase < c->nphases || phase == 0; phase++) {
        int64_t all = whole(w, phase_bytes(c, phase));
        for (int k = 0; k < rounds; k++) {
            int to = (member + (1 << k)) % n, from = (member + n - (1 << k)) % n;
            int64_t mine = part(part(all, member, n), k, rounds), his = part(part(all, from, n), k, rounds);
            struct ss_export_op op = {.kind = SS_EXPORT_SEND,
                                      .lane = lane,
                                      .amount = mine > 0 ? mine : 1,
                                      .peer = c->members[to],
                                      .tag = w->x->p->nchannels + (int64_t)index * MOST_ROUNDS + k,
                                      .collective = index};
            struct ends next = {{put(w, op)}};
            op.kind = SS_EXPORT_RECV;
            op.amount = his > 0 ? his : 1;
            op.peer = c->members[from];
            next.id[1] = put(w, op);
            ends = next;
            w->deps.n = 0;
            add_id(w, &w->deps, ends.id[0]);
            add_id(w, &w->deps, ends.id[1]);
        }
    }
    return ends;
}

static int member_of(const struct ss_collective *c, int cls)
{
    int i = 0;

    while (i < c->nmembers - 1 && c->members[i] != cls)
        i++;
    return i;
}

/* Returns the bytes that a member gives: its part of an all-gather. */
static int64_t given_bytes(struct walker *w, const struct ss_collective *c)
{
    int gathers = ss_export_kind_of(c) == SS_COLL_ALL_GATHER;

    return whole_bytes(w, c->bytes * (c->part > 0 ? c->part : 1) / (gathers ? c->nmembers : 1));
}

static void post(struct walker *w, const struct ss_event *e)
{
    const struct ss_collective *c = &w->x->p->collectives[e->index];
    struct stream *s = &w->stream[e->aux];
    struct ss_export_op op = {.lane = SS_LANE_STREAM + e->aux, .collective = e->index};

    begin_deps(w);
    add_once(w, &w->deps, s->last.id[0]);
    add_once(w, &w->deps, s->last.id[1]);
    if (c->nmembers > 1 && (!w->how->keep_collectives || ss_export_kind_of(c) < 0)) {
        s->last = exchange(w, e->index, member_of(c, w->rank), op.lane);
    } else {
        op.kind = c->nmembers > 1 ? SS_EXPORT_COLLECTIVE : SS_EXPORT_CALC;
        op.amount = c->nmembers > 1 ? given_bytes(w, c) : whole(w, alone(w->x, e->index) / w->how->tick);
        if (op.amount > 0)
            s->last = (struct ends){{put(w, op)}};
    }
    if (ss_grow(&s->posted, &s->cap, s->n + 1, sizeof *s->posted))
        w->failed = SS_ERR_NOMEM;
    else
        s->posted[s->n++] = s->last;
}

static void wait_collective(struct walker *w, const struct ss_event *e)
{
    struct stream *s = &w->stream[e->aux];

    if (s->head == s->n)
        return;
    add_once(w, &w->tail, s->posted[s->head].id[0]);
    add_once(w, &w->tail, s->posted[s->head++].id[1]);
    if (s->head == s->n)
        s->head = s->n = 0;
}

/* ---- a rank ---- */

static void event(struct walker *w, const struct ss_event *e, int slot, int number)
{
    w->slot = slot;
    switch (e->kind) {
    case SS_EV_COMPUTE: compute(w, ss_program_seconds(w->x->p, w->rank, slot, number, e->amount)); break;
    case SS_EV_SEND:
    case SS_EV_RECV: message(w, e); break;
    case SS_EV_WAIT_SEND:
    case SS_EV_WAIT_RECV: wait_message(w, e); break;
    case SS_EV_POST: post(w, e); break;
    case SS_EV_WAIT: wait_collective(w, e); break;
    default: break; /* memory takes no time */
    }
}

int ss_export_walk(struct ss_export *x, int rank, const struct ss_export_walk *how, struct ss_error *err)
{
    int nstreams = x->p->classes[rank].nstreams;
    struct walker w = {.x = x, .how = how, .rank = rank, .next = 1};
    struct ss_cursor at = {0, 0}, before = at;
    const struct ss_event *e;

    w.stream = ss_calloc((size_t)nstreams + 1, sizeof *w.stream);
    w.failed = w.stream ? SS_OK : SS_ERR_NOMEM;
    x->walk++;
    while (!w.failed && (e = ss_program_next(x->p, rank, &at)) != NULL) {
        event(&w, e, before.slot, before.event);
        before = at;
    }
    for (int s = 0; w.stream && s < nstreams; s++)
        free(w.stream[s].posted);
    SS_FREE(w.stream, w.tail.id, w.deps.id);
    if (w.failed == SS_ERR_NOMEM)
        return ss_nomem(err);
    if (w.failed == SS_ERR_UNSUPPORTED)
        return ss_fail(err, SS_ERR_UNSUPPORTED, NULL, 0,
                       "class %s: a time or a number of bytes is too large for this format",
                       x->p->classes[rank].name);
    return w.failed;
}

/* ---- the exporter ---- */

/* By a hash of the members. */
int ss_export_groups(struct ss_export *x, const struct ss_export_groups **out)
{
    const struct ss_program *p = x->p;
    struct ss_export_groups *g = &x->groups;
    struct ss_map map = {0};
    int rc = SS_OK;

    *out = g;
    if (g->of)
        return SS_OK;
    g->first = ss_calloc((size_t)p->ncollectives + 1, sizeof *g->first);
    g->of = g->first ? ss_calloc((size_t)p->ncollectives + 1, sizeof *g->of) : NULL;
    if (!g->of)
        return SS_ERR_NOMEM;
    for (int i = 0; i < p->ncollectives && !rc; i++) {
        const struct ss_collective *c = &p->collectives[i];
        uint64_t key = ss_hash(SS_HASH_INIT, c->members, (size_t)c->nmembers * sizeof *c->members);
        g->of[i] = ss_map_put(&map, key, g->n);
        if (g->of[i] < 0)
            rc = SS_ERR_NOMEM;
        else if (g->of[i] == g->n)
            g->first[g->n++] = i;
    }
    ss_map_free(&map);
    return rc;
}

int ss_export_begin(const struct ss_program *p, struct ss_export **out, struct ss_error *err)
{
    struct ss_export *x;

    *out = NULL;
    if (p->nchannels + (int64_t)p->ncollectives * MOST_ROUNDS > INT32_MAX)
        return ss_fail(err, SS_ERR_UNSUPPORTED, NULL, 0, "%d collectives need more tags than messages have",
                       p->ncollectives);
    x = ss_calloc(1, sizeof *x);
    if (x) {
        x->p = p;
        x->send = ss_calloc((size_t)p->nchannels + 1, sizeof *x->send);
        x->recv = ss_calloc((size_t)p->nchannels + 1, sizeof *x->recv);
        x->alone = ss_calloc((size_t)p->ncollectives + 1, sizeof *x->alone);
        x->load = ss_calloc((size_t)p->nlinks + 1, sizeof *x->load);
    }
    if (!x || !x->send || !x->recv || !x->alone || !x->load) {
        ss_export_free(x);
        return ss_nomem(err);
    }
    for (int i = 0; i < p->ncollectives; i++)
        x->alone[i] = -1;
    *out = x;
    return SS_OK;
}

void ss_export_free(struct ss_export *x)
{
    if (!x)
        return;
    for (int i = 0; x->send && x->recv && i < x->p->nchannels; i++) {
        SS_FREE(x->send[i].posted.id, x->recv[i].posted.id);
    }
    SS_FREE(x->send, x->recv, x->alone, x->load, x->groups.of, x->groups.first, x);
}
