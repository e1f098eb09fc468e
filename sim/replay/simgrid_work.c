/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Background transfers of the SimGrid engine. A pool of actors: whoever makes a transfer possible hands it
 * to an idle worker, or to a new one; a worker goes on with what its own end made possible.
 */
#include "replay/simgrid.h"

static void worker_main(int argc, char **argv);

void ss_sg_start_job(struct ss_sg *sg, struct ss_sg_worker job)
{
    struct ss_sg_worker *w = sg->idle;
    if (w) {
        sg->idle = w->next;
    } else if (!(w = calloc(1, sizeof *w))) {
        ss_sg_give_up(sg);
    }
    int fresh = !w->sem;
    w->job = job.job;
    w->index = job.index;
    w->stream = job.stream;
    w->run = job.run;
    w->bytes = job.bytes;
    w->parent = job.parent;
    sg->active++;
    if (!fresh) {
        sg_sem_release(w->sem);
        return;
    }
    w->sg = sg;
    w->sem = sg_sem_init(0);
    sg_actor_t actor = sg_actor_init("worker", sg->classes[0].host);
    sg_actor_set_data(actor, w);
    sg_actor_start(actor, worker_main, 0, NULL);
}

void ss_sg_dismiss(struct ss_sg *sg)
{
    if (sg->left > 0 || sg->active > 0)
        return;
    for (struct ss_sg_worker *w = sg->idle; w; w = w->next) {
        w->quit = 1;
        sg_sem_release(w->sem);
    }
    sg->idle = NULL;
}

/* Books the end of a wait; the caller releases the class's semaphore when its own books are in order,
 * because other actors run during every call of SimGrid that is not a plain question. */
void ss_sg_end_wait(struct ss_sg *sg, int cls, int label, double busy_from)
{
    struct ss_sg_class *c = &sg->classes[cls];
    c->blocked = -1;
    ss_tape_wait(sg->tape, cls, c->at.slot, c->at.event, ss_sg_events(c), label, c->since, busy_from,
                 simgrid_get_clock());
}

/* ---- the SM resource ---- */

/* A hold is an execution without end that may take at most `share` of the host. */
static void hold(struct ss_sg_worker *w, size_t i, int cls, double share)
{
    if (i >= w->cap_holds) {
        size_t cap = 2 * i + 2;
        sg_exec_t *grown = realloc(w->holds, cap * sizeof *grown);
        if (!grown)
            ss_sg_give_up(w->sg);
        w->holds = grown;
        w->cap_holds = cap;
    }
    w->holds[i] = sg_actor_exec_init(1e30);
    sg_exec_set_bound(w->holds[i], share);
    sg_exec_set_host(w->holds[i], w->sg->classes[cls].host);
    sg_exec_start(w->holds[i]);
}

static void release_holds(struct ss_sg_worker *w, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sg_exec_cancel(w->holds[i]);
}

/* ---- flows ---- */

static void count_links(struct ss_sg *sg, int path, int on)
{
    if (!sg->busy)
        return;
    const struct ss_path *w = &sg->p->paths[path];
    double now = simgrid_get_clock();
    for (int i = 0; i < w->nlinks; i++) {
        int l = w->link[i];
        if (on) {
            if (sg->link_flows[l]++ == 0)
                sg->link_since[l] = now;
        } else if (--sg->link_flows[l] == 0) {
            sg->busy[l] += now - sg->link_since[l];
        }
    }
}

int ss_sg_takes_time(const struct ss_sg *sg, int path, double bytes)
{
    return path >= 0 && bytes > 0 && sg->pairs[path].from;
}

void ss_sg_run_flow(struct ss_sg *sg, int path, double bytes)
{
    sg->flows++;
    count_links(sg, path, 1);
    sg_host_sendto(sg->pairs[path].from, sg->pairs[path].to, nearbyint(bytes * sg->scale));
    count_links(sg, path, 0);
}

/* ---- channels ---- */

static int message_takes_time(const struct ss_sg *sg, int channel)
{
    const struct ss_channel *ch = &sg->p->channels[channel];
    return ch->latency > 0 || ss_sg_takes_time(sg, ch->path, sg->st.channels[channel].bytes);
}

static void end_message(struct ss_sg *sg, int channel)
{
    const struct ss_channel *ch = &sg->p->channels[channel];
    struct ss_channel_state *s = &sg->st.channels[channel];
    struct ss_sg_class *from = &sg->classes[ch->from], *to = &sg->classes[ch->to];
    s->busy = 0;
    s->ended++;
    from->held -= ch->sm_share > 0;
    to->held -= ch->sm_share > 0 && ch->rendezvous;
    ss_tape_transfer(sg->tape, channel, -1, s->begin, simgrid_get_clock(), s->bytes);
    int sent = from->blocked == SS_EV_WAIT_SEND && from->target == channel && ss_state_sent(s);
    int received = to->blocked == SS_EV_WAIT_RECV && to->target == channel && ss_state_received(s);
    if (sent) {
        s->send_waits++;
        ss_sg_end_wait(sg, ch->from, SS_LABEL_PP, s->begin);
    }
    if (received) {
        s->recv_waits++;
        ss_sg_end_wait(sg, ch->to, SS_LABEL_PP, s->begin);
    }
    if (sent)
        sg_sem_release(from->sem);
    if (received)
        sg_sem_release(to->sem);
}

/* Begins the next message; 1 when one that takes time is under way. */
static int next_message(struct ss_sg *sg, int channel)
{
    struct ss_channel_state *s = &sg->st.channels[channel];
    while (ss_state_can_begin(s, sg->p->channels[channel].rendezvous)) {
        ss_state_begin(s, simgrid_get_clock());
        if (message_takes_time(sg, channel))
            return 1;
        end_message(sg, channel);
    }
    return 0;
}

