/* SPDX-License-Identifier: Apache-2.0 */
/* Where small pictures draw what, and which figures the page's network part has: computed by hand. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pictures_fixture.h"
#include "report/svg.h"
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
TEST(gantt)
{
    struct drawn d = drawn_of(example());

    HAS(d.gantt, "width=\"1092\" height=\"236\""); /* 78 + 2 x (25 + 10 + 10 + 10) + 48 */
    HAS(d.gantt, "<rect class=\"b\" x=\"128\" y=\"78\" width=\"71.43\" height=\"24\"");    /* 0 to 10 ms */
    HAS(d.gantt, "<rect class=\"b\" x=\"199.43\" y=\"84\" width=\"42.86\" height=\"12\""); /* 10 to 16 ms */
    HAS(d.gantt, "<rect class=\"b\" x=\"199.43\" y=\"103\" width=\"42.86\" height=\"9\""); /* its message */
    HAS(d.gantt, "<rect class=\"b\" x=\"985.14\" y=\"113\" width=\"42.86\" height=\"9\""); /* 120 to 126 ms */
    HAS(d.gantt,
        "<rect class=\"b\" x=\"242.29\" y=\"133\" width=\"257.14\" height=\"24\""); /* 16 to 28 to 52 ms */
    LACKS(d.gantt, "classes, the first of each stage");
    drop(&d);
}

/*
 * DejaVu Sans has "a" of 0.61, a space of 0.32 of the size: of 100 px in size 11 four words of three letters (20.13 px and 3.52 between)
 * stand on a line, 91.1 px, and a fifth on the next one, 14 px lower; a word alone is not cut.
 */
TEST(lines)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    CU_ASSERT_DOUBLE_EQUAL(ss_svg_lines(out, 5, 20, 100, "small", "aaa aaa aaa aaa aaa"), 14, 0);
    CU_ASSERT_DOUBLE_EQUAL(ss_svg_lines(NULL, 5, 20, 91, "small", "aaa aaa aaa aaa aaa"), 14, 0);
    CU_ASSERT_DOUBLE_EQUAL(ss_svg_lines(NULL, 5, 20, 10, "small", "aaaaaa"), 0, 0);
    CU_ASSERT_DOUBLE_EQUAL(ss_svg_lines(NULL, 5, 20, 10, "small", "aa aa aa"), 28, 0);
    CU_ASSERT_DOUBLE_EQUAL(ss_svg_lines(NULL, 5, 20, 10, "title", ""), 0, 0);
    fclose(out);
    HAS(text,
        "y=\"20\" class=\"small\">aaa aaa aaa aaa</text>\n<text x=\"5\" y=\"34\" class=\"small\">aaa</text>");
    free(text);
}

/* 900 ms on 900 px; what is narrower than 3 px is one box. x works 0.5 + 0.5 ms, is idle for 0.4 ms and works 1 ms: 2 of 2.4 ms. */
TEST(gantt_merges_what_is_narrow)
{
    struct drawn d = drawn_of(parse("program narrow\npath none\nchannel m from y to x path none\n"
                                    "class x {\nslot a {\ncompute 0.5ms\ncompute 0.5ms\n}\n"
                                    "slot w {\nrecv m\nwait-recv m\n}\n"
                                    "slot b {\ncompute 1ms\n}\nslot c {\ncompute 897.6ms\n}\n}\n"
                                    "class y {\nslot s {\ncompute 1.4ms\nsend m 0B\n}\n}\n"));

    HAS(d.gantt, "x=\"128\" y=\"78\" width=\"2.4\" height=\"24\" fill=\"#353a40\" fill-opacity=\"0.83\">"
                 "<title>a and 1 more");
    HAS(d.gantt, "x=\"130.4\" y=\"78\" width=\"897.6\" height=\"24\"");
    drop(&d);
}

