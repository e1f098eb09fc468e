# SPDX-License-Identifier: Apache-2.0
"""Keyword arguments as flags."""
import os
from typing import Any, Dict, Iterable, List, Mapping, Union

Value = Union[None, bool, int, float, str, 'os.PathLike[str]', Iterable[Any], Mapping[str, Any]]

# Flags that are given once for each value; a list of any other one stands behind it, as Megatron-LM reads lists.
REPEATED = ('set', 'scale', 'without', 'env', 'failed-gpu', 'straggler', 'slow-link', 'vary', 'with')
# Those of them whose values are NAME=VALUE.
MAPPED = ('set', 'scale', 'env')


def name_of(keyword: str) -> str:
    """'use_distributed_optimizer' -> 'use-distributed-optimizer'; a last '_', as in 'with_', is Python's."""
    return keyword.rstrip('_').lstrip('-').replace('_', '-')


def text_of(value: Any) -> str:
    """A value as a word."""
    if isinstance(value, bool):
        return 'on' if value else 'off'
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if hasattr(value, 'item'):  # a number of numpy
        return text_of(value.item())
    if isinstance(value, (int, float)):
        return repr(value)
    raise TypeError(f'stepsim: {value!r} is no value of a flag')


def words_of(flags: Mapping[str, Value]) -> List[str]:
    """{'tp': 4, 'bf16': True, 'set': {'ss.price': '2USD/h'}} -> --tp 4 --bf16 --set ss.price=2USD/h"""
    words: List[str] = []
    for keyword, value in flags.items():
        name = name_of(keyword)
        flag = '--' + name
        if value is None or value is False:
            continue
        if value is True:
            words.append(flag)
        elif isinstance(value, Mapping):
            if name not in MAPPED:
                raise TypeError(f'stepsim: {keyword}: a mapping is a value of {", ".join(MAPPED)} alone')
            for key, item in value.items():
                words += [flag, f'{key}={text_of(item)}']
        elif isinstance(value, (str, bytes, os.PathLike)) or not isinstance(value, Iterable):
            words += [flag, text_of(value)]
        elif name in REPEATED:
            for item in value:
                words += [flag, text_of(item)]
        else:
            words += [flag] + [text_of(item) for item in value]
    return words


def vary_of(vary: Mapping[str, Any]) -> List[str]:
    """{'nodes': [8, 16]} -> --vary nodes=8,16"""
    words: List[str] = []
    for keyword, values in vary.items():
        if isinstance(values, (str, bytes, os.PathLike)) or not isinstance(values, Iterable):
            values = [values]
        prop = keyword.startswith('ss.')
        words += ['--vary', ('set=' + keyword if prop else name_of(keyword)) + '=' + ','.join(text_of(v) for v in values)]
    return words


def number_of(text: str) -> Union[int, float, bool, str]:
    """'8' -> 8, '0.5' -> 0.5, 'on' -> True, 'full' -> 'full'"""
    if text in ('on', 'off'):
        return text == 'on'
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def flat_of(document: Mapping[str, Any], before: str = '') -> Dict[str, Any]:
    """Figures and words of nested objects under dotted names; lists are left out."""
    row: Dict[str, Any] = {}
    for key, value in document.items():
        if isinstance(value, Mapping):
            row.update(flat_of(value, before + key + '.'))
        elif not isinstance(value, list):
            row[before + key] = value
    return row
