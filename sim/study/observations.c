/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the measured runs, collectives, kernels and logs with which a fit is compared. */
#include "base/base.h"
#include "stepsim/import.h"
#include "study/calibrate.h"

struct ss_case *ss_observations_case(struct ss_observations *o, int index)
{
    return index == o->cases.n ? &o->log_case : &o->cases.cases[index];
}

int ss_observation_is_run(const struct ss_observation *what)
{
    return what->kind != SS_OBSERVE_NCCL && what->kind != SS_OBSERVE_BENCH;
}

const struct ss_run_options ss_calibrate_run = {
    .engine = SS_ENGINE_NATIVE, .unchecked = 1, .level_choice = SS_LEVEL_BLIND};

static int add(struct ss_observations *o, const struct ss_observation *what, struct ss_error *err)
{
    SS_NEED(!ss_grow(&o->list, &o->cap, (size_t)o->n + 1, sizeof *o->list), err);
    o->list[o->n++] = *what;
    return SS_OK;
}

static void set_key(const struct ss_case *c, const char *id, const char *by, char *key, size_t size)
{
    const char *named = c->table ? ss_table_get(c->table, c->row, "model") : NULL;

    if (!by)
        key[0] = '\0';
    else if (!strcmp(by, "model"))
        ss_copy(key, size, named && named[0] ? named : c->job.model.name);
    else if (!strcmp(by, "gpu"))
        ss_copy(key, size, ss_platform_card(c->platform)->name);
    else if (!strcmp(by, "precision"))
        ss_copy(key, size, ss_precision_name(c->job.precision));
    else if (!strcmp(by, "half"))
        ss_copy(key, size, c->table && ss_table_line(c->table, c->row) % 2 ? "odd lines" : "even lines");
    else
        ss_copy(key, size, id);
}

/* ---- timers of a run ---- */

/* Adds the timers that the model predicts, and a note that names the others. `timers`: those of the run that
 * `run` observes. */
static int add_timers(struct ss_observations *o, const struct ss_timer *timers, int n,
                      const struct ss_observation *run, int fitted, struct ss_notes *notes,
                      struct ss_error *err)
{
    char others[400];
    struct ss_prediction p;
    int rc, unknown = 0;

    if (!n)
        return SS_OK;
    snprintf(others, sizeof others, "%.90s: timers that are not predicted:", run->id);
    rc = ss_case_predict(ss_observations_case(o, run->of_case), &ss_calibrate_run, &p, err);
    for (int i = 0; i < n && !rc && p.state == SS_CASE_READY; i++) {
        struct ss_observation what = *run;
        what.kind = SS_OBSERVE_TIMER;
        what.measured = timers[i].seconds;
        what.fitted = fitted && what.measured >= SS_SMALLEST_TIMER * run->measured;
        ss_copy(what.run, sizeof what.run, run->id);
        ss_copy(what.id, sizeof what.id, timers[i].name);
        if (isnan(ss_prediction_timer(&p, what.id)))
            ss_append(others, sizeof others, "%s %s", unknown++ ? "," : "", what.id);
        else if (what.measured > 0)
            rc = add(o, &what, err);
    }
    if (!rc && unknown)
        ss_note(notes, "%s", others);
    return rc;
}

/* Adds the timers of one run from a table of timers. */
static int add_timer_rows(struct ss_observations *o, const struct ss_timer_rows *rows,
                          const struct ss_observation *run, int fitted, struct ss_notes *notes,
                          struct ss_error *err)
{
    struct ss_timer *own = ss_calloc((size_t)rows->n + 1, sizeof *own);
    int n = 0, rc;

    SS_NEED(own, err);
    for (int i = 0; i < rows->n; i++)
        if (!strcmp(rows->rows[i].run, run->id))
            own[n++] = rows->rows[i].timer;
    rc = add_timers(o, own, n, run, fitted, notes, err);
    free(own);
    return rc;
}

