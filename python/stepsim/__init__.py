# SPDX-License-Identifier: Apache-2.0
"""stepsim predicts one training iteration of a large language model on a GPU cluster, without the GPUs.

    import stepsim
    job = dict(platform="h800", model="llama3.1-70b", bf16=True, tp=4, pp=4, seq=8192, mbs=1, gbs=1024,
               sequence_parallel=True, use_distributed_optimizer=True)
    answer = stepsim.run(nodes=8, **job)
    answer["iteration_ms"], answer["verdict"], answer["memory"]["device_mib"]
    pandas.DataFrame(stepsim.sweep(vary={"nodes": [8, 16], "vp": [1, 5]}, **job))

A job is told in Megatron-LM's own flags, by words, ("--tp", "4"), by keywords, tp=4, or both; words come first and keywords beat
them. Of keywords `_` stands for `-`, True gives a flag without a value, False and None leave it out, a list is several values, and `set` and
`scale` take mappings: set={"ss.nic.bandwidth": "25GBps"}. docs/reference/flags.md has all flags.

Documents are those of `stepsim COMMAND --json`; docs/reference/formats.md says what each key is. Times end in `_ms` (milliseconds), memory in
`_mib` (2^20 bytes), shares in `_fraction` (0..1) or `_pct` (per cent). The engine is the native one unless engine="simgrid" is given; both
have the same times.

A job that does not fit is an answer (`verdict` "too large"); what is wrong or refused raises stepsim.Error. Several threads may ask at the
same time. The library prints nothing; Ctrl-C waits for the answer.
"""
import os
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from ._library import ask as _ask
from ._words import Value, flat_of, name_of, number_of, vary_of, words_of

__all__ = ['Error', 'run', 'plan', 'explain', 'check', 'compare', 'sweep', 'search', 'capacity', 'validate', 'names', 'doctor', 'version', 'flat']

Document = Dict[str, Any]
Row = Dict[str, Any]
Path = Union[str, 'os.PathLike[str]']


class Error(Exception):
    """What is wrong with a job, or why it is refused.

    code     "usage", "bad-input", "config-error" (the framework refuses it), "unsupported" (not modelled), "io", ...
    message  one sentence
    hint     what to do, "" where there is nothing to say
    file     the file at fault, or None
    line     of that file, or None
    status   the exit status of the program: 2 usage, 3 bad input or refused
    """

    def __init__(self, status: int, error: Mapping[str, Any]) -> None:
        self.status = status
        self.code: str = error['code']
        self.message: str = error['message']
        self.hint: str = error.get('hint', '')
        self.file: Optional[str] = error.get('file')
        self.line: Optional[int] = error.get('line')
        where = '' if self.file is None else self.file + (f':{self.line}' if self.line else '') + ': '
        super().__init__(where + self.message + (f' ({self.hint})' if self.hint else ''))
        self._raw = status, dict(error)

    def __reduce__(self) -> Any:  # processes hand it to each other
        return Error, self._raw


def _document(words: Sequence[str]) -> Document:
    status, document = _ask(words)
    if 'error' in document:
        raise Error(status, document['error'])
    return document


def _given(words: Sequence[str], flags: Mapping[str, Value]) -> List[str]:
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f'stepsim: {word!r} is no word: give flags as "--tp", "4" or tp=4')
    return list(words) + words_of(flags)


def run(*words: str, **flags: Value) -> Document:
    """Predicts a job: `iteration_ms`, `mfu`, `verdict`, where the time goes (`breakdown_ms` of the busiest stage, `stage_breakdown`),
    `memory`, `links`. Where it is too large `fixes` has changes that make it fit."""
    return _document(['run'] + _given(words, flags))


def plan(*words: str, **flags: Value) -> Document:
    """Groups, layers of every stage and chunk, microbatches and memory of a job."""
    return _document(['plan'] + _given(words, flags))


def explain(*words: str, **flags: Value) -> Document:
    """Why a job is slow: `terms_ms` against an ideal, `elasticity_pct` (per cent of time for a per cent of a rate), and in `advice` the changes
    that help most, each run."""
    return _document(['explain'] + _given(words, flags))


def check(*words: str, **flags: Value) -> Document:
    """Is a run as fast as such a job is? log="run.log", measured="13.2s", tokens_per_second="7123/gpu", tflops="411:causal", mfu="41%",
    memory="71GiB:reserved" say what was measured; `verdict` is as-predicted, slower, faster or unclear, `suspects` are ranked."""
    return _document(['check'] + _given(words, flags))


Side = Union[str, Mapping[str, Value]]


