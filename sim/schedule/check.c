/* SPDX-License-Identifier: Apache-2.0 */
/* Proves a schedule, wherever it comes from, or says which rank and slot is wrong. */
#include "base/base.h"
#include "schedule/builder.h"

enum { DONE_F = 1, DONE_B = 2, DONE_I = 4, DONE_W = 8 };

struct checker {
    const struct ss_schedule *s;
    unsigned char *done; /* by (chunk, microbatch) of the rank at hand */
    struct ss_error *err;
};

/* ", row 3 column 7" of a slot that was read from a file; else "". */
static const char *place(const struct ss_schedule *s, int rank, int slot, char buf[64])
{
    buf[0] = '\0';
    if (s->source)
        snprintf(buf, 64, ", row %d column %d", s->source->line[rank][slot], s->source->column[rank][slot]);
    return buf;
}

static const char *file_of(const struct ss_schedule *s)
{
    return s->source ? s->source->file : NULL;
}

static int line_of(const struct ss_schedule *s, int rank, int slot)
{
    return s->source ? s->source->line[rank][slot] : 0;
}

static int bad(const struct checker *c, int rank, int slot, int phase, int chunk, int microbatch,
               const char *why)
{
    char at[64];
    return ss_fail(c->err, SS_ERR_INPUT, file_of(c->s), line_of(c->s, rank, slot),
                   "schedule %s: rank %d slot %d (%s of chunk %d, microbatch %d)%s: %s", c->s->name, rank,
                   slot, ss_phase_name(phase), chunk, microbatch, place(c->s, rank, slot, at), why);
}

/* One action of a slot; a paired slot has two. */
static int check_action(struct checker *c, int rank, int slot, int phase, int chunk, int microbatch)
{
    static const struct {
        unsigned self, needs, excludes;
        const char *missing;
    } rule[] = {
        [SS_PHASE_F] = {DONE_F, 0, 0, ""},
        [SS_PHASE_B] = {DONE_B, DONE_F, DONE_I | DONE_W, "comes before its forward"},
        [SS_PHASE_I] = {DONE_I, DONE_F, DONE_B, "comes before its forward"},
        [SS_PHASE_W] = {DONE_W, DONE_I, DONE_B, "comes before the gradient of its input (I)"},
    };
    if (chunk < 0 || chunk >= c->s->chunks || microbatch < 0 || microbatch >= c->s->microbatches)
        return bad(c, rank, slot, phase, chunk, microbatch, "there is no such chunk or microbatch");
    unsigned char *done = &c->done[ss_schedule_index(c->s, chunk, microbatch)];
    if (*done & rule[phase].self)
        return bad(c, rank, slot, phase, chunk, microbatch, "runs a second time");
    if (*done & rule[phase].excludes)
        return bad(c, rank, slot, phase, chunk, microbatch,
                   "the backward is given both whole (B) and split (I, W)");
    if ((*done & rule[phase].needs) != rule[phase].needs)
        return bad(c, rank, slot, phase, chunk, microbatch, rule[phase].missing);
    *done = (unsigned char)(*done | rule[phase].self);
    return SS_OK;
}

static int check_slot(struct checker *c, int rank, int i)
{
    const struct ss_slot *slot = &c->s->slots[rank][i];
    if (slot->phase < 0 || slot->phase >= SS_PHASE_COUNT)
        return ss_fail(c->err, SS_ERR_INPUT, NULL, 0, "schedule %s: rank %d slot %d: phase %d does not exist",
                       c->s->name, rank, i, slot->phase);
    if (slot->phase != SS_PHASE_FB)
        return check_action(c, rank, i, slot->phase, slot->chunk, slot->microbatch);
    /* Side by side: the forward of the pair cannot be the one that the backward needs. */
    int rc = check_action(c, rank, i, SS_PHASE_B, slot->chunk2, slot->microbatch2);
    return rc ? rc : check_action(c, rank, i, SS_PHASE_F, slot->chunk, slot->microbatch);
}

