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
/* What became of a change, or of the job without one. */
struct trial {
    int status; /* of run_words */
    int runs;
    struct found found;
    struct ss_side side;
    int level; /* of the job without changes */
    struct ss_pair_band pairs;
};
struct ss_advisor {
    const struct ss_scenario *base;
    struct ss_run_options quick, whole;
    struct ss_explanation *out;
    struct ss_pair_band pairs;
    struct ss_pool pool; /* the items of enum item */
    struct ss_crew *crew;
    int *row, nrows;     /* rows of the table that apply */
    struct trial *trial; /* [rows of the table] */
    int *item;
    int *early, nearly;   /* items that will probably be asked for, the last one first */
    int tried;            /* rows that were run at the level of the job */
    struct found best[2]; /* of these the two fastest that may be put together; words "": none */
    enum ss_change_aim aim;
    int level;              /* of the job without changes; -1: not known yet */
    int alone;              /* 1: nobody else has run that job */
    struct ss_changed from; /* the job without changes */
    struct found *found;    /* changes that make the job faster and do not make it too large */
    size_t n;
};

/* Items of the crew: rows of the table at the level that was asked for, or by flows; once more as `run` would run them; the job without a
 * change; and two rows together. */
static int by_flows(int row)
{
    return ss_change_count() + row;
}

static int whole_of(int row)
{
    return 2 * ss_change_count() + row;
}

static int base_item(void)
{
    return 3 * ss_change_count();
}

static int pair_of(int row, int other)
{
    return base_item() + 1 + row * ss_change_count() + other;
}

/* Runs a changed job. Returns 1 if it ran and has a side, 0 if it was refused. */
static int run_changed(const struct ss_advisor *a, const struct ss_run_options *how,
                       const struct ss_request *r, struct ss_side *side, struct ss_error *err)
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
static int run_words(const struct ss_advisor *a, const struct ss_run_options *how,
                     const struct ss_changed *from, const char *words, const char *told,
                     struct ss_advice *out, struct ss_side *side, struct ss_error *err)
{
    struct ss_changed c;
    int rc = ss_change_apply(from, words, &c);

