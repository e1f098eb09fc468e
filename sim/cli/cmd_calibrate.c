/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "cli/cli.h"

static void progress(void *ctx, int evaluations)
{
    (void)ctx;
    if (evaluations > 0)
        fprintf(stderr, "\r%6d evaluations", evaluations);
    else
        fprintf(stderr, "\r%20s\r", "");
    fflush(stderr);
}

static int read_props(struct ss_calibrate_options *opt, const struct ss_texts *given, struct ss_error *err)
{
    int rc = SS_OK;

    if (given->n > SS_FIT_MAX)
        return cli_usage(err, "", "more than %d numbers to fit", SS_FIT_MAX);
    for (opt->nprops = 0; opt->nprops < given->n && !rc; opt->nprops++) {
        struct ss_fit_prop *prop = &opt->props[opt->nprops];
        rc = ss_fit_prop_parse(given->text[opt->nprops], prop, err);
        for (int i = 0; !rc && i < opt->nprops; i++)
            if (!strcmp(opt->props[i].id, prop->id))
                rc = cli_usage(err, "leave one out", "--prop %s is given twice", prop->id);
    }
    return rc;
}

/* Returns 1 if there is only a table of kernels, which may be of all cards: then nothing is fitted. */
static int only_microbench(const struct ss_calibrate_options *opt)
{
    return opt->microbench && !opt->platform && !opt->ntables && !opt->nccl && !opt->log && !opt->nprops;
}

static int survey(const struct ss_calibrate_options *opt, const struct cli_flags *f, struct ss_error *err)
{
    const struct ss_display view = cli_view(f);
    struct ss_survey *s = NULL;
    int rc = ss_survey_microbench(opt->microbench, opt->stack, opt->files, &s, err);

    SS_THEN(rc, f->json ? ss_survey_write_json(s, stdout, err) : ss_survey_write_text(s, &view, stdout, err));
    ss_survey_free(s);
    return rc;
}

/* Fits the curves of kernels, and scores them on what is left out. */
static int curves(const struct ss_calibrate_options *opt, const struct cli_flags *f, struct ss_error *err)
{
    const struct ss_display view = cli_view(f);
    struct ss_curve_report *r = NULL;
    int by = !strcmp(opt->leave_out, "half") ? SS_CURVES_BY_HALF : SS_CURVES_BY_GPU;
    int rc = ss_curves_leave_out(opt->microbench, opt->stack, by, (uint64_t)f->calibrate.seed, opt->files, &r,
                                 err);

    SS_THEN(rc, f->json ? ss_curve_report_write_json(r, stdout, err)
                        : ss_curve_report_write_text(r, &view, stdout, err));
    ss_curve_report_free(r);
    return rc;
}

static int check_words(const struct ss_calibrate_options *opt, const struct cli_flags *f,
                       struct ss_error *err)
{
    const char *stack_output = f->calibrate.stack_output;

    if (!opt->platform && !only_microbench(opt))
        return cli_usage(err, "\"stepsim list platforms\" shows the names", "no --platform given");
    if (!opt->ntables && !opt->nccl && !opt->microbench && !opt->log)
        return cli_usage(err, "add --rows TABLE, --nccl FILE, --microbench FILE or --log FILE",
                         "nothing measured to calibrate with");
    if (opt->timer_rows && !opt->ntables)
        return cli_usage(err, "--rows TABLE has the runs", "--timer-rows without --rows");
    if (opt->fit_timers && !opt->log && !opt->timer_rows)
        return cli_usage(err, "--log FILE has them, or --timer-rows FILE", "--timers without timers");
    if (only_microbench(opt) && (f->output[0] || stack_output))
        return cli_usage(err, "add --platform NAME",
                         "nothing is fitted without a platform, so nothing is written");
    if (only_microbench(opt) && (opt->job || cli_given(f, "--spread") || cli_given(f, "--timing")))
        return cli_usage(err, "add --platform NAME",
                         "--job, --spread and --timing: nothing is fitted without a platform");
    if (only_microbench(opt) && opt->leave_out && strcmp(opt->leave_out, "half") != 0 &&
        strcmp(opt->leave_out, "gpu") != 0)
        return cli_usage(err, "kernels are left out by half or gpu", "--leave-out %.40s", opt->leave_out);
    if (cli_given(f, "--seed") &&
        (!only_microbench(opt) || !opt->leave_out || strcmp(opt->leave_out, "half") != 0))
        return cli_usage(err, "leave one out",
                         "--seed draws the half of a table of kernels: --leave-out half");
    if (stack_output && !opt->stack)
        return cli_usage(err, "--stack names the base of the new stack", "--stack-output without --stack");
    return SS_OK;
}

