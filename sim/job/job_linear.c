/* SPDX-License-Identifier: Apache-2.0 */
/* Linear attention by flags, and under tensor and context parallelism: what Megatron-LM makes of it and refuses, with its words
 * (transformer_config.py of August 2026; models/kimi/kimi_k3_layers.py of Megatron-Bridge). */
#include "base/base.h"
#include "job/job_internal.h"

#define FREQ "--linear-attention-freq"
#define VARIANT "--experimental-attention-variant --linear-attention-type"

/* Every n-th layer is of attention, or those that a list says. */
static void set_layers(struct ss_model *m, const struct ss_layer_rule *asked)
{
    m->gated_delta = *asked;
    if (asked->n > 0)
        return;
    m->gated_delta = (struct ss_layer_rule){.n = m->num_layers};
    for (int i = 0; i < m->num_layers; i++)
        m->gated_delta.bits[i / 64] |= (uint64_t)((i + 1) % asked->period != 0) << i % 64;
}

static int has_layers(const struct ss_layer_rule *rule)
{
    return rule->n > 0 || rule->period > 0;
}

/* Sizes that flags give to a model without such layers. */
static void note_inactive(struct ss_finish *f, const struct ss_model *m)
{
    const struct ss_model *given = &f->job->model;
    int any = given->linear_num_key_heads | given->linear_num_value_heads | given->linear_key_head_dim |
              given->linear_value_head_dim | given->linear_conv;

    if (any && !has_layers(&m->gated_delta) && !has_layers(&m->kimi_delta))
        ss_note(f->notes,
                "sizes of linear attention are not active without --experimental-attention-variant gdn");
}

int ss_job_complete_linear(struct ss_finish *f, struct ss_model *m)
{
    const struct ss_asked *asked = f->asked;
    const struct ss_layer_rule *linear = &asked->linear_layers;

    if (f->job->model.attention_gate > 0 && (asked->multi_latent || m->kv_lora_rank > 0))
        REFUSE(f, "--attention-output-gate --multi-latent-attention", "drop --attention-output-gate",
               "Output gate is not supported for MLA yet.");
    if (asked->hybrid.layers[0]) { /* G in the pattern says it */
        if (has_layers(linear))
            REFUSE(f, FREQ " --hybrid-layer-pattern", "drop one of the two",
                   "a pattern of layers says which are linear: --linear-attention-freq beside it is not "
                   "modelled");
        if (!strchr(asked->hybrid.layers, 'G'))
            memset(&m->gated_delta, 0, sizeof m->gated_delta);
        note_inactive(f, m);
        return SS_OK;
    }
    if (has_layers(linear) && !asked->delta_variant && !has_layers(&m->gated_delta))
        REFUSE(f, FREQ, "add --experimental-attention-variant gdn",
               "--linear-attention-freq says nothing without a linear attention");
    if (asked->delta_variant && !has_layers(linear) && !has_layers(&m->gated_delta))
        REFUSE(f, VARIANT, "add --linear-attention-freq 4",
               "linear_attention_freq must be set for linear gdn.");
    if (linear->n > 0 && linear->n != m->num_layers)
        REFUSE(f, FREQ " --num-layers", "name each layer once",
               "Invalid length of linear_attention_pattern: %d, expected %d", linear->n, m->num_layers);
    if (has_layers(linear) && m->num_layers > SS_LAYER_RULE_MAX)
        REFUSE(f, FREQ, "fewer layers", "more than %d layers by --linear-attention-freq", SS_LAYER_RULE_MAX);
    if (has_layers(linear))
        set_layers(m, linear);
    note_inactive(f, m);
    return SS_OK;
}

/* Gated delta nets, which alone have heads of keys. */
static int check_gated(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    const struct ss_model *m = &job->model;
    int keys = m->linear_num_key_heads, values = m->linear_num_value_heads, ranks = job->tp * job->cp;
    int64_t width = 2LL * keys * m->linear_key_head_dim + 2LL * values * (m->linear_value_head_dim + 1);

    if (keys % ranks)
        REFUSE(f, "--tp --cp --linear-num-key-heads", "take a --tp and a --cp whose product divides them",
               "self.linear_num_key_heads=%d must be a multiple of (self.tensor_model_parallel_size=%d * "
               "self.context_parallel_size=%d).",
               keys, job->tp, job->cp);
    if (values % ranks)
        REFUSE(f, "--tp --cp --linear-num-value-heads", "take a --tp and a --cp whose product divides them",
               "self.linear_num_value_heads=%d must be a multiple of (self.tensor_model_parallel_size=%d * "
               "self.context_parallel_size=%d).",
               values, job->tp, job->cp);
    if (job->cp > 1 && !strncmp(f->stack->name, "torchtitan", 10)) /* models/qwen3_5/parallelize.py */
        REFUSE(f, "--cp", "take --cp 1", "Context Parallel is not yet supported for Qwen3.5.");
    if (ss_precision_is_quantized(job->precision) && width % 16)
        REFUSE(f, "--linear-num-value-heads --linear-key-head-dim", "take bf16, or other sizes",
               "For FP8, the innermost dimension of the GDN layer input projection output tensor must be a "
               "multiple of 16.");
    return SS_OK;
}

int ss_job_check_linear(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    const struct ss_model *m = &job->model;

    if (m->linear_num_key_heads > 0)
        return check_gated(f);
    if (m->linear_num_value_heads > 0 && m->linear_num_value_heads % job->tp)
        REFUSE(f, "--tp", "take a --tp that divides the heads",
               "KDA heads %d must be divisible by TP size %d", m->linear_num_value_heads, job->tp);
    /* flash-linear-attention can, and NeMo AutoModel asks it to */
    if (m->linear_num_value_heads > 0 && job->cp > 1 && strncmp(f->stack->name, "nemo-automodel", 14) != 0)
        REFUSE(f, "--cp", "take --cp 1, or --stack nemo-automodel-2026",
               "Kimi K3 KDA context parallelism is not supported yet");
    if (m->linear_norm_groups > 1 && m->linear_norm_groups % job->tp)
        REFUSE(f, "--tp", "take a --tp that divides the groups",
               "the groups of lightning attention's norm, %d, must be divisible by TP size %d",
               m->linear_norm_groups, job->tp);
    return SS_OK;
}
