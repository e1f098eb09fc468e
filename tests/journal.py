#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: journal.py STEPSIM

Long commands that are killed and go on: `sweep` and `search` with --journal are ended by SIGKILL and SIGINT when half of their
journal is written, lose worker processes, and get journals that are cut, damaged, of another version or of other inputs. What comes
out is what an undisturbed run writes, to the byte, or one line that says what is wrong. Nothing depends on how long anything takes.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

STEPSIM = os.path.abspath(sys.argv[1])
JOB = ['--job', '8b-16', '--platform', 'h800']
COMMANDS = {
    'sweep': ['sweep', *JOB, '--vary', 'nodes=4..24', '--vary', 'tp=1,2,4,8', '--vary', 'mbs=1,2,4', '--vary', 'pp=1,2,4,8',
              '--vary', 'recompute=none,full'],
    'search': ['search', *JOB, '--vary', 'nodes=2,4', '--vary', 'tp=auto', '--vary', 'pp=auto', '--vary', 'mbs=auto'],
}
failed = []


def check(good, what):
    if not good:
        failed.append(what)
        print('journal.py: FAILED:', what)


def run(words, expect=0):
    p = subprocess.run([STEPSIM, *words], capture_output=True, text=True, check=False)
    check(p.returncode == expect, f'{words}: exit status {p.returncode}, not {expect}: {p.stderr}')
    return p


def answer(words):
    """Standard output and the table of an undisturbed or resumed run."""
    p = run([*words, '--csv', 'table.csv'])
    with open('table.csv', encoding='utf-8') as f:
        table = f.read()
    os.remove('table.csv')
    return p.stdout, table


def lines(path):
    try:
        with open(path, 'rb') as f:
            return f.read().splitlines(keepends=True)
    except FileNotFoundError:
        return []


def children(pid):
    try:
        with open(f'/proc/{pid}/task/{pid}/children', encoding='ascii') as f:
            return [int(c) for c in f.read().split()]
    except OSError:
        return []


