/* SPDX-License-Identifier: Apache-2.0 */
/* `run` for people: the answer first, then where time and memory go, on one screen; all of it where that is asked for. */
#include "report/text.h"

#include "report/common.h"
#include "report/json.h"
#include "report/premises.h"
#include "stepsim/job.h"

#define BAR_WIDTH 40
#define GUESSED_SHOWN 4
#define NOTES_SHOWN 3

/* Two digits of the spread: what comes behind them changes with the order of equal events. */
static int holding(double spread)
{
    int digits = 1 - (int)floor(log10(spread));

    return digits < 0 ? 0 : digits > 12 ? 12 : digits;
}

const char *ss_text_iteration(const struct ss_result *r, char *buf, size_t size)
{
    const struct ss_sensitivity *s = &r->sensitivity;
    double scale = r->iteration_s >= 1 ? 1 : 1e3;

    if (!s->sensitive)
        return ss_text_time(r->iteration_s, buf, size);
    int digits = holding(scale * (s->high - s->low));
    snprintf(buf, size, "%.*f %s (%.*f .. %.*f: order of equal events decides)", digits,
             scale * r->iteration_s, scale == 1 ? "s" : "ms", digits, scale * s->low, digits,
             scale * s->high);
    return buf;
}

static void packing(const struct ss_plan *plan, FILE *out)
{
    const struct ss_packing_figures *p = &plan->packing;

    if (plan->job->packed.rows)
        fprintf(out, "packed: %.1f documents a row, %.1f %% padding, attention %.3g %% of the full square\n",
                p->documents, 100 * p->padding, 100 * p->attention);
    if (p->sigma > 0)
        fprintf(out, "rows differ: imbalance %.1f ms an iteration (p50 %.1f, p90 %.1f, p99 %.1f)\n",
                1e3 * p->imbalance.mean, 1e3 * p->imbalance.p50, 1e3 * p->imbalance.p90,
                1e3 * p->imbalance.p99);
}

/* `plan` has a table of it instead. */
static void load(const struct ss_plan *plan, FILE *out)
{
    const struct ss_load_figures *l = &plan->load;

    if (!ss_report_shows_load(plan))
        return;
    fprintf(out, "experts: hottest rank %.2f times an even share (p99 %.2f), hottest expert %.2f",
            l->rank.mean, l->rank.p99, l->expert.mean);
    if (ss_report_shows_dropped(l))
        fprintf(out, "; %.2f %% of the copies dropped", 100 * l->dropped);
    fputc('\n', out);
}

void ss_text_job(const struct ss_plan *plan, FILE *out)
{
    const struct ss_job *job = plan->job;
    const struct ss_platform *p = plan->platform;
    char parameters[128], layout[96], precision[32];
    int nodes = plan->world_size / ss_platform_file_gpus(p);

    fprintf(
        out, "%s, %s, %s, on %d node%s of %s: %d x %s\n", job->model.name[0] ? job->model.name : "model",
        ss_report_parameters(&job->model, plan->padded_vocab, " parameters", parameters, sizeof parameters),
        ss_report_precision(job, precision, sizeof precision), nodes, ss_plural(nodes), ss_platform_name(p),
        plan->world_size, ss_platform_card(p)->name);
    if (ss_platform_library_file(p) || strcmp(ss_platform_fabric(p), "NVLink"))
        fprintf(out, "GPUs of a node on %s, collectives of %s\n", ss_platform_fabric(p),
                ss_platform_library(p)->name);
    fprintf(out, "%s, %s", ss_report_layout(plan, layout, sizeof layout), plan->schedule->name);
    if (plan->schedule->chunks > 1)
        fprintf(out, " with %d chunks a rank", plan->schedule->chunks);
    fprintf(out, ", stack %s\nsequence %d, global batch %d: %d microbatch%s of %d\n", plan->stack->name,
            job->seq_length, job->global_batch, plan->microbatches, plan->microbatches == 1 ? "" : "es",
            job->micro_batch);
    packing(plan, out);
}

