/* SPDX-License-Identifier: Apache-2.0 */
/* Completes a job from its model, its stack and Megatron's defaults. */
#include <limits.h>
#include <stdarg.h>
#include <string.h>

#include "base/base.h"
#include "job/job_internal.h"
#include "job/loaded.h"
#include "model/hub.h"
#include "model/model_internal.h"
#include "model/stack_internal.h"
#include "stepsim/schedule.h"

/* A flag of 0, which the model of a config.json must not fill in: --num-experts 0 makes it dense. */
static void drop_experts(const struct ss_finish *f, struct ss_model *m)
{
    const struct ss_request *r = f->request;

    if (!r || f->job->model.num_experts > 0 || ss_request_find(r, "--num-experts") == r->n)
        return;
    m->num_experts = m->top_k = m->moe_ffn_hidden_size = m->shared_expert_ffn_hidden_size = 0;
    m->router_groups = m->router_group_topk = 0;
    m->router_bias = m->shared_expert_gate = m->expert_bias = m->router_linear_bias = SS_MODEL_UNSET;
    memset(&m->moe_layers, 0, sizeof m->moe_layers);
}

static int load_model(const struct ss_finish *f, const char *name, struct ss_model *m)
{
    return f->loaded ? ss_loaded_model(f->loaded, name, m, f->err) : ss_model_load(name, m, f->err);
}

/* Rows of a tokenizer that is not read: of one known by its type, or, where --tokenizer-model names a model of workloads/models, those
 * of that. */
static int complete_vocabulary(struct ss_finish *f, struct ss_model *m)
{
    const struct ss_request *r = f->request;
    size_t at = r ? ss_request_find(r, "--tokenizer-model") : 0;
    struct ss_model named;
    char name[128];
    bool found = false;

    if (f->job->tokenizer_vocab >= 0) {
        m->vocab_size = f->job->tokenizer_vocab;
        return SS_OK;
    }
    if (!r || at + 1 >= r->n)
        return SS_OK;
    int rc = ss_model_known(r->word[at + 1].text, name, sizeof name, &found, f->err);
    if (rc || !found)
        return rc;
    rc = load_model(f, name, &named);
    if (rc)
        return rc;
    m->vocab_size = named.vocab_size;
    ss_note(f->notes, "the tokenizer of %s is not read: %d rows, as its model has", name, named.vocab_size);
    return SS_OK;
}

/* Flag > config.json > Megatron's default. */
static int complete_model(struct ss_finish *f)
{
    struct ss_job *job = f->job;
    struct ss_model m;

    f->positions_given = job->model.max_position_embeddings > 0;
    if (job->model.position == SS_POSITION_YARN) {
        job->model.position = SS_POSITION_ROPE;
        job->model.yarn = 1;
    }
    if (job->null_tokenizer && !job->padded_vocab && job->model.vocab_size > 0)
        job->model.vocab_size++;
    if (job->model_ref[0]) {
        int rc = load_model(f, job->model_ref, &m);
        if (rc) {
            ss_request_locate(f->request, "--model", f->err);
            return rc;
        }
        f->model_is_latent = m.kv_lora_rank > 0;
        drop_experts(f, &m);
        ss_model_overlay(&m, &job->model);
        if (job->mtp_given)
            m.mtp_num_layers = job->model.mtp_num_layers;
    } else {
        m = job->model;
    }
    int rc = m.vocab_size ? SS_OK : complete_vocabulary(f, &m);
    if (!m.num_query_groups && job->group_query_attention)
        m.num_query_groups = 1;
    if (!m.ffn_hidden_size && job->quick_geglu)
        m.ffn_hidden_size = 4 * m.hidden_size;
    if (!rc)
        rc = ss_job_complete_attention_flags(f, &m);
    if (!rc)
        rc = ss_model_finish(&m, f->err);
    if (!rc)
        job->model = m;
    return rc;
}

static int missing(struct ss_finish *f, const char *flag)
{
    ss_job_refuse(f, "the job has no %s", flag);
    return ss_hint(f->err, SS_ERR_CONFIG, "add %s N", flag);
}

