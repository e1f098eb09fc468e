/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plan -> program. The body of a class, from global barrier to global barrier:
 *   step      optimizer, parameter all-gathers that nothing hides, host time; then the
 *             all-gathers that the first forwards hide are posted, all at once, in forward order, or each
 *             in its forward (plan.hooked);
 *   schedule  one slot a slot of the schedule; the first forward of a chunk waits for its parameters where
 *             they are needed, the last backward posts its gradient buckets where they are ready, or, where
 *             all stages begin at once, as many backwards later as its stage is behind the first;
 *   finish    sends still on their way, reductions without overlap, all gradients, gradient norm.
 * The streams are those of stepsim/communicator.h.
 */
#include "base/base.h"
#include "program/program_builder.h"

/* ---- channels ---- */

/* The p2p entry between the class and the one class at pipeline rank `peer` that it talks to. */
static int find_peer(struct ss_program_builder *b, int sends, int peer)
{
    const int *start = sends ? b->out_start : b->in_start, *entry = sends ? b->out_entry : b->in_entry;
    int found = -1;
    for (int i = start[b->cls]; i < start[b->cls + 1]; i++) {
        const struct ss_p2p_path *path = &b->plan->p2p[entry[i]];
        if (b->plan->classes[sends ? path->to : path->from].stage != peer)
            continue;
        if (found >= 0) {
            b->e.failed = ss_fail(b->err, SS_ERR_INPUT, NULL, 0, "plan: %s has several peers at stage %d",
                                  b->p->classes[b->cls].name, peer);
            return -1;
        }
        found = entry[i];
    }
    if (found < 0)
        b->e.failed = ss_fail(b->err, SS_ERR_INPUT, NULL, 0, "plan: no path between %s and stage %d",
                              b->p->classes[b->cls].name, peer);
    return found;
}

/* The channel of an operation, which becomes one when it is first used; -1: there is none. */
static int new_channel(struct ss_program_builder *b, const struct ss_comm_op *op)
{
    int entry = find_peer(b, op->kind == SS_EV_SEND || op->kind == SS_EV_WAIT_SEND, op->peer);
    if (entry < 0)
        return -1;
    int *channel = &b->channel_of[2 * entry + op->backward];
    if (*channel)
        return *channel - 1;
    if (ss_grow(&b->p->channels, &b->channel_cap, (size_t)b->p->nchannels + 1, sizeof *b->p->channels)) {
        b->e.failed = ss_nomem(b->err);
        return -1;
    }
    const struct ss_p2p_path *path = &b->plan->p2p[entry];
    b->p->channels[b->p->nchannels++] = (struct ss_channel){.from = path->from,
                                                            .to = path->to,
                                                            .tag = op->backward,
                                                            .rendezvous = b->schedule->p2p != SS_P2P_ASYNC,
                                                            .path = path->path,
                                                            .latency = path->latency,
                                                            .sm_share = path->sm_share};
    *channel = b->p->nchannels;
    return *channel - 1;
}

static int find_channel(struct ss_program_builder *b, const struct ss_comm_op *op)
{
    int sends = op->kind == SS_EV_SEND || op->kind == SS_EV_WAIT_SEND;
    int *known = &b->known[4 * op->peer + 2 * sends + op->backward];
    if (!*known)
        *known = new_channel(b, op) + 1;
    return *known - 1;
}

static void communicate(struct ss_program_builder *b, const struct ss_comm_op *ops, int n)
{
    for (int i = 0; i < n && !b->e.failed; i++) {
        double bytes = 0;
        if (ops[i].kind == SS_EV_SEND) {
            const struct ss_chunk_cost *chunk = &b->plan->classes[b->cls].chunks[ops[i].chunk];
            /* The gradient of a chunk's input is as large as the input. */
            bytes = ops[i].backward ? chunk->recv_bytes : chunk->send_bytes;
        }
        ss_emit_event(&b->e, ops[i].kind, find_channel(b, &ops[i]), 0, bytes);
    }
}

/* ---- slots ---- */

static void add_slot(struct ss_program_builder *b, int template_index)
{
    struct ss_program_class *cls = &b->p->classes[b->cls];
    if (template_index >= 0)
        cls->slots[cls->nslots++] = (struct ss_program_slot){template_index, -1, -1, -1};
}