const char *ss_text_tflops(const struct ss_summary *u, char *buf, size_t size)
{
    int n = snprintf(buf, size, "%.0f TFLOP/s/GPU", u->tflops_logged_per_gpu);

    if (u->logged_by[0])
        snprintf(buf + n, size - (size_t)n, " as %s logs it (%s)", u->logged_by,
                 ss_flop_count_words(u->logged_count));
    return buf;
}

/* Where what kernels compute is less than this share of the MFU, it is told too. */
#define CAUSAL 0.85

double ss_text_causal_mfu(const struct ss_summary *u)
{
    return u->tflops_per_gpu > 0 ? u->mfu_square * u->tflops_windows_per_gpu / u->tflops_per_gpu : 0;
}

int ss_text_is_causal(const struct ss_summary *u)
{
    return ss_text_causal_mfu(u) < CAUSAL * u->mfu;
}

const char *ss_text_mfu(const struct ss_summary *u, int digits, char *buf, size_t size)
{
    int n = snprintf(buf, size, "MFU %.*f %%", digits, 100 * u->mfu);

    if (ss_text_is_causal(u))
        snprintf(buf + n, size - (size_t)n, " (causal %.*f %%)", digits, 100 * ss_text_causal_mfu(u));
    return buf;
}

static void put_time(const struct ss_run *run, const struct ss_report_options *opt, FILE *out)
{
    const struct ss_result *r = run->result;
    char predicted[128], band[32], measured[32];

    fprintf(out, "%s%s an iteration%s", ss_text_iteration(r, predicted, sizeof predicted),
            ss_text_band(&run->summary, band),
            run->plan->job->precision == SS_FP32 ? " in fp32" : ""); /* which is seldom meant */
    if (opt->measured_s > 0)
        fprintf(out, " (measured %s, %+.1f %%%s)", ss_text_time(opt->measured_s, measured, sizeof measured),
                ss_error_pct(r->iteration_s, opt->measured_s),
                ss_is_other_unit(r->iteration_s, opt->measured_s) ? ": is its unit right?" : "");
}

static void put_rate(const struct ss_summary *u, FILE *out)
{
    char tflops[128], mfu[64];

    fprintf(out, "%s, %s", ss_text_tflops(u, tflops, sizeof tflops), ss_text_mfu(u, 0, mfu, sizeof mfu));
}

static void put_fit(const struct ss_run *run, const struct ss_report_options *opt, FILE *out)
{
    const struct ss_display view = {.color = opt->color};
    const struct ss_result *r = run->result;
    const int outcome = run->summary.outcome;

    ss_put_verdict(ss_outcome_word(outcome), &view, out);
    fprintf(out, ": %.1f of %.1f GiB on stage %d", r->peak_device / SS_GIB, r->capacity / SS_GIB,
            r->peak_stage);
    if (outcome == SS_OUTCOME_NEAR_LIMIT && r->peak_device > r->capacity)
        fprintf(out, ", %.1f without what the allocator caches",
                ss_result_least(&r->stages[r->peak_stage]) / SS_GIB);
    if (opt->measured_bytes > 0) {
        int like = ss_result_stage_like(r, opt->measured_bytes);
        fprintf(out, " (measured %.1f, %+.1f %%", opt->measured_bytes / SS_GIB,
                ss_error_pct(r->peak_device, opt->measured_bytes));
        if (like >= 0)
            fprintf(out, "; like stage %d: %.1f, %+.1f %%", like, r->stages[like].device / SS_GIB,
                    ss_error_pct(r->stages[like].device, opt->measured_bytes));
        fputc(')', out);
    }
}

