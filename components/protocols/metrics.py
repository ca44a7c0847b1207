"""What is measured of rankings, contexts and answers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from components.protocols.component import Component
from components.protocols.language_models import LLM, Ask
from components.records import Context, Documents, JudgeInput, Judgements, PassagePlaces, Sample, Scores, TextsWithUnits


class Metric(Component, Protocol):
    """What metrics of all kinds share. `combine` turns sums of statistics into the metric, many at once.

    Values are shares in [0, 1], and intervals stay inside, unless a metric has a class variable `is_share = False`:
    counts, and cosines.
    """

    @property
    def larger_is_better(self) -> bool | None:
        """Which values are the better ones, of all `names` alike; None where neither is, as for a length: such a metric
        ranks nothing. Results carry it, so that nobody has to know the metric by its name. A class variable will do.
        """

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the metrics that this component computes, e.g. ("rouge_l",) or ("ndcg@5", "ndcg@10")."""

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """float64[...] from sums float64[..., d]; NaN where it is undefined, never infinite. NaN for all samples
        together ends the run with an error if any sample has a score.
        """


@runtime_checkable
class TextForm(Component, Protocol):
    """How texts are taken apart to be compared: words, characters, or the whole text in a normal form."""

    def units(self, texts: Sequence[str]) -> Iterator[Sequence[str]]:
        """Per text its units in order, lazily; none for a text that holds nothing to compare."""


@runtime_checkable
class AnswerMetric(Metric, Protocol):
    """Scores generated texts."""

    @property
    def form(self) -> TextForm | None:
        """Set for metrics that compare units: `TextsWithUnits.units` is filled for answers and references."""

    def score_answers(
        self, samples: Sequence[Sample], answers: TextsWithUnits, references: TextsWithUnits
    ) -> dict[str, Scores]:
        """One Scores per name. `answers`: one per sample, "" for an empty or refused one; failed ones are not passed
        in. `references`: those of all samples in a row, so that sample i owns the next len(sample.references).
        """


@runtime_checkable
class RankingMetric(Metric, Protocol):
    """Scores document rankings. In these a copy of a gold document stands as the gold document itself, unless the
    metric has a `strict` that is true.
    """

    def score_rankings(
        self, rankings: Sequence[Sequence[str]], relevant: Sequence[Mapping[str, int]]
    ) -> dict[str, Scores]:
        """`rankings`: per sample, distinct document ids, best first. `relevant`: its gold documents that are in the
        corpus, with their grade (> 0); an empty mapping gives the state NO_GOLD.
        """


@runtime_checkable
class ContextMetric(Metric, Protocol):
    """Scores what reached the prompt. Spans of gold that stand in copies are among the `spans`, unless the metric has a
    `strict` that is true.
    """

    def score_contexts(
        self,
        samples: Sequence[Sample],
        documents: Documents,
        spans: Sequence[Sequence[tuple[int, int, int]]],
        context: Context,
    ) -> dict[str, Scores]:
        """`spans`: per sample, the (document position, start, end) of every chunk in the context."""


@runtime_checkable
class CitationMetric(Metric, Protocol):
    """Scores which of the passages in its prompt an answer cites. What stands in them as a copy of the gold is told,
    unless the metric has a `strict` that is true.
    """

    def score_citations(
        self,
        samples: Sequence[Sample],
        documents: Documents,
        answers: Sequence[str],
        passages: Sequence[Sequence[PassagePlaces]],
    ) -> dict[str, Scores]:
        """One Scores per name. `answers`: one per sample, "" for an empty or refused one; failed ones are not passed
        in. `passages`: those of the prompts in their order, so that [1] cites the first.
        """


JudgePreparation = Mapping[str, Any]
"""JSON: what a judge decided from questions and references alone, by sample id."""


@runtime_checkable
class JudgedMetric(Metric, Protocol):
    """Scores answers, or the passages in their prompts, by asking a language model."""

    @property
    def llm(self) -> LLM:
        """The model that is asked."""

    @property
    def reads_answers(self) -> bool:
        """False for a judge of passages alone: `JudgeInput.answer` is "", and cells with equal contexts share it."""

    @property
    def n_rounds_to_prepare(self) -> int:
        """How often `prepare` asks the model about a sample, each time after the reply before; 0 if not at all."""

    def n_requests_per_sample(self, n_passages: int) -> int:
        """Requests that `judge` makes at most for a sample with this many passages, if every reply can be read."""

    def prepare(self, samples: Sequence[Sample], ask: Ask) -> JudgePreparation:
        """What all answers share: decided once, from question and references, and kept; {} if there is nothing."""

    def judge(self, judged: Sequence[JudgeInput], prepared: JudgePreparation, ask: Ask) -> Judgements:
        """One Scores per name. A request that failed for good gives the state FAILED, a reply that cannot be read
        (after asking again) UNPARSABLE; neither becomes a number.
        """
