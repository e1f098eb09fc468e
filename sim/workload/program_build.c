/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plan -> program, at chunk level. The body of a class, from global barrier to global barrier:
 *   step      optimizer, parameter all-gathers that nothing hides, host time; then the
 *             all-gathers that the first forwards hide are posted, all at once, in forward order;
 *   schedule  one slot a slot of the schedule; the first forward of a chunk waits for its parameters where
 *             they are needed, the last backward posts its gradient buckets where they are ready;
 *   finish    sends still on their way, reductions without overlap, all gradients, gradient norm.
 * Stream 0 carries the data-parallel group, stream 1 the norm.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "workload/program_internal.h"

enum { STREAM_DP = SS_STREAM_DP, STREAM_NORM = SS_STREAM_NORM };

/* Mixes are few but asked for at every COMPUTE: found by hash. */
struct mix_table {
    int *slot; /* mix + 1, or 0 */
    size_t size, cap;
};

struct builder {
    const struct ss_plan *plan;
    const struct ss_schedule *schedule;
    struct ss_program *p;
    struct ss_error *err;
    struct ss_comm comm;
    struct mix_table mixes;
    size_t template_cap, channel_cap;
    int *out_start, *out_entry; /* p2p entries by sender: out_entry[out_start[c] .. out_start[c + 1]) */
    int *in_start, *in_entry;   /* by receiver */
    int *channel_of;            /* [2 * p2p entry + backward]: channel + 1, or 0 */
    /* of the class at hand */
    int cls;
    int outstanding; /* posts on the data-parallel stream that are not waited for */
    struct ss_event *events;
    size_t nevents, cap;
    int failed; /* first error code while events are collected */
};

static int no_memory(struct builder *b)
{
    return ss_fail(b->err, SS_ERR_NOMEM, NULL, 0, "no memory for the program of %d classes",
                   b->plan->nclasses);
}

/* ---- events ---- */

static void event(struct builder *b, int kind, int index, int aux, double amount)
{
    if (b->failed)
        return;
    if (ss_grow(&b->events, &b->cap, b->nevents + 1, sizeof *b->events)) {
        b->failed = no_memory(b);
        return;
    }
    b->events[b->nevents++] = (struct ss_event){kind, index, aux, amount};
}

static void post(struct builder *b, int collective, int stream)
{
    event(b, SS_EV_POST, collective, stream, 0);
    b->outstanding += stream == STREAM_DP;
}

static void wait(struct builder *b, int stream)
{
    event(b, SS_EV_WAIT, 0, stream, 0);
    b->outstanding -= stream == STREAM_DP;
}

static void memory(struct builder *b, int kind, int mem, double bytes)
{
    if (bytes > 0)
        event(b, kind, mem, 0, bytes);
}

static int grow_mixes(struct builder *b)
{
    struct mix_table old = b->mixes, new = {.size = old.size ? 4 * old.size : 64, .cap = old.cap};
    new.slot = ss_calloc(new.size, sizeof *new.slot);
    if (!new.slot)
        return SS_ERR_NOMEM;
    for (int i = 0; i < b->p->nmixes; i++) {
        size_t at = ss_hash(SS_HASH_INIT, &b->p->mixes[i], sizeof b->p->mixes[i]) % new.size;
        while (new.slot[at])
            at = (at + 1) % new.size;
        new.slot[at] = i + 1;
    }
    free(old.slot);
    b->mixes = new;
    return SS_OK;
}

static int find_mix(struct builder *b, const struct ss_mix *mix)
{
    if ((size_t)b->p->nmixes * 2 >= b->mixes.size && grow_mixes(b))
        return -1;
    size_t at = ss_hash(SS_HASH_INIT, mix, sizeof *mix) % b->mixes.size;
    for (; b->mixes.slot[at]; at = (at + 1) % b->mixes.size)
        if (!memcmp(&b->p->mixes[b->mixes.slot[at] - 1], mix, sizeof *mix))
            return b->mixes.slot[at] - 1;
    if (ss_grow(&b->p->mixes, &b->mixes.cap, (size_t)b->p->nmixes + 1, sizeof *mix))
        return -1;
    b->p->mixes[b->p->nmixes] = *mix;
    b->mixes.slot[at] = b->p->nmixes + 1;
    return b->p->nmixes++;
}

/* Work that bucket marks cut into parts. */
struct work {
    double seconds;
    int mix;
    double done; /* fraction */
};

