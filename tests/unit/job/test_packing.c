/* SPDX-License-Identifier: Apache-2.0 */
/* Documents packed into rows: by hand, by law, from a file; what attention costs of them. */
#include <math.h>
#include <stdlib.h>

#include "job/packing.h"
#include "scale_job.h"
#include "small_job.h"
#include "suite.h"

static struct ss_packing pack(int law, double low, double high, int row, int multiple, int algorithm)
{
    const struct ss_packing_input in = {
        .law = law, .low = low, .high = high, .row = row, .multiple = multiple, .algorithm = algorithm};
    struct ss_packing p;
    CU_ASSERT_EQUAL_FATAL(ss_packing_build(&in, &p, NULL), 0);
    return p;
}

static struct ss_packing pack_text(const char *text, int row, int multiple, int algorithm)
{
    struct ss_lengths lengths;
    const struct ss_packing_input in = {
        .law = SS_PACKED_FILE, .lengths = &lengths, .row = row, .multiple = multiple, .algorithm = algorithm};
    struct ss_packing p;
    CU_ASSERT_EQUAL_FATAL(ss_lengths_parse(text, strlen(text), "l.csv", &lengths, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_packing_build(&in, &p, NULL), 0);
    ss_lengths_free(&lengths);
    return p;
}

/* Squares of the rows over their mean, whatever their order. */
static void expect_rows(struct ss_packing *p, const double *squares, int n)
{
    double mean = 0, variance = 0;
    for (int i = 0; i < n; i++)
        mean += squares[i] / n;
    CU_ASSERT_EQUAL_FATAL(p->nrows, n);
    for (int i = 0; i < n; i++) {
        CU_ASSERT_DOUBLE_EQUAL(p->square[i], squares[i] / mean, 1e-12);
        variance += (squares[i] / mean - 1) * (squares[i] / mean - 1) / n;
    }
    CU_ASSERT_DOUBLE_EQUAL(p->sigma, sqrt(variance), 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ss_packing_keys(p, 0, 0), mean / p->row, 1e-12);
    ss_packing_free(p);
}

/* One document fills a row, or two halve it, or what does not fit is padding. */
TEST(fixed)
{
    struct ss_packing p = pack(SS_PACKED_FIXED, 4096, 0, 4096, 1, SS_PACKED_SHUFFLE);
    CU_ASSERT(p.nrows == 1 && p.sigma == 0 && p.documents == 1 && p.tokens == 4096 && p.cut == 0);
    CU_ASSERT_EQUAL(ss_packing_keys(&p, 0, 0), 4096);
    CU_ASSERT_EQUAL(ss_packing_keys(&p, 1000, 0), ss_document_keys(4096, 1000, 0));
    ss_packing_free(&p);
    p = pack(SS_PACKED_FIXED, 2048, 0, 4096, 1, SS_PACKED_DECREASING);
    CU_ASSERT(p.documents == 2 && p.token_squares == 2 * 2048. * 2048 && p.sigma == 0);
    CU_ASSERT_EQUAL(ss_packing_keys(&p, 0, 0), 2048);
    ss_packing_free(&p);
    /* 1000 padded to 1024 */
    p = pack(SS_PACKED_FIXED, 1000, 0, 4096, 1024, SS_PACKED_IN_ORDER);
    CU_ASSERT(p.documents == 4 && p.tokens == 4000 && p.token_squares == 4e6);
    CU_ASSERT_EQUAL(ss_packing_keys(&p, 0, 0), 1024);
    ss_packing_free(&p);
    p = pack(SS_PACKED_FIXED, 3000, 0, 4096, 1, SS_PACKED_SHUFFLE);
    CU_ASSERT(p.documents == 1 && p.tokens == 3000 && p.token_squares == 9e6);
    CU_ASSERT_DOUBLE_EQUAL(ss_packing_keys(&p, 0, 0), (3000. * 3000 + 1096. * 1096) / 4096, 1e-9);
    ss_packing_free(&p);
    /* full rows have no padding, however many there are: 741 quotients add up to more than a row */
    p = pack_text("length,count\n4096,741\n", 4096, 1, SS_PACKED_SHUFFLE);
    CU_ASSERT(p.nrows == 741 && p.tokens == 4096 && p.token_squares == 4096. * 4096 && p.share[0] == 1);
    ss_packing_free(&p);
    /* longer than a row: cut to it */
    p = pack(SS_PACKED_FIXED, 9000, 0, 4096, 1, SS_PACKED_SHUFFLE);
    CU_ASSERT(p.documents == 1 && p.tokens == 4096 && p.cut == 1);
    ss_packing_free(&p);
}

/* Rows of 10 tokens; documents of 6, 5, 4, 3, 2 and once more 2 tokens. */
TEST(by_hand)
{
    struct ss_packing p = pack_text("length,count\n2,2\n6,1\n5,1\n4,1\n3,1\n", 10, 1, SS_PACKED_DECREASING);
    /* 6+4, 5+3+2, 2 and 8 left */
    CU_ASSERT_DOUBLE_EQUAL(p.tokens, 22 / 3.0, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(p.documents, 2, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(p.token_squares, (52 + 38 + 4) / 3.0, 1e-12);
    expect_rows(&p, (double[]){38, 52, 68}, 3);
    /* in order: 2+2+6, 5+4 and 1 left, 3 and 7 left */
    p = pack_text("length,count\n2,2\n6,1\n5,1\n4,1\n3,1\n", 10, 1, SS_PACKED_IN_ORDER);
    expect_rows(&p, (double[]){42, 44, 58}, 3);
    /* padded to 4: 4, 4 and 2 left; 8 and 2 left; 8 and 2; 4, 4 and 2 */
    p = pack_text("length\n2\n2\n6\n5\n4\n3\n", 10, 4, SS_PACKED_IN_ORDER);
    CU_ASSERT_DOUBLE_EQUAL(p.token_squares, (4 + 4 + 36 + 25 + 16 + 9) / 4.0, 1e-12);
    expect_rows(&p, (double[]){36, 36, 68, 68}, 4);
}

/* A row of 5 and 3 tokens, a window of 2: 2 keys but for the first query of each; pieces of 2: 2 2 and 1, 2 and 1. */
TEST(windows)
{
    struct ss_packing p = pack_text("length\n5\n3\n", 8, 1, SS_PACKED_IN_ORDER);
    CU_ASSERT_DOUBLE_EQUAL(ss_packing_keys(&p, 0, 0), (25 + 9) / 8.0, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ss_packing_keys(&p, 2, 0), (2 * 2 * 5 - 4 + 2 * 2 * 3 - 4) / 8.0, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ss_packing_keys(&p, 0, 2), (4 + 4 + 1 + 4 + 1) / 8.0, 1e-12);
    ss_packing_free(&p);
}

/* Moments of the laws, which rows of nothing but padding-free documents keep. */
TEST(laws)
{
    struct ss_packing p = pack(SS_PACKED_UNIFORM, 100, 300, 4096, 1, SS_PACKED_DECREASING);
    double mean = 200, square = mean * mean + (201. * 201 - 1) / 12;
    CU_ASSERT_DOUBLE_EQUAL(p.tokens / p.documents, mean, 2);
    CU_ASSERT_DOUBLE_EQUAL(p.token_squares / p.tokens, square / mean, 2);
    CU_ASSERT(p.tokens > 0.98 * 4096 && p.nrows > 1000);
    ss_packing_free(&p);
    p = pack(SS_PACKED_LOGNORMAL, 200, 0.5, 16384, 1, SS_PACKED_SHUFFLE);
    CU_ASSERT_DOUBLE_EQUAL(p.tokens / p.documents, 200, 2);
    CU_ASSERT_DOUBLE_EQUAL(p.token_squares / p.tokens, 200 * exp(0.25), 5);
    ss_packing_free(&p);
    /* a sigma of 0: all as long */
    p = pack(SS_PACKED_LOGNORMAL, 1024, 0, 4096, 1, SS_PACKED_SHUFFLE);
    CU_ASSERT(p.documents == 4 && p.sigma == 0);
    ss_packing_free(&p);
    /* a file too large to pack whole: half of the documents of 1000 tokens, half of 3000 */
    p = pack_text("length,count\n1000,5000000\n3000,5000000\n", 1 << 16, 1, SS_PACKED_SHUFFLE);
    CU_ASSERT_DOUBLE_EQUAL(p.tokens / p.documents, 2000, 20);
    CU_ASSERT_DOUBLE_EQUAL(p.token_squares / p.tokens, 2500, 20);
    ss_packing_free(&p);
}

/* The same seed gives the same rows, another one others; drawn rows have the moments of all. */
TEST(draws)
{
    struct ss_packing_input in = {
        .law = SS_PACKED_UNIFORM, .low = 1, .high = 3000, .row = 4096, .multiple = 1};
    struct ss_packing a, b;
    double mean = 0, square = 0;
    CU_ASSERT_EQUAL_FATAL(ss_packing_build(&in, &a, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_packing_build(&in, &b, NULL), 0);
    CU_ASSERT(a.nrows == b.nrows && a.token_squares == b.token_squares && a.sigma == b.sigma);
    ss_packing_free(&b);
    in.seed = 1;
    CU_ASSERT_EQUAL_FATAL(ss_packing_build(&in, &b, NULL), 0);
    CU_ASSERT(a.token_squares != b.token_squares);
    CU_ASSERT_DOUBLE_EQUAL(a.token_squares / b.token_squares, 1, 0.05);
    for (int k = 0; k < 100000; k++) {
        double x = ss_packing_draw(&a, (uint64_t)k);
        mean += x / 1e5;
        square += x * x / 1e5;
    }
    CU_ASSERT_DOUBLE_EQUAL(mean, 1, 0.01);
    CU_ASSERT_DOUBLE_EQUAL(sqrt(square - mean * mean), a.sigma, 0.01 * a.sigma);
    CU_ASSERT(ss_packing_draw(&a, 7) == ss_packing_draw(&a, 7));
    /* another seed draws other rows of the same ones */
    int others = 0;
    for (uint64_t k = 0; k < 100; k++) {
        double x = ss_packing_draw(&a, k);
        a.seed = 1;
        others += ss_packing_draw(&a, k) != x;
        a.seed = 0;
    }
    CU_ASSERT(others > 90);
    ss_packing_free(&a);
    ss_packing_free(&b);
}

TEST(bad_files)
{
    static const struct {
        const char *text, *message;
        int line;
    } rows[] = {
        {"tokens\n5\n", "no column \"length\"", 1},
        {"length\n5\n0\n", "length \"0\" is no whole number in 1..67108864", 3},
        {"length\n5\n\n6.5\n", "length \"6.5\"", 4},
        {"length,count\n5,1\n7,-1\n", "count \"-1\" is no whole number", 3},
        {"length,count\n5\n", "", 2},
        {"length,count\n5,0\n", "no documents", 0},
        {"length\n", "no documents", 0},
    };
    struct ss_lengths lengths;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ss_error err = {0};
        int rc = ss_lengths_parse(rows[i].text, strlen(rows[i].text), "l.csv", &lengths, &err);
        CU_ASSERT_EQUAL(rc, SS_ERR_INPUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, rows[i].message));
        CU_ASSERT_STRING_EQUAL(err.file, "l.csv");
        CU_ASSERT_EQUAL(err.line, rows[i].line);
    }
    CU_ASSERT_EQUAL(ss_lengths_read("/nonexistent/l.csv", &lengths, NULL), SS_ERR_IO);
}

/* ---- attention ---- */

/* Two documents of half a row have half of its FLOP, at the rate that so many queries allow; a context-parallel rank has a
 * part of each. One document of the row is no packing, to the last bit. */
TEST(attention)
{
    struct setting t;
    struct ss_packing one = pack(SS_PACKED_FIXED, 4096, 0, 4096, 1, SS_PACKED_SHUFFLE),
                      two = pack(SS_PACKED_FIXED, 2048, 0, 4096, 1, SS_PACKED_SHUFFLE);
    struct ss_layer_cost whole, same, half;
    setting_make(&t);
    struct ss_ops ops = layer_of(&t, DENSE);
    double flops = find(&ops, "core attention")->forward_flops;
    ss_cost_layer(&t.c, &ops, SS_RECOMPUTE_NONE, &whole);
    t.job.packed.rows = &one;
    ops = layer_of(&t, DENSE);
    ss_cost_layer(&t.c, &ops, SS_RECOMPUTE_NONE, &same);
    CU_ASSERT_EQUAL(memcmp(&same, &whole, sizeof same), 0);
    t.job.packed.rows = &two;
    ops = layer_of(&t, DENSE);
    CU_ASSERT_EQUAL(find(&ops, "core attention")->forward_flops, flops / 2);
    ss_cost_layer(&t.c, &ops, SS_RECOMPUTE_NONE, &half);
    CU_ASSERT_DOUBLE_EQUAL(half.forward_flops, whole.forward_flops - flops / 2, 1);
    /* 2 x 4096 tokens of 4096 or 2048 keys, 16 heads of 64, half of 4 FLOP; 8192 tokens reach the share of 0.4. Either makes 1024
     * thread blocks on 100 SMs, of which the longest take twice the mean: 2/3 of such a block is waited for. */
    double saved = 0, at = 0.4e15 * (8192 + 1024.) / 8192 / (1 + 2 / 3. * 200 / 1024);
    for (int i = 0; i < 2; i++) {
        double keys = i ? 2048 : 4096, seconds = 2 * 8192 * keys * 16 * 64 / (at * keys / (keys + 1024));
        saved += i ? -seconds : seconds;
    }
    CU_ASSERT_DOUBLE_EQUAL(whole.forward[SS_LABEL_COMPUTE] - half.forward[SS_LABEL_COMPUTE], saved,
                           1e-9 * saved);
    ss_packing_free(&one);
    ss_packing_free(&two);
}

/* Seconds of a row are the sum of those of its documents, each at its own rate. */
TEST(sum_of_squares)
{
    const double lengths[] = {3000, 1000, 96};
    struct ss_packing p = pack_text("length\n3000\n1000\n96\n", 4096, 1, SS_PACKED_IN_ORDER);
    struct setting t;
    double sum = 0, keys = ss_packing_keys(&p, 0, 0);
    setting_make(&t);
    const double half_d = t.stack.attention_half_dim;
    for (int i = 0; i < 3; i++)
        sum += lengths[i] * lengths[i] /
               ss_kernel_attention_rate(&t.card, &t.stack, SS_BF16, 0.4, half_d, lengths[i], 64, 64);
    CU_ASSERT_DOUBLE_EQUAL(
        4096 * keys / ss_kernel_attention_rate(&t.card, &t.stack, SS_BF16, 0.4, half_d, keys, 64, 64) / sum,
        1, 1e-12);
    ss_packing_free(&p);
}

/* Megatron's FLOP: squares and tokens of the documents, without padding. 8 rows of 4 x 1000 tokens in 4096. */
TEST(flops)
{
    struct scale_job s;
    struct ss_run run;
    struct ss_packing p = pack(SS_PACKED_FIXED, 1000, 0, 4096, 1024, SS_PACKED_SHUFFLE);
    CU_ASSERT_EQUAL_FATAL(
        scale_open(&s, "h800 1;--model llama3.1-8b --bf16 --seq 4096 --mbs 1 --gbs 8 --tp 8"), 0);
    CU_ASSERT_EQUAL_FATAL(scale_run(&s, NULL, &run), 0);
    double model = run.plan->model_flops, causal = run.plan->model_flops_causal;
    double scores = 2 * (model - causal), linear = model - scores;
    CU_ASSERT_DOUBLE_EQUAL(scores, 12. * 8 * 4096 * 4096 * 32 * 4096, 1);
    ss_run_free(&run);
    s.job.packed.rows = &p;
    CU_ASSERT_EQUAL_FATAL(scale_run(&s, NULL, &run), 0);
    CU_ASSERT_DOUBLE_EQUAL(run.plan->model_flops / (linear * 4000 / 4096 + scores * 4e6 / (4096. * 4096)), 1,
                           1e-12);
    CU_ASSERT_DOUBLE_EQUAL(run.plan->packing.padding, 96 / 4096., 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(run.plan->packing.attention, 4e6 / (4096. * 4096), 1e-12);
    CU_ASSERT_EQUAL(run.plan->packing.imbalance.mean, 0);
    ss_run_free(&run);
    scale_close(&s);
    ss_packing_free(&p);
}