static int complete_batch(struct ss_finish *f)
{
    struct ss_job *job = f->job;

    if (!job->seq_length)
        return missing(f, "--seq-length");
    if (!job->micro_batch)
        return missing(f, "--micro-batch-size");
    if (!job->global_batch) {
        int steps = job->accumulation ? job->accumulation : 1;
        int64_t n = (int64_t)job->micro_batch * ss_job_dp(job, f->world_size);
        if (n > INT_MAX / steps)
            return ss_job_refuse(f, "micro batch size %d is too large", job->micro_batch);
        n *= steps;
        job->global_batch = (int)n;
        ss_note(f->notes, "setting global batch size to %d", job->global_batch);
    }
    return SS_OK;
}

/* Older NeMo and Megatron both take the sequence length where no table of positions is learned. */
static void complete_positions(struct ss_finish *f)
{
    struct ss_model *m = &f->job->model;
    int nemo = f->stack->framework == SS_FRAMEWORK_NEMO;

    if (m->max_position_embeddings >= f->job->seq_length || f->positions_given)
        return;
    if (m->position == SS_POSITION_LEARNED && !nemo)
        return; /* refused later */
    if (m->max_position_embeddings)
        ss_note(f->notes,
                "the sequence of %d is longer than the %d positions of the model's config: "
                "max-position-embeddings is taken as the sequence length",
                f->job->seq_length, m->max_position_embeddings);
    m->max_position_embeddings = f->job->seq_length;
}

static void complete_attention(struct ss_finish *f)
{
    int asked = f->job->attention;

    f->job->attention = ss_job_attention(f->job, f->stack);
    if (f->job->precision == SS_FP32 && (asked == SS_ATTENTION_FLASH || asked == SS_ATTENTION_FUSED))
        ss_note(f->notes, "%s attention is not active in fp32: unfused attention runs",
                asked == SS_ATTENTION_FLASH ? "flash" : "fused");
    if (f->job->model.attention_softcap > 0 && f->job->attention != SS_ATTENTION_UNFUSED)
        ss_note(f->notes, "the soft cap of the model's attention scores is priced in unfused attention "
                          "alone: a fused kernel "
                          "with one is taken to be as fast as without");
}

static void complete_parallel(struct ss_finish *f)
{
    struct ss_job *job = f->job;

    if (!job->etp)
        job->etp = job->tp;
    if (job->cp_comm_type < 0)
        job->cp_comm_type = f->stack->cp_gathers > 0 ? SS_CP_ALLGATHER : SS_CP_P2P;
    if (job->tp == 1 && job->sequence_parallel) {
        job->sequence_parallel = 0;
        job->tp_comm_overlap = 0;
        ss_note(f->notes, "sequence parallelism is off: tensor parallel size is 1");
    }
    if (job->pp > 1 && job->layers_per_virtual_stage && ss_job_chunks(job) == 1)
        ss_note(f->notes, "one virtual stage a rank: run as 1F1B without interleaving");
    if (job->pp > 1 && ss_job_chunks(job) == 1 && ss_schedule_chunks(job->schedule, 1) == 1 &&
        ss_schedule_chunks(job->schedule, 0) > 1)
        ss_note(f->notes,
                "--schedule %s is made for several chunks a rank and has one here: --vp says how many",
                job->schedule);
    if (!strcmp(job->rank_order, "tp-pp-dp"))
        ss_copy(job->rank_order, sizeof(job->rank_order), "tp-cp-ep-pp-dp");
    static const char *const axes[] = {"tp", "cp", "ep", "dp", "pp"};
    for (size_t i = 0; i < SS_ARRAY_LEN(axes); i++) /* those left out have size 1 */
        if (!strstr(job->rank_order, axes[i])) {
            size_t n = strlen(job->rank_order);
            snprintf(job->rank_order + n, sizeof(job->rank_order) - n, "-%s", axes[i]);
        }
}

static void complete_optimizer_offload(struct ss_finish *f)
{
    struct ss_job *job = f->job;

    if (job->optimizer_fraction >= 0 && job->optimizer_offload > 0)
        job->optimizer_offload = job->optimizer_fraction;
    else if (job->optimizer_fraction >= 0)
        ss_note(f->notes, "--optimizer-offload-fraction is not active without --optimizer-cpu-offload");
    job->optimizer_fraction = -1;
}

