"""Chunks of 128 tokens, a BM25 index and 2,000 queries: our stages, store included, against bm25s alone."""

import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import crud_rag
from benchmarks.child import in_child
from benchmarks.measure import Bound, Measure
from benchmarks.settings import Scale, Settings

SIZE, DEPTH = 128, 100
_SHARED = ("segments", "chunks")


def measure(settings: Settings) -> list[Measure]:
    """Both sides are given the documents; the shared part, from documents to the texts of chunks, is said apart."""
    scale = settings.scale
    data = crud_rag.write_subset(
        settings.crud_rag, settings.scratch / "data", scale.n_corpus_documents, scale.n_queries
    )
    ours, bare = [], []
    for i in range(scale.n_rounds):
        ours.append(in_child(run_ours, data, settings.scratch / f"store-{i}"))
        bare.append(in_child(run_bare, data, scale))
    own, other = (min((round_.value for round_ in rounds), key=_own_seconds) for rounds in (ours, bare))
    shared = sum(own[name] for name in _SHARED)
    own_s, bare_s = _own_seconds(own), _own_seconds(other)
    return [
        Measure("bm25_pipeline: time", own_s / bare_s, "x", f"ours {_listed(own)}; bare {_listed(other)}", Bound(1.3)),
        Measure("bm25_pipeline: peak", max(r.peak_gib for r in ours), "GiB", f"bare {bare[0].peak_gib:.2f}", Bound(4)),
        Measure("bm25_pipeline: shared", shared, "s", "from documents to chunks, kept in the store; in neither time"),
        Measure("bm25_pipeline: all", (own_s + shared) / (bare_s + shared), "x", "with the shared part on both sides"),
    ]


def run_ours(data: Path, store_dir: Path) -> dict[str, float]:
    """Seconds of each stage up to the hits, with reading its inputs and writing its result."""
    from runner.execute import Worker
    from runner.plan import plan_cells
    from runner.stage import Stage
    from runner.store import Store

    store = Store(store_dir)
    worker = Worker(store)

    def load(stage: Stage) -> dict[str, object]:
        worker.run_or_raise(stage)
        entry = store.find(stage.kind, stage.key)
        assert entry is not None
        content: dict[str, object] = entry.read()["content"]
        return content

    (cell,) = plan_cells([_request(data)], load)
    seconds = {}
    stages = {stage.kind: stage for stage in cell.graph.result.upstream()}
    for stage in stages["sparse_hits"].upstream():
        started = time.perf_counter()
        worker.run_or_raise(stage)
        seconds[stage.kind] = time.perf_counter() - started
    return {kind: spent for kind, spent in seconds.items() if kind not in ("data", "corpus", "samples", "queries")}


def run_bare(data: Path, scale: Scale) -> dict[str, float]:
    """Seconds of the library calls a user would write, compilation of its search left out."""
    import bm25s
    import rjieba

    texts = chunk_texts(crud_rag.documents(data, scale.n_corpus_documents))
    queries = crud_rag.queries(data, scale.n_queries)
    _search(bm25s, [["a"], ["b"]], [["a"]], depth=1)
    started = time.perf_counter()
    words = [rjieba.cut(text, False) for text in texts]
    asked = [rjieba.cut(text, False) for text in queries]
    cut = time.perf_counter()
    index, search = _search(bm25s, words, asked, DEPTH)
    return {"cut": cut - started, "index": index, "retrieve": search}


def chunk_texts(documents: Sequence[str]) -> list[str]:
    """The very chunks that our stages make."""
    from components.chunkers.sentence import SentencePacking
    from components.records import Documents, SpanTexts
    from components.text.cl100k import Cl100k
    from components.text.tables import segment

    ids = [str(i) for i in range(len(documents))]
    corpus = Documents(ids, [""] * len(ids), documents)
    return list(SpanTexts(documents, SentencePacking(size=SIZE).chunk(corpus, segment(documents, Cl100k()))))


def _search(bm25s: object, words: list[list[str]], queries: list[list[str]], depth: int) -> tuple[float, float]:
    """Seconds to index and to retrieve."""
    raise NotImplementedError
