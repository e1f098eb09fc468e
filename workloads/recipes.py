#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes workloads/recipes.csv: what the performance recipes of a framework's release set, from checkouts that the user names.

    python3 workloads/recipes.py [--megatron-bridge DIR] [--mlperf-v5.1 DIR] ... > recipes.new && mv recipes.new workloads/recipes.csv

DIR is a git checkout, or its .git folder, with its tags; DIR=REPOSITORY@COMMIT is a folder of files without git. The rows of a framework for which
no folder is given stay as recipes.csv has them. The configuration code of each release of Megatron-Bridge is run as it stands, with recorders in
place of the framework and of PyTorch: no GPU, no package but python3-yaml; so are torchtitan's registries and, in bash, dgxc-benchmarking's
launchers; other frameworks' files are read. Logs and tables of results are never read. Rows that were read by hand stand in recipes-other.csv beside this script and are copied.
"""
import argparse
import csv
import dataclasses
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile

import yaml

import recipes_dgxc
import recipes_mlperf
import recipes_nemo
import recipes_torchtitan

# Release of the framework: the stack of stepsim, and the tag whose configuration files it ships.
RELEASES = [("megatron-bridge-25.09", "v0.1.0rc4"), ("megatron-bridge-25.11", "v0.2.0"), ("megatron-bridge-25.11.01", "v0.2.2"),
            ("megatron-bridge-26.02", "v0.3.0"), ("megatron-bridge-26.02.01", "v0.3.1"), ("megatron-bridge-26.04", "v0.4.0"), ("megatron-bridge-26.04.01", "v0.4.1"),
            ("megatron-bridge-26.06", "v0.5.0"), ("megatron-bridge-26.06.01", "v0.5.1"), ("megatron-bridge-26.08", "v0.6.0")]
CARDS = ("h100", "b200", "b300", "gb200", "gb300")
PRECISIONS = {"bf16": "bf16", "fp8_cs": "fp8", "fp8cs": "fp8", "fp8_sc": "fp8_block", "fp8sc": "fp8_block", "fp8_mx": "mxfp8",
              "fp8mx": "mxfp8", "nvfp4": "nvfp4"}
MODELS = {"deepseek_v3": "deepseek-v3", "deepseek_v4_flash": "deepseek-v4-flash", "deepseek_v4_pro": "deepseek-v4", "kimi_k2": "kimi-k2", "gpt_oss_120b": "gpt-oss-120b", "gpt_oss_20b": "gpt-oss-20b",
          "llama3_8b": "llama3-8b", "llama3_70b": "llama3-70b", "llama31_405b": "llama3.1-405b",
          "nemotron_3_nano": "nemotron-3-nano-30b-a3b", "nemotron_3_super": "nemotron-3-super-120b-a12b",
          "nemotronh_56b": "nemotron-h-56b", "qwen3_30b_a3b": "qwen3-30b-a3b", "qwen3_235b_a22b": "qwen3-235b-a22b"}
COLUMNS = ["stack", "model", "gpu", "precision", "gpus", "tp", "pp", "cp", "vp", "ep", "etp", "mbs", "gbs", "seq", "words", "source"]
# Folders of configuration code; all else of the framework is recorded, not run.
REAL = ("megatron.bridge.recipes", "megatron.bridge.perf_recipes", "utils", "configs")
FOLDERS = ["src/megatron/bridge/recipes", "src/megatron/bridge/perf_recipes", "scripts/performance"]


class Meta(type):
    """Names of the framework: called they make recorders, and what they are asked for is a recorder, too."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Recorder(f"{cls.__name__}.{name}")

    def __iter__(cls):
        return iter(())

    def __or__(cls, other):
        return cls

    __ror__ = __or__


