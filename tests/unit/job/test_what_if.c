/* SPDX-License-Identifier: Apache-2.0 */
/* What-ifs on any job: numbers times a factor (--scale), and flags taken away (--without). */

#include "base/base.h"
#include "job_helper.h"
#include "stepsim/params.h"
#include "stepsim/replay.h"
#include "suite.h"

#define JOB                                                                                                  \
    "--platform h800 --nodes 4 --model llama3.1-8b --bf16 --tp 2 --pp 2 --seq 8192 --mbs 1 --gbs 128 "       \
    "--use-distributed-optimizer --sequence-parallel --overlap-grad-reduce --overlap-param-gather "          \
    "--measured 5s --measured-memory 40GiB "

/* The file's words, then those of the command line. */
static void make_request(struct ss_request *r, const char *file, const char *line)
{
    char text[512], *argv[JOB_MAX_ARGS];

    ss_request_init(r);
    CU_ASSERT_EQUAL_FATAL(ss_request_read_text(r, file, strlen(file), "a.args", NULL), 0);
    snprintf(text, sizeof text, "%s", line);
    int n = split(text, argv);
    CU_ASSERT_EQUAL_FATAL(ss_request_read(r, n, argv, NULL), 0);
}

static struct ss_scenario *make(const char *line)
{
    struct ss_scenario *s = NULL;
    struct ss_error err = {0};
    struct ss_request r;

