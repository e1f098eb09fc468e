# SPDX-License-Identifier: Apache-2.0
"""What a refused job, or a wrong word, raises."""
from typing import Any, Dict, Mapping, Optional


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

    def renamed(self, folder: str) -> 'Error':
        """Without the folder in front of the file's name, where the file is of the folder: such a one was made for the call."""
        if self.file is None or not self.file.startswith(folder):
            return self
        return Error(self.status, {**self._raw[1], 'file': self.file[len(folder):], 'line': None})

    def __reduce__(self) -> Any:  # processes hand it to each other
        return Error, self._raw


def usage(message: str, hint: str) -> Error:
    """An error of words, which the library has not seen."""
    return Error(2, {'code': 'usage', 'message': message, 'hint': hint})


def checked(status: int, document: Dict[str, Any]) -> Dict[str, Any]:
    """The document, unless it is an error."""
    if 'error' in document:
        raise Error(status, document['error'])
    return document
