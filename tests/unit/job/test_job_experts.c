/* SPDX-License-Identifier: Apache-2.0 */
/* Flags of experts, latent attention, windows and layouts: what they set, and what Megatron-LM refuses of them. */
#include "base/base.h"
#include "job/job_internal.h"
#include "job_helper.h"
#include "scale_job.h"
#include "suite.h"

#define MOE                                                                                                  \
    "--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --vocab-size 32000 --swiglu "                \
    "--disable-bias-linear "                                                                                 \
    "--position-embedding-type rope --ffn-hidden-size 4096 --moe-ffn-hidden-size 512 --num-experts 64 "      \
    "--moe-router-topk 8 --bf16 --mbs 1 --gbs 256 --seq 4096 --attention-dropout 0 --hidden-dropout 0 "
#define DENSE                                                                                                \
    "--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --vocab-size 32000 --bf16 --mbs 1 --gbs "    \
    "256 --seq 1024 "                                                                                        \
    "--max-position-embeddings 1024 "

/* ---- lists of layers ---- */

TEST(lists)
{
    static const struct {
        const char *text, *layers; /* of a list; NULL: wrong */
    } rows[] = {{"[0,1]", "01"},
                {"([0]*3+[1]*5)", "00011111"},
                {"([1]*3+[0]*2)*2", "1110011100"},
                {"[1]", "1"},
                {"[0]+[1,1]*2", "01111"},
                {"( [0, 1] + [1] * 2 )", "0111"},
                {"((([1])))*3", "111"},
                {"[0]*0+[1]", "1"},
                {"[]+[1]", "1"},
                {"[]", NULL},
                {"[1]*0", NULL},
                {"[2]", NULL},
                {"[1", NULL},
                {"[1,]", NULL},
                {"([1]", NULL},
                {"[1])", NULL},
                {"[1]*", NULL},
                {"[1]*-1", NULL},
                {"[1]*513", NULL},
                {"[1]*99999999999999999999", NULL},
                {"[0]*500+[1]*13", NULL},
                {"3*[1]", NULL},
                {"[1] [1]", NULL},
                {"0", NULL},
                {"-1", ""}, /* every layer is a multiple */
                {"-2", NULL},
                {"x", NULL},
                {"((((((((((((((((((((((((1", NULL}};

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_asked asked;
        struct ss_error err = {0};
        char word[64], *words[] = {"--moe-layer-freq", word}, got[SS_LAYER_RULE_MAX + 1] = "";
        ss_asked_init(&asked);
        ss_copy(word, sizeof word, rows[i].text);
        int rc = parse_words(&asked, 2, words, NULL, &err);
        CU_ASSERT_EQUAL(rc, rows[i].layers ? SS_OK : SS_ERR_USAGE);
        for (int k = 0; k < asked.job.model.moe_layers.n; k++)
            got[k] = (char)('0' + ss_layer_rule_has(&asked.job.model.moe_layers, k));
        if (rc || strcmp(got, rows[i].layers ? rows[i].layers : ""))
            if (rows[i].layers)
                fprintf(stderr, "%s: %s, %s\n", rows[i].text, got, err.message);
        CU_ASSERT_STRING_EQUAL(got, rows[i].layers ? rows[i].layers : "");
    }
}

TEST(rules)
{
    struct ss_job job;

    CU_ASSERT_EQUAL(complete(&job, MOE "--moe-layer-freq 3", 8, NULL, NULL), 0);
    for (int layer = 0; layer < 8; layer++)
        CU_ASSERT_EQUAL(ss_layer_rule_has(&job.model.moe_layers, layer), layer % 3 == 0);
    CU_ASSERT_EQUAL(complete(&job, MOE "--window-size 128,0 --window-attn-skip-freq 4", 8, NULL, NULL), 0);
    CU_ASSERT_EQUAL(job.model.sliding_window, 129);
    for (int layer = 0; layer < 9; layer++)
        CU_ASSERT_EQUAL(ss_layer_rule_has(&job.model.local_layers, layer), layer < 8 && layer % 4 != 3);
    CU_ASSERT_EQUAL(
        complete(&job, MOE "--window-size (100,0) --window-attn-skip-freq [1,0]*4", 8, NULL, NULL), 0);
    for (int layer = 0; layer < 8; layer++)
        CU_ASSERT_EQUAL(ss_layer_rule_has(&job.model.local_layers, layer), layer % 2 == 0);
    CU_ASSERT_EQUAL(complete(&job, MOE "--window-size 100,0", 8, NULL, NULL), 0);
    CU_ASSERT(ss_layer_rule_has(&job.model.local_layers, 7));
    CU_ASSERT_EQUAL(complete(&job, MOE "--window-size -1,0", 8, NULL, NULL), 0);
    CU_ASSERT_EQUAL(job.model.sliding_window, 0);
    CU_ASSERT(!ss_layer_rule_has(&job.model.local_layers, 0));
}

