/* SPDX-License-Identifier: Apache-2.0 */
/* Scans: kernels of mixers without a softmax, by the roofline of the card or its curves. */
#include "cost/cost.h"
#include "cost/curve.h"

/* Returns the seconds of a forward that has a curve of the card. */
static double curve_seconds(const struct ss_card *card, const struct ss_op *op)
{
    const struct ss_op_scan *a = &op->call;
    const struct ss_delta_call call = {a->sequences, a->tokens, a->heads, a->heads, a->key_dim, a->value_dim};
    if (op->scan == SS_SCAN_SHORT_CONV)
        return ss_curve_convolution(card, a->sequences * a->tokens, a->heads,
                                    op->forward_kernels + op->forward_launches);
    return op->scan == SS_SCAN_KIMI_DELTA ? ss_curve_kda(card, &call) : ss_curve_gdn(card, &call);
}

/* Returns how much longer the backward takes: by its products, or by its bytes where there are none. No public table has it. */
static double backward_ratio(const struct ss_op *op)
{
    return op->forward_flops > 0 ? op->backward_flops / op->forward_flops
                                 : op->backward_bytes / op->forward_bytes;
}

/* Prices a scan. Kernels that lack some SMs lack the same share of all rates. */
static double scan_seconds(const struct ss_cost_context *c, const struct ss_op *op, int backward)
{
    double share = ss_cost_own_sms(c) / c->card->sm_count;
    double flops = backward ? op->backward_flops : op->forward_flops;
    double bytes = backward ? op->backward_bytes : op->forward_bytes;
    int kernels =
        backward ? op->backward_kernels + op->backward_launches : op->forward_kernels + op->forward_launches;
    if (op->scan >= SS_SCANS)
        return curve_seconds(c->card, op) * (backward ? backward_ratio(op) : 1) / share;
    return ss_kernel_scan(c->card, op->scan, flops / share, bytes / share, kernels);
}

void ss_cost_scan(const struct ss_cost_context *c, const struct ss_op *op, struct ss_layer_cost *out)
{
    double f = scan_seconds(c, op, 0), b = scan_seconds(c, op, 1);
    out->forward[SS_LABEL_COMPUTE] += f;
    out->input_grad[SS_LABEL_COMPUTE] += b;
    ss_record_kernels(c->record, &(struct ss_step_work){f, op->forward_flops, op->forward_bytes},
                      &(struct ss_step_work){b, op->backward_flops, op->backward_bytes});
}
