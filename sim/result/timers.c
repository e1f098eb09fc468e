/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Megatron's timers of the last rank, from the time of each event of its templates. Timers of work outside
 * the GPU (batch generation, copies on the host) are not simulated, and left out rather than printed as 0.
 */
#include "result/timers.h"

#include "base/base.h"
#include "stepsim/stack.h"

/* X(symbol, name in Megatron-LM 2021, name in Megatron core; "" = not printed there) */
#define TIMER_LIST(X)                                                                                        \
    X(FORWARD_BACKWARD, "", "forward-backward")                                                              \
    X(FORWARD_COMPUTE, "forward-compute", "forward-compute")                                                 \
    X(FORWARD_RECV, "forward-recv", "forward-recv")                                                          \
    X(FORWARD_SEND, "forward-send", "forward-send")                                                          \
    X(FORWARD_SEND_BACKWARD_RECV, "forward-send-backward-recv", "forward-send-backward-recv")                \
    X(BACKWARD_COMPUTE, "backward-compute", "backward-compute")                                              \
    X(BACKWARD_RECV, "backward-recv", "backward-recv")                                                       \
    X(BACKWARD_SEND, "backward-send", "backward-send")                                                       \
    X(BACKWARD_SEND_FORWARD_RECV, "backward-send-forward-recv", "backward-send-forward-recv")                \
    X(GRADS_SYNC, "backward-params-all-reduce", "all-grads-sync")                                            \
    X(EMBEDDING_SYNC, "backward-embedding-all-reduce", "embedding-grads-all-reduce")                         \
    X(PARAMS_GATHER, "", "params-all-gather")                                                                \
    X(OPTIMIZER, "optimizer", "optimizer")
enum timer {
#define X(sym, old, core) sym,
    TIMER_LIST(X)
#undef X
        TIMER_COUNT
};

enum { DONE = 1, NOTHING_WAITED };

struct timers {
    const struct ss_program *program;
    const struct ss_timeline *timeline;
    int cls;
    int *first_event; /* [template]: index of its first event in timeline->event_s */
    char *done;       /* [template]: 0, DONE or NOTHING_WAITED */
    /* collectives posted and not yet waited for, by stream: a wait is for the oldest */
    int **queue, *head, *tail;
    double seconds[TIMER_COUNT];
    char covered[TIMER_COUNT];
};

static void charge(struct timers *t, int timer, double seconds)
{
    t->seconds[timer] += seconds;
    t->covered[timer] = 1;
}

static int collective_timer(const struct timers *t, int collective)
{
    switch (t->program->collectives[collective].role) {
    case SS_ROLE_NORM: return OPTIMIZER;
    case SS_ROLE_EMBEDDING: return EMBEDDING_SYNC;
    case SS_ROLE_PARAMS: return PARAMS_GATHER;
    default: return GRADS_SYNC;
    }
}

/* Events around the compute of a slot: which way do its transfers go? */
static int transfer_timer(const struct ss_template *tpl, int phase, int kind, int after)
{
    int send = 0, recv = 0, seen = 0;

    for (int e = 0; e < tpl->nevents; e++) {
        seen |= tpl->events[e].kind == SS_EV_COMPUTE;
        if (seen != after)
            continue;
        send |= tpl->events[e].kind == SS_EV_WAIT_SEND;
        recv |= tpl->events[e].kind == SS_EV_WAIT_RECV;
    }
    if (send && recv && after)
        return phase == SS_PHASE_F ? FORWARD_SEND_BACKWARD_RECV : BACKWARD_SEND_FORWARD_RECV;
    if (kind == SS_EV_WAIT_SEND)
        return phase == SS_PHASE_F ? FORWARD_SEND : BACKWARD_SEND;
    return phase == SS_PHASE_F ? FORWARD_RECV : BACKWARD_RECV;
}

/* Around the schedule: the optimizer's step opens an iteration; the passes over gradients, which belong to their
 * reduction, close it. */
