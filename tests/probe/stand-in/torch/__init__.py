# SPDX-License-Identifier: Apache-2.0
"""Stands in for PyTorch and a GPU: tensors are shapes, time is counted (time_line.py), cuDNN knows no head of 64, flash attention no
values of another size, and 65,536 tokens do not fit. STAND_IN has words for what goes wrong: no-gpu, no-compiler (lost: the GPU
goes with it), no-profiler, interrupt=N."""
import json
import types

from . import cuda, nn, time_line
from .tensor import Tensor
from .time_line import tick

__version__ = "2.5.stand-in"
version = types.SimpleNamespace(cuda="12.4")
backends = types.SimpleNamespace(cudnn=types.SimpleNamespace(version=lambda: 90100))
bfloat16, float32, int32, float8_e4m3fn = "bfloat16", "float32", "int32", "float8_e4m3fn"
_dynamo = types.SimpleNamespace(reset=lambda: None)
ops = types.SimpleNamespace(aten=types.SimpleNamespace(mm=types.SimpleNamespace(default="mm"), **{
    "_scaled_dot_product_%s_attention" % name: types.SimpleNamespace(default=name) for name in ("flash", "cudnn")}))


def made(*shape, device="cuda", dtype=float32, requires_grad=False):
    assert device == "cuda"
    return Tensor(*(shape[0] if shape and isinstance(shape[0], tuple) else shape), requires_grad=requires_grad)


randn = ones = made


def arange(*ends, device):
    return made(len(range(*ends)), device=device)


def tensor(values, device, dtype):
    return made(len(values), device=device, dtype=dtype)


def randint(high, size, device):
    if len(size) == 2 and size[0] * size[1] >= 65536:
        raise cuda.OutOfMemoryError("CUDA out of memory.\nand more")
    return made(*size, device=device)


def like(other):
    tick()
    return Tensor(*other.shape)


randn_like = ones_like = zeros_like = like


def same(x, *more, **words):
    tick()
    return Tensor(*x.shape)


polar = cumsum = argsort = same
linalg = types.SimpleNamespace(vector_norm=lambda x, order: Tensor())


def outer(a, b):
    return Tensor(*a.shape, *b.shape)


def view_as_complex(x):
    assert x.shape[-1] == 2
    return Tensor(*x.shape[:-1])


def view_as_real(x):
    return Tensor(*x.shape, 2)


def cat(tensors, dim=0):
    tick()
    shape = list(tensors[0].shape)
    shape[dim] = sum(t.shape[dim] for t in tensors)
    return Tensor(*shape)


def topk(x, count, dim=-1):
    tick()
    return Tensor(*x.shape[:-1], count), Tensor(*x.shape[:-1], count)


def histc(x, bins, low, high):
    tick()
    return Tensor(bins)


def gather(x, dim, places):
    tick()
    return Tensor(*places.shape)


def mm(a, b):
    assert a.shape[1] == b.shape[0]
    tick()
    return Tensor(a.shape[0], b.shape[1])


def _scaled_mm(a, b, scale_a, scale_b, out_dtype, use_fast_accum):
    rows, columns = a.shape[0], b.shape[1]
    assert (scale_a.shape, scale_b.shape) in (((), ()), ((rows, 1), (1, columns)))
    return mm(a, b)


def _grouped_mm(a, b, offs):
    if len(b.shape) == 2:
        return Tensor(*offs.shape, *mm(a, b).shape)
    assert a.shape[1] == b.shape[1] and offs.shape == b.shape[:1]
    tick()
    return Tensor(a.shape[0], b.shape[2])


def _scaled_grouped_mm(a, b, scale_a, scale_b, offs, out_dtype, use_fast_accum):
    groups = offs.shape[0]
    if len(b.shape) == 2:
        assert scale_a.shape == (a.shape[0] * groups,) and scale_b.shape == (b.shape[1] * groups,)
    else:
        assert scale_a.shape == a.shape[:1] and scale_b.shape == (groups, b.shape[2])
    return _grouped_mm(a, b, offs)


def set_float32_matmul_precision(word):
    pass


def manual_seed(seed):
    pass


def compile(what, dynamic=None):
    if "no-compiler" in cuda.words:
        cuda.is_lost = "lost" in cuda.words
        raise RuntimeError("no compiler here\nand more")
    return what


class no_grad:
    def __enter__(self):
        pass

    def __exit__(self, *why):
        pass


class autograd:
    class Function:
        @classmethod
        def apply(cls, *inputs):
            return cls.forward(None, *inputs)

    @staticmethod
    def grad(out, inputs, gradient, retain_graph=False):
        assert gradient.shape == out.shape and inputs and all(x.requires_grad for x in inputs)
        tick(4)


class optim:
    class AdamW:
        def __init__(self, parameters, lr, fused):
            assert fused

        def step(self):
            tick()

        def zero_grad(self, set_to_none):
            assert set_to_none


class profiler:
    class ProfilerActivity:
        CUDA = "cuda"

    class profile:
        """A trace of three steps with a kernel of each kind, 3 ms each, and 3 ms of nothing."""

        def __init__(self, activities):
            assert activities == ["cuda"]

        def __enter__(self):
            return self

        def __exit__(self, *why):
            pass

        def export_chrome_trace(self, path):
            if "no-profiler" in cuda.words:
                raise RuntimeError("no trace here\nand more")
            names = ("nvjet_tst_128x256", "void pytorch_flash::flash_fwd_kernel<>", "triton_poi_fused_mul", "Memcpy DtoD",
                     "void at::native::multi_tensor_apply_kernel<>", "void what_is_this()")
            events = [{"cat": "gpu_memcpy" if name.startswith("Memcpy") else "kernel", "name": name, "ts": 4e3 * at, "dur": 3e3}
                      for at, name in enumerate(names)]
            events[-1]["ts"] = 18e3
            with open(path, "w", encoding="utf-8") as f:
                json.dump({"traceEvents": events + [{"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 0, "dur": 1e6}]}, f)