class Recorder(metaclass=Meta):
    """Keeps what it is given; what it was not given is an empty recorder, which is false."""

    def __init__(self, *words, **values):
        object.__setattr__(self, "_name", str(words[0]) if words and isinstance(words[0], str) else type(self).__name__)
        for name, value in values.items():
            setattr(self, name, value)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = Recorder(name)
        object.__setattr__(self, name, made)
        return made

    def __call__(self, *words, **values):
        return Recorder(self._name)

    def __bool__(self):
        return any(not name.startswith("_") for name in vars(self))

    def __iter__(self):
        return iter(())

    def __len__(self):
        return 0

    def __getitem__(self, key):
        return Recorder(self._name)

    def __or__(self, other):
        return other

    def _false(self, other):
        return False

    __lt__ = __le__ = __gt__ = __ge__ = __contains__ = _false

    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return id(self)

    def _number(self, *other):
        return self

    __add__ = __radd__ = __sub__ = __mul__ = __rmul__ = __truediv__ = __floordiv__ = _number

    def __int__(self):
        return 0

    def __float__(self):
        return 0.0


def flex_dispatcher(model, backend, *rest):
    """training/flex_dispatcher_backend.py, on a card that has the backend."""
    if backend:
        model.moe_token_dispatcher_type = "flex"
        model.moe_flex_dispatcher_backend = backend
        model.moe_shared_expert_overlap = False


def graph_modules(model, modules):
    """utils/cuda_graph.py, of v0.6.0."""
    model.cuda_graph_modules = modules


def whole_graph(model):
    """The same file: a graph of the whole iteration."""
    model.cuda_graph_impl = "full_iteration"


def on_blackwell():
    """models/deepseek/deepseek_v4_bridge.py: the card's kernels of hyper-connections; H100 has no row of these models."""
    return True


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds configuration code in the release's folder, and recorders for everything that Python itself does not have."""

    def __init__(self, root):
        self.roots = [os.path.join(root, "src"), os.path.join(root, "scripts/performance")]

    def find_spec(self, name, path=None, target=None):
        if name.startswith(REAL) and (name in REAL or name.startswith(tuple(r + "." for r in REAL))):
            for root in self.roots:
                base = os.path.join(root, *name.split("."))
                if os.path.isfile(base + ".py"):
                    return importlib.util.spec_from_file_location(name, base + ".py")
                if name.count(".") > 2 and os.path.isfile(base + "/__init__.py"):
                    return importlib.util.spec_from_file_location(name, base + "/__init__.py", submodule_search_locations=[base])
                if os.path.isdir(base):  # without its __init__.py, which imports every family
                    spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
                    spec.submodule_search_locations = [base]
                    return spec
        if importlib.machinery.PathFinder.find_spec(name, path) or name in sys.builtin_module_names:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        own = {"apply_flex_dispatcher_backend": flex_dispatcher, "set_cuda_graph_modules": graph_modules,
               "set_full_iteration_cuda_graph": whole_graph, "deepseek_v4_supports_blackwell_fused_kernels": on_blackwell}

        def name_of(name):
            if name.startswith("__"):
                raise AttributeError(name)
            made = own.get(name) or Meta(name, (Recorder,), {})
            setattr(module, name, made)
            return made

        module.__getattr__ = name_of
        module.__all__ = ["CommOverlapConfig"]
        module.__path__ = []


def value(config, path):
    """What the configuration sets; None: nothing."""
    for name in path.split("."):
        if not isinstance(config, Recorder) or name not in vars(config):
            return None
        config = vars(config)[name]
    return None if isinstance(config, Recorder) else config


def layout_text(layout):
    """A list of stages as Megatron's text."""
    letter = {"embedding": "E", "decoder": "t", "mtp": "m", "loss": "L"}
    return layout if isinstance(layout, str) else "|".join("".join(letter[w] for w in stage) for stage in layout)


def listed(words):
    return [words] if isinstance(words, str) else list(words or [])


def graph_words(c):
    impl, scope = value(c, "model.cuda_graph_impl"), value(c, "model.cuda_graph_scope") or value(c, "model.cuda_graph_modules")
    scope = [str(s) for s in listed(scope)]
    if impl in (None, "none"):  # whatever the scope: v0.2.0 to v0.4.1 name one beside "none"
        return []
    if "full_iteration" in scope or impl == "full_iteration":
        return ["--cuda-graph-impl", "local", "--cuda-graph-scope", "full_iteration"]
    return ["--cuda-graph-impl", impl] + (["--cuda-graph-scope"] + scope if scope and scope != ["full"] else [])


