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
same time. The library prints nothing but how far sweep, search, capacity and validate are, on a terminal or in a notebook; Ctrl-C ends
them.

Answers are dicts, and rows lists of flat dicts, that also draw themselves: answer.svg(), answer.report(), and the keywords that the program
has for files, gantt="x.svg", report="x.html", picture="x.svg". The program `stepsim`, which comes with the library, draws them.
"""
import os
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from . import _program
from ._answer import Answer, Page, Row, Rows, Svg
from ._error import Error, checked, usage
from ._library import ask as _ask
from ._progress import Progress, Watch
from ._words import Value, files_of, flat_of, name_of, number_of, one_value_each, settled, several_of, text_of, words_of

__all__ = ['Answer', 'Error', 'Page', 'Rows', 'Svg', 'run', 'plan', 'explain', 'check', 'compare', 'sweep', 'search', 'capacity', 'schedule',
           'validate', 'names', 'doctor', 'version', 'flat']

Path = Union[str, 'os.PathLike[str]']
Vary = Optional[Mapping[str, Any]]


def __dir__() -> List[str]:
    return sorted(__all__ + ['__all__', '__doc__', '__file__', '__name__', '__path__', '__version__'])


def _document(words: Sequence[str], files: Sequence[str] = (), watch: Optional[Watch] = None) -> Answer:
    """The answer to words; files are words of the program alone, which writes them."""
    document = checked(*_ask(words, watch))
    _program.save(words, files)
    return Answer(document, words)


def _given(words: Sequence[str], flags: Mapping[str, Value]) -> List[str]:
    for word in words:
        if not isinstance(word, str):
            hint = 'give a dict of keywords as **job' if isinstance(word, Mapping) else 'give flags as "--tp", "4" or tp=4'
            raise TypeError(f'stepsim: {word!r} is no word: {hint}')
    return list(words) + words_of(flags)


def _one(command: str, words: Sequence[str], flags: Dict[str, Value]) -> Answer:
    """A command that predicts one job."""
    flags = settled(flags)
    files = files_of(command, flags)
    one_value_each(flags)
    return _document([command, *_given(words, flags)], files)


def _many(command: str, words: Sequence[str], flags: Dict[str, Value], vary: Vary, options: Mapping[str, Value], progress: Progress) -> Answer:
    """A command that predicts many jobs: several values of a keyword are values that it varies."""
    flags = settled(flags)
    _given(words, {})  # refuses what is no word, before the words are looked through
    files = files_of(command, flags)
    varied = several_of(command, words, flags, vary)
    return _document([command, *_given(words, flags), *varied, *words_of(options)], files, Watch(command, progress))


def run(*words: str, **flags: Value) -> Answer:
    """Predicts a job: `iteration_ms`, `mfu`, `verdict`, where the time goes (`breakdown_ms` of the busiest stage, `stage_breakdown`),
    `memory`, `links`. Where it is too large `fixes` has changes that make it fit."""
    return _one('run', words, flags)


def plan(*words: str, **flags: Value) -> Answer:
    """Groups, layers of every stage and chunk, microbatches and memory of a job."""
    return _one('plan', words, flags)


def explain(*words: str, **flags: Value) -> Answer:
    """Why a job is slow: `terms_ms` against an ideal, `elasticity_pct` (per cent of time for a per cent of a rate), and in `advice` the changes
    that help most, each run."""
    return _one('explain', words, flags)


def check(*words: str, **flags: Value) -> Answer:
    """Is a run as fast as such a job is? log="run.log", measured="13.2s", tokens_per_second="7123/gpu", tflops="411:causal", mfu="41%",
    memory="71GiB:reserved" say what was measured; `verdict` is as-predicted, slower, faster or unclear, `suspects` are ranked."""
    return _one('check', words, flags)


Side = Union[str, Mapping[str, Any]]


def compare(*sides: Any, others: Union[Side, Iterable[Side]] = (), **flags: Value) -> Answer:
    """Jobs beside each other, which term of time and memory moves by how much; at most eight. A side is a dict of keywords, an answer of
    run, or a file, of flags or of what `stepsim run --json` wrote; others are the first side with more flags: others=[{"tp": 4}, "--scale
    nic.bandwidth=2x"]. The keywords belong to all sides."""
    sides = tuple(one for side in sides for one in (side if isinstance(side, (list, tuple)) else [side]))
    files = files_of('compare', flags)
    one_value_each(flags)
    more: Iterable[Side] = [others] if isinstance(others, (str, Mapping)) else others
    behind: List[str] = []
    for other in more:
        behind += ['--with', other if isinstance(other, str) else ' '.join(_quoted(word) for word in words_of(other))]
    texts = {f'job {i + 1}': _text(side) for i, side in enumerate(sides) if isinstance(side, Mapping)}
    words = ['compare', *(f'job {i + 1}' if isinstance(side, Mapping) else _path(side) for i, side in enumerate(sides)), *behind, *words_of(flags)]
    with _program.placed(words, texts) as (placed, folder):
        try:
            document = checked(*_ask(placed))
        except Error as error:
            raise error.renamed(folder) from None
        _program.save(placed, files)
    for side in document['sides']:
        side['name'] = side['name'].replace(folder, '')
    return Answer(document, words, texts)


def _path(side: Any) -> str:
    try:
        return str(os.fspath(side))
    except TypeError:
        raise TypeError(f'stepsim: compare: {side!r} is no side: give a dict, an answer of run, or the path of a file') from None


def _text(side: Mapping[str, Any]) -> str:
    """The flags of a dict, or of the run whose answer it is, as a file has them."""
    if not isinstance(side, Answer):
        side = settled(side)
        one_value_each(side)
    words = side._words[1:] if isinstance(side, Answer) else words_of(side)  # pylint: disable=protected-access
    return ' '.join(_quoted(word) for word in words) + '\n'


def _quoted(word: str) -> str:
    return "'" + word + "'" if not word or any(c.isspace() or c in '#"' for c in word) else word


def sweep(*words: str, vary: Vary = None, workers: Optional[int] = None, progress: Progress = None, **flags: Value) -> Rows:
    """Predicts a job under all combinations of some flags' values, vary={"nodes": [8, 16], "ss.nic.bandwidth": ["25GBps", "50GBps"]} or
    nodes=[8, 16]: a flat row each, the last one's values changing fastest, with the varied flags as columns. What is refused has its
    `reason`. `workers`: processes, one a core by default; no figure depends on it. `progress`: False says nothing, a function is told
    the share that is done."""
    document = _many('sweep', words, flags, vary, {'workers': workers}, progress)
    rows = []
    for row in document['rows']:
        varied = (_column(key, value) for key, value in row['flags'].items())
        rows.append({**dict(varied), **{key: value for key, value in row.items() if key != 'flags'}})
    return Rows(rows, document._words)  # pylint: disable=protected-access


def _column(flag: str, value: str) -> Tuple[str, Union[int, float, bool, str]]:
    """'--nodes', '8' -> 'nodes', 8; '--set', 'ss.nic.bandwidth=25GBps' -> 'ss.nic.bandwidth', '25GBps'"""
    if flag in ('--set', '--scale') and '=' in value:
        flag, value = value.split('=', 1)
    return name_of(flag).replace('-', '_'), number_of(value)


def search(*words: str, vary: Vary = None, workers: Optional[int] = None, axes: Optional[str] = None,
           exhaustive: bool = False, confirm: bool = False, progress: Progress = None, **flags: Value) -> Answer:
    """The best layout on each number of nodes, nodes=[8, 16]. `points` are flat rows, those that fit first, then by time; `groups` has the index
    of the best one of each number of nodes, `rules` which rule refused how many. The job gives gbs and seq. `confirm` runs the best by
    SimGrid at layer level too; `exhaustive` predicts also what a lower bound tells cannot win. `axes` "switches" or "all"
    searches grouped GEMMs, dispatcher, overlaps and offload too. `progress`: as of sweep."""
    options: Dict[str, Value] = {'workers': workers, 'axes': axes, 'exhaustive': exhaustive, 'unconfirmed': not confirm}
    return _many('search', words, flags, vary, options, progress)


def capacity(*words: str, tokens: Union[str, float], vary: Vary = None, workers: Optional[int] = None, progress: Progress = None,
             **flags: Value) -> Answer:
    """How many nodes, days, GPU-hours, money and energy a training takes: tokens="1T", nodes="16..256" or [16, 32], deadline="30d" or
    budget="5e6". The search of each number of nodes has all legal layouts, or those of vary={"tp": [1, 2, 4]}. `progress`: as of sweep."""
    return _many('capacity', words, flags, vary, {'tokens': tokens, 'workers': workers}, progress)


def schedule(verb: str, *words: str, **flags: Value) -> Answer:
    """Pipeline schedules, by the program: verb "list", "show", "check", "compare" or "search". schedule("show", "zb-h1", pp=4, microbatches=8);
    schedule("check", "mine.csv"); schedule("compare", pp=8, microbatches=32, schedules=["1f1b", "zb-h1", "mine.csv"]).svg()."""
    listed: Dict[str, Value] = {keyword: ','.join(map(text_of, value)) if isinstance(value, (list, tuple)) else value
                                for keyword, value in flags.items()}
    said = ['schedule', verb, *_given(words, listed)]
    return Answer(_program.ask(said), said)


def validate(*tables: Path, progress: Progress = None, **options: Value) -> Rows:
    """Predicts every measured run of some tables, by name ("runs", "foreign") or path, and holds it against the measurement: a flat row each,
    `error_pct` of the time, `memory_error_pct`. Without a table "runs". With regret=True what layouts chosen by prediction cost: an object each table."""
    files = files_of('validate', options)
    words = ['validate'] + [os.fspath(table) for table in tables] + words_of(options)
    document = _document(words, files, Watch('validate', progress))
    if 'regret' in document:
        return Rows(document['regret'])
    return Rows((flat_of({**row, **row.pop('figures', {})}) for row in document['rows']), words)


def names(what: str) -> List[str]:
    """What is known by name: "models", "platforms", "cards", "stacks", "schedules" or "props"."""
    return [row['name'] for row in _document(['list', what])[what]]


def doctor() -> Answer:
    """What this installation can do: `healthy`, and in `checks` data, engines, modules, versions of libraries, each with `ok` and `text`."""
    return _document(['doctor'])


def version() -> str:
    """The version of the library."""
    return str(_document(['version'])['version'])


def flat(document: Mapping[str, Any]) -> Row:
    """A document as one row: {"memory": {"device_mib": 1}} -> {"memory.device_mib": 1}; lists are left out."""
    return flat_of(document)


__version__ = version()
