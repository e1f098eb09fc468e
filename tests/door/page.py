#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: page.py COMMAND...

Runs `COMMAND... serve --port 0 --job 8b-16` and asks it as a browser does: the page, an answer and a refusal. It is ended then.
"""
import json
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

JOB = '--platform h800 --nodes 2 --model llama3.1-8b --bf16 --tp 8 --seq 4096 --mbs 1 --gbs 64'


def look(command):
    """The answer's verdict, from the page that the command serves."""
    with subprocess.Popen([*command, 'serve', '--port', '0', '--job', '8b-16'], stdout=subprocess.PIPE) as server:
        try:
            return ask(server.stdout.readline().decode().split()[0])
        finally:
            server.terminate()


def ask(address):
    def get(path):
        try:
            with urllib.request.urlopen(address + path) as reply:
                return reply.read().decode()
        except urllib.error.HTTPError as refused:  # a job's refusal has the status 422
            return refused.read().decode()

    assert '<!doctype html>' in get('').lower()
    answer = json.loads(get('run.json?job=' + urllib.parse.quote(JOB)))
    assert 'iteration_ms' in answer and answer['engine'] == 'native', answer
    assert 'h8000' in json.loads(get('run.json?job=' + urllib.parse.quote('--platform h8000')))['error']['message']
    return answer['verdict']


if __name__ == '__main__':
    print('page.py: passed:', look(sys.argv[1:]))
