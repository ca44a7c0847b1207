"""Queries, and the rankings that a search returns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from components.records.passages import Passage


@dataclass(frozen=True)
class Queries:
    """Texts to search for, one or more per sample.

    `sample` int32[n_queries] is the position of each text's sample, non-decreasing. Every sample has at least one text.
    """

    texts: Sequence[str]
    sample: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True)
class IndexedText:
    """A hit of an index outside the store: its text, and its id in the index, "" if unknown.

    `document` is a hint, the id or the title of its document. It decides only between equal texts.
    """

    text: str
    id: str = ""
    document: str = ""


@dataclass(frozen=True)
class IndexBlock:
    """A block of chunks for a search by terms.

    `index` is the block's index as named arrays. `positions` int32[n_chunks] are the ascending positions of its chunks
    among all searched chunks. `term_ids` int32[n_query_terms] are the numbers of the queries' terms in the block's
    vocabulary, -1 for terms outside it.
    """

    index: Mapping[str, NDArray[np.generic]]
    positions: NDArray[np.int32]
    term_ids: NDArray[np.int32]


@dataclass(frozen=True)
class AllowedDocuments:
    """Documents that each sample may find. Sample i may find `of_group(group[i])`.

    `group` is int32[n_samples]. Group g owns `document[offsets[g]:offsets[g + 1]]`: ascending int32 positions in the
    corpus, with offsets int64[n_groups + 1].
    """

    group: NDArray[np.int32]
    offsets: NDArray[np.int64]
    document: NDArray[np.int32]

    @property
    def n_groups(self) -> int:
        """Number of groups of samples that may find the same documents."""
        return len(self.offsets) - 1

    def of_group(self, group: int) -> NDArray[np.int32]:
        """Return the positions of the group's documents."""
        return self.document[self.offsets[group] : self.offsets[group + 1]]


@dataclass(frozen=True)
class Expansion:
    """One or more texts that a language model wrote to search instead of a sample's question.

    The only query is the question itself if no request was sent (`is_asked` False) or gave no usable text. `unread`
    then says why its reply could not be parsed, or `failed` why the request failed; "" if neither happened.
    """

    queries: tuple[str, ...]
    is_asked: bool = True
    unread: str = ""
    failed: str = ""


@dataclass(frozen=True)
class NextSearch:
    """A language model's decision after a search: the text to search for next, "" if the search ends.

    `thought` is the other text that it wrote, or "". The search also ends if no request was sent (`is_asked`
    False), or gave no usable reply. `unread` then says why its reply could not be parsed, or `failed` why the request
    failed; "" if neither happened.
    """

    query: str
    thought: str = ""
    is_asked: bool = True
    unread: str = ""
    failed: str = ""


@dataclass(frozen=True)
class SearchTrail:
    """The searches for one question so far.

    `passages` are the new passages of each search, best first, and `steps` the decisions after them. A decision before
    the first search is the first of `steps`.
    """

    question: str
    passages: tuple[tuple[Passage, ...], ...]
    steps: tuple[NextSearch, ...]


@dataclass(frozen=True)
class Hits:
    """A ranking per query, best first.

    `chunk` int32[n_queries, depth] are positions, padded with -1. `score` is float32 of the same shape, padded with
    -inf. Searches and fusions order equal scores by position, that is, by id. Rerankers leave them in their previous
    order.
    """

    chunk: NDArray[np.int32]
    score: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.chunk)


@dataclass(frozen=True)
class HitOrder:
    """An order of the hits of one query by a language model.

    `order` lists their positions in the previous ranking, best first, each once. `unread` says why a reply could not be
    parsed, `failed` why a request failed; "" if neither happened. The hits of such a request keep their order.
    """

    order: tuple[int, ...]
    unread: str = ""
    failed: str = ""


@dataclass(frozen=True)
class Context:
    """Chunks for the prompts: `chunk` int32[n_queries, n] positions in prompt order, padded with -1.

    n is top_k, or a multiple of it if chunks around the hits are added. `n_tokens` int64[n_queries] are the tokens in
    the prompt. `n_tokens_dropped` are the tokens of those top_k hits that did not fit.
    """

    chunk: NDArray[np.int32]
    n_tokens: NDArray[np.int64]
    n_tokens_dropped: NDArray[np.int64]
