#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: test_stepsim.py PROGRAM SOURCE_ROOT LIBRARY

python/stepsim against the program: the same words give the same documents; errors, keywords, rows, threads.
"""
import concurrent.futures
import json
import os
import pickle
import re
import subprocess
import sys
import unittest

PROGRAM, ROOT, os.environ['STEPSIM_LIBRARY'] = sys.argv[1:4]
os.environ['STEPSIM_DATA'] = ROOT
os.environ['STEPSIM_MODULE_DIR'] = os.path.dirname(PROGRAM)
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, 'python'))
import stepsim  # noqa: E402
from stepsim import _words  # noqa: E402

SMALL = dict(platform='h800', nodes=1, model='llama3.1-8b', bf16=True, tp=4, seq=4096, mbs=1, gbs=16)
SMALL_WORDS = '--platform h800 --nodes 1 --model llama3.1-8b --bf16 --tp 4 --seq 4096 --mbs 1 --gbs 16'.split()


def program(*words):
    done = subprocess.run([PROGRAM, *words, '--json'], stdout=subprocess.PIPE, text=True, check=False)
    return json.loads(done.stdout)


class Documents(unittest.TestCase):
    maxDiff = 2000

    def test_same_as_the_program(self):
        native = ['--engine', 'native']
        for command, ask in (('run', stepsim.run), ('explain', stepsim.explain)):
            self.assertEqual(ask(*SMALL_WORDS, *native), program(command, *SMALL_WORDS, *native), command)
        self.assertEqual(stepsim.run('--job', '8b-16', '--level', 'layer', *native),
                         program('run', '--job', '8b-16', '--level', 'layer', *native))
        self.assertEqual(stepsim.run(*SMALL_WORDS, engine='simgrid'), program('run', *SMALL_WORDS, '--engine', 'simgrid'))
        self.assertEqual(stepsim.plan(*SMALL_WORDS), program('plan', *SMALL_WORDS))
        self.assertEqual(stepsim.check(tokens_per_second='1000/gpu', **SMALL), program('check', *SMALL_WORDS, '--tokens-per-second', '1000/gpu'))
        self.assertEqual(stepsim.compare(others=[{'tp': 8}, '--scale nic.bandwidth=2x'], **SMALL),
                         program('compare', *SMALL_WORDS, '--with', '--tp 8', '--with', '--scale nic.bandwidth=2x'))
        self.assertEqual(stepsim.search(*SMALL_WORDS[:-2], gbs=16, cp=1, vary={'pp': [1, 2]}),
                         program('search', *SMALL_WORDS, '--cp', '1', '--vary', 'pp=1,2', '--unconfirmed'))
        self.assertEqual(stepsim.capacity(*SMALL_WORDS, tokens='1B', layout='given', nodes='1..2'),
                         program('capacity', *SMALL_WORDS, '--tokens', '1B', '--layout', 'given', '--nodes', '1..2'))
        self.assertEqual(stepsim.names('platforms'), [row['name'] for row in program('list', 'platforms')['platforms']])

    def test_how_a_job_is_simulated(self):
        """Slow GPUs and links, draws and placements are told as to the program, and counted as there."""
        native = ['--engine', 'native']
        slow = [*SMALL_WORDS, '--straggler', '3:1.5', '--slow-link', 'nic-0-0:2', '--spread-seed', '7', *native]
        self.assertEqual(stepsim.run(*slow), program('run', *slow))
        self.assertGreater(stepsim.run(*SMALL_WORDS, straggler=['3:1.5'])['iteration_ms'],
                           1.2 * stepsim.run(*SMALL_WORDS)['iteration_ms'])
        for sigma in '0.1', '0':
            noisy = [*SMALL_WORDS, '--jitter', sigma, '--replicas', '5', '--seed', '3', *native]
            self.assertEqual(stepsim.run(*noisy), program('run', *noisy))
        path = os.path.join(os.environ.get('TMPDIR', '/tmp'), f'stepsim-{os.getpid()}.placement')
        try:
            with open(path, 'w', encoding='utf-8') as f:
                f.writelines(f'gpu 0 {7 - rank}\n' for rank in range(8))
            self.assertEqual(stepsim.run(*SMALL_WORDS, *native, placement=path), program('run', *SMALL_WORDS, *native, '--placement', path))
        finally:
            os.unlink(path)
        for wrong in (dict(straggler='3:0.5'), dict(straggler='x:2'), dict(slow_link='nic-0-0'), dict(replicas=5), dict(jitter=3),
                      dict(spread_seed=-1), dict(placement=''), dict(placement=['a', 'b'])):
            with self.assertRaises(stepsim.Error, msg=wrong) as caught:
                stepsim.run(*SMALL_WORDS, **wrong)
            self.assertEqual((caught.exception.status, caught.exception.code), (2, 'usage'), wrong)

    def test_results_are_sides(self):
        """What the program wrote is a side, with the options that it was simulated with."""
        path = os.path.join(os.environ.get('TMPDIR', '/tmp'), f'stepsim-{os.getpid()}.json')
        try:
            with open(path, 'w', encoding='utf-8') as f:
                json.dump(program('run', *SMALL_WORDS, '--level', 'layer'), f)
            self.assertEqual(stepsim.compare(path, others=[{'tp': 2}]), program('compare', path, '--with', '--tp 2'))
            self.assertEqual(stepsim.compare(path, others={'tp': 2}), program('compare', path, '--with', '--tp 2'))
            self.assertEqual(stepsim.compare(path, others='--tp 2'), program('compare', path, '--with', '--tp 2'))
        finally:
            os.unlink(path)

    def test_rows(self):
        rows = stepsim.sweep(vary={'tp': [4, 8], 'ss.nic.bandwidth': ['25GBps', '50GBps']}, workers=1,
                             **{k: v for k, v in SMALL.items() if k != 'tp'})
        words = [w for w in SMALL_WORDS if w not in ('--tp', '4')]
        theirs = program('sweep', *words, '--vary', 'tp=4,8', '--vary', 'set=ss.nic.bandwidth=25GBps,50GBps')['rows']
        self.assertEqual([(r['tp'], r['ss.nic.bandwidth']) for r in rows], [(4, '25GBps'), (4, '50GBps'), (8, '25GBps'), (8, '50GBps')])
        self.assertEqual([r['iteration_ms'] for r in rows], [r['iteration_ms'] for r in theirs])
        for row in rows:
            self.assertFalse([k for k, v in row.items() if isinstance(v, (dict, list))])
        rows, theirs = stepsim.validate(), program('validate')['rows']
        self.assertEqual([r['error_pct'] for r in rows], [r['error_pct'] for r in theirs])
        self.assertEqual(rows[0]['iteration_ms'], theirs[0]['figures']['iteration_ms'])
        self.assertFalse([k for k, v in rows[0].items() if isinstance(v, (dict, list))])

    def test_doctor(self):
        checks = {check['name']: check for check in stepsim.doctor()['checks']}
        self.assertTrue(checks['self-test']['ok'], checks)
        self.assertIn('libxml2 2.', checks['libraries']['text'])

    def test_a_job_that_does_not_fit_is_an_answer(self):
        answer = stepsim.run(**{**SMALL, 'tp': 1})
        self.assertEqual(answer['verdict'], 'too large')
        self.assertTrue(answer['fixes'])


class Errors(unittest.TestCase):
    def test_fields(self):
        with self.assertRaises(stepsim.Error) as caught:
            stepsim.run(**{**SMALL, 'tp': 3})
        error = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual((error.code, error.status, error.file, error.line), ('config-error', 3, None, None))
        self.assertIn('tensor parallel size (3)', error.message)
        self.assertTrue(error.hint)
        self.assertEqual(str(error), f'{error.message} ({error.hint})')

    def test_launch_scripts(self):
        """The error of a script is the program's, with its file, line and what its reader noted."""
        script = os.path.join(ROOT, 'tests/launch/tasks.sh')
        with self.assertRaises(stepsim.Error) as caught:
            stepsim.run(launch=script, **{k: SMALL[k] for k in ('platform', 'nodes')})
        theirs = program('run', '--launch', script, '--platform', 'h800', '--nodes', '1')['error']
        error = caught.exception
        self.assertEqual((error.code, error.message, error.hint, error.file, error.line),
                         tuple(theirs.get(key) for key in ('code', 'message', 'hint', 'file', 'line')))
        self.assertTrue(error.hint)

    def test_file_and_line(self):
        path = os.path.join(os.environ.get('TMPDIR', '/tmp'), f'stepsim-{os.getpid()}.args')
        try:
            with open(path, 'w', encoding='utf-8') as f:
                f.write('--platform h800\n--no-such-flag\n')
            with self.assertRaises(stepsim.Error) as caught:
                stepsim.run(job=path)
            self.assertEqual((caught.exception.file, caught.exception.line, caught.exception.code), (path, 2, 'bad-input'))
            self.assertTrue(str(caught.exception).startswith(f'{path}:2: '))
        finally:
            os.unlink(path)

    def test_words_that_are_none(self):
        for call in (lambda: stepsim.run(4), lambda: stepsim.run(tp=object()), lambda: stepsim.run(model=b'x'),
                     lambda: stepsim.run(model={'hidden_size': 1})):
            self.assertRaises(TypeError, call)
        self.assertRaises(ValueError, stepsim.run, '--model', 'a\0b')


