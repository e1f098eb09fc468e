/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a schedule file is no computation. The replay sends an output when it is made and reduces
 * gradients when the last of them is there; what a file says about it must agree with the order:
 *   SEND_F, SEND_B     of a stage behind its F, its B or I; once for each edge between two ranks
 *   RECV_F, RECV_B     before the F, the B or I that needs it
 *   UNSHARD, RESHARD   a stage computes only in between, where the file has any
 *   REDUCE_GRAD        behind the last B or W of its stage
 */
#include "base/base.h"
#include "schedule/file.h"

enum { RAN_F = 1, RAN_B = 2, SENT_F = 4, SENT_B = 8, GOT_F = 16, GOT_B = 32 };

struct check {
    const struct ss_action_table *t;
    const struct ss_schedule *s;
    unsigned char *done;   /* [virtual stage, microbatch] */
    int *weights;          /* [virtual stage]: B and W that ran */
    char *whole, *reduced; /* [virtual stage]: gathered; gradients reduced */
    bool sends, shards;
    int rank;
};

static unsigned char *state(struct check *c, int stage, int mb)
{
    return &c->done[ss_schedule_index(c->s, stage, mb)];
}

/* The edge of a virtual stage crosses ranks. */
static bool crosses(const struct check *c, int stage, int other)
{
    return other >= 0 && c->s->virtual_rank[stage] != c->s->virtual_rank[other];
}

static int compute(struct check *c, const struct ss_action *a, int kind, int stage, int mb)
{
    unsigned char *done = state(c, stage, mb);
    if (c->shards && !c->whole[stage])
        return ss_hint(c->t->err,
                       ss_action_fail(c->t, a, "stage %d computes while its weights are sharded", stage),
                       "put %dUNSHARD before it", stage);
    if (c->reduced[stage] && kind != SS_ACTION_F)
        return ss_action_fail(c->t, a, "the gradients of stage %d are reduced before this one is there",
                              stage);
    if (kind == SS_ACTION_F && c->sends && crosses(c, stage, ss_schedule_before(c->s, stage)) &&
        !(*done & GOT_F))
        return ss_hint(c->t->err, ss_action_fail(c->t, a, "the input of this forward is not received before"),
                       "put %dRECV_F%d before it", stage, mb);
    if ((kind == SS_ACTION_B || kind == SS_ACTION_I) && c->sends &&
        crosses(c, stage, ss_schedule_after(c->s, stage)) && !(*done & GOT_B))
        return ss_hint(c->t->err,
                       ss_action_fail(c->t, a, "the gradient that this needs is not received before"),
                       "put %dRECV_B%d before it", stage, mb);
    c->weights[stage] += kind == SS_ACTION_B || kind == SS_ACTION_W;
    if (kind != SS_ACTION_W)
        *done = (unsigned char)(*done | (kind == SS_ACTION_F ? RAN_F : RAN_B));
    return SS_OK;
}

static int transfer(struct check *c, const struct ss_action *a)
{
    static const struct {
        unsigned own, needs;
        int to_next;
        const char *missing;
    } rule[SS_ACTION_COUNT] = {
        [SS_ACTION_SEND_F] = {SENT_F, RAN_F, 1, "comes before the forward whose output it sends"},
        [SS_ACTION_SEND_B] = {SENT_B, RAN_B, 0, "comes before the backward whose gradient it sends"},
        [SS_ACTION_RECV_F] = {GOT_F, 0, 0, ""},
        [SS_ACTION_RECV_B] = {GOT_B, 0, 1, ""},
    };
    if (a->microbatch >= c->s->microbatches)
        return ss_action_fail(c->t, a, "microbatch %d is never computed", a->microbatch);
    unsigned char *done = state(c, a->stage, a->microbatch);
    int other =
        rule[a->kind].to_next ? ss_schedule_after(c->s, a->stage) : ss_schedule_before(c->s, a->stage);
    if (!crosses(c, a->stage, other))
        return ss_action_fail(c->t, a,
                              other < 0 ? "stage %d is at the end of the pipeline: nothing is exchanged there"
                                        : "stage %d and its neighbour are on one rank: nothing is sent",
                              a->stage);
    if (*done & rule[a->kind].own)
        return ss_action_fail(c->t, a, "is there a second time");
    if ((*done & rule[a->kind].needs) != rule[a->kind].needs)
        return ss_action_fail(c->t, a, "%s", rule[a->kind].missing);
    *done = (unsigned char)(*done | rule[a->kind].own);
    return SS_OK;
}

