/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules as data: what is written reads back, what is wrong is named with its row and column. */
#include <stdlib.h>
#include <string.h>

#include "stepsim/schedule.h"
#include "suite.h"

static struct ss_schedule *build(const char *name, int p, int v, int m)
{
    struct ss_schedule_params params = {
        .stages = p, .chunks = v, .microbatches = m, .microbatch_group_size = 0, .overlap_p2p = 1};
    struct ss_schedule *s = NULL;
    CU_ASSERT_EQUAL_FATAL(ss_schedule_build(name, &params, &s, NULL), SS_OK);
    return s;
}

static char *text_of(const struct ss_schedule *s, int format)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    struct ss_error err = {0};
    int rc = ss_schedule_write(s, format, out, &err);
    fclose(out);
    if (!rc)
        return text;
    free(text);
    return NULL;
}

static int parse(const char *text, const char *name, struct ss_schedule **s, struct ss_error *err)
{
    *s = NULL;
    memset(err, 0, sizeof *err);
    return ss_schedule_parse(text, strlen(text), name, s, err);
}

static int differs(const struct ss_schedule *a, const struct ss_schedule *b, int policies)
{
    int n = a->stages * a->chunks, bad = a->stages != b->stages || a->chunks != b->chunks ||
                                         a->microbatches != b->microbatches ||
                                         ss_schedule_depth(a) != ss_schedule_depth(b);
    if (bad)
        return 1;
    bad |= memcmp(a->virtual_rank, b->virtual_rank, (size_t)n * sizeof(int)) != 0;
    bad |= memcmp(a->virtual_chunk, b->virtual_chunk, (size_t)n * sizeof(int)) != 0;
    for (int r = 0; r < a->stages && !bad; r++) {
        bad |= a->nslots[r] != b->nslots[r] ||
               memcmp(a->slots[r], b->slots[r], (size_t)a->nslots[r] * sizeof *a->slots[r]) != 0;
        bad |= policies && a->p2p != SS_P2P_ASYNC && a->warmup[r] != b->warmup[r];
    }
    return bad || (policies && (a->p2p != b->p2p || strcmp(a->name, b->name) != 0));
}

TEST(round_trip)
{
    const char *name;
    int csv = 0;
    for (int n = 0; ss_schedule_known(n, &name, NULL); n++)
        for (int p = 2; p <= 8; p += 2)
            for (int m = 2 * p; m <= 4 * p; m += 2 * p) {
                int v = ss_schedule_known_chunks(
                    n, !strcmp(name, "interleaved") || !strcmp(name, "looped-bfs") ? 3 : 1);
                struct ss_schedule *s = build(name, p, v, m), *again = NULL;
                struct ss_error err;
                for (int format = SS_SCHEDULE_CSV; format <= SS_SCHEDULE_TEXT; format++) {
                    char *text = text_of(s, format);
                    CU_ASSERT_EQUAL(text == NULL, format == SS_SCHEDULE_CSV && s->pipelines > 1);
                    if (!text)
                        continue;
                    CU_ASSERT_EQUAL(parse(text, "x.csv", &again, &err), SS_OK);
                    if (!again)
                        fprintf(stderr, "%s p=%d m=%d: %s\n", name, p, m, err.message);
                    else
                        CU_ASSERT_EQUAL(differs(s, again, format == SS_SCHEDULE_TEXT), 0);
                    csv += format == SS_SCHEDULE_CSV;
                    ss_schedule_free(again);
                    again = NULL;
                    free(text);
                }
                ss_schedule_free(s);
            }
    CU_ASSERT_EQUAL(csv, 14 * 4 * 2);
}

/* The figure of interleaved 1F1B over 4 ranks with 2 chunks and 8 microbatches, slot by slot. */
TEST(golden_figure)
{
    struct ss_schedule *s = build("interleaved", 4, 2, 8), *golden = NULL;
    struct ss_error err = {0};
    CU_ASSERT_EQUAL(ss_schedule_load(SS_SOURCE_DIR "/tests/golden/interleaved-p4-v2-m8.csv", &golden, &err),
                    SS_OK);
    if (golden)
        CU_ASSERT_EQUAL(differs(s, golden, 0), 0);
    ss_schedule_free(golden);
    ss_schedule_free(s);
}

