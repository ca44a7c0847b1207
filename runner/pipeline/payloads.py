"""How records become the parts of a stage's result, and back."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np
import pyarrow as pa

from components.records import (
    Answer,
    AnswerState,
    Benchmark,
    Context,
    Documents,
    Evidence,
    Hits,
    Kind,
    Sample,
    Segments,
    Spans,
    Terms,
    Turn,
    Units,
)
from components.text.tables import TermTable
from runner.engine.identity import key_of

Parts = dict[str, Any]


def encode_arrays(record: Any) -> Parts:
    """A record whose fields are all arrays."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


def encode_benchmark(benchmark: Benchmark) -> Parts:
    """Documents as a table, samples as JSON, and hashes of both, so that what is computed from one of them is kept when
    only the other changes.
    """
    documents = benchmark.documents
    samples = [asdict(sample) for sample in benchmark.samples]
    labels = [list(item) for item in benchmark.labels.items()]
    return {
        "content": {
            "documents": key_of([list(documents.ids), list(documents.titles), list(documents.texts)]),
            "samples": key_of([samples, labels]),
            "n_documents": len(documents),
            "n_samples": len(samples),
            "parts": sorted({sample.corpus_prefix for sample in benchmark.samples}),
        },
        "documents": pa.table(
            {
                "id": pa.array(documents.ids, pa.string()),
                "title": pa.array(documents.titles, pa.string()),
                "text": pa.array(documents.texts, pa.large_string()),
            }
        ),
        "samples": samples,
        "notes": dict(benchmark.notes),
        "labels": labels,
    }


def decode_documents(parts: Parts) -> Documents:
    """The corpus of an encoded benchmark."""
    table = parts["documents"]
    return Documents(*(table[column].to_pylist() for column in ("id", "title", "text")))


def decode_samples(parts: Parts) -> tuple[Sample, ...]:
    """The samples of an encoded benchmark."""
    return tuple(_sample(raw) for raw in parts["samples"])


def _sample(raw: dict[str, Any]) -> Sample:
    nested = {
        "kind": Kind(raw["kind"]),
        "references": tuple(raw["references"]),
        "gold": tuple(Evidence(**unit) for unit in raw["gold"]),
        "history": tuple(Turn(**turn) for turn in raw["history"]),
    }
    return Sample(**{**raw, **nested})


def decode_labels(parts: Parts) -> dict[str, str]:
    """Readable labels by slug, in the data set's order."""
    return dict(parts["labels"])


def decode_segments(parts: Parts) -> Segments:
    """Token and sentence ends."""
    return Segments(**parts)


def decode_spans(parts: Parts) -> Spans:
    """Chunks."""
    return Spans(**parts)


def encode_term_table(table: TermTable) -> Parts:
    """Arrays, and the vocabulary as a table."""
    vocabulary = pa.table({"term": pa.array(table.vocabulary, pa.string())})
    return {**encode_arrays(table), "vocabulary": vocabulary}


def decode_term_table(parts: Parts) -> TermTable:
    """The terms of a corpus."""
    return TermTable(**{**parts, "vocabulary": parts["vocabulary"]["term"].to_pylist()})


def encode_terms(terms: Terms) -> Parts:
    """Terms of passages that do not overlap."""
    return {**encode_arrays(terms), "n_vocabulary": terms.n_vocabulary}


def decode_terms(parts: Parts) -> Terms:
    """Terms of queries."""
    return Terms(**parts)


def decode_queries(parts: Parts) -> list[str]:
    """Query texts."""
    return list(parts["queries"])


def decode_units(parts: Parts) -> Units:
    """Answers or references, taken apart."""
    return Units(**parts)


def decode_hits(parts: Parts) -> Hits:
    """A ranking per query."""
    return Hits(**parts)


def decode_context(parts: Parts) -> Context:
    """The chunks in each prompt."""
    return Context(**parts)


def decode_arrays(parts: Parts) -> Mapping[str, Any]:
    """Named arrays, as they are."""
    return parts


def decode_vectors(parts: Parts) -> np.ndarray[Any, np.dtype[np.float32]]:
    """float32[n, d]."""
    return parts["vectors"]  # type: ignore[no-any-return]


def encode_answers(answers: Sequence[Answer], prompts: Sequence[str]) -> Parts:
    """One row per request, in order."""
    columns = {field.name: [getattr(answer, field.name) for answer in answers] for field in fields(Answer)}
    columns["state"] = [answer.state.value for answer in answers]
    for name in ("n_prompt_tokens", "n_completion_tokens"):
        columns[name] = pa.array(columns[name], pa.int64())
    return {"answers": pa.table({**columns, "prompt": pa.array(prompts, pa.large_string())})}


def decode_answers(parts: Parts) -> list[Answer]:
    """Answers in the order of their samples."""
    rows = parts["answers"].drop_columns(["prompt"]).to_pylist()
    return [Answer(**{**row, "state": AnswerState(row["state"])}) for row in rows]


def decode_answer_table(parts: Parts) -> pa.Table:
    """Answers with their prompts, as a table."""
    return parts["answers"]
