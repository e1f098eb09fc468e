/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/schedule.h"

#define MAX_NAMES 64

int cli_schedule_is_among(int argc, char *const *argv, const char *const *names, size_t n)
{
    for (int i = 0; i < argc; i++)
        for (size_t k = 0; k < n; k++) {
            size_t length = strlen(names[k]);
            if (!strncmp(argv[i], names[k], length) && (!argv[i][length] || argv[i][length] == '='))
                return 1;
        }
    return 0;
}

int cli_schedule_has_job(int argc, char *const *argv)
{
    static const char *const names[] = {"--platform", "--job", "--launch"};
    return cli_schedule_is_among(argc, argv, names, sizeof names / sizeof *names);
}

int cli_schedule_load_job(struct cli_flags *f, struct ss_error *err)
{
    static const char *const names[] = {"--schedule"};

    if (cli_schedule_is_among(f->n, f->words, names, 1))
        return cli_usage(err, "leave it out: search makes an order, compare takes a list, --schedules",
                         "--schedule names one order");
    return cli_inputs_load(&f->in, f, f->n, f->words, err);
}

int cli_schedule_numbers(const char *option, const char **at, int n, double *out, struct ss_error *err)
{
    double sum = 0;

    for (int k = 0; k < n; k++) {
        char *end;
        out[k] = strtod(*at, &end);
        if (end == *at || !(out[k] >= 0 && out[k] < 1e15) || (k + 1 < n && *end != ',') ||
            (k + 1 == n && *end && *end != ';'))
            return cli_usage(err, n == 3 ? "write it as --times 1,1,1" : "write it as --memory 1,0.5",
                             "%s: not %d numbers", option, n);
        *at = end + (k + 1 < n || *end == ';');
        sum += out[k];
    }
    if (n == 3 && !(sum > 0))
        return cli_usage(err, "write it as --times 1,1,1", "%s: forward, backward and weights take no time",
                         option);
    return SS_OK;
}

int cli_schedule_need_shape(const struct cli_flags *f, struct ss_error *err)
{
    if (f->schedule.shape.stages && f->schedule.shape.microbatches)
        return SS_OK;
    return cli_usage(err, "as in --pp 4 --microbatches 8", "the shape of the pipeline is missing");
}

/* Refuses options of the shape beside a file, which has a shape of its own. */
static int no_shape(const struct cli_flags *f, const char *name, struct ss_error *err)
{
    static const char *const options[] = {"--pp", "--microbatches", "--vp", "--group", "--paired"};

    for (int i = 0; i < 5; i++)
        if (cli_given(f, options[i]))
            return cli_usage(err, "leave it out", "%s beside %s: a file has its own shape", options[i], name);
    return SS_OK;
}

/* Refuses options that change the order of none of the n schedules, all of which exist. n 0: all known
 * schedules. */
static int check_heeded(const struct cli_flags *f, int n, const char *const *names, struct ss_error *err)
{
    int heeds = n ? 0 : SS_SCHEDULE_HEEDS_GROUP;

    for (int i = 0; i < n; i++) {
        char base[64];
        snprintf(base, sizeof base, "%.*s", (int)strcspn(names[i], ":"), names[i]);
        heeds |= ss_schedule_heeds(base);
    }
    if (cli_given(f, "--group") && !(heeds & SS_SCHEDULE_HEEDS_GROUP))
        return cli_usage(err, "leave it out, or name interleaved or group-interleaved",
                         "--group changes no order of what is named");
    if (cli_given(f, "--paired") && !(heeds & SS_SCHEDULE_HEEDS_PAIRED))
        return cli_usage(err, "leave it out, or name 1f1b or interleaved",
                         "--paired changes no order of what is named");
    return SS_OK;
}

/* Loads a schedule: by its name with the shape of the options, or from a file. */
static int load(const struct cli_flags *f, const char *name, struct ss_schedule **out, struct ss_error *err)
{
    struct ss_schedule_params shape = f->schedule.shape;
    int file = ss_schedule_is_file(name) || !strcmp(name, "-"),
        rc = file ? no_shape(f, name, err) : cli_schedule_need_shape(f, err);
    if (!rc && file)
        rc = ss_files_add(cli_files(), name, err);
    if (rc || file)
        return rc ? rc : ss_schedule_load(name, out, err);
    if (!shape.chunks)
        shape.chunks = ss_schedule_chunks(name, 0);
    rc = ss_schedule_build(name, &shape, out, err);
    return rc ? rc : check_heeded(f, 1, &name, err);
}

static int load_one(const struct cli_flags *f, struct ss_schedule **out, struct ss_error *err)
{
    if (f->n != 1)
        return cli_usage(err, "a name of \"stepsim schedule list\" or a file", "%s",
                         f->n ? "more than one schedule given" : "no schedule given");
    return load(f, f->words[0], out, err);
}

int cmd_schedule_list(struct cli_flags *f, struct ss_error *err)
{
    if (f->n)
        return cli_usage(err, "", "schedule list takes no names");
    return ss_report_schedules(f->json, stdout, err);
}

