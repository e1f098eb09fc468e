#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what PyTorch's layers are made of beside attention on one GPU, and adds the rows to a table like
validation/microbench.csv: what an operator costs the host, GEMMs (bf16, TF32, fp8), grouped GEMMs of experts,
norms, casts, activations, the loss and copies, at shapes of the models in workloads/models."""
import contextlib
import random
import sys

import measure
import models
from measure import Item, Row

TOKENS = (2048, 4096, 8192, 16384)
GEMMS, GROUPED, LOSSES = 48, 32, 4  # shapes
MOST_ROWS = 131072  # of a grouped GEMM
SIZES = ((4096, 4096), (8192, 8192), (16384, 4096))  # rows and columns of what is no product


def normal(torch, *shape, dtype=None):
    return torch.randn(*shape, device="cuda").to(dtype or torch.bfloat16)


def one_run(build):
    """The `open` of an item with one row, whose run `build(torch)` makes."""
    return lambda torch: contextlib.nullcontext([build(torch)])


# ---- GEMMs: [m, k] x [k, n], as the three products of a linear layer lay their operands ----

LAYOUTS = {"forward": "TN", "dgrad": "NN", "wgrad": "NT"}


def gemm_shapes(all_models):
    for m in all_models:
        for tp in (1, 2, 4, 8):
            for out, into in ((m.heads * m.head // tp, m.hidden), (m.hidden, m.heads * m.value // tp),
                              (m.ffn // tp, m.hidden), (m.hidden, m.ffn // tp)):
                for tokens in TOKENS if out % 16 == 0 and into % 16 == 0 else ():
                    yield "forward", tokens, out, into
                    yield "dgrad", tokens, into, out
                    yield "wgrad", out, into, tokens


def operands(torch, layout, m, n, k, dtype):
    a = normal(torch, m, k, dtype=dtype) if layout != "NT" else normal(torch, k, m, dtype=dtype).t()
    return a, normal(torch, n, k, dtype=dtype).t() if layout == "TN" else normal(torch, k, n, dtype=dtype)


def product(layout, m, n, k, dtype, width):
    """Of a type by name, `width` bytes each; fp32 by TF32."""
    def build(torch):
        torch.set_float32_matmul_precision("high")
        pairs = measure.in_turn(torch, lambda: operands(torch, layout, m, n, k, getattr(torch, dtype)), (m + n) * k * width)
        return lambda: torch.mm(*next(pairs))

    return build


def scaled_product(way, m, n, k, by_rows):
    """The forward's sums are those of the tensor cores alone, the others are added up in fp32, as torchao has it."""
    def build(torch):
        scales = [torch.ones(s, device="cuda") for s in (((m, 1), (1, n)) if by_rows else ((), ()))]
        pairs = measure.in_turn(torch, lambda: operands(torch, "TN", m, n, k, torch.float8_e4m3fn), (m + n) * k)
        return lambda: torch._scaled_mm(*next(pairs), *scales, out_dtype=torch.bfloat16, use_fast_accum=way == "forward")

    return build


def gemms(all_models):
    """A weight gradient goes by its sizes alone: those that tables call one are added to fp32."""
    for way, m, n, k in models.spread(gemm_shapes(all_models), GEMMS):
        shape, layout = "M=%d N=%d K=%d%s" % (m, n, k, "" if way == "wgrad" else " " + way), LAYOUTS[way]
        for precision, laid, out, build in (
                ("bf16", layout, "bf16", product(layout, m, n, k, "bfloat16", 2)), ("fp32", layout, "fp32", product(layout, m, n, k, "float32", 4)),
                ("fp8", "TN", "bf16", scaled_product(way, m, n, k, 0)), ("fp8 (rowwise)", "TN", "bf16", scaled_product(way, m, n, k, 1))):
            name = "%s layout=%s out=%s" % (shape, laid, out)
            yield Item("GEMM in " + precision, [Row("gemm", name, precision, "TFLOP/s", 2.0 * m * n * k, "PyTorch's mm")], one_run(build))


# ---- grouped GEMMs: the rows of all experts, one behind the other ----

