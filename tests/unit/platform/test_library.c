/* SPDX-License-Identifier: Apache-2.0 */
/* Files of libraries: the shipped ones are NCCL's and RCCL's own tables, and what is wrong in a file is told with its line. */

#include "base/base.h"
#include "library_helper.h"
#include "stepsim/platform.h"
#include "suite.h"

static void row(const double got[SS_LATENCY_COUNT], double once, double near, double far)
{
    CU_ASSERT_EQUAL(got[SS_LATENCY_ONCE], once);
    CU_ASSERT_EQUAL(got[SS_LATENCY_NEAR], near);
    CU_ASSERT_EQUAL(got[SS_LATENCY_FAR], far);
}

/* src/graph/tuning.cc of NVIDIA/nccl at 5067397 */
TEST(nccl)
{
    const struct ss_library l = library_named("nccl");
    const struct ss_protocol_facts *p = l.protocol;
    CU_ASSERT_STRING_EQUAL(l.name, "NCCL");
    CU_ASSERT(ss_library_has(&l, SS_LIBRARY_TREE) && ss_library_has(&l, SS_LIBRARY_PAT) &&
              !ss_library_has(&l, SS_LIBRARY_DIRECT));
    row(p[SS_PROTOCOL_LL].ring, 6.6e-6, 0.6e-6, 2.7e-6);
    row(p[SS_PROTOCOL_LL].tree, 6.8e-6, 0.6e-6, 5e-6);
    row(p[SS_PROTOCOL_LL128].ring, 14e-6, 1.9e-6, 4e-6);
    row(p[SS_PROTOCOL_LL128].tree, 14e-6, 1.25e-6, 8.5e-6);
    row(p[SS_PROTOCOL_SIMPLE].ring, 8.4e-6, 3.4e-6, 14e-6);
    row(p[SS_PROTOCOL_SIMPLE].tree, 8.4e-6, 4e-6, 14e-6);
    CU_ASSERT(l.step == 1.9e-6 && l.channels == 16 && l.pieces == 8);
    CU_ASSERT(p[SS_PROTOCOL_LL].two_nodes == 22.5e9 && p[SS_PROTOCOL_LL].more_nodes == 19e9 &&
              p[SS_PROTOCOL_LL128].two_nodes == 0);
    CU_ASSERT(l.pat_busbw == 0.75 && l.pat_once == 8e-6 && l.pat_step == 14e-6 && l.pat_member == 2.8e-6 &&
              l.pat_hidden == 3.5);
}

/* src/graph/tuning.cc of ROCm/rccl at 0cbce2a, tuning_model_5 */
TEST(rccl)
{
    const struct ss_library l = library_named("rccl");
    CU_ASSERT_STRING_EQUAL(l.name, "RCCL");
    CU_ASSERT(!ss_library_has(&l, SS_LIBRARY_NVLS) && ss_library_has(&l, SS_LIBRARY_DIRECT) &&
              l.direct_most == 16 << 20);
    CU_ASSERT_EQUAL(l.protocol[SS_PROTOCOL_LL128].line, 0);
    row(l.protocol[SS_PROTOCOL_LL].tree, 12e-6, 0.9e-6, 10.5e-6);
    row(l.protocol[SS_PROTOCOL_SIMPLE].ring, 17e-6, 2.1e-6, 25e-6);
}

#define ROOT "<library name='X' algorithms='ring tree' step='1us' channels='2' pieces='8'"
#define SIMPLE "<protocol name='Simple' line='1' data='1' ring='1us 2us 3us' tree='1us 2us 3us'/>\n"
#define BODY(more) ROOT ">\n" SIMPLE more "</library>"

