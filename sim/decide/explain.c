/* SPDX-License-Identifier: Apache-2.0 */
/* Tells where the time of a job goes, compared with an ideal, and which changes help. */
#include "stepsim/explain.h"
#include "base/base.h"
#include "decide/advise.h"
#include "decide/card.h"
#include "report/palette.h"
#include "report/text.h"
#include "stepsim/compute.h"
#include "study/changes.h"

#define STEP 0.01

SS_NAMES(ss_elasticity_name, SS_ELASTICITY_LIST, SS_SECOND)
SS_NAMES(ss_elasticity_words, SS_ELASTICITY_LIST, SS_THIRD)

/* Predicts the seconds of an iteration with a number multiplied by `factor`; NaN where there is nothing
 * to multiply. */
static int predict(const struct ss_scenario *s, const struct ss_run_options *options, const char *name,
                   double factor, double *seconds, struct ss_error *err)
{
    const struct ss_scenario_options like = {.like = s};
    struct ss_scenario *scaled = NULL;
    struct ss_error why = {0};
    struct ss_request r;
    struct ss_run run;
    char text[64];
    int rc = ss_request_copy(s->request, &r, err);

    *seconds = NAN;
    if (rc)
        return rc;
    snprintf(text, sizeof text, "%s=%.4fx", name, factor);
    rc = ss_request_set(&r, "--scale", text, err);
    int built = rc ? rc : ss_scenario_build(&r, &like, &scaled, &why);
    ss_request_free(&r);
    if (rc || built)
        return rc ? rc : built == SS_ERR_NOMEM ? built : SS_OK;
    rc = ss_run_scenario(scaled, options, &run, err);
    if (!rc) {
        *seconds = run.result->iteration_s;
        ss_run_free(&run);
    }
    ss_scenario_free(scaled);
    return rc;
}

int ss_elasticities_find(const struct ss_scenario *s, const struct ss_run_options *options,
                         double percent[SS_ELASTICITIES], struct ss_error *err)
{
    struct ss_run_options native = {
        .engine = SS_ENGINE_NATIVE, .unchecked = 1, .level_choice = SS_LEVEL_BLIND};
    int rc = SS_OK;

    if (options)
        native.plan = options->plan;
    for (int e = 0; e < SS_ELASTICITIES && !rc; e++) {
        double less = NAN, more = NAN;
        rc = predict(s, &native, ss_elasticity_name(e), 1 - STEP, &less, err);
        SS_THEN(rc, predict(s, &native, ss_elasticity_name(e), 1 + STEP, &more, err));
        percent[e] = (more - less) / (more + less) / STEP; /* per cent over per cent */
    }
    return rc;
}

/* ---- the explanation ---- */

SS_NAMES(ss_term_key, SS_TERM_LIST, SS_SECOND)

const char *ss_term_words(int term)
{
    static const char *const words[] = {SS_TERM_LIST(SS_THIRD)};

    if (term < 0 || term >= SS_TERMS)
        return "unknown";
    return words[term] ? words[term] : ss_label_words(term - SS_TERM_RECOMPUTE + SS_LABEL_RECOMPUTE);
}

_Static_assert(SS_TERMS - SS_TERM_RECOMPUTE == SS_LABEL_COUNT - SS_LABEL_RECOMPUTE, "terms end with labels");

static int is_matmul(int part)
{
    return part == SS_PART_ATTENTION_GEMM || part == SS_PART_MLP_GEMM || part == SS_PART_EXPERT_GEMM ||
           part == SS_PART_ATTENTION || part == SS_PART_LOSS;
}

/* Computes the seconds of kernels of the mean stage: of matrix products, and of all others. */
static void mean_kernels(const struct ss_compute *c, double *matmul, double *others)
{
    *matmul = *others = 0;
    for (int s = 0; s < c->nstages; s++)
        for (int p = 0; p < SS_PARTS; p++)
            *(is_matmul(p) ? matmul : others) += c->stages[s].compute[p] / c->nstages;
}

/* Divides the label compute of the critical stage. Where the kernels are not known, all but the ideal is
 * one piece. */
static void split_compute(const struct ss_run *run, const struct ss_side *side, double *term)
{
    const struct ss_compute *c = run->compute;
    const struct ss_summary *u = &run->summary;
    double compute = side->label[SS_LABEL_COMPUTE], matmul, others;

    term[SS_TERM_IDEAL] = ss_text_causal_mfu(u) * u->iteration_s;
    if (!c) {
        term[SS_TERM_BELOW_PEAK] = compute - term[SS_TERM_IDEAL];
        return;
    }
    mean_kernels(c, &matmul, &others);
    term[SS_TERM_BELOW_PEAK] = matmul - term[SS_TERM_IDEAL];
    term[SS_TERM_MEMORY_BOUND] = others;
    term[SS_TERM_BESIDE] = c->stages[side->critical_stage].compute_rest;
    term[SS_TERM_UNEQUAL] = compute - term[SS_TERM_BESIDE] - matmul - others;
}

