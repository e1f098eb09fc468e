/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of tables of measured runs as jobs. */
#include "import/table_internal.h"
#include "table_text.h"

TEST(job)
{
    struct ss_notes notes = {0};
    struct ss_table *t = table_parse(HEAD "a," JOB "ok,900,,ok,\n", &notes);
    struct ss_error err = {0};
    struct ss_asked asked;
    double ms;

    CU_ASSERT_EQUAL(notes.n, 0);
    CU_ASSERT_EQUAL_FATAL(ss_table_asked(t, 0, &asked, &notes, &err), 0);
    CU_ASSERT_STRING_EQUAL(asked.job.platform, "h800");
    CU_ASSERT_STRING_EQUAL(asked.job.model_ref, "llama3.1-8b");
    CU_ASSERT_EQUAL(asked.job.tp, 2);
    CU_ASSERT_EQUAL(asked.job.sequence_parallel, 1);
    CU_ASSERT_EQUAL(asked.job.dp.distributed_optimizer, 1);
    CU_ASSERT_EQUAL(asked.job.tp_comm_overlap, 0);
    CU_ASSERT_EQUAL(asked.job.gpus_per_node, 0);
    CU_ASSERT_EQUAL(ss_table_line(t, 0), 2);
    CU_ASSERT_STRING_EQUAL(ss_table_get(t, 0, "no such column"), "");
    CU_ASSERT_EQUAL(ss_table_number(t, 0, "memory_mib", 7, &ms, &err), 0);
    CU_ASSERT_EQUAL(ms, 7);
    ss_table_free(t);
    ss_notes_free(&notes);
}

/* A row that gives the whole shape of a model known by name: what its columns leave open is that model's. */
TEST(named_choices)
{
#define SHAPE_HEAD                                                                                           \
    "id,platform,nodes,model,num_layers,hidden_size,ffn_hidden_size,num_attention_heads,vocab_size,"         \
    "normalization,precision,micro_batch,global_batch,seq_length\n"
    struct ss_table *t =
        table_parse(SHAPE_HEAD "x,h800,1,qwen2.5-7b,4,1024,4096,16,32000,,bf16,1,8,2048\n"
                               "y,h800,1,qwen2.5-7b,4,1024,4096,16,32000,layernorm,bf16,1,8,2048\n"
                               "z,h800,1,qwen3-8b,4,1024,4096,16,32000,,bf16,1,8,2048\n",
                    NULL);
    for (int row = 0; row < 3; row++) {
        struct ss_notes notes = {0};
        struct ss_asked asked;
        CU_ASSERT_EQUAL_FATAL(ss_table_asked(t, row, &asked, &notes, NULL), 0);
        CU_ASSERT_EQUAL(asked.job.model.num_layers, 4);
        CU_ASSERT_EQUAL(asked.job.model.position, SS_POSITION_ROPE);
        CU_ASSERT_EQUAL(asked.job.model.normalization, row == 1 ? SS_NORM_LAYERNORM : SS_NORM_RMSNORM);
        CU_ASSERT_EQUAL(asked.job.model.gated_mlp, 1);
        CU_ASSERT_EQUAL(asked.job.model.qkv_bias == 1, row < 2);
        CU_ASSERT_EQUAL(asked.job.model.qk_norm == SS_QK_NORM_HEAD, row == 2);
        CU_ASSERT_EQUAL(asked.job.model.linear_bias, 0);
        CU_ASSERT_EQUAL(asked.job.model.tied_embeddings, 0);
        ss_notes_free(&notes);
    }
    ss_table_free(t);
}

