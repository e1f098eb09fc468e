/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/steps.h"

#include "base/base.h"
#include "cost/cost.h"

static void push(struct ss_step_list *l, struct ss_layer_step s)
{
    if (l->failed || ss_grow(&l->step, &l->cap, l->n + 1, sizeof s)) {
        l->failed = 1;
        return;
    }
    l->step[l->n++] = s;
}

static void add(struct ss_step_list *l, struct ss_layer_step s)
{
    s.mlp = l->of.mlp;
    s.phase = l->phase;
    if (!s.op) {
        s.op = l->of.op;
        s.op_kind = l->of.op_kind;
    }
    push(l, s);
}

static void compute(struct ss_step_list *l, int label, double seconds)
{
    double share = l->work.seconds > 0 ? seconds / l->work.seconds : 0;
    struct ss_layer_step s = {.kind = SS_STEP_COMPUTE,
                              .label = label,
                              .seconds = seconds,
                              .of_part = l->of.part,
                              .precision = l->of.precision,
                              .in_exchange = l->of.in_exchange,
                              .flops = share * l->work.flops,
                              .moved = share * l->work.bytes};
    if (seconds > 0)
        add(l, s);
}

/* Sets the FLOP and bytes of the kernels that follow; they are spread over `seconds`. */
static void doing(struct ss_step_list *l, double seconds, double flops, double bytes)
{
    l->work = (struct ss_step_work){seconds, flops, bytes};
}

static void wait(struct ss_step_list *l, int comm)
{
    add(l, (struct ss_layer_step){.kind = SS_STEP_WAIT, .comm = comm});
}

/* Posts a collective and waits for it. A share `hides` (0..1) of the kernels runs beside it; the others run
 * before it, or behind it where none hides it. */
static void post(struct ss_step_list *l, const struct ss_layer_step *s, double kernels, double hides)
{
    if (hides > 0)
        compute(l, SS_LABEL_COMPUTE, (1 - hides) * kernels);
    add(l, *s);
    compute(l, SS_LABEL_COMPUTE, hides * kernels);
    wait(l, s->comm);
    if (hides <= 0)
        compute(l, SS_LABEL_COMPUTE, kernels);
}

static struct ss_layer_step tp_step(int coll, double bytes, double seconds, double user_buffers)
{
    struct ss_layer_step s = ss_step_post(SS_COMM_TP, coll, bytes, seconds);
    s.user_buffers = user_buffers;
    return s;
}

void ss_record_begin(struct ss_recorder *r)
{
    if (!r)
        return;
    memset(r, 0, sizeof *r);
    for (int phase = 0; phase < SS_PHASE_FB; phase++)
        r->out.phase[phase].phase = r->block.phase[phase].phase = phase;
}

void ss_record_operator(struct ss_recorder *r, const struct ss_step_of *of)
{
    for (int phase = 0; r && phase < SS_PHASE_FB; phase++) {
        r->out.phase[phase].of = r->block.phase[phase].of = *of;
        doing(&r->out.phase[phase], 0, 0, 0);
        doing(&r->block.phase[phase], 0, 0, 0);
    }
}

void ss_record_operators_end(struct ss_recorder *r)
{
    if (r)
        ss_record_operator(
            r, &(struct ss_step_of){.mlp = r->out.phase[SS_PHASE_F].of.mlp, .part = SS_PART_OTHER});
}

/* Puts the steps of `first` before the list, and takes them away there. */
static void put_first(struct ss_step_list *l, struct ss_step_list *first)
{
    if (!first->n && !first->failed)
        return;
    l->failed |= first->failed;
    if (!l->failed && !ss_grow(&l->step, &l->cap, l->n + first->n, sizeof *l->step)) {
        memmove(l->step + first->n, l->step, l->n * sizeof *l->step);
        memcpy(l->step, first->step, first->n * sizeof *l->step);
        l->n += first->n;
    } else {
        l->failed = 1;
    }
    *first = (struct ss_step_list){.phase = l->phase, .of = l->of, .step = first->step, .cap = first->cap};
}

