/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the changes that help a job. All changes that apply are run at the level of the job. The best are
 * run again as `stepsim run` would run them: by flows where closed forms would be far off.
 */
#include "decide/advise.h"

#include "base/base.h"
#include "decide/contrast.h"
#include "study/changes.h"
#include "workers/pool.h"

#define LEAST_GAIN 0.0005 /* share of the time: a smaller gain helps nobody */
#define CONFIRMED 10      /* number of changes that are run again */

struct found {
    int change;      /* number of the table's row */
    char words[200]; /* its words */
    int kind;        /* enum ss_change_kind */
    struct ss_advice advice;
};
/* What became of a change. */
struct trial {
    int status; /* of run_words */
    int runs;
    struct found found; /* words "": it does not apply */
};
struct advisor {
    const struct ss_scenario *base;
    struct ss_run_options quick, whole;
    struct ss_explanation *out;
    struct ss_pair_band pairs;
    struct ss_pool pool; /* the changes of the table as run_change runs them, and once more as `run` would */
    struct ss_crew *crew;
    struct trial *trial; /* [of as many] */
    int *item;
    int *early, nearly; /* changes that will probably be run again, the last one first */
    enum ss_change_aim aim;
    struct ss_changed from; /* the job without changes */
    struct found *found;    /* changes that make the job faster and do not make it too large */
    size_t n;
};

/* Runs a changed job. Returns 1 if it ran and has a side, 0 if it was refused. */
static int run_changed(const struct advisor *a, const struct ss_run_options *how, const struct ss_request *r,
                       struct ss_side *side, struct ss_error *err)
{
    const struct ss_scenario_options like = {.like = a->base};
    struct ss_error why = {0};
    struct ss_scenario *s;
    struct ss_run run;
    int rc = ss_scenario_build(r, &like, &s, &why);

    if (!rc) {
        a->out->runs++;
        rc = ss_run_scenario(s, how, &run, &why);
        if (!rc) {
            ss_side_fill(&run, "changed", side);
            ss_run_free(&run);
        }
        ss_scenario_free(s);
    }
    if (rc == SS_ERR_NOMEM && err)
        *err = why;
    return !rc ? 1 : rc == SS_ERR_NOMEM ? rc : 0;
}

/* Adds words to `from` and runs the job. Returns what run_changed returns. *told gets the words that
 * people write for them. */
static int run_words(const struct advisor *a, const struct ss_run_options *how, const struct ss_changed *from,
                     const char *words, const char *told, struct ss_advice *out, struct ss_error *err)
{
    struct ss_changed c;
    struct ss_side side;
    int rc = ss_change_apply(from, words, &c);

    if (rc)
        return rc == SS_ERR_NOMEM ? ss_fail(err, rc, NULL, 0, "no memory for a changed job") : 0;
    rc = run_changed(a, how, &c.request, &side, err);
    if (rc > 0) {
        ss_change_tell(a->base, &c.asked.job, told, out->change, sizeof out->change);
        out->summary = side.summary;
        ss_sides_judge_by(&a->out->side, &side, &a->pairs, &out->apart);
    }
    ss_request_free(&c.request);
    return rc;
}

static int helps(const struct ss_advice *f, double seconds)
{
    return f->summary.iteration_s < seconds * (1 - LEAST_GAIN);
}

/* Returns 1 if the changed job fits no worse than the job; where the job does not fit, any change does. */
static int fits_as_surely(const struct ss_advice *f, const struct ss_side *job)
{
    return f->summary.outcome == SS_OUTCOME_FITS ||
           (f->summary.outcome == SS_OUTCOME_NEAR_LIMIT && job->summary.outcome != SS_OUTCOME_FITS);
}

/* Runs row `item` of the table; rows behind the last one are all of them once more, as `run` would run them. */
static int run_change(void *ctx, int item, void *answer, struct ss_error *err)
{
    struct advisor *a = ctx;
    struct trial *t = answer;
    int dp = ss_job_dp(&a->from.asked.job, a->base->world_size), runs = a->out->runs;
    int i = item % ss_change_count();
    const struct ss_run_options *how = item < ss_change_count() ? &a->quick : &a->whole;
    struct found *f = &t->found;

    f->change = i;
    f->kind = ss_change_kind(i);
    if (!ss_change_words(i, a->aim, &a->from.asked.job, dp, f->words, sizeof f->words)) {
        f->words[0] = 0; /* a change that does not apply may have written some */
        return SS_OK;
    }
    ss_copy(f->advice.note, sizeof f->advice.note, ss_change_note(i) ? ss_change_note(i) : "");
    t->status = run_words(a, how, &a->from, f->words, f->words, &f->advice, err);
    t->runs = a->out->runs - runs;
    a->out->runs = runs;
    return t->status < 0 ? t->status : SS_OK;
}