/* A framework whose stack refines the one that its row names, by the kernels in its note, and layers that do not divide by its stages. */
TEST(refined_stack)
{
    static const struct {
        const char *framework, *stack, *note, *taken;
        int even;           /* the table does not split 10 layers over 4 stages */
        const char *layout; /* nodes and stages, NULL: 2,4 */
    } rows[] = {
        {"nanotron 0.5", "pytorch-2023", "RMS kernel", "nanotron-2025-checked", 0, NULL},
        {"nanotron 0.5", "pytorch-2023", "", "nanotron-2025", 0, "1,4"},
        {"nanotron 0.5", "pytorch-2023", "", "nanotron-2025", 1, "2,1"},
        {"Aleph Alpha 2023", "internevo-2023", "flash_attention2 + RMS kernel", "aleph-alpha-2023", 1, NULL},
        {"Aleph Alpha 2023", "internevo-2023", "", "aleph-alpha-2023", 1, NULL},
        {"Aleph Alpha 2023", "internevo-2023", "flash_attention2", "aleph-alpha-2023-unfused-norm", 1, NULL},
        {"Aleph Alpha 2023", "internevo-2023", "flash_attentionv1.0.8", "aleph-alpha-2023-flash-1", 1, NULL},
        {"Aleph Alpha 2023", "internevo-2023", "torch", "aleph-alpha-2023-torch", 1, NULL},
        {"Aleph Alpha 2023", "internevo-2023", "fused", "aleph-alpha-2023-unfused-norm", 1, NULL},
        {"Aleph Alpha 2023", "pytorch-2023", "torch", "pytorch-2023", 1, NULL},
        {"nanotron", "torchtitan-2024", "", "torchtitan-2024", 0, NULL},
        {"InternEvo", "internevo-2023", "torch", "internevo-2023", 1, NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[600];
        struct ss_notes notes = {0};
        struct ss_error err = {0};
        struct ss_asked asked;
        snprintf(text, sizeof text,
                 "id,framework,stack,num_layers,hidden_size,ffn_hidden_size,num_attention_heads,vocab_size,"
                 "gated_mlp,precision,platform,nodes,pp,tp,micro_batch,global_batch,seq_length,note\n"
                 "x,%s,%s,10,1024,4096,16,32000,true,bf16,a100,%s,1,1,16,2048,%s\n",
                 rows[i].framework, rows[i].stack, rows[i].layout ? rows[i].layout : "2,4", rows[i].note);
        struct ss_table *t = table_parse(text, NULL);
        CU_ASSERT_EQUAL_FATAL(ss_table_asked(t, 0, &asked, &notes, &err), 0);
        CU_ASSERT_STRING_EQUAL(asked.job.stack, rows[i].taken);
        CU_ASSERT_EQUAL(asked.job.layout.n == 0, rows[i].even); /* Et*3|t*3|t*2|t*2L */
        ss_table_free(t);
        ss_notes_free(&notes);
    }
}

/* Sizes that the columns leave open are those of the model of that name. */
TEST(named_sizes)
{
    struct ss_table *t =
        table_parse("id,platform,nodes,model,num_layers,hidden_size,num_attention_heads,vocab_"
                    "size,precision,micro_batch,global_batch,seq_length\n"
                    "x,h800,1,llama3.1-8b,4,4096,32,128256,bf16,1,8,2048\n",
                    NULL);
    struct ss_asked asked;

    CU_ASSERT_EQUAL_FATAL(ss_table_asked(t, 0, &asked, NULL, NULL), 0);
    CU_ASSERT_STRING_EQUAL(asked.job.model_ref, "llama3.1-8b");
    CU_ASSERT_EQUAL(asked.job.model.num_layers, 4);
    CU_ASSERT_EQUAL(asked.job.model.ffn_hidden_size, 0); /* the model's, when the job is finished */
    CU_ASSERT_EQUAL(asked.job.model.num_query_groups, 0);
    ss_table_free(t);
}

TEST(shape_beats_model)
{
    struct ss_table *t = table_parse(
        "id,platform,nodes,gpus_per_node,model,num_layers,hidden_size,ffn_hidden_size,"
        "num_attention_heads,num_query_groups,vocab_size,gated_mlp,tied_embeddings,position,"
        "normalization,precision,pp,micro_batch,global_batch,seq_length,recompute,note,color,flags\n"
        "x,a100,2,4,my-own,10,1024,4096,16,8,32000,true,false,rope,rmsnorm,fp8,4,1,8,2048,unknown,"
        "uneven: first 3 last 1; optimizer offloaded,red,"
        "--decoder-first-pipeline-num-layers 2 --decoder-last-pipeline-num-layers 2\n",
        NULL);
    struct ss_notes notes = {0};
    struct ss_asked asked;

    CU_ASSERT_EQUAL_FATAL(ss_table_asked(t, 0, &asked, &notes, NULL), 0);
    CU_ASSERT_STRING_EQUAL(asked.job.model_ref, "");
    CU_ASSERT_EQUAL(asked.job.model.num_query_groups, 8);
    CU_ASSERT_EQUAL(asked.job.model.gated_mlp, 1);
    CU_ASSERT_EQUAL(asked.job.model.tied_embeddings, 0);
    CU_ASSERT_EQUAL(asked.job.precision, SS_FP8);
    CU_ASSERT_EQUAL(asked.job.recompute.granularity, SS_RECOMPUTE_NONE);
    CU_ASSERT_EQUAL(asked.job.first_stage_layers, 2);
    CU_ASSERT_EQUAL(asked.job.last_stage_layers, 2);
    CU_ASSERT_EQUAL(asked.job.attention_dropout, 0);
    CU_ASSERT_EQUAL(asked.job.gpus_per_node, 4);
    CU_ASSERT(notes.n >= 1 &&
              strstr(notes.text[0], "recompute \"unknown\" is what workloads/recipes.csv has"));
    ss_table_free(t);
    ss_notes_free(&notes);
}

/* The column flags says what the columns cannot; a note says nothing. */
TEST(flags)
{
    struct ss_asked asked, plain;
    struct ss_notes notes = {0};
    struct ss_error err = {0};
    struct ss_table *t =
        table_parse(FULL_HEAD "a," JOB "ok,900,,ok,first 1 last 2 uneven; optimizer offloaded,,\n"
                              "b," JOB "ok,900,,ok,,,\n"
                              "c," JOB "ok,900,,ok,,,--swiglu --clip-grad 0 --attention-dropout 0.3 "
                              "--optimizer-cpu-offload --optimizer-offload-fraction 1\n"
                              "d," JOB "ok,900,,ok,,,\"--decoder-first-pipeline-num-layers\n  20 # of 32\"\n"
                              "e," JOB "ok,900,,ok,,,--tpp 2\n"
                              "f," JOB "ok,900,,ok,,,--tp 'x\n"
                              "g," JOB "ok,900,,ok,,,--n-hash-layers 8\n",
                    &notes);

    CU_ASSERT_EQUAL(notes.n, 0);
    CU_ASSERT_EQUAL_FATAL(ss_table_asked(t, 0, &asked, NULL, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_table_asked(t, 1, &plain, NULL, NULL), 0);
    CU_ASSERT_EQUAL(memcmp(&asked, &plain, sizeof asked), 0);
    CU_ASSERT_EQUAL_FATAL(ss_table_asked(t, 2, &asked, NULL, NULL), 0);
    CU_ASSERT_EQUAL(asked.job.model.gated_mlp, 1);
    CU_ASSERT_EQUAL(asked.job.optimizer.clip_grad, 0);
    CU_ASSERT_EQUAL(asked.job.attention_dropout, 0.3);
    CU_ASSERT_EQUAL(asked.job.offload.optimizer, 1);
    CU_ASSERT_EQUAL_FATAL(ss_table_asked(t, 3, &asked, NULL, NULL), 0);
    CU_ASSERT_EQUAL(asked.job.first_stage_layers, 20);
    for (int row = 4; row < 7; row++) {
        memset(&err, 0, sizeof err);
        CU_ASSERT_EQUAL(ss_table_asked(t, row, &asked, NULL, &err),
                        row == 6 ? SS_ERR_UNSUPPORTED : SS_ERR_INPUT);
        CU_ASSERT_EQUAL(asked.job.tp, row == 6 ? 2 : 1);
        CU_ASSERT_STRING_EQUAL(err.file, "t.csv");
        CU_ASSERT_EQUAL(err.line, ss_table_line(t, row));
        CU_ASSERT(row == 6 || strstr(err.message, "column flags: ") == err.message);
    }
    ss_table_free(t);
}

/* They may say what a shape of columns leaves open, and not what it says. */
TEST(flags_and_shape)
{
    struct ss_table *t = table_parse(
        "id,platform,nodes,model,num_layers,hidden_size,num_attention_heads,vocab_size,gated_mlp,"
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
    struct ss_asked asked;

    CU_ASSERT_EQUAL_FATAL(ss_table_asked(t, 0, &asked, NULL, NULL), 0);
    CU_ASSERT(asked.job.model.gated_mlp < 1 && asked.job.model.tied_embeddings != 0 &&
              asked.job.hidden_dropout == 0);
    CU_ASSERT_EQUAL_FATAL(ss_table_asked(t, 1, &asked, NULL, NULL), 0);
    CU_ASSERT(asked.job.model.gated_mlp == 1 && asked.job.model.tied_embeddings == 0 &&
              asked.job.hidden_dropout == 0.1);
    CU_ASSERT_EQUAL(asked.job.attention_dropout, 0);
    for (int row = 2; row < 6; row++) {
        CU_ASSERT_EQUAL(ss_table_asked(t, row, &asked, NULL, &err), SS_ERR_INPUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, columns[row - 2]));
    }
    ss_table_free(t);
}

/* Words stand in the file and line of their row; those of a flags field that has lines, in their own. */
TEST(places)
{
    struct ss_table *t =
        table_parse("id,platform,nodes,model,tp,micro_batch,global_batch,seq_length,recompute,flags\n"
                    "x,h800,1,llama3.1-8b,2,1,8,2048,unknown,\"--recompute-granularity selective\n"
                    "--rank-order tp-cp-ep-pp-dp\"\n",
                    NULL);
    struct ss_request r;
    struct ss_asked asked;
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
    CU_ASSERT_EQUAL_FATAL(ss_table_asked(t, 0, &asked, NULL, NULL), 0);
    CU_ASSERT_EQUAL(asked.job.tp, 2);
    CU_ASSERT_EQUAL(asked.job.recompute.granularity, SS_RECOMPUTE_SELECTIVE);
    CU_ASSERT_STRING_EQUAL(asked.job.rank_order, "tp-cp-ep-pp-dp");
    ss_table_free(t);
}

/* The width of a mixture's row is that of an expert; its dense layers have theirs in `flags`. */
TEST(experts)
{
    struct ss_table *t =
        table_parse("id,platform,nodes,num_layers,hidden_size,ffn_hidden_size,num_attention_heads,vocab_size,"
                    "num_experts,top_k,micro_batch,global_batch,seq_length,flags\n"
                    "x,h800,1,4,1024,512,16,32000,8,2,1,8,2048,--ffn-hidden-size 4096\n"
                    "y,h800,1,4,1024,512,16,32000,1,2,1,8,2048,\n",
                    NULL);
    struct ss_asked asked;

    CU_ASSERT_EQUAL_FATAL(ss_table_asked(t, 0, &asked, NULL, NULL), 0);
    CU_ASSERT_EQUAL(asked.job.model.num_experts, 8);
    CU_ASSERT_EQUAL(asked.job.model.top_k, 2);
    CU_ASSERT_EQUAL(asked.job.model.moe_ffn_hidden_size, 512);
    CU_ASSERT_EQUAL(asked.job.model.ffn_hidden_size, 4096);
    CU_ASSERT_EQUAL_FATAL(ss_table_asked(t, 1, &asked, NULL, NULL), 0);
    CU_ASSERT_EQUAL(asked.job.model.num_experts, 0);
    CU_ASSERT_EQUAL(asked.job.model.ffn_hidden_size, 512);
    ss_table_free(t);
}

TEST(mistakes)
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
        struct ss_asked asked;
        snprintf(text, sizeof text, HEAD "\n%s", rows[i].row);
        t = table_parse(text, NULL);
        CU_ASSERT_EQUAL(ss_table_asked(t, 0, &asked, NULL, &err), SS_ERR_INPUT);
        CU_ASSERT_STRING_EQUAL(err.file, "t.csv");
        CU_ASSERT_EQUAL(err.line, 3);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, rows[i].message));
        ss_table_free(t);
    }
    CU_ASSERT_EQUAL(ss_table_parse("id,nodes\n", 9, "t.csv", &t, NULL, &err), SS_ERR_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "platform"));
    t = table_parse(
        "id,platform,nodes,micro_batch,global_batch,seq_lenght,seq_length\nmine,h800,1,1,8,,4096\n", &notes);
    CU_ASSERT(notes.n == 1 && strstr(notes.text[0], "did you mean seq_length?"));
    ss_table_free(t);
    ss_notes_free(&notes);
}

