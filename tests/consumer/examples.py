#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: examples.py PAGE FOLDER [--update]

Runs what a page of the documents shows, in FOLDER. A fenced block whose first line is "```LANGUAGE NAME" is a file: it is
written to FOLDER/NAME. In a block "```console" each line "$ COMMAND" is run by sh, and the lines below it must be what the
command prints (both streams; figures as tests/close.py has them) and, for "[exit N]", its exit status. --update writes what is printed into the page.
"""
import os
import re
import subprocess
import sys

sys.path[1:1] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')]

import close  # noqa: E402


def run(command, folder):
    done = subprocess.run(['sh', '-c', command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout + (f'[exit {done.returncode}]\n' if done.returncode else '')


def console(text, folder):
    """The same block with what the commands print now."""
    out = ''
    for part in re.split(r'(?m)^(?=\$ )', text):
        command = re.match(r'\$ ((?:[^\n]*\\\n)*[^\n]*)\n', part)
        if command:
            out += command[0] + run(command[1], folder)
    return out


def main():
    page, folder = sys.argv[1:3]
    with open(page, encoding='utf-8') as f:
        text = f.read()
    blocks = {'file': 0, 'console': 0, 'wrong': 0}

    def block(m):
        if m[2]:
            blocks['file'] += 1
            with open(f'{folder}/{m[2]}', 'w', encoding='utf-8') as f:
                f.write(m[3])
        elif m[1] == 'console':
            blocks['console'] += 1
            now = console(m[3], folder)
            if now != m[3] and ('--update' in sys.argv or close.differences(m[3].split('\n'), now.split('\n'))):
                blocks['wrong'] += 1
                if '--update' not in sys.argv:
                    print(f'{page} shows:\n{m[3]}but it prints:\n{now}')
            return f'```console\n{now}```\n'
        return m[0]

    new = re.sub(r'(?m)^```(\w+)(?: (\S+))?\n((?:(?!```).*\n)*)```\n', block, text)
    if '--update' in sys.argv:
        with open(page, 'w', encoding='utf-8') as f:
            f.write(new)
        return 0
    if not blocks['file'] or not blocks['console']:
        print(f'{page}: no example found')
        return 1
    return 1 if blocks['wrong'] else 0


if __name__ == '__main__':
    sys.exit(main())
