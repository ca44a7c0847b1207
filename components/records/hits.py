"""What is searched for, and what is found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Queries:
    """Texts to search for, one or more per sample: `sample` int32[n_queries] is the position of each text's sample,
    non-decreasing, and every sample has at least one.
    """

    texts: Sequence[str]
    sample: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True)
class IndexBlock:
    """A block of chunks as a search by terms reads it: its `index` as named arrays, `positions` int32[n_chunks] of its
    chunks among all that are searched, ascending, and `term_ids` int32[n_query_terms], the numbers of the queries'
    terms in the vocabulary of the block, -1 for those that it does not hold.
    """

    index: Mapping[str, NDArray[np.generic]]
    positions: NDArray[np.int32]
    term_ids: NDArray[np.int32]


@dataclass(frozen=True)
class AllowedDocuments:
    """Which documents may be found for which sample: those of sample i are `of_group(group[i])`. `group`
    int32[n_samples]; group g owns `document[offsets[g]:offsets[g + 1]]` (int32 positions in the corpus, ascending;
    offsets int64[n_groups + 1]).
    """

    group: NDArray[np.int32]
    offsets: NDArray[np.int64]
    document: NDArray[np.int32]

    @property
    def n_groups(self) -> int:
        """Groups of samples for which the same documents may be found."""
        return len(self.offsets) - 1

    def of_group(self, group: int) -> NDArray[np.int32]:
        """Positions of its documents."""
        return self.document[self.offsets[group] : self.offsets[group + 1]]


@dataclass(frozen=True)
class Expansion:
    """What a language model wrote to be searched for in the place of a sample's question: one text or more. Where it
    was not asked (`is_asked` False), or to no avail, that is the question itself: `unread` then says of the reply why
    it could not be read, `failed` why the request failed; "" if neither did.
    """

    queries: tuple[str, ...]
    is_asked: bool = True
    unread: str = ""
    failed: str = ""


@dataclass(frozen=True)
class Hits:
    """A ranking per query, best first: `chunk` int32[n_queries, depth] positions padded with -1, `score` float32 of the
    same shape padded with -inf. Searches and fusions order equal scores by position, which is by id; after a reranker
    they keep the order of the ranking before it.
    """

    chunk: NDArray[np.int32]
    score: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.chunk)


@dataclass(frozen=True)
class HitOrder:
    """What a language model made of the hits of one query. `order` are their places in the ranking before, best first,
    each once. `unread` says of a reply why it could not be read, `failed` why a request failed; "" if none did. What
    they were about stands as it stood before.
    """

    order: tuple[int, ...]
    unread: str = ""
    failed: str = ""


@dataclass(frozen=True)
class Context:
    """What goes into the prompts: `chunk` int32[n_queries, n] positions in prompt order, padded with -1; n is top_k, or
    a multiple of it where chunks around the hits are read too.

    `n_tokens` int64[n_queries] are the tokens kept, `n_tokens_dropped` those of the top_k hits that did not fit.
    """

    chunk: NDArray[np.int32]
    n_tokens: NDArray[np.int64]
    n_tokens_dropped: NDArray[np.int64]
