# SPDX-License-Identifier: Apache-2.0
"""The stand-in's time, which every clock of a script shows: an operator takes 1 ms, a backward 4."""
import time

ms = 0.0


def tick(count=1):
    global ms
    ms += count


time.monotonic = time.perf_counter = lambda: ms * 1e-3
