# SPDX-License-Identifier: Apache-2.0
"""The program `stepsim`, which draws pictures, writes pages and studies schedules."""
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Dict, Iterator, List, Mapping, Sequence, Tuple

from ._error import Error, checked
from ._library import folder_of_library


def _places() -> Iterator[str]:
    """Where it may be, best first: beside the library of a checkout or a prefix, in the scripts of this Python, on PATH."""
    if os.environ.get('STEPSIM_PROGRAM'):
        yield os.environ['STEPSIM_PROGRAM']
        return
    folder = folder_of_library()
    if folder:  # build/, PREFIX/lib/, PREFIX/lib/x86_64-linux-gnu/, PREFIX/lib/python3.X/site-packages/stepsim/
        for part in ('', '../bin', '../../bin', '../../../../bin'):
            yield os.path.normpath(os.path.join(folder, part, 'stepsim'))
    yield os.path.join(os.path.dirname(sys.executable), 'stepsim')
    yield shutil.which('stepsim') or 'stepsim'


def find() -> str:
    """The path of the program."""
    tried = list(_places())
    for path in tried:
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise Error(3, {'code': 'io', 'message': 'no program stepsim, which draws pictures and studies schedules, at ' + ', '.join(tried),
                    'hint': 'set STEPSIM_PROGRAM to its path'})


def ask(words: Sequence[str]) -> Dict[str, Any]:
    """What the program says under --json. An interrupt of this process ends it, too."""
    done = subprocess.run([find(), *words, '--json'], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    try:
        document: Dict[str, Any] = json.loads(done.stdout.decode('utf-8', 'surrogateescape'))
    except ValueError:
        said = done.stderr.decode('utf-8', 'replace').strip().splitlines()
        raise Error(3, {'code': 'engine', 'message': said[-1] if said else f'the program ended with {done.returncode}'}) from None
    return checked(done.returncode, document)


@contextlib.contextmanager
def placed(words: Sequence[str], texts: Mapping[str, str]) -> Iterator[Tuple[List[str], str]]:
    """The words with the path of a file in place of each name of `texts`, which are files for so long; and their folder, with its '/'."""
    with tempfile.TemporaryDirectory(prefix='stepsim-') as folder:
        for name, text in texts.items():
            with open(os.path.join(folder, name), 'w', encoding='utf-8', errors='surrogateescape') as file:
                file.write(text)
        yield [os.path.join(folder, word) if word in texts else word for word in words], folder + os.sep


def drawn(words: Sequence[str], texts: Mapping[str, str], option: str, ending: str) -> str:
    """The text of a file that the program writes: drawn(['run', ...], {}, '--gantt', '.svg')."""
    with placed(words, texts) as (said, folder):
        path = folder + 'drawn' + ending
        ask([*said, option, path])
        with open(path, encoding='utf-8') as file:
            return file.read().replace(folder, '')


def save(words: Sequence[str], files: Sequence[str]) -> None:
    """Has the program write files of its own: save(['run', ...], ['--gantt', 'x.svg'])."""
    if files:
        ask([*words, *files])
