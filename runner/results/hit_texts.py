"""Texts of the hits of a cell, read from the store of its sweep."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from components.errors import DataError, StoreError
from components.json_value import Json
from runner.results.cell_result import CellResult
from runner.results.samples_file import read_rows

if TYPE_CHECKING:
    import pyarrow as pa


class CorpusTexts:
    """The texts of a corpus by document id, each read on demand."""

    def __init__(self, table: "pa.Table") -> None:
        """Read from `table`, the corpus as stored."""
        self._texts = table["text"]
        self._place = {document_id: row for row, document_id in enumerate(table["id"].to_pylist())}

    def text(self, document_id: str, start: int | None = None, end: int | None = None) -> str:
        """Return the characters [start, end) of a document, by default all of it. Raises DataError for an
        unknown id.
        """
        if document_id not in self._place:
            raise DataError(
                f"document {document_id}: is not in the corpus of the cell. Run the sweep's command again: "
                "finished work is cached."
            )
        text: str = self._texts[self._place[document_id]].as_py()
        return text[start:end]


def corpus_texts(cell: CellResult, sweep_folder: Path) -> CorpusTexts:
    """Return the corpus that a cell searched, before refining. Raises DataError if no known store has it."""
    key = cell.dataset.get("corpus", "")
    from runner.engine.store import is_bucket

    run = cell.config.get("run", {})
    results_dir = sweep_folder.parent
    tried = [str(run.get("store_dir", "")), str(results_dir / "store")]
    stores = [store for store in tried if is_bucket(store) or (Path(store) / "store.json").is_file()]
    for store in stores if key else []:
        with suppress(StoreError):  # the result is missing or damaged; another run repairs it
            address = store if is_bucket(store) else str(Path(store).resolve())
            return _stored_texts(address, str(run.get("cache_dir", "")), results_dir, key)
    looked = ", ".join(stores) or f"{', '.join(tried)} (not a store)"
    raise DataError(
        f"{cell.cell_id}: the texts of its documents are missing: no corpus {key[:12] or 'named in cell.json'} in "
        f"{looked}. Run the sweep's command again: finished work is cached. Or run this command where the sweep's "
        "store is."
    )


@lru_cache(maxsize=2)
def _stored_texts(store: str, cache_dir: str, results_dir: Path, key: str) -> CorpusTexts:
    from runner.engine.store import open_named_store

    entry = open_named_store(store, cache_dir, results_dir).find("corpus", key)
    if entry is None:
        raise StoreError(f"{store}: does not contain corpus {key}. Run the sweep's command again to restore it.")
    return CorpusTexts(entry.part("documents"))


def read_hit_texts(hits: Sequence[Mapping[str, Json]], corpus: CorpusTexts) -> list[str]:
    """Return the texts of entries of the column `retrieved`, in order. Hits of a refined corpus have their original
    text.
    """
    return [corpus.text(hit["document_id"], hit["start"], hit["end"]) for hit in hits]


def read_hits(cell_folder: Path, indices: Sequence[int]) -> list[list[dict[str, Json]]]:
    """Return the column `retrieved` of these rows of a cell's table.

    Raises DataError if the table cannot be read.
    """
    return [row["retrieved"] for row in read_rows(cell_folder, ["retrieved"], indices)]