static void note_strangers(const struct ss_observations *o, const struct ss_timer_rows *timers,
                           struct ss_notes *notes)
{
    for (int i = 0; i < timers->n; i++) {
        int known = 0;
        for (int k = 0; k < o->cases.n && !known; k++)
            known = !strcmp(timers->rows[i].run,
                            ss_table_get(o->cases.cases[k].table, o->cases.cases[k].row, "id"));
        if (!known)
            ss_timer_rows_stranger(timers->rows[i].run, notes);
    }
}

/* ---- runs of tables ---- */

static int is_usable(const struct ss_case *c)
{
    const char *outcome = ss_table_get(c->table, c->row, "outcome");

    return c->state == SS_CASE_READY && c->measured_s > 0 && (!outcome[0] || !strcmp(outcome, "ok")) &&
           ss_quality_counts(ss_table_get(c->table, c->row, "quality"));
}

static int load_runs(const struct ss_calibrate_options *opt, struct ss_observations *o,
                     struct ss_notes *notes, struct ss_error *err)
{
    struct ss_case_choice choice = {opt->platform, opt->stack, opt->spread};
    struct ss_timer_rows timers = {0};
    int rc = ss_cases_load(opt->tables, opt->ntables, &choice, opt->files, &o->cases, notes, err);

    if (!rc && opt->timer_rows)
        rc = ss_timer_rows_load(opt->timer_rows, &timers, err);
    for (int i = 0; i < o->cases.n && !rc; i++) {
        const struct ss_case *c = &o->cases.cases[i];
        struct ss_observation what = {
            .kind = SS_OBSERVE_TIME, .of_case = i, .measured = c->measured_s, .fitted = 1};
        if (!is_usable(c)) {
            o->nskipped++;
            continue;
        }
        ss_copy(what.id, sizeof what.id, ss_table_get(c->table, c->row, "id"));
        set_key(c, what.id, opt->leave_out, what.key, sizeof what.key);
        rc = add(o, &what, err);
        SS_THEN(rc, add_timer_rows(o, &timers, &what, opt->fit_timers, notes, err));
    }
    if (!rc)
        note_strangers(o, &timers, notes);
    ss_timer_rows_free(&timers);
    return rc;
}

/* ---- a training log ---- */

/* Refuses a job that names another card than the one to be fitted. A platform that is not installed is no
 * mistake: the job runs on the one to be fitted. */
static int check_card(const struct ss_calibrate_options *opt, const struct ss_job *job, struct ss_error *err)
{
    struct ss_platform_options options = {.nodes = 1, .asker = ss_simgrid_ask_routes, .files = opt->files};
    struct ss_platform *fitted = NULL, *named = NULL;
    char path[4096];
    bool found = false;
    int rc = SS_OK;

    if (job->platform[0] && strcmp(job->platform, opt->platform) != 0)
        rc = ss_data_look("platforms", job->platform, ".xml", path, sizeof path, &found, err);
    if (rc || !found)
        return rc;
    rc = ss_platform_load(opt->platform, &options, &fitted, err);
    SS_THEN(rc, ss_platform_load(job->platform, &options, &named, err));
    if (!rc && strcmp(ss_platform_card(fitted)->name, ss_platform_card(named)->name) != 0) {
        rc = ss_fail(err, SS_ERR_INPUT, opt->job, 0, "a job of %s, but %s is to be fitted",
                     ss_platform_card(named)->name, ss_platform_card(fitted)->name);
        ss_hint(err, rc, "give --platform %.200s, or the flags of a run on this card", job->platform);
    }
    ss_platform_free(fitted);
    ss_platform_free(named);
    return rc;
}

