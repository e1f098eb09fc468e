# SPDX-License-Identifier: Apache-2.0
"""Recipes of dgxc-benchmarking (for recipes.py): the launchers of its releases, which call the recipes of Megatron-Bridge and NeMo with overrides.

Its metadata.yaml says for which cards, precisions and numbers of GPUs a launcher is. Each of them runs launch.sh in a shell whose python prints
its words, and reads those. What they leave unsaid is the row of the framework's release for that card and precision. No row is made where nothing
but GPUs and batch differ from it, where the release has none, or where the words cut the model (proxies).
"""
import json
import os
import re
import subprocess
import tempfile

import yaml

REPOSITORY = "NVIDIA/dgxc-benchmarking"
TAGS = ("v25.05", "v25.07", "v25.08.02", "v25.10.02", "v25.12.02", "v26.02.01", "v26.05", "v26.06.01")
PRECISIONS = {"bf16": "bf16", "nvfp4": "nvfp4", "fp8": "fp8", "fp8_cs": "fp8", "fp8_ds": "fp8", "fp8_sc": "fp8_block", "fp8_ss": "fp8_block", "fp8_mx": "mxfp8"}
SIZES = {"-tp": "tp", "-pp": "pp", "-cp": "cp", "-vp": "vp", "-ep": "ep", "-et": "etp", "-mb": "mbs", "-gb": "gbs"}
STUBS = 'pushd() { :; }; popd() { :; }; mkdir() { :; }; srun() { :; }; python3() { echo "RUNS $*"; }; python() { python3 "$@"; }; . ./launch.sh'
LAYOUT = "--pipeline-model-parallel-layout"


def launched(script, **variables):
    """What a launcher calls with these variables: an option with its values, a list; None where it calls nothing or stops."""
    env = {"PATH": "/usr/bin:/bin", "LLMB_INSTALL": "/", "HF_TOKEN": "-", "SBATCH_ACCOUNT": "-", "SBATCH_PARTITION": "-", **variables}
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "launch.sh"), "w", encoding="utf-8") as file:
            file.write(script)
        done = subprocess.run(["bash", "-c", STUBS], cwd=folder, env=env, capture_output=True, text=True, check=False)
    line = re.search(r"^RUNS (.*)$", done.stdout, re.M)
    if done.returncode or not line:
        return None
    found, option = {"script": line[1].split()[:2]}, None
    for word in line[1].split():
        if word.startswith("-"):
            option, _, value = word.partition("=")
            found[option] = [value] if value else []
        elif option:
            found[option].append(word)
    return found


def first(words, *options):
    return next((words[o][0] for o in options if words.get(o)), "")


def named(words):
    """The framework's name of the model, "llama3_70b"; NeMo's is in its script's."""
    script = re.search(r"pretrain_(\w+)", " ".join(words["script"]))
    return script[1] if script else first(words, "--model_recipe_name") or f"{first(words, '--model_name')}_{first(words, '--model_size')}"


def stack_of(words, stacks):
    """The stack of the container: of 26.04.00, 26.04; of a patch without a stack of its own, its release's."""
    release = re.search(r"nemo\+(\d+\.\d+)(\.\d+)?", first(words, "--container_image"))
    family = "megatron-bridge-" if "setup_experiment" in " ".join(words["script"]) else "nemo-"
    names = [family + release[1] + (release[2] or ""), family + release[1]] if release else []
    return next((name for name in names if name in stacks), None)


def without(words, *flags):
    """Words of a row but those of these flags."""
    kept, drops = [], False
    for word in words.split():
        drops = word in flags if word.startswith("--") else drops
        kept += [] if drops else [word]
    return " ".join(kept)


def edited(text, words):
    """A row's words as a launcher changes them. moe_a2a_overlap False changes nothing: overrides.py acts where it is true alone."""
    modules = [m for value in words.get("--recompute_modules", words.get("-rm", [])) for m in value.split(",")]
    layers, offload = first(words, "-rl", "--recompute_num_layers"), first(words, "-ol", "--activation_offload_layers")
    recompute = ("--recompute-granularity", "--recompute-modules", "--recompute-method", "--recompute-num-layers")
    if modules:
        text = f"{without(text, *recompute)} --recompute-granularity selective --recompute-modules {' '.join(modules)}"
    if layers not in ("", "0"):
        text = f"{without(text, *recompute)} --recompute-granularity full --recompute-method block --recompute-num-layers {layers}"
    if offload:
        text = without(text, "--cpu-offloading", "--cpu-offloading-num-layers")
        text += f" --cpu-offloading --cpu-offloading-num-layers {offload}" if offload != "0" else ""
    graph, scope = first(words, "--cuda_graph_impl"), first(words, "--cuda_graph_scope").replace(",", " ")
    graph = {"true": "local", "false": "none"}.get(first(words, "--cuda_graphs", "-cg").lower(), graph)
    if graph:
        text = without(text, "--cuda-graph-impl", "--cuda-graph-scope")
        text += "" if graph == "none" else f" --cuda-graph-impl {graph}" + (f" --cuda-graph-scope {scope}" if scope else "")
    if first(words, "--moe_a2a_overlap").lower() == "true" and "--overlap-moe-expert-parallel-comm" not in text:
        text += " --overlap-moe-expert-parallel-comm --delay-wgrad-compute"
    sharding = ("--use-megatron-fsdp", "--data-parallel-sharding-strategy", "--use-distributed-optimizer", "--overlap-grad-reduce", "--overlap-param-gather")
    if first(words, "-fsdp") == "1" and sharding[0] not in text:
        text = f"{without(text, *sharding)} --use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params"
    if first(words, "-fsdp") == "0" and sharding[0] in text:
        text = f"{without(text, *sharding)} --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather"
    return text


