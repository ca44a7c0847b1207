"""The bundled benchmark: fictional Chinese news (CRUD-RAG's subsets) and finance texts (OmniEval's topics and tasks).
The English one (demo_en.py) has the same format.

Lines of documents.jsonl: {"id", "title", "text"}.

Lines of samples.jsonl: {"id", "subset", "topic", "task", "question", "history": [{"question", "answer"}],
"references": [str], "gold": [{"document", "quote"}], "answerable"}. A quote is the evidence, and occurs exactly once in
its document's text. A quote of null means the whole document. "answerable" is optional, and false for a question that
the documents do not answer.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import ClassVar

from components.clusters import Groups, groups_field
from components.datasets.answer_fields import read_answerable
from components.datasets.assembly import assemble, limit_and_count, require_gold_in_corpus
from components.datasets.data_files import sha256_of_files
from components.datasets.json_fields import (
    Record,
    as_list,
    as_record,
    optional_text,
    read_records,
    required_text,
    required_texts,
)
from components.datasets.labels import CRUD_LABELS, FINANCE_LABELS, TASK_LABELS, TOPIC_LABELS
from components.datasets.subsampling import limit_problems
from components.errors import ConfigError, DataError
from components.records import Benchmark, Documents, Evidence, Kind, Sample, Turn

EXPECTED = "the bundled benchmark, which is part of the installed package"

_KINDS = {
    "create/continuation": Kind.CONTINUATION,
    "delete/summarization": Kind.SUMMARIZATION,
    "update/hallucination": Kind.CORRECTION,
    "conversational": Kind.CONVERSATION,
    "long_form": Kind.LONG_FORM,
}
"""Kinds of samples by subset, or by task for the subset finance. All other samples are QA."""


@dataclass(frozen=True)
class Demo:
    """The bundled benchmark, complete or limited to some samples of every subset."""

    version: ClassVar[int] = 1
    data_folder: ClassVar[str] = "demo_data"
    labels: ClassVar[Mapping[str, str]] = {**CRUD_LABELS, **FINANCE_LABELS, **TOPIC_LABELS, **TASK_LABELS}

    limit: int | None = None
    limit_seed: int = 0
    max_documents: int | None = None
    groups: Groups = groups_field()

    @property
    def name(self) -> str:
        return "demo"

    def check(self) -> list[str]:
        """Return one message per error in the two limits."""
        return limit_problems(self.limit, self.max_documents)

    def fingerprint(self) -> str:
        """Return the SHA-256 of the files of documents and samples."""
        with ExitStack() as stack:
            paths = {name: bundled_file(name, stack, self.data_folder) for name in ("documents.jsonl", "samples.jsonl")}
            return sha256_of_files(paths, EXPECTED)

    def load(self) -> Benchmark:
        """Return all documents, and the samples up to the limit. Raises ConfigError if `check` finds an error."""
        if problems := self.check():
            raise ConfigError(problems)
        with ExitStack() as stack:
            documents = bundled_file("documents.jsonl", stack, self.data_folder)
            benchmark = read_demo(documents, bundled_file("samples.jsonl", stack, self.data_folder), self.labels)
        return limit_and_count(benchmark, self.limit, self.limit_seed, self.max_documents)


def read_demo(documents_file: Path, samples_file: Path, labels: Mapping[str, str]) -> Benchmark:
    """Read files in the format of the bundled files.

    Raises DataError for errors in the files, and for gold that is not in the corpus.
    """
    documents = read_demo_documents(documents_file)
    texts = dict(zip(documents.ids, documents.texts, strict=True))
    samples = [_read_sample(record, texts, location) for location, record in read_records(samples_file, EXPECTED)]
    benchmark = assemble(str(samples_file.parent), documents, samples, labels, {})
    require_gold_in_corpus(benchmark, str(samples_file))
    return benchmark


def bundled_file(name: str, stack: ExitStack, folder: str = Demo.data_folder) -> Path:
    """Return the path of a bundled file, which exists while the stack is open."""
    return stack.enter_context(as_file(files("components.datasets") / folder / name))


def read_demo_documents(file: Path) -> Documents:
    """Read documents in the format of the bundled file.

    Raises DataError if it cannot be read or a record lacks a field.
    """
    records = list(read_records(file, EXPECTED))
    ids, titles, texts = (
        [required_text(record, key, location) for location, record in records] for key in ("id", "title", "text")
    )
    return Documents(ids, titles, texts)


def _read_sample(record: Record, texts: dict[str, str], location: str) -> Sample:
    sample_id = required_text(record, "id", location)
    location = f"{location} (id {sample_id})"
    subset = required_text(record, "subset", location)
    task = optional_text(record, "task", location) or None
    turns = [as_record(turn, location) for turn in as_list(record.get("history", []), location)]
    return Sample(
        id=sample_id,
        subset=subset,
        kind=_KINDS.get(task or subset, Kind.QA),
        question=required_text(record, "question", location),
        references=required_texts(record, "references", location),
        gold=tuple(
            _evidence(as_record(gold, location), texts, location) for gold in as_list(record.get("gold", []), location)
        ),
        topic=optional_text(record, "topic", location) or None,
        task=task,
        history=tuple(
            Turn(required_text(t, "question", location), required_text(t, "answer", location)) for t in turns
        ),
        answerable=read_answerable(record, location),
    )


def _evidence(gold: Record, texts: dict[str, str], location: str) -> Evidence:
    """Return the span of a quote as evidence. Raises DataError unless the quote occurs exactly once in its document."""
    document_id = required_text(gold, "document", location)
    quote = optional_text(gold, "quote", location)
    if not quote or document_id not in texts:
        return Evidence(document_id)
    n_places = texts[document_id].count(quote)
    if n_places != 1:
        raise DataError(
            f"{location}: the quote '{quote}' of the gold occurs {n_places} times in document {document_id!r}, "
            "expected once"
        )
    start = texts[document_id].index(quote)
    return Evidence(document_id, start, start + len(quote))
