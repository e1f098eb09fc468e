/* SPDX-License-Identifier: Apache-2.0 */
/* Translates between measured figures and predictions: counts of FLOP, and seconds. */
#include "base/base.h"
#include "decide/check_internal.h"
#include "stepsim/job.h"

/* Returns the count of the stack, unless another framework wrote the log. */
int ss_check_count_of(const struct ss_summary *u, int logger)
{
    if (logger == SS_LOGGER_NEMO)
        return SS_COUNT_FULL;
    return logger == SS_LOGGER_BRIDGE && u->logged_count != SS_COUNT_WINDOWS ? SS_COUNT_CAUSAL
                                                                             : u->logged_count;
}

double ss_check_predicted(const struct ss_run *run, int told, int count)
{
    const struct ss_summary *u = &run->summary;

    switch (told) {
    case SS_TOLD_SECONDS: return u->iteration_s;
    case SS_TOLD_TOKENS_GPU: return u->tokens_per_s_per_gpu;
    case SS_TOLD_TOKENS: return u->tokens_per_s_per_gpu * u->gpus;
    case SS_TOLD_SAMPLES: return run->plan->job->global_batch / u->iteration_s;
    case SS_TOLD_TFLOPS: return ss_summary_tflops(u, count);
    case SS_TOLD_MFU: return 1e12 * ss_summary_tflops(u, count) / ss_result_peak_flops(run->plan, 1);
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

int ss_check_holds(const struct ss_checked *c, double predicted_s, double seconds)
{
    double scale = predicted_s / c->help.side.summary.iteration_s;

    return seconds >= scale * c->low_s && seconds <= scale * c->high_s;
}
