/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/cli.h"

const char cli_help_plan[] =
    "usage: stepsim plan --platform NAME|FILE [--nodes N] --model NAME|FILE JOB-OPTION... [OPTION...]\n"
    "\n"
    "Shows what runs where: process groups with their ranks, layers of every stage and chunk,\n"
    "microbatches, warm-up, and memory by stage. Takes the job options of \"stepsim run\".\n"
    "\n"
    "  --json              the same as one JSON object\n"
    "  --set ss.PROP=VALUE changes one value of the card or the stack; may be repeated\n"
    "  --output FILE       writes there instead of stdout\n"
    "\n"
    "exit status: 0, or 2 usage, 3 bad input or a configuration that the framework refuses. That a\n"
    "plan does not fit the card is no error here.\n"
    "\n"
    "example:\n"
    "  stepsim plan --platform h800 --nodes 8 --model llama3.1-70b --bf16 --tp 4 --pp 8 --cp 2 \\\n"
    "      --num-layers-per-virtual-pipeline-stage 2 --seq 8192 --mbs 1 --gbs 1024 \\\n"
    "      --sequence-parallel --use-distributed-optimizer\n";

static int report(const struct ss_run *run, const struct cli_inputs *in, const struct cli_flags *flags,
                  struct ss_error *err)
{
    struct ss_report_options opt = {
        .json = flags->json, .color = cli_color(flags), .wall_s = -1, .notes = &in->scenario->notes};
    struct ss_output *output;
    FILE *stream;
    int rc = cli_output_begin(flags->output, &output, &stream, err);

    if (rc)
        return rc;
    rc = ss_report_plan(run, &opt, stream, err);
    return cli_output_end(output, rc, err);
}

int cmd_plan(int argc, char **argv)
{
    int json = cli_has_word(argc, argv, "--json"), rc;
    struct ss_error err = {0};
    struct cli_flags flags;
    struct cli_inputs in;
    struct ss_bands *bands = NULL;
    struct ss_run run;

    cli_flags_init(&flags, CLI_PLAN);
    rc = cli_inputs_load(&in, &flags, argc, argv, &err);
    if (rc)
        return cli_fail(&err, json);
    rc = ss_bands_load(NULL, &bands, &err);
    if (!rc) {
        const struct ss_run_options options = {.engine = flags.engine, .bands = bands};
        rc = ss_run_job_with(&in.job, &in.stack, in.platform, &options, &run, &err);
    }
    if (!rc) {
        rc = report(&run, &in, &flags, &err);
        ss_run_free(&run);
    }
    ss_bands_free(bands);
    cli_inputs_free(&in);
    return rc ? cli_fail(&err, json) : 0;
}
