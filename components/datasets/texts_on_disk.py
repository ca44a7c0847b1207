"""Texts of a large corpus while it is read: more than fit well into memory lie in a file that goes with them."""

import os
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from components.records import LazySequence

MOST_CHARACTERS = 1 << 25
"""Held in memory: 64 MiB of Chinese."""

_HALVES = "surrogatepass"
"""Half a character in a file of JSON is told of later, with the document that holds it."""


class _OwnFile:
    """A file without a name, closed when nobody needs it any more."""

    def __init__(self) -> None:
        self.file = tempfile.TemporaryFile()  # noqa: SIM115 - see above
        weakref.finalize(self, self.file.close)


class GatheredTexts:
    """Texts that come one by one."""

    def __init__(self) -> None:
        self._held: list[str] = []
        self._n_characters = 0
        self._lengths: list[int] = []
        self._own: _OwnFile | None = None

    def append(self, text: str) -> None:
        """Adds one."""
        self._held.append(text)
        self._n_characters += len(text)
        if self._n_characters > MOST_CHARACTERS:
            self._write()

    def _write(self) -> _OwnFile:
        own = self._own = self._own or _OwnFile()
        for text in self._held:
            self._lengths.append(own.file.write(text.encode("utf-8", _HALVES)))
        self._held, self._n_characters = [], 0
        return own

    def all(self) -> Sequence[str]:
        """The texts in their order: a list, or on the disk if they are many. Nothing is added after that."""
        if self._own is None:
            return self._held
        own = self._write()
        own.file.flush()
        return TextsOnDisk(own, np.concatenate([[0], np.cumsum(self._lengths)]))


class TextsOnDisk(LazySequence[str]):
    """Texts in a file, each read when it is asked for."""

    def __init__(self, own: _OwnFile, offsets: NDArray[np.int64]) -> None:
        """Text i is the bytes [offsets[i], offsets[i + 1]) in UTF-8."""
        self._own, self._offsets = own, offsets

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def _item(self, index: int) -> str:
        index = range(len(self))[index]
        first, last = int(self._offsets[index]), int(self._offsets[index + 1])
        return os.pread(self._own.file.fileno(), last - first, first).decode("utf-8", _HALVES)


class TextsById(Mapping[str, str]):
    """The texts of documents by their ids."""

    def __init__(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        self._row = {an_id: row for row, an_id in enumerate(ids)}
        self._texts = texts

    def __getitem__(self, document_id: str) -> str:
        return self._texts[self._row[document_id]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._row)

    def __len__(self) -> int:
        return len(self._row)

    def __contains__(self, document_id: object) -> bool:
        return document_id in self._row
