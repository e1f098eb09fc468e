# SPDX-License-Identifier: Apache-2.0
"""Recipes of MLPerf Training's submissions on NVIDIA's cards: their config_*.sh and the configuration beside them (for recipes.py).

A config file sets variables of the environment, and sources others of its folder. conf/*.yaml beside it says by OmegaConf's resolvers what a
variable sets and what stands where it is not set. Both are read as they stand: no shell runs, and what hangs on a condition or a command is left
out. A card is told by the file's name, or by that of its node.
"""
import os
import re

import yaml

MODELS = {"405b": "llama3.1-405b", "8b": "llama3.1-8b", "20b": "gpt-oss-20b", "671b": "deepseek-v3"}
MIXTURES = ("gpt-oss-20b", "deepseek-v3")
PRECISIONS = {"tensorwise": "fp8", "delayed": "fp8", "blockwise": "fp8_block", "mxfp8": "mxfp8"}
# Folders whose jobs train one of MODELS; a submitter's name of a benchmark may differ a little.
BENCHMARKS = re.compile(r"/benchmarks/(llama3\w*|gpt[-_]oss\w*|deepseek\w*)/")
CARD = re.compile(r"config_\S*?(GB200|GB300|B200|B300|H100|H200|XD670)")
NODES = {"XD670": "H200"}  # systems/HPE-Cray-XD670-H200-*.json of the rounds 5.0 and 5.1
# YAML key and the word where it is true.
SWITCHES = [("ub_tp_comm_overlap", "--tp-comm-overlap"), ("account_for_embedding_in_pipeline_split", "--account-for-embedding-in-pipeline-split"),
            ("account_for_loss_in_pipeline_split", "--account-for-loss-in-pipeline-split"), ("use_distributed_optimizer", "--use-distributed-optimizer"),
            ("overlap_grad_reduce", "--overlap-grad-reduce"), ("overlap_param_gather", "--overlap-param-gather"),
            ("use_precision_aware_optimizer", "--use-precision-aware-optimizer"), ("fused_single_qkv_rope", "--fused-single-qkv-rope")]
OF_EXPERTS = [("moe_grouped_gemm", "--moe-grouped-gemm"), ("moe_permute_fusion", "--moe-permute-fusion"), ("moe_router_fusion", "--moe-router-fusion"),
              ("use_transformer_engine_op_fuser", "--use-transformer-engine-op-fuser"),
              ("moe_router_force_load_balancing", "--moe-router-force-load-balancing"),
              ("overlap_moe_expert_parallel_comm", "--overlap-moe-expert-parallel-comm"), ("delay_wgrad_compute", "--delay-wgrad-compute")]
SOURCE = re.compile(r"(?:source|\.)\s+\S.*?([\w.-]+)\s*$")
SET = re.compile(r"(?:export\s+)?(\w+)=(.*)$")
DEFAULT = re.compile(r':\s+"?\$\{(\w+):=([^}]*)\}"?$')


def expanded(text, env):
    """The value of an assignment; None where a command makes it."""
    text = re.sub(r"\s+#.*$", "", text).strip()
    if text[:1] == "'":
        return text.strip("'")
    text = re.sub(r"\$\{(\w+)(?::?-([^}]*))?\}|\$(\w+)", lambda m: env.get(m[1] or m[3], m[2] or ""), text.strip('"'))
    return None if "$(" in text or "`" in text else text


def shell(path, env=None):
    """Variables that a config file sets, in its order, with those of the files that it sources."""
    env, depth = {} if env is None else env, 0
    with open(path, encoding="utf-8") as file:
        lines = file.read().replace("\\\n", " ").split("\n")
    for line in (text.strip() for text in lines):
        depth += bool(re.match(r"(if|for|while|case)\b", line)) - bool(re.search(r"\b(fi|done|esac)\s*$", line))
        source, default, sets = SOURCE.match(line), DEFAULT.match(line), SET.match(line)
        if depth or line.startswith("#"):
            continue
        if source:
            other = os.path.join(os.path.dirname(path), source[1])
            if os.path.isfile(other):
                shell(other, env)
        elif default:
            env.setdefault(default[1], default[2])
        elif line.startswith("unset "):
            for name in line.split()[1:]:
                env.pop(name, None)
        elif sets:
            value = expanded(sets[2], env)
            env.pop(sets[1], None) if value is None else env.__setitem__(sets[1], value)
    return env


