/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SimGrid engine: an actor for the main thread of each class, workers for what runs in the background.
 * Runs in a process that ends with _exit, so nothing is given back at the end.
 */
#include "replay/simgrid.h"

static void block(struct ss_sg_class *c, int kind, int target)
{
    c->blocked = kind;
    c->target = target;
    c->since = simgrid_get_clock();
    sg_sem_acquire(c->sem);
    c->now = simgrid_get_clock();
}

static void run_exec(double seconds)
{
    sg_exec_t exec = sg_actor_exec_init(seconds); /* a tenth cheaper than sg_actor_execute */
    sg_exec_start(exec);
    sg_exec_wait(exec);
}

static void compute(struct ss_sg_class *c, const struct ss_event *e)
{
    struct ss_sg *sg = c->sg;
    if (!(e->amount > 0))
        return;
    if (c->held > 0)
        ss_sg_catch_up(c); /* the holds may end meanwhile */
    double start = c->now, seconds = ss_program_seconds(sg->p, c->index, c->at.slot, c->at.event, e->amount);
    if (c->held > 0) {
        run_exec(seconds);
        c->now = simgrid_get_clock();
    } else {
        c->now += seconds;
        if (sg->tape->wanted)
            ss_sg_catch_up(c);
    }
    ss_tape_compute(sg->tape, c->index, c->at.slot, c->at.event, ss_sg_events(c), e->index, start, c->now);
}

static void wait_event(struct ss_sg_class *c, const struct ss_event *e)
{
    struct ss_state *st = &c->sg->st;
    if (e->kind == SS_EV_WAIT) {
        int stream = st->stream0[c->index] + e->aux;
        if (c->sg->queues[stream].own ? ss_sg_wait_own(c, stream) : ss_state_joined(&st->streams[stream]))
            st->streams[stream].waited++;
        else
            block(c, e->kind, stream);
    } else if (e->kind == SS_EV_WAIT_SEND) {
        if (ss_state_sent(&st->channels[e->index]))
            st->channels[e->index].send_waits++;
        else
            block(c, e->kind, e->index);
    } else {
        if (ss_state_received(&st->channels[e->index]))
            st->channels[e->index].recv_waits++;
        else
            block(c, e->kind, e->index);
    }
}

/* Runs an event that takes place in the class's own time; returns 0 when other classes take part. */
static int run_alone(struct ss_sg_class *c, const struct ss_event *e)
{
    struct ss_sg *sg = c->sg;
    int stream = sg->st.stream0[c->index] + e->aux;
    switch (e->kind) {
    case SS_EV_COMPUTE: compute(c, e); return 1;
    case SS_EV_ALLOC:
    case SS_EV_FREE:
        ss_tape_memory(sg->tape, c->index, c->at.slot, c->at.event, c->now, e->index,
                       e->kind == SS_EV_ALLOC ? e->amount : -e->amount);
        return 1;
    case SS_EV_POST:
        if (!sg->queues[stream].own)
            return 0;
        ss_sg_post_own(c, stream, e->index);
        return 1;
    case SS_EV_WAIT: return sg->queues[stream].own && ss_sg_wait_own(c, stream);
    default: return 0;
    }
}

static void run_together(struct ss_sg_class *c, const struct ss_event *e)
{
    struct ss_sg *sg = c->sg;
    const struct ss_channel *channels = sg->p->channels;
    ss_sg_catch_up(c);
    switch (e->kind) {
    case SS_EV_SEND:
        c->held += channels[e->index].sm_share > 0;
        if (ss_state_send(&sg->st.channels[e->index], e->amount))
            ss_sg_give_up(sg);
        ss_sg_advance_channel(sg, e->index);
        break;
    case SS_EV_RECV:
        c->held += channels[e->index].sm_share > 0 && channels[e->index].rendezvous;
        sg->st.channels[e->index].recvs++;
        ss_sg_advance_channel(sg, e->index);
        break;
    case SS_EV_POST:
        c->held += sg->p->collectives[e->index].sm_share > 0;
        c->beside++;
        if (ss_state_post(&sg->st, sg->st.stream0[c->index] + e->aux, e->index,
                          ss_state_member(&sg->st, e->index, c->index)))
            ss_sg_give_up(sg);
        ss_sg_begin_ready(sg);
        break;
    default: wait_event(c, e); break;
    }
}

static void close_links(struct ss_sg *sg)
{
    double now = simgrid_get_clock();
    for (int l = 0; sg->busy && l < sg->p->nlinks; l++)
        if (sg->link_flows[l] > 0)
            sg->busy[l] += now - sg->link_since[l];
    sg->busy = NULL;
}

static void class_main(int argc, char **argv)
{
    struct ss_sg_class *c = sg_actor_self_get_data();
    struct ss_sg *sg = c->sg;
    const struct ss_program_class *pc = &sg->p->classes[c->index];
    (void)argc;
    (void)argv;
    for (c->at.slot = 0; c->at.slot < pc->nslots; c->at.slot++) {
        const struct ss_template *t = &sg->p->templates[ss_program_template_at(pc, c->at.slot)];
        for (c->at.event = 0; c->at.event < t->nevents; c->at.event++) {
            sg->events++;
            if (!run_alone(c, &t->events[c->at.event]))
                run_together(c, &t->events[c->at.event]);
            if (sg->tape->failed)
                ss_sg_give_up(sg);
        }
        sg->board->slots_run++;
    }
    ss_sg_catch_up(c);
    c->at.event = 0;
    if (--sg->left == 0) {
        sg->board->makespan = simgrid_get_clock();
        close_links(sg);
        ss_sg_dismiss(sg);
    }
}