static struct work work_begin(struct builder *b, const double seconds[SS_LABEL_COUNT])
{
    struct work w = {0, 0, 0};
    struct ss_mix mix;
    for (int i = 0; i < SS_LABEL_COUNT; i++)
        w.seconds += seconds[i];
    if (!(w.seconds > 0) || b->failed)
        return w;
    for (int i = 0; i < SS_LABEL_COUNT; i++)
        mix.fraction[i] = seconds[i] / w.seconds;
    w.mix = find_mix(b, &mix);
    if (w.mix < 0)
        b->failed = no_memory(b);
    return w;
}

static void work_until(struct builder *b, struct work *w, double fraction)
{
    double seconds = w->seconds * (fraction - w->done);
    if (seconds > 0)
        event(b, SS_EV_COMPUTE, w->mix, 0, seconds);
    if (fraction > w->done)
        w->done = fraction;
}

static void compute(struct builder *b, int label, double seconds)
{
    double by_label[SS_LABEL_COUNT] = {0};
    by_label[label] = seconds;
    struct work w = work_begin(b, by_label);
    work_until(b, &w, 1);
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
            b->failed = ss_fail(b->err, SS_ERR_INPUT, NULL, 0, "plan: %s has several peers at stage %d",
                                b->p->classes[b->cls].name, peer);
            return -1;
        }
        found = entry[i];
    }
    if (found < 0)
        b->failed = ss_fail(b->err, SS_ERR_INPUT, NULL, 0, "plan: no path between %s and stage %d",
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
        b->failed = no_memory(b);
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
    for (int i = 0; i < n && !b->failed; i++) {
        double bytes = 0;
        if (ops[i].kind == SS_EV_SEND) {
            const struct ss_chunk_cost *chunk = &b->plan->classes[b->cls].chunks[ops[i].chunk];
            /* The gradient of a chunk's input is as large as the input. */
            bytes = ops[i].backward ? chunk->recv_bytes : chunk->send_bytes;
        }
        event(b, ops[i].kind, find_channel(b, &ops[i]), 0, bytes);
    }
}

/* ---- templates and slots ---- */

/* Makes the collected events a template; -1 when there are none or on error. */
static int finish_template(struct builder *b, const char *suffix)
{
    struct ss_program *p = b->p;
    if (b->failed || !b->nevents)
        return -1;
    if (ss_grow(&p->templates, &b->template_cap, (size_t)p->ntemplates + 1, sizeof *p->templates)) {
        b->failed = no_memory(b);
        return -1;
    }
    struct ss_template *t = &p->templates[p->ntemplates];
    *t = (struct ss_template){.nevents = (int)b->nevents, .events = malloc(b->nevents * sizeof *t->events)};
    if (!t->events) {
        b->failed = no_memory(b);
        return -1;
    }
    memcpy(t->events, b->events, b->nevents * sizeof *t->events);
    snprintf(t->name, sizeof t->name, "%.23s.%.15s", p->classes[b->cls].name, suffix);
    b->nevents = 0;
    return p->ntemplates++;
}

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
    compute(b, SS_LABEL_OPTIMIZER, c->optimizer_s);
    for (int i = 0; i < c->nafter; i++)
        post(b, c->after[i], STREAM_DP);
    for (int i = 0; i < c->nafter; i++)
        wait(b, STREAM_DP);
    compute(b, SS_LABEL_OTHER, c->fixed_s);
    const struct ss_comm_rank *rank = &b->comm.ranks[c->stage];
    for (int i = 0; i < s->nslots[c->stage]; i++) {
        const struct ss_comm_variant *v = &rank->variants[rank->variant_of[i]];
        for (int k = 0; v->first && k < c->chunks[v->chunk].ngather; k++)
            post(b, c->chunks[v->chunk].gather[k].collective, STREAM_DP);
    }
    add_slot(b, finish_template(b, "step"), -1, -1, -1);
}

static void finish_slot(struct builder *b)
{
    const struct ss_plan_class *c = &b->plan->classes[b->cls];
    communicate(b, b->comm.ranks[c->stage].end, b->comm.ranks[c->stage].nend);
    for (int i = 0; i < c->npost; i++)
        post(b, c->post[i], STREAM_DP);
    while (b->outstanding > 0 && !b->failed)
        wait(b, STREAM_DP);
    if (c->norm >= 0) {
        post(b, c->norm, STREAM_NORM);
        wait(b, STREAM_NORM);
    }
    add_slot(b, finish_template(b, "finish"), -1, -1, -1);
}

/* ---- the work of a slot ---- */

/* Layer level: computations between two posts or waits become one event. */
static void steps(struct builder *b, const struct ss_chunk_cost *chunk, int phase, int from, int to)
{
    double seconds[SS_LABEL_COUNT] = {0};
    for (int i = from; i <= to; i++) {
        const struct ss_step *step = &chunk->steps[phase][i];
        if (i < to && step->kind == SS_STEP_COMPUTE) {
            seconds[step->label] += step->seconds;
            continue;
        }
        struct work w = work_begin(b, seconds);
        work_until(b, &w, 1);
        memset(seconds, 0, sizeof seconds);
        if (i < to)
            event(b, step->kind == SS_STEP_POST ? SS_EV_POST : SS_EV_WAIT,
                  step->kind == SS_STEP_POST ? step->collective : 0, step->stream, 0);
    }
}

