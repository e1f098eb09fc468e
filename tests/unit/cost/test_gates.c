/* SPDX-License-Identifier: Apache-2.0 */
/* Qwen3.8's residual streams with gates, attention over chosen blocks, and embeddings of n-grams: FLOP, bytes, parameters, what is saved, by hand. */
#include "scale_job.h"
#include "small_job.h"

#define DENSE SS_LAYER_PAIR(SS_MIXER_FULL, SS_MLP_DENSE)
#define NGRAMS SS_LAYER_PAIR(SS_MIXER_ngram_delta, SS_MLP_NONE)
#define H 1024.
#define T 8192.
#define X (2 * T * H) /* bytes of one stream; n = 4 of them */
#define WIDE (4 * H)
#define LOW (2 * T * 128)

static void setting_gates(struct setting *t)
{
    setting_make(t);
    t->job.model.residual_streams = 4;
    t->job.model.residual_rank = 128;
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(&t->job.model, NULL), 0);
}

TEST(streams)
{
    struct setting t;
    setting_make(&t);
    struct ss_ops plain = layer_of(&t, DENSE);
    setting_gates(&t);
    struct ss_ops ops = layer_of(&t, DENSE);
    const struct ss_op *norm = find(&ops, "streams norm"), *down = find(&ops, "streams gate down"),
                       *silu = find(&ops, "streams gate silu"), *up = find(&ops, "streams gate up"),
                       *joined = find(&ops, "streams joined"), *place = find(&ops, "streams injection"),
                       *injected = find(&ops, "streams injected");
    CU_ASSERT_FATAL(norm && down && silu && up && joined && place && injected);
    CU_ASSERT(!find(&ops, "residual") && !find(&ops, "stream mappings") && !find(&ops, "sinkhorn"));
    CU_ASSERT(norm->forward_bytes == 8 * X && norm->backward_bytes == 12 * X && norm->params == WIDE);
    CU_ASSERT(down->forward_flops == 2 * T * WIDE * 128 && down->backward_flops == 4 * T * WIDE * 128);
    CU_ASSERT(down->params == WIDE * 128 && up->params == WIDE * 128 && place->params == 4 * WIDE);
    CU_ASSERT(silu->forward_bytes == 4 * LOW && silu->backward_bytes == 5 * LOW);
    CU_ASSERT_EQUAL(up->forward_flops, 2 * T * WIDE * 128);
    CU_ASSERT(joined->forward_bytes == 25 * X && joined->backward_bytes == 54 * X);
    CU_ASSERT_EQUAL(place->forward_flops, 2 * T * WIDE * 4);
    CU_ASSERT(injected->forward_bytes == 17 * X && injected->backward_bytes == 38 * X);
    /* The gates' norm of the streams stands for the branch's own, which kept its input and a number a token. */
    CU_ASSERT_EQUAL(ops.sum.params - plain.sum.params, 2 * (WIDE + 2 * WIDE * 128 + 4 * WIDE - H));
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&ops, 0) - ss_ops_saved_bytes(&plain, 0),
                    2 * (3 * 4 * X + 2 * LOW + X - X - 4 * T));
    CU_ASSERT_EQUAL(ss_shape_border_bytes(&t.c.shape), 4 * X);
}

/* Behind the last layer gates make one of the streams, with the only norm; a prediction ends in a mean and a norm of its own. */
TEST(borders)
{
    struct setting t;
    setting_gates(&t);
    t.job.model.final_norm = 0;
    struct ss_ops loss = layer_of(&t, SS_LAYER_LOSS), mtp = layer_of(&t, SS_LAYER_MTP),
                  last = layer_of(&t, SS_LAYER_MTP_LOSS);
    CU_ASSERT_EQUAL(loss.sum.params, WIDE + 2 * WIDE * 128 + 32000 * H);
    CU_ASSERT_EQUAL(mtp.sum.params, 2 * H * H + 2 * H);
    CU_ASSERT_EQUAL(find(&mtp, "prediction projection")->forward_flops, 2 * T * 2 * H * H);
    CU_ASSERT_EQUAL(find(&mtp, "streams")->forward_bytes, 5 * X);
    CU_ASSERT_EQUAL(find(&last, "streams mean")->forward_bytes, 5 * X);
    CU_ASSERT(!find(&last, "streams norm") && last.sum.params == H);
}

