/* SPDX-License-Identifier: Apache-2.0 */
/* Makes rows of tables ready to predict: job, platform and stack of each row, or the reason against it. */
#include "base/base.h"
#include "import/table_internal.h"
#include "job/input_cache.h"
#include "model/stack_internal.h"
#include "result/build.h"
#include "stepsim/flags.h"
#include "stepsim/params.h"
#include "study/study_internal.h"

static int load_inputs(struct ss_case *c, struct ss_files *files, struct ss_error *err)
{
    struct ss_platform_options options = {.nodes = c->asked.job.nodes,
                                          .asker = ss_simgrid_ask_routes,
                                          .gpus_per_node = c->asked.job.gpus_per_node,
                                          .files = files,
                                          .card = c->asked.job.card};
    int rc = ss_job_is_placed(&c->asked.job)
                 ? ss_fail(err, SS_ERR_UNSUPPORTED, NULL, 0,
                           "--on-nodes and --cluster-nodes: a measured job has all nodes")
             : c->asked.job.gpus
                 ? ss_fail(err, SS_ERR_UNSUPPORTED, NULL, 0, "--gpus: a measured job says --nodes")
                 : ss_platform_load(c->asked.job.platform, &options, &c->platform, err);

    SS_THEN(rc, ss_input_cache_stack(c->loaded, c->asked.job.stack, ss_platform_card(c->platform)->name,
                                     files, &c->stack, err));
    return rc ? rc : ss_sets_apply(&c->request, c->platform, &c->stack, err);
}

static void refuse(struct ss_case *c, int state, const char *reason)
{
    c->state = state;
    ss_copy(c->reason, sizeof c->reason, reason);
}

/* A mistake without a line of its own is one of the row. */
static void place(const struct ss_case *c, const struct ss_error *why, struct ss_error *err)
{
    *err = *why;
    if (why->line)
        return;
    if (why->file[0])
        snprintf(err->message, sizeof err->message, "%.250s: %.250s", why->file, why->message);
    ss_copy(err->file, sizeof err->file, ss_table_file(c->table));
    err->line = ss_table_line(c->table, c->row);
}

/* A configuration that cannot run is an answer; any other error is a mistake of the table. */
static int settle(struct ss_case *c, int rc, const struct ss_error *why, struct ss_error *err)
{
    if (ss_status_refuses(rc)) {
        refuse(c, rc == SS_ERR_CONFIG ? SS_CASE_REFUSED : SS_CASE_UNSUPPORTED, why->message);
        ss_copy(c->blamed, sizeof c->blamed, why->flags);
        return SS_OK;
    }
    if (rc && err)
        place(c, why, err);
    return rc;
}

static int read_measured(struct ss_case *c, struct ss_error *err)
{
    double ms, mib;

    SS_TRY(ss_table_number(c->table, c->row, "iteration_ms", 0, &ms, err));
    SS_TRY(ss_table_number(c->table, c->row, "memory_mib", 0, &mib, err));
    c->measured_s = ms / 1e3;
    c->measured_bytes = mib * SS_MIB;
    return SS_OK;
}

static int check_word(const struct ss_case *c, const char *column, const char *const *words, size_t n,
                      const char *list, struct ss_error *err)
{
    const char *word = ss_table_get(c->table, c->row, column);

    for (size_t i = 0; i < n; i++)
        if (!strcmp(word, words[i]))
            return SS_OK;
    return ss_fail(err, SS_ERR_INPUT, ss_table_file(c->table), ss_table_line(c->table, c->row),
                   "%s cannot be \"%.40s\"" SS_HINT "it is %s", column, word, list);
}

/* The cause of a refusal: the flags that it comes from. */
static int check_cause(const struct ss_case *c, struct ss_error *err)
{
    const char *cause = ss_table_get(c->table, c->row, "cause"), *file = ss_table_file(c->table);
    int line = ss_table_line(c->table, c->row);
    char flag[96];

    if (cause[0] && strcmp(ss_table_get(c->table, c->row, "outcome"), "config-error") != 0)
        return ss_fail(err, SS_ERR_INPUT, file, line,
                       "cause \"%.60s\" without outcome config-error" SS_HINT
                       "it says why a launcher refuses a job: leave it empty",
                       cause);
    for (const char *p = cause; *p; p += strspn(p, " ")) {
        snprintf(flag, sizeof flag, "%.*s", (int)strcspn(p, " "), p);
        p += strcspn(p, " ");
        if (ss_flag_known(flag))
            continue;
        return ss_fail(err, SS_ERR_INPUT, file, line,
                       "cause: \"%.60s\" is no flag" SS_HINT
                       "it is the flags that the launcher refuses, as --tp --cp; or empty",
                       flag);
    }
    return SS_OK;
}