static void forward_steps(struct builder *b, const struct ss_chunk_cost *chunk, int first)
{
    int done = 0;
    for (int i = 0; first && i < chunk->ngather; i++) {
        steps(b, chunk, SS_PHASE_F, done, chunk->gather[i].step);
        done = chunk->gather[i].step;
        wait(b, STREAM_DP);
    }
    steps(b, chunk, SS_PHASE_F, done, chunk->nsteps[SS_PHASE_F]);
}

static void backward_steps(struct builder *b, const struct ss_chunk_cost *chunk, int phase, int last)
{
    int done = 0;
    for (int i = 0; last && i < chunk->nreduce; i++) {
        int at = phase == SS_PHASE_W ? chunk->reduce[i].weight_step : chunk->reduce[i].step;
        steps(b, chunk, phase, done, at);
        done = at;
        post(b, chunk->reduce[i].collective, STREAM_DP);
    }
    steps(b, chunk, phase, done, chunk->nsteps[phase]);
}

static void forward_work(struct builder *b, const struct ss_comm_variant *v,
                         const double seconds[SS_LABEL_COUNT])
{
    const struct ss_chunk_cost *chunk = &b->plan->classes[b->cls].chunks[v->chunk];
    if (b->plan->level > SS_LEVEL_CHUNK) {
        forward_steps(b, chunk, v->first);
        return;
    }
    struct work w = work_begin(b, seconds);
    for (int i = 0; v->first && i < chunk->ngather; i++) {
        work_until(b, &w, chunk->gather[i].fraction);
        wait(b, STREAM_DP);
    }
    work_until(b, &w, 1);
}

static void backward_work(struct builder *b, const struct ss_comm_variant *v, int chunk_index,
                          const double seconds[SS_LABEL_COUNT])
{
    const struct ss_chunk_cost *chunk = &b->plan->classes[b->cls].chunks[chunk_index];
    if (b->plan->level > SS_LEVEL_CHUNK) {
        backward_steps(b, chunk, v->phase, v->last);
        return;
    }
    struct work w = work_begin(b, seconds);
    for (int i = 0; v->last && i < chunk->nreduce; i++) {
        work_until(b, &w, chunk->reduce[i].fraction);
        post(b, chunk->reduce[i].collective, STREAM_DP);
    }
    work_until(b, &w, 1);
}

static void forward(struct builder *b, const struct ss_comm_variant *v)
{
    const struct ss_chunk_cost *chunk = &b->plan->classes[b->cls].chunks[v->chunk];
    memory(b, SS_EV_ALLOC, SS_MEM_ACTIVATIONS, chunk->activation_bytes);
    memory(b, SS_EV_ALLOC, SS_MEM_LOGITS, chunk->logits_bytes);
    memory(b, SS_EV_ALLOC, SS_MEM_OTHER, chunk->forward_extra_bytes);
    forward_work(b, v, chunk->forward);
    memory(b, SS_EV_FREE, SS_MEM_OTHER, chunk->forward_extra_bytes);
}

static void backward(struct builder *b, const struct ss_comm_variant *v)
{
    const struct ss_chunk_cost *chunk = &b->plan->classes[b->cls].chunks[v->chunk];
    int split = v->phase == SS_PHASE_I;
    memory(b, SS_EV_ALLOC, SS_MEM_OTHER, chunk->backward_extra_bytes);
    backward_work(b, v, v->chunk, split ? chunk->input_grad : chunk->backward);
    memory(b, SS_EV_FREE, SS_MEM_OTHER, chunk->backward_extra_bytes);
    /* What W needs may be more than what the forward kept: after recompute, and with the gradients. */
    double freed = chunk->activation_bytes - (split ? chunk->weight_grad_bytes : 0);
    memory(b, SS_EV_ALLOC, SS_MEM_ACTIVATIONS, -freed);
    memory(b, SS_EV_FREE, SS_MEM_ACTIVATIONS, freed);
    memory(b, SS_EV_FREE, SS_MEM_LOGITS, chunk->logits_bytes);
}

static void weight_gradient(struct builder *b, const struct ss_comm_variant *v)
{
    const struct ss_chunk_cost *chunk = &b->plan->classes[b->cls].chunks[v->chunk];
    backward_work(b, v, v->chunk, chunk->weight_grad);
    memory(b, SS_EV_FREE, SS_MEM_ACTIVATIONS, chunk->weight_grad_bytes);
}

