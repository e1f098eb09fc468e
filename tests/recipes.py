#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What workloads/recipes_*.py read of configuration files, on small ones that are written here: recipes.py SOURCE."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(sys.argv[1], "workloads"))
import recipes_mlperf  # noqa: E402

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
                b + "config_common.sh": common, b + "config_GB200_8x4x16.sh": large, b + "conf/custom.yaml": YAML,
                "NVIDIA/benchmarks/dlrm/nemo/config_GB200_1x4x1.sh": large, "NVIDIA/results/llama31_405b/config_GB200_1x4.sh": large})
    env = recipes_mlperf.shell(os.path.join(root, b, "config_GB200_8x4x16.sh"))
    same("variables", [env.get(n) for n in ("FP8", "MICRO_BATCH_SIZE", "SEGMENT", "TP_COMM_OVERLAP")], ["True", "2", None, None])
    rows = list(recipes_mlperf.rows(root, "o/r@1"))
    same("files", [r["source"] for r in rows], [f"o/r@1:{b}config_GB200_8x4x16.sh", f"o/r@1:{a}config_DGXH100_2x8x3.sh"])
    same("large", [rows[0][c] for c in ("model", "gpu", "precision", "gpus", "tp", "pp", "vp", "mbs", "gbs", "ep", "words")],
         ["llama3.1-405b", "GB200", "nvfp4", 32, 4, 4, 2, 2, 32, "", "--sequence-parallel --cuda-graph-impl local --cuda-graph-scope full_iteration --overlap-grad-reduce"])
    same("small", [rows[1][c] for c in ("model", "gpu", "precision", "gpus", "vp", "gbs", "ep", "words")],
         ["gpt-oss-20b", "H100", "mxfp8", 16, 1, 48, 1, "--overlap-grad-reduce --moe-grouped-gemm"])


def main():
    for name, test in sorted(globals().items()):
        if name.startswith("test_"):
            with tempfile.TemporaryDirectory() as root:
                test(root)
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
