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

static int search_of_job(const struct cli_flags *f, const struct ss_scenario *s, struct ss_search **out,
                         struct ss_error *err)
{
    int rc = ss_search_from_job(s, f->schedule.v, out, err);
    if (!rc && cli_given(f, "--cap") && (rc = ss_search_limit(*out, f->schedule.cap, err)) != 0) {
        ss_search_free(*out);
        *out = NULL;
    }
    return rc;
}

static int refuse_chunks(struct ss_error *err)
{
    return cli_usage(err, "leave one of them out", "--vp beside --layouts, which tries one and two");
}

static int search_of_shape(struct cli_flags *f, int argc, char **argv, struct ss_search **out,
                           struct ss_error *err)
{
    const struct ss_schedule_params *shape = &f->schedule.shape;
    int n, rc = cli_words(f, argc, argv, &n, err);
    if (!rc && n)
        rc = cli_usage(err, "", "\"%s\": not an option of a search", argv[0]);
    SS_THEN(rc, cli_schedule_need_shape(f, err));
    if (rc)
        return rc;
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
    rc = fill_search(f, *out, err);
    if (rc)
        ss_search_free(*out);
    return rc;
}

static int draw_layouts(const struct cli_flags *f, const struct ss_search_layouts *l, struct ss_error *err)
{
    struct ss_output *output;
    FILE *out;
    int rc = cli_schedule_picture(f, &output, &out, err);
    if (!rc) {
        rc = ss_search_layouts_svg(l, f->pictures.width, out, err);
        rc = cli_output_end(output, rc, err);
    }
    return rc;
}

/* Searches the layouts of a job, or of a shape with whole stages. Returns an exit status where no layout
 * has an order. */
static int search_layouts(struct cli_flags *f, const struct ss_scenario *scenario, struct ss_search *whole,
                          struct ss_error *err)
{
    struct ss_layout_options options = {.cap = f->schedule.cap,
                                        .whole = f->schedule.whole,
                                        .no_barrier = f->schedule.no_barrier,
                                        .steps = f->schedule.steps,
                                        .seed = (uint64_t)f->schedule.seed,
                                        .workers.n = f->workers.n,
                                        .draw = f->pictures.path[CLI_GANTT][0] != 0};
    const struct ss_display view = cli_view(f);
    struct cli_meter meter = {.what = "searching"};
    struct ss_search_layouts *l = NULL;
    struct ss_bands *bands = NULL;
    int rc = scenario ? ss_bands_load(NULL, NULL, &bands, err) : SS_OK;
    options.bands = bands;
    options.progress = cli_schedule_progress(&meter);
    SS_THEN(rc, scenario ? ss_search_layouts_run(scenario, &options, &l, err)
                         : ss_search_layouts_of_shape(whole, &options, &l, err));
    cli_schedule_progress_end(&meter);
    ss_bands_free(bands);
    int none = !rc && l->best < 0;
    if (!rc && !none && f->output[0])
        rc = cli_schedule_write(f, l->rows[l->best].schedule, err);
    if (!rc && !none && options.draw)
        rc = draw_layouts(f, l, err);
    SS_THEN(rc, ss_search_layouts_write(l, &view, stdout, err));
    ss_search_layouts_free(l);
    return rc || !none ? rc : ss_status_exit(SS_ERR_CONFIG);
}

/* `scenario` is the job of the search; NULL: there is no job. */
static int search(struct cli_flags *f, const struct ss_scenario *scenario, struct ss_search *q,
                  struct ss_error *err)
{
    struct ss_search_result *r = NULL;
    q->split = !f->schedule.whole;
    q->barrier = q->barrier && !f->schedule.no_barrier;
    q->seed = (uint64_t)f->schedule.seed;
    q->steps = f->schedule.steps;
    if (f->schedule.layouts)
        return search_layouts(f, NULL, q, err);
    struct cli_meter meter = {.what = "searching"};
    q->progress = cli_schedule_progress(&meter);
    int rc = ss_search_run(q, &r, err);
    if (!rc && scenario)
        rc = ss_search_other(scenario, q, r, err);
    cli_schedule_progress_end(&meter);
    if (!rc && f->output[0]) /* the file comes first: if it cannot be written, the error is the only answer */
        rc = cli_schedule_write(f, r->schedule, err);
    SS_THEN(rc, ss_search_write(q, r, f->json, stdout, err));
    ss_search_result_free(r);
    return rc;
}

static int search_job(struct cli_flags *f, int argc, char **argv, struct ss_error *err)
{
    struct ss_search *q = NULL;
    struct cli_inputs in;
    int chunks = has_chunks(argc, argv), rc = cli_schedule_no_order(argc, argv, err);
    if (rc)
        return rc;
    rc = cli_inputs_load(&in, f, argc, argv, err);
    if (!rc && f->schedule.layouts && chunks)
        rc = refuse_chunks(err);
    else if (!rc && f->schedule.layouts)
        rc = search_layouts(f, in.scenario, NULL, err);
    else if (!rc)
        rc = search_of_job(f, in.scenario, &q, err);
    if (!rc && q)
        rc = search(f, in.scenario, q, err);
    cli_inputs_free(&in);
    ss_search_free(q);
    return rc;
}

int cmd_schedule_search(int argc, char **argv, struct ss_error *err)
{
    struct ss_search *q = NULL;
    struct cli_flags f;
    int job = cli_schedule_has_job(argc, argv);
    cli_schedule_init(&f, job ? CLI_SCHEDULE_SEARCH_JOB : CLI_SCHEDULE_SEARCH);
    int rc = job ? search_job(&f, argc, argv, err) : search_of_shape(&f, argc, argv, &q, err);
    if (!rc && q) {
        rc = search(&f, NULL, q, err);
        ss_search_free(q);
    }
    cli_flags_free(&f);
    return rc;
}
