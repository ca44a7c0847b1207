"""The CRUD-RAG corpus: its location, its texts and queries, and subsets of it in the published layout."""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.child import in_child
from components.json_value import Json

_CORPUS = "80000_docs"
_SPLIT = Path("crud_split") / "split_merged.json"


def find(data: Path | None) -> Path:
    """Return the folder crud_rag under `data`, else under $RAG_GRID_SHARED/data, else under ../shared/data of the
    repository.

    Raises FileNotFoundError with the expected content.
    """
    repository = Path(__file__).resolve().parents[1]
    shared = Path(os.environ.get("RAG_GRID_SHARED") or repository.parent / "shared")
    folder = (data or shared / "data") / "crud_rag"
    for expected in (folder / _CORPUS, folder / _SPLIT):
        if not expected.exists():
            raise FileNotFoundError(
                f"{expected}: does not exist, expected CRUD-RAG's published data. Name the folder that holds crud_rag/ "
                "with --data, or the one above it with the environment variable RAG_GRID_SHARED"
            )
    return folder


def documents(root: Path, n_documents: int) -> list[str]:
    """Return about `n_documents` texts, spread evenly over the corpus, but never more."""
    texts = list(_lines(root))
    return texts[:: max(1, -(-len(texts) // n_documents))]


def queries(root: Path, n_queries: int) -> list[str]:
    """Return the first events of the summarization items."""
    return [item["event"] for item in _split(root)["event_summary"][:n_queries]]


def write_subset(root: Path, folder: Path, n_documents: int, n_items: int) -> None:
    """Write some documents and the first `n_items` of every list, in the published layout.

    This happens in a separate process, because a child's peak memory includes the memory of its parent at the start.
    """
    in_child(_write_subset, root, folder, n_documents, n_items)


def _write_subset(root: Path, folder: Path, n_documents: int, n_items: int) -> None:
    (folder / _CORPUS).mkdir(parents=True)
    (folder / _SPLIT).parent.mkdir()
    text = "".join(f"{line}\n" for line in documents(root, n_documents))
    (folder / _CORPUS / "documents").write_text(text, encoding="utf-8")
    items = {name: records[:n_items] for name, records in _split(root).items()}
    (folder / _SPLIT).write_text(json.dumps(items, ensure_ascii=False), encoding="utf-8")


def _lines(root: Path) -> Iterator[str]:
    for path in sorted((root / _CORPUS).iterdir()):
        with path.open(encoding="utf-8", newline="\n") as file:
            yield from (line.removesuffix("\n") for line in file)


def _split(root: Path) -> dict[str, Sequence[Json]]:
    split: dict[str, Sequence[Json]] = json.loads((root / _SPLIT).read_text(encoding="utf-8"))
    return split
