"""Embedding is what costs: indexes of all sorts search the same vectors."""

from pathlib import Path

from components.protocols import VectorIndex
from components.retrievers.dense import Dense
from components.vector_indexes.binary import Binary
from components.vector_indexes.faiss_index import Flat
from components.vector_indexes.int8 import Int8
from components.vector_indexes.truncated import Truncated
from runner.engine.store import Store
from runner.pipeline.search.dense_search import DenseHits
from tests.runner.pipeline.fixed import LetterCounts, fixed_cell, graph_in, run_all


def count_entries_after(store: Store, *indexes: VectorIndex) -> dict[str, int]:
    """Return the number of stored results of each kind after cells with these indexes."""
    for index in indexes:
        graph = graph_in(store, fixed_cell(retriever=Dense(LetterCounts(), index, depth=6)))
        run_all(store, *(stage for stage in graph.result.upstream() if isinstance(stage, DenseHits)))
    kinds = ("vectors", "query_vectors", "vector_index", "dense_hits")
    return {kind: len(list((store.root / "entries" / kind).glob("*/*"))) for kind in kinds}


def test_quantisers_and_dimensions_share_the_vectors(tmp_path: Path) -> None:
    indexes = (Flat(), Truncated(8), Truncated(16), Int8(), Int8(dimensions=8), Binary(), Binary(dimensions=16))
    n_entries = count_entries_after(Store(tmp_path), *indexes)
    assert n_entries == {"vectors": 1, "query_vectors": 1, "vector_index": 7, "dense_hits": 7}


def test_rescoring_settings_share_the_index(tmp_path: Path) -> None:
    indexes = (Int8(), Int8(rescore=False), Int8(oversampling=2.0))
    assert count_entries_after(Store(tmp_path), *indexes)["vector_index"] == 1