/* A mixture's row: its name gives what no column can, a layout beats the columns of stages, and layers that do not divide are
 * split as evenly as can be. */
TEST(mixtures)
{
    static const char head[] =
        "id,platform,nodes,model,num_layers,hidden_size,ffn_hidden_size,num_attention_heads,vocab_size,"
        "gated_mlp,position,pp,ep,num_experts,top_k,layers_per_virtual_stage,micro_batch,global_batch,"
        "seq_length,recompute,flags\n";
    struct ss_table *t;
    struct ss_notes notes = {0};
    struct ss_asked asked;
    char text[2048];

    snprintf(text, sizeof text,
             "%suneven,h800,4,mine,61,1024,512,16,32000,true,rope,4,8,64,4,2,1,64,4096,none,\n"
             "nearly,h800,4,mine,63,1024,512,16,32000,true,rope,4,8,64,4,2,1,64,4096,none,\n"
             "told,h800,4,mine,8,1024,512,16,32000,true,rope,4,8,64,4,2,1,64,4096,none,"
             "--pipeline-model-parallel-layout Et*3|tt|tt|tL\n"
             "named,h800,4,qwen3-30b-a3b,48,2048,768,32,151936,true,rope,1,8,128,8,,1,64,4096,unknown,--mtp-"
             "num-layers 1\n",
             head);
    t = table_parse(text, NULL);
    CU_ASSERT_EQUAL_FATAL(ss_table_asked(t, 0, &asked, &notes, NULL), 0);
    CU_ASSERT(notes.n > 0 && strstr(notes.text[0], "split as evenly as can be"));
    CU_ASSERT_EQUAL(asked.job.layout.n, 32);
    CU_ASSERT_EQUAL(asked.job.layout.layers[28], 2);
    CU_ASSERT_EQUAL(asked.job.layout.layers[29], 1);
    CU_ASSERT_EQUAL(asked.job.layers_per_virtual_stage, 0);
    CU_ASSERT_EQUAL(asked.job.model.moe_ffn_hidden_size, 512);
    CU_ASSERT_EQUAL(asked.job.model.num_experts, 64);
    CU_ASSERT_EQUAL(asked.job.model.top_k, 4);
    CU_ASSERT_EQUAL(asked.job.ep, 8);
    /* 7.9 chunks of two layers on four ranks are 8, of which the last has one */
    CU_ASSERT_EQUAL_FATAL(ss_table_asked(t, 1, &asked, NULL, NULL), 0);
    CU_ASSERT_EQUAL(asked.job.layout.n, 32);
    CU_ASSERT(asked.job.layout.layers[30] == 2 && asked.job.layout.layers[31] == 1);
    CU_ASSERT_EQUAL_FATAL(ss_table_asked(t, 2, &asked, NULL, NULL), 0);
    CU_ASSERT_EQUAL(asked.job.layout.n, 4);
    CU_ASSERT_EQUAL(asked.job.layout.layers[0], 3);
    CU_ASSERT_EQUAL(asked.job.layers_per_virtual_stage, 0);
    CU_ASSERT_EQUAL_FATAL(ss_table_asked(t, 3, &asked, NULL, NULL), 0);
    CU_ASSERT_STRING_EQUAL(asked.job.model_ref, "qwen3-30b-a3b");
    CU_ASSERT_EQUAL(asked.job.model.mtp_num_layers, 1);
    ss_table_free(t);
    ss_notes_free(&notes);
}

