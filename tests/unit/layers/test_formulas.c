/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Megatron-LM's count of FLOP, and parameters as published shapes give them, in closed form for the layers of today: against the sums
 * over operators, for every model that comes with stepsim and every way to recompute.
 */
#include "base/base.h"
#include "job/packing.h"
#include "layers/flops.h"
#include "layers/kinds.h"
#include "layers/stages.h"
#include "model/model_internal.h"
#include "scale_job.h"
#include "suite.h"

/* ---- parameters ---- */

static double norm(const struct ss_model *m)
{
    return (double)m->norm_vectors * m->hidden_size;
}

/* A matrix of `in` rows and `out` columns with or without a bias. */
static double linear(double in, double out, int bias)
{
    return in * out + (bias ? out : 0);
}

/* Keys and values are compressed to kv_lora_rank, queries to q_lora_rank or not at all. Biases are on what leaves the
 * hidden size and on what returns to it. */
static double latent_attention(const struct ss_model *m)
{
    double h = m->hidden_size, a = m->num_attention_heads, qk = m->qk_head_dim + m->qk_pos_emb_head_dim;
    double n = linear(h, m->kv_lora_rank + m->qk_pos_emb_head_dim, m->qkv_bias);

    n += m->kv_lora_rank * a * (m->qk_head_dim + m->v_head_dim);
    n += m->q_lora_rank ? linear(h, m->q_lora_rank, m->qkv_bias) + m->q_lora_rank * a * qk : h * a * qk;
    if (m->qk_norm != SS_QK_NORM_NONE)
        n += (double)m->q_lora_rank + m->kv_lora_rank;
    return n + linear(a * m->v_head_dim, h, m->attention_out_bias);
}

static double attention(const struct ss_model *m)
{
    double h = m->hidden_size, d = m->kv_channels;
    double query = m->num_attention_heads * d, key = m->num_query_groups * d;
    double n = m->attention_sinks ? m->num_attention_heads : 0;

    if (m->kv_lora_rank > 0)
        return n + latent_attention(m);
    if (m->qk_norm == SS_QK_NORM_HEAD)
        n += m->norm_vectors * 2 * d;
    if (m->qk_norm == SS_QK_NORM_WIDTH)
        n += m->norm_vectors * (query + key);
    return n + linear(h, query + 2 * key, m->qkv_bias) + linear(query, h, m->attention_out_bias);
}

static double mlp(const struct ss_model *m, double ffn, int bias)
{
    double h = m->hidden_size;
    return linear(h, m->gated_mlp ? 2 * ffn : ffn, bias) + linear(ffn, h, bias);
}

/* A mixture of which so many experts are counted. */
static double mixture(const struct ss_model *m, int experts)
{
    double n = linear(m->hidden_size, m->num_experts, m->router_linear_bias);

    if (m->router_bias)
        n += m->num_experts;
    if (m->shared_expert_ffn_hidden_size > 0)
        n += mlp(m, m->shared_expert_ffn_hidden_size, m->mlp_bias);
    if (m->shared_expert_gate)
        n += m->hidden_size;
    return n + experts * mlp(m, m->moe_ffn_hidden_size, m->expert_bias);
}

static double layer(const struct ss_model *m, int moe, int experts)
{
    int norms = (m->parallel_residual == SS_RESIDUAL_ONE_NORM ? 1 : 2) + (m->post_norms ? 2 : 0);

    return attention(m) + norms * norm(m) +
           (moe ? mixture(m, experts) : mlp(m, m->ffn_hidden_size, m->mlp_bias));
}

/* All layers, and those behind them that predict more tokens: two norms and a projection before a layer as the last one,
 * a norm behind it. */
static double layers(const struct ss_model *m, int experts, double *mtp)
{
    double n = 0, h = m->hidden_size;
    int mixtures = 0, last = 0;

    for (int i = 0; i < m->num_layers; i++) {
        last = m->num_experts > 0 && ss_layer_rule_has(&m->moe_layers, i);
        mixtures += last;
    }
    if (mixtures > 0)
        n += mixtures * layer(m, 1, experts);
    n += (m->num_layers - mixtures) * layer(m, 0, 0);
    *mtp = m->mtp_num_layers * (layer(m, last, experts) + 2 * h * h + 3 * norm(m));
    return n;
}

