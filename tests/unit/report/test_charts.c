/* SPDX-License-Identifier: Apache-2.0 */
/* Where small pictures draw what, and which figures the page's network part has: computed by hand. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pictures_fixture.h"
#include "report/record.h"
#include "report/svg.h"
#include "stepsim/schedule.h"
#include "suite.h"

#define HAS(text, part) CU_ASSERT_PTR_NOT_NULL(strstr(text, part))
#define LACKS(text, part) CU_ASSERT_PTR_NULL(strstr(text, part))

static struct ss_program *parse(const char *text)
{
    struct ss_program *p = NULL;
    struct ss_error err = {0};

    if (ss_program_parse(text, strlen(text), "text", &p, &err))
        fprintf(stderr, "%d: %s\n", err.line, err.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    return p;
}

static struct drawn drawn_of(struct ss_program *p)
{
    struct drawn d = draw(p, SS_ENGINE_NATIVE, (struct ss_picture_request){0}, 0);

    ss_program_free(p);
    return d;
}

/*
 * docs/guide/examples/two-ranks.prog: 126 ms on 900 px from x = 128 on, a class from y = 78 on: 24 px of computation and lanes of 9 px
 * for its sends and collectives, 1 px between them and 10 px to the next class. A wait is 6 px shorter at both sides.
 */
static void test_gantt(void)
{
    struct drawn d = drawn_of(example());

    HAS(d.gantt, "width=\"1092\" height=\"222\""); /* 78 + 2 x (25 + 10 + 10 + 10) + 34 */
    HAS(d.gantt, "<rect class=\"b\" x=\"128\" y=\"78\" width=\"71.43\" height=\"24\"");    /* 0 to 10 ms */
    HAS(d.gantt, "<rect class=\"b\" x=\"199.43\" y=\"84\" width=\"42.86\" height=\"12\""); /* 10 to 16 ms */
    HAS(d.gantt, "<rect class=\"b\" x=\"199.43\" y=\"103\" width=\"42.86\" height=\"9\""); /* its message */
    HAS(d.gantt, "<rect class=\"b\" x=\"985.14\" y=\"113\" width=\"42.86\" height=\"9\""); /* 120 to 126 ms */
    HAS(d.gantt,
        "<rect class=\"b\" x=\"242.29\" y=\"133\" width=\"257.14\" height=\"24\""); /* 16 to 28 to 52 ms */
    LACKS(d.gantt, "classes, the first of each stage");
    drop(&d);
}

/* 900 ms on 900 px; what is narrower than 3 px is one box. x works 0.5 + 0.5 ms, is idle for 0.4 ms and works 1 ms: 2 of 2.4 ms. */
static void test_gantt_merges_what_is_narrow(void)
{
    struct drawn d = drawn_of(parse("program narrow\npath none\nchannel m from y to x path none\n"
                                    "class x {\nslot a {\ncompute 0.5ms\ncompute 0.5ms\n}\n"
                                    "slot w {\nrecv m\nwait-recv m\n}\n"
                                    "slot b {\ncompute 1ms\n}\nslot c {\ncompute 897.6ms\n}\n}\n"
                                    "class y {\nslot s {\ncompute 1.4ms\nsend m 0B\n}\n}\n"));

    HAS(d.gantt, "x=\"128\" y=\"78\" width=\"2.4\" height=\"24\" fill=\"#6b7280\" fill-opacity=\"0.83\">"
                 "<title>a and 1 more");
    HAS(d.gantt, "x=\"130.4\" y=\"78\" width=\"897.6\" height=\"24\"");
    drop(&d);
}

/* Where there are very many classes, each stage has one row. */
static void test_gantt_of_many_classes(void)
{
    char text[8192] = "program many\n";

    for (int c = 0; c < 130; c++)
        sprintf(text + strlen(text), "class r%d stage %d {\ncompute 1ms\n}\n", c, c % 2);
    struct drawn d = drawn_of(parse(text));
    HAS(d.gantt, "; 2 of 130 classes, the first of each stage");
    HAS(d.gantt, "<g data-class=\"r1\">");
    LACKS(d.gantt, "<g data-class=\"r2\">");
    drop(&d);
}

