# SPDX-License-Identifier: Apache-2.0
"""Recipes of torchtitan (for recipes.py): the TOML files of train_configs, and of releases since March 2026 the functions of config_registry.py.

A function of a registry is run as it stands, with recorders in place of what it imports; a function whose layers are not all of one precision,
or that trains other than by Adam, makes no row.
"""
import ast
import re
import tomllib

MODELS = {("llama3", "8B"): "llama3.1-8b", ("llama3", "70B"): "llama3.1-70b", ("llama3", "405B"): "llama3.1-405b", ("qwen3", "0.6B"): "qwen3-0.6b",
          ("qwen3", "1.7B"): "qwen3-1.7b", ("qwen3", "14B"): "qwen3-14b", ("qwen3", "32B"): "qwen3-32b", ("qwen3", "30B-A3B"): "qwen3-30b-a3b",
          ("llama4", "17bx16e"): "llama4-scout", ("llama4", "17bx128e"): "llama4-maverick", ("deepseek_v3", "16B"): "deepseek-v2-lite",
          ("deepseek_v3", "671B"): "deepseek-v3", ("gpt_oss", "20b"): "gpt-oss-20b", ("gpt_oss", "120b"): "gpt-oss-120b"}
MIXTURES = re.compile(r"llama4|deepseek|gpt-oss|-a\d+b$")
REPOSITORY = "pytorch/torchtitan"
RELEASES = [("torchtitan-2025", "v0.1.0"), ("torchtitan-2025", "v0.2.0"), ("torchtitan-2025", "v0.2.2"), ("torchtitan-2026", "b5bcd76c6")]
FILE = re.compile(r"torchtitan/models/\w+/train_configs/\S+\.toml")
REGISTRY = re.compile(r"torchtitan/models/(\w+)/config_registry\.py")
# The first lines say for how many GPUs a file is, whatever their kind: it holds for all cards.
PRESET = re.compile(r"preset for (\d+) \w+ GPUs")
EXCHANGES = {"standard": ["--moe-token-dispatcher-type", "alltoall"], "deepep": ["--moe-token-dispatcher-type", "flex", "--moe-flex-dispatcher-backend", "deepep"],
             "hybridep": ["--moe-token-dispatcher-type", "flex", "--moe-flex-dispatcher-backend", "hybridep"]}


class Recorder:
    """What is asked of a name that a registry imports: a call keeps its words and values, and the name that was called."""

    def __init__(self, name, words=(), values=()):
        self.__dict__.update(values, _name=name, _words=words)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = Recorder(f"{self._name}.{name}")
        self.__dict__[name] = made
        return made

    def __call__(self, *words, **values):
        return Recorder(self._name, words, values)

    def __getitem__(self, key):
        return Recorder(self._name)

    def __iter__(self):
        return iter(())

    def __len__(self):
        return 0


def words_of(config, mixture):
    parallel, checkpoint = config.get("parallelism", {}), config.get("activation_checkpoint", {})
    converters = config["model"].get("converters", [])
    float8 = config.get("float8") or config.get("quantize", {}).get("linear", {}).get("float8", {})
    words = ["--fp8-recipe", "tensorwise"] if "float8" in converters else []
    words += ["--fp8-param-gather"] if "float8" in converters and float8.get("enable_fsdp_float8_all_gather") else []
    words += ["--mtp-num-layers", "0"] if config["model"]["name"] == "deepseek_v3" else []
    if parallel.get("tensor_parallel_degree", 1) > 1:
        words += ["--sequence-parallel"] + (["--tp-comm-overlap"] if parallel.get("enable_async_tensor_parallel") else [])
    words += EXCHANGES[parallel.get("expert_parallel_comm_backend", "standard")] if mixture else []
    words += ["--fsdp", "full"] if parallel.get("data_parallel_shard_degree", -1) != 1 else []
    mode = checkpoint.get("mode", "selective")
    if mode == "full" or (mode == "selective" and checkpoint.get("selective_ac_option", "op") == "op"):
        words += ["--recompute", "full" if mode == "full" else "op-selective"]
    return words + (["--cuda-graph-impl", "local", "--cuda-graph-scope", "full_iteration"] if config.get("training", {}).get("cuda_graphs") else [])


