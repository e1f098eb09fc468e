#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# usage: sandbox.py PROGRAM [TEST...]
# Launch scripts that try to reach the machine, as the user who runs this and, where that is root, as nobody, too: by paths that are made
# for them, by descriptors of who calls, by sockets, FIFOs and what else the kernel has. What the machine has is looked at before and after.
# Ends with 77 where something could not be seen, with a line for each.
import contextlib
import ctypes
import os
import select
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv[1])
JOB = ("torchrun --nnodes 1 --nproc_per_node 8 pretrain_gpt.py --num-layers 2 --hidden-size 512 --num-attention-heads 8 --seq-length 512 "
       "--max-position-embeddings 512 --micro-batch-size 1 --global-batch-size 8 --bf16 --vocab-size 1024\n")
NOBODY = 65534
UNSEEN = set()
# Calls of the kernel that would lead out: name, number on x86-64 and on others (those of all machines), arguments.
CALLS = [("unshare", 272, 97, (0x10000000,)), ("setns", 308, 268, (0, 0)), ("clone", 56, 220, (0x10000000 | 17, 0, 0, 0, 0)),
         ("keyctl", 250, 219, (0, -3, 0)), ("add_key", 248, 217, (0, 0, 0, 0, 0)), ("request_key", 249, 218, (0, 0, 0, 0)),
         ("ptrace", 101, 117, (0, 0, 0, 0)), ("process_vm_readv", 310, 270, (1, 0, 0, 0, 0, 0)), ("bpf", 321, 280, (0, 0, 0)),
         ("perf_event_open", 298, 241, (0, 0, -1, -1, 0)), ("io_uring_setup", 425, 425, (1, 0)), ("pidfd_getfd", 438, 438, (0, 0, 0)),
         ("memfd_create", 319, 279, (0, 0)), ("shmget", 29, 194, (0, 4096, 0o1600)), ("flock", 73, 32, (0, 6)), ("lease", 72, 25, (0, 1024, 0)),
         ("lock", 72, 25, (0, 6, 0)), ("socketpair", 53, 199, (1, 1, 0, 0)), ("core limit", 302, 261, (0, 4, 0, 0))]


def unseen(what, who):
    UNSEEN.add("not seen, as %s: %s" % ("nobody" if who == NOBODY else "user %d" % who, what))


def look(path):
    """Type, rights, owner, names, size, times and target."""
    st = os.lstat(path)
    return (st.st_mode, st.st_uid, st.st_nlink, st.st_size, st.st_mtime_ns, st.st_ctime_ns, os.readlink(path) if stat.S_ISLNK(st.st_mode) else "")


def walk(top):
    """All that is there."""
    found = {}
    for folder, names, files in os.walk(top):
        for name in [""] + names + files:
            found[os.path.join(folder, name)] = look(os.path.join(folder, name))
    return found


class Machine:
    """Runs scripts as one user, `who`."""
    who = 0

    def become(self):
        if os.getuid() != self.who:
            os.setgroups([])
            os.setgid(self.who)
            os.setuid(self.who)

    def setUp(self):
        probe = ["unshare", "-mpnf" if self.who == 0 else "-Umpnf", "true"]
        if subprocess.run(probe, preexec_fn=self.become, capture_output=True).returncode:
            unseen("all of it, the kernel gives no namespaces", self.who)
            self.skipTest("no namespaces")
        self.top = tempfile.mkdtemp(prefix="stepsim-sandbox-", dir="/var/tmp")  # of the machine: memory covers /tmp
        self.folder, self.outside = os.path.join(self.top, "jobs"), os.path.join(self.top, "outside")
        for path in (self.folder, self.outside, os.path.join(self.folder, "sub"), os.path.join(self.folder, ".git")):
            os.mkdir(path)
            os.chmod(path, 0o777)
        os.chmod(self.top, 0o777)

    def tearDown(self):
        shutil.rmtree(self.top)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, 0o666)
        return path

    def run_script(self, *lines, before=(), words=(), trust=False, **more):
        """Runs the lines and then a launcher; nothing of the test's folders is another than before."""
        path = self.write("job.sh", "".join(line + "\n" for line in lines) + JOB)
        words = [*before, PROGRAM, "run", *words, "--platform", "h100", "--engine", "native", "--brief", *["--trust"] * trust, "--launch", path]
        seen = walk(self.top)
        r = subprocess.run(words, preexec_fn=self.become, capture_output=True, text=True, stdin=subprocess.DEVNULL, **{"cwd": self.folder, **more})
        self.assertEqual(seen, walk(self.top))
        return r

    def launched(self, *lines, **more):
        r = self.run_script(*lines, **more)
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)

    def stopped(self, status, *lines, **more):
        """The script's own end, so that it got as far as that."""
        r = self.run_script(*lines, **more)
        self.assertEqual((r.returncode, r.stdout), (3, ""), r.stderr)
        self.assertIn("ended with status %d" % status, r.stderr)
        return r.stderr

    def in_script(self, *lines):
        """What a line of Python in the script does, which exits with 5 where it reaches something."""
        self.launched("python - <<'END' || exit 5", *lines, "END")

    def has_processes(self):
        r = self.run_script("[ -d /proc/self ] || exit 5")
        if r.returncode:
            unseen("what needs /proc, which is not given", self.who)
            self.skipTest("no /proc")