/* Writes the answer in lines of what they tell; with --brief in one. */
static void answer(const struct ss_run *run, const struct ss_report_options *opt, FILE *out)
{
    char premises[SS_PREMISES_SIZE];

    put_time(run, opt, out);
    if (!opt->brief) {
        fputc('\n', out);
        put_fit(run, opt, out);
        fputc('\n', out);
        put_rate(&run->summary, out);
        fputc('\n', out);
        return;
    }
    fputs(", ", out);
    put_rate(&run->summary, out);
    fputs(", ", out);
    put_fit(run, opt, out);
    if (run->scenario)
        fprintf(out, "; %s", ss_report_premises(run->scenario, NULL, premises, sizeof premises));
    if (run->plan->job->model.not_priced[0])
        fprintf(out, "; not priced of the model's config: %s", run->plan->job->model.not_priced);
    fputc('\n', out);
}

static void breakdown(const struct ss_result *r, FILE *out)
{
    const double *part = r->stages[r->critical_stage].breakdown;
    char bar[BAR_WIDTH + 1];

    fprintf(out, "\nWhere the time goes (stage %d, the busiest)\n", r->critical_stage);
    for (int l = 0; l < SS_LABEL_COUNT; l++) {
        double share = r->iteration_s > 0 ? part[l] / r->iteration_s : 0;
        int n = (int)lround(share * BAR_WIDTH);
        if (part[l] <= 0)
            continue;
        n = n < 0 ? 0 : n > BAR_WIDTH ? BAR_WIDTH : n;
        memset(bar, '#', (size_t)n);
        bar[n] = '\0';
        fprintf(out, "  %-15s %11.1f ms %5.1f %%%s%s\n", ss_label_words(l), 1e3 * part[l], 100 * share,
                n ? " " : "", bar);
    }
}

void ss_text_smallest(const struct ss_smallest *s, FILE *out)
{
    if (s && s->gpus == 0)
        fputs("No layout that was tried holds the weights, gradients and optimizer states alone.\n", out);
    if (s && s->gpus > 0)
        fprintf(out,
                "At least %d GPU%s (1, 2, 4, ... were tried) must hold the weights, gradients and "
                "optimizer states, %.1f GiB on each, for example with:\n"
                "  %s\n",
                s->gpus, s->gpus > 1 ? "s" : "", s->bytes / SS_GIB, s->flags);
}

static void misfit(const struct ss_result *r, const struct ss_report_options *opt, FILE *out)
{
    int class = ss_result_largest(r, r->peak_stage);
    char time[32];

    fprintf(out, "\nStage %d needs %.1f GiB more than the card has; most is %s, %.1f GiB.\n", r->peak_stage,
            (r->peak_device - r->capacity) / SS_GIB, ss_mem_name(class),
            r->stages[r->peak_stage].memory[class] / SS_GIB);
    ss_text_smallest(opt->smallest, out);
    if (opt->nfixes == 0) {
        fprintf(out, "No change that was tried, alone or up to three together, makes it fit.\n");
        return;
    }
    fprintf(out, "What makes it fit, fastest first (each was run):\n");
    for (int i = 0; i < opt->nfixes; i++) {
        const struct ss_fix *f = &opt->fixes[i];
        fprintf(out, "  %d. %s\n     %s an iteration (%+.1f %%), %.1f GiB, %s\n", i + 1, f->change,
                ss_text_time(f->summary.iteration_s, time, sizeof time),
                100 * (f->summary.iteration_s / ss_report_undisturbed_s(r) - 1),
                f->summary.peak_device / SS_GIB, ss_outcome_word(f->summary.outcome));
    }
}

static void timers(const struct ss_result *r, FILE *out)
{
    if (r->ntimers == 0)
        return;
    fprintf(out, "\nTimers of the last rank, ms\n");
    for (int i = 0; i < r->ntimers; i++)
        fprintf(out, "  %-34s %11.2f\n", r->timers[i].name, 1e3 * r->timers[i].seconds);
}

/* The link that carries most for its bandwidth: the one that limits, if the network does. */
static void network(const struct ss_run *run, FILE *out)
{
    const struct ss_result *r = run->result;
    const struct ss_link_use *u = r->links;

    if (r->nlinks == 0)
        return;
    fprintf(out, "\nBusiest link: %s", u->link.name);
    if (u->alike > 1)
        fprintf(out, " (and %d alike)", u->alike - 1);
    fprintf(out, "\n  %.1f %% of its bandwidth is used, and it is busy %.1f %% of the time\n",
            100 * u->utilisation, 100 * u->busy);
    if (ss_report_links_partial(run))
        fputs("  not counted: tensor, context and expert traffic (--level layer counts it)\n", out);
}

