/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a launch script, again where something was missing that can be made. */
#include "base/base.h"
#include "import/import.h"
#include "import/sandbox.h"
#include "stepsim/platform.h"

/* Product names and compute capabilities, by the beginning of a card's name; the first that fits. */
static const struct {
    const char *card, *name, *capability;
} products[] = {
    {"V100-16GB", "Tesla V100-SXM2-16GB", "7.0"},
    {"V100-32GB", "Tesla V100-SXM3-32GB", "7.0"},
    {"A100-40GB", "NVIDIA A100-SXM4-40GB", "8.0"},
    {"A100", "NVIDIA A100-SXM4-80GB", "8.0"},
    {"A800", "NVIDIA A800-SXM4-80GB", "8.0"},
    {"H100-80GB", "NVIDIA H100 80GB HBM3", "9.0"},
    {"H100", "NVIDIA H100", "9.0"},
    {"H800", "NVIDIA H800", "9.0"},
    {"H200", "NVIDIA H200", "9.0"},
    {"H20", "NVIDIA H20", "9.0"},
    {"GH200", "NVIDIA GH200 480GB", "9.0"},
    {"B200", "NVIDIA B200", "10.0"},
    {"GB200", "NVIDIA GB200", "10.0"},
    {"B300", "NVIDIA B300 SXM6 AC", "10.3"},
    {"GB300", "NVIDIA GB300", "10.3"},
    {"MI300X", "AMD Instinct MI300X", "9.4"},
};

static int launch_gpu(const struct ss_cluster *cluster, struct ss_sandbox_gpu *out)
{
    const struct ss_platform_options options = {.gpus_per_node = cluster->gpus_per_node,
                                                .card = cluster->card};
    struct ss_platform *p;

    if (!cluster->platform || ss_platform_load(cluster->platform, &options, &p, NULL))
        return 0;
    const struct ss_card *card = ss_platform_card(p);
    *out = (struct ss_sandbox_gpu){.mib = (long)(card->device_memory / (1 << 20)),
                                   .multiprocessors = (int)card->sm_count};
    ss_copy(out->name, sizeof out->name, card->name);
    for (size_t i = 0; i < SS_ARRAY_LEN(products); i++)
        if (!strncmp(card->name, products[i].card, strlen(products[i].card))) {
            ss_copy(out->name, sizeof out->name, products[i].name);
            ss_copy(out->capability, sizeof out->capability, products[i].capability);
            break;
        }
    ss_platform_free(p);
    return 1;
}

/* ---- the run ---- */

/* Most runs of a script; before each further run more of the missing files are made. */
#define TURNS 8

static int has_job(const struct ss_calls *calls)
{
    for (size_t i = 0; i < calls->n; i++)
        if (ss_launch_is_job(&calls->call[i]))
            return 1;
    return 0;
}

static int is_sourced(const struct ss_calls *calls, const char *name, size_t n)
{
    for (size_t i = 0; i < calls->n; i++)
        if (calls->call[i].kind == SS_CALL_MISSING && !strncmp(calls->call[i].word[0], name, n) &&
            !calls->call[i].word[0][n])
            return 1;
    return 0;
}

/* Paths of programs that the shell did not find, from its messages "line 3: /opt/bin/python: No such file or directory".
 * Returns how many are new. */
static int find_programs(const struct ss_calls *calls, struct ss_notes *programs)
{
    static const char end[] = ": No such file or directory";
    unsigned long before = programs->n;

    for (const char *p = calls->output; p && (p = strstr(p, end)) != NULL; p += sizeof end - 1) {
        const char *begin = p;
        while (begin > calls->output && !isspace((unsigned char)begin[-1]))
            begin--;
        if (begin[0] == '/' && p - begin < 1000 && !is_sourced(calls, begin, (size_t)(p - begin)))
            ss_notes_add(programs, "%.*s", (int)(p - begin), begin);
    }
    return (int)(programs->n - before);
}

/* Finds the path that a line of the shell's trace tests for, "+ [[ ! -f pretrain_gpt.py ]]", as an absolute
 * path, with "/" behind a folder. Returns 0 for any other line. */
