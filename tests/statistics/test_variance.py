from itertools import product
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from components.statistics import VarianceShares, determined_axes, sampling_errors, variance_shares
from tests.statistics.cells import scores_of

AXES = {"a": ("x", "y"), "b": ("1", "2", "3"), "c": ("p", "q", "r", "s")}


def grid(drop: int = 0) -> tuple[dict[str, list[Any]], NDArray[np.float64]]:
    """All combinations of the axes, or all but some, with values that depend on all of them."""
    random = np.random.default_rng(0)
    rows = list(product(*AXES.values()))
    rows = [rows[i] for i in sorted(random.permutation(len(rows))[drop:])]
    axes = {name: [row[i] for row in rows] for i, name in enumerate(AXES)}
    values = np.array([(a == "x") + 0.3 * int(b) + 0.4 * (a == "x") * (c == "q") for a, b, c in rows])
    return axes, values + random.normal(0, 0.2, len(rows))


def shares_of(values: NDArray[np.float64], axes: dict[str, list[Any]]) -> VarianceShares:
    found = variance_shares(values, axes)
    assert found is not None
    return found


@pytest.mark.parametrize("drop", [0, 1, 4])
def test_variance_shares_equal_statsmodels_type_2(drop: int) -> None:
    import pandas as pd
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    axes, values = grid(drop)
    table = anova_lm(ols("y ~ (a + b + c) ** 2", pd.DataFrame({"y": values, **axes})).fit(), typ=2)
    total = ((values - values.mean()) ** 2).sum()
    expected = {name.replace(":", " "): row for name, row in table.iterrows()}
    found = shares_of(values, axes)
    assert found.residual.raw == pytest.approx(expected["Residual"]["sum_sq"] / total, rel=1e-9)
    assert len(found.terms) == 6
    for term in found.terms:
        row = expected[" ".join(term.axes)]
        assert (term.df, term.n_aliased) == (row["df"], 0)
        assert term.share.raw == pytest.approx(row["sum_sq"] / total, rel=1e-9)


def test_variance_shares_sum_to_one_in_a_balanced_grid() -> None:
    axes, values = grid()
    found = shares_of(values, axes)
    assert sum(term.share.raw for term in found.terms) + found.residual.raw == pytest.approx(1.0)


def test_variance_terms_are_sorted_regardless_of_axis_order() -> None:
    axes, values = grid(4)
    found = shares_of(values, axes)
    shares = [term.share.raw for term in found.terms]
    assert shares == sorted(shares, reverse=True)
    turned = shares_of(values, dict(reversed(axes.items())))
    assert [term.share.raw for term in turned.terms] == pytest.approx(shares)


def test_variance_shares_find_the_axis_that_acts_alone() -> None:
    axes, _ = grid()
    found = shares_of(np.array([float(level) for level in axes["b"]]), axes)
    assert found.terms[0].axes == ("b",)
    assert found.terms[0].share.raw == pytest.approx(1.0)
    assert found.residual.raw == pytest.approx(0.0, abs=1e-12)


def test_variance_shares_find_an_interaction_without_main_effects() -> None:
    axes = {"a": ["x", "x", "y", "y"], "b": ["1", "2", "1", "2"]}
    found = shares_of(np.array([1.0, 0.0, 0.0, 1.0]), axes)
    assert found.terms[0].axes == ("a", "b")
    assert found.terms[0].share.raw == pytest.approx(1.0)


def test_axis_with_one_value_is_no_variance_term() -> None:
    axes, values = grid()
    axes["one"] = ["same"] * len(values)
    axes["used by some"] = ["same" if a == "x" else None for a in axes["a"]]
    assert {name for term in shares_of(values, axes).terms for name in term.axes} == {"a", "b", "c"}


class TestAliases:
    def test_determined_axes_map_an_axis_to_its_determining_axis(self) -> None:
        axes = {"reranker": ["none", "none", "lexical"] * 2, "retriever": ["bm25", "dense", "both"] * 2}
        assert determined_axes(axes) == {"reranker": "retriever"}

    def test_first_of_axes_that_vary_together_determines_the_others(self) -> None:
        axes = {"a": ["1", "2", "1"], "b": ["x", "y", "x"], "c": ["p", "q", "p"]}
        assert determined_axes(axes) == {"b": "a", "c": "a"}

    def test_chained_axes_are_determined_by_the_finest_axis(self) -> None:
        axes = {"two": list("aabbaa"), "three": list("ddeeff"), "six": list("123456")}
        assert determined_axes(axes) == {"two": "six", "three": "six"}

    def test_crossed_axes_do_not_determine_each_other(self) -> None:
        assert determined_axes(grid(4)[0]) == {}

    def test_axis_of_some_cells_is_analysed_within_those_cells(self) -> None:
        """An axis that some cells do not use is judged by those that do."""
        axes: dict[str, list[Any]] = {
            "retriever": ["bm25", "bm25", "dense", "dense", "dense", "dense"],
            "embedder": [None, None, "lsa", "lsa", "bge", "bge"],
            "top_k": ["2", "8"] * 3,
        }
        found = shares_of(np.array([0.0, 0.0, 1.0, 1.0, 3.0, 3.0]), axes)
        shares = {term.axes: term.share.raw for term in found.terms}
        assert found.determined_by == {}
        assert shares["retriever",] == pytest.approx(16 / 28)
        assert shares["embedder",] == pytest.approx(12 / 28)
        assert ("retriever", "embedder") in found.aliased

    def test_terms_that_the_grid_cannot_separate_have_no_share(self) -> None:
        """In a half fraction of a 2 x 2 x 2 grid, each axis is the interaction of the other two."""
        axes = {"a": list("xxyy"), "b": list("xyxy"), "c": list("xyyx")}
        found = shares_of(np.array([1.0, 2.0, 4.0, 9.0]), axes)
        assert found.terms == ()
        assert set(found.aliased) == {("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c")}

    def test_lost_contrasts_are_counted(self) -> None:
        axes = {"a": ["1", "1", "2", "2", "3", "3"], "b": ["x", "y", "x", "y", "z", "z"]}
        found = shares_of(np.array([1.0, 2.0, 3.0, 5.0, 9.0, 9.5]), axes)
        main = next(term for term in found.terms if term.axes == ("a",))
        assert (main.df, main.n_aliased) == (1, 1)


