/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of runs: rows as jobs, predictions judged, statistics, written forms, error band. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/csv.h"
#include "stepsim/bands.h"
#include "stepsim/import.h"
#include "stepsim/scenario.h"
#include "stepsim/study.h"
#include "suite.h"

#define HEAD                                                                                                 \
    "id,platform,stack,nodes,model,precision,tp,pp,micro_batch,global_batch,seq_length,sequence_parallel,"   \
    "optimizer,outcome,iteration_ms,memory_mib,quality,note\n"
#define FULL_HEAD                                                                                            \
    "id,platform,stack,nodes,model,precision,tp,pp,micro_batch,global_batch,seq_length,sequence_parallel,"   \
    "optimizer,outcome,iteration_ms,memory_mib,quality,note,cause,flags\n"
#define JOB "h800,megatron-2407,1,llama3.1-8b,bf16,2,2,1,16,4096,true,distributed,"

static struct ss_table *parse(const char *text, struct ss_notes *notes)
{
    struct ss_error err = {0};
    struct ss_table *t = NULL;

    CU_ASSERT_EQUAL_FATAL(ss_table_parse(text, strlen(text), "t.csv", &t, notes, &err), 0);
    return t;
}

static void test_job(void)
{
    struct ss_notes notes = {0};
    struct ss_table *t = parse(HEAD "a," JOB "ok,900,,ok,\n", &notes);
    struct ss_error err = {0};
    struct ss_job job;
    double ms;

    CU_ASSERT_EQUAL(notes.n, 0);
    CU_ASSERT_EQUAL_FATAL(ss_table_job(t, 0, &job, &notes, &err), 0);
    CU_ASSERT_STRING_EQUAL(job.platform, "h800");
    CU_ASSERT_STRING_EQUAL(job.model_ref, "llama3.1-8b");
    CU_ASSERT_EQUAL(job.tp, 2);
    CU_ASSERT_EQUAL(job.sequence_parallel, 1);
    CU_ASSERT_EQUAL(job.distributed_optimizer, 1);
    CU_ASSERT_EQUAL(job.tp_comm_overlap, 0);
    CU_ASSERT_EQUAL(job.gpus_per_node, 0);
    CU_ASSERT_EQUAL(ss_table_line(t, 0), 2);
    CU_ASSERT_STRING_EQUAL(ss_table_get(t, 0, "no such column"), "");
    CU_ASSERT_EQUAL(ss_table_number(t, 0, "memory_mib", 7, &ms, &err), 0);
    CU_ASSERT_EQUAL(ms, 7);
    ss_table_free(t);
    ss_notes_free(&notes);
}

/* A row that gives the whole shape of a model known by name: what its columns leave open is that model's. */
static void test_named_choices(void)
{
#define SHAPE_HEAD                                                                                           \
    "id,platform,nodes,model,num_layers,hidden_size,ffn_hidden_size,num_attention_heads,vocab_size,"         \
    "normalization,precision,micro_batch,global_batch,seq_length\n"
    struct ss_table *t =
        parse(SHAPE_HEAD "x,h800,1,qwen2.5-7b,4,1024,4096,16,32000,,bf16,1,8,2048\n"
                         "y,h800,1,qwen2.5-7b,4,1024,4096,16,32000,layernorm,bf16,1,8,2048\n",
              NULL);
    for (int row = 0; row < 2; row++) {
        struct ss_notes notes = {0};
        struct ss_job job;
        CU_ASSERT_EQUAL_FATAL(ss_table_job(t, row, &job, &notes, NULL), 0);
        CU_ASSERT_EQUAL(job.model.num_layers, 4);
        CU_ASSERT_EQUAL(job.model.position, SS_POSITION_ROPE);
        CU_ASSERT_EQUAL(job.model.normalization, row ? SS_NORM_LAYERNORM : SS_NORM_RMSNORM);
        CU_ASSERT_EQUAL(job.model.gated_mlp, 1);
        CU_ASSERT_EQUAL(job.model.qkv_bias, 1);
        CU_ASSERT_EQUAL(job.model.linear_bias, 0);
        CU_ASSERT_EQUAL(job.model.tied_embeddings, 0);
        ss_notes_free(&notes);
    }
    ss_table_free(t);
}

/* Sizes that the columns leave open are those of the model of that name. */
static void test_named_sizes(void)
{
    struct ss_table *t = parse("id,platform,nodes,model,num_layers,hidden_size,num_attention_heads,vocab_"
                               "size,precision,micro_batch,global_batch,seq_length\n"
                               "x,h800,1,llama3.1-8b,4,4096,32,128256,bf16,1,8,2048\n",
                               NULL);
    struct ss_job job;

    CU_ASSERT_EQUAL_FATAL(ss_table_job(t, 0, &job, NULL, NULL), 0);
    CU_ASSERT_STRING_EQUAL(job.model_ref, "llama3.1-8b");
    CU_ASSERT_EQUAL(job.model.num_layers, 4);
    CU_ASSERT_EQUAL(job.model.ffn_hidden_size, 0); /* the model's, when the job is finished */
    CU_ASSERT_EQUAL(job.model.num_query_groups, 0);
    ss_table_free(t);
}

