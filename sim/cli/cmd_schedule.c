/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"

#define MAX_NAMES 64

/* Whether an option of one of these names is among the words. */
static int is_among(int argc, char *const *argv, const char *const *names, size_t n)
{
    for (int i = 0; i < argc; i++)
        for (size_t k = 0; k < n; k++) {
            size_t length = strlen(names[k]);
            if (!strncmp(argv[i], names[k], length) && (!argv[i][length] || argv[i][length] == '='))
                return 1;
        }
    return 0;
}

/* --platform or --job: of two forms of a verb the one with a job. */
static int has_job(int argc, char *const *argv)
{
    static const char *const names[] = {"--platform", "--job"};
    return is_among(argc, argv, names, sizeof names / sizeof *names);
}

/* Virtual stages on the command line; those of a job file are its own schedule's. */
static int has_chunks(int argc, char *const *argv)
{
    static const char *const names[] = {"--vp", "--virtual-pipeline-model-parallel-size",
                                        "--num-virtual-stages-per-pipeline-rank",
                                        "--num-layers-per-virtual-pipeline-stage"};
    return is_among(argc, argv, names, sizeof names / sizeof *names);
}

static void init(struct cli_flags *f, int verb)
{
    cli_flags_init(f, verb);
    f->schedule.shape.overlap_p2p = 1;
}

/* n numbers, at *at, which is moved behind them. */
static int read_three(const char *option, const char **at, int n, double *out, struct ss_error *err)
{
    for (int k = 0; k < n; k++) {
        char *end;
        out[k] = strtod(*at, &end);
        if (end == *at || !(out[k] >= 0 && out[k] < 1e15) || (k + 1 < n && *end != ',') ||
            (k + 1 == n && *end && *end != ';'))
            return cli_usage(err, n == 3 ? "write it as --times 1,1,1" : "write it as --memory 1,0.5",
                             "%s: not %d numbers", option, n);
        *at = end + (k + 1 < n || *end == ';');
    }
    return SS_OK;
}

static int need_shape(const struct cli_flags *f, struct ss_error *err)
{
    if (f->schedule.shape.stages && f->schedule.shape.microbatches)
        return SS_OK;
    return cli_usage(err, "as in --pp 4 --microbatches 8", "the shape of the pipeline is missing");
}

/* A file has a shape of its own. */
static int no_shape(const struct cli_flags *f, const char *name, struct ss_error *err)
{
    static const char *const options[] = {"--pp", "--microbatches", "--vp", "--group"};

    for (int i = 0; i < 4; i++)
        if (cli_given(f, options[i]))
            return cli_usage(err, "leave it out", "%s beside %.80s: a file has its own shape", options[i],
                             name);
    return SS_OK;
}

/* By name with a shape, or from a file. */
static int load(const struct cli_flags *f, const char *name, struct ss_schedule **out, struct ss_error *err)
{
    struct ss_schedule_params shape = f->schedule.shape;
    int file = ss_schedule_is_file(name) || !strcmp(name, "-"),
        rc = file ? no_shape(f, name, err) : need_shape(f, err);
    if (!rc && file)
        rc = ss_files_add(cli_files(), name, err);
    if (rc || file)
        return rc ? rc : ss_schedule_load(name, out, err);
    if (!shape.chunks)
        shape.chunks = ss_schedule_chunks(name, 0);
    return ss_schedule_build(name, &shape, out, err);
}

static int one_name(struct cli_flags *f, int argc, char **argv, const char **name, struct ss_error *err)
{
    int n, rc = cli_words(f, argc, argv, &n, err);
    if (!rc && n != 1)
        rc = cli_usage(err, "a name of \"stepsim schedule list\" or a file", "%s",
                       n ? "more than one schedule given" : "no schedule given");
    *name = argv[0];
    return rc;
}

int cmd_schedule_list(int argc, char **argv, struct ss_error *err)
{
    struct cli_flags f;
    init(&f, CLI_SCHEDULE_LIST);
    int n, rc = cli_words(&f, argc, argv, &n, err);
    if (!rc && n)
        rc = cli_usage(err, "", "schedule list takes no names");
    return rc ? rc : ss_report_schedules(f.json, stdout, err);
}

static int terminal_width(void)
{
    struct winsize w;
    if (isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_col >= 20)
        return w.ws_col;
    return 100;
}

