"""Facts that a language model reads from chunks, and all facts of a corpus as columns."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Fact:
    """A statement about two entities, as a text each: (Danube, flows through, Vienna)."""

    subject: str
    relation: str
    object: str


@dataclass(frozen=True)
class FactsOfChunk:
    """The facts that a language model read from one chunk. `n_left_out` counts the other entries of its reply.

    There are no facts without a usable reply. `unread` then says why it could not be parsed, or `failed` why the
    request failed; "" if neither happened.
    """

    facts: tuple[Fact, ...] = ()
    n_left_out: int = 0
    unread: str = ""
    failed: str = ""


@dataclass(frozen=True)
class FactTable:
    """The distinct facts of a corpus, their phrases, and the chunks that state them.

    `phrases` are the distinct subjects and objects, sorted, and `facts` the facts as text, sorted by their parts. Fact
    i is about the phrases `subject[i]` and `object[i]`, int32 positions. Chunk `chunk[m]` states `fact[m]`, int32,
    sorted, each pair once. Chunks are numbered from 0 to `n_chunks` - 1.
    """

    phrases: Sequence[str]
    facts: Sequence[str]
    subject: NDArray[np.int32]
    object: NDArray[np.int32]
    chunk: NDArray[np.int32]
    fact: NDArray[np.int32]
    n_chunks: int


@dataclass(frozen=True)
class FactRows:
    """The facts that some consecutive chunks state: see `FactTable`.

    Facts, phrases and chunks are numbered among themselves. `fact_rows` and `phrase_rows`, int32, are their ascending
    positions in the table.
    """

    fact_rows: NDArray[np.int32]
    phrase_rows: NDArray[np.int32]
    subject: NDArray[np.int32]
    object: NDArray[np.int32]
    chunk: NDArray[np.int32]
    fact: NDArray[np.int32]
    n_chunks: int

    @property
    def n_phrases(self) -> int:
        """Number of distinct phrases."""
        return len(self.phrase_rows)