static void test_shape_beats_model(void)
{
    struct ss_table *t =
        parse("id,platform,nodes,gpus_per_node,model,num_layers,hidden_size,ffn_hidden_size,"
              "num_attention_heads,num_query_groups,vocab_size,gated_mlp,tied_embeddings,position,"
              "normalization,precision,pp,micro_batch,global_batch,seq_length,recompute,note,color,flags\n"
              "x,a100,2,4,my-own,10,1024,4096,16,8,32000,true,false,rope,rmsnorm,fp8,4,1,8,2048,unknown,"
              "uneven: first 3 last 1; optimizer offloaded,red,"
              "--decoder-first-pipeline-num-layers 2 --decoder-last-pipeline-num-layers 2\n",
              NULL);
    struct ss_notes notes = {0};
    struct ss_job job;

    CU_ASSERT_EQUAL_FATAL(ss_table_job(t, 0, &job, &notes, NULL), 0);
    CU_ASSERT_STRING_EQUAL(job.model_ref, "");
    CU_ASSERT_EQUAL(job.model.num_query_groups, 8);
    CU_ASSERT_EQUAL(job.model.gated_mlp, 1);
    CU_ASSERT_EQUAL(job.model.tied_embeddings, 0);
    CU_ASSERT_EQUAL(job.precision, SS_FP8);
    CU_ASSERT_EQUAL(job.recompute, SS_RECOMPUTE_NONE);
    CU_ASSERT_EQUAL(job.first_stage_layers, 2);
    CU_ASSERT_EQUAL(job.last_stage_layers, 2);
    CU_ASSERT_EQUAL(job.attention_dropout, 0);
    CU_ASSERT_EQUAL(job.gpus_per_node, 4);
    CU_ASSERT(notes.n >= 1 &&
              strstr(notes.text[0], "recompute \"unknown\" is what workloads/recipes.csv has"));
    ss_table_free(t);
    ss_notes_free(&notes);
}

/* The column flags says what the columns cannot; a note says nothing. */
static void test_flags(void)
{
    struct ss_job plain, job;
    struct ss_notes notes = {0};
    struct ss_error err = {0};
    struct ss_table *t =
        parse(FULL_HEAD "a," JOB "ok,900,,ok,first 1 last 2 uneven; optimizer offloaded,,\n"
                        "b," JOB "ok,900,,ok,,,\n"
                        "c," JOB "ok,900,,ok,,,--swiglu --clip-grad 0 --attention-dropout 0.3 "
                        "--optimizer-cpu-offload --optimizer-offload-fraction 1\n"
                        "d," JOB "ok,900,,ok,,,\"--decoder-first-pipeline-num-layers\n  20 # of 32\"\n"
                        "e," JOB "ok,900,,ok,,,--tpp 2\n"
                        "f," JOB "ok,900,,ok,,,--tp 'x\n"
                        "g," JOB "ok,900,,ok,,,--moe-latent-size 8\n",
              &notes);

    CU_ASSERT_EQUAL(notes.n, 0);
    CU_ASSERT_EQUAL_FATAL(ss_table_job(t, 0, &job, NULL, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_table_job(t, 1, &plain, NULL, NULL), 0);
    CU_ASSERT_EQUAL(memcmp(&job, &plain, sizeof job), 0);
    CU_ASSERT_EQUAL_FATAL(ss_table_job(t, 2, &job, NULL, NULL), 0);
    CU_ASSERT_EQUAL(job.model.gated_mlp, 1);
    CU_ASSERT_EQUAL(job.clip_grad, 0);
    CU_ASSERT_EQUAL(job.attention_dropout, 0.3);
    CU_ASSERT_EQUAL(job.optimizer_offload, 1);
    CU_ASSERT_EQUAL_FATAL(ss_table_job(t, 3, &job, NULL, NULL), 0);
    CU_ASSERT_EQUAL(job.first_stage_layers, 20);
    for (int row = 4; row < 7; row++) {
        memset(&err, 0, sizeof err);
        CU_ASSERT_EQUAL(ss_table_job(t, row, &job, NULL, &err), row == 6 ? SS_ERR_UNSUPPORTED : SS_ERR_INPUT);
        CU_ASSERT_EQUAL(job.tp, row == 6 ? 2 : 1);
        CU_ASSERT_STRING_EQUAL(err.file, "t.csv");
        CU_ASSERT_EQUAL(err.line, ss_table_line(t, row));
        CU_ASSERT(row == 6 || strstr(err.message, "column flags: ") == err.message);
    }
    ss_table_free(t);
}

/* They may say what a shape of columns leaves open, and not what it says. */
static void test_flags_and_shape(void)
{
    struct ss_table *t =
        parse("id,platform,nodes,model,num_layers,hidden_size,num_attention_heads,vocab_size,gated_mlp,"
              "tied_embeddings,position,precision,micro_batch,global_batch,seq_length,flags\n"
              "a,h800,1,own,4,1024,16,32000,false,true,rope,bf16,1,8,2048,\n"
              "b,h800,1,own,4,1024,16,32000,,,rope,bf16,1,8,2048,"
              "--swiglu --untie-embeddings-and-output-weights --hidden-dropout 0.1\n"
              "c,h800,1,own,4,1024,16,32000,false,,rope,bf16,1,8,2048,--clip-grad 0 --swiglu\n"
              "d,h800,1,own,4,1024,16,32000,,true,rope,bf16,1,8,2048,--untie-embeddings-and-output-weights\n"
              "e,h800,1,own,4,1024,16,32000,,,rope,bf16,1,8,2048,--fp16\n"
              "f,h800,1,own,4,1024,16,32000,,,rope,bf16,1,8,2048,--use-rotary-position-embeddings\n",
              NULL);
    static const char *const columns[] = {"gated_mlp", "tied_embeddings", "precision", "position"};
    struct ss_error err = {0};
    struct ss_job job;

    CU_ASSERT_EQUAL_FATAL(ss_table_job(t, 0, &job, NULL, NULL), 0);
    CU_ASSERT(job.model.gated_mlp < 1 && job.model.tied_embeddings != 0 && job.hidden_dropout == 0);
    CU_ASSERT_EQUAL_FATAL(ss_table_job(t, 1, &job, NULL, NULL), 0);
    CU_ASSERT(job.model.gated_mlp == 1 && job.model.tied_embeddings == 0 && job.hidden_dropout == 0.1);
    CU_ASSERT_EQUAL(job.attention_dropout, 0);
    for (int row = 2; row < 6; row++) {
        CU_ASSERT_EQUAL(ss_table_job(t, row, &job, NULL, &err), SS_ERR_INPUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, columns[row - 2]));
    }
    ss_table_free(t);
}

