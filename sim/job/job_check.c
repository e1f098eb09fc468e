/* SPDX-License-Identifier: Apache-2.0 */
/* What Megatron-LM (core 0.8) and NeMo refuse, with their causes. */
#include "base/base.h"
#include "job/job_internal.h"
#include "stepsim/schedule.h"

static int is_nemo(const struct ss_finish *f)
{
    return f->stack->framework == SS_FRAMEWORK_NEMO;
}

static int check_world(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    int64_t need = (int64_t)job->tp * job->pp * job->cp; /* each at most 2^20 */

    if (need > f->world_size)
        REFUSE(f, "--tp --pp --cp --nodes", "more nodes, or a smaller --tp, --pp or --cp",
               "tensor %d x pipeline %d x context %d needs %lld GPUs, the cluster has %d", job->tp, job->pp,
               job->cp, (long long)need, f->world_size);
    if (f->world_size % need)
        REFUSE(f, "--tp --pp --cp --nodes", "take sizes whose product divides it",
               "world size (%d) is not divisible by tensor parallel size (%d) times pipeline parallel "
               "size (%d) times context parallel size (%d)",
               f->world_size, job->tp, job->pp, job->cp);
    return SS_OK;
}

static int check_order(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    const struct {
        const char *name;
        int size;
    } axes[] = {{"tp", job->tp}, {"pp", job->pp}, {"cp", job->cp}, {"ep", job->ep}};

    if (!strcmp(job->rank_order, "tp-pp-dp") && job->cp * (int64_t)job->ep > 1)
        REFUSE(f, "--rank-order --use-tp-pp-dp-mapping",
               "drop --use-tp-pp-dp-mapping, or take --cp 1 and --ep 1",
               "context_parallel and expert_model_parallel can't be used with tp-pp-dp mapping.");
    for (size_t i = 0; i < SS_ARRAY_LEN(axes); i++)
        if (axes[i].size > 1 && !strstr(job->rank_order, axes[i].name))
            REFUSE(f, "--rank-order", "name all of tp, cp, ep, dp and pp",
                   "The size of (%s) is (%d), but you haven't specified the order (%s).", axes[i].name,
                   axes[i].size, job->rank_order);
    if (strstr(job->rank_order, "ep") && !strstr(job->rank_order, "ep-dp") &&
        !strstr(job->rank_order, "dp-ep"))
        REFUSE(f, "--rank-order --use-tp-pp-dp-mapping", "write ep beside dp, as in tp-cp-ep-dp-pp",
               "The ep and dp must be adjacent in order (%s).", job->rank_order);
    return SS_OK;
}

/* Tensor and context parallel cut heads, hidden sizes and the sequence. */
static int check_cuts(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    const struct ss_model *m = &job->model;

    if (m->num_attention_heads % job->tp)
        REFUSE(f, "--tp --num-attention-heads", "take a --tp that divides the heads",
               "num_attention_heads (%d) must be a multiple of tensor_model_parallel_size (%d).",
               m->num_attention_heads, job->tp);
    if (m->num_query_groups % job->tp)
        REFUSE(f, "--tp --num-query-groups",
               "take a --tp that divides the query groups (their multiples, legal from Megatron Core "
               "0.16 on, are not modelled)",
               "num_query_groups (%d) must be a multiple of tensor_model_parallel_size (%d).",
               m->num_query_groups, job->tp);
    if (ss_job_has_dense_layer(job) && m->ffn_hidden_size % job->tp)
        REFUSE(f, "--tp --ffn-hidden-size", "take a --tp that divides it",
               "%d is not divisible by %d (ffn hidden size, tensor parallel size)", m->ffn_hidden_size,
               job->tp);
    if (job->cp > 1 && job->seq_length % (2 * job->cp))
        REFUSE(f, "--seq --cp", "another --seq or --cp",
               "seq-length should be a multiple of 2 * context-parallel-size if context-parallel-size > 1.");
    if (job->sequence_parallel && job->seq_length / job->cp % job->tp)
        REFUSE(f, "--seq --sequence-parallel --tp", "another --seq, or drop --sequence-parallel",
               "First dimension of the tensor should be divisible by tensor parallel size "
               "(sequence %d / context %d, tensor %d)",
               job->seq_length, job->cp, job->tp);
    if (job->cp > 1 && (job->cp_comm_type == SS_CP_A2A) && (m->num_query_groups / job->tp) % job->cp)
        REFUSE(f, "--cp-comm-type --cp", "take --cp-comm-type p2p, or a smaller --cp",
               "the %d query groups of a rank are not divisible by context parallel size %d, as "
               "--cp-comm-type a2a needs",
               m->num_query_groups / job->tp, job->cp);
    return SS_OK;
}