static int check_complete(struct checker *c, int rank)
{
    for (int chunk = 0; chunk < c->s->chunks; chunk++)
        for (int mb = 0; mb < c->s->microbatches; mb++) {
            unsigned done = c->done[ss_schedule_index(c->s, chunk, mb)];
            if (done == (DONE_F | DONE_B) || done == (DONE_F | DONE_I | DONE_W))
                continue;
            const char *missing = !(done & DONE_F) ? "F" : done & DONE_I ? "W" : "B";
            return ss_fail(c->err, SS_ERR_INPUT, file_of(c->s), 0,
                           "schedule %s: rank %d never runs %s of chunk %d, microbatch %d", c->s->name, rank,
                           missing, chunk, mb);
        }
    return SS_OK;
}

/* Every (rank, chunk) holds exactly one virtual stage. */
static int check_placement(const struct ss_schedule *s, struct ss_error *err)
{
    int n = s->stages * s->chunks, rc = SS_OK;
    if (s->pipelines > 1 && n % s->pipelines)
        return ss_fail(err, SS_ERR_INPUT, NULL, 0, "schedule %s: %d virtual stages do not make %d pipelines",
                       s->name, n, s->pipelines);
    char *seen = ss_calloc((size_t)n, 1);
    SS_NEED(seen, err);
    for (int v = 0; v < n && !rc; v++) {
        int rank = s->virtual_rank[v], chunk = s->virtual_chunk[v];
        if (rank < 0 || rank >= s->stages || chunk < 0 || chunk >= s->chunks)
            rc = ss_fail(err, SS_ERR_INPUT, NULL, 0,
                         "schedule %s: virtual stage %d is on rank %d, chunk %d, which do not exist", s->name,
                         v, rank, chunk);
        else if (seen[rank * s->chunks + chunk]++)
            rc = ss_fail(err, SS_ERR_INPUT, NULL, 0,
                         "schedule %s: two virtual stages are on rank %d, chunk %d", s->name, rank, chunk);
    }
    free(seen);
    return rc;
}

/* ---- the order can run ---- */

/* The action that a blocked slot waits for. */
struct need {
    int rank, phase, stage, microbatch;
};

static int position(const struct ss_schedule *s, int rank, int backward, int chunk, int microbatch)
{
    for (int i = 0; i < s->nslots[rank]; i++) {
        const struct ss_slot *slot = &s->slots[rank][i];
        bool forward_here = slot->phase == SS_PHASE_F || slot->phase == SS_PHASE_FB;
        bool backward_here = slot->phase == SS_PHASE_B || slot->phase == SS_PHASE_I;
        if (!backward && forward_here && slot->chunk == chunk && slot->microbatch == microbatch)
            return i;
        if (backward && backward_here && slot->chunk == chunk && slot->microbatch == microbatch)
            return i;
        if (backward && slot->phase == SS_PHASE_FB && slot->chunk2 == chunk &&
            slot->microbatch2 == microbatch)
            return i;
    }
    return -1;
}

static bool pending(const struct ss_schedule *s, const int *at, struct need need)
{
    int where =
        position(s, need.rank, need.phase == SS_PHASE_B, s->virtual_chunk[need.stage], need.microbatch);
    return where < 0 || where >= at[need.rank];
}

/* Returns what the slot of a stuck rank waits for. Its own forward is no candidate: an earlier check proves
 * it. */
static struct need blocked_by(const struct ss_schedule *s, const int *map, const int *at, int rank)
{
    const struct ss_slot *slot = &s->slots[rank][at[rank]];
    int before = ss_schedule_before(s, map[rank * s->chunks + slot->chunk]);
    int paired = slot->phase == SS_PHASE_FB;
    if ((slot->phase == SS_PHASE_F || paired) && before >= 0) {
        struct need need = {s->virtual_rank[before], SS_PHASE_F, before, slot->microbatch};
        if (pending(s, at, need))
            return need;
    }
    int after = ss_schedule_after(s, map[rank * s->chunks + (paired ? slot->chunk2 : slot->chunk)]);
    return (struct need){s->virtual_rank[after], SS_PHASE_B, after,
                         paired ? slot->microbatch2 : slot->microbatch};
}

