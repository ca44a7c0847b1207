"""What models do not read: texts that are longer than an embedder's limit are cut off, and that is counted."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from components.json_value import Json
from components.protocols import DenseArm, ReadsTokens, Retriever
from components.records import Queries, Spans
from runner.engine.codecs import Codec, Single
from runner.engine.run import Run
from runner.engine.stage import Stage, Work
from runner.pipeline.data import Data
from runner.pipeline.passages import ChunkPassages, QueryPassages

_BLOCK = 32_768
"""Texts whose tokens are counted at a time."""


@dataclass(frozen=True, eq=False)
class CutTexts(Stage[Json]):
    """How many texts an embedder reads in part: its `model`, what the `texts` are ("chunks" or "queries"), `n` of them
    and `n_cut` of these, the `limit` and the `longest` in tokens, and how many tokens there are and are cut off. For a
    model without a limit nothing is counted.
    """

    kind: ClassVar[str] = "cut_texts"
    version: ClassVar[int] = 1
    work: ClassVar[Work] = Work.BENCHMARK
    codec: ClassVar[Codec[Json]] = Single("cut")

    embedder: ReadsTokens
    passages: ChunkPassages | QueryPassages

    def make(self, run: Run) -> Json:
        """Counts the tokens of all texts."""
        are_queries = isinstance(self.passages, QueryPassages)
        count = self.embedder.count_query_tokens if are_queries else self.embedder.count_chunk_tokens
        texts, limit = self.passages.read(run).texts, self.embedder.token_limit()
        what = "queries" if are_queries else "chunks"
        facts = {"model": model_name(self.embedder), "texts": what, "n": len(texts), "n_cut": 0, "limit": limit}
        if limit is None:
            return facts
        counts = [np.zeros(0, dtype=np.int64)]
        for first in range(0, len(texts), _BLOCK):
            counts.append(count(texts[first : first + _BLOCK]))
            run.report(min(first + _BLOCK, len(texts)), len(texts))
        n_tokens = np.concatenate(counts)
        beyond = np.maximum(n_tokens - limit, 0)
        return {
            **facts,
            "n_cut": int(np.count_nonzero(beyond)),
            "longest": int(n_tokens.max(initial=0)),
            "n_tokens": int(n_tokens.sum()),
            "n_tokens_cut": int(beyond.sum()),
        }


def cut_texts(
    retriever: Retriever, data: Data, chunks: Stage[Spans], queries: Iterable[Stage[Queries]]
) -> tuple[CutTexts, ...]:
    """A count of the chunks, and of each variant of the queries, for every embedder whose model reads tokens."""
    read: list[ChunkPassages | QueryPassages] = [ChunkPassages(data.corpus, chunks), *map(QueryPassages, queries)]
    embedders = [arm.embedder for arm in retriever.arms if isinstance(arm, DenseArm)]
    stages = [CutTexts(own, passages) for own in embedders if isinstance(own, ReadsTokens) for passages in read]
    return tuple({stage.key: stage for stage in stages}.values())


def model_name(embedder: object) -> str:
    """What a reader knows it by."""
    return str(getattr(embedder, "model", type(embedder).__name__))