int cmd_schedule_show(struct cli_flags *f, struct ss_error *err)
{
    struct ss_schedule_view view = {.times = {1, 1, 1}, .json = f->json, .color = cli_view(f).color};
    struct ss_schedule *s = NULL;
    const char *times = f->schedule.times;
    int rc = times && f->n == 1 ? cli_schedule_numbers("--times", &times, 3, view.times, err) : SS_OK;

    SS_THEN(rc, load_one(f, &s, err));
    view.width = f->schedule.width ? f->schedule.width : cli_view(f).width;
    CLI_WRITE(rc, f->output, ss_report_schedule(s, &view, stream, err), err);
    ss_schedule_free(s);
    return rc;
}

static int ends_in_csv(const char *path)
{
    size_t n = strlen(path);
    return n > 4 && !strcmp(path + n - 4, ".csv");
}

int cli_schedule_write(const struct cli_flags *f, const struct ss_schedule *s, struct ss_error *err)
{
    int form = f->schedule.form, csv = form == CLI_FORM_CSV, rc = SS_OK;

    if (form == CLI_FORM_BY_NAME)
        csv = !f->output[0] || ends_in_csv(f->output);
    CLI_WRITE(rc, f->output, ss_schedule_write(s, csv ? SS_SCHEDULE_CSV : SS_SCHEDULE_TEXT, stream, err),
              err);
    return rc;
}

int cmd_schedule_write(struct cli_flags *f, struct ss_error *err)
{
    struct ss_schedule *s = NULL;
    int rc = load_one(f, &s, err);

    SS_THEN(rc, cli_schedule_write(f, s, err));
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

int cmd_schedule_check(struct cli_flags *f, struct ss_error *err)
{
    if (!f->n)
        return cli_usage(err, "give one or more files", "no file given");
    for (int i = 0; i < f->n; i++) {
        struct ss_schedule *s = NULL;
        SS_TRY(ss_schedule_load(f->words[i], &s, err));
        if (!f->json)
            print_checked(f->words[i], s);
        ss_schedule_free(s);
    }
    return f->json ? ss_report_checked("schedule", f->n, (const char *const *)f->words, stdout, err) : SS_OK;
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

/* Writes a comparison. Where all schedules are refused, nothing is drawn, and the exit status is the one
 * that a sweep has. */
static int write_comparison(const struct cli_flags *f, struct ss_comparison *c, struct ss_error *err)
{
    const struct ss_display view = cli_view(f);
    const char *picture = f->pictures.path[CLI_GANTT];
    int none = 1, rc = SS_OK;

    for (int i = 0; i < c->n; i++)
        none = none && c->rows[i].summary.code;
    if (picture[0] && !none)
        CLI_WRITE(rc, picture, ss_comparison_svg(c, f->pictures.width, stream, err), err);
    CLI_WRITE(rc, f->output, ss_comparison_write(c, &view, stream, err), err);
    ss_comparison_free(c);
    return rc || !none ? rc : ss_status_exit(SS_ERR_CONFIG);
}

static void show(void *ctx, double share)
{
    struct cli_meter *m = ctx;
    double now = cli_wall_s();
    if (m->shown > 0 && now - m->shown < 0.1)
        return;
    m->shown = now;
    cli_progress((void *)m->what, share);
}

struct ss_study_progress cli_schedule_progress(struct cli_meter *m)
{
    return (struct ss_study_progress){cli_terminal(STDERR_FILENO) ? show : NULL, m};
}

void cli_schedule_progress_end(const struct cli_meter *m)
{
    if (m->shown > 0)
        cli_progress_end();
}

static int compare_integers(struct cli_flags *f, struct ss_comparison **c, struct ss_error *err)
{
    double times[3] = {1, 1, 1};
    const char *names[MAX_NAMES], *at = f->schedule.times;

    if (f->n)
        return cli_usage(err, "put names behind --schedules", "\"%s\": not an option", f->words[0]);
    SS_TRY(cli_schedule_need_shape(f, err));
    SS_TRY(at ? cli_schedule_numbers("--times", &at, 3, times, err) : SS_OK);
    int n = split_names(f->schedule.names, names, err);
    if (n < 0)
        return n;
    struct cli_meter meter = {.what = "comparing"};
    const struct ss_study_progress progress = cli_schedule_progress(&meter);
    int rc = ss_compare_integers(names, n, &f->schedule.shape, times, f->pictures.path[CLI_GANTT][0],
                                 &progress, c, err);
    cli_schedule_progress_end(&meter);
    SS_TRY(rc);
    rc = check_heeded(f, n, names, err);
    if (rc)
        ss_comparison_free(*c);
    return rc;
}

static int compare_job(struct cli_flags *f, struct ss_comparison **c, struct ss_error *err)
{
    struct cli_meter meter = {.what = "comparing"};
    const struct ss_study_progress progress = cli_schedule_progress(&meter);
    const char *names[MAX_NAMES];

    SS_TRY(cli_schedule_load_job(f, err));
    int n = split_names(f->schedule.names, names, err);
    int rc = n < 0 ? n
                   : ss_compare_job(names, n, f->in.scenario, f->options.how.options.engine,
                                    f->pictures.path[CLI_GANTT][0], &progress, c, err);
    cli_schedule_progress_end(&meter);
    return rc;
}

int cmd_schedule_compare(struct cli_flags *f, struct ss_error *err)
{
    struct ss_comparison *c;

    SS_TRY((f->verb == CLI_SCHEDULE_COMPARE_JOB ? compare_job : compare_integers)(f, &c, err));
    if (cli_given(f, "--cap"))
        ss_comparison_limit(c, f->schedule.cap);
    return write_comparison(f, c, err);
}