/* Words stand in the file and line of their row; those of a flags field that has lines, in their own. */
static void test_places(void)
{
    struct ss_table *t =
        parse("id,platform,nodes,model,tp,micro_batch,global_batch,seq_length,recompute,flags\n"
              "x,h800,1,llama3.1-8b,2,1,8,2048,unknown,\"--recompute-granularity selective\n"
              "--rank-order tp-cp-ep-pp-dp\"\n",
              NULL);
    struct ss_request r;
    struct ss_job job;
    size_t tp, order, recompute;

    CU_ASSERT_EQUAL_FATAL(ss_table_request(t, 0, &r, NULL, NULL), 0);
    tp = ss_request_find(&r, "--tp");
    order = ss_request_find(&r, "--rank-order");
    recompute = ss_request_find(&r, "--recompute-granularity");
    CU_ASSERT_FATAL(tp < recompute && recompute < order && order < r.n);
    CU_ASSERT_EQUAL(r.word[tp].line, 2);
    CU_ASSERT_EQUAL(r.word[order].line, 3);
    CU_ASSERT(r.word[tp].place < r.word[order].place);
    CU_ASSERT_STRING_EQUAL(r.place[r.word[order].place].file, "t.csv");
    ss_request_free(&r);
    CU_ASSERT_EQUAL_FATAL(ss_table_job(t, 0, &job, NULL, NULL), 0);
    CU_ASSERT_EQUAL(job.tp, 2);
    CU_ASSERT_EQUAL(job.recompute, SS_RECOMPUTE_SELECTIVE);
    CU_ASSERT_STRING_EQUAL(job.rank_order, "tp-cp-ep-pp-dp");
    ss_table_free(t);
}

/* The width of a mixture's row is that of an expert; its dense layers have theirs in `flags`. */
static void test_experts(void)
{
    struct ss_table *t =
        parse("id,platform,nodes,num_layers,hidden_size,ffn_hidden_size,num_attention_heads,vocab_size,"
              "num_experts,top_k,micro_batch,global_batch,seq_length,flags\n"
              "x,h800,1,4,1024,512,16,32000,8,2,1,8,2048,--ffn-hidden-size 4096\n"
              "y,h800,1,4,1024,512,16,32000,1,2,1,8,2048,\n",
              NULL);
    struct ss_job job;

    CU_ASSERT_EQUAL_FATAL(ss_table_job(t, 0, &job, NULL, NULL), 0);
    CU_ASSERT_EQUAL(job.model.num_experts, 8);
    CU_ASSERT_EQUAL(job.model.top_k, 2);
    CU_ASSERT_EQUAL(job.model.moe_ffn_hidden_size, 512);
    CU_ASSERT_EQUAL(job.model.ffn_hidden_size, 4096);
    CU_ASSERT_EQUAL_FATAL(ss_table_job(t, 1, &job, NULL, NULL), 0);
    CU_ASSERT_EQUAL(job.model.num_experts, 0);
    CU_ASSERT_EQUAL(job.model.ffn_hidden_size, 512);
    ss_table_free(t);
}

static void test_mistakes(void)
{
    static const struct {
        const char *row, *message;
    } rows[] = {
        {"a,h800,megatron-2407,1,llama3.1-8b,bf17,2,2,1,16,4096,true,distributed,ok,900,,ok,\n", "precision"},
        {"a,h800,megatron-2407,1,llama3.1-8b,bf16,two,2,1,16,4096,true,distributed,ok,900,,ok,\n", "--tp"},
        {"a,h800,megatron-2407,1,llama3.1-8b,bf16,2,2,1,16,4096,yes,distributed,ok,900,,ok,\n",
         "sequence_parallel"},
        {"a,h800,megatron-2407,1,llama3.1-8b,bf16,2,2,1,16,4096,true,sgd,ok,900,,ok,\n", "optimizer"},
    };
    struct ss_table *t;
    struct ss_error err = {0};
    struct ss_notes notes = {0};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[1024];
        struct ss_job job;
        snprintf(text, sizeof text, HEAD "\n%s", rows[i].row);
        t = parse(text, NULL);
        CU_ASSERT_EQUAL(ss_table_job(t, 0, &job, NULL, &err), SS_ERR_INPUT);
        CU_ASSERT_STRING_EQUAL(err.file, "t.csv");
        CU_ASSERT_EQUAL(err.line, 3);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, rows[i].message));
        ss_table_free(t);
    }
    CU_ASSERT_EQUAL(ss_table_parse("id,nodes\n", 9, "t.csv", &t, NULL, &err), SS_ERR_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "platform"));
    t = parse("id,platform,nodes,micro_batch,global_batch,seq_lenght,seq_length\nmine,h800,1,1,8,,4096\n",
              &notes);
    CU_ASSERT(notes.n == 1 && strstr(notes.text[0], "did you mean seq_length?"));
    ss_table_free(t);
    ss_notes_free(&notes);
}

