/* SPDX-License-Identifier: Apache-2.0 */
/* From words to the options of a run. */
#include "stepsim/run_words.h"
#include "stepsim/job.h"

#include "base/base.h"

void ss_run_words_init(struct ss_run_words *how, int engine)
{
    memset(how, 0, sizeof *how);
    how->options.engine = engine;
    how->options.any_engine = 1;
    how->options.level_choice = SS_LEVEL_FOLLOWS;
    how->seed = how->replicas = how->spread_seed = -1;
}

void ss_run_words_free(struct ss_run_words *how)
{
    free(how->gpu_of);
    how->gpu_of = NULL;
}

/* An option: its name, what reads its value, and for a number or a switch what is set. */
struct row {
    const char *name;
    int (*read)(struct ss_run_words *how, const struct row *row, const char *value, struct ss_error *err);
    size_t offset; /* in struct ss_run_words */
    int whole;     /* 1: a whole number */
    double low, high;
};

static int refuse(struct ss_error *err, const char *hint, const char *option, const char *value,
                  const char *why)
{
    return ss_fail(err, SS_ERR_USAGE, NULL, 0, "%s %.300s: %s" SS_HINT "%s", option, value, why, hint);
}

/* WHAT:FACTOR; `what` has room for `size` characters. */
static int split_factor(const char *option, const char *value, int may_fail, char *what, size_t size,
                        double *factor, struct ss_error *err)
{
    const char *colon = strrchr(value, ':');
    size_t n = colon ? (size_t)(colon - value) : 0;
    char *end;

    if (!colon || n == 0 || n >= size)
        return refuse(err, "1.2 means a fifth slower", option, value,
                      may_fail ? "not LINK:FACTOR" : "not RANK:FACTOR");
    *factor = strtod(colon + 1, &end);
    if (may_fail && !strcmp(colon + 1, "failed"))
        *factor = 0;
    else if (end == colon + 1 || *end || !(*factor >= 1 && *factor <= 1e6))
        return refuse(err, "", option, value, "the factor is not a number from 1 to 1000000");
    memcpy(what, value, n);
    what[n] = '\0';
    return SS_OK;
}

static int too_many(const char *option, struct ss_error *err)
{
    return ss_fail(err, SS_ERR_USAGE, NULL, 0, "more than %d %s", SS_RUN_WORDS_SLOW, option);
}

static int read_straggler(struct ss_run_words *how, const struct row *row, const char *value,
                          struct ss_error *err)
{
    int *n = &how->options.plan.nstragglers;
    char rank[16];
    int64_t number;

    if (*n == SS_RUN_WORDS_SLOW)
        return too_many(row->name, err);
    struct ss_straggler *to = &how->stragglers[*n];
    SS_TRY(split_factor(row->name, value, 0, rank, sizeof rank, &to->factor, err));
    if (ss_parse_i64(rank, 0, 1 << 24, &number))
        return refuse(err, "", row->name, value, "not a rank");
    to->rank = (int)number;
    ++*n;
    return SS_OK;
}

static int read_slow_link(struct ss_run_words *how, const struct row *row, const char *value,
                          struct ss_error *err)
{
    int *n = &how->options.plan.nslow_links;

    if (*n == SS_RUN_WORDS_SLOW)
        return too_many(row->name, err);
    struct ss_slow_link *to = &how->slow_links[*n];
    int rc = split_factor(row->name, value, 1, to->name, sizeof to->name, &to->factor, err);
    *n += !rc;
    return rc;
}

static int read_placement(struct ss_run_words *how, const struct row *row, const char *value,
                          struct ss_error *err)
{
    if (!value[0])
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "%s: the name is empty" SS_HINT "give the name of a file",
                       row->name);
    if (!ss_copy(how->placement, sizeof how->placement, value))
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "the path after %s is too long", row->name);
    return SS_OK;
}

/* Reads one of n words to *out. */
static int read_choice(const char *option, const char *value, const char *(*word)(int), int n, int *out,
                       struct ss_error *err)
{
    char all[64] = "";

    for (*out = 0; *out < n; ++*out) {
        if (!strcmp(value, word(*out)))
            return SS_OK;
        ss_append(all, sizeof all, "%s%s", !*out ? "" : *out + 1 < n ? ", " : " or ", word(*out));
    }
    *out = 0;
    return ss_fail(err, SS_ERR_USAGE, NULL, 0, "%s %.80s: no such %s" SS_HINT "choose %s", option, value,
                   option + 2, all);
}

static int read_engine(struct ss_run_words *how, const struct row *row, const char *value,
                       struct ss_error *err)
{
    how->options.any_engine = 0;
    return read_choice(row->name, value, ss_engine_name, SS_ENGINE_SIMGRID + 1, &how->options.engine, err);
}

static int read_level(struct ss_run_words *how, const struct row *row, const char *value,
                      struct ss_error *err)
{
    how->options.level_choice = SS_LEVEL_STAYS;
    return read_choice(row->name, value, ss_level_name, SS_LEVEL_COUNT, &how->options.plan.level, err);
}

