/* SPDX-License-Identifier: Apache-2.0 */
/* Tells where the time of a job goes, compared with an ideal, and which changes help. */
#include "stepsim/explain.h"

#include "base/base.h"
#include "decide/advise.h"
#include "report/text.h"
#include "stepsim/compute.h"
#include "study/changes.h"

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
    return rc ? rc : ss_advise(run, options, SS_CHANGE_FOR_TIME, out, err);
}
