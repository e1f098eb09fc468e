/* SPDX-License-Identifier: Apache-2.0 */
/* Fills the sides of a comparison, and judges whether two of them are too close to call. */
#include "stepsim/compare.h"

#include "base/base.h"
#include "decide/contrast.h"
#include "layers/kinds.h"
#include "report/premises.h"
#include "stepsim/compute.h"
#include "stepsim/import.h"
#include "stepsim/job.h"
#include "stepsim/sweep.h"

static void fill_parts(const struct ss_compute *c, int stage, struct ss_side *out)
{
    const struct ss_compute_stage *s = c && stage < c->nstages ? &c->stages[stage] : NULL;

    out->opened = s != NULL;
    for (int p = 0; s && p < SS_PARTS; p++)
        out->part[p] = s->compute[p] + s->recompute[p];
    out->part_rest = s ? s->compute_rest + s->recompute_rest : 0;
}

void ss_side_fill(const struct ss_run *run, const char *name, struct ss_side *out)
{
    const struct ss_result *r = run->result;
    const struct ss_job *job = run->plan->job;
    const struct ss_stage_result *peak = &r->stages[r->peak_stage];

    memset(out, 0, sizeof *out);
    ss_copy(out->name, sizeof out->name, name);
    out->summary = run->summary;
    ss_copy(out->card, sizeof out->card, ss_platform_card(run->plan->platform)->name);
    ss_copy(out->family, sizeof out->family, run->plan->stack->family);
    out->experts = job->model.num_experts;
    out->hybrid = ss_layer_any_other(&job->model);
    out->tokens = (double)job->global_batch * job->seq_length;
    out->critical_stage = r->critical_stage;
    out->peak_stage = r->peak_stage;
    memcpy(out->label, r->stages[r->critical_stage].breakdown, sizeof out->label);
    fill_parts(run->compute, r->critical_stage, out);
    memcpy(out->memory, peak->memory, sizeof out->memory);
    out->memory[SS_MEM_OTHER] += ss_result_beside(peak);
    if (run->scenario)
        ss_report_premises(run->scenario, NULL, out->premises, sizeof out->premises);
}

int ss_side_warn(const struct ss_run *run, struct ss_notes *out, struct ss_error *err)
{
    const struct ss_scenario_options like = {.like = run->scenario};

    if (!run->scenario)
        return SS_OK;
    if (run->summary.outcome == SS_OUTCOME_NEAR_LIMIT && ss_notes_add(out, "%s", run->summary.reason))
        return ss_nomem(err);
    SS_NEED(!ss_notes_add_all(out, &run->plan->warnings), err);
    return ss_warnings_behind(run->scenario->request, "", &like, out, err);
}

void ss_side_refuse(const struct ss_error *why, const char *name, struct ss_side *out)
{
    memset(out, 0, sizeof *out);
    ss_copy(out->name, sizeof out->name, name);
    ss_summary_refuse(why, &out->summary);
}

int ss_sides_count(const struct ss_sides_words *all)
{
    return (all->nfiles ? all->nfiles : 1) + all->nwith;
}

int ss_side_tell(const struct ss_sides_words *all, int i,
                 int (*predict)(void *ctx, int i, const char *name, int n, char *const *words,
                                struct ss_error *err),
                 void *ctx, struct ss_error *err)
{
    char job[] = "--job";
    int nfirst = all->nfiles ? all->nfiles : 1, n = 0;
    const char *with = i >= nfirst ? all->with[i - nfirst] : NULL;
    char *file = all->nfiles ? all->files[with ? 0 : i] : NULL;
    struct ss_request behind;

    ss_request_init(&behind);
    int rc = with ? ss_request_read_text(&behind, with, strlen(with), "--with", err) : SS_OK;
    char **words = rc ? NULL : ss_calloc((size_t)all->nwords + behind.n + 2, sizeof *words);
    if (!rc && !words)
        rc = ss_nomem(err);
    if (!rc && file) {
        words[n++] = job;
        words[n++] = file;
    }
    for (int k = 0; !rc && k < all->nwords; k++)
        words[n++] = all->words[k];
    for (size_t k = 0; !rc && k < behind.n; k++)
        words[n++] = behind.word[k].text;
    SS_THEN(rc, predict(ctx, i, with ? with : file ? file : "the job", n, words, err));
    free(words);
    ss_request_free(&behind);
    return rc;
}

