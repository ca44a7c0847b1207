"""Corpora in blocks of documents: partitions, unchanged results, and the cost of a growing corpus."""

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from components.records import Spans
from runner.pipeline.corpus import document_table as documents
from runner.pipeline.corpus.corpus_blocks import find_positions
from runner.pipeline.corpus.partition import Partition, cached_blocks, partition_documents
from tests.runner.sweeping import FEW_METRICS, cells_in, entries_by_kind, plan_small, run_small, store_of


def hashes(contents: Iterable[int]) -> NDArray[np.uint8]:
    """Return documents whose contents differ only by a number."""
    wide = [(content * 2**32 + 1, content) for content in contents]
    return np.array(wide, dtype=np.uint64).view(np.uint8).reshape(-1, 16)


def part(contents: Sequence[int], size: int, *known: Partition, bounds: Sequence[int] = ()) -> Partition:
    bounds = [0, *bounds, len(contents)]
    earlier = [(own.numbers, own.block) for own in known]
    return partition_documents(hashes(contents), bounds, list(pairwise(bounds)), size, earlier)


def rows(partition: Partition) -> list[list[int]]:
    return [np.flatnonzero(partition.block == number).tolist() for number in range(len(partition.contents))]


def test_partition_blocks_are_consecutive_documents() -> None:
    assert rows(part(range(7), 3)) == [[0, 1, 2], [3, 4, 5], [6]]
    assert rows(part((), 3)) == []


def test_oversized_partition_block_holds_all_documents() -> None:
    assert rows(part([1, 2, 3], 2**70)) == [[0, 1, 2]]


def test_partition_blocks_end_at_the_bounds_of_corpora() -> None:
    found = part(range(7), 3, bounds=[4])
    assert rows(found) == [[0, 1, 2], [3], [4, 5, 6]]
    assert found.of_prefix == [[0, 1], [2]]


def test_partition_keeps_the_blocks_of_unchanged_documents() -> None:
    before = part([10, 20, 30, 40, 50, 60], 2)
    # Documents were added in the middle and at the end, 60 was changed, and 30 was removed.
    after = part([10, 15, 20, 40, 50, 61, 70], 2, before)
    assert rows(after) == [[0, 2], [1, 3], [4, 5], [6]]
    assert set(before.contents) & set(after.contents) == {before.contents[0]}
    assert before.contents == part([10, 20, 30, 40, 50, 60], 2).contents


def test_partition_splits_an_earlier_block_at_the_bounds_of_corpora() -> None:
    before = part([1, 2, 3, 4], 4)
    assert rows(part([1, 2, 3, 4], 4, before, bounds=[2])) == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("n_numbers", "block"),
    [(4, [0, 0, -1, 1]), (4, [0, 0, 1, 10**9]), (2, [0, 0, 1, 1]), (4, [0.0, 0.0, 1.0, 1.0]), (4, [[0, 0], [1, 1]])],
)
def test_invalid_partition_is_not_reused(n_numbers: int, block: Sequence[float]) -> None:
    """A partition of another version may have correct checksums."""
    sound = part([1, 2, 3, 4], 2)
    stored = np.array(block, dtype=None if isinstance(block[0], float) else np.int32)
    assert list(cached_blocks([{"numbers": sound.numbers, "block": sound.block}])) == [(sound.numbers, sound.block)]
    assert list(cached_blocks([{"numbers": sound.numbers[:n_numbers], "block": stored}])) == []


def test_corpus_growing_by_single_documents_keeps_few_blocks() -> None:
    partitions: list[Partition] = []
    for n in range(1, 200, 4):
        partitions.append(part(range(n), 100, *partitions))
    assert len(partitions[-1].contents) <= 2 * 2 + 16 + 2


@pytest.mark.parametrize("chosen", [[1, 2], [0, 2], [], [0, 1, 2, 3]])
def test_positions_select_the_chunks_of_given_documents(chosen: list[int]) -> None:
    document = np.array([0, 0, 1, 2, 2, 2, 3], dtype=np.int32)
    spans = Spans(document, np.zeros(7, dtype=np.int32), np.ones(7, dtype=np.int32))
    found = find_positions(spans, np.array(chosen, dtype=np.int64))
    assert found.tolist() == [i for i, own in enumerate(document) if own in chosen]


SHAPES = [
    ("retriever=hybrid_rerank", "embedder=hashing"),
    ("retriever=hybrid", "embedder=lsa", "chunk=parents"),
    ("retriever=bm25", "header=title", "diversity=mmr_terms"),
    ("retriever=bm25", "retriever.sparse_index.backend=rank_bm25", "retriever.sparse_index.formula=okapi"),
    ("retriever=hybrid", "chunk=semantic"),
]


def test_partition_size_changes_no_result(tmp_path: Path) -> None:
    found = []
    for size in (1, 3, 1000):
        sizes = ("dataset.max_documents=30", f"run.documents_per_block={size}")
        cells = [(*shape, "llm=none", "metrics=retrieval", *sizes) for shape in SHAPES]
        assert run_small(tmp_path / str(size), *cells) == 0
        found.append({cell.cell_id: cell.metrics for cell in cells_in(tmp_path / str(size))})
        n_blocks = len(entries_by_kind(store_of(tmp_path / str(size)))["block_chunks"])
        assert n_blocks >= {1: 2 * 30, 3: 2 * 10}.get(size, 2)
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == len(SHAPES)


def write_corpus(folder: Path, ids: Iterable[str]) -> tuple[str, ...]:
    lines = [{"id": own, "text": f"The bridge of {own} was opened in 19{len(own)}{own[-1]}."} for own in ids]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    question = {"id": "1", "question": "When was the bridge of d10 opened?", "gold": ["d10"]}
    (folder / "questions.jsonl").write_text(json.dumps(question), encoding="utf-8")
    files = (f"dataset.documents={folder / 'corpus.jsonl'}", f"dataset.samples={folder / 'questions.jsonl'}")
    return ("dataset=jsonl", *files, "dataset.limit=null", "llm=none", "language=en", *FEW_METRICS)


def test_grown_corpus_recomputes_only_its_new_documents(tmp_path: Path) -> None:
    cell = ("retriever=hybrid", "run.documents_per_block=10")
    ids = [f"d{i}" for i in range(60)]
    assert run_small(tmp_path, (*write_corpus(tmp_path, ids), *cell)) == 0
    plan = plan_small(tmp_path, (*write_corpus(tmp_path, [*ids, "a0", "d10x"]), *cell)).plan
    made = {kind.kind: (kind.n_unique, kind.n_cached) for kind in plan.kinds}
    for kind in ("segments", "block_chunks", "block_terms", "sparse_index", "vectors"):
        assert made[kind] == (7, 6), kind


def test_large_corpus_is_read_from_disk_with_equal_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [("retriever=hybrid_rerank", "llm=extractive", "metrics=default", "filter=metadata")]
    assert run_small(tmp_path / "small", *cells) == 0
    monkeypatch.setattr(documents, "_LARGE_BYTES", 0)
    monkeypatch.setattr(documents, "_ROWS_PER_GROUP", 3)
    monkeypatch.setattr(documents, "_GROUPS_HELD", 2)
    assert run_small(tmp_path / "large", *cells) == 0
    small, large = ([cell.metrics for cell in cells_in(tmp_path / name)] for name in ("small", "large"))
    assert small == large