class Keywords(unittest.TestCase):
    def test_words(self):
        self.assertEqual(_words.words_of({'tp': 4, 'bf16': True, 'fp16': False, 'vp': None, 'lr': 1e-4, 'gbs': 1024.0}),
                         ['--tp', '4', '--bf16', '--lr', '0.0001', '--gbs', '1024'])
        self.assertEqual(_words.words_of({'set': {'ss.price': '2USD/h'}, 'without': ['a', 'b'], 'recompute_modules': ['x', 'y']}),
                         ['--set', 'ss.price=2USD/h', '--without', 'a', '--without', 'b', '--recompute-modules', 'x', 'y'])
        self.assertEqual(_words.words_of({'launch': 'run.sh', 'env': {'NODES': 4, 'DATA_DIR': '/data'}}),
                         ['--launch', 'run.sh', '--env', 'NODES=4', '--env', 'DATA_DIR=/data'])
        self.assertEqual(_words.vary_of({'nodes': [8, 16], 'sequence_parallel': [True, False], 'ss.price': '1USD/h'}),
                         ['--vary', 'nodes=8,16', '--vary', 'sequence-parallel=on,off', '--vary', 'set=ss.price=1USD/h'])
        self.assertEqual([_words.number_of(t) for t in ('8', '0.5', 'on', 'full')], [8, 0.5, True, 'full'])

    def test_flat(self):
        self.assertEqual(stepsim.flat({'a': 1, 'b': {'c': 2, 'd': [3]}, 'e': [4]}), {'a': 1, 'b.c': 2})


