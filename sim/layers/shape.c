/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/shape.h"

#include "base/base.h"
#include "job/packing.h"
#include "layers/stages.h"
#include "model/model_internal.h"
#include "stepsim/job.h"

/* Returns a choice of the model, or what follows where the model is not finished. */
static int given(int choice, int otherwise)
{
    return choice >= 0 ? choice : otherwise;
}

static void biases(struct ss_shape *s, const struct ss_model *m)
{
    s->qkv_bias = m->qkv_bias || m->linear_bias;
    s->out_bias = given(m->attention_out_bias, m->linear_bias);
    s->mlp_bias = given(m->mlp_bias, m->linear_bias);
    s->norm_vectors = given(m->norm_vectors, m->normalization == SS_NORM_LAYERNORM ? 2 : 1);
}

/* Sets the sizes that tensor parallelism divides, and those that are whole on every rank. */
static void model_sizes(struct ss_shape *s, const struct ss_model *m, int padded_vocab, int tp)
{
    s->model = m;
    s->tp = tp;
    s->h = m->hidden_size;
    s->streams = m->residual_streams > 1 ? m->residual_streams : 1;
    s->moe_h = m->moe_latent_size > 0 ? m->moe_latent_size : m->hidden_size;
    s->ffn = (double)m->ffn_hidden_size / tp;
    s->vocab = (double)padded_vocab / tp;
    s->row = ss_model_embedding_row(m);
    s->gated = m->gated_mlp;
    biases(s, m);
    s->positions =
        m->position == SS_POSITION_LEARNED ? (double)m->max_position_embeddings + m->extra_positions : 0;
    s->rope = m->position == SS_POSITION_ROPE;
    s->tied = m->tied_embeddings;
}

static void expert_sizes(struct ss_shape *s, const struct ss_model *m, int ep, int etp)
{
    s->ep = ep;
    s->etp = etp;
    s->experts = m->num_experts;
    s->local_experts = s->experts / s->ep;
    s->top_k = m->top_k;
    s->moe_ffn = (double)m->moe_ffn_hidden_size / s->etp;
    s->shared_ffn = (double)m->shared_expert_ffn_hidden_size / s->tp;
}

static void microbatch(struct ss_shape *s, const struct ss_job *job)
{
    s->micro_batch = job->micro_batch;
    s->sequence = job->seq_length;
    s->packing = job->packed.rows;
    s->document = s->packing ? ss_packing_keys(s->packing, 0, 0) : s->sequence;
    s->chunk = (double)job->seq_length / job->cp;
    s->tokens = s->micro_batch * s->chunk;
    s->cp = job->cp;
    s->cp_comm = job->cp_comm_type;
    s->sp = job->sequence_parallel && job->tp > 1 ? job->tp : 1;
}

static void precisions(struct ss_shape *s, const struct ss_job *job)
{
    int casts = ss_recipe_at(ss_job_recipe(job))->casts;
    s->fp8_blocks = casts == SS_CASTS_BLOCKS;
    s->fp8_current = casts == SS_CASTS_TENSOR;
    s->block_scaled = casts >= SS_CASTS_UNITS;
    s->scaled_twice = casts == SS_CASTS_UNITS_TWICE;
    s->quantized = ss_job_quantized_bytes(job);
    s->gemm_precision = job->precision;
    s->storage_precision = ss_precision_is_quantized(job->precision) ? job->stored : job->precision;
    s->e = s->storage_precision == SS_FP32 ? 4 : 2;
}

int ss_shape_splits(const struct ss_stack *stack)
{
    return stack->split_linear > 0 || stack->split_gate > 0;
}

/* Sets whose kernels the layers call, and how. */
static void implementation(struct ss_shape *s, const struct ss_job *job, const struct ss_stack *stack)
{
    s->attention = job->attention;
    s->fp8_attention = job->fp8_attention && s->attention == SS_ATTENTION_FUSED;
    s->dsa_kernels = job->dsa_kernels;
    s->index_loss = job->index_loss;
    s->streams_fused = job->fused_mhc;
    s->mamba_apart = job->mamba_apart;
    s->stack = stack;
    s->te = stack->te_layers > 0 && !job->transformer_local;
    s->autocast = ss_job_autocasts(job, stack);
    s->by_operator = (ss_job_redone_modules(job) & SS_MODULE_BIT(SS_MODULE_OPERATORS)) != 0;
    s->split = ss_shape_splits(stack);
    s->rope_fused = ss_job_fuses_qkv_rope(job, stack);
    if (job->graphs.impl == SS_GRAPHS_TE)
        s->graphs = job->graphs.scope ? job->graphs.scope : ~0u;
    s->compiled = stack->compiled > 0;
    s->wgrad_fused = stack->fused_wgrad_accumulation > 0 && !job->wgrad_apart;
    s->fills = job->deterministic;
    s->deterministic = job->deterministic || stack->deterministic > 0;
    s->norm_passes = stack->norm_passes;
    s->weights_turned = stack->weights_turned > 0 && job->precision == SS_FP8 && job->fp8_param_gather;
    s->tp_comm_overlap = job->tp_comm_overlap && job->tp > 1 && s->sp > 1;
    s->pp_shares = stack->pp_scatter_gather > 0 && job->scatter_gather && s->sp == 1 ? job->tp : 1;
    s->attention_dropout = job->attention_dropout;
    s->hidden_dropout = job->hidden_dropout;
}

