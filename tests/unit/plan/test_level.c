/* SPDX-License-Identifier: Apache-2.0 */
/* Where nothing is contended, a slot takes as long as its operators and collectives, and these as long as their
 * flows: levels agree to 1e-9, folded and unfolded, on both engines. */

#include "scale_job.h"
#include "stepsim/replay.h"
#include "suite.h"

#define COMMON "--model llama3.1-8b --bf16 --seq 4096 --mbs 1 --use-distributed-optimizer "
#define OVERLAP "--sequence-parallel --tp-comm-overlap "
#define HYBRID "--model nemotron-h-8b --bf16 --seq 4096 --mbs 1 --use-distributed-optimizer "
#define SPARSE                                                                                               \
    "--num-layers 4 --hidden-size 1024 --ffn-hidden-size 4096 --num-attention-heads 64 --vocab-size 32000 "  \
    "--bf16 --seq 4096 --mbs 1 --use-distributed-optimizer --position-embedding-type rope --swiglu "         \
    "--disable-bias-linear --multi-latent-attention --q-lora-rank 256 --kv-lora-rank 128 "                   \
    "--experimental-attention-variant dsa --dsa-indexer-n-heads 8 --dsa-indexer-head-dim 64 "                \
    "--dsa-indexer-topk 512 "
#define LINEAR "--bf16 --seq 4096 --mbs 1 --use-distributed-optimizer "
#define BOTH_WAYS SS_SOURCE_DIR "/tests/unit/data/shared-links.xml"

