# SPDX-License-Identifier: Apache-2.0
"""Order functions of the frameworks that the schedules are of, run from checkouts that the caller names.

Nothing of a framework is here: its files are loaded as they are, what they import is a stand-in, and forwards and
backwards are noted instead of run. Every function returns, for each rank, a list of words like 2F0 (virtual stage, phase,
microbatch; a forward beside a backward is (2F1;5B0)), or raises Refused.
"""
import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import os
import sys
import types


class Refused(Exception):
    """The framework does not take these numbers."""


class Anything(type):
    """A class whose attributes are such classes and that can be called, indexed, derived from and or-ed with types."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return stand_in(name)

    def __call__(cls, *args, **keys):
        if len(args) == 1 and isinstance(args[0], types.FunctionType):
            return args[0]  # a decorator
        return super().__call__() if cls.__init__ is object.__init__ else super().__call__(*args, **keys)

    def __getitem__(cls, item):
        return cls


def stand_in(name):
    """A class of Anything; its instances decorate, and are asked for nothing else."""
    return Anything(name, (), {"__call__": lambda self, function=None, *args, **keys: function})


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports of these packages give stand-ins."""

    def __init__(self, *packages):
        self.packages = packages

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.packages:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.__path__ = []
        module.__getattr__ = stand_in


def load(root, path, packages, siblings=()):
    """The module at root/path under its own name, `siblings` before it; all else of `packages` is stand-ins."""
    for name in [n for n in sys.modules if n.split(".")[0] in packages]:
        del sys.modules[name]
    finder = StandIns(*packages)
    sys.meta_path.insert(0, finder)
    try:
        for file in (*siblings, path):
            name = file[:-3].replace("/", ".")
            importlib.import_module(name.rpartition(".")[0])
            spec = importlib.util.spec_from_file_location(name, os.path.join(root, file))
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module
            spec.loader.exec_module(module)
        return module
    finally:
        sys.meta_path.remove(finder)


class Record:
    """What a rank ran. Tensors are stand-ins that know the chunk and microbatch that made them."""

    def __init__(self, rank, ranks):
        self.rank, self.ranks, self.words = rank, ranks, []

    def word(self, chunk, phase, microbatch):
        return "%d%s%d" % (chunk * self.ranks + self.rank, phase, microbatch)


class Group:
    def __init__(self, rank, size):
        self._rank, self._size = rank, size

    def rank(self):
        return self._rank

    def size(self):
        return self._size


class Bag:
    """Fields that are given, else None."""

    def __init__(self, **fields):
        self.__dict__.update(fields)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None


class Transfers:
    """Sends and receives of a pipeline rank: what is asked for is given."""

    def __init__(self, rank, ranks, config, vp):
        self.pp_group, self.config = Group(rank, ranks), config
        self.virtual_pipeline_model_parallel_size = vp
        self.total_stages, self.current_stage = ranks, rank
        self.is_pp_first_stage, self.is_pp_last_stage = rank == 0, rank == ranks - 1

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        both = name in ("send_forward_backward_recv_forward_backward",)

        def transfer(*args, overlap_p2p_comm=False, **keys):
            if not overlap_p2p_comm:
                return ("tensor", "tensor") if both else "tensor"
            sent = args[0] if args else keys.get("output_tensor", keys.get("input_tensor_grad"))
            asked = {"recv_prev": keys.get("recv_prev"), "recv_next": keys.get("recv_next"),
                     "send_next" if "send_forward" in name else "send_prev": sent is not None}
            handles = {key: Bag(wait=lambda: None) for key in asked if asked[key]}
            return "tensor", handles
        return transfer


def quiet(function, *args, **keys):
    with contextlib.redirect_stdout(io.StringIO()):
        return function(*args, **keys)


