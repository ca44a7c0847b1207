"""Everything that can be counted in a benchmark before anything is run on it."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from components.json_value import Json
from components.records import Benchmark, Sample
from components.text.near_duplicates import SHINGLE_CHARACTERS, THRESHOLD, count_near_duplicates
from runner.testset.describing.question_leaks import count_leaks


def describe_benchmark(name: str, benchmark: Benchmark) -> dict[str, Json]:
    """Sizes, lengths, subsets, the matrix of counts, gold, duplicates, leaks and the loader's notes, as JSON values.

    `lengths` are in characters: min, median, mean, p99, max (None for nothing). `matrix` is {topic: {task: samples}}.
    """
    documents, samples = benchmark.documents, benchmark.samples
    return {
        "name": name,
        "n_documents": len(documents),
        "n_samples": len(samples),
        "lengths": {
            "documents": lengths_of(documents.texts),
            "questions": lengths_of(sample.question for sample in samples),
            "references": lengths_of(reference for sample in samples for reference in sample.references),
        },
        "subsets": _subsets(samples),
        "matrix": _matrix(samples),
        "labels": dict(benchmark.labels),
        "gold": _gold(benchmark),
        "duplicates": _duplicates(documents.texts),
        "leaks": count_leaks(benchmark),
        "notes": dict(benchmark.notes),
    }


def lengths_of(texts: Iterable[str]) -> dict[str, float | None]:
    """In characters: min, median, mean, p99, max; None for no texts."""
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
    """Per subset: samples, how many of them have references and gold, and their kinds."""
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
    """How much of the gold is in the corpus, the only place where it can be found, and how many of its documents are
    there only because the loader added them.
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
    """Documents that repeat an earlier one (ignoring white space), and the share that have a near-duplicate."""
    distinct = list(dict.fromkeys("".join(text.split()) for text in texts))
    n_near = count_near_duplicates(distinct)
    return {
        "n_exact": len(texts) - len(distinct),
        "n_near": n_near,
        "share_near": round(n_near / len(distinct), 4) if distinct else 0.0,
        "method": f"MinHash, runs of {SHINGLE_CHARACTERS} characters, Jaccard similarity {THRESHOLD} or more",
    }
