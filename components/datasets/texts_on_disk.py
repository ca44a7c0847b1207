"""Texts of a large corpus while it is read. Many texts go to a temporary file instead of memory."""

import os
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from components.records import LazySequence

MAX_CHARACTERS = 1 << 25
"""Maximum number of characters in memory: 64 MiB of Chinese."""

_HALVES = "surrogatepass"
"""Let unpaired surrogates pass: a later check reports them with the document that contains them."""


class _TemporaryFile:
    """A file without a name, which is closed when the object is no longer referenced."""

    def __init__(self) -> None:
        self.stream = tempfile.TemporaryFile()  # noqa: SIM115 - see above
        weakref.finalize(self, self.stream.close)


class GatheredTexts:
    """Collector of texts, in memory or in a temporary file."""

    def __init__(self) -> None:
        self._held: list[str] = []
        self._n_characters = 0
        self._lengths: list[int] = []
        self._file: _TemporaryFile | None = None

    def append(self, text: str) -> None:
        """Add a text. Write all texts in memory to the file if they are more than MAX_CHARACTERS."""
        self._held.append(text)
        self._n_characters += len(text)
        if self._n_characters > MAX_CHARACTERS:
            self._write()

    def _write(self) -> _TemporaryFile:
        file = self._file = self._file or _TemporaryFile()
        for text in self._held:
            self._lengths.append(file.stream.write(text.encode("utf-8", _HALVES)))
        self._held, self._n_characters = [], 0
        return file

    def all(self) -> Sequence[str]:
        """Return the texts in order: a list, or a sequence on disk if they are many. Add no text after that."""
        if self._file is None:
            return self._held
        file = self._write()
        file.stream.flush()
        return TextsOnDisk(file, np.concatenate([[0], np.cumsum(self._lengths)]))


class TextsOnDisk(LazySequence[str]):
    """Texts in a file. Each text is read on access."""

    def __init__(self, file: _TemporaryFile, offsets: NDArray[np.int64]) -> None:
        """Read text i from the bytes [offsets[i], offsets[i + 1]) in UTF-8."""
        self._file, self._offsets = file, offsets

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def _item(self, index: int) -> str:
        index = range(len(self))[index]
        first, last = int(self._offsets[index]), int(self._offsets[index + 1])
        return os.pread(self._file.stream.fileno(), last - first, first).decode("utf-8", _HALVES)


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
