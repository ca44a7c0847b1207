"""Corpora that do not fit into memory: equal hits for any partition, peak memory of one process, and cost of growth."""

import json
import random
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from benchmarks import crud_rag, sweep
from benchmarks.child import in_child
from benchmarks.measure import Bound, Measure
from benchmarks.settings import Settings

_CHUNK_SIZE = 64
_SPARSE = ("retriever=bm25",)
_BOTH = ("retriever=hybrid", "embedder=hashing", "embedder.n_dimensions=64", "vector_index=flat")
_QUIET = ("llm=none", "metrics=retrieval", "metrics.credit_copies=false", "tracking=none", "run.progress=false")
_N_QUERIES = 100
_PEAK_GIB = 1.2


def measure(settings: Settings) -> list[Measure]:
    """Return the measures. The last ones use the largest corpus of the scale, which takes most of an hour."""
    n_small, n_middle, n_large = settings.scale.n_documents_in_blocks
    return [
        *_measure_blocks(settings, n_small),
        *_measure_growth(settings, n_small),
        *_sparse(settings, n_middle),
        *_large(settings, n_large),
    ]


def write_corpus(root: Path, folder: Path, n_documents: int) -> None:
    """Write news as JSON Lines, and questions about some of them.

    If more documents are needed than there are news, the rest are news with reordered sentences and other digits. A
    larger corpus contains the documents of a smaller one.
    """
    in_child(_write_corpus, root, folder, n_documents)


def _write_corpus(root: Path, folder: Path, n_documents: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "documents.jsonl").open("w", encoding="utf-8") as file:
        for number, text in enumerate(_texts(root, n_documents)):
            file.write(json.dumps({"id": f"{number:09d}", "text": text}, ensure_ascii=False) + "\n")
    questions = [
        {"id": str(i), "question": text, "gold": ["000000000"]}
        for i, text in enumerate(crud_rag.queries(root, _N_QUERIES))
    ]
    lines = "\n".join(json.dumps(question, ensure_ascii=False) for question in questions)
    (folder / "questions.jsonl").write_text(lines, encoding="utf-8")


def _texts(root: Path, n_documents: int) -> Iterator[str]:
    texts, chance = crud_rag.documents(root, 10**9), random.Random(0)
    for number in range(n_documents):
        text = texts[number % len(texts)]
        if number >= len(texts):
            sentences = text.split("。")
            chance.shuffle(sentences)
            text = "".join(str(chance.randrange(10)) if c.isdigit() else c for c in "。".join(sentences))
        yield text


def _run(folder: Path, corpus: Path, *overrides: str) -> sweep.Run:
    files = (f"dataset.documents={corpus / 'documents.jsonl'}", f"dataset.samples={corpus / 'questions.jsonl'}")
    chunks = ("chunk=token", f"chunk.size={_CHUNK_SIZE}")
    return sweep.run(folder, None, "dataset=jsonl", *files, *chunks, *_QUIET, *overrides)


def _hits(folder: Path) -> dict[str, str]:
    """Return the digest of a sweep's rankings by kind."""
    found = {}
    for kind in ("sparse_hits", "dense_hits"):
        (entry,) = (folder / "results" / "store" / "entries" / kind).glob("*/*")
        found[kind] = sha256(b"".join((entry / name).read_bytes() for name in ("chunk.npy", "score.npy"))).hexdigest()
    return found


def _measure_blocks(settings: Settings, n_documents: int) -> list[Measure]:
    corpus = settings.scratch / "small"
    write_corpus(settings.crud_rag, corpus, n_documents)
    found, details = [], []
    for size in (1000, 20_000, n_documents):
        folder = settings.scratch / f"blocks-{size}"
        ran = _run(folder, corpus, *_BOTH, f"run.documents_per_block={size}")
        found.append(_hits(folder))
        details.append(f"{size:,}: {ran.seconds:.0f} s, {ran.peak_gib:.2f} GiB")
    equal = all(hits == found[0] for hits in found)
    detail = f"BM25 and vectors of {n_documents:,} documents; documents per block: {'; '.join(details)}"
    return [Measure("equal hits with any block", float(equal), "", detail, Bound(1, at_least=True))]


def _measure_growth(settings: Settings, n_documents: int) -> list[Measure]:
    """Measure the same corpus with one document more in a hundred."""
    corpus, folder = settings.scratch / "grown", settings.scratch / "blocks-20000"
    before = sum(sweep.stage_seconds(folder).get(kind, 0.0) for kind in _OF_BLOCKS)
    write_corpus(settings.crud_rag, corpus, n_documents + n_documents // 100)
    _run(folder, corpus, *_BOTH)
    after = sum(sweep.stage_seconds(folder).get(kind, 0.0) for kind in _OF_BLOCKS)
    detail = f"{after - before:.1f} s for 1 % more documents, {before:.1f} s for {n_documents:,}: cutting to vectors"
    return [Measure("work on 1 % more documents", (after - before) / before, "x", detail, Bound(0.03))]


_OF_BLOCKS = ("segments", "block_chunks", "block_terms", "sparse_index", "vectors")


def _sparse(settings: Settings, n_documents: int) -> list[Measure]:
    corpus, folder = settings.scratch / "middle", settings.scratch / "sparse"
    write_corpus(settings.crud_rag, corpus, n_documents)
    ran = _run(folder, corpus, *_SPARSE)
    detail = f"{_n_chunks(folder):,} chunks of {n_documents:,} documents, BM25, {ran.seconds:.0f} s"
    return [Measure("peak memory of one process", ran.peak_gib, "GiB", detail, Bound(_PEAK_GIB))]


def _large(settings: Settings, n_documents: int) -> list[Measure]:
    corpus, folder = settings.scratch / "large", settings.scratch / "both"
    write_corpus(settings.crud_rag, corpus, n_documents)
    ran = _run(folder, corpus, *_BOTH)
    seconds = sweep.stage_seconds(folder)
    searched = ", ".join(f"{kind} {seconds[kind]:.0f} s" for kind in ("sparse_hits", "dense_hits"))
    detail = f"BM25 and a flat index over {_n_chunks(folder):,} chunks, {ran.peak_gib:.2f} GiB, {searched}"
    return [Measure("the largest corpus", ran.seconds / 60, "min", detail)]


def _n_chunks(folder: Path) -> int:
    import numpy as np

    (entry,) = (folder / "results" / "store" / "entries" / "chunks").glob("*/*")
    return len(np.load(entry / "document.npy", mmap_mode="r"))
