"""The texts of what a cell found, from the store in which its sweep keeps the corpus."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from components.errors import DataError, StoreError
from components.json_value import Json
from runner.results.cell_result import CellResult
from runner.results.samples_file import read_rows


class CorpusTexts:
    """The texts of a corpus, by ids of documents; each is read when it is asked for."""

    def __init__(self, table: Any) -> None:
        """`table` is the corpus as the store has it."""
        self._texts = table["text"]
        self._place = {document_id: place for place, document_id in enumerate(table["id"].to_pylist())}

    def text(self, document_id: str, start: int | None = None, end: int | None = None) -> str:
        """The characters [start, end) of a document, all of it without them. Raises DataError if there is no such."""
        if document_id not in self._place:
            raise DataError(f"{document_id}: no document of this corpus")
        text: str = self._texts[self._place[document_id]].as_py()
        return text[start:end]


def corpus_texts(cell: CellResult, sweep_folder: Path) -> CorpusTexts:
    """The corpus that a cell searched, as it was before refining. Raises DataError if it is not kept (any more)."""
    key = cell.dataset.get("corpus", "")
    from runner.engine.store import is_bucket

    run = cell.config.get("run", {})
    tried = [str(run.get("store_dir", "")), str(sweep_folder.parent / "store")]
    stores = [store for store in tried if is_bucket(store) or (Path(store) / "store.json").is_file()]
    for store in stores if key else []:
        with suppress(StoreError):  # it is not there, or damaged: another run mends it
            return _kept(store if is_bucket(store) else str(Path(store).resolve()), str(run.get("cache_dir", "")), key)
    looked = ", ".join(stores) or f"{', '.join(tried)} (no store there)"
    raise DataError(
        f"{cell.cell_id}: the texts of its documents are not kept: no corpus {key[:12] or 'named in cell.json'} in "
        f"{looked}. Give the sweep's command again (it computes only what is missing), or run this where its store is"
    )


@lru_cache(maxsize=2)
def _kept(store: str, cache_dir: str, key: str) -> CorpusTexts:
    from runner.engine.store import open_store

    entry = open_store(store, cache_dir).find("corpus", key)
    if entry is None:
        raise StoreError(f"{store}: no corpus {key}")
    return CorpusTexts(entry.part("documents"))


def texts_of(hits: Sequence[Mapping[str, Json]], corpus: CorpusTexts) -> list[str]:
    """Of entries of the column `retrieved`, in their order; hits of a refined corpus as they stand in the original."""
    return [corpus.text(hit["document_id"], hit["start"], hit["end"]) for hit in hits]


def read_hits(cell_folder: Path, places: Sequence[int]) -> list[list[dict[str, Json]]]:
    """The column `retrieved` of some of a cell's samples, by their places in its table. Raises DataError."""
    return [row["retrieved"] for row in read_rows(cell_folder, ["retrieved"], places)]
