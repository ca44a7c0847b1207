"""The contract of every metric. A metric's test inherits the suite of its kind and provides `metric`:

class TestF1(AnswerMetricContract):
    metric = F1()
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from components.protocols import AnswerMetric, CitationMetric, ContextMetric, Metric, RankingMetric
from components.records import (
    Context,
    Documents,
    Evidence,
    Kind,
    PassagePlaces,
    Sample,
    Scores,
    ScoreState,
    TextsWithUnits,
)
from components.text.units import number_units

_REFERENCES = (
    ("杭州是浙江的省会。",),
    ("会议在北京举行", "北京"),
    (),
    ("",),
    ("共有12人参加，其中3人获奖", "12人", "共12人"),
    ("Paris is the capital of France.",),
)
_ANSWERS = ("浙江的省会是杭州。", "北京", "没有参考答案", "参考答案为空", "", "The capital of France is Paris.")
_GOLD = (
    (Evidence("d1", 2, 6),),
    (Evidence("d0"), Evidence("absent", 0, 4)),
    (),
    (Evidence("absent"),),
    (Evidence("d2"), Evidence("d1", 0, 3)),
    (Evidence("d2", 1, 2),),
)
N_SAMPLES = len(_REFERENCES)

SAMPLES = tuple(
    Sample(
        f"s{i}",
        "qa",
        Kind.QA,
        "问题？",
        references=references,
        gold=gold,
        answerable=bool(references),
        fake_answers=references[:1],
    )
    for i, (references, gold) in enumerate(zip(_REFERENCES, _GOLD, strict=True))
)
DOCUMENTS = Documents(ids=("d0", "d1", "d2"), titles=("", "", ""), texts=("杭州在浙江", "北京是中国的首都", "共12人"))

_RANKINGS = (("d1", "d0"), ("d2", "d0", "d1"), ("d0",), (), (), ("d2",))
_RELEVANT: tuple[Mapping[str, int], ...] = ({"d1": 1}, {"d0": 2, "d3": 1}, {}, {}, {"d2": 1, "d1": 1}, {"d2": 1})

_SPANS = (((1, 0, 4),), ((2, 0, 2), (0, 0, 4)), ((0, 0, 5),), (), (), ((1, 0, 3), (2, 0, 4)))


class MetricContract(ABC):
    """Contract of all metrics; inherit one of the four suites below instead."""

    metric: Metric

    @abstractmethod
    def score(self, n_samples: int) -> dict[str, Scores]:
        """Scores of the first `n_samples` inputs."""

    def test_version_is_an_integer(self) -> None:
        assert isinstance(type(self.metric).version, int)

    def test_metric_declares_its_direction(self) -> None:
        assert self.metric.larger_is_better in (True, False, None)

    def test_component_is_a_frozen_hashable_dataclass(self) -> None:
        assert dataclasses.is_dataclass(self.metric)
        assert type(self.metric).__dataclass_params__.frozen
        assert hash(self.metric) == hash(dataclasses.replace(self.metric))

    def test_check_of_a_valid_component_is_empty(self) -> None:
        check = getattr(self.metric, "check", list)
        assert check() == []

    def test_metric_names_are_unique_and_not_empty(self) -> None:
        names = self.metric.names
        assert names
        assert all(names)
        assert len(set(names)) == len(names)

    def test_metric_gives_scores_for_each_of_its_names(self) -> None:
        assert tuple(self.score(N_SAMPLES)) == self.metric.names

    @pytest.mark.parametrize("n_samples", [0, 1, N_SAMPLES])
    def test_metric_gives_one_row_per_sample(self, n_samples: int) -> None:
        for scores in self.score(n_samples).values():
            assert scores.statistics.ndim == 2
            assert len(scores.statistics) == len(scores.states) == len(scores.values) == n_samples
            assert scores.statistics.dtype == scores.values.dtype == np.float64

    def test_metric_statistics_are_finite(self) -> None:
        for scores in self.score(N_SAMPLES).values():
            assert np.isfinite(scores.statistics).all()

    def test_statistics_without_a_value_are_zeros(self) -> None:
        for scores in self.score(N_SAMPLES).values():
            for row, state, value in zip(scores.statistics, scores.states, scores.values, strict=True):
                if state is not ScoreState.VALUE:
                    assert not row.any()
                    assert np.isnan(value)

    def test_statistics_with_a_value_are_not_zeros(self) -> None:
        for scores in self.score(N_SAMPLES).values():
            assert ScoreState.VALUE in scores.states
            for row, state in zip(scores.statistics, scores.states, strict=True):
                assert row.any() == (state is ScoreState.VALUE)

    def test_combine_of_a_single_row_is_its_value(self) -> None:
        for name, scores in self.score(N_SAMPLES).items():
            has_value = ~np.isnan(scores.values)
            combined = self.metric.combine(name, scores.statistics[has_value])
            np.testing.assert_allclose(combined, scores.values[has_value], rtol=1e-12)

    def test_combine_of_zeros_is_nan(self) -> None:
        for name, scores in self.score(N_SAMPLES).items():
            assert np.isnan(self.metric.combine(name, np.zeros(scores.statistics.shape[1])))

    def test_combine_accepts_an_array_of_many_sums(self) -> None:
        for name, scores in self.score(N_SAMPLES).items():
            sums = np.stack([scores.statistics.sum(axis=0), scores.statistics[0], np.zeros_like(scores.statistics[0])])
            many = self.metric.combine(name, np.stack([sums, sums[::-1]]))
            assert many.shape == (2, 3)
            np.testing.assert_array_equal(many[0], [self.metric.combine(name, row) for row in sums])
            np.testing.assert_array_equal(many[1], many[0][::-1])

    def test_metric_row_does_not_depend_on_the_rest_of_the_batch(self) -> None:
        whole, part = self.score(N_SAMPLES), self.score(2)
        for name in self.metric.names:
            np.testing.assert_allclose(part[name].statistics, whole[name].statistics[:2], rtol=1e-6)
            assert part[name].states == whole[name].states[:2]


class AnswerMetricContract(MetricContract):
    """Contract of metrics of generated texts."""

    metric: AnswerMetric

    def score(self, n_samples: int) -> dict[str, Scores]:
        return score_texts(self.metric, SAMPLES[:n_samples], _ANSWERS[:n_samples])

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.metric, AnswerMetric)


class RankingMetricContract(MetricContract):
    """Contract of metrics of document rankings."""

    metric: RankingMetric

    def score(self, n_samples: int) -> dict[str, Scores]:
        return self.metric.score_rankings(_RANKINGS[:n_samples], _RELEVANT[:n_samples])

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.metric, RankingMetric)

    def test_ranking_metric_leaves_out_only_samples_without_gold(self) -> None:
        for scores in self.score(N_SAMPLES).values():
            expected = [ScoreState.VALUE if grades else ScoreState.NO_GOLD for grades in _RELEVANT]
            assert list(scores.states) == expected

    def test_empty_ranking_scores_zero(self) -> None:
        for scores in self.score(N_SAMPLES).values():
            assert scores.values[4] == 0


class ContextMetricContract(MetricContract):
    """Contract of metrics of the passages in the prompt."""

    metric: ContextMetric

    def score(self, n_samples: int) -> dict[str, Scores]:
        context = Context(
            chunk=np.full((n_samples, 2), -1, dtype=np.int32),
            n_tokens=np.arange(n_samples, dtype=np.int64),
            n_tokens_dropped=np.zeros(n_samples, dtype=np.int64),
        )
        return self.metric.score_contexts(SAMPLES[:n_samples], DOCUMENTS, _SPANS[:n_samples], context)

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.metric, ContextMetric)


_CITED = ("杭州在浙江 [1]。", "北京是首都[2]，见[1]。", "无 [1]", "", "", "共12人【1】。没有别的。")


class CitationMetricContract(MetricContract):
    """Contract of metrics of the citations in answers."""

    metric: CitationMetric

    def score(self, n_samples: int) -> dict[str, Scores]:
        places = [[PassagePlaces((span,)) for span in own] for own in _SPANS[:n_samples]]
        return self.metric.score_citations(SAMPLES[:n_samples], DOCUMENTS, _CITED[:n_samples], places)

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.metric, CitationMetric)

    def test_citation_metric_leaves_out_samples_without_gold_in_the_corpus(self) -> None:
        for scores in self.score(N_SAMPLES).values():
            without_gold = [place for place, state in enumerate(scores.states) if state is ScoreState.NO_GOLD]
            assert without_gold == [2, 3]


def score_texts(metric: AnswerMetric, samples: Sequence[Sample], answers: Sequence[str]) -> dict[str, Scores]:
    """Return the scores of answers, which the metric's form splits as in a sweep."""
    references = [reference for sample in samples for reference in sample.references]
    form = metric.form
    units = [number_units(form.units(texts)) if form else None for texts in (answers, references)]
    return metric.score_answers(samples, TextsWithUnits(answers, units[0]), TextsWithUnits(references, units[1]))


def value_of(scores: Scores) -> float:
    """The only value of the scores of a single sample."""
    (value,) = scores.values
    return float(value)


def qa_sample(*references: str, gold: tuple[Evidence, ...] = ()) -> Sample:
    """Return a sample in which only references and gold matter."""
    return Sample("s", "qa", Kind.QA, "问题？", references=references, gold=gold)
