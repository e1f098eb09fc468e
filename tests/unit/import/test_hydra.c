/* SPDX-License-Identifier: Apache-2.0 */
/* What importers of configurations share: Hydra, commands that name a file. */

#include "base/base.h"
#include "import/foreign.h"
#include "import/hydra.h"
#include "import/table_internal.h"
#include "suite.h"

/* ---- Hydra ---- */

static const char base[] = "a: {b: 1, c: [x, y], d: '${.b}', e: '${multiply:${a.b},8}'}\n"
                           "f: ${sum:${multiply:3,4},-1}\ng: ${nowhere}\nh: ${h}\ni: ${oc.env:HOME,here}\n"
                           "j: ${a.c}\nk: n-${a.b}-${a.c[1]}\nl: {m: {n: '${...a.b}'}}\n"
                           "o: ${divide_ceil:7,2}\n";

static void has(const struct ss_tree *tree, const char *path, const char *text)
{
    const struct ss_tree_node *node = ss_tree_find(ss_tree_root(tree), path);
    if (!ss_tree_is(node, text))
        printf("\n  %s: '%s' instead of '%s'\n", path, node && node->text ? node->text : "-", text);
    CU_ASSERT(ss_tree_is(node, text));
}

TEST(overrides_and_interpolations)
{
    static const char *const words[] = {"a.b=2",  "+a.new.x=[1,2]", "++a.b=4",
                                        "~a.c.0", "++q='null'",     "k.z=${a.b}"};
    static const char *const not [] = {"--a=b", "=b", "a", "1a=b", "a b=c", "-x=1", "~"};
    struct ss_tree *tree;
    struct ss_error err = {0};

    CU_ASSERT_EQUAL_FATAL(ss_tree_parse(base, strlen(base), "t.yaml", &tree, NULL), SS_OK);
    for (size_t i = 0; i < SS_ARRAY_LEN(words); i++) {
        CU_ASSERT(ss_hydra_is_override(words[i]));
        CU_ASSERT_EQUAL(ss_hydra_override(tree, words[i], "job.sh", 7, i == 5, &err), SS_OK);
    }
    for (size_t i = 0; i < SS_ARRAY_LEN(not ); i++)
        CU_ASSERT_FALSE(ss_hydra_is_override(not [i]));
    CU_ASSERT_EQUAL(ss_hydra_override(tree, "a.none=1", "job.sh", 9, false, &err), SS_ERR_INPUT);
    CU_ASSERT(err.line == 9 && !strcmp(err.file, "job.sh") && strstr(err.message, "has no such name"));
    CU_ASSERT_EQUAL(ss_hydra_override(tree, "+a.b=1", NULL, 0, false, &err), SS_ERR_USAGE);
    CU_ASSERT(strstr(err.message, "is there already") && !err.file[0]);
    CU_ASSERT_EQUAL(ss_hydra_override(tree, "~a.none", NULL, 0, false, &err), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_hydra_override(tree, "a.b=[1", "job.sh", 3, false, &err), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(ss_hydra_override(tree, "+a.b=4", NULL, 0, true, &err), SS_OK);
    CU_ASSERT_EQUAL(ss_hydra_resolve(tree, &err), SS_OK);
    has(tree, "a.b", "4");
    has(tree, "a.c.0", "y"); /* the first item was taken out */
    has(tree, "a.d", "4");
    has(tree, "a.e", "32");
    has(tree, "a.new.x.1", "2");
    has(tree, "f", "11");
    has(tree, "g", "${nowhere}");
    has(tree, "h", "${h}");
    has(tree, "i", "here"); /* the environment of this program is not the job's */
    has(tree, "j.0", "y");
    has(tree, "k.z", "4");
    has(tree, "l.m.n", "4");
    has(tree, "o", "4");
    CU_ASSERT_FALSE(ss_tree_is_null(ss_tree_find(ss_tree_root(tree), "q")));
    const struct ss_tree_node *b = ss_tree_find(ss_tree_root(tree), "a.b");
    CU_ASSERT(b->line == 0 && !strcmp(b->file, ""));
    CU_ASSERT_EQUAL(ss_tree_find(ss_tree_root(tree), "a.new.x")->line, 7);
    ss_tree_free(tree);
}

/* A text in which each name stands for two of the next: it may not take 2^40 steps, nor bytes. */
TEST(doubling_ends)
{
    char text[2048] = "", *at = text;
    struct ss_tree *tree;

    for (int i = 0; i < 40; i++)
        at += sprintf(at, "n%d: ${n%d}${n%d}\n", i, i + 1, i + 1);
    sprintf(at, "n40: x\n");
    CU_ASSERT_EQUAL_FATAL(ss_tree_parse(text, strlen(text), "t.yaml", &tree, NULL), SS_OK);
    CU_ASSERT_EQUAL(ss_hydra_resolve(tree, NULL), SS_OK);
    has(tree, "n38", "xxxx");
    has(tree, "n0", "${n1}${n1}");
    ss_tree_free(tree);
}

/* ---- a command that names a configuration ---- */

/* The words of ../launch's NeMo script behind the name of its program, of which the base is said by `path`. */
static int read_script(struct ss_request *r, const char *path, struct ss_error *err)
{
    const char *const argv[] = {
        path,
        "--config-name=megatron_llama_config-13b",
        "trainer.devices=8",
        "trainer.num_nodes=1",
        "trainer.precision=bf16-mixed",
        "model.micro_batch_size=1",
        "model.global_batch_size=1",
        "model.tensor_model_parallel_size=2",
        "model.pipeline_model_parallel_size=1",
        "+model.context_parallel_size=4",
        "model.sequence_parallel=True",
        "model.optim.name=distributed_fused_adam",
        "model.transformer_engine=True",
        "++model.use_flash_attention=True",
        "model.megatron_amp_O2=True",
        "+model.rampup_batch_size=null",
        "model.encoder_seq_length=16384",
    };

    ss_request_init(r);
    return ss_request_read(r, SS_ARRAY_LEN(argv), (char **)argv, err);
}

TEST(shipped_base)
{
    struct ss_request r;
    char text[2048];

    CU_ASSERT_EQUAL_FATAL(read_script(&r, "--config-path=/nowhere/conf", NULL), SS_OK);
    /* first what the base says, then what the command does, which beats it */
    CU_ASSERT_STRING_EQUAL(
        ss_request_text(&r, 0, text, sizeof text),
        "--vocab-size 32000 --stack nemo-24.03 --clip-grad 1.0 --max-position-embeddings 16384 --num-layers "
        "40 "
        "--hidden-size 5120 --ffn-hidden-size 13824 --num-attention-heads 40 --num-query-groups 40 "
        "--hidden-dropout 0.0 --attention-dropout 0.0 --normalization RMSNorm --disable-bias-linear --swiglu "
        "--position-embedding-type rope --untie-embeddings-and-output-weights --make-vocab-size-divisible-by "
        "128 --nodes 1 --gpus-per-node 8 --bf16 --micro-batch-size 1 --global-batch-size 1 "
        "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 1 --context-parallel-size 4 "
        "--sequence-parallel --seq-length 16384 --set ss.default.fp32_params=0 "
        "--use-distributed-optimizer");
    CU_ASSERT_EQUAL_FATAL(r.nplaces, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.place[0].file, "workloads/nemo/megatron_llama_config.yaml"));
    CU_ASSERT_PTR_NULL(r.place[1].file);
    CU_ASSERT_STRING_EQUAL(r.notes.text[0],
                           "megatron_llama_config-13b.yaml is not at hand: its base is assumed to be "
                           "NVIDIA/NeMo@d2283e3620:examples/nlp/language_modeling/conf/"
                           "megatron_llama_config.yaml, with the shape of 13b");
    ss_request_free(&r);
}