/* ---- layouts ---- */

TEST(layouts)
{
    static const struct {
        const char *text, *stages; /* layers of each; NULL: wrong */
        int mtp;
    } rows[] = {{"Et*3|(tt|)*3L", "3 2 2 2 0", 0},
                {"Et*3|(tt|)*2tmL", "3 2 2 1", 1},
                {"E,t|t,m*2,L", "1 1", 2},
                {"Ettt|t*2L", "3 2", 0},
                {"E|(t|)*2(tt|)*2L", "0 1 1 2 2 0", 0},
                {"E(|t)*3|L", "0 1 1 1 0", 0},
                {"E(t*2|)*2L", "2 2 0", 0},
                {"EtL", "1", 0},
                {"E|||L", "0 0 0 0", 0},
                {"E|*3L", "0 0 0 0", 0},
                {"", NULL, 0},
                {"tt|L", NULL, 0},
                {"tE|L", NULL, 0},
                {"Et|EtL", NULL, 0},
                {"Et|Lt", NULL, 0},
                {"EtL|", NULL, 0},
                {"Et|LL", NULL, 0},
                {"Et|t", NULL, 0},
                {"Etm|L", "1 0", 1},
                {"Et*3|(tt|)*2,m|L", "3 2 2 0 0", 1},
                {"Etm|tL", NULL, 0},
                {"EtmtL", NULL, 0},
                {"Et|(t|)L", NULL, 0},
                {"Et|(t|(t|)*2)*2L", NULL, 0},
                {"Et|(t|*2L", NULL, 0},
                {"Et)*2L", NULL, 0},
                {"Et*L", NULL, 0},
                {"Et*999999999L", NULL, 0},
                {"E(t|)*600L", NULL, 0},
                {"Ex|L", NULL, 0}};

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_asked asked;
        struct ss_error err = {0};
        char word[64], *words[] = {"--pipeline-model-parallel-layout", word}, got[64] = "";
        size_t used = 0;
        ss_asked_init(&asked);
        ss_copy(word, sizeof word, rows[i].text);
        int rc = parse_words(&asked, 2, words, NULL, &err);
        CU_ASSERT_EQUAL(rc, rows[i].stages ? SS_OK : SS_ERR_UNSUPPORTED);
        for (int k = 0; k < asked.job.layout.n && used < sizeof got; k++)
            used += (size_t)snprintf(got + used, sizeof got - used, "%s%d", k ? " " : "",
                                     asked.job.layout.layers[k]);
        if (rows[i].stages && strcmp(got, rows[i].stages))
            fprintf(stderr, "%s: %s, %s\n", rows[i].text, got, err.message);
        CU_ASSERT_STRING_EQUAL(got, rows[i].stages ? rows[i].stages : "");
        CU_ASSERT_EQUAL(asked.layout_mtp, rows[i].mtp);
    }
}

/* ---- what else they set ---- */