static const char *const jobs[] = {
    "h800 1;" COMMON OVERLAP "--tp 4 --pp 2 --gbs 8",
    "h800 1;" COMMON "--sequence-parallel --tp 4 --pp 2 --gbs 8",
    "h800 1;" COMMON "--tp 4 --pp 2 --gbs 8",
    "h800 1;" COMMON "--tp 2 --pp 2 --cp 2 --gbs 8",
    "h800 1;" COMMON OVERLAP "--tp 2 --cp 4 --gbs 4",
    "h800 1;" COMMON OVERLAP "--tp 2 --cp 4 --gbs 4 --cp-comm-type a2a",
    "h800 1;" COMMON OVERLAP "--tp 4 --pp 2 --gbs 8 --fp8-format hybrid",
    "h800 1;" COMMON OVERLAP "--tp 4 --pp 2 --gbs 8 --recompute-granularity selective",
    "h800 1;" COMMON OVERLAP "--tp 4 --pp 2 --gbs 8 --recompute-granularity full --recompute-method uniform "
    "--recompute-num-layers 1",
    "h800 1;" COMMON OVERLAP "--tp 4 --pp 2 --gbs 8 --recompute-granularity full --recompute-method block "
    "--recompute-num-layers 3",
    /* pipeline over NICs: sends in the background would meet tensor-parallel traffic on NVLink */
    "h800 4;" COMMON OVERLAP "--tp 8 --pp 4 --gbs 8 --num-layers-per-virtual-pipeline-stage 2",
    "h800 4;" COMMON OVERLAP "--tp 8 --pp 4 --gbs 16 --schedule zb-h1",
    "h800 4;" COMMON OVERLAP "--tp 8 --pp 4 --gbs 16 --schedule zb-v",
    "h800 4;" COMMON "--stack megatron-2021 --tp 8 --pp 4 --gbs 16",
    "h800 4;" COMMON "--stack megatron-2021 --tp 8 --pp 4 --gbs 16 --schedule zb-h1",
    "h800 2;" COMMON OVERLAP "--tp 8 --pp 2 --gbs 8",
    "h800 2;" COMMON "--sequence-parallel --tp 16 --num-query-groups 16 --group-query-attention --gbs 4",
    "h800 2;" COMMON OVERLAP "--tp 2 --cp 8 --gbs 2",
    "h800 2;" COMMON OVERLAP "--tp 2 --cp 8 --gbs 2 --cp-comm-type a2a+p2p",
    "h800 2;" COMMON OVERLAP "--tp 2 --cp 8 --gbs 2 --num-query-groups 16 --cp-comm-type a2a",
    "h800 2;" COMMON "--tp 8 --cp 2 --gbs 2 --num-query-groups 16 --cp-comm-type a2a",
    /* uplinks hold the all-to-all up, evenly and unevenly, and so do NICs that two GPUs share */
    "h800 4 ss.oversubscription=2 ss.nodes_per_leaf=2;" COMMON
    "--cp 32 --gbs 1 --num-query-groups 32 --cp-comm-type a2a",
    "h800 4 ss.oversubscription=4 ss.nodes_per_leaf=3;" COMMON
    "--tp 4 --cp 8 --gbs 1 --num-query-groups 32 --cp-comm-type a2a",
    "a100-roce400 4 ss.oversubscription=3 ss.nodes_per_leaf=2;" COMMON
    "--cp 16 --gbs 2 --num-query-groups 32 --cp-comm-type a2a",
    "h800 2;" COMMON "--tp 8 --cp 2 --gbs 2 --cp-comm-type all_gather",
    /* and rings: of tensor parallelism with the kernels beside them, and those that attention drives */
    "h800 4 ss.oversubscription=4 ss.nodes_per_leaf=1;" COMMON OVERLAP
    "--tp 16 --num-query-groups 16 --group-query-attention --gbs 4",
    "h800 4 ss.oversubscription=3 ss.nodes_per_leaf=2;" COMMON "--tp 1 --cp 32 --gbs 2",
    /* two GPUs a NIC: both leave the node in a ring step, or one of them */
    "a100-roce400 4;" COMMON OVERLAP "--tp 4 --cp 4 --gbs 4",
    "a100-roce400 2;" COMMON "--tp 1 --cp 16 --gbs 2",
    "h20 1;" COMMON OVERLAP "--tp 2 --pp 2 --cp 2 --gbs 8",
    /* links that carry both directions in one: what leaves and what comes share them */
    BOTH_WAYS " 1;" COMMON "--tp 4 --gbs 2",
    BOTH_WAYS " 1;" COMMON "--tp 2 --cp 2 --gbs 2 --cp-comm-type a2a",
    /* layers that are one half, and context ranks that exchange both heads and keys */
    "h800 1;" HYBRID "--sequence-parallel --tp 2 --pp 2 --cp 2 --gbs 8",
    "h800 2;" HYBRID "--tp 2 --cp 8 --gbs 2 --cp-comm-type all_gather",
    /* sparse attention, whose context ranks gather keys, and an indexer that trains */
    "h800 2;" SPARSE "--sequence-parallel --tp 2 --cp 4 --pp 2 --gbs 4 --cp-comm-type allgather",
    "h800 1;" SPARSE "--sequence-parallel --tp 4 --gbs 4 --dsa-indexer-loss-coeff 1",
    /* linear attention, whose context ranks exchange heads, or gather states */
    "h800 1;" LINEAR "--model qwen3.5-0.8b --sequence-parallel --tp 2 --pp 2 --cp 2 --gbs 8",
    "h800 2;" LINEAR "--model qwen3.5-0.8b --tp 2 --cp 8 --gbs 2 --cp-comm-type all_gather",
    "h800 1;" LINEAR "--model ring-mini-linear-2.0 --cp 2 --ep 4 --pp 2 --gbs 8",
    "h800 2;" LINEAR "--model kimi-linear-48b-a3b --stack nemo-automodel-2026 --cp 2 --ep 8 --gbs 8",
    "h800 1;" LINEAR "--model rwkv7-0.4b --cp 4 --gbs 4",
    "h800 1;" LINEAR "--model " SS_SOURCE_DIR
    "/tests/models/fla/retnet.json --sequence-parallel --tp 2 --cp 2 --pp 2 --gbs 8",
    /* convolutions, whose context ranks gather the last tokens; sparse attention and Mamba-1 in a pipeline */
    "h800 2;" LINEAR "--model lfm2-350m --cp 8 --gbs 4",
    "h800 1;" LINEAR "--model " SS_SOURCE_DIR "/tests/models/fla/nsa.json --pp 2 --gbs 8",
    "h800 1;" LINEAR "--model " SS_SOURCE_DIR "/tests/models/fla/moba.json --pp 2 --gbs 8",
    "h800 1;" LINEAR "--model mamba-130m --pp 2 --gbs 8",
    "h800 1;" HYBRID "--disable-mamba-mem-eff-path --sequence-parallel --tp 2 --pp 2 --cp 2 --gbs 8",
    /* an encoder on the first stage, trained, and frozen and whole on every tensor rank */
    "h800 1;" LINEAR
    "--model qwen3-vl-2b --images 3 --img-h 512 --img-w 768 --sequence-parallel --tp 2 --pp 2 --gbs 8",
    "h800 1;" LINEAR "--model qwen3-vl-30b-a3b --images 2 --img-h 512 --ep 4 --pp 2 --vp 2 --gbs 16 --stack "
    "megatron-bridge-26.08 --moe-token-dispatcher-type alltoall --overlap-moe-expert-parallel-comm",
    "h800 2;" LINEAR "--model qwen3-omni-30b-a3b --images 2 --img-h 512 --audio-seconds 30 "
    "--freeze-sound-model --ep 4 --tp 2 --sequence-parallel --gbs 16",
    "h800 2;" LINEAR "--model qwen2.5-vl-7b --images 2 --img-h 448 --freeze-ViT --tp 2 --cp 2 --pp 2 --gbs 8",
};

static const struct {
    int level, unfold, engine;
} ways[] = {
    {SS_LEVEL_CHUNK, 0, SS_ENGINE_NATIVE}, {SS_LEVEL_LAYER, 0, SS_ENGINE_NATIVE},
    {SS_LEVEL_FLOW, 0, SS_ENGINE_NATIVE},  {SS_LEVEL_LAYER, 1, SS_ENGINE_NATIVE},
    {SS_LEVEL_FLOW, 1, SS_ENGINE_NATIVE},  {SS_LEVEL_LAYER, 0, SS_ENGINE_SIMGRID},
    {SS_LEVEL_FLOW, 0, SS_ENGINE_SIMGRID}, {SS_LEVEL_FLOW, 1, SS_ENGINE_SIMGRID},
};
#define NWAYS (sizeof ways / sizeof ways[0])