def leaves(tree, found):
    for key, value in tree.items() if isinstance(tree, dict) else ():
        if isinstance(value, dict):
            leaves(value, found)
        else:
            found.setdefault(key, "" if value is None else str(value))
    return found


def configuration(folder):
    """Keys of conf/**/*.yaml and their texts; a key is told by its last name."""
    found = {}
    for base, _, files in sorted(os.walk(os.path.join(folder, "conf"))):
        for file in sorted(f for f in files if f.endswith(".yaml")):
            with open(os.path.join(base, file), encoding="utf-8") as text:
                leaves(yaml.safe_load(text), found)
    return found


def resolved(key, conf, env):
    """The text of a key, its resolvers from the innermost on; "" where nothing sets it."""
    def one(match):
        name, _, rest = match[1].partition(":")
        words = [w.strip().strip("'\"") for w in rest.split(",")]
        if name == "oc.env":
            return env.get(words[0], words[1] if len(words) > 1 else "")
        if name == "oc.decode":
            return rest
        if name == "eq":
            return str(words[0] == words[1])
        if name == "if":
            return words[1 if words[0] == "True" else 2]
        return resolved(name.split(".")[-1], conf, env) if not rest else ""

    text, before = conf.get(key, ""), None
    while text != before:
        before, text = text, re.sub(r"\$\{([^${}]*)\}", one, text)
    text = text.strip().strip("'\"")
    return "" if text in ("null", "None", "none") else text


def code_words(path, get, conf, env):
    """What pretrain.py beside a config file sets, or leaves to a variable of its own."""
    file = os.path.join(os.path.dirname(path), "pretrain.py")
    if not os.path.isfile(file):
        return []
    with open(file, encoding="utf-8") as text:
        code = text.read()
    size = re.search(r"\bvocab_size=(\d+)", code)
    averages = get("average_in_collective") if "average_in_collective" in conf else env.get("AVERAGE_IN_COLLECTIVE", "0")
    apart = re.search(r"average_in_collective ?= ?(hydra_config|config|os\.getenv)", code) and averages not in ("True", "1")
    return ((["--vocab-size", size[1]] if size else []) + (["--no-ddp-average-in-collective"] if apart else []) +
            (["--no-check-for-nan-in-loss-and-grad"] if re.search(r"check_for_nan_in_grad ?= ?False", code) else []))


def graph_words(get):
    impl, scope = get("cuda_graph_implementation"), get("cuda_graph_scope").replace(",", " ").split()
    if not impl and get("enable_cuda_graph") in ("True", "1"):
        impl = "local"
    if get("external_cuda_graph") in ("True", "1"):
        impl = "transformer_engine"
    return ["--cuda-graph-impl", impl] + (["--cuda-graph-scope"] + scope if scope and scope != ["full"] else []) if impl else []


