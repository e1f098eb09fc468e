/* SPDX-License-Identifier: Apache-2.0 */
/* Platforms told as a difference from another, and templates of which a node is used in part. */
#include <unistd.h>

#include "platform/platform_internal.h"
#include "suite.h"

#define ZONE(props)                                                                                          \
    "<?xml version='1.0'?>\n<platform version=\"4.1\">\n<zone id=\"v\" routing=\"Dijkstra\">\n" props        \
    "</zone>\n</platform>\n"
#define PROP(id, value) "<prop id=\"" id "\" value=\"" value "\"/>\n"

static int parse(const char *text, struct ss_platform **p, struct ss_error *err)
{
    struct ss_platform_options options = {.nodes = 3};

    memset(err, 0, sizeof *err);
    return ss_platform_parse(text, strlen(text), "dir/mine.xml", &options, p, err);
}

TEST(difference)
{
    static const char text[] =
        ZONE(PROP("ss.base", "h100") PROP("ss.card", "Mine") PROP("ss.hbm.bandwidth", "2TBps")
                 PROP("ss.nics_per_node", "4") PROP("ss.nic.bandwidth", "200Gbps") PROP("ss.assumed", "power")
                     PROP("other", "left alone"));
    struct ss_platform *base, *p;
    struct ss_error err;

    CU_ASSERT_EQUAL_FATAL(ss_platform_load("h100", NULL, &base, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(parse(text, &p, &err), 0);
    CU_ASSERT_STRING_EQUAL(ss_platform_name(p), "mine");
    CU_ASSERT_STRING_EQUAL(ss_platform_card(p)->name, "Mine");
    CU_ASSERT_EQUAL(ss_platform_card(p)->hbm_bandwidth, 2e12);
    CU_ASSERT_EQUAL(ss_platform_card(p)->sm_count, ss_platform_card(base)->sm_count);
    CU_ASSERT_EQUAL(ss_platform_nodes(p), 3);
    CU_ASSERT_EQUAL(ss_platform_nics_per_node(p), 4);
    CU_ASSERT_EQUAL(ss_platform_nic_bandwidth(p), 25e9);
    CU_ASSERT_EQUAL(ss_platform_fabric_bandwidth(p), ss_platform_fabric_bandwidth(base));
    CU_ASSERT_STRING_EQUAL(ss_platform_assumed(p), "power");
    CU_ASSERT_NOT_EQUAL(ss_platform_hash(p), ss_platform_hash(base));
    ss_platform_free(p);
    ss_platform_free(base);
}

/* As many nodes as are asked for, of its own size; what is too many is the fault of no other file. */
TEST(nodes)
{
    static const char small[] =
        ZONE(PROP("ss.base", "h100") PROP("ss.gpus_per_node", "4") PROP("ss.nics_per_node", "4"));
    struct ss_platform_options options = {.nodes = 262144};
    struct ss_platform *p = NULL;
    struct ss_error err = {0};

    CU_ASSERT_EQUAL_FATAL(ss_platform_parse(small, sizeof small - 1, "dir/mine.xml", &options, &p, &err), 0);
    CU_ASSERT_EQUAL(ss_platform_nodes(p), 262144);
    ss_platform_free(p);
    options.nodes++;
    CU_ASSERT_EQUAL(ss_platform_parse(small, sizeof small - 1, "dir/mine.xml", &options, &p, &err),
                    SS_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.file, "dir/mine.xml");
    CU_ASSERT_EQUAL(err.line, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "262145 nodes of 4 GPUs are more than 1048576 GPUs"));
}

/* What is written is a whole template, equal to the difference. */
TEST(written)
{
    struct ss_platform *p, *again;
    struct ss_error err;
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    CU_ASSERT_EQUAL_FATAL(parse(ZONE(PROP("ss.base", "v100-32g-dgx2") PROP("ss.power", "250W")), &p, &err),
                          0);
    CU_ASSERT_EQUAL(ss_platform_gpus_per_node(p), 16);
    CU_ASSERT_EQUAL(ss_platform_write(p, out, NULL), 0);
    fclose(out);
    CU_ASSERT_PTR_NULL(strstr(text, "ss.base"));
    CU_ASSERT_EQUAL_FATAL(parse(text, &again, &err), 0);
    CU_ASSERT_EQUAL(ss_platform_hash(p), ss_platform_hash(again));
    ss_platform_free(p);
    ss_platform_free(again);
    free(text);
}

TEST(mistakes)
{
    static const struct {
        const char *text;
        int line;
        const char *message;
    } cases[] = {
        {ZONE(PROP("ss.base", "h9000")), 4, "ss.base: no 'h9000'"},
        {ZONE(PROP("ss.base", "h100") "<host id=\"a\" speed=\"1f\"/>\n"), 5, "<host>"},
        {ZONE(PROP("ss.base", "h100") PROP("ss.power", "1W") PROP("ss.power", "2W")), 6,
         "given twice (first in line 5)"},
        {ZONE(PROP("ss.base", "h100") PROP("ss.powr", "1W")), 5, "unknown prop"},
        {ZONE(PROP("ss.base", "h100") PROP("ss.power", "1")), 5, "ss.power"},
        {ZONE(PROP("ss.base", "h100") PROP("ss.nics_per_node", "3")), 3, "cannot share 3 NICs"},
        {ZONE(PROP("ss.base", "h100") PROP("ss.template", "torus")), 5, "cannot be \"torus\""},
        {ZONE(PROP("ss.base", "h100") PROP("ss.assumed", "colour")), 5, "colour"},
        {ZONE(PROP("ss.base", "h100") "<prop id=\"ss.power\"/>\n"), 5, "needs a value"},
        {"<platform version=\"abc\"><zone id=\"z\" routing=\"Full\">" PROP("ss.base",
                                                                           "h100") "</zone></platform>",
         1, "platform version \"abc\""},
        {"<platform version=\"4.1\">\n<zone id=\"z\" routing=\"abc\">" PROP("ss.base",
                                                                            "h100") "</zone></platform>",
         2, "routing=\"abc\""},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(cases); i++) {
        struct ss_platform *p;
        struct ss_error err;
        CU_ASSERT_EQUAL(parse(cases[i].text, &p, &err), SS_ERR_INPUT);
        CU_ASSERT_STRING_EQUAL(err.file, "dir/mine.xml");
        CU_ASSERT_EQUAL(err.line, cases[i].line);
        if (!strstr(err.message, cases[i].message))
            fprintf(stderr, "%zu: %s\n", i, err.message);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, cases[i].message));
    }
}

