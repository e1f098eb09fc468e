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
import shutil
import signal
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
        for command in (stepsim.run, stepsim.sweep, stepsim.search):
            self.assertRaisesRegex(TypeError, r'as \*\*job', command, SMALL)


    def usage(self, call, *texts):
        with self.assertRaises(stepsim.Error) as caught:
            call()
        self.assertEqual((caught.exception.code, caught.exception.status), ('usage', 2))
        for text in texts:
            self.assertIn(text, str(caught.exception))

    def test_several_values(self):
        """Where one job is predicted the error names what takes several."""
        for command in (stepsim.run, stepsim.plan, stepsim.explain, stepsim.check):
            self.usage(lambda: command(**{**SMALL, 'nodes': [8, 16]}), 'nodes takes one value here, and has 2: 8, 16', 'sweep(nodes=[8, 16])')  # pylint: disable=cell-var-from-loop
        self.usage(lambda: stepsim.compare({**SMALL, 'tp': [2, 4]}, SMALL), 'tp takes one value')
        self.usage(lambda: stepsim.sweep(vary='nodes=8,16', **SMALL), "vary='nodes=8,16' is no dict")
        self.usage(lambda: stepsim.search(vary=['tp'], **SMALL), 'is no dict')
        self.usage(lambda: stepsim.sweep(**SMALL), 'nothing to vary', 'nodes=[8, 16]')
        with self.assertRaisesRegex(TypeError, "progress='yes'"):
            stepsim.sweep(progress='yes', **{**SMALL, 'tp': [2, 4]})
        self.usage(lambda: stepsim.sweep(vary={'tp': [2]}, **{**SMALL, 'tp': [2, 4]}), 'tp has several values, and is in vary')
        self.assertEqual(stepsim.run(**{**SMALL, 'nodes': [1]}), stepsim.run(**SMALL))
        self.assertEqual(stepsim.run(**{**SMALL, 'nodes': (n for n in [1])}), stepsim.run(**SMALL))
        self.assertEqual(len(stepsim.sweep(tp=iter([4, 8]), **{k: v for k, v in SMALL.items() if k != 'tp'})), 2)

    def test_files_that_a_command_has_not(self):
        self.usage(lambda: stepsim.run(csv='x.csv', **SMALL), 'run writes no csv')
        self.usage(lambda: stepsim.plan(picture='x.svg', **SMALL), 'plan draws no picture')
        self.usage(lambda: stepsim.plan(**SMALL).svg(), 'this answer has no picture')
        self.usage(lambda: stepsim.run(**SMALL).svg('gant'), 'no picture "gant"', 'gantt, memory')
        self.usage(lambda: stepsim.explain(**SMALL).report(), 'this answer has no page')
        with self.assertRaisesRegex(TypeError, 'compare: 4 is no side'):
            stepsim.compare(4)


