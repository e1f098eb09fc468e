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
#define SEEN 3            /* the fastest of them, which are run together before that is asked for */
#define MOST 4            /* changes of a set that workers run */

struct found {
    int change;      /* number of the table's row */
    char words[200]; /* its words */
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
    int *early, nearly;      /* items that will probably be asked for, the last one first */
    int tried;               /* rows that were run at the level of the job */
    struct found best[SEEN]; /* of these the fastest that may be put together; words "": none */
    enum ss_change_aim aim;
    int level;              /* of the job without changes; -1: not known yet */
    int alone;              /* 1: nobody else has run that job */
    struct ss_changed from; /* the job without changes */
    struct found *found;    /* changes that make the job faster and do not make it too large */
    size_t n;
};

/* Items of the crew: rows of the table at the level that was asked for, or by flows; and sets of rows as `run` would run them: the job
 * without a change, one row, and up to MOST together. */
static int by_flows(int row)
{
    return ss_change_count() + row;
}

/* Returns the item of no change. */
static int base_item(void)
{
    return 2 * ss_change_count();
}

/* Returns the item of the rows of a set and another one. */
static int with_row(int set, int row)
{
    return base_item() + (set - base_item()) * (ss_change_count() + 1) + row + 1;
}

static int whole_of(int row)
{
    return with_row(base_item(), row);
}

/* Adds words to those of the job and runs it. Returns 1 if it ran and has a side, 0 if it was refused. */
static int run_words(const struct ss_advisor *a, const struct ss_run_options *how, const char *words,
                     struct ss_advice *out, struct ss_side *side, struct ss_error *err)
{
    const struct ss_scenario_options like = {.like = a->base};
    struct ss_error why = {0};
    struct ss_scenario *s;
    struct ss_changed c;
    struct ss_run run;
    int rc = ss_change_apply(&a->from, words, &c);

    if (rc)
        return rc == SS_ERR_NOMEM ? ss_nomem(err) : 0;
    rc = ss_scenario_build(&c.request, &like, &s, &why);
    if (!rc) {
        a->out->runs++;
        rc = ss_run_scenario(s, how, &run, &why);
        if (!rc) {
            ss_side_fill(&run, "changed", side);
            ss_run_free(&run);
            ss_change_tell(a->base, &c.asked.job, words, out->change, sizeof out->change);
            out->summary = side->summary;
        }
        ss_scenario_free(s);
    }
    ss_request_free(&c.request);
    if (rc == SS_ERR_NOMEM && err)
        *err = why;
    return !rc ? 1 : rc == SS_ERR_NOMEM ? rc : 0;
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
    const int rows = ss_change_count(), runs = a->out->runs, whole = item >= base_item();
    struct ss_run_options how = whole ? a->whole : a->quick;
    struct found *f = &t->found;
    char words[MOST * sizeof f->words] = "";
    if (item == base_item())
        return run_base(a, t, err);
    int set = whole ? item - base_item() : item % rows + 1, unit = 1;
    while (set / unit > rows)
        unit *= rows + 1;
    for (; unit; unit /= rows + 1) {
        f->change = set / unit % (rows + 1) - 1;
        row_words(a, f->change, f->words, sizeof f->words);
        ss_append(words, sizeof words, "%s%s", words[0] ? " " : "", f->words);
    }
    how.plan.level = !whole && item >= by_flows(0) ? SS_LEVEL_FLOW : how.plan.level;
    ss_copy(f->advice.note, sizeof f->advice.note,
            ss_change_note(f->change) ? ss_change_note(f->change) : "");
    t->status = run_words(a, &how, words, &f->advice, &t->side, err);
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

/* Keeps a change if it is one of the fastest that may be put together. */
static void see(struct ss_advisor *a, const struct found *f)
{
    struct found next = *f;
    for (int i = 0; i < SEEN && next.words[0]; i++)
        if (!a->best[i].words[0] || faster(&next, &a->best[i]) < 0) {
            const struct found slower = a->best[i];
            a->best[i] = next;
            next = slower;
        }
}

/* Lists the sets of the fastest, which are asked for last. */
static void begin_sets(struct ss_advisor *a)
{
    char words[SEEN * sizeof a->best->words] = "";
    int set = base_item();
    for (int i = 0; i < SEEN; i++) {
        const struct found *f = &a->best[i];
        if (!f->words[0] || ss_change_shares_flag(words, f->words))
            continue;
        ss_append(words, sizeof words, "%s%s", words[0] ? " " : "", f->words);
        set = with_row(set, f->change);
        if (set == whole_of(f->change))
            continue;
        memmove(a->early + 1, a->early, (size_t)a->nearly++ * sizeof *a->early);
        a->early[0] = set;
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
    a->nearly = a->tried = 0;
    memset(a->best, 0, sizeof a->best);
    for (int i = a->nrows; i-- > 0;)
        a->early[a->nearly++] = first + a->row[i];
}

/* A change that helps is likely to be run as `run` would, and when all were tried the fastest together. */
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
    if (item >= base_item() || (item >= by_flows(0)) != is_by_flows(a))
        return;
    if (t->status > 0 && ss_change_kind(f->change) != SS_CHANGE_SPLIT &&
        f->advice.summary.outcome != SS_OUTCOME_TOO_LARGE &&
        helps(&f->advice, a->out->side.summary.iteration_s)) {
        a->early[a->nearly++] = whole_of(f->change);
        if (ss_change_kind(f->change) != SS_CHANGE_ARITHMETIC)
            see(a, f);
    }
    if (++a->tried == a->nrows)
        begin_sets(a);
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
        x->tried += a->item[i] < base_item();
        x->runs += t->runs;
        x->refused += t->status == 0;
        x->too_large += t->status > 0 && f->advice.summary.outcome == SS_OUTCOME_TOO_LARGE;
        if (t->status == 0 || f->advice.summary.outcome == SS_OUTCOME_TOO_LARGE)
            continue;
        ss_sides_judge_by(&x->side, &t->side, &a->pairs, &f->advice.apart);
        x->slower += !helps(&f->advice, x->side.summary.iteration_s);
        if (helps(&f->advice, x->side.summary.iteration_s))
            a->found[a->n++] = *f;
    }
    return rc;
}

