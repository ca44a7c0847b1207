"""Cost of cells besides their own work: a grid over the bundled data, one with retrieval only, then both again."""

from benchmarks import crud_rag, sweep
from benchmarks.measure import Bound, Measure
from benchmarks.settings import Settings

BUNDLED = ("retriever=bm25,dense,hybrid,hybrid_rerank", "top_k=2,4,6,8,10", "chunk.size=128,256")
"""40 cells over 312 samples in 114 subsets, with answers, pictures and MLflow."""

RETRIEVAL = (
    "chunk.size=64,128,256,512",
    "top_k=2,4,6,8,10",
    "retriever=bm25",
    "llm=none",
    "metrics=retrieval",
    "dataset.limit=100",
)
"""20 cells over 2,000 documents and 100 queries."""

_N_DOCUMENTS, _N_ITEMS = 2000, 40
_GIB_ALLOWED = 0.7


def measure(settings: Settings) -> list[Measure]:
    """Return the seconds of whole commands, start-up and MLflow included, and the peak memory of one process."""
    data = settings.scratch / "data"
    crud_rag.write_subset(settings.crud_rag, data, _N_DOCUMENTS, _N_ITEMS)
    bundled = [sweep.run(settings.scratch / "bundled", None, *BUNDLED) for _ in range(2)]
    retrieval = [sweep.run(settings.scratch / "retrieval", data, *RETRIEVAL) for _ in range(2)]
    unlogged = sweep.run(settings.scratch / "retrieval", data, *RETRIEVAL, "tracking=none")
    return [
        Measure("40 cells", bundled[0].seconds, "s", "bundled benchmark, MLflow included", Bound(20)),
        Measure("40 cells again", bundled[1].seconds, "s", "all results cached", Bound(5)),
        Measure("peak memory of 40 cells", bundled[0].peak_gib, "GiB", "the largest process", Bound(_GIB_ALLOWED)),
        Measure("20 retrieval cells", retrieval[0].seconds, "s", "2,000 documents, 100 queries", Bound(8)),
        Measure(
            "20 retrieval cells again",
            retrieval[1].seconds,
            "s",
            f"{unlogged.seconds:.1f} s without MLflow",
            Bound(4),
        ),
    ]
