"""Text metrics: ROUGE-L and BLEU compared with rouge-chinese, and all metrics over 10,000 samples on one core."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks import crud_rag
from benchmarks.child import in_child
from benchmarks.measure import Bound, Measure
from benchmarks.settings import Settings

if TYPE_CHECKING:
    from components.protocols import AnswerMetric
    from components.records import Sample

_N_WORDS, _N_PAIRS, _N_SAMPLES, _N_CHARACTERS = 200, 2000, 10_000, 150
_N_PUBLISHED = 60
"""Pairs for rouge-chinese, whose time depends only on its table of 200 x 200 fields."""


@dataclass(frozen=True)
class Pairs:
    """Seconds for 2,000 pairs of 200 words, split beforehand.

    `largest_difference` compares ROUGE-L's F1 with rouge-chinese's own formula.
    """

    rouge_chinese_s: float
    rouge_l_s: float
    bleu_s: float
    largest_difference: float


def measure(settings: Settings) -> list[Measure]:
    """Run each measurement in a separate process, so that no cache carries over."""
    pairs = in_child(compare, settings).value
    all_s = in_child(score_all, settings).value
    theirs = pairs.rouge_chinese_s
    equal = f"largest difference {pairs.largest_difference:.1e}"
    scaled = f"{_N_PUBLISHED} measured for rouge-chinese"
    detail = f"{theirs:.1f} s / {pairs.rouge_l_s:.3f} s for {_N_PAIRS:,} pairs of {_N_WORDS} words ({scaled}); {equal}"
    rouge = f"{theirs:.1f} s of rouge-chinese's ROUGE-L / {pairs.bleu_s:.3f} s"
    samples = f"{_N_SAMPLES:,} samples of {_N_CHARACTERS} characters, taken apart and scored, on one core"
    return [
        Measure("ROUGE-L", theirs / pairs.rouge_l_s, "x", detail, Bound(100, at_least=True)),
        Measure("BLEU", theirs / pairs.bleu_s, "x", rouge, Bound(100, at_least=True)),
        Measure("all text metrics", all_s, "s", samples, Bound(20)),
    ]


def compare(settings: Settings) -> Pairs:
    """Score the same words by both packages."""
    from rouge_chinese import Rouge

    from components.metrics.bleu import Bleu
    from components.metrics.rouge_l import RougeL
    from components.metrics.rouge_omnieval import RougeOmniEval
    from components.records import TextsWithUnits
    from components.text.units import number_units
    from components.tokenizers.jieba_words import JiebaWords

    documents = [text for text in crud_rag.documents(settings.crud_rag, 4 * _N_PAIRS) if len(text) > 500]
    words = [found[:_N_WORDS] for found in JiebaWords().tokenize(documents[: 2 * _N_PAIRS])]
    answers, references = words[:_N_PAIRS], words[_N_PAIRS : 2 * _N_PAIRS]
    few = [[" ".join(text) for text in side[:_N_PUBLISHED]] for side in (answers, references)]
    started = time.perf_counter()
    published = Rouge(metrics=["rouge-l"]).get_scores(few[0], few[1])
    theirs = (time.perf_counter() - started) / _N_PUBLISHED * _N_PAIRS
    samples = [_sample(i, "x") for i in range(_N_PAIRS)]
    seen = [[[word for word in text if not word.isspace()] for text in side] for side in (answers, references)]
    texts = [TextsWithUnits([""] * _N_PAIRS, number_units(side)) for side in seen]
    seconds = []
    for metric in (RougeL(), Bleu()):
        started = time.perf_counter()
        metric.score_answers(samples, texts[0], texts[1])
        seconds.append(time.perf_counter() - started)
    own = RougeOmniEval().score_answers(samples, texts[0], texts[1])["rouge_l_omnieval_compat"].values
    difference = max(abs(value - score["rouge-l"]["f"]) for value, score in zip(own, published, strict=False))
    return Pairs(theirs, seconds[0], seconds[1], float(difference))


def score_all(settings: Settings) -> float:
    """Return the seconds on one core for every metric that splits texts. Metrics with a common form share its cost."""
    from components.metrics.bleu import Bleu
    from components.metrics.bleu_crud import BleuCrud
    from components.metrics.em import ExactMatch
    from components.metrics.f1 import F1
    from components.metrics.rouge_l import RougeL
    from components.metrics.rouge_omnieval import RougeOmniEval

    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    texts = crud_rag.documents(settings.crud_rag, 4 * _N_SAMPLES)
    answers = [text[:_N_CHARACTERS] for text in texts[:_N_SAMPLES]]
    references = [text[:_N_CHARACTERS] for text in texts[_N_SAMPLES : 2 * _N_SAMPLES]]
    metrics: Sequence[AnswerMetric] = [
        RougeL(), RougeL(crud_compat=True), Bleu(), BleuCrud(), RougeOmniEval(), F1(), F1(omnieval_compat=True),
        ExactMatch(), ExactMatch(omnieval_compat=True),
    ]  # fmt: skip
    started = time.perf_counter()
    _score(metrics, answers, references)
    return time.perf_counter() - started


def _score(metrics: "Sequence[AnswerMetric]", answers: Sequence[str], references: Sequence[str]) -> None:
    from components.records import TextsWithUnits
    from components.text.units import number_units

    samples = [_sample(i, reference) for i, reference in enumerate(references)]
    units = {}
    for metric in metrics:
        form = metric.form
        assert form is not None, "all of these compare units"
        if form not in units:
            units[form] = [number_units(form.units(texts)) for texts in (answers, references)]
        own, theirs = units[form]
        metric.score_answers(samples, TextsWithUnits(answers, own), TextsWithUnits(references, theirs))


def _sample(number: int, reference: str) -> "Sample":
    from components.records import Kind, Sample

    return Sample(str(number), "all", Kind.QA, "?", (reference,))