/* Torch writes a row a rank, empty cells where a time step has no action, and lines that end in CR LF. */
TEST(torch_csv)
{
    static const char text[] = "0F0,0F1,,,0B0, 0B1 ,\r\n,1F0,\"1F1\",1B0,,1B1\r\n\r\n";
    struct ss_schedule *s;
    struct ss_error err;
    CU_ASSERT_EQUAL_FATAL(parse(text, "some/folder/torch.csv", &s, &err), SS_OK);
    CU_ASSERT_STRING_EQUAL(s->name, "torch");
    CU_ASSERT_EQUAL(s->stages, 2);
    CU_ASSERT_EQUAL(s->microbatches, 2);
    CU_ASSERT_EQUAL(s->nslots[0], 4);
    CU_ASSERT_EQUAL(s->p2p, SS_P2P_ASYNC);
    ss_schedule_free(s);
    static const char all[] = "0UNSHARD,0F0,0SEND_F0,(0F1;1B0)OVERLAP_F_B";
    CU_ASSERT_EQUAL(parse(all, "x.csv", &s, &err), SS_ERR_INPUT);
    static const char comms[] =
        "0UNSHARD,0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0I1,0W1,0REDUCE_GRAD,0RESHARD\n"
        "1UNSHARD,1RECV_F0,1F0,1RECV_F1,(1F1;1B0)OVERLAP_F_B,1SEND_B0,1B1,1SEND_B1,1REDUCE_GRAD\n";
    CU_ASSERT_EQUAL_FATAL(parse(comms, "x.csv", &s, &err), SS_OK);
    CU_ASSERT_EQUAL(s->slots[1][1].phase, SS_PHASE_FB);
    ss_schedule_free(s);
}

static void expect(const char *text, int code, int line, const char *words)
{
    struct ss_schedule *s;
    struct ss_error err;
    CU_ASSERT_EQUAL(parse(text, "mine.csv", &s, &err), code);
    CU_ASSERT_PTR_NULL(s);
    CU_ASSERT_EQUAL(err.line, line);
    CU_ASSERT_STRING_EQUAL(err.file, "mine.csv");
    if (!strstr(err.message, words)) {
        fprintf(stderr, "no '%s' in '%s'\n", words, err.message);
        CU_FAIL("message");
    }
    ss_schedule_free(s);
}

/* A zero byte stands in no line: what is before it is not all of the text. */
TEST(no_text)
{
    static const char text[] = "schedule 1\nrank 0: 0F0 0B0\n\0rank";
    struct ss_schedule *s = NULL;
    struct ss_error err = {0};

    CU_ASSERT_EQUAL(ss_schedule_parse(text, sizeof text - 1, "mine.csv", &s, &err), SS_ERR_INPUT);
    CU_ASSERT_PTR_NULL(s);
    CU_ASSERT_STRING_EQUAL(err.file, "mine.csv");
    CU_ASSERT_EQUAL(err.line, 0);
    CU_ASSERT_STRING_EQUAL(err.message, "this is no text");
}

TEST(errors)
{
    expect("", SS_ERR_INPUT, 0, "without actions");
    expect("0F0,0B0\n1F0,1X0\n", SS_ERR_INPUT, 2, "row 2 column 2: '1X0' is no action");
    expect("0F0,0B\n", SS_ERR_INPUT, 1, "column 2: '0B' is no action");
    expect("0F0,0B0x\n", SS_ERR_INPUT, 1, "'0B0x' is no action");
    expect("0F99999999999,0B0\n", SS_ERR_INPUT, 1, "is no action");
    expect("0F0,0B0,0B0\n", SS_ERR_INPUT, 1, "row 1 column 3: runs a second time");
    expect("0F0,,0B0,,,0F0\n", SS_ERR_INPUT, 1, "row 1 column 6");
    expect("0B0,0F0\n", SS_ERR_INPUT, 1, "row 1 column 1: comes before its forward");
    expect("0F0,0W0,0I0\n", SS_ERR_INPUT, 1, "column 2: comes before the gradient of its input");
    expect("0F0,0F1,0B0\n", SS_ERR_INPUT, 0, "at least 4 actions");
    expect("0F0,0I0,0W0,0F1,0I1\n", SS_ERR_INPUT, 0, "never runs W of chunk 0, microbatch 1");
    expect("0F0,0B0\n\n1F0,1B0\n", SS_ERR_INPUT, 2, "rank 1 computes nothing");
    expect("0F0,0B0\n0F1,0B1\n", SS_ERR_INPUT, 2,
           "row 2 column 1: stage 0 runs on rank 1, but also on rank 0");
    expect("0F0,0B0,2F0,2B0,0F1,0B1\n", SS_ERR_INPUT, 0, "at least 12 actions");
    expect("0F0,1F0,1B0,0B0\n2F0,2B0\n", SS_ERR_UNSUPPORTED, 2, "holds 1 virtual stages and rank 0 holds 2");
    expect("0F0,(0F1;0W0)OVERLAP_F_B,0B1\n", SS_ERR_INPUT, 1, "a pair is one F and one B");
    expect("0F0,(0F1;0B0)OVERLAP,0B1\n", SS_ERR_INPUT, 1, "is no action");
    expect("0F0,(0F1,0B0)OVERLAP_F_B\n", SS_ERR_INPUT, 1, "'(0F1' is no action");
}

