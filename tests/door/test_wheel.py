#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: test_wheel.py SOURCE_ROOT LIBRARY MODULE STATIC_PROGRAM

packaging/wheel.py: the release build's LIBRARY, which needs libraries of others, is refused by name; of a MODULE that needs libc alone,
under the library's name, it makes a wheel whose RECORD, tag and modes are right, twice the same (door.built has pip install one).
"""
import base64
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT, LIBRARY, MODULE, PROGRAM = sys.argv[1:5]
sys.dont_write_bytecode = True
spec = importlib.util.spec_from_file_location('wheel', os.path.join(ROOT, 'packaging', 'wheel.py'))
wheel = importlib.util.module_from_spec(spec)
spec.loader.exec_module(wheel)


class Wheel(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix='stepsim-wheel-')
        self.addCleanup(shutil.rmtree, self.folder)
        self.version = wheel.project()[0]
        self.name = 'libstepsim.so.' + '.'.join(self.version.split('.')[:2])
        shutil.copy(MODULE, os.path.join(self.folder, self.name))

    def make(self):
        done = subprocess.run([sys.executable, os.path.join(ROOT, 'packaging', 'wheel.py'), self.folder, PROGRAM, self.folder],
                              stdout=subprocess.PIPE, check=True)
        return done.stdout.decode().strip()

    def test_a_library_that_needs_others(self):
        with self.assertRaises(SystemExit) as caught:
            wheel.tag_of([LIBRARY, PROGRAM])
        for text in ('libyaml-0.so', 'libjansson.so', 'setup.sh wheel'):
            self.assertIn(text, str(caught.exception))

    def test_tag(self):
        """The newest version that `readelf -V` tells is that of the tag."""
        said = subprocess.run(['readelf', '-VW', MODULE], stdout=subprocess.PIPE, check=True, env={**os.environ, 'LC_ALL': 'C'}).stdout.decode()
        versions = [tuple(map(int, word[6:].split('.')[:2])) for word in said.replace('(', ' ').split() if word.startswith('GLIBC_2')]
        newest = max([(2, 17), *versions])
        self.assertEqual(wheel.tag_of([MODULE, PROGRAM]), f'py3-none-manylinux_{newest[0]}_{newest[1]}_{os.uname().machine}')
        self.assertRaises(SystemExit, wheel.tag_of, [__file__])

    def test_contents(self):
        path = self.make()
        with zipfile.ZipFile(path) as file:
            names = file.namelist()
            info = f'stepsim-{self.version}.dist-info'
            rows = [line.rsplit(',', 2) for line in file.read(f'{info}/RECORD').decode().splitlines()]
            self.assertEqual([row[0] for row in rows], names)
            for name, digest, size in rows[:-1]:
                content = file.read(name)
                self.assertEqual((digest, size), ('sha256=' + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b'=').decode(),
                                                  str(len(content))), name)
            self.assertIn(f'Tag: {os.path.basename(path)[:-4].split("-", 2)[2]}\n', file.read(f'{info}/WHEEL').decode())
            self.assertIn(f'\nVersion: {self.version}\n', file.read(f'{info}/METADATA').decode())
            for name in ('stepsim/__init__.py', 'stepsim/py.typed', 'stepsim/' + self.name, f'{info}/LICENSE'):
                self.assertIn(name, names)
            self.assertEqual(file.getinfo(f'stepsim-{self.version}.data/scripts/stepsim').external_attr >> 16, 0o100755)
        with open(path, 'rb') as file:
            first = file.read()
        os.unlink(path)
        with open(self.make(), 'rb') as file:
            self.assertEqual(file.read(), first)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