static int read_number(struct ss_run_words *how, const struct row *row, const char *value,
                       struct ss_error *err)
{
    double number;

    if (ss_parse_double(value, &number) || !(number >= row->low && number <= row->high) ||
        (row->whole && number != floor(number)))
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "%s %.80s: not a %snumber from %.10g to %.10g", row->name,
                       value, row->whole ? "whole " : "", row->low, row->high);
    *(double *)((char *)how + row->offset) = number;
    return SS_OK;
}

static int read_switch(struct ss_run_words *how, const struct row *row, const char *value,
                       struct ss_error *err)
{
    (void)value;
    (void)err;
    *(int *)((char *)how + row->offset) = 1;
    return SS_OK;
}

#define AT(field) offsetof(struct ss_run_words, field)
static const struct row rows[] = {{"--engine", read_engine, 0, 0, 0, 0},
                                  {"--level", read_level, 0, 0, 0, 0},
                                  {"--unfold", read_switch, AT(options.plan.unfold), 0, 0, 0},
                                  {"--full-replay", read_switch, AT(options.full_replay), 0, 0, 0},
                                  {"--placement", read_placement, 0, 0, 0, 0},
                                  {"--straggler", read_straggler, 0, 0, 0, 0},
                                  {"--slow-link", read_slow_link, 0, 0, 0, 0},
                                  {"--spread-seed", read_number, AT(spread_seed), 1, 0, 1e15},
                                  {"--jitter", read_number, AT(options.jitter.sigma), 0, 0, SS_JITTER_MOST},
                                  {"--replicas", read_number, AT(replicas), 1, 1, 1e6},
                                  {"--seed", read_number, AT(seed), 1, 0, 1e15}};

int ss_run_words_read(struct ss_run_words *how, const char *name, const char *value, struct ss_error *err)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++)
        if (!strcmp(name, rows[i].name))
            return rows[i].read(how, &rows[i], value, err);
    return ss_fail(err, SS_ERR_USAGE, NULL, 0, "unknown option %.60s", name);
}

static int load_placement(struct ss_run_words *how, const struct ss_scenario *s, struct ss_files *files,
                          struct ss_error *err)
{
    if (s->job->nfailed)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                       "--failed-gpu beside --placement" SS_HINT
                       "a placement names the GPUs that are left; give --failed-gpu or --placement");
    if (ss_job_is_placed(s->job))
        return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                       "--placement beside --on-nodes or --cluster-nodes" SS_HINT
                       "a placement names every GPU of the job's own cluster; give one of them");
    int rc = ss_placement_load(how->placement, s->platform, &how->gpu_of, err);
    return rc ? rc : ss_files_add(files, how->placement, err);
}

/* Does the flag stand on the command line? */
static int told_here(const struct ss_request *r, const char *flag)
{
    for (size_t i = 0; i < r->n; i++)
        if (!r->place[r->word[i].place].file && !strncmp(r->word[i].text, flag, strlen(flag)) &&
            strchr("=", r->word[i].text[strlen(flag)]))
            return 1;
    return 0;
}

/* A job file's measurement is of GPUs and links as they are. */
static void leave_measured(const struct ss_run_words *how, struct ss_scenario *s)
{
    const struct ss_run_options *o = &how->options;
    int time = s->measured_s > 0 && !told_here(s->request, "--measured");
    int memory = s->measured_bytes > 0 && !told_here(s->request, "--measured-memory");

    if ((!time && !memory) || (!o->plan.nstragglers && !o->plan.nslow_links && !(o->jitter.sigma > 0)))
        return;
    s->measured_s = time ? 0 : s->measured_s;
    s->measured_bytes = memory ? 0 : s->measured_bytes;
    ss_note(&s->notes,
            "the measurement of the job file is left out: it is of a run without stragglers, slow links "
            "and jitter");
}

int ss_run_words_finish(struct ss_run_words *how, struct ss_scenario *s, struct ss_files *files,
                        struct ss_error *err)
{
    struct ss_run_options *o = &how->options;

    o->jitter.seed = how->seed >= 0 ? (uint64_t)how->seed : 0;
    o->replicas = how->replicas >= 1 ? (int)how->replicas : 100;
    o->plan.draw_spread = how->spread_seed >= 0;
    o->plan.spread_seed = how->spread_seed >= 0 ? (uint64_t)how->spread_seed : 0;
    /* a plan of which nothing is told is told by its zeros: a run of it is its own quick simulation, and bounds hold */
    o->plan.stragglers = o->plan.nstragglers ? how->stragglers : NULL;
    o->plan.slow_links = o->plan.nslow_links ? how->slow_links : NULL;
    int rc = how->placement[0] ? load_placement(how, s, files, err) : SS_OK;
    o->plan.placement = how->gpu_of;
    leave_measured(how, s);
    return rc;
}
