#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# usage: serve.py PROGRAM
# `stepsim serve` over HTTP: what it answers is what `stepsim run` prints, and a hostile client gets a refusal and no harm.
import json
import os
import signal
import socket
import subprocess
import sys
import unittest
import urllib.error
import urllib.parse
import urllib.request

PROGRAM = sys.argv[1]
JOB = ["--platform", "h800", "--nodes", "1", "--model", "llama3.1-8b", "--tp", "2", "--pp", "2", "--mbs", "1", "--gbs", "16",
       "--seq", "4096", "--bf16", "--sequence-parallel", "--use-distributed-optimizer"]


def begin(*words):
    process = subprocess.Popen([PROGRAM, "serve", "--port", "0", *words], stdout=subprocess.PIPE, text=True)
    return process, int(process.stdout.readline().split("/")[2].split(":")[1])


class Serve(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.process, cls.port = begin()

    @classmethod
    def tearDownClass(cls):
        cls.process.send_signal(signal.SIGINT)
        cls.process.stdout.close()
        assert cls.process.wait() == 0

    def ask(self, path, headers=None, method="GET", **arguments):
        url = f"http://127.0.0.1:{self.port}{path}" + ("?" + urllib.parse.urlencode(arguments) if arguments else "")
        try:
            with urllib.request.urlopen(urllib.request.Request(url, headers=headers or {}, method=method)) as reply:
                return reply.status, reply.headers, reply.read()
        except urllib.error.HTTPError as e:
            return e.code, e.headers, e.read()

    def raw(self, request):
        with socket.create_connection(("127.0.0.1", self.port)) as s:
            s.sendall(request)
            s.shutdown(socket.SHUT_WR)
            answer = b""
            while chunk := s.recv(65536):
                answer += chunk
        return answer

    def test_the_answer_is_that_of_run(self):
        want = json.loads(subprocess.run([PROGRAM, "run", *JOB, "--engine", "native", "--json"], capture_output=True).stdout)
        status, headers, body = self.ask("/run.json", job=" ".join(JOB))
        got = json.loads(body)
        self.assertEqual((status, headers["Content-Type"]), (200, "application/json"))
        for key in ("how", "files"):  # options of the command line, and files, which the page does not tell
            want["inputs"].pop(key, None), got["inputs"].pop(key, None)
        self.assertEqual(got, want)

    def test_headers(self):
        status, headers, body = self.ask("/")
        self.assertEqual(status, 200)
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        self.assertEqual([headers[k] for k in ("X-Content-Type-Options", "X-Frame-Options", "Cache-Control", "Cross-Origin-Resource-Policy")],
                         ["nosniff", "DENY", "no-store", "same-origin"])
        self.assertIsNone(headers["Access-Control-Allow-Origin"])
        self.assertNotIn(b"http://", body.replace(b"http://www.w3.org", b""))
        self.assertIn("attachment", self.ask("/job.args", job="--tp 2")[1]["Content-Disposition"])

    def test_only_this_machine(self):
        for host, status in (("localhost", 200), ("localhost:1", 200), ("LOCALHOST:80", 200), ("[::1]:9", 200), ("evil.example", 403),
                             ("localhost.evil.example", 403), ("localhost:", 403), ("127.0.0.1:80x", 403), ("", 403)):
            self.assertEqual(self.ask("/", {"Host": host})[0], status, host)
        self.assertIn(b" 40", self.raw(b"GET / HTTP/1.1\r\n\r\n").split(b"\r\n")[0])
        self.assertIn(b" 403", self.raw(b"GET / HTTP/1.0\r\n\r\n").split(b"\r\n")[0])
        with socket.socket() as s, self.assertRaises(OSError):  # other addresses of the machine do not listen
            s.connect(("127.0.0.2", self.port))

    def test_other_sites(self):
        for site, status in (("same-origin", 200), ("none", 200), ("cross-site", 403), ("same-site", 403)):
            self.assertEqual(self.ask("/choices.json", {"Sec-Fetch-Site": site})[0], status, site)
        self.assertEqual(self.ask("/", {"Sec-Fetch-Site": "cross-site"})[0], 200)  # a link to it

    def test_read_only(self):
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            status, headers, _ = self.ask("/run.json", method=method)
            self.assertEqual((status, headers["Allow"]), (405, "GET, HEAD"))
        status, headers, body = self.ask("/", method="HEAD")
        self.assertEqual((status, body), (200, b""))
        self.assertGreater(int(headers["Content-Length"]), 1000)

    def test_sizes(self):
        self.assertEqual(self.ask("/job.args", job="x" * 9000)[0], 422)
        self.assertIn(self.ask("/job.args", job="x" * 200000)[0], (413, 414, 431, 500))
        self.assertEqual(self.ask("/job.args", **{f"a{i}": "" for i in range(20)})[0], 400)
        self.assertEqual(self.ask("/job.args?job=%00")[0], 400)
        self.assertIn(self.ask("/", {"X-Long": "y" * 200000})[0], (413, 414, 431, 500))
        for noise in (b"\x16\x03\x01" + bytes(range(256)) * 2, b"\xff" * 500, b"\n" * 500, b"\0\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", self.port)) as s:
                s.sendall(noise)  # an answer may come only when the server gives up waiting for the rest
        self.assertEqual(self.ask("/")[0], 200)

    def test_a_connection_is_kept(self):
        """As long as nothing follows a request: a body, which nobody reads, is the end of its connection."""
        ask = "{} /job.args?job={} HTTP/1.1\r\nHost: localhost\r\n{}\r\n"
        three = ask.format("GET", "--tp+2", "") + ask.format("POST", "", "") + ask.format("GET", "--tp+4", "")
        answers = self.raw(three.encode()).split(b"HTTP/1.1 ")[1:]
        self.assertEqual([a[:3] for a in answers], [b"200", b"405", b"200"])
        self.assertEqual([[w in a for w in (b"--tp 2", b"--tp 4")] for a in answers[::2]], [[True, False], [False, True]])
        for more, body in (("Content-Length: 3", "abc"), ("Transfer-Encoding: chunked", "3\r\nabc\r\n0\r\n\r\n")):
            for method, status in (("GET", b"200"), ("POST", b"405")):
                first = ask.format(method, "--tp+2", more + "\r\n") + body
                answers = self.raw((first + ask.format("GET", "--tp+4", "")).encode()).split(b"HTTP/1.1 ")[1:]
                self.assertEqual([a[:3] for a in answers], [status])
                self.assertIn(b"connection: close", answers[0].lower())

    def test_a_thousand_at_once(self):
        """Connections that have asked all they want, of which one in ten wants a prediction, and nobody reads an answer yet."""
        asked = []
        for i in range(1000):
            job = urllib.parse.quote(" ".join(JOB + ["--gbs", str(16 * (1 + i // 10 % 4))]))
            path = f"/job.args?job={job}" if i % 10 else f"/run.json?job={job}"
            s = socket.create_connection(("127.0.0.1", self.port))
            s.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            asked.append(s)
        replies = []
        for s in asked:
            with s, s.makefile("rb") as f:
                head, _, body = f.read().partition(b"\r\n\r\n")
            replies.append((head.split(b"\r\n")[0], body))
        self.assertEqual({head for head, _ in replies}, {b"HTTP/1.1 200 OK"})
        self.assertEqual((len({body for _, body in replies[::10]}), len({body for _, body in replies})), (4, 8))

    def test_idle_connections_hold_nobody_up(self):
        idle = [socket.create_connection(("127.0.0.1", self.port)) for _ in range(200)]
        self.assertEqual(self.ask("/")[0], 200)
        for s in idle:
            s.close()


class Ports(unittest.TestCase):
    def test_taken(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            s.listen()
            ended = subprocess.run([PROGRAM, "serve", "--port", str(s.getsockname()[1])], capture_output=True, text=True)
        self.assertEqual((ended.returncode, ended.stdout), (3, ""))
        self.assertIn("Address already in use: another program has it", ended.stderr)

    def test_ends_by_a_signal_and_begins_with_a_file(self):
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
        process, port = begin("--platform", os.path.join(root, "platforms/h800.xml"), *JOB[2:])
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/choices.json") as reply:
            start = json.load(reply)["start"]
        self.assertIn(["--tp", "2"], start)
        job = urllib.parse.quote(" ".join(w for unit in start for w in unit))
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/run.json?job={job}") as reply:
            self.assertEqual(json.load(reply)["verdict"], "fits")
        process.terminate()
        process.stdout.close()
        self.assertEqual(process.wait(), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
