/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the program, beside those of a job. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

static const struct {
    const char *name;
    int option;
    int takes_value;
} table[] = {
    {"--json", CLI_JSON, 0},
    {"--timing", CLI_TIMING, 0},
    {"--expanded", CLI_EXPANDED, 0},
    {"--xml", CLI_XML, 0},
    {"--engine", CLI_ENGINE, 1},
    {"--tolerance", CLI_TOLERANCE, 1},
    {"--set", CLI_SET, 1},
    {"--output", CLI_OUTPUT, 1},
    {"-o", CLI_OUTPUT, 1},
    {"--nodes", CLI_NODES, 1},
    {"--gpus-per-node", CLI_GPUS, 1},
    {"--update", CLI_VALIDATE, 0},
    {"--csv", CLI_VALIDATE, 1},
    {"--svg", CLI_VALIDATE, 1},
    {"--against", CLI_VALIDATE, 1},
    {"--timer-rows", CLI_VALIDATE, 1},
    {"--level", CLI_SIM, 1},
    {"--unfold", CLI_SIM, 0},
    {"--full-replay", CLI_SIM, 0},
    {"--placement", CLI_SIM, 1},
    {"--straggler", CLI_SIM, 1},
    {"--slow-link", CLI_SIM, 1},
    {"--jitter", CLI_SIM, 1},
    {"--seed", CLI_SIM, 1},
    {"--replicas", CLI_SIM, 1},
    {"--gantt", CLI_PICTURES, 1},
    {"--trace", CLI_PICTURES, 1},
    {"--memory", CLI_PICTURES, 1},
    {"--report", CLI_PICTURES, 1},
    {"--window", CLI_PICTURES, 1},
    {"--color-by", CLI_PICTURES, 1},
};
#define NTABLE (sizeof table / sizeof table[0])

void cli_flags_init(struct cli_flags *flags, int accepted, int engine)
{
    memset(flags, 0, sizeof *flags);
    flags->accepted = accepted;
    flags->engine = engine;
    flags->tolerance = -1;
    flags->sim.seed = -1;
}

int cli_usage(struct ss_error *err, const char *hint, const char *fmt, ...)
{
    va_list ap;

    memset(err, 0, sizeof *err);
    err->code = SS_ERR_USAGE;
    va_start(ap, fmt);
    vsnprintf(err->message, sizeof err->message, fmt, ap);
    va_end(ap);
    snprintf(err->hint, sizeof err->hint, "%s", hint ? hint : "");
    return SS_ERR_USAGE;
}

int cli_unknown(struct ss_error *err, const char *what, const char *word, const char *const *names, size_t n,
                const char *hint)
{
    const char *near = ss_nearest(word, names, n);
    char did_you_mean[128];

    snprintf(did_you_mean, sizeof did_you_mean, "did you mean %s?", near ? near : "");
    return cli_usage(err, near ? did_you_mean : hint, "unknown %s \"%s\"", what, word);
}

int cli_fail(const struct ss_error *err, int json)
{
    char text[1600];

    if (json)
        ss_report_error(err, stdout);
    else
        fprintf(stderr, "%s\n", ss_error_format(err, text, sizeof text));
    return ss_status_exit(err->code);
}

int cli_has_word(int argc, char *const *argv, const char *word)
{
    for (int i = 0; i < argc; i++)
        if (!strcmp(argv[i], word))
            return 1;
    return 0;
}

int cli_run_verb(int argc, char **argv, const char *const *names, const cli_verb *run, size_t n, const char *hint)
{
    int json = cli_has_word(argc, argv, "--json"), rc = 1;
    struct ss_error err = {0};

    for (size_t i = 0; argc > 0 && i < n; i++)
        if (!strcmp(argv[0], names[i]))
            rc = run[i](argc - 1, argv + 1, &err);
    if (argc == 0)
        rc = cli_usage(&err, hint, "no verb given");
    else if (rc > 0)
        rc = cli_unknown(&err, "verb", argv[0], names, n, hint);
    return rc ? cli_fail(&err, json) : 0;
}