static void interval(const char *name, struct ss_interval in, FILE *out)
{
    const double ends[] = {in.low, in.high};

    fprintf(out, "%s", name);
    for (int i = 0; i < 2; i++) {
        fputs(i ? " .. " : " ", out);
        if (isnan(ends[i]))
            fputs("?", out);
        else
            fprintf(out, "%.1f", 1e3 * ends[i]);
    }
}

static void spread(const struct ss_spread *s, FILE *out)
{
    if (s->replicas == 0)
        return;
    fprintf(out, "\nJitter of %g, %d iterations, ms: mean %.1f, p5 %.1f, p50 %.1f, p95 %.1f\n", s->sigma,
            s->replicas, 1e3 * s->mean, 1e3 * s->p5, 1e3 * s->p50, 1e3 * s->p95);
    fputs("  with 95 % confidence:", out);
    interval(" mean", s->mean_in, out);
    interval(", p5", s->p5_in, out);
    interval(", p50", s->p50_in, out);
    interval(", p95", s->p95_in, out);
    fprintf(out, "\n  without: %.1f; all else here is of the iteration in the middle\n", 1e3 * s->without);
}

/* A range around what is predicted, in per cent of it, as people say it. */
static void range(double low, double high, FILE *out)
{
    if (low < 0 && high >= 0)
        fprintf(out, "between %.1f %% less and %.1f %% more", -low, high);
    else if (high < 0)
        fprintf(out, "%.1f to %.1f %% less", -high, -low);
    else
        fprintf(out, "%.1f to %.1f %% more", low, high);
}

/* Stacks that could be meant, where that matters. */
static void stacks(const struct ss_run *run, FILE *out)
{
    const struct ss_assumed *a = run->assumed;
    char fast[32], slow[32];

    if (!a || !a->stacks_differ)
        return;
    const struct ss_other_stack *first = &a->stacks[0], *last = &a->stacks[a->nstacks - 1];
    fprintf(out, "stack %s is assumed, and matters: give --stack\n  (by others %s, %s, to %s, %s)\n",
            run->plan->stack->name, ss_text_time(first->iteration_s, fast, sizeof fast), first->name,
            ss_text_time(last->iteration_s, slow, sizeof slow), last->name);
}

/* How far off measured runs like this one were; with `verbose` from which runs that is known. */
static void expect(const struct ss_summary *u, int verbose, FILE *out)
{
    int time = u->band_pct > 0, memory = isfinite(u->memory_low_pct);

    if (time && u->weighed) {
        fputs("time: 90 % of such jobs take ", out);
        range(u->time_low_pct, u->time_high_pct, out);
        fputs(" than this\n", out);
    } else if (time) {
        fprintf(out, "time: 90 %% of such jobs are predicted within %.1f %% of what is measured\n",
                u->band_pct);
    }
    if (time && verbose) {
        fprintf(out, "  (from %s", u->time_like);
        if (u->weighed)
            fprintf(out, "; within %.1f %% if all were given: %d assumption%s may cost the rest", u->band_pct,
                    u->weighed, ss_plural(u->weighed));
        fputs(")\n", out);
    }
    if (memory) {
        fputs("memory: 90 % of such jobs need ", out);
        range(u->memory_low_pct, u->memory_high_pct, out);
        fputs(" than this\n", out);
        if (verbose)
            fprintf(out, "  (from %s)\n", u->memory_like);
    }
    if (!time && u->time_like[0])
        fprintf(out, "no error band%s: %s\n", memory ? " of the time" : "", u->time_like);
}

