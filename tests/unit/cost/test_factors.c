/* SPDX-License-Identifier: Apache-2.0 */
/* Factors and soft caps, embeddings narrower than the model, and layers that do not turn queries, by hand. */
#include "scale_job.h"
#include "small_job.h"

/* Tokens of the small job, and bytes of one pass over its hidden state, queries, scores and logits. */
#define TOKENS 8192.0
#define HIDDEN (2 * TOKENS * 1024)
#define SCORES (2 * TOKENS * 4096 * 16)
#define LOGITS (2 * TOKENS * 32000)

static void expect_passes(const struct ss_op *op, double forward, double backward, int kernels)
{
    CU_ASSERT_PTR_NOT_NULL_FATAL(op);
    CU_ASSERT_EQUAL(op->forward_bytes, forward);
    CU_ASSERT_EQUAL(op->backward_bytes, backward);
    CU_ASSERT_EQUAL(op->forward_kernels, kernels);
    CU_ASSERT_EQUAL(op->backward_kernels, kernels);
    CU_ASSERT_EQUAL(op->forward_flops + op->params, 0);
}

TEST(embedding_scale)
{
    struct setting t;
    setting_make(&t);
    struct ss_ops plain = layer_of(&t, SS_LAYER_EMBEDDING);
    t.job.model.embedding_scale = 1;
    struct ss_ops scaled = layer_of(&t, SS_LAYER_EMBEDDING);
    expect_passes(find(&scaled, "embedding scale"), 2 * HIDDEN, 2 * HIDDEN, 1);
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&scaled, 0), ss_ops_saved_bytes(&plain, 0));
    CU_ASSERT_PTR_NULL(find(&plain, "embedding scale"));
    t.job.tp = 4;
    t.job.sequence_parallel = 1; /* behind the scatter */
    scaled = layer_of(&t, SS_LAYER_EMBEDDING);
    expect_passes(find(&scaled, "embedding scale"), HIDDEN / 2, HIDDEN / 2, 1);
}

TEST(logits)
{
    struct setting t;
    setting_make(&t);
    struct ss_ops plain = layer_of(&t, SS_LAYER_LOSS);
    t.job.model.logits_scale = t.job.model.logits_softcap = 1;
    struct ss_ops capped = layer_of(&t, SS_LAYER_LOSS);
    expect_passes(find(&capped, "logits scale"), 2 * LOGITS, 2 * LOGITS, 1);
    expect_passes(find(&capped, "logits soft cap"), 6 * LOGITS, 7 * LOGITS, 3);
    CU_ASSERT_EQUAL(capped.sum.logits - plain.sum.logits, LOGITS);
    t.stack.fused_linear_loss = 1;
    capped = layer_of(&t, SS_LAYER_LOSS);
    CU_ASSERT_PTR_NULL(find(&capped, "logits soft cap"));
    CU_ASSERT_PTR_NULL(find(&capped, "logits scale"));
}

TEST(scores)
{
    struct setting t;
    setting_make(&t);
    for (int fused = 0; fused < 2; fused++) {
        t.job.attention = fused ? SS_ATTENTION_FUSED : SS_ATTENTION_UNFUSED;
        t.job.model.attention_softcap = 0;
        struct ss_ops plain = layer_of(&t, DENSE);
        t.job.model.attention_softcap = 1;
        struct ss_ops capped = layer_of(&t, DENSE);
        const struct ss_op *a = find(&plain, "core attention"), *b = find(&capped, "core attention");
        CU_ASSERT_EQUAL(b->forward_bytes - a->forward_bytes, fused ? 0 : 6 * SCORES);
        CU_ASSERT_EQUAL(b->backward_bytes - a->backward_bytes, fused ? 0 : 7 * SCORES);
        CU_ASSERT_EQUAL(b->forward_kernels - a->forward_kernels, fused ? 0 : 3);
        CU_ASSERT_EQUAL(b->redone_bytes - a->redone_bytes, fused ? 0 : SCORES);
        CU_ASSERT_EQUAL(b->forward_flops, a->forward_flops);
    }
}