def row_of(config, text=""):
    """The row of a configuration; None where it is of no model that is known, or a pipeline, whose stages torchtitan makes otherwise."""
    model, training, parallel = config.get("model", {}), config.get("training", {}), config.get("parallelism", {})
    name, preset = MODELS.get((model.get("name"), model.get("flavor"))), PRESET.search(text)
    if not name or parallel.get("pipeline_parallel_degree", 1) > 1:
        return None
    tp, pp, cp, ep = (parallel.get(f"{kind}_parallel_degree", 1) for kind in ("tensor", "pipeline", "context", "expert"))
    mbs, gpus, mixture = training.get("local_batch_size", 8), int(preset[1]) if preset else "", bool(MIXTURES.search(name))
    converters = model.get("converters", [])
    return {"model": name, "gpu": "", "precision": "fp8" if "float8" in converters else "mxfp8" if "mx" in converters else "bf16", "gpus": gpus, "tp": tp,
            "pp": pp, "cp": cp, "vp": 1, "ep": ep if mixture else "", "etp": parallel.get("expert_tensor_parallel_degree", 1) if mixture else "", "mbs": mbs,
            "gbs": mbs * gpus // (tp * pp * cp) if preset else "", "seq": training.get("seq_len", 2048), "words": " ".join(words_of(config, mixture))}


def functions(text):
    """The functions of a registry that take nothing, run."""
    tree, names = ast.parse(text), {}
    imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    for name in (alias.asname or alias.name for node in imports for alias in node.names):
        names[name] = (lambda value, *_: value) if name == "cast" else Recorder(name)
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    exec(compile(ast.Module(found, []), "config_registry.py", "exec"), names)  # pylint: disable=exec-used
    for name in (node.name for node in found if not node.args.args and "debug" not in node.name):
        try:
            yield name, names[name]()
        except (AttributeError, KeyError, NameError, TypeError, ValueError):  # asks more of what it imports than a recorder knows
            continue


def from_registry(model, config):
    """A function's configuration by the keys of a TOML file; None: see above. Defaults are those of torchtitan/config/configs.py."""
    given, training, parallel = config.model_spec, vars(config.training), vars(config.parallelism)
    flavor, converters = given._words[0] if given._words else "", [c._name for c in vars(given).get("converters", [])]
    kinds = {"float8" if "Float8" in c else "mx" if "MXFP8" in c else "" for c in converters}
    checkpoint = vars(config).get("activation_checkpoint")
    if "" in kinds or "optimizer" not in vars(config) or config.optimizer._name != "default_adamw":
        return None
    seq = training.get("max_context_length", 2048)
    backend = vars(given).get("moe_comm_backend", "standard")
    return {"model": {"name": model, "flavor": flavor, "converters": sorted(kinds)},
            "training": {"seq_len": seq, "local_batch_size": training.get("num_tokens_per_microbatch_per_dp_rank", 16384) // seq,
                         "cuda_graphs": not training.get("disable_cuda_graphs", False)},
            "parallelism": {**parallel, "expert_parallel_comm_backend": backend,
                            "enable_async_tensor_parallel": vars(config.compile).get("enable_async_tensor_parallel", False)},
            "activation_checkpoint": {"mode": "none" if checkpoint is None else "full" if checkpoint._name == "FullAC.Config" else "selective"}}


def rows(show, names, source):
    """Rows of one tag. show(path): the text of a file; names: all of the tag."""
    for path in filter(FILE.fullmatch, names):
        text = show(path)
        row = row_of(tomllib.loads(text), text)
        if row:
            yield {**row, "source": f"{source}:{path}"}
    for path in filter(REGISTRY.fullmatch, names):
        for name, config in functions(show(path)):
            given = from_registry(REGISTRY.fullmatch(path)[1], config) if config is not None else None
            if given and given["parallelism"]["expert_parallel_comm_backend"] in EXCHANGES and row_of(given):
                yield {**row_of(given), "source": f"{source}:{path} {name}"}
