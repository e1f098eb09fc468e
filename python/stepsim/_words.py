# SPDX-License-Identifier: Apache-2.0
"""Keyword arguments as flags."""
import os
from collections import abc
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Union

from ._error import usage

Value = Union[None, bool, int, float, str, 'os.PathLike[str]', Iterable[Any], Mapping[str, Any]]

# Flags that are given once for each value; a list of any other one stands behind it, as Megatron-LM reads lists.
REPEATED = ('set', 'scale', 'without', 'env', 'failed-gpu', 'straggler', 'slow-link', 'vary', 'with')
# Megatron's own that take several values behind one flag (`+` and `*` in docs/reference/flags.md).
LISTS = set('''add-eos-token compress-ratios cp-comm-type cuda-graph-modules cuda-graph-scope data-path dataset-additional-keys datasets
ddp-param-name-patterns-for-fp32-local-accumulation finetune-data-files gtp-remat-opt-in-modules hierarchical-context-parallel-sizes
high-priority-stream-groups iterations-to-skip json-keys lazy-mpu-init lora-modules-to-save lora-register-forward-hook lora-target-modules
merge-group-keys moe-aux-loss-coeff moe-router-load-balancing-type mrope-section mtp-spec offload-modules profile-ranks rampup-batch-size
recompute-modules retriever-report-topk-accuracies reward-tokens rl-inference-parsers spec special-tokens step-batch-size-schedule
task-data-path task test-data-path tiktoken-special-tokens tokenizer-name-or-path tokenizer-special-tokens train-data-path train-data
valid-data-path valid-data validation-set-names virtual-optimizer'''.split())
# Flags of the program that write files, by command; `picture` is the first.
FILES = {
    'run': ('gantt', 'memory', 'card', 'width', 'report', 'trace', 'kineto-trace', 'ranks-csv', 'window', 'color-by'),
    'compare': ('svg', 'card', 'width', 'report', 'csv'), 'sweep': ('svg', 'width', 'report', 'csv'),
    'search': ('svg', 'width', 'report', 'csv'), 'capacity': ('svg', 'width', 'report', 'csv'), 'validate': ('svg', 'width', 'csv'),
}
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
        elif isinstance(value, abc.Mapping):
            if name not in MAPPED:
                raise TypeError(f'stepsim: {keyword}: a mapping is a value of {", ".join(MAPPED)} alone')
            for key, item in value.items():
                words += [flag, f'{key}={text_of(item)}']
        elif isinstance(value, (str, bytes, os.PathLike)) or not isinstance(value, abc.Iterable):
            words += [flag, text_of(value)]
        elif name in REPEATED:
            for item in value:
                words += [flag, text_of(item)]
        else:
            words += [flag] + [text_of(item) for item in value]
    return words


def settled(flags: Mapping[str, Value]) -> Dict[str, Value]:
    """The flags, whose values may all be read more than once: of a generator a list is made."""
    return {keyword: list(value) if isinstance(value, abc.Iterator) else value for keyword, value in flags.items()}


def _is_several(value: Value) -> bool:
    return isinstance(value, abc.Iterable) and not isinstance(value, (str, bytes, os.PathLike, abc.Mapping))


def _several(flags: Mapping[str, Value]) -> Dict[str, List[Any]]:
    """Flags that are given several values and take one."""
    found = {keyword: list(value) for keyword, value in flags.items()  # type: ignore[arg-type]
             if _is_several(value) and name_of(keyword) not in REPEATED and name_of(keyword) not in LISTS}
    return {keyword: values for keyword, values in found.items() if len(values) > 1}


def one_value_each(flags: Mapping[str, Value]) -> None:
    """Refuses nodes=[8, 16] where one job is predicted."""
    for keyword, values in _several(flags).items():
        told = ', '.join(text_of(value) for value in values)
        raise usage(f'{keyword} takes one value here, and has {len(values)}: {told}',
                    f'sweep({keyword}=[{told}]) predicts each; search and capacity take several numbers of nodes')


def several_of(command: str, words: Sequence[str], flags: Dict[str, Value], vary: Optional[Mapping[str, Any]]) -> List[str]:
    """The words that vary flags: `vary`, and keywords of several values, which are taken out of flags."""
    if vary is not None and not isinstance(vary, abc.Mapping):
        raise usage(f'vary={vary!r} is no dict', 'give vary={"nodes": [8, 16]}, or nodes=[8, 16]')
    varied: Dict[str, Any] = {}
    for keyword, values in _several(flags).items():
        if command != 'sweep' and name_of(keyword) == 'nodes':
            flags[keyword] = ','.join(text_of(value) for value in values)
        else:
            del flags[keyword]
            varied[keyword] = values
    twice = {name_of(keyword) for keyword in varied} & {name_of(keyword) for keyword in vary or {}}
    if twice:
        raise usage(f'{sorted(twice)[0]} has several values, and is in vary, too', 'leave one out')
    if command == 'sweep' and not varied and not vary and not any(word.split('=')[0] == '--vary' for word in words):
        raise usage('nothing to vary', 'give a flag several values: nodes=[8, 16], or vary={"nodes": [8, 16]}')
    return vary_of({**varied, **(vary or {})})


def files_of(command: str, flags: Dict[str, Value]) -> List[str]:
    """The words of the program that write files, which are taken out of flags. `picture` is the usual one of a command."""
    known = FILES.get(command, ())
    taken: Dict[str, Value] = {}
    if flags.get('picture') is not None:
        if not known:
            raise usage(f'{command} draws no picture', ', '.join(FILES) + ' do')
        taken[known[0]] = flags.pop('picture')
    for keyword in list(flags):
        if name_of(keyword) in known:
            taken[keyword] = flags.pop(keyword)
        elif name_of(keyword) in ('report', 'gantt', 'svg', 'trace', 'csv'):
            raise usage(f'{command} writes no {keyword}', 'its files are ' + ', '.join(known) if known else 'it writes no files')
    return words_of(taken)


def vary_of(vary: Mapping[str, Any]) -> List[str]:
    """{'nodes': [8, 16]} -> --vary nodes=8,16"""
    words: List[str] = []
    for keyword, values in vary.items():
        if isinstance(values, (str, bytes, os.PathLike)) or not isinstance(values, abc.Iterable):
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
        if isinstance(value, abc.Mapping):
            row.update(flat_of(value, before + key + '.'))
        elif not isinstance(value, list):
            row[before + key] = value
    return row