/* Layers of Llama 4 that attend to all tokens neither norm nor turn; the others are as in any model. */
TEST(unturned)
{
    struct setting t;
    setting_make(&t);
    t.job.model.qk_norm = SS_QK_NORM_PLAIN;
    t.job.model.full_unturned = t.job.model.query_scale = 1;
    struct ss_ops full = layer_of(&t, DENSE), local = layer_of(&t, LOCAL_DENSE);
    expect_passes(find(&full, "query scale"), 2 * HIDDEN, 2 * HIDDEN, 1); /* 16 heads of 64 */
    CU_ASSERT_PTR_NULL(find(&full, "rope"));
    CU_ASSERT_PTR_NULL(find(&full, "qk norm"));
    CU_ASSERT_PTR_NOT_NULL(find(&local, "rope"));
    CU_ASSERT_PTR_NOT_NULL(find(&local, "qk norm"));
    CU_ASSERT_PTR_NULL(find(&local, "query scale"));
    t.job.model.full_unturned = 2; /* EXAONE 4: the norms stay */
    full = layer_of(&t, DENSE);
    CU_ASSERT_PTR_NULL(find(&full, "rope"));
    CU_ASSERT_PTR_NOT_NULL(find(&full, "qk norm"));
    t.job.model.attention_chunk = 8192; /* as long as the sequence: all the same */
    t.job.model.local_layers = (struct ss_layer_rule){.n = 4, .bits = {7}};
    CU_ASSERT_EQUAL(ss_layer_kind_of(&t.job, 2), LOCAL_DENSE);
    CU_ASSERT_EQUAL(ss_layer_kind_of(&t.job, 3), DENSE);
}

/* Rows of 256 in a model of 1024: a matrix of 256 x 1024 behind the look-up and before the logits. */
TEST(projections)
{
    struct setting t;
    setting_make(&t);
    t.job.model.embedding_size = 256;
    struct ss_ops in = layer_of(&t, SS_LAYER_EMBEDDING), out = layer_of(&t, SS_LAYER_LOSS);
    const struct ss_op *op = find(&in, "embedding projection");
    CU_ASSERT_PTR_NOT_NULL_FATAL(op);
    CU_ASSERT_EQUAL(op->forward_flops, 2 * TOKENS * 256 * 1024);
    CU_ASSERT_EQUAL(op->saved_bytes, HIDDEN / 4);
    CU_ASSERT_EQUAL(in.sum.params, 32000.0 * 256 + 256 * 1024);
    CU_ASSERT_EQUAL(find(&in, "embedding")->forward_bytes, 2 * HIDDEN / 4);
    op = find(&out, "output projection");
    CU_ASSERT_PTR_NOT_NULL_FATAL(op);
    CU_ASSERT_EQUAL(op->forward_flops, 2 * TOKENS * 256 * 1024);
    CU_ASSERT_EQUAL(op->saved_bytes, HIDDEN / 4); /* its input is the norm's output */
    CU_ASSERT_EQUAL(find(&out, "logits")->forward_flops, 2 * TOKENS * 256 * 32000);
    CU_ASSERT_EQUAL(out.sum.params, 1024 + 32000.0 * 256 + 256 * 1024);
    t.job.model.final_norm = 0;
    out = layer_of(&t, SS_LAYER_LOSS);
    CU_ASSERT_EQUAL(find(&out, "output projection")->saved_bytes, HIDDEN / 4 + HIDDEN);
    t.job.model.embedding_size = 0;
    out = layer_of(&t, SS_LAYER_LOSS);
    CU_ASSERT_EQUAL(find(&out, "logits")->saved_bytes, HIDDEN);
}

/* Both ends of a pipeline hold the table of OPT-350m; together with the layers that is Hugging Face's 331,196,416 parameters and the table's
 * copy: 50,272 rows of 512. Its logits have 50,272 + 2 x 1024 rows of 512 in FLOP. */