    make_request(&r, JOB, line);
    if (ss_scenario_build(&r, NULL, &s, &err))
        fprintf(stderr, "%s: %s\n", line, err.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    ss_request_free(&r);
    return s;
}

static double value(const struct ss_scenario *s, int prop)
{
    return ss_prop_at(prop)->owner == SS_OF_STACK ? ss_prop_get(prop, s->stack)
                                                  : ss_platform_get(s->platform, prop);
}

/* A factor multiplies the file's value or that of --set, whichever of the words comes first, and factors multiply. */
TEST(scale)
{
    static const struct {
        const char *words;
        int prop;
        double value;
    } rows[] = {
        {"--scale nic.bandwidth=2x", SS_PROP_NIC_BANDWIDTH, 100e9},
        {"--scale nic.bandwidth=0.5", SS_PROP_NIC_BANDWIDTH, 25e9},
        {"--scale ss.nic.bandwidth=2x", SS_PROP_NIC_BANDWIDTH, 100e9},
        {"--scale=nic.bandwidth=2x", SS_PROP_NIC_BANDWIDTH, 100e9},
        {"--scale nic.bandwidth=2x --scale nic.bandwidth=3x", SS_PROP_NIC_BANDWIDTH, 300e9},
        {"--scale nic.bandwidth=2x --set ss.nic.bandwidth=10GBps", SS_PROP_NIC_BANDWIDTH, 20e9},
        {"--scale nic.bandwidth=2x --set nic.bandwidth=10GBps", SS_PROP_NIC_BANDWIDTH, 20e9},
        {"--set kernel_latency=3us --scale launch=2x", SS_PROP_kernel_latency, 6e-6},
        {"--set ss.kernel_latency=3us --scale launch=2x", SS_PROP_kernel_latency, 6e-6},
        {"--set ss.host.operator=5us --scale launch=2x", SS_PROP_host_operator, 10e-6},
        {"--set ss.nic.latency=2us --scale latency=3x", SS_PROP_NIC_LATENCY, 6e-6},
        {"--set ss.nic.step_latency=2us --scale latency=3x", SS_PROP_nic_latency, 6e-6},
        {"--set ss.peak.bf16=1000Tf --scale peak=0.5x", SS_PROP_peak_bf16, 500e12},
        {"--set ss.peak.fp8=2000Tf --scale peak=0.5x", SS_PROP_peak_fp8, 1000e12},
        {"--scale peak=0.5x --set ss.hbm.bandwidth=3TBps", SS_PROP_hbm_bandwidth, 3e12},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_scenario *s = make(rows[i].words);
        double got = value(s, rows[i].prop);
        if (!(got > 0.999999 * rows[i].value && got < 1.000001 * rows[i].value))
            fprintf(stderr, "%s: %g\n", rows[i].words, got);
        CU_ASSERT_DOUBLE_EQUAL(got, rows[i].value, 1e-12 * rows[i].value);
        CU_ASSERT_DOUBLE_EQUAL(s->measured_s, 0, 0); /* of another cluster */
        ss_scenario_free(s);
    }
}

/* Links of one kind that differ each get the factor, and routes their latency. */
TEST(foreign)
{
    const struct ss_platform_options ask = {.asker = ss_simgrid_ask_routes};
    struct ss_platform *p = NULL;
    struct ss_route before, after;
    struct ss_link link[2];
    int n = 0;

    CU_ASSERT_EQUAL_FATAL(ss_platform_load(SS_SOURCE_DIR "/tests/unit/data/two-rates.xml", &ask, &p, NULL),
                          0);
    ss_platform_route(p, 0, 1, &before);
    CU_ASSERT_EQUAL(ss_platform_scale(p, SS_PROP_NIC_BANDWIDTH, 2, NULL), 0);
    CU_ASSERT_EQUAL(ss_platform_scale(p, SS_PROP_NIC_LATENCY, 3, NULL), 0);
    ss_platform_route(p, 0, 1, &after);
    for (int i = 0; i < ss_platform_link_count(p) && n < 2; i++) {
        ss_platform_link(p, i, &link[n]);
        n += !strcmp(link[n].name, n ? "nic-b_UP" : "nic-a_UP");
    }
    CU_ASSERT_EQUAL_FATAL(n, 2);
    CU_ASSERT_DOUBLE_EQUAL(link[0].bandwidth, 2 * 10e9, 1);
    CU_ASSERT_DOUBLE_EQUAL(link[1].bandwidth, 2 * 40e9, 1);
    CU_ASSERT_DOUBLE_EQUAL(before.latency, 1e-6 + 2e-6, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(after.latency, 3 * (1e-6 + 2e-6), 1e-15);
    ss_platform_free(p);
}

TEST(scale_refused)
{
    static const struct {
        const char *text;
        int code;
        const char *message, *hint;
    } rows[] = {
        {"nic.bandwidt=2x", SS_ERR_USAGE, "nothing has this name", "nic.bandwidth"},
        {"peaks=2x", SS_ERR_USAGE, "nothing has this name", "peak"},
        {"banana=2x", SS_ERR_USAGE, "nothing has this name", "list props"},
        {"sm_count=2x", SS_ERR_USAGE, "whole number", "--set ss.sm_count"},
        {"attention.auto=2x", SS_ERR_USAGE, "word", "--set ss.attention.auto"},
        {"gpus_per_node=2x", SS_ERR_USAGE, "layout", ""},
        {"nic.bandwidth", SS_ERR_USAGE, "not PROP=FACTOR", "2x"},
        {"nic.bandwidth=", SS_ERR_USAGE, "not PROP=FACTOR", "2x"},
        {"=2x", SS_ERR_USAGE, "not PROP=FACTOR", "2x"},
        {"nic.bandwidth=0x", SS_ERR_USAGE, "above 0", "2x"},
        {"nic.bandwidth=-1x", SS_ERR_USAGE, "above 0", "2x"},
        {"nic.bandwidth=nanx", SS_ERR_USAGE, "above 0", "2x"},
        {"nic.bandwidth=infx", SS_ERR_USAGE, "above 0", "2x"},
        {"nic.bandwidth=2xx", SS_ERR_USAGE, "above 0", "2x"},
        {"nic.bandwidth=x", SS_ERR_USAGE, "above 0", "2x"},
        {"gemm.efficiency.bf16=3x", SS_ERR_INPUT, "outside 0.2 to 1", ""},
        {"nic.bandwidth=1e9x", SS_ERR_INPUT, "outside", ""},
        {"price=2x", SS_ERR_INPUT, "it is 0 here", "--set ss.price"},
    };
    struct ss_platform *p = NULL;
    struct ss_stack stack;

    CU_ASSERT_EQUAL_FATAL(ss_platform_load("h800", NULL, &p, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_stack_load("megatron-2407", NULL, &stack, NULL), 0);
    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_error err = {0};
        uint64_t before = ss_platform_hash(p);
        int rc = ss_scale_apply(rows[i].text, p, &stack, &err);
        if (rc != rows[i].code || !strstr(err.message, rows[i].message) || !strstr(err.hint, rows[i].hint))
            fprintf(stderr, "%s: %d %s (%s)\n", rows[i].text, rc, err.message, err.hint);
        CU_ASSERT_EQUAL(rc, rows[i].code);
        CU_ASSERT_EQUAL(ss_scale_check(rows[i].text, NULL), rows[i].code == SS_ERR_USAGE ? rc : 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, rows[i].message));
        CU_ASSERT_PTR_NOT_NULL(strstr(err.hint, rows[i].hint));
        CU_ASSERT_EQUAL(ss_platform_hash(p), before);
    }
    ss_platform_free(p);
}

/* What is left of a file's words and a line's, and "" or why it is refused. */
TEST(without)
{
    static const struct {
        const char *file, *line, *left, *why;
    } rows[] = {
        {"--tp 2 --bf16", "--without tp", "--bf16", ""},
        {"--tp 2 --bf16", "--without --tp", NULL, "needs a value"},
        {"--tp 2 --bf16", "--without=--tp", "--bf16", ""},
        {"--tensor-model-parallel-size=2 --bf16", "--tp 4 --without tp", "--bf16", ""},
        {"--tp 2 --bf16", "--without tp --tp 8", "--bf16 --tp 8", ""}, /* later words count */
        {"--bf16", "--without tp --tp 8", NULL, "does not give it"},
        {"--cp-comm-type p2p p2p --bf16", "--without cp-comm-type", "--bf16", ""},
        {"--bf16 --without bf16 --pp 2", "--vp 2", "--pp 2 --vp 2", ""},
        {"--bf16", "--without bf16 --without bf16", NULL, "does not give it"},
        {"--set ss.power=1W --scale peak=2x", "--without set", "--scale peak=2x", ""},
        {"--set ss.power=1W --scale peak=2x", "--without scale", "--set ss.power=1W", ""},
        {"--bf16", "--without overlap-grad-reduc", NULL, "no such flag"},
        {"--tp 2 --measured 5s --measured-memory 1GiB --bf16", "--without tp", "--bf16", ""},
        {"--tp 2 --measured 5s", "--measured 6s --without tp", "--measured 6s", ""},
        {"--tp 2 --measured 5s --without tp", "", "--measured 5s", ""}, /* the file measured what it says */
        {"--tp 2 --measured 5s", "--scale peak=2x", "--tp 2 --scale peak=2x", ""},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_error err = {0};
        struct ss_request r;
        struct ss_asked asked;
        char text[256];
        make_request(&r, rows[i].file, rows[i].line);
        ss_asked_init(&asked);
        int rc = ss_request_resolve(&r, NULL, &err);
        if (!rc)
            rc = ss_asked_parse(&asked, &r, NULL, NULL, &err);
        ss_request_text(&r, 0, text, sizeof text);
        if (!rc != !rows[i].why[0] || (!rc && strcmp(text, rows[i].left)))
            fprintf(stderr, "%s | %s: %d %s, left %s\n", rows[i].file, rows[i].line, rc, err.message, text);
        CU_ASSERT_EQUAL(!rc, !rows[i].why[0]);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, rows[i].why));
        if (!rc)
            CU_ASSERT_STRING_EQUAL(text, rows[i].left);
        ss_request_free(&r);
    }
}

