/* SPDX-License-Identifier: Apache-2.0 */
/* The model of a job: what its flags say over its config.json, and what flags of attention and of tokenizers leave open. */
#include "base/base.h"
#include "job/input_cache.h"
#include "job/job_internal.h"
#include "model/hub.h"
#include "model/model_internal.h"

/* A flag of 0, which the model of a config.json must not fill in: --num-experts 0 makes it dense. */
static void drop_experts(const struct ss_finish *f, struct ss_model *m)
{
    const struct ss_request *r = f->request;

    if (!r || f->job->model.num_experts > 0 || ss_request_find(r, "--num-experts") == r->n)
        return;
    m->num_experts = m->top_k = m->moe_ffn_hidden_size = m->shared_expert_ffn_hidden_size = 0;
    m->moe_latent_size = 0;
    m->router_groups = m->router_group_topk = 0;
    m->router_bias = m->shared_expert_gate = m->expert_bias = m->router_linear_bias = SS_MODEL_UNSET;
    memset(&m->moe_layers, 0, sizeof m->moe_layers);
}

static int load_model(const struct ss_finish *f, const char *name, struct ss_model *m)
{
    return f->inputs ? ss_input_cache_model(f->inputs, name, m, f->err) : ss_model_load(name, m, f->err);
}

/* Completes the rows of a tokenizer that is not read: known by its type, or by the model of workloads/models
 * that --tokenizer-model names. */
static int complete_vocabulary(struct ss_finish *f, struct ss_model *m)
{
    const struct ss_request *r = f->request;
    size_t at = r ? ss_request_find(r, "--tokenizer-model") : 0;
    struct ss_model named;
    char name[128];
    bool found = false;

    if (f->asked->tokenizer_vocab >= 0) {
        m->vocab_size = f->asked->tokenizer_vocab;
        return SS_OK;
    }
    if (!r || at + 1 >= r->n)
        return SS_OK;
    int rc = ss_model_known(r->word[at + 1].text, name, sizeof name, &found, f->err);
    if (rc || !found)
        return rc;
    SS_TRY(load_model(f, name, &named));
    m->vocab_size = named.vocab_size;
    ss_note(f->notes, "the tokenizer of %s is not read: %d rows, as its model has", name, named.vocab_size);
    return SS_OK;
}

/* Sizes of latent attention are nothing to a model that has none; where flags ask for it, they are Megatron's where nobody says. */
static void complete_latent(struct ss_finish *f, struct ss_model *m, int latent)
{
    int *const sizes[] = {&m->q_lora_rank, &m->kv_lora_rank, &m->qk_head_dim, &m->qk_pos_emb_head_dim,
                          &m->v_head_dim};
    static const int megatron[] = {0, 32, 128, 64, 128};
    int wanted = latent || f->asked->multi_latent, any = 0;

    for (size_t i = 0; i < SS_ARRAY_LEN(sizes); i++) {
        any |= *sizes[i];
        *sizes[i] = !wanted ? 0 : *sizes[i] ? *sizes[i] : megatron[i];
    }
    if (any && !wanted)
        ss_note(f->notes,
                "ranks and head sizes of latent attention are not active without --multi-latent-attention");
}

/* Completes which layers see only the window: all, all but each N-th, or those of a list. A window from a
 * flag replaces the chunks of a model. */
static int complete_window(struct ss_finish *f, struct ss_model *m)
{
    const struct ss_job *job = f->job;
    int skip = f->asked->window_skip_freq, list = job->model.local_layers.n;

    if (f->asked->window_given) {
        m->sliding_window = job->model.sliding_window;
        m->attention_chunk = 0;
    }
    if (list > 0 && list != m->num_layers)
        REFUSE(f, "--window-attn-skip-freq --num-layers", "name each layer once",
               "Invalid length of window_attn_skip_freq: %d, expected %d", list, m->num_layers);
    if (skip > 0 && m->num_layers > SS_LAYER_RULE_MAX)
        REFUSE(f, "--window-attn-skip-freq", "fewer layers", "more than %d layers by --window-attn-skip-freq",
               SS_LAYER_RULE_MAX);
    if (f->asked->window_given && !skip && !list)
        m->local_layers = (struct ss_layer_rule){.period = 1};
    if (skip > 0) {
        m->local_layers = (struct ss_layer_rule){.n = m->num_layers};
        for (int i = 0; i < m->num_layers; i++)
            m->local_layers.bits[i / 64] |= (uint64_t)((i + 1) % skip != 0) << i % 64;
    }
    if ((skip || list) && !m->sliding_window)
        ss_note(f->notes, "--window-attn-skip-freq is not active without --window-size");
    if (!m->sliding_window && !m->attention_chunk)
        memset(&m->local_layers, 0, sizeof m->local_layers);
    return SS_OK;
}

/* Flag > config.json > Megatron's default. */
int ss_job_complete_model(struct ss_finish *f)
{
    struct ss_job *job = f->job;
    struct ss_model m;
    int latent = 0, streams = 0;

    if (job->model.position == SS_POSITION_YARN) {
        job->model.position = SS_POSITION_ROPE;
        job->model.yarn = 1;
    }
    if (f->asked->null_tokenizer && !f->asked->padded_vocab && job->model.vocab_size > 0)
        job->model.vocab_size++;
    if (job->model_ref[0]) {
        int rc = load_model(f, job->model_ref, &m);
        if (rc) {
            ss_request_locate(f->request, "--model", f->err);
            return rc;
        }
        latent = m.kv_lora_rank > 0;
        streams = m.residual_streams > 1;
        drop_experts(f, &m);
        const struct ss_layer_rule experts = m.moe_layers;
        ss_model_overlay(&m, &job->model);
        if (ss_job_has_halves(&m)) /* a pattern's experts are its own */
            m.moe_layers = experts;
        if (f->asked->mtp_given)
            m.mtp_num_layers = job->model.mtp_num_layers;
    } else {
        m = job->model;
    }
    int rc = ss_job_complete_hybrid(f, &m);
    SS_THEN(rc, ss_job_complete_linear(f, &m));
    if (!rc && !m.vocab_size)
        rc = complete_vocabulary(f, &m);
    if (!m.num_query_groups && f->asked->group_query_attention)
        m.num_query_groups = 1;
    if (!m.ffn_hidden_size && f->asked->quick_geglu)
        m.ffn_hidden_size = 4 * m.hidden_size;
    if (!rc) {
        complete_latent(f, &m, latent);
        ss_job_complete_streams(f, &m, streams);
        rc = complete_window(f, &m);
    }
    SS_THEN(rc, ss_job_complete_sparse(f, &m));
    SS_THEN(rc, f->inputs ? ss_input_cache_finish_model(f->inputs, &m, f->err) : ss_model_finish(&m, f->err));
    SS_THEN(rc, ss_job_complete_encoders(f, &m));
    if (!rc)
        job->model = m;
    return rc;
}
