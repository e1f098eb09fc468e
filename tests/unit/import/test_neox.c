/* SPDX-License-Identifier: Apache-2.0 */
/* GPT-NeoX: the words that its files stand for, alone and merged, and what is refused. */
#include "base/base.h"
#include "import_helper.h"
#include "suite.h"

#define MODEL                                                                                                \
    "--num-layers 24 --hidden-size 4096 --num-attention-heads 32 --num-query-groups 8 --seq 2048 "           \
    "--max-position-embeddings 2048 --swiglu --ffn-hidden-size 5632 --normalization RMSNorm "                \
    "--use-rotary-position-embeddings --rotary-percent 0.25 --untie-embeddings-and-output-weights "          \
    "--parallel-residual two-norms --disable-bias-linear --use-flash-attn --make-vocab-size-divisible-by 1"
#define TRAINING                                                                                             \
    "--pp 2 --tp 4 --sequence-parallel --stack megatron-deepspeed-2022 "                                     \
    "--use-distributed-optimizer --overlap-grad-reduce --set ss.zero.bucket_params=1260000000 --mbs 4 "      \
    "--gradient-accumulation-steps 16 --bf16 --accumulate-allreduce-grads-in-fp32 "                          \
    "--checkpoint-activations --checkpoint-num-layers 1 "
#define REST " --hidden-dropout 0 --attention-dropout 0"

TEST(files)
{
    static const struct import_row rows[] = {
        {"neox/configs/model.yml", TRAINING MODEL " --vocab-size 50257" REST,
         "what recompute keeps is whole"},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++)
        check_import(&rows[i]);
}

/* Words of each file are in a place of their own: those of the model first, then what only the command and defaults say. */
TEST(command)
{
    static const struct import_row row = {
        "neox/run.txt",
        "--nodes 2 --gpus-per-node 8 --pp 2 --tp 4 --sequence-parallel --use-distributed-optimizer "
        "--overlap-grad-reduce --set ss.zero.bucket_params=1260000000 --mbs 4 --gradient-accumulation-steps "
        "16 --bf16 --accumulate-allreduce-grads-in-fp32 --checkpoint-activations --checkpoint-num-layers "
        "1 " MODEL
        " --stack megatron-deepspeed-2022 --hidden-dropout 0 --attention-dropout 0 --vocab-size 50277",
        "GPT-NeoX's own, of 50277 tokens"};

    check_import(&row);
}

#define SHAPE                                                                                                \
    "num-layers: 2\nhidden-size: 64\nnum-attention-heads: 4\npipe-parallel-size: 1\n"                        \
    "train_micro_batch_size_per_gpu: 2\n" /* 5 lines */
#define SHAPED(stage, precision, ffn, more)                                                                  \
    "--stack megatron-deepspeed-2022 " stage "--mbs 2 " precision                                            \
    " --num-layers 2 --hidden-size 64 --num-attention-heads 4 " ffn " " more "--vocab-size 50257" REST

/* Widths by hand: 4 x 64; of two thirds of 96 a half; of 100 an even number of 48s; 2.5 x 64. */
TEST(texts)
{
    static const struct text_row rows[] = {
        {SHAPE, SHAPED("", "--precision fp32", "--ffn-hidden-size 256", "")},
        {SHAPE "intermediate_size: 96\nactivation: geglu\nprecision: fp16\n",
         SHAPED("", "--fp16", "--swiglu --ffn-hidden-size 32", "")},
        {SHAPE "intermediate-size: 100\nmlp_multiple_of: 48\nprecision: bfloat16\n",
         SHAPED("", "--bf16", "--ffn-hidden-size 192", "")},
        {SHAPE "expansion_factor: 2.5\nzero_optimization: {stage: 3}\nfp16: {fp16: true, enabled: true}\n",
         SHAPED("--fsdp full ", "--fp16", "--ffn-hidden-size 160", "")},
        {SHAPE "attention_config: [[[flash, flash], 1]]\nsliding_window_width: 32\ngpt_j_residual: true\n"
               "gpt_j_tied: true\n",
         SHAPED("", "--precision fp32", "--ffn-hidden-size 256",
                "--parallel-residual one-norm --use-flash-attn --window-size 32,0 ")},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++)
        check_text(&rows[i], "job.yml");
}

TEST(refused)
{
    static const struct refused_row rows[] = {
        {SHAPE "attention_config: [[[mamba], 2]]\n", SS_ERR_UNSUPPORTED, 6, "the attention \"mamba\""},
        {SHAPE "attention_config: [[[flash, global], 1]]\n", SS_ERR_UNSUPPORTED, 6, "two kinds of attention"},
        {SHAPE "attention_config: flash\n", SS_ERR_INPUT, 6, "is asked"},
        {SHAPE "moe_num_experts: 8\n", SS_ERR_UNSUPPORTED, 6, "mixtures of experts"},
        {SHAPE "te_mha: true\n", SS_ERR_UNSUPPORTED, 6, "Transformer Engine"},
        {SHAPE "train_impl: dpo\n", SS_ERR_UNSUPPORTED, 6, "second model"},
        {SHAPE "pipe_partition_method: parameters\n", SS_ERR_UNSUPPORTED, 6, "stages by \"parameters\""},
        {SHAPE "precision: fp8\n", SS_ERR_INPUT, 6, "no precision"},
        {SHAPE "precision: fp16\nbf16: {enabled: true}\n", SS_ERR_CONFIG, 7, "refuses it beside \"fp16\""},
        {SHAPE "intermediate_size: 96\nexpansion_factor: 2\n", SS_ERR_CONFIG, 7, "beside intermediate_size"},
        {SHAPE "expansion_factor: -1\n", SS_ERR_INPUT, 6, "no factor"},
        {SHAPE "num_layers: 3\n", SS_ERR_INPUT, 6, "line 1 has it already"},
        {SHAPE "zero_optimization: {stage: 1, overlap_com: true}\n", SS_ERR_INPUT, 6, "no such key"},
        {SHAPE "hiden_dropout: 0\n", SS_ERR_INPUT, 6, "no such key"},
        {SHAPE "train_batch_size: 7\n", SS_ERR_CONFIG, 6, "7 is no multiple of 2 x 1"},
        {SHAPE "optimizer: {type: Lion}\n", SS_ERR_UNSUPPORTED, 6, "the optimizer Lion"},
        {"{\n \"pipe_parallel_size\": 1,\n \"num_layers\": two\n}", SS_ERR_INPUT, 3, "whole number"},
    };
    static const struct refused_row commands[] = {
        {"python deepy.py train.py\n", SS_ERR_INPUT, 1, "no configuration file"},
        {"python deepy.py \\\n train.py \\\n none.yml\n", SS_ERR_IO, 3, "none.yml"},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++)
        check_refused(&rows[i], "job.yml");
    for (size_t i = 0; i < SS_ARRAY_LEN(commands); i++)
        check_refused(&commands[i], "job.cmd");
}
