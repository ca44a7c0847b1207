"""Rankings of documents from a cell's hits, and their file formats."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np

from components.errors import DataError
from components.json_value import Json
from runner.results.samples_file import read_samples


class RankingFormat(StrEnum):
    """File format: a TREC run for trec_eval, or a submission to the FinanceRAG challenge, whose ids lack the set's
    name.
    """

    TREC = "trec"
    FINANCERAG = "financerag"


@dataclass(frozen=True)
class SampleRanking:
    """The documents found for one sample. Each occurs once, best first, with the score of its best chunk."""

    sample_id: str
    subset: str
    documents: tuple[tuple[str, float], ...]


def read_rankings(cell_folder: Path) -> list[SampleRanking]:
    """Read the ranking of each of a cell's samples, in their order. Raises DataError."""
    rows = read_samples(cell_folder, ["id", "subset", "retrieved"])
    return [SampleRanking(row["id"], row["subset"], tuple(_documents(row["retrieved"]).items())) for row in rows]


def _documents(hits: Sequence[Mapping[str, Json]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for hit in hits:
        found.setdefault(hit["document_id"], hit["score"])
    return found


def trec_lines(rankings: Sequence[SampleRanking], depth: int | None, tag: str) -> Iterator[str]:
    """Yield lines `query Q0 document rank score tag`. Raises DataError for an id with white space.

    Readers sort by score and break ties in any order. So a score that does not decrease becomes the next lower float32,
    the precision of trec_eval.
    """
    for ranking in rankings:
        above = np.float32(np.inf)
        for rank, (document, score) in enumerate(ranking.documents[:depth], 1):
            above = min(np.float32(score), np.nextafter(above, np.float32(-np.inf)))
            yield f"{_word(ranking.sample_id)} Q0 {_word(document)} {rank} {above} {_word(tag)}"


def financerag_lines(rankings: Sequence[SampleRanking], depth: int | None) -> Iterator[str]:
    """Yield a header line and lines `query_id,corpus_id`. Raises DataError for ids that are not of the challenge."""
    yield "query_id,corpus_id"
    for ranking in rankings:
        prefix = f"{ranking.subset}/"
        for an_id in (ranking.sample_id, *(document for document, _ in ranking.documents[:depth])):
            if not an_id.startswith(prefix) or "," in an_id or '"' in an_id:
                raise DataError(
                    f"{an_id}: not an id of the FinanceRAG challenge ({prefix}...); --format financerag is for sweeps "
                    "with dataset=financerag; for other data use --format trec"
                )
        for document, _ in ranking.documents[:depth]:
            yield f"{ranking.sample_id.removeprefix(prefix)},{document.removeprefix(prefix)}"


def _word(text: str) -> str:
    if text.split() != [text]:
        raise DataError(f"{text!r}: the TREC format allows no empty id and no white space in ids")
    return text