static int is_instant(const struct ss_sg *sg, const struct ss_collective *g)
{
    for (int i = 0; i < g->nphases; i++) {
        if (g->phases[i].latency > 0)
            return 0;
        for (int j = 0; j < g->phases[i].nflows; j++) {
            const struct ss_flow *f = &g->phases[i].flows[j];
            if (f->path >= 0 && f->bytes > 0 && sg->pairs[f->path].from)
                return 0;
        }
    }
    return 1;
}

/* Largest seconds and bytes of one activity. */
struct extremes {
    double seconds, bytes;
};

static void see_flow(struct extremes *x, const struct ss_program *p, int path, double bytes)
{
    x->bytes = fmax(x->bytes, bytes);
    for (int i = 0; path >= 0 && i < p->paths[path].nlinks; i++)
        x->seconds =
            fmax(x->seconds, bytes * p->paths[path].weight[i] / p->links[p->paths[path].link[i]].bandwidth);
}

static struct extremes find_extremes(const struct ss_program *p)
{
    struct extremes x = {0, 1};
    for (int t = 0; t < p->ntemplates; t++)
        for (int i = 0; i < p->templates[t].nevents; i++) {
            const struct ss_event *e = &p->templates[t].events[i];
            if (e->kind == SS_EV_COMPUTE)
                x.seconds = fmax(x.seconds, e->amount);
            else if (e->kind == SS_EV_SEND)
                see_flow(&x, p, p->channels[e->index].path, e->amount);
        }
    for (int i = 0; i < p->nchannels; i++)
        x.seconds = fmax(x.seconds, p->channels[i].latency);
    for (int g = 0; g < p->ncollectives; g++)
        for (int i = 0; i < p->collectives[g].nphases; i++) {
            const struct ss_flow_phase *phase = &p->collectives[g].phases[i];
            x.seconds = fmax(x.seconds, phase->latency);
            for (int j = 0; j < phase->nflows; j++)
                see_flow(&x, p, phase->flows[j].path, phase->flows[j].bytes);
        }
    return x;
}

static int init(struct ss_sg *sg)
{
    const struct ss_program *p = sg->p;
    int rc = ss_state_init(&sg->st, p);
    sg->classes = calloc((size_t)p->nclasses + 1, sizeof *sg->classes);
    sg->pairs = calloc((size_t)p->npaths + 1, sizeof *sg->pairs);
    sg->instant = calloc((size_t)p->ncollectives + 1, 1);
    sg->link_flows = calloc((size_t)p->nlinks + 1, sizeof *sg->link_flows);
    sg->link_since = calloc((size_t)p->nlinks + 1, sizeof *sg->link_since);
    if (rc || !sg->classes || !sg->pairs || !sg->instant || !sg->link_flows || !sg->link_since)
        return ss_sg_fail(sg->board, SS_ERR_NOMEM, "", "out of memory");
    sg->busy = sg->board->link_busy;
    sg->left = p->nclasses;
    struct extremes x = find_extremes(p);
    sg->scale = exp2(floor(log2(0x1p60 / x.bytes)));
    int guards = ss_sg_guards((size_t)p->nclasses + (size_t)p->nchannels + (size_t)sg->st.nstreams);
    if ((rc = ss_sg_check_memory(sg, guards)))
        return rc;
    ss_sg_init_engine(1, guards, x.seconds);
    if ((rc = ss_sg_platform(sg)))
        return rc;
    for (int g = 0; g < p->ncollectives; g++)
        sg->instant[g] = (char)is_instant(sg, &p->collectives[g]);
    if ((rc = ss_sg_find_ahead(sg)))
        return rc;
    for (int i = 0; i < p->nclasses; i++) {
        struct ss_sg_class *c = &sg->classes[i];
        c->sg = sg;
        c->index = i;
        c->blocked = -1;
        c->sem = sg_sem_init(0);
        c->as_worker = (struct ss_sg_worker){.sg = sg, .sem = sg_sem_init(0)};
        c->lazy = -1;
        sg_actor_t actor = sg_actor_init(p->classes[i].name, c->host);
        sg_actor_set_data(actor, c);
        sg_actor_start(actor, class_main, 0, NULL);
    }
    return 0;
}

void ss_sg_replay(struct ss_simgrid_call *call)
{
    struct ss_sg sg = {.p = call->program, .tape = call->tape, .board = call->board};
    struct ss_board *board = call->board;
    if (init(&sg) == 0) {
        simgrid_run();
        board->status = sg.left ? SS_ERR_DEADLOCK : 0;
        board->events = sg.events;
        board->flows = sg.flows;
        for (int c = 0; c < sg.p->nclasses; c++)
            board->at[c] = sg.classes[c].at;
    }
    board->finished = 1;
}