/* A row of tensor ranks that does not say whether their collectives overlap takes its release's recipe. */
TEST(overlap_recipe)
{
    static const struct {
        const char *stack, *model, *precision, *tp, *says;
        int overlap;
    } rows[] = {{"megatron-bridge-26.04", "llama3-70b", "fp8", "4", "", 1},
                {"megatron-bridge-26.04", "llama3-70b", "fp8", "4", "false", 0},
                {"megatron-bridge-26.04", "llama3-70b", "nvfp4", "4", "", 0},
                {"megatron-bridge-26.04", "llama3-70b", "fp8", "1", "", 0},
                {"nemo-24.12", "llama2-70b", "fp8", "4", "", 1},
                {"megatron-lm-2025", "llama3-70b", "fp8", "4", "", 0}};
    struct ss_notes notes = {0};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1024];
        struct ss_asked asked;
        snprintf(
            text, sizeof text,
            "id,platform,stack,gpu,nodes,model,precision,tp,pp,micro_batch,global_batch,seq_length,recompute,"
            "sequence_parallel,tp_comm_overlap,optimizer,outcome,iteration_ms\n"
            "a,b200,%s,B200-180GB,8,%s,%s,%s,1,1,64,4096,none,true,%s,distributed,ok,9\n",
            rows[i].stack, rows[i].model, rows[i].precision, rows[i].tp, rows[i].says);
        struct ss_table *t = table_parse(text, &notes);
        CU_ASSERT_EQUAL_FATAL(ss_table_asked(t, 0, &asked, &notes, NULL), 0);
        CU_ASSERT_EQUAL(asked.job.tp_comm_overlap, rows[i].overlap);
        ss_table_free(t);
    }
    ss_notes_free(&notes);
}

