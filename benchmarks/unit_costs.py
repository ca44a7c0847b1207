"""Costs of a million chunks, a query over them and a stage: the basis of the figures in docs/scale.md.

Times are seconds of one core. The corpus is CRUD-RAG's news in chunks of 128 tokens. Vectors are random, which does not
affect times or bytes of exact search.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmarks import crud_rag
from benchmarks.child import in_child
from benchmarks.measure import Measure
from benchmarks.settings import Settings

if TYPE_CHECKING:
    from components.protocols import VectorIndex
    from components.records import Segments, Spans
    from components.text.corpus_tables import TermTable

T = TypeVar("T")

_MILLION = 1_000_000
_CHUNK_SIZE, _DEPTH = 128, 100
_DIMENSIONS = (384, 768, 1024)
_N_SEARCHES = 500
_N_GRAPH = 20_000
_N_STAGES = 400
_N_PLANNED = 100_000

Costs = dict[str, tuple[float, str]]
"""Amounts with their units, by the item that costs."""


def measure(settings: Settings) -> list[Measure]:
    """Return all costs, without bounds."""
    scale = settings.scale
    documents = crud_rag.documents(settings.crud_rag, scale.n_subset_documents)
    events = crud_rag.queries(settings.crud_rag, _N_SEARCHES)
    costs = {
        **in_child(_text_costs, documents, events).value,
        **in_child(_vector_costs, scale.n_chunks).value,
        **in_child(_stage_costs, settings.scratch).value,
        **in_child(_plan_costs, settings.scratch).value,
    }
    return [Measure(name, value, unit, "one core") for name, (value, unit) in costs.items()]


def _text_costs(documents: Sequence[str], events: Sequence[str]) -> Costs:
    """Return the costs from texts to BM25's hits, for a single block."""
    from components.chunkers.sentence import SentencePacking
    from components.records import Documents, IndexBlock, Passages
    from components.sparse_indexes.bm25 import Bm25
    from components.text.corpus_tables import build_term_table, segment
    from components.tokenizers.cl100k import Cl100k
    from components.tokenizers.rjieba_words import RjiebaWords

    ids = [f"{number:09d}" for number in range(len(documents))]
    corpus = Documents(ids, [""] * len(ids), documents)
    with _one_core():
        segments, cutting = _time_work(lambda: segment(documents, Cl100k()))
        spans, packing = _time_work(lambda: SentencePacking(size=_CHUNK_SIZE).chunk(corpus, segments))
        table, splitting = _time_work(lambda: build_term_table(documents, RjiebaWords()))
        terms, placing = _time_work(lambda: table.chunk_terms(spans))
        index = Bm25()
        built, indexing = _time_work(lambda: index.build(Passages(documents, terms=terms)))
        words = build_term_table(events, RjiebaWords())
        term_ids = np.array([table.term_positions.get(term, -1) for term in words.vocabulary], dtype=np.int32)
        block = IndexBlock(built, np.arange(len(spans), dtype=np.int32), term_ids)
        _, searching = _time_work(lambda: index.search([block], Passages(events, words.document_terms()), _DEPTH))
    times = _MILLION / len(spans)
    n_text = sum(len(text.encode()) for text in documents)
    per_query = searching / len(events)
    return {
        "text of 10^6 chunks": (n_text * times / 1e9, "GB"),
        "tokens and sentences of 10^6 chunks: time": (cutting * times, "s"),
        "tokens and sentences of 10^6 chunks: size": (_n_bytes(segments) * times / 1e6, "MB"),
        "cutting 10^6 chunks: time": (packing * times, "s"),
        "cutting 10^6 chunks: size": (_n_bytes(spans) * times / 1e6, "MB"),
        "terms of 10^6 chunks: time": ((splitting + placing) * times, "s"),
        "terms of 10^6 chunks: size": (_n_bytes(table) * times / 1e6, "MB"),
        "BM25 index of 10^6 chunks: time": (indexing * times, "s"),
        "BM25 index of 10^6 chunks: size": (sum(array.nbytes for array in built.values()) * times / 1e6, "MB"),
        "BM25 search over 10^6 chunks: time per query": (per_query * times * 1000, "ms"),
    }


