# SPDX-License-Identifier: Apache-2.0
"""Answers: dicts and lists that also draw themselves, and know how a notebook shows them."""
from html import escape
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

from . import _program
from ._error import usage
from ._html import page_of, table_of

Row = Dict[str, Any]

# Pictures of a command: the option of the program that writes it. The first is the usual one.
PICTURES = {
    'run': {'gantt': '--gantt', 'memory': '--memory', 'card': '--card'},
    'compare': {'picture': '--svg', 'card': '--card'}, 'sweep': {'picture': '--svg'}, 'search': {'picture': '--svg'},
    'capacity': {'picture': '--svg'}, 'validate': {'picture': '--svg'},
    'schedule compare': {'gantt': '--gantt'}, 'schedule search': {'gantt': '--gantt'},
}
PAGES = ('run', 'compare', 'sweep', 'search', 'capacity')


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
    """What both kinds of answers have. `_words` are those of the program, `_texts` files that some of them name."""

    _words: Tuple[str, ...] = ()
    _texts: Mapping[str, str] = {}

    def svg(self, picture: Optional[str] = None, width: Optional[int] = None) -> Svg:
        """A picture as text of SVG, so many pixels wide: of a run "gantt" (the usual one), "memory" or "card"; of compare "picture" or "card"; the
        others have one."""
        kinds = PICTURES.get(command_of(self._words), {}) if self._words else {}
        if not kinds:
            raise usage('this answer has no picture', 'run, compare, sweep, search, capacity, validate and schedules have')
        name = picture or next(iter(kinds))
        if name not in kinds:
            raise usage(f'no picture "{name}" of this answer', 'choose one of ' + ', '.join(kinds))
        wide = () if width is None else ('--width', str(width))
        return Svg(_program.drawn((*self._words, *wide), self._texts, kinds[name], '.svg'))

    def report(self) -> Page:
        """The page of `--report` as text of HTML."""
        if not self._words or command_of(self._words) not in PAGES:
            raise usage('this answer has no page', ', '.join(PAGES) + ' have')
        return Page(_program.drawn(self._words, self._texts, '--report', '.html'))


class Answer(Dict[str, Any], _Drawn):
    """The document of a command: a dict that also draws itself. Copies of it are plain dicts."""

    def __init__(self, document: Mapping[str, Any], words: Sequence[str] = (), texts: Optional[Mapping[str, str]] = None) -> None:
        super().__init__(document)
        self._words, self._texts = tuple(words), dict(texts or {})

    def __reduce__(self) -> Any:
        return Answer, (dict(self), self._words, self._texts)

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