def compare(*files: Path, others: Union[Side, Iterable[Side]] = (), **flags: Value) -> Document:
    """Jobs beside each other, which term of time and memory moves by how much; at most eight. A side is a file, of flags or of what
    `stepsim run --json` wrote, or, of `others`, the first side with more flags: others=[{"tp": 4}, "--scale nic.bandwidth=2x"]. The keywords
    belong to all sides."""
    words = [os.fspath(file) for file in files]
    sides: Iterable[Side] = [others] if isinstance(others, (str, Mapping)) else others
    for other in sides:
        text = other if isinstance(other, str) else ' '.join(_quoted(word) for word in words_of(other))
        words += ['--with', text]
    return _document(['compare'] + words + words_of(flags))


def _quoted(word: str) -> str:
    return "'" + word + "'" if any(c.isspace() for c in word) else word


def sweep(*words: str, vary: Mapping[str, Any], workers: Optional[int] = None, **flags: Value) -> List[Row]:
    """Predicts a job under all combinations of some flags' values, vary={"nodes": [8, 16], "ss.nic.bandwidth": ["25GBps", "50GBps"]}:
    a flat row each, the last one's values changing fastest, with the varied flags as columns. What is refused has its `reason`.
    `workers`: processes, one a core by default; no figure depends on it."""
    document = _document(['sweep'] + _given(words, flags) + vary_of(vary) + words_of({'workers': workers}))
    rows = []
    for row in document['rows']:
        varied = (_column(key, value) for key, value in row['flags'].items())
        rows.append({**dict(varied), **{key: value for key, value in row.items() if key != 'flags'}})
    return rows


def _column(flag: str, value: str) -> Tuple[str, Union[int, float, bool, str]]:
    """'--nodes', '8' -> 'nodes', 8; '--set', 'ss.nic.bandwidth=25GBps' -> 'ss.nic.bandwidth', '25GBps'"""
    if flag in ('--set', '--scale') and '=' in value:
        flag, value = value.split('=', 1)
    return name_of(flag).replace('-', '_'), number_of(value)


def search(*words: str, vary: Optional[Mapping[str, Any]] = None, workers: Optional[int] = None, axes: Optional[str] = None,
           exhaustive: bool = False, confirm: bool = False, **flags: Value) -> Document:
    """The best layout on each number of nodes. `points` are flat rows, those that fit first, then by time; `groups` has the index of the
    best one of each number of nodes, `rules` which rule refused how many. The job gives gbs and seq. `confirm` runs the best by
    SimGrid at layer level too; `exhaustive` predicts also what a lower bound tells cannot win. `axes` "switches" or "all"
    searches grouped GEMMs, dispatcher, overlaps and offload too."""
    return _document(['search'] + _given(words, flags) + vary_of(vary or {}) +
                     words_of({'workers': workers, 'axes': axes, 'exhaustive': exhaustive, 'unconfirmed': not confirm}))


def capacity(*words: str, tokens: Union[str, float], vary: Optional[Mapping[str, Any]] = None, workers: Optional[int] = None,
             **flags: Value) -> Document:
    """How many nodes, days, GPU-hours, money and energy a training takes: tokens="1T", nodes="16..256", deadline="30d" or budget="5e6".
    The search of each number of nodes has all legal layouts, or those of vary={"tp": [1, 2, 4]}."""
    return _document(['capacity'] + _given(words, flags) + vary_of(vary or {}) + words_of({'tokens': tokens, 'workers': workers}))


def validate(*tables: Path, **options: Value) -> List[Row]:
    """Predicts every measured run of some tables, by name ("runs", "foreign") or path, and holds it against the measurement: a flat row each,
    `error_pct` of the time, `memory_error_pct`. Without a table "runs". With regret=True what layouts chosen by prediction cost: an object each table."""
    document = _document(['validate'] + [os.fspath(table) for table in tables] + words_of(options))
    return document['regret'] if 'regret' in document else [flat_of({**row, **row.pop('figures', {})}) for row in document['rows']]


def names(what: str) -> List[str]:
    """What is known by name: "models", "platforms", "cards", "stacks", "schedules" or "props"."""
    return [row['name'] for row in _document(['list', what])[what]]


def doctor() -> Document:
    """What this installation can do: `healthy`, and in `checks` data, engines, modules, versions of libraries, each with `ok` and `text`."""
    return _document(['doctor'])


def version() -> str:
    """The version of the library."""
    return str(_document(['version'])['version'])


def flat(document: Mapping[str, Any]) -> Row:
    """A document as one row: {"memory": {"device_mib": 1}} -> {"memory.device_mib": 1}; lists are left out."""
    return flat_of(document)


__version__ = version()