def recompute_words(c):
    granularity, modules = value(c, "model.recompute_granularity"), listed(value(c, "model.recompute_modules"))
    if granularity == "full":
        words = ["--recompute-granularity", "full"]
        for flag in ("method", "num_layers"):
            if value(c, "model.recompute_" + flag):
                words += ["--recompute-" + flag.replace("_", "-"), str(value(c, "model.recompute_" + flag))]
        return words
    return ["--recompute-granularity", "selective", "--recompute-modules"] + modules if granularity and modules else []


def switches(c):
    """The words of switches that are on."""
    both = [("comm_overlap.tp_comm_overlap", "--tp-comm-overlap"),
            ("comm_overlap.overlap_moe_expert_parallel_comm", "--overlap-moe-expert-parallel-comm"),
            ("comm_overlap.delay_wgrad_compute", "--delay-wgrad-compute"), ("model.moe_router_fusion", "--moe-router-fusion"),
            ("model.moe_permute_fusion", "--moe-permute-fusion"), ("model.moe_grouped_gemm", "--moe-grouped-gemm"),
            ("model.moe_shared_expert_overlap", "--moe-shared-expert-overlap"),
            ("model.use_fused_weighted_squared_relu", "--use-fused-weighted-squared-relu"),
            ("model.use_transformer_engine_op_fuser", "--use-transformer-engine-op-fuser"),
            ("model.use_fused_mhc", "--use-fused-mhc"), ("model.dsa_indexer_use_sparse_loss", "--dsa-indexer-use-sparse-loss"),
            ("mixed_precision.fp8_dot_product_attention", "--fp8-dot-product-attention"),
            ("optimizer.use_precision_aware_optimizer", "--use-precision-aware-optimizer"),
            ("model.account_for_embedding_in_pipeline_split", "--account-for-embedding-in-pipeline-split"),
            ("model.account_for_loss_in_pipeline_split", "--account-for-loss-in-pipeline-split"),
            ("model.moe_router_force_load_balancing", "--moe-router-force-load-balancing")]
    words = [flag for path, flag in both if value(c, path) is True]
    for name in ("exp_avg_dtype", "exp_avg_sq_dtype"):
        kept = vars(c.optimizer).get(name)
        if "--use-precision-aware-optimizer" in words and kept is not None and "bfloat16" in getattr(kept, "_name", str(kept)):
            words += ["--" + name.replace("_", "-"), "bf16"]
    return words


def sharding_words(c):
    if value(c, "ddp.use_megatron_fsdp"):
        return ["--use-megatron-fsdp", "--data-parallel-sharding-strategy", value(c, "ddp.data_parallel_sharding_strategy")]
    gather = False in (value(c, "comm_overlap.overlap_param_gather"), value(c, "ddp.overlap_param_gather"))
    return ["--use-distributed-optimizer", "--overlap-grad-reduce"] + ([] if gather else ["--overlap-param-gather"])


def expert_words(c):
    words, kind = [], value(c, "model.moe_token_dispatcher_type")
    if kind:
        words += ["--moe-token-dispatcher-type", kind]
    backend = value(c, "model.moe_flex_dispatcher_backend")
    if kind == "flex" and backend:
        words += ["--moe-flex-dispatcher-backend", backend]
        if backend == "hybridep" and value(c, "model.moe_hybridep_num_sms"):
            words += ["--moe-hybridep-num-sms", str(value(c, "model.moe_hybridep_num_sms"))]
    return words