    if (rc)
        return rc == SS_ERR_NOMEM ? ss_fail(err, rc, NULL, 0, "no memory for a changed job") : 0;
    rc = run_changed(a, how, &c.request, side, err);
    if (rc > 0) {
        ss_change_tell(a->base, &c.asked.job, told, out->change, sizeof out->change);
        out->summary = side->summary;
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

/* Judges what run_words told, where the job without changes is known. */
static void judge(const struct ss_advisor *a, const struct ss_side *side, struct ss_advice *out)
{
    ss_sides_judge_by(&a->out->side, side, &a->pairs, &out->apart);
}

/* Writes the words of a row. Returns 0 where the row does not apply. */
static int row_words(const struct ss_advisor *a, int row, char *words, size_t size)
{
    const struct ss_job *job = &a->from.asked.job;
    return ss_change_words(row, a->aim, job, ss_job_dp(job, a->base->world_size), words, size);
}

/* Runs the job without a change, as `run` would. */
static int run_base(const struct ss_advisor *a, struct trial *t, struct ss_error *err)
{
    struct ss_run run;
    SS_TRY(ss_run_scenario(a->base, &a->whole, &run, err));
    ss_side_fill(&run, a->out->side.name, &t->side);
    t->level = run.result->level;
    ss_run_free(&run);
    return ss_side_pairs(&t->side, a->whole.bands, &t->pairs, err);
}

static int run_item(void *ctx, int item, void *answer, struct ss_error *err)
{
    struct ss_advisor *a = ctx;
    struct trial *t = answer;
    int rows = ss_change_count(), runs = a->out->runs, pair = item - base_item() - 1;
    int row = pair < 0 ? item % rows : pair / rows;
    struct ss_run_options how = pair >= 0 || item >= whole_of(0) ? a->whole : a->quick;
    struct found *f = &t->found;
    char words[2 * sizeof f->words];
    if (pair == -1)
        return run_base(a, t, err);
    how.plan.level = item >= by_flows(0) && item < whole_of(0) ? SS_LEVEL_FLOW : how.plan.level;
    f->change = row;
    f->kind = ss_change_kind(row);
    row_words(a, row, f->words, sizeof f->words);
    int used = snprintf(words, sizeof words, "%s ", f->words);
    if (pair < 0 || !row_words(a, pair % rows, words + used, sizeof words - (size_t)used))
        words[used - 1] = 0;
    ss_copy(f->advice.note, sizeof f->advice.note, ss_change_note(row) ? ss_change_note(row) : "");
    t->status = run_words(a, &how, &a->from, words, words, &f->advice, &t->side, err);
    t->runs = a->out->runs - runs;
    a->out->runs = runs;
    return t->status < 0 ? t->status : SS_OK;
}

/* ---- what workers that would idle begin ---- */

static int faster(const void *pa, const void *pb)
{
    const struct ss_advice *a = &((const struct found *)pa)->advice, *b = &((const struct found *)pb)->advice;

    if (a->summary.iteration_s != b->summary.iteration_s)
        return a->summary.iteration_s < b->summary.iteration_s ? -1 : 1;
    return strcmp(a->change, b->change);
}

/* Keeps a change if it is one of the two fastest that may be put together. */
static void see(struct ss_advisor *a, const struct found *f)
{
    for (int i = 0; i < 2; i++)
        if (!a->best[i].words[0] || faster(f, &a->best[i]) < 0) {
            a->best[1] = i ? a->best[1] : a->best[0];
            a->best[i] = *f;
            return;
        }
}

/* Returns whether the job went to another level by itself, as far as is known. */
static int is_by_flows(const struct ss_advisor *a)
{
    return a->level >= 0 && a->level != a->quick.plan.level;
}

/* Lists all changes at one level, whose items begin with `first`. */
static void begin_all(struct ss_advisor *a, int first)
{
    a->nearly = a->tried = a->best[0].words[0] = a->best[1].words[0] = 0;
    for (int i = a->nrows; i-- > 0;)
        a->early[a->nearly++] = first + a->row[i];
}

/* A change that helps is likely to be run as `run` would, and when all were tried the two fastest together. */
static void on_item(void *ctx, int item, const void *answer)
{
    struct ss_advisor *a = ctx;
    const struct trial *t = answer;
    const struct found *f = &t->found;
    if (item == base_item()) {
        a->level = t->level;
        if (is_by_flows(a))
            begin_all(a, by_flows(0));
    }
    if (item >= whole_of(0) || (item >= by_flows(0)) != is_by_flows(a))
        return;
    if (t->status > 0 && f->kind != SS_CHANGE_SPLIT && f->advice.summary.outcome != SS_OUTCOME_TOO_LARGE &&
        helps(&f->advice, a->out->side.summary.iteration_s)) {
        a->early[a->nearly++] = whole_of(f->change);
        if (f->kind != SS_CHANGE_ARITHMETIC)
            see(a, f);
    }
    if (++a->tried < a->nrows || !a->best[1].words[0] ||
        ss_change_shares_flag(a->best[0].words, a->best[1].words))
        return;
    memmove(a->early + 1, a->early, (size_t)a->nearly++ * sizeof *a->early);
    a->early[0] = pair_of(a->best[0].change, a->best[1].change);
}

static int next_early(void *ctx, int worker)
{
    struct ss_advisor *a = ctx;
    (void)worker;
    return a->nearly ? a->early[--a->nearly] : -1;
}

/* Runs n items, and keeps those that help. */
static int run_changes(struct ss_advisor *a, int n, struct ss_error *err)
{
    struct ss_explanation *x = a->out;
    int rc = ss_pool_deal(a->crew, a->item, n, a->trial, err);

    a->n = 0;
    for (int i = 0; i < n && !rc; i++) {
        struct trial *t = &a->trial[i];
        struct found *f = &t->found;
        x->tried += a->item[i] < whole_of(0);
        x->runs += t->runs;
        x->refused += t->status == 0;
        x->too_large += t->status > 0 && f->advice.summary.outcome == SS_OUTCOME_TOO_LARGE;
        if (t->status == 0 || f->advice.summary.outcome == SS_OUTCOME_TOO_LARGE)
            continue;
        judge(a, &t->side, &f->advice);
        x->slower += !helps(&f->advice, x->side.summary.iteration_s);
        if (helps(&f->advice, x->side.summary.iteration_s))
            a->found[a->n++] = *f;
    }
    return rc;
}

static void sort(struct ss_advisor *a)
{
    if (a->n > 1)
        qsort(a->found, a->n, sizeof *a->found, faster);
}

/* Keeps one of several splits: the fastest that fits as surely as the job, or else the fastest. */
static void drop_splits(struct ss_advisor *a)
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
static int confirm(struct ss_advisor *a, struct ss_error *err)
{
    int n = a->n < CONFIRMED ? (int)a->n : CONFIRMED;

    a->nearly = 0;
    for (int i = 0; i < n; i++)
        a->item[i] = whole_of(a->found[i].change);
    int rc = run_changes(a, n, err);
    sort(a);
    return rc;
}

/* Runs the first n of the kept changes and one more together, whose words are `more`. Returns what run_words returns. */
static int run_together(struct ss_advisor *a, int n, int first, int row, const char *more,
                        struct ss_advice *out, struct ss_error *err)
{
    struct trial *t = a->trial;
    int status;
    if (n > 1) {
        status = run_words(a, &a->whole, &a->from, more, more, out, &t->side, err);
    } else { /* two of them a worker may have begun */
        int item = pair_of(first, row);
        SS_TRY(ss_pool_deal(a->crew, &item, 1, t, err));
        status = t->status;
        a->out->runs += t->runs;
        *out = t->found.advice;
        out->note[0] = 0;
    }
    if (status > 0)
        judge(a, &t->side, out);
    return status;
}

/* Adds changes one after the other, and keeps each that still helps and fits as surely as the job. */
static int put_together(struct ss_advisor *a, struct ss_error *err)
{
    struct ss_explanation *x = a->out;
    struct ss_advice all = {.change = ""};
    char words[sizeof all.change] = "";
    double best = x->side.summary.iteration_s;
    int n = 0, first = 0;

    for (size_t i = 0; i < a->n; i++) {
        const struct found *f = &a->found[i];
        struct ss_advice next = {.change = ""};
        char more[sizeof words];
        if (f->kind == SS_CHANGE_ARITHMETIC || ss_change_shares_flag(words, f->words) ||
            snprintf(more, sizeof more, "%s%s%s", words, n ? " " : "", f->words) >= (int)sizeof more)
            continue;
        int rc = n ? run_together(a, n, first, f->change, more, &next, err) : 1;
        next = n ? next : f->advice; /* that of the first one is known */
        if (rc < 0)
            return rc;
        if (rc == 0 || !helps(&next, best) || !fits_as_surely(&next, &x->side))
            continue;
        best = next.summary.iteration_s;
        all = next;
        ss_copy(words, sizeof words, more);
        first = n ? first : f->change;
        n++;
    }
    if (n > 1)
        x->together = all;
    return SS_OK;
}

static int open_crew(struct ss_advisor *a, const struct ss_workers *workers, struct ss_error *err)
{
    const size_t n = (size_t)ss_change_count();
    char words[sizeof a->found->words];
    a->pool = (struct ss_pool){.workers = {.n = workers->n || workers->team ? workers->n : 1,
                                           .team = workers->team,
                                           .stop = workers->stop,
                                           .stop_ctx = workers->stop_ctx},
                               .nitems = pair_of((int)n, 0),
                               .size = sizeof *a->trial,
                               .work = run_item,
                               .ahead = next_early,
                               .on_item = on_item,
                               .ctx = a};
    a->row = ss_calloc(n, sizeof *a->row);
    a->trial = ss_calloc(n, sizeof *a->trial);
    a->item = ss_calloc(n, sizeof *a->item);
    a->early = ss_calloc(2 * n + 2, sizeof *a->early);
    a->found = ss_calloc(n, sizeof *a->found);
    SS_NEED(a->row && a->trial && a->item && a->early && a->found, err);
    for (int i = 0; i < (int)n; i++)
        if (row_words(a, i, words, sizeof words))
            a->row[a->nrows++] = i;
    if (a->alone) {
        begin_all(a, 0);
        a->early[a->nearly++] = base_item();
    }
    return ss_pool_open(&a->pool, &a->crew, err);
}

/* Runs the job without changes, beside which workers begin the changes as if it stayed at the level that was asked for. */
static int find_base(struct ss_advisor *a, struct ss_error *err)
{
    int item = base_item();
    SS_TRY(ss_pool_deal(a->crew, &item, 1, a->trial, err));
    a->out->side = a->trial->side;
    a->pairs = a->trial->pairs;
    a->level = a->trial->level;
    return SS_OK;
}

static int find_faster(struct ss_advisor *a, struct ss_error *err)
{
    struct ss_explanation *x = a->out;
    int rc;
    for (int i = 0; i < a->nrows; i++)
        a->item[i] = is_by_flows(a) ? by_flows(a->row[i]) : a->row[i];
    rc = run_changes(a, a->nrows, err);
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
static int find_fitting(struct ss_advisor *a, struct ss_error *err)
{
    struct ss_explanation *x = a->out;
    struct ss_fix fixes[3];
    int n, rc = ss_fixes_find(a->base, &a->whole, fixes, &n, err);

    if (!rc)
        ss_smallest_find(a->base, a->whole.cache, &x->smallest);
    for (int i = 0; i < n && !rc; i++) {
        struct ss_advice *f = &x->advice[x->nadvice];
        struct ss_side side;
        int ran = run_words(a, &a->whole, &a->from, fixes[i].change, fixes[i].change, f, &side, err);
        if (ran > 0)
            judge(a, &side, f);
        ss_copy(f->change, sizeof f->change, fixes[i].change);
        x->nadvice += ran > 0;
        rc = ran < 0 ? ran : SS_OK;
    }
    return rc;
}

int ss_advisor_open(const struct ss_scenario *base, int level, const struct ss_run_options *options, int aim,
                    struct ss_explanation *out, struct ss_advisor **advisor, struct ss_error *err)
{
    struct ss_advisor *a = ss_calloc(1, sizeof *a);
    SS_NEED(a, err);
    *a = (struct ss_advisor){
        .base = base, .out = out, .aim = (enum ss_change_aim)aim, .level = level, .alone = level < 0};
    int rc = level < 0 ? SS_OK : ss_side_pairs(&out->side, options->bands, &a->pairs, err);
    SS_THEN(rc, ss_change_start(a->base, &a->from, err));
    a->quick = (struct ss_run_options){.engine = SS_ENGINE_NATIVE,
                                       .unchecked = 1,
                                       .bands = options->bands,
                                       .plan = options->plan,
                                       .level_choice = SS_LEVEL_BLIND};
    a->whole = *options;
    a->whole.open_compute = 0;
    a->whole.unchecked = 1;
    SS_THEN(rc, open_crew(a, &options->workers, err));
    if (rc)
        ss_advisor_close(a);
    else
        *advisor = a;
    return rc;
}

struct ss_crew *ss_advisor_crew(const struct ss_advisor *a)
{
    return a->crew;
}

int ss_advisor_run(struct ss_advisor *a, struct ss_error *err)
{
    int rc = a->alone ? find_base(a, err) : SS_OK;
    return rc                                                     ? rc
           : a->out->side.summary.outcome == SS_OUTCOME_TOO_LARGE ? find_fitting(a, err)
                                                                  : find_faster(a, err);
}

void ss_advisor_close(struct ss_advisor *a)
{
    if (!a)
        return;
    ss_pool_close(a->crew);
    free(a->row);
    free(a->found);
    free(a->trial);
    free(a->item);
    free(a->early);
    ss_request_free(&a->from.request);
    free(a);
}