TEST(loads)
{
    static const struct {
        const char *flags, *source;
        int kind;
        double exponent;
    } rows[] = {{"--moe-load balanced", "", SS_LOAD_BALANCED, 0},
                {"--moe-load uniform", "", SS_LOAD_UNIFORM, 0},
                {"--moe-router-force-load-balancing", "", SS_LOAD_UNIFORM, 0},
                {"--moe-load biased:1.5", "", SS_LOAD_BIASED, 1.5},
                {"--moe-router-force-biased -2", "", SS_LOAD_BIASED, 2},
                {"--moe-load zipf:0.8", "", SS_LOAD_ZIPF, 0.8},
                {"--moe-load W5_zero_expert_rank", "W5_zero_expert_rank", SS_LOAD_WORKLOAD, 0},
                {"--moe-load W7_burst --moe-load balanced", "", SS_LOAD_BALANCED, 0},
                {"--moe-load loads.csv", "loads.csv", SS_LOAD_FILE, 0}};
    static const char *const wrong[] = {"--moe-load biased",
                                        "--moe-load zipf:",
                                        "--moe-load zipf:-1",
                                        "--moe-load biased:x",
                                        "--moe-router-force-biased x",
                                        "--moe-expert-capacity-factor 0",
                                        "--moe-token-dispatcher-type ring",
                                        "--window-size 128",
                                        "--fp8-recipe own"};
    struct ss_asked asked;

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        ss_asked_init(&asked);
        CU_ASSERT_EQUAL(parse(&asked, rows[i].flags, NULL, NULL), 0);
        CU_ASSERT_EQUAL(asked.job.moe.load, rows[i].kind);
        CU_ASSERT_EQUAL(asked.job.moe.load_exponent, rows[i].exponent);
        CU_ASSERT_STRING_EQUAL(asked.job.moe.load_source, rows[i].source);
    }
    for (size_t i = 0; i < SS_ARRAY_LEN(wrong); i++) {
        ss_asked_init(&asked);
        CU_ASSERT_EQUAL(parse(&asked, wrong[i], NULL, NULL), SS_ERR_USAGE);
    }
}

TEST(dispatchers)
{
    static const struct {
        const char *flags;
        enum ss_dispatcher dispatcher;
    } rows[] = {
        {"--moe-token-dispatcher-type allgather", SS_DISPATCH_ALLGATHER},
        {"--moe-token-dispatcher-type alltoall_seq", SS_DISPATCH_ALLTOALL},
        {"--moe-token-dispatcher-type flex", SS_DISPATCH_DEEPEP},
        {"--moe-token-dispatcher-type flex --moe-flex-dispatcher-backend hybridep", SS_DISPATCH_HYBRIDEP},
        {"--moe-flex-dispatcher-backend hybridep --moe-token-dispatcher-type flex", SS_DISPATCH_HYBRIDEP},
        {"--moe-token-dispatcher-type flex --moe-enable-deepep", SS_DISPATCH_DEEPEP},
        {"--stack nemo-24.11", SS_DISPATCH_ALLTOALL},
        {"--moe-token-dispatcher-type alltoall --moe-flex-dispatcher-backend deepep", SS_DISPATCH_ALLTOALL}};
    struct ss_job job;

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        char flags[1024];
        struct ss_error err = {0};
        snprintf(flags, sizeof flags, MOE "--ep 8 %s", rows[i].flags);
        CU_ASSERT_EQUAL(complete(&job, flags, 8, NULL, &err), 0);
        CU_ASSERT_EQUAL(job.moe.dispatcher, rows[i].dispatcher);
        if (job.moe.dispatcher != rows[i].dispatcher)
            fprintf(stderr, "%s: %s\n", rows[i].flags, err.message);
    }
    CU_ASSERT_EQUAL(complete(&job,
                             MOE "--ep 8 --moe-expert-capacity-factor 1.5 --moe-grouped-gemm --fp8-dispatch",
                             8, NULL, NULL),
                    0);
    CU_ASSERT_EQUAL(job.moe.capacity_factor, 1.5);
    CU_ASSERT_EQUAL(job.moe.grouped_gemm, 1);
    CU_ASSERT_EQUAL(job.moe.permute_fusion, 0);
    CU_ASSERT_EQUAL(job.moe.fp8_dispatch, 1);
    CU_ASSERT_EQUAL(complete(&job, MOE "--moe-expert-capacity-factor -1", 8, NULL, NULL), 0);
    CU_ASSERT_EQUAL(job.moe.capacity_factor, 0);
}

TEST(latent)
{
    struct ss_notes notes = {0};
    struct ss_job job;

    CU_ASSERT_EQUAL(complete(&job, MOE "--multi-latent-attention", 8, &notes, NULL), 0);
    CU_ASSERT_EQUAL(job.model.kv_lora_rank, 32);
    CU_ASSERT_EQUAL(job.model.q_lora_rank, 0);
    CU_ASSERT_EQUAL(job.model.qk_head_dim, 128);
    CU_ASSERT_EQUAL(job.model.qk_pos_emb_head_dim, 64);
    CU_ASSERT_EQUAL(job.model.v_head_dim, 128);
    CU_ASSERT_EQUAL(
        complete(&job, MOE "--multi-latent-attention --kv-lora-rank 512 --q-lora-rank 1536", 8, &notes, NULL),
        0);
    CU_ASSERT_EQUAL(job.model.kv_lora_rank, 512);
    CU_ASSERT_EQUAL(job.model.q_lora_rank, 1536);
    CU_ASSERT(!has_note(&notes, "latent attention"));
    CU_ASSERT_EQUAL(complete(&job, MOE "--kv-lora-rank 512", 8, &notes, NULL), 0);
    CU_ASSERT_EQUAL(job.model.kv_lora_rank, 0);
    CU_ASSERT(has_note(&notes, "not active without --multi-latent-attention"));
    ss_notes_free(&notes);
}

