/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A forward of one chunk beside the backward of another: the layers of both in turn, so that kernels of each run while
 * exchanges of the other are under way. The order is that of Megatron's combined 1F1B (and of DualPipe), for one layer of
 * each, F1 and F2 the forward's exchanges, dispatch and combine, B1 and B2 the backward's, of the combine and of the dispatch:
 *   kernels    attention F   mixture B   [its weights]   mixture F   attention B   [its weights]
 *   exchanges  B1            F1                          B2          F2
 * An exchange is waited for before the next kernels of its own chunk. Layers without exchanges keep the order; what is left
 * of the longer chunk follows alone. A backward alone hides its exchanges behind its own weight gradients, where these are apart.
 */
#include "base/base.h"
#include "cost/layer_set.h"

enum { FORWARD, BACKWARD, SIDES };
enum { STREAMS = 16, POSTED = 8 };

/* A layer's list in three segments, and the exchanges between the segments. */
struct cut {
    const struct ss_step_list *list;
    size_t begin[3], end[3],
        /* index: from here on the kernels of the second segment belong to the call of the exchange behind
         * it */
        call_begin;
    const struct ss_layer_step *post[2]; /* NULL: none */
    size_t wait[2];                      /* index of the wait for each, which is left out */
};

struct pairing {
    const struct ss_layer_set *set;
    struct ss_step_list *out;
    int posted[STREAMS], waited[STREAMS]; /* counts over both sides */
    /* collectives of a side that the side has to wait for */
    int queue[SIDES][STREAMS][POSTED], n[SIDES][STREAMS];
    /* held: the layer whose attention weight gradients are due */
    const struct ss_layer_part *layer[SIDES], *held;
    int want, begun; /* place: behind `want` numbered layers of the backward; `begun` have begun */
    size_t at;
    double host;     /* s to issue all layers */
    struct cut open; /* cut of the forward whose F2 is posted */
    struct cut due;  /* cut of the backward whose B2 will be posted behind the next kernel */
};

static int is_exchange(const struct ss_layer_step *s)
{
    return ss_comm_facts(s->comm)->stream == SS_STREAM(SS_COMM_EP);
}

static int is_kernel(const struct ss_layer_step *s)
{
    return s->kind == SS_STEP_COMPUTE && (s->label == SS_LABEL_COMPUTE || s->label == SS_LABEL_RECOMPUTE);
}

/* Returns whether the step belongs to the call of the exchange behind it: the kernels of the call, what it
 * exchanges ahead, and the wait for that. */
static int of_call(const struct ss_step_list *l, size_t i)
{
    const struct ss_layer_step *s = &l->step[i];
    return s->in_exchange || s->ahead || (i > 0 && s->kind == SS_STEP_WAIT && s[-1].ahead);
}

/* Cuts a layer without exchanges: its attention is one segment, its MLP another. */
static void cut_blocks(struct cut *c, int side)
{
    const struct ss_step_list *l = c->list;
    size_t at = side == FORWARD ? l->n : 0;
    for (size_t i = 0; i < l->n; i++)
        if (l->step[i].mlp && (side == BACKWARD || i < at))
            at = side == FORWARD ? i : i + 1;
    c->end[0] = c->begin[1] = side == FORWARD ? at : 0;
    c->end[1] = c->begin[2] = side == FORWARD ? l->n : at;
    c->end[2] = l->n;
}

static void cut_layer(struct cut *c, const struct ss_step_list *list, int side)
{
    int n = 0;
    *c = (struct cut){.list = list, .wait = {list->n, list->n}};
    for (size_t i = 0; i < list->n; i++) {
        const struct ss_layer_step *s = &list->step[i];
        if (s->kind == SS_STEP_COMPUTE || s->again || !is_exchange(s) || s->ahead)
            continue;
        if (s->kind == SS_STEP_WAIT && n > 0 && c->wait[n - 1] == list->n)
            c->wait[n - 1] = i;
        if (s->kind != SS_STEP_POST || n == 2)
            continue;
        c->post[n] = s;
        c->end[n] = i;
        c->begin[++n] = i + 1;
    }
    c->end[2] = list->n;
    if (n < 2) {
        *c = (struct cut){.list = list, .wait = {list->n, list->n}};
        cut_blocks(c, side);
    }
    c->call_begin = c->end[1];
    while (side == BACKWARD && c->post[1] && c->call_begin > c->begin[1] && of_call(list, c->call_begin - 1))
        c->call_begin--;
}

/* ---- steps of both sides ---- */

static void append(struct pairing *p, const struct ss_layer_step *s)
{
    struct ss_step_list *l = p->out;
    if (l->failed || (l->n == l->cap && ss_grow(&l->step, &l->cap, l->n + 128, sizeof *s))) {
        l->failed = 1;
        return;
    }
    l->step[l->n++] = *s;
}

static void post(struct pairing *p, int side, const struct ss_layer_step *s)
{
    int stream = ss_comm_facts(s->comm)->stream, *n = &p->n[side][stream];
    append(p, s);
    if (*n == POSTED) { /* no layer has so many collectives under way */
        p->out->failed = 1;
        return;
    }
    p->queue[side][stream][(*n)++] = p->posted[stream]++;
}

