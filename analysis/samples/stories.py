"""Reads the stored facts that are shown about samples."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from analysis.samples.story import Excerpt, FoundUnit, GoldText, ShownHit, ShownSearch, Story, StorySide, excerpt
from components.errors import DataError
from components.forensics.verdicts import Verdict
from components.json_value import Json
from components.subsets import UNNAMED
from runner.results import CellResult, CorpusTexts, LoadedSweep, corpus_texts, documents_file, open_parquet, read_rows

_COLUMNS = (
    "id", "subset", "topic", "task", "question", "history", "references", "answerable", "gold", "found_gold",
    "retrieved", "searches", "first_answer", "check", "answer", "state", "error",
)  # fmt: skip


def stories(
    sweep: LoadedSweep,
    cells: Sequence[CellResult],
    rows: Sequence[tuple[int, ...]],
    metric: str,
    verdicts: Sequence[Sequence[Verdict]],
) -> list[Story]:
    """Return one story for each of `rows`, the positions of a sample in the tables of all `cells`.

    `verdicts` are the verdicts on all samples of each cell. Texts of documents are "" if they are no longer stored.
    Raises DataError if the samples of a cell cannot be read.
    """
    score = (f"score/{metric}", f"score_state/{metric}")
    tables = [
        read_rows(sweep.folder_of(cell), [*_COLUMNS, *score], [positions[i] for positions in rows])
        for i, cell in enumerate(cells)
    ]
    first = cells[0]
    corpus = find_corpus_texts(sweep, first)
    titles = _titles(documents_file(sweep.folder_of(first).parent, first.dataset.get("corpus", "")))
    result = []
    for number, indices in enumerate(rows):
        row = tables[0][number]
        sides = [
            _side(cell, table[number], score, verdicts[i][indices[i]], corpus, titles)
            for i, (cell, table) in enumerate(zip(cells, tables, strict=True))
        ]
        result.append(_story(row, sides, corpus, titles, first.dataset.get("labels", {})))
    return result


def find_corpus_texts(sweep: LoadedSweep, cell: CellResult) -> CorpusTexts | None:
    """Return the texts that a cell searched; None if they are no longer stored."""
    try:
        return corpus_texts(cell, sweep.folder_of(cell).parent)
    except DataError:
        return None


def _story(
    row: Mapping[str, Json],
    sides: Sequence[StorySide],
    corpus: CorpusTexts | None,
    titles: Mapping[str, str],
    labels: Mapping[str, str],
) -> Story:
    history = [(turn["question"], turn["answer"]) for turn in json.loads(row["history"])]
    gold = [
        GoldText(
            unit["document_id"],
            titles.get(unit["document_id"], ""),
            unit["start"],
            unit["end"],
            unit["grade"],
            unit["n_characters"],
            _excerpt(unit, corpus),
            unit.get("one_of", 0),
        )
        for unit in row["gold"]
    ]
    return Story(
        row["id"],
        "" if row["subset"] == UNNAMED else labels.get(row["subset"], row["subset"]),
        labels.get(row["topic"], row["topic"]),
        labels.get(row["task"], row["task"]),
        row["question"],
        history,
        row["references"],
        row["answerable"],
        gold,
        sides,
    )


def _excerpt(unit: Mapping[str, Json], corpus: CorpusTexts | None) -> Excerpt:
    if corpus is None or not unit["n_characters"]:
        return Excerpt()
    start = unit["start"] or 0
    return excerpt(corpus.text(unit["document_id"]), start, start + unit["n_characters"])


def _side(
    cell: CellResult,
    row: Mapping[str, Json],
    score: tuple[str, str],
    verdict: Verdict,
    corpus: CorpusTexts | None,
    titles: Mapping[str, str],
) -> StorySide:
    pieces = row["found_gold"] or []
    return StorySide(
        cell.cell_id,
        row[score[0]],
        row[score[1]],
        row["answer"],
        row["state"],
        row["error"],
        verdict,
        [
            _found_unit(unit, [piece for piece in pieces if piece["gold"] == index])
            for index, unit in enumerate(row["gold"])
        ],
        _prompt(row, {piece["rank"] for piece in pieces}, corpus, titles),
        [ShownSearch(**search) for search in row.get("searches") or ()],
        row.get("first_answer"),
        row.get("check") or "",
    )


def _found_unit(unit: Mapping[str, Json], pieces: Sequence[Mapping[str, Json]]) -> FoundUnit:
    n_characters = unit["n_characters"] or 1
    shares: dict[int, int] = {}
    for piece in pieces:
        shares[piece["rank"]] = shares.get(piece["rank"], 0) + piece["end"] - piece["start"]
    return FoundUnit(
        [(rank, min(1.0, n / n_characters)) for rank, n in sorted(shares.items())],
        (unit["n_in_context"] or 0) / n_characters,
    )


def _prompt(
    row: Mapping[str, Json], holds_gold: set[int], corpus: CorpusTexts | None, titles: Mapping[str, str]
) -> list[ShownHit]:
    return [
        ShownHit(
            hit["rank"],
            hit["document_id"],
            titles.get(hit["document_id"], ""),
            hit["rank"] in holds_gold,
            [(name.removeprefix("rank_"), rank) for name, rank in hit.items() if name.startswith("rank_") and rank],
            corpus.text(hit["document_id"], hit["start"], hit["end"]) if corpus else "",
        )
        for hit in row["retrieved"]
        if hit["in_context"]
    ]


@lru_cache(maxsize=2)
def _titles(path: Path) -> Mapping[str, str]:
    """Return the titles of the documents that have one."""
    if not path.is_file():
        return {}
    with open_parquet(path, "the documents of a sweep") as file:
        table = file.read(["id", "title"], use_threads=False)
    ids, titles = (table[name].to_pylist() for name in ("id", "title"))
    return {document_id: title for document_id, title in zip(ids, titles, strict=True) if title}
