/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a command line: from its words to the exit status. */
#include <unistd.h>

#include "cli/schedule.h"
#include "cli/verbs.h"

static const struct {
    cli_function *run;
    enum cli_reads reads;
} verbs[CLI_VERB_COUNT] = {
#define X(symbol, command, verb, function, reads) {function, reads},
    CLI_VERB_LIST(X)
#undef X
};

/* Returns 1 if a verb writes text for programs, which goes into a file or pipe unchanged. */
static int writes_files(int verb, int argc, char *const *argv)
{
    return verb == CLI_IMPORT || verb == CLI_PROGRAM_WRITE || verb == CLI_SCHEDULE_WRITE ||
           verb == CLI_PLATFORM_IMPORT || cli_has_word(argc, argv, "--xml");
}

/* Returns 1 if a verb tells of each file that it checked in one line, which begins with the file's name. */
static int checks_files(int verb)
{
    return verb == CLI_PLATFORM_CHECK || verb == CLI_SCHEDULE_CHECK || verb == CLI_PROGRAM_CHECK;
}

/* Returns 1 where lines of stdout must stay whole: a file goes there, or a record a line, or a chart. */
static int keeps_lines(int verb, int argc, char *const *argv)
{
    static const char *const words[] = {"--brief", "--link", "--steps", "-"};
    int keeps = writes_files(verb, argc, argv) || checks_files(verb) || verb == CLI_PLATFORM_NEW ||
                verb == CLI_PLATFORM_DRAW || verb == CLI_SCHEDULE_SHOW || verb == CLI_HELP;

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        keeps |= cli_has_word(argc, argv, words[i]);
    return keeps;
}

static int no_memory(struct ss_error *err)
{
    cli_usage(err, "", "out of memory");
    return err->code = SS_ERR_NOMEM;
}

/* Sends stdout through a stream that makes control characters of files harmless for a terminal, and wraps lines. JSON is
 * left as it is: its reader decides. */
static int clean_stdout(int verb, int argc, char *const *argv, FILE **plain, struct ss_error *err)
{
    int shown = isatty(STDOUT_FILENO);
    FILE *clean;

    if (cli_has_word(argc, argv, "--json") || (!shown && writes_files(verb, argc, argv)))
        return SS_OK;
    clean = ss_text_stream(stdout, shown, keeps_lines(verb, argc, argv) ? 0 : cli_columns(STDOUT_FILENO));
    if (!clean)
        return no_memory(err);
    setvbuf(clean, NULL, shown ? _IOLBF : _IOFBF, 1 << 16);
    *plain = stdout;
    stdout = clean;
    return SS_OK;
}

/* Flushes stdout and returns the exit status. `plain` is the stdout that the process began with; NULL:
 * stdout was not replaced. */
static int flushed(int status, FILE *plain)
{
    struct ss_error err = {0};
    int failed = fflush(stdout) || ferror(stdout);

    if (plain) { /* closing the clean stream tells whether its writing failed */
        failed |= fclose(stdout) != 0;
        stdout = plain;
    }
    if (!failed || status) /* the status tells a failure already */
        return status;
    if (!ss_text_written(stdout, "to stdout",
                         &err)) /* what was written is whole: the clean stream had no memory for a line */
        no_memory(&err);
    return cli_fail(&err, 0);
}

/* Turns an option in the place of a command into the command. */
static const char *command_name(const char *word)
{
    static const char *const other[][2] = {
        {"--help", "help"}, {"-h", "help"}, {"--version", "version"}, {"-V", "version"}};

    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
        if (!strcmp(word, other[i][0]))
            return other[i][1];
    return word;
}

/* Returns 0: no help is asked for; 1: it is; 2: all of it, by the word "all" behind --help. */
static int asks_help(int argc, char *const *argv)
{
    int asks = 0;

    for (int i = 0; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
            asks = i + 1 < argc && !strcmp(argv[i + 1], "all") ? 2 : asks ? asks : 1;
    return asks;
}

static int run_verb(int verb, int argc, char **argv, struct ss_error *err)
{
    struct cli_flags flags;
    int rc = SS_OK;

    cli_flags_init(&flags, verb);
    flags.n = argc;
    flags.words = argv;
    switch (verbs[verb].reads) {
    case CLI_READS_NOTHING: break;
    case CLI_READS_OPTIONS: rc = cli_words(&flags, argc, argv, &flags.n, err); break;
    case CLI_READS_REQUEST: rc = cli_request_read(&flags.request, NULL, &flags, argc, argv, err); break;
    case CLI_READS_JOB: rc = cli_inputs_load(&flags.in, &flags, argc, argv, err); break;
    }
    SS_THEN(rc, verbs[verb].run(&flags, err));
    cli_flags_free(&flags);
    return rc;
}

/* Runs the words behind "stepsim": a command, its verb if it has verbs, and their options. */
static int dispatch(int argc, char **argv, FILE **plain, struct ss_error *err)
{
    const struct cli_command *c = cli_command_find(command_name(argv[0]));
    int verb = c ? cli_verb_find(c->name, NULL) : -1, words = 1;

    if (!c)
        return cli_unknown_command(argv[0], err);
    if (*cli_verb_name(verb)) {
        const char *name = argc > 1 && argv[1][0] != '-' ? argv[1] : NULL;
        verb = name ? cli_verb_find(c->name, name) : -1;
        words = 2;
        if (verb < 0 && !asks_help(argc, argv))
            return cli_unknown_verb(c->name, argc > 1 ? argv[1] : NULL, err);
    }
    if (verb != CLI_HELP && asks_help(argc, argv)) {
        cli_help_write(c, verb, asks_help(argc, argv) > 1, stdout);
        return SS_OK;
    }
    int rc = cli_team_join(verb, err);

    SS_THEN(rc, clean_stdout(verb, argc, argv, plain, err));
    if (cli_verb_sibling(verb) >= 0 && cli_schedule_has_job(argc - words, argv + words))
        verb = cli_verb_sibling(verb);
    return rc ? rc : run_verb(verb, argc - words, argv + words, err);
}

int cli_main(int argc, char **argv)
{
    struct ss_error err = {0};
    FILE *plain = NULL;

    cli_wall_start();
    if (argc < 2) {
        cli_help_write(NULL, -1, 0, stderr);
        return ss_status_exit(SS_ERR_USAGE);
    }
    int json = cli_has_word(argc, argv, "--json"), rc = dispatch(argc - 1, argv + 1, &plain, &err);
    if (rc < 0 && !err.code) {
        cli_usage(&err, "", "out of memory");
        err.code = rc;
    }
    int status = cli_team_leave(flushed(rc < 0 ? cli_fail(&err, json) : rc, plain), &err);
    ss_files_free(cli_files());
    return status;
}