def _vector_costs(n: int) -> Costs:
    """Return the costs of searches, and of building indexes."""
    from components.vector_indexes.faiss_index import Flat, Hnsw
    from components.vector_indexes.ivf_flat import IvfFlat

    costs: Costs = {}
    times = _MILLION / n
    for n_dimensions in _DIMENSIONS:
        vectors, queries = _draw(n, n_dimensions, 1), _draw(_N_SEARCHES, n_dimensions, 2)
        _, per_query = _built_and_searched(Flat(), vectors, queries)
        costs[f"flat search over 10^6 vectors of {n_dimensions}: time per query"] = per_query * times * 1000, "ms"
    building, per_query = _built_and_searched(IvfFlat(), vectors, queries)
    costs[f"IVF of {n:,} vectors of {n_dimensions}, sqrt(n) lists: time"] = building, "s"
    costs[f"IVF search over {n:,}, 32 lists: time per query"] = per_query * 1000, "ms"
    for n_vectors in (min(_N_GRAPH, n // 2), min(2 * _N_GRAPH, n)):
        building, per_query = _built_and_searched(Hnsw(), vectors[:n_vectors], queries)
        costs[f"HNSW of {n_vectors:,} vectors of {n_dimensions}: time"] = building, "s"
        costs[f"HNSW search over {n_vectors:,}: time per query"] = per_query * 1000, "ms"
    return costs


def _built_and_searched(
    index: "VectorIndex", vectors: NDArray[np.float32], queries: NDArray[np.float32]
) -> tuple[float, float]:
    """Return the seconds to build an index, and the seconds per query for all queries together."""
    from tempfile import TemporaryDirectory

    with _one_core(), TemporaryDirectory() as place:
        built, building = _time_work(lambda: index.build(vectors, Path(place)))
        _, searching = _time_work(lambda: index.search(built, vectors, queries, _DEPTH))
    return building, searching / len(queries)


def _draw(n: int, n_dimensions: int, seed: int) -> NDArray[np.float32]:
    vectors = np.random.default_rng(seed).standard_normal((n, n_dimensions), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def _stage_costs(scratch: Path) -> Costs:
    """Return the costs of the store, which do not depend on the stages."""
    from runner.engine.store import Store
    from runner.engine.worker import Worker
    from tests.runner.engine.adding import Number

    store = Store(scratch / "store")
    worker = Worker(store)
    stages = [Number(number) for number in range(_N_STAGES)]
    _, running = _time_work(lambda: [worker.run(stage) for stage in stages])
    size = sum(path.stat().st_blocks * 512 for path in store.root.rglob("*"))
    listed, listing = _time_work(lambda: list(store.entries()))
    return {
        "a stage that does nothing: time": (running / len(stages) * 1000, "ms"),
        "a stage that does nothing: on the disk": (size / len(stages) / 1024, "KiB"),
        "listing the store: time per entry": (listing / len(listed) * 1000, "ms"),
    }


def _plan_costs(scratch: Path) -> Costs:
    """Return the costs of planned stages that do not run."""
    from runner.engine.plan import make_plan
    from runner.engine.store import Store
    from tests.runner.engine.adding import Number

    store, before = Store(scratch / "store"), _resident_kib()
    pairs = [(Number(-1 - number, (Number(number),)), 1) for number in range(_N_PLANNED // 2)]
    plan, planning = _time_work(lambda: make_plan(pairs, store))
    return {
        "planning: time per stage": (planning / len(plan.order) * 1000, "ms"),
        "planning: memory per stage": ((_resident_kib() - before) / len(plan.order), "KiB"),
    }


def _resident_kib() -> int:
    n_pages = int(Path("/proc/self/statm").read_text().split()[1])
    return n_pages * os.sysconf("SC_PAGE_SIZE") // 1024


@contextmanager
def _one_core() -> Iterator[None]:
    from components.threads import allot_threads

    allot_threads(1)
    yield


def _time_work(work: Callable[[], T]) -> tuple[T, float]:
    """Return the result of the work, and the seconds of a core that it took."""
    started = time.process_time()
    result = work()
    return result, time.process_time() - started


def _n_bytes(record: "Segments | Spans | TermTable") -> int:
    return sum(array.nbytes for field in fields(record) if isinstance(array := getattr(record, field.name), np.ndarray))
