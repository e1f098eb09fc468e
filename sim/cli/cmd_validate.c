/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#define MAX_TABLES 64
#define RESULTS "validation/results.csv"

static void progress(void *ctx, int done, int total, const char *id)
{
    (void)id;
    cli_watch_show(ctx, done, total);
}

/* Writes validation/results.csv anew, which was read. */
static int renew(const struct ss_validation *v, struct ss_error *err)
{
    struct cli_output out;

    SS_TRY(cli_output_renew(RESULTS, &out, err));
    return cli_output_end(&out, ss_validation_write_csv(v, out.stream, err), err);
}

static int write_all(const struct ss_validation *v, const struct cli_flags *flags, struct ss_error *err)
{
    static const struct {
        int (*csv)(const struct ss_validation *v, FILE *out, struct ss_error *err);
        int (*json)(const struct ss_validation *v, FILE *out, struct ss_error *err);
        int (*text)(const struct ss_validation *v, const struct ss_display *view, FILE *out,
                    struct ss_error *err);
        int (*svg)(const struct ss_validation *v, double width, FILE *out, struct ss_error *err);
    } kinds[] = {{ss_validation_write_csv, ss_validation_write_json, ss_validation_write_text,
                  ss_validation_write_svg},
                 {ss_regret_write_csv, ss_regret_write_json, ss_regret_write_text, ss_regret_write_svg}};
    const int k = flags->options.regret;
    const struct ss_display view = cli_view(flags);
    int rc = SS_OK;

    if (flags->csv[0])
        CLI_WRITE(rc, flags->csv, kinds[k].csv(v, stream, err), err);
    if (flags->svg[0])
        CLI_WRITE(rc, flags->svg, kinds[k].svg(v, flags->pictures.width, stream, err), err);
    if (flags->update)
        SS_THEN(rc, renew(v, err));
    if (!flags->against[0])
        CLI_WRITE(rc, flags->output,
                  flags->json ? kinds[k].json(v, stream, err) : kinds[k].text(v, &view, stream, err), err);
    return rc;
}

/* Returns 1 if --update writes the file that was compared with, whatever the working folder is. */
static int is_results(const struct cli_flags *flags)
{
    size_t n = strlen(flags->against), cut = strlen(RESULTS);

    return n >= cut && !strcmp(flags->against + n - cut, RESULTS) &&
           (n == cut || flags->against[n - cut - 1] == '/') && !cli_given(flags, "--spread");
}

static int compare(const struct ss_validation *v, const struct cli_flags *flags, int *moved,
                   struct ss_error *err)
{
    char shown[SS_OPTION_PATH_SIZE];
    int rc = ss_files_add(cli_files(), flags->against, err);

    CLI_WRITE(rc, flags->output, ss_validation_compare(v, flags->against, stream, moved, err), err);
    if (!rc && *moved)
        fprintf(stderr, "stepsim: %d prediction%s from %s; %s\n", *moved,
                *moved == 1 ? " differs" : "s differ", ss_text_clean(strcpy(shown, flags->against)),
                is_results(flags) ? "\"stepsim validate --update\" writes it anew"
                                  : "--csv FILE instead of --against writes today's");
    return rc;
}

/* Checks the targets before the work, which takes seconds. */
static int check_targets(const struct cli_flags *flags, struct ss_error *err)
{
    FILE *results = flags->update ? fopen(RESULTS, "r+e") : NULL;

    if (results)
        fclose(results);
    if (flags->update && !results)
        return cli_usage(err, "use it in stepsim's source folder; --csv FILE writes the table anywhere",
                         "--update: " RESULTS " cannot be written from this folder");
    return SS_OK;
}

/* Refuses the options that say nothing beside --coverage or --regret: a list that ends with NULL. */
static int check_beside(const struct cli_flags *flags, const char *const *others, const char *beside,
                        struct ss_error *err)
{
    for (; *others; others++)
        if (cli_given(flags, *others))
            return cli_usage(err, "leave it out", "%s beside %s", *others, beside);
    return SS_OK;
}