TEST(mtp_apart)
{
    struct ss_notes notes = {0};
    struct ss_job job;

    CU_ASSERT_EQUAL(complete(&job,
                             MOE "--pp 4 --mtp-num-layers 1 --pipeline-model-parallel-layout Et*4|t*4|m|L", 8,
                             &notes, NULL),
                    0);
    CU_ASSERT(has_note(&notes, "priced beside the loss"));
    ss_notes_free(&notes);
    memset(&notes, 0, sizeof notes);
    CU_ASSERT_EQUAL(complete(&job,
                             MOE "--pp 2 --mtp-num-layers 1 --pipeline-model-parallel-layout Et*4|t*4mL", 8,
                             &notes, NULL),
                    0);
    CU_ASSERT(!has_note(&notes, "priced beside the loss"));
    ss_notes_free(&notes);
}

#define OFFLOAD "--fine-grained-activation-offloading --offload-modules "

TEST(inactive)
{
    struct ss_notes notes = {0};
    struct ss_job job;

    CU_ASSERT_EQUAL(
        complete(&job, DENSE "--moe-grouped-gemm --moe-token-dispatcher-type alltoall", 8, &notes, NULL), 0);
    CU_ASSERT(has_note(&notes,
                       "not active without --num-experts: --moe-token-dispatcher-type, --moe-grouped-gemm"));
    ss_notes_free(&notes);
    memset(&notes, 0, sizeof notes);
    CU_ASSERT_EQUAL(complete(&job, DENSE, 8, &notes, NULL), 0);
    CU_ASSERT(!has_note(&notes, "not active"));
    static const char *const alone[] = {
        "--expert-tensor-parallel-size 2", "--moe-router-dtype fp32",        "--moe-router-fusion",
        "--moe-input-jitter-eps 0.1",      "--moe-expert-capacity-factor 1", "--moe-layer-freq 2",
        "--moe-ffn-hidden-size 1024",      "--moe-router-group-topk 2"};
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++) {
        char words[600], note[200];
        snprintf(words, sizeof words, DENSE "%s", alone[i]);
        snprintf(note, sizeof note, "not active without --num-experts: %.*s", (int)strcspn(alone[i], " "),
                 alone[i]);
        CU_ASSERT_EQUAL(complete(&job, words, 8, &notes, NULL), 0);
        CU_ASSERT(has_note(&notes, note));
        ss_notes_free(&notes);
        memset(&notes, 0, sizeof notes);
    }
    CU_ASSERT_EQUAL(complete(&job, MOE "--ep 8 --moe-flex-dispatcher-backend deepep --moe-deepep-num-sms 24",
                             8, &notes, NULL),
                    0);
    CU_ASSERT(has_note(&notes, "--moe-flex-dispatcher-backend is not active"));
    CU_ASSERT(has_note(&notes, "--moe-flex-dispatcher-num-sms is not active"));
    CU_ASSERT_EQUAL(
        complete(&job, MOE "--ep 8 --moe-token-dispatcher-type flex --moe-deepep-num-sms 4", 8, &notes, NULL),
        0);
    CU_ASSERT(has_note(&notes, "fewer SMs slow no exchange down"));
    CU_ASSERT_EQUAL(complete(&job, MOE "--moe-shared-expert-overlap --moe-token-dispatcher-type alltoall", 8,
                             &notes, NULL),
                    0);
    CU_ASSERT(has_note(&notes, "not active without shared experts"));
    CU_ASSERT_EQUAL(job.moe.shared_expert_overlap, 0);
    CU_ASSERT_EQUAL(
        complete(&job, DENSE "--recompute-granularity selective --recompute-modules moe mlp shared_experts",
                 8, &notes, NULL),
        0);
    CU_ASSERT(has_note(&notes, "--recompute-modules moe: not active, the model has no experts"));
    CU_ASSERT(has_note(&notes, "--recompute-modules shared_experts: not active"));
    CU_ASSERT(!has_note(&notes, "--recompute-modules mlp"));
    CU_ASSERT_EQUAL(
        complete(&job, MOE "--recompute-granularity selective --recompute-modules moe mlp", 8, &notes, NULL),
        0);
    CU_ASSERT(
        has_note(&notes, "--recompute-modules mlp: not active, the model has no layers without experts"));
    ss_notes_free(&notes);
}