/* The request of a scenario keeps its words, so that a result read again is of the same job; the job has none of the flag. */
TEST(scenario)
{
    struct ss_scenario *s = make("--without overlap-param-gather");
    char text[1024];

    CU_ASSERT_EQUAL(s->job->dp.overlap_param_gather, 0);
    CU_ASSERT_EQUAL(s->job->dp.overlap_grad_reduce, 1);
    CU_ASSERT_DOUBLE_EQUAL(s->measured_s, 0, 0);
    CU_ASSERT_DOUBLE_EQUAL(s->measured_bytes, 0, 0);
    ss_request_text(s->request, 0, text, sizeof text);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "--overlap-param-gather --measured 5s"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "--without overlap-param-gather"));
    ss_scenario_free(s);
}

/* Scenarios that share what they read share a cluster only where its numbers are the same. */
TEST(like)
{
    struct ss_scenario *base = make(""), *fast = NULL;
    const struct ss_scenario_options like = {.like = base};
    struct ss_request r;

    make_request(&r, JOB, "--scale nic.bandwidth=2x");
    CU_ASSERT_EQUAL_FATAL(ss_scenario_build(&r, &like, &fast, NULL), 0);
    CU_ASSERT_DOUBLE_EQUAL(value(base, SS_PROP_NIC_BANDWIDTH), 50e9, 1);
    CU_ASSERT_DOUBLE_EQUAL(value(fast, SS_PROP_NIC_BANDWIDTH), 100e9, 1);
    ss_scenario_free(fast);
    ss_scenario_free(base);
    ss_request_free(&r);
}

