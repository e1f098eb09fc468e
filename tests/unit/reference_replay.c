/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fluid simulation by time steps. At every instant: whatever can run or begin does, until nothing changes; then the
 * rates of all computations and flows are worked out anew; then the clock moves to the earliest end of anything.
 *
 * Ends at one instant: what would end within TOGETHER of the clock after the earliest end ends with it. Ends that are
 * equal on paper differ by rounding, which would cost a step of that length each; it would not change what follows
 * by more than that length.
 */
#include "reference_sim.h"

#define TOGETHER 1e-14

/* ---- transfers ---- */

static const struct ss_path *path_of(const struct sim *s, int path)
{
    return path < 0 || s->p->paths[path].nlinks == 0 ? NULL : &s->p->paths[path];
}

static void start_flow(const struct sim *s, struct work *w, int path, double bytes)
{
    const struct ss_path *links = path_of(s, path);
    if (links && bytes > 0)
        w->flows[w->nflows++] = (struct flow){.path = links, .left = bytes};
}

static int phase_count(const struct sim *s, const struct work *w)
{
    return w->channel >= 0 ? 1 : s->p->collectives[w->collective].nphases;
}

static double phase_latency(const struct sim *s, const struct work *w)
{
    return w->channel >= 0 ? s->p->channels[w->channel].latency
                           : s->p->collectives[w->collective].phases[w->phase].latency;
}

static void phase_flows(const struct sim *s, struct work *w)
{
    free(w->flows);
    w->nflows = 0;
    if (w->channel >= 0) {
        w->flows = reference_zeros(1, sizeof *w->flows);
        start_flow(s, w, s->p->channels[w->channel].path, w->bytes);
        return;
    }
    const struct ss_flow_phase *phase = &s->p->collectives[w->collective].phases[w->phase];
    w->flows = reference_zeros((size_t)phase->nflows, sizeof *w->flows);
    for (int i = 0; i < phase->nflows; i++)
        start_flow(s, w, phase->flows[i].path, phase->flows[i].bytes);
}

static void enter_phase(const struct sim *s, struct work *w)
{
    w->state = WORK_ENDED;
    if (w->phase < phase_count(s, w)) {
        w->state = WORK_LATENCY;
        w->latency_end = s->now + phase_latency(s, w);
    }
}

static void begin_work(struct sim *s, struct work *w)
{
    w->begin = s->now;
    s->running[s->nrunning++] = w;
    enter_phase(s, w);
}

static void drop_ended_flows(struct work *w)
{
    int n = 0;
    for (int i = 0; i < w->nflows; i++)
        if (w->flows[i].left > 0)
            w->flows[n++] = w->flows[i];
    w->nflows = n;
}

/* Takes an ended collective off the streams of its members. */
static void leave_streams(struct sim *s, const struct work *w)
{
    const struct ss_collective *g = &s->p->collectives[w->collective];
    for (int i = 0; i < g->nmembers; i++) {
        struct thread *t = &s->threads[g->members[i]];
        for (int k = 0; k < s->p->classes[g->members[i]].nstreams; k++)
            if (t->streams[k].head < t->streams[k].n && t->streams[k].posted[t->streams[k].head] == w)
                t->streams[k].head++;
    }
}

/* Moves a transfer through all phases that take no more time. 1 if it has ended. */
static int run_work(struct sim *s, struct work *w)
{
    for (;;) {
        if (w->state == WORK_LATENCY && w->latency_end <= s->now) {
            w->state = WORK_FLOWS;
            phase_flows(s, w);
        }
        drop_ended_flows(w);
        if (w->state != WORK_FLOWS || w->nflows > 0)
            break;
        w->phase++;
        enter_phase(s, w);
    }
    if (w->state != WORK_ENDED)
        return 0;
    w->end = s->now;
    if (w->channel >= 0)
        s->channels[w->channel].current++;
    else
        leave_streams(s, w);
    return 1;
}

static int run_transfers(struct sim *s)
{
    int n = 0, all = s->nrunning;
    for (int i = 0; i < all; i++)
        if (!run_work(s, s->running[i]))
            s->running[n++] = s->running[i];
    s->nrunning = n;
    return n < all;
}

static int begin_messages(struct sim *s)
{
    int changed = 0;
    for (int c = 0; c < s->p->nchannels; c++) {
        struct series *ch = &s->channels[c];
        struct work *w = ch->current < ch->n ? &ch->works[ch->current] : NULL;
        if (w && w->state == WORK_NOT_BEGUN && w->sent && (w->received || !s->p->channels[c].rendezvous)) {
            begin_work(s, w);
            changed = 1;
        }
    }
    return changed;
}

