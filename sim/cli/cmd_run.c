/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "cli/cli.h"

/* Explains the run for its card, which heads the page, too. */
static int explain(const struct ss_run *run, const struct cli_flags *flags, struct ss_card_steps *out,
                   struct ss_error *err)
{
    struct ss_explanation *x = calloc(1, sizeof *x);
    const struct ss_run_options *o = &flags->options.how.options;
    /* A page is made of a run of minutes, too, which is not made again 40 times. */
    int slow = run->result->level != SS_LEVEL_CHUNK || o->full_replay || o->jitter.sigma > 0;
    int rc = x ? SS_OK : SS_ERR_NOMEM;

    SS_THEN(rc, slow && !cli_given(flags, "--card") ? ss_explain_terms(run, x) : ss_explain(run, o, x, err));
    if (!rc)
        ss_explanation_card(x, run, out);
    free(x);
    return rc;
}

static int report(const struct ss_run *run, const struct cli_flags *flags, const struct ss_fix *fixes,
                  int nfixes, const struct ss_smallest *smallest, struct ss_error *err)
{
    const struct ss_files files = {.n = flags->in.nfiles, .path = cli_files()->path};
    const struct ss_display view = cli_view(flags);
    struct ss_report_options opt = ss_report_of(flags->in.scenario);
    struct cli_drawn drawn;
    struct ss_card_steps steps = {.n = 0};
    int rc = SS_OK;

    opt.json = flags->json;
    opt.brief = flags->brief;
    opt.verbose = flags->verbose;
    opt.color = view.color;
    opt.width = view.width;
    opt.wall_s = flags->timing ? cli_wall_s() : -1;
    opt.how = &flags->in.how;
    opt.files = &files;
    opt.fixes = fixes;
    opt.nfixes = nfixes;
    opt.smallest = smallest;
    int card = cli_given(flags, "--card") || cli_given(flags, "--report");
    SS_TRY(cli_ranks_write(flags, run->plan, run->program, run->timeline, err));
    SS_TRY(card ? explain(run, flags, &steps, err) : SS_OK);
    SS_TRY(
        cli_pictures_draw(&drawn, flags, run->program, run->timeline, run, card ? &steps : NULL, &opt, err));
    CLI_WRITE(rc, flags->output, ss_report_run(run, &opt, stream, err), err);
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

static int verdict(const struct ss_result *r, const struct cli_flags *flags)
{
    const struct ss_scenario *s = flags->in.scenario;
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
static int replay(struct cli_flags *flags, double *next, struct ss_run *run, struct ss_error *err)
{
    struct ss_run_options *options = &flags->options.how.options;
    int shown = cli_terminal(STDERR_FILENO), rc;

    options->progress = shown ? cli_progress : tell_log;
    options->ctx = shown ? (void *)"replaying" : next;
    rc = ss_run_weighed(flags->in.scenario, options, run, err);
    if (shown)
        cli_progress_end();
    return rc;
}

static int put_link(const struct ss_request *r, FILE *out, struct ss_error *err)
{
    SS_TRY(ss_serve_link(r, getenv("STEPSIM_PAGE"), out, err));
    fputc('\n', out);
    return SS_OK;
}

/* Writes the link alone. Options of the simulation and of other outputs are not in a link. */
static int write_link(const struct cli_flags *flags, struct ss_error *err)
{
    const struct ss_option *o;
    int rc = SS_OK;

    for (int i = 0; (o = cli_option_at(i)) != NULL; i++)
        if (flags->given[i] && strcmp(o->name, "--link") != 0 && strcmp(o->name, "--output") != 0)
            return cli_usage(err, "leave it out: a link has the words of the job alone",
                             "both --link and %s given", o->name);
    CLI_WRITE(rc, flags->output, put_link(flags->in.scenario->request, stream, err), err);
    return rc;
}

int cmd_run(struct cli_flags *flags, struct ss_error *err)
{
    struct ss_scenario *s = flags->in.scenario;
    struct ss_run run;
    struct ss_fix fixes[3];
    struct ss_smallest smallest = {0};
    int nfixes = 0, rc = SS_OK;
    double next = 10; /* s, for tell_log */

    if (flags->link)
        return write_link(flags, err);
    if (flags->tolerance >= 0 && !(s->measured_s > 0) && !(s->measured_bytes > 0))
        return cli_usage(err, "add --measured or --measured-memory", "--tolerance without a measurement");
    SS_TRY(ss_run_words_finish(&flags->options.how, s, cli_files(), err));
    cli_inputs_end(&flags->in); /* the placement is an input, too */
    SS_TRY(cli_bands(flags, err));
    SS_TRY(replay(flags, &next, &run, err));
    if (!run.result->fits && !flags->brief) {
        rc = ss_fixes_find(s, &flags->options.how.options, fixes, &nfixes, err);
        ss_smallest_find(s, flags->options.how.options.cache, &smallest);
    }
    SS_THEN(rc, report(&run, flags, fixes, nfixes, &smallest, err));
    SS_THEN(rc, verdict(run.result, flags));
    ss_run_free(&run);
    return rc;
}
