from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from components.errors import ComponentError
from components.means import combine_mean, mean_scores
from components.metrics.em import ExactMatch
from components.metrics.interval import Column, Intervals
from components.metrics.length import Length
from components.records import Evidence, Kind, Sample, ScoreState
from components.subsets import list_subsets
from runner.pipeline.scoring.aggregate import ScoredMetric, aggregate, rows_by_subset

INTERVAL = Intervals(n_resamples=200)


def sample(number: int, subset: str, topic: str | None = None, task: str | None = None) -> Sample:
    return Sample(str(number), subset, Kind.QA, "?", ("!",), topic=topic, task=task)


SAMPLES = [
    sample(0, "read/qa_1doc"),
    sample(1, "read/qa_2docs"),
    sample(2, "finance", "funds", "extractive"),
    sample(3, "finance", "funds", "contrast"),
    sample(4, "finance", "stocks", "extractive"),
    sample(5, "finance", None, "extractive"),
]


def scored(*outcomes: float | ScoreState) -> dict[str, ScoredMetric]:
    return {"length": ScoredMetric(Length(), mean_scores(outcomes))}


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (sample(0, "create"), ["overall", "create"]),
        (sample(0, "read/qa/deep"), ["overall", "read", "read/qa", "read/qa/deep"]),
        (sample(0, "f", "a", "b"), ["overall", "f", "topic/a", "task/b", "matrix/a/b"]),
        (sample(0, "f", "a"), ["overall", "f", "topic/a"]),
        (sample(0, "f", None, "b"), ["overall", "f", "task/b"]),
    ],
)
def test_sample_counts_in_every_subset_that_contains_it(one: Sample, expected: list[str]) -> None:
    assert list_subsets(one.subset, one.topic, one.task) == expected


def test_rows_by_subset_cover_subsets_topics_and_tasks() -> None:
    assert rows_by_subset(SAMPLES) == {
        "overall": [0, 1, 2, 3, 4, 5],
        "read": [0, 1],
        "read/qa_1doc": [0],
        "read/qa_2docs": [1],
        "finance": [2, 3, 4, 5],
        "topic/funds": [2, 3],
        "task/extractive": [2, 4, 5],
        "matrix/funds/extractive": [2],
        "task/contrast": [3],
        "matrix/funds/contrast": [3],
        "topic/stocks": [4],
        "matrix/stocks/extractive": [4],
    }


def test_aggregate_computes_a_mean_per_subset() -> None:
    metrics = aggregate(scored(1, 2, 3, 4, 5, 6), SAMPLES, INTERVAL)
    assert {subset: values["length"]["value"] for subset, values in metrics.items()} == {
        "overall": 3.5, "read": 1.5, "read/qa_1doc": 1, "read/qa_2docs": 2, "finance": 4.5, "topic/funds": 3.5,
        "task/extractive": 14 / 3, "matrix/funds/extractive": 3, "task/contrast": 4, "matrix/funds/contrast": 4,
        "topic/stocks": 5, "matrix/stocks/extractive": 5, "macro": 2.5,
    }  # fmt: skip


def test_left_out_samples_are_counted_by_reason_and_not_as_zeros() -> None:
    outcomes = (0.5, ScoreState.NO_GOLD, ScoreState.ANSWER_ERROR, 1.0, ScoreState.NO_GOLD, 0.0)
    metrics = aggregate(scored(*outcomes), SAMPLES, INTERVAL)
    overall, read = metrics["overall"]["length"], metrics["read"]["length"]
    assert (overall["value"], overall["n"]) == (0.5, 3)
    assert overall["n_excluded"] == {"answer_error": 1, "no_gold": 2}
    assert (read["value"], read["n"], read["n_excluded"]) == (0.5, 1, {"no_gold": 1})


def test_metric_without_applicable_samples_has_no_value() -> None:
    metrics = aggregate(scored(*[ScoreState.NOT_APPLICABLE] * 6), SAMPLES, INTERVAL)
    assert metrics["overall"]["length"] == {
        "value": None, "n": 0, "n_excluded": {"not_applicable": 6}, "ci_low": None, "ci_high": None,
        "n_clusters": 0, "method": None,
    }  # fmt: skip