static int check_words(const struct ss_case *c, struct ss_error *err)
{
    static const char *const outcomes[] = {"", "ok", "oom", "config-error", "framework-error", "not-run"};
    static const char *const kinds[] = {"", "device", "reserved", "allocated", "analytic"};
    int rc = check_word(c, "outcome", outcomes, SS_ARRAY_LEN(outcomes),
                        "ok, oom, config-error, framework-error or not-run", err);

    SS_THEN(rc, check_word(c, "memory_kind", kinds, SS_ARRAY_LEN(kinds),
                           "device, reserved, allocated or analytic", err));
    return rc ? rc : check_cause(c, err);
}

/* "dir/h800.xml" is h800. */
static int is_platform(const char *column, const char *chosen)
{
    const char *slash = strrchr(chosen, '/'), *name = slash ? slash + 1 : chosen;
    size_t n = strlen(name);

    if (n > 4 && !strcmp(name + n - 4, ".xml"))
        n -= 4;
    return !strcmp(column, chosen) || (strlen(column) == n && !strncmp(column, name, n));
}

int ss_case_finish(struct ss_case *c, struct ss_files *files, struct ss_error *err)
{
    if (!c->loaded && !(c->loaded = ss_input_cache_new()))
        return ss_nomem(err);
    int gpus;

    SS_TRY(load_inputs(c, files, err));
    struct ss_job job; /* c->job is shown where it is refused */
    gpus = ss_platform_gpus_per_node(c->platform);
    int rc = ss_input_cache_finish(c->loaded, &c->asked, &c->stack,
                                   ss_job_world_size(&c->asked.job, ss_platform_nodes(c->platform), gpus),
                                   gpus, files, &job, err);
    if (!rc)
        c->job = job;
    return rc;
}

/* A platform or stack of a row that cannot be read is a mistake of the table, not a refused configuration. */
static int finish(struct ss_case *c, struct ss_files *files, struct ss_error *err)
{
    struct ss_error why = {0};
    int rc = ss_case_finish(c, files, &why);

    return settle(c, rc == SS_ERR_CONFIG && !c->platform ? SS_ERR_INPUT : rc, &why, err);
}

/* The row's words and their job; an error has the row as its place. */
static int read_row(struct ss_case *c, struct ss_notes *notes, struct ss_error *err)
{
    int rc = ss_table_request(c->table, c->row, &c->request, notes, err);

    if (ss_status_refuses(rc)) /* its columns are shown */
        ss_table_asked(c->table, c->row, &c->asked, NULL, NULL);
    if (!rc) {
        ss_asked_init(&c->asked);
        if (ss_asked_parse(&c->asked, &c->request, NULL, NULL, err))
            rc = ss_table_locate(c->table, c->row, err);
    }
    c->job = c->asked.job; /* shown where no job can be made */
    return rc;
}

static int prepare(struct ss_case *c, const struct ss_case_choice *choice, struct ss_files *files,
                   struct ss_notes *notes, struct ss_error *err)
{
    struct ss_error why = {0};

    SS_TRY(read_measured(c, err));
    SS_TRY(check_words(c, err));
    if (choice && choice->platform &&
        !is_platform(ss_table_get(c->table, c->row, "platform"), choice->platform)) {
        refuse(c, SS_CASE_NOTHING, "another platform");
        return SS_OK;
    }
    int rc = read_row(c, notes, &why);
    if (rc)
        return settle(c, rc, &why, err);
    SS_TRY(ss_data_note("workloads/models", ss_table_get(c->table, c->row, "model"), ".json", files, err));
    if (choice && choice->platform)
        ss_copy(c->asked.job.platform, sizeof c->asked.job.platform, choice->platform);
    if (choice && choice->stack)
        ss_copy(c->asked.job.stack, sizeof c->asked.job.stack, choice->stack);
    if (choice && choice->spread)
        c->asked.job.spread = *choice->spread;
    rc = finish(c, files, err);
    if (!rc)
        ss_stack_note(&c->stack, notes);
    if (!rc && c->state == SS_CASE_READY &&
        !strcmp(ss_table_get(c->table, c->row, "outcome"), "framework-error"))
        refuse(c, SS_CASE_NOTHING, ss_table_get(c->table, c->row, "note"));
    return rc;
}