static int check_words(const struct cli_flags *flags, struct ss_error *err)
{
    const int n = flags->n;
    static const char *const not_covered[] = {"--update",  "--workers",    "--csv",    "--svg",
                                              "--against", "--timer-rows", "--spread", "--engine",
                                              "--timing",  "--regret",     NULL};
    static const char *const not_ranked[] = {"--update", "--against", "--timer-rows", NULL};

    if (n > MAX_TABLES)
        return cli_usage(err, "", "more than %d tables", MAX_TABLES);
    if (flags->update && n)
        return cli_usage(err, "use --csv FILE for other tables",
                         "--update takes no table: it writes " RESULTS);
    if (flags->update && cli_given(flags, "--spread"))
        return cli_usage(err, "use --csv FILE for another spread",
                         "--update beside --spread: it writes " RESULTS);
    if (flags->options.coverage && n > 1)
        return cli_usage(err, "leave the others out", "--coverage reads one table");
    if (flags->options.coverage &&
        check_beside(flags, not_covered, "--coverage, which predicts nothing", err))
        return SS_ERR_USAGE;
    if (flags->options.regret &&
        check_beside(flags, not_ranked, "--regret, which has no line for a row", err))
        return SS_ERR_USAGE;
    if (flags->json && flags->against[0])
        return cli_usage(err, "leave one out", "--against prints text, not JSON");
    return SS_OK;
}

static int print_coverage(struct cli_flags *flags, struct ss_error *err)
{
    const char *table = flags->n ? flags->words[0] : "results";
    const struct ss_display view = cli_view(flags);
    int rc = ss_bands_load(table, cli_files(), &flags->bands, err);

    CLI_WRITE(rc, flags->output, ss_coverage_write(flags->bands, &view, stream, err), err);
    return rc;
}

static int has_runs(const char *const *tables, int n)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(tables[i], "runs"))
            return 1;
    return 0;
}

int cmd_validate(struct cli_flags *flags, struct ss_error *err)
{
    static const char *const standard[] = {"runs", "foreign", "foreign-2", "vtrain", "hybrid"};
    const int nstandard = sizeof standard / sizeof *standard;
    int n = flags->n, moved = 0;
    struct ss_validate_options opt = {.engine = SS_ENGINE_NATIVE};
    struct ss_validation *v = NULL;
    const char *tables[MAX_TABLES];

    SS_TRY(check_words(flags, err));
    SS_TRY(check_targets(flags, err));
    if (flags->options.coverage)
        return print_coverage(flags, err);
    for (int i = 0; i < n; i++)
        tables[i] = flags->words[i];
    if (!n) {
        n = flags->update || flags->against[0] ? nstandard : 1;
        memcpy(tables, standard, (size_t)n * sizeof tables[0]);
    }
    opt.engine = flags->options.how.options.engine;
    opt.timer_rows = flags->timer_rows[0]                            ? flags->timer_rows
                     : has_runs(tables, n) && !flags->options.regret ? "gpt2-timers"
                                                                     : NULL;
    opt.spread = flags->options.spread >= 0 ? &flags->options.spread : NULL;
    opt.files = cli_files();
    opt.workers = cli_workers(flags);
    opt.progress = progress;
    cli_watch_begin("validating", "");
    int rc = ss_validate(tables, n, &opt, &v, err);
    cli_watch_end();
    SS_THEN(rc, write_all(v, flags, err));
    if (!rc && flags->against[0])
        rc = compare(v, flags, &moved, err);
    ss_validation_free(v);
    if (!rc && flags->timing)
        fprintf(stderr, "stepsim: %.2f s\n", cli_wall_s());
    return rc ? rc : moved ? ss_status_exit(SS_ERR_TOLERANCE) : 0;
}
