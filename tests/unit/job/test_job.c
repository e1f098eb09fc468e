/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs completed: precedence, defaults, notes, launch lines and the job files that come with the program. */

#include "base/base.h"
#include "job_helper.h"
#include "stepsim/job.h"
#include "stepsim/parameters.h"
#include "suite.h"

#define DATA SS_SOURCE_DIR "/tests/unit/data/"

TEST(complete_job)
{
    struct ss_job job;
    struct ss_notes notes = {0};
    struct ss_error err = {0};
    int rc = complete(
        &job,
        L8B "--platform h800 --nodes 4 --tp 2 --pp 2 --use-distributed-optimizer --sequence-parallel "
            "--tp-comm-overlap --overlap-grad-reduce --overlap-param-gather --measured 33070.9ms "
            "--measured-memory=31458MiB",
        32, &notes, &err);

    if (rc)
        fprintf(stderr, "%s\n", err.message);
    CU_ASSERT_EQUAL_FATAL(rc, 0);
    CU_ASSERT_STRING_EQUAL(job.platform, "h800");
    CU_ASSERT_EQUAL(job.nodes, 4);
    CU_ASSERT_EQUAL(ss_job_dp(&job, 32), 8);
    CU_ASSERT_EQUAL(ss_job_microbatches(&job, 32), 128);
    CU_ASSERT_EQUAL(ss_job_chunks(&job), 1);
    CU_ASSERT_EQUAL(job.overlap_p2p, 1);
    CU_ASSERT_EQUAL(job.precision, SS_BF16);
    CU_ASSERT_EQUAL(job.attention, SS_ATTENTION_FLASH);
    CU_ASSERT_EQUAL(job.dp.sharding, SS_SHARD_OPTIM);
    CU_ASSERT_EQUAL(job.dp.grad_reduce_fp32, 1);
    CU_ASSERT_EQUAL(job.etp, 2);
    CU_ASSERT_EQUAL(job.optimizer.check_for_nan, 1);
    CU_ASSERT_DOUBLE_EQUAL(job.attention_dropout, 0, 0);
    CU_ASSERT_DOUBLE_EQUAL(job.hidden_dropout, 0, 0);
    CU_ASSERT_EQUAL(job.model.vocab_size + job.model.extra_vocab_size, 128512);
    CU_ASSERT_EQUAL(notes.n, 0);
    ss_notes_free(&notes);
}

TEST(precedence)
{
    struct ss_job job;

    /* a flag beats config.json, whose added rows go with its vocabulary */
    CU_ASSERT_EQUAL_FATAL(
        complete(&job, L8B "--num-layers 8 --vocab-size 1000 --attention-dropout 0.2", 8, NULL, NULL), 0);
    CU_ASSERT_EQUAL(job.model.num_layers, 8);
    CU_ASSERT_EQUAL(job.model.vocab_size + job.model.extra_vocab_size, 1000);
    CU_ASSERT_EQUAL(job.model.hidden_size, 4096);
    CU_ASSERT_DOUBLE_EQUAL(job.attention_dropout, 0.2, 0);
    CU_ASSERT_DOUBLE_EQUAL(job.hidden_dropout, 0, 0);
    /* the later word wins */
    CU_ASSERT_EQUAL_FATAL(complete(&job, L8B "--tp 4 --tensor-model-parallel-size 2 --gbs=64", 8, NULL, NULL),
                          0);
    CU_ASSERT_EQUAL(job.tp, 2);
    CU_ASSERT_EQUAL(job.global_batch, 64);
    /* Megatron's defaults */
    CU_ASSERT_EQUAL_FATAL(complete(&job,
                                   "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --vocab-size 99 "
                                   "--max-position-embeddings 32 --seq-length 32 --micro-batch-size 2",
                                   8, NULL, NULL),
                          0);
    CU_ASSERT_EQUAL(job.global_batch, 16);
    CU_ASSERT_EQUAL(job.model.ffn_hidden_size, 256);
    CU_ASSERT_EQUAL(job.model.tied_embeddings, 1);
    CU_ASSERT_EQUAL(job.precision, SS_FP32);
    CU_ASSERT_EQUAL(job.attention, SS_ATTENTION_UNFUSED);
    CU_ASSERT_DOUBLE_EQUAL(job.hidden_dropout, 0.1, 0);
}

