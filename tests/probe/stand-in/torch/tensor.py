# SPDX-License-Identifier: Apache-2.0
"""Tensors that have a shape and nothing in them."""
import math

from .time_line import tick


class Tensor:
    device, dtype = "cuda", "bfloat16"

    def __init__(self, *shape, requires_grad=False):
        self.shape, self.requires_grad = tuple(shape), requires_grad

    def __getattr__(self, name):
        """Any operator that keeps the shape."""
        if name.startswith("__"):
            raise AttributeError(name)

        def run(*arguments, **words):
            tick()
            return Tensor(*self.shape)

        return run

    def requires_grad_(self):
        self.requires_grad = True
        return self

    def view(self, *shape):
        known = math.prod(n for n in shape if n != -1)
        return Tensor(*(math.prod(self.shape) // known if n == -1 else n for n in shape))

    reshape = view

    def view_as(self, other):
        assert math.prod(self.shape) == math.prod(other.shape)
        return Tensor(*other.shape)

    def expand(self, *shape):
        assert all(a in (1, b) or b == -1 for a, b in zip(self.shape[::-1], shape[::-1])), (self.shape, shape)
        own = (1,) * (len(shape) - len(self.shape)) + self.shape
        return Tensor(*(a if b == -1 else b for a, b in zip(own, shape)))

    def transpose(self, i, j):
        shape = list(self.shape)
        shape[i], shape[j] = shape[j], shape[i]
        return Tensor(*shape)

    def t(self):
        return self.transpose(0, 1)

    def flatten(self, start):
        return Tensor(*self.shape[:start], math.prod(self.shape[start:]))

    def __getitem__(self, at):
        if isinstance(at, Tensor):
            return Tensor(*at.shape)
        sizes, shape = list(self.shape), []
        for one in at:
            if one is None:
                shape.append(1)
            elif one is Ellipsis:
                shape += sizes[:-1]
                sizes = sizes[-1:]
            else:
                shape.append(len(range(*one.indices(sizes.pop(0)))))
        return Tensor(*shape, *sizes)

    def backward(self):
        tick(4)


def binary(self, other):
    tick()
    a, b = self.shape, getattr(other, "shape", ())
    short, long = sorted((a, b), key=len)
    short = (1,) * (len(long) - len(short)) + short
    assert all(x == y or 1 in (x, y) for x, y in zip(short, long)), (a, b)
    return Tensor(*(max(x, y) for x, y in zip(short, long)))


for name in "add radd sub mul rmul truediv rtruediv floordiv mod pow rpow neg".split():
    setattr(Tensor, "__%s__" % name, binary if name != "neg" else lambda self: binary(self, self))
