/* SPDX-License-Identifier: Apache-2.0 */
/* Compares schedules, by their integers or replayed on a cluster. */
#include "base/base.h"
#include "stepsim/job.h"
#include "study/progress.h"
#include "study/schedule_strip.h"

void ss_comparison_free(struct ss_comparison *c)
{
    if (!c)
        return;
    for (int i = 0; c->rows && i < c->n; i++) {
        free(c->rows[i].activation);
        ss_strip_free(c->rows[i].strip);
    }
    SS_FREE(c->rows, c);
}

void ss_comparison_limit(struct ss_comparison *c, double bytes)
{
    for (int i = 0; c->cluster && i < c->n; i++) {
        struct ss_summary *row = &c->rows[i].summary;
        if (row->code || row->capacity <= bytes)
            continue;
        row->capacity = bytes;
        if (row->peak_device <= bytes)
            continue;
        row->outcome = SS_OUTCOME_TOO_LARGE;
        snprintf(row->reason, sizeof row->reason, "needs %.1f GiB, the cap is %.1f",
                 row->peak_device / SS_GIB, bytes / SS_GIB);
    }
}

/* Starts a comparison with a row for each name; without names for each known schedule. */
static int start(const char *const *names, int n, struct ss_comparison **out, struct ss_error *err)
{
    struct ss_comparison *c = ss_calloc(1, sizeof *c);
    const char *name;
    int known = 0;
    while (ss_schedule_known(known, NULL, NULL))
        known++;
    if (!n)
        names = NULL;
    if (c) {
        c->n = names ? n : known;
        c->rows = ss_calloc((size_t)c->n, sizeof *c->rows);
    }
    if (!c || !c->rows) {
        ss_comparison_free(c);
        return ss_nomem(err);
    }
    for (int i = 0; i < c->n; i++) {
        ss_schedule_known(i, &name, NULL);
        if (names && strlen(names[i]) >= sizeof c->rows[i].name) {
            ss_comparison_free(c);
            return ss_fail(err, SS_ERR_INPUT, NULL, 0, "the path %.60s... is longer than %zu bytes", names[i],
                           sizeof c->rows[i].name - 1);
        }
        ss_copy(c->rows[i].name, sizeof c->rows[i].name, names ? names[i] : name);
    }
    *out = c;
    return SS_OK;
}

/* Splits "interleaved:4", which is interleaved with 4 chunks a rank. Without a number the schedule's own
 * number counts, else `asked`, and at least 2. Returns the chunks. */
static int split_name(const char *name, int asked, char *base)
{
    const char *colon = strrchr(name, ':');
    int64_t chunks;
    strcpy(base, name);
    if (colon && !ss_parse_i64(colon + 1, 1, 4096, &chunks)) {
        base[colon - name] = '\0';
        return (int)chunks;
    }
    return ss_schedule_chunks(base, asked > 1 ? asked : 2);
}

/* Makes a schedule that refuses these numbers a row with the reason. Any other error ends the comparison. */
static int refused(struct ss_compare_row *row, int rc, const struct ss_error *e, struct ss_error *err)
{
    if (ss_status_refuses(rc)) {
        ss_summary_refuse(e, &row->summary);
        return SS_OK;
    }
    if (rc && err)
        *err = *e;
    return rc;
}

/* Returns the messages between ranks in one iteration, of activations and of gradients. */
static int64_t count_sends(const struct ss_schedule *s)
{
    int64_t edges = 0;
    for (int v = 0; v < s->stages * s->chunks; v++) {
        int next = ss_schedule_after(s, v);
        edges += next >= 0 && s->virtual_rank[v] != s->virtual_rank[next];
    }
    return 2 * edges * s->microbatches;
}

/* Names a row of a file as the file does; with the file's own name, too, where a known schedule has that name. */
static void name_file(struct ss_compare_row *row, const struct ss_schedule *s)
{
    const char *known, *slash = strrchr(row->name, '/');
    char file[sizeof row->name];

    ss_copy(file, sizeof file, slash ? slash + 1 : row->name);
    ss_copy(row->name, sizeof row->name, s->name);
    for (int i = 0; ss_schedule_known(i, &known, NULL); i++)
        if (!strcmp(known, s->name))
            ss_append(row->name, sizeof row->name, " (%s)", file);
}

