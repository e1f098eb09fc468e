/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

static int lower(struct cli_inputs *in, struct cli_flags *flags, struct ss_run *run, struct ss_error *err)
{
    int rc = ss_run_words_finish(&flags->how, in->scenario, cli_files(), err);

    /* The native replay proves that the written program can run. */
    SS_THEN(rc, ss_run_scenario(in->scenario, &flags->how.options, run, err));
    ss_run_words_free(&flags->how);
    return rc;
}

/* ---- in the formats of others ---- */

static int write_goal(struct ss_export *x, const char *path, struct ss_error *err)
{
    struct ss_output *output;
    FILE *stream;
    int rc = cli_output_begin(path, &output, &stream, err);

    return rc ? rc : cli_output_end(output, ss_export_goal(x, stream, err), err);
}

/* Writes PREFIX.RANK.et for a rank, and PREFIX.json where rank is -1. */
static int write_chakra(struct ss_export *x, const char *prefix, int rank, struct ss_error *err)
{
    char path[CLI_PATH_SIZE + 32];
    struct ss_output *output;
    FILE *stream;

    if (rank < 0)
        snprintf(path, sizeof path, "%s.json", prefix);
    else
        snprintf(path, sizeof path, "%s.%d.et", prefix, rank);
    int rc = cli_output_begin(path, &output, &stream, err);
    SS_THEN(rc, cli_output_end(output,
                               rank < 0 ? ss_export_chakra_groups(x, stream, err)
                                        : ss_export_chakra(x, rank, stream, err),
                               err));
    return rc;
}

static int write_exports(const struct ss_program *program, const struct cli_flags *flags,
                         struct ss_error *err)
{
    struct ss_export *x;
    int rc = ss_export_begin(program, &x, err);

    if (!rc && flags->goal[0])
        rc = write_goal(x, flags->goal, err);
    for (int rank = -1; !rc && flags->chakra[0] && rank < program->nclasses; rank++)
        rc = write_chakra(x, flags->chakra, rank, err);
    ss_export_free(x);
    return rc;
}

static int write_program(const struct ss_program *program, const struct cli_flags *flags,
                         struct ss_error *err)
{
    struct ss_output *output;
    FILE *stream;
    int rc = write_exports(program, flags, err);

    if (!rc && !flags->output[0] && (flags->goal[0] || flags->chakra[0]))
        return SS_OK;
    SS_THEN(rc, cli_output_begin(flags->output, &output, &stream, err));
    if (rc)
        return rc;
    rc = ss_program_write(program, flags->expanded, stream, err);
    return cli_output_end(output, rc, err);
}

int cmd_program_write(int argc, char **argv, struct ss_error *err)
{
    struct cli_flags flags;
    struct cli_inputs in;
    struct ss_run run;
    int rc;

    cli_flags_init(&flags, CLI_PROGRAM_WRITE);
    SS_TRY(cli_inputs_load(&in, &flags, argc, argv, err));
    rc = lower(&in, &flags, &run, err);
    if (!rc) {
        rc = write_program(run.program, &flags, err);
        ss_run_free(&run);
    }
    cli_inputs_free(&in);
    return rc;
}

static int replay(const struct ss_program *program, const struct cli_flags *flags, struct ss_error *err)
{
    struct ss_report_options opt = {.json = flags->json, .wall_s = -1};
    struct ss_timeline *timeline;
    struct cli_drawn drawn;
    struct ss_output *output;
    FILE *stream;

    SS_TRY(ss_timeline_replay(program, flags->how.options.engine, &timeline, err));
    int rc = write_exports(program, flags, err);
    SS_THEN(rc, cli_ranks_write(flags, NULL, program, timeline, err));
    SS_THEN(rc, cli_pictures_draw(&drawn, flags, program, timeline, NULL, NULL, NULL, err));
    if (!rc) {
        if (flags->timing)
            opt.wall_s = cli_wall_s();
        rc = cli_output_begin(flags->output, &output, &stream, err);
        SS_THEN(rc, cli_output_end(
                        output,
                        ss_report_timeline(program, timeline, flags->how.options.engine, &opt, stream, err),
                        err));
        rc = cli_pictures_end(&drawn, rc, err);
    }
    ss_timeline_free(timeline);
    return rc;
}

static int one_file(struct cli_flags *flags, int argc, char **argv, struct ss_error *err)
{
    int n, rc = cli_words(flags, argc, argv, &n, err);

    if (!rc && n != 1)
        rc = cli_usage(err, "- is stdin", "%s",
                       n == 0 ? "no program file given" : "more than one program file given");
    return rc;
}

int cmd_program_read(int argc, char **argv, struct ss_error *err)
{
    struct ss_program *program;
    struct cli_flags flags;
    int rc;

    cli_flags_init(&flags, CLI_PROGRAM_READ);
    rc = one_file(&flags, argc, argv, err);
    SS_THEN(rc, ss_files_add(cli_files(), argv[0], err));
    SS_THEN(rc, ss_program_read(argv[0], &program, err));
    if (rc)
        return rc;
    rc = replay(program, &flags, err);
    if (rc == SS_ERR_INPUT) { /* the checker knows the line where a text is wrong */
        struct ss_error at = {0};
        if (ss_program_check(program, &at) == SS_ERR_INPUT)
            *err = at;
    }
    ss_program_free(program);
    return rc;
}

int cmd_program_check(int argc, char **argv, struct ss_error *err)
{
    struct ss_program *program;
    struct cli_flags flags;
    int rc;

    cli_flags_init(&flags, CLI_PROGRAM_CHECK);
    rc = one_file(&flags, argc, argv, err);
    SS_THEN(rc, ss_program_read(argv[0], &program, err));
    if (rc)
        return rc;
    rc = ss_program_check(program, err);
    if (!rc && flags.json)
        rc = ss_report_checked("program", 1, (const char *const *)argv, stdout, err);
    else if (!rc)
        printf("%s: ok: %d class%s, %lld events\n", argv[0], program->nclasses,
               program->nclasses == 1 ? "" : "es", (long long)ss_program_event_count(program));
    ss_program_free(program);
    return rc;
}