class Megatron:
    """megatron/core/pipeline_parallel/schedules.py of 2024-11 and later."""

    def __init__(self, root):
        self.root = root
        self.s = load(root, "megatron/core/pipeline_parallel/schedules.py", ("torch", "megatron", "nemo"))
        self.chunk = type("Chunk", (), {"parameters": lambda self: (), "config": None})
        s, torch = self.s, self.s.torch
        torch.nn = Bag(Module=self.chunk)
        torch.zeros = lambda *a, **k: 0
        for name, value in {
                "is_pp_first_stage": lambda g: g.rank() == 0, "is_pp_last_stage": lambda g: g.rank() == g.size() - 1,
                "is_vp_first_stage": lambda vp_stage, vp_size: vp_stage == 0,
                "is_vp_last_stage": lambda vp_stage, vp_size: vp_stage == vp_size - 1,
                "get_model_config": lambda m: m.config, "get_model_type": lambda m: 0,
                "get_tensor_shapes": lambda **k: [(1,)], "deallocate_output_tensor": lambda *a, **k: None,
                "nvtx_range_push": lambda **k: None, "nvtx_range_pop": lambda **k: None,
                "ProcessGroupCollection": Bag, "off_interface": Bag(),
                "combined_1f1b_schedule_for_interleaved_pipelining": self.pair}.items():
            setattr(s, name, value)

    def note(self, record):
        def forward(func, data, model, n, tensor, *args, current_microbatch=None, **keys):
            record.words.append(record.word(model.index, "F", current_microbatch))
            return Bag(chunk=model.index, microbatch=current_microbatch), 0

        def backward(inputs, output, *args):
            output = output[0] if isinstance(output, list) else output
            record.words.append(record.word(output.chunk, "B", output.microbatch))
            return "gradient"
        self.s.forward_step, self.s.backward_step, self.record = forward, backward, record

    def pair(self, config, func, data, model, n, store, before_f, after_f, before_b, after_b, microbatch_of, chunk_of, *args,
             f_virtual_microbatch_id=None, b_virtual_microbatch_id=None, **keys):
        """Megatron's loop gives a forward, a backward, or both to run side by side."""
        f, b, words, out, grad = f_virtual_microbatch_id, b_virtual_microbatch_id, [], None, None
        for hook in ("pre_forward", "pre_backward"):
            if keys.get(hook):
                keys[hook]()
        if f is not None:
            chunk, microbatch = chunk_of(f, forward=True), microbatch_of(f, forward=True)
            before_f(f, chunk, microbatch)
            words.append(self.record.word(chunk, "F", microbatch))
            out = Bag(chunk=chunk, microbatch=microbatch)
            after_f(chunk, out, 0)
        if b is not None:
            output = before_b(b, chunk_of(b, forward=False))[1]
            words.append(self.record.word(output.chunk, "B", output.microbatch))
            after_b(b)
            grad = "gradient"
        self.record.words.append("(" + ";".join(words) + ")" if len(words) == 2 else words[0])
        if keys.get("post_forward"):
            keys["post_forward"](out)
        if keys.get("post_backward"):
            keys["post_backward"](grad)
        return out, grad

    def run(self, function, rank, p, v, m, config):
        chunks = []
        for c in range(v):
            chunks.append(self.chunk())
            chunks[c].index, chunks[c].config = c, config
        record, one = Record(rank, p), Group(0, 1)
        self.note(record)
        interleaved = v > 1 or "with_inter" in function.__name__
        try:
            quiet(function, forward_step_func=None, data_iterator=[[]] * v if interleaved else [[]],
                  model=chunks, num_microbatches=m, seq_length=1, micro_batch_size=1,
                  p2p_communicator=Transfers(rank, p, config, v if interleaved else None),
                  pg_collection=Bag(tp=one, cp=one, pp=Group(rank, p)))
        except (ValueError, RuntimeError, AssertionError) as e:
            raise Refused(str(e)) from e
        return record.words

    def one_f_one_b(self, p, v, m):
        config = Bag(hidden_size=1)
        return [self.run(self.s.forward_backward_pipelining_without_interleaving, r, p, 1, m, config) for r in range(p)]

    def interleaved(self, p, v, m, group=None, pairs=False, flush=False):
        config = Bag(hidden_size=1, microbatch_group_size_per_vp_stage=group or p, overlap_moe_expert_parallel_comm=pairs,
                     virtual_pipeline_model_parallel_size=v, overlap_p2p_comm=flush or pairs, overlap_p2p_comm_warmup_flush=flush)
        return [self.run(self.s.forward_backward_pipelining_with_interleaving, r, p, v, m, config) for r in range(p)]


    def pairs_alone(self, m):
        """Without a pipeline: forwards beside backwards in a loop of its own."""
        module = load(self.root, "megatron/core/pipeline_parallel/combined_1f1b.py", ("torch", "megatron", "nemo"))
        words, count = [], {"F": 0, "B": 0}

        def step(func, data, f_model, n, tensor, store, b_model, *args, **keys):
            taken = [phase for phase, model in (("F", f_model), ("B", b_model)) if model is not None]
            pair = ["0%s%d" % (phase, count[phase]) for phase in taken]
            for phase in taken:
                count[phase] += 1
            words.append("(" + ";".join(pair) + ")" if len(pair) == 2 else pair[0])
            return "tensor", 0, None
        for name, value in {"combined_forward_backward_step": step, "set_streams": lambda **k: None, "find_megatron_fsdp": lambda m: None}.items():
            setattr(module, name, value)
        module.combined_1f1b_schedule_for_no_pipelining(None, None, 0, m, None, None, [], Bag(), False, True, False, contextlib.nullcontext, 0,
                                                        lambda first: True)
        return [words]