static int run_way(struct scale_job *s, size_t i, struct ss_run *run)
{
    struct ss_run_options o = {.engine = ways[i].engine};
    o.plan.level = ways[i].level;
    o.plan.unfold = ways[i].unfold;
    return scale_run(s, &o, run);
}

/* Counts of the jobs that SimGrid replays. */
static size_t stride = 1;

/* Whether a job goes this way. */
static int tried(size_t job, size_t way)
{
    return ways[way].engine != SS_ENGINE_SIMGRID || (job < SCALE_SIMGRID_CASES && job % stride == 0);
}

static void agree(const char *job, const struct ss_run *a, const struct ss_run *b, size_t way)
{
    double t = a->result->iteration_s;
    unsigned before = CU_get_number_of_failures();
    CU_ASSERT_DOUBLE_EQUAL(b->result->iteration_s, t, 1e-9 * t);
    for (int r = 0; r < a->plan->world_size; r++)
        for (int l = 0; l < SS_LABEL_COUNT; l++)
            CU_ASSERT_DOUBLE_EQUAL(b->timeline->spent[b->plan->class_of[r]][l],
                                   a->timeline->spent[a->plan->class_of[r]][l], 1e-9 * t);
    CU_ASSERT_EQUAL(b->result->level, ways[way].level);
    CU_ASSERT_EQUAL(b->result->ntimers, a->result->ntimers);
    for (int i = 0; i < a->result->ntimers && i < b->result->ntimers; i++)
        CU_ASSERT_DOUBLE_EQUAL(b->result->timers[i].seconds, a->result->timers[i].seconds, 1e-9 * t);
    if (CU_get_number_of_failures() > before)
        fprintf(stderr, "%s\n  %s%s on %s: %.12g s instead of %.12g s\n", job, ss_level_name(ways[way].level),
                ways[way].unfold ? " unfolded" : "", ss_engine_name(ways[way].engine), b->result->iteration_s,
                t);
}

TEST(levels)
{
    for (size_t j = 0; j < sizeof jobs / sizeof jobs[0]; j++) {
        struct scale_job s;
        struct ss_run first, other;
        CU_ASSERT_FATAL(scale_open(&s, jobs[j]) == 0);
        CU_ASSERT_FATAL(run_way(&s, 0, &first) == 0);
        CU_ASSERT_EQUAL(first.result->level, SS_LEVEL_CHUNK);
        for (size_t i = 1; i < NWAYS; i++) {
            if (!tried(j, i))
                continue;
            CU_ASSERT_FATAL(run_way(&s, i, &other) == 0);
            agree(jobs[j], &first, &other, i);
            ss_run_free(&other);
        }
        ss_run_free(&first);
        scale_close(&s);
    }
}

/* Data-parallel buckets come due at the same moment; without a share of the SMs they slow nothing. */
TEST(buckets)
{
    static const char *const with_dp[] = {
        "h800 4;" COMMON OVERLAP "--tp 8 --pp 2 --gbs 16 --overlap-grad-reduce --overlap-param-gather",
        "h800 2;" COMMON OVERLAP "--tp 8 --pp 1 --gbs 16 --overlap-grad-reduce --overlap-param-gather "
        "--ddp-bucket-size 100000000",
        "h800 2;" COMMON "--tp 8 --pp 1 --gbs 4",
        "h800 2;" COMMON OVERLAP
        "--tp 8 --pp 1 --gbs 16 --overlap-grad-reduce --overlap-param-gather --schedule zb-h1",
    };
    for (size_t j = 0; j < sizeof with_dp / sizeof with_dp[0]; j++) {
        struct scale_job s;
        struct ss_run first, other;
        CU_ASSERT_FATAL(scale_open(&s, with_dp[j]) == 0);
        s.stack.comm_sms_nic = s.stack.comm_sms_fabric = 0;
        CU_ASSERT_FATAL(run_way(&s, 0, &first) == 0);
        for (size_t i = 1; i < NWAYS; i++) {
            if (!tried(j + 2, i))
                continue;
            CU_ASSERT_FATAL(run_way(&s, i, &other) == 0);
            agree(with_dp[j], &first, &other, i);
            ss_run_free(&other);
        }
        ss_run_free(&first);
        scale_close(&s);
    }
}

/* User buffers of another busbw than NCCL's. */
TEST(overlap_busbw)
{
    struct scale_job s;
    struct ss_run first, other;
    const char *job = "h800 1;" COMMON OVERLAP "--tp 8 --gbs 2";
    CU_ASSERT_FATAL(scale_open(&s, job) == 0);
    s.stack.tp_overlap_busbw = 0.11;
    CU_ASSERT_FATAL(run_way(&s, 0, &first) == 0);
    CU_ASSERT(first.timeline->spent[0][SS_LABEL_TP] > 0);
    for (size_t i = 1; i < NWAYS; i++) {
        CU_ASSERT_FATAL(run_way(&s, i, &other) == 0);
        agree(job, &first, &other, i);
        ss_run_free(&other);
    }
    ss_run_free(&first);
    scale_close(&s);
}