/* fp8 is told beside the storage precision, in any order. */
TEST(precision)
{
    static const struct {
        const char *flags;
        int precision, base;
    } rows[] = {{"--bf16", SS_BF16, SS_BF16},
                {"--fp16", SS_FP16, SS_FP16},
                {"", SS_FP32, SS_FP32},
                {"--bf16 --fp8-format hybrid", SS_FP8, SS_BF16},
                {"--fp8-format hybrid --bf16", SS_FP8, SS_BF16},
                {"--fp8-format e4m3 --fp16", SS_FP8, SS_FP16},
                {"--precision fp8", SS_FP8, SS_BF16},
                {"--bf16 --fp8-hybrid --fp8-format none", SS_BF16, SS_BF16},
                {"--fp4-format e2m1 --bf16", SS_NVFP4, SS_BF16},
                {"--precision nvfp4", SS_NVFP4, SS_BF16},
                {"--bf16 --fp4-format e2m1 --fp4-format none", SS_BF16, SS_BF16},
                {"--precision fp8 --precision fp32", SS_FP32, SS_FP32},
                {"--fp8-format none --fp4-format e2m1 --bf16", SS_NVFP4, SS_BF16},
                {"--precision fp8 --fp8-format hybrid --fp16", SS_FP8, SS_FP16},
                {"--precision nvfp4 --fp4-format e2m1", SS_NVFP4, SS_BF16},
                {"--precision mxfp8 --fp8-format e4m3 --fp8-recipe mxfp8", SS_FP8, SS_BF16}};

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_asked asked;
        ss_asked_init(&asked);
        CU_ASSERT_EQUAL_FATAL(parse(&asked, rows[i].flags, NULL, NULL), 0);
        CU_ASSERT_EQUAL(asked.job.precision, rows[i].precision);
        CU_ASSERT_EQUAL(asked.job.stored, rows[i].base);
    }
}

TEST(attention)
{
    static const struct {
        const char *flags;
        int backend, note;
    } rows[] = {{"--bf16 --stack megatron-2407", SS_ATTENTION_FLASH, 0},
                {"--bf16 --stack nemo-24.11", SS_ATTENTION_FLASH, 0}, /* of no card */
                {"--fp16 --stack megatron-2021", SS_ATTENTION_UNFUSED, 0},
                {"--bf16 --attention-backend fused", SS_ATTENTION_FUSED, 0},
                {"--bf16 --attention-backend unfused", SS_ATTENTION_UNFUSED, 0},
                {"--bf16 --use-flash-attn --attention-backend auto", SS_ATTENTION_FLASH, 0},
                {"--bf16 --transformer-impl local", SS_ATTENTION_UNFUSED, 0},
                {"--bf16 --transformer-impl local --attention-backend flash", SS_ATTENTION_FLASH, 0},
                {"--bf16 --transformer-impl local --stack torchtitan-2025", SS_ATTENTION_FLASH, 0},
                {"--stack nemo-24.03", SS_ATTENTION_UNFUSED, 0},
                {"--stack nemo-24.03 --use-flash-attn", SS_ATTENTION_UNFUSED, 1}};

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_job job;
        struct ss_notes notes = {0};
        char flags[256];
        snprintf(flags, sizeof(flags), "--model llama2-13b --mbs 1 --seq 4096 %s", rows[i].flags);
        CU_ASSERT_EQUAL(complete(&job, flags, 8, &notes, NULL), 0);
        CU_ASSERT_EQUAL(job.attention, rows[i].backend);
        CU_ASSERT_EQUAL(has_note(&notes, "not active in fp32"), rows[i].note);
        ss_notes_free(&notes);
    }
}

