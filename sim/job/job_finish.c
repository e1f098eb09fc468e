/* SPDX-License-Identifier: Apache-2.0 */
/* Completes a job from its model, its stack and Megatron's defaults. */
#include "base/base.h"
#include "job/input_cache.h"
#include "job/job_internal.h"
#include "model/stack_internal.h"
#include "stepsim/schedule.h"

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
        int steps = f->asked->accumulation ? f->asked->accumulation : 1;
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

    if (m->max_position_embeddings >= f->job->seq_length || ss_job_gives_positions(f))
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
        if (!strstr(job->rank_order, axes[i]))
            ss_append(job->rank_order, sizeof(job->rank_order), "-%s", axes[i]);
}

static void complete_data_parallel(struct ss_finish *f)
{
    struct ss_job *job = f->job;

    if (job->dp.outer_sharding != SS_SHARD_NONE)
        job->dp.fsdp_hybrid = job->dp.fsdp;
    if (!job->dp.fsdp && job->dp.sharding != SS_SHARD_NONE)
        ss_note(f->notes, "--data-parallel-sharding-strategy is not active without --use-megatron-fsdp");
    if (!job->dp.fsdp && job->dp.outer_sharding != SS_SHARD_NONE)
        ss_note(f->notes, "--outer-dp-sharding-strategy is not active without --use-megatron-fsdp");
    if (!job->dp.fsdp) {
        job->dp.sharding = job->dp.distributed_optimizer ? SS_SHARD_OPTIM : SS_SHARD_NONE;
        job->dp.outer_sharding = SS_SHARD_NONE;
        job->dp.fsdp_hybrid = 0;
    } else if (job->dp.distributed_optimizer && job->dp.sharding == SS_SHARD_NONE) {
        job->dp.sharding = SS_SHARD_OPTIM;
    }
    if (job->dp.sharding == SS_SHARD_OPTIM)
        job->dp.distributed_optimizer = 1; /* the same thing by another name */
    if (job->dp.fsdp_hybrid && !ss_job_is_hybrid(job)) {
        ss_note(
            f->notes,
            "--outer-dp-sharding-strategy is not active where neither parameters nor gradients are sharded");
        job->dp.fsdp_hybrid = 0;
        job->dp.outer_sharding = SS_SHARD_NONE;
    }
    if (job->dp.fsdp_hybrid && f->gpus_per_node >= f->world_size)
        ss_note(f->notes, "hybrid sharding on one node is full sharding");
    if (!SS_GIVEN(f->asked, grad_reduce_fp32))
        job->dp.grad_reduce_fp32 =
            job->stored != SS_FP16 && (job->precision == SS_FP32 || f->stack->grad_reduce_fp32 > 0);
    if ((job->dp.grad_reduce_bf16 || f->asked->main_grads) && job->stored == SS_BF16)
        job->dp.grad_reduce_fp32 = 0;
    ss_job_complete_quantized(f);
    ss_job_complete_optimizer(f);
    if (!job->offload.layers && ss_job_offloads_layers(f))
        ss_note(f->notes, "--cpu-offloading moves no layer without --cpu-offloading-num-layers");
}