/* Two index heads of 64 score blocks of four tokens: three passes over heads' scores, ten over their sum, forward alone. */
TEST(blocks)
{
    struct setting t;
    setting_make(&t);
    struct ss_model *m = &t.job.model;
    m->qsa.period = 1;
    m->index_num_heads = 2;
    m->index_head_dim = 64;
    m->index_topk = 2048;
    m->index_block = 4;
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(m, NULL), 0);
    struct ss_ops ops = layer_of(&t, SS_LAYER_PAIR(SS_MIXER_qsa, SS_MLP_NONE));
    const struct ss_op *scores = find(&ops, "index scores"), *choice = find(&ops, "choice of blocks");
    CU_ASSERT_EQUAL_FATAL(scores && choice, 1);
    CU_ASSERT(scores->forward_flops == 2 * 2 * T * 1024 * 64 && scores->backward_flops == 0);
    CU_ASSERT(choice->forward_bytes == 4 * T * 1024 * (3 * 2 + 10) && choice->backward_bytes == 0);
    CU_ASSERT_EQUAL(scores->working_bytes, 4 * T * 1024 * 2);
    CU_ASSERT_EQUAL(find(&ops, "index q")->params + find(&ops, "index k")->params +
                        find(&ops, "index norms, rope")->params,
                    H * 3 * 64 + 2 * 64);
}

/* A table of a million rows of 128 numbers, 16 rows a token, on two ranks; a token meets none of it as a matrix. */
TEST(ngrams)
{
    struct setting t;
    setting_gates(&t);
    struct ss_model *m = &t.job.model;
    m->ngram_delta.period = 1;
    m->ngram_rows = 1000000;
    m->ngram_heads = 16;
    m->ngram_width = 2048;
    m->ngram_taps = 4;
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(m, NULL), 0);
    struct ss_ops ops = layer_of(&t, NGRAMS),
                  net = layer_of(&t, SS_LAYER_PAIR(SS_MIXER_gated_delta, SS_MLP_NONE));
    const struct ss_op *table = find(&ops, "n-gram table"), *gate = find(&ops, "n-gram gate");
    double rows = 2 * T * 2048, own = 1000000. * 128;
    CU_ASSERT_FATAL(table && gate);
    CU_ASSERT_PTR_NULL(find(&ops, "n-gram rows"));
    CU_ASSERT(table->params == own && ops.sum.looked_up == own);
    CU_ASSERT_EQUAL(ops.sum.params - net.sum.params, own + 2048 * (WIDE + H) + 7 * WIDE);
    CU_ASSERT(table->forward_bytes == 2 * rows && table->backward_bytes == 5 * rows + 4 * own * 2);
    CU_ASSERT(gate->forward_bytes == 85 * X && gate->backward_bytes == 170 * X);
    CU_ASSERT_EQUAL(find(&ops, "n-gram keys")->forward_flops, 2 * T * 2048 * WIDE);
    CU_ASSERT_EQUAL(find(&ops, "n-gram values")->backward_flops, 4 * T * 2048 * H);
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&ops, 0) - ss_ops_saved_bytes(&net, 0),
                    rows + X + 28 * X + 8 * T * 16);
    t.c.shape.ep = 2;
    ss_layer_operators(NGRAMS, &t.c.shape, &ops);
    CU_ASSERT_EQUAL(find(&ops, "n-gram table")->params, own / 2);
    CU_ASSERT_EQUAL(ops.n, net.n + 6);
    CU_ASSERT_PTR_NOT_NULL(find(&ops, "n-gram rows"));
}

static double seconds(const char *dispatcher, int engine, int level)
{
    struct ss_run_options options = {.engine = engine, .plan.level = level};
    char text[400];
    struct scale_job s;
    struct ss_run run;
    snprintf(
        text, sizeof text,
        "gb200 4;--model qwen3.8-flash-next --bf16 --num-layers 4 --ep 8 --pp 2 --use-distributed-optimizer "
        "--mbs 1 --gbs 16 --seq 4096 --moe-token-dispatcher-type %s",
        dispatcher);
    CU_ASSERT_FATAL(!scale_open(&s, text));
    CU_ASSERT_FATAL(!scale_run(&s, &options, &run));
    double t = run.result->iteration_s;
    ss_run_free(&run);
    scale_close(&s);
    return t;
}

/* Rows of n-grams are flows of the expert group beside whatever moves tokens. */
TEST(levels)
{
    static const char *const dispatchers[] = {"allgather", "alltoall",
                                              "flex --moe-flex-dispatcher-backend hybridep"};
    for (int i = 0; i < 3; i++) {
        double chunk = seconds(dispatchers[i], SS_ENGINE_NATIVE, SS_LEVEL_CHUNK),
               layer = seconds(dispatchers[i], SS_ENGINE_NATIVE, SS_LEVEL_LAYER),
               simgrid = seconds(dispatchers[i], SS_ENGINE_SIMGRID, SS_LEVEL_LAYER);
        CU_ASSERT_DOUBLE_EQUAL(layer, chunk, 0.01 * chunk);
        CU_ASSERT_DOUBLE_EQUAL(simgrid, layer, 1e-6 * layer);
    }
}