/* Where there are very many classes, each stage has one row. */
TEST(gantt_of_many_classes)
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
TEST(room_of_a_window)
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
TEST(memory)
{
    struct drawn d = drawn_of(example());

    HAS(d.memory, "<text x=\"110\" y=\"48\" class=\"small\">context, NCCL, fragmentation</text>");
    HAS(d.memory, "<path d=\"M92 180L92 122.31V122.31H1012V180Z\" fill=\"#254093\"><title>weights</title>");
    HAS(d.memory, "L208.53 105V87.69"); /* 130 MB to 160 MB */
    HAS(d.memory, "cx=\"208.83\" cy=\"87.69\" r=\"4\"");
    LACKS(d.memory, "<title>optimizer</title>");
    drop(&d);
}

/* 10 units on 900 px from x = 48 on; a rank's row is 16 px. Its number stands in the middle of a slot. */
TEST(schedules)
{
    struct ss_slot_time slots[] = {{0, SS_PHASE_F, 0, 0, -1, -1, 0, 1}, {1, SS_PHASE_F, 0, 7, -1, -1, 1, 2}};
    struct ss_schedule_strip strip = {
        .name = "two", .stages = 2, .chunks = 1, .length = 10, .slots = slots, .n = 2};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    CU_ASSERT_EQUAL(ss_schedules_svg(&strip, 1, 0, 0, out, NULL), SS_OK);
    fclose(out);
    HAS(text, "<rect class=\"track\" x=\"48\" y=\"98\" width=\"900\" height=\"16\"/>\n");
    HAS(text, "<rect class=\"track\" x=\"48\" y=\"115\" width=\"900\" height=\"16\"/>\n");
    HAS(text, "<rect class=\"b\" x=\"48\" y=\"98\" width=\"90\" height=\"16\" fill=\"#1c53a1\"/>\n"
              "<text x=\"93\" y=\"109.5\" class=\"n w\">0</text>\n");
    HAS(text, "<rect class=\"b\" x=\"138\" y=\"115\" width=\"90\" height=\"16\" fill=\"#1c53a1\"/>\n"
              "<text x=\"183\" y=\"126.5\" class=\"n w\">7</text>\n");
    free(text);
}

/* Two columns a unit: rank 1 begins when rank 0 is through with F0, and rank 0 goes back when rank 1 is. */
TEST(schedule_in_letters)
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
TEST(network)
{
    struct drawn d = drawn_of(example());

    HAS(d.report, "<text x=\"24\" y=\"74\" class=\"nodename\">first</text>");
    HAS(d.report, "<title>cable.up: mean load 11.1 %, peak 100.0 %</title><text x=\"24\" y=\"91\" "
                  "class=\"linkname\">up</text><text x=\"142\" y=\"91\" class=\"linkload\">11.1 %</text>");
    HAS(d.report, "<rect x=\"92\" y=\"83\" width=\"2.0\" height=\"8\" fill=\"#bdc2c7\"");
    HAS(d.report,
        "<th scope=\"row\">cable.up and 1 alike</th><td class=\"text\">other</td><td>1</td><td>0.014</td>"
        "<td>11.11 %</td><td>100.0 %</td>");
    drop(&d);
}

/* Two reductions of classes by themselves, each on its own link: 4 MB and 2 MB. */
TEST(network_of_collectives)
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

/* A rank of F and B 100 times: 1 ms and 2 ms. The period is two slots, and the fold shows one period in the middle, and one before
 * and behind because nothing warms up: 0 to 3 ms, 147 to 150 ms, 297 to 300 ms. */
