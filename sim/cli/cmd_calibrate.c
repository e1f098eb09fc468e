/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

const char cli_help_calibrate[] =
    "usage: stepsim calibrate --platform NAME|FILE [--rows TABLE]... [--nccl FILE] [--microbench FILE]\n"
    "                         [--log FILE --job FILE] [--prop ID[=LOW:HIGH]]... [--leave-out COLUMN]\n"
    "                         [OPTION...] [-o FILE]\n"
    "\n"
    "Fits numbers of a platform or a stack to measurements, by least squares of the relative errors\n"
    "within bounds; prints the errors before and after, each number with its standard deviation and\n"
    "correlations, and which numbers the measurements do not determine.\n"
    "\n"
    "  --platform NAME|FILE   the platform to start from\n"
    "  --rows TABLE           measured runs, as for \"stepsim validate\"; rows of this platform count\n"
    "  --nccl FILE            what a program of nccl-tests printed; --nodes N: nodes that it ran on\n"
    "  --microbench FILE      kernels and collectives measured alone, as validation/probe writes them;\n"
    "                         rows of this platform's card count\n"
    "  --log FILE             a log of Megatron's training loop, of the run with the flags of\n"
    "  --job FILE             this file; the log's timers are held against the predicted ones\n"
    "  --timer-rows FILE      measured timers of the tables' runs (columns run, timer, ms), likewise\n"
    "  --timers               fits those timers too that take a hundredth of the iteration or more\n"
    "  --stack NAME|FILE      predicts all rows with this stack, not with each row's own; the attention\n"
    "                         of micro-benchmarks is its\n"
    "  --prop ID[=LOW:HIGH]   a number to fit, within its own bounds or these; may be repeated. Without\n"
    "                         one: efficiencies of GEMMs in the rows' precisions, NVLink and NIC; of\n"
    "                         micro-benchmarks all that they tell\n"
    "  --leave-out COLUMN     model, gpu, precision or id: predicts each by a fit of all others;\n"
    "                         half: odd lines of the tables by a fit of the even ones, and these by the odd\n"
    "  --output FILE          writes the platform with the fitted numbers\n"
    "  --stack-output FILE    writes a stack with the fitted numbers over --stack\n"
    "  --json                 the report as one JSON object\n"
    "\n"
    "exit status: 0, or 2 usage, 3 bad input\n"
    "\n"
    "example:\n"
    "  stepsim calibrate --platform h800 --rows runs --prop ss.gemm.efficiency.fp8=0.4:0.8 \\\n"
    "      --prop ss.nvlink.efficiency --leave-out model -o mine.xml\n";

#define MAX_TABLES 64

static void progress(void *ctx, int evaluations)
{
    (void)ctx;
    if (evaluations > 0)
        fprintf(stderr, "\r%6d evaluations", evaluations);
    else
        fprintf(stderr, "\r%20s\r", "");
    fflush(stderr);
}

struct words {
    struct ss_calibrate_options opt;
    const char *tables[MAX_TABLES];
    const char *stack_output;
};

/* One of our options that takes a value; 0 = not ours. */
static int take(struct words *w, const char *name, const char *value, struct ss_error *err)
{
    struct {
        const char *name;
        const char **to;
    } const texts[] = {{"--platform", &w->opt.platform},
                       {"--stack", &w->opt.stack},
                       {"--nccl", &w->opt.nccl},
                       {"--microbench", &w->opt.microbench},
                       {"--log", &w->opt.log},
                       {"--job", &w->opt.job},
                       {"--timer-rows", &w->opt.timer_rows},
                       {"--leave-out", &w->opt.leave_out},
                       {"--stack-output", &w->stack_output}};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (!strcmp(name, texts[i].name)) {
            *texts[i].to = value;
            return 1;
        }
    if (!strcmp(name, "--rows")) {
        if (w->opt.ntables == MAX_TABLES)
            return cli_usage(err, "", "more than %d tables", MAX_TABLES);
        w->tables[w->opt.ntables++] = value;
        return 1;
    }
    if (strcmp(name, "--prop") != 0)
        return 0;
    if (w->opt.nprops == SS_FIT_MAX)
        return cli_usage(err, "", "more than %d numbers to fit", SS_FIT_MAX);
    struct ss_fit_prop *prop = &w->opt.props[w->opt.nprops];
    int rc = ss_fit_prop_parse(value, prop, err);
    for (int i = 0; !rc && i < w->opt.nprops; i++)
        if (!strcmp(w->opt.props[i].id, prop->id))
            rc = cli_usage(err, "leave one out", "--prop %s is given twice", prop->id);
    w->opt.nprops++;
    return rc ? rc : 1;
}

static int is_ours(const char *word)
{
    static const char *const names[] = {"--platform", "--stack", "--nccl",      "--microbench",
                                        "--log",      "--job",   "--leave-out", "--stack-output",
                                        "--rows",     "--prop",  "--timer-rows"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(word, names[i]))
            return 1;
    return 0;
}

