#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: serve.py PROGRAM LIST [ANSWERS]

Answers of `stepsim serve` over HTTP: one client, then twenty that ask at once, each other jobs of the list, no job twice. Prints rows of
Markdown: latencies, answers a second, and the processor time of the server for each answer, which other programs of the machine change least.
"""
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.parse

from measure import Others


def spent(pid):
    """Processor time of a process, s: its own, and the system's for it."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return [int(t) / os.sysconf("SC_CLK_TCK") for t in fields[11:13]]


def client(port, jobs, ms):
    """Asks for all jobs, one after the other, on a connection as long as the server keeps it."""
    stream = None
    for job in jobs:
        start = time.perf_counter()
        if not stream:
            stream = socket.create_connection(("127.0.0.1", port)).makefile("rwb")
        stream.write(f"GET /run.json?job={urllib.parse.quote_plus(job)} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        stream.flush()
        status, size, close = int(stream.readline().split()[1]), 0, False
        while (line := stream.readline().lower()) != b"\r\n":
            size = int(line[15:]) if line.startswith(b"content-length:") else size
            close |= line == b"connection: close\r\n"
        body = stream.read(size)
        ms.append(1e3 * (time.perf_counter() - start))
        if status != 200 or len(body) != size:
            sys.exit(f"serve.py: {status} of {job}: {body[:300]!r}")
        if close:
            stream = None


def measure(name, process, port, parts):
    """Each part is what one client asks."""
    ms, before, start = [], spent(process.pid), time.time()
    clients = [threading.Thread(target=client, args=(port, part, ms)) for part in parts]
    with Others() as others:
        own = time.process_time()
        for one in clients:
            one.start()
        for one in clients:
            one.join()
        wall, took, system = time.time() - start, *(b - a for a, b in zip(before, spent(process.pid)))
        others.own = time.process_time() - own + took + system
    if len(ms) < sum(map(len, parts)):
        sys.exit("serve.py: a client ended early")
    ms.sort()
    n = len(ms)
    print(f"| {name} | {n} | {ms[n // 2]:.1f} | {ms[n * 99 // 100]:.1f} | {n / wall:.0f} | {1e3 * took / n:.2f} | {1e3 * system / n:.2f} | {others.share:.0f} |")


def main():
    program, path, most = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 2000
    with open(path, encoding="ascii") as f:
        jobs = f.read().splitlines()
    with subprocess.Popen([program, "serve", "--port", "0"], stdout=subprocess.PIPE, text=True) as process:
        address = process.stdout.readline()
        if not address:
            print("\nNot measured: there is no web server.")
            return
        port = int(address.split("/")[2].split(":")[1])
        few = jobs[::max(1, len(jobs) * 10 // most)][:most // 10]
        many = [f"{job} --train-iters {5 + k}" for k in range(-(-most // len(jobs))) for job in jobs][:most]
        print("| clients | answers | p50 ms | p99 ms | answers a second | CPU ms an answer | of the system | others, % |\n|---|---|---|---|---|---|---|---|")
        measure("1", process, port, [few])
        measure("20", process, port, [many[k::20] for k in range(20)])
        process.terminate()


if __name__ == "__main__":
    main()