static void complete_optimizer(struct ss_finish *f)
{
    struct ss_job *job = f->job;

    if (job->outer_sharding != SS_SHARD_NONE)
        job->fsdp_hybrid = job->fsdp;
    if (!job->fsdp && job->sharding != SS_SHARD_NONE)
        ss_note(f->notes, "--data-parallel-sharding-strategy is not active without --use-megatron-fsdp");
    if (!job->fsdp && job->outer_sharding != SS_SHARD_NONE)
        ss_note(f->notes, "--outer-dp-sharding-strategy is not active without --use-megatron-fsdp");
    if (!job->fsdp) {
        job->sharding = job->distributed_optimizer ? SS_SHARD_OPTIM : SS_SHARD_NONE;
        job->outer_sharding = SS_SHARD_NONE;
        job->fsdp_hybrid = 0;
    } else if (job->distributed_optimizer && job->sharding == SS_SHARD_NONE) {
        job->sharding = SS_SHARD_OPTIM;
    }
    if (job->sharding == SS_SHARD_OPTIM)
        job->distributed_optimizer = 1; /* the same thing by another name */
    if (job->fsdp_hybrid && !ss_job_is_hybrid(job)) {
        ss_note(
            f->notes,
            "--outer-dp-sharding-strategy is not active where neither parameters nor gradients are sharded");
        job->fsdp_hybrid = 0;
        job->outer_sharding = SS_SHARD_NONE;
    }
    if (job->fsdp_hybrid && f->gpus_per_node >= f->world_size)
        ss_note(f->notes, "hybrid sharding on one node is full sharding");
    if (job->grad_reduce_fp32 < 0)
        job->grad_reduce_fp32 = job->precision != SS_FP16 && job->fp8_base != SS_FP16 &&
                                (job->precision == SS_FP32 || f->stack->grad_reduce_fp32 > 0);
    if (job->grad_reduce_bf16 && (job->precision == SS_BF16 || job->fp8_base == SS_BF16))
        job->grad_reduce_fp32 = 0;
    ss_job_complete_quantized(f);
    if (job->precision == SS_FP16 || job->fp8_base == SS_FP16)
        job->check_for_nan = 0; /* dynamic loss scaling looks for them itself */
    complete_optimizer_offload(f);
    if (job->cpu_offload_weights < 0)
        job->cpu_offload_weights = f->stack->offload_weights > 0;
    if (job->cpu_offload_layers < 0) {
        job->cpu_offload_layers = 0;
        ss_note(f->notes, "--cpu-offloading moves no layer without --cpu-offloading-num-layers");
    }
}

/* Defaults that need model, stack and cluster; may note, never refuses. */
static void complete(struct ss_finish *f)
{
    struct ss_job *job = f->job;
    const struct ss_model *m = &job->model;
    int drops = job->attention_dropout > 0;

    if (job->attention_dropout < 0)
        job->attention_dropout = m->attention_dropout >= 0 ? m->attention_dropout : f->stack->dropout;
    if (job->hidden_dropout < 0)
        job->hidden_dropout = m->hidden_dropout >= 0 ? m->hidden_dropout : f->stack->dropout;
    if (ss_precision_is_quantized(job->precision) && job->fp8_base < 0)
        job->fp8_base = SS_BF16; /* refused before */
    ss_stack_note(f->stack, f->notes);
    complete_positions(f);
    if (m->not_priced[0])
        ss_note(f->notes, "the model's config says what is not priced: %s", m->not_priced);
    complete_attention(f);
    if (drops && job->attention != SS_ATTENTION_UNFUSED)
        ss_note(f->notes,
                "--attention-dropout: what it costs inside of flash or fused attention is not counted");
    complete_parallel(f);
    complete_optimizer(f);
    ss_job_complete_experts(f);
    if (job->recompute != SS_RECOMPUTE_FULL) {
        job->recompute_method = SS_RECOMPUTE_UNIFORM;
        job->recompute_num_layers = 0;
    } else if (job->cpu_offload_layers) {
        job->cpu_offload_layers = 0;
        ss_note(f->notes, "CPU offloading is not active under full recompute");
    }
    ss_job_note_idle(f);
}