static void count(const struct ss_model *m, int padded_vocab, struct ss_parameter_counts *out)
{
    double h = m->hidden_size, row = ss_model_embedding_row(m), rest;

    out->encoder = 0;
    out->input = padded_vocab * row;
    if (m->position == SS_POSITION_LEARNED)
        out->input += ((double)m->max_position_embeddings + m->extra_positions) * h;
    out->output = m->tied_embeddings ? 0 : padded_vocab * row;
    rest = out->input + out->output + (m->final_norm + m->embedding_norm) * norm(m);
    if (m->embedding_size)
        rest += 2 * h * row;
    if (m->output_bias)
        rest += padded_vocab;
    out->total = rest + layers(m, m->num_experts, &out->mtp);
    out->active = rest + layers(m, m->top_k, &out->mtp_active);
}

/* ---- FLOP ---- */

/* Parts of one layer's forward, and of what is there once, in units of 2 h^2 FLOP a token. */
struct parts {
    double projections; /* of attention */
    double up;          /* of them latent attention's up-projections */
    double dense, routed, shared;
    double logits; /* of all output layers, by layer */
    double extra;  /* norms and projections of multi-token prediction, by layer */
};

/* What Megatron counts of latent attention, norms of the latents included. */
static void latent_parts(const struct ss_model *m, struct parts *p)
{
    double h = m->hidden_size, a = m->num_attention_heads, d = m->qk_head_dim + m->qk_pos_emb_head_dim;
    double from = m->q_lora_rank > 0 ? m->q_lora_rank : h, kv = m->kv_lora_rank;
    double q_up = from * a * d, kv_up = kv * a * (m->qk_head_dim + m->v_head_dim);
    double down = (m->q_lora_rank > 0 ? from * (h + 1) : 0) + kv * (h + 1) + h * m->qk_pos_emb_head_dim;
    p->up = (q_up + kv_up) / (2 * h * h);
    p->projections = (down + q_up + kv_up + a * m->v_head_dim * h) / (2 * h * h);
}

/* Rows of an output layer of h, and of as many as the projections of a smaller vocabulary make. */
static double logits_of(const struct ss_model *m, double padded_vocab)
{
    double h = m->hidden_size, row = ss_model_embedding_row(m);
    return (padded_vocab + (row < h || row > h ? 2 * h : 0)) * row / h;
}

static struct parts parts_of(const struct ss_model *m, double layers, double padded_vocab)
{
    struct parts p = {0};
    double h = m->hidden_size, gate = m->gated_mlp ? 1.5 : 1, mtp = m->mtp_num_layers;
    double q = (double)m->kv_channels * m->num_attention_heads / h;
    double groups = (double)m->num_query_groups / m->num_attention_heads;
    p.projections = q * (1 + groups);
    if (m->kv_lora_rank > 0)
        latent_parts(m, &p);
    p.dense = m->ffn_hidden_size / h * gate;
    p.routed = (double)m->moe_ffn_hidden_size * m->top_k / h * gate;
    p.shared = m->shared_expert_ffn_hidden_size / h * gate;
    p.logits = logits_of(m, padded_vocab) / (2 * layers * h) * (1 + mtp);
    p.extra = mtp * (3 * h + 2 * h * h) / (2 * layers * h * h);
    return p;
}

/* Products with the scores, all layers and the full square. */
static double scores(const struct ss_model *m, double base, double sequence)
{
    double h = m->hidden_size, a = m->num_attention_heads;
    if (m->kv_lora_rank > 0)
        return base * sequence * a * (m->qk_head_dim + m->qk_pos_emb_head_dim + m->v_head_dim) / (2 * h * h);
    return base * ((double)m->kv_channels * m->num_attention_heads / h) * sequence / h;
}

static int is_moe(const struct ss_model *m, int layer)
{
    return m->num_experts > 0 && ss_layer_rule_has(&m->moe_layers, layer);
}