/* Writes a table beside the test, validates it. */
static struct ss_validation *validate(const char *text)
{
    char path[] = "/tmp/stepsim-validate-XXXXXX";
    const char *tables[] = {path};
    struct ss_validate_options opt = {.engine = SS_ENGINE_NATIVE};
    struct ss_validation *v = NULL;
    struct ss_error err = {0};
    int fd = mkstemp(path);

    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL_FATAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    if (ss_validate(tables, 1, &opt, &v, &err))
        fprintf(stderr, "%s:%d: %s\n", err.file, err.line, err.message);
    unlink(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(v);
    return v;
}

/* --set among the flags of a row holds for its platform and its stack. */
static void test_flags_set(void)
{
    struct ss_validation *v =
        validate(FULL_HEAD "plain," JOB "ok,1000,,ok,,,\n"
                           "card," JOB "ok,1000,,ok,,,--set ss.gemm.efficiency.bf16=0.4\n"
                           "stack," JOB "ok,1000,,ok,,,--set=ss.iteration.fixed=1s\n");

    CU_ASSERT(v->rows[1].summary.iteration_s > 1.3 * v->rows[0].summary.iteration_s);
    CU_ASSERT_DOUBLE_EQUAL(v->rows[2].summary.iteration_s, v->rows[0].summary.iteration_s + 1, 0.05);
    ss_validation_free(v);
}

static const char outcomes[] = FULL_HEAD
    "fits," JOB "ok,1000,,ok,,,\n"
    "apart," JOB "ok,1000,,suspect,,,\n"
    "not-so," JOB "oom,,,ok,,,\n"
    "large,h800,megatron-2407,1,llama3.1-405b,bf16,2,2,1,16,4096,true,distributed,oom,,,ok,,,\n"
    "refused,h800,megatron-2407,1,llama3.1-8b,bf16,2,3,1,16,4096,true,distributed,config-error,,,ok,"
    "does not divide,--tensor-model-parallel-size --pp,\n"
    "other-cause,h800,megatron-2407,1,llama3.1-8b,bf16,2,3,1,16,4096,true,distributed,config-error,,,ok,,"
    "--pp --cpu-offloading,\n"
    "any-cause,h800,megatron-2407,1,llama3.1-8b,bf16,2,3,1,16,4096,true,distributed,config-error,,,ok,"
    "ValueError: another,,\n"
    "later," JOB "ok,1000,,ok,,,--moe-latent-size 8\n"
    "broken," JOB "framework-error,,,ok,NCCL error,,\n"
    "never," JOB "not-run,,,ok,,,\n";

static void test_outcomes(void)
{
    static const int right[] = {1, 1, 0, 1, 1, 0, 1, -1, -1, -1};
    static const char *const predicted[] = {
        "ok", "ok", "ok", "oom", "config-error", "config-error", "config-error", "unsupported", "", "ok"};
    struct ss_validation *v = validate(outcomes);

    CU_ASSERT_EQUAL_FATAL(v->nrows, 10);
    for (int i = 0; i < 10; i++) {
        CU_ASSERT_EQUAL(v->rows[i].right, right[i]);
        CU_ASSERT_STRING_EQUAL(v->rows[i].predicted_outcome, predicted[i]);
    }
    CU_ASSERT_PTR_NOT_NULL(
        strstr(v->rows[7].configuration, "tp2 pp2 cp1 mbs1 gbs16 seq4096")); /* its flags are refused */
    CU_ASSERT(v->rows[9].summary.iteration_s > 0);
    CU_ASSERT_EQUAL(v->rows[8].summary.iteration_s, 0);
    CU_ASSERT_EQUAL(v->all.outcomes, 6);
    CU_ASSERT_EQUAL(v->all.right, 4);
    CU_ASSERT_EQUAL(v->all.time.n, 1);
    CU_ASSERT_DOUBLE_EQUAL(v->all.time.bias, ss_validation_time_error(&v->rows[0]), 1e-9);
    CU_ASSERT_EQUAL(v->ngroups[SS_BY_QUALITY], 1);
    CU_ASSERT_STRING_EQUAL(v->groups[SS_BY_QUALITY][0].name, "suspect");
    ss_validation_free(v);
}

/* 1F1B holds most on its first stage: so much a stack shows that logs the largest or the first one, not the last. */
static void test_logged_stage(void)
{
    static const char *const logged[] = {"peak", "first", "last"};
    char path[] = "/tmp/stepsim-stack-XXXXXX", text[1024];
    double mib[3];
    int fd = mkstemp(path);

    CU_ASSERT_FATAL(fd >= 0);
    for (int i = 0; i < 3; i++) {
        struct ss_validation *v;
        int n =
            snprintf(text, sizeof text,
                     "<stack name='x' base='megatron-2407'><prop id='ss.memory.logged' value='%s'/></stack>",
                     logged[i]);
        CU_ASSERT_EQUAL_FATAL(pwrite(fd, text, (size_t)n, 0) != n || ftruncate(fd, n), 0);
        snprintf(text, sizeof text,
                 HEAD "a,h800,%s,1,llama3.1-8b,bf16,2,2,1,16,4096,true,distributed,ok,900,40000,ok,\n", path);
        v = validate(text);
        mib[i] = v->rows[0].predicted_bytes;
        CU_ASSERT_EQUAL(v->rows[0].right, 1);
        ss_validation_free(v);
    }
    close(fd);
    unlink(path);
    CU_ASSERT_EQUAL(mib[0], mib[1]);
    CU_ASSERT(mib[2] > 0 && mib[2] < mib[1]);
}

/* A mixture's row: its name gives what no column can, a layout beats the columns of stages, and layers that do not divide are
 * split as evenly as can be. */
static void test_mixtures(void)
{
    static const char head[] =
        "id,platform,nodes,model,num_layers,hidden_size,ffn_hidden_size,num_attention_heads,vocab_size,"
        "gated_mlp,position,pp,ep,num_experts,top_k,layers_per_virtual_stage,micro_batch,global_batch,"
        "seq_length,recompute,flags\n";
    struct ss_table *t;
    struct ss_notes notes = {0};
    struct ss_job job;
    char text[2048];

    snprintf(text, sizeof text,
             "%suneven,h800,4,mine,61,1024,512,16,32000,true,rope,4,8,64,4,2,1,64,4096,none,\n"
             "told,h800,4,mine,8,1024,512,16,32000,true,rope,4,8,64,4,2,1,64,4096,none,"
             "--pipeline-model-parallel-layout Et*3|tt|tt|tL\n"
             "named,h800,4,qwen3-30b-a3b,48,2048,768,32,151936,true,rope,1,8,128,8,,1,64,4096,unknown,--mtp-"
             "num-layers 1\n",
             head);
    t = parse(text, NULL);
    CU_ASSERT_EQUAL_FATAL(ss_table_job(t, 0, &job, &notes, NULL), 0);
    CU_ASSERT(notes.n > 0 && strstr(notes.text[0], "split as evenly as can be"));
    CU_ASSERT_EQUAL(job.layout.n, 32);
    CU_ASSERT_EQUAL(job.layout.layers[28], 2);
    CU_ASSERT_EQUAL(job.layout.layers[29], 1);
    CU_ASSERT_EQUAL(job.layers_per_virtual_stage, 0);
    CU_ASSERT_EQUAL(job.model.moe_ffn_hidden_size, 512);
    CU_ASSERT_EQUAL(job.model.num_experts, 64);
    CU_ASSERT_EQUAL(job.model.top_k, 4);
    CU_ASSERT_EQUAL(job.ep, 8);
    CU_ASSERT_EQUAL_FATAL(ss_table_job(t, 1, &job, NULL, NULL), 0);
    CU_ASSERT_EQUAL(job.layout.n, 4);
    CU_ASSERT_EQUAL(job.layout.layers[0], 3);
    CU_ASSERT_EQUAL(job.layers_per_virtual_stage, 0);
    CU_ASSERT_EQUAL_FATAL(ss_table_job(t, 2, &job, NULL, NULL), 0);
    CU_ASSERT_STRING_EQUAL(job.model_ref, "qwen3-30b-a3b");
    CU_ASSERT_EQUAL(job.model.mtp_num_layers, 1);
    ss_table_free(t);
    ss_notes_free(&notes);
}

/* What a source does not say of recompute is shown from both ends; a dense row has no such bounds. */
static void test_bounds(void)
{
    struct ss_validation *v = validate("id,platform,nodes,model,precision,num_experts,ep,micro_batch,global_"
                                       "batch,seq_length,recompute,outcome\n"
                                       "moe,h800,4,olmoe-1b-7b,bf16,64,8,1,32,4096,unknown,ok\n"
                                       "known,h800,4,olmoe-1b-7b,bf16,64,8,1,32,4096,none,ok\n"
                                       "dense,h800,4,olmo-1b,bf16,,,1,32,2048,unknown,ok\n");

    CU_ASSERT(v->rows[0].none.seconds > 0 && v->rows[0].none.seconds == v->rows[0].summary.iteration_s);
    CU_ASSERT(v->rows[0].full.seconds > v->rows[0].none.seconds);
    CU_ASSERT(v->rows[0].full.bytes < v->rows[0].none.bytes);
    CU_ASSERT_EQUAL(v->rows[1].none.seconds, 0);
    CU_ASSERT_EQUAL(v->rows[2].none.seconds, 0);
    ss_validation_free(v);
}

static void test_unsupported(void)
{
    struct ss_validation *v = validate(
        "id,platform,nodes,model,precision,num_experts,micro_batch,global_batch,seq_length,outcome,flags\n"
        "moe,h800,1,mixtral-8x7b,bf16,8,1,8,4096,ok,--moe-latent-size 64\n");

    CU_ASSERT_EQUAL(v->unsupported, 1);
    CU_ASSERT_EQUAL(v->rows[0].right, -1);
    CU_ASSERT_STRING_EQUAL(v->rows[0].predicted_outcome, "unsupported");
    CU_ASSERT_EQUAL(v->all.outcomes, 0);
    CU_ASSERT_EQUAL(v->ngroups[SS_BY_MODEL], 0);
    ss_validation_free(v);
}

/* Errors of -50, +0, +100 % by choice of what was measured. */
static void test_statistics(void)
{
    struct ss_validation *v = validate(HEAD "a," JOB "ok,1000,,A,\n"), *three;
    double ms = 1e3 * v->rows[0].summary.iteration_s;
    char text[2048];

    ss_validation_free(v);
    snprintf(text, sizeof text,
             HEAD "a," JOB "ok,%.6f,,A,\nb," JOB "ok,%.6f,,B,\nc," JOB "ok,%.6f,,C,\nd," JOB "ok,%.6f,,,\n",
             2 * ms, ms, ms, 0.5 * ms);
    three = validate(text);
    CU_ASSERT_EQUAL(three->all.time.n, 3);
    CU_ASSERT_DOUBLE_EQUAL(three->all.time.mean_abs, 50, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(three->all.time.median_abs, 50, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(three->all.time.worst_abs, 100, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(three->all.time.bias, 50.0 / 3, 1e-3);
    ss_validation_free(three);
}

static char *written(const struct ss_validation *v,
                     int (*write_form)(const struct ss_validation *, FILE *, struct ss_error *))
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    CU_ASSERT_EQUAL(write_form(v, out, NULL), 0);
    fclose(out);
    return text;
}

static void test_json(void)
{
    static const char *const keys[] = {
        "id",        "quality",      "outcome",       "predicted_outcome", "measured_ms", "predicted_ms",
        "error_pct", "measured_mib", "predicted_mib", "memory_error_pct",  "reason"};
    static const char *const stats[] = {"n", "mean_abs_pct", "median_abs_pct", "worst_abs_pct", "bias_pct"};
    struct ss_validation *v = validate(outcomes);
    char *text = written(v, ss_validation_write_json);
    json_t *o = json_loads(text, 0, NULL), *row, *summary;

    CU_ASSERT_PTR_NOT_NULL_FATAL(o);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(o, "rows")), 10);
    row = json_array_get(json_object_get(o, "rows"), 0);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        CU_ASSERT_PTR_NOT_NULL(json_object_get(row, keys[i]));
    CU_ASSERT_DOUBLE_EQUAL(json_real_value(json_object_get(row, "measured_ms")), 1000, 1e-9);
    CU_ASSERT(json_is_null(json_object_get(row, "measured_mib")));
    summary = json_object_get(o, "summary");
    for (size_t i = 0; i < sizeof stats / sizeof stats[0]; i++) {
        CU_ASSERT_PTR_NOT_NULL(json_object_get(json_object_get(summary, "time"), stats[i]));
        CU_ASSERT_PTR_NOT_NULL(json_object_get(json_object_get(summary, "memory"), stats[i]));
    }
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_object_get(summary, "outcomes"), "right")), 4);
    json_decref(o);
    free(text);
    ss_validation_free(v);
}