static int shard(struct check *c, const struct ss_action *a)
{
    bool gather = a->kind == SS_ACTION_UNSHARD;
    if (c->whole[a->stage] == gather)
        return ss_action_fail(c->t, a, "the weights of stage %d are %s already", a->stage,
                              gather ? "gathered" : "sharded");
    c->whole[a->stage] = gather;
    return SS_OK;
}

static int reduce(struct check *c, const struct ss_action *a)
{
    int missing = c->s->microbatches - c->weights[a->stage];
    if (c->reduced[a->stage])
        return ss_action_fail(c->t, a, "the gradients of stage %d are reduced a second time", a->stage);
    if (missing)
        return ss_hint(
            c->t->err,
            ss_action_fail(c->t, a,
                           "the gradients of stage %d are reduced, but those of %d microbatches follow",
                           a->stage, missing),
            "put it behind the last B or W of the stage");
    c->reduced[a->stage] = 1;
    return SS_OK;
}

static int check_action(struct check *c, const struct ss_action *a)
{
    if (a->kind == SS_ACTION_PAIR) {
        int rc = compute(c, a, SS_ACTION_F, a->stage, a->microbatch);
        return rc ? rc : compute(c, a, SS_ACTION_B, a->stage2, a->microbatch2);
    }
    if (a->kind < SS_ACTION_PAIR)
        return compute(c, a, a->kind, a->stage, a->microbatch);
    if (a->stage >= c->s->stages * c->s->chunks || c->s->virtual_rank[a->stage] != c->rank)
        return ss_action_fail(c->t, a, "stage %d is not on rank %d", a->stage, c->rank);
    if (a->kind == SS_ACTION_REDUCE_GRAD)
        return reduce(c, a);
    return a->kind == SS_ACTION_UNSHARD || a->kind == SS_ACTION_RESHARD ? shard(c, a) : transfer(c, a);
}

/* Where one side of an edge is there the other one must be. */
static int check_partners(struct check *c)
{
    for (int v = 0; v < c->s->stages * c->s->chunks && c->sends; v++) {
        int next = ss_schedule_after(c->s, v);
        for (int mb = 0; crosses(c, v, next) && mb < c->s->microbatches; mb++) {
            unsigned a = *state(c, v, mb), b = *state(c, next, mb);
            if (!(a & SENT_F) || !(b & SENT_B))
                return ss_fail(c->t->err, SS_ERR_DEADLOCK, c->t->file, 0,
                               "%d%s%d is never there, and rank %d waits for it for ever" SS_HINT
                               "a file names all sends and receives, or none",
                               a & SENT_F ? next : v, a & SENT_F ? "SEND_B" : "SEND_F", mb,
                               c->s->virtual_rank[a & SENT_F ? v : next]);
        }
    }
    return SS_OK;
}

static void look_for(struct check *c)
{
    for (size_t r = 0; r < c->t->rows; r++)
        for (size_t i = 0; i < c->t->row[r].n; i++) {
            int kind = c->t->row[r].action[i].kind;
            c->sends = c->sends || (kind >= SS_ACTION_SEND_F && kind <= SS_ACTION_RECV_B);
            c->shards = c->shards || kind == SS_ACTION_UNSHARD;
        }
}

int ss_action_check(const struct ss_action_table *t, const struct ss_schedule *s)
{
    size_t stages = (size_t)s->stages * (size_t)s->chunks;
    struct check c = {.t = t, .s = s};
    c.done = ss_calloc(stages * (size_t)s->microbatches, 1);
    c.weights = ss_calloc(stages, sizeof *c.weights);
    c.whole = ss_calloc(stages, 1);
    c.reduced = ss_calloc(stages, 1);
    int rc = c.done && c.weights && c.whole && c.reduced ? SS_OK : ss_nomem(t->err);
    look_for(&c);
    for (size_t r = 0; r < t->rows && !rc; r++) {
        c.rank = (int)r;
        for (size_t i = 0; i < t->row[r].n && !rc; i++)
            rc = check_action(&c, &t->row[r].action[i]);
    }
    SS_THEN(rc, check_partners(&c));
    SS_FREE(c.done, c.weights, c.whole, c.reduced);
    return rc;
}