/* What the framework of the stack does not have. */
static int check_framework(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    const struct ss_stack *stack = f->stack;

    if (job->tp > 1 && !stack->tp_offered)
        REFUSE(f, "--tp --stack", "take --tp 1, or another --stack", "%s has no tensor parallelism",
               stack->name);
    if (job->pp > 1 && !stack->pp_forms)
        REFUSE(f, "--pp --stack", "take --pp 1, or another --stack", "%s has no pipeline parallelism",
               stack->name);
    if (stack->pp_forms < 2 && ss_schedule_chunks(job->schedule, ss_job_chunks(job)) > 1)
        REFUSE(f,
               "--num-virtual-stages-per-pipeline-rank --num-layers-per-virtual-pipeline-stage --schedule "
               "--pipeline-model-parallel-layout --stack",
               "drop the virtual stages, or take another --stack", "%s has no virtual stages", stack->name);
    if (stack->zero_stages < 2 && job->dp.fsdp && job->dp.sharding > SS_SHARD_OPTIM)
        REFUSE(f, "--fsdp --use-megatron-fsdp --use-torch-fsdp2 --stack",
               "take --use-distributed-optimizer, or another --stack",
               "%s shards optimizer states alone (ZeRO-1)", stack->name);
    if ((job->dp.overlap_grad_reduce || job->dp.overlap_param_gather) && !stack->ddp_overlap_offered)
        REFUSE(f, "--overlap-grad-reduce --overlap-param-gather --stack", "drop it, or take another --stack",
               "%s reduces gradients behind the last backward, and gathers parameters behind its step",
               stack->name);
    if (job->recompute.granularity == SS_RECOMPUTE_SELECTIVE && !stack->recompute_selective)
        REFUSE(f, "--recompute --recompute-granularity --recompute-activations --stack",
               "take --recompute full or none, or another --stack", "%s repeats whole layers alone",
               stack->name);
    if (job->graphs.impl != SS_GRAPHS_NONE && !stack->graphs_offered)
        REFUSE(f, "--cuda-graph-impl --stack", "drop it, or take another --stack", "%s has no CUDA graphs",
               stack->name);
    if (job->model.num_experts > 0 && !stack->moe_offered)
        REFUSE(f, "--num-experts --model --stack", "take a dense model, or another --stack",
               "%s has no mixtures of experts", stack->name);
    return SS_OK;
}

int ss_job_check_layout(struct ss_finish *f)
{
    SS_TRY(check_framework(f));
    SS_TRY(f->world_size < 1 ? ss_job_refuse(f, "the cluster has no GPU") : ss_job_check_expert_layout(f));
    SS_TRY(check_world(f));
    SS_TRY(ss_job_check_expert_world(f));
    return check_order(f);
}

static int check_batch(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    int dp = ss_job_dp(job, f->world_size);

    if (job->global_batch % ((int64_t)job->micro_batch * dp))
        REFUSE(
            f, "--gbs --mbs", "take a multiple of their product",
            "global batch size (%d) is not divisible by micro batch size (%d) times data parallel size (%d)",
            job->global_batch, job->micro_batch, dp);
    return SS_OK;
}

