# SPDX-License-Identifier: Apache-2.0
"""Commands of the program: a process each where the program is stepsim, many in one process where it is stepsim-driver.

    stepsim = driver.of(path)
    done = stepsim.run(["run", "--platform", "h800", ...], cwd=folder, env={"COLUMNS": "60", "NO_COLOR": None}, input=b"")

`done` is what subprocess.run gives: args, returncode, stdout, stderr, as bytes, or as text with text=True. env is what is set beside
os.environ, None: not set. In one process a command that dies, or leaves memory or an open file behind, has the status and the words
on stderr that it would have as a process: a negative returncode, 23 as LeakSanitizer gives, 24 for an open file.
"""
import atexit
import os
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

NAME = "stepsim-driver"
LEAKED, OPEN = 23, 24


def environment(env=None):
    """os.environ with these settings."""
    whole = dict(os.environ)
    for name, value in (env or {}).items():
        if value is None:
            whole.pop(name, None)
        else:
            whole[name] = value
    return whole


def _finish(done, text, check):
    if text:
        done.stdout, done.stderr = (s.decode("utf-8", "replace") for s in (done.stdout, done.stderr))
    if check:
        done.check_returncode()
    return done


def _bytes(text):
    return text.encode() if isinstance(text, str) else text


class Processes:
    """A program, started for each command."""

    def __init__(self, path):
        self.path = os.path.abspath(path)

    def run(self, words, cwd=None, env=None, input=b"", text=False, seconds=0, check=False):
        """seconds: of processor time, after which the command is ended by SIGXCPU; 0: no limit."""
        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 2))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        done = subprocess.run([self.path, *map(str, words)], cwd=cwd, env=environment(env), input=_bytes(input), capture_output=True,
                              preexec_fn=limit if seconds else None, check=False)
        return _finish(done, text, check)

    def close(self):
        """For the interface's sake."""


class Server:
    """One process that runs commands, with the files in memory that its stdin, stdout and stderr are."""

    def __init__(self, path):
        self.files = [open(os.memfd_create("stepsim-driver"), "w+b") for _ in range(3)]
        self.folder = tempfile.mkdtemp(prefix="stepsim-driver-")
        requests, self.requests = os.pipe()
        self.answers, answers = os.pipe()
        with socket.socket(socket.AF_UNIX) as clients:
            clients.bind(self.socket())
            clients.listen(64)
            given = (requests, answers, clients.fileno())
            self.process = subprocess.Popen([path, "--in-process", *map(str, given)], stdin=self.files[0], stdout=self.files[1],
                                            stderr=self.files[2], pass_fds=given)
        os.close(requests)
        os.close(answers)
        self.reader = os.fdopen(self.answers, "rb")

    def socket(self):
        return os.path.join(self.folder, "socket")

    def ask(self, fields, given):
        """The numbers of the answer; None: the process has ended."""
        file = self.files[0].fileno()
        os.ftruncate(file, 0)
        if given:
            os.pwrite(file, given, 0)
        request = b"".join(os.fsencode(field) + b"\0" for field in fields)
        request = b"%d\n" % len(request) + request
        try:
            while request:
                request = request[os.write(self.requests, request):]
        except BrokenPipeError:
            return None
        line = self.reader.readline()
        return [int(n) for n in line.split()] if line.endswith(b"\n") else None

    def text(self, stream, n=None):
        file = self.files[stream].fileno()
        return os.pread(file, os.fstat(file).st_size if n is None else n, 0)

    def end(self):
        """Its exit status, as subprocess has it, and all that its last command wrote."""
        os.close(self.requests)
        status = self.process.wait()
        self.reader.close()
        written = self.text(1), self.text(2)
        for file in self.files:
            file.close()
        shutil.rmtree(self.folder)
        return status, written


class InProcess:
    """The driver: a process a thread of the test, which goes on until it dies or the test ends."""

    def __init__(self, path):
        self.path = os.path.abspath(path)
        self.local, self.servers = threading.local(), []
        atexit.register(self.close)

    def server(self):
        if getattr(self.local, "server", None) is None:
            self.local.server = Server(self.path)
            self.servers.append(self.local.server)
        return self.local.server

    def run(self, words, cwd=None, env=None, input=b"", text=False, seconds=0, check=False, fork=None):
        """fork: in a child in which the allocation of this number fails, 0: none; done.allocations is how many there were. The program in
        the middle of a command that took its `seconds` ends by SIGPROF."""
        settings = ["%s=%s" % item for item in environment(env).items()]
        fields = [os.path.abspath(cwd or "."), "%g" % seconds, "" if fork is None else str(fork), "", str(len(settings)), *settings,
                  "stepsim", *map(str, words)]
        server, args = self.server(), ["stepsim", *words]
        answer = server.ask(fields, _bytes(input))
        if answer is None:  # it died of this command
            status, written = self.forget()
            done = subprocess.CompletedProcess(args, status if status < 0 else 125, *written) # a sanitizer's own status may be a command's
            done.allocations = 0
            return _finish(done, text, check)
        status, nout, nerr, leaked, left_open, allocations = answer
        stderr = server.text(2, None if leaked else nerr)
        if leaked:
            status = LEAKED
        elif left_open:
            status, stderr = OPEN, stderr + b"driver: a file is left open\n"
        done = subprocess.CompletedProcess(args, 128 - status if status > 128 else status, server.text(1, nout), stderr)
        done.allocations = allocations
        return _finish(done, text, check)

    def forget(self):
        """Ends this thread's process; its status and what its last command wrote."""
        server, self.local.server = self.local.server, None
        self.servers.remove(server)
        return server.end()

    def for_scripts(self, program):
        """Settings for a shell in which $STEPSIM is a command that this driver runs: `program` is the one that stands in where it cannot."""
        client = os.path.join(os.path.dirname(self.path), "stepsim-client")
        return {"STEPSIM": client, "STEPSIM_DRIVER": self.server().socket(), "STEPSIM_PROGRAM": os.path.abspath(program)}

    def close(self):
        """Ends all processes. One that ends otherwise than by itself, as with memory left, fails the test: its exit status is 1."""
        ended = [server.end() for server in self.servers]
        self.servers, self.local = [], threading.local()
        for status, (_, stderr) in ended:
            if status:
                os.write(2, b"%s ended with %d\n" % (NAME.encode(), status) + stderr)
                os._exit(1)


def of(path):
    return InProcess(path) if os.path.basename(path) == NAME else Processes(path)


HANG = (-signal.SIGPROF, -signal.SIGXCPU, -signal.SIGKILL)