/* Boxes of a window of a hundredth are a hundredth: 2 classes of 1 slot have less than one there; else 5 are more than 1, and the six
 * lanes share it. */
static void test_room_of_a_window(void)
{
    struct ss_program *p = example();
    struct ss_record_book b;

    CU_ASSERT_EQUAL_FATAL(ss_book_init(&b, p, 0, 1, 100, 1), SS_OK);
    CU_ASSERT_EQUAL(b.quantum, 0);
    ss_book_free(&b);
    CU_ASSERT_EQUAL_FATAL(ss_book_init(&b, p, 0, 1, 1, 1), SS_OK);
    CU_ASSERT_EQUAL(b.quantum, 12);
    ss_book_free(&b);
    ss_program_free(p);
}

/* The highest peak, 160 MB, is at 1/1.04 of the panel's 96 px above y = 180: 100 MB are 57.69 px. 126 ms are 920 px in 1,500 parts
 * from x = 92 on: 16 ms lie in part 190, at 208.53 px. */
static void test_memory(void)
{
    struct drawn d = drawn_of(example());

    HAS(d.memory, "<text x=\"111\" y=\"48\" class=\"small\">context, NCCL, fragmentation</text>");
    HAS(d.memory, "<path d=\"M92 180L92 122.31V122.31H1012V180Z\" fill=\"#1f5fbf\"><title>weights</title>");
    HAS(d.memory, "L208.53 105V87.69"); /* 130 MB to 160 MB */
    HAS(d.memory, "cx=\"208.83\" cy=\"87.69\" r=\"4\"");
    LACKS(d.memory, "<title>optimizer</title>");
    drop(&d);
}

/* 10 units on 900 px from x = 48 on; a rank's row is 16 px. Its number stands in the middle of a slot. */
static void test_schedules(void)
{
    struct ss_slot_time slots[] = {{0, SS_PHASE_F, 0, 0, 0, 1}, {1, SS_PHASE_F, 0, 7, 1, 2}};
    struct ss_schedule_strip strip = {
        .name = "two", .stages = 2, .chunks = 1, .length = 10, .slots = slots, .n = 2};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    CU_ASSERT_EQUAL(ss_schedules_svg(&strip, 1, 0, out, NULL), SS_OK);
    fclose(out);
    HAS(text, "<rect class=\"track\" x=\"48\" y=\"98\" width=\"900\" height=\"16\"/>\n");
    HAS(text, "<rect class=\"track\" x=\"48\" y=\"115\" width=\"900\" height=\"16\"/>\n");
    HAS(text, "<rect class=\"b\" x=\"48\" y=\"98\" width=\"90\" height=\"16\" fill=\"#1f5fbf\"/>\n"
              "<text x=\"93\" y=\"109.5\" class=\"n w\">0</text>\n");
    HAS(text, "<rect class=\"b\" x=\"138\" y=\"115\" width=\"90\" height=\"16\" fill=\"#1f5fbf\"/>\n"
              "<text x=\"183\" y=\"126.5\" class=\"n w\">7</text>\n");
    free(text);
}

/* Two columns a unit: rank 1 begins when rank 0 is through with F0, and rank 0 goes back when rank 1 is. */
static void test_schedule_in_letters(void)
{
    const struct ss_schedule_view view = {.width = 80, .times = {1, 1, 1}};
    const struct ss_schedule_params params = {.stages = 2, .chunks = 1, .microbatches = 2};
    struct ss_schedule *s = NULL;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    CU_ASSERT_EQUAL_FATAL(ss_schedule_build("1f1b", &params, &s, NULL), SS_OK);
    CU_ASSERT_EQUAL(ss_report_schedule(s, &view, out, NULL), SS_OK);
    fclose(out);
    HAS(text, "time 0\n"
              "   0  F0F1....B0--..B1--\n"
              "   1  ..F0B0--F1B1--\n");
    free(text);
    ss_schedule_free(s);
}

