"""English documents with questions and answers, from FinanceRAG's sets that have a corpus.

A document is a part of a financial report. Each answer occurs in one document, and nowhere else, so a retrieved text
that contains it is a hit, whatever its tool calls a chunk.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

_SETS = ("FinQABench", "FinanceBench", "TATQA")
_ANSWERED = ("FinanceBench", "TATQA")
_MIN_CHARACTERS = 20
"""Shorter answers, such as a year, occur in many documents by chance."""


@dataclass(frozen=True)
class Question:
    """A question, its answer, and the number of the only document that contains the answer."""

    id: str
    text: str
    answer: str
    document: int


@dataclass(frozen=True)
class Corpus:
    """Documents by number, and the questions about them."""

    documents: Sequence[str]
    questions: Sequence[Question]

    def write(self, folder: Path) -> None:
        """Write documents.jsonl and samples.jsonl, in rag-grid's own layout."""
        folder.mkdir(parents=True, exist_ok=True)
        documents = [{"id": str(number), "text": text} for number, text in enumerate(self.documents)]
        samples = [
            {
                "id": question.id,
                "question": question.text,
                "references": [question.answer],
                "gold": [{"document": str(question.document), "quote": question.answer}],
            }
            for question in self.questions
        ]
        _write_rows(folder / "documents.jsonl", documents)
        _write_rows(folder / "samples.jsonl", samples)


def read(root: Path, n_documents: int, n_questions: int, n_characters: int) -> Corpus:
    """Return `n_documents` documents of at most `n_characters`, and `n_questions` questions, from FinanceRAG's folder.

    Raises ValueError if there are too few.
    """
    parts = [part for name in _SETS for part in _parts(root / name, n_characters)]
    texts = [text for _, text in parts]
    found = list(_questions(root, parts))[:n_questions]
    wanted = {question.document for question in found}
    others = [number for number in range(len(texts)) if number not in wanted]
    n_others = n_documents - len(wanted)
    if len(found) < n_questions or not 0 <= n_others <= len(others):
        raise ValueError(
            f"{root}: {len(texts)} documents and {len(found)} questions, expected at least {n_documents} and "
            f"{n_questions}"
        )
    spread = {others[place * len(others) // n_others] for place in range(n_others)}
    chosen = sorted(wanted | spread)
    number_of = {old: new for new, old in enumerate(chosen)}
    questions = [replace(question, document=number_of[question.document]) for question in found]
    return Corpus([texts[number] for number in chosen], questions)


def _parts(folder: Path, n_characters: int) -> Iterator[tuple[str, str]]:
    """Yield the id of each document of a set, with each of its parts. A part ends with a sentence or a cell."""
    for row in _rows(folder / "corpus.jsonl"):
        part = ""
        for sentence in re.split(r"(?<=[.!?;|:]) ", " ".join(str(row["text"]).split())):
            if part and len(part) + 1 + len(sentence) > n_characters:
                yield str(row["_id"]), part
                part = ""
            part = f"{part} {sentence}" if part else sentence
            while len(part) > n_characters:
                yield str(row["_id"]), part[:n_characters].strip()
                part = part[n_characters:].strip()
        if part:
            yield str(row["_id"]), part


def _questions(root: Path, parts: Sequence[tuple[str, str]]) -> Iterator[Question]:
    """Yield the questions whose answer is a span that occurs once, in a part of a gold document."""
    joined = "\n".join(text for _, text in parts)
    asked: set[str] = set()
    for name in _ANSWERED:
        texts = {str(row["_id"]): " ".join(str(row["text"]).split()) for row in _rows(root / name / "queries.jsonl")}
        gold = [line.split("\t") for line in (root / name / "qrels_full.tsv").read_text("utf-8").splitlines()[1:]]
        judged = {(query, document) for query, document, _ in gold}
        for row in _rows(root / name / "answers.jsonl"):
            query, answer = str(row["_id"]), _span(row["answer"])
            if len(answer) < _MIN_CHARACTERS or joined.count(answer) != 1 or texts[query] in asked:
                continue
            places = [number for number, (_, text) in enumerate(parts) if answer in text]
            if len(places) == 1 and (query, parts[places[0]][0]) in judged:
                asked.add(texts[query])
                yield Question(query, texts[query], answer, places[0])


def _span(answer: object) -> str:
    """Return an answer of one span, "" for others."""
    if isinstance(answer, list) and len(answer) == 1:
        answer = answer[0]
    return " ".join(answer.split()) if isinstance(answer, str) else ""


def _rows(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _write_rows(file: Path, rows: Sequence[object]) -> None:
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
