import numpy as np
import pytest
from numpy.typing import NDArray

from components.errors import ComponentError
from components.means import combine_mean
from components.metrics.bleu import Bleu
from components.metrics.interval import Bootstrap, Column
from components.records import Interval
from tests.contracts.metric_contract import qa_sample, score_texts

_NOTHING = Interval(None, None, None)


def _column(values: NDArray[np.float64]) -> Column:
    """The mean of the values that are not NaN."""
    return np.column_stack([np.nan_to_num(values), ~np.isnan(values)]), combine_mean


def _interval(values: NDArray[np.float64], bootstrap: Bootstrap | None = None) -> Interval:
    (interval,) = (bootstrap or Bootstrap()).intervals([_column(values)])
    return interval


def _bounds(interval: Interval) -> tuple[float, float]:
    assert interval.low is not None
    assert interval.high is not None
    return interval.low, interval.high


def test_agrees_with_scipy() -> None:
    scipy_stats = pytest.importorskip("scipy.stats")
    values = np.random.default_rng(0).exponential(size=80)
    ours = Bootstrap(n_resamples=20_000).intervals([_column(values)])[0]
    theirs = scipy_stats.bootstrap((values,), np.mean, n_resamples=20_000, method="percentile", rng=0)
    assert ours.value == pytest.approx(values.mean())
    monte_carlo_error = 4 * theirs.standard_error / np.sqrt(20_000 * 0.025)
    assert _bounds(ours) == pytest.approx(tuple(theirs.confidence_interval), abs=monte_carlo_error)


def test_covers_the_truth_about_as_often_as_it_says() -> None:
    samples = np.random.default_rng(0).beta(2, 3, size=(400, 100))
    bootstrap = Bootstrap(n_resamples=500, confidence=0.9)
    bounds = [_bounds(interval) for interval in bootstrap.intervals([_column(values) for values in samples])]
    share_covered = np.mean([low <= 2 / 5 <= high for low, high in bounds])
    assert 0.84 < share_covered < 0.95


def test_equal_input_gives_equal_bytes_whatever_the_other_columns() -> None:
    columns = [_column(np.random.default_rng(seed).random(300)) for seed in range(7)]
    together = Bootstrap(n_resamples=500).intervals(columns)
    assert together == [Bootstrap(n_resamples=500).intervals([column])[0] for column in columns]
    assert together != Bootstrap(n_resamples=500, seed=1).intervals(columns)


def test_a_constant_has_an_interval_without_width() -> None:
    interval = _interval(np.full(300, 0.1))
    assert interval.value == pytest.approx(0.1, abs=1e-12)
    assert _bounds(interval) == (interval.value, interval.value)


def test_left_out_rows_are_resampled_and_do_not_count() -> None:
    values = np.random.default_rng(0).random(60)
    with_gaps = np.where(np.arange(120) < 60, np.concatenate([values, values]), np.nan)
    ours, without = _interval(with_gaps), _interval(values)
    assert ours.value == pytest.approx(values.mean())
    assert _bounds(ours) == pytest.approx(_bounds(without), abs=0.02)


def test_resamples_without_a_counting_row_are_ignored() -> None:
    low, high = _bounds(_interval(np.array([0.2, 0.8, *[np.nan] * 50])))
    assert (low, high) == pytest.approx((0.2, 0.8))


@pytest.mark.parametrize("values", [[], [np.nan], [np.nan, np.nan]])
def test_without_a_counting_row_there_is_nothing(values: list[float]) -> None:
    assert _interval(np.array(values)) == _NOTHING


def test_a_single_counting_row_says_nothing_of_others() -> None:
    assert _interval(np.array([np.nan, 0.5, np.nan])) == Interval(0.5, None, None)


def test_no_columns_give_no_intervals() -> None:
    assert Bootstrap().intervals([]) == []


def test_columns_may_differ_in_their_statistics() -> None:
    bleu = Bleu()
    answers = ["会议在北京举行", "会议在上海举行", "", "今天天气很好适合出行"]
    references = ["会议在北京举行", "会议于北京举行", "没有回答", "今天天气很好"]
    scores = score_texts(bleu, [qa_sample(text) for text in references], answers)["bleu"]
    of_bleu, of_mean = Bootstrap(n_resamples=500).intervals(
        [(scores.statistics, lambda sums: bleu.combine("bleu", sums)), _column(np.array([0.0, 0.0, 1.0, 1.0]))]
    )
    assert of_bleu.value == bleu.combine("bleu", scores.statistics.sum(axis=0))
    low, high = _bounds(of_bleu)
    assert 0 <= low < high <= 1
    assert of_mean.value == 0.5


def test_clusters_are_drawn_as_a_whole() -> None:
    of_clusters = np.random.default_rng(0).random(40)
    clusters = np.repeat(np.arange(40), 5)
    (clustered,) = Bootstrap().intervals([_column(of_clusters[clusters])], clusters)
    assert clustered.value == pytest.approx(of_clusters.mean())
    assert _bounds(clustered) == pytest.approx(_bounds(_interval(of_clusters)))


def test_one_cluster_per_sample_changes_nothing() -> None:
    column = _column(np.random.default_rng(0).random(30))
    assert Bootstrap().intervals([column], np.arange(30) + 7) == Bootstrap().intervals([column])