def words_of(c, mixture, precision):
    words = ["--fp8-recipe", "tensorwise"] if precision == "fp8" else []
    if value(c, "model.pipeline_model_parallel_layout"):
        words += ["--pipeline-model-parallel-layout", layout_text(value(c, "model.pipeline_model_parallel_layout"))]
    if value(c, "model.mtp_num_layers"):
        words += ["--mtp-num-layers", str(value(c, "model.mtp_num_layers"))]
        words += ["--mtp-use-repeated-layer"] if value(c, "model.mtp_use_repeated_layer") is True else []
    words.append("--sequence-parallel")  # overrides.py and perf_recipes: wherever tensor ranks are more than 1
    words += recompute_words(c)
    if value(c, "model.cpu_offloading") and value(c, "model.cpu_offloading_num_layers"):
        words += ["--cpu-offloading", "--cpu-offloading-num-layers", str(value(c, "model.cpu_offloading_num_layers"))]
    if value(c, "model.fine_grained_activation_offloading"):
        words += ["--fine-grained-activation-offloading", "--offload-modules"] + listed(value(c, "model.offload_modules"))
        inflight = value(c, "model.fine_grained_offloading_max_inflight_offloads")
        words += [] if inflight is None else ["--fine-grained-offloading-max-inflight-offloads", str(inflight)]
    words += (expert_words(c) if mixture else []) + graph_words(c) + sharding_words(c)
    words += [w for w in switches(c) if mixture or not w.startswith("--moe-") or w == "bf16"]
    if value(c, "model.dsa_indexer_loss_coeff"):
        words += ["--dsa-indexer-loss-coeff", str(value(c, "model.dsa_indexer_loss_coeff"))]
    if value(c, "model.apply_rope_fusion") is False:
        words.append("--no-rope-fusion")
    return words


def row_of(c, model, card, precision, source):
    size = lambda path: value(c, path) or 1  # noqa: E731
    mixture = "moe" in model or model.split("_")[0] in ("deepseek", "kimi", "gpt") or "_a" in model or "nemotron_3" in model
    row = {"model": MODELS[model], "gpu": card.upper(), "precision": PRECISIONS[precision], "source": source,
           "gpus": value(c, "_gpus") or "", "tp": size("model.tensor_model_parallel_size"), "pp": size("model.pipeline_model_parallel_size"),
           "cp": size("model.context_parallel_size"), "vp": size("model.virtual_pipeline_model_parallel_size"),
           "ep": size("model.expert_model_parallel_size") if mixture else "",
           "etp": size("model.expert_tensor_parallel_size") if mixture else "", "mbs": size("train.micro_batch_size"),
           "gbs": size("train.global_batch_size"),
           "seq": value(c, "model.seq_length") or value(c, "dataset.sequence_length") or value(c, "dataset.seq_length") or "",
           "words": " ".join(words_of(c, mixture, PRECISIONS[precision]))}
    return row


def perf_recipes(root, tag):
    """From v0.6.0 on a function is a recipe: llama3_8b_pretrain_8gpu_gb200_fp8cs_config."""
    name = re.compile(r"def ((\w+?)_pretrain_(\d+)gpu_([a-z]+\d+)_(bf16|fp8cs|fp8sc|fp8mx|nvfp4)_config)\(")
    for folder, _, files in sorted(os.walk(os.path.join(root, "src/megatron/bridge/perf_recipes"))):
        for file in sorted(files):
            path = os.path.join(folder, file)
            module = os.path.relpath(path, os.path.join(root, "src"))[:-3].replace("/", ".")
            with open(path, encoding="utf-8") as text:
                found = [m for m in name.findall(text.read()) if m[1] in MODELS and m[3] in CARDS] if file.endswith(".py") else []
            for function, model, gpus, card, precision in found:
                config = getattr(importlib.import_module(module), function)()
                object.__setattr__(config, "_gpus", int(gpus))
                yield row_of(config, model, card, precision, f"NVIDIA-NeMo/Megatron-Bridge@{tag} {function}")


def scripts(root, tag):
    """From v0.2.0 to v0.5.x: a function a model and card, which takes the precision and a variant, and workload_base_configs beside it."""
    name = re.compile(r"def ((\w+?)(?:_pretrain_config)?_(h100|b200|b300|gb200|gb300)(?:_config)?)\(")
    overrides = [m for m in ("utils.overrides", "utils.helpers") if os.path.exists(os.path.join(root, "scripts/performance", m.replace(".", "/") + ".py"))]
    post = getattr(importlib.import_module(overrides[0]), "set_post_overrides", None)
    for folder, _, files in sorted(os.walk(os.path.join(root, "scripts/performance/configs"))):
        for file in sorted(f for f in files if f.endswith("_pretrain.py")):
            path = os.path.join(folder, file)
            module = os.path.relpath(path, os.path.join(root, "scripts/performance"))[:-3].replace("/", ".")
            with open(path, encoding="utf-8") as text:
                found = [m for m in name.findall(text.read()) if m[1] in MODELS]
            for function, model, card in found:
                call = getattr(importlib.import_module(module), function)
                for precision in ("bf16", "fp8_cs", "fp8_sc", "fp8_mx", "nvfp4"):
                    for variant in ("v1", "v2"):
                        yield from script_row(call, post, (module, function, model, card, precision, variant),
                                              f"NVIDIA-NeMo/Megatron-Bridge@{tag} {function} {precision} {variant}")


