/* SPDX-License-Identifier: Apache-2.0 */
/* Configurations in which one number differs share files, plans and programs, and are predicted as each is alone. */
#include <stdlib.h>
#include <string.h>

#include "job_helper.h"
#include "stepsim/params.h"
#include "stepsim/sweep.h"
#include "suite.h"

#define JOB "--platform h800 --model llama3.1-8b --bf16 --seq 4096 --mbs 1 "

static void read_words(struct ss_request *r, const char *words, const char *flag, const char *value)
{
    char text[1024], *argv[JOB_MAX_ARGS];
    struct ss_error err;

    snprintf(text, sizeof text, "%s %s %s", words, flag, value);
    ss_request_init(r);
    CU_ASSERT_EQUAL_FATAL(ss_request_read(r, split(text, argv), argv, &err), 0);
}

/* The row of one value, of which nothing is shared; returns 1 where it is not refused. */
static int same_alone(const char *words, const struct ss_sweep_flag *flag, const struct ss_sweep_row *row,
                      const struct ss_bands *bands)
{
    const struct ss_run_options how = {.bands = bands};
    struct ss_scenario *s;
    struct ss_summary alone;
    struct ss_request r;
    struct ss_error err;

    if (row->summary.outcome == SS_OUTCOME_REFUSED)
        return 0;
    read_words(&r, words, flag->name, flag->value[row->at[0]]);
    CU_ASSERT_EQUAL_FATAL(ss_scenario_build(&r, NULL, &s, &err), 0);
    CU_ASSERT_EQUAL_FATAL(ss_predict(s, &how, &alone, &err), 0);
    CU_ASSERT_EQUAL(memcmp(&alone, &row->summary, sizeof alone), 0);
    if (memcmp(&alone, &row->summary, sizeof alone) != 0)
        printf("%s %s %s\n", words, flag->name, flag->value[row->at[0]]);
    ss_scenario_free(s);
    ss_request_free(&r);
    return 1;
}

/* Sweeps the values of a flag; returns how many are not refused. */
static int sweep_values(const char *words, struct ss_sweep *s, const struct ss_bands *bands)
{
    const struct ss_run_options run = {.bands = bands};
    const struct ss_sweep_options options = {.workers = {.n = 1}, .run = &run};
    struct ss_request base;
    struct ss_error err;
    int same = 0;

    read_words(&base, words, "", "");
    const int rc = ss_sweep_run(s, &base, &options, SS_SWEEP_VALUES, &err);
    if (rc)
        printf("%s: %s\n", words, err.message);
    CU_ASSERT_EQUAL_FATAL(rc, 0);
    CU_ASSERT_EQUAL(s->nrows, s->flags[0].nvalues);
    for (int i = 0; i < s->nrows; i++)
        same += same_alone(words, &s->flags[0], &s->rows[i], bands);
    free(s->rows);
    ss_request_free(&base);
    return same;
}

/* A factor that changes the number and leaves it in its range; 0: there is none. */
static double factor_of(const struct ss_scenario *s, int prop)
{
    static const double factors[] = {0.98, 1.02};
    double value = !ss_prop_is_scalable(prop)               ? 0
                   : ss_prop_at(prop)->owner == SS_OF_STACK ? ss_prop_get(prop, s->stack)
                                                            : ss_platform_get(s->platform, prop);

    for (int i = 0; i < 2 && value != 0; i++)
        if (!ss_prop_check(prop, value * factors[i], NULL))
            return factors[i];
    return 0;
}

/* Every number that --scale takes, as many in one sweep as there is room for. */
static int sweep_props(const char *words)
{
    struct ss_bands *bands;
    struct ss_scenario *scenario;
    struct ss_request r;
    struct ss_error err;
    int same = 0, prop = 0;

    CU_ASSERT_EQUAL_FATAL(ss_bands_load(NULL, NULL, &bands, &err), 0);
    read_words(&r, words, "", "");
    CU_ASSERT_EQUAL_FATAL(ss_scenario_build(&r, NULL, &scenario, &err), 0);
    ss_request_free(&r);
    while (prop < SS_PROP_COUNT) {
        struct ss_sweep s = {.nflags = 1, .flags = {{.name = "--scale"}}};
        struct ss_sweep_flag *f = &s.flags[0];
        for (; prop < SS_PROP_COUNT && f->nvalues < SS_SWEEP_VALUES; prop++)
            if (factor_of(scenario, prop) > 0)
                snprintf(f->value[f->nvalues++], sizeof f->value[0], "%.40s=%gx", ss_prop_at(prop)->id,
                         factor_of(scenario, prop));
        if (f->nvalues)
            same += sweep_values(words, &s, bands);
    }
    ss_scenario_free(scenario);
    ss_bands_free(bands);
    return same;
}

TEST(props)
{
    CU_ASSERT(sweep_props(JOB "--nodes 2 --gbs 32 --tp 2 --cp 2 --pp 2 --sequence-parallel") > 60);
    CU_ASSERT(sweep_props(JOB "--nodes 4 --gbs 64 --tp 2 --pp 4 --vp 2 --use-distributed-optimizer "
                              "--overlap-grad-reduce --overlap-param-gather") > 60);
}

/* What lies in the job, not in files; and layouts that differ in what is kept. */
TEST(flags)
{
    static const struct {
        const char *flag, *values[4];
    } varied[] = {
        {"--spread", {"0", "0.5", "1", "2"}},
        {"--set",
         {"ss.nodes_per_leaf=1", "ss.oversubscription=2", "ss.nic.bandwidth=10GBps", "ss.nic.latency=9us"}},
        {"--gbs", {"32", "64", "96", "32"}},
        {"--seq", {"4096", "8192", "2048", "4096"}},
        {"--nodes", {"2", "4", "2", "8"}}};
    struct ss_bands *bands;
    struct ss_error err;

    CU_ASSERT_EQUAL_FATAL(ss_bands_load(NULL, NULL, &bands, &err), 0);
    for (size_t i = 0; i < sizeof varied / sizeof *varied; i++) {
        struct ss_sweep s = {.nflags = 1};
        struct ss_sweep_flag *f = &s.flags[0];
        snprintf(f->name, sizeof f->name, "%s", varied[i].flag);
        for (; f->nvalues < 4; f->nvalues++)
            snprintf(f->value[f->nvalues], sizeof f->value[0], "%s", varied[i].values[f->nvalues]);
        CU_ASSERT_EQUAL(
            sweep_values("--platform h800 --model llama3.1-8b --bf16 --mbs 1 --tp 2 --pp 4 --cp 2 "
                         "--nodes 2 --gbs 32 --seq 4096",
                         &s, bands),
            4);
    }
    ss_bands_free(bands);
}