/* ---- what workers that would idle begin ---- */

static void on_change(void *ctx, int item, const void *answer)
{
    struct advisor *a = ctx;
    const struct trial *t = answer;
    const struct ss_summary *s = &t->found.advice.summary;
    if (item < ss_change_count() && t->status > 0 && t->found.kind != SS_CHANGE_SPLIT &&
        s->outcome != SS_OUTCOME_TOO_LARGE && helps(&t->found.advice, a->out->side.summary.iteration_s))
        a->early[a->nearly++] = ss_change_count() + item;
}

static int next_early(void *ctx, int worker)
{
    struct advisor *a = ctx;
    (void)worker;
    return a->nearly ? a->early[--a->nearly] : -1;
}

/* Runs n items, and keeps those that help. */
static int run_changes(struct advisor *a, int n, struct ss_error *err)
{
    struct ss_explanation *x = a->out;
    int rc = ss_pool_deal(a->crew, a->item, n, a->trial, err);

    a->n = 0;
    for (int i = 0; i < n && !rc; i++) {
        const struct trial *t = &a->trial[i];
        const struct found *f = &t->found;
        if (!f->words[0])
            continue;
        x->tried += a->item[i] < ss_change_count();
        x->runs += t->runs;
        x->refused += t->status == 0;
        x->too_large += t->status > 0 && f->advice.summary.outcome == SS_OUTCOME_TOO_LARGE;
        if (t->status == 0 || f->advice.summary.outcome == SS_OUTCOME_TOO_LARGE)
            continue;
        x->slower += !helps(&f->advice, x->side.summary.iteration_s);
        if (helps(&f->advice, x->side.summary.iteration_s))
            a->found[a->n++] = *f;
    }
    return rc;
}

static int faster(const void *pa, const void *pb)
{
    const struct ss_advice *a = &((const struct found *)pa)->advice, *b = &((const struct found *)pb)->advice;

    if (a->summary.iteration_s != b->summary.iteration_s)
        return a->summary.iteration_s < b->summary.iteration_s ? -1 : 1;
    return strcmp(a->change, b->change);
}

static void sort(struct advisor *a)
{
    if (a->n > 1)
        qsort(a->found, a->n, sizeof *a->found, faster);
}

/* Keeps one of several splits: the fastest that fits as surely as the job, or else the fastest. */
static void drop_splits(struct advisor *a)
{
    size_t kept = 0, best = a->n;

    for (size_t i = a->n; i-- > 0;)
        if (a->found[i].kind == SS_CHANGE_SPLIT &&
            (best == a->n || !fits_as_surely(&a->found[best].advice, &a->out->side) ||
             fits_as_surely(&a->found[i].advice, &a->out->side)))
            best = i;
    for (size_t i = 0; i < a->n; i++)
        if (a->found[i].kind != SS_CHANGE_SPLIT || i == best)
            a->found[kept++] = a->found[i];
    a->n = kept;
}

/* Runs the best changes again, as `run` would, and drops the changes that no longer help. */
static int confirm(struct advisor *a, struct ss_error *err)
{
    int n = a->n < CONFIRMED ? (int)a->n : CONFIRMED;

    a->nearly = 0;
    for (int i = 0; i < n; i++)
        a->item[i] = ss_change_count() + a->found[i].change;
    int rc = run_changes(a, n, err);
    sort(a);
    return rc;
}

/* Returns 1 if a flag of `words` is also in `before`: one would beat the other. */
static int shares_flag(const char *before, const char *words)
{
    for (const char *p = words; *p; p += strcspn(p, " "), p += *p == ' ') {
        size_t n = strcspn(p, " ");
        for (const char *at = before; !strncmp(p, "--", 2) && (at = strstr(at, "--")) != NULL; at += 2)
            if (!strncmp(at, p, n) && (at[n] == ' ' || !at[n]))
                return 1;
    }
    return 0;
}