/* A written table compares equal with itself, and every kind of change is seen. */
static void test_compare(void)
{
    struct ss_validation *v = validate(outcomes);
    char path[] = "/tmp/stepsim-results-XXXXXX", *text = written(v, ss_validation_write_csv), *report = NULL;
    int fd = mkstemp(path), moved = -1;
    size_t len;
    FILE *out;

    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL_FATAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    out = open_memstream(&report, &len);
    CU_ASSERT_EQUAL(ss_validation_compare(v, path, out, &moved, NULL), 0);
    CU_ASSERT_EQUAL(moved, 0);
    v->rows[0].summary.iteration_s *= 1.001;
    strcpy(v->rows[1].predicted_outcome, "oom");
    strcpy(v->rows[2].id, "renamed");
    CU_ASSERT_EQUAL(ss_validation_compare(v, path, out, &moved, NULL), 0);
    fclose(out);
    CU_ASSERT_EQUAL(moved, 4);
    CU_ASSERT_PTR_NOT_NULL(strstr(report, "fits: predicted_ms"));
    CU_ASSERT_PTR_NOT_NULL(strstr(report, "apart: predicted_outcome ok -> oom"));
    CU_ASSERT_PTR_NOT_NULL(strstr(report, "renamed: new"));
    CU_ASSERT_PTR_NOT_NULL(strstr(report, "not-so: no longer"));
    unlink(path);
    free(report);
    free(text);
    ss_validation_free(v);
}