def _plainly(column: Column, clusters: NDArray[np.int64] | None, seed: tuple[int, ...], n_resamples: int) -> Interval:
    """The interval by its definition: every resample is drawn, summed and combined, one after the other."""
    statistics, combine = column
    if clusters is not None:
        statistics = np.array([statistics[clusters == i].sum(axis=0) for i in np.unique(clusters)])
    n = len(statistics)
    step = np.ldexp(1.0, np.frexp(n * np.abs(statistics).max(axis=0, initial=0.0))[1] - 52)
    exact = np.round(statistics / step) * step
    random = np.random.default_rng((*seed, n))
    resamples = np.array([combine(exact[random.integers(n, size=n)].sum(axis=0)) for _ in range(n_resamples)])
    n_counting = np.count_nonzero(exact.any(axis=1))
    if n_counting == 0:
        return _NOTHING
    value = float(combine(exact.sum(axis=0)))
    tail = (1 - 0.9) / 2
    return (
        Interval(value, *np.nanquantile(resamples, [tail, 1 - tail])) if n_counting > 1 else Interval(value, None, None)
    )


@pytest.mark.parametrize("clustered", [False, True])
def test_subsets_have_the_intervals_of_their_definition_to_the_byte(clustered: bool) -> None:
    """Of any size, most of them with other subsets of as many rows, with rows left out, with sums of any kind."""
    random = np.random.default_rng(3)
    values = random.random(60)
    values[random.random(60) < 0.3] = np.nan
    counts = np.column_stack([random.integers(1, 30, 60), random.integers(1, 30, 60), random.integers(0, 3, (60, 8))])
    counts[:, 6:] = np.maximum(counts[:, 6:], counts[:, 2:6])
    columns: list[Column] = [
        _column(values),
        (counts.astype(np.float64), lambda sums: Bleu().combine("bleu", sums)),
        _column(random.choice([0.0, 1.0], 60)),
    ]
    clusters = np.array(random.integers(0, 25, 60)) if clustered else None
    sizes = [1, 2, 2, 2, 3, 3, 4, 5, 6, 7, 7, 8, 30, 60]
    subsets = [sorted(random.choice(60, size, replace=False).tolist()) for size in sizes]
    bootstrap = Bootstrap(n_resamples=300, confidence=0.9, seed=7)
    found = bootstrap.intervals_of_subsets(columns, subsets, clusters)
    for rows, intervals in zip(subsets, found, strict=True):
        own = None if clusters is None else clusters[rows]
        plain = [_plainly((statistics[rows], combine), own, (7,), 300) for statistics, combine in columns]
        assert intervals == plain, f"of {len(rows)} rows"


def test_subsets_taken_together_have_the_intervals_of_each() -> None:
    columns = [_column(np.random.default_rng(seed).random(50)) for seed in range(3)]
    subsets = [[0, 1], [5], list(range(50)), [7, 9], list(range(10, 40)), []]
    clusters = np.arange(50) // 2
    found = Bootstrap(n_resamples=500).intervals_of_subsets(columns, subsets, clusters)
    for rows, intervals in zip(subsets, found, strict=True):
        own = [(statistics[rows], combine) for statistics, combine in columns]
        assert intervals == Bootstrap(n_resamples=500).intervals(own, clusters[rows])


def test_columns_of_different_samples_are_an_error() -> None:
    with pytest.raises(ComponentError, match=r"\[2, 3\]"):
        Bootstrap().intervals([_column(np.ones(2)), _column(np.ones(3))])
    with pytest.raises(ComponentError, match=r"\[2, 4\]"):
        Bootstrap().intervals([_column(np.ones(2))], np.zeros(4, dtype=np.int64))


def test_mistakes_in_the_fields_are_all_reported() -> None:
    assert Bootstrap().check() == []
    assert len(Bootstrap(n_resamples=1, confidence=95, seed=-1).check()) == 3


class TestMacroMeanOfGroupsThatAreOftenUndefined:
    """Of a hundred samples in each of forty groups two count: a third of the resamples miss one group or another."""

    def groups(self) -> list[tuple[list[Column], None]]:
        random = np.random.default_rng(0)
        groups: list[tuple[list[Column], None]] = []
        for _ in range(40):
            statistics = np.zeros((100, 2))
            statistics[:2] = np.column_stack([random.random(2), np.ones(2)])
            groups.append(([(statistics, combine_mean)], None))
        return groups

    def test_every_resample_counts(self) -> None:
        (found,) = Bootstrap(n_resamples=2000).macro_intervals(self.groups())
        assert found.value is not None
        assert found.low is not None
        assert found.high is not None
        assert 0.03 < found.high - found.low < 0.3
        assert found.low < found.value < found.high

    def test_a_group_of_one_leaves_the_mean_without_an_interval(self) -> None:
        single: tuple[list[Column], None] = ([(np.array([[0.5, 1.0]]), combine_mean)], None)
        (found,) = Bootstrap(n_resamples=500).macro_intervals([*self.groups(), single])
        assert found.value is not None
        assert (found.low, found.high) == (None, None)