/* Keeps one of several splits: the fastest that fits as surely as the job, or else the fastest. */
static void drop_splits(struct ss_advisor *a)
{
    size_t kept = 0, best = a->n;

    for (size_t i = a->n; i-- > 0;)
        if (ss_change_kind(a->found[i].change) == SS_CHANGE_SPLIT &&
            (best == a->n || !fits_as_surely(&a->found[best].advice, &a->out->side) ||
             fits_as_surely(&a->found[i].advice, &a->out->side)))
            best = i;
    for (size_t i = 0; i < a->n; i++)
        if (ss_change_kind(a->found[i].change) != SS_CHANGE_SPLIT || i == best)
            a->found[kept++] = a->found[i];
    a->n = kept;
}

/* Runs the best changes again, as `run` would, and drops the changes that no longer help. */
static int confirm(struct ss_advisor *a, struct ss_error *err)
{
    int n = a->n < CONFIRMED ? (int)a->n : CONFIRMED;

    a->nearly = 0;
    begin_sets(a);
    for (int i = 0; i < n; i++)
        a->item[i] = whole_of(a->found[i].change);
    int rc = run_changes(a, n, err);
    qsort(a->found, a->n, sizeof *a->found, faster);
    return rc;
}

/* Runs n changes together: a set, or words where they are more than one has. Returns what run_words returns. */
static int run_together(struct ss_advisor *a, int n, int set, const char *more, struct ss_advice *out,
                        struct ss_error *err)
{
    struct trial *t = a->trial;
    int status;
    if (n > MOST) {
        status = run_words(a, &a->whole, more, out, &t->side, err);
    } else { /* a worker may have begun it */
        SS_TRY(ss_pool_deal(a->crew, &set, 1, t, err));
        status = t->status;
        a->out->runs += t->runs;
        *out = t->found.advice;
        out->note[0] = 0;
    }
    if (status > 0)
        ss_sides_judge_by(&a->out->side, &t->side, &a->pairs, &out->apart);
    return status;
}

/* Adds changes one after the other, and keeps each that still helps and fits as surely as the job. */
static int put_together(struct ss_advisor *a, struct ss_error *err)
{
    struct ss_explanation *x = a->out;
    struct ss_advice all = {.change = ""};
    char words[sizeof all.change] = "";
    double best = x->side.summary.iteration_s;
    int n = 0, set = base_item();

    for (size_t i = 0; i < a->n; i++) {
        const struct found *f = &a->found[i];
        struct ss_advice next = {.change = ""};
        int with = n < MOST ? with_row(set, f->change) : set;
        char more[sizeof words];
        if (ss_change_kind(f->change) == SS_CHANGE_ARITHMETIC || ss_change_shares_flag(words, f->words) ||
            snprintf(more, sizeof more, "%s%s%s", words, n ? " " : "", f->words) >= (int)sizeof more)
            continue;
        int rc = n ? run_together(a, n + 1, with, more, &next, err) : 1;
        next = n ? next : f->advice; /* that of the first one is known */
        if (rc < 0)
            return rc;
        if (rc == 0 || !helps(&next, best) || !fits_as_surely(&next, &x->side))
            continue;
        best = next.summary.iteration_s;
        all = next;
        ss_copy(words, sizeof words, more);
        set = with;
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
                               .nitems = INT_MAX,
                               .size = sizeof *a->trial,
                               .work = run_item,
                               .ahead = next_early,
                               .on_item = on_item,
                               .ctx = a};
    a->row = ss_calloc(n, sizeof *a->row);
    a->trial = ss_calloc(n, sizeof *a->trial);
    a->item = ss_calloc(n, sizeof *a->item);
    a->early = ss_calloc(2 * n + SEEN, sizeof *a->early);
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
    qsort(a->found, a->n, sizeof *a->found, faster);
    drop_splits(a);
    SS_THEN(rc, confirm(a, err));
    SS_THEN(rc, put_together(a, err));
    for (size_t i = 0; i < a->n && !rc; i++) {
        if (x->nadvice < SS_ADVICE_MOST)
            x->advice[x->nadvice++] = a->found[i].advice;
        if (ss_change_kind(a->found[i].change) == SS_CHANGE_SPLIT)
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
        int ran = run_words(a, &a->whole, fixes[i].change, f, &side, err);
        if (ran > 0)
            ss_sides_judge_by(&x->side, &side, &a->pairs, &f->apart);
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
    SS_HAND(rc, a, advisor, ss_advisor_close);
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
    SS_FREE(a->row, a->found, a->trial, a->item, a->early);
    ss_request_free(&a->from.request);
    free(a);
}
