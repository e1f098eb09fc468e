/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

#define MAX_ROWS 4096

/* Of "set=ss.nic.bandwidth=12.5GBps,25GBps" the later values are of the first one's prop. */
static int complete_set(struct ss_sweep_flag *f)
{
    char *last = f->value[f->nvalues - 1], whole[2 * sizeof f->value[0]];
    const char *equal = strchr(f->value[0], '=');

    if (strchr(last, '='))
        return 1;
    if (!equal)
        return 0;
    int n = snprintf(whole, sizeof whole, "%.*s=%s", (int)(equal - f->value[0]), f->value[0], last);
    if (n < 0 || (size_t)n >= sizeof f->value[0])
        return 0;
    memcpy(last, whole, (size_t)n + 1);
    return 1;
}

/* "nodes=8,16" or "--nodes=8,16" */
static int read_vary(const char *text, struct ss_sweep *s, struct ss_error *err)
{
    const char *name = strncmp(text, "--", 2) == 0 ? text + 2 : text, *equal = strchr(name, '=');
    struct ss_sweep_flag *f = &s->flags[s->nflags];

    if (!equal || equal == name || !equal[1])
        return cli_usage(err, "write --vary nodes=8,16", "--vary %.60s: no values", text);
    if (s->nflags == SS_SWEEP_FLAGS)
        return cli_usage(err, "", "--vary: more than %d flags", SS_SWEEP_FLAGS);
    if ((size_t)(equal - name) + 3 > sizeof f->name)
        return cli_usage(err, "", "--vary %.60s: the name is too long", text);
    static const char *const others[] = {"--output",          "--json", "--engine", "--measured",
                                         "--measured-memory", "--job",  "--timing"};
    memset(f, 0, sizeof *f);
    snprintf(f->name, sizeof f->name, "--%.*s", (int)(equal - name), name);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (!strcmp(f->name, others[i]))
            return cli_usage(err, "vary what the job is, or set=PROP=VALUE",
                             "--vary %s: this is no flag of the job", f->name);
    if (!strncmp(f->name, "--ss.", 5))
        return cli_usage(err, "write --vary set=ss.nic.bandwidth=12.5GBps,25GBps",
                         "--vary %s: a prop is no flag", f->name + 2);
    for (int i = 0; i < s->nflags; i++)
        if (!strcmp(s->flags[i].name, f->name))
            return cli_usage(err, "name it once, with all values", "--vary %s: given twice", f->name);
    for (const char *at = equal + 1;; at++) {
        size_t n = strcspn(at, ",");
        if (n == 0 || n >= sizeof f->value[0] || f->nvalues == SS_SWEEP_VALUES)
            return cli_usage(err, "values are separated by commas", "--vary %s: %s", f->name,
                             n == 0                    ? "an empty value"
                             : n >= sizeof f->value[0] ? "a value is too long"
                                                       : "too many values");
        memcpy(f->value[f->nvalues++], at, n);
        if (!strcmp(f->name, "--set") && !complete_set(f))
            return cli_usage(err, "write --vary set=ss.nic.bandwidth=12.5GBps,25GBps",
                             "--vary %.60s: no prop", text);
        at += n;
        if (!*at)
            break;
    }
    s->nflags++;
    return SS_OK;
}

/* "off" leaves out what --vary itself would give; a flag that the job gives it cannot take away. */
static int check_switches(const struct ss_sweep *s, int argc, char **argv, struct ss_error *err)
{
    struct ss_request r;
    struct cli_flags flags;
    int rc;

    cli_flags_init(&flags, CLI_SWEEP);
    ss_request_init(&r);
    rc = cli_request_read(&r, &flags, argc, argv, err);
    if (!rc && flags.vary.n)
        rc = cli_usage(err, "give it on the command line", "--vary in a job file");
    for (int f = 0; f < s->nflags && !rc; f++) {
        const struct ss_sweep_flag *flag = &s->flags[f];
        int off = 0, value = 0;
        for (int i = 0; i < flag->nvalues; i++) {
            off |= !strcmp(flag->value[i], "off");
            value |= strcmp(flag->value[i], "off") != 0 && strcmp(flag->value[i], "on") != 0;
        }
        if (off && value)
            rc = cli_usage(err, "name a value instead, as recompute=none,full",
                           "--vary %s: \"off\" beside a value", flag->name);
        else if (off && ss_job_lacks_effect(&r, flag->name))
            rc = cli_usage(err, "leave it out of the job, or do not vary it",
                           "--vary %s=on,off: the job gives it already, or it has no effect", flag->name);
    }
    cli_flags_free(&flags);
    ss_request_free(&r);
    return rc;
}

/* A job that is read once a combination. */
static int check_stdin(int argc, char **argv, struct ss_error *err)
{
    for (int i = 0; i < argc; i++)
        if (!strcmp(argv[i], "--job=-") ||
            (!strcmp(argv[i], "--job") && i + 1 < argc && !strcmp(argv[i + 1], "-")))
            return cli_usage(err, "give a file", "--job -: it is read once for each combination");
    return SS_OK;
}