TEST(other_defaults)
{
    struct ss_job job;
    struct ss_notes notes = {0};

    CU_ASSERT_EQUAL_FATAL(complete(&job,
                                   L8B "--sequence-parallel --pp 4 --num-layers-per-virtual-pipeline-stage 4 "
                                       "--recompute full --fsdp none --use-tp-pp-dp-mapping",
                                   32, &notes, NULL),
                          0);
    CU_ASSERT_EQUAL(job.sequence_parallel, 0);
    CU_ASSERT(has_note(&notes, "sequence parallelism is off"));
    CU_ASSERT_EQUAL(ss_job_chunks(&job), 2);
    CU_ASSERT_EQUAL(job.overlap_p2p, 1);
    CU_ASSERT_EQUAL(job.recompute.granularity, SS_RECOMPUTE_FULL);
    CU_ASSERT_EQUAL(job.recompute.method, SS_RECOMPUTE_UNIFORM);
    CU_ASSERT_EQUAL(job.recompute.num_layers, 1);
    CU_ASSERT_STRING_EQUAL(job.rank_order, "tp-cp-ep-pp-dp");
    ss_notes_free(&notes);
    CU_ASSERT_EQUAL_FATAL(complete(&job,
                                   L8B "--fsdp hybrid --rank-order tp-dp-pp --optimizer-cpu-offload "
                                       "--optimizer-offload-fraction 0.5",
                                   32, NULL, NULL),
                          0);
    CU_ASSERT_EQUAL(job.dp.fsdp, 1);
    CU_ASSERT_EQUAL(job.dp.fsdp_hybrid, 1);
    CU_ASSERT_EQUAL(job.dp.sharding, SS_SHARD_OPTIM_GRADS_PARAMS);
    CU_ASSERT_STRING_EQUAL(job.rank_order, "tp-dp-pp-cp-ep");
    CU_ASSERT_DOUBLE_EQUAL(job.offload.optimizer, 0.5, 0);
    CU_ASSERT_EQUAL_FATAL(complete(&job,
                                   L8B "--optimizer hybridadam --optimizer-offload-policy static "
                                       "--optimizer-offload-fraction 1.0 --fsdp grad",
                                   32, NULL, NULL),
                          0);
    CU_ASSERT_DOUBLE_EQUAL(job.offload.optimizer, 1, 0);
    CU_ASSERT_EQUAL(job.dp.sharding, SS_SHARD_OPTIM_GRADS);
    CU_ASSERT_EQUAL_FATAL(
        complete(&job, L8B "--optimizer-offload-fraction 0.7 --data-parallel-sharding-strategy optim_grads",
                 32, NULL, NULL),
        0);
    CU_ASSERT_DOUBLE_EQUAL(job.offload.optimizer, 0, 0);
    CU_ASSERT_EQUAL(job.dp.sharding, SS_SHARD_NONE);
    /* the fraction before and behind what switches it on; the last one counts */
    static const struct {
        const char *flags;
        double fraction;
    } offload[] = {
        {"--optimizer-cpu-offload --optimizer-offload-fraction 0", 0},
        {"--optimizer-offload-fraction 0 --optimizer-cpu-offload", 0},
        {"--optimizer-cpu-offload --optimizer-offload-fraction 0 --optimizer-offload-fraction 0.5", 0.5},
        {"--optimizer-offload-fraction 0.25 --optimizer hybridadam", 0.25},
        {"--optimizer hybridadam --optimizer-cpu-offload", 1},
        {"--optimizer-cpu-offload --optimizer hybridadam", 1}};
    for (size_t i = 0; i < sizeof offload / sizeof offload[0]; i++) {
        char flags[300];
        snprintf(flags, sizeof flags, L8B "%s", offload[i].flags);
        CU_ASSERT_EQUAL_FATAL(complete(&job, flags, 32, NULL, NULL), 0);
        CU_ASSERT_DOUBLE_EQUAL(job.offload.optimizer, offload[i].fraction, 0);
    }
    CU_ASSERT_EQUAL_FATAL(complete(&job,
                                   "--model llama3.1-8b --mbs 1 --gbs 1024 --seq 8192 --fp16 "
                                   "--cpu-offloading --cpu-offloading-num-layers 3",
                                   32, NULL, NULL),
                          0);
    CU_ASSERT_EQUAL(job.dp.grad_reduce_fp32, 0);
    CU_ASSERT_EQUAL(job.optimizer.check_for_nan, 0);
    CU_ASSERT_EQUAL(job.offload.layers, 3);
    /* NaN is looked for unless the stack or a flag says no; the flag beats the stack. */
    static const struct {
        const char *flags;
        int checks;
    } nan[] = {{"--stack nemo-25.03", 1},
               {"--stack nemo-25.03 --no-check-for-nan-in-loss-and-grad", 0},
               {"--stack megatron-bridge-26.04", 0},
               {"--stack megatron-bridge-26.04 --check-for-nan-in-loss-and-grad", 1}};
    for (size_t i = 0; i < sizeof nan / sizeof nan[0]; i++) {
        char flags[300];
        snprintf(flags, sizeof flags, L8B "%s", nan[i].flags);
        CU_ASSERT_EQUAL_FATAL(complete(&job, flags, 32, NULL, NULL), 0);
        CU_ASSERT_EQUAL(job.optimizer.check_for_nan, nan[i].checks);
    }
}

