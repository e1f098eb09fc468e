/* SPDX-License-Identifier: Apache-2.0 */
/* Hugging Face's Trainer with DeepSpeed and accelerate, LLaMA-Factory: the words that they stand for, and what is refused. */
#include "base/base.h"
#include "import_helper.h"
#include "suite.h"

/* Plain PyTorch: neither Liger's kernels nor torch.compile. */
#define PLAIN                                                                                                \
    "--set ss.fused.linear_cross_entropy=0 --set ss.fused.inplace_activation=0 --set "                       \
    "ss.fused.cross_entropy=0 "                                                                              \
    "--set ss.loss.peak_bytes=14 --set ss.fused.elementwise="

TEST(files)
{
    static const struct import_row rows[] = {
        /* "auto" buckets are the model's width squared: 2560 x 2560 */
        {"llamafactory/qwen3_full_sft.yaml",
         "--stack deepspeed-2026 --model Qwen3-4B --make-vocab-size-divisible-by 1 --seq 2048 --mbs 1 "
         "--gradient-accumulation-steps 2 --bf16 --recompute full --attention-backend auto " PLAIN
         "0 --fsdp full --set ss.zero.bucket_params=6553600 --set ss.zero.live_params=1000000000",
         "every row has all of its 2048 tokens"},
        {"llamafactory/llama3_fp8_deepspeed_sft.yaml",
         "--stack deepspeed-2026 --fsdp grad --optimizer-cpu-offload --optimizer-offload-fraction 1 --model "
         "Llama-3-8B --make-vocab-size-divisible-by 1 --set ss.zero.bucket_params=12845056 --seq 1024 --mbs "
         "1 "
         "--gradient-accumulation-steps 8 --bf16 --precision fp8 --fp8-recipe tensorwise --recompute none "
         "--attention-backend auto --set ss.fused.linear_cross_entropy=1 --set "
         "ss.fused.inplace_activation=1 "
         "--set ss.fused.elementwise=0",
         "fp8 costs what scales"},
        {"llamafactory/run.txt",
         "--nodes 2 --gpus-per-node 8 --stack deepspeed-2026 --seq 4096 --mbs 4 --recompute full "
         "--attention-backend auto " PLAIN "0 --fsdp full --set ss.zero.bucket_params=6553600 --set "
         "ss.zero.live_params=1000000000 --model Qwen3-4B --make-vocab-size-divisible-by 1 "
         "--gradient-accumulation-steps 2 --bf16",
         "without it DeepSpeed takes longer"},
        {"huggingface/accelerate.txt",
         "--nodes 2 --gpus-per-node 8 --fsdp full --bf16 --recompute full --stack accelerate-2026 --model "
         "Mistral-7B --make-vocab-size-divisible-by 1 --seq 4096 --mbs 2 --gradient-accumulation-steps 4 "
         "--attention-backend auto " PLAIN "0",
         "which are not known here, change no time: my_own"},
        {"huggingface/tp_hsdp.yaml",
         "--nodes 2 --gpus-per-node 8 --stack accelerate-2026 --fsdp full --tp 2 --fsdp hybrid --bf16 "
         "--attention-backend auto " PLAIN "0",
         "--model says the model"},
        {"huggingface/megatron.yaml",
         "--nodes 2 --gpus-per-node 8 --stack megatron-lm-2025 --tp 2 --pp 2 --gradient-accumulation-steps 4 "
         "--sequence-parallel --use-distributed-optimizer --recompute-activations --bf16",
         "accelerate since December 2025 takes 2"},
        {"huggingface/trainer.txt",
         "--nodes 1 --gpus-per-node 8 --stack accelerate-2026 --fsdp grad --model Llama-3.2-1B "
         "--make-vocab-size-divisible-by 1 --seq 2048 --mbs 4 --bf16 --recompute none --attention-backend "
         "auto " PLAIN "1",
         NULL},
        /* two lines of the host file with 4 slots each; the batch of the file is the whole one */
        {"huggingface/deepspeed.txt",
         "--nodes 2 --gpus-per-node 4 --stack deepspeed-2026 --model opt-6.7b --make-vocab-size-divisible-by "
         "1 "
         "--seq 2048 --mbs 2 --fp16 --recompute full --attention-backend unfused " PLAIN
         "0 --use-distributed-optimizer --overlap-grad-reduce --set ss.zero.bucket_params=200000000 --gbs 64 "
         "--clip-grad 0",
         "deepspeed.optimizer"},
        {"huggingface/ds_config.json",
         "--stack deepspeed-2026 --use-distributed-optimizer --overlap-grad-reduce --set "
         "ss.zero.bucket_params=200000000 --mbs 2 --gbs 64 --fp16 --attention-backend auto " PLAIN
         "0 --clip-grad 0",
         "--seq says the length of a row"},
        {"deepspeed/chat.txt",
         "--nodes 1 --gpus-per-node 8 --stack deepspeed-2026 --fsdp full --model Llama-2-7b "
         "--make-vocab-size-divisible-by 1 --seq 512 --mbs 4 --bf16 --recompute full --attention-backend "
         "auto " PLAIN "0",
         "num_train_epochs"},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++)
        check_import(&rows[i]);
}