static void test_svg(void)
{
    struct ss_validation *v = validate(outcomes);
    char *text = written(v, ss_validation_write_svg);

    CU_ASSERT_PTR_NOT_NULL(strstr(text, "<title>fits: 1000.0 ms"));
    CU_ASSERT_PTR_NULL(strstr(text, "nan"));
    free(text);
    v->nrows = 0; /* an empty picture is a picture */
    text = written(v, ss_validation_write_svg);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "</svg>"));
    free(text);
    ss_validation_free(v);
}

/* Three sources of the X's family of stacks and one of another, whose errors are told by hand. */
static const char band_table[] =
    "card,quality,outcome,predicted_outcome,memory_kind,error_pct,memory_error_pct,"
    "experts,source,family,weight\n"
    /* a and b: 1, 2, 3 and 4 % too long; the second counts as much, though it is one run */
    "X,A,ok,ok,device,1,-20,0,a,f,1\nX,A,ok,ok,device,2,-20,0,a,f,1\n"
    "X,A,ok,ok,device,3,-20,0,a,f,1\nX,C,ok,ok,analytic,-4,900,0,b,f,\n"
    /* on another card: the wider circle */
    "Y,ok,ok,ok,device,10,25,0,c,f,1\nY,ok,ok,ok,device,-20,25,0,c,f,0.5\n"
    /* none of these tells of time */
    "X,D,ok,ok,device,90,90,0,d,f,1\nX,A,oom,ok,device,90,90,0,e,f,1\n"
    "X,A,ok,oom,device,90,0,0,a,f,1\n";

static struct ss_bands *load_bands(const char *text)
{
    char path[] = "/tmp/stepsim-band-XXXXXX";
    struct ss_bands *bands = NULL;
    int fd = mkstemp(path);

    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL_FATAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    CU_ASSERT_EQUAL_FATAL(ss_bands_load(path, NULL, &bands, NULL), 0);
    unlink(path);
    return bands;
}

/* Share of a normal law of standard deviation `sigma` (of the logarithm) that is off by no more than x. */
static double within(double x, double sigma)
{
    return 0.5 * (erf(log1p(x) / sigma / sqrt(2)) - erf(log1p(-x) / sigma / sqrt(2)));
}

/* Near are a and b: each has a third of the mass, a run of a a ninth. The last third is dealt to c and to none, halves: c's
 * 10 % has a ninth, its -20 % an eighteenth, none a sixth, which is drawn as wide as the worst run is off. */
static void test_band(void)
{
    const struct ss_band_job job = {"X", "f", 0, NULL}, other = {"Z", "f", 0, ""}, moe = {"X", "f", 8, NULL},
                             odd = {"X", "f", 0, "--no-such-model"};
    struct ss_bands *bands = load_bands(band_table);
    double sigma = fabs(log(0.8));
    struct ss_band band, memory;

    ss_bands_find(bands, &job, &band, &memory);
    CU_ASSERT_EQUAL(band.n, 6);
    CU_ASSERT_EQUAL(band.sources, 3);
    /* 1 to 4 % and 10 % have 2/3 + 1/9; none adds too little below 20 %, where c has its last eighteenth. */
    CU_ASSERT(2 / 3.0 + 1 / 9.0 + within(0.2, sigma) / 6 < 0.9);
    CU_ASSERT_DOUBLE_EQUAL(band.pct, 20, 1e-9);
    CU_ASSERT_PTR_NOT_NULL(strstr(band.like, "4 runs of 2 sources, f on X; less by 2 of 1 others"));
    /* Nothing of this card: a, b, c and none have a quarter each. Up to 10 % are two thirds; none adds too little below
     * 20 %, where c has its last twelfth. */
    ss_bands_find(bands, &other, &band, &memory);
    CU_ASSERT(2 / 3.0 + within(0.2, sigma) / 4 < 0.9);
    CU_ASSERT_DOUBLE_EQUAL(band.pct, 20, 1e-9);
    CU_ASSERT_PTR_NOT_NULL(strstr(band.like, "6 runs of 3 sources, none of them f on Z"));
    /* A mixture, of which none was measured, is as far off as dense models are. */
    ss_bands_find(bands, &moe, &memory, &band);
    CU_ASSERT_EQUAL(memory.n, 6);
    ss_bands_find(bands, &odd, &band, &memory);
    CU_ASSERT_EQUAL(band.n, 0);
    CU_ASSERT_EQUAL(memory.n, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(band.like, "--no-such-model"));
    ss_bands_free(bands);
    CU_ASSERT_EQUAL_FATAL(ss_bands_load("/no/such/file.csv", NULL, &bands, NULL), 0);
    ss_bands_find(bands, &job, &band, &memory);
    CU_ASSERT_EQUAL(band.n, 0);
    ss_bands_free(bands);
    ss_bands_find(NULL, &job, &band, &memory);
    CU_ASSERT_EQUAL(memory.n, 0);
}

