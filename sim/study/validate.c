/* SPDX-License-Identifier: Apache-2.0 */
/* Predicts every row of tables of measured runs and judges the predictions. */
#include "base/base.h"
#include "layers/kinds.h"
#include "stepsim/flags.h"
#include "study/study_internal.h"
#include "workers/pool.h"

/* Changes the job of a case to the other choice of recompute. */
static void choose(struct ss_job *job, int recompute)
{
    job->recompute.granularity = recompute;
    job->recompute.modules = 0;
    job->recompute.method = SS_RECOMPUTE_UNIFORM;
    job->recompute.num_layers = recompute == SS_RECOMPUTE_FULL ? 1 : 0;
}

static int predict(const struct ss_case *c, const struct ss_run_options *options, int recompute,
                   struct ss_validation_bound *out, struct ss_error *err)
{
    struct ss_run_options without = *options; /* bands */
    struct ss_case other = *c;                /* borrows all that it points to */
    struct ss_prediction p;

    choose(&other.job, recompute);
    without.bands = NULL;
    int rc = ss_case_predict(&other, &without, &p, err);
    if (rc || p.state != SS_CASE_READY)
        return rc;
    out->seconds = p.summary.iteration_s;
    out->bytes = ss_prediction_memory(&p, ss_case_memory_kind(c));
    return SS_OK;
}

/* Fills in both bounds of a mixture whose recompute is unknown. */
static int validation_bounds(const struct ss_case *c, const struct ss_run_options *options,
                             struct ss_validation_row *row, struct ss_error *err)
{
    if (c->state != SS_CASE_READY || !row->experts ||
        strcmp(ss_table_get(c->table, c->row, "recompute"), "unknown") != 0)
        return SS_OK;
    int rc = predict(c, options, SS_RECOMPUTE_NONE, &row->none, err);
    /* Megatron-LM refuses full recompute beside an overlapped exchange */
    return rc || c->job.moe.overlap ? rc : predict(c, options, SS_RECOMPUTE_FULL, &row->full, err);
}

/* ---- the rows ---- */

/* Writes the source of a row: dgxc2411 for "dgxc2411-llama3.1-70b", vt-m for "vt-m-12". */
static void source_of(const char *id, char *out, size_t size)
{
    size_t n = strcspn(id, "-");

    if (id[n] && id[n + 1] && id[n + 2] == '-')
        n += 2;
    snprintf(out, size, "%.*s", (int)(n < size ? n : size - 1), id);
}

static const char *recompute_word(const struct ss_job *job)
{
    return job->recompute.granularity == SS_RECOMPUTE_FULL               ? "full"
           : job->recompute.modules & SS_MODULE_BIT(SS_MODULE_OPERATORS) ? "op-selective"
                                                                         : "selective";
}

static void describe(const struct ss_case *c, struct ss_validation_row *row)
{
    const struct ss_job *job = &c->job;
    snprintf(row->configuration, sizeof row->configuration, "%.40s %dx%.24s %s tp%d pp%d cp%d", row->model,
             row->gpus, row->gpu, row->precision, job->tp, job->pp, job->cp);
    ss_append(row->configuration, sizeof row->configuration, "%s%.0d mbs%d gbs%d seq%d",
              job->layers_per_virtual_stage ? " lvs" : "", job->layers_per_virtual_stage, job->micro_batch,
              job->global_batch, job->seq_length);
    if (job->recompute.granularity != SS_RECOMPUTE_NONE)
        ss_append(row->configuration, sizeof row->configuration, " %s", recompute_word(job));
}

/* Writes what layouts of one model differ in. */
static void describe_layout(const struct ss_case *c, struct ss_validation_row *row)
{
    const struct ss_job *job = &c->job;

    row->tp = job->tp;
    row->micro_batch = job->micro_batch;
    row->seq_length = job->seq_length;
    snprintf(row->layout, sizeof row->layout, "tp%d pp%d", job->tp, job->pp);
    if (job->cp > 1)
        ss_append(row->layout, sizeof row->layout, " cp%d", job->cp);
    if (job->ep > 1)
        ss_append(row->layout, sizeof row->layout, " ep%d", job->ep);
    if (job->layers_per_virtual_stage)
        ss_append(row->layout, sizeof row->layout, " lvs%d", job->layers_per_virtual_stage);
    ss_append(row->layout, sizeof row->layout, " mbs%d", job->micro_batch);
    if (job->dp.sharding)
        ss_append(row->layout, sizeof row->layout, " zero%d", job->dp.sharding);
    if (job->recompute.granularity != SS_RECOMPUTE_NONE)
        ss_append(row->layout, sizeof row->layout, " %s", recompute_word(job));
}

