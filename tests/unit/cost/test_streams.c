/* SPDX-License-Identifier: Apache-2.0 */
/* Hyper-connections: FLOP, bytes, parameters, what is saved and what recompute saves, by hand. */
#include "layers/stages.h"
#include "scale_job.h"
#include "small_job.h"
#include "stepsim/job_kinds.h"
#include "stepsim/parameters.h"

#define DENSE SS_LAYER_PAIR(SS_MIXER_FULL, SS_MLP_DENSE)
#define H 1024.
#define T 8192.
#define X (2 * T * H) /* bytes of one stream; n = 4 of them */

static void setting_streams(struct setting *t)
{
    setting_make(t);
    t->job.model.residual_streams = 4;
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(&t->job.model, NULL), 0);
}

static const struct ss_op *second(const struct ss_ops *ops, const char *name)
{
    const struct ss_op *last = NULL;
    for (int i = 0; i < ops->n; i++)
        last = strcmp(ops->op[i].name, name) ? last : &ops->op[i];
    return last;
}

TEST(operators)
{
    struct setting t;
    setting_make(&t);
    struct ss_ops plain = layer_of(&t, DENSE);
    setting_streams(&t);
    struct ss_ops ops = layer_of(&t, DENSE);
    CU_ASSERT(find(&plain, "residual") && !find(&ops, "residual"));
    const struct ss_op *map = find(&ops, "stream mappings"), *joined = find(&ops, "streams joined"),
                       *mixed = find(&ops, "streams mixed"), *sinkhorn = find(&ops, "sinkhorn");
    CU_ASSERT(map == &ops.op[0] && second(&ops, "stream mappings") != map &&
              second(&ops, "streams mixed") != mixed);
    CU_ASSERT_EQUAL(map->forward_flops, 2 * T * 24 * 4 * H);
    CU_ASSERT_EQUAL(map->backward_flops, 4 * T * 24 * 4 * H);
    CU_ASSERT_EQUAL(map->forward_bytes, 2 * 4 * X);
    CU_ASSERT_EQUAL(map->backward_bytes, 9 * 4 * X);
    CU_ASSERT_EQUAL(map->params, 24 * 4 * H + 24 + 3);
    CU_ASSERT_EQUAL(map->saved_bytes, 2 * T * (24 + 24 + 32 + 1));
    CU_ASSERT_EQUAL(sinkhorn->forward_flops, T * 20 * 2 * (16 + 12));
    CU_ASSERT_EQUAL(sinkhorn->forward_bytes, T * 2 * 16 * 4);
    CU_ASSERT(joined->forward_bytes == 5 * X && joined->backward_bytes == 9 * X);
    CU_ASSERT_EQUAL(joined->forward_flops, 2 * T * 4 * H);
    CU_ASSERT(mixed->forward_bytes == 17 * X && mixed->backward_bytes == 26 * X);
    CU_ASSERT_EQUAL(mixed->forward_flops, 2 * T * 4 * 5 * H);
    CU_ASSERT_EQUAL(mixed->saved_bytes, 5 * X);
    CU_ASSERT_EQUAL(ops.sum.params - plain.sum.params, 2 * (24 * 4 * H + 27));
    /* A site keeps the streams, the branch's output and its mappings; the norm's input is the branch's in place of the residual. */
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&ops, 0) - ss_ops_saved_bytes(&plain, 0), 2 * (5 * X + 2 * T * 81));
    t.job.fused_mhc = 1;
    ops = layer_of(&t, DENSE);
    CU_ASSERT_EQUAL(find(&ops, "stream mappings")->forward_bytes +
                        find(&ops, "streams joined")->forward_bytes +
                        find(&ops, "streams mixed")->forward_bytes,
                    18 * X);
    CU_ASSERT_EQUAL(find(&ops, "streams mixed")->backward_bytes, 14 * X);
}

/* Recompute drops streams, the branch's input, and of a norm that is a module of its own the output; it repeats three operators a site. */
TEST(recompute)
{
    struct setting t;
    unsigned mhc = SS_MODULE_BIT(SS_MODULE_MHC);
    setting_streams(&t);
    struct ss_ops ops = layer_of(&t, DENSE);
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&ops, 0) - ss_ops_saved_bytes(&ops, mhc), 2 * 5 * X);
    int repeated = 0;
    for (int i = 0; i < ops.n; i++)
        repeated += (ops.op[i].modules & mhc) != 0;
    CU_ASSERT_EQUAL(repeated, 2 * 3);
    t.job.model.kv_lora_rank = 128;
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(&t.job.model, NULL), 0);
    ops = layer_of(&t, SS_LAYER_PAIR(SS_MIXER_LATENT, SS_MLP_NONE));
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&ops, 0) - ss_ops_saved_bytes(&ops, mhc), 6 * X + 4 * T);
}