def interrupted(words, journal, number, at, worker=False):
    """Starts the command and sends a signal when the journal has `at` whole lines: to it, or to a worker of it."""
    p = subprocess.Popen([STEPSIM, *words, '--journal', journal], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while sum(line.endswith(b'\n') for line in lines(journal)) < at and p.poll() is None:
        time.sleep(0.001)
    victims = children(p.pid)[:1] if worker else [p.pid]
    for pid in victims:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass
    out, said = p.communicate()
    check(worker or number != signal.SIGINT or p.returncode == 0 or f'kept in {journal}: the same command with --resume goes on'.encode() in said,
          f'{journal}: an interrupt says what is kept')
    return p.returncode, out.decode()


def check_interrupts(name, words, want):
    for number in (signal.SIGKILL, signal.SIGINT):
        journal = f'{name}-{number}.journal'
        interrupted(words, journal, number, 20)
        kept = lines(journal)
        if kept and not kept[-1].endswith(b'\n'):
            kept.pop()
        check(len(kept) >= 20, f'{name}: the journal outlives signal {number}')
        check(answer([*words, '--journal', journal, '--resume']) == want, f'{name}: the same after signal {number}')
        check(lines(journal)[:len(kept)] == kept, f'{name}: what was kept stays after signal {number}')
        items = [line.split(b' ')[0] for line in lines(journal)]
        check(len(items) == len(set(items)), f'{name}: nothing is predicted twice after signal {number}')
    status, out = interrupted(words, f'{name}-worker.journal', signal.SIGKILL, 20, worker=True)
    check(status == 0 and out == want[0], f'{name}: a killed worker loses nothing')


def check_halves(name, words, want):
    """A last line that is cut anywhere counts as never written."""
    journal = f'{name}.journal'
    check(answer([*words, '--journal', journal]) == want, f'{name}: the same with a journal')
    whole = b''.join(lines(journal))
    for cut in (1, 5, len(lines(journal)[-1]) - 1, len(whole) - 30, len(whole)):
        with open(journal, 'wb') as f:
            f.write(whole[:len(whole) - cut])
        check(answer([*words, '--journal', journal, '--resume', '--workers', '1']) == want, f'{name}: the same cut by {cut}')
        check(sorted(lines(journal)) == sorted(whole.splitlines(keepends=True)), f'{name}: the same journal cut by {cut}')


def refused(words, journal, text, expect=3):
    before = b''.join(lines(journal))
    p = run(words, expect)
    check(text in p.stderr and p.stderr.count('\n') == 1, f'{words}: one line with "{text}", not {p.stderr}')
    check(b''.join(lines(journal)) == before, f'{words}: a refused journal stays as it is')


def checksum(text):
    h = 0xcbf29ce484222325
    for byte in text:
        h = (h ^ byte) * 0x100000001b3 % 2**64
    return b'%016x' % h


def check_refusals(name, words):
    journal = f'{name}.journal'
    with_it = [*words, '--journal', journal]
    refused(with_it, journal, 'add --resume')
    refused([*with_it, '--resume', '--gbs', '96'], journal, f'{journal}:1: error: this journal is of other inputs')
    whole = lines(journal)

    def holds(content):
        with open(journal, 'wb') as f:
            f.write(b''.join(content))

    for field, other in ((1, b'2'), (2, b'0.0.1'), (3, b'0' * 40)):
        head = whole[0].split()[:-1]
        head[field] = other
        head = b' '.join(head)
        holds([head + b' ' + checksum(head) + b'\n', *whole[1:]])
        refused([*with_it, '--resume'], journal, f'{journal}:1: error: this journal is of another version of stepsim')
    holds([whole[0][:-3] + b'x\n', *whole[1:]])
    refused([*with_it, '--resume'], journal, 'the head of this journal is damaged')
    holds([*whole[:3], re.sub(rb'.\n', b'g\n', whole[3]), *whole[4:]])
    refused([*with_it, '--resume'], journal, f'{journal}:4: error: this line of the journal is damaged')
    holds([b'a letter to somebody\n'])
    refused([*with_it, '--resume'], journal, 'writing it would destroy it')
    holds([b'a'])
    refused([*with_it, '--resume'], journal, 'writing it would destroy it')
    os.remove(journal)
    refused([*words, '--journal', 'nowhere/j'], 'nowhere/j', 'nowhere/j: error: cannot write')
    refused([*words, '--journal', '/dev/full'], 'none', 'no file that a journal can be kept in')
    refused([*words, '--resume'], 'none', 'add --journal', 2)
    refused([*words, '--journal', 'j', '--csv', 'j'], 'j', 'the same file', 2)
    refused([*words, '--journal', 'j', '--csv', 'nowhere/table.csv'], 'j', 'nowhere/table.csv')
    check(not lines('j'), f'{name}: what cannot be written is told before the work')


def check_full_disk(name, words):
    """A journal that cannot grow any more ends the run, and what it has is of use."""
    journal = f'{name}-full.journal'
    p = subprocess.run(['sh', '-c', 'ulimit -f 40; trap "" XFSZ; exec "$@"', 'sh', STEPSIM, *words, '--journal', journal],
                       capture_output=True, text=True, check=False)
    check(p.returncode == 3 and p.stderr.startswith(f'{journal}: error: cannot write the journal'), f'{name}: full disk: {p.stderr}')
    return answer([*words, '--journal', journal, '--resume'])


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, words in COMMANDS.items():
            want = answer(words)
            check(answer([*words, '--workers', '3']) == want, f'{name}: the same with 3 workers')
            check_interrupts(name, words, want)
            check_halves(name, words, want)
            check_refusals(name, words)
            check(check_full_disk(name, words) == want, f'{name}: the same after a full disk')
        os.chdir('/')
    sys.exit(bool(failed))


main()