static void step_slot(struct ss_program_builder *b)
{
    const struct ss_plan_class *c = &b->plan->classes[b->cls];
    ss_emit_memory(&b->e, SS_EV_ALLOC, SS_MEM_OPTIMIZER, c->main_gradients);
    ss_emit_compute(&b->e, SS_LABEL_OPTIMIZER, c->optimizer_s);
    ss_emit_memory(&b->e, SS_EV_FREE, SS_MEM_OPTIMIZER, c->main_gradients);
    for (int i = 0; i < c->nafter; i++)
        ss_emit_post(&b->e, c->after[i], SS_STREAM(SS_COMM_DP_CP));
    for (int i = 0; i < c->nafter; i++)
        ss_emit_wait(&b->e, SS_STREAM(SS_COMM_DP_CP));
    ss_emit_compute(&b->e, SS_LABEL_OTHER, c->fixed_s);
    const struct ss_comm_rank *rank = &b->comm.ranks[c->stage];
    for (int i = 0; i < rank->nvariants; i++) {
        const struct ss_comm_variant *v = &rank->variants[i];
        for (int k = 0; v->first && !b->plan->hooked && k < c->chunks[v->chunk].ngather; k++)
            ss_emit_post(&b->e, c->chunks[v->chunk].gather[k].collective, SS_STREAM(SS_COMM_DP_CP));
    }
    add_slot(b, ss_emit_template(&b->e, b->p->classes[b->cls].name, "step"));
}

static void finish_slot(struct ss_program_builder *b)
{
    const struct ss_plan_class *c = &b->plan->classes[b->cls];
    const struct ss_comm_rank *rank = &b->comm.ranks[c->stage];
    communicate(b, rank->end, rank->nend);
    for (int i = 0; i < rank->nlate; i++)
        ss_program_reduce(b, rank->late[i]);
    for (int i = 0; i < c->npost; i++)
        ss_emit_post(&b->e, c->post[i], SS_STREAM(SS_COMM_DP_CP));
    while (b->e.outstanding > 0 && !b->e.failed)
        ss_emit_wait(&b->e, SS_STREAM(SS_COMM_DP_CP));
    ss_emit_compute(&b->e, SS_LABEL_IMBALANCE, c->imbalance_s);
    ss_emit_compute(&b->e, SS_LABEL_OPTIMIZER, c->gradients_s);
    if (c->norm >= 0) {
        ss_emit_post(&b->e, c->norm, SS_STREAM(SS_COMM_WORLD));
        ss_emit_wait(&b->e, SS_STREAM(SS_COMM_WORLD));
    }
    add_slot(b, ss_emit_template(&b->e, b->p->classes[b->cls].name, "finish"));
}

/* ---- slots of the schedule ---- */

static int variant_template(struct ss_program_builder *b, const struct ss_comm_variant *v)
{
    ss_program_issue_ahead(b, v);
    communicate(b, v->op, v->nbefore);
    ss_program_slot_work(b, v);
    communicate(b, v->op + v->nbefore, v->nafter);
    char suffix[32];
    ss_emit_suffix(v->phase, v->chunk, v->nth, suffix);
    return ss_emit_template(&b->e, b->p->classes[b->cls].name, suffix);
}

/* The slot's variant, or the number behind all variants of one that is apart. */
static int form_of(const struct ss_program_builder *b, const struct ss_comm_rank *rank, int slot)
{
    int apart = slot >= b->apart_from && slot < b->apart_to;
    return rank->slots[slot].template_index + apart * rank->nvariants;
}

/* Drops slots that have nothing left. */
static void put_slots(struct ss_program_builder *b, const struct ss_comm_rank *rank, const int *template_of)
{
    struct ss_program_class *cls = &b->p->classes[b->cls];
    const struct ss_schedule *s = b->schedule;
    const int n = s->nslots[cls->stage], first = s->loop_more ? s->loop_first[cls->stage] : n,
              end = first + s->loop_length;
    for (int i = 0; i < n; i++) {
        struct ss_program_slot slot = rank->slots[i];
        if (i == first)
            cls->loop.first = cls->nslots;
        if (i == end)
            cls->loop.length = cls->nslots - cls->loop.first;
        slot.template_index = template_of[form_of(b, rank, i)];
        if (slot.template_index >= 0)
            cls->slots[cls->nslots++] = slot;
    }
}

/* Does so where each variant is a template; these follow one another from `base` on. */
static void put_all_slots(struct ss_program_builder *b, const struct ss_comm_rank *rank, int base)
{
    struct ss_program_class *cls = &b->p->classes[b->cls];
    const struct ss_schedule *s = b->schedule;
    const int n = s->nslots[cls->stage];
    struct ss_program_slot *out = cls->slots + cls->nslots;
    for (int i = 0; i < n; i++) {
        out[i] = rank->slots[i];
        out[i].template_index += base;
    }
    if (s->loop_more) {
        cls->loop.first = cls->nslots + s->loop_first[cls->stage];
        cls->loop.length = s->loop_length;
    }
    cls->nslots += n;
}