/* Virtual stages by layers or by number; *v is 0 when not asked for. */
static int check_virtual(struct ss_finish *f, int *v)
{
    const struct ss_job *job = f->job;
    int uneven = job->first_stage_layers || job->last_stage_layers;
    int asked = job->layers_per_virtual_stage || job->virtual_stages > 1;

    *v = 0;
    if (job->layout.n > 0)
        return ss_job_check_pipeline_layout(f, v);
    if (job->layers_per_virtual_stage && job->virtual_stages)
        REFUSE(f, "--num-virtual-stages-per-pipeline-rank --num-layers-per-virtual-pipeline-stage",
               "drop one of them",
               "No more than one of the following arguments can be set at the same time: "
               "--num-layers-per-virtual-pipeline-stage, --num-virtual-stages-per-pipeline-rank");
    if (asked && job->overlap_p2p && job->pp < 2)
        REFUSE(f, "--num-layers-per-virtual-pipeline-stage --num-virtual-stages-per-pipeline-rank --pp",
               "drop the virtual stages",
               "when interleaved schedule is used, pipeline-model-parallel size should be greater than 1");
    if (asked && !job->overlap_p2p && job->pp < 3)
        REFUSE(f, "--no-overlap-p2p-communication",
               "drop --no-overlap-p2p-communication or the virtual stages",
               "when interleaved schedule is used and p2p communication overlap is disabled, "
               "pipeline-model-parallel size should be greater than 2 to avoid having multiple p2p sends and "
               "recvs "
               "between same 2 ranks per communication batch");
    if (job->layers_per_virtual_stage && uneven)
        REFUSE(f, "--num-layers-per-virtual-pipeline-stage",
               "give the number of virtual stages, not their layers",
               "please use --num-virtual-stages-per-pipeline-rank to specify virtual pipeline parallel "
               "degree when enable uneven pipeline parallelism");
    if (job->layers_per_virtual_stage) {
        int all = ss_job_split_layers(job), layers = all / job->pp;
        if (all % job->pp)
            REFUSE(
                f, "--pp --num-layers",
                "give --decoder-first-pipeline-num-layers and --decoder-last-pipeline-num-layers",
                "number of layers should be divisible by the pipeline parallel size (%d layers, pipeline %d)",
                all, job->pp);
        if (layers % job->layers_per_virtual_stage)
            REFUSE(
                f, "--num-layers-per-virtual-pipeline-stage",
                "take a divisor of the layers of a pipeline stage",
                "number of layers per pipeline stage must be divisible number of layers per virtual pipeline "
                "stage (%d layers / pipeline %d = %d, %d a virtual stage)",
                all, job->pp, layers, job->layers_per_virtual_stage);
        *v = layers / job->layers_per_virtual_stage;
    } else if (job->virtual_stages > 1) {
        *v = job->virtual_stages;
    }
    return SS_OK;
}

