# SPDX-License-Identifier: Apache-2.0
"""How far a long call is: on a terminal's or a notebook's stderr, or told to a function."""
import signal
import sys
import threading
import time
from typing import Any, Callable, Optional, Union

Progress = Union[None, bool, Callable[[float], Any]]

QUIET_S = 1.0  # calls that are shorter say nothing


def _is_watched() -> bool:
    if sys.stderr is None:
        return False
    return sys.stderr.isatty() or type(sys.stderr).__module__.startswith('ipykernel')


class _Line:
    """'search: 39 %', written over itself, and wiped at the end."""

    def __init__(self, what: str) -> None:
        self.what, self.begin, self.width = what, time.monotonic(), 0

    def __call__(self, share: float) -> None:
        if time.monotonic() < self.begin + QUIET_S:
            return
        text = f'{self.what}: {100 * share:.0f} %'
        self.width = max(self.width, len(text))
        self.write('\r' + text.ljust(self.width))

    def end(self) -> None:
        if self.width:
            self.write('\r' + ' ' * self.width + '\r')

    @staticmethod
    def write(text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


class Watch:
    """Called by the library some ten times a second. What is raised meanwhile ends the call and is raised of it. Raised in the first step
    of a callback a KeyboardInterrupt would be lost, so in the main thread the handler of SIGINT is one that keeps what the usual one raises."""

    def __init__(self, what: str, progress: Progress) -> None:
        if not (progress is None or isinstance(progress, bool) or callable(progress)):
            raise TypeError(f'stepsim: progress={progress!r}: give True, False or a function')
        self.raised: Optional[BaseException] = None
        self.line = _Line(what) if progress is True or (progress is None and _is_watched()) else None
        self.tell: Callable[[float], Any] = progress if callable(progress) else self.line or (lambda share: None)

    def __enter__(self) -> None:
        self.usual: Any = signal.getsignal(signal.SIGINT)
        self.is_handled = callable(self.usual) and threading.current_thread() is threading.main_thread()
        if self.is_handled:
            signal.signal(signal.SIGINT, self.strike)

    def __exit__(self, *_: Any) -> None:
        if self.is_handled:
            signal.signal(signal.SIGINT, self.usual)

    def strike(self, number: int, frame: Any) -> None:
        """A signal: the usual handler says what becomes of the call."""
        try:
            self.usual(number, frame)
        except BaseException as raised:  # pylint: disable=broad-except
            self.raised = raised

    def __call__(self, _context: Any, share: float) -> int:
        try:
            self.tell(share)
        except BaseException as raised:  # pylint: disable=broad-except
            self.raised = raised
        return self.raised is not None

    def end(self) -> None:
        if self.line:
            self.line.end()
        if self.raised is not None:
            raise self.raised
