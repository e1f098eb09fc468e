#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What workloads/recipes_*.py read of configuration files, on small ones that are written here: recipes.py SOURCE.

With STEPSIM, that no recipe as a whole is refused: recipes.py SOURCE STEPSIM [--all], without --all of every thirteenth row.
"""
import csv
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(sys.argv[1], "workloads"))
import recipes_dgxc  # noqa: E402
import recipes_mlperf  # noqa: E402
import recipes_nemo  # noqa: E402
import recipes_torchtitan  # noqa: E402

wrong = []


def same(what, got, want):
    if got != want:
        wrong.append(f"{what}: {got!r}, not {want!r}")


def tree(root, files):
    for name, text in files.items():
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


YAML = """
trainer: {devices: "${oc.decode:${oc.env:DGXNGPU,8}}"}
model:
  tensor_model_parallel_size: ${oc.decode:${oc.env:TENSOR_MODEL_PARALLEL}}
  pipeline_model_parallel_size: ${oc.decode:${oc.env:PIPELINE_MODEL_PARALLEL}}
  virtual_pipeline_model_parallel_size: ${oc.decode:${oc.env:INTERLEAVED_PIPELINE,12}}
  micro_batch_size: ${oc.decode:${oc.env:MICRO_BATCH_SIZE,1}}
  expert_model_parallel_size: ${oc.decode:${oc.env:EXPERT_PARALLEL,1}}
  sequence_parallel: ${oc.decode:${oc.env:SEQ_PARALLEL,True}}
  encoder_seq_length: 8192
  cuda_graph_scope: ${oc.decode:${oc.env:CUDA_GRAPH_SCOPE,${if:${eq:'1',${oc.env:FULL_CUDA_GRAPH,0}},'full_iteration','full'}}}
  enable_cuda_graph: ${oc.decode:${oc.env:MCORE_CUDA_GRAPH,False}}
  fp8: ${oc.decode:${oc.env:FP8,False}}
  fp8_recipe: ${oc.decode:${oc.env:FP8_RECIPE,tensorwise}}
  fp4: ${oc.decode:${oc.env:FP4,False}}
  ub_tp_comm_overlap: ${oc.decode:${oc.env:TP_COMM_OVERLAP,False}}
  moe_grouped_gemm: True
  optim: {overlap_grad_reduce: "${oc.decode:${oc.env:OVERLAP_GRAD_REDUCE,True}}"}
"""


def test_mlperf(root):
    """Sourced files in their order, unset, defaults, arithmetic left out, bodies of conditions left out; NVIDIA's row before one like it."""
    common = 'export FP8=True # of all\nexport MODEL_SIZE="405b"\nif [[ 1 -eq 1 ]]; then\n  export FP8=False\nfi\n: "${MICRO_BATCH_SIZE:=2}"\n'
    small = ("source $(dirname ${BASH_SOURCE[0]})/config_common.sh\nexport MODEL_SIZE=20b\nexport MINIBS=3\nexport DGXNNODES=2\n"
             "export TENSOR_MODEL_PARALLEL=1\nexport PIPELINE_MODEL_PARALLEL=1\nexport EXPERT_PARALLEL=$TENSOR_MODEL_PARALLEL\nexport FP8_RECIPE=mxfp8\n")
    large = ("source $(dirname ${BASH_SOURCE[0]})/config_common.sh\nexport MINIBS=16\nexport DGXNNODES=8\nexport DGXNGPU=4\nexport TENSOR_MODEL_PARALLEL=4\n"
             "export PIPELINE_MODEL_PARALLEL=4\nexport INTERLEAVED_PIPELINE=2\nexport SEGMENT=$((4 * 4))\nexport FULL_CUDA_GRAPH=1\nexport MCORE_CUDA_GRAPH=1\n"
             "export TP_COMM_OVERLAP=True\nunset TP_COMM_OVERLAP\nexport FP4=True\n")
    a, b = "Someone/benchmarks/gpt_oss_20b/nemo/", "NVIDIA/benchmarks/llama31_405b/implementations/nemo/"
    tree(root, {a + "config_common.sh": common, a + "config_DGXH100_2x8x3.sh": small, a + "config_GB200_8x4x16.sh": large, a + "conf/a.yaml": YAML,
                a + "pretrain.py": "x = f(vocab_size=128256, average_in_collective=config.optim.a, check_for_nan_in_grad=False)\n",
                b + "config_common.sh": common, b + "config_GB200_8x4x16.sh": large, b + "conf/custom.yaml": YAML,
                b + "pretrain.py": "check_for_nan_in_grad=True, average_in_collective=True\n",
                "NVIDIA/benchmarks/dlrm/nemo/config_GB200_1x4x1.sh": large, "NVIDIA/results/llama31_405b/config_GB200_1x4.sh": large})
    env = recipes_mlperf.shell(os.path.join(root, b, "config_GB200_8x4x16.sh"))
    same("variables", [env.get(n) for n in ("FP8", "MICRO_BATCH_SIZE", "SEGMENT", "TP_COMM_OVERLAP")], ["True", "2", None, None])
    rows = list(recipes_mlperf.rows(root, "o/r@1"))
    same("files", [r["source"] for r in rows], [f"o/r@1:{b}config_GB200_8x4x16.sh", f"o/r@1:{a}config_DGXH100_2x8x3.sh"])
    same("large", [rows[0][c] for c in ("model", "gpu", "precision", "gpus", "tp", "pp", "vp", "mbs", "gbs", "ep", "words")],
         ["llama3.1-405b", "GB200", "nvfp4", 32, 4, 4, 2, 2, 32, "", "--sequence-parallel --cuda-graph-impl local --cuda-graph-scope full_iteration --overlap-grad-reduce"])
    same("small", [rows[1][c] for c in ("model", "gpu", "precision", "gpus", "vp", "gbs", "ep", "words")],
         ["gpt-oss-20b", "H100", "mxfp8", 16, 1, 48, 1, "--overlap-grad-reduce --moe-grouped-gemm --vocab-size 128256 "
          "--no-ddp-average-in-collective --no-check-for-nan-in-loss-and-grad"])


