"""Children are searched, parents are read."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from components.chunkers.budget import Unit
from components.chunkers.parents import ParentChunks
from components.chunkers.sentence import SentencePacking
from components.chunkers.token_window import TokenWindow
from components.chunkers.whole import WholeDocuments
from components.protocols import Chunker
from runner.engine.stage import Stage
from runner.engine.store import Store
from runner.pipeline.corpus.chunk_stages import Chunks
from runner.pipeline.corpus.parent_chunks import ChildChunks, ParentHits
from runner.pipeline.search.fusing import OnlyHits
from tests.runner.pipeline.fixed import FixedData, bm25, fixed_cell, graph_in
from tests.runner.sweeping import read_or_make

SMALL = SentencePacking(size=30, unit=Unit.CHAR)
PARENTS = [
    SentencePacking(size=60, unit=Unit.CHAR),
    WholeDocuments(),
    TokenWindow(size=50, overlap=0.5, unit=Unit.CHAR),
]


def stages(store: Store, parents: Chunker) -> dict[type[Stage[Any]], Stage[Any]]:
    cell = fixed_cell(chunk=ParentChunks(SMALL, parents), retriever=bm25())
    return {type(stage): stage for stage in graph_in(store, cell).result.upstream()}


@pytest.mark.parametrize("parents", PARENTS, ids=lambda parents: type(parents).__name__)
def test_parents_contain_every_child_and_children_every_character(tmp_path: Path, parents: Chunker) -> None:
    store = Store(tmp_path)
    found = stages(store, parents)
    children, large = (read_or_make(found[kind], store) for kind in (ChildChunks, Chunks))
    rows = list(zip(children.document.tolist(), children.start.tolist(), children.end.tolist(), strict=True))
    assert rows == sorted(set(rows))
    of_parents = list(zip(large.document.tolist(), large.start.tolist(), large.end.tolist(), strict=True))
    for document, start, end in rows:
        assert end - start <= 30
        assert any(own == document and first <= start and end <= last for own, first, last in of_parents)
    for document, text in enumerate(FixedData().load().documents.texts):
        covered = {place for own, start, end in rows if own == document for place in range(start, end)}
        assert all(place in covered for place, character in enumerate(text) if not character.isspace())


@pytest.mark.parametrize("parents", PARENTS, ids=lambda parents: type(parents).__name__)
def test_parent_takes_the_rank_of_its_best_child(tmp_path: Path, parents: Chunker) -> None:
    store = Store(tmp_path)
    found = stages(store, parents)
    children, large, small_hits, hits = (
        read_or_make(found[kind], store) for kind in (ChildChunks, Chunks, OnlyHits, ParentHits)
    )
    assert (hits.chunk >= 0).any(axis=1).all()
    for row in range(len(hits)):
        wanted: dict[int, float] = {}
        for child, score in zip(small_hits.chunk[row].tolist(), small_hits.score[row].tolist(), strict=True):
            if child >= 0:
                holds = (
                    (large.document == children.document[child])
                    & (large.start <= children.start[child])
                    & (large.end >= children.end[child])
                )
                wanted.setdefault(int(np.flatnonzero(holds)[0]), score)
        n_found = len(wanted)
        assert hits.chunk[row, :n_found].tolist() == list(wanted)
        assert hits.score[row, :n_found].tolist() == list(wanted.values())
        assert (hits.chunk[row, n_found:] == -1).all()
        assert np.isneginf(hits.score[row, n_found:]).all()


def test_prompts_contain_parent_chunks(tmp_path: Path) -> None:
    store = Store(tmp_path)
    cell = fixed_cell(chunk=ParentChunks(SMALL, WholeDocuments()), retriever=bm25(), top_k=1)
    prompts = read_or_make(graph_in(store, cell).result, store).samples["prompt"].to_pylist()
    assert "It crosses the river in the east. Trains still use it every day." in prompts[0]
