/* SPDX-License-Identifier: Apache-2.0 */
/* From the words of a command line to a job, stack and platform that a prediction can be built of. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static int load_platform(const char *name, int nodes, int gpus_per_node, struct ss_platform **out,
                         struct ss_error *err)
{
    const struct ss_platform_options options = {
        .nodes = nodes, .gpus_per_node = gpus_per_node, .asker = ss_simgrid_ask_routes, .files = cli_files()};

    return ss_platform_load(name, &options, out, err);
}

int cli_platform_load(const char *name, const struct cli_flags *flags, struct ss_platform **out,
                      struct ss_error *err)
{
    int rc = load_platform(name, flags->nodes, flags->gpus_per_node, out, err);

    if (rc)
        return rc;
    for (int i = 0; i < flags->sets.n && !rc; i++)
        rc = ss_set_apply(flags->sets.text[i], *out, NULL, err);
    if (rc) {
        ss_platform_free(*out);
        *out = NULL;
    }
    return rc;
}

/* Takes the subcommand's own options out of the words of a job; what is left is the job's. */
static int take_options(struct ss_request *r, struct cli_flags *flags, struct ss_error *err)
{
    for (size_t i = 0; i < r->n;) {
        const struct ss_request_place *place = &r->place[r->word[i].place];
        char *words[2] = {r->word[i].text, NULL};
        int n = 1;
        if (i + 1 < r->n && r->word[i + 1].place == r->word[i].place)
            words[n++] = r->word[i + 1].text;
        int used = cli_option_take(flags, n, words, err);
        if (used < 0 && !err->file[0] && place->file) {
            snprintf(err->file, sizeof err->file, "%s", place->file);
            err->line = r->word[i].line;
        }
        if (used < 0)
            return used;
        if (used)
            ss_request_remove(r, i, (size_t)used);
        else
            i += ss_request_span(r, i);
    }
    return SS_OK;
}

static int build(struct cli_inputs *in, const struct ss_request *r, struct ss_error *err)
{
    const struct ss_scenario_options options = {.asker = ss_simgrid_ask_routes, .files = cli_files()};
    int rc = ss_scenario_build(r, &options, &in->scenario, err);

    if (rc)
        return rc;
    in->job = *in->scenario->job;
    in->stack = *in->scenario->stack;
    in->platform = in->scenario->platform;
    return ss_schedule_is_file(in->job.schedule) ? ss_files_add(cli_files(), in->job.schedule, err) : SS_OK;
}

int cli_request_read(struct ss_request *r, struct cli_flags *flags, int argc, char **argv, struct ss_error *err)
{
    int rc = ss_request_read(r, argc, argv, err);

    if (!rc)
        rc = take_options(r, flags, err);
    return rc ? rc : cli_options_check(flags, err);
}

int cli_inputs_load(struct cli_inputs *in, struct cli_flags *flags, int argc, char **argv,
                    struct ss_error *err)
{
    struct ss_request r;
    int rc;

    memset(in, 0, sizeof *in);
    ss_request_init(&r);
    rc = cli_request_read(&r, flags, argc, argv, err);
    if (!rc)
        rc = build(in, &r, err);
    ss_request_free(&r);
    return rc;
}

void cli_inputs_free(struct cli_inputs *in)
{
    ss_scenario_free(in->scenario);
    memset(in, 0, sizeof *in);
}