class Drawn(unittest.TestCase):
    def file(self, name):
        path = os.path.join(os.environ.get('TMPDIR', '/tmp'), f'stepsim-{os.getpid()}-{name}')
        self.addCleanup(lambda: os.path.exists(path) and os.unlink(path))
        return path

    def test_pictures_and_pages(self):
        gantt, memory, page = (self.file(name) for name in ('g.svg', 'm.svg', 'p.html'))
        answer = stepsim.run(picture=gantt, memory=memory, report=page, **SMALL)
        self.assertEqual(answer, stepsim.run(**SMALL))
        for path, text in ((gantt, answer.svg()), (memory, answer.svg('memory')), (page, answer.report())):
            with open(path, encoding='utf-8') as f:
                self.assertEqual(f.read(), text)
        self.assertIn('<svg', answer.svg()._repr_svg_())
        self.assertIn('srcdoc="&lt;', answer.report()._repr_html_())
        self.assertIn('<svg', stepsim.compare(others={'tp': 2}, **SMALL).svg())
        found = self.file('s.html')
        best = stepsim.search(report=found, **{**SMALL, 'tp': [1, 2], 'pp': 1, 'gbs': 16})
        with open(found, encoding='utf-8') as f:
            self.assertEqual(f.read(), best.report())
        self.assertIn(' width="640"', stepsim.sweep(**{**SMALL, 'tp': [2, 4]}).svg(width=640))
        two = self.file('two.svg')
        self.assertIn(' width="700" height="2640"', stepsim.compare(dict(SMALL), dict(SMALL, tp=2), card=two, width=700).svg('card', width=700))
        with open(two, encoding="utf-8") as f:
            self.assertIn(' width="700" height="2640"', f.read())
        self.assertRaisesRegex(stepsim.Error, '--width without --gantt, --card', stepsim.run, width=700, **SMALL)

    def test_other_kinds_of_pictures(self):
        """PNG and PDF by rsvg-convert, which is an error where neither it nor Chromium is."""
        made = [self.file('x.png'), self.file('x.pdf')]
        if not shutil.which('rsvg-convert'):
            self.skipTest('rsvg-convert is not installed')
        stepsim.sweep(picture=made[0], width=600, **{**SMALL, 'tp': [2, 4]})
        stepsim.run(picture=made[1], **SMALL)
        for path, head in zip(made, (b'\x89PNG', b'%PDF')):
            with open(path, 'rb') as f:
                self.assertEqual(f.read()[:4], head)
        self.assertRaisesRegex(stepsim.Error, 'no such kind of picture', stepsim.run, picture='x.jpg', **SMALL)

    def test_what_a_notebook_shows(self):
        answer = stepsim.run(**SMALL)
        shown = answer._repr_html_()
        self.assertIn(f'<b>{answer["iteration_ms"] / 1e3:.4g} s an iteration', shown)
        self.assertIn(f'fits: {answer["memory"]["device_mib"] / 1024:.1f} of ', shown)
        self.assertIn(f'{100 * answer["breakdown_ms"]["tp"] / answer["iteration_ms"]:.1f} %', shown)
        self.assertIn('<td style="text-align:right">1&lt;2</td>', stepsim.Rows([{'a': '1<2'}])._repr_html_())
        self.assertIn('and 1 more rows', stepsim.Rows([{'a': 1}] * 31)._repr_html_())
        searched = stepsim.search(nodes=[1, 2], **{k: v for k, v in SMALL.items() if k not in ('nodes', 'tp', 'mbs')})
        self.assertIn('llama3.1-8b, bf16', searched._repr_html_())
        planned = stepsim.capacity(tokens='1B', **{**SMALL, 'nodes': [1, 2]}, layout='given')
        self.assertRegex(planned._repr_html_(), r'<b>[12] nodes of h800: [0-9.]+ \([0-9.]+ to [0-9.]+\) days, ')
        self.assertRegex(stepsim.check(measured='3s', **SMALL)._repr_html_(), r'<b>slower: 3 s measured, [0-9.]+ m?s predicted')
        copy = pickle.loads(pickle.dumps(answer))
        self.assertEqual((copy, type(copy), copy.svg()), (answer, stepsim.Answer, answer.svg()))
        self.assertEqual(json.loads(json.dumps(answer)), answer)

    def test_schedules(self):
        shape = ['--pp', '2', '--microbatches', '4']
        self.assertEqual(stepsim.schedule('show', 'zb-h1', pp=2, microbatches=4), program('schedule', 'show', 'zb-h1', *shape))
        both = stepsim.schedule('compare', pp=2, microbatches=4, schedules=['1f1b', 'zb-h1'])
        self.assertEqual(both, program('schedule', 'compare', *shape, '--schedules', '1f1b,zb-h1'))
        self.assertIn('<svg', both.svg())
        with self.assertRaises(stepsim.Error) as caught:
            stepsim.schedule('show', 'zb-h9', pp=2, microbatches=4)
        self.assertIn('zb-h9', caught.exception.message)

    def test_dicts_are_sides(self):
        """Either side may have what the other has not; an answer is a side, too."""
        first, second = dict(SMALL, sequence_parallel=True), dict(SMALL, tp=8)
        both = stepsim.compare(first, second, stepsim.run(**first))
        self.assertEqual([side['name'] for side in both['sides']], ['job 1', 'job 2', 'job 3'])
        times = [stepsim.run(**job)['iteration_ms'] for job in (first, second, first)]
        self.assertEqual([side['iteration_ms'] for side in both['sides']], times)
        self.assertEqual(stepsim.compare([first, second])['sides'], both['sides'][:2])
        picture = both.svg()
        self.assertIn('job 2', picture)
        self.assertNotIn('stepsim-', picture)
        with self.assertRaisesRegex(stepsim.Error, '^job 2: unknown flag --tpp'):
            stepsim.compare(first, dict(SMALL, tpp=4))

    def test_no_program(self):
        code = "import stepsim, sys; from stepsim import _program; _program._places = lambda: ['/none']; stepsim.schedule('list')"
        done = subprocess.run([sys.executable, '-c', code], stderr=subprocess.PIPE, text=True, check=False,
                              env={**os.environ, 'PYTHONPATH': os.path.join(ROOT, 'python')})
        self.assertIn('no program stepsim', done.stderr)
        self.assertIn('STEPSIM_PROGRAM', done.stderr)