/* Reads the flags of the run that printed the log. */
static int read_job(struct ss_case *c, const struct ss_calibrate_options *opt, struct ss_error *err)
{
    char *const words[] = {"--job", (char *)opt->job};

    ss_asked_init(&c->asked);
    SS_TRY(ss_request_read(&c->request, 2, words, err));
    SS_TRY(ss_asked_parse(&c->asked, &c->request, NULL, NULL, err));
    SS_TRY(ss_request_files(&c->request, opt->files, err));
    return ss_data_note("workloads/models", c->asked.job.model_ref, ".json", opt->files, err);
}

static int load_log(const struct ss_calibrate_options *opt, struct ss_observations *o, struct ss_notes *notes,
                    struct ss_error *err)
{
    struct ss_case *c = &o->log_case;
    struct ss_observation what = {.kind = SS_OBSERVE_TIME, .of_case = o->cases.n, .fitted = 1};
    struct ss_train_log *log;
    int rc = ss_train_log_load(opt->log, &log, err);
    char text[400];

    if (rc)
        return rc;
    if (!(log->seconds > 0)) {
        ss_train_log_free(log);
        return ss_fail(err, SS_ERR_INPUT, opt->log, 0,
                       "no line tells the time of an iteration" SS_HINT
                       "\"stepsim check\" reads logs of tokens/s alone");
    }
    if (log->doubt[0] || log->micro) {
        rc = ss_fail(err, SS_ERR_INPUT, opt->log, 0, "%s",
                     log->doubt[0] ? log->doubt : "its times are those of microbatches");
        ss_train_log_free(log);
        return rc;
    }
    c->measured_s = log->seconds;
    c->measured_bytes = log->reserved;
    snprintf(text, sizeof text, "%.200s: median %.1f ms of %d of %d iterations, spread %.1f %%", opt->log,
             1e3 * log->seconds, log->used, log->iterations, 100 * log->spread);
    ss_note(notes, "%s", text);
    rc = read_job(c, opt, err);
    if (!rc && log->global_batch && c->asked.job.global_batch &&
        log->global_batch != c->asked.job.global_batch) {
        rc = ss_fail(err, SS_ERR_INPUT, opt->log, 0, "global batch size %d, but %d in %.200s",
                     log->global_batch, c->asked.job.global_batch, opt->job);
        ss_hint(err, rc, "give the flags of the run that printed this log");
    }
    SS_THEN(rc, check_card(opt, &c->asked.job, err));
    ss_copy(c->asked.job.platform, sizeof c->asked.job.platform, opt->platform);
    if (opt->stack)
        ss_copy(c->asked.job.stack, sizeof c->asked.job.stack, opt->stack);
    if (opt->spread)
        c->asked.job.spread = *opt->spread;
    SS_THEN(rc, ss_case_finish(c, opt->files, err));
    if (!rc) {
        what.measured = c->measured_s;
        ss_copy(what.id, sizeof what.id, opt->log);
        set_key(c, what.id, opt->leave_out, what.key, sizeof what.key);
        rc = add(o, &what, err);
    }
    if (!rc && opt->fit_timers && !log->ntimers) {
        snprintf(text, sizeof text, "%.200s: no timers; --timing-log-level 1 or 2 makes Megatron print them",
                 opt->log);
        ss_note(notes, "%s", text);
    }
    SS_THEN(rc, add_timers(o, log->timers, log->ntimers, &what, opt->fit_timers, notes, err));
    ss_train_log_free(log);
    return rc;
}

static int load_machine(const struct ss_calibrate_options *opt, int nodes, struct ss_observations *o,
                        struct ss_error *err)
{
    struct ss_platform_options options = {
        .nodes = nodes, .asker = ss_simgrid_ask_routes, .files = opt->files};

    return o->machine ? SS_OK : ss_platform_load(opt->platform, &options, &o->machine, err);
}

/* ---- nccl-tests ---- */