class Sandbox(Machine):
    """Tests of every user."""

    # ---- paths that are made for the script ----

    def test_paths_beside_the_script(self):
        """They are made in its copy of the folder: the script goes on."""
        self.launched("[ -f sub/made ] || exit 5", f"[ -d {self.folder}/new/deep ] || exit 5")
        self.stopped(5, "[ -f ../above ] || exit 5")
        self.stopped(5, f"[ -d {self.folder}/../outside/made ] || exit 5")

    def test_links_beside_the_script(self):
        for name, target in (("absolute", self.outside), ("relative", "../outside"), ("new", os.path.join(self.outside, "new")),
                             ("chain", "link1"), ("link1", "link2"), ("link2", "../outside/."), ("root", "/"), ("self", "self")):
            os.symlink(target, os.path.join(self.folder, name))
            os.symlink(target, os.path.join(self.folder, "sub", name))
        self.stopped(5, f"[ -d {self.folder}/absolute/.config/autostart ] || exit 5")
        self.stopped(5, "[ -f sub/relative/made ] || exit 5")
        self.stopped(5, f"[ -f {self.folder}/chain/made ] || exit 5", f"[ -f root{self.outside}/made ] || exit 5", "[ -f self/made ] || exit 5")
        self.stopped(5, *[f"{self.folder}/{link}/torchrun x.py" for link in ("absolute", "relative", "chain", "self", "sub/absolute", "sub/chain")],
                     "echo x > new; echo x > absolute/written; mkdir -p relative/deep", "[ -f new ] && [ -f absolute/written ] && exit 6", "exit 5")

    def test_the_machine_is_not_seen(self):
        """Neither by its own path nor above the root."""
        self.in_script("import os", *[f"assert not os.path.exists('{above}{self.outside}')" for above in ("", "/..", "/../..", "/proc/1/root", "/proc/self/root/..")])

    def test_links_of_processes(self):
        """Those in /proc lead out of no root but their own."""
        folder = os.open(self.outside, os.O_RDONLY)
        try:
            paths = (f"/proc/self/fd/{folder}", f"/dev/fd/{folder}", "/proc/1/cwd", "/proc/self/cwd", f"/proc/1/root{self.outside}", f"/proc/self/root{self.outside}",
                     f"/proc/{os.getpid()}/root{self.outside}", f"/proc/{os.getppid()}/cwd")
            r = self.run_script(*[f"{path}/torchrun x.py" for path in paths], *[f"echo x > {path}/written" for path in paths], *[f"[ -f {path}/made ] || exit 5" for path in paths],
                                pass_fds=[folder], cwd=self.outside)
            self.assertIn("only: torchrun x.py", r.stderr)
        finally:
            os.close(folder)

    def test_changes_stay_in_the_copy(self):
        self.write("kept", "kept\n")
        self.launched("echo more >> kept", "rm -r sub", f"mkdir {self.folder}/new", f"echo x > {self.folder}/new/x", "[ $(wc -l < kept) = 2 ] || exit 5",
                      f"[ -f new/x ] || exit 5", "[ ! -e sub ] || exit 5", f"chmod 777 {self.folder}/kept")

    # ---- descriptors ----

    def descriptors(self, **more):
        victim, secret = self.write("victim", "kept\n"), self.write("secret", "the secret\n")
        with open(victim, "a") as w, open(secret) as r:
            folder, reader, writer = os.open(self.outside, os.O_RDONLY), *os.pipe()
            numbers = (w.fileno(), r.fileno(), folder, reader, writer)
            try:
                said = self.stopped(3, f"echo in >&{numbers[0]}", f"echo in >&{writer}", f"cat <&{numbers[1]}",
                                    f"perl -e 'mkdir \"/proc/self/fd/{folder}/made\"; mkdir \"/dev/fd/{folder}/made\"'",
                                    "python - <<'END'", "import os", f"os.open('made', os.O_CREAT | os.O_WRONLY, dir_fd={folder})", "END",
                                    "exit 3", pass_fds=numbers, **more)
                self.assertNotIn("the secret", said)
                self.assertEqual(select.select([reader], [], [], 0)[0], [])
            finally:
                for fd in (folder, reader, writer):
                    os.close(fd)

    def test_descriptors(self):
        self.descriptors()

    def test_descriptors_of_who_trusts(self):
        self.descriptors(trust=True)

    def test_no_descriptor_but_three(self):
        """The fourth is that of ls, which reads the folder."""
        self.has_processes()
        with open(os.devnull) as more:
            self.launched("[ \"$(echo $(ls /proc/self/fd))\" = '0 1 2 3' ] || exit 5", pass_fds=[more.fileno()])

    # ---- sockets, FIFOs, devices ----

    def test_unix_sockets(self):
        """None that can be bound: by a path, also of a link, or by an abstract name, of streams and datagrams."""
        os.symlink("sub", os.path.join(self.folder, "link"))
        abstract = "\0stepsim-sandbox-%d" % os.getpid()
        with contextlib.ExitStack() as stack:
            bound = []
            for kind, name in ((socket.SOCK_STREAM, "stream"), (socket.SOCK_DGRAM, "datagram"), (socket.SOCK_STREAM, None)):
                s = stack.enter_context(socket.socket(socket.AF_UNIX, kind))
                s.bind(os.path.join(self.folder, "sub", name) if name else abstract)
                if name:
                    os.chmod(os.path.join(self.folder, "sub", name), 0o777)
                if kind == socket.SOCK_STREAM:
                    s.listen(8)
                bound.append(s)
            self.in_script(
                "import socket, sys",
                f"for kind, name in ((1, 'sub/stream'), (1, 'link/stream'), (1, '{self.folder}/sub/stream'), (2, 'sub/datagram'), (1, '\\0{abstract[1:]}')):",
                "    for make in (lambda: socket.socket(1, kind), lambda: socket.socketpair(1, kind)[0]):",
                "        try:", "            s = make(); s.connect(name); s.send(b'in'); sys.exit('reached ' + name)", "        except OSError: pass")
            self.launched("perl -MSocket -e 'socket(S, 1, 1, 0) and connect(S, pack_sockaddr_un(\"sub/stream\")) and exit 1' || exit 5")
            self.assertEqual(select.select(bound, [], [], 0)[0], [])

    def test_other_sockets(self):
        """Those of the Internet find a free port, and lead nowhere; there are no others."""
        self.in_script("import socket, sys", "s = socket.socket()", "s.bind(('', 0))", "assert s.getsockname()[1]",
                       "for family in range(1, 46):", "    if family in (socket.AF_INET, socket.AF_INET6): continue", "    for kind in (1, 2, 3, 5):",
                       "        try: socket.socket(family, kind); sys.exit('family %d' % family)", "        except OSError as e: assert e.errno == 97, (family, e)")

    def test_fifos(self):
        """Neither is a writer's text taken, nor a reader's given."""
        path = os.path.join(self.folder, "sub", "fifo")
        os.mkfifo(path)
        os.chmod(path, 0o666)
        fd = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        try:
            os.write(fd, b"for another")
            self.launched("read -t 1 -n 1 x <> sub/fifo && exit 5", "[ -p sub/fifo ] && exit 5", f"perl -e 'open F, \"+<\", \"{path}\" and syswrite F, \"in\"'", "true")
            self.assertEqual(os.read(fd, 100), b"for another")
        finally:
            os.close(fd)

    def test_a_fifo_as_configuration(self):
        """The script names it, and the program would read it: its writer waits on."""
        path = os.path.join(self.folder, "fifo")
        os.mkfifo(path)
        os.chmod(path, 0o666)
        script = self.write("job.sh", "deepspeed train.py --deepspeed fifo --model_name_or_path gpt2 --per_device_train_batch_size 1\n")
        writer = subprocess.Popen(["sh", "-c", 'echo taken > "$1"', "sh", path])
        try:
            r = subprocess.run([PROGRAM, "run", "--platform", "h100", "--launch", script], cwd=self.folder, preexec_fn=self.become, capture_output=True, text=True)
            self.assertIn("fifo: error: a FIFO, not a file", r.stderr)
            self.assertIsNone(writer.poll())
        finally:
            writer.kill()
            writer.wait()

    def test_devices(self):
        """Of the machine's own only the bytes are reached, and no other is made; neither is another name of a file of the machine."""
        with open(self.write("large", ""), "w") as f:
            f.truncate(3 << 20)
        before = [look(path) for path in ("/dev/null", "/dev/zero")]
        self.in_script("import os, stat", "open('/dev/null', 'w').write('x')", "assert open('/dev/zero', 'rb').read(1) == b'\\0'", "os.link('job.sh', 'name')",
                       "for what in (lambda: os.mknod('made', stat.S_IFCHR | 0o666, os.makedev(1, 3)), lambda: os.mknod('made', stat.S_IFBLK | 0o666, os.makedev(7, 0)),",
                       "             lambda: os.link('large', 'other'), lambda: os.link('/usr/lib/os-release', 'other'), lambda: os.link('/dev/null', 'other'),",
                       "             lambda: os.utime('/dev/null'), lambda: os.chmod('/dev/null', 0o600), lambda: os.unlink('/dev/null')):",
                       "    try: what()", "    except OSError: continue", "    raise SystemExit(5)")
        self.assertEqual(before, [look(path) for path in ("/dev/null", "/dev/zero")])

    # ---- the kernel ----

    def test_calls_of_the_kernel(self):
        column = {"x86_64": 1, "aarch64": 2, "riscv64": 2}.get(os.uname().machine)
        if not column:
            return unseen("calls by number on " + os.uname().machine, self.who)
        calls = [(row[0], row[column], row[3]) for row in CALLS]
        self.in_script("import ctypes, os, sys", "libc = ctypes.CDLL(None, use_errno=True)", "parent = os.getpid()", f"for name, number, words in {calls}:",
                       "    fd = os.open('/usr/lib/os-release', os.O_RDONLY); os.dup2(fd, 0)",
                       "    got = libc.syscall(number, *words)", "    if os.getpid() != parent: os._exit(0)",
                       "    assert (got, ctypes.get_errno()) == (-1, 1), (name, got, ctypes.get_errno())")

    def test_threads_and_processes_are_given(self):
        self.in_script("import subprocess, threading", "t = threading.Thread(target=print)", "t.start(); t.join()",
                       "assert subprocess.run(['expr', '1', '+', '1'], capture_output=True, close_fds=False).stdout == b'2\\n'")

    def test_the_first_process(self):
        """It is the program's, not the script's."""
        self.has_processes()
        self.launched("ls /proc/1/fd /proc/1/cwd/ /proc/1/root/ 2> /dev/null && exit 5", "cat /proc/1/environ && exit 5", "kill -9 1; kill -HUP 1; kill -TERM 1",
                      "grep -q '^CapEff:.0000000000000000$' /proc/1/status || exit 5", "grep -q '^Max core file size  *1 ' /proc/self/limits || exit 5",
                      "[ $(cat <(echo given)) = given ] || exit 5")

    # ---- the copy of the folder ----

    def test_what_the_copy_has(self):
        self.write("sub/deep/common.sh", "GIVEN=1\n")
        os.symlink("sub/deep/common.sh", os.path.join(self.folder, "common.sh"))
        self.write(".git/config", "x\n")
        self.write("old", "x\n")
        os.utime(os.path.join(self.folder, "old"), (1e9, 1e9))
        with open(self.write("large", ""), "w") as f:
            f.truncate(3 << 20)
        self.launched("source common.sh", "[ \"$GIVEN\" = 1 ] || exit 5", "[ -e .git ] && exit 5", "[ $(stat -c %Y old) = 1000000000 ] || exit 5",
                      f"[ $(wc -c < {self.folder}/large) = {3 << 20} ] || exit 5", "echo x >> large && exit 5", "rm large && exit 5", "true")

    def test_what_lies_around(self):
        """The Git repository is seen, its hidden folders and what is beside it are not; nothing of either changes."""
        for name in ("../outside/planted/common.sh", "other/.ssh/id", "sub/.ssh/id", "sub/.netrc", ".aws/credentials", "other/.git/config", "lib/common.sh"):
            self.write(name, "GIVEN=1\n")
        os.symlink("../outside/planted", os.path.join(self.folder, "way"))
        os.mkdir(os.path.join(self.folder, "work"))
        os.chmod(os.path.join(self.folder, "work"), 0o777)
        work = os.path.join(self.folder, "work")
        hidden = [".git", "other/.ssh", "sub/.ssh", "sub/.netrc", ".aws", "other/.git", "way/common.sh", "../outside", "../outside/planted/common.sh"]
        self.launched(*(f"for f in {self.folder}/{name} ../{name}; do [ -e $f ] && exit 5; done" for name in hidden), f"[ -e {self.outside} ] && exit 7",
                      f"[ $PWD = {work} ] || exit 6", "source ../lib/common.sh", "[ \"$GIVEN\" = 1 ] || exit 5", "echo TP=1 > ../lib/common.sh || exit 5", "rm -r ../other ../way",
                      "mkdir ../.git ../made && echo x > ../.git/config && touch ../made/x ../../made", f"mkdir -p {self.outside}/planted && echo x > {self.outside}/planted/x", "true", cwd=work)
        r = self.run_script(f"source {self.outside}/planted/common.sh", cwd=work)
        self.assertEqual((r.returncode, r.stdout), (3, ""), r.stderr)
        self.assertIn(f"job.sh:1: error: the script reads {self.outside}/planted/common.sh, which this machine has and the script does not see", r.stderr)
        r = self.run_script(f"source {self.outside}/planted/common.sh", '[ "$GIVEN" = 1 ] || exit 5', f"[ -e {self.outside}/made ] && exit 5",
                            f"echo x > {self.outside}/planted/common.sh", cwd=work, words=["--let-in", f"{self.outside}/planted"])
        self.assertEqual(r.returncode, 0, r.stderr)
        self.write(".ssh/id", "x\n")  # a home, though it has a Git repository: its files alone
        r = self.run_script("source ../lib/common.sh", cwd=work)
        self.assertIn("lib/common.sh, which this machine has and the script does not see", r.stderr)