/* Forward and backward side by side take the sum of their times: neither has SMs to spare. The
 * parameters and gradients of the pair are handled at its ends. */
static void paired(struct builder *b, const struct ss_comm_variant *v)
{
    const struct ss_plan_class *c = &b->plan->classes[b->cls];
    const struct ss_chunk_cost *f = &c->chunks[v->chunk], *g = &c->chunks[v->chunk2];
    double extra = f->forward_extra_bytes + g->backward_extra_bytes, seconds[SS_LABEL_COUNT];
    for (int i = 0; i < SS_LABEL_COUNT; i++)
        seconds[i] = f->forward[i] + g->backward[i];
    for (int i = 0; v->first && i < f->ngather; i++)
        wait(b, STREAM_DP);
    memory(b, SS_EV_ALLOC, SS_MEM_ACTIVATIONS, f->activation_bytes);
    memory(b, SS_EV_ALLOC, SS_MEM_LOGITS, f->logits_bytes);
    memory(b, SS_EV_ALLOC, SS_MEM_OTHER, extra);
    if (b->plan->level > SS_LEVEL_CHUNK) {
        forward_steps(b, f, 0);
        backward_steps(b, g, SS_PHASE_B, 0);
    } else {
        struct work w = work_begin(b, seconds);
        work_until(b, &w, 1);
    }
    memory(b, SS_EV_FREE, SS_MEM_OTHER, extra);
    memory(b, SS_EV_FREE, SS_MEM_ACTIVATIONS, g->activation_bytes);
    memory(b, SS_EV_FREE, SS_MEM_LOGITS, g->logits_bytes);
    for (int i = 0; v->last && i < g->nreduce; i++)
        post(b, g->reduce[i].collective, STREAM_DP);
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
    int n = snprintf(suffix, sizeof suffix, "%s%d", ss_phase_name(v->phase), v->chunk);
    if (nth)
        snprintf(suffix + n, sizeof suffix - (size_t)n, ".%d", nth);
    return finish_template(b, suffix);
}

/* How many variants of the same phase and chunk came before each; in order of first use. */
static void schedule_slots(struct builder *b, int *template_of, int *seen)
{
    int stage = b->plan->classes[b->cls].stage;
    const struct ss_comm_rank *rank = &b->comm.ranks[stage];
    memset(seen, 0, SS_PHASE_COUNT * (size_t)b->schedule->chunks * sizeof *seen);
    for (int i = 0; i < rank->nvariants; i++)
        template_of[i] = -2;
    for (int i = 0; i < b->schedule->nslots[stage] && !b->failed; i++) {
        const struct ss_slot *slot = &b->schedule->slots[stage][i];
        const struct ss_comm_variant *v = &rank->variants[rank->variant_of[i]];
        int *t = &template_of[rank->variant_of[i]];
        if (*t == -2)
            *t = variant_template(b, v, seen[v->phase * b->schedule->chunks + v->chunk]++);
        add_slot(b, *t, slot->phase, slot->chunk, slot->microbatch);
    }
}

/* ---- classes ---- */

static int lower_classes(struct builder *b)
{
    size_t most = 1;
    for (int r = 0; r < b->comm.stages; r++)
        if ((size_t)b->comm.ranks[r].nvariants > most)
            most = (size_t)b->comm.ranks[r].nvariants;
    int *template_of = ss_calloc(most, sizeof *template_of);
    int *seen = ss_calloc(SS_PHASE_COUNT * (size_t)b->schedule->chunks, sizeof *seen);
    if (!template_of || !seen)
        b->failed = no_memory(b);
    for (b->cls = 0; b->cls < b->plan->nclasses && !b->failed; b->cls++) {
        b->outstanding = 0;
        step_slot(b);
        schedule_slots(b, template_of, seen);
        finish_slot(b);
    }
    free(template_of);
    free(seen);
    return b->failed;
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
        rc = ss_comm_build(b->schedule, &b->comm, b->err);
    return rc ? rc : lower_classes(b);
}

int ss_program_build(const struct ss_plan *plan, struct ss_program **out, struct ss_error *err)
{
    struct builder b = {.plan = plan, .schedule = plan->schedule, .err = err};
    b.p = ss_calloc(1, sizeof *b.p);
    int rc = b.p ? build(&b) : no_memory(&b);
    ss_comm_free(&b.comm);
    free(b.mixes.slot);
    free(b.out_start);
    free(b.out_entry);
    free(b.in_start);
    free(b.in_entry);
    free(b.channel_of);
    free(b.events);
    if (rc)
        ss_program_free(b.p);
    else
        *out = b.p;
    return rc;
}