static int add_points(struct ss_observations *o, struct ss_notes *notes, struct ss_error *err)
{
    int rc = SS_OK, small = 0;

    for (int i = 0; i < o->nccl->npoints && !rc; i++) {
        const struct ss_nccl_point *p = &o->nccl->points[i];
        struct ss_observation what = {
            .kind = SS_OBSERVE_NCCL, .point = i, .measured = p->seconds, .fitted = 1};
        if (p->bytes < SS_SMALLEST_MESSAGE) {
            small++;
            continue;
        }
        snprintf(what.id, sizeof what.id, "%.20s %.0f bytes", o->nccl->operation, p->bytes);
        rc = add(o, &what, err);
    }
    if (!rc && small)
        ss_note(notes, "messages under 1 MiB are not used: other protocols rule them");
    return rc;
}

static int load_nccl(const struct ss_calibrate_options *opt, struct ss_observations *o,
                     struct ss_notes *notes, struct ss_error *err)
{
    int gpus, rc = ss_nccl_load(opt->nccl, &o->nccl, err);

    if (rc)
        return rc;
    if (!o->nccl->operation[0]) {
        rc = ss_fail(err, SS_ERR_INPUT, opt->nccl, 0, "which collective this is cannot be seen");
        return ss_hint(err, rc,
                       "keep the line of the command, such as \"# all_gather_perf -b 1M ...\", in the file");
    }
    o->nccl_nodes = opt->nccl_nodes ? opt->nccl_nodes : o->nccl->nodes ? o->nccl->nodes : 1;
    SS_TRY(load_machine(opt, o->nccl_nodes, o, err));
    gpus = ss_platform_gpus_per_node(o->machine);
    /* Nodes of one name, as containers have, are more than its list of devices shows: it has too many ranks then. */
    const char *card = ss_platform_card(o->machine)->name;
    if (strpbrk(o->nccl->device, "0123456789") && !ss_card_is_named(o->nccl->device, card)) {
        rc = ss_fail(err, SS_ERR_INPUT, opt->nccl, 0, "its devices are %s, the card of %s is %s",
                     o->nccl->device, opt->platform, card);
        return ss_hint(err, rc, "give the platform of the card that was measured");
    }
    if (o->nccl->nodes && o->nccl->nodes != o->nccl_nodes && o->nccl->ranks <= o->nccl->nodes * gpus) {
        rc = ss_fail(err, SS_ERR_INPUT, opt->nccl, 0, "its list of devices has %d host%s, --nodes says %d",
                     o->nccl->nodes, ss_plural(o->nccl->nodes), o->nccl_nodes);
        return ss_hint(err, rc, "leave --nodes out, the list tells it");
    }
    o->nccl_ranks = o->nccl->ranks ? o->nccl->ranks : o->nccl_nodes * gpus;
    if (o->nccl_ranks < 2 || o->nccl_ranks > o->nccl_nodes * gpus || o->nccl_ranks % o->nccl_nodes) {
        rc = ss_fail(err, SS_ERR_INPUT, opt->nccl, 0, "%d ranks on %d nodes of %d GPUs", o->nccl_ranks,
                     o->nccl_nodes, gpus);
        return ss_hint(err, rc, "--nodes N says how many nodes the test ran on");
    }
    return add_points(o, notes, err);
}

/* ---- micro-benchmarks ---- */

static int load_bench(const struct ss_calibrate_options *opt, struct ss_observations *o,
                      struct ss_notes *notes, struct ss_error *err)
{
    int gemms = 0, attention = 0, rc = load_machine(opt, 0, o, err);

