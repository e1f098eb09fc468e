# SPDX-License-Identifier: Apache-2.0
import contextlib
import types

clock = 0  # ms
inference = False
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
        global clock
        assert is_causal and chosen and k.shape == v.shape and enable_gqa == (k.shape[1] < q.shape[1])
        if chosen == "cudnn" and q.shape[3] == 64:
            raise RuntimeError("no kernel for this head\nand more")
        clock += 1
        return q
