# SPDX-License-Identifier: Apache-2.0
import contextlib
import os
import types

from . import time_line

calls, is_lost = 0, False
words = dict(word.partition("=")[::2] for word in os.environ.get("STAND_IN", "").split())


class OutOfMemoryError(RuntimeError):
    pass


def is_available():
    return "no-gpu" not in words


def get_device_name():
    return "NVIDIA H200"


def get_device_properties(device):
    return types.SimpleNamespace(L2_cache_size=1 << 20)


def synchronize():
    """interrupt=N: Ctrl-C comes while the N-th call waits."""
    global calls
    calls += 1
    if is_lost:
        raise RuntimeError("an illegal memory access was encountered\nand more")
    if calls == int(words.get("interrupt", 0)):
        raise KeyboardInterrupt


class Event:
    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        self.at = time_line.ms

    def elapsed_time(self, end):
        return end.at - self.at


class Stream:
    def wait_stream(self, other):
        pass


class CUDAGraph:
    """Its replay takes as long as what was captured, less what the host took: nothing here."""

    def replay(self):
        time_line.tick(self.ms)


@contextlib.contextmanager
def graph(made):
    start = time_line.ms
    yield
    made.ms = time_line.ms - start


def current_stream():
    return Stream()


def stream(other):
    return contextlib.nullcontext()


def empty_cache():
    pass


reset_peak_memory_stats = empty_cache


def max_memory_allocated():
    return 1000 << 20


def max_memory_reserved():
    return 1200 << 20


def mem_get_info():
    return 140000 << 20, 141500 << 20


def clock_rate():
    raise ModuleNotFoundError("no pynvml")