/* So does a row that does not say whether data-parallel collectives overlap. */
TEST(gradients_recipe)
{
    static const struct {
        const char *stack, *says;
        int overlap;
    } rows[] = {{"mlperf-v4.1", "", 1},
                {"mlperf-v4.1", "false", 0},
                {"nemo-24.12", "", 0},
                {"nemo-24.12", "true", 1}};
    struct ss_notes notes = {0};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1024];
        struct ss_asked asked;
        snprintf(text, sizeof text,
                 "id,platform,stack,gpu,nodes,model,precision,tp,pp,micro_batch,global_batch,seq_length,"
                 "grad_param_overlap,optimizer,outcome,iteration_ms\n"
                 "a,h100,%s,H100-80GB,32,gpt3-175b,fp8,4,8,2,2048,2048,%s,%s,ok,9\n",
                 rows[i].stack, rows[i].says, i ? "distributed" : "");
        struct ss_table *t = table_parse(text, &notes);
        CU_ASSERT_EQUAL_FATAL(ss_table_asked(t, 0, &asked, &notes, NULL), 0);
        CU_ASSERT_EQUAL(asked.job.dp.overlap_grad_reduce, rows[i].overlap);
        CU_ASSERT_EQUAL(asked.job.dp.overlap_param_gather, rows[i].overlap);
        ss_table_free(t);
    }
    ss_notes_free(&notes);
}

