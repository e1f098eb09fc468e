#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: structure.py BUILD SOURCE [--svg FILE]

The structure as the linker sees it: which object needs a symbol of which. Fails (exit 1) where
 - an object of a room needs a symbol of a higher room (sim/rooms.txt, lowest first),
 - files of one room need each other in a circle,
 - a room has more than 18 % of the lines of sim/,
 - a file is longer than 494 lines or a function than 62: the longest of commit f709c12.
Prints what it found, a line a violation; --svg draws rooms and arrows instead of checking the lengths.
"""
import os
import re
import subprocess
import sys

MOST_SHARE, MOST_FILE, MOST_FUNCTION = 0.18, 494, 62


def objects(build, root, rooms):
    """{source file: (room, defined symbols, needed symbols)} of the library's and the program's objects."""
    paths = {}
    for room in rooms:
        target = 'ss_' + room
        for folder in [target] + {'replay': ['stepsim-simgrid', 'stepsim-simgrid-program'], 'serve': ['stepsim-http'], 'workers': ['stepsim-mpi']}.get(room, []):
            top = os.path.join(build, 'CMakeFiles', folder + '.dir')
            for path, _, names in sorted(os.walk(top)):
                for name in sorted(names):
                    if name.endswith('.c.o'):
                        file = os.path.relpath(os.path.join(path, name), top)[:-2]
                        if file.startswith('sim/') and not os.path.exists(os.path.join(root, file)):
                            continue  # left by an earlier build
                        paths[file] = room, os.path.join(path, name)
    told = symbols(sorted({path for _, path in paths.values()}))
    return {file: (room,) + told[path] for file, (room, path) in paths.items()}


def symbols(paths):
    """{path: (defined symbols, needed symbols)}, by one process for all of them."""
    found = {path: (set(), set()) for path in paths}
    for line in subprocess.run(['nm', '-P', '-A', *paths], check=True, capture_output=True, text=True).stdout.splitlines() if paths else ():
        path, rest = line.split(': ', 1)
        name, kind = rest.split()[:2]
        if kind.isupper() or kind == 'w':
            found[path][kind in 'Uw'].add(name)
    return found


def edges_of(found):
    """[(file, file that it needs, a symbol)]"""
    owner = {s: file for file, (_, defined, _) in found.items() for s in defined}
    return sorted({(f, owner[s]): s for f, (_, _, needed) in found.items() for s in sorted(needed)
                   if s in owner and owner[s] != f}.items())


def circles(files, edges):
    """Groups of files that need each other, by Tarjan's algorithm."""
    after = {f: [] for f in files}
    for (a, b), _ in edges:
        if a in after and b in after:
            after[a].append(b)
    index, low, stack, out = {}, {}, [], []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in after[v]:
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            group = stack[stack.index(v):]
            del stack[stack.index(v):]
            if len(group) > 1:
                out.append(sorted(group))

    for f in sorted(files):
        if f not in index:
            visit(f)
    return out


def sources(root, room):
    for path, _, names in sorted(os.walk(os.path.join(root, 'sim', room))):
        for name in sorted(names):
            if re.search(r'\.(c|h|js|css)$', name):
                yield os.path.join(path, name)


def functions(text):
    """(name, lines) of each function: from the line that begins it to the brace that ends it."""
    begin = name = None
    for i, line in enumerate(text.split('\n')):
        if line[:1].isalpha() and not line.rstrip().endswith((';', '\\')) and '#' not in line[:1]:
            begin, name = i, re.sub(r'.*?(\w+)\(.*', r'\1', line)
        if line == '}' and begin is not None:
            yield name, i - begin + 1
            begin = None
        elif line == '};':
            begin = None


def check(found, edges, rooms, root):
    level = {room: i for i, room in enumerate(rooms)}
    bad = []
    for (a, b), symbol in edges:
        if level[found[b][0]] > level[found[a][0]]:
            bad.append(f'{a}: needs {symbol} of the higher room {found[b][0]} ({b})')
    for room in rooms:
        mine = [f for f in found if found[f][0] == room]
        for group in circles(mine, edges):
            why = ', '.join(f'{os.path.basename(a)} -> {os.path.basename(b)} ({s})' for (a, b), s in edges
                            if a in group and b in group)
            bad.append(f'{room}: files in a circle: {why}')
    lines = {room: sum(open(f).read().count('\n') for f in sources(root, room)) for room in rooms}
    total = sum(lines.values())
    for room in rooms:
        if lines[room] > MOST_SHARE * total:
            bad.append(f'{room}: {lines[room]} of {total} lines are more than {MOST_SHARE:.0%}')
        for file in sources(root, room):
            text = open(file).read()
            if text.count('\n') > MOST_FILE:
                bad.append(f'{file}: {text.count(chr(10))} lines, more than {MOST_FILE}')
            for name, n in functions(text) if file.endswith('.c') else ():
                if n > MOST_FUNCTION:
                    bad.append(f'{file}: {name} has {n} lines, more than {MOST_FUNCTION}')
    return bad, lines, total


