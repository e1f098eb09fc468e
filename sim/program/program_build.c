/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plan -> program. The body of a class, from global barrier to global barrier:
 *   step      optimizer, parameter all-gathers that nothing hides, host time; then the
 *             all-gathers that the first forwards hide are posted, all at once, in forward order;
 *   schedule  one slot a slot of the schedule; the first forward of a chunk waits for its parameters where
 *             they are needed, the last backward posts its gradient buckets where they are ready;
 *   finish    sends still on their way, reductions without overlap, all gradients, gradient norm.
 * The streams are those of stepsim/communicator.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "program/program_emit.h"
#include "program/program_internal.h"
#include "stepsim/plan.h"

struct builder {
    const struct ss_plan *plan;
    const struct ss_schedule *schedule;
    struct ss_program *p;
    struct ss_error *err;
    struct ss_shelf *shelf; /* that has comm; NULL: the builder has it */
    struct ss_comm comm;
    struct ss_emitter e;
    size_t channel_cap;
    int *out_start, *out_entry; /* p2p entries by sender: out_entry[out_start[c] .. out_start[c + 1]) */
    int *in_start, *in_entry;   /* by receiver */
    int *channel_of;            /* [2 * p2p entry + backward]: channel + 1, or 0 */
    struct ss_schedule
        *whole; /* the schedule without its loop, where sends and receives do not repeat with it; or NULL */
    /* of the class at hand */
    int cls;
};

static int no_memory(struct builder *b)
{
    return ss_fail(b->err, SS_ERR_NOMEM, NULL, 0, "no memory for the program of %d classes",
                   b->plan->nclasses);
}

/* ---- channels ---- */

/* The p2p entry between the class and the one class at pipeline rank `peer` that it talks to. */
static int find_peer(struct builder *b, int sends, int peer)
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

