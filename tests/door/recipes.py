#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: recipes.py SOURCE_ROOT [CACHE]

Recipes of packaging/ against the build. They parse: Spack's is run with a stand-in for Spack, Homebrew's read by Ruby and conda's rendered by
jinja2 where those are here, else by patterns. They have the project's version and no other, set options of CMakeLists.txt alone, name each library
that the build asks pkg-config for or switch it off, and name nothing that setup.sh does not install. CACHE is a CMakeCache.txt: it has every
option that a recipe sets. packaging/release.sh fills in address, sum and version, on a copy with a tag.
"""
import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import types

ROOT = sys.argv[1]
# What pkg-config is asked for: the option without which there is none, the package of Debian, and what Spack, conda-forge and Homebrew call it.
LIBRARIES = {
    'libxml-2.0': (None, 'libxml2-dev', 'libxml2', 'libxml2-devel', 'libxml2'), 'jansson': (None, 'libjansson-dev', 'jansson', 'jansson', 'jansson'),
    'zlib': (None, 'zlib1g-dev', 'zlib-api', 'zlib', 'zlib'), 'yaml-0.1': (None, 'libyaml-dev', 'libyaml', 'yaml', 'libyaml'),
    'hwloc': ('SS_HWLOC', 'libhwloc-dev', 'hwloc', 'libhwloc', 'hwloc'), 'cminpack': ('SS_CMINPACK', 'libcminpack-dev', 'cminpack', 'cminpack', 'cminpack'),
    'simgrid': ('SS_SIMGRID', 'libsimgrid-dev', 'simgrid', 'simgrid', 'simgrid'),
    'libmicrohttpd': ('SS_HTTP', 'libmicrohttpd-dev', 'libmicrohttpd', 'libmicrohttpd', 'libmicrohttpd'),
    'ompi-c': ('SS_MPI', 'libopenmpi-dev', 'openmpi', 'openmpi', 'open-mpi'),
}
# Tools of the build: the package of Debian, and the names.
TOOLS = {'build-essential': ('c', 'compiler c stdlib c', ''), 'cmake': ('cmake',) * 3, 'ninja-build': ('ninja',) * 3,
         'pkg-config': ('pkgconfig', 'pkg-config', 'pkgconf'), 'python3': ('python', 'python', 'python')}
SECTIONS = {'package': {'name', 'version'}, 'source': {'url', 'sha256'}, 'build': {'number', 'skip'}, 'requirements': {'build', 'host', 'run'},
            'test': {'imports', 'commands'}, 'about': {'home', 'license', 'license_file', 'summary'}}
STAND_IN = '0' * 64
failures = []


def text(*parts):
    with open(os.path.join(ROOT, *parts), encoding='utf-8') as file:
        return file.read()


def want(right, what):
    if not right:
        failures.append(what)


def words_of(recipe):
    """Options that a recipe of patterns sets: {'SS_MPI': 'OFF'}."""
    return dict(re.findall(r'-D(SS_\w+)=(\w*)', recipe))


class Spack:
    """What Spack's recipe asks for and sets, with all variants on or off."""

    def __init__(self, source, on):
        self.needs, self.on, self.variants, self.versions = [], on, {}, []
        module = types.ModuleType('spack.package')
        base = type('CMakePackage', (), {})
        names = {'CMakePackage': base, 'license': self.take, 'conflicts': self.take, 'generator': self.take, 'extends': self.take,
                 'variant': lambda name, **more: self.variants.__setitem__(name, more), 'python_platlib': 'lib/python3.11/site-packages',
                 'version': lambda name, sha256: self.versions.append((name, sha256)),
                 'depends_on': lambda spec, **more: self.needs.append((re.match(r'[\w-]+', spec)[0], more)),
                 'run_after': lambda _: lambda f: f, 'on_package_attributes': lambda **_: lambda f: f}
        module.__dict__.update(names)
        sys.modules.update({'spack': types.ModuleType('spack'), 'spack.package': module})
        space = {}
        exec(compile(source, 'package.py', 'exec'), space)  # pylint: disable=exec-used
        package = space['Stepsim']()
        package.define_from_variant = lambda option, name: (option, on if name in self.variants else None)
        package.define = lambda option, value: (option, value)
        package.spec = types.SimpleNamespace(satisfies=lambda _: on)
        self.options = dict(package.cmake_args())
        self.url = package.url

    def take(self, *_, **__):
        """What need not be held against anything."""


