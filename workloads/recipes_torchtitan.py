# SPDX-License-Identifier: Apache-2.0
"""Recipes of torchtitan (for recipes.py): the TOML files of train_configs, of the releases that have them, for dense models that stepsim knows."""
import re
import tomllib

MODELS = {("llama3", "8B"): "llama3.1-8b", ("llama3", "70B"): "llama3.1-70b", ("llama3", "405B"): "llama3.1-405b", ("qwen3", "0.6B"): "qwen3-0.6b",
          ("qwen3", "1.7B"): "qwen3-1.7b", ("qwen3", "32B"): "qwen3-32b"}
REPOSITORY = "pytorch/torchtitan"
RELEASES = [("torchtitan-2025", "v0.1.0"), ("torchtitan-2025", "v0.2.0")]
FILE = re.compile(r"torchtitan/models/\w+/train_configs/\S+\.toml")
# The first lines say for how many GPUs a file is, whatever their kind: it holds for all cards.
PRESET = re.compile(r"preset for (\d+) \w+ GPUs")


def words_of(config):
    parallel, checkpoint = config.get("parallelism", {}), config.get("activation_checkpoint", {})
    converters = config["model"].get("converters", [])
    float8 = config.get("float8") or config.get("quantize", {}).get("linear", {}).get("float8", {})
    words = ["--fp8-recipe", "tensorwise"] if "float8" in converters else []
    words += ["--fp8-param-gather"] if "float8" in converters and float8.get("enable_fsdp_float8_all_gather") else []
    if parallel.get("tensor_parallel_degree", 1) > 1:
        words += ["--sequence-parallel"] + (["--tp-comm-overlap"] if parallel.get("enable_async_tensor_parallel") else [])
    words += ["--fsdp", "full"] if parallel.get("data_parallel_shard_degree", -1) != 1 else []
    mode = checkpoint.get("mode", "selective")
    if mode == "full" or (mode == "selective" and checkpoint.get("selective_ac_option", "op") == "op"):
        words += ["--recompute", "full" if mode == "full" else "op-selective"]
    return words


def row_of(text):
    """The row of a file; None where it is of no model that is known, or a mixture."""
    config = tomllib.loads(text)
    model, training, parallel = config.get("model", {}), config.get("training", {}), config.get("parallelism", {})
    name, preset = MODELS.get((model.get("name"), model.get("flavor"))), PRESET.search(text)
    if not name:
        return None
    tp, pp, cp = (parallel.get(f"{kind}_parallel_degree", 1) for kind in ("tensor", "pipeline", "context"))
    mbs, gpus = training.get("local_batch_size", 8), int(preset[1]) if preset else ""
    return {"model": name, "gpu": "", "precision": "fp8" if "float8" in model.get("converters", []) else "bf16", "gpus": gpus, "tp": tp, "pp": pp, "cp": cp,
            "vp": 1, "ep": "", "etp": "", "mbs": mbs, "gbs": mbs * gpus // (tp * pp * cp) if preset else "", "seq": training.get("seq_len", 2048),
            "words": " ".join(words_of(config))}


def rows(show, names, source):
    """Rows of one tag. show(path): the text of a file; names: all of the tag."""
    for path in filter(FILE.fullmatch, names):
        row = row_of(show(path))
        if row:
            yield {**row, "source": f"{source}:{path}"}