/* Share of all layers that is recomputed whole, dense ones and those of experts. */
static void recomputed(const struct ss_job *job, const struct ss_schedule *s, double layers, double share[2])
{
    const struct ss_model *m = &job->model;
    for (int vs = 0; vs < ss_schedule_depth(s); vs++) {
        int n = ss_recomputed_layers(job, ss_stage_layers(job, s, vs)), moe = 0;
        int first = m->num_experts > 0 ? ss_stage_first_layer(job, s, vs) : 0;
        for (int i = 0; i < n && m->num_experts > 0; i++)
            moe += is_moe(m, first + i);
        share[0] += (n - moe) / layers;
        share[1] += moe / layers;
    }
    if (job->recompute.method ==
        SS_RECOMPUTE_UNIFORM) /* Megatron's layers of multi-token prediction know no other */
        share[is_moe(m, m->num_layers - 1)] += m->mtp_num_layers / layers;
}

/* Linear layers that recompute by operator repeats: keys, the projection unless its reduced output is kept, half of a gated MLP. */
static double by_operator(const struct ss_job *job, double base)
{
    const struct ss_model *m = &job->model;
    double h = m->hidden_size, d = m->kv_channels;
    double columns = m->num_query_groups * d + (job->tp > 1 ? 0 : m->num_attention_heads * d) +
                     (m->gated_mlp ? m->ffn_hidden_size : 0);
    return base * columns / (6 * h);
}

/* Modules that selective recompute repeats; `moe`: share of layers with experts. Norms and activations are not in the count. */
static double repeated(unsigned modules, const struct parts *p, double moe, double base, double attention)
{
    double again = 0;
    if (modules == 0 || modules & SS_MODULE_BIT(SS_MODULE_CORE_ATTN))
        again += attention / 3;
    if (modules & SS_MODULE_BIT(SS_MODULE_MLA_UP_PROJ))
        again += base * p->up / 3;
    if (modules & SS_MODULE_BIT(SS_MODULE_MLP))
        again += base * (1 - moe) * p->dense / 3;
    if (modules & SS_MODULE_BIT(SS_MODULE_MOE))
        again += base * moe * (p->routed + p->shared) / 3;
    else if (modules & SS_MODULE_BIT(SS_MODULE_SHARED_EXPERTS))
        again += base * moe * p->shared / 3;
    return again;
}

static struct ss_model_flops flops_of(const struct ss_job *job, const struct ss_stack *stack,
                                      const struct ss_schedule *schedule, int padded_vocab)
{
    const struct ss_model *m = &job->model;
    double h = m->hidden_size, layers = m->num_layers + m->mtp_num_layers, v = padded_vocab;
    double s = job->seq_length, base = 12.0 * job->global_batch * s * layers * h * h, moe = 0, again = 0;
    double attention = scores(m, base, s);
    if (job->packed.rows) { /* without padding; each document sees itself */
        attention *= job->packed.rows->token_squares / (s * s);
        base *= job->packed.rows->tokens / s;
    }
    const struct parts p = parts_of(m, layers, v);
    for (int i = 0; i < m->num_layers; i++)
        moe += is_moe(m, i) + (i == m->num_layers - 1 ? is_moe(m, i) * m->mtp_num_layers : 0);
    moe /= layers;
    double linear =
        base * (p.projections + (p.dense * (1 - moe) + (p.routed + p.shared) * moe) + p.logits + p.extra);
    if (job->recompute.granularity == SS_RECOMPUTE_SELECTIVE)
        again = job->recompute.modules & SS_MODULE_BIT(SS_MODULE_OPERATORS)
                    ? by_operator(job, base)
                    : repeated(job->recompute.modules, &p, moe, base, attention);
    if (job->recompute.granularity == SS_RECOMPUTE_FULL) {
        double share[2] = {0, 0}, logits = base * p.logits;
        double dense = base * (p.projections + p.dense + p.logits) + attention - logits;
        double experts = base * (p.projections + p.routed + p.shared + p.logits) + attention - logits;
        if (stack->stops_early > 0) /* before the MLP's second GEMM */
            dense -= base * p.dense / (m->gated_mlp ? 3 : 2);
        recomputed(job, schedule, layers, share);
        again = share[0] * dense / 3 + share[1] * experts / 3;
        if (job->recompute.method == SS_RECOMPUTE_UNIFORM)
            again += base * p.extra / 3;
    }
    return (struct ss_model_flops){.model = linear + attention,
                                   .causal = linear + attention / 2,
                                   .hardware = linear + attention + again};
}

