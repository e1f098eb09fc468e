#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: limits.py PROGRAM SOURCE_ROOT [PART...]

Commands where the system gives too little: full disks, outputs that nobody reads, small limits of files, processor time, address
space and processes; a stopped SimGrid. Each ends with the full answer, or with a message that names what is missing, its exit status, and no file.
Parts are the functions below; all of them without a word.
"""
import contextlib
import ctypes
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

JOB = "--platform h800 --nodes 2 --model llama3.1-8b --bf16 --tp 2 --pp 2 --seq 4096 --mbs 1 --gbs 32".split()
ROWS = ("id,iteration_ms,outcome,platform,stack,nodes,model,tp,pp,micro_batch,global_batch,seq_length,precision,flags\n"
        "a,900,ok,h800,megatron-2407,1,llama3.1-8b,4,1,1,32,4096,bf16,\n")
NATIVE = ["run", *JOB, "--engine", "native"]
TELL = {  # what answers on stdout
    "run": NATIVE, "run --json": [*NATIVE, "--json"], "simgrid": ["run", *JOB, "--engine", "simgrid"], "plan": ["plan", *JOB], "list": ["list"],
    "list --json": ["list", "--json"], "sweep": ["sweep", *JOB, "--vary", "tp=1,2"], "validate": ["validate", "rows.csv"],
    "compare": ["compare", *JOB, "--with", "--tp 4"], "program": ["program", "write", *JOB], "help": ["help"], "version": ["--version"],
    "schedule": ["schedule", "write", "1f1b", "--pp", "4", "-m", "8"], "platform": ["platform", "show", "h800"],
    "import": ["platform", "import", "SRC/tests/unit/data/lstopo-h800-8-switch.xml"], "options": ["help", "--options"],
    "doctor": ["doctor"],
}
WRITE = {  # what writes a file, whose name comes last
    "run": [*NATIVE, "--output"], "report": [*NATIVE, "--report"], "trace": [*NATIVE, "--trace"], "gantt": [*NATIVE, "--gantt"],
    "ranks": [*NATIVE, "--ranks-csv"], "plan": ["plan", *JOB, "--output"], "program": ["program", "write", *JOB, "--output"],
    "sweep": ["sweep", *JOB, "--vary", "tp=1,2", "--csv"], "validate": ["validate", "rows.csv", "--output"],
    "new": ["platform", "new", "--nodes", "2", "--card", "h800", "--output"],
    "schedule": ["schedule", "write", "1f1b", "--pp", "4", "-m", "8", "--output"],
}
failed = []
counted = 0


def expect(what, right, got):
    global counted
    counted += 1
    if not right:
        failed.append(what)
        print("%s: exit status %s, files %s: %s%s" % (what, got[0], got[3], got[2][:300], got[1][-200:]))


class Place:
    """A program, and folders in which its commands run."""

    def __init__(self, program, source):
        self.program = os.path.abspath(program)
        self.source = os.path.abspath(source)

    def run(self, words, limits=None, stdout=subprocess.PIPE, folder=None, before=None):
        """Exit status, stdout, stderr, files that were left."""
        def prepare():
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            for what, value in (limits or {}).items():
                resource.setrlimit(what, value)
            if before:
                before()

        with tempfile.TemporaryDirectory(prefix="stepsim-limits-") as own:
            folder = folder or own
            with open(os.path.join(own, "rows.csv"), "w", encoding="utf-8") as f:
                f.write(ROWS)
            os.chmod(own, 0o777)
            words = [w.replace("SRC", self.source).replace("rows.csv", os.path.join(own, "rows.csv")) for w in words]
            p = subprocess.run([self.program, *words], cwd=folder, stdout=stdout, stderr=subprocess.PIPE, preexec_fn=prepare, check=False)
            left = sorted(f for f in os.listdir(folder) if f != "rows.csv")
        return p.returncode, p.stdout.decode("utf-8", "replace") if p.stdout else "", p.stderr.decode("utf-8", "replace"), left


def answers(place):
    """stdout that is full, closed, and read by nobody."""
    for name, words in TELL.items():
        with open("/dev/full", "wb") as full:
            got = place.run(words, stdout=full)
        expect(name + " > /dev/full", got[0] == 3 and got[2].count("No space left on device") == 1 and not got[3], got)
        got = place.run(words, before=lambda: os.close(1))
        expect(name + " >&-", got[0] == 3 and got[2].count("Bad file descriptor") == 1 and not got[3], got)
        for quiet in False, True:
            read, write = os.pipe()
            os.close(read)
            got = place.run(words, stdout=write, before=lambda q=quiet: signal.signal(signal.SIGPIPE, signal.SIG_IGN if q else signal.SIG_DFL))
            os.close(write)
            right = got[0] == 3 and "Broken pipe" in got[2] if quiet else got[0] == -signal.SIGPIPE
            expect("%s into a closed pipe%s" % (name, ", SIGPIPE ignored" if quiet else ""), right and not got[3], got)


def files(place):
    """Files that cannot be written, or not to their end: no part of them stays."""
    small = {resource.RLIMIT_FSIZE: (100, 100)}
    for name, words in WRITE.items():
        got = place.run([*words, "/dev/full"])
        expect(name + " to /dev/full", got[0] == 3 and "/dev/full: error: cannot write: No space left" in got[2], got)
        got = place.run([*words, "out"], limits=small)
        expect(name + ", files of 100 bytes", got[0] == 3 and "out: error: cannot write: File too large" in got[2] and not got[3], got)
    got = place.run([*NATIVE, "--gbs", "3200", "--trace", "out.json.gz"], limits={resource.RLIMIT_FSIZE: (5000, 5000)})
    expect("a packed trace, files of 5000 bytes", got[0] == 3 and "out.json.gz: error: cannot write" in got[2] and not got[3], got)


def small_disk(place):
    """In a file system of 16 KiB, where one can be made."""
    inside = ["unshare", "--mount", "--map-root-user", "--user", "sh", "-c", "mount -t tmpfs -o size=16k none \"$1\" && shift && \"$@\"; "
              "s=$?; ls -A \"$D\" >&2; exit $s", "sh"]
    with tempfile.TemporaryDirectory(prefix="stepsim-limits-") as folder:
        env = dict(os.environ, D=folder)
        if subprocess.run([*inside, folder, "true"], env=env, capture_output=True, check=False).returncode:
            print("no small file system can be mounted here")
            return
        for name in "out.json", "out.json.gz":
            words = [place.program, *NATIVE, "--gbs", "3200", "--trace", os.path.join(folder, name)]
            p = subprocess.run([*inside, folder, *words], env=env, capture_output=True, text=True, check=False)
            last = p.stderr.strip().split("\n")[-1]
            expect("%s on a small disk" % name, p.returncode == 3 and "No space left on device" in last,
                   (p.returncode, p.stdout, p.stderr, []))


def processor(place):
    """Processor time that ends while a picture is open: the file goes, the shell sees why."""
    words = [*NATIVE, "--gbs", "3200000", "--full-replay", "--trace", "out.json"]
    got = place.run(words, limits={resource.RLIMIT_CPU: (1, 2)})
    expect("a second of processor time", got[0] == -signal.SIGXCPU and not got[3], got)
    words = [*TELL["simgrid"], "--gbs", "3200000", "--full-replay"]
    got = place.run(words, limits={resource.RLIMIT_CPU: (1, 2)})
    expect("a second of processor time in SimGrid", got[0] in (3, -signal.SIGXCPU) and not got[3], got)


def address_space(place):
    """From too little for the program itself to enough: the answer, or a word."""
    enough = False
    for name in "run", "simgrid", "list", "sweep", "import", "validate", "report":
        words = [*WRITE["report"], "out"] if name == "report" else TELL[name]
        whole = place.run(words)
        for mib in 16, 28, 38, 41, 43, 44, 45, 47, 52, 64, 76, 192:
            got = place.run(words, limits={resource.RLIMIT_AS: (mib << 20, mib << 20)})
            full = got[0] == 0 and got[1] == whole[1] and got[3] == whole[3]
            enough |= full
            loader = got[0] == 127 and re.search("error while loading|cannot allocate TLS", got[2])  # the system's, before main
            clean = got[0] == 3 and (got[2] or "error" in got[1]) and not got[3]
            expect("%s in %d MiB" % (name, mib), full or loader or clean, got)
    expect("any in 192 MiB", enough, (0, "", "none", []))
    got = place.run(["--version"], limits={resource.RLIMIT_AS: (192 << 20, 192 << 20), resource.RLIMIT_STACK: (256 << 10, 256 << 10)})
    expect("a small stack", got[0] == 0, got)
    # each rank is an actor, and so are two flows of a tree; with 64 MiB beside them 3,076 stacks of 136 KiB are 0.5 GB, told before they are taken
    words = ["run", *JOB, "--nodes", "128", "--gbs", "1024", "--unfold", "--engine", "simgrid"]
    got = place.run(words, limits={resource.RLIMIT_AS: (256 << 20, 256 << 20)})
    expect("1,024 ranks in 256 MiB", got[0] == 3 and "1024 ranks on SimGrid would take about 0.5 GB" in got[2] and "of address space" in got[2]
           and "--engine native" in got[2] and got[2].count("\n") == 1, got)
    got = place.run(words)
    expect("1,024 ranks", got[0] == 0, got)


def processes(place):
    """No process more: root has no such limit, so this one is another user there."""
    def other():
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))

    if place.run(["--version"], before=lambda: (os.setgid(65534), os.setuid(65534)) if os.getuid() == 0 else None)[0]:
        print("another user cannot run the program here")
        return
    for name, words in TELL.items():
        whole, got = place.run(words), place.run(words, before=other)
        same = got[0] == 0 and re.sub(r"cores.*", "", got[1]) == re.sub(r"cores.*", "", whole[1])
        expect("%s without a process more" % name, same or (got[0] in (1, 3) and "Resource temporarily unavailable" in got[1] + got[2]), got)


def helper_of(p):
    """SimGrid's process once it runs its own program: stopped before, it holds the vfork() of its parent, which can look after nobody.
    None: the command has ended."""
    while p.poll() is None:
        try:
            with open("/proc/%d/task/%d/children" % (p.pid, p.pid), encoding="ascii") as f:
                children = f.read().split()
            if children and os.readlink("/proc/%s/exe" % children[0]) != os.readlink("/proc/%d/exe" % p.pid):
                return int(children[0])
        except OSError:  # one of them has just ended
            continue
        time.sleep(0.001)
    return None


def naps(pid):
    """How often a process went to sleep; 2**62: it has ended."""
    try:
        with open("/proc/%d/status" % pid, encoding="ascii") as f:
            return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", f.read(), re.M).group(1))
    except OSError:
        return 2**62


def stop(words, goes_on):
    """Stops SimGrid under a command until that has looked for it twice, or for good. What became of the command; None: it ended too soon."""
    p = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    child = helper_of(p)
    if child:
        os.kill(child, signal.SIGSTOP)
        if goes_on:
            last = naps(p.pid) + 3  # it sleeps until there is news, or it is time to look
            while naps(p.pid) < last:
                time.sleep(0.001)
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGCONT)
            child = child if p.poll() is None else None
    out, err = p.communicate()
    return None if child is None or (not goes_on and p.returncode == 0) else (p.returncode, out, err, [])


def stopped(place):
    """A SimGrid that is stopped for a moment goes on, one that stays so is given up. A run that has ended before is tried with more to do."""
    for goes_on in True, False:
        got = None
        for batch in 4000, 16000, 64000, 256000:
            words = [place.program, "run", *JOB, "--gbs", str(batch), "--level", "layer", "--engine", "simgrid", "--brief"]
            got = stop(words, goes_on)
            if got:
                break
        whole = subprocess.run(words, capture_output=True, text=True, check=False) if goes_on else None
        got = got or (0, "", "it always ended before it could be stopped", [])
        right = got[0] == whole.returncode == 0 and got[1] == whole.stdout if goes_on else got[0] == 3 and "it was stopped" in got[2]
        expect("SimGrid stopped " + ("for a moment" if goes_on else "for good"), right, got)


def left_behind(place):
    """Processes that outlive a command are ours here: there are none."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    for name in "simgrid", "sweep":
        got = place.run([*TELL[name], *(["--engine", "simgrid", "--workers", "2"] if name == "sweep" else [])])
        try:
            left = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            left = None
        expect(name + " leaves a process", got[0] == 0 and left is None, (*got[:3], [str(left)]))


def main():
    place = Place(*sys.argv[1:3])
    for part in answers, files, small_disk, processor, address_space, processes, stopped, left_behind:
        if part.__name__ in sys.argv[3:] or not sys.argv[3:]:
            part(place)
    print("%d cases, %d wrong" % (counted, len(failed)))
    sys.exit(1 if failed or not counted else 0)


if __name__ == "__main__":
    main()
