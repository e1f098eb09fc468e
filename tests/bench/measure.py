# SPDX-License-Identifier: Apache-2.0
"""What benches measure: processor time, instructions, and what other programs took of the machine meanwhile."""
import os
import re
import signal
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


def wait(process, most):
    """Waits for a process; where its group takes more than `most` s of processor time, ends it. What it took, and whether it came to its end."""
    while most:
        done, status, used = os.wait4(process.pid, os.WNOHANG)
        if done:
            return status, used, True
        if group_cpu(process.pid) > most:
            os.killpg(process.pid, signal.SIGTERM)
            return 0, os.wait4(process.pid, 0)[2], False
        time.sleep(0.05)
    _, status, used = os.wait4(process.pid, 0)
    return status, used, True


def run(words, most=0, stderr=subprocess.STDOUT, **options):
    """A command: processor time with its children's, s, wall time, MiB of its largest process, and what it wrote. most: s of processor time after
    which it is ended, and wall time and memory are NaN."""
    with tempfile.TemporaryFile() as out:
        start = time.monotonic()
        process = subprocess.Popen(words, stdout=out, stderr=stderr, start_new_session=True, **options)
        status, used, ended = wait(process, most)
        wall = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode("utf-8", "replace")
    if not ended:
        return used.ru_utime + used.ru_stime, float("nan"), float("nan"), ""
    if process.returncode not in (0, 1):
        sys.exit("%s: exit status %d\n%s" % (" ".join(words), process.returncode, text[-2000:]))
    return used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024, text


def instructions(words, **options):
    """Million instructions of a command by callgrind, which do not depend on what else runs."""
    text = run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *words], **options)[3]
    return int(re.search(r"refs: +([\d,]+)", text)[1].replace(",", "")) / 1e6
