/* SPDX-License-Identifier: Apache-2.0 */
/* Scans: kernels of mixers without a softmax, by the roofline of the card or the card's own rates of such kernels. */
#include "cost/cost.h"

/* Prices a scan. Kernels that lack some SMs lack the same share of all rates. */
static double scan_seconds(const struct ss_cost_context *c, const struct ss_op *op, int backward)
{
    double share = ss_cost_own_sms(c) / c->card->sm_count;
    double flops = backward ? op->backward_flops : op->forward_flops;
    double bytes = backward ? op->backward_bytes : op->forward_bytes;
    int kernels =
        backward ? op->backward_kernels + op->backward_launches : op->forward_kernels + op->forward_launches;
    return ss_kernel_scan(c->card, op->scan, backward, flops / share, bytes / share, kernels);
}

void ss_cost_scan(const struct ss_cost_context *c, const struct ss_op *op, struct ss_layer_cost *out)
{
    double f = scan_seconds(c, op, 0), b = scan_seconds(c, op, 1);
    out->forward[SS_LABEL_COMPUTE] += f;
    out->input_grad[SS_LABEL_COMPUTE] += b;
    ss_record_kernels(c->record, &(struct ss_step_work){f, op->forward_flops, op->forward_bytes},
                      &(struct ss_step_work){b, op->backward_flops, op->backward_bytes});
}