/* Layers of the first, last and other stages, and their chunks. */
static int check_split(struct ss_finish *f, int v)
{
    const struct ss_job *job = f->job;
    int first = job->first_stage_layers, last = job->last_stage_layers, chunks = v ? v : 1;
    int layers = ss_job_split_layers(job), stages = job->pp, counted = layers - job->model.num_layers;

    if (!first && !last) {
        if (layers % stages)
            REFUSE(
                f, "--pp --num-layers",
                "give --decoder-first-pipeline-num-layers and --decoder-last-pipeline-num-layers",
                "number of layers should be divisible by the pipeline parallel size (%d layers, pipeline %d)",
                layers, stages);
        if (layers / stages % chunks)
            REFUSE(f, "--num-virtual-stages-per-pipeline-rank --pp",
                   "take a number of virtual stages that divides the layers",
                   "number of layers on each pipeline rank: %d must be divisible by virtual pipeline "
                   "parallel degree %d",
                   layers / stages, chunks);
        return SS_OK;
    }
    if (counted > 0)
        REFUSE(f,
               "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split "
               "--decoder-first-pipeline-num-layers --decoder-last-pipeline-num-layers",
               "drop one of them",
               "embedding and loss count as layers only where the first and the last stage are no exception");
    if (job->pp < 2)
        REFUSE(f, "--decoder-first-pipeline-num-layers --decoder-last-pipeline-num-layers",
               "drop it, or take a larger --pp",
               "an uneven first or last stage needs a pipeline-model-parallel size above 1");
    if (first % chunks)
        REFUSE(f, "--decoder-first-pipeline-num-layers", "take a multiple of it",
               "number of layers at first stage: %d must be divisible by virtual pipeline parallel degree %d",
               first, chunks);
    if (last % chunks)
        REFUSE(f, "--decoder-last-pipeline-num-layers", "take a multiple of it",
               "number of layers at last stage: %d must be divisible by virtual pipeline parallel degree %d",
               last, chunks);
    layers -= first + last;
    stages -= !!first + !!last;
    if (layers < stages || (stages ? layers % stages : layers != 0))
        REFUSE(f, "--decoder-first-pipeline-num-layers --decoder-last-pipeline-num-layers",
               "other first and last stages, or another --pp",
               "number of layers at middle stage: %d must be divisible by the middle pipeline model "
               "parallel size %d",
               layers, stages);
    if (stages && layers / stages % chunks)
        REFUSE(f,
               "--num-virtual-stages-per-pipeline-rank --decoder-first-pipeline-num-layers "
               "--decoder-last-pipeline-num-layers",
               "take a number of virtual stages that divides the layers",
               "number of layers on each middle pipeline rank: %d must be divisible by virtual pipeline "
               "parallel degree %d",
               layers / stages, chunks);
    return SS_OK;
}

static int check_interleaving(struct ss_finish *f, int v)
{
    const struct ss_job *job = f->job;
    int m = ss_job_microbatches(job, f->world_size), group = job->microbatch_group_size;

    if (v < 2 || (job->schedule[0] && strcmp(job->schedule, "auto") != 0 &&
                  /* another schedule states its own conditions */
                  strcmp(job->schedule, ss_schedule_default(v)) != 0))
        return SS_OK;
    if (!group && m % job->pp)
        REFUSE(f, "--gbs --mbs",
               "another --global-batch-size, or --microbatch-group-size-per-virtual-pipeline-stage",
               "number of microbatches (%d) is not divisible by pipeline-model-parallel-size (%d) when using "
               "interleaved schedule",
               m, job->pp);
    if (!group)
        return SS_OK;
    if (group > m || group < job->pp)
        REFUSE(f, "--microbatch-group-size-per-vp-stage", "take a group in that range, or a larger --gbs",
               "The number of contiguous micro-batches in a virtual pipeline stage (%d) should range in "
               "[PP=%d, M=%d]",
               group, job->pp, m);
    if (m % group > 0 && m % group < job->pp)
        REFUSE(f, "--microbatch-group-size-per-vp-stage", "take a group that divides the microbatches",
               "The remainder of M (the total micro-batches) divided by N (number of contiguous "
               "micro-batches in a virtual pipeline stage) should be 0, or larger than or equal to the "
               "pipeline-parallel size, but it is %d.",
               m % group);
    return SS_OK;
}

int ss_job_check_stages(struct ss_finish *f)
{
    int v = 0;
    int rc = check_cuts(f);

    SS_THEN(rc, ss_job_check_mamba(f));
    SS_THEN(rc, ss_job_check_undivided(f));
    SS_THEN(rc, ss_job_check_linear(f));
    SS_THEN(rc, check_batch(f));
    SS_THEN(rc, check_virtual(f, &v));
    SS_THEN(rc, ss_job_check_sparse(f, v));
    SS_THEN(rc, ss_job_check_streams(f, v));
    if (!rc && !f->job->layout.n)
        rc = check_split(f, v);
    SS_THEN(rc, check_interleaving(f, v));
    return rc;
}

/* What OptimizerCudaGraphWrapper (core/optimizer/optimizer_cuda_graph.py) can capture: Adam's step, in which the host reads nothing.
 * It reads found_inf of fp16 and the count of zeros (optimizer.py, clip_grads.py). */