/* Notes kernels that are accepted without a price. */
static void note_kernels(struct ss_finish *f)
{
    const struct ss_job *job = f->job;

    if (job->moe.fp8_dispatch && job->model.num_experts && job->moe.dispatcher == SS_DISPATCH_ALLGATHER)
        ss_note(f->notes, "--fp8-dispatch is not active with --moe-token-dispatcher-type allgather");
    if (job->deterministic)
        ss_note(f->notes, "--deterministic-mode: what the embedding's sorted gradient and a router's sorted "
                          "map cost more is not counted");
    if ((job->deterministic || f->stack->deterministic > 0) && f->stack->fused_deterministic > 0 &&
        job->attention == SS_ATTENTION_FUSED && job->attention_dropout > 0)
        ss_note(f->notes, "cuDNN has no deterministic attention with dropout on Blackwell, where Transformer "
                          "Engine takes FlashAttention: that is not modelled, give --attention-dropout 0");
    if (ss_job_autocasts(job, f->stack))
        ss_note(f->notes, "bf16 is autocast: the residual stream and norms in fp32 are not counted, time and "
                          "memory are low");
    if (f->asked->graph_scope_given && !job->graphs.impl)
        ss_note(f->notes, "--cuda-graph-scope is not active without --cuda-graph-impl");
    if (job->graphs.impl)
        ss_note(f->notes, "memory that CUDA graphs keep for themselves is not counted");
    if (job->graphs.impl == SS_GRAPHS_ITERATION && job->model.num_experts && !job->moe.op_fuser &&
        !job->moe.pad_to_capacity)
        ss_note(f->notes, "a graph of the whole iteration reads no counts of tokens: its experts are taken "
                          "to have them on the "
                          "device, as with --use-transformer-engine-op-fuser");
    if (f->asked->layout_mtp_apart)
        ss_note(f->notes,
                "layers of multi-token prediction are priced beside the loss, not in a stage before it");
    if (job->model.num_experts && job->moe.pad_for_fp8)
        ss_note(f->notes, "the tokens that --moe-router-padding-for-fp8 adds to an expert are not counted");
}

/* Defaults that need model, stack and cluster; may note, never refuses. */
static void complete(struct ss_finish *f)
{
    struct ss_job *job = f->job;
    const struct ss_model *m = &job->model;
    int drops = job->attention_dropout > 0;

    if (!SS_GIVEN(f->asked, attention_dropout))
        job->attention_dropout = m->attention_dropout >= 0 ? m->attention_dropout : f->stack->dropout;
    if (!SS_GIVEN(f->asked, hidden_dropout))
        job->hidden_dropout = m->hidden_dropout >= 0 ? m->hidden_dropout : f->stack->dropout;
    ss_stack_note(f->stack, f->notes);
    complete_positions(f);
    if (m->not_priced[0])
        ss_note(f->notes, "the model's config.json has %s, which is ignored", m->not_priced);
    complete_attention(f);
    if (drops && job->attention != SS_ATTENTION_UNFUSED)
        ss_note(f->notes,
                "--attention-dropout: what it costs inside of flash or fused attention is not counted");
    complete_parallel(f);
    complete_data_parallel(f);
    ss_job_complete_experts(f);
    ss_job_complete_recompute(f);
    ss_job_complete_offload_modules(f);
    ss_job_note_muon(f);
    note_kernels(f);
    if (job->recompute.granularity == SS_RECOMPUTE_FULL && job->offload.layers) {
        job->offload.layers = 0;
        ss_note(f->notes, "CPU offloading is not active under full recompute");
    }
    ss_job_note_idle(f);
}

/* Loads of experts by layer, where the job names a file. */
static int complete_loads(struct ss_finish *f)
{
    struct ss_job *job = f->job;
    const struct ss_moe_loads *loads;

    if (job->moe.load != SS_LOAD_FILE || job->model.num_experts == 0)
        return SS_OK;
    if (!f->inputs)
        return ss_fail(f->err, SS_ERR_UNSUPPORTED, NULL, 0,
                       "--moe-load %s: a file of loads is read with a scenario or a table",
                       job->moe.load_source);
    int rc = ss_input_cache_loads(f->inputs, job->moe.load_source, job->model.num_experts, job->model.top_k,
                                  &loads, f->err);
    if (rc) {
        ss_request_locate(f->request, "--moe-load", f->err);
        if (rc == SS_ERR_IO)
            ss_hint(f->err, rc,
                    "take balanced, uniform, biased:SIGMA, zipf:EXPONENT, a file, or a "
                    "workload:" SS_MOE_WORKLOADS);
        return rc;
    }
    job->moe.loads = loads->load;
    job->moe.load_layers = loads->layers;
    int layers = 0;
    for (int i = 0; i < job->model.num_layers; i++)
        layers += ss_layer_rule_has(&job->model.moe_layers, i);
    if (loads->layers > 1 && loads->layers != layers)
        ss_note(f->notes,
                "%s has loads of %d layers, the model %d layers of experts: each has the mean of the file",
                job->moe.load_source, loads->layers, layers);
    return SS_OK;
}