int cmd_schedule_show(int argc, char **argv, struct ss_error *err)
{
    struct ss_schedule_view view = {.times = {1, 1, 1}};
    struct ss_schedule *s = NULL;
    struct ss_output *output;
    struct cli_flags f;
    const char *name;
    FILE *out;
    init(&f, CLI_SCHEDULE_SHOW);
    int rc = one_name(&f, argc, argv, &name, err);
    const char *times = f.schedule.times;
    if (!rc && times)
        rc = read_three("--times", &times, 3, view.times, err);
    if (!rc)
        rc = load(&f, name, &s, err);
    if (!rc)
        rc = cli_output_begin(f.output, &output, &out, err);
    if (!rc) {
        view.json = f.json;
        view.color = cli_color(&f);
        view.width = f.schedule.width ? f.schedule.width : terminal_width();
        rc = ss_report_schedule(s, &view, out, err);
        rc = cli_output_end(output, rc, err);
    }
    ss_schedule_free(s);
    cli_flags_free(&f);
    return rc;
}

static int ends_in_csv(const char *path)
{
    size_t n = strlen(path);
    return n > 4 && !strcmp(path + n - 4, ".csv");
}

static int write_file(const struct cli_flags *f, const struct ss_schedule *s, struct ss_error *err)
{
    struct ss_output *output;
    FILE *out;
    int form = f->schedule.form, csv = form == CLI_FORM_CSV;
    if (form == CLI_FORM_BY_NAME)
        csv = !f->output[0] || ends_in_csv(f->output);
    int rc = cli_output_begin(f->output, &output, &out, err);
    if (rc)
        return rc;
    rc = ss_schedule_write(s, csv ? SS_SCHEDULE_CSV : SS_SCHEDULE_TEXT, out, err);
    return cli_output_end(output, rc, err);
}

int cmd_schedule_write(int argc, char **argv, struct ss_error *err)
{
    struct ss_schedule *s = NULL;
    struct cli_flags f;
    const char *name;
    init(&f, CLI_SCHEDULE_WRITE);
    int rc = one_name(&f, argc, argv, &name, err);
    if (!rc)
        rc = load(&f, name, &s, err);
    if (!rc)
        rc = write_file(&f, s, err);
    ss_schedule_free(s);
    return rc;
}

static void print_checked(const char *file, const struct ss_schedule *s)
{
    int64_t slots = 0;
    for (int r = 0; r < s->stages; r++)
        slots += s->nslots[r];
    printf("%s: ok: %d ranks, %d chunk%s a rank, %d microbatches, %lld slots; in flight by rank:", file,
           s->stages, s->chunks, s->chunks == 1 ? "" : "s", ss_schedule_microbatches(s), (long long)slots);
    for (int r = 0; r < s->stages; r++)
        printf(" %d", ss_schedule_in_flight(s, r));
    putchar('\n');
}

int cmd_schedule_check(int argc, char **argv, struct ss_error *err)
{
    struct cli_flags f;
    init(&f, CLI_SCHEDULE_CHECK);
    int n, rc = cli_words(&f, argc, argv, &n, err);
    if (!rc && !n)
        rc = cli_usage(err, "give one or more files", "no file given");
    for (int i = 0; !rc && i < n; i++) {
        struct ss_schedule *s = NULL;
        rc = ss_schedule_load(argv[i], &s, err);
        if (!rc && !f.json)
            print_checked(argv[i], s);
        ss_schedule_free(s);
    }
    if (!rc && f.json)
        rc = ss_report_checked("schedule", n, (const char *const *)argv, stdout, err);
    return rc;
}

static int split_names(char *list, const char **names, struct ss_error *err)
{
    int n = 0;
    for (char *word = list; word && *word;) {
        char *comma = strchr(word, ',');
        if (comma)
            *comma = '\0';
        if (n == MAX_NAMES)
            return cli_usage(err, "", "more than %d schedules", MAX_NAMES);
        if (ss_schedule_is_file(word) && ss_files_add(cli_files(), word, err))
            return SS_ERR_NOMEM;
        names[n++] = word;
        word = comma ? comma + 1 : NULL;
    }
    return n;
}