/* Finds the slots of the class that no data-parallel transfer can be beside. What is gathered has come when the last chunk's first forward
 * ends; nothing is reduced before one of the last backwards. */
static void find_apart(struct ss_program_builder *b, const struct ss_comm_rank *rank)
{
    const struct ss_plan_class *c = &b->plan->classes[b->cls];
    int n = b->schedule->nslots[c->stage], gathers = 0, reduces = 0;
    for (int k = 0; k < b->schedule->chunks; k++) {
        gathers |= c->chunks[k].ngather;
        reduces |= c->chunks[k].nreduce;
    }
    b->apart_from = 0;
    b->apart_to = n;
    for (int i = n - 1; i >= 0; i--) {
        const struct ss_comm_variant *v = &rank->variants[rank->slots[i].template_index];
        if (gathers && v->first && !b->apart_from)
            b->apart_from = i + 1;
        if (reduces && (v->last || v->aligned >= 0))
            b->apart_to = i;
    }
}

/* Makes a template of each form that slots of the class have. */
static void schedule_forms(struct ss_program_builder *b, const struct ss_comm_rank *rank, int *template_of)
{
    const int n = b->schedule->nslots[b->plan->classes[b->cls].stage];
    find_apart(b, rank);
    for (int i = 0; i < 2 * rank->nvariants; i++)
        template_of[i] = -1;
    for (int i = 0; i < n; i++)
        template_of[form_of(b, rank, i)] = 0;
    for (int i = 0; i < 2 * rank->nvariants; i++) {
        b->apart = i >= rank->nvariants;
        if (!template_of[i])
            template_of[i] = variant_template(b, &rank->variants[i % rank->nvariants]);
    }
    b->apart = 0;
    if (!b->e.failed)
        put_slots(b, rank, template_of);
}

static void schedule_slots(struct ss_program_builder *b, int *template_of)
{
    const struct ss_comm_rank *rank = &b->comm.ranks[b->plan->classes[b->cls].stage];
    const int base = b->p->ntemplates;
    if (b->beside) {
        schedule_forms(b, rank, template_of);
        return;
    }
    for (int i = 0; i < rank->nvariants && !b->e.failed; i++)
        template_of[i] = variant_template(b, &rank->variants[i]);
    if (b->e.failed)
        return;
    if (b->p->ntemplates == base + rank->nvariants)
        put_all_slots(b, rank, base);
    else
        put_slots(b, rank, template_of);
}

/* ---- classes ---- */

/* The slots so far are those of one turn. */
static void close_loop(struct ss_program_builder *b)
{
    struct ss_program_class *cls = &b->p->classes[b->cls];
    cls->loop.more = cls->loop.length ? b->schedule->loop_more : 0;
    cls->loop.step = b->schedule->loop_step;
    cls->nslots += cls->loop.more * cls->loop.length;
}

static int make_slots(struct ss_program_builder *b)
{
    struct ss_program_class *cls = &b->p->classes[b->cls];
    cls->slots = malloc(((size_t)b->schedule->nslots[cls->stage] + 2) * sizeof *cls->slots);
    return cls->slots ? SS_OK : ss_nomem(b->err);
}

static int lower_classes(struct ss_program_builder *b)
{
    size_t most = 1;
    for (int r = 0; r < b->comm.stages; r++)
        if ((size_t)b->comm.ranks[r].nvariants > most)
            most = (size_t)b->comm.ranks[r].nvariants;
    const size_t nknown = 4 * (size_t)b->comm.stages;
    int *template_of = ss_calloc(2 * most, sizeof *template_of);
    b->known = ss_calloc(nknown, sizeof *b->known);
    if (!template_of || !b->known)
        b->e.failed = ss_nomem(b->err);
    for (b->cls = 0; b->cls < b->plan->nclasses && !b->e.failed; b->cls++) {
        b->e.outstanding = 0;
        memset(b->known, 0, nknown * sizeof *b->known);
        if ((b->e.failed = make_slots(b)) != 0)
            break;
        step_slot(b);
        schedule_slots(b, template_of);
        finish_slot(b);
        close_loop(b);
        if (b->cls == 0)
            ss_emitter_expect(&b->e, b->plan->nclasses);
    }
    SS_FREE(template_of, b->known);
    return b->e.failed;
}

/* ---- all together ---- */