class Megatron08(Megatron):
    """The same of core 0.8, which asks modules for ranks and transfers."""

    def __init__(self, root):
        super().__init__(root)
        tensor = Bag(cuda=lambda: 0)
        self.s.torch.tensor = lambda *a, **k: tensor

    def run(self, function, rank, p, v, m, config):
        record, chunks, self.now = Record(rank, p), [], 0

        def set_chunk(c):
            self.now = c
        for c in range(v):
            chunks.append(self.chunk())
            chunks[c].index, chunks[c].config = c, config
        self.note(record)
        self.s.parallel_state = Bag(
            get_pipeline_model_parallel_world_size=lambda: p, get_pipeline_model_parallel_rank=lambda: rank,
            get_context_parallel_world_size=lambda: 1, get_tensor_model_parallel_world_size=lambda: 1,
            set_virtual_pipeline_model_parallel_rank=set_chunk,
            is_pipeline_first_stage=lambda ignore_virtual=False: rank == 0 and (ignore_virtual or self.now == 0),
            is_pipeline_last_stage=lambda ignore_virtual=False: rank == p - 1 and (ignore_virtual or self.now == v - 1))
        self.s.p2p_communication = Transfers(rank, p, config, v)
        count = {}

        def forward(func, data, model, n, tensor, *args, **keys):
            microbatch = count[model.index] = count.get(model.index, -1) + 1
            record.words.append(record.word(model.index, "F", microbatch))
            return Bag(chunk=model.index, microbatch=microbatch), Bag(item=lambda: 0)
        self.s.forward_step = forward
        try:
            quiet(function, forward_step_func=None, data_iterator=[[]] * v, model=chunks, num_microbatches=m, seq_length=1,
                  micro_batch_size=1)
        except (ValueError, RuntimeError, AssertionError) as e:
            raise Refused(str(e)) from e
        return record.words