/* Modules that have nothing to move are named and left out; beside full recompute there is no price. */
TEST(offload_modules)
{
    struct ss_notes notes = {0};
    struct ss_error err = {0};
    struct ss_job job;

    CU_ASSERT_EQUAL(complete(&job,
                             DENSE OFFLOAD "attn_norm mlp_norm moe_act core_attn attn_proj --recompute "
                                           "selective",
                             8, &notes, NULL),
                    0);
    CU_ASSERT(has_note(&notes, "--offload-modules moe_act: not active, the model has no experts"));
    CU_ASSERT(has_note(&notes, "--offload-modules mlp_norm: not active"));
    CU_ASSERT(has_note(&notes, "--offload-modules attn_norm: not active"));
    CU_ASSERT(has_note(&notes, "--offload-modules core_attn: not active, it is recomputed"));
    CU_ASSERT_EQUAL(job.offload.modules, SS_OFFLOAD_BIT(SS_OFFLOAD_ATTN_PROJ));
    CU_ASSERT_EQUAL(complete(&job,
                             MOE OFFLOAD "mlp_norm moe_act --cuda-graph-impl transformer_engine "
                                         "--cuda-graph-scope moe_router",
                             8, &notes, NULL),
                    0);
    CU_ASSERT_EQUAL(job.offload.modules, SS_OFFLOAD_BIT(SS_OFFLOAD_MOE_ACT));
    CU_ASSERT_EQUAL(complete(&job, MOE "--offload-modules moe_act", 8, &notes, NULL), 0);
    CU_ASSERT_EQUAL(job.offload.modules, 0);
    CU_ASSERT_EQUAL(complete(&job, MOE OFFLOAD "moe_act --recompute full", 8, &notes, &err),
                    SS_ERR_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "beside full recompute is not modelled"));
    ss_notes_free(&notes);
}

/* ---- what is refused ---- */