def test_subset_interval_equals_the_interval_of_its_samples() -> None:
    values = np.random.default_rng(0).random(14).tolist()
    samples = [sample(i, "read" if i < 4 else "finance") for i in range(14)]
    metrics = aggregate(scored(*values), samples, INTERVAL)
    statistics = mean_scores(values[4:]).statistics
    ((expected,),) = INTERVAL.subset_intervals([Column(statistics, combine_mean, is_share=False)], [slice(None)])
    found = metrics["finance"]["length"]
    assert (found["ci_low"], found["ci_high"]) == (expected.low, expected.high)
    assert found["ci_low"] < found["value"] < found["ci_high"]
    assert (found["n_clusters"], found["method"]) == (10, "bootstrap")


def test_interval_method_depends_on_whether_a_metric_is_a_share() -> None:
    found = aggregate(scored(*[0.0] * 6), SAMPLES, INTERVAL)["overall"]["length"]
    assert (found["method"], found["ci_high"]) == ("t", 0.0)
    share = {"em": ScoredMetric(ExactMatch(), mean_scores([0.0] * 6))}
    assert aggregate(share, SAMPLES, INTERVAL)["overall"]["em"]["method"] == "wilson"


def test_subset_of_one_sample_has_no_interval() -> None:
    found = aggregate(scored(1, 2, 3, 4, 5, 6), SAMPLES, INTERVAL)["read/qa_1doc"]["length"]
    assert (found["value"], found["ci_low"], found["ci_high"]) == (1, None, None)


def test_metrics_are_aggregated_independently() -> None:
    random = np.random.default_rng(0)
    one, other = mean_scores(random.random(6).tolist()), mean_scores(random.random(6).tolist())
    together = aggregate({"a": ScoredMetric(Length(), one), "b": ScoredMetric(Length(), other)}, SAMPLES, INTERVAL)
    alone = aggregate({"b": ScoredMetric(Length(), other)}, SAMPLES, INTERVAL)
    assert {subset: values["b"] for subset, values in together.items()} == {
        subset: values["b"] for subset, values in alone.items()
    }


def test_aggregated_samples_of_one_document_are_one_cluster() -> None:
    """Six documents with one value each: however many samples repeat them, there are only six to learn from."""
    samples = [Sample(str(i), "read", Kind.QA, "?", ("!",), gold=(Evidence(str(i % 6)),)) for i in range(60)]
    (many,) = aggregate(scored(*[float(i % 6) for i in range(60)]), samples, INTERVAL)["overall"].values()
    (once,) = aggregate(scored(*map(float, range(6))), samples[:6], INTERVAL)["overall"].values()
    assert many["n_clusters"] == 6
    assert (many["ci_low"], many["ci_high"]) == pytest.approx((once["ci_low"], once["ci_high"]))


class TestMatrix:
    """Fields of the matrix have a partially pooled value next to the raw one."""

    def metrics(self, name: str = "em") -> dict[str, dict[str, dict[str, Any]]]:
        random = np.random.default_rng(0)
        samples = [sample(i, "finance", f"topic{i % 6}", f"task{i // 6 % 4}") for i in range(72)]
        hard = [0.2 + 0.1 * (i % 6) for i in range(72)]
        return aggregate(
            {name: ScoredMetric(ExactMatch(), mean_scores(random.binomial(1, hard).tolist()))}, samples, INTERVAL
        )

    def test_pooled_values_shrink_and_have_intervals_at_three_samples(self) -> None:
        fields = [values["em"] for name, values in self.metrics().items() if name.startswith("matrix/")]
        assert len(fields) == 24
        for entry in fields:
            assert (entry["n"], entry["ci_low"]) == (3, None)
            assert 0 <= entry["pooled_low"] < entry["pooled"] <= entry["pooled_high"] <= 1
        spread_raw, spread_pooled = (np.std([entry[name] for entry in fields]) for name in ("value", "pooled"))
        assert spread_pooled < 0.9 * spread_raw

    def test_subsets_outside_the_matrix_have_no_pooled_values(self) -> None:
        assert all("pooled" not in v["em"] for name, v in self.metrics().items() if not name.startswith("matrix/"))

    def test_matrix_fields_of_few_samples_are_not_pooled(self) -> None:
        entry = aggregate(scored(1, 2, 3, 4, 5, 6), SAMPLES, INTERVAL)["matrix/funds/extractive"]["length"]
        assert (entry["pooled"], entry["pooled_low"], entry["pooled_high"]) == (None, None, None)


