#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: api.py SOURCE [--update | --release]

The public headers (sim/*/include/stepsim) as the manual of the library, and docs/reference/api.md beside them. Fails
(exit 1), with a line for each, where
 - a public header does not begin with a comment that says what it is about, or stepsim.h does not include it,
 - a public function has no comment of its own right above it,
 - the table of functions in api.md is not the one that the headers make (--update writes it),
 - api.md names a function, struct, enum or macro (ss_..., SS_...) that no public header has,
 - a function or struct is not what it was in the last release (tests/api.txt), and project(VERSION) of CMakeLists.txt is still that of the
   release. Whoever releases writes that file by --release.
"""
import glob
import hashlib
import os
import re
import sys

BEGIN, END = '<!-- functions begin -->', '<!-- functions end -->'
COMMENT = re.compile(r'/\*(.*?)\*/', re.S)


def text_of(comment):
    """The words of a comment, in one line."""
    return ' '.join(re.sub(r'(?m)^\s*\*', ' ', comment).split())


def first_sentence(comment):
    return re.split(r'(?<=[^.])\.(?= [A-Z*]|$)', text_of(comment))[0].strip()


def functions(text):
    """[(name, the comment right above it or None)] in the order of the header."""
    found, comment, at, depth = [], None, 0, 0
    token = re.compile(r'/\*(?P<comment>.*?)\*/|(?P<hash>^[ \t]*#(?:\\\n|[^\n])*)|(?P<blank>\n[ \t]*\n)|(?P<open>\{)|(?P<close>\})|'
                       r'"(?:\\.|[^"\n])*"|\b(?P<name>ss_\w+)\s*\((?!\*)', re.S | re.M)
    while True:
        m = token.search(text, at)
        if not m:
            return found
        at = m.end()
        if m['comment'] is not None:
            own_line = not text[text.rfind('\n', 0, m.start()) + 1:m.start()].strip()
            comment = m['comment'] if own_line and depth == 0 else None
        elif m['blank'] and depth == 0:
            comment, at = None, m.start('blank') + 1
        elif m['hash']:
            comment = None
        elif m['open'] and not re.search(r'extern "C"\s*$', text[:m.start()]):
            depth += 1
        elif m['close'] and depth:
            depth -= 1
        elif m['name'] and depth == 0:
            found.append((m['name'], comment))
            comment, at = None, end_of_declaration(text, at)


def end_of_declaration(text, at):
    """Behind the closing parenthesis of the arguments."""
    depth = 1
    while depth:
        depth += {'(': 1, ')': -1}.get(text[at], 0)
        at += 1
    return at


def table(headers, wrong):
    lines = []
    for name, text in headers:
        found = functions(text)
        if not found:
            continue
        lines += ['', '### ' + name, '', '| function | |', '|---|---|']
        for function, comment in found:
            if comment is None:
                wrong.append(f'{name}: {function} has no comment')
            lines.append('| `%s` | %s |' % (function, first_sentence(comment or '').replace('|', '\\|')))
    return '\n'.join(lines[1:]) + '\n'


def check_headers(headers, wrong):
    whole = dict(headers)['stepsim/stepsim.h']
    for name, text in headers:
        if not re.match(r'/\* SPDX[^\n]*\n/\*', text):
            wrong.append(f'{name}: does not begin with what it is about')
        if name != 'stepsim/stepsim.h' and f'#include "{name}"' not in whole:
            wrong.append(f'{name}: stepsim.h does not include it')


def check_page(page, new, headers, wrong):
    if page != new:
        wrong.append('docs/reference/api.md: its functions are not those of the headers: run python3 tests/api.py . --update')
    known = set(re.findall(r'\b(?:ss|SS)_\w+', ' '.join(text for _, text in headers)))
    for made in ('OUTCOME', 'METRIC'):  # of X-macros: SS_OUTCOME_FITS
        for m in re.finditer(r'X\((\w+),', ' '.join(text for _, text in headers)):
            known.add(f'SS_{made}_{m[1]}')
    for word in sorted(set(re.findall(r'\b(?:ss|SS)_\w+', page)) - known):
        wrong.append(f'docs/reference/api.md: no public header has {word}')


def declarations(headers):
    """{name: hash} of functions and of structs and enums with their fields; comments and blanks do not count."""
    found = {}
    for _, text in headers:
        text = re.sub(r'(?m)^[ \t]*#(?:\\\n|[^\n])*', ' ', COMMENT.sub(' ', text)).replace('extern "C" {', ' ')
        depth, begin = 0, 0
        for i, c in enumerate(text):
            depth += {'{': 1, '}': -1}.get(c, 0)
            if depth > 0 or c not in ';}' or (c == '}' and text[begin:i].lstrip().startswith(('struct', 'enum', 'typedef'))
                                              and not re.search(r'\)\s*\{', text[begin:i])):
                depth = max(depth, 0)  # the end of extern "C"
                continue
            depth = max(depth, 0)
            words = ' '.join(text[begin:i].split())
            begin = i + 1
            named = re.search(r'\b(ss_\w+)\s*\(', words) or re.match(r'(?:typedef )?(?:struct|enum|union) (ss_\w+) \{', words)
            if named:
                found[named[1]] = hashlib.sha256(words.encode()).hexdigest()[:12]
    return found


def version_of(source):
    with open(os.path.join(source, 'CMakeLists.txt'), encoding='utf-8') as f:
        return re.search(r'project\(stepsim VERSION ([\d.]+)', f.read())[1]


def check_release(source, headers, wrong):
    with open(os.path.join(source, 'tests/api.txt'), encoding='ascii') as f:
        released, *rows = f.read().splitlines()
    now = declarations(headers)
    changed = [name for name, was in (row.split() for row in rows) if now.get(name) != was]
    if changed and version_of(source) == released:
        wrong.append(f'{len(changed)} functions and structs are not those of version {released}, as {", ".join(changed[:3])}: raise '
                     'project(stepsim VERSION) in CMakeLists.txt')


def main():
    source = sys.argv[1]
    path = os.path.join(source, 'docs/reference/api.md')
    files = glob.glob(os.path.join(source, 'sim/*/include/stepsim/*.h'))
    headers = sorted(('stepsim/' + os.path.basename(f), open(f, encoding='utf-8').read()) for f in files)
    wrong = []
    with open(path, encoding='utf-8') as f:
        page = f.read()
    new = page[:page.index(BEGIN) + len(BEGIN)] + '\n' + table(headers, wrong) + page[page.index(END):]
    if '--release' in sys.argv:
        with open(os.path.join(source, 'tests/api.txt'), 'w', encoding='ascii') as f:
            f.writelines([version_of(source) + '\n'] + [f'{name} {known}\n' for name, known in sorted(declarations(headers).items())])
    if '--update' in sys.argv:
        with open(path, 'w', encoding='utf-8') as f:
            f.write(new)
        page = new
    check_headers(headers, wrong)
    check_page(page, new, headers, wrong)
    check_release(source, headers, wrong)
    print('\n'.join(wrong) if wrong else f'{len(headers)} public headers, {sum(len(functions(t)) for _, t in headers)} functions')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