static int describe(struct ss_compare_row *row, const struct ss_schedule *s)
{
    if (s->source)
        name_file(row, s);
    row->chunks = s->chunks;
    row->stages = s->stages;
    row->sends = count_sends(s);
    row->activation = ss_calloc((size_t)s->stages, sizeof *row->activation);
    for (int r = 0; r < s->stages; r++) {
        int n = ss_schedule_in_flight(s, r);
        row->in_flight = n > row->in_flight ? n : row->in_flight;
        if (row->activation) /* a chunk is a part of the stages of one copy */
            row->activation[r] = (double)n * s->stages / ss_schedule_depth(s);
    }
    return row->activation ? SS_OK : SS_ERR_NOMEM;
}

static int time_integers(struct ss_compare_row *row, const struct ss_schedule *s, const double times[3],
                         int draw, struct ss_error *err)
{
    size_t v = (size_t)s->chunks, p = (size_t)s->stages;
    double share = (double)s->stages / ss_schedule_depth(s), worst = 0;
    double *buffer = ss_calloc(4 * v + p, sizeof *buffer), *idle = buffer + 4 * v;
    SS_NEED(buffer, err);
    for (size_t c = 0; c < v; c++) {
        buffer[c] = times[0] * share;
        buffer[v + c] = (times[1] + times[2]) * share;
        buffer[2 * v + c] = times[1] * share;
        buffer[3 * v + c] = times[2] * share;
    }
    const double *duration[SS_PHASE_COUNT] = {buffer, buffer + v, buffer + 2 * v, buffer + 3 * v, NULL};
    int rc = ss_schedule_makespan(s, duration, &row->summary.iteration_s, idle, err);
    for (size_t r = 0; !rc && r < p; r++)
        worst = fmax(worst, idle[r]);
    row->summary.bubble_fraction = row->summary.iteration_s > 0 ? worst / row->summary.iteration_s : 0;
    SS_THEN(rc, ss_schedule_bubble(s, duration, idle, err));
    for (size_t r = 0; !rc && r < p; r++)
        row->inner_bubble = fmax(row->inner_bubble, idle[r]);
    if (!rc && draw)
        rc = ss_strip_of_times(s, duration, &row->strip, err);
    free(buffer);
    return rc;
}

/* The most slots of a schedule that is compared, over all ranks, with forward and both parts of the
 * backward: they take a GiB, and minutes. */
#define MOST_SLOTS 67108864.0

static int check_size(const struct ss_schedule_params *p, struct ss_error *err)
{
    const double slots = 3.0 * p->stages * (p->chunks > 1 ? p->chunks : 1) * p->microbatches;
    if (slots <= MOST_SLOTS)
        return SS_OK;
    return ss_fail(
        err, SS_ERR_UNSUPPORTED, NULL, 0,
        "%d ranks with %d microbatches are %.2g slots, %.1f GiB a schedule; %.2g are compared at most" SS_HINT
        "fewer microbatches show the same: what is steady repeats",
        p->stages, p->microbatches, slots, slots * (double)sizeof(struct ss_slot) / SS_GIB, MOST_SLOTS);
}

int ss_compare_integers(const char *const *names, int n, const struct ss_schedule_params *params,
                        const double times[3], int draw, const struct ss_study_progress *progress,
                        struct ss_comparison **out, struct ss_error *err)
{
    struct ss_comparison *c = NULL;
    int rc = params && times
                 ? check_size(params, err)
                 : ss_fail(err, SS_ERR_USAGE, NULL, 0, "no numbers or times to compare schedules with");
    SS_THEN(rc, start(names, n, &c, err));
    for (int i = 0; !rc && i < c->n; i++) {
        struct ss_compare_row *row = &c->rows[i];
        struct ss_schedule_params own = *params;
        struct ss_schedule *s = NULL;
        struct ss_error e = {0};
        char base[sizeof row->name];
        ss_study_tell(progress, (double)i / c->n);
        own.chunks = split_name(row->name, params->chunks, base);
        int file = ss_schedule_is_file(base) || !strcmp(base, "-");
        rc = file ? ss_schedule_load(base, &s, &e) : ss_schedule_build(base, &own, &s, &e);
        int copies = !rc && s->pipelines > 1 ? s->pipelines : 1;
        if (!rc && (s->stages != params->stages || s->microbatches * copies != params->microbatches))
            rc = ss_fail(&e, SS_ERR_CONFIG, NULL, 0, "has %d ranks and %d microbatches, not %d and %d",
                         s->stages, s->microbatches * copies, params->stages, params->microbatches);
        if (!rc && describe(row, s))
            rc = ss_nomem(&e);
        SS_THEN(rc, time_integers(row, s, times, draw, &e));
        rc = refused(row, rc, &e, err);
        ss_schedule_free(s);
    }
    ss_study_tell(progress, 1);
    SS_HAND(rc, c, out, ss_comparison_free);
}

