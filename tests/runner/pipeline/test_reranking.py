"""Hits by the scores of a reranker, which scores no pair of query and chunk twice."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from components.protocols import WordTokenizer
from components.records import Hits, Passages, Sample
from runner.engine.stage import Stage
from runner.engine.store import Store
from runner.pipeline.ranking.rerank_stages import RerankedHits
from runner.pipeline.search.fusing import FusedHits
from tests.runner.pipeline.fixed import bm25, fixed_cell, graph_in, run_all
from tests.runner.sweeping import read_or_make

Pair = tuple[str, str]


@dataclass(frozen=True)
class CountingReranker:
    """Likes short chunks, and remembers which pairs it scored."""

    depth: int = 2
    factor: float = 1.0

    version: ClassVar[int] = 1
    scored: ClassVar[list[Pair]] = []

    @property
    def tokenizer(self) -> WordTokenizer | None:
        return None

    def score(self, queries: Passages, chunks: Passages, pairs: NDArray[np.int32]) -> NDArray[np.float32]:
        texts = [(queries.texts[query], chunks.texts[chunk]) for query, chunk in pairs.tolist()]
        self.scored.extend(texts)
        return np.array([-self.factor * len(chunk) for _, chunk in texts], dtype=np.float32)


@dataclass(frozen=True)
class Constant(CountingReranker):
    """Gives all chunks the same score."""

    depth: int = 4

    def score(self, queries: Passages, chunks: Passages, pairs: NDArray[np.int32]) -> NDArray[np.float32]:
        return np.zeros(len(pairs), dtype=np.float32)


@dataclass(frozen=True)
class LikesEvenLengths(CountingReranker):
    """Gives each chunk one of two scores."""

    depth: int = 5

    def score(self, queries: Passages, chunks: Passages, pairs: NDArray[np.int32]) -> NDArray[np.float32]:
        return np.array([len(chunks.texts[chunk]) % 2 == 0 for _, chunk in pairs.tolist()], dtype=np.float32)


@dataclass(frozen=True)
class Killed(CountingReranker):
    """Takes three pairs at a time, and does not outlive the second time."""

    depth: int = 2

    n_pairs_per_block: ClassVar[int] = 3
    lives: ClassVar[int] = 1

    def score(self, queries: Passages, chunks: Passages, pairs: NDArray[np.int32]) -> NDArray[np.float32]:
        if len(self.scored) == 3 and self.lives:
            raise SystemExit("killed")
        assert len(pairs) <= 3
        return super().score(queries, chunks, pairs)


@dataclass(frozen=True)
class SameQuery:
    """Searches for the same query for every question."""

    version: ClassVar[int] = 1

    @property
    def variants(self) -> tuple["SameQuery"]:
        return (self,)

    def expand(self, samples: Sequence[Sample]) -> list[Sequence[str]]:
        return [("the bridge and the river",)] * len(samples)


@pytest.fixture(autouse=True)
def _nothing_scored() -> None:
    CountingReranker.scored.clear()


def hits_of(folder: Path, kind: type[Stage[Hits]], **fields: Any) -> Hits:
    """Return the hits of a stage of the fixed cell."""
    store = Store(folder)
    (stage,) = [stage for stage in graph_in(store, fixed_cell(**fields)).result.upstream() if isinstance(stage, kind)]
    run_all(store, stage)
    return read_or_make(stage, store)


def rerank(folder: Path, reranker: CountingReranker, **fields: Any) -> tuple[Hits, list[Pair]]:
    """The hits, and the pairs that were scored for them."""
    before = len(CountingReranker.scored)
    return hits_of(folder, RerankedHits, reranker=reranker, **fields), CountingReranker.scored[before:]


def test_changed_depth_scores_only_new_pairs(tmp_path: Path) -> None:
    _, first = rerank(tmp_path / "a", CountingReranker(depth=2))
    deeper, more = rerank(tmp_path / "a", CountingReranker(depth=4))
    assert len(first) == len(set(first)) == 8
    assert len(more) == 8
    assert not set(first) & set(more)
    _, none = rerank(tmp_path / "a", CountingReranker(depth=3))
    assert none == []
    at_once, all_pairs = rerank(tmp_path / "b", CountingReranker(depth=4))
    assert set(all_pairs) == {*first, *more}
    np.testing.assert_array_equal(deeper.chunk, at_once.chunk)
    np.testing.assert_array_equal(deeper.score, at_once.score)


def test_changed_first_ranking_scores_only_new_pairs(tmp_path: Path) -> None:
    _, of_hybrid = rerank(tmp_path, CountingReranker(depth=3))
    _, of_bm25 = rerank(tmp_path, CountingReranker(depth=3), retriever=bm25())
    _, of_other_k1 = rerank(tmp_path, CountingReranker(depth=3), retriever=bm25(k1=0.1, b=0.0))
    scored = of_hybrid + of_bm25 + of_other_k1
    assert len(scored) == len(set(scored))
    assert len(of_bm25) < len(of_hybrid)
    assert len(of_other_k1) < len(of_hybrid)


def test_changed_reranker_or_chunking_scores_all_pairs(tmp_path: Path) -> None:
    _, first = rerank(tmp_path, CountingReranker(depth=2))
    _, other = rerank(tmp_path, CountingReranker(depth=2, factor=2.0))
    assert sorted(other) == sorted(first)
    chunk = type(fixed_cell().chunk)(size=40, unit=fixed_cell().chunk.unit)  # type: ignore[attr-defined]
    _, shorter = rerank(tmp_path, CountingReranker(depth=2), chunk=chunk)
    assert len(shorter) == 8


def test_hits_with_equal_rerank_scores_keep_their_order(tmp_path: Path) -> None:
    before = hits_of(tmp_path, FusedHits)
    assert any(row != sorted(row) for row in before.chunk.tolist())  # no ranking by position
    after = hits_of(tmp_path, RerankedHits, reranker=Constant())
    np.testing.assert_array_equal(after.chunk, before.chunk)


def test_hits_with_equal_rerank_scores_keep_their_relative_order(tmp_path: Path) -> None:
    before = hits_of(tmp_path, FusedHits).chunk[:, :5]
    after = hits_of(tmp_path, RerankedHits, reranker=LikesEvenLengths())
    assert (before != after.chunk[:, :5]).any()
    for old, new, scores in zip(before.tolist(), after.chunk.tolist(), after.score.tolist(), strict=True):
        n_even = scores[:5].count(1.0)
        even, odd = set(new[:n_even]), set(new[n_even:5])
        assert new[:5] == [chunk for chunk in old if chunk in even] + [chunk for chunk in old if chunk in odd]


def test_killed_rerank_stage_scores_only_the_remaining_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError, match="killed"):
        rerank(tmp_path / "a", Killed())
    assert len(CountingReranker.scored) == 3
    monkeypatch.setattr(Killed, "lives", 0)
    resumed, rest = rerank(tmp_path / "a", Killed())
    assert len(rest) == len(set(CountingReranker.scored)) - 3 == 5
    at_once, _ = rerank(tmp_path / "b", CountingReranker())
    np.testing.assert_array_equal(resumed.chunk, at_once.chunk)
    np.testing.assert_array_equal(resumed.score, at_once.score)


def test_reranker_scores_equal_queries_once(tmp_path: Path) -> None:
    hits, scored = rerank(tmp_path, CountingReranker(depth=2), expander=SameQuery())
    assert len(hits) == 4
    assert len(scored) == len(set(scored)) == 2