#define TRAINER "model_name_or_path: Qwen/Qwen3-4B\nbf16: true\nmax_length: 2048\n" /* 3 lines */
#define TRAINED(sharding, recompute)                                                                         \
    "--stack accelerate-2026 " sharding " --model Qwen3-4B --make-vocab-size-divisible-by 1 --seq 2048 "     \
    "--mbs 8 --bf16 --recompute " recompute " --attention-backend auto " PLAIN "0"

/* Either switch asks for recompute; FSDP2 knows no strategy but reshard_after_forward. */
TEST(fsdp)
{
    static const struct text_row rows[] = {
        {TRAINER "fsdp: full_shard\nfsdp_config: {version: 1, reshard_after_forward: false}\n",
         TRAINED("--fsdp full", "none")},
        {TRAINER "fsdp: full_shard\nfsdp_config: {version: 2, reshard_after_forward: false}\n",
         TRAINED("--fsdp grad", "none")},
        {TRAINER "fsdp: shard_grad_op\nfsdp_config: {version: 2, reshard_after_forward: \"True\"}\n",
         TRAINED("--fsdp full", "none")},
        {TRAINER "fsdp: full_shard auto_wrap\nfsdp_config: {fsdp_version: 2}\n",
         TRAINED("--fsdp grad", "none")},
        {TRAINER "fsdp: full_shard\ngradient_checkpointing: false\nfsdp_config: {activation_checkpointing: "
                 "true}\n",
         TRAINED("--fsdp full", "full")},
        {TRAINER "fsdp: full_shard\ngradient_checkpointing: true\nfsdp_config: {activation_checkpointing: "
                 "false}\n",
         TRAINED("--fsdp full", "full")},
        {TRAINER "gradient_checkpointing: false\nfsdp_config: {activation_checkpointing: true}\n",
         "--stack accelerate-2026 --overlap-grad-reduce --model Qwen3-4B --make-vocab-size-divisible-by 1 "
         "--seq "
         "2048 --mbs 8 --bf16 --set ss.default.fp32_params=1 --recompute none --attention-backend auto " PLAIN
         "0"},
        {TRAINER "fsdp: full_shard\nfsdp_config: '{\"version\": 2, \"reshard_after_forward\": true}'\n",
         TRAINED("--fsdp full", "none")},
        {"distributed_type: FSDP\nmixed_precision: bf16\nfsdp_config:\n  fsdp_version: 2\n"
         "  fsdp_sharding_strategy: SHARD_GRAD_OP\n",
         "--stack accelerate-2026 --fsdp full --bf16 --attention-backend auto " PLAIN "0"},
    };
    static const struct refused_row refused[] = {
        {TRAINER "fsdp: full_shard\ngradient_checkpointing: true\nfsdp_config:\n  activation_checkpointing: "
                 "true\n",
         SS_ERR_CONFIG, 7, "take one"},
        {TRAINER "fsdp: full_shard\nfsdp_config:\n  version: 2\n  reshard_after_forward: FULL_SHARD\n",
         SS_ERR_CONFIG, 7, "no value of FSDP2"},
        {TRAINER "fsdp: full_shard offload\nfsdp_config: {version: 2}\n", SS_ERR_UNSUPPORTED, 4,
         "on the host"},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++)
        check_text(&rows[i], "job.yaml");
    for (size_t i = 0; i < SS_ARRAY_LEN(refused); i++)
        check_refused(&refused[i], "job.yaml");
}