static double speed(const struct ss_side *s)
{
    return s->tokens * (1 - s->summary.padding_fraction) / s->summary.iteration_s;
}

int ss_side_pairs(const struct ss_side *a, const struct ss_bands *bands, struct ss_pair_band *out,
                  struct ss_error *err)
{
    const struct ss_band_job job = {
        .card = a->card, .family = a->family, .experts = a->experts, .hybrid = a->hybrid};
    return ss_bands_pair(bands, &job, out, err);
}

static void judge_pair(const struct ss_pair_band *pair, struct ss_apart *out)
{
    out->least_pct = pair->pairs ? pair->pct : NAN;
    if (pair->pairs)
        snprintf(
            out->why, sizeof out->why,
            "the ratios of 90 %% of %d pairs of measured runs were predicted so well, each pair of one job "
            "(%d sources, %d of them with this card and software)",
            pair->pairs, pair->sources, pair->near_sources);
    else
        snprintf(out->why, sizeof out->why, "there are no pairs of measured runs to tell");
}

/* Returns how far off one side may be in the direction that would undo the difference, in % of what is measured. */
static double off_pct(const struct ss_summary *u, int slower)
{
    return slower ? 100 - 100 / (1 + u->time_high_pct / 100) : 100 / (1 + u->time_low_pct / 100) - 100;
}

static void judge_apart(const struct ss_side *a, const struct ss_side *b, struct ss_apart *out)
{
    int b_slower = speed(b) > speed(a); /* than predicted, and A faster */

    out->least_pct = hypot(off_pct(&a->summary, !b_slower), off_pct(&b->summary, b_slower));
    snprintf(out->why, sizeof out->why,
             "the error bands of both predictions, as of another card or software");
}

void ss_sides_judge_by(const struct ss_side *a, const struct ss_side *b, const struct ss_pair_band *pairs,
                       struct ss_apart *out)
{
    memset(out, 0, sizeof *out);
    out->faster_pct = out->least_pct = NAN;
    if (a->summary.outcome == SS_OUTCOME_REFUSED || b->summary.outcome == SS_OUTCOME_REFUSED) {
        snprintf(out->why, sizeof out->why, "one of them is refused");
        return;
    }
    out->faster_pct = 100 * (speed(b) / speed(a) - 1);
    int alike = !strcmp(a->card, b->card) && !strcmp(a->family, b->family) && !a->experts == !b->experts &&
                a->hybrid == b->hybrid;
    if (alike && isfinite(a->summary.apart_pct) && isfinite(b->summary.apart_pct))
        judge_pair(pairs, out); /* how far both are from measured runs they have in common */
    else if (!isfinite(a->summary.band_pct) || !isfinite(b->summary.band_pct))
        snprintf(out->why, sizeof out->why, "no error band is known for one of them");
    else
        judge_apart(a, b, out);
    if (isfinite(out->least_pct)) /* compared as logarithms, so that the order of the sides does not matter */
        out->apart = fabs(log(speed(b) / speed(a))) > log1p(out->least_pct / 100);
}

int ss_sides_judge(const struct ss_side *a, const struct ss_side *b, const struct ss_bands *bands,
                   struct ss_apart *out, struct ss_error *err)
{
    struct ss_pair_band pairs;
    int rc = ss_side_pairs(a, bands, &pairs, err);
    if (!rc)
        ss_sides_judge_by(a, b, &pairs, out);
    return rc;
}
