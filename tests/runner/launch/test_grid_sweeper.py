"""The jobs of a sweep: axes crossed, coupled, or varied one at a time."""

import pytest

from components.errors import ConfigError
from runner.launch.grid_sweeper import expand


def axes(**values: str) -> dict[str, list[str]]:
    """`axes(a="1 2")` is {"a": ["a=1", "a=2"]}."""
    return {name: [f"{name}={value}" for value in text.split()] for name, text in values.items()}


def jobs(
    given: dict[str, list[str]], coupled: list[list[str]] | None = None, *, one_at_a_time: bool = False
) -> list[str]:
    return [" ".join(job) for job in expand(given, coupled or [], one_at_a_time=one_at_a_time)]


class TestCrossed:
    def test_grid_varies_the_first_axis_slowest(self) -> None:
        assert jobs(axes(a="1 2", b="x y")) == ["a=1 b=x", "a=1 b=y", "a=2 b=x", "a=2 b=y"]

    def test_grid_puts_a_single_value_into_every_job(self) -> None:
        assert jobs(axes(a="1", b="x y")) == ["a=1 b=x", "a=1 b=y"]

    @pytest.mark.parametrize("one_at_a_time", [False, True])
    def test_grid_without_axes_has_one_job(self, one_at_a_time: bool) -> None:
        assert jobs({}, one_at_a_time=one_at_a_time) == [""]


class TestCoupled:
    def test_coupled_axes_of_a_grid_advance_together(self) -> None:
        assert jobs(axes(size="64 128", k="16 8"), [["size", "k"]]) == ["size=64 k=16", "size=128 k=8"]

    def test_coupled_axes_are_crossed_with_the_other_axes(self) -> None:
        found = jobs(axes(size="64 128", r="a b", k="16 8"), [["k", "size"]])
        assert found == ["size=64 r=a k=16", "size=64 r=b k=16", "size=128 r=a k=8", "size=128 r=b k=8"]

    def test_several_groups_of_coupled_axes_advance_independently(self) -> None:
        found = jobs(axes(a="1 2", b="1 2", c="1 2 3", d="1 2 3"), [["a", "b"], ["c", "d"]])
        assert len(found) == 6
        assert found[-1] == "a=2 b=2 c=3 d=3"

    def test_coupled_group_names_an_added_axis_without_its_plus(self) -> None:
        given = {"+a.b": ["+a.b=1", "+a.b=2"], "k": ["k=1", "k=2"]}
        assert jobs(given, [["a.b", "k"]]) == ["+a.b=1 k=1", "+a.b=2 k=2"]


class TestOneAtATime:
    def test_one_at_a_time_begins_with_the_base_and_never_repeats_it(self) -> None:
        found = jobs(axes(size="128 64 256", r="bm25 hybrid"), one_at_a_time=True)
        assert found == ["size=128 r=bm25", "size=64 r=bm25", "size=256 r=bm25", "size=128 r=hybrid"]

    def test_one_at_a_time_treats_a_coupled_group_as_one_axis(self) -> None:
        found = jobs(axes(size="128 64", r="a b", k="8 16"), [["size", "k"]], one_at_a_time=True)
        assert found == ["size=128 r=a k=8", "size=64 r=a k=16", "size=128 r=b k=8"]


class TestProblems:
    @pytest.mark.parametrize(
        ("coupled", "message"),
        [
            ([["size", "k"]], r"\[size, k\]: size has 3 values, k has 2 values; .* need equal numbers of values"),
            ([["size", "one"]], r"\[size, one\]: one is not swept, .* \(swept axes: size, k\)"),
            ([["size", "tpo_k"]], r"\[size, tpo_k\]: tpo_k is not swept, expected several values, as in tpo_k=a,b"),
            ([["k", "k"]], r"\[k, k\]: k is coupled twice"),
            ([["size", "size2"], ["size2", "k"]], "size2 is coupled twice"),
        ],
    )
    def test_invalid_coupled_group_is_rejected(self, coupled: list[list[str]], message: str) -> None:
        given = axes(size="1 2 3", k="1 2", one="1")
        with pytest.raises(ConfigError, match=message):
            expand(given, coupled, one_at_a_time=False)

    def test_coupling_errors_are_reported_together(self) -> None:
        with pytest.raises(ConfigError) as caught:
            expand(axes(a="1 2", b="1"), [["a", "b"], ["c", "d"]], one_at_a_time=False)
        assert len(caught.value.problems) == 3