/* Takes --vary out of the words; *n of the others are left. */
static int take_varied(int argc, char **argv, char **rest, int *n, struct ss_sweep *s, struct ss_error *err)
{
    *n = 0;
    for (int i = 0; i < argc; i++) {
        const char *value = strncmp(argv[i], "--vary=", 7) == 0 ? argv[i] + 7 : NULL;
        if (!value && strcmp(argv[i], "--vary") != 0) {
            rest[(*n)++] = argv[i];
            continue;
        }
        if (!value && ++i == argc)
            return cli_usage(err, "write --vary nodes=8,16", "--vary needs a value");
        int rc = read_vary(value ? value : argv[i], s, err);
        if (rc)
            return rc;
    }
    return s->nflags ? SS_OK : cli_usage(err, "write --vary nodes=8,16", "nothing to vary");
}

/* Words of one combination behind those of the job; `argv` has room for two a flag. */
static int add_words(struct ss_sweep *s, const struct ss_sweep_row *row, char **argv, int n)
{
    for (int f = 0; f < s->nflags; f++) {
        char *value = s->flags[f].value[row->at[f]];
        if (!strcmp(value, "off"))
            continue;
        argv[n++] = s->flags[f].name;
        if (strcmp(value, "on") != 0)
            argv[n++] = value;
    }
    return n;
}

/* A configuration that is refused is an answer, anything else an error. */
static int predict(struct ss_sweep_row *row, const struct ss_bands *bands, struct cli_flags *flags, int argc,
                   char **argv, struct ss_error *err)
{
    struct cli_inputs in;
    struct ss_run run;
    struct ss_error why = {0};
    int rc = cli_inputs_load(&in, flags, argc, argv, &why);

    if (!rc) {
        const struct ss_run_options options = {.engine = flags->engine, .bands = bands};
        rc = ss_run_job_with(&in.job, &in.stack, in.platform, &options, &run, &why);
        if (!rc) {
            row->summary = run.summary;
            ss_run_free(&run);
        }
        cli_inputs_free(&in);
    }
    if (!ss_status_refuses(rc)) {
        if (rc)
            *err = why;
        return rc;
    }
    ss_summary_refuse(&why, &row->summary);
    return SS_OK;
}

static int predict_all(struct ss_sweep *s, struct cli_flags *flags, int argc, char **argv,
                       struct ss_error *err)
{
    int shown = isatty(STDERR_FILENO), total = ss_sweep_size(s, MAX_ROWS), rc;
    static char what[] = "predicting";

    if (!total)
        return cli_usage(err, "vary fewer flags, or fewer values of them", "more than %d combinations",
                         MAX_ROWS);
    s->rows = calloc((size_t)total, sizeof *s->rows);
    char **words = calloc((size_t)argc + 2 * SS_SWEEP_FLAGS + 1, sizeof *words);
    struct ss_bands *bands = NULL;
    rc = s->rows && words ? ss_bands_load(NULL, cli_files(), &bands, err) : SS_ERR_NOMEM;
    for (int i = 0; i < total && !rc; i++) {
        memcpy(words, argv, (size_t)argc * sizeof *words);
        ss_sweep_combination(s, i, &s->rows[i]);
        cli_flags_init(flags, CLI_SWEEP);
        rc = predict(&s->rows[i], bands, flags, add_words(s, &s->rows[i], words, argc), words, err);
        s->nrows += !rc;
        if (shown)
            cli_progress(what, (double)(i + 1) / total);
    }
    if (shown)
        cli_progress_end();
    ss_bands_free(bands);
    free(words);
    return rc;
}

int cmd_sweep(int argc, char **argv, struct ss_error *err)
{
    int n, rc;
    struct ss_sweep *s = calloc(1, sizeof *s);
    char **rest = calloc((size_t)argc + 1, sizeof *rest);
    struct cli_flags flags;
    struct ss_output *output;
    FILE *stream;

    cli_flags_init(&flags, CLI_SWEEP);
    rc = s && rest ? take_varied(argc, argv, rest, &n, s, err) : SS_ERR_NOMEM;
    if (!rc)
        rc = check_stdin(n, rest, err);
    if (!rc)
        rc = check_switches(s, n, rest, err);
    if (!rc)
        rc = predict_all(s, &flags, n, rest, err);
    if (!rc && ss_output_same(flags.csv, flags.output))
        rc = cli_usage(err, "give each a name of its own", "--csv and --output write the same file");
    if (!rc)
        rc = cli_output_check(flags.csv, "--", err);
    if (!rc && flags.csv[0])
        rc = cli_output_begin(flags.csv, &output, &stream, err);
    if (!rc && flags.csv[0])
        rc = cli_output_end(output, ss_sweep_write_csv(s, stream, err), err);
    if (!rc)
        rc = cli_output_begin(flags.output, &output, &stream, err);
    if (!rc)
        rc = cli_output_end(output, ss_sweep_write(s, flags.json, stream, err), err);
    int status = rc || ss_sweep_count(s, SS_OUTCOME_FITS) + ss_sweep_count(s, SS_OUTCOME_NEAR_LIMIT) > 0 ? 0
                 : ss_sweep_count(s, SS_OUTCOME_REFUSED) == s->nrows ? ss_status_exit(SS_ERR_CONFIG)
                                                                     : ss_status_exit(SS_ERR_OOM);
    if (s)
        free(s->rows);
    free(s);
    free(rest);
    return rc ? rc : status;
}