/* ---- on a cluster ---- */

static void take_result(struct ss_compare_row *row, const struct ss_run *run)
{
    const struct ss_result *r = run->result;
    row->summary = run->summary;
    for (int s = 0; s < r->nstages; s++)
        row->activation[s] = r->stages[s].memory[SS_MEM_ACTIVATIONS] + r->stages[s].memory[SS_MEM_LOGITS];
}

/* The scenario's request under another schedule. A schedule that is made for one number of chunks takes these by itself, as a
 * file does, and where there is one stage there is one chunk; interleaved 1F1B, which Megatron refuses there, says so. */
static int build_with(const struct ss_scenario *s, const char *schedule, int chunks, struct ss_scenario **out,
                      struct ss_error *err)
{
    const struct ss_scenario_options like = {.like = s};
    struct ss_request r;
    char text[16];

    SS_TRY(ss_request_copy(s->request, &r, err));
    if (chunks == ss_schedule_chunks(schedule, 1) || ss_schedule_is_file(schedule) ||
        (s->job->pp == 1 && strcmp(schedule, ss_schedule_default(2)) != 0))
        chunks = 1;
    snprintf(text, sizeof text, "%d", chunks);
    int rc = ss_request_set(&r, "--schedule", schedule, err);
    /* a layout of stages says its number, and Megatron refuses --vp beside it */
    if (!s->job->layout.n || chunks != ss_job_chunks(s->job))
        SS_THEN(rc, ss_request_set(&r, "--vp", text, err));
    SS_THEN(rc, ss_scenario_build(&r, &like, out, err));
    ss_request_free(&r);
    return rc;
}

static int compare_one(struct ss_compare_row *row, const struct ss_scenario *s,
                       const struct ss_run_options *options, int draw, struct ss_error *err)
{
    struct ss_scenario *own;
    struct ss_run run;
    char base[sizeof row->name];
    int chunks = split_name(row->name, ss_job_chunks(s->job), base);

    SS_TRY(build_with(s, base, chunks, &own, err));
    int rc = ss_run_scenario(own, options, &run, err);
    if (!rc) {
        rc = describe(row, run.schedule);
        if (rc)
            ss_nomem(err);
        else
            take_result(row, &run);
        if (!rc && draw)
            rc = ss_strip_of_program(run.program, run.schedule, row->stages, row->chunks, &row->strip, err);
        ss_run_free(&run);
    }
    ss_scenario_free(own);
    return rc;
}

int ss_compare_job(const char *const *names, int n, const struct ss_scenario *s, int engine, int draw,
                   const struct ss_study_progress *progress, struct ss_comparison **out, struct ss_error *err)
{
    struct ss_study_part part = {.whole = progress};
    struct ss_run_options options = {
        .engine = engine, .progress = progress ? ss_study_tell_part : NULL, .ctx = &part};
    struct ss_comparison *c = NULL;
    struct ss_bands *bands = NULL;
    int rc = start(names, n, &c, err);
    SS_THEN(rc, ss_bands_load(NULL, NULL, &bands, err));
    options.bands = bands;
    for (int i = 0; !rc && i < c->n; i++) {
        struct ss_error e = {0};
        part.i = i;
        part.n = c->n;
        ss_study_tell_part(&part, 0);
        rc = refused(&c->rows[i], compare_one(&c->rows[i], s, &options, draw, &e), &e, err);
    }
    ss_study_tell(progress, 1);
    ss_bands_free(bands);
    if (rc) {
        ss_comparison_free(c);
        return rc;
    }
    c->cluster = 1;
    *out = c;
    return SS_OK;
}
