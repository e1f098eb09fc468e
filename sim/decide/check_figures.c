/* SPDX-License-Identifier: Apache-2.0 */
/* Translates between measured figures and predictions: counts of FLOP, and seconds. */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "decide/check_internal.h"
#include "stepsim/job.h"

/* Stacks whose own log counts the causal half: Megatron-LM does so from core 0.12 on (num_floating_point_operations in
 * megatron/training/training.py), Megatron-Bridge always. All others count the whole square. A name that ends in a dash stands for
 * all that begin with it. */
static const char *const causal_stacks[] = {"megatron-lm-2025", "megatron-lm-2026-", "megatron-lm-ci-2025",
                                            "megatron-bridge-"};

int ss_check_count_of(const char *stack, int logger)
{
    if (logger == SS_LOGGER_BRIDGE)
        return SS_COUNT_CAUSAL;
    for (size_t i = 0; i < SS_ARRAY_LEN(causal_stacks) && logger != SS_LOGGER_NEMO; i++) {
        size_t n = strlen(causal_stacks[i]);
        if (!strncmp(stack, causal_stacks[i], n) && (causal_stacks[i][n - 1] == '-' || !stack[n]))
            return SS_COUNT_CAUSAL;
    }
    return SS_COUNT_FULL;
}

double ss_check_over_full(const struct ss_summary *u, int count)
{
    double base = count == SS_COUNT_CAUSAL ? u->tflops_per_gpu : u->mfu,
           value = count == SS_COUNT_CAUSAL ? u->tflops_causal_per_gpu : u->hfu;

    return (count == SS_COUNT_CAUSAL || count == SS_COUNT_HARDWARE) && base > 0 ? value / base : 1;
}

double ss_check_predicted(const struct ss_run *run, int told, int count)
{
    const struct ss_summary *u = &run->summary;

    switch (told) {
    case SS_TOLD_SECONDS: return u->iteration_s;
    case SS_TOLD_TOKENS_GPU: return u->tokens_per_s_per_gpu;
    case SS_TOLD_TOKENS: return u->tokens_per_s_per_gpu * u->gpus;
    case SS_TOLD_SAMPLES: return run->plan->job->global_batch / u->iteration_s;
    case SS_TOLD_TFLOPS: return u->tflops_per_gpu * ss_check_over_full(u, count);
    case SS_TOLD_MFU: return u->mfu_bf16 * ss_check_over_full(u, count);
    case SS_TOLD_ALLOCATED: return u->peak_allocated;
    case SS_TOLD_RESERVED: return u->peak_reserved;
    case SS_TOLD_DEVICE: return u->peak_device;
    default: return run->plan->job->global_batch;
    }
}

double ss_check_seconds(const struct ss_run *run, int told, int count, double measured)
{
    double seconds = run->summary.iteration_s;

    return told == SS_TOLD_SECONDS ? measured : seconds * ss_check_predicted(run, told, count) / measured;
}

int ss_check_holds(const struct ss_checked *c, double predicted_s)
{
    double band = c->band_pct / 100;

    return c->measured_s >= predicted_s / (1 + band) && c->measured_s <= predicted_s / (1 - band);
}
