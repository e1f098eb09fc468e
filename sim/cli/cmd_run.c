/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"

#define MIB (1024.0 * 1024.0)

const char cli_help_run[] =
    "usage: stepsim run --platform NAME|FILE [--nodes N] --model NAME|FILE JOB-OPTION... [OPTION...]\n"
    "\n"
    "Predicts one training iteration: how long it takes, where the time goes, how much memory\n"
    "every pipeline stage needs, and whether it fits. The job is told in Megatron-LM's own flags.\n"
    "\n"
    "  --platform NAME|FILE   cluster: a name of \"stepsim list platforms\" or a SimGrid XML\n"
    "  --nodes N              nodes of it; --gpus-per-node N: of each the first N GPUs\n"
    "  --model NAME|FILE      a name of \"stepsim list models\" or a Hugging Face config.json\n"
    "  --stack NAME|FILE      software release (megatron-2407)\n"
    "  --job FILE             reads options from a file, one or more a line\n"
    "  --tp --pp --cp N       tensor, pipeline, context parallel sizes; data parallel follows\n"
    "  --mbs --gbs --seq N    micro batch, global batch, sequence length\n"
    "  --bf16 --fp16 --fp8-format hybrid ...   and the other flags of Megatron: docs/reference/flags.md\n"
    "\n"
    "  --engine simgrid|native   which kernel replays it (simgrid)\n"
    "  --level chunk|layer|flow  an event a slot; operators and their collectives; these as flows (chunk)\n"
    "  --unfold                  simulates every rank, not one of those that do the same\n"
    "  --full-replay             native: runs every microbatch, also those of a steady state\n"
    "  --placement FILE          where ranks are: docs/reference/formats.md\n"
    "  --straggler RANK:FACTOR   a GPU that takes FACTOR times as long; may be repeated\n"
    "  --slow-link NAME:FACTOR   a link with 1/FACTOR of its bandwidth, or \"failed\": flows go around\n"
    "  --jitter SIGMA            log-normal noise on what is computed between two waits (at chunk\n"
    "                            level a whole slot); percentiles of --replicas R (100)\n"
    "                            iterations, drawn from --seed N (0)\n"
    "  --measured TIME           a measured iteration, 33070.9ms: prints the error beside\n"
    "  --measured-memory SIZE    a measured peak, 72542MiB\n"
    "  --tolerance PERCENT       exits 4 if the prediction is further off than this\n"
    "  --set ss.PROP=VALUE       changes one value of the card or the stack; may be repeated\n"
    "  --json                    everything, as docs/reference/formats.md says\n"
    "  --timing                  adds the wall-clock time of the prediction\n"
    "  --output FILE             writes there instead of stdout\n"
    "\n"
    "pictures (docs/guide/pictures.md):\n" CLI_HELP_PICTURES "\n"
    "exit status: 0 fits or near limit, 1 out of memory or deadlock, 2 usage, 3 bad input or a configuration "
    "that\n"
    "the framework refuses, 4 outside --tolerance\n"
    "\n"
    "example:\n"
    "  stepsim run --platform h800 --nodes 4 --model llama3.1-8b --bf16 --tp 2 --pp 2 \\\n"
    "      --seq 8192 --mbs 1 --gbs 1024 --use-distributed-optimizer --sequence-parallel \\\n"
    "      --tp-comm-overlap --overlap-grad-reduce --overlap-param-gather --measured 33070.9ms\n";

static int report(const struct ss_run *run, const struct cli_inputs *in, const struct cli_flags *flags,
                  const struct ss_fix *fixes, int nfixes, struct ss_error *err)
{
    struct ss_report_options opt = {
        .json = flags->json,
        .color = cli_color(flags),
        .measured_s = in->job.measured_ms / 1e3,
        .measured_bytes = in->job.measured_mib * MIB,
        .wall_s = flags->timing ? cli_wall_s() : -1,
        .notes = &in->scenario->notes,
        .fixes = fixes,
        .nfixes = nfixes,
    };
    struct ss_output *output;
    FILE *stream;
    int rc = cli_pictures_make(flags, run->program, run->timeline, run, &opt, err);
    if (!rc)
        rc = cli_output_begin(flags->output, &output, &stream, err);
    if (rc)
        return rc;
    rc = ss_report_run(run, &opt, stream, err);
    return cli_output_end(output, rc, err);
}

static int outside(const char *what, double predicted, double measured, double tolerance)
{
    double error = 100 * (predicted - measured) / measured;

    if (!(measured > 0) || fabs(error) <= tolerance)
        return 0;
    fprintf(stderr, "stepsim: %s is %+.2f %% off, more than the tolerance of %g %%\n", what, error,
            tolerance);
    return 1;
}

static int verdict(const struct ss_result *r, const struct ss_job *job, const struct cli_flags *flags)
{
    int bad = 0;

    if (!r->fits)
        return ss_status_exit(SS_ERR_OOM);
    if (flags->tolerance >= 0) {
        bad |= outside("the iteration time", r->iteration_s, job->measured_ms / 1e3, flags->tolerance);
        bad |= outside("the memory", r->peak_device, job->measured_mib * MIB, flags->tolerance);
    }
    return bad ? ss_status_exit(SS_ERR_TOLERANCE) : 0;
}

static int replay(const struct cli_inputs *in, struct ss_run_options *options, struct ss_run *run,
                  struct ss_error *err)
{
    int shown = isatty(STDERR_FILENO), rc;

    options->progress = shown ? cli_progress : NULL;
    options->ctx = "replaying";
    rc = ss_run_job_with(&in->job, &in->stack, in->platform, options, run, err);
    if (shown)
        cli_progress_end();
    return rc;
}

int cmd_run(int argc, char **argv)
{
    int json = cli_has_word(argc, argv, "--json"), status, nfixes = 0, rc;
    struct ss_error err = {0};
    struct cli_flags flags;
    struct cli_inputs in;
    struct ss_bands *bands = NULL;
    struct ss_run run;
    struct ss_fix fixes[3];

    cli_flags_init(&flags, CLI_RUN);
    rc = cli_inputs_load(&in, &flags, argc, argv, &err);
    if (rc)
        return cli_fail(&err, json);
    rc = flags.tolerance >= 0 && !(in.job.measured_ms > 0) && !(in.job.measured_mib > 0)
             ? cli_usage(&err, "add --measured or --measured-memory", "--tolerance of what?")
             : cli_sim_finish(&flags, in.platform, &err);
    if (!rc)
        rc = ss_bands_load(NULL, &bands, &err);
    flags.sim.options.bands = bands;
    if (!rc)
        rc = replay(&in, &flags.sim.options, &run, &err);
    if (!rc) {
        if (!run.result->fits)
            rc = ss_fixes_find(&in.job, &in.stack, in.platform, &flags.sim.options, fixes, &nfixes, &err);
        if (!rc)
            rc = report(&run, &in, &flags, fixes, nfixes, &err);
        status = rc ? 0 : verdict(run.result, &in.job, &flags);
        ss_run_free(&run);
    }
    ss_bands_free(bands);
    cli_sim_free(&flags);
    cli_inputs_free(&in);
    return rc ? cli_fail(&err, json) : status;
}