static void describe_setting(const struct ss_case *c, struct ss_validation_row *row)
{
    const char *attention = ss_table_get(c->table, c->row, "attention"),
               *note = ss_table_get(c->table, c->row, "note");

    snprintf(row->setting, sizeof row->setting, "%.40s %dx%.24s gbs%d seq%d %s", row->model, row->gpus,
             row->platform, c->job.global_batch, c->job.seq_length, row->precision);
    if (attention[0])
        ss_append(row->setting, sizeof row->setting, " %s", attention);
    if (note[0])
        ss_append(row->setting, sizeof row->setting, ", %.60s", note);
}

static void take(char *out, size_t size, const struct ss_case *c, const char *column, const char *missing)
{
    const char *text = ss_table_get(c->table, c->row, column);

    ss_copy(out, size, text[0] ? text : missing);
}

/* Reads the weight of a run: for runs that are not independent, such as sums of the same timings, a table
 * says how much each counts. */
static int read_weight(const struct ss_case *c, double *out, struct ss_error *err)
{
    int rc = ss_table_number(c->table, c->row, "weight", 1, out, err);

    if (!rc && !(*out > 0 && *out <= 1))
        rc = ss_fail(err, SS_ERR_INPUT, ss_table_file(c->table), ss_table_line(c->table, c->row),
                     "weight %g: a run counts as one at most, and as more than none", *out);
    return rc;
}

static void fill_words(const struct ss_case *c, struct ss_validation_row *row)
{
    const char *file = ss_table_file(c->table), *slash = strrchr(file, '/');
    double nodes = 0, gpus = 0;

    ss_copy(row->table, sizeof row->table, slash ? slash + 1 : file);
    if (strrchr(row->table, '.'))
        *strrchr(row->table, '.') = '\0';
    take(row->id, sizeof row->id, c, "id", "");
    source_of(row->id, row->source, sizeof row->source);
    take(row->model, sizeof row->model, c, "model", "model");
    take(row->platform, sizeof row->platform, c, "platform", "");
    take(row->stack, sizeof row->stack, c, "stack", SS_DEFAULT_STACK);
    if (c->stack.name[0] && !c->stack.asked[0]) /* its framework's own */
        ss_copy(row->stack, sizeof row->stack, c->stack.name);
    take(row->gpu, sizeof row->gpu, c, "gpu", c->platform ? ss_platform_card(c->platform)->name : "");
    if (c->platform)
        ss_copy(row->card, sizeof row->card, ss_platform_card(c->platform)->name);
    row->experts = c->job.model.num_experts;
    row->hybrid = ss_layer_any_other(&c->job.model);
    ss_copy(row->family, sizeof row->family, c->stack.family);
    take(row->precision, sizeof row->precision, c, "precision", ss_precision_name(c->job.precision));
    take(row->quality, sizeof row->quality, c, "quality", "");
    take(row->outcome, sizeof row->outcome, c, "outcome", "ok");
    ss_copy(row->memory_kind, sizeof row->memory_kind, ss_case_memory_kind(c));
    ss_table_number(c->table, c->row, "nodes", 0, &nodes, NULL);
    ss_table_number(c->table, c->row, "gpus_per_node", 0, &gpus, NULL);
    row->gpus = c->platform ? ss_platform_nodes(c->platform) * ss_platform_gpus_per_node(c->platform)
                            : (int)fmin(nodes * gpus, INT_MAX);
    describe(c, row);
    describe_layout(c, row);
    describe_setting(c, row);
}

/* ---- outcomes ---- */

/* Returns 1 if the list has the flag whose name begins at `name`, under any of its names. */
static int has_flag(const char *list, const char *name)
{
    char wanted[96], flag[96];

    snprintf(wanted, sizeof wanted, "%.*s", (int)strcspn(name, " "), name);
    for (const char *p = list; *p; p += strspn(p, " ")) {
        snprintf(flag, sizeof flag, "%.*s", (int)strcspn(p, " "), p);
        if (ss_flag_same(flag, wanted))
            return 1;
        p += strcspn(p, " ");
    }
    return 0;
}

/* Returns 1 if the job is refused for the reason that the table tells: the refusal comes from each flag
 * of the row's cause. */
static int has_cause(const struct ss_case *c)
{
    for (const char *p = ss_table_get(c->table, c->row, "cause"); *p; p += strspn(p, " ")) {
        if (!has_flag(c->blamed, p))
            return 0;
        p += strcspn(p, " ");
    }
    return 1;
}

/* Returns 1 if a refusal is right whatever the table says: Megatron refuses virtual stages at pipeline
 * size 1. */
static int may_be_refused(const struct ss_case *c)
{
    return c->job.pp == 1 && c->job.layers_per_virtual_stage > 0;
}

