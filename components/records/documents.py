"""A corpus."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from components.records.lazy_sequence import LazySequence


class TextRows(LazySequence[str]):
    """Some of the texts of a sequence, looked up when they are asked for: it may read them from a disk."""

    def __init__(self, texts: Sequence[str], rows: Sequence[int] | NDArray[np.int32]) -> None:
        self._texts, self._rows = texts, rows

    def __len__(self) -> int:
        return len(self._rows)

    def _item(self, index: int) -> str:
        return self._texts[self._rows[index]]


@dataclass(frozen=True)
class Documents:
    """A corpus: lists of equal length, sorted by id (so that "ties break by id" is "ties break by position").

    `metadata` are further facts by name (date, section, ...) for prompts and filters; empty where no document has any.
    """

    ids: Sequence[str]
    titles: Sequence[str]
    texts: Sequence[str]
    metadata: Sequence[Mapping[str, str]] = ()

    def __len__(self) -> int:
        return len(self.ids)

    def at(self, rows: Sequence[int]) -> "Documents":
        """Some of them, in the order of `rows`, with metadata only if one of these has any."""
        metadata = [self.metadata[row] for row in rows] if self.metadata else []
        held = isinstance(self.texts, list | tuple)
        return Documents(
            [self.ids[row] for row in rows],
            [self.titles[row] for row in rows],
            [self.texts[row] for row in rows] if held else TextRows(self.texts, rows),
            metadata if any(metadata) else (),
        )


@dataclass(frozen=True)
class Origins:
    """Where the characters of refined texts come from: pieces as columns of equal length, sorted by (document, start),
    none over another.

    The characters [start, end) of the refined text of `document` (a position in the corpus) come from
    [original_start, original_end) of its text before, one by one where `is_copy`, else each of them from all of these.
    What lies in no piece was added. All int32, `is_copy` bool.
    """

    document: NDArray[np.int32]
    start: NDArray[np.int32]
    end: NDArray[np.int32]
    original_start: NDArray[np.int32]
    original_end: NDArray[np.int32]
    is_copy: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.document)


@dataclass(frozen=True)
class RefinedDocuments(Documents):
    """A corpus made of another one: as many documents with the same ids in the same order, "" in the place of a text
    that was left out. `counts` say for the record what was done.
    """

    origins: Origins = field(kw_only=True)
    counts: Mapping[str, int] = field(kw_only=True)