/* Waits for the oldest collective of the side. A wait is for the oldest of both sides, so earlier ones are
 * waited for, too. */
static void wait(struct pairing *p, int side, int comm)
{
    int stream = ss_comm_facts(comm)->stream, *n = &p->n[side][stream], *queue = p->queue[side][stream];
    if (*n == 0)
        return;
    for (; p->waited[stream] <= queue[0]; p->waited[stream]++)
        append(p, &(struct ss_layer_step){.kind = SS_STEP_WAIT, .comm = comm});
    memmove(queue, queue + 1, (size_t)-- * n * sizeof *queue);
}

/* Posts B2: the work of its call before the exchange, and the exchange. */
static void post_due(struct pairing *p)
{
    struct cut c = p->due;
    p->due.list = NULL;
    if (!c.list)
        return;
    for (size_t i = c.call_begin; i < c.end[1]; i++) {
        const struct ss_layer_step *s = &c.list->step[i];
        if (s->kind == SS_STEP_POST)
            post(p, BACKWARD, s);
        else if (s->kind == SS_STEP_COMPUTE)
            append(p, s);
    }
    post(p, BACKWARD, c.post[1]);
}

/* Appends a step. A kernel takes the SMs before B2, which becomes ready at the same time. */
static void push(struct pairing *p, struct ss_layer_step s)
{
    append(p, &s);
    if (is_kernel(&s) && !s.in_exchange)
        post_due(p);
}

static void segment(struct pairing *p, int side, const struct cut *c, int k)
{
    size_t end = side == BACKWARD && k == 1 ? c->call_begin : c->end[k];
    for (size_t i = c->begin[k]; i < end; i++) {
        const struct ss_layer_step *s = &c->list->step[i];
        /* wait_for_host adds that time */
        int host = s->kind == SS_STEP_COMPUTE && s->label == SS_LABEL_OTHER;
        /* it is waited for together with the step behind it */
        int ahead = i > 0 && c->post[0] && s->kind == SS_STEP_WAIT && s[-1].ahead;
        if (i == c->wait[0] || i == c->wait[1] || host || ahead)
            continue;
        if (s->kind == SS_STEP_POST)
            post(p, side, s);
        else if (s->kind == SS_STEP_WAIT)
            wait(p, side, s->comm);
        else
            push(p, *s);
    }
}

/* Appends a segment and the exchange behind it. */
static void segment_post(struct pairing *p, int side, const struct cut *c, int k)
{
    segment(p, side, c, k);
    if (c->post[k])
        post(p, side, c->post[k]);
}

static void wait_segment(struct pairing *p, int side, const struct cut *c, int k)
{
    if (c->post[k - 1])
        while (p->n[side][ss_comm_facts(c->post[k - 1]->comm)->stream] > 0)
            wait(p, side, c->post[k - 1]->comm);
    segment(p, side, c, k);
}

/* Appends the weight gradients, held back from the backward, of a layer's mixture or of its attention. */
static void weights(struct pairing *p, const struct ss_layer_part *part, int mlp)
{
    if (!part || !p->set->delay_wgrad)
        return;
    const struct ss_step_list *l = &part->steps.phase[SS_PHASE_W];
    for (size_t i = 0; i < l->n; i++)
        if (l->step[i].mlp == mlp)
            push(p, l->step[i]);
}

/* Appends what follows F2. */
static void end_forward(struct pairing *p)
{
    if (p->open.list)
        wait_segment(p, FORWARD, &p->open, 2);
    p->open.list = NULL;
}

static void finish(struct pairing *p)
{
    weights(p, p->held, 0);
    p->held = NULL;
    if (p->begun == p->want)
        p->at = p->out->n;
    end_forward(p);
}

/* Pairs one layer of each side; either may be NULL. */
static void pair_layers(struct pairing *p, const struct ss_layer_part *f, const struct ss_layer_part *b)
{
    struct cut fc, bc;
    /* The sums behind F2 run on the stream of exchanges, so that B1 comes after them. */
    if (p->open.list && f)
        finish(p);
    end_forward(p);
    if (b) {
        cut_layer(&bc, &b->steps.phase[p->set->delay_wgrad ? SS_PHASE_I : SS_PHASE_B], BACKWARD);
        segment_post(p, BACKWARD, &bc, 0);
    }
    finish(p);
    if (f) {
        cut_layer(&fc, &f->steps.phase[SS_PHASE_F], FORWARD);
        segment_post(p, FORWARD, &fc, 0);
    }
    if (b) {
        wait_segment(p, BACKWARD, &bc, 1);
        p->due.list = NULL;
        if (bc.post[1])
            p->due = bc;
        if (bc.post[1] && bc.post[1]->sms <= 0)
            post_due(p);
        weights(p, b, 1);
    }
    if (f) {
        wait_segment(p, FORWARD, &fc, 1);
        if (fc.post[1])
            post(p, FORWARD, fc.post[1]);
        p->open = fc;
    }
    post_due(p);
    if (b)
        wait_segment(p, BACKWARD, &bc, 2);
    p->held = b;
}