class Package(unittest.TestCase):
    def test_threads(self):
        degrees = [1, 2, 4, 8] * 4
        alone = {tp: stepsim.run(**{**SMALL, 'tp': tp}) for tp in set(degrees)}
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda tp: stepsim.run(**{**SMALL, 'tp': tp}), degrees))
        self.assertEqual(answers, [alone[tp] for tp in degrees])

    def test_threads_that_start_processes(self):
        """Processes of one call keep no end of another's."""
        small = {k: v for k, v in SMALL.items() if k != 'tp'}

        def ask(i):
            if i % 3:
                return [row['verdict'] for row in stepsim.sweep(vary={'tp': [4, 8]}, workers=2, **small)]
            return stepsim.run(**SMALL)['verdict']
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            self.assertEqual(list(pool.map(ask, range(12))), ['fits', ['fits'] * 2, ['fits'] * 2] * 4)

    def test_versions(self):
        """The name of the library follows the version of the project."""
        with open(os.path.join(ROOT, 'CMakeLists.txt'), encoding='utf-8') as f:
            version = re.search(r'project\(stepsim VERSION ([0-9.]+)', f.read())[1]
        self.assertEqual(stepsim.__version__, version)
        from stepsim import _library
        self.assertEqual(_library.NAME, 'libstepsim.so.' + '.'.join(version.split('.')[:2]))

    def test_is_documented_and_typed(self):
        import inspect
        self.assertTrue(os.path.exists(os.path.join(ROOT, 'python/stepsim/py.typed')))
        for name in stepsim.__all__:
            what = getattr(stepsim, name)
            self.assertTrue(what.__doc__, name)
            if name != 'Error':
                signature = inspect.signature(what)
                self.assertNotIn(inspect.Signature.empty, [signature.return_annotation] + [p.annotation for p in signature.parameters.values()], name)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