def picture(found, edges, rooms, root, out):
    """Rooms as a staircase, highest on top; an arrow of each room to each that it needs, as thick as it is used."""
    shown = [r for r in rooms if any(found[f][0] == r for f in found)]
    _, lines, total = check(found, edges, rooms, root)
    uses = {}
    for (a, b), _ in edges:
        pair = found[a][0], found[b][0]
        if pair[0] != pair[1]:
            uses[pair] = uses.get(pair, 0) + 1
    height, step_x, step_y, wide, tall = len(shown) * 44 + 70, 58, 44, 150, 30
    place = {r: (20 + step_x * i, height - 40 - step_y * i) for i, r in enumerate(shown)}
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {20 + step_x * len(shown) + 120} {height + 10}" '
           'font-family="sans-serif" font-size="13">',
           '<title>Rooms of sim/ and who needs whom</title>',
           '<style>text{fill:#222}.n{fill:#666;font-size:10px}.r{fill:#eef3fb;stroke:#4a6fa5}'
           '.a{fill:none;stroke:#4a6fa5;stroke-opacity:.45}.u{stroke:#c22;stroke-opacity:1}'
           '@media(prefers-color-scheme:dark){text{fill:#ddd}.n{fill:#aaa}.r{fill:#1d2a3d;stroke:#7fa3d8}'
           '.a{stroke:#7fa3d8}}</style>',
           '<defs><marker id="h" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">'
           '<path d="M0 0L8 4L0 8z" fill="#4a6fa5"/></marker></defs>']
    level = {r: i for i, r in enumerate(shown)}
    for (a, b), n in sorted(uses.items()):
        (xa, ya), (xb, yb) = place[a], place[b]
        kind = 'a u' if level[b] > level[a] else 'a'
        x = xb + 14 + (wide - 28) * (level[a] - level[b]) / len(shown)
        svg.append(f'<path class="{kind}" stroke-width="{min(5, 0.6 + n / 12):.1f}" marker-end="url(#h)" '
                   f'd="M{xa:.0f} {ya + tall / 2:.0f}H{x:.1f}V{yb if yb > ya else yb + tall:.0f}">'
                   f'<title>{a} needs {b}: {n} pairs of files</title></path>')
    for r in shown:
        x, y = place[r]
        svg.append(f'<rect class="r" x="{x}" y="{y}" width="{wide}" height="{tall}" rx="4"/>'
                   f'<text x="{x + 10}" y="{y + 20}">{r}</text>'
                   f'<text class="n" x="{x + wide - 8}" y="{y + 20}" text-anchor="end">'
                   f'{100 * lines[r] / total:.1f} %</text>')
    svg.append(f'<text class="n" x="20" y="{height + 4}">Per cent: share of the lines. An arrow goes from a room to one '
               'whose functions it calls; one upward would be red.</text></svg>')
    open(out, 'w').write('\n'.join(svg) + '\n')


def main(argv):
    if len(argv) not in (3, 5) or len(argv) == 5 and argv[3] != '--svg':
        sys.exit(__doc__.split('\n')[0])
    build, root = argv[1:3]
    rooms = open(os.path.join(root, 'sim/rooms.txt')).read().split()
    found = objects(build, root, rooms)
    if not any(room == 'cli' for room, _, _ in found.values()):
        sys.exit(f'{build}: no objects of the program: build it first')
    edges = edges_of(found)
    if len(argv) == 5:
        picture(found, edges, rooms, root, argv[4])
        return
    bad, lines, total = check(found, edges, rooms, root)
    for line in bad:
        print(line)
    print(f'{len(found)} objects, {len(edges)} pairs, {total} lines; largest room {max(lines, key=lines.get)}: '
          f'{100 * max(lines.values()) / total:.1f} %; {len(bad)} violations')
    sys.exit(1 if bad else 0)


main(sys.argv)