/* Ends an operator: its backward steps go before those of earlier operators. */
static void end_operator(struct ss_recorder *r)
{
    for (int phase = SS_PHASE_B; phase < SS_PHASE_FB; phase++)
        put_first(&r->out.phase[phase], &r->block.phase[phase]);
}

/* ---- operators ---- */

/* Marks the kernels from `from` on as gradients of weights. */
static void of_weights(struct ss_step_list *l, size_t from)
{
    for (size_t i = from; i < l->n; i++)
        if (l->step[i].kind == SS_STEP_COMPUTE)
            l->step[i].phase = SS_PHASE_W;
}

/* Records the gradient of the input, and in B that of the weight, which hides the scatter of a
 * column-parallel layer. */
static void linear_backward(struct ss_step_list *l, const struct ss_linear_times *t,
                            const struct ss_layer_step *gather, const struct ss_layer_step *scatter,
                            int split)
{
    doing(l, t->d, t->flops, t->d_bytes);
    if (t->sp && t->gather > 0 && t->regather)
        post(l, gather, t->d, t->column ? t->async : t->overlap * (1 - t->piece) + t->own);
    else
        compute(l, SS_LABEL_COMPUTE, t->d);
    int scatters = t->column && t->scatter > 0;
    if (split) { /* I has nothing to hide it; the part that W hides in B is not charged to I */
        compute(l, SS_LABEL_TP, scatters ? fmax(0, t->scatter - (t->async ? t->slow * t->w : 0)) : 0);
        return;
    }
    size_t from = l->n;
    doing(l, t->w, t->flops, t->w_bytes);
    if (scatters)
        post(l, scatter, t->w, t->async);
    else
        compute(l, SS_LABEL_COMPUTE, t->w);
    doing(l, 0, 0, 0);
    compute(l, SS_LABEL_COMPUTE, t->accumulate);
    of_weights(l, from);
}

void ss_record_linear(struct ss_recorder *r, const struct ss_linear_times *t)
{
    if (!r)
        return;
    const struct ss_layer_step gather =
        tp_step(SS_COLL_ALL_GATHER, t->gather_bytes, t->gather, t->user_buffers);
    const struct ss_layer_step scatter = tp_step(t->sp ? SS_COLL_REDUCE_SCATTER : SS_COLL_ALL_REDUCE,
                                                 t->scatter_bytes, t->scatter, t->scatter_buffers);
    struct ss_step_list *f = &r->out.phase[SS_PHASE_F], *w = &r->block.phase[SS_PHASE_W];
    doing(f, t->f, t->flops, t->f_bytes);
    if (t->column && t->gather > 0) {
        post(f, &gather, t->f, t->overlap * (1 - t->piece) + t->own);
    } else if (!t->column && t->scatter > 0 && t->overlap) {
        post(f, &scatter, t->f, 1 - t->piece);
    } else {
        compute(f, SS_LABEL_COMPUTE, t->f);
        if (!t->column && t->scatter > 0)
            post(f, &scatter, 0, 0);
    }
    linear_backward(&r->block.phase[SS_PHASE_B], t, &gather, &scatter, 0);
    linear_backward(&r->block.phase[SS_PHASE_I], t, &gather, &scatter, 1);
    doing(w, t->w + t->accumulate, t->flops, t->w_bytes);
    compute(w, SS_LABEL_COMPUTE, t->w + t->accumulate);
    end_operator(r);
}

static void kernels(struct ss_step_list *l, const struct ss_step_work *work)
{
    l->work = *work;
    compute(l, SS_LABEL_COMPUTE, work->seconds);
}