/* Megatron's own words stand as they are, behind what DeepSpeed's file says. */
TEST(megatron)
{
    static const struct import_row rows[] = {
        {"deepspeed/llama2.txt",
         "--nodes 2 --gpus-per-node 8 --stack megatron-deepspeed-2022 --recompute-num-layers 1 "
         "--use-distributed-optimizer --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 "
         "--num-layers 24 "
         "--hidden-size 2048 --ffn-hidden-size 5504 --num-attention-heads 16 --micro-batch-size 4 "
         "--global-batch-size 32 --seq-length 2048 --max-position-embeddings 2048 --train-iters 250000 "
         "--data-path "
         "1 books --data-impl mmap --tokenizer-type GPTSentencePieceTokenizer --tokenizer-model "
         "tokenizer.model "
         "--vocab-size 32000 --split 949,50,1 --lr 3e-4 --lr-decay-style cosine --clip-grad 1 --bf16 "
         "--no-query-key-layer-scaling --attention-dropout 0 --hidden-dropout 0 "
         "--use-rotary-position-embeddings "
         "--untie-embeddings-and-output-weights --swiglu --normalization RMSNorm --disable-bias-linear "
         "--num-query-groups 4 --recompute-granularity full --recompute-method uniform",
         "--deepspeed-activation-checkpointing"},
        {"deepspeed/gpt175b.txt",
         "--nodes 16 --gpus-per-node 8 --stack megatron-deepspeed-2022 --fsdp full --set "
         "ss.zero.bucket_params=90000000 --set ss.zero.live_params=3000000000 --mbs 4 --gbs 512 --fp16 "
         "--tensor-model-parallel-size 1 --pipeline-model-parallel-size 1 --num-layers 96 --hidden-size "
         "12288 "
         "--num-attention-heads 96 --seq-length 1024 --loss-scale 15 --max-position-embeddings 1024 "
         "--train-iters "
         "1000 --lr 6.0e-5 --min-lr 6.0e-6 --lr-decay-style cosine --vocab-file gpt2-vocab.json --merge-file "
         "gpt2-merges.txt --vocab-size 50257 --split 98,2,0 --clip-grad 1.0 --init-method-std 0.006 "
         "--checkpoint-activations",
         "deepspeed.aio"},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++)
        check_import(&rows[i]);
}

#define FACTORY                                                                                              \
    "model_name_or_path: Qwen/Qwen3-4B\nfinetuning_type: full\nstage: sft\nbf16: true\n" /* 4 lines */

TEST(refused_factory)
{
    static const struct refused_row rows[] = {
        {"model_name_or_path: a\nstage: sft\nfinetuning_type: lora\n", SS_ERR_UNSUPPORTED, 3,
         "lora is not modelled"},
        {"model_name_or_path: a\nstage: sft\n", SS_ERR_UNSUPPORTED, 1, "default is LoRA"},
        {"model_name_or_path: a\nfinetuning_type: full\nstage: dpo\n", SS_ERR_UNSUPPORTED, 3, "stage dpo"},
        {"stage: sft\nfinetuning_type: full\nmodel_name_or_path: a/--bf16\n", SS_ERR_INPUT, 3,
         "--bf16 is no value of --model"},
        {FACTORY "quantization_bit: 4\n", SS_ERR_UNSUPPORTED, 5, "quantized weights"},
        {FACTORY "use_galore: true\n", SS_ERR_UNSUPPORTED, 5, "GaLore"},
        {FACTORY "optim: lion_8bit\n", SS_ERR_UNSUPPORTED, 5, "optimizer lion_8bit"},
        {FACTORY "cutoff_len: long\n", SS_ERR_INPUT, 5, "a whole number"},
        {FACTORY "bf16: maybe\n", SS_ERR_INPUT, 5, "twice"},
        {FACTORY "deepspeed:\n  zero_optimization: {stage: 4}\n", SS_ERR_INPUT, 6, "not within 0 .. 3"},
        {FACTORY "deepspeed:\n  gradient_accumulation_steps: 4\ngradient_accumulation_steps: 2\n",
         SS_ERR_CONFIG, 6, "differ from its own"},
        {FACTORY "deepspeed:\n  zero_optimization:\n    stage: 3\n    zero_quantized_weights: true\n",
         SS_ERR_UNSUPPORTED, 8, "ZeRO++"},
        {FACTORY "deepspeed:\n  zero_optimisation: {stage: 3}\n", SS_ERR_INPUT, 6, "no such key"},
        /* a name that is misspelt changes nothing: DeepSpeed refuses it, too */
        {FACTORY "deepspeed:\n  zero_optimization:\n    stage: 3\n    offload_optimiser: {device: cpu}\n",
         SS_ERR_INPUT, 8, "no such key"},
        {FACTORY "deepspeed:\n  zero_optimization:\n    stage: 3\n    stage3_max_live_params: 1e8\n",
         SS_ERR_INPUT, 8, "no such key"},
        {FACTORY "deepspeed:\n  zero_optimization: {stage: 3}\n  bf16: {enable: true}\n", SS_ERR_INPUT, 7,
         "no such key"},
        {FACTORY "deepspeed:\n  zero_optimization:\n    stage: 3\n    offload_optimizer: {device: cpu, "
                 "super_offload: true}\n",
         SS_ERR_UNSUPPORTED, 8, "SuperOffload"},
        {FACTORY "fsdp: full_shard\nfsdp_config:\n  reshard_after_forwards: false\n", SS_ERR_INPUT, 7,
         "no such key"},
        {FACTORY "fsdp: full_shard\nfsdp_config:\n  fsdp_offload_params: true\n", SS_ERR_UNSUPPORTED, 7,
         "on the host"},
        {FACTORY "fsdp: full_shard offload\n", SS_ERR_UNSUPPORTED, 5, "on the host"},
        {FACTORY "fsdp: mine\n", SS_ERR_INPUT, 5, "no strategy of FSDP"},
        {FACTORY "per_device_train_batch_size: 2\ngradient_accumulation_steps: 3\ndeepspeed:\n"
                 "  train_batch_size: 64\n  train_micro_batch_size_per_gpu: auto\n",
         SS_ERR_CONFIG, 8, "64 is no multiple of 2 x 3"},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++)
        check_refused(&rows[i], "job.yaml");
}