/* ---- comparison ---- */

static void expect_counts(const char *name, const struct ss_model *m, int rows)
{
    struct ss_parameter_counts want, got;
    count(m, rows, &want);
    ss_model_count(m, rows, &got);
    if (memcmp(&want, &got, sizeof want))
        printf("%s: %.0f (%.0f active) parameters, %.0f (%.0f) by formula\n", name, got.total, got.active,
               want.total, want.active);
    CU_ASSERT_EQUAL(memcmp(&want, &got, sizeof want), 0);
}

static void expect_flops(const char *name, const struct ss_job *job, const struct ss_stack *stack,
                         const struct ss_schedule *schedule, int rows)
{
    const struct ss_model_flops want = flops_of(job, stack, schedule, rows),
                                got = ss_model_flops_of(job, stack, schedule, rows);
    const double pairs[][2] = {
        {want.model, got.model}, {want.causal, got.causal}, {want.hardware, got.hardware}};
    for (size_t i = 0; i < SS_ARRAY_LEN(pairs); i++) {
        double apart = fabs(pairs[i][1] / pairs[i][0] - 1);
        if (!(apart <= 1e-15))
            printf("%s, recompute %d %x: %.17g, %.17g by formula\n", name, job->recompute.granularity,
                   job->recompute.modules, pairs[i][1], pairs[i][0]);
        CU_ASSERT(apart <= 1e-15);
    }
}

/* Every setting that a job may have, on two stages of two chunks. */
static void expect_model(const char *name)
{
    static const struct {
        int recompute, method, layers;
        unsigned modules;
        double stops_early;
    } ways[] = {
        {SS_RECOMPUTE_NONE, 0, 0, 0, 0},
        {SS_RECOMPUTE_SELECTIVE, 0, 0, 0, 0},
        {SS_RECOMPUTE_SELECTIVE, 0, 0,
         SS_MODULE_BIT(SS_MODULE_MLA_UP_PROJ) | SS_MODULE_BIT(SS_MODULE_LAYERNORM), 0},
        {SS_RECOMPUTE_SELECTIVE, 0, 0, SS_MODULE_BIT(SS_MODULE_MLP) | SS_MODULE_BIT(SS_MODULE_SHARED_EXPERTS),
         0},
        {SS_RECOMPUTE_SELECTIVE, 0, 0, SS_MODULE_BIT(SS_MODULE_MOE) | SS_MODULE_BIT(SS_MODULE_SHARED_EXPERTS),
         0},
        {SS_RECOMPUTE_SELECTIVE, 0, 0, SS_MODULE_BIT(SS_MODULE_MOE_ACT) | SS_MODULE_BIT(SS_MODULE_CORE_ATTN),
         0},
        {SS_RECOMPUTE_FULL, SS_RECOMPUTE_UNIFORM, 1, 0, 0},
        {SS_RECOMPUTE_FULL, SS_RECOMPUTE_UNIFORM, 1, 0, 1},
        {SS_RECOMPUTE_FULL, SS_RECOMPUTE_BLOCK, 2, 0, 0},
        {SS_RECOMPUTE_FULL, SS_RECOMPUTE_BLOCK, 2, 0, 1},
        {SS_RECOMPUTE_SELECTIVE, 0, 0, SS_MODULE_BIT(SS_MODULE_OPERATORS), 0},
    };
    const struct ss_schedule_params params = {.stages = 2, .chunks = 2, .microbatches = 8};
    struct ss_schedule *schedule;
    struct ss_stack stack = {.split_linear = 1};
    struct ss_job job;
    ss_job_init(&job);
    CU_ASSERT_EQUAL_FATAL(ss_model_load(name, &job.model, NULL), 0);
    memset(&job.model.vision, 0, sizeof job.model.vision); /* the text alone */
    memset(&job.model.audio, 0, sizeof job.model.audio);
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(&job.model, NULL), 0);
    for (int i = 0; i < job.model.num_layers; i++) /* tests/models has those of other mixers */
        if (ss_layer_kind_in(&job.model, 4096, i) < SS_LAYER_PAIR(SS_MIXER_LOCAL, 0))
            return;
    CU_ASSERT_EQUAL_FATAL(ss_schedule_build("interleaved", &params, &schedule, NULL), 0);
    int rows = ss_model_padded_vocab(&job.model, 128, 8);
    expect_counts(name, &job.model, rows);
    job.seq_length = 4096;
    job.global_batch = 1536;
    job.pp = 2;
    job.tp = 1;
    for (size_t i = 0; i < SS_ARRAY_LEN(ways); i++) {
        job.recompute.granularity = ways[i].recompute;
        job.recompute.method = ways[i].method;
        job.recompute.num_layers = ways[i].layers;
        job.recompute.modules = ways[i].modules;
        stack.stops_early = ways[i].stops_early;
        if (ways[i].modules == SS_MODULE_BIT(SS_MODULE_OPERATORS) &&
            (job.model.num_experts || job.model.kv_lora_rank)) /* refused */
            continue;
        expect_flops(name, &job, &stack, schedule, rows);
        job.tp = 3 - job.tp;
        expect_flops(name, &job, &stack, schedule, rows);
    }
    ss_schedule_free(schedule);
}