static void fill_terms(const struct ss_run *run, const struct ss_side *side, double *term)
{
    memset(term, 0, SS_TERMS * sizeof *term);
    split_compute(run, side, term);
    for (int l = SS_LABEL_RECOMPUTE; l < SS_LABEL_COUNT; l++) /* the last terms are these labels */
        term[SS_TERM_RECOMPUTE + l - SS_LABEL_RECOMPUTE] = side->label[l];
}

int ss_explain_terms(const struct ss_run *run, struct ss_explanation *out)
{
    memset(out, 0, sizeof *out);
    ss_side_fill(run, "the job", &out->side);
    fill_terms(run, &out->side, out->term);
    out->longest_stage = run->compute && run->compute->nstages > 1 ? run->compute->longest : -1;
    out->longer = run->compute ? run->compute->longer : 0;
    return SS_OK;
}

int ss_advise(const struct ss_scenario *base, int level, const struct ss_run_options *options, int aim,
              struct ss_explanation *out, struct ss_error *err)
{
    struct ss_advisor *a;
    SS_TRY(ss_advisor_open(base, level, options, aim, out, &a, err));
    int rc = ss_advisor_run(a, err);
    ss_advisor_close(a);
    return rc;
}

int ss_explain(const struct ss_run *run, const struct ss_run_options *options, struct ss_explanation *out,
               struct ss_error *err)
{
    static const struct ss_run_options usual = {.engine = SS_ENGINE_NATIVE};

    options = options ? options : &usual;
    ss_explain_terms(run, out);

    struct ss_run_options quick = {
        .engine = SS_ENGINE_NATIVE, .plan = options->plan, .unchecked = 1, .level_choice = SS_LEVEL_BLIND};
    quick.plan.level = run->result->level;
    int rc = ss_elasticities_find(run->scenario, &quick, out->elasticity, err);
    for (int e = 0; e < SS_ELASTICITIES; e++)
        out->runs += isnan(out->elasticity[e]) ? 0 : 2;
    return rc ? rc : ss_advise(run->scenario, run->result->level, options, SS_CHANGE_FOR_TIME, out, err);
}

/* ---- the card ---- */

int ss_term_tone(int term)
{
    return term == SS_TERM_IDEAL       ? SS_TONE_IDEAL
           : term <= SS_TERM_OPTIMIZER ? SS_TONE_KERNELS
           : term <= SS_TERM_PP        ? SS_TONE_COMMUNICATION
           : term <= SS_TERM_SPREAD    ? SS_TONE_WAITS
                                       : SS_TONE_HOST;
}

static void add_change(const struct ss_advice *a, struct ss_card_steps *out)
{
    if (out->nchanges == SS_CARD_CHANGES)
        return;
    ss_copy(out->change[out->nchanges].words, sizeof out->change[0].words, a->change);
    out->change[out->nchanges].seconds = a->summary.iteration_s;
    out->change[out->nchanges++].outcome = a->summary.outcome;
}

void ss_explanation_card(const struct ss_explanation *x, const struct ss_run *run, struct ss_card_steps *out)
{
    const struct ss_advice *all = x->together.change[0] ? &x->together : NULL;

    out->n = 0;
    out->nchanges = 0;
    out->stage = x->side.critical_stage;
    out->of = out->of > 1 ? out->of : 1;
    if (!(out->longest >= run->summary.iteration_s))
        out->longest = run->summary.iteration_s;
    for (int t = 0; t < SS_TERMS; t++) {
        if (x->term[t] == 0)
            continue;
        ss_copy(out->step[out->n].words, sizeof out->step[0].words, ss_term_words(t));
        out->step[out->n].seconds = x->term[t];
        out->step[out->n++].tone = ss_term_tone(t);
    }
    if (x->side.summary.outcome == SS_OUTCOME_TOO_LARGE)
        return; /* its changes make it fit, and none makes it faster */
    /* First what surely fits and is fastest, then the fastest of all. */
    for (int i = 0; i < x->nadvice && !all; i++)
        if (x->advice[i].summary.outcome == SS_OUTCOME_FITS)
            all = &x->advice[i];
    if (all)
        add_change(all, out);
    if (x->nadvice && &x->advice[0] != all)
        add_change(&x->advice[0], out);
}