TEST(refused_accelerate)
{
    static const struct refused_row rows[] = {
        {"distributed_type: XLA\n", SS_ERR_UNSUPPORTED, 1, "XLA is no training on GPUs"},
        {"distributed_type: FSDP\nnum_machines: 2\nnum_processes: 15\n", SS_ERR_CONFIG, 3, "do not divide"},
        {"distributed_type: FSDP\nnum_machines: 2\nnum_processes: 16\nparallelism_config:\n"
         "  parallelism_config_dp_shard_size: 4\n  parallelism_config_tp_size: 2\n",
         SS_ERR_CONFIG, 5, "of 8 processes"},
        {"distributed_type: FSDP\nfsdp_config:\n  fsdp_offload_params: true\n", SS_ERR_UNSUPPORTED, 3,
         "on the host"},
        {"distributed_type: FSDP\nfsdp_config:\n  fsdp_auto_wrap_policy: NO_WRAP\n", SS_ERR_UNSUPPORTED, 3,
         "in one piece"},
        {"distributed_type: FSDP\nfsdp_config:\n  fsdp_sharding_strategy: HYBRID_SHARD_ZERO2\n",
         SS_ERR_UNSUPPORTED, 3, "gradients alone"},
        {"distributed_type: FSDP\nfsdp_config:\n  fsdp_activation_checkpoint: true\n", SS_ERR_INPUT, 3,
         "no such key"},
        {"distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stages: 3\n", SS_ERR_INPUT, 3,
         "no such key"},
        {"distributed_type: FSDP\nfsdp_konfig: {}\nfsdp_conf: 1\n", SS_ERR_INPUT, 3, "no such key"},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++)
        check_refused(&rows[i], "accelerate.yaml");
}

