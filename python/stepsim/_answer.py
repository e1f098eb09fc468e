# SPDX-License-Identifier: Apache-2.0
"""Answers: dicts and lists that also draw themselves, and know how a notebook shows them."""
from html import escape
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

from . import _program
from ._error import usage

Row = Dict[str, Any]

# Pictures of a command: the option of the program that writes it. The first is the usual one.
PICTURES = {
    'run': {'gantt': '--gantt', 'memory': '--memory'},
    'compare': {'picture': '--svg'}, 'sweep': {'picture': '--svg'}, 'search': {'picture': '--svg'},
    'capacity': {'picture': '--svg'}, 'validate': {'picture': '--svg'},
    'schedule compare': {'gantt': '--gantt'}, 'schedule search': {'gantt': '--gantt'},
}
PAGES = ('run', 'compare', 'sweep', 'capacity')


class Svg(str):
    """The text of a picture; a notebook shows it as one."""

    def _repr_svg_(self) -> str:
        return str(self)


class Page(str):
    """The text of an HTML page that needs nothing else; a notebook shows it in a frame."""

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self)}" style="width:100%;height:40em;border:1px solid #ccc"></iframe>'


def command_of(words: Sequence[str]) -> str:
    """'run', or 'schedule compare'"""
    return ' '.join(words[:2]) if words[:1] == ['schedule'] or tuple(words[:1]) == ('schedule',) else words[0]


class _Drawn:
    """What both kinds of answers have. `_words` are those of the program."""

    _words: Tuple[str, ...] = ()

    def svg(self, picture: Optional[str] = None) -> Svg:
        """A picture as text of SVG: of a run "gantt" (the usual one) or "memory"; of the others they have one."""
        kinds = PICTURES.get(command_of(self._words), {}) if self._words else {}
        if not kinds:
            raise usage('this answer has no picture', 'run, compare, sweep, search, capacity, validate and schedules have')
        name = picture or next(iter(kinds))
        if name not in kinds:
            raise usage(f'no picture "{name}" of this answer', 'choose one of ' + ', '.join(kinds))
        return Svg(_program.drawn(self._words, kinds[name], '.svg'))

    def report(self) -> Page:
        """The page of `--report` as text of HTML."""
        if not self._words or command_of(self._words) not in PAGES:
            raise usage('this answer has no page', ', '.join(PAGES) + ' have')
        return Page(_program.drawn(self._words, '--report', '.html'))


class Answer(Dict[str, Any], _Drawn):
    """The document of a command: a dict that also draws itself. Copies of it are plain dicts."""

    def __init__(self, document: Mapping[str, Any], words: Sequence[str] = ()) -> None:
        super().__init__(document)
        self._words = tuple(words)

    def __reduce__(self) -> Any:
        return Answer, (dict(self), self._words)

    def _repr_html_(self) -> str:
        return page_of(self)


class Rows(List[Row], _Drawn):
    """Rows of a table: a list of flat dicts, as pandas.DataFrame takes it, that also draws itself."""

    def __init__(self, rows: Iterable[Row], words: Sequence[str] = ()) -> None:
        super().__init__(rows)
        self._words = tuple(words)

    def __reduce__(self) -> Any:
        return Rows, (list(self), self._words)

    def _repr_html_(self) -> str:
        return table_of(self)


# ---- what a notebook shows ----

MOST_ROWS, MOST_COLUMNS = 30, 12


def text_of(value: Any) -> str:
    """A value as people read it: four digits, thousands set off."""
    if value is None:
        return ''
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return escape(str(value))
    if isinstance(value, int) or abs(value) >= 1e4:
        return f'{value:,.0f}'
    return f'{value:.4g}'


def table_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """A table of rows, of which only the columns that differ or say something first."""
    if not rows:
        return '<p>no rows</p>'
    columns: List[str] = []
    for row in rows:
        columns += [key for key, value in row.items() if key not in columns and not isinstance(value, (dict, list)) and value not in (None, '')]
    shown = columns[:MOST_COLUMNS]
    lines = ['<table><tr>' + ''.join(f'<th>{escape(key)}</th>' for key in shown) + '</tr>']
    for row in rows[:MOST_ROWS]:
        lines.append('<tr>' + ''.join(f'<td style="text-align:right">{text_of(row.get(key))}</td>' for key in shown) + '</tr>')
    left = [f'{len(rows) - MOST_ROWS} more rows'] if len(rows) > MOST_ROWS else []
    left += [f'{len(columns) - MOST_COLUMNS} more columns'] if len(columns) > MOST_COLUMNS else []
    return '\n'.join(lines) + '</table>' + (f'<p>and {", ".join(left)}</p>' if left else '')


def time_of(ms: float) -> str:
    """23258.5 -> '23.26 s'"""
    return f'{ms / 1e3:.4g} s' if ms >= 1e3 else f'{ms:.4g} ms'


def head_of(answer: Mapping[str, Any]) -> str:
    """'23.26 s an iteration, fits: 70.3 of 79.6 GiB'"""
    memory: Mapping[str, Any] = answer.get('memory') or {}
    low, high = answer.get('error_band_low_pct'), answer.get('error_band_high_pct')
    band = f' ({low:+.1f} to {high:+.1f} %)' if low is not None and high is not None else ''
    room = f': {memory["device_mib"] / 1024:.1f} of {memory["capacity_mib"] / 1024:.1f} GiB' if 'device_mib' in memory and memory.get('capacity_mib') else ''
    return f'{time_of(answer["iteration_ms"])} an iteration{band}, {answer.get("verdict", "")}{room}'


def bars_of(parts: Mapping[str, float], total: float) -> str:
    """Parts of the time, each as a bar."""
    lines = []
    for name, ms in parts.items():
        if ms and name != 'total':
            share = 100 * ms / total
            lines.append(f'<tr><td style="text-align:left">{escape(name)}</td><td style="text-align:right">{text_of(ms)} ms</td>'
                         f'<td style="text-align:right">{share:.1f} %</td><td style="text-align:left">'
                         f'<div style="background:#2a6f97;height:0.8em;width:{max(share, 0.3) / 10:.2f}em"></div></td></tr>')
    return '<table>' + '\n'.join(lines) + '</table>'


def page_of(answer: Mapping[str, Any]) -> str:
    """An answer: its first line in bold, and the table that it has."""
    if answer.get('iteration_ms') is not None:
        parts: Mapping[str, float] = answer.get('breakdown_ms') or {}
        reason = f'<p>{escape(str(answer["reason"]))}</p>' if answer.get('reason') else ''
        return f'<p><b>{escape(head_of(answer))}</b></p>{reason}{bars_of(parts, answer["iteration_ms"])}'
    for key in ('points', 'sides', 'schedules', 'stages', 'rows', 'checks'):
        if isinstance(answer.get(key), list):
            title = escape(str(answer.get('answer') or answer.get('command', '')))
            return f'<p><b>{title}</b></p>' + table_of(answer[key])
    return table_of([{key: value for key, value in answer.items() if not isinstance(value, (dict, list))}])