static int timer_around(const struct ss_program_class *c, int slot)
{
    return slot > 0 && slot == c->nslots - 1 && c->slots[0].phase < 0 ? GRADS_SYNC : OPTIMIZER;
}

/* Charges the whole time of a slot's template at its first slot. */
static void template_times(struct timers *t, const struct ss_program_class *c, int slot)
{
    int index = ss_program_template_at(c, slot), phase = ss_program_slot_at(c, slot).phase;
    const struct ss_template *tpl = &t->program->templates[index];
    const double *seconds = t->timeline->event_s + t->first_event[index];
    int seen = 0;

    for (int e = 0; e < tpl->nevents; e++) {
        const struct ss_event *event = &tpl->events[e];
        if (event->kind == SS_EV_COMPUTE) {
            seen = 1;
            if (phase == SS_PHASE_F)
                charge(t, FORWARD_COMPUTE, seconds[e]);
            else if (phase >= 0)
                charge(t, BACKWARD_COMPUTE, seconds[e]);
            else
                charge(t, timer_around(c, slot),
                       seconds[e] * t->program->mixes[event->index].fraction[SS_LABEL_OPTIMIZER]);
        } else if (phase >= 0 && (event->kind == SS_EV_WAIT_SEND || event->kind == SS_EV_WAIT_RECV)) {
            charge(t, transfer_timer(tpl, phase, event->kind, seen), seconds[e]);
        } else if (phase >= 0 && event->kind == SS_EV_WAIT && ss_stream_in_layers(event->aux)) {
            /* inside the layers */
            charge(t, phase == SS_PHASE_F ? FORWARD_COMPUTE : BACKWARD_COMPUTE, seconds[e]);
        }
    }
}

/* Follows posts and waits between the layers to know what each wait is for. A wait in a template of many
 * slots is charged once, with the time of all of them. Returns 1 if there was any. */
static int collective_times(struct timers *t, int index, int again)
{
    const struct ss_template *tpl = &t->program->templates[index];
    int any = 0;

    for (int e = 0; e < tpl->nevents; e++) {
        const struct ss_event *event = &tpl->events[e];
        if ((event->kind != SS_EV_POST && event->kind != SS_EV_WAIT) || ss_stream_in_layers(event->aux))
            continue;
        any = 1;
        if (event->kind == SS_EV_POST) {
            t->queue[event->aux][t->tail[event->aux]++] = event->index;
        } else if (t->head[event->aux] < t->tail[event->aux]) {
            int collective = t->queue[event->aux][t->head[event->aux]++];
            if (!again)
                charge(t, collective_timer(t, collective), t->timeline->event_s[t->first_event[index] + e]);
        }
    }
    return any;
}

/* Returns the slot behind s: where nothing in a loop waits, its first turn stands for all. */
static int next_slot(const struct timers *t, const struct ss_program_class *c, int s)
{
    int end = c->loop.first + c->loop.length;

    if (++s != end)
        return s;
    for (int i = c->loop.first; i < end; i++)
        if (t->done[c->slots[i].template_index] != NOTHING_WAITED)
            return s;
    return s + c->loop.more * c->loop.length;
}

static void walk(struct timers *t)
{
    const struct ss_program_class *c = &t->program->classes[t->cls];

    for (int s = 0; s < c->nslots; s = next_slot(t, c, s)) {
        int index = ss_program_template_at(c, s);
        if (!t->done[index])
            template_times(t, c, s);
        if (t->done[index] != NOTHING_WAITED)
            t->done[index] = collective_times(t, index, t->done[index]) ? DONE : NOTHING_WAITED;
    }
}

/* Counts the posts on the streams between the layers. */
static void count_posts(const struct timers *t, int *posts)
{
    const struct ss_program_class *c = &t->program->classes[t->cls];

    for (int s = 0; s < c->nslots; s = next_slot(t, c, s)) {
        int index = ss_program_template_at(c, s);
        const struct ss_template *tpl = &t->program->templates[index];
        if (t->done[index] == NOTHING_WAITED)
            continue;
        int any = 0;
        for (int e = 0; e < tpl->nevents; e++)
            if (tpl->events[e].kind == SS_EV_POST && !ss_stream_in_layers(tpl->events[e].aux)) {
                posts[tpl->events[e].aux]++;
                any = 1;
            }
        t->done[index] = any ? DONE : NOTHING_WAITED;
    }
    memset(t->done, 0, (size_t)t->program->ntemplates);
}