/* No column says how many parameters a bucket has, or a fused kernel: that is the release's recipe, unless the row's flags say it. */
TEST(buckets_recipe)
{
    static const struct {
        const char *stack, *flags;
        double bucket;
    } rows[] = {{"mlperf-v6.0", "", 768e6},
                {"mlperf-v6.0", "--ddp-bucket-size 1000", 1000},
                {"megatron-bridge-26.04", "", 0}};
    struct ss_notes notes = {0};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1024];
        struct ss_asked asked;
        snprintf(
            text, sizeof text,
            "id,platform,stack,gpu,nodes,gpus_per_node,model,precision,tp,pp,cp,ep,micro_batch,"
            "global_batch,seq_length,recompute,tp_comm_overlap,grad_param_overlap,optimizer,outcome,"
            "iteration_ms,flags\n"
            "a,gb300,%s,GB300-288GB,18,4,gpt-oss-20b,mxfp8,1,1,2,4,1,36,8192,none,false,true,distributed,"
            "ok,9,%s\n",
            rows[i].stack, rows[i].flags);
        struct ss_table *t = table_parse(text, &notes);
        CU_ASSERT_EQUAL_FATAL(ss_table_asked(t, 0, &asked, &notes, NULL), 0);
        CU_ASSERT_EQUAL(asked.job.dp.bucket_size, rows[i].bucket);
        CU_ASSERT_EQUAL(asked.job.fused_qkv_rope, rows[i].bucket > 0);
        /* An empty vocab_size is the recipe's, too; the model's has 201,088. */
        CU_ASSERT_EQUAL(asked.job.model.vocab_size, rows[i].bucket > 0 ? 128256 : 0);
        CU_ASSERT_EQUAL(asked.job.dp.gradient_average,
                        rows[i].bucket > 0 ? SS_AVERAGE_PASS : SS_AVERAGE_OF_STACK);
        ss_table_free(t);
    }
    ss_notes_free(&notes);
}

/* A row that leaves recompute unknown takes its release's recipe; what it says itself beats that. */
TEST(recipe)
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
    struct ss_asked asked[3];

    snprintf(text, sizeof text, "%s%s", head, rows);
    struct ss_table *t = table_parse(text, &notes);
    for (int i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(ss_table_asked(t, i, &asked[i], &notes, &err), 0);

    CU_ASSERT_EQUAL(asked[0].job.recompute.granularity, SS_RECOMPUTE_SELECTIVE);
    CU_ASSERT_EQUAL(asked[0].job.recompute.modules,
                    SS_MODULE_BIT(SS_MODULE_LAYERNORM) | SS_MODULE_BIT(SS_MODULE_MOE_ACT));
    CU_ASSERT_EQUAL(asked[0].job.moe.router_fusion, 1);
    CU_ASSERT_EQUAL(asked[1].job.recompute.granularity, SS_RECOMPUTE_NONE);
    CU_ASSERT_EQUAL(asked[1].job.moe.router_fusion, 0);
    CU_ASSERT_EQUAL(asked[2].job.moe.dispatcher, SS_DISPATCH_DEEPEP);
    CU_ASSERT_EQUAL(asked[2].job.moe.router_fusion, 1);
    ss_notes_free(&notes);
    ss_table_free(t);
}
