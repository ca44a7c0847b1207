"""Sizes of the benchmarks, and their folders."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Scale:
    """The size of every workload. `n_queries` go to the whole corpus; a subset has `n_items` of each long list."""

    n_corpus_documents: int
    n_queries: int
    n_chunks: int
    n_rank_bm25_queries: int
    n_subset_documents: int
    n_subset_items: int
    n_rounds: int
    n_embedded: int
    n_embedded_on_gpu: int
    n_large_vectors: int
    n_documents_in_blocks: tuple[int, int, int]


SCALES = {
    "full": Scale(
        n_corpus_documents=68_798,
        n_queries=2000,
        n_chunks=150_000,
        n_rank_bm25_queries=60,
        n_subset_documents=20_000,
        n_subset_items=80,
        n_rounds=2,
        n_embedded=256,
        n_embedded_on_gpu=200_000,
        n_large_vectors=1_000_000,
        n_documents_in_blocks=(30_000, 230_000, 780_000),
    ),
    "small": Scale(
        n_corpus_documents=3000,
        n_queries=200,
        n_chunks=10_000,
        n_rank_bm25_queries=40,
        n_subset_documents=600,
        n_subset_items=10,
        n_rounds=1,
        n_embedded=32,
        n_embedded_on_gpu=5000,
        n_large_vectors=20_000,
        n_documents_in_blocks=(1500, 2000, 3000),
    ),
}


@dataclass(frozen=True)
class Settings:
    """Folders and sizes of a run. `crud_rag` has the published data, and `scratch` is an empty folder."""

    crud_rag: Path
    scratch: Path
    scale: Scale