TEST(cycles)
{
    expect("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n", SS_ERR_DEADLOCK, 1,
           "rank 0 slot 1 (B of chunk 0, microbatch 0, row 1 column 2) waits for B of chunk 0, microbatch 0 "
           "on rank 1");
    /* A rank that waits for itself: the second leg of the V before the first. */
    expect("0F0,1F0,0B0,1B0\n", SS_ERR_DEADLOCK, 1, "rank 0 slot 2");
    struct ss_schedule *s;
    struct ss_error err;
    parse("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n", "x.csv", &s, &err);
    CU_ASSERT(strstr(err.hint, "0, 1, 0") || strstr(err.hint, "1, 0, 1"));
}

TEST(communication)
{
    expect("0SEND_F0,0F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", SS_ERR_INPUT, 1,
           "row 1 column 1: comes before the forward whose output it sends");
    expect("0F0,0SEND_F0,0B0,0RECV_B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", SS_ERR_INPUT, 1,
           "row 1 column 3: the gradient that this needs is not received before");
    expect("0F0,0SEND_F0,0RECV_B0,0B0\n1F0,1RECV_F0,1B0,1SEND_B0\n", SS_ERR_INPUT, 2,
           "row 2 column 1: the input of this forward is not received before");
    expect("0F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", SS_ERR_DEADLOCK, 0, "0SEND_F0 is never there");
    expect("0F0,0SEND_F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", SS_ERR_INPUT, 1, "second time");
    expect("0F0,0SEND_F0,0RECV_B0,0B0,0SEND_B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", SS_ERR_INPUT, 1,
           "end of the pipeline");
    expect("0F0,1F0,0SEND_F0,1B0,0B0\n", SS_ERR_INPUT, 1, "on one rank");
    expect("0F0,0REDUCE_GRAD,0B0\n", SS_ERR_INPUT, 1,
           "row 1 column 2: the gradients of stage 0 are reduced, but");
    expect("0F0,0I0,0REDUCE_GRAD,0W0\n", SS_ERR_INPUT, 1, "those of 1 microbatches follow");
    expect("0F0,0B0,0REDUCE_GRAD,0REDUCE_GRAD\n", SS_ERR_INPUT, 1, "second time");
    expect("0F0,0UNSHARD,0B0\n", SS_ERR_INPUT, 1, "while its weights are sharded");
    expect("0UNSHARD,0F0,0RESHARD,0B0\n", SS_ERR_INPUT, 1, "row 1 column 4: stage 0 computes while");
    expect("0RESHARD,0F0,0B0\n", SS_ERR_INPUT, 1, "sharded already");
    expect("0F0,0B0,1REDUCE_GRAD\n1F0,1B0\n", SS_ERR_INPUT, 1, "stage 1 is not on rank 0");
}

TEST(own_form)
{
    static const char good[] =
        "# a schedule by hand\nschedule 1\nname two-ways\npipelines 2\n\n"
        "rank 0: 0F0 3F0 . 3B0   # the last stage of the second copy is here\nrank 0: 0B0\n"
        "rank 1: 2F0 1F0 2B0 1B0\n";
    struct ss_schedule *s;
    struct ss_error err;
    int rc = parse(good, "mine.sched", &s, &err);
    if (rc)
        fprintf(stderr, "%s\n", err.message);
    CU_ASSERT_EQUAL_FATAL(rc, SS_OK);
    CU_ASSERT_STRING_EQUAL(s->name, "two-ways");
    CU_ASSERT_EQUAL(ss_schedule_microbatches(s), 2);
    CU_ASSERT_EQUAL(s->nslots[0], 4);
    ss_schedule_free(s);
    expect("schedule 2\nrank 0: 0F0 0B0\n", SS_ERR_INPUT, 1, "version");
    expect("schedule 1\nrnk 0: 0F0 0B0\n", SS_ERR_INPUT, 2, "'rnk' begins no line");
    expect("schedule 1\nrank 0 0F0 0B0\n", SS_ERR_INPUT, 2, "colon");
    expect("schedule 1\nrank 1: 0F0 0B0\n", SS_ERR_INPUT, 0, "rank 0 computes nothing");
    expect("schedule 1\nrank 0: 0F0 oops\n", SS_ERR_INPUT, 2, "row 2 column 13: 'oops' is no action");
    expect("schedule 1\np2p sometimes\n", SS_ERR_INPUT, 2, "unknown policy");
    expect("schedule 1\np2p blocking\nrank 0: 0F0 0B0\n", SS_ERR_INPUT, 0, "needs a line 'warmup'");
    expect("schedule 1\np2p ordered\nrank 0: 0F0 0B0\n", SS_ERR_INPUT, 0,
           "p2p ordered needs a line 'warmup'");
    expect("schedule 1\np2p blocking\nwarmup 1\nrank 0: 0F0 0B0 0F1 0B1\n", SS_ERR_INPUT, 4,
           "is not what follows 1");
    expect("schedule 1\np2p async\nwarmup 0 0\nrank 0: 0F0 0B0\n", SS_ERR_INPUT, 3, "2 numbers for 1 ranks");
    expect("schedule 1\npipelines 2\nrank 0: 0F0 0B0\n", SS_ERR_INPUT, 0, "do not make 2 pipelines");
}