TEST(opt)
{
    struct scale_job s;
    struct ss_run run;
    double both = 0;
    CU_ASSERT_EQUAL_FATAL(scale_open(&s, "h800 1;--model opt-350m --bf16 --seq 1024 --mbs 1 --gbs 8 --pp 2 "
                                         "--make-vocab-size-divisible-by 1"),
                          0);
    CU_ASSERT_EQUAL_FATAL(scale_run(&s, NULL, &run), 0);
    CU_ASSERT_EQUAL(run.plan->parameters, 331196416);
    for (int rank = 0; rank < 8; rank += 4)
        both += run.plan->classes[run.plan->class_of[rank]].parameters;
    CU_ASSERT_EQUAL(both, 331196416.0 + 50272 * 512);
    double layer = 24 * (12 * 1024.0 * 1024 + 2 * 1024 * 1024), logits = (50272 + 2048) * 512.0;
    CU_ASSERT_DOUBLE_EQUAL(run.plan->model_flops, 6 * 8192 * (layer + logits), 1e7);
    ss_run_free(&run);
    scale_close(&s);
}

/* ---- what configs say ---- */

static struct ss_model config(const char *name)
{
    struct ss_model m;
    CU_ASSERT_EQUAL_FATAL(ss_model_load(name, &m, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(&m, NULL), 0);
    return m;
}

TEST(configs)
{
    struct ss_model gemma = config("gemma-2-9b"), third = config("gemma-3-12b"),
                    llama = config("llama4-scout");
    CU_ASSERT(gemma.embedding_scale && gemma.attention_softcap && gemma.logits_softcap);
    CU_ASSERT(third.embedding_scale && !third.attention_softcap && !third.logits_softcap);
    CU_ASSERT(config("gemma-2b").embedding_scale);
    CU_ASSERT(config("grok1-314b").attention_softcap);
    CU_ASSERT(llama.full_unturned && llama.query_scale);
    CU_ASSERT(!config("qwen3-8b").full_unturned && !config("llama3-8b").embedding_scale);
}

/* The chunks of a Llama 4 shorten its long sequences: three layers of four see the 8192 tokens of their own. A window takes
 * their place. */
TEST(chunks)
{
    struct scale_job s;
    CU_ASSERT_EQUAL_FATAL(scale_open(&s, "h800 1;--model llama4-scout --bf16 --seq 32768 --mbs 1 --gbs 8"),
                          0);
    CU_ASSERT_EQUAL(ss_layer_kind_of(&s.job, 2), LOCAL_MOE);
    CU_ASSERT_EQUAL(ss_layer_kind_of(&s.job, 3), MOE);
    scale_close(&s);
    CU_ASSERT_EQUAL_FATAL(
        scale_open(&s, "h800 1;--model llama4-scout --bf16 --seq 32768 --mbs 1 --gbs 8 --window-size 1023,0"),
        0);
    CU_ASSERT_EQUAL(s.job.model.attention_chunk, 0);
    CU_ASSERT_EQUAL(ss_layer_kind_of(&s.job, 3), LOCAL_MOE);
    scale_close(&s);
}

static double parameters_of(const char *flags, double *seconds)
{
    struct scale_job s;
    struct ss_run run;
    char text[256];
    snprintf(text, sizeof text, "h800 1;--bf16 --seq 1024 --mbs 1 --gbs 8 --num-layers 2 %s", flags);
    CU_ASSERT_EQUAL_FATAL(scale_open(&s, text), 0);
    CU_ASSERT_EQUAL_FATAL(scale_run(&s, NULL, &run), 0);
    double parameters = run.plan->classes[0].parameters;
    *seconds = run.result->iteration_s;
    ss_run_free(&run);
    scale_close(&s);
    return parameters;
}

/* None of multi-token prediction is none, also where the model has a layer of it or learned positions. */
TEST(no_prediction)
{
    double seconds[3];
    double one = parameters_of("--model glm-4.5-air", &seconds[0]);
    double none = parameters_of("--model glm-4.5-air --mtp-num-layers 0", &seconds[1]);
    CU_ASSERT(none < one && seconds[1] < seconds[0]);
    double plain = parameters_of("--model gpt2-xl", &seconds[0]);
    CU_ASSERT_EQUAL(parameters_of("--model gpt2-xl --mtp-num-layers 0", &seconds[1]), plain);
    CU_ASSERT_EQUAL(seconds[1], seconds[0]);
}