LAUNCHER = """
set -eu
: "${GPU_TYPE:?}"
export IMAGE=$LLMB_INSTALL/images/nvidia+nemo+26.04.00.sqsh
CONFIG=""
if [[ $GPU_TYPE == gb200 && $DTYPE == fp8 ]]; then
    CONFIG+=" -pp 4 -vp None -ep 8 --recompute_modules=mlp,moe_act --cuda_graph_impl none "
fi
[[ $JOB_TOTAL_GPUS != 8 ]] || CONFIG+=" --hidden_size 1024 "
[[ $JOB_TOTAL_GPUS != 512 ]] || exit 1
pushd /nowhere
python3 scripts/performance/setup_experiment.py --container_image $IMAGE --compute_dtype ${DTYPE/fp8/fp8_mx} --num_gpus $JOB_TOTAL_GPUS \\
    --model_family_name deepseek --model_recipe_name deepseek_v3 $CONFIG --max_steps 5
popd
"""


def test_dgxc(root):
    """A launch that changes nothing but GPUs makes no row, nor one of a cut model or that stops; stages are those of the release's pipeline."""
    meta = """
run:
  gpu_configs:
    gb200: {model_configs: [{model_size: 671b, dtypes: {fp8: [8, 128, 512], bf16: [128]}}]}
    h100: {model_configs: [{model_size: 671b, dtypes: [fp8], scales: [128]}]}
"""
    base = {"stack": "megatron-bridge-26.04", "model": "deepseek-v3", "gpu": "GB200", "precision": "mxfp8", "gpus": "256", "tp": "1", "pp": "8", "cp": "1",
            "vp": "2", "ep": "64", "etp": "1", "mbs": "1", "gbs": "2048", "seq": "4096", "source": "a v2",
            "words": "--pipeline-model-parallel-layout A --recompute-granularity selective --recompute-modules mla --cuda-graph-impl local --moe-router-fusion"}
    known = [base, {**base, "words": "--no", "source": "a v1"}, {**base, "precision": "bf16"},
             {**base, "gpu": "GB300", "pp": "4", "vp": "1", "words": "--pipeline-model-parallel-layout B"}]
    files = {"d/metadata.yaml": meta, "d/launch.sh": LAUNCHER, "e/finetune/metadata.yaml": meta, "e/finetune/launch.sh": LAUNCHER}
    rows = list(recipes_dgxc.rows(lambda path: files.get(path, ""), files, "o/r@1", known, {"deepseek_v3": "deepseek-v3"}))
    same("launches", [r["source"] for r in rows], ["o/r@1:d/launch.sh gb200 fp8 128"])
    same("overrides", [rows[0][c] for c in ("stack", "precision", "gpus", "pp", "vp", "ep", "etp", "mbs", "gbs", "words")],
         ["megatron-bridge-26.04", "mxfp8", 128, 4, 1, 8, "1", "1", 1024,
          "--pipeline-model-parallel-layout B --moe-router-fusion --recompute-granularity selective --recompute-modules mlp moe_act"])
    same("uneven", recipes_dgxc.accounts({"pp": 8, "vp": 8, "words": "a"}, 126)["words"], "a --account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split")