static int judge(const struct ss_case *c, const struct ss_validation_row *row)
{
    const char *predicted = row->predicted_outcome;
    int refused = !strcmp(predicted, "config-error");

    if (!predicted[0] || !strcmp(predicted, "unsupported") || !strcmp(row->outcome, "framework-error") ||
        !strcmp(row->outcome, "not-run"))
        return -1;
    if (!strcmp(row->outcome, "config-error"))
        return refused && has_cause(c);
    if (refused && may_be_refused(c))
        return 1;
    return !strcmp(row->outcome, predicted);
}

static void fill_prediction(const struct ss_case *c, const struct ss_prediction *p,
                            struct ss_validation_row *row)
{
    static const char *const states[] = {"ok", "config-error", "unsupported", ""};

    ss_copy(row->predicted_outcome, sizeof row->predicted_outcome,
            p->state == SS_CASE_READY ? ss_outcome_measured_word(p->summary.outcome) : states[p->state]);
    row->summary = p->summary;
    if (p->summary.outcome != SS_OUTCOME_NEAR_LIMIT)
        ss_copy(row->reason, sizeof row->reason, p->summary.reason);
    row->measured_s = c->measured_s;
    row->measured_bytes = c->measured_bytes;
    if (p->state == SS_CASE_READY) {
        row->predicted_bytes = ss_prediction_memory(p, row->memory_kind);
        if (ss_is_other_unit(p->summary.iteration_s, c->measured_s) && !row->reason[0])
            ss_copy(row->reason, sizeof row->reason,
                    "measured and predicted time differ so much: is iteration_ms in ms?");
        if (ss_is_other_unit(row->predicted_bytes, c->measured_bytes) && !row->reason[0])
            ss_copy(row->reason, sizeof row->reason,
                    "measured and predicted memory differ so much: is memory_mib in MiB?");
    }
    if (p->state == SS_CASE_READY && p->stage_like >= 0 && !row->reason[0] &&
        !strcmp(row->memory_kind, "device"))
        snprintf(row->reason, sizeof row->reason, "memory like stage %d's: %.0f MiB, %+.1f %%", p->stage_like,
                 p->stage_device / SS_MIB, 100 * (p->stage_device / c->measured_bytes - 1));
    if (!row->reason[0])
        ss_copy(row->reason, sizeof row->reason, p->summary.reason);
    row->counted = ss_quality_counts(row->quality);
    row->right = judge(c, row);
    if (row->right == 0 && !row->reason[0])
        ss_copy(row->reason, sizeof row->reason, ss_table_get(c->table, c->row, "note"));
}

/* ---- timers ---- */

static int load_timers(const char *name, struct ss_validation *v, struct ss_error *err)
{
    struct ss_timer_rows t;
    int rc = SS_OK;

    SS_TRY(ss_timer_rows_load(name, &t, err));
    v->timers = ss_calloc((size_t)t.n + 1, sizeof *v->timers);
    if (!v->timers)
        rc = ss_nomem(err);
    for (int i = 0; i < t.n && !rc; i++) {
        struct ss_validation_timer *timer = &v->timers[v->ntimers++];
        ss_copy(timer->id, sizeof timer->id, t.rows[i].run);
        ss_copy(timer->name, sizeof timer->name, t.rows[i].timer.name);
        timer->measured_s = t.rows[i].timer.seconds;
        timer->predicted_s = NAN;
    }
    ss_timer_rows_free(&t);
    return rc;
}

static void fill_timers(const struct ss_case *c, const struct ss_prediction *p,
                        const struct ss_validation_row *row, struct ss_validation *v)
{
    for (int i = 0; i < v->ntimers && p->state == SS_CASE_READY; i++)
        if (!strcmp(v->timers[i].id, row->id)) {
            v->timers[i].predicted_s = ss_prediction_timer(p, v->timers[i].name);
            v->timers[i].counted =
                row->counted &&
                v->timers[i].measured_s >=
                    SS_SMALLEST_TIMER * (c->measured_s > 0 ? c->measured_s : p->summary.iteration_s);
        }
}

static int is_row(const struct ss_validation *v, const char *id)
{
    for (int i = 0; i < v->nrows; i++)
        if (!strcmp(v->rows[i].id, id))
            return 1;
    return 0;
}

static void note_strangers(struct ss_validation *v)
{
    for (int i = 0; i < v->ntimers; i++)
        if (!is_row(v, v->timers[i].id))
            ss_timer_rows_stranger(v->timers[i].id, &v->notes);
}

/* ---- all rows ---- */

/* so few rows are predicted without further processes: they take some milliseconds */
#define FEW 4

