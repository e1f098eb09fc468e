#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: recipes.py SOURCE_ROOT

Recipes of packaging/ against the build: they parse (Ruby and YAML where a reader is here), have the project's version, set options of
CMakeLists.txt alone, and name each library that the build asks pkg-config for, or switch it off.
"""
import ast
import os
import re
import shutil
import subprocess
import sys

ROOT = sys.argv[1]
# What recipes call the packages of pkg-config, and the option without which there is none.
LIBRARIES = {
    'libxml-2.0': ('libxml2', None), 'jansson': ('jansson', None), 'zlib': ('zlib', None), 'yaml-0.1': ('yaml', None),
    'hwloc': ('hwloc', 'SS_HWLOC'), 'cminpack': ('cminpack', 'SS_CMINPACK'), 'simgrid': ('simgrid', 'SS_SIMGRID'),
    'libmicrohttpd': ('libmicrohttpd', 'SS_HTTP'), 'ompi-c': ('openmpi', 'SS_MPI'),
}
failures = []


def text(*parts):
    with open(os.path.join(ROOT, *parts), encoding='utf-8') as file:
        return file.read()


def want(right, what):
    if not right:
        failures.append(what)


def main():
    cmake = text('CMakeLists.txt')
    version = re.search(r'project\(stepsim VERSION (\S+)', cmake)[1]
    options = set(re.findall(r'^option\((\w+)', cmake, re.M)) | {'SS_PYTHON_DIR'}
    asked = set(re.findall(r'pkg_check_modules\(\w+ (?:REQUIRED )?IMPORTED_TARGET ([\w.-]+)\)', cmake))
    asked |= set(re.findall(r'^ss_either\(\w+ \w+ ([\w.-]+) ', cmake, re.M))
    want(asked == set(LIBRARIES), f'pkg-config is asked for {sorted(asked)}: LIBRARIES of recipes.py and the recipes are to follow')
    recipes = {'spack': text('packaging', 'spack', 'package.py'), 'homebrew': text('packaging', 'homebrew', 'stepsim.rb'),
               'conda': text('packaging', 'conda', 'meta.yaml') + text('packaging', 'conda', 'build.sh')}
    for name, recipe in recipes.items():
        want(version in recipe, f'{name}: not version {version}')
        used = set(re.findall(r'SS_[A-Z_]+', recipe))
        want(used <= options, f'{name}: no option of CMakeLists.txt: {sorted(used - options)}')
        want({'SS_TESTS', 'SS_PROBE'} <= used, f'{name}: builds tests or the probe')
        for library, option in LIBRARIES.values():
            off = option and f'-D{option}=OFF' in recipe
            want(off or library in recipe, f'{name}: neither {library} nor -D{option}=OFF')
            want(not off or library not in re.sub(r'#.*', '', recipe), f'{name}: {library} beside -D{option}=OFF')
        want(re.search(r'sha256[ =:]+"[0-9a-f]{64}"', recipe), f'{name}: no SHA-256')
    ast.parse(recipes['spack'])
    want(subprocess.run(['sh', '-n', os.path.join(ROOT, 'packaging', 'conda', 'build.sh')], check=False).returncode == 0, 'conda: build.sh')
    if shutil.which('ruby'):
        want(subprocess.run(['ruby', '-c', os.path.join(ROOT, 'packaging', 'homebrew', 'stepsim.rb')], stdout=subprocess.DEVNULL,
                            check=False).returncode == 0, 'homebrew: Ruby does not read it')
    try:
        import yaml
        plain = re.sub(r'\{%.*?%\}|#.*', '', text('packaging', 'conda', 'meta.yaml'))
        tree = yaml.safe_load(re.sub(r'\{\{ (.*?) \}\}', lambda m: re.sub(r'\W', '_', m[1]), plain))
        want({'package', 'source', 'build', 'requirements', 'test', 'about'} <= set(tree), 'conda: a section is missing')
    except ImportError:
        pass
    for failure in failures:
        print('recipes.py:', failure, file=sys.stderr)
    return bool(failures)


if __name__ == '__main__':
    sys.exit(main())