    if (!rc && opt->stack)
        rc = ss_stack_load_with(opt->stack, ss_platform_card(o->machine)->name, opt->files, &o->stack, err);
    SS_THEN(rc, ss_bench_load(opt->microbench, ss_platform_card(o->machine), &o->bench, err));
    if (rc)
        return rc;
    o->nskipped += o->bench->nskipped;
    for (int i = 0; i < o->bench->npoints && !rc; i++) {
        const struct ss_bench_point *p = &o->bench->points[i];
        struct ss_observation what = {
            .kind = SS_OBSERVE_BENCH, .fitted = 1, .point = i, .measured = p->seconds};
        int unnamed = p->kind == SS_BENCH_ATTENTION && !opt->stack;
        if (unnamed || p->group.per_node > ss_platform_gpus_per_node(o->machine)) {
            attention += unnamed;
            o->nskipped++;
            continue;
        }
        ss_copy(what.id, sizeof what.id, p->id);
        gemms |= p->kind == SS_BENCH_GEMM;
        rc = add(o, &what, err);
    }
    if (!rc && attention && !o->n)
        return ss_fail(err, SS_ERR_USAGE, opt->microbench, 0,
                       "all rows of this card are of attention, which tell of a stack" SS_HINT
                       "name it with --stack");
    if (!rc && attention)
        ss_note(notes, "rows of attention are not used: they tell of a stack, which --stack names");
    if (!rc && gemms)
        ss_note(notes, "GEMMs alone on a bench run faster than in training under the card's power "
                       "limit: fit ss.gemm.efficiency.* to runs afterwards");
    return rc;
}

/* Notes the files of measurements; the loaders of models and machines add their own. */
static int note_files(const struct ss_calibrate_options *opt, struct ss_error *err)
{
    const char *const paths[] = {opt->log, opt->nccl, opt->microbench};
    int rc = opt->timer_rows ? ss_data_note("validation", opt->timer_rows, ".csv", opt->files, err) : SS_OK;

    for (size_t i = 0; i < SS_ARRAY_LEN(paths) && !rc; i++)
        if (paths[i])
            rc = ss_files_add(opt->files, paths[i], err);
    return rc;
}

int ss_observations_load(const struct ss_calibrate_options *opt, struct ss_observations *out,
                         struct ss_notes *notes, struct ss_error *err)
{
    int rc = note_files(opt, err);

    memset(out, 0, sizeof *out);
    out->workers = opt->workers;
    if (!rc && opt->ntables)
        rc = load_runs(opt, out, notes, err);
    if (!rc && opt->log)
        rc = load_log(opt, out, notes, err);
    if (!rc && opt->nccl)
        rc = load_nccl(opt, out, notes, err);
    if (!rc && opt->microbench)
        rc = load_bench(opt, out, notes, err);
    if (!rc && !out->n) {
        rc = ss_fail(err, SS_ERR_INPUT, NULL, 0, "no measured run of platform %.200s to calibrate with",
                     opt->platform);
        ss_hint(
            err, rc,
            "rows count whose column \"platform\" names it, with outcome ok, a time, and a quality of ok, "
            "inferred-precision, A, B or none");
    }
    if (rc)
        ss_observations_free(out);
    return rc;
}

void ss_observations_free(struct ss_observations *o)
{
    ss_cases_free(&o->cases);
    ss_case_free(&o->log_case);
    ss_platform_free(o->machine);
    ss_nccl_free(o->nccl);
    ss_bench_free(o->bench);
    free(o->list);
    memset(o, 0, sizeof *o);
}

int ss_observations_add_memory(struct ss_observations *o, struct ss_error *err)
{
    int rc = SS_OK, n = o->n;

    for (int i = 0; i < n && !rc; i++) {
        struct ss_observation what = o->list[i];
        if (what.kind != SS_OBSERVE_TIME)
            continue;
        what.kind = SS_OBSERVE_MEMORY;
        what.measured = ss_observations_case(o, what.of_case)->measured_bytes;
        if (what.measured > 0)
            rc = add(o, &what, err);
    }
    return rc;
}

void ss_observations_first(struct ss_observations *o, const struct ss_platform **p, const struct ss_stack **s)
{
    *p = o->machine;
    *s = &o->stack;
    for (int i = 0; i < o->n; i++)
        if (ss_observation_is_run(&o->list[i])) {
            struct ss_case *c = ss_observations_case(o, o->list[i].of_case);
            *p = c->platform;
            *s = &c->stack;
            return;
        }
}

/* ---- prediction ---- */
