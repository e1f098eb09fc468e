# SPDX-License-Identifier: Apache-2.0
"""Stands in for PyTorch and a GPU: a clock that counts 1 ms for each forward and 4 ms for each backward, and a
cuDNN that knows no head of 64."""
import types

from . import nn

__version__ = "2.5.stand-in"
version = types.SimpleNamespace(cuda="12.4")
backends = types.SimpleNamespace(cudnn=types.SimpleNamespace(version=lambda: 90100))
bfloat16 = "bfloat16"


class Tensor:
    def __init__(self, *shape):
        self.shape = shape


def randn(*shape, device, dtype, requires_grad):
    assert device == "cuda" and dtype == bfloat16 and requires_grad
    return Tensor(*shape)


def randn_like(other):
    return Tensor(*other.shape)


class no_grad:
    def __enter__(self):
        nn.inference = True

    def __exit__(self, *why):
        nn.inference = False


class autograd:
    @staticmethod
    def grad(out, inputs, gradient, retain_graph):
        assert retain_graph and gradient.shape == out.shape and len(inputs) == 3
        nn.clock += 4


class cuda:
    @staticmethod
    def is_available():
        return True

    @staticmethod
    def get_device_name():
        return "NVIDIA H200"

    @staticmethod
    def synchronize():
        pass

    class Event:
        def __init__(self, enable_timing):
            assert enable_timing

        def record(self):
            self.at = nn.clock

        def elapsed_time(self, end):
            return end.at - self.at
