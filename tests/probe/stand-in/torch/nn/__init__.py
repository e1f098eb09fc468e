# SPDX-License-Identifier: Apache-2.0
import contextlib
import types

from ..tensor import Tensor
from ..time_line import tick

chosen = None


@contextlib.contextmanager
def sdpa_kernel(backend):
    global chosen
    chosen = backend
    yield
    chosen = None


attention = types.SimpleNamespace(
    sdpa_kernel=sdpa_kernel,
    SDPBackend=types.SimpleNamespace(FLASH_ATTENTION="flash", CUDNN_ATTENTION="cudnn"))


class functional:
    @staticmethod
    def scaled_dot_product_attention(q, k, v, is_causal, enable_gqa):
        assert is_causal and chosen and k.shape[:3] == v.shape[:3] and q.shape[3] == k.shape[3]
        assert enable_gqa == (k.shape[1] < q.shape[1])
        if chosen == "cudnn" and q.shape[3] == 64:
            raise RuntimeError("no kernel for this head\nand more")
        if chosen == "flash" and v.shape[3] != q.shape[3]:
            raise RuntimeError("values are of another size")
        tick()
        return Tensor(*q.shape[:3], v.shape[3])

    @staticmethod
    def linear(x, weight, bias=None):
        assert x.shape[-1] == weight.shape[1] and (bias is None or bias.shape == weight.shape[:1])
        tick()
        return Tensor(*x.shape[:-1], weight.shape[0])

    @staticmethod
    def embedding(tokens, weight):
        tick()
        return Tensor(*tokens.shape, weight.shape[1])

    @staticmethod
    def rms_norm(x, shape, weight, eps):
        assert tuple(shape) == x.shape[-1:] == weight.shape
        tick()
        return Tensor(*x.shape)

    @staticmethod
    def layer_norm(x, shape, weight, bias, eps):
        return functional.rms_norm(x, shape, weight, eps)

    @staticmethod
    def silu(x):
        tick()
        return Tensor(*x.shape)

    softmax = staticmethod(lambda x, dim: functional.silu(x))

    @staticmethod
    def cross_entropy(logits, targets):
        assert len(logits.shape) == 2 and logits.shape[:1] == targets.shape
        tick()
        return Tensor()


class Module:
    def __call__(self, *inputs):
        return self.forward(*inputs)

    def register_buffer(self, name, tensor):
        setattr(self, name, tensor)

    def parameters(self):
        return []


class ModuleList(list):
    pass


def Parameter(tensor):
    return tensor.requires_grad_()


utils = types.SimpleNamespace(clip_grad_norm_=lambda parameters, most: tick())