def conda_tree():
    """conda's recipe as a tree, rendered by jinja2, or what of it patterns can read; None without a reader of YAML."""
    source = text('packaging', 'conda', 'meta.yaml')
    try:
        import yaml
    except ImportError:
        return None
    try:
        import jinja2
        shown = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(source).render(
            compiler=lambda what: 'compiler ' + what, stdlib=lambda what: 'stdlib ' + what)
    except ImportError:
        version = re.search(r'set version = "(.*?)"', source)[1]
        shown = re.sub(r'\{%.*?%\}', '', source).replace('{{ version }}', version)
        shown = re.sub(r'\{\{ (\w+)\("c"\) \}\}', r'\1 c', shown)
    return yaml.safe_load(shown)


def check_needs(name, column, needs, off):
    """The recipe names what the build needs under its names for it, and nothing else; off: options that it switches off."""
    known = {row[column] for row in TOOLS.values()}
    for option, _, *names in LIBRARIES.values():
        known.add(names[column])
        want((option in off) != (names[column] in needs), f'{name}: no {names[column]}' if not option else f'{name}: either {names[column]} or {option}=OFF')
    want(needs <= known, f'{name}: setup.sh installs none of {sorted(needs - known)}')
    for debian in ('cmake', 'ninja-build', 'pkg-config'):
        want(TOOLS[debian][column] in needs, f'{name}: no {TOOLS[debian][column]}')


def check_setup(cmake):
    """LIBRARIES has what CMakeLists.txt asks pkg-config for, and their packages are those of setup.sh."""
    asked = set(re.findall(r'pkg_check_modules\(\w+ (?:REQUIRED )?IMPORTED_TARGET ([\w.-]+)\)', cmake))
    asked |= set(re.findall(r'^ss_either\(\w+ \w+ ([\w.-]+) ', cmake, re.M))
    want(asked == set(LIBRARIES), f'pkg-config is asked for {sorted(asked)}: LIBRARIES of recipes.py and the recipes are to follow')
    setup = text('setup.sh')
    installed = set(' '.join(re.findall(r'^packages="(?:\$packages )?([^"]*)"', setup, re.M)).split())
    mine = {row[1] for row in LIBRARIES.values()} | set(TOOLS)
    only_tests = {'libcunit1-dev'}
    want(mine - {'python3', 'libopenmpi-dev'} == installed - only_tests, f'setup.sh installs {sorted(installed)}, and recipes.py knows {sorted(mine)}')
    want('libopenmpi-dev' in setup, 'setup.sh: no libopenmpi-dev')


def check_versions(recipes, version):
    for name, recipe in recipes.items():
        plain = re.sub(r'#.*|python@?\S*|\b(cmake|simgrid|hwloc)\S* ?[@>=][^"\n]*', '', recipe)
        found = set(re.findall(r'\d+\.\d+\.\d+', plain))
        want(found == {version}, f'{name}: versions {sorted(found)}, not {version} alone')
        sums = set(re.findall(r'\b[0-9a-f]{64}\b', recipe))
        want(len(sums) == 1, f'{name}: not one SHA-256')
        want(('example.org' in recipe) == (sums == {STAND_IN}), f'{name}: an address without its sum, or a sum without its address')


def check_options(name, options, known, cache):
    used = set(options)
    want(used <= known, f'{name}: no option of CMakeLists.txt: {sorted(used - known)}')
    want(used <= cache, f'{name}: the build knows no {sorted(used - cache)}')
    want({'SS_TESTS', 'SS_PROBE'} <= used, f'{name}: builds tests or the probe')


