"""The files of a data set in BEIR's layout: corpus.jsonl, queries.jsonl, qrels, and reference answers beside them.

Source: Thakur et al. 2021, "BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation of Information Retrieval Models".
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from components.datasets.json_fields import Record, optional_text, read_records, required_text
from components.datasets.reading import read_lines
from components.errors import DataError
from components.records import Documents, Evidence, Sample

CORPUS, QUERIES, ANSWERS = "corpus.jsonl", "queries.jsonl", "answers.jsonl"

_EXPECTED_CORPUS = "BEIR's corpus, one document {_id, title, text} per line"
_EXPECTED_QUERIES = "BEIR's queries, one {_id, text} per line"
_EXPECTED_QRELS = "BEIR's qrels, lines of query id, document id and score with tabs between them"
_EXPECTED_ANSWERS = "reference answers, one {_id, answer} per line"
_HEADERS = (["query-id", "corpus-id", "score"], ["query_id", "corpus_id", "score"])


@dataclass(frozen=True)
class Qrels:
    """`grades` are the relevant documents of every query, with scores of 1 and more; `counts` what was left out."""

    grades: Mapping[str, Mapping[str, int]]
    counts: Mapping[str, int]


def read_corpus(file: Path, title_separator: str | None) -> Documents:
    """The documents in the order of the file. A title that is not empty is put before its text, with the separator
    between them; with None it is kept beside the text alone.
    """
    ids, titles, texts = [], [], []
    for where, record in read_records(file, _EXPECTED_CORPUS):
        title, text = optional_text(record, "title", where), required_text(record, "text", where)
        ids.append(required_text(record, "_id", where))
        titles.append(title)
        texts.append(text if title_separator is None or not title else f"{title}{title_separator}{text}")
    return Documents(ids, titles, texts)


def read_queries(file: Path) -> dict[str, str]:
    """Texts by id, in the order of the file. Raises DataError for an id that occurs twice."""
    queries: dict[str, str] = {}
    for where, record in read_records(file, _EXPECTED_QUERIES):
        query_id = required_text(record, "_id", where)
        if query_id in queries:
            raise DataError(f"{where}: the query id '{query_id}' occurred before. Ids must be unique: remove one.")
        queries[query_id] = required_text(record, "text", where)
    return queries


def read_qrels(file: Path) -> Qrels:
    """The judgements, with either header or none. Scores below 1 say that a document is not relevant: they are counted.

    Raises DataError with the line for a row that is none, and for a document that has two scores for one query.
    """
    scores: dict[tuple[str, str], int] = {}
    counts = Counter(n_qrels_not_relevant=0, n_qrels_repeated=0)
    for number, line in read_lines(file, _EXPECTED_QRELS):
        cells = line.split("\t")
        if not line.strip() or (number == 1 and cells in _HEADERS):
            continue
        where = f"{file}, line {number}"
        pair, score = _judgement(cells, where)
        if scores.get(pair, score) != score:
            raise DataError(
                f"{where}: document '{pair[1]}' has the score {score} for query '{pair[0]}', and had {scores[pair]} "
                "before. Wanted: one score. Remove a line."
            )
        counts["n_qrels_repeated"] += pair in scores
        scores[pair] = score
    grades: dict[str, dict[str, int]] = {}
    for (query_id, document_id), score in scores.items():
        counts["n_qrels_not_relevant"] += score < 1
        if score >= 1:
            grades.setdefault(query_id, {})[document_id] = score
    return Qrels(grades, counts)


def _judgement(cells: list[str], where: str) -> tuple[tuple[str, str], int]:
    if len(cells) != 3:
        raise DataError(f"{where}: {len(cells)} columns came, three were wanted. Wanted: {_EXPECTED_QRELS}.")
    query_id, document_id, score = (cell.strip() for cell in cells)
    try:
        return (query_id, document_id), int(score)
    except ValueError as error:
        raise DataError(f"{where}: the score {score!r} came, a whole number was wanted. Mend the line.") from error


def read_answers(file: Path) -> dict[str, tuple[str, ...]]:
    """References by query id. A list is one answer of several parts (spans, as in TAT-QA), joined by commas; a number
    becomes a text; a `scale` ("percent", "thousand") makes a second reference with the scale behind the answer.
    """
    answers: dict[str, tuple[str, ...]] = {}
    for where, record in read_records(file, _EXPECTED_ANSWERS):
        answer = _answer(record, where)
        scale = optional_text(record, "scale", where)
        references = (answer, f"{answer} {scale}") if scale else (answer,)
        answers[required_text(record, "_id", where)] = tuple(text for text in references if answer.strip())
    return answers


def _answer(record: Record, where: str) -> str:
    value = record.get("answer")
    parts = value if isinstance(value, list) else [value]
    for part in parts:
        if isinstance(part, bool) or not isinstance(part, str | int | float):
            raise DataError(f"{where}: field 'answer' holds {part!r}, wanted a string, a number, or a list of them.")
    return ", ".join(str(part) for part in parts)


def gold_of(grades: Mapping[str, int], prefix: str = "") -> tuple[Evidence, ...]:
    """The relevant documents of one query, whole, by falling grade."""
    ordered = sorted(grades.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Evidence(f"{prefix}{document_id}", grade=grade) for document_id, grade in ordered)


def share_labelled(samples: list[Sample]) -> float:
    """The share of samples that have gold, to four digits; 0 without samples."""
    return round(sum(bool(sample.gold) for sample in samples) / len(samples), 4) if samples else 0.0