void ss_record_kernels(struct ss_recorder *r, const struct ss_step_work *forward,
                       const struct ss_step_work *backward)
{
    if (!r)
        return;
    kernels(&r->out.phase[SS_PHASE_F], forward);
    kernels(&r->block.phase[SS_PHASE_B], backward);
    kernels(&r->block.phase[SS_PHASE_I], backward);
    end_operator(r);
}

static void post_ahead(struct ss_step_list *l, const struct ss_layer_step *s)
{
    if (s->ahead)
        post(l, s, 0, 0);
}

void ss_record_exchange(struct ss_recorder *r, const struct ss_layer_step *ahead,
                        const struct ss_layer_step *forward, const struct ss_layer_step *ahead_back,
                        const struct ss_layer_step *backward)
{
    if (!r)
        return;
    ss_record_exchange_end(r);
    post_ahead(&r->out.phase[SS_PHASE_F], ahead);
    add(&r->out.phase[SS_PHASE_F], *forward);
    wait(&r->block.phase[SS_PHASE_B], backward->comm);
    wait(&r->block.phase[SS_PHASE_I], backward->comm);
    end_operator(r);
    r->open = 1;
    r->forward = *forward;
    r->ahead = *ahead_back;
    r->backward = *backward;
    r->ahead.op = r->backward.op = r->out.phase[SS_PHASE_F].of.op;
    r->ahead.op_kind = r->backward.op_kind = r->out.phase[SS_PHASE_F].of.op_kind;
}

void ss_record_exchange_end(struct ss_recorder *r)
{
    if (!r || !r->open)
        return;
    wait(&r->out.phase[SS_PHASE_F], r->forward.comm);
    for (int phase = SS_PHASE_B; phase <= SS_PHASE_I; phase++) {
        post_ahead(&r->block.phase[phase], &r->ahead);
        add(&r->block.phase[phase], r->backward);
    }
    end_operator(r);
    r->open = 0;
}

/* Records ring attention: a step of K and V beside the attention of each chunk but the last. */
static void ring(struct ss_step_list *l, const struct ss_cost_context *c, const struct ss_layer_step *step,
                 double attention, int label)
{
    double overlap = c->stack->cp_overlap, own = attention / c->cp.n;
    struct ss_layer_step whole = *step, part = whole;
    for (int i = 1; i < c->cp.n; i++) {
        if (overlap < 1) {
            part.part = 1 - overlap;
            part.seconds = part.part * whole.seconds;
            post(l, &part, 0, 0);
        }
        if (overlap > 0) {
            part.part = overlap;
            part.seconds = part.part * whole.seconds;
            add(l, part);
            compute(l, label, overlap * own);
            wait(l, part.comm);
        }
        compute(l, label, (1 - overlap) * own);
    }
    compute(l, label, own);
}

static void attention(struct ss_step_list *l, const struct ss_cost_context *c,
                      const struct ss_op_attention *a, const struct ss_step_work *work, int backward,
                      int label)
{
    l->work = *work;
    if (c->cp.n > 1) {
        const struct ss_layer_step s = ss_cost_cp_step(c, &a->context, backward);
        if (s.coll == SS_COLL_RING_STEP) {
            ring(l, c, &s, work->seconds, label);
            return;
        }
        post(l, &s, 0, 0);
    }
    compute(l, label, work->seconds);
}

void ss_record_attention(struct ss_recorder *r, const struct ss_cost_context *c,
                         const struct ss_op_attention *a, const struct ss_step_work *forward,
                         const struct ss_step_work *backward, int again)
{
    if (!r)
        return;
    attention(&r->out.phase[SS_PHASE_F], c, a, forward, 0, SS_LABEL_COMPUTE);
    for (int phase = SS_PHASE_B; phase <= SS_PHASE_I; phase++) {
        if (again && forward->seconds > 0)
            attention(&r->block.phase[phase], c, a, forward, 0, SS_LABEL_RECOMPUTE);
        attention(&r->block.phase[phase], c, a, backward, 1, SS_LABEL_COMPUTE);
    }
    end_operator(r);
}

