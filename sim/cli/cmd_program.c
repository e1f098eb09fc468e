/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

/* Writes PREFIX.RANK.et for a rank, and PREFIX.json where rank is -1. */
static int write_chakra(struct ss_export *x, const char *prefix, int rank, struct ss_error *err)
{
    char path[SS_OPTION_PATH_SIZE + 32];
    int rc = SS_OK;

    if (rank < 0)
        snprintf(path, sizeof path, "%s.json", prefix);
    else
        snprintf(path, sizeof path, "%s.%d.et", prefix, rank);
    CLI_WRITE(rc, path,
              rank < 0 ? ss_export_chakra_groups(x, stream, err) : ss_export_chakra(x, rank, stream, err),
              err);
    return rc;
}

static int write_exports(const struct ss_program *program, const struct cli_flags *flags,
                         struct ss_error *err)
{
    struct ss_export *x;
    int rc = ss_export_begin(program, &x, err);

    if (flags->goal[0])
        CLI_WRITE(rc, flags->goal, ss_export_goal(x, stream, err), err);
    for (int rank = -1; !rc && flags->chakra[0] && rank < program->nclasses; rank++)
        rc = write_chakra(x, flags->chakra, rank, err);
    ss_export_free(x);
    return rc;
}

static int write_program(const struct ss_program *program, const struct cli_flags *flags,
                         struct ss_error *err)
{
    int rc = write_exports(program, flags, err);

    if (flags->output[0] || (!flags->goal[0] && !flags->chakra[0]))
        CLI_WRITE(rc, flags->output, ss_program_write(program, flags->expanded, stream, err), err);
    return rc;
}

int cmd_program_write(struct cli_flags *flags, struct ss_error *err)
{
    struct ss_run run;

    SS_TRY(ss_run_words_finish(&flags->options.how, flags->in.scenario, cli_files(), err));
    /* The native replay proves that the written program can run. */
    SS_TRY(ss_run_scenario(flags->in.scenario, &flags->options.how.options, &run, err));
    int rc = write_program(run.program, flags, err);
    ss_run_free(&run);
    return rc;
}

static int replay(const struct ss_program *program, const struct cli_flags *flags, struct ss_error *err)
{
    struct ss_report_options opt = {.json = flags->json, .wall_s = -1};
    const int engine = flags->options.how.options.engine;
    struct ss_timeline *timeline;
    struct cli_drawn drawn;

    SS_TRY(ss_timeline_replay(program, engine, &timeline, err));
    int rc = write_exports(program, flags, err);
    SS_THEN(rc, cli_ranks_write(flags, NULL, program, timeline, err));
    SS_THEN(rc, cli_pictures_draw(&drawn, flags, program, timeline, NULL, NULL, NULL, err));
    if (!rc) {
        if (flags->timing)
            opt.wall_s = cli_wall_s();
        CLI_WRITE(rc, flags->output, ss_report_timeline(program, timeline, engine, &opt, stream, err), err);
        rc = cli_pictures_end(&drawn, rc, err);
    }
    ss_timeline_free(timeline);
    return rc;
}

static int load_one(const struct cli_flags *flags, struct ss_program **out, struct ss_error *err)
{
    if (flags->n != 1)
        return cli_usage(err, "- is stdin", "%s",
                         flags->n == 0 ? "no program file given" : "more than one program file given");
    SS_TRY(flags->verb == CLI_PROGRAM_READ ? ss_files_add(cli_files(), flags->words[0], err) : SS_OK);
    return ss_program_read(flags->words[0], out, err);
}

int cmd_program_read(struct cli_flags *flags, struct ss_error *err)
{
    struct ss_program *program;

    SS_TRY(load_one(flags, &program, err));
    int rc = replay(program, flags, err);
    if (rc == SS_ERR_INPUT) { /* the checker knows the line where a text is wrong */
        struct ss_error at = {0};
        if (ss_program_check(program, &at) == SS_ERR_INPUT)
            *err = at;
    }
    ss_program_free(program);
    return rc;
}

int cmd_program_check(struct cli_flags *flags, struct ss_error *err)
{
    struct ss_program *program;

    SS_TRY(load_one(flags, &program, err));
    int rc = ss_program_check(program, err);
    if (!rc && flags->json)
        rc = ss_report_checked("program", 1, (const char *const *)flags->words, stdout, err);
    else if (!rc)
        printf("%s: ok: %d class%s, %lld events\n", flags->words[0], program->nclasses,
               program->nclasses == 1 ? "" : "es", (long long)ss_program_event_count(program));
    ss_program_free(program);
    return rc;
}
