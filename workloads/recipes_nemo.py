# SPDX-License-Identifier: Apache-2.0
"""Recipes of NeMo 2 (for recipes.py): its tables of recommended configurations, a CSV file a card, and the scripts that turn their rows into jobs.

A column of the table says what it says; a script is read for the few switches that it sets or not, by their names, and is not run.
"""
import csv
import io
import re

# Model and size in the tables: the model of stepsim, its layers, and whether it is a mixture.
MODELS = {("llama3", "8b"): ("llama3-8b", 32, False), ("llama3", "70b"): ("llama3-70b", 80, False), ("llama31", "405b"): ("llama3.1-405b", 126, False),
          ("gpt3", "175b"): ("gpt3-175b", 96, False), ("mixtral", "8x7b"): ("mixtral-8x7b", 32, True), ("mixtral", "8x22b"): ("mixtral-8x22b", 56, True),
          ("deepseek", "v3"): ("deepseek-v3", 61, True), ("qwen3", "30b_a3b"): ("qwen3-30b-a3b", 48, True),
          ("qwen3", "235b_a22b"): ("qwen3-235b-a22b", 94, True)}
CARDS = ("h100", "b200", "gb200")
REPOSITORY = "NVIDIA/NeMo"
# By the release of the container, and where the tag has its performance scripts.
RELEASES = [("nemo-25.03", "v2.2.0", "scripts/llm/performance"), ("nemo-25.04", "v2.3.0", "scripts/performance"), ("nemo-25.07", "v2.4.0", "scripts/performance")]


def number(row, column, empty=1):
    return int(float(row.get(column) or empty))


def stages(layers, count):
    """The script's map of stages to layouts: all have as many layers as the first, but the last, which has what is left."""
    each = -(-layers // count)
    return "|".join(("E" if i == 0 else "") + "t" * min(each, layers - each * i) + ("L" if i == count - 1 else "") for i in range(count))


def expert_words(card, script, recipe):
    both = script + recipe
    if "moe_enable_deepep = True" in script and card == "h100":
        words = ["--moe-token-dispatcher-type", "flex", "--moe-flex-dispatcher-backend", "deepep"]
    else:
        words = ["--moe-token-dispatcher-type", "alltoall"]
        words += ["--moe-expert-capacity-factor", "1.0", "--moe-pad-expert-input-to-capacity"] if "MegatronTokenDropCallback)" in both else []
    return words + (["--moe-permute-fusion"] if "moe_permute_fusion = True" in script else [])


def words_of(row, card, layers, mixture, texts):
    """The words of a table's row; texts: of the script, of the recipe up to its fine-tuning, and of the helpers of all scripts."""
    script, recipe, helpers = texts
    tp, pp, vp, words = number(row, "tp_size"), number(row, "pp_size"), number(row, "vp_size"), []
    if "map_pp_vp_to_layout" in script and pp > 1:
        words += ["--pipeline-model-parallel-layout", stages(layers, pp * vp), "--mtp-num-layers", "0"]  # its DeepSeek-V3 has none
    elif layers % (pp * vp) and (layers + 2) % (pp * vp) == 0:
        words += ["--account-for-embedding-in-pipeline-split", "--account-for-loss-in-pipeline-split"]
    words += ["--sequence-parallel"] if tp > 1 else []
    if number(row, "recompute_layers", 0):
        words += ["--recompute-granularity", "full", "--recompute-method", "block", "--recompute-num-layers", str(number(row, "recompute_layers"))]
    elif row.get("recompute_modules"):
        words += ["--recompute-granularity", "selective", "--recompute-modules"] + row["recompute_modules"].split("/")
    if number(row, "activation_offload_layers", 0):
        words += ["--cpu-offloading", "--cpu-offloading-num-layers", str(number(row, "activation_offload_layers"))]
    words += expert_words(card, script, recipe) if mixture else []
    fsdp = number(row, "use_mcore_fsdp", 0)
    words += ["--cuda-graph-impl", "local"] if number(row, "cuda_graphs", 0) and not fsdp else []
    words += (["--use-megatron-fsdp", "--data-parallel-sharding-strategy", "optim_grads_params"] if fsdp else
              ["--use-distributed-optimizer", "--overlap-grad-reduce", "--overlap-param-gather"])
    words += ["--tp-comm-overlap"] if tp > 1 and "tp_comm_overlap=True" in script + recipe else []
    return words + (["--use-precision-aware-optimizer"] if row["dtype"] == "bf16" and "use_precision_aware_optimizer = True" in helpers else [])


def rows(show, _, source, folder):
    """Rows of one tag. show(path): the text of a file, "" where the tag has none; folder: of the scripts."""
    helpers = show(f"{folder}/helpers.py")
    for card in CARDS:
        table = f"{folder}/recommended_model_configs/model_configs_{card}.csv"
        for row in csv.DictReader(io.StringIO(show(table))):
            known = MODELS.get((row["model"], row["size"]))
            if not known or row["task"] != "pre_train" or row["system"] != card or row["dtype"] not in ("bf16", "fp8"):
                continue
            name, layers, mixture = known
            file = f"{row['model']}_{row['size']}.py"
            script = show(f"{folder}/llm/pretrain_{file}") or show(f"{folder}/pretrain_{file}")
            recipe = re.split(r"\ndef finetune_recipe", show(f"nemo/collections/llm/recipes/{file}"))[0]
            if not script or (name == "deepseek-v3" and "map_pp_vp_to_layout" not in script):
                continue
            sizes = {c: number(row, c + "_size") for c in ("tp", "pp", "cp", "vp")}
            yield {"model": name, "gpu": card.upper(), "precision": row["dtype"], "gpus": number(row, "num_gpus"), **sizes,
                   "ep": number(row, "ep_size") if mixture else "", "etp": number(row, "etp_size") if mixture else "", "mbs": number(row, "mbs"),
                   "gbs": number(row, "gbs"), "seq": number(row, "seq_len"),
                   "words": " ".join(words_of(row, card, layers, mixture, (script, recipe, helpers))), "source": f"{source}:{table}"}