@pytest.mark.parametrize("values", [[], [0.3], [0.1 + 0.2, 0.3, 0.3]])
def test_equal_values_have_no_variance_to_share(values: list[float]) -> None:
    axes = {"a": [str(i) for i in range(len(values))]}
    assert variance_shares(np.array(values), axes) is None


class TestNoise:
    """Two axes of two levels; cells share what is hard in a sample, and err on their own."""

    axes: ClassVar[dict[str, list[str]]] = {"a": ["1", "1", "2", "2"], "b": ["x", "y", "x", "y"]}

    def found(self, means: list[float], seed: int, n: int = 60) -> VarianceShares:
        random = np.random.default_rng((12, seed))
        values = random.normal(size=(n, 1)) + random.normal(size=(n, 4)) + np.array(means)
        errors = sampling_errors(scores_of(list(values.T), np.arange(n)), 300, seed)
        found = variance_shares(values.mean(axis=0), self.axes, errors)
        assert found is not None
        return found

    def test_noise_alone_rarely_gives_a_term_a_significant_share(self) -> None:
        found = [self.found([0.0] * 4, seed) for seed in range(150)]
        assert sum(one.terms[0].share.raw > 0.8 for one in found) > 25
        shown = [one for one in found if one.p is not None and one.p <= 0.05]
        assert len(shown) <= 16  # 5 % of 150, and what chance adds to it
        assert not any(term.share.low is not None and term.share.low > 0.8 for one in found for term in one.terms)

    def test_variance_shares_exclude_noise_and_intervals_cover_them(self) -> None:
        means = [0.0, 0.3, 0.5, 0.8]
        true = {("a",): 0.25 / 0.34, ("b",): 0.09 / 0.34, ("a", "b"): 0.0}
        found = [one for one in (self.found(means, seed) for seed in range(120)) if one.p is not None and one.p <= 0.05]
        assert len(found) > 100
        for axes, share in true.items():
            own = [term.share for one in found for term in one.terms if term.axes == axes]
            holds = [one.low is not None and one.high is not None and one.low <= share <= one.high for one in own]
            assert np.mean(holds) > 0.9
            assert np.mean([one.corrected for one in own]) == pytest.approx(share, abs=0.05)

    @pytest.mark.parametrize("sizes", [[40, 10, 5, 3, 1, 1], [30, 20, 10] + [2] * 17, [100] + [1] * 50])
    def test_noise_of_unequal_groups_is_not_an_effect(self, sizes: list[int]) -> None:
        """Groups go wrong together, a few groups have most samples, and the cells are equally good."""
        random = np.random.default_rng(14)
        clusters = np.repeat(np.arange(len(sizes)), sizes)
        n_sweeps, n_shown = 200, 0
        for _ in range(n_sweeps):
            values = random.normal(size=(len(sizes), 4))[clusters] + random.normal(size=(len(clusters), 4))
            errors = sampling_errors(scores_of(list(values.T), clusters), 300, 0)
            found = variance_shares(values.mean(axis=0), self.axes, errors)
            assert found is not None
            assert found.p is not None
            n_shown += found.p <= 0.05
        assert n_shown <= stats.binom.ppf(0.99, n_sweeps, 0.05)

    @pytest.mark.parametrize(
        ("sizes", "n_effective", "is_known"),
        [([3] * 20, 20, True), ([3] * 19, 19, False), ([30] + [1] * 70, 10_000 / 970, False)],
    )
    def test_noise_is_subtracted_for_twenty_effective_groups(
        self, sizes: list[int], n_effective: float, is_known: bool
    ) -> None:
        clusters = np.repeat(np.arange(len(sizes)), sizes)
        values = np.random.default_rng(15).normal(size=(len(clusters), 4)) / 10 + [0.0, 0.3, 0.5, 0.8]
        errors = sampling_errors(scores_of(list(values.T), clusters), 300, 0)
        assert errors is not None
        assert errors.p <= 0.05
        assert errors.n_effective == pytest.approx(n_effective)
        found = variance_shares(values.mean(axis=0), self.axes, errors)
        assert found is not None
        assert [term.share.corrected is not None for term in found.terms] == [is_known] * 3

    def test_noise_is_unknown_without_a_spread(self) -> None:
        values = np.arange(8.0).reshape(2, 4) ** 2
        assert sampling_errors(scores_of(list(values.T), np.zeros(2, dtype=np.int64)), 100, 0) is None
        found = shares_of(values.mean(axis=0), self.axes)
        assert found.p is None
        assert {term.share.corrected for term in found.terms} == {None}
