#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: terminal.py PROGRAM SOURCE_ROOT

What a terminal shows at the end is what a file gets: progress is drawn over and gone, colours are the only thing more. Neither is there
with TERM=dumb, no colour with NO_COLOR, and none of both in a file.
"""
import os
import pty
import re
import subprocess
import sys
import tempfile
import threading

JOB = "--platform h800 --nodes 2 --model llama3.1-8b --bf16 --tp 2 --pp 2 --seq 4096 --mbs 1 --gbs 32".split()
SMALL = "--platform h800 --nodes 1 --model qwen2.5-0.5b --bf16 --seq 1024 --gbs 64".split()
ROWS = ("id,iteration_ms,outcome,platform,stack,nodes,model,tp,pp,micro_batch,global_batch,seq_length,precision,flags\n"
        "a,900,ok,h800,megatron-2407,1,llama3.1-8b,4,1,1,32,4096,bf16,\n"
        "b,,oom,h800,megatron-2407,1,llama3.1-8b,1,1,1,32,4096,bf16,\n")
NATIVE = ["run", *JOB, "--engine", "native"]
CASES = (  # words, what its progress says, whether it has colours
    (NATIVE, None, True),
    ([*NATIVE, "--gbs", "32000", "--full-replay"], r"replaying: +\d+ %", True),
    ([*NATIVE, "--gbs", "8000", "--trace", "big.json"], r"drawing: +\d+ %", True),
    (["plan", *JOB], None, False),
    (["schedule", "show", "1f1b", "--pp", "2", "-m", "4"], None, True),
    (["schedule", "compare", "--pp", "8", "--microbatches", "512"], r"comparing: +\d+ %", False),
    (["schedule", "compare", *NATIVE[1:], "--schedules", "1f1b,gpipe"], r"comparing: +\d+ %", True),
    (["schedule", "search", "--pp", "4", "--microbatches", "16", "--steps", "200"], r"searching: +\d+ %", False),
    (["schedule", "search", "--pp", "4", "--microbatches", "16", "--steps", "200", "--layouts"], r"searching: +\d+ %", False),
    (["schedule", "search", *JOB, "--steps", "50"], r"searching: +\d+ %", False),
    (["sweep", *JOB, "--vary", "tp=1,2", "--vary", "mbs=1,2"], r"predicting: +\d+ %", True),
    (["search", *SMALL, "--unconfirmed"], r"searching: +\d+ %", True),
    (["capacity", *JOB, "--tokens", "1B", "--layout", "given", "--nodes", "1..2"], r"planning: +\d+ %", True),
    (["validate", "rows.csv"], r"validating: +\d+ %", False),
    (["calibrate", "--platform", "h800", "--rows", "rows.csv", "--prop", "ss.gemm.efficiency.bf16"], r"\d evaluations", False),
)
END = b"\x04"  # no command writes it
failed = []


def on_terminal(program, words, folder, **environment):
    """Exit status and all bytes that a terminal gets. This side holds the terminal open and writes the last byte: a system may drop what
    is under way when the last writer leaves.
    """
    inside, outside = pty.openpty()
    p = subprocess.Popen([program, *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=outside, stderr=outside,
                         env=dict(os.environ, **environment))

    def end():
        p.wait()
        os.write(outside, END)

    last = threading.Thread(target=end)
    last.start()
    got = b""
    while not got.endswith(END):
        got += os.read(inside, 65536)
    last.join()
    os.close(outside)
    os.close(inside)
    return p.returncode, got[:-len(END)].decode()


def screen(text):
    """The lines that stay: carriage returns, erasing to the end of a line, and colours, which take no room."""
    lines = []
    for row in re.sub("\x1b\\[[0-9;]*m", "", text).split("\n"):
        shown = []
        at = 0
        for part in re.findall("\r|\x1b\\[K|[^\r\x1b]", row):
            if part == "\r":
                at = 0
            elif part == "\x1b[K":
                del shown[at:]
            else:
                shown[at:at + 1] = part
                at += 1
        lines.append("".join(shown).rstrip())
    return lines


def check(words, progress, colour, program, folder):
    def say(right, what, got):
        if not right:
            failed.append(what)
            print("%s: %s:\n%r" % (" ".join(words), what, got[-3000:]))

    p = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, check=False)
    say(p.returncode in (0, 1), "exit status %d" % p.returncode, p.stderr)
    say("\x1b" not in p.stdout + p.stderr and "\r" not in p.stdout + p.stderr, "a file has colours or progress", p.stdout + p.stderr)
    wanted = sorted(screen(p.stdout + p.stderr))
    for environment in {"TERM": "xterm"}, {"TERM": "xterm", "NO_COLOR": "1"}, {"TERM": "xterm", "NO_COLOR": ""}, {"TERM": "dumb"}:
        name = " ".join("%s=%s" % pair for pair in environment.items())
        status, got = on_terminal(program, words, folder, **environment)
        say(status == p.returncode, name + ": exit status %d, not %d" % (status, p.returncode), got)
        coloured = colour and environment["TERM"] != "dumb" and not environment.get("NO_COLOR")
        # what is told beside the answer comes at another time; slots of a schedule are told apart by colours, or by brackets
        say(sorted(screen(got)) == wanted or (coloured and words[0] == "schedule"), name + ": the screen shows something else than a file", got)
        say(bool(re.search("\x1b\\[[0-9;]*m", got)) == coloured, name + (": no colours" if coloured else ": colours"), got)
        moving = bool(progress) and environment["TERM"] != "dumb"
        say(bool(re.search("\r[^\r\n]*" + (progress or "[a-z]+: +\\d+ %"), got)) == moving, name + (": no progress" if moving else ": progress"), got)


def main():
    program = os.path.abspath(sys.argv[1])
    os.environ.pop("NO_COLOR", None)
    with tempfile.TemporaryDirectory(prefix="stepsim-terminal-") as folder:
        with open(os.path.join(folder, "rows.csv"), "w", encoding="utf-8") as f:
            f.write(ROWS)
        for case in CASES:
            check(*case, program, folder)
    print("%d commands, %d wrong" % (len(CASES), len(failed)))
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
