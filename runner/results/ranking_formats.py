"""Whose documents stand where: a cell's hits as rankings of documents, and as lines of a file."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np

from components.errors import DataError
from components.json_value import Json
from runner.results.samples_file import read_samples


class RankingFormat(StrEnum):
    """TREC: a run as trec_eval reads it. FINANCERAG: a submission to the FinanceRAG challenge, the ids without the name
    of their set.
    """

    TREC = "trec"
    FINANCERAG = "financerag"


@dataclass(frozen=True)
class SampleRanking:
    """The documents found for one sample, each once, best first, with the score of its best chunk."""

    sample_id: str
    subset: str
    documents: tuple[tuple[str, float], ...]


def read_rankings(cell_folder: Path) -> list[SampleRanking]:
    """A ranking for each of a cell's samples, in their order. Raises DataError."""
    rows = read_samples(cell_folder, ["id", "subset", "retrieved"])
    return [SampleRanking(row["id"], row["subset"], tuple(_documents(row["retrieved"]).items())) for row in rows]


def _documents(hits: Sequence[Mapping[str, Json]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for hit in hits:
        found.setdefault(hit["document_id"], hit["score"])
    return found


def trec_lines(rankings: Sequence[SampleRanking], depth: int | None, tag: str) -> Iterator[str]:
    """`query Q0 document rank score tag`. Readers sort by score and break ties as they like, so a score that does not
    fall becomes the next lower one (in 32 bits, as trec_eval reads them). Raises DataError for an id with white space.
    """
    for ranking in rankings:
        above = np.float32(np.inf)
        for rank, (document, score) in enumerate(ranking.documents[:depth], 1):
            above = min(np.float32(score), np.nextafter(above, np.float32(-np.inf)))
            yield f"{_word(ranking.sample_id)} Q0 {_word(document)} {rank} {above} {_word(tag)}"


def financerag_lines(rankings: Sequence[SampleRanking], depth: int | None) -> Iterator[str]:
    """`query_id,corpus_id` below a line of these names. Raises DataError for rankings that are of no set of the
    challenge.
    """
    yield "query_id,corpus_id"
    for ranking in rankings:
        prefix = f"{ranking.subset}/"
        for an_id in (ranking.sample_id, *(document for document, _ in ranking.documents[:depth])):
            if not an_id.startswith(prefix) or "," in an_id or '"' in an_id:
                raise DataError(
                    f"{an_id}: not an id of the FinanceRAG challenge ({prefix}...); --format financerag is for sweeps "
                    "with dataset=financerag, for other data take --format trec"
                )
        for document, _ in ranking.documents[:depth]:
            yield f"{ranking.sample_id.removeprefix(prefix)},{document.removeprefix(prefix)}"


def _word(text: str) -> str:
    if text.split() != [text]:
        raise DataError(f"{text!r}: an id with white space (or none) cannot stand in a run of the TREC format")
    return text
