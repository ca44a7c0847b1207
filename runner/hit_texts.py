"""The texts of what a cell found, from the store in which its sweep keeps the corpus."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from components.errors import DataError
from components.json_value import Json
from runner.results import CellResult, open_samples


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
    configured = Path(cell.config.get("run", {}).get("store_dir", ""))
    roots = [root for root in (configured, sweep_folder.parent / "store") if (root / "store.json").is_file()]
    for root in roots:
        if key and (found := _kept(root.resolve(), key)):
            return found
    looked = ", ".join(map(str, roots)) or f"{configured}, {sweep_folder.parent / 'store'} (no store there)"
    raise DataError(
        f"{cell.cell_id}: the texts of its documents are not kept: no corpus {key[:12] or 'named in cell.json'} in "
        f"{looked}. Give the sweep's command again (it computes only what is missing), or run this where its store is"
    )


@lru_cache(maxsize=2)
def _kept(root: Path, key: str) -> CorpusTexts | None:
    from runner.engine.store import Store

    entry = Store(root).find("corpus", key)
    return CorpusTexts(entry.part("documents")) if entry else None


def texts_of(hits: Sequence[Mapping[str, Json]], corpus: CorpusTexts) -> list[str]:
    """Of entries of the column `retrieved`, in their order; hits of a refined corpus as they stand in the original."""
    return [corpus.text(hit["document_id"], hit["start"], hit["end"]) for hit in hits]


def read_hits(cell_folder: Path, rows: Sequence[int] | None = None) -> list[list[dict[str, Json]]]:
    """The column `retrieved` of some of a cell's samples, by their places; of all for None. Raises DataError."""
    with open_samples(cell_folder) as file:
        column = file.read(["retrieved"], use_threads=False)["retrieved"]
    taken = column if rows is None else column.take(np.asarray(rows, dtype=np.int64))
    hits: list[list[dict[str, Json]]] = taken.to_pylist()
    return hits
