/* SPDX-License-Identifier: Apache-2.0 */
/* Axolotl, TRL, LLaMA-Factory v1 and nanotron: the words that their files and commands stand for, and what is refused. */
#include "base/base.h"
#include "import_helper.h"
#include "suite.h"

#define OWN                                                                                                  \
    "--set ss.fused.linear_cross_entropy=0 --set ss.fused.inplace_activation=0 --set "                       \
    "ss.fused.cross_entropy=0 "                                                                              \
    "--set ss.loss.peak_bytes=14 --set ss.fused.elementwise=0"
#define LIGER                                                                                                \
    "--set ss.fused.linear_cross_entropy=1 --set ss.fused.inplace_activation=1 "                             \
    "--set ss.fused.elementwise=0"
/* "auto" buckets are the model's width squared */
#define ZERO3(bucket, live)                                                                                  \
    "--fsdp full --set ss.zero.bucket_params=" bucket " --set ss.zero.live_params=" live
#define LLAMA "--model Llama-3.1-8B --vocab-size 128256 --make-vocab-size-divisible-by 1 --seq 4096 "
#define QWEN8 "--model Qwen3-8B --make-vocab-size-divisible-by 1 "
#define QWEN4 "--model Qwen3-4B --make-vocab-size-divisible-by 1 "

static void check_all(const struct import_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check_import(&rows[i]);
}

/* The words of each file stand together, in the order in which the files say something first. */
TEST(axolotl)
{
    static const struct import_row rows[] = {
        {"axolotl/full.yaml",
         "--cp-comm-type p2p --stack accelerate-2026 --fsdp full --tp 2 --cp 2 " QWEN8
         "--seq 8192 --mbs 1 --gradient-accumulation-steps 4 --bf16 --recompute full --attention-backend "
         "flash " LIGER,
         "those that sample_packing keeps apart"},
        {"axolotl/zero.yaml",
         "--stack deepspeed-2026 " LLAMA "--mbs 2 --bf16 --recompute full --attention-backend "
         "auto " OWN " --clip-grad 0 " ZERO3("16777216", "0"),
         "what is published under its name"},
        {"axolotl/run.txt",
         "--nodes 1 --gpus-per-node 4 --stack deepspeed-2026 --mbs 4 " OWN " " ZERO3(
             "16777216", "0") " " LLAMA "--bf16 --recompute full --attention-backend auto --clip-grad 0",
         NULL},
        {"axolotl/launch.txt",
         "--nodes 2 --gpus-per-node 8 --stack deepspeed-2026 " OWN
         " " ZERO3("16777216", "0") " " LLAMA
                                    "--mbs 2 --bf16 --recompute full --attention-backend auto --clip-grad 0",
         NULL},
    };

    check_all(rows, SS_ARRAY_LEN(rows));
}

TEST(factory_v1)
{
    static const struct import_row rows[] = {
        {"llamafactory-v1/fsdp2.yaml",
         "--gbs 32 --stack accelerate-2026 --fsdp full " QWEN4 "--seq 4096 --mbs 2 --bf16 "
         "--recompute full --attention-backend flash " LIGER,
         "LLaMA-Factory v1's default (gradient_checkpointing)"},
        {"llamafactory-v1/deepspeed.yaml",
         "--stack deepspeed-2026 " QWEN4 "--seq 2048 --mbs 1 --recompute none "
         "--attention-backend auto " OWN " " ZERO3("6553600", "1000000000") " --bf16",
         "what is published under its name"},
        {"llamafactory-v1/run.txt",
         "--nodes 1 --stack deepspeed-2026 --seq 2048 --mbs 4 --attention-backend auto " OWN
         " " ZERO3("6553600", "1000000000") " --bf16 " QWEN4 "--recompute none",
         "on one node, the machine that it is typed on"},
    };

    check_all(rows, SS_ARRAY_LEN(rows));
}

TEST(trl)
{
    static const struct import_row rows[] = {
        {"trl/sft.yaml",
         "--nodes 1 --gpus-per-node 8 --fsdp full --bf16 --stack deepspeed-2026 " QWEN8 "--seq 4096 --mbs 2 "
         "--gradient-accumulation-steps 8 --recompute full --attention-backend flash " OWN,
         "TRL's default (gradient_checkpointing)"},
        {"trl/run.txt",
         "--nodes 1 --fsdp full --bf16 --gpus-per-node 4 --stack deepspeed-2026 --recompute none " OWN
         " " QWEN8 "--seq 4096 --mbs 2 --gradient-accumulation-steps 8 --attention-backend flash",
         "what is published under its name"},
        {"trl/bare.txt",
         "--stack accelerate-2026 --overlap-grad-reduce " QWEN8 "--seq 1024 --mbs 1 --bf16 --set "
         "ss.default.fp32_params=1 --recompute full --attention-backend auto " OWN " --nodes 1",
         "on one node, the machine that it is typed on"},
    };

    check_all(rows, SS_ARRAY_LEN(rows));
}