/* Entries of plan->p2p by class, as one counting sort. */
static int bucket_paths(struct ss_program_builder *b, int sends, int **start, int **entry)
{
    const struct ss_plan *plan = b->plan;
    *start = ss_calloc((size_t)plan->nclasses + 2, sizeof **start);
    *entry = ss_calloc((size_t)plan->np2p, sizeof **entry);
    SS_NEED(*start && *entry, b->err);
    for (int i = 0; i < plan->np2p; i++)
        (*start)[(sends ? plan->p2p[i].from : plan->p2p[i].to) + 2]++;
    for (int c = 0; c < plan->nclasses; c++)
        (*start)[c + 2] += (*start)[c + 1];
    for (int i = 0; i < plan->np2p; i++)
        (*entry)[(*start)[(sends ? plan->p2p[i].from : plan->p2p[i].to) + 1]++] = i;
    return SS_OK;
}

/* Do the sends and receives of the loop's turn, of the one before and of the one behind it repeat? */
static int comm_repeats(const struct ss_program_builder *b)
{
    const struct ss_schedule *s = b->schedule;
    for (int r = 0; r < s->stages; r++) {
        const struct ss_program_slot *slots = b->comm.ranks[r].slots;
        int first = s->loop_first[r], length = s->loop_length;
        if (first < length || first + 2 * length > s->nslots[r])
            return 0;
        for (int i = first - length; i < first + length; i++)
            if (slots[i].template_index != slots[i + length].template_index)
                return 0;
    }
    return 1;
}

static int asked_of(const struct ss_plan *plan)
{
    int asked = !plan->aligned ? 0 : plan->aligned == 2 ? SS_COMM_ALIGN | SS_COMM_PASS : SS_COMM_ALIGN;
    for (int c = 0; c < plan->nclasses; c++)
        if (plan->classes[c].host_ahead && ss_program_issues(plan, c))
            asked |= SS_COMM_NEIGHBOURS;
    return asked;
}

static int take_whole(struct ss_program_builder *b)
{
    int rc = ss_schedule_turns(b->schedule, b->schedule->loop_more, &b->whole, b->err);
    ss_cache_drop(b->cache, &b->comm);
    if (rc)
        return rc;
    b->schedule = b->whole;
    return ss_cache_comm(b->cache, b->schedule, asked_of(b->plan), &b->comm, b->err);
}

static int build(struct ss_program_builder *b)
{
    int rc = ss_program_copy(b->plan, b->p, b->err);
    SS_THEN(rc, bucket_paths(b, 1, &b->out_start, &b->out_entry));
    SS_THEN(rc, bucket_paths(b, 0, &b->in_start, &b->in_entry));
    b->channel_of = ss_calloc(2 * (size_t)b->plan->np2p, sizeof *b->channel_of);
    if (!rc && !b->channel_of)
        rc = ss_nomem(b->err);
    SS_THEN(rc, ss_cache_comm(b->cache, b->schedule, asked_of(b->plan), &b->comm, b->err));
    if (!rc && b->schedule->loop_more && !comm_repeats(b))
        rc = take_whole(b);
    SS_THEN(rc, lower_classes(b));
    if (!rc)
        ss_emitter_end(&b->e);
    return rc;
}

static int build_program(const struct ss_plan *plan, struct ss_cache *cache, int beside,
                         struct ss_program **out, struct ss_error *err)
{
    struct ss_program *p = ss_calloc(1, sizeof *p);
    struct ss_program_builder b = {.plan = plan,
                                   .schedule = plan->schedule,
                                   .p = p,
                                   .cache = cache,
                                   .e = {.p = p, .err = err},
                                   .beside = beside,
                                   .err = err};
    int rc = p ? build(&b) : ss_nomem(err);
    ss_cache_drop(b.cache, &b.comm);
    ss_emitter_free(&b.e);
    SS_FREE(b.out_start, b.out_entry, b.in_start, b.in_entry, b.channel_of);
    ss_schedule_free(b.whole);
    if (rc)
        ss_program_free(b.p);
    else
        *out = b.p;
    return rc;
}

int ss_program_build_kept(const struct ss_plan *plan, struct ss_cache *cache, struct ss_program **out,
                          struct ss_error *err)
{
    return build_program(plan, cache, 0, out, err);
}

int ss_program_build_beside(const struct ss_plan *plan, struct ss_cache *cache, struct ss_program **out,
                            struct ss_error *err)
{
    *out = NULL;
    for (int c = 0; c < plan->nclasses; c++)
        if (ss_program_issues(plan, c))
            return SS_OK;
    return build_program(plan, cache, 1, out, err);
}

int ss_program_build(const struct ss_plan *plan, struct ss_program **out, struct ss_error *err)
{
    return ss_program_build_kept(plan, NULL, out, err);
}