def test_nemo(root):
    """A row is for its own card and for pre-training; switches are the script's; stages of DeepSeek-V3 by their number."""
    head = "task,model,size,system,dtype,num_gpus,seq_len,tp_size,pp_size,cp_size,ep_size,vp_size,mbs,gbs,etp_size,cuda_graphs,use_mcore_fsdp,recompute_layers,recompute_modules\n"
    files = {"s/recommended_model_configs/model_configs_h100.csv": head + "pre_train,llama31,405b,h100,bf16,128.0,8192.0,4.0,8.0,2.0,1.0,8.0,1.0,64.0,,0,0,2,\n"
             "lora,llama3,8b,h100,bf16,8,2048,1,1,1,1,1,1,8,,0,0,0,\npre_train,llama3,8b,b200,bf16,8,2048,1,1,1,1,1,1,8,,0,0,0,\n"
             "pre_train,mixtral,8x7b,h100,fp8,64,4096,1,4,1,8,8,1,256,,1,0,0,mlp/moe\n",
             "s/helpers.py": "x.use_precision_aware_optimizer = True", "s/llm/pretrain_llama31_405b.py": "x", "s/llm/pretrain_mixtral_8x7b.py": "x",
             "nemo/collections/llm/recipes/llama31_405b.py": "f(\n tp_comm_overlap=True)\ndef finetune_recipe():",
             "nemo/collections/llm/recipes/mixtral_8x7b.py": "run.Config(MegatronTokenDropCallback)\n\ndef finetune_recipe():\n tp_comm_overlap=True"}
    rows = list(recipes_nemo.rows(lambda path: files.get(path, ""), [], "o/r@1", "s"))
    same("rows", [(r["model"], r["gpus"], r["vp"], r["ep"]) for r in rows], [("llama3.1-405b", 128, 8, ""), ("mixtral-8x7b", 64, 8, 8)])
    same("dense", rows[0]["words"], "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split --sequence-parallel --recompute-granularity full "
         "--recompute-method block --recompute-num-layers 2 --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather --tp-comm-overlap "
         "--use-precision-aware-optimizer")
    same("mixture", rows[1]["words"], "--recompute-granularity selective --recompute-modules mlp moe --moe-token-dispatcher-type alltoall "
         "--moe-expert-capacity-factor 1.0 --moe-pad-expert-input-to-capacity --cuda-graph-impl local --use-distributed-optimizer --overlap-grad-reduce "
         "--overlap-param-gather")
    same("stages", recipes_nemo.stages(61, 4), "E" + "t" * 16 + "|" + "t" * 16 + "|" + "t" * 16 + "|" + "t" * 13 + "L")


def test_torchtitan(root):
    """A preset's GPUs make the batch; an unknown flavor and a pipeline are left out; float8 and asynchronous tensor parallelism where switched on."""
    text = ('# NOTE: this toml config is a preset for 32 X100 GPUs.\n[model]\nname = "llama3"\nflavor = "8B"\nconverters = ["float8"]\n[training]\nlocal_batch_size = 2\n'
            'seq_len = 4096\n[parallelism]\ntensor_parallel_degree = 4\nenable_async_tensor_parallel = true\n[activation_checkpoint]\nmode = "%s"\n')
    folder = "torchtitan/models/a/train_configs/"
    files = {folder + "a.toml": text % "selective", folder + "b.toml": text.replace("llama3", "deepseek_v3") % "full", "c/train_configs/c.toml": text % "full",
             folder + "d.toml": '[model]\nname = "qwen3"\nflavor = "32B"\n[activation_checkpoint]\nmode = "none"\n'}
    files[folder + "e.toml"] = '[model]\nname = "deepseek_v3"\nflavor = "16B"\n[parallelism]\nexpert_parallel_degree = 8\n'
    files[folder + "f.toml"] = files[folder + "d.toml"] + "[parallelism]\npipeline_parallel_degree = 2\n"
    rows = list(recipes_torchtitan.rows(files.get, files, "o/r@1"))
    same("files", [r["source"] for r in rows], [f"o/r@1:{folder}{name}.toml" for name in "ade"])
    same("sizes", [rows[0][c] for c in ("model", "precision", "gpus", "tp", "mbs", "gbs", "seq")], ["llama3.1-8b", "fp8", 32, 4, 2, 16, 4096])
    same("words", [r["words"] for r in rows], ["--fp8-recipe tensorwise --sequence-parallel --tp-comm-overlap --fsdp full --recompute op-selective", "--fsdp full",
         "--mtp-num-layers 0 --moe-token-dispatcher-type alltoall --fsdp full --recompute op-selective"])
    same("experts", [rows[2][c] for c in ("model", "ep", "etp", "gpus", "gbs")], ["deepseek-v2-lite", 8, 1, "", ""])