static int check_step_graph(struct ss_finish *f)
{
    const struct ss_job *job = f->job;

    if (!job->optimizer.graph)
        return SS_OK;
    if (f->stack->graphs_offered < 2)
        REFUSE(f, "--optimizer-cuda-graph --stack",
               "drop it, or take a --stack whose release has it, such as megatron-bridge-26.08",
               "%s has no CUDA graph of the optimizer's step", f->stack->name);
    if (job->optimizer.kind != SS_OPTIMIZER_ADAM)
        REFUSE(f, "--optimizer-cuda-graph --optimizer", "drop it, or take --optimizer adam",
               "the CUDA graph of the optimizer's step is of Adam alone");
    if (job->offload.optimizer > 0 || job->offload.swap)
        REFUSE(f, "--optimizer-cuda-graph --optimizer-cpu-offload --swap-optimizer", "drop one of the two",
               "no CUDA graph holds a step that waits for the host");
    if (job->stored == SS_FP16 || job->optimizer.counts_zeros)
        REFUSE(f, "--optimizer-cuda-graph --fp16 --log-num-zeros-in-grad", "drop one of the two",
               "the host reads a number in each step, which no CUDA graph captures: %s",
               job->stored == SS_FP16 ? "found_inf of fp16" : "the count of zeros");
    return SS_OK;
}

static int check_offload(struct ss_finish *f)
{
    const struct ss_job *job = f->job;

    if ((job->offload.params || job->offload.optimizer_nvme) &&
        job->dp.sharding < SS_SHARD_OPTIM_GRADS_PARAMS)
        REFUSE(f, "--param-offload --optimizer-offload-nvme --fsdp", "add --fsdp full, or drop it",
               "offload of parameters, and states on NVMe, are of ZeRO's stage 3 alone");
    if (job->offload.swap && !job->dp.distributed_optimizer)
        REFUSE(f, "--swap-optimizer", "add --use-distributed-optimizer, or drop it",
               "the swap of optimizer states is of the distributed optimizer alone");
    if (job->offload.swap && job->offload.optimizer > 0)
        REFUSE(f, "--swap-optimizer --optimizer-cpu-offload", "drop one of the two",
               "optimizer states are stepped on the device or on the host");
    if (!ss_job_offloads_layers(f))
        return SS_OK;
    if (job->offload.layers >= job->model.num_layers)
        REFUSE(f, "--cpu-offloading-num-layers", "fewer --cpu-offloading-num-layers",
               "CPU offloading can be done only for layers less than %d", job->model.num_layers);
    if (job->pp > 1)
        REFUSE(f, "--cpu-offloading-num-layers --pp --cpu-offloading", "drop --cpu-offloading or take --pp 1",
               "Currently there is no support for Pipeline parallelism with CPU offloading");
    /* NeMo 24.03 was seen to run such a job with only the recompute active. */
    if (job->recompute.granularity != SS_RECOMPUTE_NONE &&
        !(is_nemo(f) && job->recompute.granularity == SS_RECOMPUTE_FULL))
        REFUSE(f, "--cpu-offloading-num-layers", "drop one of the two",
               "CPU offloading does not work when activation recomputation is enabled");
    if (job->transformer_local || f->stack->te_layers == 0)
        REFUSE(f, "--cpu-offloading-num-layers --transformer-impl",
               "take another --stack or --transformer-impl, or drop --cpu-offloading",
               "CPU Offloading is enabled when TE is not present");
    return SS_OK;
}