def matrices(root, tag):
    """v0.1.0rc4: a YAML file a model, with a matrix of cards, GPUs and precisions; what run_script.py sets beside it stands here."""
    accounts = ["--account-for-embedding-in-pipeline-split", "--account-for-loss-in-pipeline-split"]
    words = {"deepseek_v3": ["--mtp-num-layers", "1"], "llama31_405b": accounts, "qwen3_235b_a22b": accounts}
    for folder, _, files in sorted(os.walk(os.path.join(root, "scripts/performance/configs"))):
        for file in sorted(f for f in files if f.endswith("_llm_pretrain.yaml")):
            with open(os.path.join(folder, file), encoding="utf-8") as text:
                whole = yaml.safe_load(text)
            model, matrix, cfg = file[:-len("_llm_pretrain.yaml")], whole["perf_matrix"], whole["ConfigContainer"]["model"]
            for card, gpus, precision, case in ((c, g, p, {**v["common"], **(v[p] or {})}) for c, of in matrix.items() for g, v in of.items()
                                                for p in v if p not in ("common", "fp8_ds") and c in CARDS):  # no word for delayed scaling
                h100 = card == "h100"
                more = (["--fp8-recipe", "tensorwise"] if precision == "fp8_cs" else []) + words.get(model, [])
                if model == "deepseek_v3":
                    more += ["--pipeline-model-parallel-layout", "Et|(tt|)*30mL" if h100 else "Etttt|(tttt|)*14tmL"] + ["--recompute-granularity", "selective", "--recompute-modules", "mla_up_proj"]
                    more += (["mlp", "--moe-token-dispatcher-type", "flex", "--moe-flex-dispatcher-backend", "deepep", "--overlap-moe-expert-parallel-comm", "--delay-wgrad-compute"] if h100 else [])
                more += ["--sequence-parallel", "--tp-comm-overlap"] if model != "deepseek_v3" else ["--sequence-parallel"]
                if model.startswith(("deepseek", "qwen3")) and not (model == "deepseek_v3" and h100):  # apply_moe_token_drop
                    more += ["--moe-expert-capacity-factor", "1.0", "--moe-pad-expert-input-to-capacity", "--moe-token-dispatcher-type", "alltoall"]
                more += ["--moe-router-fusion"] if cfg.get("moe_router_fusion") else []
                more += ["--cuda-graph-impl", "local"] if case.get("cuda_graphs") else []
                if case.get("cpu_offloading_num_layers"):
                    more += ["--cpu-offloading", "--cpu-offloading-num-layers", str(case["cpu_offloading_num_layers"])]
                if case.get("recompute_num_layers"):
                    more += ["--recompute-granularity", "full", "--recompute-method", "block", "--recompute-num-layers", str(case["recompute_num_layers"])]
                more += ["--use-megatron-fsdp", "--data-parallel-sharding-strategy", "optim_grads_params"] if case.get("use_megatron_fsdp") or case.get("fsdp") else [
                    "--use-distributed-optimizer", "--overlap-grad-reduce", "--overlap-param-gather"]
                more += ["--use-precision-aware-optimizer"] if precision == "bf16" else []
                sizes = {c: case.get(k) or 1 for c, k in (("tp", "tp"), ("pp", "pp"), ("cp", "cp"), ("vp", "vp"), ("mbs", "mbs"), ("gbs", "gbs"))}
                yield {"model": MODELS[model], "gpu": card.upper(), "precision": {"fp8_ss": "fp8_block"}.get(precision, PRECISIONS.get(precision)),
                       "gpus": gpus.split("_")[-1], **sizes, "ep": case.get("ep") or "", "etp": case.get("etp") or "", "seq": case["seq_length"],
                       "words": " ".join(more), "source": f"NVIDIA-NeMo/Megatron-Bridge@{tag} {file} and run_script.py"}