static int tested_path(const char *line, const char *work, char *path, size_t size)
{
    const char *end = line + strcspn(line, "\n"), *p = line + strspn(line, "+"), *found = NULL;

    if (p == line || strncmp(p, " [[ ", 4) != 0)
        if (p == line || strncmp(p, " '[' ", 5) != 0)
            return 0;
    for (; p + 4 < end; p++)
        if (p[0] == ' ' && p[1] == '-' && strchr("fedrsx", p[2]) && p[3] == ' ')
            found = p;
    if (!found)
        return 0;
    const char *name = found + 4 + (found[4] == '\'');
    size_t n = strcspn(name, "'\n ");
    if (n == 0 || n > 900 || name[0] == '-')
        return 0;
    snprintf(path, size, "%s%s%.*s%s", name[0] == '/' ? "" : work, name[0] == '/' ? "" : "/", (int)n, name,
             found[2] == 'd' && name[n - 1] != '/' ? "/" : "");
    return 1;
}

/* The file or folder of the last test that the script traced: where it then stopped, it did for that. Returns 1 if it is new. */
static int find_file(const struct ss_calls *calls, const char *work, struct ss_notes *files)
{
    char path[1024], last[1024] = "";
    unsigned long before = files->n;

    for (const char *p = calls->output; p && *p; p += strcspn(p, "\n"), p += *p == '\n')
        if (tested_path(p, work, path, sizeof path))
            ss_copy(last, sizeof last, path);
    if (last[0])
        ss_notes_add(files, "%s", last);
    return files->n > before;
}

/* Runs it, and once more with a trace where it started nothing. Returns 1 where it is worth another turn, 0, or an error. */
static int turn(struct ss_sandbox *box, struct ss_view *view, struct ss_calls *calls,
                struct ss_notes *programs, struct ss_launch_made *made, struct ss_error *err)
{
    ss_calls_free(calls);
    box->trace = 0;
    int rc = ss_sandbox_run(box, calls, err);

    if (rc || calls->status < 0)
        return rc;
    SS_TRY(ss_launch_missing(calls, view, made, err));
    if (find_programs(calls, programs))
        return 1;
    if (has_job(calls) || box->trust) /* which sees the files of the machine */
        return 0;
    struct ss_calls traced = {0};
    box->trace = 1;
    rc = ss_sandbox_run(box, &traced, err);
    if (!rc && traced.status >= 0)
        rc = find_file(&traced, view->work, &made->files);
    ss_calls_free(&traced);
    return rc;
}

int ss_launch_run(const struct ss_launch *l, const struct ss_launch_room *room, struct ss_calls *calls,
                  struct ss_launch_made *made, struct ss_error *err)
{
    char **words = ss_calloc(l->nwords + 1, sizeof *words),
         **variables = ss_calloc(room->nvariables + 1, sizeof *variables);
    struct ss_notes programs = {0};
    struct ss_view view = {0};
    int rc = words && variables ? ss_view_make(&view, l->script, &l->let_in, err) : ss_nomem(err);

    for (size_t i = 0; i < l->nwords && !rc; i++)
        words[i] = l->word[i];
    for (size_t i = 0; i < room->nvariables && !rc; i++)
        variables[i] = room->variable[i].text;
    struct ss_sandbox_gpu gpu;
    struct ss_sandbox box = {
        .view = &view,
        .gpu = !rc && launch_gpu(&l->cluster, &gpu) ? &gpu : NULL,
        .words = words,
        .environment = variables,
        .nodes = room->nodes ? room->nodes : 1,
        .gpus_per_node = room->gpus_per_node ? room->gpus_per_node : 8,
        .host_lines = room->host_lines,
        .trust = l->trust,
        .paths = &programs,
        .files = &made->files,
        .end = ss_clock() + SS_LAUNCH_SECONDS, /* of all its runs */
    };
    int more = !rc;
    for (int i = 0; i < TURNS && more > 0; i++)
        more = turn(&box, &view, calls, &programs, made, err);
    if (more == 0 && calls->status >= 0 && has_job(calls) && !ss_launch_used(calls))
        more = ss_launch_guess(l, room->text, &box, calls, err);
    if (!rc && more >= 0 && ss_launch_tests(l, room->text, &view, calls, &made->tested))
        rc = ss_nomem(err);
    ss_notes_free(&programs);
    ss_view_free(&view);
    SS_FREE(words, variables);
    return rc ? rc : more < 0 ? more : SS_OK;
}
