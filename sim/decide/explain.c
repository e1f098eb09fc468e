/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time of a job is against an ideal, and which changes help. */
#include "stepsim/explain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "stepsim/compute.h"
#include "study/changes.h"

#define LEAST_GAIN 0.0005 /* of the time: what is less helps nobody */

static const char *const keys[SS_TERMS] = {
#define X(symbol, key, words) key,
    SS_TERM_LIST(X)
#undef X
};
static const char *const texts[SS_TERMS] = {
#define X(symbol, key, words) words,
    SS_TERM_LIST(X)
#undef X
};

const char *ss_term_key(int term)
{
    return term >= 0 && term < SS_TERMS ? keys[term] : "unknown";
}

const char *ss_term_words(int term)
{
    return term >= 0 && term < SS_TERMS ? texts[term] : "unknown";
}

/* ---- terms ---- */

static int is_matmul(int part)
{
    return part == SS_PART_ATTENTION_GEMM || part == SS_PART_MLP_GEMM || part == SS_PART_EXPERT_GEMM ||
           part == SS_PART_ATTENTION || part == SS_PART_LOSS;
}

/* Kernels of the mean stage, s: products, and all others. */
static void mean_kernels(const struct ss_compute *c, double *matmul, double *others)
{
    *matmul = *others = 0;
    for (int s = 0; s < c->nstages; s++)
        for (int p = 0; p < SS_PARTS; p++)
            *(is_matmul(p) ? matmul : others) += c->stages[s].compute[p] / c->nstages;
}

/* The label compute of the critical stage in pieces. Where kernels are not opened all but the ideal is one. */
static void split_compute(const struct ss_run *run, const struct ss_side *side, double *term)
{
    const struct ss_compute *c = run->compute;
    const struct ss_summary *u = &run->summary;
    double compute = side->label[SS_LABEL_COMPUTE], matmul, others;
    double causal = u->tflops_per_gpu > 0 ? u->tflops_causal_per_gpu / u->tflops_per_gpu : 1;

    term[SS_TERM_IDEAL] =
        u->mfu * causal * u->iteration_s; /* half of attention's square, as kernels compute it */
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
    static const int same[][2] = {{SS_TERM_RECOMPUTE, SS_LABEL_RECOMPUTE},
                                  {SS_TERM_OPTIMIZER, SS_LABEL_OPTIMIZER},
                                  {SS_TERM_TP, SS_LABEL_TP},
                                  {SS_TERM_CP, SS_LABEL_CP},
                                  {SS_TERM_EP, SS_LABEL_EP},
                                  {SS_TERM_DP, SS_LABEL_DP},
                                  {SS_TERM_OFFLOAD, SS_LABEL_OFFLOAD},
                                  {SS_TERM_PP, SS_LABEL_PP},
                                  {SS_TERM_BUBBLE, SS_LABEL_BUBBLE},
                                  {SS_TERM_IMBALANCE, SS_LABEL_IMBALANCE},
                                  {SS_TERM_SPREAD, SS_LABEL_SPREAD},
                                  {SS_TERM_OTHER, SS_LABEL_OTHER}};

    memset(term, 0, SS_TERMS * sizeof *term);
    split_compute(run, side, term);
    for (size_t i = 0; i < SS_ARRAY_LEN(same); i++)
        term[same[i][0]] = side->label[same[i][1]];
}

/* ---- changes ---- */

struct advisor {
    const struct ss_scenario *base;
    struct ss_run_options options;
    struct ss_explanation *out;
    const struct ss_bands *bands;
    struct ss_advice *found; /* faster than the job, and not too large */
    size_t n, cap;
};

/* Runs a changed job: 1: it has a side, 0: it is refused. */
static int run_changed(const struct advisor *a, const struct ss_request *r, const char *name,
                       struct ss_side *side, struct ss_error *err)
{
    const struct ss_scenario_options like = {.like = a->base};
    struct ss_error why = {0};
    struct ss_scenario *s;
    struct ss_run run;
    int rc = ss_scenario_build(r, &like, &s, &why);

    if (!rc) {
        rc = ss_run_scenario(s, &a->options, &run, &why);
        if (!rc) {
            ss_side_fill(&run, name, side);
            ss_run_free(&run);
        }
        ss_scenario_free(s);
    }
    if (!rc)
        return 1;
    if (rc == SS_ERR_NOMEM) {
        if (err)
            *err = why;
        return rc;
    }
    return 0;
}

static int helps(const struct ss_side *side, double seconds)
{
    return side->summary.iteration_s < seconds * (1 - LEAST_GAIN);
}

static int keep(struct advisor *a, const char *words, const char *note, const struct ss_side *side,
                struct ss_error *err)
{
    if (ss_grow(&a->found, &a->cap, a->n + 1, sizeof *a->found))
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "no memory for the search of changes");
    struct ss_advice *f = &a->found[a->n++];
    memset(f, 0, sizeof *f);
    ss_copy(f->change, sizeof f->change, words);
    ss_copy(f->note, sizeof f->note, note ? note : "");
    f->summary = side->summary;
    return ss_sides_judge(&a->out->side, side, a->bands, &f->apart, err);
}

