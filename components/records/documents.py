"""A corpus, and a corpus refined from another one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from components.records.lazy_sequence import LazySequence


class TextRows(LazySequence[str]):
    """Some texts of a sequence, looked up on access. The sequence may read them from disk."""

    def __init__(self, texts: Sequence[str], rows: Sequence[int] | NDArray[np.int32]) -> None:
        self._texts, self._rows = texts, rows

    def __len__(self) -> int:
        return len(self._rows)

    def _item(self, index: int) -> str:
        return self._texts[self._rows[index]]


@dataclass(frozen=True)
class Documents:
    """A corpus as lists of equal length, sorted by id. Breaking ties by position therefore breaks them by id.

    `metadata` are further facts by name (date, section, ...) for prompts and filters; empty if no document has any.
    """

    ids: Sequence[str]
    titles: Sequence[str]
    texts: Sequence[str]
    metadata: Sequence[Mapping[str, str]] = ()

    def __len__(self) -> int:
        return len(self.ids)

    def at(self, rows: Sequence[int]) -> "Documents":
        """Return the documents at `rows`, in that order. The result has metadata only if one of them has any."""
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
    """Origins of the characters of refined texts, as columns of pieces, sorted by (document, start), without overlaps.

    The characters [start, end) of the refined text of `document` (a position in the corpus) come from the characters
    [original_start, original_end) of its previous text. With `is_copy` they correspond one to one; otherwise each of
    them comes from the whole range. Characters outside all pieces were added. All columns are int32, `is_copy` is bool.
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
    """A corpus refined from another one. It has the same ids in the same order, and "" for texts that were left out.

    `counts` describe the refinement for the record.
    """

    origins: Origins = field(kw_only=True)
    counts: Mapping[str, int] = field(kw_only=True)
