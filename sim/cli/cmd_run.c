/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "cli/cli.h"
#include "cli/options.h"

/* Explains the run for its card, which heads the page, too. */
static int explain(const struct ss_run *run, const struct cli_flags *flags, struct ss_card_steps *out,
                   struct ss_error *err)
{
    struct ss_explanation *x = calloc(1, sizeof *x);
    const struct ss_run_options *o = &flags->how.options;
    /* A page is made of a run of minutes, too, which is not made again 40 times. */
    int slow = run->result->level != SS_LEVEL_CHUNK || o->full_replay || o->jitter.sigma > 0;
    int rc = x ? SS_OK : SS_ERR_NOMEM;

    SS_THEN(rc, slow && !cli_given(flags, "--card") ? ss_explain_terms(run, x) : ss_explain(run, o, x, err));
    if (!rc)
        ss_explanation_card(x, run, out);
    free(x);
    return rc;
}

static int report(const struct ss_run *run, const struct cli_inputs *in, const struct cli_flags *flags,
                  const struct ss_fix *fixes, int nfixes, const struct ss_smallest *smallest,
                  struct ss_error *err)
{
    const struct ss_files files = {.n = in->nfiles, .path = cli_files()->path};
    const struct ss_display view = cli_view(flags);
    struct ss_report_options opt = ss_report_of(in->scenario);
    struct ss_output *output;
    FILE *stream;
    struct cli_drawn drawn;
    struct ss_card_steps steps = {.n = 0};
    opt.json = flags->json;
    opt.brief = flags->brief;
    opt.verbose = flags->verbose;
    opt.color = view.color;
    opt.width = view.width;
    opt.wall_s = flags->timing ? cli_wall_s() : -1;
    opt.how = &in->how;
    opt.files = &files;
    opt.fixes = fixes;
    opt.nfixes = nfixes;
    opt.smallest = smallest;
    int card = cli_given(flags, "--card") || cli_given(flags, "--report");
    int rc = cli_ranks_write(flags, run->plan, run->program, run->timeline, err);
    SS_THEN(rc, card ? explain(run, flags, &steps, err) : SS_OK);
    SS_THEN(rc, cli_pictures_draw(&drawn, flags, run->program, run->timeline, run, card ? &steps : NULL, &opt,
                                  err));
    if (rc)
        return rc;
    rc = cli_output_begin(flags->output, &output, &stream, err);
    SS_THEN(rc, cli_output_end(output, ss_report_run(run, &opt, stream, err), err));
    return cli_pictures_end(&drawn, rc, err);
}

static int outside(const char *what, double predicted, double measured, double tolerance)
{
    double error = ss_error_pct(predicted, measured);

    if (!(measured > 0) || fabs(error) <= tolerance)
        return 0;
    fprintf(stderr, "stepsim: %s is %+.2f %% off, more than the tolerance of %g %%\n", what, error,
            tolerance);
    return 1;
}

static int verdict(const struct ss_result *r, const struct ss_scenario *s, const struct cli_flags *flags)
{
    int bad = 0;

    if (!r->fits)
        return ss_status_exit(SS_ERR_OOM);
    if (flags->tolerance >= 0) {
        bad |= outside("the iteration time", r->iteration_s, s->measured_s, flags->tolerance);
        bad |= outside("the memory", r->peak_device, s->measured_bytes, flags->tolerance);
    }
    return bad ? ss_status_exit(SS_ERR_TOLERANCE) : 0;
}

/* Tells the progress to a log, which is no terminal: the first line after ten seconds, each next line
 * after twice the time. ctx: when the next line is due, s. */
static void tell_log(void *ctx, double share)
{
    double *next = ctx;

    if (cli_wall_s() < *next)
        return;
    fprintf(stderr, "replaying: %.2g %% after %.0f s\n", 100 * share, cli_wall_s());
    *next = 2 * cli_wall_s();
}

/* `next` is the ctx of tell_log, and has to live as long as the options. */
static int replay(const struct cli_inputs *in, struct ss_run_options *options, double *next,
                  struct ss_run *run, struct ss_error *err)
{
    int shown = cli_terminal(STDERR_FILENO), rc;

    options->progress = shown ? cli_progress : tell_log;
    options->ctx = shown ? (void *)"replaying" : next;
    rc = ss_run_weighed(in->scenario, options, run, err);
    if (shown)
        cli_progress_end();
    return rc;
}

/* Writes the link alone. Options of the simulation and of other outputs are not in a link. */
static int write_link(const struct cli_inputs *in, const struct cli_flags *flags, struct ss_error *err)
{
    const struct cli_option *o;
    struct ss_output *output;
    FILE *stream;

    for (int i = 0; (o = cli_option_at(i)) != NULL; i++)
        if (flags->given[i] && strcmp(o->name, "--link") != 0 && strcmp(o->name, "--output") != 0)
            return cli_usage(err, "leave it out: a link has the words of the job alone",
                             "both --link and %s given", o->name);
    SS_TRY(cli_output_begin(flags->output, &output, &stream, err));
    int rc = ss_serve_link(in->scenario->request, getenv("STEPSIM_PAGE"), stream, err);
    if (!rc)
        fputc('\n', stream);
    return cli_output_end(output, rc, err);
}

int cmd_run(int argc, char **argv, struct ss_error *err)
{
    int status, nfixes = 0, rc;
    struct cli_flags flags;
    struct cli_inputs in;
    struct ss_bands *bands = NULL;
    struct ss_run run;
    struct ss_fix fixes[3];
    struct ss_smallest smallest = {0};
    double next = 10; /* s, for tell_log */

    cli_flags_init(&flags, CLI_RUN);
    SS_TRY(cli_inputs_load(&in, &flags, argc, argv, err));
    if (flags.link) {
        rc = write_link(&in, &flags, err);
        cli_flags_free(&flags);
        cli_inputs_free(&in);
        return rc;
    }
    rc = flags.tolerance >= 0 && !(in.scenario->measured_s > 0) && !(in.scenario->measured_bytes > 0)
             ? cli_usage(err, "add --measured or --measured-memory", "--tolerance without a measurement")
             : ss_run_words_finish(&flags.how, in.scenario, cli_files(), err);
    cli_inputs_end(&in); /* the placement is an input, too */
    SS_THEN(rc, ss_bands_load(NULL, cli_files(), &bands, err));
    flags.how.options.bands = bands;
    flags.how.options.open_compute = 1;
    SS_THEN(rc, replay(&in, &flags.how.options, &next, &run, err));
    if (!rc) {
        if (!run.result->fits && !flags.brief)
            rc = ss_fixes_find(in.scenario, &flags.how.options, fixes, &nfixes, err);
        if (!run.result->fits && !flags.brief)
            ss_smallest_find(in.scenario, flags.how.options.cache, &smallest);
        SS_THEN(rc, report(&run, &in, &flags, fixes, nfixes, &smallest, err));
        status = rc ? 0 : verdict(run.result, in.scenario, &flags);
        ss_run_free(&run);
    }
    ss_bands_free(bands);
    cli_flags_free(&flags);
    cli_inputs_free(&in);
    return rc ? rc : status;
}