/* Of the memory a's runs took a quarter more but for one, which was right and predicted not to fit; c's a fifth less. a has
 * half of the mass, c and none a quarter: more than a twentieth are at either end. */
static void test_band_of_memory(void)
{
    const struct ss_band_job job = {"X", "f", 0, NULL};
    struct ss_bands *bands = load_bands(band_table);
    struct ss_band time, band;

    ss_bands_find(bands, &job, &time, &band);
    CU_ASSERT_EQUAL(band.n, 6);
    CU_ASSERT_DOUBLE_EQUAL(band.high_pct, 25, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(band.low_pct, -20, 1e-9);
    ss_bands_free(bands);
}

/* Sixty runs of one source are one opinion: how often it was asked changes no band. */
static void test_band_votes(void)
{
    static const char head[] =
        "card,quality,outcome,predicted_outcome,memory_kind,error_pct,memory_error_pct,"
        "experts,source,family,weight\n";
    const struct ss_band_job job = {"X", "f", 0, NULL};
    struct ss_band once, often, memory;
    char text[8192];
    int n = snprintf(text, sizeof text, "%sX,A,ok,ok,,1,,0,a,f,1\nX,A,ok,ok,,12,,0,b,f,1\n", head);
    struct ss_bands *bands = load_bands(text);

    ss_bands_find(bands, &job, &once, &memory);
    ss_bands_free(bands);
    for (int i = 0; i < 59; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "X,A,ok,ok,,1,,0,a,f,1\n");
    bands = load_bands(text);
    ss_bands_find(bands, &job, &often, &memory);
    CU_ASSERT_EQUAL(often.n, 61);
    CU_ASSERT_DOUBLE_EQUAL(often.pct, once.pct, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(once.pct, 12, 1e-9);
    ss_bands_free(bands);
    /* One run of 5 %: it has half of the mass, and what is like none the other, beyond it too. */
    snprintf(text, sizeof text, "%sX,A,ok,ok,,5,,0,a,f,1\n", head);
    bands = load_bands(text);
    ss_bands_find(bands, &job, &once, &memory);
    CU_ASSERT(once.pct > 5);
    CU_ASSERT_DOUBLE_EQUAL(0.5 + 0.5 * within(once.pct / 100, log(1.05)), 0.9, 1e-9);
    ss_bands_free(bands);
}

/* What the bands promise, on the committed predictions: runs of a source that they are made without. */
static void test_coverage(void)
{
    static const double least[] = {0.87, 0.85};
    struct ss_bands *bands;
    struct ss_coverage c;

    CU_ASSERT_EQUAL_FATAL(ss_bands_load(NULL, NULL, &bands, NULL), 0);
    for (int memory = 0; memory < 2; memory++) {
        CU_ASSERT_EQUAL_FATAL(ss_bands_coverage(bands, memory, &c, NULL), 0);
        if (c.by_source < least[memory])
            printf("%s: %.1f %% of a source's runs are inside\n", memory ? "memory" : "time",
                   100 * c.by_source);
        CU_ASSERT(c.by_source >= least[memory]);
        CU_ASSERT(c.by_run >= 0.8); /* sources with many runs weigh more here */
        CU_ASSERT(c.n >= 8);        /* sources */
        ss_coverage_free(&c);
    }
    ss_bands_free(bands);
    /* By hand: bands without c are of a and b, those without b of a and c; b's 4 % is inside, c's 20 % not. */
    bands = load_bands(band_table);
    CU_ASSERT_EQUAL_FATAL(ss_bands_coverage(bands, 0, &c, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(c.n, 3);
    CU_ASSERT_STRING_EQUAL(c.sources[2].name, "c");
    CU_ASSERT_DOUBLE_EQUAL(c.sources[1].inside, 1, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(c.sources[2].inside, 0, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(c.weight, 5.5, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(c.by_source, 2 / 3.0, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(c.by_run, 4 / 5.5, 1e-12);
    ss_coverage_free(&c);
    ss_bands_free(bands);
}

/* Published runs of which everything is told ran, so they fit: of the committed predictions none says otherwise. */
static void test_what_ran_fits(void)
{
    struct ss_csv *csv;
    int ran = 0, wrong = 0;

    CU_ASSERT_EQUAL_FATAL(ss_csv_load(SS_SOURCE_DIR "/validation/results.csv", &csv, NULL), 0);
#define IS(column, word) !strcmp(ss_csv_field(csv, row, ss_csv_column(csv, column)), word)
    for (size_t row = 0; row < ss_csv_rows(csv); row++)
        if (IS("quality", "A") && IS("outcome", "ok")) {
            ran++;
            wrong += IS("predicted_outcome", "oom");
        }
#undef IS
    CU_ASSERT(ran > 80);
    CU_ASSERT_EQUAL(wrong, 0);
    ss_csv_free(csv);
}

/* A measured table whose notes are other words, among them all that were read once, written to a folder under its name. */
static void rewrite_notes(const char *folder, const char *name, char *path, size_t size)
{
    static const char words[] = "uneven: first 1 last 1; optimizer offloaded; ValueError: no such thing";
    struct ss_csv *csv;
    FILE *out;

    snprintf(path, size, SS_SOURCE_DIR "/validation/%s.csv", name);
    CU_ASSERT_EQUAL_FATAL(ss_csv_load(path, &csv, NULL), 0);
    CU_ASSERT_FATAL(ss_csv_column(csv, "note") >= 0);
    snprintf(path, size, "%s/%s.csv", folder, name);
    out = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    for (size_t c = 0; c < ss_csv_columns(csv); c++)
        fprintf(out, "%s%s", c ? "," : "", ss_csv_column_name(csv, c));
    for (size_t row = 0; row < ss_csv_rows(csv); row++)
        for (size_t c = 0; c < ss_csv_columns(csv); c++) {
            int is_note = (int)c == ss_csv_column(csv, "note");
            fputs(c ? "," : "\n", out);
            ss_csv_write(out, is_note ? words : ss_csv_field(csv, row, (int)c));
        }
    fputs("\n", out);
    fclose(out);
    ss_csv_free(csv);
}

/* Notes are for people: whatever they say, predictions and verdicts are the same. */
static void test_notes(void)
{
    static const char *const names[] = {"runs", "foreign", "reread"};
    char folder[] = "/tmp/stepsim-notes-XXXXXX", path[3][128];
    const char *paths[] = {path[0], path[1], path[2]};
    struct ss_validate_options opt = {.engine = SS_ENGINE_NATIVE};
    struct ss_validation *before, *after;
    char *one, *other;

    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    for (int i = 0; i < 3; i++)
        rewrite_notes(folder, names[i], path[i], sizeof path[i]);
    CU_ASSERT_EQUAL_FATAL(ss_validate(names, 3, &opt, &before, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_validate(paths, 3, &opt, &after, NULL), 0);
    one = written(before, ss_validation_write_csv);
    other = written(after, ss_validation_write_csv);
    CU_ASSERT_STRING_EQUAL(one, other);
    free(one);
    free(other);
    ss_validation_free(before);
    ss_validation_free(after);
    for (int i = 0; i < 3; i++)
        unlink(path[i]);
    rmdir(folder);
}

/* The command line's job file and the table's row are one run: one prediction. */
static void test_same_as_job_file(void)
{
    const char *tables[] = {SS_SOURCE_DIR "/validation/runs.csv"};
    struct ss_validate_options opt = {.engine = SS_ENGINE_NATIVE};
    char *const words[] = {"--job", SS_SOURCE_DIR "/workloads/jobs/8b-16.args"};
    struct ss_request r;
    struct ss_scenario *made;
    struct ss_validation *v;
    struct ss_run run;
    double seconds = 0;

    CU_ASSERT_EQUAL_FATAL(ss_validate(tables, 1, &opt, &v, NULL), 0);
    for (int i = 0; i < v->nrows; i++)
        if (!strcmp(v->rows[i].id, "8b-16"))
            seconds = v->rows[i].summary.iteration_s;
    ss_request_init(&r);
    CU_ASSERT_EQUAL_FATAL(ss_request_read(&r, 2, words, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_scenario_build(&r, NULL, &made, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_run_scenario(made, NULL, &run, NULL), 0);
    CU_ASSERT_DOUBLE_EQUAL(run.result->iteration_s, seconds, 1e-9);
    ss_run_free(&run);
    ss_scenario_free(made);
    ss_request_free(&r);
    ss_validation_free(v);
}

/* A row that leaves recompute unknown takes its release's recipe; what it says itself beats that. */
static void test_recipe(void)
{
    static const char head[] =
        "id,platform,stack,gpu,nodes,model,precision,tp,pp,ep,micro_batch,global_batch,seq_length,"
        "recompute,optimizer,outcome,iteration_ms,num_experts,top_k,flags\n";
    static const char rows[] = "a,h100,megatron-bridge-26.04,H100-80GB,8,gpt-oss-120b,bf16,1,4,8,1,1280,4096,"
                               "unknown,distributed,ok,9,128,4,\n"
                               "b,h100,megatron-bridge-26.04,H100-80GB,8,gpt-oss-120b,bf16,1,4,8,1,1280,4096,"
                               "none,distributed,ok,9,128,4,\n"
                               "c,h100,megatron-bridge-26.04,H100-80GB,2,qwen3-30b-a3b,fp8,1,1,16,1,1024,"
                               "4096,unknown,distributed,ok,9,128,8,"
                               "--moe-flex-dispatcher-backend deepep\n";
    char text[1024];
    struct ss_notes notes = {0};
    struct ss_error err = {0};
    struct ss_job job[3];

    snprintf(text, sizeof text, "%s%s", head, rows);
    struct ss_table *t = parse(text, &notes);
    for (int i = 0; i < 3; i++) {
        ss_job_init(&job[i]);
        CU_ASSERT_EQUAL(ss_table_job(t, i, &job[i], &notes, &err), 0);
    }
    CU_ASSERT_EQUAL(job[0].recompute, SS_RECOMPUTE_SELECTIVE);
    CU_ASSERT_EQUAL(job[0].recompute_modules,
                    SS_MODULE_BIT(SS_MODULE_LAYERNORM) | SS_MODULE_BIT(SS_MODULE_MOE_ACT));
    CU_ASSERT_EQUAL(job[0].router_fusion, 1);
    CU_ASSERT_EQUAL(job[1].recompute, SS_RECOMPUTE_NONE);
    CU_ASSERT_EQUAL(job[1].router_fusion, 0);
    CU_ASSERT_EQUAL(job[2].dispatcher, SS_DISPATCH_DEEPEP);
    CU_ASSERT_EQUAL(job[2].router_fusion, 1);
    ss_notes_free(&notes);
    ss_table_free(t);
}

int main(void)
{
    CU_TestInfo tests[] = {{"recipes of releases", test_recipe},
                           {"row as job", test_job},
                           {"choices of a named model", test_named_choices},
                           {"sizes of a named model", test_named_sizes},
                           {"shape beats model", test_shape_beats_model},
                           {"flags", test_flags},
                           {"flags and shape", test_flags_and_shape},
                           {"places of words", test_places},
                           {"experts", test_experts},
                           {"flags that set", test_flags_set},
                           {"mistakes", test_mistakes},
                           {"outcomes", test_outcomes},
                           {"the stage that is logged", test_logged_stage},
                           {"mixtures", test_mixtures},
                           {"bounds of recompute", test_bounds},
                           {"unsupported", test_unsupported},
                           {"statistics", test_statistics},
                           {"json", test_json},
                           {"compare", test_compare},
                           {"svg", test_svg},
                           {"band", test_band},
                           {"band of memory", test_band_of_memory},
                           {"votes", test_band_votes},
                           {"coverage", test_coverage},
                           {"what ran fits", test_what_ran_fits},
                           {"notes are for people", test_notes},
                           {"same as job file", test_same_as_job_file},
                           CU_TEST_INFO_NULL};
    return suite_run("validate", NULL, NULL, tests);
}