/* Whether the work is first on one of the class's streams. */
static int at_head(const struct sim *s, int cls, const struct work *w)
{
    for (int k = 0; k < s->p->classes[cls].nstreams; k++) {
        const struct stream *q = &s->threads[cls].streams[k];
        if (q->head < q->n && q->posted[q->head] == w)
            return 1;
    }
    return 0;
}

static int may_begin(const struct sim *s, const struct work *w)
{
    const struct ss_collective *g = &s->p->collectives[w->collective];
    if (w->state != WORK_NOT_BEGUN || w->nposts < g->nmembers)
        return 0;
    for (int i = 0; i < g->nmembers; i++)
        if (!at_head(s, g->members[i], w))
            return 0;
    return 1;
}

static int begin_collectives(struct sim *s)
{
    int changed = 0;
    for (int c = 0; c < s->p->nclasses; c++)
        for (int k = 0; k < s->p->classes[c].nstreams; k++) {
            const struct stream *q = &s->threads[c].streams[k];
            if (q->head < q->n && may_begin(s, q->posted[q->head])) {
                begin_work(s, q->posted[q->head]);
                changed = 1;
            }
        }
    return changed;
}

/* ---- main threads ---- */

static void change_memory(struct sim *s, int c, const struct reference_row *row, int mem, double bytes)
{
    struct reference_class *out = &s->out->classes[c];
    double *memory = s->threads[c].memory, total = 0;
    memory[mem] += bytes;
    for (int i = 0; i < SS_MEM_COUNT; i++)
        total += memory[i];
    if (total > out->peak_total) {
        out->peak_total = total;
        out->peak_time = s->now;
        out->peak_slot = row->slot;
        memcpy(out->peak, memory, sizeof out->peak);
    }
}

static void post(struct sim *s, struct thread *t, const struct ss_event *e)
{
    struct work *w = &s->collectives[e->index].works[t->posts[e->index]++];
    w->nposts++;
    t->streams[e->aux].posted[t->streams[e->aux].n++] = w;
}

/* The k-th work of n posted ones. */
static const struct work *posted_work(const struct series *series, int k, int n)
{
    return k < n ? &series->works[k] : NULL;
}

/* What an event does when the main thread comes to it. */
static void enter_event(struct sim *s, int c, const struct ss_event *e, struct reference_row *row)
{
    struct thread *t = &s->threads[c];
    int moves_message = e->kind == SS_EV_SEND || e->kind == SS_EV_RECV || e->kind == SS_EV_WAIT_SEND ||
                        e->kind == SS_EV_WAIT_RECV;
    struct series *ch = moves_message ? &s->channels[e->index] : NULL;
    row->start = row->busy_from = s->now;
    if (e->kind == SS_EV_COMPUTE) {
        t->left = ss_program_seconds(s->p, c, row->slot, row->event, e->amount);
    } else if (e->kind == SS_EV_SEND) {
        ch->works[ch->sends].sent = 1;
        ch->works[ch->sends++].bytes = e->amount;
    } else if (e->kind == SS_EV_RECV) {
        ch->works[ch->receives++].received = 1;
    } else if (e->kind == SS_EV_WAIT_SEND) {
        t->target = posted_work(ch, ch->send_waits++, ch->sends);
    } else if (e->kind == SS_EV_WAIT_RECV) {
        t->target = posted_work(ch, ch->recv_waits++, ch->receives);
    } else if (e->kind == SS_EV_POST) {
        post(s, t, e);
    } else if (e->kind == SS_EV_WAIT) {
        struct stream *q = &t->streams[e->aux];
        t->target = q->waits < q->n ? q->posted[q->waits] : NULL;
        q->waits++;
    } else {
        change_memory(s, c, row, e->index, e->kind == SS_EV_ALLOC ? e->amount : -e->amount);
    }
}

static int event_over(const struct thread *t, const struct ss_event *e)
{
    if (e->kind == SS_EV_COMPUTE)
        return t->left <= 0;
    return !reference_is_wait(e) || (t->target && t->target->state == WORK_ENDED);
}