def words_of(get, mixture, sizes):
    words, on = [], lambda key: get(key) in ("True", "1")
    if get("pipeline_layout"):
        words += ["--pipeline-model-parallel-layout", get("pipeline_layout")]
    if get("mtp_num_layers") not in ("", "0"):
        words += ["--mtp-num-layers", get("mtp_num_layers")]
    recipe = get("fp8_recipe") if on("fp8") and not on("fp4") else ""
    words += ["--fp8-recipe", recipe] if recipe in ("tensorwise", "delayed") else []
    words += ["--sequence-parallel"] if sizes["tp"] > 1 and get("sequence_parallel") != "False" else []
    granularity, modules = get("activations_checkpoint_granularity"), get("recompute_modules").replace(",", " ").split()
    if granularity == "full":
        words += ["--recompute-granularity", "full"]
        for key in ("method", "num_layers"):
            words += [f"--recompute-{key.replace('_', '-')}", get(f"activations_checkpoint_{key}")] if get(f"activations_checkpoint_{key}") else []
    elif granularity or modules:
        words += ["--recompute-granularity", "selective"] + (["--recompute-modules"] + modules if modules else [])
    if mixture and get("moe_token_dispatcher_type"):
        words += ["--moe-token-dispatcher-type", get("moe_token_dispatcher_type")]
        backend = get("moe_flex_dispatcher_backend")
        if words[-1] == "flex" and backend:
            words += ["--moe-flex-dispatcher-backend", backend]
            words += ["--moe-hybridep-num-sms", get("moe_hybridep_num_sms")] if backend == "hybridep" and get("moe_hybridep_num_sms") else []
    words += graph_words(get)
    words += ["--ddp-bucket-size", get("bucket_size")] if get("bucket_size").isdigit() and get("overlap_grad_reduce") == "True" else []
    words += ["--align-param-gather"] if on("align_param_gather") and on("overlap_param_gather") and sizes["vp"] == 1 else []
    words += [flag for key, flag in SWITCHES + (OF_EXPERTS if mixture else []) if on(key)]
    return words + (["--cp-comm-type", get("cp_comm_type")] if sizes["cp"] > 1 and get("cp_comm_type") else [])


def row_of(path, conf):
    """The row of a config file; None where it tells no whole job of a model and card that are known."""
    env, card = shell(path), CARD.match(os.path.basename(path))
    get = lambda key: resolved(key, conf, env)  # noqa: E731
    number = lambda key, empty: int(get(key)) if get(key).isdigit() else empty  # noqa: E731
    model = MODELS.get(env.get("MODEL_SIZE") or get("base_config"))
    need = ("MINIBS", "DGXNNODES", "TENSOR_MODEL_PARALLEL", "PIPELINE_MODEL_PARALLEL")
    if not card or not model or not all(env.get(n, "").isdigit() for n in need):
        return None
    precision = "nvfp4" if get("fp4") == "True" else PRECISIONS.get(get("fp8_recipe") or "mxfp8") if get("fp8") == "True" else "bf16"
    sizes = {c: number(key, 1) for c, key in (("tp", "tensor_model_parallel_size"), ("pp", "pipeline_model_parallel_size"), ("cp", "context_parallel_size"),
                                              ("vp", "virtual_pipeline_model_parallel_size"), ("mbs", "micro_batch_size"))}
    gpus = int(env["DGXNNODES"]) * int(env.get("DGXNGPU") or number("devices", 8))
    sizes["vp"] = sizes["vp"] if sizes["pp"] > 1 else 1
    mixture = model in MIXTURES
    if precision is None or gpus % (sizes["tp"] * sizes["pp"] * sizes["cp"]):
        return None
    return {"model": model, "gpu": NODES.get(card[1], card[1]), "precision": precision, "gpus": gpus, **sizes, "ep": number("expert_model_parallel_size", 1) if mixture else "",
            "etp": number("expert_tensor_parallel_size", 1) if mixture else "", "gbs": int(env["MINIBS"]) * gpus // (sizes["tp"] * sizes["pp"] * sizes["cp"]),
            "seq": number("encoder_seq_length", 8192), "words": " ".join(words_of(get, mixture, sizes) + code_words(path, get, conf, env))}


def rows(root, source):
    """Rows of a tree of results, one a model, card, precision and layout; NVIDIA's own come first, for others repeat them."""
    found, seen = [], set()
    for folder, _, files in os.walk(root):
        inside = os.path.relpath(folder, root) + "/"
        if BENCHMARKS.search("/" + inside):
            conf = configuration(folder)
            found += [(not inside.startswith("NVIDIA"), inside + file, conf) for file in files if CARD.match(file) and file.endswith(".sh") and conf]
    for _, file, conf in sorted(found, key=lambda f: f[:2]):
        row = row_of(os.path.join(root, file), conf)
        sizes = row and tuple(v for c, v in row.items() if c != "words")
        if row and sizes not in seen:
            seen.add(sizes)
            yield {**row, "source": f"{source}:{file}"}
