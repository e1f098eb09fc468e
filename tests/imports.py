#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: imports.py PROGRAM FOLDER

Launchers as Megatron-LM and Pai-Megatron-Patch publish them, made anew in FOLDER (each names repository, commit and path): `stepsim
import` gives the flags that the published script starts its job with, and the file that it prints predicts what the script does.
"""
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv[1])
AWAY = tempfile.TemporaryDirectory()  # outside of this repository, of which a script would see all
os.chmod(AWAY.name, 0o755)
FOLDER = shutil.copytree(sys.argv[2], os.path.join(AWAY.name, "imports"))
os.chdir(FOLDER)
LLAMA_8B = """--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 --group-query-attention
    --num-query-groups 8 --kv-channels 128 --seq-length 8192 --max-position-embeddings 8192 --position-embedding-type rope
    --attention-dropout 0.0 --hidden-dropout 0.0 --swiglu --normalization RMSNorm --attention-backend fused
    --untie-embeddings-and-output-weights --disable-bias-linear --micro-batch-size 1 --global-batch-size 128 --clip-grad 1.0
    --calculate-per-token-loss --bf16 --cross-entropy-loss-fusion --empty-unused-memory-level 1 --use-distributed-optimizer --overlap-grad-reduce
    --overlap-param-gather --fp8-format hybrid --fp8-param-gather --tensor-model-parallel-size 1 --context-parallel-size 1
    --sequence-parallel --tokenizer-type NullTokenizer --vocab-size 128256 --nodes 1 --gpus-per-node 8"""
DEEPSEEK_V3 = """--num-layers 61 --hidden-size 7168 --ffn-hidden-size 18432 --num-attention-heads 128 --kv-channels 128
    --max-position-embeddings 4096 --seq-length 4096 --normalization RMSNorm --swiglu --untie-embeddings-and-output-weights
    --multi-latent-attention --attention-dropout 0.0 --hidden-dropout 0.0 --clip-grad 1.0 --qk-layernorm --num-experts 256
    --moe-ffn-hidden-size 2048 --moe-shared-expert-intermediate-size 2048 --moe-router-load-balancing-type seq_aux_loss
    --moe-router-topk 8 --moe-grouped-gemm --moe-router-group-topk 4 --moe-router-num-groups 8 --moe-router-score-function sigmoid
    --moe-router-enable-expert-bias --moe-router-dtype fp32 --moe-permute-fusion --q-lora-rank 1536 --kv-lora-rank 512
    --v-head-dim 128 --mtp-num-layers 1 --bf16 --transformer-impl transformer_engine --disable-bias-linear
    --use-distributed-optimizer --context-parallel-size 1 --expert-tensor-parallel-size 1 --recompute-granularity selective"""
PAI = """--micro-batch-size 1 --clip-grad 1.0 --attention-dropout 0.0 --hidden-dropout 0.0 --swiglu --normalization RMSNorm
    --use-rotary-position-embeddings --disable-bias-linear --context-parallel-size 1 --bf16 --use-distributed-optimizer"""

# Script and its arguments, variables, the flags of the job, and words that let it run. Flags in any order.
JOBS = {
    "megatron-gpt3-175b": ("ckpt logs vocab merges data", "", """--nodes 1 --gpus-per-node 8 --num-layers 96 --hidden-size 12288
        --num-attention-heads 96 --seq-length 2048 --max-position-embeddings 2048 --attention-backend auto --micro-batch-size 1
        --global-batch-size 1536 --step-batch-size-schedule=0:16,2.4B:320,4.8B:624,7.2B:928,9.6B:1232,12B:1536
        --clip-grad 1.0 --fp16 --tensor-model-parallel-size 8 --pipeline-model-parallel-size 16 --merge-file merges""",
                           "--platform h100 --nodes 16"),
    "megatron-llama3-8b-fp8": ("", "", LLAMA_8B + " --grad-reduce-in-bf16", "--platform h100"),
    "megatron-llama3-8b-fsdp": ("", "", LLAMA_8B + """ --no-check-for-nan-in-loss-and-grad --use-megatron-fsdp
        --data-parallel-sharding-strategy optim_grads_params --no-gradient-accumulation-fusion --use-nccl-ub --fsdp-double-buffer
        --fsdp-manual-registration""", "--platform h100"),
    "megatron-mixtral-8x7b": ("ckpt tokenizer data", "SLURM_NNODES=16", """--nodes 16 --gpus-per-node 8 --disable-bias-linear
        --seq-length 4096 --max-position-embeddings 32768 --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336
        --num-attention-heads 32 --attention-dropout 0.0 --hidden-dropout 0.0 --normalization RMSNorm
        --position-embedding-type rope --swiglu --untie-embeddings-and-output-weights --group-query-attention
        --num-query-groups 8 --no-masked-softmax-fusion --no-position-embedding --num-experts 8 --moe-router-topk 2
        --moe-router-load-balancing-type aux_loss --moe-grouped-gemm --moe-token-dispatcher-type alltoall
        --overlap-param-gather --overlap-grad-reduce --tokenizer-type Llama2Tokenizer --micro-batch-size 1
        --global-batch-size 256 --clip-grad 1.0 --bf16 --tensor-model-parallel-size 1 --pipeline-model-parallel-size 4
        --expert-model-parallel-size 8 --use-distributed-optimizer --sequence-parallel
        --tokenizer-model tokenizer""", "--platform h100"),
    "megatron-deepseek-v3-fsdp": ("", "", DEEPSEEK_V3 + """ --calculate-per-token-loss --nodes 64 --gpus-per-node 8 --tensor-model-parallel-size 1
        --expert-model-parallel-size 8 --overlap-grad-reduce --overlap-param-gather --sequence-parallel --use-flash-attn
        --micro-batch-size 4 --global-batch-size 2048 --no-check-for-nan-in-loss-and-grad
        --recompute-modules=mlp,moe,mla_up_proj,layernorm --tokenizer-type HuggingFaceTokenizer --position-embedding-type rope
        --make-vocab-size-divisible-by 3232 --moe-layer-freq [0]*3+[1]*58 --moe-token-dispatcher-type flex
        --moe-flex-dispatcher-backend hybridep --moe-router-force-load-balancing --qk-head-dim 128 --qk-pos-emb-head-dim 64
        --use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params --no-gradient-accumulation-fusion
        --use-distributed-optimizer --megatron-fsdp-grad-comm-dtype bf16 --megatron-fsdp-main-grads-dtype bf16
        --tokenizer-model deepseek-ai/DeepSeek-V3""", "--platform h100"),
    "megatron-mamba": ("a b c d", "", """--nodes 1 --gpus-per-node 8 --tensor-model-parallel-size 1
        --pipeline-model-parallel-size 1 --use-distributed-optimizer
        --hybrid-layer-pattern M-M-M--M-*M-M-M-M--*M-M-M-M-*M--M-M-M-*M-M--M-M- --hidden-size 1024 --num-attention-heads 16
        --group-query-attention --num-query-groups 8 --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 4
        --global-batch-size 32 --bf16 --spec megatron.core.models.hybrid.hybrid_layer_specs hybrid_stack_spec""",
                       "--platform h100 --vocab-size 256000"),
    "megatron-gpt-oss": ("-- --checkpoint-path weights", "", """--nodes 1 --gpus-per-node 8 --no-masked-softmax-fusion
        --transformer-impl transformer_engine --disable-bias-linear --untie-embeddings-and-output-weights --no-rope-fusion
        --normalization RMSNorm --num-layers 12 --hidden-size 512 --ffn-hidden-size 2048 --num-attention-heads 64
        --group-query-attention --num-query-groups 8 --seq-length 8192 --max-position-embeddings 8192
        --position-embedding-type rope --no-bias-gelu-fusion --export-force-local-attention --no-bias-dropout-fusion --quick-geglu
        --softmax-type learnable --window-attn-skip-freq 2 --activation-func-clamp-value 7.0 --window-size 127,0 --enable-gpt-oss
        --num-experts 4 --moe-router-topk 2 --moe-router-load-balancing-type aux_loss --moe-grouped-gemm
        --moe-token-dispatcher-type alltoall --overlap-param-gather --overlap-grad-reduce --moe-ffn-hidden-size 2048
        --moe-router-dtype fp32 --moe-permute-fusion --tokenizer-type NullTokenizer --vocab-size 128256 --micro-batch-size 1
        --global-batch-size 128 --clip-grad 1.0 --bf16 --use-flash-attn --accumulate-allreduce-grads-in-fp32
        --disable-bf16-reduced-precision-matmul --recompute-activations --tensor-model-parallel-size 1
        --pipeline-model-parallel-size 8 --expert-model-parallel-size 1 --sequence-parallel --context-parallel-size 1
        --use-distributed-optimizer --fp8-format hybrid --fp8-param-gather""", "--platform h100 --num-layers 16"),
    "sc21/table-1": ("", "", """--nodes 128 --gpus-per-node 8 --activations-checkpoint-method uniform
        --num-layers-per-virtual-pipeline-stage 3 --tensor-model-parallel-size 8 --pipeline-model-parallel-size 16
        --micro-batch-size 1 --global-batch-size 1536 --num-layers 96 --hidden-size 12288 --num-attention-heads 96
        --seq-length 2048 --max-position-embeddings 2048 --clip-grad 1.0 --fp16
        --merge-file m.txt""", "--platform a100 --stack megatron-2021"),
    "pai-llama3.1": ("dlc 8B 1 128 1e-5 8192 fp8 2 2 1 true true true full 1000000000 out",
                     "WORLD_SIZE=4 KUBERNETES_CONTAINER_RESOURCE_GPU=8 MP_VP=4 MP_AC_LAYERS=2", PAI + """ --nodes 4 --gpus-per-node 8
        --global-batch-size 128 --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --ffn-hidden-size 14336
        --seq-length 8192 --max-position-embeddings 131072 --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2
        --extra-vocab-size 256 --patch-tokenizer-type LLama3Tokenizer --position-embedding-type rope --group-query-attention
        --num-query-groups 8 --fp8-format hybrid --recompute-method uniform --recompute-num-layers 2 --recompute-granularity full
        --sequence-parallel --num-layers-per-virtual-pipeline-stage 4 --untie-embeddings-and-output-weights --tp-comm-overlap
        --overlap-grad-reduce --overlap-param-gather""", "--platform h800"),
    "pai-qwen2.5": ("7B 2 2", "WORLD_SIZE=2", PAI + """ --nodes 2 --gpus-per-node 8 --global-batch-size 64 --num-layers 28
        --hidden-size 3584 --num-attention-heads 28 --ffn-hidden-size 18944 --seq-length 4096 --max-position-embeddings 131072
        --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --extra-vocab-size 421
        --patch-tokenizer-type Qwen2Tokenizer --position-embedding-type rope --add-qkv-bias --transformer-impl transformer_engine
        --sequence-parallel --attention-backend flash --tp-comm-overlap --overlap-grad-reduce --overlap-param-gather
        --group-query-attention --num-query-groups 4 --untie-embeddings-and-output-weights""", "--platform h800"),
    "pai-qwen3-moe": ("2 2 1 4 0.5", "WORLD_SIZE=2 KUBERNETES_CONTAINER_RESOURCE_GPU=8", PAI + """ --nodes 2 --gpus-per-node 8
        --global-batch-size 64 --num-layers 48 --hidden-size 2048 --num-attention-heads 32 --ffn-hidden-size 6144 --seq-length 4096
        --max-position-embeddings 40960 --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --padded-vocab-size 151936
        --patch-tokenizer-type Qwen3Tokenizer --position-embedding-type rope --transformer-impl transformer_engine
        --cross-entropy-loss-fusion --qk-layernorm --kv-channels 128 --recompute-activations --sequence-parallel --moe-grouped-gemm
        --moe-token-dispatcher-type alltoall --moe-router-topk 8 --num-experts 128 --expert-tensor-parallel-size 1
        --expert-model-parallel-size 4 --moe-ffn-hidden-size 768 --moe-router-load-balancing-type aux_loss
        --moe-layer-freq ([1]*48) --optimizer-cpu-offload --use-precision-aware-optimizer --optimizer-offload-fraction 0.5
        --attention-backend flash --untie-embeddings-and-output-weights --group-query-attention --num-query-groups 4""",
                      "--platform h800"),
    "pai-deepseek-v3": ("1 16 8 false", "WORLD_SIZE=32 MP_PP0_LAYERS=1", DEEPSEEK_V3 + """ --nodes 32 --gpus-per-node 8
        --micro-batch-size 1 --global-batch-size 512 --tensor-model-parallel-size 1 --pipeline-model-parallel-size 16
        --expert-model-parallel-size 8 --extra-vocab-size 467 --patch-tokenizer-type DeepSeekV2Tokenizer
        --use-rotary-position-embeddings --no-rope-fusion --no-masked-softmax-fusion --recompute-modules=mla_up_proj,mlp,moe
        --moe-token-dispatcher-type alltoall --moe-shared-expert-overlap --moe-layer-freq ([0]*3+[1]*58) --qk-nope-head-dim 128
        --qk-rope-head-dim 64 --decoder-first-pipeline-num-layers 1 --attention-backend auto""",
                        "--platform h800 --vocab-size 128813"),
}
# Script, status, what is refused.
REFUSED = {
    "megatron-bert-340m": (3, "pretrain_bert.py: encoders with a loss of masked words (BERT) are not modelled"),
    "megatron-t5-220m": (3, "pretrain_t5.py: encoder-decoder models (T5) are not modelled"),
}


def words(text):
    """Flags with their values, as (name, (values ...)); a comma in a value of --flag=a,b divides values."""
    out, split = [], shlex.split(text.replace("(", "'('").replace(")", "')'").replace("[", "'['").replace("]", "']'"))
    for word in split:
        name, equal, values = word.partition("=")
        if word.startswith("--"):
            out.append((name, tuple(values.split(",")) if equal else ()))
        else:
            out[-1] = (out[-1][0], out[-1][1] + (word,))
    return sorted(set(out))


def stepsim(*argv):
    return subprocess.run([PROGRAM, *argv], capture_output=True, text=True)


def launch(name, arguments="", variables=""):
    out = []
    for v in variables.split():
        out += ["--env", v]
    return out + ["--launch", os.path.join(FOLDER, name + ".sh"), *arguments.split()]


def kept_apart():
    return "namespaces" not in stepsim("import", *launch("megatron-gpt3-175b")).stderr


@unittest.skipUnless(kept_apart(), "the kernel gives no namespaces")
class Published(unittest.TestCase):
    def test_flags(self):
        for name, (arguments, variables, expected, _) in JOBS.items():
            with self.subTest(name):
                r = stepsim("import", "--json", *launch(name, arguments, variables))
                self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
                got = json.loads(r.stdout)
                self.assertEqual(sorted({(f["flag"], tuple(f["values"])) for f in got["flags"]}), words(expected))
                self.assertEqual(got["refused"], [])
                for flag in got["flags"]:
                    self.assertIn(os.path.basename(name) + ".sh", flag["file"])

    def test_the_file_predicts_the_same(self):
        for name, (arguments, variables, _, more) in JOBS.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "job.args")
                r = stepsim("import", "-o", path, *more.split(), *launch(name, arguments, variables))
                self.assertEqual(r.returncode, 0, r.stderr)
                here = ["run", "--engine", "native", "--json"]
                ran = stepsim(*here, *more.split(), *launch(name, arguments, variables))
                again = stepsim(*here, "--job", path)
                self.assertIn(ran.returncode, (0, 1), ran.stdout + ran.stderr)
                self.assertEqual(again.returncode, ran.returncode, again.stdout + again.stderr)
                first, second = json.loads(ran.stdout), json.loads(again.stdout)
                self.assertNotIn("error", first)
                for result in (first, second):
                    del result["warnings"], result["ignored"], result["inputs"]["request"], result["inputs"]["files"]
                    for said in ("notes", "ignored"):  # of the words as they came
                        result["inputs"].pop(said, None)
                self.assertEqual(first, second)

    def test_refused(self):
        for name, (status, why) in REFUSED.items():
            with self.subTest(name):
                r = stepsim("import", "--json", *launch(name, "a b c d"))
                self.assertEqual(r.returncode, status, r.stdout + r.stderr)
                got = json.loads(r.stdout)
                if status == 1:
                    self.assertEqual([f["flag"] for f in got["refused"]], why)
                else:
                    self.assertIn(why, got["error"]["message"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