TEST(errors)
{
    static const struct {
        const char *text;
        int line;
        const char *message;
    } rows[] = {
        {"<card/>", 1, "the root is <card>"},
        {"<library/>", 1, "a name of 1 to 23"},
        {"<library name='A library with a long name'/>", 1, "a name of 1 to 23"},
        {"<library name='X' algorithms='ring'/>", 1, "no attribute \"step\""},
        {ROOT "\n steps='2us'>" SIMPLE "</library>", 1, "unknown attribute \"steps\""},
        {"<library name='X' step='1us' channels='2' pieces='8'>\n" SIMPLE "</library>", 1,
         "no attribute \"algorithms\""},
        {"<library name='X' algorithms='ring star' step='1us' channels='2' pieces='8'>" SIMPLE "</library>",
         1, "algorithm \"star\""},
        {"<library name='X' algorithms='ring ring' step='1us' channels='2' pieces='8'>" SIMPLE "</library>",
         1, "\"ring\" is said twice"},
        {"<library name='A&lt;b&gt;'/>", 1, "a name of 1 to 23"},
        {"<library name='X' algorithms='ring' step='1us' channels='2' pieces=''>" SIMPLE "</library>", 1,
         "needs 1 number"},
        {ROOT "/>", 1, "without the protocol Simple"},
        {BODY(SIMPLE), 3, "given twice"},
        {BODY("<protocol name='LL2' line='8' data='4'/>\n"), 3, "needs a name"},
        {BODY("<protocol line='8' data='4'/>\n"), 3, "needs a name"},
        {BODY("<protocol name='LL' line='8' data='4' tree='1us 2us 3us'/>\n"), 3, "no attribute \"ring\""},
        {BODY("<protocol name='LL' line='8' data='4' ring='1us 2us' tree='1us 2us 3us'/>\n"), 3,
         "needs 3 numbers"},
        {BODY("<protocol name='LL' line='8' data='4' ring='1us 2us 3us 4us' tree='1us 2us 3us'/>\n"), 3,
         "more than 3"},
        {BODY("<protocol name='LL' line='8' data='4' ring='1us 2 3us' tree='1us 2us 3us'/>\n"), 3,
         "2 lacks a unit"},
        {BODY("<protocol name='LL' line='8' data='9' ring='1us 2us 3us' tree='1us 2us 3us'/>\n"), 1,
         "more bytes of data"},
        {BODY("<protocol name='LL' line='0' data='4' ring='1us 2us 3us' tree='1us 2us 3us'/>\n"), 3,
         "outside 1 to"},
        {BODY("<direct most='16MiB'/>\n"), 1, "need each other"},
        {BODY("<pat busbw='0.75' once='8us' step='14us' member='2.8us' hidden='3.5'/>\n"), 1,
         "need each other"},
        {BODY("<prop id='a'/>\n"), 3, "unknown element <prop>"},
        {BODY("<direct most='16MiB'>\n<x/></direct>\n"), 4, "<x> in <direct>"},
        {BODY("<direct most='16MiB' assumed='least'/>\n"), 3, "assumed names \"least\""},
    };
    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_error err = {0};
        struct ss_library l;
        int rc = ss_library_parse(rows[i].text, strlen(rows[i].text), "x.xml", &l, &err);
        if (rc != SS_ERR_INPUT || err.line != rows[i].line || !strstr(err.message, rows[i].message) ||
            !err.hint[0])
            fprintf(stderr, "%s: %d line %d %s (%s)\n", rows[i].text, rc, err.line, err.message, err.hint);
        CU_ASSERT(rc == SS_ERR_INPUT && err.line == rows[i].line && err.hint[0]);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, rows[i].message));
        CU_ASSERT_STRING_EQUAL(err.file, "x.xml");
    }
    struct ss_library l;
    CU_ASSERT_EQUAL(ss_library_parse(BODY(""), strlen(BODY("")), "x.xml", &l, NULL), 0);
    CU_ASSERT_EQUAL(l.protocol[SS_PROTOCOL_SIMPLE].tree[SS_LATENCY_FAR], 3e-6);
    struct ss_error err = {0};
    CU_ASSERT_EQUAL(ss_library_load("ncl", NULL, &l, &err), SS_ERR_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.hint, "nccl"));
}

/* Without a word NCCL; a card's word, and beside it the platform's own. */
TEST(named)
{
    static const char variant[] =
        "<platform version='4.1'><zone id='v' routing='None'><prop id='ss.base' value='v100'/>\n"
        "<prop id='ss.library' value='%s'/></zone></platform>";
    const struct ss_platform_options options = {.nodes = 1};
    struct ss_platform *p = NULL;
    struct ss_error err = {0};
    char path[] = "/tmp/test_library_XXXXXX";
    CU_ASSERT_FATAL(ss_platform_load("v100", &options, &p, NULL) == 0);
    CU_ASSERT_STRING_EQUAL(ss_platform_library(p)->name, "NCCL");
    uint64_t hash = ss_platform_hash(p);
    ss_platform_free(p);
    for (int wrong = 0; wrong < 2; wrong++) {
        int fd = mkstemp(path);
        FILE *f = fdopen(fd, "w");
        fprintf(f, variant, wrong ? "rcl" : "rccl");
        fclose(f);
        int rc = ss_platform_load(path, &options, &p, &err);
        remove(path);
        strcpy(path, "/tmp/test_library_XXXXXX");
        CU_ASSERT_EQUAL(rc, wrong ? SS_ERR_INPUT : 0);
        if (rc)
            break;
        CU_ASSERT_STRING_EQUAL(ss_platform_library(p)->name, "RCCL");
        CU_ASSERT(ss_platform_hash(p) != hash);
        ss_platform_free(p);
    }
    CU_ASSERT_EQUAL(err.line, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "ss.library"));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.hint, "rccl"));
}