static int find_channel(struct builder *b, const struct ss_comm_op *op)
{
    int entry = find_peer(b, op->kind == SS_EV_SEND || op->kind == SS_EV_WAIT_SEND, op->peer);
    if (entry < 0)
        return 0;
    int *channel = &b->channel_of[2 * entry + op->backward];
    if (*channel)
        return *channel - 1;
    if (ss_grow(&b->p->channels, &b->channel_cap, (size_t)b->p->nchannels + 1, sizeof *b->p->channels)) {
        b->e.failed = no_memory(b);
        return 0;
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

static void communicate(struct builder *b, const struct ss_comm_op *ops, int n)
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

static void add_slot(struct builder *b, int template_index, int phase, int chunk, int microbatch)
{
    struct ss_program_class *cls = &b->p->classes[b->cls];
    if (template_index >= 0)
        cls->slots[cls->nslots++] = (struct ss_program_slot){template_index, phase, chunk, microbatch};
}

static void step_slot(struct builder *b)
{
    const struct ss_plan_class *c = &b->plan->classes[b->cls];
    const struct ss_schedule *s = b->schedule;
    ss_emit_compute(&b->e, SS_LABEL_OPTIMIZER, c->optimizer_s);
    for (int i = 0; i < c->nafter; i++)
        ss_emit_post(&b->e, c->after[i], SS_STREAM(SS_COMM_DP_CP));
    for (int i = 0; i < c->nafter; i++)
        ss_emit_wait(&b->e, SS_STREAM(SS_COMM_DP_CP));
    ss_emit_compute(&b->e, SS_LABEL_OTHER, c->fixed_s);
    const struct ss_comm_rank *rank = &b->comm.ranks[c->stage];
    for (int i = 0; i < s->nslots[c->stage]; i++) {
        const struct ss_comm_variant *v = &rank->variants[rank->variant_of[i]];
        for (int k = 0; v->first && k < c->chunks[v->chunk].ngather; k++)
            ss_emit_post(&b->e, c->chunks[v->chunk].gather[k].collective, SS_STREAM(SS_COMM_DP_CP));
    }
    add_slot(b, ss_emit_template(&b->e, b->p->classes[b->cls].name, "step"), -1, -1, -1);
}

static void finish_slot(struct builder *b)
{
    const struct ss_plan_class *c = &b->plan->classes[b->cls];
    communicate(b, b->comm.ranks[c->stage].end, b->comm.ranks[c->stage].nend);
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
    add_slot(b, ss_emit_template(&b->e, b->p->classes[b->cls].name, "finish"), -1, -1, -1);
}

/* ---- the work of a slot ---- */

/* Kernels of a step are the mean GPU's. */
static void add_step(const struct builder *b, const struct ss_step *step, double seconds[SS_LABEL_COUNT])
{
    double pace = b->plan->classes[b->cls].pace;
    int kernels = step->label == SS_LABEL_COMPUTE || step->label == SS_LABEL_RECOMPUTE;
    seconds[step->label] += step->seconds * (kernels && pace < 1 ? pace : 1);
    if (kernels && pace > 1)
        seconds[SS_LABEL_SPREAD] += step->seconds * (pace - 1);
}

/* Layer level: computations between two posts or waits become one event. */
static void steps(struct builder *b, const struct ss_step *list, int from, int to)
{
    double seconds[SS_LABEL_COUNT] = {0};
    for (int i = from; i <= to; i++) {
        const struct ss_step *step = &list[i];
        if (i < to && step->kind == SS_STEP_COMPUTE) {
            add_step(b, step, seconds);
            continue;
        }
        struct ss_work w = ss_emit_work(&b->e, seconds);
        ss_emit_work_until(&b->e, &w, 1);
        memset(seconds, 0, sizeof seconds);
        if (i < to)
            ss_emit_event(&b->e, step->kind == SS_STEP_POST ? SS_EV_POST : SS_EV_WAIT,
                          step->kind == SS_STEP_POST ? step->collective : 0, step->stream, 0);
    }
}

static void forward_steps(struct builder *b, const struct ss_chunk_cost *chunk, int first)
{
    int done = 0;
    for (int i = 0; first && i < chunk->ngather; i++) {
        steps(b, chunk->steps[SS_PHASE_F], done, chunk->gather[i].step);
        done = chunk->gather[i].step;
        ss_emit_wait(&b->e, SS_STREAM(SS_COMM_DP_CP));
    }
    steps(b, chunk->steps[SS_PHASE_F], done, chunk->nsteps[SS_PHASE_F]);
}

static void backward_steps(struct builder *b, const struct ss_chunk_cost *chunk, int phase, int last)
{
    int done = 0;
    for (int i = 0; last && i < chunk->nreduce; i++) {
        int at = phase == SS_PHASE_W ? chunk->reduce[i].weight_step : chunk->reduce[i].step;
        steps(b, chunk->steps[phase], done, at);
        done = at;
        ss_emit_post(&b->e, chunk->reduce[i].collective, SS_STREAM(SS_COMM_DP_CP));
    }
    steps(b, chunk->steps[phase], done, chunk->nsteps[phase]);
}

static void forward_work(struct builder *b, const struct ss_comm_variant *v,
                         const double seconds[SS_LABEL_COUNT])
{
    const struct ss_chunk_cost *chunk = &b->plan->classes[b->cls].chunks[v->chunk];
    if (b->plan->level > SS_LEVEL_CHUNK) {
        forward_steps(b, chunk, v->first);
        return;
    }
    struct ss_work w = ss_emit_work(&b->e, seconds);
    for (int i = 0; v->first && i < chunk->ngather; i++) {
        ss_emit_work_until(&b->e, &w, chunk->gather[i].fraction);
        ss_emit_wait(&b->e, SS_STREAM(SS_COMM_DP_CP));
    }
    ss_emit_work_until(&b->e, &w, 1);
}

static void backward_work(struct builder *b, const struct ss_comm_variant *v, int chunk_index,
                          const double seconds[SS_LABEL_COUNT])
{
    const struct ss_chunk_cost *chunk = &b->plan->classes[b->cls].chunks[chunk_index];
    if (b->plan->level > SS_LEVEL_CHUNK) {
        backward_steps(b, chunk, v->phase, v->last);
        return;
    }
    struct ss_work w = ss_emit_work(&b->e, seconds);
    for (int i = 0; v->last && i < chunk->nreduce; i++) {
        const struct ss_bucket_mark *mark = &chunk->reduce[i];
        ss_emit_work_until(&b->e, &w, v->phase == SS_PHASE_W ? mark->weight_fraction : mark->fraction);
        ss_emit_post(&b->e, chunk->reduce[i].collective, SS_STREAM(SS_COMM_DP_CP));
    }
    ss_emit_work_until(&b->e, &w, 1);
}

static void forward(struct builder *b, const struct ss_comm_variant *v)
{
    const struct ss_chunk_cost *chunk = &b->plan->classes[b->cls].chunks[v->chunk];
    ss_emit_memory(&b->e, SS_EV_ALLOC, SS_MEM_ACTIVATIONS, chunk->activation_bytes);
    ss_emit_memory(&b->e, SS_EV_ALLOC, SS_MEM_LOGITS, chunk->logits_bytes);
    ss_emit_memory(&b->e, SS_EV_ALLOC, SS_MEM_OTHER, chunk->forward_extra_bytes);
    forward_work(b, v, chunk->forward);
    ss_emit_memory(&b->e, SS_EV_FREE, SS_MEM_OTHER, chunk->forward_extra_bytes);
}

static void backward(struct builder *b, const struct ss_comm_variant *v)
{
    const struct ss_chunk_cost *chunk = &b->plan->classes[b->cls].chunks[v->chunk];
    int split = v->phase == SS_PHASE_I;
    ss_emit_memory(&b->e, SS_EV_ALLOC, SS_MEM_OTHER, chunk->backward_extra_bytes);
    backward_work(b, v, v->chunk, split ? chunk->input_grad : chunk->backward);
    ss_emit_memory(&b->e, SS_EV_FREE, SS_MEM_OTHER, chunk->backward_extra_bytes);
    /* What W needs may be more than what the forward kept: after recompute, and with the gradients. */
    double freed = chunk->activation_bytes - (split ? chunk->weight_grad_bytes : 0);
    ss_emit_memory(&b->e, SS_EV_ALLOC, SS_MEM_ACTIVATIONS, -freed);
    ss_emit_memory(&b->e, SS_EV_FREE, SS_MEM_ACTIVATIONS, freed);
    ss_emit_memory(&b->e, SS_EV_FREE, SS_MEM_LOGITS, chunk->logits_bytes);
}

static void weight_gradient(struct builder *b, const struct ss_comm_variant *v)
{
    const struct ss_chunk_cost *chunk = &b->plan->classes[b->cls].chunks[v->chunk];
    backward_work(b, v, v->chunk, chunk->weight_grad);
    ss_emit_memory(&b->e, SS_EV_FREE, SS_MEM_ACTIVATIONS, chunk->weight_grad_bytes);
}

/* Forward and backward side by side: exchanges of one beside the other's kernels where the plan says so, else one after the
 * other, for neither has SMs to spare. */
static void paired_work(struct builder *b, const struct ss_comm_variant *v)
{
    const struct ss_plan_class *c = &b->plan->classes[b->cls];
    const struct ss_chunk_cost *f = &c->chunks[v->chunk], *g = &c->chunks[v->chunk2];
    const struct ss_pair_cost *pair = c->pairs ? &c->pairs[v->chunk * b->schedule->chunks + v->chunk2] : NULL;
    double seconds[SS_LABEL_COUNT];
    if (b->plan->level > SS_LEVEL_CHUNK) {
        if (pair) {
            steps(b, pair->steps, 0, pair->nsteps);
            return;
        }
        forward_steps(b, f, 0);
        backward_steps(b, g, SS_PHASE_B, 0);
        return;
    }
    for (int i = 0; i < SS_LABEL_COUNT; i++)
        seconds[i] = pair ? pair->seconds[i] : f->forward[i] + g->backward[i];
    struct ss_work w = ss_emit_work(&b->e, seconds);
    ss_emit_work_until(&b->e, &w, 1);
}

/* What a pair keeps. Layer by layer the forward's activations take the place of those that the backward lets go, where the
 * two run in step; else the forward is done before the backward. */
static void pair_keeps(struct builder *b, const struct ss_chunk_cost *chunk, int event)
{
    ss_emit_memory(&b->e, event, SS_MEM_ACTIVATIONS, chunk->activation_bytes);
    ss_emit_memory(&b->e, event, SS_MEM_LOGITS, chunk->logits_bytes);
}

/* The parameters and gradients of the pair are handled at its ends. */
static void paired(struct builder *b, const struct ss_comm_variant *v)
{
    const struct ss_plan_class *c = &b->plan->classes[b->cls];
    const struct ss_chunk_cost *f = &c->chunks[v->chunk], *g = &c->chunks[v->chunk2];
    double extra = f->forward_extra_bytes + g->backward_extra_bytes;
    int in_step = c->pairs != NULL;
    for (int i = 0; v->first && i < f->ngather; i++)
        ss_emit_wait(&b->e, SS_STREAM(SS_COMM_DP_CP));
    if (in_step)
        pair_keeps(b, g, SS_EV_FREE);
    pair_keeps(b, f, SS_EV_ALLOC);
    ss_emit_memory(&b->e, SS_EV_ALLOC, SS_MEM_OTHER, extra);
    paired_work(b, v);
    ss_emit_memory(&b->e, SS_EV_FREE, SS_MEM_OTHER, extra);
    if (!in_step)
        pair_keeps(b, g, SS_EV_FREE);
    for (int i = 0; v->last && i < g->nreduce; i++)
        ss_emit_post(&b->e, g->reduce[i].collective, SS_STREAM(SS_COMM_DP_CP));
}

static int variant_template(struct builder *b, const struct ss_comm_variant *v, int nth)
{
    communicate(b, v->op, v->nbefore);
    if (v->phase == SS_PHASE_F)
        forward(b, v);
    else if (v->phase == SS_PHASE_FB)
        paired(b, v);
    else if (v->phase == SS_PHASE_W)
        weight_gradient(b, v);
    else
        backward(b, v);
    communicate(b, v->op + v->nbefore, v->nafter);
    char suffix[32];
    ss_emit_suffix(v->phase, v->chunk, nth, suffix);
    return ss_emit_template(&b->e, b->p->classes[b->cls].name, suffix);
}

/* How many variants of the same phase and chunk came before each; in order of first use. */
static void schedule_slots(struct builder *b, int *template_of, int *seen)
{
    int stage = b->plan->classes[b->cls].stage;
    const struct ss_comm_rank *rank = &b->comm.ranks[stage];
    memset(seen, 0, SS_PHASE_COUNT * (size_t)b->schedule->chunks * sizeof *seen);
    for (int i = 0; i < rank->nvariants; i++)
        template_of[i] = -2;
    struct ss_program_class *cls = &b->p->classes[b->cls];
    int first = b->schedule->loop_more ? b->schedule->loop_first[stage] : -1;
    for (int i = 0; i < b->schedule->nslots[stage] && !b->e.failed; i++) {
        const struct ss_slot *slot = &b->schedule->slots[stage][i];
        if (i == first)
            cls->loop.first = cls->nslots;
        if (first >= 0 && i == first + b->schedule->loop_length)
            cls->loop.length = cls->nslots - cls->loop.first;
        const struct ss_comm_variant *v = &rank->variants[rank->variant_of[i]];
        int *t = &template_of[rank->variant_of[i]];
        if (*t == -2)
            *t = variant_template(b, v, seen[v->phase * b->schedule->chunks + v->chunk]++);
        add_slot(b, *t, slot->phase, slot->chunk, slot->microbatch);
    }
}

/* ---- classes ---- */

/* Slots so far are those of one turn. */
static void close_loop(struct builder *b)
{
    struct ss_program_class *cls = &b->p->classes[b->cls];
    cls->loop.more = cls->loop.length ? b->schedule->loop_more : 0;
    cls->loop.step = b->schedule->loop_step;
    cls->nslots += cls->loop.more * cls->loop.length;
}

static int make_slots(struct builder *b)
{
    struct ss_program_class *cls = &b->p->classes[b->cls];
    cls->slots = malloc(((size_t)b->schedule->nslots[cls->stage] + 2) * sizeof *cls->slots);
    return cls->slots ? SS_OK : no_memory(b);
}

static int lower_classes(struct builder *b)
{
    size_t most = 1;
    for (int r = 0; r < b->comm.stages; r++)
        if ((size_t)b->comm.ranks[r].nvariants > most)
            most = (size_t)b->comm.ranks[r].nvariants;
    int *template_of = ss_calloc(most, sizeof *template_of);
    int *seen = ss_calloc(SS_PHASE_COUNT * (size_t)b->schedule->chunks, sizeof *seen);
    if (!template_of || !seen)
        b->e.failed = no_memory(b);
    for (b->cls = 0; b->cls < b->plan->nclasses && !b->e.failed; b->cls++) {
        b->e.outstanding = 0;
        if ((b->e.failed = make_slots(b)) != 0)
            break;
        step_slot(b);
        schedule_slots(b, template_of, seen);
        finish_slot(b);
        close_loop(b);
    }
    free(template_of);
    free(seen);
    return b->e.failed;
}

/* ---- all together ---- */

/* Entries of plan->p2p by class, as one counting sort. */
static int bucket_paths(struct builder *b, int sends, int **start, int **entry)
{
    const struct ss_plan *plan = b->plan;
    *start = ss_calloc((size_t)plan->nclasses + 2, sizeof **start);
    *entry = ss_calloc((size_t)plan->np2p, sizeof **entry);
    if (!*start || !*entry)
        return no_memory(b);
    for (int i = 0; i < plan->np2p; i++)
        (*start)[(sends ? plan->p2p[i].from : plan->p2p[i].to) + 2]++;
    for (int c = 0; c < plan->nclasses; c++)
        (*start)[c + 2] += (*start)[c + 1];
    for (int i = 0; i < plan->np2p; i++)
        (*entry)[(*start)[(sends ? plan->p2p[i].from : plan->p2p[i].to) + 1]++] = i;
    return SS_OK;
}

/* Do the sends and receives of the loop's turn, of the one before and of the one behind it repeat? */
static int comm_repeats(const struct builder *b)
{
    const struct ss_schedule *s = b->schedule;
    for (int r = 0; r < s->stages; r++) {
        const int *variant = b->comm.ranks[r].variant_of;
        int first = s->loop_first[r], length = s->loop_length;
        if (first < length || first + 2 * length > s->nslots[r])
            return 0;
        for (int i = first - length; i < first + length; i++)
            if (variant[i] != variant[i + length])
                return 0;
    }
    return 1;
}

static int take_whole(struct builder *b)
{
    int rc = ss_schedule_turns(b->schedule, b->schedule->loop_more, &b->whole, b->err);
    ss_shelf_drop(b->shelf, &b->comm);
    if (rc)
        return rc;
    b->schedule = b->whole;
    return ss_shelf_comm(b->shelf, b->schedule, &b->comm, b->err);
}

static int build(struct builder *b)
{
    int rc = ss_program_copy(b->plan, b->p, b->err);
    if (!rc)
        rc = bucket_paths(b, 1, &b->out_start, &b->out_entry);
    if (!rc)
        rc = bucket_paths(b, 0, &b->in_start, &b->in_entry);
    b->channel_of = ss_calloc(2 * (size_t)b->plan->np2p, sizeof *b->channel_of);
    if (!rc && !b->channel_of)
        rc = no_memory(b);
    if (!rc)
        rc = ss_shelf_comm(b->shelf, b->schedule, &b->comm, b->err);
    if (!rc && b->schedule->loop_more && !comm_repeats(b))
        rc = take_whole(b);
    return rc ? rc : lower_classes(b);
}

int ss_program_build_kept(const struct ss_plan *plan, struct ss_shelf *shelf, struct ss_program **out,
                          struct ss_error *err)
{
    struct builder b = {.plan = plan, .schedule = plan->schedule, .shelf = shelf, .err = err};
    b.p = ss_calloc(1, sizeof *b.p);
    b.e = (struct ss_emitter){.p = b.p, .err = err};
    int rc = b.p ? build(&b) : no_memory(&b);
    ss_shelf_drop(b.shelf, &b.comm);
    ss_emitter_free(&b.e);
    free(b.out_start);
    free(b.out_entry);
    free(b.in_start);
    free(b.in_entry);
    free(b.channel_of);
    ss_schedule_free(b.whole);
    if (rc)
        ss_program_free(b.p);
    else
        *out = b.p;
    return rc;
}

int ss_program_build(const struct ss_plan *plan, struct ss_program **out, struct ss_error *err)
{
    return ss_program_build_kept(plan, NULL, out, err);
}