/* A layer that is one half has one site; borders make the streams of the embedding and one of the streams. */
TEST(borders)
{
    struct setting t;
    setting_streams(&t);
    struct ss_model *m = &t.job.model;
    struct ss_ops half = layer_of(&t, SS_LAYER_PAIR(SS_MIXER_no_mixer, SS_MLP_DENSE));
    CU_ASSERT_PTR_EQUAL(find(&half, "stream mappings"), second(&half, "stream mappings"));
    struct ss_ops embedding = layer_of(&t, SS_LAYER_EMBEDDING), loss = layer_of(&t, SS_LAYER_LOSS);
    CU_ASSERT_EQUAL(find(&embedding, "streams")->forward_bytes, 5 * X);
    CU_ASSERT_EQUAL(find(&loss, "streams mean")->forward_bytes, 5 * X);
    CU_ASSERT_EQUAL(ss_shape_border_bytes(&t.c.shape), 4 * X);
    m->streams_head = 1;
    loss = layer_of(&t, SS_LAYER_LOSS);
    CU_ASSERT_EQUAL(find(&loss, "streams head")->params, 4 * 4 * H + 5);
    CU_ASSERT_EQUAL(find(&loss, "streams head")->saved_bytes, 4 * X + 4 * 2 * X);
    struct ss_ops mtp = layer_of(&t, SS_LAYER_MTP), again = layer_of(&t, SS_LAYER_MTP_EMBEDDING);
    CU_ASSERT_EQUAL(mtp.sum.params, 2 * H * H + 2 * H);
    CU_ASSERT_EQUAL(find(&mtp, "prediction projection")->forward_flops, 2 * 4 * T * H * H);
    CU_ASSERT_EQUAL(find(&mtp, "embedding projection")->saved_bytes, X);
    CU_ASSERT_PTR_NULL(find(&again, "streams"));
    t.job.tp = 2;
    t.job.sequence_parallel = 1;
    struct ss_ops tensor = layer_of(&t, DENSE); /* whole weights, a half of the tokens */
    CU_ASSERT_EQUAL(find(&tensor, "stream mappings")->params, 24 * 4 * H + 27);
    CU_ASSERT_EQUAL(find(&tensor, "streams mixed")->saved_bytes, 5 * X / 2);
    CU_ASSERT_EQUAL(ss_shape_border_bytes(&t.c.shape), 2 * X);
}

struct answer {
    double seconds, sent, activations;
};

static struct answer answer(const char *text, int level)
{
    struct ss_run_options options = {.engine = SS_ENGINE_NATIVE, .plan.level = level};
    struct scale_job s;
    struct ss_run run;
    struct answer a;
    CU_ASSERT_FATAL(!scale_open(&s, text));
    CU_ASSERT_FATAL(!scale_run(&s, &options, &run));
    const struct ss_chunk_cost *chunk = &run.plan->classes[0].chunks[0];
    a = (struct answer){run.result->iteration_s, chunk->send_bytes, chunk->activation_bytes};
    ss_run_free(&run);
    scale_close(&s);
    return a;
}

#define JOB "h100 2;--model llama3.1-8b --bf16 --pp 2 --tp 2 --sequence-parallel --seq 4096 --mbs 1 --gbs 16 "

/* Stages exchange all streams; a block of 16 layers keeps one input, blocks of 4 keep 4. */
TEST(jobs)
{
    struct answer one = answer(JOB, SS_LEVEL_CHUNK),
                  four = answer(JOB "--enable-mhc-connections", SS_LEVEL_CHUNK);
    struct answer layer = answer(JOB "--enable-mhc-connections", SS_LEVEL_LAYER);
    CU_ASSERT_EQUAL(four.sent, 4 * one.sent);
    CU_ASSERT(four.seconds > one.seconds);
    CU_ASSERT_DOUBLE_EQUAL(layer.seconds, four.seconds, 0.01 * four.seconds);
#define MHC JOB "--enable-mhc-connections --recompute-granularity selective --recompute-modules mhc "
    struct answer whole = answer(MHC, SS_LEVEL_CHUNK),
                  blocks = answer(MHC "--mhc-recompute-layer-num 4", SS_LEVEL_CHUNK);
    double stream = 4096. * 4096 * 2 / 2; /* a rank's bytes of one */
    CU_ASSERT_DOUBLE_EQUAL(four.activations - whole.activations, (16 * 2 * 5 - 4) * stream, 1);
    CU_ASSERT_DOUBLE_EQUAL(blocks.activations - whole.activations, 3 * 4 * stream, 1);
}