def stages(row, base, known):
    """The row with the layout of stages that the release has for its pipeline; None where it has none that is read."""
    if LAYOUT not in base["words"] or all(str(row[c]) == str(base[c]) for c in ("pp", "vp")):
        return row
    like = [r for r in known if r["model"] == row["model"] and str(r["pp"]) == str(row["pp"]) and str(r["vp"]) == str(row["vp"]) and LAYOUT in r["words"] and
            r["stack"].split("-")[0] == base["stack"].split("-")[0]]
    rest = without(row["words"], LAYOUT)
    if str(row["pp"]) == "1":
        return {**row, "words": rest}
    return {**row, "words": " ".join([LAYOUT, re.search(LAYOUT + r" (\S+)", like[0]["words"])[1], rest])} if like else None


def shape(model):
    """Width and layers of a model."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "models", model + ".json"), encoding="utf-8") as file:
        config = json.load(file)
    return config["hidden_size"], config["num_hidden_layers"]


def accounts(row, layers):
    """The row with embedding and loss counted as layers where the pipeline is even with them alone, as the frameworks' recipes have it."""
    flags, parts = ("--account-for-embedding-in-pipeline-split", "--account-for-loss-in-pipeline-split"), int(row["pp"]) * int(row["vp"])
    if int(row["pp"]) == 1:
        return {**row, "words": without(row["words"], *flags)}
    uneven = layers % parts and (layers + 2) % parts == 0 and LAYOUT not in row["words"] and flags[0] not in row["words"]
    return {**row, "words": " ".join((row["words"],) + flags)} if uneven else row


def row_of(words, card, known, models, stacks):
    """The row of a launch; None: see above."""
    model, stack, kind = models.get(named(words)), stack_of(words, stacks), first(words, "--compute_dtype", "-c")
    kind = f"fp8_{first(words, '--fp8_recipe')}" if kind == "fp8" and first(words, "--fp8_recipe") else kind
    variant, gpus = first(words, "--config_variant", "-cv") or "v2", int(first(words, "--num_gpus"))
    found = [r for r in known if stack in r["stack"].split() and (r["model"], r["gpu"], r["precision"]) == (model, card.upper(), PRECISIONS.get(kind)) and r["gpus"]]
    if not found or any(first(words, option) not in ("", str(size)) for option, size in zip(("--hidden_size", "--num_layers"), shape(model))):
        return None
    base = min(found, key=lambda r: (not r["source"].endswith(" " + variant), abs(int(r["gpus"]) - gpus)))
    row = {**base, "stack": stack, "gpus": gpus, "gbs": int(base["gbs"]) * gpus // int(base["gpus"]), "words": edited(base["words"], words)}
    for option, column in SIZES.items():
        if words.get(option) and (column not in ("ep", "etp") or base["ep"]):
            row[column] = 1 if words[option][0] == "None" else int(words[option][0])
    row["vp"] = row["vp"] if int(row["pp"]) > 1 else 1
    row = stages(accounts(row, shape(model)[1]), base, known)
    changed = row and any(str(row[c]) != str(base[c]) for c in row if c not in ("stack", "gpus", "gbs", "source"))
    return row if changed or (row and row["gbs"] * int(base["gpus"]) != int(base["gbs"]) * gpus) else None


def rows(show, names, source, known, models):
    """Rows of one tag. show(path): the text of a file; names: all of the tag; known: rows of the frameworks; models: their names of those of stepsim."""
    stacks = {s for r in known for s in r["stack"].split()}
    for path in (n for n in names if n.endswith("metadata.yaml") and "finetune" not in n):
        run, folder = yaml.safe_load(show(path)).get("run") or {}, os.path.dirname(path)
        script = show(f"{folder}/launch.sh")
        for card, of in (run.get("gpu_configs") or {}).items():
            for config in of.get("model_configs") or [] if script else []:
                kinds = config.get("dtypes") or []
                for kind, gpus in ((k, g) for k in kinds for g in (kinds[k] if isinstance(kinds, dict) else config.get("scales") or [])):
                    words = launched(script, GPU_TYPE=card, MODEL_SIZE=str(config["model_size"]), DTYPE=kind, JOB_TOTAL_GPUS=str(gpus))
                    row = words and first(words, "--num_gpus") and row_of(words, card, known, models, stacks)
                    if row:
                        yield {**row, "source": f"{source}:{folder}/launch.sh {card} {kind} {gpus}"}
