/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"

const char cli_help_schedule[] =
    "usage: stepsim schedule list [--json]\n"
    "       stepsim schedule show NAME|FILE [SHAPE] [--times F,I,W] [--width N] [--json]\n"
    "       stepsim schedule write NAME|FILE [SHAPE] [--csv|--text] [-o FILE]\n"
    "       stepsim schedule check FILE... [--json]\n"
    "       stepsim schedule compare [--schedules A,B,...] SHAPE [--times F,I,W] [--json]\n"
    "       stepsim schedule compare [--schedules A,B,...] JOB-OPTION... [--engine E] [--json]\n"
    "       stepsim schedule search SHAPE [SEARCH] [--json] [-o FILE]\n"
    "       stepsim schedule search JOB-OPTION... [SEARCH] [--json] [-o FILE]\n"
    "\n"
    "A pipeline schedule is an order of slots for each rank: F, B or I and W of a microbatch and chunk.\n"
    "FILE is the CSV of PyTorch's pipelining or our text form (docs/reference/formats-schedule.md); \"stepsim run\n"
    "--schedule FILE\" replays it on a cluster. docs/guide/schedules.md tells what each schedule costs.\n"
    "\n"
    "  list      what is known: source, conditions, bubble and activations in flight\n"
    "  show      the order as a chart, with free communication\n"
    "  write     the order as a file: CSV (or by the ending of FILE), or text\n"
    "  check     proves that each action is there once, that the order can run, and what stays in memory;\n"
    "            errors name row and column, a deadlock its cycle\n"
    "  compare   time, bubble, activations, sends and exposed communication of schedules side by side;\n"
    "            NAME:V asks for V chunks a rank\n"
    "  search    a better order for given stage times and a memory cap, and how far it can be from the best\n"
    "\n"
    "SHAPE is --pp RANKS --microbatches M [--vp CHUNKS] [--group N]; JOB-OPTIONs are those of \"stepsim "
    "run\".\n"
    "SEARCH:\n"
    "  --times F,I,W[;F,I,W...]  of a chunk; with ; one for each rank (1,1,1)\n"
    "  --memory A,W              what a chunk keeps from F to I, and from I to W (1,0)\n"
    "  --cap X                   memory of a rank, in the unit of --memory; of a job as 40GiB (no limit)\n"
    "  --v                       two chunks a rank on a V\n"
    "  --whole                   the backward is not split\n"
    "  --no-barrier              ranks need not wait for each other at the end\n"
    "  --seed N --steps N        of the local search\n"
    "\n"
    "exit status: 0, 1 a schedule that deadlocks, 2 usage, 3 bad input or a schedule that refuses the "
    "numbers\n"
    "\n"
    "example:\n"
    "  stepsim schedule show zb-v --pp 4 --microbatches 8\n"
    "  stepsim schedule search --pp 4 --microbatches 8 --times 1,1.2,0.8 --cap 4 -o mine.csv\n";

#define MAX_NAMES 64
#define MAX_RANKS 65536

struct options {
    int job; /* --platform is among the words */
    struct ss_schedule_params shape;
    const char *times, *memory;
    double cap;
    int v, whole, no_barrier, csv, text, width, steps;
    double seed;
    char *schedules;
    struct cli_flags flags;
};

/* A plain number, or bytes as 40GiB. */
static int read_cap(const char *value, double *out, struct ss_error *err)
{
    static const struct {
        const char *name;
        double bytes;
    } units[] = {{"GiB", 1024.0 * 1024 * 1024}, {"MiB", 1024.0 * 1024}, {"GB", 1e9}, {"MB", 1e6}};
    char number[64];
    size_t n = strlen(value);

    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t m = strlen(units[i].name);
        if (n <= m || n - m >= sizeof number || strcmp(value + n - m, units[i].name) != 0)
            continue;
        memcpy(number, value, n - m);
        number[n - m] = '\0';
        int rc = cli_number("--cap", number, 0, 1e15, out, err);
        *out *= units[i].bytes;
        return rc;
    }
    return cli_number("--cap", value, 0, 1e300, out, err);
}