static int load_tables(const char *const *names, int n, struct ss_files *files, struct ss_cases *out,
                       struct ss_notes *notes, struct ss_error *err)
{
    int rc = SS_OK;

    out->tables = ss_calloc((size_t)n, sizeof(struct ss_table *));
    SS_NEED(out->tables, err);
    for (int i = 0; i < n && !rc; i++) {
        rc = ss_table_load(names[i], &out->tables[i], notes, err);
        if (rc)
            break;
        out->ntables++;
        out->n += ss_table_rows(out->tables[i]);
        rc = ss_files_add(files, ss_table_file(out->tables[i]), err);
    }
    out->loaded = rc ? NULL : ss_input_cache_new();
    if (!rc && (!out->loaded || !(out->cases = ss_calloc((size_t)out->n + 1, sizeof *out->cases))))
        rc = ss_nomem(err);
    return rc;
}

/* A platform or stack that does not exist costs its row, not the table. */
static int leave_out(struct ss_case *c, struct ss_notes *notes, const struct ss_error *why)
{
    refuse(c, SS_CASE_UNSUPPORTED, why->message);
    return !notes ? SS_OK
                  : ss_notes_add(notes, "%s:%d: %s%s%s; not predicted", ss_table_file(c->table),
                                 ss_table_line(c->table, c->row), why->message, why->hint[0] ? ": " : "",
                                 why->hint);
}

int ss_cases_load(const char *const *tables, int ntables, const struct ss_case_choice *choice,
                  struct ss_files *files, struct ss_cases *out, struct ss_notes *notes, struct ss_error *err)
{
    struct ss_error first = {0}, why = {0};
    int rc, at = 0, unknown = 0;

    memset(out, 0, sizeof *out);
    rc = load_tables(tables, ntables, files, out, notes, err);
    for (int t = 0; t < out->ntables && !rc; t++)
        for (int r = 0; r < ss_table_rows(out->tables[t]) && !rc; r++) {
            struct ss_case *c = &out->cases[at++];
            c->table = out->tables[t];
            c->row = r;
            c->loaded = ss_input_cache_share(out->loaded);
            rc = prepare(c, choice, files, notes, &why);
            if (rc != SS_ERR_IO)
                continue;
            if (unknown++ == 0)
                first = why;
            rc = leave_out(c, notes, &why);
        }
    if (!rc && unknown > 0 && unknown == out->n) { /* nothing is left */
        why = first;
        rc = SS_ERR_IO;
    }
    if (rc && err && why.message[0])
        *err = why;
    if (rc)
        ss_cases_free(out);
    return rc;
}

void ss_case_free(struct ss_case *c)
{
    ss_platform_free(c->platform);
    ss_request_free(&c->request);
    ss_input_cache_drop(c->loaded);
}

void ss_cases_free(struct ss_cases *c)
{
    for (int i = 0; c->cases && i < c->n; i++)
        ss_case_free(&c->cases[i]);
    ss_input_cache_drop(c->loaded);
    for (int i = 0; i < c->ntables; i++)
        ss_table_free(c->tables[i]);
    SS_FREE(c->cases, c->tables);
    memset(c, 0, sizeof *c);
}

/* Fills the memory that the tools of the row's framework show: the peaks, or one stage's memory. */
static void fill_memory(const struct ss_result *r, int logged, double measured, struct ss_prediction *out)
{
    const struct ss_stage_result *stage = logged == SS_LOGGED_FIRST  ? &r->stages[0]
                                          : logged == SS_LOGGED_LAST ? &r->stages[r->nstages - 1]
                                                                     : NULL;

    out->device = stage ? stage->device : r->peak_device;
    out->reserved = stage ? stage->reserved : r->peak_reserved;
    if (r->fits && out->device > r->capacity) { /* the allocator gives back what the card does not have */
        out->reserved -= out->device - r->capacity;
        out->device = r->capacity;
    }
    out->allocated = stage ? stage->allocated : r->peak_allocated;
    out->stage_like = stage || measured <= 0 ? -1 : ss_result_stage_like(r, measured);
    out->stage_device = out->stage_like < 0 ? 0 : r->stages[out->stage_like].device;
}

