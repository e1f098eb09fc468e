/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#define LOG_MOST ((size_t)64 << 20) /* most bytes of a log on stdin */

static int parse_stdin(struct ss_train_log **log, struct ss_error *err)
{
    size_t n = 0, cap = 1 << 16, got = 0;
    char *text = malloc(cap);

    while (text && (got = fread(text + n, 1, cap - n, stdin)) > 0 && (n += got) < LOG_MOST)
        if (n == cap) {
            char *more = realloc(text, cap * 2);
            cap *= 2;
            if (!more)
                free(text);
            text = more;
        }
    if (!text)
        return SS_ERR_NOMEM;
    int rc = n >= LOG_MOST ? cli_usage(err, "give the end of it", "the log on stdin is longer than 64 MiB")
                           : ss_train_log_parse(text, n, "stdin", log, err);
    free(text);
    return rc;
}

static int read_log(const char *path, struct ss_measurement *m, struct ss_error *err)
{
    const int piped = !strcmp(path, "-");
    struct ss_train_log *log;

    SS_TRY(piped ? parse_stdin(&log, err) : ss_train_log_load(path, &log, err));
    ss_measurement_log(m, log, piped ? "stdin" : path);
    ss_train_log_free(log);
    return piped ? SS_OK : ss_files_add(cli_files(), path, err);
}

/* Completes what the options tell by what the job and a log tell. */
static int measure(const struct cli_flags *flags, const struct ss_scenario *s, struct ss_measurement *m,
                   struct ss_error *err)
{
    *m = flags->options.measured;
    ss_measurement_add_job(m, s);
    SS_TRY(flags->options.log ? read_log(flags->options.log, m, err) : SS_OK);
    if (!ss_measurement_tells(m))
        return cli_usage(
            err,
            "give --log FILE, --measured 13.2s, --tokens-per-second, --tflops, --mfu, --memory or --table",
            "nothing that was measured");
    return SS_OK;
}

static enum ss_check_form form_of(const struct cli_flags *flags)
{
    return flags->json ? SS_CHECK_JSON : flags->brief ? SS_CHECK_BRIEF : SS_CHECK_TEXT;
}

static int check(struct cli_flags *flags, struct ss_error *err)
{
    const struct ss_display view = cli_view(flags);
    const struct ss_scenario *s = flags->in.scenario;
    struct ss_checked *c = calloc(1, sizeof *c);
    struct ss_measurement m;
    struct ss_run run = {0};
    int rc = c ? measure(flags, s, &m, err) : SS_ERR_NOMEM;

    SS_THEN(rc, ss_run_words_finish(&flags->options.how, flags->in.scenario, cli_files(), err));
    SS_THEN(rc, ss_run_weighed(s, &flags->options.how.options, &run, err));
    SS_THEN(rc, ss_check(&run, &flags->options.how.options, &m,
                         flags->brief ? SS_CHECK_VERDICT : SS_CHECK_SUSPECTS, c, err));
    CLI_WRITE(rc, flags->output, ss_check_write(c, &run, form_of(flags), &view, stream, err), err);
    SS_THEN(rc, ss_check_status(c));
    ss_run_free(&run);
    free(c);
    return rc;
}

static int check_table(const struct cli_flags *flags, struct ss_error *err)
{
    const struct ss_display view = cli_view(flags);
    const struct ss_scenario_options how = {.asker = ss_simgrid_ask_routes, .files = cli_files()};
    int status = 0, rc = ss_files_add(cli_files(), flags->table, err);

    CLI_WRITE(rc, flags->output,
              ss_check_table(&flags->request, flags->table, &flags->options.how.options, &how, form_of(flags),
                             &view, stream, &status, err),
              err);
    return rc ? rc : status;
}

int cmd_check(struct cli_flags *f, struct ss_error *err)
{
    const int table = cli_has_word(f->n, f->words, "--table");

    SS_TRY(table ? cli_request_read(&f->request, NULL, f, f->n, f->words, err)
                 : cli_inputs_load(&f->in, f, f->n, f->words, err));
    SS_TRY(cli_bands(f, err));
    return table ? check_table(f, err) : check(f, err);
}