class LongCalls(unittest.TestCase):
    """Each call of a watcher is one of a tenth of a second: what it raises ends the call, whatever the time."""

    BIG = dict(platform='h800', model='llama3.1-70b', bf16=True, seq=4096, gbs=512)

    def test_interrupted(self):
        def interrupt(share):
            told.append(share)
            raise KeyboardInterrupt
        for call in (lambda: stepsim.search(nodes=[8, 16], progress=interrupt, **self.BIG),
                     lambda: stepsim.sweep(nodes=[8, 16], tp=[4, 8], pp=[1, 2, 4], mbs=1, workers=1, progress=interrupt, **self.BIG),
                     lambda: stepsim.capacity(tokens='1T', nodes='8..64', progress=interrupt, **self.BIG),
                     lambda: stepsim.validate(progress=interrupt)):
            told = []
            self.assertRaises(KeyboardInterrupt, call)
            self.assertEqual(len(told), 1)
        self.assertEqual(stepsim.run(**SMALL)['verdict'], 'fits')  # and the gate is open

    def test_signal(self):
        """SIGINT, as of Ctrl-C, while workers work: they are gone, and the call says so."""
        code = f"""if True:
            import os, signal, stepsim, threading
            begun = threading.Event()
            threading.Thread(target=lambda: begun.wait() and os.kill(os.getpid(), signal.SIGINT), daemon=True).start()
            try:
                stepsim.search(nodes=[8, 16, 32, 64], axes='all', workers=2, progress=lambda share: begun.set(), **{self.BIG!r})
                print('not interrupted')
            except KeyboardInterrupt:
                try:
                    os.waitpid(-1, os.WNOHANG)
                    print('workers are left')
                except ChildProcessError:
                    print('interrupted')"""
        done = subprocess.run(['env', '--default-signal=INT', sys.executable, '-c', code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False, env={**os.environ, 'PYTHONPATH': os.path.join(ROOT, 'python')})
        self.assertEqual((done.stdout, done.stderr), ('interrupted\n', ''))

    def test_handler_that_raises_nothing(self):
        """Who handles SIGINT otherwise is asked, and the call goes on."""
        struck = []
        usual = signal.signal(signal.SIGINT, lambda number, frame: struck.append(number))
        try:
            rows = stepsim.sweep(**{**SMALL, 'tp': [2, 4]}, workers=1, progress=lambda share: struck or os.kill(os.getpid(), signal.SIGINT))
            handler = signal.getsignal(signal.SIGINT)
        finally:
            signal.signal(signal.SIGINT, usual)
        self.assertEqual((len(rows), struck), (2, [signal.SIGINT]))
        self.assertTrue(callable(handler) and handler is not usual)

    def test_progress(self):
        told = []
        rows = stepsim.sweep(**{**SMALL, 'tp': [1, 2, 4, 8]}, workers=1, progress=told.append)
        self.assertEqual(len(rows), 4)
        self.assertTrue(told and all(0 <= share <= 1 for share in told), told)
        self.assertEqual(told, sorted(told))


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

    def test_lists_of_the_table(self):
        """Flags of several values are those of docs/reference/flags.md."""
        with open(os.path.join(ROOT, 'docs/reference/flags.md'), encoding='utf-8') as f:
            several = {m[1] for m in re.finditer(r'^\| `--([^`]+)` \| [+*] ', f.read(), re.M)}
        self.assertEqual(_words.LISTS, several)

    def test_several_values_vary(self):
        flags = {**{k: v for k, v in SMALL.items() if k not in ('nodes', 'tp')}, 'recompute_modules': ['core_attn', 'mlp']}
        self.assertEqual(_words.several_of('sweep', (), {**flags, 'nodes': [1, 2], 'tp': (2, 4)}, {'pp': [1, 2]}),
                         ['--vary', 'nodes=1,2', '--vary', 'tp=2,4', '--vary', 'pp=1,2'])
        given = {**flags, 'nodes': [1, 2]}
        self.assertEqual((_words.several_of('search', (), given, None), given['nodes']), ([], '1,2'))
        rows = stepsim.sweep(**{**SMALL, 'nodes': [1, 2], 'tp': [2, 4]})
        self.assertEqual([(r['nodes'], r['tp']) for r in rows], [(1, 2), (1, 4), (2, 2), (2, 4)])
        self.assertEqual(rows, stepsim.sweep(vary={'nodes': [1, 2], 'tp': [2, 4]}, **{k: v for k, v in SMALL.items() if k not in ('nodes', 'tp')}))
        self.assertEqual([g['nodes'] for g in stepsim.search(nodes=[1, 2], vary={'tp': [4]}, **{k: v for k, v in SMALL.items() if k not in ('nodes', 'tp')})['groups']],
                         [1, 2])
        self.assertEqual(stepsim.capacity(tokens='1B', layout='given', **{**SMALL, 'nodes': [1, 2]}),
                         stepsim.capacity(tokens='1B', layout='given', **{**SMALL, 'nodes': '1,2'}))

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

    def test_interrupted_wait(self):
        """Who is interrupted while others work waits no longer: calls behind it are answered."""
        from stepsim import _library
        gate = _library._Gate()

        def struck(*_):
            raise KeyboardInterrupt
        gate.enter(False)
        gate._changed.wait_for = struck
        self.assertRaises(KeyboardInterrupt, gate.enter, True)
        del gate._changed.wait_for
        self.assertEqual((gate._inside, gate._waiting), (1, 0))

    def test_versions(self):
        """The name of the library follows the version of the project."""
        with open(os.path.join(ROOT, 'CMakeLists.txt'), encoding='utf-8') as f:
            version = re.search(r'project\(stepsim VERSION ([0-9.]+)', f.read())[1]
        self.assertEqual(stepsim.__version__, version)
        from stepsim import _library
        self.assertEqual(_library.NAME, 'libstepsim.so.' + '.'.join(version.split('.')[:2]))

    def test_names(self):
        """dir() has what is meant for users."""
        self.assertEqual([name for name in dir(stepsim) if not name.startswith('__')], sorted(stepsim.__all__))

    def test_is_documented_and_typed(self):
        import inspect
        self.assertTrue(os.path.exists(os.path.join(ROOT, 'python/stepsim/py.typed')))
        for name in stepsim.__all__:
            what = getattr(stepsim, name)
            self.assertTrue(what.__doc__, name)
            if not isinstance(what, type):
                signature = inspect.signature(what)
                self.assertNotIn(inspect.Signature.empty, [signature.return_annotation] + [p.annotation for p in signature.parameters.values()], name)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