class TestMacro:
    def test_macro_mean_weighs_every_subset_equally(self) -> None:
        metrics = aggregate(scored(1, 2, 3, 4, 5, 6), SAMPLES, INTERVAL)
        entry = metrics["macro"]["length"]
        assert entry["value"] == pytest.approx((1 + 2 + 4.5) / 3)
        assert (entry["n"], entry["n_subsets"]) == (6, 3)
        assert entry["ci_low"] is None, "two of the subsets have a single sample"

    def test_macro_interval_contains_the_macro_mean(self) -> None:
        samples = [sample(i, "read" if i < 3 else "create") for i in range(9)]
        entry = aggregate(scored(*map(float, range(9))), samples, INTERVAL)["macro"]["length"]
        assert entry["value"] == pytest.approx((1 + 5.5) / 2)
        assert 2 < entry["ci_low"] < entry["value"] < entry["ci_high"] < 4.5

    def test_macro_mean_counts_a_nested_subset_separately(self) -> None:
        samples = [sample(i, "read" if i < 2 else "read/qa") for i in range(4)]
        metrics = aggregate(scored(0, 0, 1, 1), samples, INTERVAL)
        assert metrics["read"]["length"]["n"] == 4
        entry = metrics["macro"]["length"]
        assert (entry["value"], entry["n"], entry["n_subsets"]) == (0.5, 4, 2)

    def test_subset_without_values_is_left_out_of_the_macro_mean(self) -> None:
        no_gold = ScoreState.NO_GOLD
        entry = aggregate(scored(no_gold, 2, 3, 4, no_gold, 5), SAMPLES, INTERVAL)["macro"]["length"]
        assert entry["value"] == pytest.approx((2 + 4) / 2)
        assert (entry["n"], entry["n_subsets"], entry["n_excluded"]) == (4, 2, {"no_gold": 2})

    def test_macro_mean_without_values_is_empty(self) -> None:
        entry = aggregate(scored(*[ScoreState.NO_GOLD] * 6), SAMPLES, INTERVAL)["macro"]["length"]
        assert (entry["value"], entry["ci_low"], entry["n_subsets"]) == (None, None, 0)

    def test_single_subset_has_no_macro_mean(self) -> None:
        assert "macro" not in aggregate(scored(1, 2), SAMPLES[2:4], INTERVAL)


class InPlace(Length):
    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        sums /= sums[..., 1:]
        return sums[..., 0]


class Masked(Length):
    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        means = np.ma.masked_array(combine_mean(sums))
        means[np.asarray(sums[..., 1]) < 10] = np.ma.masked
        return means


def test_combine_that_changes_its_input_does_not_affect_intervals() -> None:
    samples = [sample(i, "read" if i % 2 else "write") for i in range(12)]
    lengths = mean_scores([float(i * i) for i in range(12)])
    plain, in_place = (
        aggregate({"length": ScoredMetric(metric, lengths)}, samples, Intervals()) for metric in (Length(), InPlace())
    )
    assert in_place == plain


def test_masked_metric_value_becomes_none() -> None:
    samples = [sample(i, "read" if i else "write") for i in range(12)]
    lengths = mean_scores([float(i) for i in range(12)])
    metrics = aggregate({"length": ScoredMetric(Masked(), lengths)}, samples, Intervals())
    assert metrics["read"]["length"]["value"] == 6
    assert metrics["write"]["length"]["value"] is None


class Broken(Length):
    """Combines scores to a value that is no number."""

    value: ClassVar[float] = np.inf

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.full(sums.shape[:-1], self.value)


class Undefined(Broken):
    """Returns NaN where `Broken` returns another invalid value."""

    value = np.nan


@pytest.mark.parametrize("metric", [Broken(), Undefined()])
def test_non_numeric_combined_value_is_rejected(metric: Broken) -> None:
    broken = {"length": ScoredMetric(metric, mean_scores([1.0, 2.0, *[ScoreState.FAILED] * 4]))}
    wanted = (
        f"{type(metric).__name__}.combine: got .* for length from the scores of 2 samples, expected a finite number"
    )
    with pytest.raises(ComponentError, match=wanted):
        aggregate(broken, SAMPLES, INTERVAL)