void ss_shape_of_model(struct ss_shape *s, const struct ss_model *m, int padded_vocab, double sequence)
{
    static const struct ss_stack none = {0};
    memset(s, 0, sizeof *s);
    s->stack = &none;
    model_sizes(s, m, padded_vocab, 1);
    expert_sizes(s, m, 1, 1);
    s->micro_batch = s->cp = 1;
    s->sp = s->pp_shares = 1;
    s->tokens = s->sequence = s->document = s->chunk = sequence;
    s->sent = s->routed = s->tokens * s->top_k;
    s->gemm_precision = s->storage_precision = SS_BF16;
    s->e = 2;
    s->attention = SS_ATTENTION_FLASH;
}

void ss_shape_init(struct ss_shape *s, const struct ss_job *job, const struct ss_stack *stack,
                   int padded_vocab)
{
    memset(s, 0, sizeof *s);
    model_sizes(s, &job->model, padded_vocab, job->tp);
    microbatch(s, job);
    precisions(s, job);
    implementation(s, job, stack);
}

int ss_tower_init(struct ss_tower *t, const struct ss_shape *text, int encoder, const struct ss_media *media)
{
    const struct ss_encoder *e = ss_model_encoder(text->model, encoder);
    struct ss_shape *s = &t->shape;
    if (e->num_layers == 0)
        return 0;
    ss_encoder_model(e, &t->model);
    *s = *text;
    model_sizes(s, &t->model, 0, e->undivided ? 1 : text->tp);
    expert_sizes(s, &t->model, 1, 1);
    s->encoder = e;
    t->which = encoder;
    s->text_h = text->h;
    s->frozen = media->frozen;
    t->recompute = media->recompute && !media->frozen;
    s->micro_batch = text->micro_batch * media->items;
    s->sequence = s->document = s->chunk = media->tokens + e->class_tokens;
    s->tokens = s->micro_batch * s->sequence;
    s->packing = NULL;
    s->cp = 1;
    s->sp = s->pp_shares = 1;
    s->gemm_precision = s->storage_precision;
    s->attention_dropout = s->hidden_dropout = 0;
    s->tp_comm_overlap = s->fp8_attention = s->by_operator = s->weights_turned = s->rope_fused = 0;
    s->graphs = 0;
    s->reserved_sms = 0;
    return 1;
}

void ss_shape_experts(struct ss_shape *s, const struct ss_job *job, const struct ss_token_spread *spread)
{
    const struct ss_model *m = &job->model;
    s->dispatcher = job->moe.dispatcher;
    s->shared_overlap = job->moe.shared_expert_overlap;
    s->shared_redone = job->recompute.granularity == SS_RECOMPUTE_SELECTIVE &&
                       ss_job_redone_modules(job) & SS_MODULE_BIT(SS_MODULE_SHARED_EXPERTS);
    s->paired = job->moe.overlap;
    /* DeepSeek's GEMMs leave DeepEP's SMs alone; HybridEP's kernels take SMs from whatever runs beside
     * them. */
    if (job->moe.overlap && s->dispatcher == SS_DISPATCH_DEEPEP)
        s->reserved_sms = job->moe.dispatch_sms;
    s->fp8_dispatch = job->moe.fp8_dispatch;
    expert_sizes(s, m, job->ep, job->etp);
    s->sent = spread->expert_copies * s->experts / (s->ep * s->etp);
    s->routed = ss_rank_tokens(job) * s->etp * s->top_k * spread->hottest;
    s->busiest = fmax(spread->source, s->routed / (s->sent * s->etp));
    s->received = (s->ep > 1 ? spread->copies : 1) * ss_rank_tokens(job) * s->etp;
    s->input_jitter = job->moe.input_jitter > 0 || m->input_jitter > 0;
    s->router_fp32 = job->moe.router_dtype > 0;
    s->router_fused = job->moe.router_fusion;
    s->padded = job->moe.pad_to_capacity;
    s->router_pads = job->moe.pad_for_fp8;
    s->fused_experts =
        job->moe.op_fuser && ss_job_recipe(job) == SS_FP8_MXFP8 && m->gated_mlp && job->moe.grouped_gemm;
    s->permute_fused = job->moe.permute_fusion > 0;
    s->sequential = job->moe.grouped_gemm == 0;
    s->uneven = spread->uneven;
    s->scattered = job->moe.load != SS_LOAD_BALANCED && !job->moe.pad_to_capacity;
    s->near_experts = s->experts / (spread->domains > 0 ? spread->domains : 1);
}

double ss_shape_border_bytes(const struct ss_shape *s)
{
    return s->tokens * s->streams * s->h * s->e / s->sp;
}

double ss_shape_send_bytes(const struct ss_shape *s)
{
    return ss_shape_border_bytes(s) / s->pp_shares;
}