TEST(refused_commands)
{
    static const struct refused_row rows[] = {
        {"torchrun a.py --model_name_or_path x --use_peft\n", SS_ERR_UNSUPPORTED, 1, "LoRA"},
        {"torchrun a.py --model_name_or_path x --lora_enable True\n", SS_ERR_UNSUPPORTED, 1, "LoRA"},
        {"torchrun a.py --model_name_or_path x --tensor_model_parallel_size 4\n", SS_ERR_UNSUPPORTED, 1,
         "the script's own"},
        {"torchrun a.py --model_name_or_path x --load_in_4bit True\n", SS_ERR_UNSUPPORTED, 1, "quantized"},
        {"torchrun a.py \\\n --model_name_or_path x \\\n --auto_find_batch_size\n", SS_ERR_UNSUPPORTED, 3,
         "the batch is what fits"},
        {"torchrun a.py --model_name_or_path x --deepspeed none.json\n", SS_ERR_IO, 1, "none.json"},
        {"torchrun a.py --model_name_or_path x \\\n --fsdp full_shard --fsdp_config none.json\n", SS_ERR_IO,
         2, "none.json"},
        {"deepspeed pretrain_gpt.py --deepspeed --zero-stage 2 \\\n --checkpoint-in-cpu\n",
         SS_ERR_UNSUPPORTED, 2, "on the host"},
        {"deepspeed pretrain_gpt.py --deepspeed --zero-stage 1 --num-experts 8\n", SS_ERR_UNSUPPORTED, 1,
         "mixtures"},
        {"deepspeed pretrain_gpt.py --deepspeed \\\n --zero-stage 5\n", SS_ERR_INPUT, 2, "not within 0 .. 3"},
        {"deepspeed pretrain_gpt.py --deepspeed --deepspeed_config none.json\n", SS_ERR_IO, 1, "none.json"},
        {"torchrun a.py --model_name_or_path x --fp16\n", SS_ERR_UNSUPPORTED, 1, "fp16 under autocast"},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++)
        check_refused(&rows[i], "run.txt");
}

/* Names of the hub are names of workloads/models. */
TEST(names)
{
    static const char *const rows[][2] = {
        {"meta-llama/Meta-Llama-3-8B-Instruct", "Llama-3-8B"},
        {"meta-llama/Llama-2-7b-chat-hf", "Llama-2-7b"},
        {"mistralai/Mixtral-8x7B-Instruct-v0.1", "Mixtral-8x7B"},
        {"google/gemma-2-9b-it", "gemma-2-9b"},
        {"Qwen/Qwen2.5-7B-Instruct", "Qwen2.5-7B"},
        {"deepseek-ai/DeepSeek-V3", "DeepSeek-V3"},
        {"Qwen/Qwen3-30B-A3B-Instruct-2507", "Qwen3-30B-A3B"},
        {"Qwen/Qwen2.5-Coder-7B-Instruct", "qwen2.5-7B"},
        {"Qwen/Qwen3-Coder-480B-A35B-Instruct", "Qwen3-Coder-480B-A35B"},
        {"meta-llama/Llama-3.3-70B-Instruct", "llama3.1-70B"},
        {"deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "llama3.1-8B"},
        {"deepseek-ai/DeepSeek-V3.1", "deepseek-v3"},
        {"mine/Own-5B", "Own-5B"},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_request r;
        struct ss_error err = {0};
        char text[256];
        snprintf(text, sizeof text, "torchrun a.py --bf16 --model_name_or_path %s\n", rows[i][0]);
        ss_request_init(&r);
        CU_ASSERT_EQUAL(ss_request_read_text(&r, text, strlen(text), "run.txt", &err), SS_OK);
        size_t at = ss_request_find(&r, "--model");
        CU_ASSERT_FATAL(at + 1 < r.n);
        CU_ASSERT_STRING_EQUAL(r.word[at + 1].text, rows[i][1]);
        ss_request_free(&r);
    }
}

/* PyTorch takes its own choice, which the stack knows by card, unless a release of FlashAttention is asked for by name. */
TEST(attention)
{
    static const char *const rows[][3] = {
        {"sdpa", "auto", NULL},
        {"eager", "unfused", NULL},
        {"flash_attention_2", "flash", NULL},
        {"flash_attention_3", "fused", "FlashAttention 3 costs what cuDNN's"},
        {"kernels-community/flash-attn", "flash", "costs what FlashAttention 2 costs"},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_request r;
        char text[256];
        snprintf(text, sizeof text, "torchrun a.py --bf16 --model_name_or_path m --attn_implementation %s\n",
                 rows[i][0]);
        ss_request_init(&r);
        CU_ASSERT_EQUAL(ss_request_read_text(&r, text, strlen(text), "run.txt", NULL), SS_OK);
        size_t at = ss_request_find(&r, "--attention-backend");
        CU_ASSERT_FATAL(at + 1 < r.n);
        CU_ASSERT_STRING_EQUAL(r.word[at + 1].text, rows[i][1]);
        CU_ASSERT_EQUAL(has_note(&r, rows[i][2] ? rows[i][2] : "costs what"), rows[i][2] != NULL);
        ss_request_free(&r);
    }
}
