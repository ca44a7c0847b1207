"""Describes a benchmark by everything that can be counted before a sweep: sizes, gold, duplicates, and questions that
give their answer away.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from components.json_value import Json
from components.records import Benchmark, Sample
from components.text.similar_documents import SHINGLE_CHARACTERS, THRESHOLD, count_near_duplicates

_MIN_ANSWER_CHARACTERS = 6
"""Shorter references (a year, a name, "yes") occur in questions without giving the answer away."""


def describe_benchmark(name: str, benchmark: Benchmark) -> dict[str, Json]:
    """Return sizes, lengths, subsets, the matrix of counts, gold, duplicates, leaks and the loader's notes, as JSON
    values.

    `lengths` are in characters: min, median, mean, p99, max, each None if there are no texts. `matrix` is {topic:
    {task: samples}}.
    """
    documents, samples = benchmark.documents, benchmark.samples
    return {
        "name": name,
        "n_documents": len(documents),
        "n_samples": len(samples),
        "lengths": {
            "documents": summarize_lengths(documents.texts),
            "questions": summarize_lengths(sample.question for sample in samples),
            "references": summarize_lengths(reference for sample in samples for reference in sample.references),
        },
        "subsets": _subsets(samples),
        "matrix": _matrix(samples),
        "labels": dict(benchmark.labels),
        "gold": _gold(benchmark),
        "duplicates": _duplicates(documents.texts),
        "leaks": count_leaks(benchmark),
        "notes": dict(benchmark.notes),
    }


def summarize_lengths(texts: Iterable[str]) -> dict[str, float | None]:
    """Return min, median, mean, p99 and max of the lengths in characters, each None if there are no texts."""
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    if not len(lengths):
        return dict.fromkeys(("min", "median", "mean", "p99", "max"))
    return {
        "min": int(lengths.min()),
        "median": float(np.median(lengths)),
        "mean": round(float(lengths.mean()), 1),
        "p99": round(float(np.quantile(lengths, 0.99)), 1),
        "max": int(lengths.max()),
    }


def _subsets(samples: Iterable[Sample]) -> dict[str, dict[str, Json]]:
    """Return by subset the number of samples, of samples with references and with gold, and of each kind."""
    subsets: dict[str, dict[str, Json]] = {}
    for sample in samples:
        entry = subsets.setdefault(
            sample.subset, {"n_samples": 0, "n_with_references": 0, "n_with_gold": 0, "kinds": Counter()}
        )
        entry["n_samples"] += 1
        entry["n_with_references"] += any(reference.strip() for reference in sample.references)
        entry["n_with_gold"] += bool(sample.gold)
        entry["kinds"][sample.kind.value] += 1
    return {name: {**entry, "kinds": dict(entry["kinds"])} for name, entry in subsets.items()}


def _matrix(samples: Iterable[Sample]) -> dict[str, dict[str, int]]:
    matrix: dict[str, dict[str, int]] = {}
    for sample in samples:
        if sample.topic and sample.task:
            row = matrix.setdefault(sample.topic, {})
            row[sample.task] = row.get(sample.task, 0) + 1
    return matrix


def _gold(benchmark: Benchmark) -> dict[str, Json]:
    """Count the gold that is in the corpus, the only gold that a search can find, and the gold documents that only the
    loader added.
    """
    known = set(benchmark.documents.ids)
    samples = benchmark.samples
    units = [unit for sample in samples for unit in sample.gold]
    return {
        "n_samples_with_gold": sum(bool(sample.gold) for sample in samples),
        "n_samples_with_gold_in_corpus": sum(
            any(unit.document_id in known for unit in sample.gold) for sample in samples
        ),
        "n_samples_with_alternatives": sum(any(unit.one_of for unit in sample.gold) for sample in samples),
        "n_units": len(units),
        "n_units_in_corpus": sum(unit.document_id in known for unit in units),
        "n_gold_documents": len({unit.document_id for unit in units} & known),
        "n_gold_documents_added_by_loader": benchmark.notes.get("n_gold_added", 0),
    }


def _duplicates(texts: Sequence[str]) -> dict[str, Json]:
    """Count the documents that repeat an earlier one (ignoring whitespace), and those that have a near-duplicate."""
    distinct = list(dict.fromkeys("".join(text.split()) for text in texts))
    n_near = count_near_duplicates(distinct)
    return {
        "n_exact": len(texts) - len(distinct),
        "n_near": n_near,
        "share_near": round(n_near / len(distinct), 4) if distinct else 0.0,
        "method": f"MinHash, runs of {SHINGLE_CHARACTERS} characters, Jaccard similarity {THRESHOLD} or more",
    }


def count_leaks(benchmark: Benchmark) -> dict[str, int]:
    """Count samples whose question gives too much away, ignoring whitespace in all texts:

    - `reference_equals_question`, and `reference_within_question` for references of at least 6 characters;
    - `gold_equals_question`: a gold document or passage equals the question, its query or its expansion;
      `question_within_gold`: it contains the question and more;
    - `equal_questions_other_references`: another sample asks the same question, and its references
      differ, perhaps only in wording.
    """
    texts = dict(zip(benchmark.documents.ids, benchmark.documents.texts, strict=True))
    counts = dict.fromkeys(
        ("reference_equals_question", "reference_within_question", "gold_equals_question", "question_within_gold"), 0
    )
    for sample in benchmark.samples:
        question = _plain(sample.question)
        references = [_plain(reference) for reference in sample.references]
        questions = {question, _plain(sample.query), _plain(sample.expansion)} - {""}
        gold = _gold_texts(sample, texts)
        counts["reference_equals_question"] += question in references
        counts["reference_within_question"] += any(
            len(reference) >= _MIN_ANSWER_CHARACTERS and reference in question and reference != question
            for reference in references
        )
        counts["gold_equals_question"] += not questions.isdisjoint(gold)
        counts["question_within_gold"] += any(question in text and question != text for text in gold)
    return {**counts, "equal_questions_other_references": _count_contradictions(benchmark.samples)}


def _gold_texts(sample: Sample, texts: Mapping[str, str]) -> list[str]:
    """Return the gold passages that are in the corpus."""
    return [_plain(texts[unit.document_id][unit.start : unit.end]) for unit in sample.gold if unit.document_id in texts]


def _count_contradictions(samples: Sequence[Sample]) -> int:
    by_question: dict[tuple[str, ...], list[tuple[str, ...]]] = defaultdict(list)
    for sample in samples:
        key = (sample.corpus_prefix, *(_plain(turn.question) for turn in sample.history), _plain(sample.question))
        by_question[key].append(tuple(map(_plain, sample.references)))
    return sum(len(references) for references in by_question.values() if len(set(references)) > 1)


def _plain(text: str) -> str:
    return "".join(text.split())