/* What the overrides become stands behind the command's own flags, in one place with them, and beats them there. */
TEST(flags_beside_overrides)
{
    const char *const argv[] = {"--config-path=/nowhere/conf", "--config-name=megatron_llama_config-13b",
                                "model.micro_batch_size=2", "--micro-batch-size", "4"};
    struct ss_request r;
    char text[2048];

    ss_request_init(&r);
    CU_ASSERT_EQUAL_FATAL(ss_request_read(&r, SS_ARRAY_LEN(argv), (char **)argv, NULL), SS_OK);
    CU_ASSERT_EQUAL_FATAL(r.nplaces, 2);
    CU_ASSERT_PTR_NULL(r.place[1].file);
    CU_ASSERT_STRING_EQUAL(ss_request_text(&r, r.n - 4, text, sizeof text),
                           "--micro-batch-size 4 --micro-batch-size 2");
    CU_ASSERT_EQUAL(r.word[r.n - 4].place, 1);
    ss_request_free(&r);
}

/* With the base that its table's row tells, the script is that row. */
TEST(script_is_its_row)
{
    struct ss_request r;
    struct ss_table *table;
    struct ss_asked asked, row;
    int i = 0;

    CU_ASSERT_EQUAL_FATAL(read_script(&r, "--config-path=" SS_SOURCE_DIR "/tests/launch/nemo", NULL), SS_OK);
    ss_asked_init(&asked);
    CU_ASSERT_EQUAL_FATAL(ss_asked_parse(&asked, &r, NULL, NULL, NULL), SS_OK);
    CU_ASSERT_EQUAL_FATAL(ss_table_load("runs", &table, NULL, NULL), SS_OK);
    while (strcmp(ss_table_get(table, i, "id"), "nemo-16") != 0)
        i++;
    CU_ASSERT_EQUAL_FATAL(ss_table_asked(table, i, &row, NULL, NULL), SS_OK);
#define SAME(field) CU_ASSERT(asked.job.field == row.job.field)
    SAME(nodes);
    SAME(gpus_per_node);
    SAME(tp);
    SAME(pp);
    SAME(cp);
    SAME(micro_batch);
    SAME(global_batch);
    SAME(seq_length);
    SAME(precision);
    SAME(recompute.granularity);
    SAME(recompute.num_layers);
    SAME(sequence_parallel);
    SAME(dp.distributed_optimizer);
    SAME(dp.fsdp);
    SAME(tp_comm_overlap);
    SAME(dp.overlap_grad_reduce);
    SAME(dp.overlap_param_gather);
    SAME(model.num_layers);
    SAME(model.hidden_size);
    SAME(model.ffn_hidden_size);
    SAME(model.num_attention_heads);
    SAME(model.num_query_groups);
    CU_ASSERT(asked.padded_vocab);
    SAME(model.vocab_size);
    SAME(model.normalization);
    SAME(model.position);
    SAME(model.gated_mlp);
    SAME(model.tied_embeddings);
    CU_ASSERT_STRING_EQUAL(asked.job.stack, row.job.stack);
    ss_table_free(table);
    ss_request_free(&r);
}

TEST(sniff)
{
    static const char *const yes[] = {"trainer:\n", "# x\n\n---\na: 1", "\"a\": 1", "a_b.c-d: 1"};
    static const char *const no[] = {"--tp 4", "torchrun x.py",   "a:b",        "",
                                     "# only", "A=1 python x.py", "{\"a\": 2}", "https://x"};
    for (size_t i = 0; i < SS_ARRAY_LEN(yes); i++)
        CU_ASSERT(ss_foreign_sniff(yes[i], strlen(yes[i])));
    for (size_t i = 0; i < SS_ARRAY_LEN(no); i++)
        CU_ASSERT_FALSE(ss_foreign_sniff(no[i], strlen(no[i])));
}