static int try_change(struct advisor *a, const struct ss_changed *from, int i, struct ss_error *err)
{
    int dp = a->base->world_size / (from->job.tp * from->job.pp * from->job.cp), rc;
    struct ss_changed c;
    struct ss_side side;
    char words[200];

    if (!ss_change_words(i, SS_CHANGE_FOR_TIME, &from->job, dp, words, sizeof words))
        return SS_OK;
    a->out->tried++;
    rc = ss_change_apply(from, words, &c);
    if (rc)
        return rc == SS_ERR_NOMEM ? rc : (a->out->refused++, SS_OK);
    rc = run_changed(a, &c.request, words, &side, err);
    ss_request_free(&c.request);
    if (rc <= 0) {
        a->out->refused += rc == 0;
        return rc;
    }
    if (side.summary.outcome == SS_OUTCOME_TOO_LARGE)
        a->out->too_large++;
    else if (!helps(&side, a->out->side.summary.iteration_s))
        a->out->slower++;
    else
        return keep(a, words, ss_change_note(i), &side, err);
    return SS_OK;
}

static int faster(const void *pa, const void *pb)
{
    const struct ss_advice *a = pa, *b = pb;

    if (a->summary.iteration_s != b->summary.iteration_s)
        return a->summary.iteration_s < b->summary.iteration_s ? -1 : 1;
    return strcmp(a->change, b->change);
}

/* No verdict is worse than that of the job, where that fits. */
static int fits_as_surely(const struct ss_side *side, const struct ss_side *job)
{
    return side->summary.outcome == SS_OUTCOME_FITS ||
           (side->summary.outcome == SS_OUTCOME_NEAR_LIMIT && job->summary.outcome != SS_OUTCOME_FITS);
}

/* One after the other on top of those that helped, where it still helps and fits as surely as the job. */
static int put_together(struct advisor *a, const struct ss_changed *from, struct ss_error *err)
{
    struct ss_explanation *x = a->out;
    struct ss_advice *all = &x->together;
    double best = x->side.summary.iteration_s;
    struct ss_changed now;
    int n = 0, rc = ss_request_copy(&from->request, &now.request, err);

    if (rc)
        return rc;
    now.job = from->job;
    for (int i = 0; i < x->nadvice && !rc; i++) {
        struct ss_changed next;
        struct ss_side side;
        char words[sizeof all->change];
        if (snprintf(words, sizeof words, "%s%s%s", all->change, n ? " " : "", x->advice[i].change) >=
                (int)sizeof words ||
            x->advice[i].note[0] || ss_change_apply(&now, x->advice[i].change, &next))
            continue;
        int ran = run_changed(a, &next.request, words, &side, err);
        int good = ran > 0 && helps(&side, best) && fits_as_surely(&side, &x->side);
        rc = ran < 0 ? ran : SS_OK;
        ss_request_free(good ? &now.request : &next.request);
        if (!good)
            continue;
        now = next;
        best = side.summary.iteration_s;
        ss_copy(all->change, sizeof all->change, words);
        all->summary = side.summary;
        rc = ss_sides_judge(&x->side, &side, a->bands, &all->apart, err);
        n++;
    }
    ss_request_free(&now.request);
    if (n < 2)
        memset(all, 0, sizeof *all);
    return rc;
}

static int advise(struct advisor *a, struct ss_error *err)
{
    struct ss_explanation *x = a->out;
    struct ss_changed from;
    int rc = ss_change_start(a->base, &from, err);

    if (rc)
        return rc;
    for (int i = 0; i < ss_change_count() && !rc; i++)
        rc = try_change(a, &from, i, err);
    if (a->n > 1)
        qsort(a->found, a->n, sizeof *a->found, faster);
    for (size_t i = 0; i < a->n && x->nadvice < SS_ADVICE_MOST && !rc; i++)
        x->advice[x->nadvice++] = a->found[i];
    if (!rc)
        rc = put_together(a, &from, err);
    free(a->found);
    ss_request_free(&from.request);
    return rc;
}

int ss_explain(const struct ss_run *run, const struct ss_run_options *options, struct ss_explanation *out,
               struct ss_error *err)
{
    struct advisor a = {.base = run->scenario, .out = out, .bands = options ? options->bands : NULL};

    memset(out, 0, sizeof *out);
    ss_side_fill(run, "the job", &out->side);
    fill_terms(run, &out->side, out->term);
    out->longest_stage = run->compute && run->compute->nstages > 1 ? run->compute->longest : -1;
    out->longer = run->compute ? run->compute->longer : 0;
    a.options = (struct ss_run_options){.engine = SS_ENGINE_NATIVE, .unchecked = 1, .bands = a.bands};
    if (options)
        a.options.plan = options->plan;
    a.options.plan.level = run->result->level;
    a.options.level_choice = SS_LEVEL_BLIND;
    int rc = ss_elasticities_find(run->scenario, &a.options, out->elasticity, err);
    return rc ? rc : advise(&a, err);
}