#define SHAPE                                                                                                \
    "--bf16 --mbs 1 --seq 128 --num-layers 2 --hidden-size 1024 --num-attention-heads 8 "                    \
    "--max-position-embeddings 128 "

/* Flags that complete what neither a size nor the model says; their order does not matter. */
TEST(model_flags)
{
    static const struct {
        const char *flags;
        int groups, vocab, ffn, position;
    } rows[] = {
        {SHAPE "--vocab-size 1000", 8, 1000, 4096, SS_POSITION_LEARNED},
        {SHAPE "--vocab-size 1000 --group-query-attention", 1, 1000, 4096, SS_POSITION_LEARNED},
        {SHAPE "--vocab-size 1000 --group-query-attention --num-query-groups 2", 2, 1000, 4096,
         SS_POSITION_LEARNED},
        {SHAPE "--tokenizer-type NullTokenizer --vocab-size 1000", 8, 1001, 4096, SS_POSITION_LEARNED},
        {SHAPE "--tokenizer-type NullTokenizer --padded-vocab-size 1000", 8, 1000, 4096, SS_POSITION_LEARNED},
        {SHAPE "--tokenizer-type NullTokenizer --vocab-size 1000 --tokenizer-type Llama2Tokenizer", 8, 1000,
         4096, SS_POSITION_LEARNED},
        {SHAPE "--vocab-size 1000 --swiglu", 8, 1000, 2688, SS_POSITION_LEARNED},
        {SHAPE "--vocab-size 1000 --quick-geglu", 8, 1000, 4096, SS_POSITION_LEARNED},
        {SHAPE "--vocab-size 1000 --no-position-embedding --position-embedding-type rope", 8, 1000, 4096,
         SS_POSITION_ROPE},
        {SHAPE "--vocab-size 1000 --use-rotary-position-embeddings --no-position-embedding", 8, 1000, 4096,
         SS_POSITION_ROPE},
        {L8B "--group-query-attention --no-position-embedding", 8, 128256, 14336, SS_POSITION_ROPE},
        {L8B "--tokenizer-type NullTokenizer", 8, 128256, 14336, SS_POSITION_ROPE},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_job job;
        CU_ASSERT_EQUAL_FATAL(complete(&job, rows[i].flags, 8, NULL, NULL), 0);
        CU_ASSERT_EQUAL(job.model.num_query_groups, rows[i].groups);
        CU_ASSERT_EQUAL(job.model.vocab_size, rows[i].vocab);
        CU_ASSERT_EQUAL(job.model.ffn_hidden_size, rows[i].ffn);
        CU_ASSERT_EQUAL(job.model.position, rows[i].position);
    }
}

