/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels take where others hold them up: slow GPUs, collectives of tensor ranks and reductions of gradients, which hold SMs. */
#include <math.h>

#include "cost/layer_set.h"
#include "cost/steps.h"

/* Returns the seconds of a GEMM of `alone` beside a collective that begins with it. */
static double beside(double alone, double collective, double taken)
{
    return fmin(alone / (1 - taken), alone + collective * taken);
}

void ss_linear_beside(struct ss_linear_times *t, double taken)
{
    double *split = t->column ? &t->f : &t->d, own = t->own * *split, longer = beside(own, t->gather, taken);
    if (t->own > 0) {
        *split += longer - own;
        t->own = longer / *split;
    }
    if (t->column && t->async && !t->overlap) {
        t->d = beside(t->d, t->regather ? t->gather : 0, taken);
        t->w = beside(t->w, t->scatter, taken);
    }
}

static int waiting_label(const struct ss_rank_site *site)
{
    if (site->tp.n > 1)
        return SS_LABEL_TP;
    return site->cp.n <= 1 && (site->ep.n > 1 || site->etp.n > 1) ? SS_LABEL_EP : SS_LABEL_CP;
}

void ss_rank_slow_down(double seconds[SS_LABEL_COUNT], const struct ss_rank_site *site)
{
    double kernels = seconds[SS_LABEL_COMPUTE] + seconds[SS_LABEL_RECOMPUTE], fast = fmin(site->pace, 1);
    seconds[SS_LABEL_COMPUTE] *= site->own * fast;
    seconds[SS_LABEL_RECOMPUTE] *= site->own * fast;
    seconds[waiting_label(site)] += kernels * (site->group - site->own) * fast;
    seconds[SS_LABEL_SPREAD] += kernels * site->group * (site->pace - fast);
}

int ss_rank_backward_beside(const struct ss_rank_cost *cost, const struct ss_rank_site *site, int k,
                            double held, double part, double out[SS_LABEL_COUNT], double *share)
{
    const struct ss_layer_set *set = cost->set;
    double more[SS_LABEL_COUNT] = {0}, longer = 0, all = 0;
    for (size_t i = 0; i < set->chunks[k].n; i++) {
        const struct ss_layer_run *run = &set->chunks[k].run[i];
        const struct ss_step_list *list = &ss_layer_part(set, run)->steps.phase[SS_PHASE_B];
        double beside[SS_LABEL_COUNT], own[SS_LABEL_COUNT];
        if (ss_layer_where(set, run) == SS_WHERE_BEHIND)
            continue;
        if (ss_steps_fold(list, set->slower, own))
            return SS_ERR_NOMEM;
        double until = part * ss_label_sum(own);
        if (ss_steps_fold_beside(list, set->slower, held, until, beside))
            return SS_ERR_NOMEM;
        for (int l = 0; l < SS_LABEL_COUNT; l++)
            more[l] += run->count * (beside[l] - own[l]);
        longer += run->count * (ss_label_sum(beside) - ss_label_sum(own));
        all += run->count * fmin(until, ss_label_sum(beside));
    }
    ss_rank_slow_down(more, site);
    for (int l = 0; l < SS_LABEL_COUNT; l++)
        out[l] = fmax(0, cost->chunks[k].backward[l] + more[l]);
    *share = all > 0 ? fmax(0, longer / all) : 0;
    return SS_OK;
}