/* Reads what the words ask for. *opt points into the flags. */
static int read_words(struct ss_calibrate_options *opt, struct cli_flags *f, struct ss_error *err)
{
    if (f->n)
        return cli_usage(err, "--help lists the options", "unknown option %s", f->words[0]);
    *opt = (struct ss_calibrate_options){
        .platform = f->calibrate.platform,
        .stack = f->calibrate.stack,
        .ntables = f->calibrate.rows.n,
        .tables = (const char *const *)f->calibrate.rows.text,
        .nccl = f->calibrate.nccl,
        .nccl_nodes = f->nodes,
        .microbench = f->calibrate.microbench,
        .log = f->calibrate.log,
        .job = f->calibrate.job,
        .timer_rows = f->timer_rows[0] ? f->timer_rows : NULL,
        .fit_timers = f->calibrate.timers,
        .leave_out = f->calibrate.leave_out,
        .spread = f->options.spread >= 0 ? &f->options.spread : NULL,
        .progress = cli_terminal(STDERR_FILENO) ? progress : NULL,
        .files = cli_files(),
        .workers = cli_workers(f),
    };
    SS_TRY(read_props(opt, &f->calibrate.props, err));
    return check_words(opt, f, err);
}

/* "dir/mine.xml" names the stack mine. */
static int write_stack(const struct ss_calibration *c, const struct ss_calibrate_options *opt,
                       const char *path, struct ss_error *err)
{
    const char *slash = strrchr(path, '/');
    char name[64];
    int rc = SS_OK;

    snprintf(name, sizeof name, "%s", slash ? slash + 1 : path);
    if (strrchr(name, '.'))
        *strrchr(name, '.') = '\0';
    const char *stack = name[0] ? name : "calibrated";
    CLI_WRITE(rc, path, ss_calibration_write_stack(c, stack, opt->stack, opt->platform, stream, err), err);
    return rc;
}

static int write_all(const struct ss_calibration *c, const struct ss_calibrate_options *opt,
                     const struct cli_flags *flags, struct ss_error *err)
{
    const char *stack_output = flags->calibrate.stack_output;
    int rc = SS_OK, of_stack = 0;

    if (flags->output[0])
        CLI_WRITE(rc, flags->output, ss_calibration_write_platform(c, opt->platform, stream, err), err);
    if (!rc && stack_output)
        rc = write_stack(c, opt, stack_output, err);
    SS_THEN(rc, flags->json ? ss_calibration_write_json(c, stdout, err)
                            : ss_calibration_write_text(c, stdout, err));
    for (int i = 0; i < c->nprops; i++)
        of_stack |= c->props[i].of_stack;
    if (!rc && of_stack && !stack_output)
        fprintf(stderr, "stepsim: note: numbers of the stack are written with %s--stack-output FILE\n",
                opt->stack ? "" : "--stack S ");
    return rc;
}

int cmd_calibrate(struct cli_flags *f, struct ss_error *err)
{
    struct ss_calibrate_options opt;
    struct ss_calibration *c = NULL;

    SS_TRY(read_words(&opt, f, err));
    if (only_microbench(&opt))
        return opt.leave_out ? curves(&opt, f, err) : survey(&opt, f, err);
    SS_TRY(cli_outputs_check(f, err)); /* checked again, because only now all inputs are known */
    int rc = ss_calibrate(&opt, &c, err);
    if (cli_terminal(STDERR_FILENO))
        progress(NULL, 0);
    SS_THEN(rc, write_all(c, &opt, f, err));
    ss_calibration_free(c);
    if (!rc && f->timing)
        fprintf(stderr, "stepsim: %.2f s\n", cli_wall_s());
    return rc;
}