/* Stages of the second are those that the published runs of this model say; 4 x 2048^2 + 3 x 2048 x 8192 of a layer are a quarter of
 * the output layer's 2048 x 131072, so that a stage ends behind the layer that passes a quarter of 20. */
TEST(nanotron)
{
#define MODEL(mode)                                                                                          \
    "--tp 2 --pp 4 --pipeline-model-parallel-layout 'Et*6|t*5|t*5|L' " mode "--seq 4096 --mbs 1 "            \
    "--gradient-accumulation-steps 256 --bf16 --make-vocab-size-divisible-by 1 --num-layers 16 "             \
    "--hidden-size 2048 --ffn-hidden-size 8192 --num-attention-heads 32 --num-query-groups 32 "              \
    "--max-position-embeddings 4096 --vocab-size 131072 --swiglu --normalization RMSNorm "                   \
    "--use-rotary-position-embeddings --disable-bias-linear --attention-backend flash "                      \
    "--overlap-grad-reduce --accumulate-allreduce-grads-in-fp32"
    static const struct import_row rows[] = {
        {"nanotron/llama.yaml", "--stack nanotron-2025 --gpus 8 " MODEL("--sequence-parallel "), NULL},
        {"nanotron/run.txt",
         "--nodes 2 --gpus-per-node 4 --stack nanotron-2025 " MODEL("--sequence-parallel "), NULL},
    };

    check_all(rows, SS_ARRAY_LEN(rows));
}

#define NANO                                                                                                 \
    "parallelism: {dp: 2, pp: 2, tp: 1}\ntokens: {micro_batch_size: 1, sequence_length: 128}\n"              \
    "model:\n  model_config: {num_hidden_layers: 3, hidden_size: 64, intermediate_size: 64,\n    "           \
    "num_attention_heads: 4, vocab_size: 64"
#define NANOED(layout, more, end)                                                                            \
    "--stack nanotron-2025 --gpus 4 --tp 1 --pp 2 --schedule gpipe "                                         \
    "--pipeline-model-parallel-layout " layout                                                               \
    " --seq 128 --mbs 1 --bf16 --make-vocab-size-divisible-by 1 --num-layers 3 --hidden-size 64 "            \
    "--ffn-hidden-size 64 --num-attention-heads 4 --max-position-embeddings 2048 --vocab-size 64 --swiglu "  \
    "--normalization RMSNorm --use-rotary-position-embeddings --disable-bias-linear " more                   \
    "--untie-embeddings-and-output-weights --attention-backend flash " end

/* A layer of 4 x 64^2 + 3 x 64^2 is seven output layers of 64^2: of 22 the second layer passes 11. */
TEST(nanotron_texts)
{
    static const struct text_row rows[] = {
        {NANO "}\n", NANOED("'Et*2|t*1L'", "", "--overlap-grad-reduce --set ss.optimizer.model_type=1")},
        {NANO ", attention_bias: true, sliding_window_size: 32}\noptimizer: {zero_stage: 1, "
              "accumulate_grad_in_fp32: true}\n",
         NANOED("'Et*2|t*1L'", "--add-qkv-bias ",
                "--window-size 32,0 --use-distributed-optimizer --overlap-grad-reduce "
                "--accumulate-allreduce-grads-in-fp32")},
    };
    static const struct refused_row refused[] = {
        {NANO ", is_mamba_config: true}\n", SS_ERR_UNSUPPORTED, 5, "Mamba"},
        {NANO ", moe_config: {num_experts: 8}}\n", SS_ERR_UNSUPPORTED, 5, "mixtures of experts"},
        {NANO ", hidden_dim: 1}\n", SS_ERR_INPUT, 5, "no such key"},
        {NANO "}\noptimizer: {zero_stage: 3}\n", SS_ERR_UNSUPPORTED, 6, "0 or 1"},
        {"parallelism: {dp: 1, pp: 4, tp: 1}\ntokens: {micro_batch_size: 1}\nmodel:\n  model_config: "
         "{num_hidden_layers: 4, hidden_size: 64, vocab_size: 1000000}\n",
         SS_ERR_UNSUPPORTED, 1, "stages without layers"},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++)
        check_text(&rows[i], "job.yaml");
    for (size_t i = 0; i < SS_ARRAY_LEN(refused); i++)
        check_refused(&refused[i], "job.yaml");
}

