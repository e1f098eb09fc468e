/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

/* The sides of a comparison: files before the first option, the other words, and the words of each --with. */
struct sides {
    struct ss_sides_words told;
    struct cli_flags *flags; /* options among the words that all sides have */
    int n;
    struct ss_side side[SS_SIDES_MOST];
    struct ss_apart apart[SS_SIDES_MOST];
    struct ss_notes warnings[SS_SIDES_MOST];
    /* --kineto, --nsys: a trace beside the only side */
    const char *traced; /* its file, NULL: none */
    struct ss_kineto trace;
    struct ss_measured measured;
    FILE *card; /* where each side draws its card, once all are predicted; NULL: not now */
};

static int too_few_or_many(int n, struct ss_error *err)
{
    if (n < 2)
        return cli_usage(err, "give two files, or one job and --with \"--tp 4\"", "nothing to compare");
    return cli_usage(err, "compare fewer", "more than %d sides", SS_SIDES_MOST);
}

static int read_words(struct sides *c, struct ss_error *err)
{
    struct cli_flags *f = c->flags;
    int nfiles = 0;

    while (nfiles < f->n && (f->words[nfiles][0] != '-' || !f->words[nfiles][1]))
        nfiles++;
    const int left = f->n - nfiles;
    SS_TRY(cli_request_read(&f->request, NULL, f, left, f->words + nfiles, err));
    c->told = (struct ss_sides_words){
        nfiles, left, f->options.with.n, f->words, f->words + nfiles, f->options.with.text};
    c->n = ss_sides_count(&c->told);
    c->traced = f->kineto[0] ? f->kineto : f->nsys[0] ? f->nsys : NULL;
    if (c->traced)
        return c->n == 1 ? SS_OK
                         : cli_usage(err, "give the one job of that run", "a trace beside %d jobs", c->n);
    return c->n < 2 || c->n > SS_SIDES_MOST ? too_few_or_many(c->n, err) : SS_OK;
}

static int fill(struct sides *c, int i, const char *name, const struct ss_run *run, struct ss_error *err)
{
    ss_side_fill(run, name, &c->side[i]);
    c->side[i].warnings = &c->warnings[i];
    return ss_side_warn(run, &c->warnings[i], err);
}

/* Draws the card of a side below that of the sides before it, on one scale of time. */
static int draw(struct sides *c, int i, const struct ss_run *run, const struct ss_run_options *options,
                struct ss_error *err)
{
    struct ss_card_steps steps = {.index = i, .of = 2};
    struct ss_picture_request request = {
        .card = c->card, .width = c->flags->pictures.width, .run = run, .steps = &steps};
    struct ss_explanation *x = calloc(1, sizeof *x);
    double first = c->side[0].summary.iteration_s, second = c->side[1].summary.iteration_s;
    int rc = x ? ss_explain(run, options, x, err) : SS_ERR_NOMEM;

    steps.longest = first > second ? first : second;
    if (i > 0)
        snprintf(steps.against, sizeof steps.against, "%+.1f %% against A, %s", 100 * (second / first - 1),
                 c->apart[1].apart ? "a clear difference" : "too close to call");
    if (!rc)
        ss_explanation_card(x, run, &steps);
    free(x);
    return rc ? rc : ss_pictures_draw(run->program, run->timeline, options->engine, &request, err);
}

/* Predicts the job of these words. A job that is refused is an answer on every side but the first. */
static int predict(void *ctx, int i, const char *name, int argc, char *const *argv, struct ss_error *err)
{
    struct sides *c = ctx;
    struct cli_flags flags;
    struct ss_error why = {0};
    struct ss_run run = {0};

    cli_flags_init(&flags, CLI_COMPARE);
    flags.options.behind = 1;
    int rc = cli_inputs_load(&flags.in, &flags, argc, argv, &why);
    SS_THEN(rc, ss_run_words_finish(&flags.options.how, flags.in.scenario, cli_files(), &why));
    flags.options.how.options.bands = c->flags->bands;
    flags.options.how.options.open_compute = 1;
    SS_THEN(rc, ss_run_widened(flags.in.scenario, &flags.options.how.options, &run, &why));
    if (!rc && c->card)
        rc = draw(c, i, &run, &flags.options.how.options, &why);
    else if (!rc && c->traced)
        ss_measured_fill(&run, &c->trace, name, c->traced, &c->measured);
    else if (!rc)
        rc = fill(c, i, name, &run, &why);
    ss_run_free(&run);
    cli_flags_free(&flags);
    if (i > 0 && !c->card && ss_status_refuses(rc)) {
        ss_side_refuse(&why, name, &c->side[i]);
        return SS_OK;
    }
    if (rc)
        *err = why;
    return rc;
}