TEST(all_models)
{
    char **names;
    size_t n;
    CU_ASSERT_EQUAL_FATAL(ss_data_list("workloads/models", ".json", &names, &n, NULL), 0);
    CU_ASSERT(n > 20);
    for (size_t i = 0; i < n; i++)
        expect_model(names[i]);
    ss_names_free(names, n);
}

/* What a rank holds that has all of a model is what its count says. */
TEST(one_rank)
{
    static const char *const models[] = {"llama3.1-8b",  "deepseek-v2-lite",    "gpt-oss-20b",
                                         "bloom-7b1",    "nemotron-h-8b",       "nemotron-3-super-120b-a12b",
                                         "qwen3.5-0.8b", "kimi-linear-48b-a3b", "ring-mini-linear-2.0"};
    for (size_t i = 0; i < SS_ARRAY_LEN(models); i++) {
        struct scale_job s;
        struct ss_run run;
        struct ss_parameter_counts counts;
        char text[512];
        snprintf(text, sizeof text, "h800 1;--model %s --bf16 --seq 1024 --mbs 1 --gbs 8", models[i]);
        CU_ASSERT_EQUAL_FATAL(scale_open(&s, text), 0);
        CU_ASSERT_EQUAL_FATAL(scale_run(&s, NULL, &run), 0);
        ss_model_count(&s.job.model, run.plan->padded_vocab, &counts);
        CU_ASSERT_EQUAL(run.plan->classes[0].parameters, counts.total + counts.mtp);
        ss_run_free(&run);
        scale_close(&s);
    }
}

/* Packed rows: products with scores in each document alone, no padding. A mixture of one expert has a router. */
TEST(odd_jobs)
{
    struct ss_packing packing = {.token_squares = 3.25e6, .tokens = 4000};
    const struct ss_schedule_params params = {.stages = 1, .chunks = 1, .microbatches = 8};
    struct ss_schedule *schedule;
    const struct ss_stack stack = {0};
    struct ss_job job;
    ss_job_init(&job);
    CU_ASSERT_EQUAL_FATAL(ss_model_load("mixtral-8x7b", &job.model, NULL), 0);
    job.model.num_experts = job.model.top_k = 1;
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(&job.model, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_schedule_build("1f1b", &params, &schedule, NULL), 0);
    expect_counts("one expert", &job.model, 32000);
    job.packed.rows = &packing;
    job.seq_length = 4096;
    job.global_batch = 64;
    job.pp = job.tp = 1;
    job.recompute.granularity = SS_RECOMPUTE_SELECTIVE;
    expect_flops("packed", &job, &stack, schedule, 32000);
    ss_schedule_free(schedule);
}