TEST(refused)
{
    static const struct {
        const char *flags;
        int world;
        const char *reason;
    } rows[] = {
        {MOE "--ep 7", 8, "Number of experts should be a multiple of expert model parallel_size"},
        {MOE "--ep 16", 8,
         "world_size (8) is not divisible by expert_tensor_model_pipeline_parallel size (16)"},
        {MOE "--ep 2 --etp 8", 8, "expert_tensor_model_pipeline_parallel size (16)"},
        {MOE "--tp 2 --sequence-parallel --ep 8", 8, "expert_tensor_model_pipeline_parallel size (16)"},
        {MOE "--moe-router-topk 65", 8, "a token goes to 65 experts"},
        {MOE "--tp 2", 8, "without also enabling sequence parallelism"},
        {MOE "--moe-layer-freq [1]*7", 8, "Invalid length of moe_layer_pattern: 7, expected 8"},
        {MOE "--window-size 9,0 --window-attn-skip-freq [1]*9", 8, "window_attn_skip_freq: 9, expected 8"},
        {MOE "--window-size 9,0 --window-attn-skip-freq [1]", 8, "window_attn_skip_freq: 1, expected 8"},
        {MOE "--moe-router-group-topk 2", 8, "moe_router_num_groups must be specified"},
        {MOE "--moe-router-group-topk 2 --moe-router-num-groups 7", 8,
         "64 experts are not divisible by 7 groups"},
        {MOE "--moe-router-group-topk 9 --moe-router-num-groups 8", 8,
         "should be smaller than moe_router_num_groups"},
        {MOE "--moe-ffn-hidden-size 500 --etp 8", 8, "500 is not divisible by 8"},
        {MOE "--moe-shared-expert-intermediate-size 511 --tp 2 --sequence-parallel", 8,
         "511 is not divisible by 2"},
        {MOE "--moe-token-dispatcher-type flex", 8, "requires TPxEP > 1"},
        {MOE "--moe-pad-expert-input-to-capacity", 8, "moe_expert_capacity_factor must be set"},
        {MOE "--ep 8 --moe-pad-expert-input-to-capacity --moe-expert-capacity-factor 1 "
             "--moe-token-dispatcher-type flex",
         8, "deepep backend does not support moe_pad_expert_input_to_capacity"},
        {MOE "--moe-shared-expert-overlap --moe-shared-expert-intermediate-size 512 "
             "--moe-token-dispatcher-type allgather",
         8, "only works with alltoall or flex"},
        {MOE "--moe-router-padding-for-fp8", 8, "fp8/fp4 must be specified"},
        {MOE "--delay-wgrad-compute", 8, "must be enabled when enabling delay_wgrad_compute"},
        {MOE "--overlap-moe-expert-parallel-comm", 8, "only supported with expert model parallelism"},
        {MOE "--overlap-moe-expert-parallel-comm --ep 2 --moe-token-dispatcher-type allgather", 8,
         "supported with alltoall/flex"},
        {MOE "--overlap-moe-expert-parallel-comm --ep 2 --pp 2 --moe-token-dispatcher-type alltoall", 8,
         "virtual_pipeline_model_parallel_size must be specified"},
        {MOE
         "--overlap-moe-expert-parallel-comm --ep 2 --moe-token-dispatcher-type alltoall --recompute full",
         8, "disable full recomputation"},
        {MOE "--overlap-moe-expert-parallel-comm --ep 2 --moe-token-dispatcher-type alltoall "
             "--moe-layer-recompute",
         8, "disable moe in recompute_modules"},
        {MOE "--overlap-moe-expert-parallel-comm --ep 2 --moe-token-dispatcher-type alltoall "
             "--moe-shared-expert-overlap",
         8, "disable moe_shared_expert_overlap"},
        {MOE "--recompute selective --recompute-modules moe_act", 8, "only supported with moe_grouped_gemm"},
        {MOE "--recompute selective --recompute-modules mla_up_proj", 8,
         "only supported with multi_latent_attention"},
        {MOE "--recompute selective --recompute-modules layernorm --precision fp8", 8, "Delayed scaling"},
        {MOE "--recompute selective --recompute-modules shared_experts --moe-shared-expert-overlap "
             "--moe-token-dispatcher-type alltoall",
         8, "shared_experts recompute cannot work"},
        {MOE "--multi-latent-attention --group-query-attention", 8, "mutually exclusive"},
        {MOE "--fine-grained-activation-offloading", 8, "needs at least one of --offload-modules"},
        {MOE OFFLOAD "attn_proj", 8, "without core_attn"},
        {MOE OFFLOAD "mlp_norm --cpu-offloading-num-layers 2", 8, "cannot be enabled with cpu_offloading"},
        {MOE OFFLOAD "moe_act --recompute selective --recompute-modules moe", 8,
         "Cannot offload moe_act or expert_fc1 while recomputing the entire MoE layer"},
        {MOE OFFLOAD "moe_act --transformer-impl local", 8,
         "only supported with transformer_engine implementation"},
        {MOE OFFLOAD "moe_act qkv_linear --cuda-graph-impl local --cuda-graph-scope attn", 8,
         "only supports offload_modules 'expert_fc1', 'moe_act'"},
        {MOE OFFLOAD "moe_act --enable-cuda-graph", 8, "not supported with whole-layer CUDA graph capture"},
        {MOE OFFLOAD "moe_act --cuda-graph-impl full_iteration", 8,
         "max_inflight_offloads must be a non-negative integer"},
        {MOE "--exp-avg-dtype bf16", 8, "when not using precision-aware optimizer"},
        {MOE "--use-precision-aware-optimizer", 8, "only supported with distributed optimizer"},
        {MOE "--pp 2 --pipeline-model-parallel-layout Etttt|ttt|tL", 8,
         "must be divisible by pipeline_model_parallel_size"},
        {MOE "--pp 2 --pipeline-model-parallel-layout Etttt|tttL", 8,
         "decoder layers 7 must match num_layers 8"},
        {MOE "--pp 2 --pipeline-model-parallel-layout Etttt|ttttmL", 8, "Number of mtp layers in layout"},
        {MOE "--pipeline-model-parallel-layout Etttt|ttttL", 8, "size should be greater than 1"},
        {MOE "--pp 2 --pipeline-model-parallel-layout Etttt|ttttL --decoder-first-pipeline-num-layers 4", 8,
         "cannot be set with other pipeline layout arguments"},
        {MOE "--pp 2 --pipeline-model-parallel-layout Etttt|ttttL --vp 2", 8, "No more than one"},
        {DENSE "--ep 2", 8, "num_experts must be non None"},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_job job;
        struct ss_error err = {0};
        int rc = complete(&job, rows[i].flags, rows[i].world, NULL, &err);
        if (rc != SS_ERR_CONFIG || !strstr(err.message, rows[i].reason))
            fprintf(stderr, "%s: %d %s\n", rows[i].flags, rc, err.message);
        CU_ASSERT_EQUAL(rc, SS_ERR_CONFIG);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, rows[i].reason));
        CU_ASSERT(err.hint[0] != '\0');
    }
}