def check_release(version):
    """packaging/release.sh on a copy with a tag: twice the same, and every stand-in is gone; a wrong tag or address is one line."""
    with tempfile.TemporaryDirectory(prefix='stepsim-release-') as folder:
        shutil.copytree(os.path.join(ROOT, 'packaging'), os.path.join(folder, 'packaging'), ignore=shutil.ignore_patterns('__pycache__'))
        shutil.copy(os.path.join(ROOT, 'CMakeLists.txt'), folder)

        def run(*words):
            return subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, env={
                **os.environ, 'GIT_CONFIG_GLOBAL': '/dev/null', 'GIT_AUTHOR_NAME': 'n', 'GIT_AUTHOR_EMAIL': 'e', 'GIT_COMMITTER_NAME': 'n',
                'GIT_COMMITTER_EMAIL': 'e'})

        for words in (('git', 'init', '-q'), ('git', 'add', '.'), ('git', 'commit', '-q', '-m', 'x')):
            if run(*words).returncode:
                failures.append('release.sh: no git')
                return
        address = f'https://sources.test/stepsim/stepsim-{version}.tar.gz'
        for words, says in ((('x.tar.gz',), 'an address begins with https://'), ((address,), f'v{version}: no such tag'), ((), 'usage:')):
            done = run('sh', 'packaging/release.sh', *words)
            want(done.returncode == 2 and says in done.stderr.decode() and done.stderr.count(b'\n') == 1, f'release.sh {words}: {done}')
        run('git', 'tag', f'v{version}')
        made = []
        for _ in range(2):
            done = run('sh', 'packaging/release.sh', address)
            want(done.returncode == 0, f'release.sh: {done.stderr.decode()}')
            with open(os.path.join(folder, f'stepsim-{version}.tar.gz'), 'rb') as file:
                made.append(file.read())
        want(made[0] == made[1] and gzip.decompress(made[0]).count(f'stepsim-{version}/CMakeLists.txt'.encode()), 'release.sh: archive')
        for path in ('spack/package.py', 'conda/meta.yaml', 'homebrew/stepsim.rb'):
            with open(os.path.join(folder, 'packaging', path), encoding='utf-8') as file:
                filled = file.read()
            want(hashlib.sha256(made[0]).hexdigest() in filled and 'example.org' not in filled and STAND_IN not in filled and
                 'https://sources.test/stepsim' in filled, f'release.sh: {path} is not filled in')


def main():
    cmake = text('CMakeLists.txt')
    version = re.search(r'project\(stepsim VERSION (\S+)', cmake)[1]
    known = set(re.findall(r'^option\((\w+)', cmake, re.M)) | {'SS_PYTHON_DIR'}
    cache = known
    if len(sys.argv) > 2:
        with open(sys.argv[2], encoding='utf-8') as file:
            cache = set(re.findall(r'^(SS_\w+):', file.read(), re.M)) | {'SS_PYTHON_DIR'}
    recipes = {'spack': text('packaging', 'spack', 'package.py'), 'homebrew': text('packaging', 'homebrew', 'stepsim.rb'),
               'conda': text('packaging', 'conda', 'meta.yaml') + text('packaging', 'conda', 'build.sh')}
    check_setup(cmake)
    check_versions(recipes, version)
    for on in (True, False):
        spack = Spack(recipes['spack'], on)
        check_options('spack', spack.options, known, cache)
        off = {option for option, value in spack.options.items() if value is False} if not on else set()
        needs = {name for name, more in spack.needs if on or 'when' not in more}
        check_needs('spack', 0, needs, off)
        want(None not in spack.options.values(), f'spack: an option of no variant: {spack.options}')
        want(spack.versions[0][0] == version and spack.url.endswith(f'stepsim-{version}.tar.gz'), 'spack: version')
    check_options('homebrew', words_of(recipes['homebrew']), known, cache)
    check_needs('homebrew', 2, {name.split('@')[0] for name in re.findall(r'depends_on "([^"]+)"', recipes['homebrew'])},
                {option for option, value in words_of(recipes['homebrew']).items() if value == 'OFF'})
    if shutil.which('ruby'):
        want(subprocess.run(['ruby', '-wc', os.path.join(ROOT, 'packaging', 'homebrew', 'stepsim.rb')], stdout=subprocess.DEVNULL,
                            check=False).returncode == 0, 'homebrew: Ruby does not read it')
    check_options('conda', words_of(recipes['conda']), known, cache)
    want(subprocess.run(['sh', '-n', os.path.join(ROOT, 'packaging', 'conda', 'build.sh')], check=False).returncode == 0, 'conda: build.sh')
    tree = conda_tree()
    if tree:
        want({section: set(keys) for section, keys in tree.items()} == SECTIONS, f'conda: sections and keys are not {SECTIONS}')
        want(str(tree['package']['version']) == version and tree['source']['url'].endswith(f'stepsim-{version}.tar.gz'), 'conda: version')
        needs = {re.split(r' [>=<]', need)[0] for part in ('build', 'host', 'run') for need in tree['requirements'][part]}
        check_needs('conda', 1, {need for need in needs if not need.endswith(' c')}, {option for option, value in words_of(recipes['conda']).items() if value == 'OFF'})
        want({'compiler c', 'stdlib c'} <= needs, 'conda: no compiler')
    if shutil.which('git'):
        check_release(version)
    for failure in failures:
        print('recipes.py:', failure, file=sys.stderr)
    return bool(failures)


if __name__ == '__main__':
    sys.exit(main())