static int check_data_parallel(struct ss_finish *f)
{
    const struct ss_job *job = f->job;

    if (job->dp.fsdp2 && job->dp.distributed_optimizer)
        REFUSE(f, "--use-distributed-optimizer", "drop it: FSDP shards the optimizer too",
               "--use-torch-fsdp2 is not supported with MCore's distributed optimizer");
    if (job->dp.fsdp2 && job->model.tied_embeddings)
        REFUSE(f, "--use-torch-fsdp2", "add --untie-embeddings-and-output-weights",
               "--use-torch-fsdp2 requires --untie-embeddings-and-output-weights");
    if (job->dp.fsdp2 && job->stored == SS_FP16)
        REFUSE(f, "--fp16 --precision", "take --bf16", "--use-torch-fsdp2 not supported with fp16 yet");
    if (job->dp.fsdp && job->dp.sharding > SS_SHARD_OPTIM && job->pp > 1 && f->stack->fsdp_pipeline == 0)
        REFUSE(f, "--fsdp --use-megatron-fsdp --use-torch-fsdp2 --pp",
               "take --pp 1, or the distributed optimizer instead of FSDP",
               "FSDP is not supported with pipeline parallelism");
    if (job->dp.overlap_param_gather && !job->dp.distributed_optimizer && !job->dp.fsdp)
        REFUSE(f, "--overlap-param-gather", "add --use-distributed-optimizer",
               "--overlap-param-gather only supported with distributed optimizer");
    if (job->dp.overlap_param_gather && !job->dp.overlap_grad_reduce)
        REFUSE(f, "--overlap-param-gather", "add --overlap-grad-reduce",
               "--overlap-grad-reduce should be turned on when using --overlap-param-gather");
    return SS_OK;
}

static int check_attention(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    int unfused = ss_job_attention(job, f->stack) == SS_ATTENTION_UNFUSED;

    if (job->cp == 1)
        return SS_OK;
    if (f->stack->cp_own <= 0 && !f->asked->own_cp && (job->transformer_local || f->stack->te_layers == 0))
        REFUSE(f, "--cp", "take another --stack or --transformer-impl, or --cp 1",
               "Context parallelism is only supported by TEDotProductAttention!");
    if (unfused)
        REFUSE(f, "--cp --attention-backend", "take --bf16 with flash or fused attention",
               "Context parallelism is only implemented with Flash Attention and Fused Attention");
    return SS_OK;
}

static int check_positions(struct ss_finish *f)
{
    const struct ss_model *m = &f->job->model;

    if (f->asked->no_position_embedding && m->position == SS_POSITION_LEARNED)
        REFUSE(f, "--no-position-embedding", "say --position-embedding-type rope, or none",
               "--no-position-embedding is deprecated, use --position-embedding-type");
    if (m->max_position_embeddings >= f->job->seq_length || is_nemo(f))
        return SS_OK;
    if (!ss_job_gives_positions(f) && m->position != SS_POSITION_LEARNED)
        return SS_OK;
    if (!m->max_position_embeddings)
        REFUSE(f, "--seq", "add --max-position-embeddings", "max_position_embeddings argument is None");
    REFUSE(f, "--max-position-embeddings --seq", "raise --max-position-embeddings",
           "max_position_embeddings (%d) must be greater than or equal to seq_length (%d).",
           m->max_position_embeddings, f->job->seq_length);
}

int ss_job_check_features(struct ss_finish *f)
{
    static int (*const steps[])(struct ss_finish *) = {
        check_positions,        ss_job_check_recompute, check_offload,
        check_step_graph,       check_data_parallel,    ss_job_check_quantized,
        check_attention,        ss_job_check_packed,    ss_job_check_expert_features,
        ss_job_check_optimizer, ss_job_check_encoders,  ss_job_check_release,
    };
    int rc = SS_OK;

    if (f->job->tp_comm_overlap && !f->job->sequence_parallel)
        REFUSE(f, "--tp-comm-overlap", "add --sequence-parallel",
               "Tensor parallel communication/GEMM overlap can happen only when "
               "sequence parallelism is enabled");
    if (f->job->deterministic && f->job->tp_comm_overlap)
        REFUSE(f, "--deterministic-mode --tp-comm-overlap", "drop one of the two",
               "--deterministic-mode requires: tp_comm_overlap=False (got True). Adjust these options to "
               "continue");
    for (size_t i = 0; i < SS_ARRAY_LEN(steps) && !rc; i++)
        rc = steps[i](f);
    return rc;
}
