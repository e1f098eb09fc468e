#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tries to beat the best layout of a search over layouts and switches.

    advised.py PROGRAM [--jobs N] [--steps N] [--shard I/N]

For each of 30 jobs, dense and mixtures, on H800, H20, H100 and GB200: no change that `explain` proposes of what the search tries, and no random walk
over flags of layout and switches, is more than 1 % faster and surely fits. A step changes one flag of the best words so far, is taken if it is
faster, and at times if it is slower. Random numbers follow from the job alone.
"""
import argparse
import json
import random
import shlex
import subprocess
import sys

WITHIN = 0.01
JOBS = [
    '--platform h800 --nodes 1 --model llama3.1-8b --seq 8192 --gbs 64',
    '--platform h800 --nodes 4 --model llama3.1-8b --seq 8192 --gbs 256',
    '--platform h800 --nodes 4 --model llama3.1-70b --seq 8192 --gbs 64',
    '--platform h800 --nodes 8 --model llama3.1-70b --seq 8192 --gbs 256',
    '--platform h800 --nodes 16 --model llama3.1-70b --seq 4096 --gbs 512',
    '--platform h20 --nodes 2 --model llama3.1-8b --seq 8192 --gbs 64',
    '--platform h20 --nodes 4 --model llama3.1-70b --seq 4096 --gbs 128',
    '--platform h20 --nodes 8 --model llama3.1-70b --seq 8192 --gbs 128',
    '--platform h100 --nodes 1 --model llama3.1-8b --seq 4096 --gbs 32',
    '--platform h100 --nodes 2 --model qwen3-8b --seq 16384 --gbs 32',
    '--platform h100 --nodes 8 --model llama3.1-70b --seq 16384 --gbs 64',
    '--platform h100 --nodes 32 --model llama3.1-405b --seq 8192 --gbs 256 --tp 8 --cp 1',
    '--platform h100 --nodes 64 --model llama3.1-405b --seq 8192 --gbs 256 --tp 8 --cp 1',
    '--platform gb200 --nodes 4 --model llama3.1-8b --seq 8192 --gbs 64',
    '--platform gb200 --nodes 18 --model llama3.1-70b --seq 8192 --gbs 144',
    '--platform h800 --nodes 2 --model qwen3-30b-a3b --seq 4096 --gbs 64 --cp 1',
    '--platform h800 --nodes 4 --model qwen3-30b-a3b --seq 8192 --gbs 128 --cp 1',
    '--platform h800 --nodes 8 --model mixtral-8x7b --seq 4096 --gbs 256 --cp 1',
    '--platform h800 --nodes 4 --model mixtral-8x7b --seq 4096 --gbs 64 --cp 1',
    '--platform h800 --nodes 2 --model deepseek-v2-lite --seq 4096 --gbs 64 --cp 1',
    '--platform h20 --nodes 2 --model qwen3-30b-a3b --seq 4096 --gbs 64 --cp 1',
    '--platform h20 --nodes 4 --model mixtral-8x7b --seq 8192 --gbs 128 --cp 1',
    '--platform h20 --nodes 8 --model qwen3-30b-a3b --seq 4096 --gbs 256 --cp 1',
    '--platform h100 --nodes 2 --model qwen3-30b-a3b --seq 8192 --gbs 64 --cp 1',
    '--platform h100 --nodes 4 --model deepseek-v2-lite --seq 8192 --gbs 128 --cp 1',
    '--platform h100 --nodes 8 --model mixtral-8x7b --seq 8192 --gbs 128 --cp 1',
    '--platform h100 --nodes 32 --model qwen3-235b-a22b --seq 4096 --gbs 512 --cp 1 --tp 1',
    '--platform h100 --nodes 32 --model mixtral-8x22b --seq 4096 --gbs 256 --cp 1',
    '--platform gb200 --nodes 4 --model qwen3-30b-a3b --seq 4096 --gbs 64 --cp 1',
    '--platform gb200 --nodes 8 --model mixtral-8x7b --seq 4096 --gbs 64 --cp 1',
]
DENSE = ['--attention-backend fused', '--fused-single-qkv-rope', '--overlap-grad-reduce --overlap-param-gather', '--tp-comm-overlap', '--optimizer-cpu-offload --optimizer-offload-fraction 1',
         '--fine-grained-activation-offloading --offload-modules core_attn attn_proj qkv_linear']
MIXTURE = DENSE + ['--fine-grained-activation-offloading --offload-modules expert_fc1 moe_act', '--moe-grouped-gemm', '--moe-permute-fusion', '--moe-router-fusion', '--delay-wgrad-compute', '--moe-shared-expert-overlap',
                       '--overlap-moe-expert-parallel-comm', '--moe-token-dispatcher-type flex --moe-flex-dispatcher-backend deepep']
RECOMPUTE = ['none', 'selective', 'full', '1', '2', '3', '4', '6', '8', '12', '16', '24']


def ask(program, words):
    done = subprocess.run([program] + words, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode in (0, 1) else None


class Layout:
    """Flags by name, which a walk changes."""

    def __init__(self, program, job, point, mixture):
        self.program, self.job, self.mixture = program, job, mixture
        self.flags = {'tp': point['tp'], 'cp': point['cp'], 'pp': point['pp'], 'vp': point['chunks'], 'mbs': point['micro_batch']}
        if mixture:
            self.flags['ep'] = point['ep']
            self.flags['etp'] = 1 if '--etp 1' in point['flags'] else point['tp']
        self.modules = ['--recompute-modules'] + point['flags'].split('--recompute-modules ')[1].split(' --')[0].split() \
            if '--recompute-modules ' in point['flags'] else ['--recompute-modules', 'moe'] if '--moe-layer-recompute' in point['flags'] else []
        self.flags['recompute'] = str(point['recompute_layers']) if point['recompute_layers'] else point['recompute']
        self.flags['shard'] = 'fsdp' if point['fsdp'] else 'zero'
        self.switches = {s for s in (MIXTURE if mixture else DENSE) if s in point['flags']}
        words = shlex.split(point['flags'])
        self.split = [w for i, w in enumerate(words) if w.startswith(('--account-for', '--decoder-last')) or
                      i and words[i - 1].startswith('--decoder-last')]

    def words(self):
        f = self.flags
        out = [w for k in ('tp', 'cp', 'pp', 'vp', 'mbs', 'ep', 'etp') if k in f for w in ('--' + k, str(f[k]))] + self.split
        if f['tp'] > 1:
            out += ['--sequence-parallel']
        out += ['--fsdp', 'full'] if f['shard'] == 'fsdp' else ['--use-distributed-optimizer']
        if f['recompute'].isdigit():
            out += ['--recompute-granularity', 'full', '--recompute-method', 'block', '--recompute-num-layers', f['recompute']]
        else:
            out += ['--recompute', f['recompute']] + (self.modules if f['recompute'] == 'selective' else [])
        return out + [w for s in sorted(self.switches) for w in s.split()]

    def change(self, draw):
        keep = dict(self.flags), set(self.switches), list(self.split)
        given = [w[2:] for w in self.job.split() if w.startswith('--')]
        kind = draw.choice([k for k in list(self.flags) + ['switch', 'switch', 'split'] if k not in given])
        if kind == 'switch':
            self.switches ^= {draw.choice(MIXTURE if self.mixture else DENSE)}
        elif kind == 'split':
            self.split = [] if self.split else ['--account-for-embedding-in-pipeline-split', '--account-for-loss-in-pipeline-split']
        elif kind == 'recompute':
            self.flags[kind] = draw.choice(RECOMPUTE)
        elif kind == 'shard':
            self.flags[kind] = draw.choice(['fsdp', 'zero'])
        else:
            self.flags[kind] = max(1, draw.choice([self.flags[kind] * 2, self.flags[kind] // 2]))
        return keep

    def take_back(self, keep):
        self.flags, self.switches, self.split = keep

    def seconds(self):
        answer = ask(self.program, ['run', *self.job.split(), *self.words(), '--engine', 'native', '--json'])
        return answer['iteration_ms'] / 1e3 if answer and answer.get('verdict') == 'fits' else None


def walk(layout, best, steps, draw):
    """The fastest of a walk and its words."""
    now, least, words = best, best, ''
    for _ in range(steps):
        keep = layout.change(draw)
        time = layout.seconds()
        if time is None or (time > now and draw.random() > 0.1):
            layout.take_back(keep)
            continue
        now = time
        if time < least:
            least, words = time, ' '.join(layout.words())
    return least, words


def check(program, number, steps):
    job, draw = JOBS[number] + ' --bf16', random.Random(number)
    mixture = any(m in job for m in ('mix', 'qwen3-30b', 'qwen3-235b', 'deepseek'))
    found = ask(program, ['search', *job.split(), '--axes', 'all', '--unconfirmed', '--json'])
    if not found or found['groups'][0]['best'] is None:
        print(f'{number} {job}: no layout fits')
        return False
    point = found['points'][found['groups'][0]['best']]
    best = point['iteration_ms'] / 1e3
    advised = [a for a in found['advice'] if 'arithmetic' not in a['note'] and a['verdict'] == 'fits' and 'cuda-graph' not in a['change']]
    layout = Layout(program, job, point, mixture)
    same = layout.seconds()
    least, words = walk(layout, best, steps, draw)
    advice = min([a['iteration_ms'] / 1e3 for a in advised], default=best)
    ok = same is not None and min(least, advice) > best * (1 - WITHIN)
    print(f'{number:3} {best:9.4f} s, {100 * (advice / best - 1):+6.2f} % by advice, {100 * (least / best - 1):+6.2f} % by a walk from {same}: '
          f'{"" if ok else "BEATEN " if same else "NO START "}{job} {words if least < best else ""}', flush=True)
    return ok


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('program')
    parser.add_argument('--jobs', type=int, default=len(JOBS))
    parser.add_argument('--steps', type=int, default=200)
    parser.add_argument('--shard', default='0/1')
    args = parser.parse_args()
    first, of = map(int, args.shard.split('/'))
    numbers = [n for n in range(first, len(JOBS), of)][:args.jobs]
    return 0 if all([check(args.program, n, args.steps) for n in numbers]) else 1


if __name__ == '__main__':
    sys.exit(main())