/* A row without a prediction. */
static void refused(const struct ss_case *c, struct ss_summary *out)
{
    struct ss_error why = {.code = c->state == SS_CASE_REFUSED ? SS_ERR_CONFIG : SS_ERR_UNSUPPORTED};

    ss_copy(why.message, sizeof why.message, c->reason);
    ss_summary_refuse(&why, out);
}

/* Widens the bands by what was assumed of the row, which is what a recipe stands in for. */
static int weigh(const struct ss_case *c, const struct ss_run_options *options, struct ss_run *run,
                 struct ss_error *err)
{
    const struct ss_scenario_options how = {.asker = ss_simgrid_ask_routes};
    struct ss_assumption first;
    struct ss_scenario *like;
    size_t at = 0;

    if (!options->bands || !ss_request_assumption(&c->request, &at, &first))
        return SS_OK;
    SS_TRY(ss_scenario_build(&c->request, &how, &like, err));
    int rc = ss_assumed_weigh(run, &c->request, like, options, 0, err);
    ss_scenario_free(like);
    return rc;
}

int ss_case_predict(const struct ss_case *c, const struct ss_run_options *options, struct ss_prediction *out,
                    struct ss_error *err)
{
    const struct ss_scenario scenario = {
        .job = &c->job,
        .stack = &c->stack,
        .platform = c->platform,
        .gpus_per_node = c->platform ? ss_platform_gpus_per_node(c->platform) : 0,
        .world_size = c->platform ? ss_job_world_size(&c->job, ss_platform_nodes(c->platform),
                                                      ss_platform_gpus_per_node(c->platform))
                                  : 0};
    struct ss_error why = {0};
    struct ss_run run;

    memset(out, 0, sizeof *out);
    out->state = c->state;
    if (c->state != SS_CASE_READY) {
        refused(c, &out->summary);
        return SS_OK;
    }
    int rc = ss_run_scenario(&scenario, options, &run, &why);
    if (ss_status_refuses(rc)) {
        out->state = rc == SS_ERR_CONFIG ? SS_CASE_REFUSED : SS_CASE_UNSUPPORTED;
        ss_summary_refuse(&why, &out->summary);
        return SS_OK;
    }
    if (rc) {
        if (err)
            *err = why;
        return rc;
    }
    rc = weigh(c, options, &run, err);
    if (rc) {
        ss_run_free(&run);
        return rc;
    }
    out->summary = run.summary;
    fill_memory(run.result, c->stack.memory_logged, c->measured_bytes, out);
    while (out->ntimers < run.result->ntimers && out->ntimers < SS_PREDICTION_TIMERS) {
        out->timers[out->ntimers] = run.result->timers[out->ntimers];
        out->ntimers++;
    }
    ss_run_free(&run);
    return SS_OK;
}

double ss_prediction_timer(const struct ss_prediction *p, const char *name)
{
    for (int i = 0; i < p->ntimers; i++)
        if (!strcmp(p->timers[i].name, name))
            return p->timers[i].seconds;
    return NAN;
}

const char *ss_case_memory_kind(const struct ss_case *c)
{
    const char *told = ss_table_get(c->table, c->row, "memory_kind");

    if (!strcmp(told, "allocated") && c->stack.memory_resets > 0)
        return ss_prop_word(SS_PROP_memory_reported, SS_REPORTED_RESERVED);
    if (told[0] || !(c->measured_bytes > 0))
        return told;
    return ss_prop_word(SS_PROP_memory_reported, c->stack.memory_reported);
}

double ss_prediction_memory(const struct ss_prediction *p, const char *memory_kind)
{
    if (!strcmp(memory_kind, "reserved"))
        return p->reserved;
    if (!strcmp(memory_kind, "allocated") || !strcmp(memory_kind, "analytic"))
        return p->allocated;
    return p->device;
}