void ss_sg_advance_channel(struct ss_sg *sg, int channel)
{
    if (next_message(sg, channel))
        ss_sg_start_job(sg, (struct ss_sg_worker){.job = SS_SG_CHANNEL, .index = channel});
}

static void run_channel(struct ss_sg_worker *w, int channel)
{
    struct ss_sg *sg = w->sg;
    const struct ss_channel *ch = &sg->p->channels[channel];
    do {
        size_t holds = 0;
        double bytes = sg->st.channels[channel].bytes;
        if (ch->sm_share > 0) {
            hold(w, holds++, ch->from, ch->sm_share);
            if (ch->to != ch->from)
                hold(w, holds++, ch->to, ch->sm_share);
        }
        if (ch->latency > 0)
            sg_actor_sleep_for(ch->latency);
        if (ss_sg_takes_time(sg, ch->path, bytes))
            ss_sg_run_flow(sg, ch->path, bytes);
        release_holds(w, holds);
        end_message(sg, channel);
    } while (next_message(sg, channel));
}

/* ---- collectives ---- */

static void end_collective(struct ss_sg *sg, int instance)
{
    struct ss_instance in = sg->st.instances[instance];
    const struct ss_collective *g = &sg->p->collectives[in.collective];
    const int *members = sg->st.member + sg->st.member0[in.collective];
    int *streams = malloc((size_t)g->nmembers * sizeof *streams);
    if (!streams)
        ss_sg_give_up(sg);
    ss_tape_transfer(sg->tape, -1, in.collective, in.begin, simgrid_get_clock(), g->bytes);
    ss_state_end_instance(&sg->st, instance, streams);
    int nwoken = 0;
    for (int i = 0; i < g->nmembers; i++) {
        struct ss_stream_state *s = &sg->st.streams[streams[i]];
        struct ss_sg_class *c = &sg->classes[members[i]];
        int woken = c->blocked == SS_EV_WAIT && c->target == streams[i] && ss_state_joined(s);
        ss_state_next(&sg->st, streams[i]);
        c->held -= g->sm_share > 0;
        c->beside--;
        if (woken) {
            s->waited++;
            ss_sg_end_wait(sg, members[i], g->label, in.begin);
            streams[nwoken++] = members[i];
        }
    }
    for (int i = 0; i < nwoken; i++)
        sg_sem_release(sg->classes[streams[i]].sem);
    free(streams);
}

void ss_sg_begin_ready(struct ss_sg *sg)
{
    while (sg->st.nready) {
        int i = sg->st.ready[--sg->st.nready];
        sg->st.instances[i].begin = simgrid_get_clock();
        if (sg->instant[sg->st.instances[i].collective])
            end_collective(sg, i);
        else
            ss_sg_start_job(sg, (struct ss_sg_worker){.job = SS_SG_COLLECTIVE, .index = i});
    }
}

/* All flows of a phase at once: the last one by this worker, the others by helpers. */
void ss_sg_run_flows(struct ss_sg_worker *w, const struct ss_flow_phase *phase)
{
    struct ss_sg *sg = w->sg;
    const struct ss_flow *own = NULL;
    w->flows_left = 0;
    for (int i = 0; i < phase->nflows; i++)
        w->flows_left += ss_sg_takes_time(sg, phase->flows[i].path, phase->flows[i].bytes);
    for (int i = 0; i < phase->nflows; i++) {
        const struct ss_flow *f = &phase->flows[i];
        if (!ss_sg_takes_time(sg, f->path, f->bytes))
            continue;
        if (own)
            ss_sg_start_job(sg, (struct ss_sg_worker){
                                    .job = SS_SG_FLOW, .index = own->path, .bytes = own->bytes, .parent = w});
        own = f;
    }
    if (!own)
        return;
    ss_sg_run_flow(sg, own->path, own->bytes);
    w->waits = --w->flows_left > 0;
    if (w->waits)
        sg_sem_acquire(w->sem);
}

static void run_collective(struct ss_sg_worker *w, int instance)
{
    struct ss_sg *sg = w->sg;
    const struct ss_collective *g = &sg->p->collectives[sg->st.instances[instance].collective];
    size_t holds = 0;
    for (int i = 0; g->sm_share > 0 && i < g->nmembers; i++)
        hold(w, holds++, g->members[i], g->sm_share);
    for (int i = 0; i < g->nphases; i++) {
        if (g->phases[i].latency > 0)
            sg_actor_sleep_for(g->phases[i].latency);
        ss_sg_run_flows(w, &g->phases[i]);
    }
    release_holds(w, holds);
    end_collective(sg, instance);
    ss_sg_begin_ready(sg);
}

static void run_helper(struct ss_sg_worker *w)
{
    ss_sg_run_flow(w->sg, w->index, w->bytes);
    if (--w->parent->flows_left == 0 && w->parent->waits) {
        w->parent->waits = 0;
        sg_sem_release(w->parent->sem);
    }
}

static void worker_main(int argc, char **argv)
{
    struct ss_sg_worker *w = sg_actor_self_get_data();
    (void)argc;
    (void)argv;
    for (;;) {
        if (w->job == SS_SG_CHANNEL)
            run_channel(w, w->index);
        else if (w->job == SS_SG_COLLECTIVE)
            run_collective(w, w->index);
        else if (w->job == SS_SG_OWN)
            w->run(w);
        else
            run_helper(w);
        w->next = w->sg->idle;
        w->sg->idle = w;
        w->sg->active--;
        ss_sg_dismiss(w->sg);
        sg_sem_acquire(w->sem);
        if (w->quit)
            return;
    }
}
