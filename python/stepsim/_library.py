# SPDX-License-Identifier: Apache-2.0
"""The shared library: where it is, and its functions (stepsim/ask.h)."""
import contextlib
import ctypes
import glob
import json
import os
import threading
from typing import Any, Dict, Iterator, Optional, Sequence, Tuple

from ._progress import Watch

NAME = 'libstepsim.so.0.3'


def _checkout(package: str) -> Optional[str]:
    """The folder of the sources, where this package is run out of them."""
    root = os.path.dirname(os.path.dirname(package))
    return root if os.path.exists(os.path.join(root, 'sim', 'rooms.txt')) else None


def _places(package: str) -> Iterator[str]:
    """Where the library may be, best first."""
    if os.environ.get('STEPSIM_LIBRARY'):
        yield os.environ['STEPSIM_LIBRARY']
        return
    root = _checkout(package)
    if root:
        yield os.path.join(root, 'build', NAME)
    yield os.path.join(package, NAME)  # of a wheel
    folder = package  # PREFIX/lib/python3/dist-packages/stepsim
    for _ in range(4):
        folder = os.path.dirname(folder)
        for pattern in (NAME, os.path.join('*-linux-*', NAME), os.path.join('..', 'lib64', NAME)):
            yield from sorted(glob.glob(os.path.join(glob.escape(folder), pattern)))
    yield NAME  # as the loader finds it


def _load() -> ctypes.CDLL:
    package = os.path.dirname(os.path.abspath(__file__))
    tried = []
    for path in _places(package):
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            tried.append(str(error))
            continue
        root = _checkout(package)
        if root and os.path.dirname(os.path.dirname(os.path.abspath(path))) == root:
            # A library that is not installed has its data and modules in the checkout.
            os.environ.setdefault('STEPSIM_DATA', root)
            os.environ.setdefault('STEPSIM_MODULE_DIR', os.path.join(root, 'build'))
        return library
    raise ImportError('stepsim: no ' + NAME + ' (build it: sh setup.sh build; or set STEPSIM_LIBRARY): ' + '; '.join(tried))


_library = _load()
_WATCH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_double)
_NOBODY = _WATCH(0)
_library.ss_asker_new.restype = ctypes.c_void_p
_library.ss_asker_new.argtypes = []
_library.ss_asker_ask.restype = ctypes.c_int
_library.ss_asker_ask.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(ctypes.c_char_p), _WATCH, ctypes.c_void_p,
                                  ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t)]
_library.ss_ask_free.restype = None
_library.ss_ask_free.argtypes = [ctypes.c_void_p]


class _Gate:
    """Commands that start processes are alone: a process that is made while another thread holds a lock of a library never gets it."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self._changed = threading.Condition()
        self._inside, self._waiting = 0, 0  # inside: commands, -1 is one that is alone
        self.asker = _library.ss_asker_new()  # None, without memory: nothing is kept

    def enter(self, alone: bool) -> None:
        with self._changed:
            self._waiting += alone
            try:
                self._changed.wait_for(lambda: self._inside == 0 if alone else self._inside >= 0 and not self._waiting)
            finally:  # Ctrl-C ends the wait, too
                self._waiting -= alone
                self._changed.notify_all()
            self._inside = -1 if alone else self._inside + 1

    def leave(self) -> None:
        with self._changed:
            self._inside = max(self._inside, 1) - 1
            self._changed.notify_all()


_gate = _Gate()
if hasattr(os, 'register_at_fork'):  # of a process that is made of this one no thread but the caller's lives, and no lock of the asker is trusted
    os.register_at_fork(after_in_child=_gate.forget)


def _starts_processes(words: Sequence[str]) -> bool:
    many = words[:1] and words[0] in ('sweep', 'search', 'capacity', 'doctor')
    return bool(many) or any(word.split('=')[0] == '--launch' or 'simgrid' in word for word in words)


def _end(watch: Watch, document: ctypes.c_void_p) -> None:
    """What was raised while the command worked is raised now; its document is then one that nobody wants."""
    try:
        watch.end()
    except BaseException:
        _library.ss_ask_free(document)
        raise


def ask(words: Sequence[str], watch: Optional[Watch] = None) -> Tuple[int, Dict[str, Any]]:
    """The exit status and the document of a command. ctypes lets other threads run meanwhile."""
    encoded = [os.fsencode(word) for word in words]
    if any(b'\0' in word for word in encoded):
        raise ValueError('a word has a zero byte')
    document, size = ctypes.c_void_p(), ctypes.c_size_t()
    _gate.enter(_starts_processes(words))
    try:
        with watch or contextlib.nullcontext():
            status = _library.ss_asker_ask(_gate.asker, len(encoded), (ctypes.c_char_p * (len(encoded) + 1))(*encoded),
                                           _WATCH(watch) if watch else _NOBODY, None, ctypes.byref(document), ctypes.byref(size))
    finally:
        _gate.leave()
    if watch:
        _end(watch, document)
    if not document.value:
        raise MemoryError('stepsim: out of memory')
    try:
        text = ctypes.string_at(document.value, size.value)
    finally:
        _library.ss_ask_free(document)
    return status, json.loads(text.decode('utf-8', 'surrogateescape'))


def folder_of_library() -> Optional[str]:
    """The folder that has the library, where it is known: not the loader's choice."""
    name = _library._name  # pylint: disable=protected-access
    return os.path.dirname(os.path.abspath(name)) if os.sep in name else None