class AsUser(Sandbox, unittest.TestCase):
    who = os.getuid()

    def test_many_files(self):
        """The script, then the near ones first, then by name."""
        for i in range(5001):
            self.write("a/%04d" % i, "")
        self.launched("[ -d sub ] || exit 5", "[ -e a/4990 ] || exit 5", "[ -e a/5000 ] && exit 5", "true")


if os.getuid() == 0:
    class AsNobody(Sandbox, unittest.TestCase):
        who = NOBODY

    class AsRoot(Machine, unittest.TestCase):
        """What needs mounts, and files of others."""

        def covered(self):
            with os.scandir("/usr/share") as entries:
                return sorted(e.path for e in entries if e.is_dir(follow_symlinks=False))[0]

        def test_links_in_folders_of_the_machine(self):
            """/usr has links to /etc, where root may write: here one of a file system that only this process sees."""
            covered = self.covered()
            mount = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none "$1" && ln -s "$2" "$1/link" && shift 2 && exec "$@"', "sh", covered, self.outside]
            self.stopped(127, f"{covered}/link/{JOB.strip()}", "exit 127", before=mount)
            self.stopped(5, f"[ -f {covered}/link/made ] || exit 5", before=mount)

        def test_folders_of_the_machine(self):
            """Root could write in them: here one that is this test's."""
            mount = ["unshare", "-m", "sh", "-c", 'mount --bind "$2" "$1" && shift 2 && exec "$@"', "sh", self.covered(), self.outside]
            self.stopped(5, f"[ -f {self.covered()}/made ] || exit 5", before=mount)
            self.launched(f"echo x > {self.covered()}/written", f"{self.covered()}/torchrun x.py", f"{self.covered()}/deep/{JOB.strip()}", before=mount)

        def test_mounts_beside_the_script(self):
            """A folder that lies at two places, one of them below the script's."""
            mount = ["unshare", "-m", "sh", "-c", 'mount --bind "$1" sub && shift && exec "$@"', "sh", self.outside]
            self.launched("[ -f sub/made ] || exit 5", f"[ -d {self.folder}/sub/new ] || exit 5", "echo x > sub/written || exit 5", before=mount, cwd=self.folder)

        def test_a_closed_folder(self):
            """Of root's own only root may read; of an open folder others' secrets are not copied."""
            os.chmod(self.write("secret", "x\n"), 0o600)
            self.launched("[ -e secret ] && exit 5", "true")
            os.chmod(self.folder, 0o700)
            self.launched("[ -r secret ] || exit 5")


if __name__ == "__main__":
    os.umask(0o022)
    if os.getuid():
        UNSEEN.add("not seen: root, whom this test needs to look as root")
    result = unittest.main(argv=sys.argv[:1] + sys.argv[2:], exit=False).result
    for line in sorted(UNSEEN):
        print(line)
    sys.exit(1 if not result.wasSuccessful() else 77 if UNSEEN else 0)