double cli_wall_s(void)
{
    static struct timespec start;
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (start.tv_sec == 0 && start.tv_nsec == 0)
        start = now;
    return (double)(now.tv_sec - start.tv_sec) + 1e-9 * (double)(now.tv_nsec - start.tv_nsec);
}

int cli_color(const struct cli_flags *flags)
{
    const char *no_color = getenv("NO_COLOR");

    return !flags->output[0] && isatty(STDOUT_FILENO) && !(no_color && no_color[0]);
}

void cli_progress(void *ctx, double share)
{
    fprintf(stderr, "\r%s: %3.0f %%", (const char *)ctx, 100 * share);
    fflush(stderr);
}

void cli_progress_end(void)
{
    fputs("\r\033[K", stderr);
}

static int set_prop(struct cli_flags *f, const char *value, struct ss_error *err)
{
    const char *equal = strchr(value, '=');
    size_t n = equal ? (size_t)(equal - value) : 0;

    if (!equal || n == 0 || !equal[1] || n >= sizeof f->sets[0].id ||
        strlen(equal + 1) >= sizeof f->sets[0].value)
        return cli_usage(err, "write it as --set ss.nic.efficiency=0.8", "--set %s: not ID=VALUE", value);
    if (f->nsets == CLI_MAX_SETS)
        return cli_usage(err, "put the values into a platform or stack file", "more than %d --set",
                         CLI_MAX_SETS);
    memcpy(f->sets[f->nsets].id, value, n);
    f->sets[f->nsets].id[n] = '\0';
    strcpy(f->sets[f->nsets].value, equal + 1);
    int rc = cli_set_check(f->sets[f->nsets].id, equal + 1, err);
    if (rc)
        return rc;
    f->nsets++;
    return SS_OK;
}

static int read_number(const char *name, const char *value, double lo, double hi, int whole, double *out,
                       struct ss_error *err)
{
    char *end;

    *out = strtod(value, &end);
    if (end == value || *end || !(*out >= lo && *out <= hi) || (whole && *out != floor(*out)))
        return cli_usage(err, "", "%s %s: not a %snumber from %g to %g", name, value, whole ? "whole " : "", lo, hi);
    return SS_OK;
}

int cli_number(const char *name, const char *value, double lo, double hi, double *out, struct ss_error *err)
{
    return read_number(name, value, lo, hi, 0, out, err);
}

int cli_whole(const char *name, const char *value, double lo, double hi, double *out, struct ss_error *err)
{
    return read_number(name, value, lo, hi, 1, out, err);
}

int cli_count(const char *name, const char *value, int lo, int hi, int *out, struct ss_error *err)
{
    double number;
    int rc = cli_whole(name, value, lo, hi, &number, err);

    if (!rc)
        *out = (int)number;
    return rc;
}

/* "2" and "2%" */
static int set_tolerance(struct cli_flags *f, const char *name, const char *value, struct ss_error *err)
{
    size_t n = strlen(value);
    char number[32];

    if (n == 0 || n >= sizeof number || value[n - 1] != '%')
        return cli_number(name, value, 0, 1e6, &f->tolerance, err);
    snprintf(number, sizeof number, "%.*s", (int)n - 1, value);
    return cli_number(name, number, 0, 1e6, &f->tolerance, err);
}

static int set_engine(struct cli_flags *f, const char *value, struct ss_error *err)
{
    static const int engines[] = {SS_ENGINE_NATIVE, SS_ENGINE_SIMGRID};

    for (int i = 0; i < 2; i++)
        if (!strcmp(value, ss_engine_name(engines[i]))) {
            f->engine = engines[i];
            return SS_OK;
        }
    return cli_usage(err, "choose simgrid or native", "--engine %s: no such engine", value);
}

static int set_path(char *out, size_t size, const char *name, const char *value, struct ss_error *err)
{
    if (!value[0])
        return cli_usage(err, "give the name of a file", "%s: the name is empty", name);
    if (strlen(value) >= size)
        return cli_usage(err, "", "the path after %s is too long", name);
    strcpy(out, value);
    return SS_OK;
}