TEST(gradient_type)
{
#define FSDP                                                                                                 \
    L8B "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params --grad-reduce-in-bf16 "
#define HALF "--model llama3.1-8b --fp16 --mbs 1 --gbs 1024 --seq 8192 "
    static const struct {
        const char *flags;
        int fp32;
    } rows[] = {{L8B, 1},
                {L8B "--grad-reduce-in-bf16", 0},
                {L8B "--accumulate-allreduce-grads-in-fp32 --grad-reduce-in-bf16", 0},
                {L8B "--grad-reduce-in-bf16 --accumulate-allreduce-grads-in-fp32", 0},
                {HALF "--grad-reduce-in-bf16", 0},
                {HALF "--grad-reduce-in-bf16 --accumulate-allreduce-grads-in-fp32", 1},
                {FSDP "--megatron-fsdp-grad-comm-dtype bf16", 0},
                {FSDP "--megatron-fsdp-grad-comm-dtype fp32", 1},
                {FSDP "--megatron-fsdp-main-grads-dtype fp32", 1}};

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_job job;
        CU_ASSERT_EQUAL_FATAL(complete(&job, rows[i].flags, 8, NULL, NULL), 0);
        CU_ASSERT_EQUAL(job.dp.grad_reduce_fp32, rows[i].fp32);
    }
}

/* What a config says and no cost knows is said; what is priced is not. */
TEST(config_notes)
{
    static const struct {
        const char *flags;
        int note;
    } rows[] = {{"--model gemma-2-9b --bf16 --mbs 1 --gbs 8 --seq 8192", 1},
                {"--model gemma-2-9b --bf16 --mbs 1 --gbs 8 --seq 8192 --attention-backend unfused", 0},
                {"--model llama4-scout --images 1 --bf16 --mbs 1 --gbs 8 --seq 16384", 0},
                {"--model mistral-7b --bf16 --mbs 1 --gbs 8 --seq 8192", 0}};

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_job job;
        struct ss_notes notes = {0};

        CU_ASSERT_EQUAL(complete(&job, rows[i].flags, 8, &notes, NULL), 0);
        CU_ASSERT_EQUAL(
            has_note(&notes,
                     "the soft cap of the model's attention scores is priced in unfused attention alone"),
            rows[i].note);
        CU_ASSERT_EQUAL(notes.n, rows[i].note);
        ss_notes_free(&notes);
    }
}

