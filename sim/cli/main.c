/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help, *summary;
};

static const struct command commands[] = {
    {"run", cmd_run, cli_help_run, "predict one training iteration: time, where it goes, memory"},
    {"sweep", cmd_sweep, cli_help_sweep, "a job under all combinations of some flags' values, side by side"},
    {"plan", cmd_plan, cli_help_plan, "groups, layers of every stage and chunk, microbatches, memory"},
    {"program", cmd_program, cli_help_program, "write, replay or check the simulated program as text"},
    {"schedule", cmd_schedule, cli_help_schedule, "show, check, compare and search pipeline schedules"},
    {"platform", cmd_platform, cli_help_platform, "show, check or import a cluster description"},
    {"validate", cmd_validate, cli_help_validate, "hold predictions against tables of measured runs"},
    {"calibrate", cmd_calibrate, cli_help_calibrate, "fit numbers of a platform or a stack to measured runs"},
    {"list", cmd_list, cli_help_list, "models, platforms, stacks and schedules that are known by name"},
};
#define NCOMMANDS (sizeof commands / sizeof commands[0])

static const char example[] =
    "stepsim run --platform h800 --nodes 4 --model llama3.1-8b --bf16 --tp 2 --pp 2 \\\n"
    "            --seq 8192 --mbs 1 --gbs 1024 --use-distributed-optimizer --sequence-parallel";

static void usage(FILE *out)
{
    fprintf(out, "usage: stepsim COMMAND [OPTION...]\n\n");
    for (size_t i = 0; i < NCOMMANDS; i++)
        fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].summary);
    fprintf(out, "  %-9s %s\n  %-9s %s\n", "help", "this text, or that of a command", "version",
            "the program's version");
    fprintf(out, "\nexample:\n  %s\n", example);
}

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < NCOMMANDS; i++)
        if (!strcmp(commands[i].name, name))
            return &commands[i];
    return NULL;
}

static int unknown(const char *name, int json)
{
    const char *names[NCOMMANDS + 2];
    struct ss_error err = {0};

    for (size_t i = 0; i < NCOMMANDS; i++)
        names[i] = commands[i].name;
    names[NCOMMANDS] = "help";
    names[NCOMMANDS + 1] = "version";
    cli_unknown(&err, "command", name, names, NCOMMANDS + 2, "\"stepsim help\" lists the commands");
    return cli_fail(&err, json);
}

static int flushed(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    if (status) /* which has been told */
        return status;
    fprintf(stderr, "error: cannot write to stdout\n");
    return ss_status_exit(SS_ERR_IO);
}

static int help(int argc, char **argv)
{
    if (argc > 0 && argv[0][0] != '-') {
        const struct command *c = find(argv[0]);
        if (!c)
            return unknown(argv[0], 0);
        fputs(c->help, stdout);
        return flushed(0);
    }
    usage(stdout);
    return flushed(0);
}

static int version(int argc, char **argv)
{
    if (cli_has_word(argc, argv, "--json"))
        printf("{\n  \"schema_version\": %d,\n  \"version\": \"%s\"\n}\n", SS_SCHEMA_VERSION, ss_version());
    else
        printf("stepsim %s\n", ss_version());
    return flushed(0);
}

int main(int argc, char **argv)
{
    const struct command *c;

    cli_wall_s(); /* starts the clock */
    /* Large tables come and go: give their pages back at the end only. */
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    mallopt(M_TOP_PAD, 1 << 20);
    if (argc < 2) {
        usage(stderr);
        return ss_status_exit(SS_ERR_USAGE);
    }
    if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
        return help(argc - 2, argv + 2);
    if (!strcmp(argv[1], "version") || !strcmp(argv[1], "--version"))
        return version(argc - 2, argv + 2);
    c = find(argv[1]);
    if (!c)
        return unknown(argv[1], cli_has_word(argc, argv, "--json"));
    if (cli_has_word(argc - 2, argv + 2, "--help") || cli_has_word(argc - 2, argv + 2, "-h")) {
        fputs(c->help, stdout);
        return flushed(0);
    }
    return flushed(c->run(argc - 2, argv + 2));
}