/* FSDP: the gathers hold their share of the SMs beside each layer; ZeRO-2 gathers in the forward alone, the replicas of a
 * hybrid job reduce their shards, two collectives at a time. */
TEST(fsdp)
{
#define FSDP "--model llama3.1-8b --bf16 --seq 8192 --mbs 1 --gbs 16 "
    static const struct {
        const char *job;
        double apart; /* levels, at most */
    } fsdp[] = {{"h100 1;" FSDP "--stack nemo-24.03 --fsdp full", 1e-9},
                {"h100 1;" FSDP "--stack llm-foundry-2023 --fsdp grad", 1e-9},
                {"h100 1;" FSDP "--fsdp grad", 1e-9},
                {"h100 1;" FSDP "--stack deepspeed-2026 --fsdp full --param-offload cpu", 1e-9},
                {"h100 1 ss.pcie.bandwidth=5GBps;" FSDP
                 "--stack deepspeed-2026 --fsdp full --param-offload cpu --optimizer-cpu-offload",
                 1e-9},
                {"h100 2;" FSDP "--fsdp hybrid", 2e-3}};
    for (size_t k = 0; k < sizeof fsdp / sizeof fsdp[0]; k++) {
        struct scale_job s;
        struct ss_run first, other;
        CU_ASSERT_FATAL(scale_open(&s, fsdp[k].job) == 0);
        CU_ASSERT_FATAL(run_way(&s, 0, &first) == 0);
        for (size_t i = 1; i < NWAYS; i++) {
            CU_ASSERT_FATAL(run_way(&s, i, &other) == 0);
            CU_ASSERT_DOUBLE_EQUAL(other.result->iteration_s, first.result->iteration_s,
                                   fsdp[k].apart * first.result->iteration_s);
            ss_run_free(&other);
        }
        ss_run_free(&first);
        scale_close(&s);
    }
}

/* Likewise where kernels wait for tensor ranks, for exchanges and for the host, which closed forms spread over the layer; and where members
 * of a group have unlike kernels, whose collectives are the same all the same. */
TEST(fsdp_waits)
{
#define MIXTURE "--bf16 --seq 4096 --mbs 1 --num-layers 4 --fsdp full "
#define SHARED_OVERLAP "--moe-shared-expert-overlap --moe-token-dispatcher-type alltoall "
    static const struct {
        const char *job;
        double apart; /* levels, at most */
        int slow;     /* rank of a slow GPU, or -1 */
    } rows[] = {
        {"h100 4;" MIXTURE "--model qwen3-30b-a3b --gbs 32 --ep 2", 0.01, -1},
        {"h100 4;" MIXTURE "--model qwen3-30b-a3b --gbs 32 --ep 8", 0.01, -1},
        {"h100 4;" MIXTURE "--model qwen3-30b-a3b --gbs 32 --ep 2 --fsdp hybrid", 0.01, -1},
        {"h100 4;" MIXTURE "--model llama3.1-8b --gbs 8 --tp 4 --sequence-parallel --stack torchtitan-2025",
         0.02, -1},
        {"h100 4;" MIXTURE "--model qwen2-57b-a14b --gbs 32 --ep 8 " SHARED_OVERLAP, 0.02, 3},
        {"a100 4;" MIXTURE "--model qwen2-57b-a14b --gbs 32 --ep 8 " SHARED_OVERLAP, 0.02, 3},
        {"h100 3;" MIXTURE "--model qwen1.5-moe-a2.7b --gbs 24 --ep 6 " SHARED_OVERLAP, 0.02, -1},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const struct ss_straggler slow = {rows[k].slow, 1.5};
        struct ss_run_options o = {.plan = {.level = SS_LEVEL_CHUNK}};
        struct scale_job s;
        struct ss_run chunk, layer;
        o.plan.stragglers = &slow;
        o.plan.nstragglers = rows[k].slow >= 0;
        CU_ASSERT_FATAL(scale_open(&s, rows[k].job) == 0);
        CU_ASSERT_EQUAL_FATAL(scale_run(&s, &o, &chunk), 0);
        o.plan.level = SS_LEVEL_LAYER;
        CU_ASSERT_EQUAL_FATAL(scale_run(&s, &o, &layer), 0);
        CU_ASSERT_DOUBLE_EQUAL(layer.result->iteration_s, chunk.result->iteration_s,
                               rows[k].apart * chunk.result->iteration_s);
        ss_run_free(&chunk);
        ss_run_free(&layer);
        scale_close(&s);
    }
}