/* Completes what flags say in other words, and what follows from stack and layout without a flag. The stack's
 * words are in the order of enum ss_dispatcher. */
static void complete_open(struct ss_finish *f)
{
    const struct ss_asked *asked = f->asked;
    struct ss_job *job = f->job;

    if (!SS_GIVEN(asked, etp))
        job->etp = job->tp;
    if (!SS_GIVEN(asked, cp_comm_type))
        job->cp_comm_type = f->stack->cp_gathers > 0 ? SS_CP_ALLGATHER : SS_CP_P2P;
    if (!SS_GIVEN(asked, dispatcher))
        job->moe.dispatcher = (enum ss_dispatcher)f->stack->dispatcher;
    if (!SS_GIVEN(asked, permute_fusion))
        job->moe.permute_fusion = f->stack->permute_fusion > 0;
    if (!SS_GIVEN(asked, grouped_gemm))
        job->moe.grouped_gemm = f->stack->grouped_gemm > 0;
    if (!SS_GIVEN(asked, offload_weights))
        job->offload.weights = f->stack->offload_weights > 0;
    ss_job_complete_forks(f);
    if (asked->dist_muon)
        job->dp.distributed_optimizer = 1;
    if (asked->recompute_short && !job->recompute.num_layers)
        job->recompute.num_layers = 1;
}

int ss_job_complete(struct ss_finish *f)
{
    static int (*const steps[])(struct ss_finish *) = {
        ss_job_complete_model, ss_job_complete_padding, ss_job_check_layout,
        complete_batch,        ss_job_check_stages,     ss_job_check_features,
        complete_loads,        ss_job_complete_packed,  ss_job_check_unpriced,
    };
    int rc = SS_OK;

    memcpy(f->job, &f->asked->job, sizeof *f->job);
    complete_open(f);
    for (size_t i = 0; i < SS_ARRAY_LEN(steps) && !rc; i++)
        rc = steps[i](f);
    if (!rc)
        complete(f);
    return rc;
}

int ss_asked_finish(const struct ss_asked *asked, const struct ss_request *r, const struct ss_stack *stack,
                    int world_size, int gpus_per_node, struct ss_notes *notes, struct ss_job *job,
                    struct ss_error *err)
{
    struct ss_job draft;
    struct ss_finish f = {.asked = asked,
                          .job = &draft,
                          .request = r,
                          .stack = stack,
                          .world_size = world_size,
                          .gpus_per_node = gpus_per_node,
                          .notes = notes,
                          .err = err};
    int rc = ss_job_complete(&f);
    if (!rc)
        memcpy(job, &draft, sizeof draft);
    return rc;
}

static int finish(struct ss_finish f, struct ss_input_cache *l, int world_size, int gpus_per_node)
{
    f.inputs = l;
    f.world_size = world_size;
    f.gpus_per_node = gpus_per_node;
    return ss_job_complete(&f);
}

int ss_input_cache_finish(struct ss_input_cache *l, const struct ss_asked *asked,
                          const struct ss_stack *stack, int world_size, int gpus_per_node,
                          struct ss_files *files, struct ss_job *job, struct ss_error *err)
{
    const struct ss_finish f = {.asked = asked, .job = job, .stack = stack, .err = err};
    int rc = finish(f, l, world_size, gpus_per_node);
    return rc ? rc : ss_input_cache_note(job, files, err);
}

int ss_input_cache_ask(struct ss_input_cache *l, const struct ss_asked *asked, const struct ss_stack *stack,
                       int world_size, int gpus_per_node, struct ss_job *job, char *blamed)
{
    const struct ss_finish f = {.asked = asked, .job = job, .stack = stack, .blamed = blamed};
    blamed[0] = '\0';
    return finish(f, l, world_size, gpus_per_node);
}
