#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: wheel.py LIBRARY_FOLDER PROGRAM OUT_FOLDER

Writes stepsim's wheel: the Python package, libstepsim.so of the folder, which carries its data, and the program, which pip
puts on PATH. The tag names the oldest glibc that both run on; a library that needs others than glibc's is refused. The same
inputs give the same bytes. The standard library alone is used (binary formats: PEP 427, PEP 600).
"""
import base64
import hashlib
import os
import re
import struct
import sys
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# What PEP 600 lets a manylinux wheel take from the system, as far as C programs need it.
SYSTEM = {'libc.so.6', 'libm.so.6', 'libpthread.so.0', 'libdl.so.2', 'librt.so.1', 'ld-linux-x86-64.so.2', 'ld-linux-aarch64.so.1'}
MACHINES = {62: 'x86_64', 183: 'aarch64'}
DT_NEEDED, SHT_DYNAMIC, SHT_VERNEED = 1, 6, 0x6ffffffe


class Elf:
    """What a 64 bit ELF file needs: libraries by name, versions of symbols, the kind of machine."""

    def __init__(self, path):
        with open(path, 'rb') as file:
            self.bytes = file.read()
        if self.bytes[:6] != b'\x7fELF\x02\x01':
            raise SystemExit(f'wheel.py: error: {path}: no 64 bit little-endian ELF file')
        (machine,) = struct.unpack_from('<H', self.bytes, 18)
        if machine not in MACHINES:
            raise SystemExit(f'wheel.py: error: {path}: machine {machine} has no name for wheels here')
        self.machine = MACHINES[machine]
        self.needed, self.versions = [], []
        at, = struct.unpack_from('<Q', self.bytes, 40)
        size, count = struct.unpack_from('<HH', self.bytes, 58)
        sections = [struct.unpack_from('<IIQQQQIIQQ', self.bytes, at + size * i) for i in range(count)]
        for section in sections:
            kind, offset, length, link, entries = section[1], section[4], section[5], section[6], section[7]
            if kind == SHT_DYNAMIC:
                for tag, value in struct.iter_unpack('<QQ', self.bytes[offset:offset + length]):
                    if tag == DT_NEEDED:
                        self.needed.append(self.text(sections[link][4] + value))
            elif kind == SHT_VERNEED:
                self.read_versions(offset, entries, sections[link][4])

    def text(self, at):
        return self.bytes[at:self.bytes.index(b'\0', at)].decode()

    def read_versions(self, at, files, strings):
        for _ in range(files):
            _, count, _, first, following = struct.unpack_from('<HHIII', self.bytes, at)
            aux = at + first
            for _ in range(count):
                _, _, _, name, further = struct.unpack_from('<IHHII', self.bytes, aux)
                self.versions.append(self.text(strings + name))
                aux += further
            at += following


def tag_of(paths):
    """'py3-none-manylinux_2_34_x86_64' of files that need symbols of glibc 2.34 at most."""
    newest, machines = (2, 17), set()
    for path in paths:
        elf = Elf(path)
        machines.add(elf.machine)
        foreign = sorted(set(elf.needed) - SYSTEM)
        if foreign:
            raise SystemExit(f'wheel.py: error: {path} needs {", ".join(foreign)}, which not every system has: build it by "sh setup.sh wheel"')
        for version in elf.versions:
            found = re.fullmatch(r'GLIBC_(\d+)\.(\d+)(\.\d+)?', version)
            if found:
                newest = max(newest, (int(found[1]), int(found[2])))
    if len(machines) != 1:
        raise SystemExit(f'wheel.py: error: library and program are of {" and ".join(sorted(machines))}')
    return f'py3-none-manylinux_{newest[0]}_{newest[1]}_{machines.pop()}'


def read(*parts):
    with open(os.path.join(*parts), 'rb') as file:
        return file.read()


def project():
    """Version and description as CMake has them."""
    text = read(ROOT, 'CMakeLists.txt').decode()
    found = re.search(r'project\(stepsim VERSION (\S+).*?DESCRIPTION "([^"]*)"', text, re.S)
    return found[1], found[2]


def metadata(version, summary):
    return f'''Metadata-Version: 2.1
Name: stepsim
Version: {version}
Summary: {summary}
License: Apache-2.0
Requires-Python: >=3.9
Classifier: Development Status :: 4 - Beta
Classifier: Intended Audience :: Science/Research
Classifier: License :: OSI Approved :: Apache Software License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Scientific/Engineering
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

stepsim predicts iteration time and memory of LLM training on GPU clusters, without the GPUs: Megatron-LM flags, a config.json
or a launch script in, milliseconds and an answer out. `stepsim run --job 8b-16` in a shell, or

    import stepsim
    stepsim.run(platform="h800", nodes=4, model="llama3.1-8b", bf16=True, tp=2, seq=8192, mbs=1, gbs=256)

This wheel has the native engine and every command; the SimGrid engine and searches by MPI are parts of the Debian packages and of
a build of the sources. Both engines have the same times.
'''.encode()


def library_of(folder):
    """The library under its SONAME."""
    version, _ = project()
    name = 'libstepsim.so.' + '.'.join(version.split('.')[:2])
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        raise SystemExit(f'wheel.py: error: no {name} in {folder}: build it by "sh setup.sh wheel"')
    return name, path


def contents(library, program, tag):
    """{path in the wheel: (bytes, mode)} but for RECORD."""
    version, summary = project()
    info, data = f'stepsim-{version}.dist-info', f'stepsim-{version}.data'
    name, path = library
    files = {}
    for source in sorted(os.listdir(os.path.join(ROOT, 'python', 'stepsim'))):
        if source.endswith(('.py', '.pyi')) or source == 'py.typed':
            files['stepsim/' + source] = read(ROOT, 'python', 'stepsim', source), 0o644
    files['stepsim/' + name] = read(path), 0o755
    files[f'{data}/scripts/stepsim'] = read(program), 0o755
    files[f'{info}/METADATA'] = metadata(version, summary), 0o644
    files[f'{info}/WHEEL'] = f'Wheel-Version: 1.0\nGenerator: packaging/wheel.py\nRoot-Is-Purelib: false\nTag: {tag}\n'.encode(), 0o644
    if os.path.exists(os.path.join(ROOT, 'LICENSE')):
        files[f'{info}/LICENSE'] = read(ROOT, 'LICENSE'), 0o644
    return info, files


def write(path, info, files):
    rows = []
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED) as wheel:
        for name, (content, mode) in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b'=').decode()
            rows.append(f'{name},sha256={digest},{len(content)}\n')
            put(wheel, name, content, mode)
        put(wheel, f'{info}/RECORD', (''.join(rows) + f'{info}/RECORD,,\n').encode(), 0o644)


def put(wheel, name, content, mode):
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.external_attr = (0o100000 | mode) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    wheel.writestr(entry, content, compresslevel=9)


def main():
    if len(sys.argv) != 4:
        raise SystemExit(__doc__.splitlines()[0])
    folder, program, out = sys.argv[1:]
    library = library_of(folder)
    tag = tag_of([library[1], program])
    info, files = contents(library, program, tag)
    path = os.path.join(out, f'stepsim-{project()[0]}-{tag}.whl')
    write(path + '.new', info, files)
    os.replace(path + '.new', path)
    print(path)


if __name__ == '__main__':
    main()