TEST(notes)
{
    static const char *const names[] = {"--lr", "--log-throughput", "--lr-decay-iters", "--data-path",
                                        "--split"};
    char text[] =
        "--lr 1e-5 --log-throughput --lr -1 --lr-decay-iters 3 --data-path 0.5 a 0.5 b --split 1,0,0 "
        "--no-rope-fusion --no-rope-fusion",
         *argv[JOB_MAX_ARGS];
    struct ss_asked asked;
    struct ss_request r;
    struct ss_notes notes = {0}, ignored = {0};

    ss_asked_init(&asked);
    ss_request_init(&r);
    CU_ASSERT_EQUAL_FATAL(ss_request_read(&r, split(text, argv), argv, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_asked_parse(&asked, &r, &notes, &ignored, NULL), 0);
    CU_ASSERT_EQUAL(notes.n, 1);
    CU_ASSERT(has_note(&notes, "--no-rope-fusion"));
    CU_ASSERT_EQUAL_FATAL(ignored.n, SS_ARRAY_LEN(names));
    for (size_t i = 0; i < ignored.n; i++)
        CU_ASSERT_STRING_EQUAL(ignored.text[i], names[i]);
    ss_request_free(&r);
    ss_notes_free(&notes);
    ss_notes_free(&ignored);
}

TEST(launch_lines)
{
    static const struct {
        const char *file;
        int tp, pp, cp, chunks;
    } rows[] = {{DATA "launch-8b-tp2-pp2.args", 2, 2, 1, 1},
                {DATA "launch-8b-tp1-pp2-cp2-vp4.args", 1, 2, 2, 4}};

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_asked asked;
        struct ss_job job;
        struct ss_stack stack;
        struct ss_error err = {0};
        ss_asked_init(&asked);
        CU_ASSERT_EQUAL_FATAL(ss_stack_load("megatron-2407", "H800", &stack, &err), 0);
        int rc = parse_file(&asked, rows[i].file, &err);
        if (!rc)
            rc = ss_asked_finish(&asked, NULL, &stack, 32, 8, NULL, &job, &err);
        if (rc)
            fprintf(stderr, "%s\n", err.message);
        CU_ASSERT_EQUAL_FATAL(rc, 0);
        CU_ASSERT_EQUAL(job.tp, rows[i].tp);
        CU_ASSERT_EQUAL(job.pp, rows[i].pp);
        CU_ASSERT_EQUAL(job.cp, rows[i].cp);
        CU_ASSERT_EQUAL(ss_job_chunks(&job), rows[i].chunks);
        CU_ASSERT_EQUAL(job.precision, SS_FP8);
        CU_ASSERT_EQUAL(job.model.num_query_groups, 8);
        CU_ASSERT_EQUAL(job.model.tied_embeddings, 0);
        CU_ASSERT_EQUAL(ss_model_padded_vocab(&job.model, job.vocab_divisible_by, job.tp), 128512);
        CU_ASSERT_DOUBLE_EQUAL(ss_model_parameters(&job.model, 128256), 8030261248.0, 0.5);
    }
}

TEST(job_files)
{
    char **names;
    size_t n;

    CU_ASSERT_EQUAL_FATAL(ss_data_list("workloads/jobs", ".args", &names, &n, NULL), 0);
    CU_ASSERT(n >= 9);
    for (size_t i = 0; i < n; i++) {
        struct ss_asked asked;
        struct ss_job job;
        struct ss_notes notes = {0};
        struct ss_error err = {0};
        char flags[128];
        snprintf(flags, sizeof(flags), "--job %s", names[i]);
        ss_asked_init(&asked);
        int gpus = parse(&asked, flags, NULL, NULL)
                       ? 0
                       : asked.job.nodes * (!strcmp(asked.job.platform, "v100") ? 4 : 8);
        int rc = complete(&job, flags, gpus, &notes, &err);
        if (rc || notes.n)
            fprintf(stderr, "%s: %s %s\n", names[i], err.message, notes.n ? notes.text[0] : "");
        CU_ASSERT_EQUAL(rc, 0);
        CU_ASSERT_EQUAL(notes.n, 0);
        ss_notes_free(&notes);
    }
    ss_names_free(names, n);
}

TEST(words_of_flags)
{
    CU_ASSERT_STRING_EQUAL(ss_job_word("--recompute", SS_RECOMPUTE_NONE), "none");
    CU_ASSERT_STRING_EQUAL(ss_job_word("--attention-backend", SS_ATTENTION_UNFUSED), "unfused");
    CU_ASSERT_STRING_EQUAL(ss_job_word("--cp-comm-type", SS_CP_ALLGATHER), "allgather");
    CU_ASSERT_STRING_EQUAL(ss_job_word("--recompute-method", -1), "unknown");
    CU_ASSERT_STRING_EQUAL(ss_job_word("--no-such-flag", 0), "unknown");
}
