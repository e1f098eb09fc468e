#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: use_wheel.py, copied to an empty folder with page.py, by the Python of a venv that has the wheel and nothing else.

What a user does with an installed wheel: run, search, capacity, validate, a picture, a page, a schedule, the command, its page and its fits.
"""
import os
import shutil
import subprocess
import sys

import page
import stepsim

JOB = dict(platform='h800', model='llama3.1-8b', bf16=True, use_distributed_optimizer=True, seq=4096, mbs=1, gbs=64)


def check(right, what):
    if not right:
        raise SystemExit(f'use_wheel.py: wrong: {what}')


def main():
    venv = os.path.realpath(sys.prefix)
    check(os.path.realpath(stepsim.__file__).startswith(venv), f'imported from {stepsim.__file__}, not from {venv}')
    for compiler in ('cc', 'gcc', 'clang', 'cmake'):
        check(shutil.which(compiler) is None, f'{compiler} is on PATH: this proves nothing')
    answer = stepsim.run(nodes=2, tp=2, **JOB)
    check(answer['verdict'] == 'fits' and answer['engine'] == 'native', 'run')
    check('an iteration' in answer._repr_html_(), 'what a notebook shows')
    check('<svg' in answer.svg() and '<svg' in answer.svg('memory'), 'pictures of a run')
    check('<html' in answer.report().lower(), 'page of a run')
    found = stepsim.search(nodes=[1, 2], platform='h800', model='llama3.1-8b', bf16=True, seq=4096, gbs=64)
    check(len(found['groups']) == 2 and found['points'][0]['verdict'] == 'fits', 'search')
    check(len(stepsim.sweep(nodes=[1, 2], tp=[1, 2], **JOB)) == 4, 'sweep')
    check(stepsim.capacity(tokens='10B', nodes=[1, 2], deadline='90d', platform='h800', model='llama3.1-8b', bf16=True, seq=4096,
                           gbs=64)['points'], 'capacity')
    check(len(stepsim.validate()) > 10, 'validate')
    check(stepsim.schedule('compare', pp=2, microbatches=4)['schedules'], 'schedule')
    check(stepsim.compare(dict(nodes=1, **JOB), dict(nodes=2, **JOB))['sides'][1]['name'] == 'job 2', 'compare')
    check(stepsim.doctor()['healthy'], 'doctor')
    said = subprocess.run(['stepsim', 'run', '--job', '8b-16', '--json'], stdout=subprocess.PIPE, check=True).stdout.decode()
    check('"engine": "native"' in said, 'the command')
    check(page.look(['stepsim']) == 'fits', 'serve')
    with open('kernels.csv', 'w', encoding='ascii') as table:
        table.write('kind,gpu,shape_or_bytes,ranks/nodes,precision,measured value,unit,source\n'
                    'attention,H100,FA2 fwd seq=8192 d=128 causal,1 GPU,bf16,330,TFLOP/s,x\n')
    if not os.environ.get('STEPSIM_NO_CALIBRATE'):
        fitted = subprocess.run(['stepsim', 'calibrate', '--platform', 'h100', '--stack', 'megatron-2407', '--microbench', 'kernels.csv'], stdout=subprocess.PIPE, check=True)
        check(b'ss.attention.flash.forward' in fitted.stdout, 'calibrate')
    line = subprocess.run(['stepsim', 'run', '--job', '8b-16', '--brief'], stdout=subprocess.PIPE, check=True).stdout.decode()
    print(f'stepsim {stepsim.__version__}, Python {sys.version.split()[0]}: {line.split(",")[0]}')


if __name__ == '__main__':
    main()
