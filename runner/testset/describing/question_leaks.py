"""Samples whose question gives away more than it should, and gold that is too easy to find from it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from components.records import Benchmark, Sample

_SHORTEST_ANSWER = 6
"""Shorter references (a year, a name, "yes") occur in questions without giving the answer away."""


def count_leaks(benchmark: Benchmark) -> dict[str, int]:
    """Numbers of samples, ignoring white space in all texts:

    - `reference_equals_question`, and `reference_within_question` for references of 6 characters and more;
    - `gold_equals_question`: a gold document or passage is the question, or the query or expansion that comes with it;
      `question_within_gold`: it contains the question, and more;
    - `equal_questions_other_references`: another sample asks the same question, and its references
      differ, if only in wording.
    """
    texts = dict(zip(benchmark.documents.ids, benchmark.documents.texts, strict=True))
    counts = dict.fromkeys(
        ("reference_equals_question", "reference_within_question", "gold_equals_question", "question_within_gold"), 0
    )
    for sample in benchmark.samples:
        question = _plain(sample.question)
        references = [_plain(reference) for reference in sample.references]
        asked = {question, _plain(sample.query), _plain(sample.expansion)} - {""}
        gold = _gold_texts(sample, texts)
        counts["reference_equals_question"] += question in references
        counts["reference_within_question"] += any(
            len(reference) >= _SHORTEST_ANSWER and reference in question and reference != question
            for reference in references
        )
        counts["gold_equals_question"] += not asked.isdisjoint(gold)
        counts["question_within_gold"] += any(question in text and question != text for text in gold)
    return {**counts, "equal_questions_other_references": _contradictions(benchmark.samples)}


def _gold_texts(sample: Sample, texts: Mapping[str, str]) -> list[str]:
    """The gold passages that are in the corpus."""
    return [_plain(texts[unit.document_id][unit.start : unit.end]) for unit in sample.gold if unit.document_id in texts]


def _contradictions(samples: Sequence[Sample]) -> int:
    by_question: dict[tuple[str, ...], list[tuple[str, ...]]] = defaultdict(list)
    for sample in samples:
        asked = (sample.corpus_prefix, *(_plain(turn.question) for turn in sample.history), _plain(sample.question))
        by_question[asked].append(tuple(map(_plain, sample.references)))
    return sum(len(references) for references in by_question.values() if len(set(references)) > 1)


def _plain(text: str) -> str:
    return "".join(text.split())
