"""Chunks of 128 tokens, a BM25 index and 2,000 queries: our stages, store included, against the bare libraries."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import crud_rag
from benchmarks.child import Outcome, in_child
from benchmarks.chunks import chunk_spans
from benchmarks.measure import Bound, Measure
from benchmarks.settings import Scale, Settings
from components.json_value import Json

if TYPE_CHECKING:
    from runner.pipeline.cell import Cell

CHUNK_SIZE, DEPTH = 128, 100
_SHARED = ("segments", "chunks")
_OWN = ("terms", "query_terms", "sparse_index", "sparse_hits")

Seconds = Mapping[str, float]


def measure(settings: Settings) -> list[Measure]:
    """Return the measures. Both sides get the documents. The texts of the chunks, which both need, are timed
    separately.
    """
    scale = settings.scale
    data = settings.scratch / "data"
    crud_rag.write_subset(settings.crud_rag, data, scale.n_corpus_documents, scale.n_queries)
    ours, bare = [], []
    for number in range(scale.n_rounds):
        ours.append(in_child(seconds_of_stages, data, settings.scratch / f"store-{number}"))
        bare.append(in_child(time_libraries, data, scale))
    return _measures(ours, bare)


def _measures(ours: Sequence[Outcome[Seconds]], bare: Sequence[Outcome[Seconds]]) -> list[Measure]:
    """Return the measures of the best round of each side."""
    seconds = min((_only(round_.value, _OWN) for round_ in ours), key=_total)
    shared = min((_only(round_.value, _SHARED) for round_ in ours), key=_total)
    libraries = min((round_.value for round_ in bare), key=_total)
    with_shared = (_total(seconds) + _total(shared)) / (_total(libraries) + _total(shared))
    times = f"{_list_seconds(seconds)} / {_list_seconds(libraries)}"
    bare_peak = f"the bare libraries: {max(round_.peak_gib for round_ in bare):.2f} GiB"
    return [
        Measure("time", _total(seconds) / _total(libraries), "x", times, Bound(1.3)),
        Measure("time with chunking on both sides", with_shared, "x", f"chunking: {_list_seconds(shared)}", Bound(1.3)),
        Measure("peak memory", max(round_.peak_gib for round_ in ours), "GiB", bare_peak, Bound(4)),
    ]


def seconds_of_stages(data: Path, store_dir: Path) -> Seconds:
    """Return the seconds of every stage up to the hits, including reading its inputs and writing its result."""
    from runner.engine.store import Store
    from runner.engine.worker import Worker
    from runner.pipeline.cell_graph import build_graph
    from runner.pipeline.corpus.loaded_data import load_data

    cell = _cell(data)
    store = Store(store_dir)
    worker = Worker(store)
    graph = build_graph(cell, load_data(cell.dataset, store))
    (hits,) = (stage for stage in graph.result.upstream() if stage.kind == "sparse_hits")
    seconds = {}
    for stage in hits.upstream():
        started = time.perf_counter()
        worker.run_or_raise(stage)
        seconds[stage.kind] = time.perf_counter() - started
    return seconds


def time_libraries(data: Path, scale: Scale) -> Seconds:
    """Return the seconds of the calls that users of the libraries would write, without compiling the search."""
    import rjieba

    from components.records import SpanTexts

    documents = crud_rag.documents(data, scale.n_corpus_documents)
    texts = list(SpanTexts(documents, chunk_spans(documents, CHUNK_SIZE)))
    events = crud_rag.queries(data, scale.n_queries)
    _index_and_retrieve([["a"], ["b"]], [["a"]], 1)
    started = time.perf_counter()
    words = [rjieba.cut(text, False) for text in texts]
    queries = [rjieba.cut(text, False) for text in events]
    return {"cut": time.perf_counter() - started, **_index_and_retrieve(words, queries, DEPTH)}


def _index_and_retrieve(words: list[list[str]], queries: list[list[str]], depth: int) -> Seconds:
    import os

    import bm25s

    started = time.perf_counter()
    index = bm25s.BM25(backend="numba")
    index.index(words, show_progress=False)
    indexed = time.perf_counter()
    index.retrieve(queries, k=depth, show_progress=False, n_threads=os.cpu_count() or 1)
    return {"index": indexed - started, "retrieve": time.perf_counter() - indexed}


def _cell(data: Path) -> "Cell":
    """Return a cell with the unrefined corpus, BM25, and the events as queries."""
    from hydra import compose, initialize_config_module
    from omegaconf import OmegaConf

    from runner.launch import grid_launcher
    from runner.pipeline.building import build_cell

    grid_launcher.register()
    dataset = [f"dataset.root={data}", "dataset.subsets=[delete/summarization]", "dataset.add_gold=false"]
    overrides = ["dataset=crud_rag", *dataset, "dataset.merge_duplicates=false", "retriever=bm25"]
    with initialize_config_module("conf", version_base="1.3"):
        config = compose("config", [*overrides, f"chunk.size={CHUNK_SIZE}", f"retriever.depth={DEPTH}"])
    plain: Json = OmegaConf.to_container(config, resolve=True)
    return build_cell(plain)


def _only(seconds: Seconds, kinds: Sequence[str]) -> Seconds:
    return {kind: seconds[kind] for kind in kinds}


def _total(seconds: Seconds) -> float:
    return sum(seconds.values())


def _list_seconds(seconds: Seconds) -> str:
    parts = ", ".join(f"{name} {spent:.1f}" for name, spent in seconds.items())
    return f"{_total(seconds):.1f} s ({parts})"
