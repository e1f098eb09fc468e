# SPDX-License-Identifier: Apache-2.0
"""What benches measure: processor time, instructions, and what other programs took of the machine meanwhile."""
import os
import re
import subprocess
import sys
import tempfile
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


def run(words, most=0, stderr=subprocess.STDOUT, **options):
    """A command: processor time with its children's, s, wall time, MiB of its largest process, and what it wrote. most: s of wall time after which
    it is ended, and its times are NaN."""
    with tempfile.TemporaryFile() as out:
        start = time.monotonic()
        process = subprocess.Popen(words, stdout=out, stderr=stderr, start_new_session=True, **options)
        done = 0
        while not done:
            done, status, used = os.wait4(process.pid, os.WNOHANG if most else 0)
            if not done and time.monotonic() - start > most:
                os.killpg(process.pid, 15)
                _, status, used = os.wait4(process.pid, 0)
                process.returncode = 0
                return float("nan"), float("nan"), float("nan"), ""
            time.sleep(0 if done else 0.02)
        wall = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode("utf-8", "replace")
    if process.returncode not in (0, 1):
        sys.exit("%s: exit status %d\n%s" % (" ".join(words), process.returncode, text[-2000:]))
    return used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024, text


def instructions(words, **options):
    """Million instructions of a command by callgrind, which do not depend on what else runs."""
    text = run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *words], **options)[3]
    return int(re.search(r"refs: +([\d,]+)", text)[1].replace(",", "")) / 1e6