/* One option of ours at argv[0]; 0: it is none, else words taken, or an error. */
static int own_option(struct options *o, int argc, char **argv, struct ss_error *err)
{
    static const char *const valued[] = {"--microbatches", "--vp",        "--group", "--times",
                                         "--memory",       "--cap",       "--width", "--seed",
                                         "--steps",        "--schedules", "--pp",    "-m"};
    const char *w = argv[0], *value = argc > 1 ? argv[1] : NULL;
    int rc = SS_OK, known = 0;
    if (!strcmp(w, "--v"))
        return o->v = 1;
    if (!strcmp(w, "--whole"))
        return o->whole = 1;
    if (!strcmp(w, "--no-barrier"))
        return o->no_barrier = 1;
    if (!strcmp(w, "--csv"))
        return o->csv = 1;
    if (!strcmp(w, "--text"))
        return o->text = 1;
    for (size_t i = 0; i < sizeof valued / sizeof valued[0]; i++)
        known |= !strcmp(w, valued[i]);
    if (!known || (o->job && (!strcmp(w, "--pp") || !strcmp(w, "--vp"))))
        return 0;
    if (!value)
        return cli_usage(err, "", "%s needs a value", w);
    if (!strcmp(w, "--pp"))
        rc = cli_count(w, value, 1, MAX_RANKS, &o->shape.stages, err);
    else if (!strcmp(w, "--vp"))
        rc = cli_count(w, value, 1, 4096, &o->shape.chunks, err);
    else if (!strcmp(w, "--microbatches") || !strcmp(w, "-m"))
        rc = cli_count(w, value, 1, 1 << 24, &o->shape.microbatches, err);
    else if (!strcmp(w, "--group"))
        rc = cli_count(w, value, 1, 1 << 24, &o->shape.microbatch_group_size, err);
    else if (!strcmp(w, "--width"))
        rc = cli_count(w, value, 20, 100000, &o->width, err);
    else if (!strcmp(w, "--steps"))
        rc = cli_count(w, value, 1, 100000000, &o->steps, err);
    else if (!strcmp(w, "--seed"))
        rc = cli_whole(w, value, 0, 1e15, &o->seed, err);
    else if (!strcmp(w, "--cap"))
        rc = read_cap(value, &o->cap, err);
    else if (!strcmp(w, "--times"))
        o->times = value;
    else if (!strcmp(w, "--memory"))
        o->memory = value;
    else
        o->schedules = argv[1];
    return rc ? rc : 2;
}

/* Takes our options out of argv; what is left stays in order. */
static int take_options(struct options *o, int accepted, int *argc, char **argv, struct ss_error *err)
{
    int n = 0;
    memset(o, 0, sizeof *o);
    o->shape.overlap_p2p = 1;
    o->cap = INFINITY;
    o->seed = 1;
    o->job = cli_has_word(*argc, argv, "--platform") || cli_has_word(*argc, argv, "--job");
    for (int i = 0; i < *argc;) {
        int taken = own_option(o, *argc - i, argv + i, err);
        if (taken < 0)
            return taken;
        if (!taken)
            argv[n++] = argv[i++];
        i += taken;
    }
    *argc = n;
    cli_flags_init(&o->flags, accepted, SS_ENGINE_NATIVE);
    return SS_OK;
}

static int read_three(const char *option, const char **at, int n, double *out, struct ss_error *err)
{
    for (int k = 0; k < n; k++) {
        char *end;
        out[k] = strtod(*at, &end);
        if (end == *at || !(out[k] >= 0 && out[k] < 1e15) || (k + 1 < n && *end != ',') ||
            (k + 1 == n && *end && *end != ';'))
            return cli_usage(err, n == 3 ? "write it as --times 1,1,1" : "write it as --memory 1,0.5",
                             "%s: not %d numbers", option, n);
        *at = end + (k + 1 < n || *end == ';');
    }
    return SS_OK;
}