/* Opens the picture; the answer goes elsewhere. */
static int picture_begin(const struct cli_flags *f, struct ss_output **output, FILE **out,
                         struct ss_error *err)
{
    const char *picture = f->pictures.path[CLI_GANTT];
    int rc = SS_OK;
    if (ss_output_same(picture, f->output))
        rc = cli_usage(err, "give each a name of its own", "--gantt and --output write the same file");
    if (!rc)
        rc = cli_output_check(picture, "<svg", err);
    return rc ? rc : cli_output_begin(picture, output, out, err);
}

static int draw_comparison(const struct cli_flags *f, const struct ss_comparison *c, struct ss_error *err)
{
    struct ss_output *output;
    FILE *out;
    int rc = picture_begin(f, &output, &out, err);
    if (!rc) {
        rc = ss_comparison_svg(c, out, err);
        rc = cli_output_end(output, rc, err);
    }
    return rc;
}

/* An exit status, as of a sweep, where all schedules are refused: there is nothing to draw. */
static int write_comparison(const struct cli_flags *f, struct ss_comparison *c, struct ss_error *err)
{
    struct ss_output *output;
    FILE *out;
    int none = 1;
    for (int i = 0; i < c->n; i++)
        none = none && c->rows[i].summary.code;
    int rc = f->pictures.path[CLI_GANTT][0] && !none ? draw_comparison(f, c, err) : SS_OK;
    if (!rc)
        rc = cli_output_begin(f->output, &output, &out, err);
    if (!rc) {
        rc = ss_comparison_write(c, f->json, out, err);
        rc = cli_output_end(output, rc, err);
    }
    ss_comparison_free(c);
    return rc || !none ? rc : ss_status_exit(SS_ERR_CONFIG);
}

static int compare_integers(struct cli_flags *f, int argc, char **argv, struct ss_comparison **c,
                            struct ss_error *err)
{
    double times[3] = {1, 1, 1};
    const char *names[MAX_NAMES];
    int left, rc = cli_words(f, argc, argv, &left, err);
    const char *at = f->schedule.times;
    if (!rc && left)
        rc = cli_usage(err, "put names behind --schedules", "\"%s\": not an option", argv[0]);
    if (!rc)
        rc = need_shape(f, err);
    if (!rc && at)
        rc = read_three("--times", &at, 3, times, err);
    if (rc)
        return rc;
    int n = split_names(f->schedule.names, names, err);
    return n < 0 ? n
                 : ss_compare_integers(names, n, &f->schedule.shape, times, f->pictures.path[CLI_GANTT][0], c,
                                       err);
}

static int compare_job(struct cli_flags *f, int argc, char **argv, struct ss_comparison **c,
                       struct ss_error *err)
{
    const char *names[MAX_NAMES];
    struct cli_inputs in;
    int rc = cli_inputs_load(&in, f, argc, argv, err);
    if (rc)
        return rc;
    int n = split_names(f->schedule.names, names, err);
    rc = n < 0 ? n : ss_compare_job(names, n, in.scenario, f->engine, f->pictures.path[CLI_GANTT][0], c, err);
    cli_inputs_free(&in);
    return rc;
}

int cmd_schedule_compare(int argc, char **argv, struct ss_error *err)
{
    struct ss_comparison *c;
    struct cli_flags f;
    int job = has_job(argc, argv);
    init(&f, job ? CLI_SCHEDULE_COMPARE_JOB : CLI_SCHEDULE_COMPARE);
    int rc = (job ? compare_job : compare_integers)(&f, argc, argv, &c, err);
    if (!rc && cli_given(&f, "--cap"))
        ss_comparison_limit(c, f.schedule.cap);
    if (!rc)
        rc = write_comparison(&f, c, err);
    cli_flags_free(&f);
    return rc;
}

