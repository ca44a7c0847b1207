"""Rankings of documents from a cell's hits, and their file formats."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np

from components.errors import DataError
from components.json_value import Json
from components.records import ScoreState
from runner.results.samples_file import read_column_names, read_samples


class RankingFormat(StrEnum):
    """File format: a TREC run for trec_eval, a submission to the FinanceRAG challenge, or BEIR's relevance judgements.

    The ids of a submission lack the set's name.
    """

    TREC = "trec"
    FINANCERAG = "financerag"
    QRELS = "qrels"


@dataclass(frozen=True)
class SampleRanking:
    """The documents found for one sample. Each occurs once, best first, with the score of its best chunk."""

    sample_id: str
    subset: str
    documents: tuple[tuple[str, float], ...]


def read_rankings(cell_folder: Path) -> list[SampleRanking]:
    """Read the ranking of each of a cell's samples, in their order. Raises DataError if the samples cannot be read."""
    rows = read_samples(cell_folder, ["id", "subset", "retrieved"])
    return [SampleRanking(row["id"], row["subset"], tuple(_documents(row["retrieved"]).items())) for row in rows]


def _documents(hits: Sequence[Mapping[str, Json]]) -> dict[str, float]:
    scores: dict[str, float] = {}
    for hit in hits:
        scores.setdefault(hit["document_id"], hit["score"])
    return scores


def trec_lines(rankings: Sequence[SampleRanking], depth: int | None, tag: str) -> Iterator[str]:
    """Yield lines `query Q0 document rank score tag`. Raises DataError for an id with whitespace.

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
                    f"{an_id}: is not an id of the FinanceRAG challenge ({prefix}...); --format financerag is for "
                    "sweeps with dataset=financerag. For other data use --format trec."
                )
        for document, _ in ranking.documents[:depth]:
            yield f"{ranking.sample_id.removeprefix(prefix)},{document.removeprefix(prefix)}"


GRADES = "judge/relevance_grades"
"""Column with a line per passage, in the order of the prompt, which begins with its grade."""
_GRADE = re.compile(r"^([0-3]): ", re.MULTILINE)


def qrels_lines(cell_folders: Iterable[Path]) -> Iterator[str]:
    """Yield a header and lines `query document grade`, separated by tabs, from the grades of `judge=relevance`.

    Several cells form one pool. A document has the highest grade of its passages. Samples without grades are left out.
    Raises DataError for a cell without grades, and for passages that are not the first hits in their order.
    """
    grades: dict[tuple[str, str], int] = {}
    for folder in cell_folders:
        if GRADES not in read_column_names(folder):
            raise DataError(
                f"{folder.name}: has no grades of passages; --format qrels is for sweeps with judge=relevance"
            )
        for row in read_samples(folder, ["id", "retrieved", GRADES, "score_state/umbrela_relevance"]):
            if row["score_state/umbrela_relevance"] != ScoreState.VALUE:
                continue
            passage_grades = list(map(int, _GRADE.findall(row[GRADES])))
            in_prompt = {hit["rank"]: hit["document_id"] for hit in row["retrieved"] if hit["in_context"]}
            if len(in_prompt) != len(passage_grades):
                raise DataError(
                    f"{folder.name}: sample {row['id']!r} has {len(passage_grades)} graded passages and "
                    f"{len(in_prompt)} hits in its prompt; --format qrels needs passages "
                    "that are single hits (context.merge=false)"
                )
            for document, grade in zip(in_prompt.values(), passage_grades, strict=True):
                grades[row["id"], document] = max(grade, grades.get((row["id"], document), 0))
    yield "query-id\tcorpus-id\tscore"
    yield from (f"{_word(sample)}\t{_word(document)}\t{grade}" for (sample, document), grade in grades.items())


def _word(text: str) -> str:
    if text.split() != [text]:
        raise DataError(f"{text!r}: the format allows no empty id and no whitespace in ids")
    return text