/* Each way of the cable moves two messages of 5 MB and 4 MB of the reduction, at 1 GB/s in 14 of 126 ms. */
static void test_network(void)
{
    struct drawn d = drawn_of(example());

    HAS(d.report, "<text x=\"24\" y=\"74\" class=\"nodename\">first</text>");
    HAS(d.report, "<title>cable.up: mean load 11.1 %, peak 100.0 %</title><text x=\"24\" y=\"91\" "
                  "class=\"linkname\">up</text><text x=\"142\" y=\"91\" class=\"linkload\">11.1 %</text>");
    HAS(d.report, "<rect x=\"82\" y=\"83\" width=\"2.9\" height=\"8\" fill=\"#2f9e6b\"");
    HAS(d.report, "<th scope=\"row\">cable.up</th><td class=\"text\">other</td><td>1</td><td>0.014</td>"
                  "<td>11.11 %</td><td>100.0 %</td>");
    drop(&d);
}

/* Two reductions of classes by themselves, each on its own link: 4 MB and 2 MB. */
static void test_network_of_collectives(void)
{
    struct drawn d = drawn_of(
        parse("program own\nlink l.a bandwidth 1GBps\nlink l.b bandwidth 1GBps\npath a l.a\npath b l.b\n"
              "collective ka {\nmembers x\nphase\nflow a 4MB\n}\n"
              "collective kb {\nmembers y\nphase\nflow b 2MB\n}\n"
              "class x {\npost ka\nwait\n}\nclass y {\npost kb\nwait\n}\n"));

    HAS(d.report, "<th scope=\"row\">l.a</th><td class=\"text\">other</td><td>1</td><td>0.004</td>"
                  "<td>100.00 %</td>");
    HAS(d.report, "<th scope=\"row\">l.b</th><td class=\"text\">other</td><td>1</td><td>0.002</td>"
                  "<td>50.00 %</td>");
    drop(&d);
}

static double linear(unsigned channel)
{
    double c = channel / 255.0;
    return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

/* The contrast of WCAG 2, from 1: of lightness alone, which all eyes see. */
static double contrast(const char *a, const char *b)
{
    unsigned x = (unsigned)strtoul(a + 1, NULL, 16), y = (unsigned)strtoul(b + 1, NULL, 16);
    double of_a = 0.2126 * linear(x >> 16) + 0.7152 * linear(x >> 8 & 255) + 0.0722 * linear(x & 255);
    double of_b = 0.2126 * linear(y >> 16) + 0.7152 * linear(y >> 8 & 255) + 0.0722 * linear(y & 255);
    return of_a > of_b ? (of_a + 0.05) / (of_b + 0.05) : (of_b + 0.05) / (of_a + 0.05);
}

/* Exchanges of experts and of data parallelism lie side by side: told apart by their lightness, and from both backgrounds. */
static void test_colors(void)
{
    const char *ep = ss_color_label(SS_LABEL_EP), *dp = ss_color_label(SS_LABEL_DP);

    CU_ASSERT_DOUBLE_EQUAL(contrast("#000000", "#ffffff"), 21, 1e-9);
    CU_ASSERT(contrast(ep, dp) > 1.7);
    CU_ASSERT(contrast(ep, "#ffffff") > 2.8 && contrast(ep, "#12161c") > 2.8);
    CU_ASSERT(contrast(dp, "#ffffff") > 2.8 && contrast(dp, "#12161c") > 2.8);
}

SUITE(charts)
{
    CU_TestInfo tests[] = {{"gantt", test_gantt},
                           {"gantt merges what is narrow", test_gantt_merges_what_is_narrow},
                           {"gantt of many classes", test_gantt_of_many_classes},
                           {"room of a window", test_room_of_a_window},
                           {"memory", test_memory},
                           {"schedules", test_schedules},
                           {"a schedule in letters", test_schedule_in_letters},
                           {"network", test_network},
                           {"network of collectives", test_network_of_collectives},
                           {"colors", test_colors},
                           CU_TEST_INFO_NULL};
    return suite_run("charts", NULL, NULL, tests);
}