class DualPipe:
    """dualpipe/dualpipe.py and dualpipev.py: step() of every rank, its chunks noted."""

    def __init__(self, root):
        packages = ("torch", "dualpipe")
        self.modules = {v: load(root, "dualpipe/dualpipe%s.py" % ("v" if v else ""), packages) for v in (0, 1)}

    def order(self, p, m, v):
        module = self.modules[v]
        for name, value in {"scatter": lambda *a: [], "gather": lambda *a: [], "comm": Bag(TENSOR_SHAPES=1, TENSOR_DTYPE=1),
                            "WeightGradStore": Bag(clear=lambda: None, funcs_queue=Bag(empty=lambda: True))}.items():
            setattr(module, name, value)
        module.torch.is_grad_enabled = lambda: True
        cls = module.DualPipeV if v else module.DualPipe
        return [self.rank(cls, rank, p, m, v) for rank in range(p)]

    def rank(self, cls, rank, p, m, v):
        words, owed, count = [], [], {}

        class Noted(cls):
            def take(self, kind, chunk):
                count[kind, chunk] = count.get((kind, chunk), -1) + 1
                return "%d%%s%d" % (self.stage(chunk), count[kind, chunk])

            def stage(self, chunk):
                if v:
                    return 2 * p - 1 - rank if chunk else rank
                chunk ^= rank >= p // 2  # 0: the copy that starts at rank 0
                return 2 * p - 1 - rank if chunk else rank

            def _forward_compute_chunk(self, phase):
                words.append(self.take("F", phase) % "F")

            def _backward_compute_chunk(self, phase, enable_zb=False):
                word = self.take("B", phase)
                words.append(word % ("I" if enable_zb else "B"))
                owed.extend([word % "W"] if enable_zb else [])

            def _forward_backward_compute_chunk(self, phase0, phase1):
                words.append("(%s;%s)" % (self.take("F", phase0) % "F", self.take("B", phase1) % "B"))

            def _weight_chunk(self):
                words.extend(owed[:1])
                del owed[:1]

        for name in ("_recv_forward", "_send_forward", "_recv_backward", "_send_backward", "_commit_and_wait_comm", "_reset_states"):
            setattr(Noted, name, lambda self, *a: None)
        pipe = Noted.__new__(Noted)
        pipe.rank, pipe.num_ranks, pipe.batch_dim = rank, p, 0
        pipe.is_first_rank, pipe.is_last_rank = rank == 0, rank == p - 1
        pipe.is_middle_rank = rank in (p // 2 - 1, p // 2)
        pipe.loss_chunks = []
        try:
            cls.step(pipe, num_chunks=m, criterion=len, labels=[])
        except AssertionError as e:
            raise Refused(str(e)) from e
        return words


class PyTorch:
    """torch/distributed/pipelining/schedules.py: the order of every rank."""

    def __init__(self, root):
        at = "torch/distributed/pipelining/"
        self.s = load(root, at + "schedules.py", ("torch",), siblings=(at + "_utils.py",))

    def order(self, name, p, v, m):
        cls = getattr(self.s, name)
        o = cls.__new__(cls)
        o.pp_group_size, o.n_local_stages, o._n_microbatches, o.num_stages = p, v, m, p * v
        o._num_stages, o._stages = p * v, [None] * v
        o.number_of_rounds = max(1, m // p)
        o.microbatches_per_round = m // o.number_of_rounds
        if "Interleaved" in name and m % o.number_of_rounds:
            raise Refused("microbatches are no multiple of the rounds")
        if name == "ScheduleDualPipeV" and m < p * v:
            raise Refused("fewer microbatches than stages")
        return [[str(a).replace("OVERLAP_F_B", "") for a in o._calculate_single_rank_operations(r) if a is not None]
                for r in range(p)]


class ZeroBubble:
    """megatron/core/pipeline_parallel/zerobubble/scheduler of sail-sg/zero-bubble."""

    def __init__(self, root):
        at = "megatron/core/pipeline_parallel/zerobubble/scheduler/"
        graph = (at + "graph.py",)
        packages = ("torch", "megatron", "pulp")
        self.m = {}
        for name in ("zb", "zbv", "zbv_greedy", "v1f1b", "group_interleaved_1f1b"):
            self.m[name] = load(root, at + name + ".py", packages, siblings=graph)
            if name == "zb":
                self.m[name].pulp.value = lambda t: t
            # create_schedule of the last imports the graph once more: the same file.
            self.m[name].graph = sys.modules[(at + "graph").replace("/", ".")]

    @staticmethod
    def words(order, v_shape, p):
        word = {"F": "F", "B": "I", "W": "W", "BW": "B"}
        return [["%d%s%d" % ((n.chunk * p + (p - 1 - r if v_shape and n.chunk else r)), word[n.type.value], n.microbatch)
                 for n in nodes] for r, nodes in enumerate(order)]

    def config(self, name, p, m, times, chunks, memory=None, cap=None, comm=0):
        f, b, w = ([float(x) for x in t] if isinstance(t, (list, tuple)) else [float(t)] * p for t in times)
        memory = memory or ([1] * p, [0] * p, [-1] * p)
        return self.m[name].graph.GraphConfig(
            cost_f=f, cost_b=b, cost_w=w, cost_comm=float(comm), mem_f=memory[0], mem_b=memory[1], mem_w=memory[2],
            max_mem=cap, max_chunks=chunks, n_stages=p, n_micro=m)

    def zb(self, p, m, times, cap=None, memory=None):
        """The generator of one chunk a rank; cap: for each rank, in the unit of `memory` (F, I, W of each rank)."""
        config = self.config("zb", p, m, times, 1, memory, cap)
        try:
            return self.words(quiet(self.m["zb"].create_schedule, config), False, p)
        except (ValueError, AssertionError) as e:
            raise Refused(str(e)) from e

    def zbv(self, p, m, times, cap=None):
        """The generator on a V; cap: chunks in flight."""
        graph = self.m["zbv"].PipelineGraph(p, m, *times, 0, f_mem=1, b_mem=0, w_mem=-1, max_mem=cap)
        try:
            return self.words(quiet(graph.create_schedule, self.config("zbv", p, m, times, 2)), True, p)
        except (ValueError, AssertionError, IndexError) as e:
            raise Refused(str(e)) from e

    def greedy(self, p, m, setup):
        """V-Min and V-Half; its order depends on no time."""
        graph = self.m["zbv_greedy"].PipelineGraph(p, m, setup, 1000, 1000, 1000, 1)
        try:
            return self.words(quiet(graph.create_schedule, self.config("zbv_greedy", p, m, (1, 1, 1), 2)), True, p)
        except (ValueError, AssertionError, IndexError) as e:
            raise Refused(str(e)) from e

    def one_f_one_b_v(self, p, m):
        try:
            return self.words(quiet(self.m["v1f1b"].create_schedule, self.config("v1f1b", p, m, (1, 1, 1), 2)), True, p)
        except (ValueError, AssertionError, IndexError) as e:
            raise Refused(str(e)) from e

    def group_interleaved(self, p, v, m, group):
        name = "group_interleaved_1f1b"
        sys.modules["megatron.core.pipeline_parallel.zerobubble.scheduler.graph"] = self.m[name].graph
        try:
            return self.words(quiet(self.m[name].create_schedule, self.config(name, p, m, (1, 1, 1), v), False, None, None, None,
                                    group, 0), False, p)
        except (ValueError, AssertionError, IndexError) as e:
            raise Refused(str(e)) from e