/* Whether a flag lacks effect is asked of what is left. */
TEST(lacks_effect)
{
    struct ss_request r;

    make_request(&r, "--sequence-parallel --tp 2 --bf16", "");
    CU_ASSERT_EQUAL(ss_job_lacks_effect(&r, "--sequence-parallel"), 1);
    ss_request_free(&r);
    make_request(&r, "--sequence-parallel --tp 2 --bf16", "--without sequence-parallel");
    CU_ASSERT_EQUAL(ss_job_lacks_effect(&r, "--sequence-parallel"), 0);
    CU_ASSERT_EQUAL(ss_job_lacks_effect(&r, "--bf16"), 1);
    ss_request_free(&r);
}

/* Words of a file and of a command line as one file: what the second beats is gone, and what contradicts it there. */
TEST(flatten)
{
    static const struct {
        const char *file, *line, *left;
    } rows[] = {
        {"--tp 2 --pp 4 --lr 1", "--tensor-model-parallel-size 8",
         "--pp 4 --lr 1 --tensor-model-parallel-size 8"},
        {"--tp=2 --bf16 --lr 1", "--tp 8 --lr 2", "--bf16 --tp 8 --lr 2"},
        {"--tp 2 --tp 4", "", "--tp 2 --tp 4"}, /* one place: as it stands */
        {"--bf16 --tp 2", "--precision fp32",
         "--tp 2 --precision fp32"}, /* beside each other they are refused */
        {"--bf16 --tp 2", "--fp8-format hybrid", "--bf16 --tp 2 --fp8-format hybrid"}, /* these are not */
        {"--fp16 --tp 2", "--bf16", "--tp 2 --bf16"},
        {"--tp 2 --measured 5s", "--tp 4", "--tp 4"}, /* it was measured of another job */
        {"--set ss.nic.bandwidth=1GBps", "--set ss.nic.bandwidth=2GBps",
         "--set ss.nic.bandwidth=1GBps --set ss.nic.bandwidth=2GBps"},
        {"--tp 2 --pp 2", "--without pp", "--tp 2"},
        {"--no-such-flag 3", "", NULL},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_error err = {0};
        struct ss_request r, flat;
        char text[256];
        make_request(&r, rows[i].file, rows[i].line);
        int rc = ss_request_flatten(&r, &flat, &err);
        CU_ASSERT_EQUAL(!rc, rows[i].left != NULL);
        if (!rc) {
            CU_ASSERT_STRING_EQUAL(ss_request_text(&flat, 0, text, sizeof text),
                                   rows[i].left ? rows[i].left : "");
            ss_request_free(&flat);
        } else {
            CU_ASSERT(err.message[0] != 0);
        }
        ss_request_free(&r);
    }
}

/* The time that it takes grows with the square of the words: there is an end to them. */
TEST(flatten_many)
{
    struct ss_request r, flat;
    struct ss_error err = {0};

    make_request(&r, "--bf16", "--tp 2");
    for (int i = 0; i < 1000; i++)
        CU_ASSERT_FATAL(!ss_request_add(&r, "--pp", 0, NULL) && !ss_request_add(&r, "4", 0, NULL));
    CU_ASSERT_FATAL(!ss_request_flatten(&r, &flat, &err));
    CU_ASSERT_EQUAL(flat.n, r.n);
    ss_request_free(&flat);
    for (int i = 0; i < 23; i++)
        CU_ASSERT_FATAL(!ss_request_add(&r, "--pp", 0, NULL) && !ss_request_add(&r, "4", 0, NULL));
    CU_ASSERT_EQUAL(ss_request_flatten(&r, &flat, &err), SS_ERR_UNSUPPORTED); /* 2,049 */
    CU_ASSERT_STRING_EQUAL(err.message, "2049 words; at most 2048 are put into one place");
    ss_request_free(&r);
}
