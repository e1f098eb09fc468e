#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: mpi.py STEPSIM [--all]

`search` and `sweep` by mpirun -n 3 on this machine: the same bytes as without; a process that is killed loses nothing under
--enable-recovery, and without it the journal has all that was done; errors are told once. All of this of `sweep`, and with --all of
`search` too. Nothing depends on how long anything takes.
"""
import os
import signal
import subprocess
import sys
import tempfile
import time

STEPSIM = os.path.abspath(sys.argv[1])
JOB = ['--job', '8b-16', '--platform', 'h800']
COMMANDS = [
    ['sweep', *JOB, '--vary', 'nodes=4..64', '--vary', 'tp=1,2,4,8', '--vary', 'mbs=1,2,4', '--vary', 'pp=1,2,4,8'],
    ['search', *JOB, '--vary', 'nodes=2,4', '--vary', 'tp=auto', '--vary', 'pp=auto', '--vary', 'mbs=auto'],
]
# Commands that share what they predict, but keep no journal here.
OTHERS = [
    ['capacity', *JOB, '--nodes', '2,4', '--tp', '2', '--cp', '1', '--tokens', '1T'],
    ['validate', 'runs'],
]
# --allow-run-as-root: containers. Launching needs no network.
MPIRUN = ['mpirun', '--allow-run-as-root', '--oversubscribe', '--mca', 'btl', 'self,vader', '--mca', 'plm', 'isolated', '-n', '3']
failed = []


def check(good, what):
    if not good:
        failed.append(what)
        print('mpi.py: FAILED:', what)


def read(path):
    try:
        with open(path, 'rb') as f:
            return f.read()
    except (FileNotFoundError, ProcessLookupError):
        return b''


def run(launcher, words, expect=0):
    p = subprocess.run([*launcher, STEPSIM, *words, '--csv', 'table.csv'], capture_output=True, check=False)
    check(p.returncode == expect, f'{launcher[-2:]} {words}: exit status {p.returncode}, not {expect}: {p.stderr.decode()}')
    table = read('table.csv')
    if table:
        os.remove('table.csv')
    return p.stdout, table, p.stderr


def rank_of(pid):
    """The number of a process of the job, None: it is none."""
    for word in read(f'/proc/{pid}/environ').split(b'\0'):
        if word.startswith(b'OMPI_COMM_WORLD_RANK='):
            return int(word.split(b'=')[1])
    return None


def children(pid):
    return [int(c) for c in read(f'/proc/{pid}/task/{pid}/children').split()]


def interrupted(words, journal, rank, recovery, lines=20):
    """Kills a process of the job when the journal has so many lines."""
    launcher = [*MPIRUN, '--enable-recovery'] if recovery else MPIRUN
    victims = []
    for _ in range(20):  # a job that has ended before this process had the processor is begun again
        p = subprocess.Popen([*launcher, STEPSIM, *words, '--csv', 'table.csv', '--journal', journal], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
        while read(journal).count(b'\n') < lines and p.poll() is None:
            time.sleep(0.001)
        victims = [c for c in children(p.pid) if rank_of(c) == rank]
        for victim in victims:
            os.kill(victim, signal.SIGKILL)
        out = p.communicate()[0]
        if victims:
            break
        os.remove(journal)
    check(len(victims) == 1, f'{words}: one process {rank} was killed')
    table = read('table.csv')
    if table:
        os.remove('table.csv')
    return p.returncode, out, table


def check_command(words, whole):
    """Not whole: that it is the same, and that a killed process loses nothing."""
    name = words[0]
    want = run([], words)[:2]
    check(run(MPIRUN, words)[:2] == want, f'{name}: the same by 3 processes')
    status, *got = interrupted(words, f'{name}-1', 1, True)
    check((status, *got) == (0, *want), f'{name}: a killed process loses nothing ({status})')
    if not whole:
        return
    check(run(MPIRUN, [*words, '--workers', '2'])[:2] == want, f'{name}: the same by 3 processes of 2 workers')
    status, out, table = interrupted(words, f'{name}-2', 2, False)
    check(status != 0 and table in (b'', want[1]), f'{name}: without recovery all end ({status})')
    check(read(f'{name}-2').count(b'\n') >= 20, f'{name}: what was done is kept')
    check(run(MPIRUN, [*words, '--journal', f'{name}-2', '--resume'])[:2] == want, f'{name}: the same resumed')
    status, out, table = interrupted(words, f'{name}-0', 0, True)
    check(not out and not table, f'{name}: without the first process all end, and there is no answer')
    check(run([], [*words, '--journal', f'{name}-0', '--resume'])[:2] == want, f'{name}: the same resumed alone')


def check_errors(folder):
    error = run(MPIRUN, [*COMMANDS[0], '--seq', 'x'], 2)[2].decode()
    check(error.count('error:') == 1, f'an error is told once: {error}')
    os.environ['STEPSIM_MODULE_DIR'] = folder
    error = run(MPIRUN, COMMANDS[0], 3)[2].decode()
    check('STEPSIM_MPI=off' in error, f'the missing module is told: {error}')
    os.environ['STEPSIM_MPI'] = 'off'
    check(len(run(MPIRUN, COMMANDS[0])[0]) == 3 * len(run([], COMMANDS[0])[0]), 'STEPSIM_MPI=off: each alone')


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for words in COMMANDS:
            check_command(words, '--all' in sys.argv or words[0] == 'sweep')
        for words in OTHERS:
            check(run(MPIRUN, words)[:2] == run([], words)[:2], f'{words[0]}: the same by 3 processes')
        check_errors(folder)
        os.chdir('/')
    sys.exit(bool(failed))


main()