/* Bytes that a NIC carries in one iteration. */
static double nic_bytes(const char *job)
{
    struct scale_job s;
    struct ss_run run;
    double bytes = 0;
    CU_ASSERT_FATAL(scale_open(&s, job) == 0);
    CU_ASSERT_FATAL(run_way(&s, 0, &run) == 0);
    for (int i = 0; i < run.result->nlinks; i++)
        if (!strncmp(run.result->links[i].link.name, "nic-", 4))
            bytes = run.result->links[i].bytes;
    ss_run_free(&run);
    scale_close(&s);
    return bytes;
}

/* Two nodes that hold copies: of its eighth of the fp32 gradients each rank sends (n-1)/n twice. */
TEST(hybrid_traffic)
{
    double parameters = 8.03e9, bytes = nic_bytes("h100 2;" FSDP "--fsdp hybrid");
    CU_ASSERT_DOUBLE_EQUAL(bytes, 4 * parameters / 8, 0.02 * bytes);
    CU_ASSERT(nic_bytes("h100 2;" FSDP "--fsdp hybrid --outer-dp-sharding-strategy optim") < 0.8 * bytes);
}

/* In one stage the output layer's gradients go first and its parameters are needed last. */
TEST(output_bucket)
{
    struct scale_job s;
    struct ss_run run;
    const struct ss_run_options o = {.engine = SS_ENGINE_NATIVE};
    double output = 128512.0 * 4096;
    CU_ASSERT_FATAL(
        scale_open(&s, "h100 1;" COMMON "--overlap-grad-reduce --overlap-param-gather --gbs 16") == 0);
    CU_ASSERT_FATAL(scale_run(&s, &o, &run) == 0);
    const struct ss_chunk_cost *chunk = &run.plan->classes[0].chunks[0];
    CU_ASSERT_FATAL(chunk->nreduce > 1 && chunk->ngather > 1);
    CU_ASSERT_DOUBLE_EQUAL(run.plan->collectives[chunk->reduce[0].collective].bytes, 4 * output,
                           1e-4 * 4 * output);
    CU_ASSERT(chunk->reduce[0].fraction > 0 && chunk->reduce[0].fraction < 0.1);
    const struct ss_bucket_mark *last = &chunk->gather[chunk->ngather - 1];
    CU_ASSERT_DOUBLE_EQUAL(run.plan->collectives[last->collective].bytes, 2 * output, 1e-4 * 2 * output);
    CU_ASSERT(last->fraction > 0.8 && last->fraction < 1);
    CU_ASSERT_DOUBLE_EQUAL(chunk->reduce[chunk->nreduce - 1].fraction, 1, 0);
    ss_run_free(&run);
    scale_close(&s);
}

/* Bytes of the buckets that a rank reduces, first to last; returns their number. */
static int bucket_bytes(const char *job, double *bytes, int most)
{
    const struct ss_run_options o = {.engine = SS_ENGINE_NATIVE};
    struct scale_job s;
    struct ss_run run;
    CU_ASSERT_FATAL(scale_open(&s, job) == 0);
    CU_ASSERT_FATAL(scale_run(&s, &o, &run) == 0);
    const struct ss_chunk_cost *chunk = &run.plan->classes[0].chunks[0];
    CU_ASSERT_FATAL(chunk->nreduce <= most);
    for (int i = 0; i < chunk->nreduce; i++)
        bytes[i] = run.plan->collectives[chunk->reduce[i].collective].bytes;
    int n = chunk->nreduce;
    ss_run_free(&run);
    scale_close(&s);
    return n;
}

/* A bucket has 40 million parameters or more, and a million a rank of data parallelism where that is more. A layer has 16 heads x 64,
 * 12 x 1024 x 1024 in its matrices and 4 x 1024 + 9 x 1024 beside them, 12.6 million. The tensor that fills a bucket closes it: of 8 ranks
 * the first one has a norm, three layers and an FC2, the next one what follows to the FC1 three layers on; of 64 ranks five. */
TEST(bucket_size)
{
#define SMALL                                                                                                \
    "--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --vocab-size 51200 --seq 1024 "             \
    "--max-position-embeddings 1024 --bf16 --mbs 1 --overlap-grad-reduce --gbs 64"
    const double layer = 4 * (12 * 1024 * 1024 + 13 * 1024.0), fc1 = 4 * 4198400.;
    double bytes[32];
    CU_ASSERT_FATAL(bucket_bytes("h800 1;" SMALL, bytes, 32) > 2);
    CU_ASSERT_DOUBLE_EQUAL(bytes[1], 3 * layer + fc1, 1e-9 * layer);
    CU_ASSERT_FATAL(bucket_bytes("h800 8;" SMALL, bytes, 32) > 2);
    CU_ASSERT_DOUBLE_EQUAL(bytes[1], 5 * layer + fc1, 1e-9 * layer);
#undef SMALL
}

/* PyTorch's buckets have 25 MiB of 16-bit gradients whatever the ranks, 13,107,200, and the first of them 1 MiB; the tensor that fills one
 * closes it. Of a layer, in the order of the backward: FC2 with its bias 4,195,328, FC1 4,198,400, a norm 2,048, the projection 1,049,600,
 * QKV 3,148,800, a norm 2,048. So: the last norm and FC2; FC1 to the next layer's FC1; from that norm to the projection of the layer behind;
 * from its QKV to the next QKV; at the end a norm and the embedding, 51,200 + 1,024 rows. nanotron's ZeRO-1 has no buckets: it reduces all
 * gradients behind the last backward. */