static int make_room(struct timers *t)
{
    int n = t->program->ntemplates, streams = t->program->classes[t->cls].nstreams, at = 0;

    t->first_event = ss_calloc((size_t)n + 1, sizeof *t->first_event);
    t->done = ss_calloc((size_t)n + 1, 1);
    t->queue = ss_calloc((size_t)streams + 1, sizeof *t->queue);
    t->head = ss_calloc((size_t)streams + 1, sizeof *t->head);
    t->tail = ss_calloc((size_t)streams + 1, sizeof *t->tail);
    if (!t->first_event || !t->done || !t->queue || !t->head || !t->tail)
        return SS_ERR_NOMEM;
    count_posts(t, t->tail);
    for (int s = 0; s < streams; s++) {
        t->queue[s] = ss_calloc((size_t)t->tail[s] + 1, sizeof **t->queue);
        t->tail[s] = 0;
        if (!t->queue[s])
            return SS_ERR_NOMEM;
    }
    for (int i = 0; i < n; i++) {
        t->first_event[i] = at;
        at += t->program->templates[i].nevents;
    }
    return SS_OK;
}

static void free_room(struct timers *t)
{
    for (int s = 0; t->queue && s < t->program->classes[t->cls].nstreams; s++)
        free(t->queue[s]);
    SS_FREE(t->queue, t->head, t->tail, t->first_event, t->done);
}

static int emit(const struct timers *t, int core, struct ss_result *r)
{
    static const char *const names[TIMER_COUNT][2] = {
#define X(sym, old, core_name) {old, core_name},
        TIMER_LIST(X)
#undef X
    };

    r->timers = ss_calloc(TIMER_COUNT, sizeof *r->timers);
    if (!r->timers)
        return SS_ERR_NOMEM;
    for (int i = 0; i < TIMER_COUNT; i++) {
        if (!t->covered[i] || !names[i][core][0])
            continue;
        ss_copy(r->timers[r->ntimers].name, sizeof r->timers[0].name, names[i][core]);
        r->timers[r->ntimers++].seconds = t->seconds[i];
    }
    return SS_OK;
}

/* NeMo prints one figure. */
static int step_timer(struct ss_result *r)
{
    r->timers = ss_calloc(1, sizeof *r->timers);
    if (!r->timers)
        return SS_ERR_NOMEM;
    ss_copy(r->timers[0].name, sizeof r->timers[0].name, "train_step_timing");
    r->timers[0].seconds = r->iteration_s;
    r->ntimers = 1;
    return SS_OK;
}

int ss_timers_fill(const struct ss_plan *plan, const struct ss_program *program,
                   const struct ss_timeline *timeline, struct ss_result *r, struct ss_error *err)
{
    int style = plan->stack->timers, core = style == SS_TIMERS_MEGATRON, rc = SS_OK;
    struct timers t = {.program = program, .timeline = timeline, .cls = plan->class_of[plan->world_size - 1]};

    if (style == SS_TIMERS_NEMO) {
        rc = step_timer(r);
    } else if (core || style == SS_TIMERS_MEGATRON_2021) {
        rc = make_room(&t);
        if (!rc) {
            walk(&t);
            /* all of the iteration but the step: what Megatron times around its schedule */
            charge(&t, FORWARD_BACKWARD,
                   r->iteration_s - t.seconds[OPTIMIZER] - plan->classes[t.cls].fixed_s);
            rc = emit(&t, core, r);
        }
        free_room(&t);
    }
    return rc ? ss_fail(err, rc, NULL, 0, "no memory for the timers") : SS_OK;
}