/* --times, --memory and --cap of a search without a job. */
static int fill_search(const struct cli_flags *f, struct ss_search *q, struct ss_error *err)
{
    double t[3] = {1, 1, 1}, memory[2] = {1, 0};
    const char *at = f->schedule.times, *of_memory = f->schedule.memory;
    int rc = of_memory ? read_three("--memory", &of_memory, 2, memory, err) : SS_OK;
    if (!rc && memory[1] > 1e15)
        rc = cli_usage(err, "", "--memory: too large");
    for (int r = 0; !rc && r < q->stages; r++) {
        if (at && *at)
            rc = read_three("--times", &at, 3, t, err);
        else if (at && r > 1)
            rc = cli_usage(err, "give three numbers once, or for each rank", "--times has %d ranks, not %d",
                           r, q->stages);
        if (at && !*at && r == 0)
            at = NULL; /* one triple for all */
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
    if (!rc)
        rc = need_shape(f, err);
    if (rc)
        return rc;
    if (f->schedule.layouts && shape->chunks)
        return refuse_chunks(err);
    int chunks = f->schedule.v ? 2 : shape->chunks ? shape->chunks : 1;
    if ((double)shape->stages * chunks * shape->microbatches > 1 << 24)
        return cli_usage(err, "", "a search over more than %d actions", 1 << 24);
    *out = ss_search_new(shape->stages, chunks, shape->microbatches);
    if (!*out)
        return cli_usage(err, "", "no memory for the search");
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
    int rc = picture_begin(f, &output, &out, err);
    if (!rc) {
        rc = ss_search_layouts_svg(l, out, err);
        rc = cli_output_end(output, rc, err);
    }
    return rc;
}

/* Of a job, or of a shape whose stages are whole. An exit status where no layout has an order. */
static int search_layouts(struct cli_flags *f, const struct ss_scenario *scenario, struct ss_search *whole,
                          struct ss_error *err)
{
    struct ss_layout_options options = {.cap = f->schedule.cap,
                                        .whole = f->schedule.whole,
                                        .no_barrier = f->schedule.no_barrier,
                                        .steps = f->schedule.steps,
                                        .seed = (uint64_t)f->schedule.seed,
                                        .draw = f->pictures.path[CLI_GANTT][0] != 0};
    struct ss_search_layouts *l = NULL;
    struct ss_bands *bands = NULL;
    int rc = scenario ? ss_bands_load(NULL, NULL, &bands, err) : SS_OK;
    options.bands = bands;
    if (!rc)
        rc = scenario ? ss_search_layouts_run(scenario, &options, &l, err)
                      : ss_search_layouts_of_shape(whole, &options, &l, err);
    ss_bands_free(bands);
    int none = !rc && l->best < 0;
    if (!rc && !none && f->output[0])
        rc = write_file(f, l->rows[l->best].schedule, err);
    if (!rc && !none && options.draw)
        rc = draw_layouts(f, l, err);
    if (!rc)
        rc = ss_search_layouts_write(l, f->json, stdout, err);
    ss_search_layouts_free(l);
    return rc || !none ? rc : ss_status_exit(SS_ERR_CONFIG);
}

static int search(struct cli_flags *f, struct ss_search *q, struct ss_error *err)
{
    struct ss_search_result *r = NULL;
    q->split = !f->schedule.whole;
    q->barrier = q->barrier && !f->schedule.no_barrier;
    q->seed = (uint64_t)f->schedule.seed;
    q->steps = f->schedule.steps;
    if (f->schedule.layouts)
        return search_layouts(f, NULL, q, err);
    int rc = ss_search_run(q, &r, err);
    if (!rc && f->output[0]) /* first, for what cannot be written leaves one answer, the error */
        rc = write_file(f, r->schedule, err);
    if (!rc)
        rc = ss_search_write(q, r, f->json, stdout, err);
    ss_search_result_free(r);
    return rc;
}

static int search_job(struct cli_flags *f, int argc, char **argv, struct ss_error *err)
{
    struct ss_search *q = NULL;
    struct cli_inputs in;
    int chunks = has_chunks(argc, argv), rc = cli_inputs_load(&in, f, argc, argv, err);
    if (!rc && f->schedule.layouts && chunks)
        rc = refuse_chunks(err);
    else if (!rc && f->schedule.layouts)
        rc = search_layouts(f, in.scenario, NULL, err);
    else if (!rc)
        rc = search_of_job(f, in.scenario, &q, err);
    cli_inputs_free(&in);
    if (!rc && q)
        rc = search(f, q, err);
    ss_search_free(q);
    return rc;
}

int cmd_schedule_search(int argc, char **argv, struct ss_error *err)
{
    struct ss_search *q = NULL;
    struct cli_flags f;
    int job = has_job(argc, argv);
    init(&f, job ? CLI_SCHEDULE_SEARCH_JOB : CLI_SCHEDULE_SEARCH);
    int rc = job ? search_job(&f, argc, argv, err) : search_of_shape(&f, argc, argv, &q, err);
    if (!rc && q) {
        rc = search(&f, q, err);
        ss_search_free(q);
    }
    cli_flags_free(&f);
    return rc;
}