/* Near neighbours that run. */
TEST(accepted)
{
    static const char *const rows[] = {
        MOE,
        MOE "--ep 8",
        MOE "--ep 4 --etp 2 --tp 2 --sequence-parallel",
        MOE "--ep 8 --etp 1 --tp 4 --sequence-parallel",
        MOE "--moe-router-topk 64",
        MOE "--moe-layer-freq [1]*8",
        MOE "--moe-router-group-topk 8 --moe-router-num-groups 8",
        MOE "--ep 2 --moe-token-dispatcher-type flex",
        MOE "--ep 8 --moe-pad-expert-input-to-capacity --moe-expert-capacity-factor 1 "
            "--moe-token-dispatcher-type alltoall",
        MOE "--precision fp8 --moe-router-padding-for-fp8 --moe-token-dispatcher-type alltoall",
        MOE "--overlap-moe-expert-parallel-comm --delay-wgrad-compute --ep 2 --moe-token-dispatcher-type "
            "alltoall",
        MOE "--overlap-moe-expert-parallel-comm --ep 2 --pp 2 --vp 2 --moe-token-dispatcher-type alltoall",
        MOE "--pp 2 --pipeline-model-parallel-layout Etttt|ttttL",
        MOE "--pp 2 --pipeline-model-parallel-layout Et|ttt|ttt|tL",
        MOE OFFLOAD "core_attn attn_proj expert_fc1 moe_act --moe-grouped-gemm --recompute selective "
                    "--recompute-modules moe_act",
        MOE OFFLOAD "moe_act --cuda-graph-impl local --cuda-graph-scope attn moe_router",
        MOE OFFLOAD "moe_act --cuda-graph-impl full_iteration "
                    "--fine-grained-offloading-max-inflight-offloads 0",
        MOE OFFLOAD "core_attn --pp 2 --vp 2 --activation-offload-fraction 0.5 --min-offloaded-tensor-size 0",
        MOE "--recompute selective --recompute-modules core_attn"};

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_job job;
        struct ss_error err = {0};
        int rc = complete(&job, rows[i], 8, NULL, &err);
        if (rc)
            fprintf(stderr, "%s: %d %s\n", rows[i], rc, err.message);
        CU_ASSERT_EQUAL(rc, 0);
    }
}

#define LLAMA                                                                                                \
    "h800 1;--model llama3.1-8b --bf16 --mbs 1 --gbs 16 --seq 4096 --use-distributed-optimizer --pp 4 "

static double seconds(const char *text)
{
    struct ss_run_options options = {.engine = SS_ENGINE_NATIVE};
    struct scale_job s;
    struct ss_run run;
    CU_ASSERT_FATAL(!scale_open(&s, text));
    CU_ASSERT_FATAL(!scale_run(&s, &options, &run));
    double t = run.result->iteration_s;
    ss_run_free(&run);
    scale_close(&s);
    return t;
}

/* A layout that splits as Megatron does anyway costs the same; one that gives a stage more layers costs more. */
TEST(layout_runs)
{
    double even = seconds(LLAMA), chunks = seconds(LLAMA "--vp 2");

    CU_ASSERT_EQUAL(seconds(LLAMA "--pipeline-model-parallel-layout Et*8|(t*8|)*2t*8L"), even);
    CU_ASSERT_EQUAL(seconds(LLAMA "--pipeline-model-parallel-layout Et*4|(t*4|)*6t*4L"), chunks);
    CU_ASSERT(seconds(LLAMA "--pipeline-model-parallel-layout Et*8|t*13|t*3|t*8L") > even);
}
