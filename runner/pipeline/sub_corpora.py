"""Several corpora side by side: each is indexed apart, and a query is searched for in its own.

A part is the documents whose ids begin alike (`Sample.corpus_prefix`): a range, since documents and chunks are sorted.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.records import Hits, Passages, Terms
from runner.engine.stage import Inputs, Stage
from runner.pipeline import payloads

Rows = slice | NDArray[np.int64]

_ALL = slice(None)
_AFTER_ALL = "\U0010ffff"


class Part(NamedTuple):
    """`chunks` and `queries` are their rows among all; `number` counts the parts. A single corpus is one part."""

    number: int | None = None
    chunks: slice = _ALL
    queries: Rows = _ALL


def of(stage: Stage, inputs: Inputs) -> list[Part]:
    """The parts of a corpus, in the order of the stage's settings; their queries are not looked up."""
    names = stage.settings.get("parts")
    if names is None:
        return [Part()]
    ids = inputs.read("corpus", payloads.decode_documents).ids
    document = inputs.read("chunks", payloads.decode_spans).document
    parts = []
    for number, name in enumerate(names):
        documents = [bisect_left(ids, name), bisect_left(ids, name + _AFTER_ALL)]
        first, last = np.searchsorted(document, documents)
        parts.append(Part(number, slice(int(first), int(last))))
    return parts


def with_queries(stage: Stage, inputs: Inputs) -> list[Part]:
    """The parts with the rows of the queries that search in them."""
    names = stage.settings.get("parts")
    if names is None:
        return [Part()]
    within = [sample.corpus_prefix for sample in inputs.read("samples", payloads.decode_samples)]
    return [
        Part(part.number, part.chunks, np.flatnonzero([place == name for place in within]))
        for part, name in zip(of(stage, inputs), names, strict=True)
    ]


def join(indexes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The arrays of all parts' indexes under names of their own; those of a single one as they are."""
    if len(indexes) == 1:
        return dict(indexes[0])
    return {f"{number}.{name}": array for number, index in enumerate(indexes) for name, array in index.items()}


def take(joined: Mapping[str, Any], part: Part) -> dict[str, Any]:
    """The arrays of one part's index."""
    beginning = f"{part.number}."
    own = {name.removeprefix(beginning): array for name, array in joined.items() if name.startswith(beginning)}
    return own or dict(joined)


def rows(passages: Passages, chosen: Rows) -> Passages:
    """Some of the passages, with their terms."""
    if isinstance(chosen, slice):
        if chosen == _ALL:
            return passages
        texts: Sequence[str] = passages.texts[chosen]
    else:
        texts = [passages.texts[row] for row in chosen]
    terms = passages.terms
    return Passages(texts, terms and Terms(terms.ids, terms.first[chosen], terms.last[chosen], terms.n_vocabulary))


def merge(found: Sequence[Hits], parts: Sequence[Part], n_queries: int) -> Hits:
    """The hits of all queries, by positions among the chunks of all parts."""
    width = max(hits.chunk.shape[1] for hits in found)
    chunk = np.full((n_queries, width), -1, dtype=np.int32)
    score = np.full((n_queries, width), -np.inf, dtype=np.float32)
    for hits, part in zip(found, parts, strict=True):
        n = hits.chunk.shape[1]
        first = part.chunks.start or 0
        chunk[part.queries, :n] = np.where(hits.chunk >= 0, hits.chunk + first, -1)
        score[part.queries, :n] = hits.score
    return Hits(chunk, score)