static int need_shape(const struct options *o, struct ss_error *err)
{
    if (o->shape.stages && o->shape.microbatches)
        return SS_OK;
    return cli_usage(err, "as in --pp 4 --microbatches 8", "the shape of the pipeline is missing");
}

/* By name with a shape, or from a file. */
static int load(const struct options *o, const char *name, struct ss_schedule **out, struct ss_error *err)
{
    struct ss_schedule_params shape = o->shape;
    if (ss_schedule_is_file(name) || !strcmp(name, "-"))
        return ss_schedule_load(name, out, err);
    int rc = need_shape(o, err);
    if (rc)
        return rc;
    if (!shape.chunks)
        shape.chunks =
            ss_schedule_chunks(name, strcmp(name, "interleaved") && strcmp(name, "looped-bfs") ? 1 : 2);
    return ss_schedule_build(name, &shape, out, err);
}

static int one_name(struct options *o, int argc, char **argv, const char **name, struct ss_error *err)
{
    int n, rc = cli_words(&o->flags, argc, argv, &n, err);
    if (!rc && n != 1)
        rc = cli_usage(err, "a name of \"stepsim schedule list\" or a file", "%s",
                       n ? "more than one schedule given" : "no schedule given");
    *name = argv[0];
    return rc;
}

static int do_list(int argc, char **argv, struct ss_error *err)
{
    struct options o;
    int n, rc = take_options(&o, CLI_JSON, &argc, argv, err);
    if (!rc)
        rc = cli_words(&o.flags, argc, argv, &n, err);
    if (!rc && n)
        rc = cli_usage(err, "", "schedule list takes no names");
    return rc ? rc : ss_report_schedules(o.flags.json, stdout, err);
}

static int terminal_width(void)
{
    struct winsize w;
    if (isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_col >= 20)
        return w.ws_col;
    return 100;
}

static int do_show(int argc, char **argv, struct ss_error *err)
{
    struct ss_schedule_view view = {.times = {1, 1, 1}};
    struct ss_schedule *s = NULL;
    struct ss_output *output;
    struct options o;
    const char *name;
    FILE *out;
    int rc = take_options(&o, CLI_JSON | CLI_OUTPUT, &argc, argv, err);
    if (!rc)
        rc = one_name(&o, argc, argv, &name, err);
    if (!rc && o.times)
        rc = read_three("--times", &o.times, 3, view.times, err);
    if (!rc)
        rc = load(&o, name, &s, err);
    if (!rc)
        rc = cli_output_begin(o.flags.output, &output, &out, err);
    if (!rc) {
        view.json = o.flags.json;
        view.color = cli_color(&o.flags);
        view.width = o.width ? o.width : terminal_width();
        rc = ss_report_schedule(s, &view, out, err);
        rc = cli_output_end(output, rc, err);
    }
    ss_schedule_free(s);
    return rc;
}

static int ends_in_csv(const char *path)
{
    size_t n = strlen(path);
    return n > 4 && !strcmp(path + n - 4, ".csv");
}

static int write_file(const struct options *o, const struct ss_schedule *s, struct ss_error *err)
{
    struct ss_output *output;
    FILE *out;
    int csv = o->csv || (!o->text && (!o->flags.output[0] || ends_in_csv(o->flags.output)));
    int rc = cli_output_begin(o->flags.output, &output, &out, err);
    if (rc)
        return rc;
    rc = ss_schedule_write(s, csv ? SS_SCHEDULE_CSV : SS_SCHEDULE_TEXT, out, err);
    return cli_output_end(output, rc, err);
}