TEST(fold)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    struct ss_fold fold;
    double makespan;

    fputs("program long\npath none\nclass x {\n", f);
    for (int i = 0; i < 100; i++)
        fprintf(f, "slot - F 0 %d {\ncompute 1ms\n}\nslot - B 0 %d {\ncompute 2ms\n}\n", i, i);
    fputs("}\n", f);
    fclose(f);
    struct ss_program *p = parse(text);
    struct ss_fold_period q = ss_fold_period(&p->classes[0]);
    CU_ASSERT_EQUAL(q.from, 0);
    CU_ASSERT_EQUAL(q.to, 200);
    CU_ASSERT_EQUAL(q.length, 2);
    CU_ASSERT_EQUAL_FATAL(ss_fold_find(p, 1, &fold, &makespan, NULL), SS_OK);
    CU_ASSERT_DOUBLE_EQUAL(makespan, 0.3, 1e-12);
    CU_ASSERT_EQUAL_FATAL(fold.n, 3);
    CU_ASSERT_EQUAL(fold.periods, 98);
    CU_ASSERT_EQUAL(fold.shown, 1);
    CU_ASSERT_DOUBLE_EQUAL(fold.part[0].end, 0.003, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(fold.part[1].start, 0.147, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(fold.part[1].end, 0.150, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(fold.part[2].start, 0.297, 1e-12);
    struct drawn d = drawn_of(p), whole;
    /* 9 ms on 900 px less two gaps of 18 px: 288 px a part from x = 128, 434 and 740 on; a forward is 96 px */
    HAS(d.gantt, "<rect class=\"b\" x=\"128\" y=\"78\" width=\"96\" height=\"24\" fill=\"#1c53a1\" "
                 "data-op=\"F\" data-mb=\"0\"");
    HAS(d.gantt, "<rect class=\"b\" x=\"434\" y=\"78\" width=\"96\" height=\"24\" fill=\"#1c53a1\" "
                 "data-op=\"F\" data-mb=\"49\"");
    HAS(d.gantt, "<rect class=\"b\" x=\"740\" y=\"78\" width=\"96\" height=\"24\" fill=\"#1c53a1\" "
                 "data-op=\"F\" data-mb=\"99\"");
    HAS(d.gantt, ">1 of about 98 periods</text>");
    /* memory on 920 px less the gaps: 294.67 a part from x = 92, 404.67 and 717.33 on, and its words below the middle */
    HAS(d.memory, "<text x=\"552\" y=\"214\" class=\"small mid\">1 of about 98 periods</text>");
    drop(&d);
    p = parse(text);
    whole = draw(p, SS_ENGINE_NATIVE, (struct ss_picture_request){.whole = 1}, 0);
    LACKS(whole.gantt, "periods</text>");
    LACKS(whole.memory, "periods</text>");
    HAS(whole.gantt, "data-op=\"F\" data-mb=\"20\"");
    drop(&whole);
    ss_program_free(p);
    free(text);
}

/* What does not repeat is not folded: all forwards before all backwards. */
TEST(no_fold)
{
    char text[8192] = "program all\npath none\nclass x {\n";
    struct ss_fold fold;
    double makespan;

    for (int i = 0; i < 40; i++)
        sprintf(text + strlen(text), "slot - %c 0 %d {\ncompute 1ms\n}\n", i < 20 ? 'F' : 'B', i % 20);
    strcat(text, "}\n");
    struct ss_program *p = parse(text);
    CU_ASSERT_EQUAL(ss_fold_find(p, 1, &fold, &makespan, NULL), SS_OK);
    CU_ASSERT_EQUAL(fold.n, 1);
    CU_ASSERT_DOUBLE_EQUAL(fold.part[0].end, 0.04, 1e-12);
    ss_program_free(p);
}

/* A pair is its two halves: the forward of microbatch 3 and the backward of 1, 90 px each of 2 of 10 units. */
TEST(pair)
{
    struct ss_slot_time slots[] = {{0, SS_PHASE_FB, 0, 3, 0, 1, 0, 2}};
    struct ss_schedule_strip strip = {
        .name = "pair", .stages = 1, .chunks = 1, .length = 10, .slots = slots, .n = 1};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    CU_ASSERT_EQUAL(ss_schedules_svg(&strip, 1, 0, 0, out, NULL), SS_OK);
    fclose(out);
    HAS(text, "<rect class=\"b\" x=\"48\" y=\"98\" width=\"90\" height=\"16\" fill=\"#1c53a1\"/>\n"
              "<text x=\"93\" y=\"109.5\" class=\"n w\">3</text>\n"
              "<rect class=\"b\" x=\"138\" y=\"98\" width=\"90\" height=\"16\" fill=\"#ef963e\"/>\n"
              "<text x=\"183\" y=\"109.5\" class=\"n k\">1</text>\n");
    free(text);
}