/* All ranks of the cycle, in the order in which they wait for each other. */
static int hint_cycle(const struct ss_schedule *s, const int *map, const int *at, int first,
                      struct ss_error *err)
{
    char list[256];
    size_t n = 0;
    int rank = first, shown = 0;
    do {
        if (shown++ < 20)
            n += (size_t)snprintf(list + n, sizeof list - n, "%d, ", rank);
        rank = blocked_by(s, map, at, rank).rank;
    } while (rank != first);
    snprintf(list + n, sizeof list - n, "%s%d", shown > 20 ? "..., " : "", first);
    return ss_hint(err, SS_ERR_DEADLOCK, "each rank of %s waits for the next: move one of these slots", list);
}

static int name_cycle(const struct ss_schedule *s, const int *map, const int *at, struct ss_error *err)
{
    char here[64], there[64];
    int rank = 0;
    while (at[rank] == s->nslots[rank])
        rank++;
    /* After `stages` steps along "waits for" the walk is inside the cycle. */
    for (int i = 0; i < s->stages; i++)
        rank = blocked_by(s, map, at, rank).rank;
    struct need a = blocked_by(s, map, at, rank), b = blocked_by(s, map, at, a.rank);
    const struct ss_slot *x = &s->slots[rank][at[rank]], *y = &s->slots[a.rank][at[a.rank]];
    ss_fail(
        err, SS_ERR_DEADLOCK, file_of(s), line_of(s, rank, at[rank]),
        "schedule %s cannot run: rank %d slot %d (%s of chunk %d, microbatch %d%s) waits for %s of chunk %d, "
        "microbatch %d on rank %d, which is at slot %d (%s of chunk %d, microbatch %d%s) and waits for %s of "
        "chunk %d, microbatch %d on rank %d",
        s->name, rank, at[rank], ss_phase_name(x->phase), x->chunk, x->microbatch,
        place(s, rank, at[rank], here), ss_phase_name(a.phase), s->virtual_chunk[a.stage], a.microbatch,
        a.rank, at[a.rank], ss_phase_name(y->phase), y->chunk, y->microbatch,
        place(s, a.rank, at[a.rank], there), ss_phase_name(b.phase), s->virtual_chunk[b.stage], b.microbatch,
        b.rank);
    return hint_cycle(s, map, at, rank, err);
}

static int check_order(const struct ss_schedule *s, struct ss_error *err)
{
    int *at = ss_calloc((size_t)s->stages, sizeof *at);
    int *map = ss_schedule_stage_map(s);
    int rc = at && map ? ss_schedule_relax(s, NULL, at, NULL, NULL, NULL, err) : ss_nomem(err);
    for (int r = 0; !rc && r < s->stages; r++)
        if (at[r] < s->nslots[r])
            rc = name_cycle(s, map, at, err);
    SS_FREE(at, map);
    return rc;
}

int ss_schedule_check(const struct ss_schedule *s, struct ss_error *err)
{
    int rc = check_placement(s, err);
    size_t n = (size_t)s->chunks * (size_t)s->microbatches;
    for (int r = 0; !rc && r < s->stages; r++) {
        struct checker c = {s, ss_calloc(n, 1), err};
        SS_NEED(c.done, err);
        for (int i = 0; !rc && i < s->nslots[r]; i++)
            rc = check_slot(&c, r, i);
        SS_THEN(rc, check_complete(&c, r));
        free(c.done);
    }
    return rc ? rc : check_order(s, err);
}

int ss_schedule_in_flight(const struct ss_schedule *s, int rank)
{
    int now = 0, most = 0;
    for (int i = 0; i < s->nslots[rank]; i++) {
        int phase = s->slots[rank][i].phase;
        if (phase == SS_PHASE_F || phase == SS_PHASE_FB)
            most = ++now > most ? now : most;
        if (phase == SS_PHASE_B || phase == SS_PHASE_W || phase == SS_PHASE_FB)
            now--;
    }
    return most;
}