TEST(refused)
{
    static const struct refused_row rows[] = {
        {"base_model: a\nadapter: qlora\n", SS_ERR_UNSUPPORTED, 2, "LoRA"},
        {"base_model: a\noptimizer: adamw_bnb_8bit\nadapter: lora\n", SS_ERR_UNSUPPORTED, 3, "LoRA"},
        {"base_model: a\nrl: dpo\n", SS_ERR_UNSUPPORTED, 2, "preferences"},
        {"base_model: a\nsequence_lem: 8\n", SS_ERR_INPUT, 2, "no such key"},
        {"base_model: a\nfsdp_config:\n  offload_param: true\n", SS_ERR_INPUT, 3, "no such key"},
        {"base_model: a\nfsdp_config:\n  offload_params: true\n", SS_ERR_UNSUPPORTED, 3, "on the host"},
        {"base_model: a\nfsdp: [full_shard, offload]\n", SS_ERR_UNSUPPORTED, 2, "on the host"},
        {"base_model: a\ngradient_checkpointing: offload\n", SS_ERR_UNSUPPORTED, 2, "on the host"},
        {"base_model: a\ndeepspeed: mine.json\n", SS_ERR_IO, 2, "mine.json"},
        {"base_model: a\nliger_fused_linear_cross_entropy: true\ncut_cross_entropy: true\n", SS_ERR_INPUT, 3,
         "says it, too"},
        {"model: a\npeft_config: {name: lora}\ntrain_dataset: b\n", SS_ERR_UNSUPPORTED, 2, "LoRA"},
        {"model: a\ndist_config: {name: fsdpturbo}\n", SS_ERR_UNSUPPORTED, 2, "fsdp2 or deepspeed"},
        {"model: a\ntrain_dataset: b\nmicro_batch_sizes: 2\n", SS_ERR_INPUT, 3, "no such key"},
        {"model: a\ntrain_dataset: b\noptim_config: {name: muon}\n", SS_ERR_UNSUPPORTED, 3, "AdamW"},
        {"trl sft --model_name_or_path x --use_peft\n", SS_ERR_UNSUPPORTED, 1, "LoRA"},
        {"trl sft --model_name_or_path x --accelerate_config none\n", SS_ERR_IO, 1, "one of trl's own"},
        {"trl dpo --model_name_or_path x\n", SS_ERR_UNSUPPORTED, 1, "sft"},
        {"tune run full_finetune_distributed --config a.yaml\n", SS_ERR_UNSUPPORTED, 1, "torchtune"},
        {"litgpt pretrain pythia-160m\n", SS_ERR_UNSUPPORTED, 1, "LitGPT"},
        {"xtuner train a.py --deepspeed deepspeed_zero2\n", SS_ERR_UNSUPPORTED, 1, "XTuner"},
        {"colossalai run --nproc_per_node 8 train.py --plugin gemini\n", SS_ERR_UNSUPPORTED, 1,
         "Colossal-AI"},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++)
        check_refused(&rows[i], "job.yaml");
}

/* 8/3 of 1024 is 2730, 1.3 times that 3549, of which 3584 is the next multiple of 512. */
TEST(flagscale)
{
    static const struct import_row rows[] = {
        {"flagscale/small.yaml",
         "--schedule dualpipev --hidden-size 1024 --ffn-hidden-size 3584 --bf16 --tensor-model-parallel-size "
         "2 "
         "--pipeline-model-parallel-size 2 --sequence-parallel --use-distributed-optimizer --num-layers 8 "
         "--num-attention-heads 16 --swiglu "
         "--seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 32 "
         "--train-iters 1000 --optimizer adam "
         "--weight-decay 0.1 --lr 1.0e-4 --min-lr 1.0e-5 --tokenizer-type QwenTokenizerFS --vocab-size 32000 "
         "--data-path '${data}' --split 1",
         "data.tokenizer.colour (line 44)"},
    };

    check_all(rows, SS_ARRAY_LEN(rows));
}
