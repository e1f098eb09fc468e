/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of a run, each computed in one line, and the tables of their names. */
#include "stepsim/summary.h"

#include "base/base.h"
#include "layers/kinds.h"
#include "result/bands.h"
#include "result/build.h"
#include "stepsim/params.h"

SS_NAMES(ss_outcome_word, SS_OUTCOME_LIST, SS_SECOND)
SS_NAMES(ss_flop_count_key, SS_FLOP_COUNT_LIST, SS_SECOND)
SS_NAMES(ss_flop_count_words, SS_FLOP_COUNT_LIST, SS_THIRD)
SS_NAMES(ss_outcome_measured_word, SS_OUTCOME_LIST, SS_THIRD)

static const struct {
    const char *unit;
    double scale;
} kinds[SS_METRIC_KIND_COUNT] = {
#define X(symbol, unit, scale) {unit, scale},
    SS_METRIC_KIND_LIST(X)
#undef X
};

static const struct ss_metric metrics[SS_METRICS] = {
#define X(field, kind, place, key, doc)                                                                      \
    {key, doc, SS_METRIC_##kind, SS_IN_##place, offsetof(struct ss_summary, field)},
    SS_METRIC_LIST(X)
#undef X
};

const struct ss_metric *ss_metric_at(int metric)
{
    return metric >= 0 && metric < SS_METRICS ? &metrics[metric] : NULL;
}

const char *ss_metric_unit(int metric)
{
    return kinds[metrics[metric].kind].unit;
}

static double stored(int metric, const struct ss_summary *s)
{
    double value;

    memcpy(&value, (const char *)s + metrics[metric].offset, sizeof value);
    return value;
}

double ss_metric_value(int metric, const struct ss_summary *s)
{
    return kinds[metrics[metric].kind].scale * stored(metric, s);
}

int ss_metric_known(int metric, const struct ss_summary *s)
{
    return metrics[metric].kind != SS_METRIC_USD || stored(metric, s) > 0;
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

/* Returns what memory may be above the prediction by, per cent, with or without a band. */
static double fill_bands(const struct ss_plan *plan, const struct ss_bands *bands, struct ss_cache *cache,
                         struct ss_summary *out)
{
    struct ss_band time, memory;

    const struct ss_band_job job = {ss_platform_card(plan->platform)->name,
                                    plan->stack->family,
                                    plan->job->model.num_experts,
                                    {plan->world_size, plan->job->seq_length, plan->parameters},
                                    plan->job->unmodelled,
                                    ss_layer_any_other(&plan->job->model)};

    ss_bands_find_kept(cache, bands, &job, &time, &memory);
    if (ss_platform_card(plan->platform)->sheet > 0) {
        time = (struct ss_band){.apart_pct = time.apart_pct};
        snprintf(time.like, sizeof time.like, "all that is known of %.40s is its data sheet", job.card);
    }
    out->band_pct = time.n ? time.pct : NAN;
    out->apart_pct = time.apart_pct > 0 ? time.apart_pct : NAN;
    out->time_low_pct = 100 * (1 / (1 + out->band_pct / 100) - 1);
    out->time_high_pct = out->band_pct < 100 ? 100 * (1 / (1 - out->band_pct / 100) - 1) : NAN;
    out->memory_low_pct = memory.n ? memory.low_pct : NAN;
    out->memory_high_pct = memory.n ? memory.high_pct : NAN;
    ss_copy(out->time_like, sizeof out->time_like, time.like);
    ss_copy(out->memory_like, sizeof out->memory_like, memory.like);
    return memory.high_pct;
}

static double sensitivity_pct(const struct ss_result *r)
{
    const struct ss_sensitivity *s = &r->sensitivity;
    if (!s->known)
        return NAN;
    return s->sensitive ? 100 * ratio(s->high - s->low, r->iteration_s) : 0;
}

/* How much longer than predicted runs took whose allocator frees its cache again and again: the nine of nanotron.csv that had
 * more than 70 of a card's 79 GiB reserved, a band and no fit. At 56 to 68 GiB runs like them took 1.0 to 1.2. */
#define SLOWDOWN "3 to 8 times as long"

static void judge(const struct ss_result *r, double high_pct, struct ss_summary *out)
{
    double most = r->peak_device * (1 + high_pct / 100); /* as far off as the runs like it that took most */
    double spare = 100 * (r->capacity - r->peak_device) / r->capacity;
    char *text = out->reason;
    size_t size = sizeof out->reason;

    if (!r->fits) {
        out->outcome = SS_OUTCOME_TOO_LARGE;
        snprintf(text, size, "stage %d needs %.1f GiB, the card has %.1f", r->peak_stage,
                 r->peak_device / SS_GIB, r->capacity / SS_GIB);
        return;
    }
    out->outcome = r->thrash || most > r->capacity ? SS_OUTCOME_NEAR_LIMIT : SS_OUTCOME_FITS;
    if (r->thrash && spare < 0)
        snprintf(
            text, size,
            "stage %d has room for its tensors, but %.1f %% too little for what the allocator keeps beside "
            "them: it will free and retry, and the run may take " SLOWDOWN " as predicted",
            r->peak_stage, -spare);
    else if (r->thrash)
        snprintf(text, size,
                 "stage %d is within %.1f %% of the card's memory: the allocator will retry and the run "
                 "may take " SLOWDOWN " as predicted",
                 r->peak_stage, spare);
    else if (out->outcome == SS_OUTCOME_NEAR_LIMIT)
        snprintf(text, size,
                 "it may not fit: such jobs take up to %.1f %% more memory than predicted, "
                 "which would be %.1f of %.1f GiB",
                 high_pct, most / SS_GIB, r->capacity / SS_GIB);
}

double ss_summary_tflops(const struct ss_summary *s, int count)
{
    switch (count) {
#define X(symbol, key, words, field)                                                                         \
    case symbol: return s->field;
        SS_FLOP_COUNT_LIST(X)
#undef X
    default: return 0;
    }
}

_Static_assert(SS_LOGS_FULL + 1 == SS_COUNT_FULL && SS_LOGS_HARDWARE + 1 == SS_COUNT_HARDWARE, "one order");

/* Fills the figure of the framework's own log. No framework counts chunks as they are. Where a model has no windows the count is the
 * causal one. */
static void fill_logged(const struct ss_plan *plan, struct ss_summary *out)
{
    const struct ss_stack *stack = plan->stack;

    out->logged_count = stack->log_count + 1;
    if (out->logged_count == SS_COUNT_WINDOWS &&
        (plan->job->model.attention_chunk > 0 || !(plan->model_flops_seen < plan->model_flops_causal)))
        out->logged_count = SS_COUNT_CAUSAL;
    out->tflops_logged_per_gpu = ss_summary_tflops(out, out->logged_count);
    if (stack->log_by != SS_LOG_NONE)
        ss_copy(out->logged_by, sizeof out->logged_by, ss_prop_word(SS_PROP_log_by, stack->log_by));
}

void ss_summary_fill_kept(const struct ss_run *run, const struct ss_bands *bands, struct ss_cache *cache,
                          struct ss_summary *out)
{
    const struct ss_plan *plan = run->plan;
    const struct ss_result *r = run->result;
    const double *spent = r->stages[r->critical_stage].breakdown;
    double gpu_seconds = r->iteration_s * plan->world_size;
    double tokens = (double)plan->job->global_batch * plan->job->seq_length;

    memset(out, 0, sizeof *out);
    out->doubted = run->doubted;
    out->gpus = plan->world_size;
    out->parameters = plan->parameters;
    out->iteration_s = r->iteration_s;
    out->sensitivity_pct = sensitivity_pct(r);
    out->tflops_per_gpu = ratio(plan->model_flops, gpu_seconds) / 1e12;
    out->tflops_causal_per_gpu = ratio(plan->model_flops_causal, gpu_seconds) / 1e12;
    out->tflops_windows_per_gpu = ratio(plan->model_flops_seen, gpu_seconds) / 1e12;
    out->tflops_hardware_per_gpu = ratio(plan->hardware_flops, gpu_seconds) / 1e12;
    fill_logged(plan, out);
    out->mfu = ratio(plan->bounded_flops, gpu_seconds * ss_result_peak_flops(plan, 0));
    out->mfu_square = ratio(plan->model_flops, gpu_seconds * ss_result_peak_flops(plan, 0));
    out->mfu_bf16 = ratio(plan->bounded_flops, gpu_seconds * ss_result_peak_flops(plan, 1));
    out->hfu = ratio(plan->bounded_hardware_flops, gpu_seconds * ss_result_peak_flops(plan, 0));
    out->tokens_per_s_per_gpu = ratio(tokens, gpu_seconds);
    out->padding_fraction = plan->packing.padding;
    out->usd_per_iteration = gpu_seconds / 3600 * ss_platform_card(plan->platform)->price;
    out->usd_per_million_tokens = 1e6 * ratio(out->usd_per_iteration, tokens);
    out->bubble_fraction = ratio(spent[SS_LABEL_BUBBLE], r->iteration_s);
    out->exposed_s = spent[SS_LABEL_PP] + spent[SS_LABEL_DP] + spent[SS_LABEL_TP] + spent[SS_LABEL_CP] +
                     spent[SS_LABEL_EP];
    out->imbalance_fraction = ratio(spent[SS_LABEL_IMBALANCE], r->iteration_s);
    out->spread_fraction = ratio(spent[SS_LABEL_SPREAD], r->iteration_s);
    out->peak_device = r->peak_device;
    out->capacity = r->capacity;
    out->peak_reserved = r->peak_reserved;
    out->peak_allocated = r->peak_allocated;
    if (r->brief)
        out->bubble_fraction = out->imbalance_fraction = out->spread_fraction = NAN;
    judge(r, fill_bands(plan, bands, cache, out), out);
}

void ss_summary_fill(const struct ss_run *run, const struct ss_bands *bands, struct ss_summary *out)
{
    ss_summary_fill_kept(run, bands, NULL, out);
}

void ss_summary_refuse(const struct ss_error *why, struct ss_summary *out)
{
    memset(out, 0, sizeof *out);
    out->outcome = SS_OUTCOME_REFUSED;
    out->code = why->code;
    ss_copy(out->reason, sizeof out->reason, why->message);
}