REGISTRY = """
from a import DATASETS, CompileConfig, FullAC, Float8, MX, ParallelismConfig, TrainingConfig, Trainer, default_adamw, model_registry
def llama3_8b() -> Trainer.Config:
    return Trainer.Config(model_spec=model_registry("8B"), data=DATASETS["c4"], optimizer=default_adamw(lr=1), training=TrainingConfig(
        num_tokens_per_microbatch_per_dp_rank=2 * 4096, max_context_length=4096), parallelism=ParallelismConfig(tensor_parallel_degree=4))
def llama3_8b_float8():
    config = llama3_8b()
    config.model_spec = model_registry("8B", converters=[Float8LinearConverter.Config(on="m" in config.compile.components)])
    config.compile = CompileConfig(enable_async_tensor_parallel=True)
    config.training.disable_cuda_graphs = True
    config.activation_checkpoint = FullAC.Config()
    return config
def llama3_debug_8b():
    return llama3_8b()
def llama3_8b_nvfp4():
    config = llama3_8b()
    config.model_spec = model_registry("8B", converters=[MX.Config()])
    return config
def llama3_8b_muon():
    config = llama3_8b()
    config.optimizer = MX.Config()
    return config
def needs(word):
    return llama3_8b()
def unknown():
    return not_there
""".replace("Float8,", "Float8LinearConverter,")


def test_torchtitan_registry(root):
    """Functions run: one that takes its configuration from another changes its own; those of other optimizers and precisions make no row."""
    path = "torchtitan/models/llama3/config_registry.py"
    rows = list(recipes_torchtitan.rows({path: REGISTRY}.get, [path], "o/r@1"))
    same("functions", [r["source"] for r in rows], [f"o/r@1:{path} llama3_8b", f"o/r@1:{path} llama3_8b_float8"])
    same("registry", [rows[0][c] for c in ("model", "precision", "gpus", "tp", "mbs", "seq", "words")], ["llama3.1-8b", "bf16", "", 4, 2, 4096,
         "--sequence-parallel --fsdp full --cuda-graph-impl local --cuda-graph-scope full_iteration"])
    same("float8", (rows[1]["precision"], rows[1]["words"]), ("fp8", "--fp8-recipe tensorwise --sequence-parallel --tp-comm-overlap --fsdp full --recompute full"))


def whole(source, program, step):
    """Each recipe for its own GPUs, of which nothing is told but what chooses the row: refused is wrong, too large is not."""
    per, asked = {"H100": 8, "H200": 8, "B200": 8, "B300": 8, "GB200": 4, "GB300": 4}, set()
    with open(os.path.join(source, "workloads/recipes.csv"), encoding="utf-8", newline="") as file:
        rows = [r for r in csv.DictReader(file) if r["tp"] and int(r["gpus"] or 64) >= per.get(r["gpu"], 1)]
    for row in rows[::step]:
        card = row["gpu"] or ("B200" if row["precision"] == "mxfp8" else "H100")
        precision = ["fp8", "--fp8-recipe", "blockwise"] if row["precision"] == "fp8_block" else [row["precision"] or "bf16"]
        asked.add(("--stack", row["stack"].split()[-1], "--model", row["model"], "--platform", card.lower(), "--nodes",
                   str(int(row["gpus"] or 64) // per[card]), "--precision", *precision, *([] if row["gbs"] else ["--gbs", "512"])))
    for words in sorted(asked):
        done = subprocess.run([program, "run", *words, "--brief"], capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            wrong.append(f"{' '.join(words)}: {done.stderr.splitlines()[0]}")
    if len(asked) < 30:
        wrong.append(f"{len(asked)} recipes")


def main():
    for name, test in sorted(globals().items()):
        if name.startswith("test_"):
            with tempfile.TemporaryDirectory() as root:
                test(root)
    if len(sys.argv) > 2:
        whole(sys.argv[1], sys.argv[2], 1 if "--all" in sys.argv else 13)
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