static int do_write(int argc, char **argv, struct ss_error *err)
{
    struct ss_schedule *s = NULL;
    struct options o;
    const char *name;
    int rc = take_options(&o, CLI_OUTPUT, &argc, argv, err);
    if (!rc)
        rc = one_name(&o, argc, argv, &name, err);
    if (!rc)
        rc = load(&o, name, &s, err);
    if (!rc)
        rc = write_file(&o, s, err);
    ss_schedule_free(s);
    return rc;
}

static void print_checked(const char *file, const struct ss_schedule *s)
{
    int64_t slots = 0;
    for (int r = 0; r < s->stages; r++)
        slots += s->nslots[r];
    printf("%s: ok: %d ranks, %d chunk%s a rank, %d microbatches, %lld slots; in flight by rank:", file,
           s->stages, s->chunks, s->chunks == 1 ? "" : "s", ss_schedule_microbatches(s), (long long)slots);
    for (int r = 0; r < s->stages; r++)
        printf(" %d", ss_schedule_in_flight(s, r));
    putchar('\n');
}

static int do_check(int argc, char **argv, struct ss_error *err)
{
    struct options o;
    int n, rc = take_options(&o, CLI_JSON, &argc, argv, err);
    if (!rc)
        rc = cli_words(&o.flags, argc, argv, &n, err);
    if (!rc && !n)
        rc = cli_usage(err, "give one or more files", "no file given");
    for (int i = 0; !rc && i < n; i++) {
        struct ss_schedule *s = NULL;
        rc = ss_schedule_load(argv[i], &s, err);
        if (!rc && !o.flags.json)
            print_checked(argv[i], s);
        ss_schedule_free(s);
    }
    if (!rc && o.flags.json)
        rc = ss_report_checked("schedule", n, (const char *const *)argv, stdout, err);
    return rc;
}

static int split_names(char *list, const char **names, struct ss_error *err)
{
    int n = 0;
    for (char *word = list; word && *word;) {
        char *comma = strchr(word, ',');
        if (comma)
            *comma = '\0';
        if (n == MAX_NAMES)
            return cli_usage(err, "", "more than %d schedules", MAX_NAMES);
        names[n++] = word;
        word = comma ? comma + 1 : NULL;
    }
    return n;
}

static int write_comparison(const struct options *o, struct ss_comparison *c, struct ss_error *err)
{
    struct ss_output *output;
    FILE *out;
    int rc = cli_output_begin(o->flags.output, &output, &out, err);
    if (!rc) {
        rc = ss_comparison_write(c, o->flags.json, out, err);
        rc = cli_output_end(output, rc, err);
    }
    ss_comparison_free(c);
    return rc;
}

static int compare_integers(struct options *o, int argc, char **argv, const char **names, int n,
                            struct ss_error *err)
{
    double times[3] = {1, 1, 1};
    struct ss_comparison *c;
    int left, rc = cli_words(&o->flags, argc, argv, &left, err);
    if (!rc && left)
        rc = cli_usage(err, "put names behind --schedules", "\"%s\": not an option", argv[0]);
    if (!rc)
        rc = need_shape(o, err);
    if (!rc && o->times)
        rc = read_three("--times", &o->times, 3, times, err);
    if (!rc)
        rc = ss_compare_integers(names, n, &o->shape, times, &c, err);
    return rc ? rc : write_comparison(o, c, err);
}

static int do_compare(int argc, char **argv, struct ss_error *err)
{
    const char *names[MAX_NAMES];
    struct ss_comparison *c;
    struct cli_inputs in;
    struct options o;
    int rc = take_options(&o, CLI_JSON | CLI_OUTPUT | CLI_ENGINE | CLI_SET, &argc, argv, err);
    int n = rc ? rc : split_names(o.schedules, names, err);
    if (n < 0)
        return n;
    if (!o.job)
        return compare_integers(&o, argc, argv, names, n, err);
    rc = cli_inputs_load(&in, &o.flags, argc, argv, err);
    if (rc)
        return rc;
    rc = ss_compare_job(names, n, &in.job, &in.stack, in.platform, o.flags.engine, &c, err);
    cli_inputs_free(&in);
    return rc ? rc : write_comparison(&o, c, err);
}