/* Adds changes one after the other, and keeps each that still helps and fits as surely as the job. */
static int put_together(struct advisor *a, struct ss_error *err)
{
    struct ss_explanation *x = a->out;
    struct ss_advice all = {.change = ""};
    char words[sizeof all.change] = "";
    double best = x->side.summary.iteration_s;
    int n = 0;

    for (size_t i = 0; i < a->n; i++) {
        const struct found *f = &a->found[i];
        struct ss_advice next = {.change = ""};
        char more[sizeof words];
        if (f->kind == SS_CHANGE_ARITHMETIC || shares_flag(words, f->words) ||
            snprintf(more, sizeof more, "%s%s%s", words, n ? " " : "", f->words) >= (int)sizeof more)
            continue;
        int rc = n ? run_words(a, &a->whole, &a->from, more, more, &next, err) : 1;
        next = n ? next : f->advice; /* that of the first one is known */
        if (rc < 0)
            return rc;
        if (rc == 0 || !helps(&next, best) || !fits_as_surely(&next, &x->side))
            continue;
        best = next.summary.iteration_s;
        all = next;
        ss_copy(words, sizeof words, more);
        n++;
    }
    if (n > 1)
        x->together = all;
    return SS_OK;
}

static int open_crew(struct advisor *a, const struct ss_workers *workers, struct ss_error *err)
{
    const size_t n = (size_t)ss_change_count();

    a->pool = (struct ss_pool){.workers = {.n = workers->n || workers->team ? workers->n : 1,
                                           .team = workers->team,
                                           .stop = workers->stop,
                                           .stop_ctx = workers->stop_ctx},
                               .nitems = 2 * (int)n,
                               .size = sizeof *a->trial,
                               .work = run_change,
                               .ahead = next_early,
                               .on_item = on_change,
                               .ctx = a};
    a->trial = ss_calloc(n, sizeof *a->trial);
    a->item = ss_calloc(n, sizeof *a->item);
    a->early = ss_calloc(n, sizeof *a->early);
    a->found = ss_calloc(n, sizeof *a->found);
    return a->trial && a->item && a->early && a->found ? ss_pool_open(&a->pool, &a->crew, err)
                                                       : ss_nomem(err);
}

static int find_faster(struct advisor *a, const struct ss_workers *workers, struct ss_error *err)
{
    struct ss_explanation *x = a->out;
    int rc = open_crew(a, workers, err);

    for (int i = 0; i < ss_change_count(); i++)
        a->item[i] = i;
    SS_THEN(rc, run_changes(a, ss_change_count(), err));
    sort(a);
    drop_splits(a);
    SS_THEN(rc, confirm(a, err));
    SS_THEN(rc, put_together(a, err));
    for (size_t i = 0; i < a->n && !rc; i++) {
        if (x->nadvice < SS_ADVICE_MOST)
            x->advice[x->nadvice++] = a->found[i].advice;
        if (a->found[i].kind == SS_CHANGE_SPLIT)
            x->split = a->found[i].advice;
    }
    return rc;
}

/* Finds changes that make a job fit. */
static int find_fitting(struct advisor *a, struct ss_error *err)
{
    struct ss_explanation *x = a->out;
    struct ss_fix fixes[3];
    int n, rc = ss_fixes_find(a->base, &a->whole, fixes, &n, err);

    if (!rc)
        ss_smallest_find(a->base, a->whole.cache, &x->smallest);

    for (int i = 0; i < n && !rc; i++) {
        struct ss_advice *f = &x->advice[x->nadvice];
        int ran = run_words(a, &a->whole, &a->from, fixes[i].change, fixes[i].change, f, err);
        ss_copy(f->change, sizeof f->change, fixes[i].change);
        x->nadvice += ran > 0;
        rc = ran < 0 ? ran : SS_OK;
    }
    return rc;
}

int ss_advise(const struct ss_run *run, const struct ss_run_options *options, int aim,
              struct ss_explanation *out, struct ss_error *err)
{
    struct advisor a = {.base = run->scenario, .out = out, .aim = (enum ss_change_aim)aim};

    SS_TRY(ss_side_pairs(&out->side, options->bands, &a.pairs, err));
    SS_TRY(ss_change_start(a.base, &a.from, err));
    a.quick = (struct ss_run_options){.engine = SS_ENGINE_NATIVE,
                                      .unchecked = 1,
                                      .bands = options->bands,
                                      .plan = options->plan,
                                      .level_choice = SS_LEVEL_BLIND};
    a.quick.plan.level = run->result->level;
    a.whole = *options;
    a.whole.open_compute = 0;
    a.whole.unchecked = 1;
    int rc = out->side.summary.outcome == SS_OUTCOME_TOO_LARGE ? find_fitting(&a, err)
                                                               : find_faster(&a, &options->workers, err);
    ss_pool_close(a.crew);
    free(a.found);
    free(a.trial);
    free(a.item);
    free(a.early);
    ss_request_free(&a.from.request);
    return rc;
}