void ss_record_border(struct ss_recorder *r, int phase, int coll, double bytes, double seconds)
{
    if (!r)
        return;
    struct ss_layer_step s = tp_step(coll, bytes, seconds, 0);
    if (phase == SS_PHASE_F) {
        post(&r->out.phase[SS_PHASE_F], &s, 0, 0);
        return;
    }
    post(&r->block.phase[SS_PHASE_B], &s, 0, 0);
    post(&r->block.phase[phase], &s, 0, 0);
    end_operator(r);
}

void ss_record_other(struct ss_recorder *r, double forward, double backward)
{
    if (!r)
        return;
    compute(&r->out.phase[SS_PHASE_F], SS_LABEL_OTHER, forward);
    compute(&r->block.phase[SS_PHASE_B], SS_LABEL_OTHER, backward);
    compute(&r->block.phase[SS_PHASE_I], SS_LABEL_OTHER, backward);
    end_operator(r);
}

/* ---- layers ---- */

size_t ss_record_length(const struct ss_recorder *r)
{
    return r ? r->out.phase[SS_PHASE_F].n : 0;
}

void ss_record_again(struct ss_recorder *r, size_t from, size_t to)
{
    for (int phase = SS_PHASE_B; r && phase <= SS_PHASE_I; phase++) {
        const struct ss_step_list *f = &r->out.phase[SS_PHASE_F];
        struct ss_step_list again = {.failed = f->failed};
        for (size_t i = from; i < to; i++)
            push(&again, f->step[i]);
        for (size_t i = 0; i < again.n; i++) {
            again.step[i].again = 1;
            again.step[i].phase = phase;
            if (again.step[i].kind == SS_STEP_COMPUTE && again.step[i].label == SS_LABEL_COMPUTE)
                again.step[i].label = SS_LABEL_RECOMPUTE;
        }
        put_first(&r->out.phase[phase], &again);
        free(again.step);
    }
}

void ss_record_forward(struct ss_recorder *r, struct ss_recorder *other)
{
    struct ss_layer_steps steps;
    if (!r)
        return;
    if (ss_record_end(other, &steps))
        r->out.phase[SS_PHASE_F].failed = 1;
    const struct ss_step_list own = r->out.phase[SS_PHASE_F];
    r->out.phase[SS_PHASE_F] = steps.phase[SS_PHASE_F];
    r->out.phase[SS_PHASE_F].failed |= own.failed;
    steps.phase[SS_PHASE_F] = own;
    ss_layer_steps_free(&steps);
}

void ss_record_beside(struct ss_recorder *r, int phase, const struct ss_layer_step *posts, int n,
                      double after)
{
    struct ss_step_list first = {0};
    if (!r)
        return;
    struct ss_step_list *l = &r->out.phase[phase];
    for (int i = 0; i < n; i++)
        add(&first, posts[i]);
    put_first(l, &first);
    free(first.step);
    for (int i = 0; i < n; i++)
        wait(l, posts[i].comm);
    compute(l, SS_LABEL_COMPUTE, after);
}

void ss_record_behind(struct ss_recorder *r, int phase, const struct ss_layer_step *copy)
{
    if (r)
        post(&r->out.phase[phase], copy, 0, 0);
}

int ss_record_end(struct ss_recorder *r, struct ss_layer_steps *out)
{
    int failed = 0;
    for (int phase = 0; phase < SS_PHASE_FB; phase++)
        failed |= r->out.phase[phase].failed;
    *out = r->out;
    ss_layer_steps_free(&r->block);
    memset(r, 0, sizeof *r);
    return failed ? SS_ERR_NOMEM : SS_OK;
}

void ss_layer_steps_free(struct ss_layer_steps *s)
{
    for (int phase = 0; phase < SS_PHASE_FB; phase++)
        free(s->phase[phase].step);
    memset(s, 0, sizeof *s);
}
