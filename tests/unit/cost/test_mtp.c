/* SPDX-License-Identifier: Apache-2.0 */
/* Multi-token prediction: what a chunk has behind its numbered layers, by hand. */
#include "cost/memory.h"
#include "scale_job.h"
#include "small_job.h"

#define VOCAB 32000.0
#define H 1024.0

/* The chunk of all four layers with `predictions` more. */
static void chunk_make(struct setting *t, int predictions, struct ss_layer_set *set,
                       struct ss_chunk_cost *chunk)
{
    t->job.model.mtp_num_layers = predictions;
    shape_again(t);
    memset(set, 0, sizeof *set);
    memset(chunk, 0, sizeof *chunk);
    chunk->nlayers = 4;
    chunk->has_embedding = chunk->has_loss = 1;
    CU_ASSERT_EQUAL_FATAL(ss_layer_set_init(set, &t->c, 1, 1, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_layer_set_chunk(set, 0, chunk, NULL), 0);
    ss_memory_chunk(&t->c, set, 0, chunk);
}

static struct ss_layer_set *set_new(struct setting *t, int predictions, struct ss_chunk_cost *chunk)
{
    struct ss_layer_set *set = malloc(sizeof *set);
    CU_ASSERT_PTR_NOT_NULL_FATAL(set);
    chunk_make(t, predictions, set, chunk);
    return set;
}

/* Three norms, a projection of 2 h x h and a layer each; embedding and output layer are the main ones. */
TEST(parameters)
{
    struct setting t;
    struct ss_chunk_cost chunk;
    setting_make(&t);
    struct ss_ops ops = layer_of(&t, DENSE);
    double layer = ops.sum.params, prediction = layer + 3 * H + 2 * H * H;
    struct ss_layer_set *none = set_new(&t, 0, &chunk), *two = set_new(&t, 2, &chunk);
    struct ss_param_count before = ss_layer_set_params(none, &t.c, 0, 0),
                          after = ss_layer_set_params(two, &t.c, 0, 0);
    CU_ASSERT_EQUAL(before.all, 2 * VOCAB * H + 4 * layer + H);
    CU_ASSERT_EQUAL(after.all - before.all, 2 * prediction);
    CU_ASSERT_EQUAL(after.loss - before.loss, 2 * prediction);
    CU_ASSERT_EQUAL(ss_chunk_layer_params(two, 0, 3).dense, layer);
    CU_ASSERT_EQUAL(ss_chunk_layer_params(two, 0, 4).dense, 0);
    ss_layer_set_free(none);
    ss_layer_set_free(two);
}

/* Logits once more each; a layer, two norms of the hidden size and the projection's input. */
TEST(memory)
{
    struct setting t;
    struct ss_chunk_cost before, after;
    setting_make(&t);
    struct ss_ops ops = layer_of(&t, DENSE);
    double layer = ss_ops_saved_bytes(&ops, 0), tokens = 8192;
    ss_layer_set_free(set_new(&t, 0, &before));
    ss_layer_set_free(set_new(&t, 2, &after));
    CU_ASSERT_EQUAL(before.logits_bytes, tokens * VOCAB * 6);
    CU_ASSERT_EQUAL(after.logits_bytes, 3 * before.logits_bytes);
    double own = 8 * tokens + tokens * (2 * (2 * H + 4) + 4 * H) + layer + tokens * 4 * H;
    CU_ASSERT_EQUAL(after.activation_bytes - before.activation_bytes, 2 * own);
    /* Recomputed whole: both inputs are kept, the embedding's tokens, and the last norm, which is outside. */
    t.job.recompute.granularity = SS_RECOMPUTE_FULL;
    t.job.recompute.method = SS_RECOMPUTE_UNIFORM;
    t.job.recompute.num_layers = 1;
    ss_layer_set_free(set_new(&t, 0, &before));
    ss_layer_set_free(set_new(&t, 2, &after));
    CU_ASSERT_EQUAL(after.activation_bytes - before.activation_bytes, 2 * tokens * (8 + 2 * 2 * H + 4 * H));
    /* By block it is kept. */
    t.job.recompute.method = SS_RECOMPUTE_BLOCK;
    t.job.recompute.num_layers = 4;
    ss_layer_set_free(set_new(&t, 0, &before));
    ss_layer_set_free(set_new(&t, 2, &after));
    CU_ASSERT_EQUAL(after.activation_bytes - before.activation_bytes, 2 * own);
}

static double seconds(const double *by_label)
{
    double sum = 0;
    for (int i = 0; i < SS_LABEL_COUNT; i++)
        sum += by_label[i];
    return sum;
}

/* Places in the chunk count its four layers alone: predictions are behind all of them in the forward, done before the first in
 * the backward. */
TEST(places)
{
    struct setting t;
    struct ss_chunk_cost before, after;
    setting_make(&t);
    struct ss_layer_set *none = set_new(&t, 0, &before), *two = set_new(&t, 2, &after);
    double f0 = seconds(before.forward), f2 = seconds(after.forward), b0 = seconds(before.backward),
           b2 = seconds(after.backward);
    CU_ASSERT(f2 > f0 + (f0 - 1e-12) / 4 && b2 > b0); /* more than a layer and a loss */
    for (int layers = 0; layers < 4; layers++) {
        struct ss_chunk_place alone = ss_chunk_place_at(none, 0, SS_PHASE_F, layers),
                              with = ss_chunk_place_at(two, 0, SS_PHASE_F, layers);
        CU_ASSERT_DOUBLE_EQUAL(with.fraction * f2, alone.fraction * f0, 1e-12);
        CU_ASSERT_EQUAL(with.step, alone.step);
        alone = ss_chunk_place_at(none, 0, SS_PHASE_B, layers);
        with = ss_chunk_place_at(two, 0, SS_PHASE_B, layers);
        CU_ASSERT_DOUBLE_EQUAL((1 - with.fraction) * b2, (1 - alone.fraction) * b0, 1e-12);
    }
    CU_ASSERT_EQUAL(ss_chunk_place_at(two, 0, SS_PHASE_B, 4).fraction, 1);
    ss_layer_set_free(none);
    ss_layer_set_free(two);
}

/* The last stage of a pipeline has a copy of the embedding, whose gradients the first one gets. */
TEST(pipeline)
{
    static const char *const flags[2] = {"", "--mtp-num-layers 1 "};
    double first[2], last[2];
    int embeddings[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        struct scale_job s;
        struct ss_run run;
        char text[256];
        snprintf(text, sizeof text,
                 "h800 1;--model llama3.1-8b --bf16 --seq 4096 --mbs 1 --gbs 16 --pp 2 --tp 2 %s", flags[i]);
        CU_ASSERT_EQUAL_FATAL(scale_open(&s, text), 0);
        CU_ASSERT_EQUAL_FATAL(scale_run(&s, NULL, &run), 0);
        for (int c = 0; c < run.plan->nclasses; c++)
            *(run.plan->classes[c].stage ? &last[i] : &first[i]) = run.plan->classes[c].parameters;
        for (int k = 0; k < run.plan->ncollectives; k++)
            embeddings[i] += !strcmp(run.plan->collectives[k].name, "embedding grads");
        ss_run_free(&run);
        scale_close(&s);
    }
    CU_ASSERT_EQUAL(first[0], first[1]);
    /* One tensor rank has half of the matrices and all of the norms. */
    double h = 4096, layer = 218103808.0 / 2 + 2 * h, prediction = layer + 3 * h + 2 * h * h / 2;
    CU_ASSERT_EQUAL(last[1] - last[0], prediction + 128512.0 / 2 * h);
    CU_ASSERT_EQUAL(embeddings[0], 0);
    CU_ASSERT(embeddings[1] > 0);
}