/* Loads of experts by layer, where the job names a file. */
static int complete_loads(struct ss_finish *f)
{
    struct ss_job *job = f->job;
    const struct ss_moe_loads *loads;

    if (job->moe_load != SS_LOAD_FILE || job->model.num_experts == 0)
        return SS_OK;
    if (!f->loaded)
        return ss_fail(f->err, SS_ERR_UNSUPPORTED, NULL, 0,
                       "--moe-load %s: a file of loads is read with a scenario or a table",
                       job->moe_load_source);
    int rc = ss_loaded_loads(f->loaded, job->moe_load_source, job->model.num_experts, job->model.top_k,
                             &loads, f->err);
    if (rc) {
        ss_request_locate(f->request, "--moe-load", f->err);
        if (rc == SS_ERR_IO)
            ss_hint(f->err, rc,
                    "take balanced, uniform, biased:SIGMA, zipf:EXPONENT, a file, or a "
                    "workload:" SS_MOE_WORKLOADS);
        return rc;
    }
    job->moe_loads = loads->load;
    job->moe_load_layers = loads->layers;
    int layers = 0;
    for (int i = 0; i < job->model.num_layers; i++)
        layers += ss_layer_rule_has(&job->model.moe_layers, i);
    if (loads->layers > 1 && loads->layers != layers)
        ss_note(f->notes,
                "%s has loads of %d layers, the model %d layers of experts: each has the mean of the file",
                job->moe_load_source, loads->layers, layers);
    return SS_OK;
}

/* A name of two flags. */
static void complete_dist_muon(struct ss_job *job)
{
    if (job->optimizer != SS_OPTIMIZER_DIST_MUON)
        return;
    job->optimizer = SS_OPTIMIZER_MUON;
    job->distributed_optimizer = 1;
}

/* What the short word for full recompute stands for. */
static void complete_full_recompute(struct ss_job *job)
{
    if (!job->recompute_short)
        return;
    if (job->recompute_method < 0)
        job->recompute_method = SS_RECOMPUTE_UNIFORM;
    if (!job->recompute_num_layers)
        job->recompute_num_layers = 1;
    job->recompute_short = 0;
}

int ss_job_complete(struct ss_finish *f)
{
    complete_dist_muon(f->job);
    complete_full_recompute(f->job);
    int rc = complete_model(f);

    if (!rc)
        rc = ss_job_check_layout(f);
    if (!rc)
        rc = complete_batch(f);
    if (!rc)
        rc = ss_job_check_stages(f);
    if (!rc)
        rc = ss_job_check_features(f);
    if (!rc)
        rc = complete_loads(f);
    if (!rc)
        rc = ss_job_complete_packed(f);
    if (!rc)
        rc = ss_job_check_unpriced(f);
    if (!rc)
        complete(f);
    return rc;
}

/* The job changes only when all of it is right. */
static int finish(const struct ss_finish *with, struct ss_job *job)
{
    struct ss_job draft = *job;
    struct ss_finish f = *with;
    f.job = &draft;
    int rc = ss_job_complete(&f);

    if (!rc)
        *job = draft;
    return rc;
}

int ss_job_finish(struct ss_job *job, const struct ss_request *r, const struct ss_stack *stack,
                  int world_size, int gpus_per_node, struct ss_notes *notes, struct ss_error *err)
{
    const struct ss_finish f = {.request = r,
                                .stack = stack,
                                .world_size = world_size,
                                .gpus_per_node = gpus_per_node,
                                .notes = notes,
                                .err = err};
    return finish(&f, job);
}

int ss_loaded_finish(struct ss_loaded *l, struct ss_job *job, const struct ss_stack *stack, int world_size,
                     int gpus_per_node, struct ss_files *files, struct ss_error *err)
{
    const struct ss_finish f = {
        .loaded = l, .stack = stack, .world_size = world_size, .gpus_per_node = gpus_per_node, .err = err};
    int rc = finish(&f, job);
    return rc ? rc : ss_loaded_note(job, files, err);
}
