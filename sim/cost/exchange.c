/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges of tokens between the ranks of an expert group, the kernels beside them, and exchanges of a
 * context group. */
#include "base/base.h"
#include "cost/cost.h"
#include "stepsim/job.h"

static const struct ss_group_shape *group_of(const struct ss_cost_context *c, int comm)
{
    return comm == SS_COMM_EP    ? &c->ep
           : comm == SS_COMM_ETP ? &c->etp
           : comm == SS_COMM_CP  ? &c->cp
                                 : &c->etp_ep;
}

/* Returns the share of the SMs that an exchange holds; it matters where kernels run beside the exchange. */
static double exchange_sms(const struct ss_cost_context *c, int comm, const struct ss_group_shape *group)
{
    int own = comm == SS_COMM_EP && ss_dispatcher_has_stages(c->shape.dispatcher);
    if (comm == SS_COMM_CP || c->shape.reserved_sms > 0 || !(c->shape.shared_overlap || c->shape.paired))
        return 0;
    if (!own)
        return ss_collective_sm_share(c->stack, c->card, group);
    return fmin(0.5, c->net.dispatch_sms / c->card->sm_count);
}

/* Makes the step of an exchange. A dispatcher's SMs are slower beside kernels, which share memory and its
 * cache. */
static struct ss_layer_step exchange_step(const struct ss_cost_context *c, int comm, int coll, double bytes)
{
    const struct ss_group_shape *group = group_of(c, comm);
    struct ss_net beside = c->net;
    struct ss_layer_step s =
        ss_step_post(comm, coll, bytes, ss_collective_seconds(&c->net, coll, bytes, group));
    ss_net_beside(&beside, coll, bytes, group, 1);
    s.slowed = ss_collective_seconds(&beside, coll, bytes, group);
    s.sms = s.sm_share = exchange_sms(c, comm, group);
    return s;
}

void ss_cost_exchange(const struct ss_cost_context *c, const struct ss_op *op, struct ss_layer_cost *out)
{
    const struct ss_layer_step there = exchange_step(c, op->exchange.comm, op->exchange.forward_coll,
                                                     op->exchange.forward),
                               back = exchange_step(c, op->exchange.comm, op->exchange.backward_coll,
                                                    op->exchange.backward);
    struct ss_layer_step ahead = {0}, behind = {0};
    const int label = ss_comm_facts(op->exchange.comm)->label;
    if (op->exchange.ahead > 0) {
        ahead = exchange_step(c, op->exchange.comm, op->exchange.forward_coll, op->exchange.ahead);
        behind = exchange_step(c, op->exchange.comm, op->exchange.backward_coll, op->exchange.ahead);
        ahead.ahead = behind.ahead = 1;
    }
    out->forward[label] += ahead.seconds + there.seconds;
    out->input_grad[label] += behind.seconds + back.seconds;
    ss_record_exchange(c->record, &ahead, &there, &behind, &back);
}

void ss_cost_gathered(const struct ss_cost_context *c, const struct ss_op *op, struct ss_layer_cost *out)
{
    if (op->gathers_first <= 0)
        return;
    struct ss_layer_step s = exchange_step(c, SS_COMM_EP, SS_COLL_ALL_GATHER, op->gathers_first);
    s.ahead = 1;
    out->forward[SS_LABEL_EP] += s.seconds;
    ss_record_behind(c->record, SS_PHASE_F, &s);
}

/* Folds the steps without the forward that is repeated before the backward, which is counted separately. */
static int fold_once(const struct ss_cost_context *c, const struct ss_step_list *all,
                     double by_label[SS_LABEL_COUNT])
{
    struct ss_step_list list = {.failed = all->failed};
    int status = SS_ERR_NOMEM;
    list.step = ss_calloc(all->n, sizeof *list.step);
    for (size_t i = 0; list.step && i < all->n; i++)
        if (!all->step[i].again)
            list.step[list.n++] = all->step[i];
    if (list.step)
        status = ss_steps_fold(&list, c->slower, by_label);
    free(list.step);
    return status;
}

void ss_cost_beside(const struct ss_cost_context *c, struct ss_layer_cost *out)
{
    static const int labels[] = {SS_LABEL_COMPUTE, SS_LABEL_TP, SS_LABEL_EP};
    double f[SS_LABEL_COUNT], b[SS_LABEL_COUNT], i[SS_LABEL_COUNT];
    struct ss_layer_steps *s = &c->record->out;
    for (int phase = 0; phase < SS_PHASE_FB; phase++)
        ss_steps_beside(&s->phase[phase], c->card);
    if (fold_once(c, &s->phase[SS_PHASE_F], f) || fold_once(c, &s->phase[SS_PHASE_B], b) ||
        fold_once(c, &s->phase[SS_PHASE_I], i)) {
        s->phase[SS_PHASE_F].failed = 1;
        return;
    }
    for (size_t k = 0; k < SS_ARRAY_LEN(labels); k++) {
        int l = labels[k];
        out->forward[l] = f[l];
        out->input_grad[l] = i[l];
        out->joint[l] = b[l] - i[l] - out->weight_grad[l];
    }
}