/* --times, --memory and --cap of a search without a job. */
static int fill_search(struct options *o, struct ss_search *q, struct ss_error *err)
{
    double t[3] = {1, 1, 1}, memory[2] = {1, 0};
    const char *at = o->times;
    int rc = o->memory ? read_three("--memory", &o->memory, 2, memory, err) : SS_OK;
    if (!rc && memory[1] > 1e15)
        rc = cli_usage(err, "", "--memory: too large");
    for (int r = 0; !rc && r < q->stages; r++) {
        if (at && *at)
            rc = read_three("--times", &at, 3, t, err);
        else if (at && r > 1)
            rc = cli_usage(err, "give three numbers once, or for each rank", "--times has %d ranks, not %d",
                           r, q->stages);
        if (at && !*at && r == 0)
            at = NULL; /* one triple for all */
        q->cap[r] = o->cap;
        for (int c = 0; c < q->chunks; c++) {
            int k = r * q->chunks + c;
            q->f[k] = t[0];
            q->i[k] = t[1];
            q->w[k] = t[2];
            q->activation[k] = memory[0];
            q->weight[k] = memory[1];
        }
    }
    if (!rc && at && *at)
        rc = cli_usage(err, "", "--times has more than %d ranks", q->stages);
    return rc;
}

static int make_search(struct options *o, int argc, char **argv, struct ss_search **out, struct ss_error *err)
{
    struct cli_inputs in;
    int n, rc;
    if (o->job) {
        rc = cli_inputs_load(&in, &o->flags, argc, argv, err);
        if (rc)
            return rc;
        rc = ss_search_from_job(&in.job, &in.stack, in.platform, o->v, out, err);
        cli_inputs_free(&in);
        return rc;
    }
    rc = cli_words(&o->flags, argc, argv, &n, err);
    if (!rc && n)
        rc = cli_usage(err, "", "\"%s\": not an option of a search", argv[0]);
    if (!rc)
        rc = need_shape(o, err);
    if (rc)
        return rc;
    int chunks = o->v ? 2 : o->shape.chunks ? o->shape.chunks : 1;
    if ((double)o->shape.stages * chunks * o->shape.microbatches > 1 << 24)
        return cli_usage(err, "", "a search over more than %d actions", 1 << 24);
    *out = ss_search_new(o->shape.stages, chunks, o->shape.microbatches);
    if (!*out)
        return cli_usage(err, "", "no memory for the search");
    (*out)->v_shape = o->v;
    rc = fill_search(o, *out, err);
    if (rc)
        ss_search_free(*out);
    return rc;
}

static int do_search(int argc, char **argv, struct ss_error *err)
{
    struct ss_search_result *r = NULL;
    struct ss_search *q = NULL;
    struct options o;
    int rc = take_options(&o, CLI_JSON | CLI_OUTPUT | CLI_SET, &argc, argv, err);
    if (!rc)
        rc = make_search(&o, argc, argv, &q, err);
    if (rc)
        return rc;
    q->split = !o.whole;
    q->barrier = q->barrier && !o.no_barrier;
    q->seed = (uint64_t)o.seed;
    q->steps = o.steps;
    rc = ss_search_run(q, &r, err);
    if (!rc)
        rc = ss_search_write(q, r, o.flags.json, stdout, err);
    if (!rc && o.flags.output[0])
        rc = write_file(&o, r->schedule, err);
    ss_search_result_free(r);
    ss_search_free(q);
    return rc;
}

int cmd_schedule(int argc, char **argv)
{
    static const char *const verbs[] = {"list", "show", "write", "check", "compare", "search"};
    static const cli_verb run[] = {do_list, do_show, do_write, do_check, do_compare, do_search};
    static const char hint[] = "say list, show, write, check, compare or search; --help shows examples";

    return cli_run_verb(argc, argv, verbs, run, 6, hint);
}
