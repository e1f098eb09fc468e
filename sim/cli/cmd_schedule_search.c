/* SPDX-License-Identifier: Apache-2.0 */
/* "stepsim schedule search" for a job, or for times on the command line. */
#include "cli/schedule.h"

/* Returns whether the command line gives virtual stages; those of a job file belong to its own schedule. */
static int has_chunks(int argc, char *const *argv)
{
    static const char *const names[] = {"--vp", "--virtual-pipeline-model-parallel-size",
                                        "--num-virtual-stages-per-pipeline-rank",
                                        "--num-layers-per-virtual-pipeline-stage"};
    return cli_schedule_is_among(argc, argv, names, sizeof names / sizeof *names);
}

/* Fills in --times, --memory and --cap for a search without a job. */
static int fill_search(const struct cli_flags *f, struct ss_search *q, struct ss_error *err)
{
    double t[3] = {1, 1, 1}, memory[2] = {1, 1};
    const char *at = f->schedule.times, *of_memory = f->schedule.memory;
    int rc = of_memory ? cli_schedule_numbers("--memory", &of_memory, 2, memory, err) : SS_OK;
    if (!rc && memory[1] > 1e15)
        rc = cli_usage(err, "", "--memory: too large");
    for (int r = 0; !rc && r < q->stages; r++) {
        if (at && *at)
            rc = cli_schedule_numbers("--times", &at, 3, t, err);
        else if (at && r > 1)
            rc = cli_usage(err, "give three numbers once, or for each rank", "--times has %d ranks, not %d",
                           r, q->stages);
        if (at && !*at && r == 0)
            at = NULL; /* one triple holds for all chunks */
        q->cap[r] = f->schedule.cap;
        for (int c = 0; c < q->chunks; c++) {
            int k = r * q->chunks + c;
            q->f[k] = t[0];
            q->i[k] = t[1];
            q->w[k] = t[2];
            q->activation[k] = memory[0];
            q->weight[k] = memory[1];
        }
    }
    if (!rc && at && *at)
        rc = cli_usage(err, "", "--times has more than %d ranks", q->stages);
    return rc;
}

static int search_of_job(const struct cli_flags *f, struct ss_search **out, struct ss_error *err)
{
    SS_TRY(ss_search_from_job(f->in.scenario, f->schedule.v, out, err));
    return cli_given(f, "--cap") ? ss_search_limit(*out, f->schedule.cap, err) : SS_OK;
}

static int refuse_chunks(struct ss_error *err)
{
    return cli_usage(err, "leave one of them out", "--vp beside --layouts, which tries one and two");
}

static int search_of_shape(struct cli_flags *f, struct ss_search **out, struct ss_error *err)
{
    const struct ss_schedule_params *shape = &f->schedule.shape;

    if (f->n)
        return cli_usage(err, "", "\"%s\": not an option of a search", f->words[0]);
    SS_TRY(cli_schedule_need_shape(f, err));
    if (f->schedule.layouts && shape->chunks)
        return refuse_chunks(err);
    int chunks = f->schedule.v ? 2 : shape->chunks ? shape->chunks : 1;
    if ((double)shape->stages * chunks * shape->microbatches > 1 << 24)
        return cli_usage(err, "", "a search over more than %d actions", 1 << 24);
    *out = ss_search_new(shape->stages, chunks, shape->microbatches);
    if (!*out) {
        cli_usage(err, "", "no memory for the search");
        return err->code = SS_ERR_NOMEM;
    }
    (*out)->v_shape = f->schedule.v;
    return fill_search(f, *out, err);
}

/* Searches the layouts of a job, or of a shape with whole stages. Returns an exit status where no layout
 * has an order. */
static int search_layouts(struct cli_flags *f, struct ss_search *whole, struct ss_error *err)
{
    const struct ss_scenario *scenario = f->in.scenario;
    struct ss_layout_options options = {.cap = f->schedule.cap,
                                        .whole = f->schedule.whole,
                                        .no_barrier = f->schedule.no_barrier,
                                        .steps = f->schedule.steps,
                                        .seed = (uint64_t)f->schedule.seed,
                                        .workers.n = f->options.workers.n,
                                        .draw = f->pictures.path[CLI_GANTT][0] != 0};
    const struct ss_display view = cli_view(f);
    struct cli_meter meter = {.what = "searching"};
    struct ss_search_layouts *l = NULL;
    int rc = scenario ? cli_bands(f, err) : SS_OK;

    options.bands = f->bands;
    options.progress = cli_schedule_progress(&meter);
    SS_THEN(rc, scenario ? ss_search_layouts_run(scenario, &options, &l, err)
                         : ss_search_layouts_of_shape(whole, &options, &l, err));
    cli_schedule_progress_end(&meter);
    int none = !rc && l->best < 0;
    if (!rc && !none && f->output[0])
        rc = cli_schedule_write(f, l->rows[l->best].schedule, err);
    if (!rc && !none && options.draw)
        CLI_WRITE(rc, f->pictures.path[CLI_GANTT], ss_search_layouts_svg(l, f->pictures.width, stream, err),
                  err);
    SS_THEN(rc, ss_search_layouts_write(l, &view, stdout, err));
    ss_search_layouts_free(l);
    return rc || !none ? rc : ss_status_exit(SS_ERR_CONFIG);
}

/* `scenario` is the job of the search; NULL: there is no job. */
static int search(struct cli_flags *f, struct ss_search *q, struct ss_error *err)
{
    struct ss_search_result *r = NULL;

    q->split = !f->schedule.whole;
    q->barrier = q->barrier && !f->schedule.no_barrier;
    q->seed = (uint64_t)f->schedule.seed;
    q->steps = f->schedule.steps;
    if (f->schedule.layouts)
        return search_layouts(f, q, err);
    struct cli_meter meter = {.what = "searching"};
    q->progress = cli_schedule_progress(&meter);
    int rc = ss_search_run(q, &r, err);
    if (!rc && f->in.scenario)
        rc = ss_search_other(f->in.scenario, q, r, err);
    cli_schedule_progress_end(&meter);
    if (!rc && f->output[0]) /* the file comes first: if it cannot be written, the error is the only answer */
        rc = cli_schedule_write(f, r->schedule, err);
    SS_THEN(rc, ss_search_write(q, r, f->json, stdout, err));
    ss_search_result_free(r);
    return rc;
}

int cmd_schedule_search(struct cli_flags *f, struct ss_error *err)
{
    const int job = f->verb == CLI_SCHEDULE_SEARCH_JOB, chunks = has_chunks(f->n, f->words);
    struct ss_search *q = NULL;

    if (job) {
        SS_TRY(cli_schedule_load_job(f, err));
        if (f->schedule.layouts)
            return chunks ? refuse_chunks(err) : search_layouts(f, NULL, err);
    }
    int rc = job ? search_of_job(f, &q, err) : search_of_shape(f, &q, err);
    SS_THEN(rc, search(f, q, err));
    ss_search_free(q);
    return rc;
}