/* A worker's answer for a row. */
struct answer {
    struct ss_prediction prediction;
    struct ss_validation_bound none, full;
};

struct work {
    const struct ss_cases *cases;
    const struct ss_validate_options *options;
    const struct ss_validation *v;
    struct ss_run_options run;
};

static int predict_row(void *ctx, int item, void *answer, struct ss_error *err)
{
    const struct work *w = ctx;
    const struct ss_case *c = &w->cases->cases[item];
    struct ss_validation_row row = w->v->rows[item];
    struct answer *a = answer;
    int rc = ss_case_predict(c, &w->run, &a->prediction, err);
    SS_THEN(rc, validation_bounds(c, &w->run, &row, err));
    a->none = row.none;
    a->full = row.full;
    return rc;
}

static void tell(void *ctx, int done)
{
    const struct work *w = ctx;
    const struct ss_validate_options *o = w->options;
    o->progress(o->ctx, done, w->cases->n, done < w->cases->n ? w->v->rows[done].id : "");
}

static int read_words(const struct ss_cases *cases, struct ss_validation *v, struct ss_error *err)
{
    int rc = SS_OK;
    for (int i = 0; i < cases->n && !rc; i++) {
        fill_words(&cases->cases[i], &v->rows[i]);
        rc = read_weight(&cases->cases[i], &v->rows[i].weight, err);
    }
    if (!rc)
        ss_regret_groups(cases, v->rows);
    return rc;
}

static void take_answers(const struct ss_cases *cases, const struct answer *answers, struct ss_validation *v)
{
    for (int i = 0; i < cases->n; i++) {
        const struct ss_prediction *p = &answers[i].prediction;
        struct ss_validation_row *row = &v->rows[i];
        fill_prediction(&cases->cases[i], p, row);
        row->none = answers[i].none;
        row->full = answers[i].full;
        fill_timers(&cases->cases[i], p, row, v);
        v->unsupported += p->state == SS_CASE_UNSUPPORTED;
    }
    v->nrows = cases->n;
}

static int predict_all(const struct ss_cases *cases, const struct ss_validate_options *opt,
                       struct ss_validation *v, struct ss_error *err)
{
    struct ss_bands *bands = NULL;
    struct answer *answers = ss_calloc((size_t)cases->n + 1, sizeof *answers);
    int rc = answers ? SS_OK : ss_nomem(err);

    SS_THEN(rc, ss_bands_load(NULL, opt->files, &bands, err));
    struct work w = {cases, opt, v, {.engine = opt->engine, .bands = bands}};
    const int few = cases->n < FEW; /* this process has them sooner alone */
    const struct ss_pool pool = {.workers = {.n = few ? 1 : opt->workers.n,
                                             .team = few ? NULL : opt->workers.team,
                                             .stop = opt->workers.stop,
                                             .stop_ctx = opt->workers.stop_ctx},
                                 .nitems = cases->n,
                                 .size = sizeof *answers,
                                 .work = predict_row,
                                 .ctx = &w,
                                 .on_answer = opt->progress ? tell : NULL,
                                 .on_answer_ctx = &w};
    SS_THEN(rc, read_words(cases, v, err));
    SS_THEN(rc, ss_pool_run(&pool, answers, err));
    if (!rc)
        take_answers(cases, answers, v);
    free(answers);
    ss_bands_free(bands);
    return rc;
}

int ss_validate(const char *const *tables, int ntables, const struct ss_validate_options *opt,
                struct ss_validation **out, struct ss_error *err)
{
    struct ss_validation *v = ss_calloc(1, sizeof *v);
    const struct ss_case_choice choice = {.spread = opt->spread};
    struct ss_cases cases;

    SS_NEED(v, err);
    int rc = opt->timer_rows ? load_timers(opt->timer_rows, v, err) : SS_OK;
    if (!rc && opt->timer_rows)
        rc = ss_data_note("validation", opt->timer_rows, ".csv", opt->files, err);
    SS_THEN(rc, ss_cases_load(tables, ntables, &choice, opt->files, &cases, &v->notes, err));
    if (!rc) {
        v->rows = ss_calloc((size_t)cases.n + 1, sizeof *v->rows);
        rc = v->rows ? predict_all(&cases, opt, v, err) : ss_nomem(err);
        ss_cases_free(&cases);
    }
    if (!rc) {
        note_strangers(v);
        rc = ss_validation_summarise(v, err);
    }
    SS_HAND(rc, v, out, ss_validation_free);
}

void ss_validation_free(struct ss_validation *v)
{
    if (!v)
        return;
    for (int g = 0; g < SS_BY_COUNT; g++)
        free(v->groups[g]);
    ss_notes_free(&v->notes);
    SS_FREE(v->rows, v->timers, v);
}
