#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: notebook.py [--check] [FILE.cells]   (default: python.cells beside this script)

Runs the cells of a file and writes FILE.ipynb with what they print, in the format of Jupyter (nbformat 4.5); no Jupyter is needed.
"%%" begins a cell of code, "%% md" one of Markdown, as which the file begins. --check writes nothing and fails where the notebook says
something else (tests/close.py). stepsim is the checkout's, with the library of build/, or what STEPSIM_LIBRARY says.
"""
import contextlib
import io
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [os.path.join(HERE, '..', '..', 'tests')]

import close  # noqa: E402


def cells_of(text):
    """[(kind, source)]"""
    kind, cells = 'markdown', []
    for part in re.split(r'(?m)^(%%(?: md)?)\n', text):
        if part.startswith('%%'):
            kind = 'markdown' if part.endswith('md') else 'code'
        elif part.strip():
            cells.append((kind, part.strip('\n')))
    return cells


def lines(text):
    return text.splitlines(keepends=True)


def notebook(text):
    space, cells, count = {'__name__': '__main__'}, [], 0
    for i, (kind, source) in enumerate(cells_of(text)):
        cell = {'cell_type': kind, 'id': f'cell-{i}', 'metadata': {}, 'source': lines(source)}
        if kind == 'code':
            count += 1
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(source, f'cell {i}', 'exec'), space)  # pylint: disable=exec-used
            printed = [{'name': 'stdout', 'output_type': 'stream', 'text': lines(out.getvalue())}] if out.getvalue() else []
            cell.update(execution_count=count, outputs=printed)
        cells.append(cell)
    meta = {'kernelspec': {'display_name': 'Python 3', 'language': 'python', 'name': 'python3'}, 'language_info': {'name': 'python'}}
    return json.dumps({'cells': cells, 'metadata': meta, 'nbformat': 4, 'nbformat_minor': 5}, indent=1, ensure_ascii=False) + '\n'


def main():
    check = '--check' in sys.argv
    files = [word for word in sys.argv[1:] if not word.startswith('--')] or [os.path.join(HERE, 'python.cells')]
    sys.dont_write_bytecode = True
    sys.path.insert(0, os.path.join(HERE, '..', '..', 'python'))
    for file in files:
        with open(file, encoding='utf-8') as f:
            made = notebook(f.read())
        path = re.sub(r'\.cells$', '.ipynb', file)
        if not check:
            with open(path, 'w', encoding='utf-8') as f:
                f.write(made)
            continue
        with open(path, encoding='utf-8') as f:
            old = f.read()
        apart = close.differences(old.splitlines(), made.splitlines())
        for line, shown, printed in apart:
            print(f'{path}:{line}:\n-{shown}\n+{printed}')
        if apart:
            sys.exit(f'{path} says something else: python3 docs/guide/notebook.py')


if __name__ == '__main__':
    main()
