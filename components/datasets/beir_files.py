"""The files of a data set in BEIR's layout: corpus.jsonl, queries.jsonl, qrels, and reference answers next to them.

Source: Thakur et al. 2021, "BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation of Information Retrieval Models".
All errors are DataError.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from components.datasets.data_files import read_lines, require_file
from components.datasets.json_fields import Record, optional_text, read_records, required_id, required_text
from components.errors import DataError
from components.records import Documents

CORPUS, QUERIES, ANSWERS = "corpus.jsonl", "queries.jsonl", "answers.jsonl"

_EXPECTED_CORPUS = "BEIR's corpus, one document {_id, title, text} per line"
_EXPECTED_QUERIES = "BEIR's queries, one {_id, text} per line"
_EXPECTED_QRELS = "BEIR's qrels, lines of query id, document id and score with tabs between them"
_EXPECTED_ANSWERS = "reference answers, one {_id, answer} per line"
_HEADERS = (["query-id", "corpus-id", "score"], ["query_id", "corpus_id", "score"])


@dataclass(frozen=True)
class Qrels:
    """Relevance judgements: `scores` by query id and document id, and the number `n_repeated` of duplicate lines.

    A score below 1 means not relevant.
    """

    scores: Mapping[str, Mapping[str, int]]
    n_repeated: int


def read_corpus(file: Path, title_separator: str | None) -> Documents:
    """Return the documents in the order of the file. Each text begins with its title and the separator.

    A blank title or text is left out together with the separator. With the separator None, the title is not part of the
    text. Raises DataError if no document has a text.
    """
    ids, titles, texts = [], [], []
    for location, record in read_records(file, _EXPECTED_CORPUS):
        title, text = optional_text(record, "title", location), required_text(record, "text", location)
        ids.append(required_id(record, location, "_id"))
        titles.append(title)
        texts.append(text if title_separator is None else title_separator.join(filter(str.strip, (title, text))))
    if not any(text.strip() for text in texts):
        raise DataError(f"{file}: none of its {len(texts)} documents has a text, expected {_EXPECTED_CORPUS}")
    return Documents(ids, titles, texts)


def read_queries(file: Path) -> dict[str, str]:
    """Return texts by id, in the order of the file. Raises DataError for a duplicate id and a file without queries."""
    queries: dict[str, str] = {}
    for location, record in read_records(file, _EXPECTED_QUERIES):
        queries[_new_id(record, queries, location)] = required_text(record, "text", location)
    if not queries:
        raise DataError(f"{file}: contains no query, expected {_EXPECTED_QUERIES}")
    return queries


def read_qrels(file: Path) -> Qrels:
    """Return the judgements of a file with one of BEIR's headers or without a header.

    Raises DataError for an empty file, with the line for a row that is not a judgement, and for two different
    scores of a document for one query.
    """
    if not require_file(file, _EXPECTED_QRELS).stat().st_size:
        raise DataError(f"{file}: is empty, expected {_EXPECTED_QRELS}. Fetch it again.")
    scores: dict[str, dict[str, int]] = {}
    n_repeated = 0
    for number, line in read_lines(file, _EXPECTED_QRELS):
        cells = line.split("\t")
        if not line.strip() or (number == 1 and cells in _HEADERS):
            continue
        location = f"{file}, line {number}"
        query_id, document_id, score = _judgement(cells, location)
        query_scores = scores.setdefault(query_id, {})
        if query_scores.get(document_id, score) != score:
            raise DataError(
                f"{location}: document {document_id!r} has the score {score} for query {query_id!r}, but an "
                f"earlier line says {query_scores[document_id]}, expected one score. Remove a line."
            )
        n_repeated += document_id in query_scores
        query_scores[document_id] = score
    return Qrels(scores, n_repeated)


def _judgement(cells: list[str], location: str) -> tuple[str, str, int]:
    if len(cells) != 3:
        raise DataError(f"{location}: got {len(cells)} columns, expected {_EXPECTED_QRELS}")
    query_id, document_id, score = (cell.strip() for cell in cells)
    try:
        return query_id, document_id, int(score)
    except ValueError as error:
        raise DataError(f"{location}: got the score {score!r}, expected a whole number. Correct the line.") from error


def read_answers(file: Path) -> dict[str, tuple[str, ...]]:
    """Return references by query id, () for a blank answer, null or NaN, which pandas writes for a missing value.

    A list is one answer in several parts, joined by commas: the spans of a TAT-QA answer are parts, not alternatives. A
    number becomes a string. If the answer lacks its `scale` ("percent", "thousand"), a second reference has the scale
    after the answer. Raises DataError for a duplicate id.
    """
    answers: dict[str, tuple[str, ...]] = {}
    for location, record in read_records(file, _EXPECTED_ANSWERS):
        answer, scale = _answer(record, location), optional_text(record, "scale", location)
        scaled = [f"{answer} {scale}"] if scale and scale not in answer else []
        answers[_new_id(record, answers, location)] = (answer, *scaled) if answer else ()
    return answers


def _new_id(record: Record, known: Mapping[str, object], location: str) -> str:
    query_id = required_id(record, location, "_id")
    if query_id in known:
        raise DataError(
            f"{location}: the query id {query_id!r} is already on an earlier line. Ids must be unique. Remove one of "
            "the lines."
        )
    return query_id


def _answer(record: Record, location: str) -> str:
    if "answer" not in record:
        raise DataError(f"{location}, field 'answer': missing, expected {_EXPECTED_ANSWERS}")
    value = record["answer"]
    parts = [part for part in (value if isinstance(value, list) else [value]) if not _is_missing(part)]
    for part in parts:
        if isinstance(part, bool) or not isinstance(part, str | int | float) or part in (math.inf, -math.inf):
            raise DataError(f"{location}, field 'answer': got {part!r}, expected a string, a number, or a list of them")
    return ", ".join(filter(str.strip, map(str, parts)))


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))