def base_config(module, function, model, card, precision, variant):
    """The workload's sizes, by the names that the release gives them; None: it has none for this precision."""
    package = module.rpartition(".")[0]
    for file in os.listdir(os.path.join(sys.path[0], *package.split("."))):
        if not file.endswith("workload_base_configs.py"):
            continue
        names = vars(importlib.import_module(f"{package}.{file[:-3]}"))
        for text in (f"{model}_pretrain_config_{card}_{precision}_{variant}", f"{model}_{card}_{precision}_base_config",
                     f"{model}_pretrain_config_{card}_{precision}" if variant == "v1" else ""):
            if text.upper() in names:
                return names[text.upper()]
    return None


def script_row(call, post, which, source):
    module, function, model, card, precision, variant = which
    base = base_config(*which)
    takes = inspect.signature(call).parameters
    if base is None or (variant != "v1" and "config_variant" not in takes):
        return
    helper = importlib.import_module("utils.utils")
    if hasattr(helper, "get_workload_base_config"):
        for name in (module, "utils.overrides"):
            setattr(importlib.import_module(name), "get_workload_base_config", lambda *words, **values: base)
    config = call(**{"precision": precision, **({"config_variant": variant} if "config_variant" in takes else {})})
    config.optimizer.optimizer = "adam"
    if post and "config_variant" in inspect.signature(post).parameters:
        post(config, "", model, card, base.num_gpus, precision, "pretrain", base.global_batch_size, variant)
    object.__setattr__(config, "_gpus", base.num_gpus)
    yield row_of(config, model, card, precision, source)


def release(folder, tag):
    """Prints the rows of one release as CSV; runs in a process of its own, for modules of releases have the same names."""
    with tempfile.TemporaryDirectory() as root:
        known = subprocess.run(["git", "-C", folder, "ls-tree", "-d", "-r", "--name-only", tag], check=True, capture_output=True, text=True).stdout.split("\n")
        tree = subprocess.run(["git", "-C", folder, "archive", tag] + [f for f in FOLDERS if f in known], check=True, capture_output=True).stdout
        tarfile.open(fileobj=io.BytesIO(tree)).extractall(root)
        sys.path.insert(0, os.path.join(root, "scripts/performance"))
        sys.meta_path.insert(0, Finder(root))
        fields = dataclasses.fields
        dataclasses.fields = lambda of: () if isinstance(of, (Recorder, Meta)) else fields(of)
        flat = os.path.isdir(os.path.join(root, "src/megatron/bridge/perf_recipes"))
        out = csv.DictWriter(sys.stdout, COLUMNS, extrasaction="ignore", lineterminator="\n")
        out.writerows((perf_recipes if flat else matrices if tag == "v0.1.0rc4" else scripts)(root, tag))