/* ---- layers of both sides ---- */

struct side {
    const struct ss_layer_runs *runs;
    int side;
    size_t run;
    int done; /* layers of the run that are done */
};

/* Returns the run at hand, NULL at the end. */
static const struct ss_layer_run *at_hand(const struct side *s)
{
    if (s->run == s->runs->n)
        return NULL;
    return &s->runs->run[s->side == FORWARD ? s->run : s->runs->n - 1 - s->run];
}

static void advance(struct pairing *p, struct side *s)
{
    p->host += ss_layer_part(p->set, at_hand(s))->cost.host[s->side];
    if (++s->done == at_hand(s)->count) {
        s->run++;
        s->done = 0;
    }
}

/* Appends what comes before the next transformer layer: embedding, loss, work between stages. */
static void others(struct pairing *p, struct side *s)
{
    for (const struct ss_layer_run *run = at_hand(s); run; run = at_hand(s)) {
        const struct ss_layer_part *part = ss_layer_part(p->set, run);
        if (ss_layer_is_transformer(p->set, run))
            return;
        finish(p);
        struct cut all = {.list = &part->steps.phase[s->side == FORWARD ? SS_PHASE_F : SS_PHASE_B]};
        all.wait[0] = all.wait[1] = all.end[0] = all.list->n;
        segment(p, s->side, &all, 0);
        advance(p, s);
    }
}

/* Adds what the pair waits for the host, which issues both sides and runs ahead of the GPU: a pair takes the
 * longer of both. */
static void wait_for_host(struct pairing *p)
{
    double gpu[SS_LABEL_COUNT], sum;
    if (p->host <= 0)
        return;
    p->out->failed |= ss_steps_fold(p->out, p->set->slower, gpu) != SS_OK;
    sum = ss_label_sum(gpu) + p->set->slower * (gpu[SS_LABEL_COMPUTE] + gpu[SS_LABEL_RECOMPUTE]);
    if (!p->out->failed && p->host > sum)
        push(p, (struct ss_layer_step){
                    .kind = SS_STEP_COMPUTE, .label = SS_LABEL_OTHER, .seconds = p->host - sum});
}

/* Merges both sides; f < 0: the backward alone. *at, which may be NULL, gets the number of steps before the
 * place at which the first `layers` numbered layers of the backward and their weight gradients are done. */
static int merge(const struct ss_layer_set *set, int f, int b, int layers, struct ss_step_list *out,
                 size_t *at)
{
    static const struct ss_layer_runs none = {0};
    struct pairing *p = ss_calloc(1, sizeof *p);
    struct side forward = {.runs = f < 0 ? &none : &set->chunks[f], .side = FORWARD};
    struct side backward = {.runs = &set->chunks[b], .side = BACKWARD};
    memset(out, 0, sizeof *out);
    if (!p)
        return SS_ERR_NOMEM;
    p->set = set;
    p->out = out;
    p->want = layers;
    p->at = SIZE_MAX;
    if (set->fixed > 0)
        push(p, (struct ss_layer_step){.kind = SS_STEP_COMPUTE,
                                       .label = SS_LABEL_OTHER,
                                       .seconds = (f < 0 ? 1 : 2) * set->fixed});
    for (;;) {
        others(p, &forward);
        others(p, &backward);
        const struct ss_layer_run *fr = at_hand(&forward), *br = at_hand(&backward);
        if (!fr && !br)
            break;
        pair_layers(p, fr ? ss_layer_part(set, fr) : NULL, br ? ss_layer_part(set, br) : NULL);
        if (fr)
            advance(p, &forward);
        if (br) {
            p->begun += !br->predicts;
            advance(p, &backward);
        }
    }
    finish(p);
    ss_steps_beside(out, set->card);
    wait_for_host(p);
    if (at)
        *at = p->at < out->n ? p->at : out->n;
    free(p);
    return out->failed ? SS_ERR_NOMEM : SS_OK;
}

int ss_pair_steps(const struct ss_layer_set *set, int f, int b, struct ss_step_list *out)
{
    return merge(set, f, b, -1, out, NULL);
}

int ss_delayed_place(const struct ss_layer_set *set, int k, int layers, struct ss_chunk_place *place)
{
    double until[SS_LABEL_COUNT], all[SS_LABEL_COUNT];
    struct ss_step_list list, first;
    size_t at;
    int status = merge(set, -1, k, layers, &list, &at);
    first = list;
    first.n = at;
    SS_THEN(status, ss_steps_fold(&list, 0, all));
    SS_THEN(status, ss_steps_fold(&first, 0, until));
    free(list.step);
    if (!status)
        *place = (struct ss_chunk_place){
            .fraction = ss_label_sum(all) > 0 ? ss_label_sum(until) / ss_label_sum(all) : 1, .step = (int)at};
    return status;
}

int ss_pair_steps_visit(const struct ss_layer_set *set, int f, int b, ss_step_visitor visit, void *ctx)
{
    struct ss_step_list list;
    int status = ss_pair_steps(set, f, b, &list);
    for (size_t i = 0; i < list.n && !status; i++)
        status = visit(ctx, &list.step[i]);
    free(list.step);
    return status;
}