static int apply(struct cli_flags *f, int option, const char *name, const char *value, struct ss_error *err)
{
    int rc = SS_OK;

    if (option == CLI_PICTURES)
        rc = cli_picture_set(&f->pictures, name, value, err);
    else if (option == CLI_SIM)
        rc = cli_sim_flag(&f->sim, name, value, err);
    else if (!strcmp(name, "--json"))
        f->json = 1;
    else if (!strcmp(name, "--timing"))
        f->timing = 1;
    else if (!strcmp(name, "--expanded"))
        f->expanded = 1;
    else if (!strcmp(name, "--xml"))
        f->xml = 1;
    else if (!strcmp(name, "--engine"))
        rc = set_engine(f, value, err);
    else if (!strcmp(name, "--tolerance"))
        rc = set_tolerance(f, name, value, err);
    else if (!strcmp(name, "--set"))
        rc = set_prop(f, value, err);
    else if (!strcmp(name, "--nodes"))
        rc = cli_count(name, value, 1, 65536, &f->nodes, err);
    else if (!strcmp(name, "--gpus-per-node"))
        rc = cli_count(name, value, 1, 1024, &f->gpus_per_node, err);
    else if (!strcmp(name, "--update"))
        f->update = 1;
    else if (!strcmp(name, "--csv"))
        rc = set_path(f->csv, sizeof f->csv, name, value, err);
    else if (!strcmp(name, "--svg"))
        rc = set_path(f->svg, sizeof f->svg, name, value, err);
    else if (!strcmp(name, "--timer-rows"))
        rc = set_path(f->timer_rows, sizeof f->timer_rows, name, value, err);
    else if (!strcmp(name, "--against"))
        rc = set_path(f->against, sizeof f->against, name, value, err);
    else
        rc = set_path(f->output, sizeof f->output, name, value, err);
    return rc;
}

/* A word that is one or two letters off one of ours is no option of a job either. */
static int near_miss(const struct cli_flags *f, const char *word, struct ss_error *err)
{
    const char *names[NTABLE], *near;
    size_t n = 0;
    char hint[96];

    for (size_t i = 0; i < NTABLE; i++)
        if (!strcmp(table[i].name, word))
            return cli_usage(err, "its --help lists those it has", "this command has no option %s", word);
    for (size_t i = 0; i < NTABLE; i++)
        if ((f->accepted & table[i].option) && strlen(table[i].name) >= 6)
            names[n++] = table[i].name;
    near = ss_nearest(word, names, n);
    if (!near || strlen(word) < 5 || strlen(word) + 2 < strlen(near))
        return 0;
    snprintf(hint, sizeof hint, "did you mean %s?", near);
    return cli_usage(err, hint, "unknown option %s", word);
}

int cli_flag(void *ctx, int argc, char *const *argv, struct ss_error *err)
{
    struct cli_flags *f = ctx;
    const char *equal = strchr(argv[0], '=');
    size_t length = equal ? (size_t)(equal - argv[0]) : strlen(argv[0]);
    char word[64];

    snprintf(word, sizeof word, "%.*s", (int)(length < 63 ? length : 63), argv[0]);
    for (size_t i = 0; i < NTABLE; i++) {
        if (!(f->accepted & table[i].option) || strcmp(table[i].name, word) != 0)
            continue;
        if (!table[i].takes_value && equal)
            return cli_usage(err, "", "%s takes no value", word);
        if (!table[i].takes_value) {
            int bad = apply(f, table[i].option, word, "", err);
            return bad ? bad : 1;
        }
        if (!equal && argc < 2)
            return cli_usage(err, "", "%s needs a value", word);
        int rc = apply(f, table[i].option, word, equal ? equal + 1 : argv[1], err);
        return rc ? rc : equal ? 1 : 2;
    }
    return near_miss(f, word, err);
}

int cli_words(struct cli_flags *flags, int argc, char **argv, int *n, struct ss_error *err)
{
    *n = 0;
    for (int i = 0; i < argc;) {
        if (argv[i][0] != '-' || !strcmp(argv[i], "-")) {
            argv[(*n)++] = argv[i++];
            continue;
        }
        int taken = cli_flag(flags, argc - i, argv + i, err);
        if (taken < 0)
            return taken;
        if (taken == 0)
            return cli_usage(err, "--help lists the options", "unknown option %s", argv[i]);
        i += taken;
    }
    return SS_OK;
}