static int write_text(const struct sides *c, enum ss_contrast_form form, FILE *out, struct ss_error *err)
{
    const struct ss_display view = cli_view(c->flags);

    return c->traced ? ss_measured_write(&c->measured, form, out, err)
                     : ss_contrast_write(c->side, c->apart, c->n, form, &view, out, err);
}

static int draw_bars(const struct sides *c, double width, FILE *out, struct ss_error *err)
{
    return c->traced ? ss_measured_write_svg(&c->measured, width, out, err)
                     : ss_contrast_write_svg(c->side, c->apart, c->n, width, out, err);
}

static int draw_card(struct sides *c, FILE *out, struct ss_error *err)
{
    int rc = SS_OK;

    c->card = out;
    for (int i = 0; !rc && i < c->n; i++)
        rc = ss_side_tell(&c->told, i, predict, c, err);
    c->card = NULL;
    return rc;
}

static int write_card(struct sides *c, struct ss_error *err)
{
    int rc = SS_OK;

    if (c->n != 2)
        return cli_usage(err, "give two", "--card %s: a card is of two jobs, and these are %d",
                         c->flags->pictures.path[CLI_CARD], c->n);
    if (c->side[1].summary.outcome == SS_OUTCOME_REFUSED)
        return cli_usage(err, "give one that is not", "--card %s: the second job is refused",
                         c->flags->pictures.path[CLI_CARD]);
    CLI_WRITE(rc, c->flags->pictures.path[CLI_CARD], draw_card(c, stream, err), err);
    return rc;
}

static int write_all(const struct sides *c, struct ss_error *err)
{
    const struct cli_flags *f = c->flags;
    int rc = SS_OK;

    if (f->csv[0])
        CLI_WRITE(rc, f->csv, write_text(c, SS_CONTRAST_CSV, stream, err), err);
    if (f->svg[0])
        CLI_WRITE(rc, f->svg, draw_bars(c, f->pictures.width, stream, err), err);
    if (f->sweep.report[0])
        CLI_WRITE(rc, f->sweep.report, ss_measured_page(&c->measured, f->pictures.width, stream, err), err);
    CLI_WRITE(rc, f->output, write_text(c, f->json ? SS_CONTRAST_JSON : SS_CONTRAST_TEXT, stream, err), err);
    return rc;
}

int cmd_compare(struct cli_flags *flags, struct ss_error *err)
{
    struct sides *c = calloc(1, sizeof *c);
    int refused = 0;

    if (!c)
        return SS_ERR_NOMEM;
    c->flags = flags;
    int rc = read_words(c, err);
    SS_THEN(rc, cli_bands(flags, err));
    if (!rc && c->traced)
        rc = ss_files_add(cli_files(), c->traced, err);
    if (!rc && c->traced)
        rc = (flags->nsys[0] ? ss_nsys_load : ss_kineto_load)(c->traced, &c->trace, err);
    for (int i = 0; !rc && i < c->n; i++)
        rc = ss_side_tell(&c->told, i, predict, c, err);
    for (int i = 1; !rc && i < c->n; i++) {
        rc = ss_sides_judge(&c->side[0], &c->side[i], flags->bands, &c->apart[i], err);
        refused += c->side[i].summary.outcome == SS_OUTCOME_REFUSED;
    }
    if (!rc && flags->pictures.path[CLI_CARD][0])
        rc = write_card(c, err);
    SS_THEN(rc, write_all(c, err));
    if (!rc && c->n > 1 && refused == c->n - 1)
        rc = ss_status_exit(SS_ERR_CONFIG);
    for (int i = 0; i < SS_SIDES_MOST; i++)
        ss_notes_free(&c->warnings[i]);
    free(c);
    return rc;
}