static void engine(const struct ss_run *run, const struct ss_report_options *opt, FILE *out)
{
    const struct ss_result *r = run->result;

    fprintf(out, "\n%s engine, %s level, %d class%s of ranks, %lld events", ss_engine_name(r->engine),
            ss_level_name(r->level), r->ranks_simulated, r->ranks_simulated == 1 ? "" : "es",
            (long long)r->events);
    if (opt->wall_s >= 0)
        fprintf(out, ", %.0f ms", 1e3 * opt->wall_s);
    fprintf(out, "%s%s\n", run->level_reason[0] ? "\n  of itself: " : "", run->level_reason);
}

/* Writes what no screen has room for, or names it and how to see it. */
static int rest(const struct ss_run *run, const struct ss_report_options *opt,
                const struct ss_notes *warnings, const struct ss_notes *guessed, FILE *out)
{
    const struct ss_result *r = run->result;
    int stages_left = ss_text_stages_left(r, opt), rc = SS_OK;
    struct ss_notes assumed = {0};

    if (opt->verbose) {
        timers(r, out);
        network(run, out);
        ss_text_assumed(opt->request, run->assumed, out);
        ss_text_notes("Warnings", warnings, 20, out);
        ss_text_notes("Numbers that are assumed, or outside the measured range", guessed, GUESSED_SHOWN, out);
        rc = ss_text_ignored(opt, out);
        engine(run, opt, out);
        return rc;
    }
    ss_text_notes("Warnings", warnings, NOTES_SHOWN, out);
    ss_request_list_assumed(opt->request, "", &assumed);
    fputs("\n--verbose also shows ", out);
    if (stages_left)
        fprintf(out, "%d more stage%s, ", stages_left, ss_plural(stages_left));
    if (assumed.n + guessed->n)
        fputs("what was assumed, ", out);
    if (opt->ignored && opt->ignored->n)
        fprintf(out, "%lu flag%s without effect, ", opt->ignored->n, ss_plural(opt->ignored->n));
    fputs("the runs behind both error bands, Megatron's timers, and the busiest link\n", out);
    if (opt->wall_s >= 0)
        fprintf(out, "predicted in %.0f ms\n", 1e3 * opt->wall_s);
    ss_notes_free(&assumed);
    return rc;
}

static int write_text(const struct ss_run *run, const struct ss_report_options *opt, FILE *out,
                      struct ss_error *err)
{
    const struct ss_result *r = run->result;
    struct ss_notes warnings, guessed = {0};

    if (opt->brief) { /* nothing else would say that a part of the model has no price */
        answer(run, opt, out);
        return ss_report_done(out, err);
    }
    int rc = ss_report_warnings(run, opt, &warnings);

    SS_THEN(rc, ss_report_guessed(run, &guessed));
    if (!rc) {
        answer(run, opt, out);
        ss_text_job(run->plan, out);
        load(run->plan, out);
        expect(&run->summary, opt->verbose, out);
        stacks(run, out);
        if (run->summary.usd_per_iteration > 0)
            fprintf(out, "costs %.4g USD an iteration, %.4g USD a million tokens\n",
                    run->summary.usd_per_iteration, run->summary.usd_per_million_tokens);
        if (!r->fits)
            misfit(r, opt, out);
        breakdown(r, out);
        ss_text_parts(run, out);
        if (r->fits || opt->verbose)
            rc = ss_text_stages(r, opt, out);
        SS_THEN(rc, ss_text_memory(r, opt, out));
        spread(&r->spread, out);
    }
    SS_THEN(rc, rest(run, opt, &warnings, &guessed, out));
    ss_notes_free(&warnings);
    ss_notes_free(&guessed);
    return rc ? ss_fail(err, rc, NULL, 0, "no memory for the report") : ss_report_done(out, err);
}

int ss_report_run(const struct ss_run *run, const struct ss_report_options *opt, FILE *out,
                  struct ss_error *err)
{
    static const struct ss_report_options none = {.wall_s = -1};

    opt = opt ? opt : &none;
    return opt->json ? ss_json_run(run, opt, out, err) : write_text(run, opt, out, err);
}