def runs(row):
    """Whether the GPUs of a row hold its layout and share its batch, and its card has its precision: v0.6.0 has functions for fewer GPUs with the
    layout or for more GPUs with the batch of others."""
    sizes = {c: int(row[c] or 1) for c in ("gpus", "tp", "pp", "cp", "ep", "etp")}
    experts = sizes["pp"] * sizes["ep"] * sizes["etp"]
    replica = sizes["tp"] * sizes["pp"] * sizes["cp"]
    fits = sizes["gpus"] % replica == 0 and sizes["gpus"] % experts == 0
    fits = fits and int(row["gbs"] or 0) % (int(row["mbs"] or 1) * (sizes["gpus"] // replica)) == 0
    return ((fits or not row["gpus"]) and
            (row["gpu"] != "H100" or row["precision"] not in ("mxfp8", "nvfp4")))


def merged(rows):
    """Rows of releases that set the same, in one: its stacks stand in one field, with blanks between."""
    kept = {}
    for row in rows:
        key = tuple(row[c] for c in COLUMNS if c not in ("stack", "source"))
        if key in kept:
            if row["stack"] not in kept[key]["stack"].split():
                kept[key]["stack"] += " " + row["stack"]
        else:
            kept[key] = dict(row)
    return list(kept.values())


def plain_tree(given, wanted):
    """A folder with the files of a checkout (or its .git folder) that are wanted, and how sources name it: DIR or DIR=REPOSITORY@COMMIT."""
    folder, _, name = given.partition("=")
    if name:
        return folder, name
    git = ["git", "-C", folder]
    known = subprocess.run(git + ["ls-tree", "-r", "--name-only", "HEAD"], check=True, capture_output=True, text=True).stdout.split("\n")
    tree = subprocess.run(git + ["archive", "HEAD"] + [f for f in known if re.search(wanted, f)], check=True, capture_output=True).stdout
    root = tempfile.mkdtemp()
    tarfile.open(fileobj=io.BytesIO(tree)).extractall(root)
    return root, ""


def bridge(folder):
    rows = []
    for stack, tag in RELEASES:
        text = subprocess.run([sys.executable, __file__, "--megatron-bridge", folder, "--tag", tag], check=True, capture_output=True, text=True).stdout
        rows += [{**row, "stack": stack} for row in csv.DictReader(io.StringIO(text), COLUMNS)]
    return rows


def mlperf(given, stack, repository):
    """Submissions of one round: config_*.sh of whoever has NVIDIA's cards, and the YAML beside them."""
    root, name = plain_tree(given, r"/benchmarks/(llama3|gpt|deepseek)[^/]*/.*(/config_[^/]*\.sh|/conf/.*\.yaml)$")
    head = ["git", "-C", given, "rev-parse", "--short=8", "HEAD"]
    name = name or f"{repository}@{subprocess.run(head, check=True, capture_output=True, text=True).stdout.strip()}"
    return [{**row, "stack": stack} for row in recipes_mlperf.rows(root, name)]


def by_tag(module, folder, releases=None):
    """Rows of a reader's tags, RELEASES: the stack (None: rows say theirs), the tag, and what the reader wants to know of it beside."""
    found = []
    for stack, tag, *more in releases or module.RELEASES:
        def show(path, tag=tag):
            return subprocess.run(["git", "-C", folder, "show", f"{tag}:{path}"], capture_output=True, text=True, check=False).stdout
        names = subprocess.run(["git", "-C", folder, "ls-tree", "-r", "--name-only", tag], check=True, capture_output=True, text=True).stdout.split("\n")
        found += [{**row, "stack": stack or row["stack"]} for row in module.rows(show, names, f"{module.REPOSITORY}@{tag}", *more)]
    return found


# Frameworks: option, how their sources begin, and what reads a checkout.
FRAMEWORKS = [("megatron-bridge", "NVIDIA-NeMo/Megatron-Bridge", bridge),
              ("mlperf-v5.1", "mlcommons/training_results_v5.1", lambda d: mlperf(d, "mlperf-v5.1", "mlcommons/training_results_v5.1")),
              ("mlperf-v6.0", "Richardyu114/training_results_v6.0", lambda d: mlperf(d, "mlperf-v6.0", "Richardyu114/training_results_v6.0")),
              ("nemo", "NVIDIA/NeMo@", lambda d: by_tag(recipes_nemo, d)), ("torchtitan", "pytorch/torchtitan", lambda d: by_tag(recipes_torchtitan, d)),
              ("dgxc", "NVIDIA/dgxc-benchmarking", None)]


def table(name):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, _, _ in FRAMEWORKS:
        parser.add_argument("--" + name, metavar="DIR", dest=name)
    parser.add_argument("--tag", help="the rows of one release of Megatron-Bridge alone, as they are")
    given = vars(parser.parse_args())
    if given["tag"]:
        return release(given["megatron-bridge"], given["tag"])
    hand, rows = table("recipes-other.csv"), []
    before = [r for r in table("recipes.csv") if r not in hand]
    for name, source, read in FRAMEWORKS:
        read = read or (lambda d: by_tag(recipes_dgxc, d, [(None, tag, rows, MODELS) for tag in recipes_dgxc.TAGS]))
        rows += merged(filter(runs, read(given[name]))) if given[name] else [r for r in before if r["source"].startswith(source)]
    out = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    out.writeheader()
    out.writerows(rows + hand)
    return 0


if __name__ == "__main__":
    sys.exit(main())