TEST(buckets_of_pytorch)
{
#define SMALL                                                                                                \
    "--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --vocab-size 51200 --seq 1024 "             \
    "--max-position-embeddings 1024 --bf16 --mbs 1 --overlap-grad-reduce --gbs 64 "
    const double layer = 12 * 1024 * 1024 + 13 * 1024.0, norm = 2048, qkv = 3148800, proj = 1049600;
    const double fc1 = 4198400, fc2 = 4195328,
                 bucket[] = {norm + fc2, layer - fc2 + fc2 + fc1, layer - fc2 - fc1 + fc2 + fc1 + norm + proj,
                             qkv + norm + fc2 + fc1 + norm + proj + qkv};
    double bytes[512];
    int buckets = bucket_bytes("h800 8;" SMALL "--stack nanotron-2025", bytes, 512);
    CU_ASSERT_EQUAL_FATAL(buckets, 21);
    for (int i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(bytes[i], 4 * bucket[i]);
    CU_ASSERT_EQUAL(bytes[20], 4 * (norm + 52224 * 1024.0));
    int n = bucket_bytes("h800 8;" SMALL "--use-distributed-optimizer --stack nanotron-2025", bytes, 512);
    CU_ASSERT_EQUAL(n, 0);
#undef SMALL
}

/* Whatever is sharded over whatever, no class of memory is negative; PyTorch's shards are whole masters. */
TEST(sharded_memory)
{
    static const char *const whole[] = {
        "h800 4;" FSDP "--stack torchtitan-2024 --fsdp hybrid --outer-dp-sharding-strategy optim --gbs 32",
        "h800 4;" FSDP "--stack torchtitan-2024 --fsdp hybrid --gbs 32",
        "h800 4;" FSDP "--stack llm-foundry-2023 --fsdp full --gbs 32",
        "h800 4;" FSDP "--fsdp hybrid --outer-dp-sharding-strategy optim --gbs 32"};
    static const double optimizer[] = {8.0 / 32, 8.0 / 8, 8.0 / 32, 12.0 / 32}; /* bytes a parameter */
    for (int i = 0; i < 4; i++) {
        struct scale_job s;
        struct ss_run run;
        const struct ss_run_options o = {.engine = SS_ENGINE_NATIVE};
        CU_ASSERT_FATAL(scale_open(&s, whole[i]) == 0);
        CU_ASSERT_FATAL(scale_run(&s, &o, &run) == 0);
        const double *memory = run.plan->classes[0].memory;
        for (int m = 0; m < SS_MEM_COUNT; m++)
            CU_ASSERT(memory[m] >= 0);
        CU_ASSERT_DOUBLE_EQUAL(memory[SS_MEM_OPTIMIZER], 8.03e9 * optimizer[i],
                               0.02 * memory[SS_MEM_OPTIMIZER]);
        ss_run_free(&run);
        scale_close(&s);
    }
}

/* Tensor parallelism fills the node: no rank shares its parameters, and nothing else divides the optimizer. */
TEST(hybrid_alone)
{
    static const char *const whole[] = {"h100 4;" FSDP "--tp 8 --fsdp hybrid",
                                        "h100 4;" FSDP "--tp 8 --fsdp hybrid --use-distributed-optimizer"};
    double optimizer[2];
    for (int i = 0; i < 2; i++) {
        struct scale_job s;
        struct ss_run run;
        const struct ss_run_options o = {.engine = SS_ENGINE_NATIVE};
        CU_ASSERT_FATAL(scale_open(&s, whole[i]) == 0);
        CU_ASSERT_FATAL(scale_run(&s, &o, &run) == 0);
        optimizer[i] = run.plan->classes[0].memory[SS_MEM_OPTIMIZER];
        ss_run_free(&run);
        scale_close(&s);
    }
    CU_ASSERT_DOUBLE_EQUAL(optimizer[0], 12 * 8.03e9 / 8, 0.02 * optimizer[0]);
    CU_ASSERT_EQUAL(optimizer[0], optimizer[1]);
}

/* A GPU of half the speed: its group's GEMMs hide as much more. */
TEST(straggler)
{
    static const struct ss_straggler slow[] = {{3, 2}};
    static const char *const slowed[] = {
        "h800 1;" COMMON OVERLAP "--tp 8 --gbs 4",
        "h800 1;--stack megatron-lm-2022 " COMMON "--sequence-parallel --tp 8 --gbs 4",
        "h800 1;" COMMON "--tp 2 --cp 4 --gbs 4",
        "h800 1;" COMMON "--tp 8 --gbs 4 --cpu-offloading --cpu-offloading-num-layers 20"};
    for (size_t k = 0; k < sizeof slowed / sizeof slowed[0]; k++) {
        struct scale_job s;
        struct ss_run run[2];
        CU_ASSERT_FATAL(scale_open(&s, slowed[k]) == 0);
        for (int i = 0; i < 2; i++) {
            struct ss_run_options o = {.engine = SS_ENGINE_NATIVE};
            o.plan.level = i ? SS_LEVEL_LAYER : SS_LEVEL_CHUNK;
            o.plan.nstragglers = 1;
            o.plan.stragglers = slow;
            CU_ASSERT_FATAL(scale_run(&s, &o, &run[i]) == 0);
        }
        CU_ASSERT_DOUBLE_EQUAL(run[1].result->iteration_s, run[0].result->iteration_s,
                               1e-9 * run[0].result->iteration_s);
        for (int i = 0; i < 2; i++)
            ss_run_free(&run[i]);
        scale_close(&s);
    }
}

/* Tensor-parallel traffic feels a slow NVLink at every level: closed forms have their share of it. */
TEST(slow_nvlink)
{
    static const struct ss_slow_link slow[] = {{"nvlink-0-1", 3}};
    struct scale_job s;
    struct ss_run run[4];
    double usual;
    CU_ASSERT_FATAL(scale_open(&s, "h800 1;" COMMON OVERLAP "--tp 8 --gbs 4") == 0);
    CU_ASSERT_FATAL(scale_run(&s, NULL, &run[0]) == 0);
    usual = run[0].result->iteration_s;
    ss_run_free(&run[0]);
    for (int k = 0; k < 4; k++) {
        struct ss_run_options o = {.engine = SS_ENGINE_NATIVE};
        o.plan.level = k == 0 ? SS_LEVEL_CHUNK : k == 3 ? SS_LEVEL_LAYER : SS_LEVEL_FLOW;
        o.plan.unfold = k == 2;
        o.plan.nslow_links = 1;
        o.plan.slow_links = slow;
        CU_ASSERT_FATAL(scale_run(&s, &o, &run[k]) == 0);
    }
    CU_ASSERT(run[0].result->iteration_s > 1.05 * usual);
    CU_ASSERT_DOUBLE_EQUAL(run[1].result->iteration_s, run[0].result->iteration_s,
                           0.01 * run[0].result->iteration_s);
    for (int k = 2; k < 4; k++)
        CU_ASSERT_DOUBLE_EQUAL(run[k].result->iteration_s, run[1].result->iteration_s,
                               1e-9 * run[1].result->iteration_s);
    for (int k = 0; k < 4; k++)
        ss_run_free(&run[k]);
    scale_close(&s);
}

/*
 * Four GPUs whose links carry both directions in one. Each sends 2 (n-1)/n = 1.5 of a ring's buffer and gets as much, by one link. What
 * is waited for: two all-reduces of 4096 x 4096 activations in bf16 a layer and one of the embedding, forward; those of the backward
 * hide behind weight gradients. At twice the bandwidth nothing else changes.
 */
TEST(both_ways)
{
    static const char *const bandwidths[] = {"600GBps", "1200GBps"};
    const double buffer = 4096. * 4096 * 2, efficiency = 0.783;
    double tp[2];
    for (int k = 0; k < 2; k++) {
        struct scale_job s;
        struct ss_run run;
        char job[400];
        snprintf(job, sizeof job,
                 BOTH_WAYS
                 " 1 ss.nvlink.half_size=0B ss.curve.ring.middle_latency=9ms ss.nvlink.bandwidth=%s;" COMMON
                 "--num-layers 4 --tp 4 --gbs 1",
                 bandwidths[k]);
        CU_ASSERT_FATAL(scale_open(&s, job) == 0);
        CU_ASSERT_FATAL(run_way(&s, 0, &run) == 0);
        tp[k] = run.timeline->spent[0][SS_LABEL_TP];
        ss_run_free(&run);
        scale_close(&s);
    }
    double once = 2 * 1.5 * buffer / (600e9 * efficiency);
    CU_ASSERT_DOUBLE_EQUAL(tp[0] - tp[1], 9 * (once - once / 2), 1e-3 * once); /* and the loss's of 16 KiB */
}

/* Tensor groups that lie unlike each other, and the slowest rank is in one that waits little for its own: what the others wait for
 * sends the run to flow level all the same. */
TEST(others_wait)
{
    static const int gpu_of[] = {8, 6, 12, 10, 1, 0, 9, 11, 7, 5, 14, 3, 4, 2, 15, 13};
    static const struct ss_straggler slow[] = {{6, 1.1}};
    struct scale_job s;
    struct ss_run run[3];
    CU_ASSERT_FATAL(
        scale_open(
            &s, "a100-hdr800 2 ss.nodes_per_leaf=1;--hidden-size 2048 --num-attention-heads 16 "
                "--ffn-hidden-size 8192 "
                "--vocab-size 32000 --num-layers 2 --swiglu --disable-bias-linear --bf16 --tp 2 --seq 2048 "
                "--max-position-embeddings 2048 --mbs 1 --gbs 8") == 0);
    for (int k = 0; k < 3; k++) {
        struct ss_run_options o = {.engine = SS_ENGINE_NATIVE};
        o.level_choice = k == 1 ? SS_LEVEL_BLIND : SS_LEVEL_FOLLOWS;
        o.plan.level = k == 2 ? SS_LEVEL_FLOW : SS_LEVEL_CHUNK;
        o.plan.unfold = k == 2;
        o.plan.placement = gpu_of;
        o.plan.nstragglers = 1;
        o.plan.stragglers = slow;
        CU_ASSERT_FATAL(scale_run(&s, &o, &run[k]) == 0);
    }
    double flows = run[2].result->iteration_s;
    CU_ASSERT(fabs(run[1].result->iteration_s - flows) > 0.03 * flows);
    CU_ASSERT_DOUBLE_EQUAL(run[0].result->iteration_s, flows, 1e-9 * flows);
    CU_ASSERT(run[0].level_reason[0] != '\0');
    for (int k = 0; k < 3; k++)
        ss_run_free(&run[k]);
    scale_close(&s);
}

/* ---- flows that the engines move ---- */

static int64_t flows_of(const struct ss_program *p, const struct ss_collective *g)
{
    int64_t n = 0;
    for (int i = 0; i < g->nphases; i++)
        for (int j = 0; j < g->phases[i].nflows; j++) {
            const struct ss_flow *f = &g->phases[i].flows[j];
            n += f->bytes > 0 && f->path >= 0 && p->paths[f->path].nlinks > 0;
        }
    return n;
}

/* Counts a program's messages, and its collectives where the lowest member posts each. */
static int64_t flows_expected(const struct ss_program *p)
{
    int64_t n = 0;
    for (int c = 0; c < p->nclasses; c++)
        for (int i = 0; i < p->classes[c].nslots; i++) {
            const struct ss_template *t = &p->templates[ss_program_template_at(&p->classes[c], i)];
            for (int e = 0; e < t->nevents; e++) {
                const struct ss_event *ev = &t->events[e];
                if (ev->kind == SS_EV_SEND)
                    n += ev->amount > 0 && p->channels[ev->index].path >= 0 &&
                         p->paths[p->channels[ev->index].path].nlinks > 0;
                else if (ev->kind == SS_EV_POST && p->collectives[ev->index].members[0] == c)
                    n += flows_of(p, &p->collectives[ev->index]);
            }
        }
    return n;
}

/* Whatever a layer sends is on links at layer level, and each engine moves every flow of it. */
TEST(every_flow)
{
    static const char *const moving[] = {
        "h800 8;--model llama3.1-70b --bf16 --fp8-format hybrid --tp 4 --pp 8 --cp 2 --seq 8192 --mbs 1 "
        "--gbs 64 "
        "--num-layers-per-virtual-pipeline-stage 2 --use-distributed-optimizer --sequence-parallel "
        "--tp-comm-overlap",
        "h800 2;" COMMON "--tp 8 --cp 2 --gbs 4 --num-query-groups 16 --cp-comm-type a2a",
        "h800 2;" COMMON OVERLAP "--tp 16 --num-query-groups 16 --group-query-attention --gbs 4",
        "h800 2;--model llama3.1-8b --bf16 --seq 4096 --mbs 1 --use-torch-fsdp2 "
        "--no-gradient-accumulation-fusion "
        "--gbs 16",
        "h800 2;" COMMON "--tp 2 --sequence-parallel --pp 2 --ep 4 --num-experts 16 --moe-router-topk 2 "
        "--moe-shared-expert-intermediate-size 4096 --moe-token-dispatcher-type alltoall "
        "--moe-shared-expert-overlap --gbs 64"};
    for (size_t j = 0; j < sizeof moving / sizeof moving[0]; j++)
        for (int way = 0; way < 4; way++) {
            struct ss_run_options o = {.engine = way % 2 ? SS_ENGINE_SIMGRID : SS_ENGINE_NATIVE};
            struct scale_job s;
            struct ss_run run;
            int inside = 0;
            if (o.engine == SS_ENGINE_SIMGRID && ((stride > 1 && j != 1) || j + way >= SCALE_SIMGRID_CASES))
                continue;
            o.plan.level = SS_LEVEL_LAYER;
            o.plan.unfold = way > 1;
            CU_ASSERT_FATAL(scale_open(&s, moving[j]) == 0);
            CU_ASSERT_FATAL(scale_run(&s, &o, &run) == 0);
            for (int g = 0; g < run.program->ncollectives; g++)
                if (run.plan->collectives[g].role == SS_ROLE_LAYER) {
                    inside++;
                    CU_ASSERT(flows_of(run.program, &run.program->collectives[g]) > 0);
                }
            CU_ASSERT(inside > 0);
            CU_ASSERT_EQUAL(run.timeline->flows, flows_expected(run.program));
            ss_run_free(&run);
            scale_close(&s);
        }
}

SUITE(level)
{
    ss_simgrid_load(NULL); /* once for all replays */
    stride = suite_stride(argc, argv, 8);
    return suite_file(argv[0], NULL, NULL);
}
