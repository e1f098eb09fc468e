/* SPDX-License-Identifier: Apache-2.0 */
/* Curves of DeepEP's exchanges inside a node. */
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
