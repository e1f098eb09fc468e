/* SPDX-License-Identifier: Apache-2.0 */
/* Curves of exchanges and collectives inside a node. */
#include <math.h>

#include "cost/curve.h"

double ss_curve_exchange(const struct ss_card *card, double fabric, int back,
                         const struct ss_exchange_call *call)
{
    double token = back ? card->curve_combine_token : card->curve_dispatch_token;
    double copy = back ? card->curve_combine_copy : card->curve_dispatch_copy;
    double rate = back ? card->curve_combine_rate : card->curve_dispatch_rate;
    double link = fabric * (back ? card->curve_combine_link : card->curve_dispatch_link);
    double sms = call->tokens * (token + call->copies * (copy + call->bytes / rate)) / call->sms;
    double sent = call->tokens * call->bytes * call->copies * (call->gpus - 1) / call->gpus;

    return (back ? card->curve_combine_launch : card->curve_dispatch_launch) + fmax(sms, sent / link);
}

double ss_curve_ring(const struct ss_card *card, double fabric, int passes, double gpus, double bytes)
{
    double sent = passes * bytes * (gpus - 1) / gpus / fabric;
    double small =
        card->curve_ring_launch + passes * (gpus - 1) * card->curve_ring_step + sent / card->curve_ring_small;

    return fmin(small, card->curve_ring_latency + sent / card->curve_ring_large);
}

double ss_curve_alltoall(const struct ss_card *card, double fabric, double gpus, double bytes)
{
    double sent = bytes * (gpus - 1) / gpus / fabric, steps = (gpus - 1) * card->curve_alltoall_step;
    double small = card->curve_alltoall_launch + steps + sent / card->curve_alltoall_small;
    double middle = card->curve_alltoall_middle_latency + steps + sent / card->curve_alltoall_middle;

    return fmin(fmin(small, middle), card->curve_alltoall_latency + sent / card->curve_alltoall_large);
}