static int read_words(struct words *w, struct cli_flags *flags, int argc, char **argv, struct ss_error *err)
{
    for (int i = 0; i < argc;) {
        int taken;
        if (!strcmp(argv[i], "--timers")) {
            w->opt.fit_timers = taken = 1;
        } else if (is_ours(argv[i])) {
            if (i + 1 == argc)
                return cli_usage(err, "", "%s needs a value", argv[i]);
            taken = take(w, argv[i], argv[i + 1], err);
            taken = taken > 0 ? 2 : taken;
        } else {
            taken = cli_flag(flags, argc - i, argv + i, err);
        }
        if (taken < 0)
            return taken;
        if (taken == 0)
            return cli_usage(err, "--help lists the options", "unknown option %s", argv[i]);
        i += taken;
    }
    w->opt.tables = w->tables;
    w->opt.nccl_nodes = flags->nodes;
    if (!w->opt.platform)
        return cli_usage(err, "\"stepsim list platforms\" shows the names", "no --platform given");
    if (!w->opt.ntables && !w->opt.nccl && !w->opt.microbench && !w->opt.log)
        return cli_usage(err, "add --rows TABLE, --nccl FILE, --microbench FILE or --log FILE",
                         "nothing measured to calibrate with");
    if (w->opt.timer_rows && !w->opt.ntables)
        return cli_usage(err, "--rows TABLE has the runs", "--timer-rows without --rows");
    if (w->opt.fit_timers && !w->opt.log && !w->opt.timer_rows)
        return cli_usage(err, "--log FILE has them, or --timer-rows FILE", "--timers without timers");
    if (ss_output_same(flags->output, w->stack_output))
        return cli_usage(err, "give each a name of its own",
                         "--output and --stack-output write the same file");
    if (w->stack_output && !w->opt.stack)
        return cli_usage(err, "--stack names the base of the new stack", "--stack-output without --stack");
    return SS_OK;
}

static int write_platform(const struct ss_calibration *c, const struct words *w, const char *path,
                          struct ss_error *err)
{
    struct ss_output *output;
    FILE *stream;
    int rc = cli_output_begin(path, &output, &stream, err);

    if (rc)
        return rc;
    rc = ss_calibration_write_platform(c, w->opt.platform, stream, err);
    return cli_output_end(output, rc, err);
}

/* That a file can be written is known before the fit, which may take a minute. */
static int can_write(const char *path, struct ss_error *err)
{
    struct ss_output *output;
    FILE *stream;
    int rc = ss_output_check(path, "<?xml", err);

    if (!rc && path && path[0])
        rc = cli_output_begin(path, &output, &stream, err);

    if (!rc && path && path[0])
        cli_output_abort(output);
    return rc;
}

/* "dir/mine.xml" names the stack mine. */
static int write_stack(const struct ss_calibration *c, const struct words *w, struct ss_error *err)
{
    const char *slash = strrchr(w->stack_output, '/');
    struct ss_output *output;
    char name[64];
    FILE *stream;
    int rc;

    snprintf(name, sizeof name, "%s", slash ? slash + 1 : w->stack_output);
    if (strrchr(name, '.'))
        *strrchr(name, '.') = '\0';
    rc = cli_output_begin(w->stack_output, &output, &stream, err);
    if (rc)
        return rc;
    rc = ss_calibration_write_stack(c, name[0] ? name : "calibrated", w->opt.stack, w->opt.platform, stream,
                                    err);
    return cli_output_end(output, rc, err);
}

static int write_all(const struct ss_calibration *c, const struct words *w, const struct cli_flags *flags,
                     struct ss_error *err)
{
    int rc = SS_OK, of_stack = 0;

    if (flags->output[0])
        rc = write_platform(c, w, flags->output, err);
    if (!rc && w->stack_output)
        rc = write_stack(c, w, err);
    if (!rc)
        rc = flags->json ? ss_calibration_write_json(c, stdout, err)
                         : ss_calibration_write_text(c, stdout, err);
    for (int i = 0; i < c->nprops; i++)
        of_stack |= c->props[i].of_stack;
    if (!rc && of_stack && !w->stack_output)
        fprintf(stderr, "stepsim: note: numbers of the stack are written with %s--stack-output FILE\n",
                w->opt.stack ? "" : "--stack S ");
    return rc;
}

int cmd_calibrate(int argc, char **argv)
{
    int json = cli_has_word(argc, argv, "--json"), rc;
    struct ss_calibration *c = NULL;
    struct ss_error err = {0};
    struct cli_flags flags;
    struct words w;

    memset(&w, 0, sizeof w);
    cli_flags_init(&flags, CLI_JSON | CLI_TIMING | CLI_OUTPUT | CLI_NODES, SS_ENGINE_NATIVE);
    rc = read_words(&w, &flags, argc, argv, &err);
    if (!rc)
        rc = can_write(flags.output, &err);
    if (!rc)
        rc = can_write(w.stack_output, &err);
    w.opt.progress = isatty(STDERR_FILENO) ? progress : NULL;
    if (!rc)
        rc = ss_calibrate(&w.opt, &c, &err);
    if (w.opt.progress)
        progress(NULL, 0);
    if (!rc)
        rc = write_all(c, &w, &flags, &err);
    ss_calibration_free(c);
    if (!rc && flags.timing)
        fprintf(stderr, "stepsim: %.2f s\n", cli_wall_s());
    return rc ? cli_fail(&err, json) : 0;
}