TEST(circle)
{
    char path[] = "/tmp/stepsim-variant-XXXXXX.xml", text[512];
    struct ss_platform *p;
    struct ss_error err = {0};
    int fd = mkstemps(path, 4);

    CU_ASSERT_FATAL(fd >= 0);
    int n = snprintf(text, sizeof text, ZONE(PROP("ss.base", "%s")), path);
    CU_ASSERT_EQUAL(write(fd, text, (size_t)n), n);
    close(fd);
    CU_ASSERT_EQUAL(ss_platform_load(path, NULL, &p, &err), SS_ERR_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "bases"));
    unlink(path);
}

static void check_part(const char *name, int gpus, int nics)
{
    struct ss_platform_options options = {.nodes = 2, .gpus_per_node = gpus};
    struct ss_platform *p;

    CU_ASSERT_EQUAL_FATAL(ss_platform_load(name, &options, &p, NULL), 0);
    CU_ASSERT_EQUAL(ss_platform_gpus_per_node(p), gpus);
    CU_ASSERT_EQUAL(ss_platform_nics_per_node(p), nics);
    for (int a = 0; a < 2 * gpus; a++)
        for (int b = 0; b < 2 * gpus; b++) {
            struct ss_route route;
            if (a == b)
                continue;
            ss_platform_route(p, a, b, &route);
            CU_ASSERT(route.nlinks > 0);
            for (int i = 0; i < route.nlinks; i++)
                CU_ASSERT(route.link[i] >= 0 && route.link[i] < ss_platform_link_count(p));
        }
    ss_platform_free(p);
}

TEST(part_of_a_node)
{
    struct ss_platform_options options = {.gpus_per_node = 9};
    struct ss_platform *p;
    struct ss_error err = {0};

    check_part("h100", 4, 4);
    check_part("h100", 1, 1);
    check_part("a100-hdr800", 4, 2);
    check_part("a100-hdr800", 3, 1);
    check_part("v100", 2, 2);
    check_part("v100", 1, 1);
    CU_ASSERT_EQUAL(ss_platform_load("h100", &options, &p, &err), SS_ERR_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "9 GPUs of nodes that have 8"));
}

/* GB200 NVL72: trays of 4 GPUs and NICs; 64 of them are four domains of 16, for four racks of 18 do not divide into 64. */
TEST(nvlink_domains)
{
    static const struct {
        int nodes, gpus, want_nodes, want_gpus, want_nics;
    } rows[] = {{1, 0, 1, 4, 4},    {2, 0, 1, 8, 8},    {18, 0, 1, 72, 72},    {16, 2, 1, 32, 32},
                {20, 0, 2, 40, 40}, {64, 4, 4, 64, 64}, {1440, 0, 80, 72, 72}, {0, 0, 1, 72, 72}};
    struct ss_platform_options options = {.nodes = 19};
    struct ss_platform *p;
    struct ss_error err = {0};

    CU_ASSERT_EQUAL(ss_platform_load("gb200", &options, &p, &err), SS_ERR_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(err.message, "19 nodes do not divide into NVLink domains of 9 to 18 nodes"));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.hint, "take 18 nodes"));
    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        int domain = rows[i].want_gpus / (rows[i].gpus ? rows[i].gpus : 4);

        options = (struct ss_platform_options){.nodes = rows[i].nodes, .gpus_per_node = rows[i].gpus};
        CU_ASSERT_EQUAL_FATAL(ss_platform_load("gb200", &options, &p, NULL), 0);
        CU_ASSERT_EQUAL(ss_platform_nodes(p), rows[i].want_nodes);
        CU_ASSERT_EQUAL(ss_platform_gpus_per_node(p), rows[i].want_gpus);
        CU_ASSERT_EQUAL(ss_platform_nics_per_node(p), rows[i].want_nics);
        CU_ASSERT_EQUAL(ss_platform_joined_nodes(p), domain);
        CU_ASSERT_EQUAL(ss_platform_file_gpus(p), rows[i].gpus ? rows[i].gpus : 4);
        CU_ASSERT_EQUAL(ss_platform_card(p)->host_memory, 960e9); /* of a host, as --set has it */
        CU_ASSERT_EQUAL(ss_platform_card(p)->host_step, 109e9);
        ss_platform_free(p);
    }
}
