"""Metrics of rankings, contexts and answers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from components.json_value import Json
from components.protocols.component import Component
from components.protocols.language_models import LLM, Ask
from components.records import Context, Documents, JudgeInput, Judgements, PassagePlaces, Sample, Scores, TextsWithUnits


class Metric(Component, Protocol):
    """Members that all kinds of metrics share.

    Values are shares in [0, 1], and confidence intervals stay inside that range. Metrics with other values, such as
    counts and cosines, have a class variable `is_share = False`.
    """

    @property
    def larger_is_better(self) -> bool | None:
        """True if larger values of all `names` are better, False if smaller ones are.

        None if neither is better, as for a length; such a metric ranks nothing. Results store this value, so that
        readers need not know the metric by name. A class variable suffices.
        """

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the metrics that this component computes, e.g. ("rouge_l",) or ("ndcg@5", "ndcg@10")."""

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the metric as float64[...], computed from sums of statistics, float64[..., d].

        The value is NaN where the metric is undefined, never infinite. If it is NaN for all samples together although
        at least one sample has a score, the run ends with an error.
        """


@runtime_checkable
class TextForm(Component, Protocol):
    """A component that splits texts into the units that metrics compare: words, characters, or the whole normalized
    text.
    """

    def units(self, texts: Sequence[str]) -> Iterator[Sequence[str]]:
        """Yield the units of each text lazily, in order; none if it has nothing to compare."""


@runtime_checkable
class AnswerMetric(Metric, Protocol):
    """A metric of generated answers."""

    @property
    def form(self) -> TextForm | None:
        """Set for metrics that compare units: `TextsWithUnits.units` is filled for answers and references."""

    def score_answers(
        self, samples: Sequence[Sample], answers: TextsWithUnits, references: TextsWithUnits
    ) -> dict[str, Scores]:
        """Return one Scores per name.

        `answers` has one answer per sample, "" for an empty or refused one. Failed answers are not passed in.
        `references` lists the references of all samples consecutively: sample i has the next len(sample.references).
        """


@runtime_checkable
class RankingMetric(Metric, Protocol):
    """A metric of document rankings. A copy of a gold document counts as that document, unless the metric has a
    `strict` that is true.
    """

    def score_rankings(
        self, rankings: Sequence[Sequence[str]], relevant: Sequence[Mapping[str, int]]
    ) -> dict[str, Scores]:
        """Return one Scores per name.

        `rankings` has, per sample, distinct document ids, best first. `relevant` has the grades (> 0) of the gold
        documents in the corpus; an empty mapping leads to the state NO_GOLD.
        """


@runtime_checkable
class ContextMetric(Metric, Protocol):
    """A metric of the evidence in the prompt. `spans` include gold found in copies, unless the metric has a `strict`
    that is true. A metric that reads the tokens of the context has a `reads_tokens` that is true: it does not apply to
    a custom pipeline, whose tokens are not known.
    """

    def score_contexts(
        self,
        samples: Sequence[Sample],
        documents: Documents,
        spans: Sequence[Sequence[tuple[int, int, int]]],
        context: Context,
    ) -> dict[str, Scores]:
        """Return one Scores per name. `spans` has, per sample, (document position, start, end) of each chunk in the
        context.
        """


@runtime_checkable
class CitationMetric(Metric, Protocol):
    """A metric of the passages that an answer cites.

    `passages` include the places of copied gold in `copied`, unless the metric has a `strict` that is true.
    """

    def score_citations(
        self,
        samples: Sequence[Sample],
        documents: Documents,
        answers: Sequence[str],
        passages: Sequence[Sequence[PassagePlaces]],
    ) -> dict[str, Scores]:
        """Return one Scores per name.

        `answers` has one answer per sample, "" for an empty or refused one. Failed answers are not passed in.
        `passages` has the passages of each prompt in order, so that [1] cites the first.
        """


JudgePreparation = Mapping[str, Json]
"""JSON by sample id: the decisions that a judge bases on questions and references alone."""


@runtime_checkable
class JudgedMetric(Metric, Protocol):
    """A metric with which a language model judges answers, or the passages in their prompts."""

    @property
    def llm(self) -> LLM:
        """The language model of its requests."""

    @property
    def reads_answers(self) -> bool:
        """False for a judge of passages alone. `JudgeInput.answer` is then "", and cells with equal contexts share the
        judgement.
        """

    @property
    def n_rounds_to_prepare(self) -> int:
        """Maximum number of consecutive rounds of requests per sample in `prepare`; 0 for no requests."""

    def n_requests_per_sample(self, n_passages: int) -> int:
        """Return the maximum number of requests of `judge` for a sample with `n_passages` passages, without retries."""

    def prepare(self, samples: Sequence[Sample], ask: Ask) -> JudgePreparation:
        """Return the decisions that all answers share, {} if there are none. They depend on questions and references
        only, are computed once, and are cached.
        """

    def judge(self, judged: Sequence[JudgeInput], prepared: JudgePreparation, ask: Ask) -> Judgements:
        """Return one Scores per name.

        A request that failed permanently leads to the state FAILED. A reply that cannot be parsed after a retry leads
        to UNPARSABLE. Neither becomes a number.
        """


@runtime_checkable
class JudgesByGold(JudgedMetric, Protocol):
    """A judge that may prepare from the gold evidence of samples in place of their references."""

    @property
    def reads_gold(self) -> bool:
        """True if it does: `prepare_by_gold` is then called in place of `prepare`."""

    def prepare_by_gold(self, samples: Sequence[Sample], gold: Sequence[Sequence[str]], ask: Ask) -> JudgePreparation:
        """Return the preparation of each sample. `gold` has the texts of its gold evidence in the corpus."""