/* Runs a main thread as far as it goes without time. 1 if an event has ended. */
static int run_thread(struct sim *s, int c)
{
    struct thread *t = &s->threads[c];
    struct reference_class *out = &s->out->classes[c];
    int first = t->at;
    while (t->at < out->nrows) {
        const struct ss_event *e = t->events[t->at];
        struct reference_row *row = &out->rows[t->at];
        if (!t->entered)
            enter_event(s, c, e, row);
        t->entered = 1;
        if (!event_over(t, e))
            break;
        row->end = s->now;
        if (reference_is_wait(e))
            row->busy_from = fmax(row->start, t->target->begin);
        t->entered = 0;
        t->at++;
        s->out->events++;
    }
    if (t->at == out->nrows && out->end == REFERENCE_NEVER)
        out->end = s->now;
    return t->at > first;
}

static int run_threads(struct sim *s)
{
    int changed = 0;
    for (int c = 0; c < s->p->nclasses; c++)
        changed |= run_thread(s, c);
    return changed;
}

/* The event under way if it is a computation. */
static int computing(const struct sim *s, int c)
{
    const struct thread *t = &s->threads[c];
    return t->at < s->out->classes[c].nrows && t->events[t->at]->kind == SS_EV_COMPUTE;
}

static int threads_ended(const struct sim *s)
{
    for (int c = 0; c < s->p->nclasses; c++)
        if (s->out->classes[c].end == REFERENCE_NEVER)
            return 0;
    return 1;
}

/* ---- clock ---- */

/* All flows under way; the caller frees. */
static struct flow **all_flows(const struct sim *s, int *n)
{
    size_t most = 0;
    for (int i = 0; i < s->nrunning; i++)
        most += (size_t)s->running[i]->nflows;
    struct flow **flows = reference_zeros(most, sizeof(struct flow *));
    *n = 0;
    for (int i = 0; i < s->nrunning; i++)
        for (int j = 0; s->running[i]->state == WORK_FLOWS && j < s->running[i]->nflows; j++)
            flows[(*n)++] = &s->running[i]->flows[j];
    return flows;
}

static double earliest_end(const struct sim *s, struct flow **flows, int n)
{
    double step = INFINITY;
    for (int c = 0; c < s->p->nclasses; c++)
        if (computing(s, c))
            step = fmin(step, s->threads[c].left / s->threads[c].rate);
    for (int i = 0; i < s->nrunning; i++)
        if (s->running[i]->state == WORK_LATENCY)
            step = fmin(step, s->running[i]->latency_end - s->now);
    for (int i = 0; i < n; i++)
        step = fmin(step, flows[i]->left / flows[i]->rate);
    return step;
}

/* What is left of an amount after the step; nothing when it ends within it. */
static double rest(double left, double rate, double step, double together)
{
    return left / rate <= step + together ? 0 : left - rate * step;
}

static void count_links(struct sim *s, struct flow **flows, int n, double step)
{
    int contended = 0;
    for (int l = 0; l < s->p->nlinks; l++) {
        int used = 0;
        for (int i = 0; i < n; i++)
            used += reference_weight_on(flows[i], l) > 0;
        s->out->link_busy[l] += used > 0 ? step : 0;
        contended |= used > 1;
    }
    s->out->contended += contended ? step : 0;
}

/* Moves the clock to the next end. 0 if there is none. */
static int advance(struct sim *s)
{
    int n;
    struct flow **flows = all_flows(s, &n);
    reference_share_sms(s);
    reference_share_links(s, flows, n);
    double step = earliest_end(s, flows, n), together = TOGETHER * (s->now + step);
    int more = step < INFINITY;
    if (more && !threads_ended(s))
        count_links(s, flows, n, step);
    for (int c = 0; more && c < s->p->nclasses; c++)
        if (computing(s, c))
            s->threads[c].left = rest(s->threads[c].left, s->threads[c].rate, step, together);
    for (int i = 0; more && i < n; i++)
        flows[i]->left = rest(flows[i]->left, flows[i]->rate, step, together);
    if (more)
        s->now += step;
    for (int i = 0; more && i < s->nrunning; i++)
        if (s->running[i]->state == WORK_LATENCY && s->running[i]->latency_end <= s->now + together)
            s->running[i]->latency_end = s->now;
    free(flows);
    return more;
}

/* Everything that happens at this instant. */
static void settle(struct sim *s)
{
    int changed;
    do {
        changed = run_threads(s);
        changed += begin_messages(s);
        changed += begin_collectives(s);
        changed += run_transfers(s);
    } while (changed);
}

int reference_replay(const struct ss_program *p, struct reference *out)
{
    struct sim s;
    reference_open(&s, p, out);
    do {
        settle(&s);
    } while (advance(&s));
    int complete = threads_ended(&s);
    reference_report(&s, complete);
    reference_close(&s);
    return complete ? 0 : -1;
}