def grouped_shapes(all_models):
    for m in (m for m in all_models if m.experts):
        for groups in (m.experts // ep for ep in (1, 2, 4, 8) if m.experts % ep == 0):
            for rows in (128, 256, 512, 1024, 2048, 4096):
                if groups * rows <= MOST_ROWS and m.hidden % 16 == 0 and m.expert_ffn % 16 == 0:
                    yield groups, rows, m.expert_ffn, m.hidden
                    yield groups, rows, m.hidden, m.expert_ffn


def ends(groups, rows):
    """Where the rows of each group end: they scatter as those of balanced experts do, in multiples of 16 as fp8 wants them."""
    draw = random.Random(groups * rows)
    counts = [max(0, 16 * round(draw.gauss(rows, rows ** 0.5) / 16)) for _ in range(groups)]
    return [min(groups * rows, sum(counts[:i + 1])) for i in range(groups - 1)] + [groups * rows]


def grouped(way, groups, rows, n, k):
    def make(torch):
        total = groups * rows
        if way == "wgrad":
            return normal(torch, total, n).t(), normal(torch, total, k)
        w = normal(torch, groups, n, k)
        return (normal(torch, total, k), w.transpose(-2, -1)) if way == "fwd" else (normal(torch, total, n), w)

    def build(torch):
        offsets = torch.tensor(ends(groups, rows), device="cuda", dtype=torch.int32)
        pairs = measure.in_turn(torch, lambda: make(torch), 2 * groups * (rows * min(n, k) + n * k))
        return lambda: torch._grouped_mm(*next(pairs), offs=offsets)

    return build


def scaled_grouped(way, groups, rows, n, k):
    """All operands have the summed dimension innermost, and a scale for each row of it."""
    def make(torch):
        total, fp8 = groups * rows, torch.float8_e4m3fn
        if way == "wgrad":
            return normal(torch, n, total, dtype=fp8), normal(torch, k, total, dtype=fp8).t()
        out, into = (n, k) if way == "fwd" else (k, n)
        return normal(torch, total, into, dtype=fp8), normal(torch, groups, out, into, dtype=fp8).transpose(-2, -1)

    def build(torch):
        offsets = torch.tensor(ends(groups, rows), device="cuda", dtype=torch.int32)
        sizes = ((n * groups,), (k * groups,)) if way == "wgrad" else ((groups * rows,), (groups, n if way == "fwd" else k))
        scales = [torch.ones(s, device="cuda") for s in sizes]
        pairs = measure.in_turn(torch, lambda: make(torch), groups * (rows * min(n, k) + n * k))
        return lambda: torch._scaled_grouped_mm(*next(pairs), *scales, offs=offsets, out_dtype=torch.bfloat16,
                                                use_fast_accum=way == "fwd")

    return build


def grouped_gemms(all_models):
    """A weight gradient is a product for each group that is added to nothing: its row has the sizes of that, K in the mean."""
    for groups, rows, n, k in models.spread(grouped_shapes(all_models), GROUPED):
        names = {"fwd": "groups=%d total_M=%d N=%d K=%d fwd" % (groups, groups * rows, n, k),
                 "dgrad": "groups=%d total_M=%d N=%d K=%d dgrad" % (groups, groups * rows, k, n),
                 "wgrad": "G=%d M=%d(each) N=%d K=%d" % (groups, n, k, rows)}
        for way, name in names.items():
            for precision, build, what in (("bf16", grouped, "_grouped_mm"), ("fp8 (rowwise)", scaled_grouped, "_scaled_grouped_mm")):
                row = Row("grouped_gemm", name, precision, "TFLOP/s", 2.0 * groups * rows * n * k, "PyTorch's %s, %s" % (what, way))
                yield Item("grouped GEMM in " + precision, [row], one_run(build(way, groups, rows, n, k)))


# ---- what moves bytes ----

def operator(library, names, call, given, size, forward, backward=0):
    """An operator `call(torch)` on `given(torch)`, of `size` bytes, and its backward, if it has one; bytes that each has to move.
    `names` has (kind, shape with a place for the pass)."""
    kind, shape = names

    @contextlib.contextmanager
    def runs(torch):
        function = call(torch)

        def fresh():
            tensors = given(torch)
            out = function(*tensors) if backward else None
            return tensors, out, torch.randn_like(out) if backward else None

        sets = measure.in_turn(torch, fresh, size)

        def run_forward():
            with torch.no_grad():
                function(*next(sets)[0])

        def run_backward():
            tensors, out, gradient = next(sets)
            torch.autograd.grad(out, [t for t in tensors if t.requires_grad], gradient, retain_graph=True)

        yield [run_forward, run_backward] if backward else [run_forward]

    passes = (("fwd", forward), ("bwd", backward)) if backward else (("fwd", forward),)
    rows = [Row(kind, shape % way + (" bytes=%d" % moved if kind == "elementwise" else ""), "bf16", "GB/s", float(moved))
            for way, moved in passes]
    return Item(library, rows, runs)


def leaves(torch, count, *shape):
    return [normal(torch, *shape).requires_grad_() for _ in range(count)]


def cast_to_fp8(torch):
    """The scale is made of the tensor's largest value: two passes."""
    def cast(x):
        scale = 448 / torch.linalg.vector_norm(x, float("inf")).float()
        return (x * scale).to(torch.float8_e4m3fn)

    return cast


def forms(torch_function):
    """As PyTorch runs it operator by operator, and compiled."""
    yield "eager", torch_function
    yield "compiled", lambda torch: torch.compile(torch_function(torch), dynamic=False)


def norms(all_models):
    for columns in models.spread((m.hidden for m in all_models), 8):
        for rows in (4096, 16384):
            x = 2 * rows * columns
            for name, call in (
                    ("torch_rmsnorm", lambda torch: lambda x, w: torch.nn.functional.rms_norm(x, w.shape, w, 1e-5)),
                    ("torch_layernorm", lambda torch: lambda x, w: torch.nn.functional.layer_norm(x, w.shape, w, None, 1e-5))):
                yield operator(name, ("norm", name + " %%s N=%d C=%d" % (rows, columns)), call,
                               lambda torch, s=(rows, columns): leaves(torch, 1, *s) + leaves(torch, 1, s[1]), x, 2 * x, 3 * x)


def passes():
    """Bytes are those of operands and results, once, so that the rate tells how much more an operator moves."""
    for name, call, count, forward, backward in (
            ("cast to fp8 by tensor", cast_to_fp8, 1, 3, 0),
            ("cast to fp32", lambda torch: lambda x: x.float(), 1, 6, 0),
            ("SwiGLU", lambda torch: lambda x, y: torch.nn.functional.silu(x) * y, 2, 6, 10),
            ("add", lambda torch: lambda x, y: x + y, 2, 6, 0),
            ("copy", lambda torch: lambda x: x.clone(), 1, 4, 0),
            ("cat", lambda torch: lambda x, y: torch.cat((x, y)), 2, 8, 0)):
        for form, made in forms(call) if name in ("cast to fp8 by tensor", "SwiGLU") else (("eager", call),):
            for rows, columns in SIZES:
                n = rows * columns
                yield operator(form + " operators", ("elementwise", "%s %s %%s N=%d C=%d" % (form, name, rows, columns)), made,
                               lambda torch, c=count, s=(rows, columns): leaves(torch, c, *s), 2 * count * n, forward * n, backward * n)


def losses(all_models):
    def call(torch):
        return lambda logits, target: torch.nn.functional.cross_entropy(logits.float(), target)

    for vocabulary in models.spread((m.vocab for m in all_models), LOSSES):
        for rows in (2048, 8192):
            n = rows * vocabulary
            yield operator("loss", ("elementwise", "eager cross entropy %%s N=%d C=%d" % (rows, vocabulary)), call,
                           lambda torch, r=rows, v=vocabulary: leaves(torch, 1, r, v) + [torch.randint(v, (r,), device="cuda")],
                           2 * n, 2 * n, 4 * n)


# ---- what an operator costs the host ----

def own_function(torch):
    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x + 1

        @staticmethod
        def backward(ctx, gradient):
            return gradient + 1

    return Own.apply


def host_runs(call, shapes):
    @contextlib.contextmanager
    def runs(torch):
        function, tensors = call(torch), [leaf for s in shapes for leaf in leaves(torch, 1, *s)]
        gradient = torch.randn_like(function(*tensors))

        def forward():
            with torch.no_grad():
                function(*tensors)

        def both():
            torch.autograd.grad(function(*tensors), tensors, gradient)

        yield [forward, both]

    return runs


def host():
    """Tensors are so small that the GPU waits for the host."""
    square, row = (16, 16), (16,)
    for name, call, shapes in (
            ("add", lambda torch: lambda x, y: x + y, (square, square)),
            ("cast to fp32", lambda torch: lambda x: x.float(), (square,)),
            ("linear", lambda torch: torch.nn.functional.linear, (square, square)),
            ("RMSNorm", lambda torch: lambda x, w: torch.nn.functional.rms_norm(x, w.shape, w, 1e-5), (square, row)),
            ("autograd function", own_function, (square,)),
            ("compiled add", lambda torch: torch.compile(lambda x, y: x + y, dynamic=False), (square, square))):
        rows = [Row("host", "%s %s" % (name, way), "bf16", "us") for way in ("fwd", "fwd+bwd")]
        yield Item("host", rows, host_runs(call, shapes), measure.host_seconds_of)


# ---- all ----

def items(folder):
    """A run that is cut short has some of each: kinds by turns, what is compiled last."""
    all_models = models.load_all(folder)
    kinds = [list(kind) for kind in (host(), gemms(all_models), grouped_gemms(all_models), norms(all_models),
                                     [i for i in passes() if i.library == "eager operators"], losses(all_models))]
    for at in range(max(map(len, kinds))):
        yield from (kind[at] for kind in kinds if at < len(kind))
    yield from (i for i in passes() if i.library != "eager operators")


if __name__ == "__main__":
    sys.exit(measure.main(__doc__, items, "2.5", lambda torch: hasattr(torch, "_scaled_mm")))
