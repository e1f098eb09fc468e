# SPDX-License-Identifier: Apache-2.0
"""What a notebook shows of an answer."""
from html import escape
from typing import Any, List, Mapping, Sequence, Tuple

MOST_ROWS, MOST_COLUMNS = 30, 12


def text_of(value: Any) -> str:
    """A value as people read it: four digits, thousands set off."""
    if value is None:
        return ''
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return escape(str(value))
    if isinstance(value, int) or abs(value) >= 1e4:
        return f'{value:,.0f}'
    return f'{value:,.4g}'


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


def range_of(answer: Mapping[str, Any], key: str) -> str:
    """'1.605 (1.404 to 1.874)'"""
    value, low, high = (answer.get(name) for name in (key, key + '_low', key + '_high'))
    return text_of(value) + (f' ({text_of(low)} to {text_of(high)})' if low is not None and high is not None else '')


def search_of(answer: Mapping[str, Any]) -> Tuple[str, List[Mapping[str, Any]]]:
    """The best of each number of nodes."""
    rows: List[Mapping[str, Any]] = []
    for group in answer['groups']:
        best = group['best'] if group['best'] is not None and group['best'] >= 0 else group['near']
        point = answer['points'][best] if best is not None and best >= 0 else {'verdict': 'nothing fits'}
        rows.append({**{key: group[key] for key in ('nodes', 'gpus') if key in group}, **point})
    return str(answer.get('premises', 'search')), rows


def capacity_of(answer: Mapping[str, Any]) -> Tuple[str, List[Mapping[str, Any]]]:
    """The chosen number of nodes, then all."""
    rows, chosen = answer['points'], answer.get('chosen')
    if chosen is None or not 0 <= chosen < len(rows):
        return 'no number of nodes is enough', rows
    point = rows[chosen]
    cost = f', {range_of(point, "usd")} USD' if point.get('usd') is not None else ''
    return f'{point["nodes"]} nodes of {point["platform"]}: {range_of(point, "days")} days, {range_of(point, "gpu_hours")} GPU-hours{cost}', rows


def check_of(answer: Mapping[str, Any]) -> Tuple[str, List[Mapping[str, Any]]]:
    """The verdict with both times, then who is suspected."""
    low, high = answer.get('low_ms'), answer.get('high_ms')
    band = f' ({time_of(low)} to {time_of(high)})' if low is not None and high is not None else ''
    return f'{answer["verdict"]}: {time_of(answer["measured_ms"])} measured, {time_of(answer["predicted_ms"])} predicted{band}', answer.get('suspects', [])


def page_of(answer: Mapping[str, Any]) -> str:
    """An answer: its first line in bold, and the table that it has."""
    heads = {'search': search_of, 'capacity': capacity_of, 'check': check_of}
    command = str(answer.get('command', ''))
    if command in heads:
        title, rows = heads[command](answer)
        return f'<p><b>{escape(title)}</b></p>' + (table_of(rows) if rows else '')
    if answer.get('iteration_ms') is not None:
        parts: Mapping[str, float] = answer.get('breakdown_ms') or {}
        reason = f'<p>{escape(str(answer["reason"]))}</p>' if answer.get('reason') else ''
        return f'<p><b>{escape(head_of(answer))}</b></p>{reason}{bars_of(parts, answer["iteration_ms"])}'
    for key in ('sides', 'schedules', 'stages', 'checks'):
        if isinstance(answer.get(key), list):
            return f'<p><b>{escape(command)}</b></p>' + table_of(answer[key])
    return table_of([{key: value for key, value in answer.items() if not isinstance(value, (dict, list))}])
