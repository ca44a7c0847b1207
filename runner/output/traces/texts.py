"""Texts of samples and documents as a page may show them, and where the documents' texts are."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from components.errors import DataError
from components.json_value import Json
from runner.display import printable
from runner.results import CellResult

_LONGEST = 10_000
"""Characters of one text: pages of more are slow to open."""


class DocumentText(NamedTuple):
    """What a passage is cut from."""

    title: str
    text: str


def shown(text: str) -> str:
    """A text without characters that a page or a database would obey; a long one is cut, which it says."""
    if len(text) <= _LONGEST:
        return printable(text)
    return f"{printable(text[:_LONGEST])}\n[cut: {_LONGEST:,} of {len(text):,} characters; all are in samples.parquet]"


def document_texts(folder: Path, cell: CellResult, ids: Collection[str]) -> dict[str, DocumentText]:
    """By id, those of these documents that the cell searched: as they are kept, in the store that the cell's results
    were made in. Raises DataError if they are not kept (any more).
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    if not ids:
        return {}
    file = _corpus_file(folder, cell)
    wanted = pa.array(sorted(ids), pa.string())
    found: dict[str, DocumentText] = {}
    try:
        with pq.ParquetFile(file, pre_buffer=False) as corpus:
            for batch in corpus.iter_batches(columns=["id", "title", "text"], use_threads=False):
                for row in batch.filter(pc.is_in(batch["id"], value_set=wanted)).to_pylist():
                    found[row["id"]] = DocumentText(row["title"], row["text"])
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{file}: cannot be read ({error}); run the sweep's command again") from error
    return found


def _corpus_file(folder: Path, cell: CellResult) -> Path:
    """By what the cell's result says that it was made from."""
    root = _store(folder, cell)
    for path in root.glob(f"entries/result/{cell.cell_id[:2]}/{cell.cell_id}*/manifest.json"):
        made_from: dict[str, Json] = json.loads(path.read_text(encoding="utf-8"))["made_from"]["fields"]
        key: str = made_from["retrieved"]["corpus"]
        file = root / "entries" / "corpus" / key[:2] / key / "documents.parquet"
        if file.is_file():
            return file
    raise DataError(
        f"{root}: the documents that cell {cell.cell_id} searched are not kept there; run the sweep's command again, "
        "with the same run.store_dir"
    )


def _store(folder: Path, cell: CellResult) -> Path:
    """The folder that the configuration names, or the one beside the sweep if that was moved or is looked at from
    another folder.
    """
    named = Path(cell.config.get("run", {}).get("store_dir", "store"))
    return named if named.is_dir() else folder.parent.parent / named.name
