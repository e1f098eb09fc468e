/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Megatron-LM's num_floating_point_operations: three GEMMs forward and backward for each of the model, of experts those that a
 * token meets; no router, no window of local attention, no recompute. Here of the full square of scores, as Megatron
 * counted until 2025; it counts the causal half now.
 */
#include "job/packing.h"
#include "model/model_internal.h"
#include "plan/plan_internal.h"
#include "stepsim/job.h"

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

struct ss_plan_flops ss_plan_flops_of(const struct ss_job *job, const struct ss_stack *stack,
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
    return (struct ss_plan_flops){linear + attention, linear + attention / 2, linear + attention + again};
}
