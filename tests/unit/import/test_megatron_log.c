/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments in a log of Megatron-LM: the words that they stand for, their lines, and what is no log. */
#include "import/foreign.h"
#include "import_helper.h"
#include "suite.h"

#define ROW(name, value) "  " name " ................ " value "\n"
#define SHAPE                                                                                                \
    ROW("hidden_size", "64")                                                                                 \
    ROW("max_position_embeddings", "128")                                                                    \
    ROW("micro_batch_size", "2") ROW("num_attention_heads", "4") ROW("num_layers", "8")
/* What every full dump has: None, lists, types of PyTorch, truths that are off, and the defaults of other models and programs. */
#define DEFAULTS                                                                                             \
    ROW("classes_fraction", "1.0")                                                                           \
    ROW("cp_comm_type", "['p2p']")                                                                           \
    ROW("data_parallel_size", "4")                                                                           \
    ROW("encoder_tensor_model_parallel_size", "0")                                                           \
    ROW("group_query_attention", "False")                                                                    \
    ROW("main_grads_dtype", "torch.float32")                                                                 \
    ROW("num_experts", "None") ROW("num_query_groups", "1") ROW("split", "969, 30, 1")
#define REST ROW("tensor_model_parallel_size", "2") ROW("wandb_project", "") ROW("world_size", "8")
#define HEAD "------------------------ arguments ------------------------\n"
#define TAIL                                                                                                 \
    "-------------------- end of arguments ---------------------\n"                                          \
    " iteration 1/ 10 | seq_length ................ 4096 |\n"

#define WORDS                                                                                                \
    "--gpus 8 --hidden-size 64 --max-position-embeddings 128 --micro-batch-size 2 --num-attention-heads 4 "  \
    "--num-layers 8 --cp-comm-type p2p --split '969, 30, 1' --tensor-model-parallel-size 2"

TEST(rows)
{
    static const struct text_row rows[] = {
        {"using world size: 8\n" HEAD SHAPE DEFAULTS REST TAIL, WORDS},
        {SHAPE DEFAULTS REST, WORDS}, /* without head and tail */
        /* a prefix of the launcher; a long name has one point or none */
        {HEAD "[default0]:  seq_length ............. 128\r\n"
              "[default0]:  keep_fp8_transpose_cache_when_using_custom_fsdp . False\n" SHAPE REST TAIL,
         "--gpus 8 --seq-length 128 --hidden-size 64 --max-position-embeddings 128 --micro-batch-size 2 "
         "--num-attention-heads 4 --num-layers 8 --tensor-model-parallel-size 2"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_text(&rows[i], "train.log");
}

TEST(refused)
{
    static const struct refused_row rows[] = {
        {HEAD SHAPE ROW("deepspeed", "True") REST TAIL, SS_ERR_UNSUPPORTED, 7, "ZeRO"},
        {HEAD SHAPE ROW("encoder_tensor_model_parallel_size", "2") REST TAIL, SS_ERR_UNSUPPORTED, 7,
         "encoder"},
        {HEAD ROW("model_parallel_size", "2") TAIL, SS_ERR_INPUT, 1, "a kind that is not known"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_refused(&rows[i], "train.log");
}

/* Two points are a folder. */
TEST(no_log)
{
    static const char text[] = "cd .. && torchrun pretrain_gpt.py --num-layers 8\n";

    CU_ASSERT_EQUAL(ss_megatron_log_sniff(text, sizeof text - 1), 0);
}
