# SPDX-License-Identifier: Apache-2.0
"""What benches measure: processor time, instructions, and what other programs took of the machine meanwhile."""
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

TICKS = os.sysconf("SC_CLK_TCK")
QUIET = 5  # per cent of the processors that others may take where a wall time is told


def busy():
    """Processor time that all programs of the machine have taken, s: user, nice, system, interrupts, stolen."""
    with open("/proc/stat", encoding="ascii") as f:
        user, nice, system, _idle, _wait, hard, soft, stolen = (int(x) for x in f.readline().split()[1:9])
    return (user + nice + system + hard + soft + stolen) / TICKS


class Others:
    """with Others() as o: o.own += processor time; then o.share is the per cent of the processors that others took."""

    def __enter__(self):
        self.own, self.wall, self.busy = 0, time.monotonic(), busy()
        return self

    def __exit__(self, *_):
        self.wall, self.busy = time.monotonic() - self.wall, busy() - self.busy
        self.share = max(0, 100 * (self.busy - self.own) / (self.wall * os.cpu_count()))


def group_cpu(group):
    """Processor time so far of the processes of a group, s, without those that have ended."""
    took = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid, encoding="ascii", errors="replace") as f:
                fields = f.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        took += int(fields[2]) == group and (int(fields[11]) + int(fields[12])) / TICKS
    return took


class Limit:
    """with Limit(process, most) as l: looks each second whether its group took more than `most` s of processor time, and ends it then: l.over."""

    def __init__(self, process, most):
        self.process, self.most, self.over, self.done = process, most, False, threading.Event()

    def watch(self):
        while not self.done.wait(1):
            if group_cpu(self.process.pid) > self.most:
                self.over = True
                os.killpg(self.process.pid, signal.SIGTERM)
                return

    def __enter__(self):
        if self.most:
            threading.Thread(target=self.watch, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.done.set()


def run(words, most=0, stderr=subprocess.STDOUT, **options):
    """A command: processor time with its children's, s, wall time, MiB of its largest process, and what it wrote. most: s of processor time after
    which it is ended, and wall time and memory are NaN."""
    with tempfile.TemporaryFile() as out:
        start = time.monotonic()
        process = subprocess.Popen(words, stdout=out, stderr=stderr, start_new_session=True, **options)
        with Limit(process, most) as limit:
            _, status, used = os.wait4(process.pid, 0)
        wall = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode("utf-8", "replace")
    if limit.over:
        return max(most, used.ru_utime + used.ru_stime), float("nan"), float("nan"), ""
    if process.returncode not in (0, 1):
        sys.exit("%s: exit status %d\n%s" % (" ".join(words), process.returncode, text[-2000:]))
    return used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024, text


def instructions(words, **options):
    """Million instructions of a command by callgrind, which do not depend on what else runs."""
    text = run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *words], **options)[3]
    return int(re.search(r"refs: +([\d,]+)", text)[1].replace(",", "")) / 1e6
