#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# usage: test_convert.py PROGRAM
# PNG and PDF by Chromium, as on a machine without rsvg-convert: PATH has Chromium alone. The picture has the size of the SVG, each text of
# the SVG is drawn at its place, and no folder of Chromium's is left behind. Where Chromium is not installed: 77.
import os
import re
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import zlib

PROGRAM = os.path.abspath(sys.argv[1])
CHROMIUM = shutil.which("chromium")
JOB = ["run", "--job", "8b-16", "--engine", "native"]


def pixels(path):
    """Width, height and rows of bytes, as many a pixel as the third says, of a PNG of 8 bits that is not interlaced."""
    data = open(path, "rb").read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", path
    width, height, depth, kind, _, _, interlaced = struct.unpack(">IIBBBBB", data[16:29])
    assert depth == 8 and not interlaced and kind in (2, 6), (depth, kind)
    size, at, packed = 3 if kind == 2 else 4, 8, b""
    while at < len(data):
        n, name = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + n] if name == b"IDAT" else b""
        at += 12 + n
    raw, rows, above = zlib.decompress(packed), [], bytearray(width * size)
    for y in range(height):
        start = y * (width * size + 1)
        how, row = raw[start], bytearray(raw[start + 1:start + 1 + width * size])
        for i in range(len(row) if how else 0):
            a, b = row[i - size] if i >= size else 0, above[i]
            c = above[i - size] if i >= size else 0
            p = a + b - c
            near = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            row[i] = (row[i] + (0, a, b, (a + b) // 2, near)[how]) & 255
        rows.append(row)
        above = row
    return width, height, size, rows


def main():
    if not CHROMIUM:
        print("chromium is not installed: skipped")
        return 77
    with tempfile.TemporaryDirectory(prefix="stepsim-convert-") as folder:
        alone = os.path.join(folder, "bin")
        os.mkdir(alone)
        # Debian's chromium is a script, which needs the tools of the PATH that it had.
        with open(os.path.join(alone, "chromium"), "w", encoding="ascii") as script:
            script.write(f"#!/bin/sh\nPATH='{os.environ['PATH']}' exec '{CHROMIUM}' \"$@\"\n")
        os.chmod(os.path.join(alone, "chromium"), stat.S_IRWXU)
        before = {name for name in os.listdir("/tmp") if name.startswith("stepsim-picture-")}
        made = [os.path.join(folder, name) for name in ("x.svg", "x.png", "x.pdf")]
        for path in made:
            done = subprocess.run([PROGRAM, *JOB, "--card", path], env={**os.environ, "PATH": alone}, stdout=subprocess.DEVNULL, check=False)
            if done.returncode:
                print("FAIL: no", os.path.basename(path))
                return 1
        left = {name for name in os.listdir("/tmp") if name.startswith("stepsim-picture-")} - before
        svg = open(made[0], encoding="utf-8").read()
        size = tuple(map(int, re.search(r'<svg xmlns="\S+" width="(\d+)" height="(\d+)"', svg).groups()))
        width, height, bytes_of_one, rows = pixels(made[1])
        blank = bytes(rows[0][:bytes_of_one])
        unseen = []
        for x, y, kind, words in re.findall(r'<text x="([\d.]+)" y="([\d.]+)" class="([^"]*)">([^<]+)</text>', svg):
            x, y, kind = float(x), float(y), kind.split()
            # the first or last letters, by where the text is anchored
            start = int(x - 24 if "end" in kind else x - 12 if "mid" in kind or "n" in kind else x)
            box = [rows[line][i * bytes_of_one:(i + 1) * bytes_of_one] for line in range(int(y) - 9, int(y) + 1) for i in range(start, start + 24)]
            if all(bytes(pixel) == blank for pixel in box):
                unseen.append(words)
        page = open(made[2], "rb").read()
        sheet = [float(x) for x in re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", page).groups()]
        wrong = [f"{width} x {height} pixels of {size}" if (width, height) != size else "",
                 f"texts that are not drawn: {unseen}" if unseen else "",
                 f"a page of {sheet} points" if any(abs(a - b * 0.75) > 1 for a, b in zip(sheet, size)) else "",
                 "not one page" if len(re.findall(rb"/Type /Page\b", page)) != 1 else "",
                 f"left behind: {left}" if left else ""]
        for what in filter(None, wrong):
            print("FAIL:", what)
        print(f"PNG of {width} x {height}, PDF of {sheet[0]:g} x {sheet[1]:g} points, by Chromium")
        return 1 if any(wrong) else 0


sys.exit(main())
