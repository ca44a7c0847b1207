from collections.abc import Sequence

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from components.errors import ConfigError
from runner.launch.search_space import SearchSpace, read_space, searches

CONFIG = OmegaConf.create({"chunk": {"size": 128, "overlap": 0.0}, "top_k": 5, "search": {"strategy": "tpe"}})


def space(*overrides: str, coupled: tuple[tuple[str, ...], ...] = ()) -> SearchSpace:
    def single_values(override: object) -> list[str]:
        parsed = next(each for each in found if each is override)
        if parsed.is_sweep_override():
            return [f"{parsed.get_key_element()}={value}" for value in parsed.sweep_string_iterator()]
        return [str(parsed.input_line)]

    found = OverridesParser.create().parse_overrides(list(overrides))
    return read_space(found, CONFIG, coupled, single_values, value_in)


def value_in(key: str, options: Sequence[str]) -> float | None:
    """Return the value of a field that only one option has."""
    return 0.7 if key == "diversity.weight" and "diversity=mmr" in options else None


def test_interval_of_a_whole_field_has_every_whole_number() -> None:
    (axis,) = space("chunk.size=interval(64,1024)").axes
    assert (len(axis.steps), axis.steps[0], axis.steps[-1]) == (961, ("chunk.size=64",), ("chunk.size=1024",))
    assert axis.is_ordered
    assert axis.text == "64 to 1024 (961 values)"


def test_integer_interval_stays_within_fractional_ends() -> None:
    steps = space("chunk.size=interval(64.5,67.5)").axes[0].steps
    assert steps == (("chunk.size=65",), ("chunk.size=66",), ("chunk.size=67",))


def test_interval_of_a_fractional_field_has_fractional_steps() -> None:
    (axis,) = space("chunk.overlap=interval(0,1)").axes
    assert (len(axis.steps), axis.steps[1], axis.steps[-1]) == (101, ("chunk.overlap=0.01",), ("chunk.overlap=1",))


def test_interval_of_a_new_field_is_fractional_if_written_so() -> None:
    assert len(space("+llm.n=interval(1,4)").axes[0].steps) == 4
    assert len(space("+llm.temperature=interval(0.0,1)").axes[0].steps) == 101
    assert len(space("+llm.temperature=float(interval(0,1))").axes[0].steps) == 101


def test_interval_of_a_fractional_option_field_has_fractions() -> None:
    assert len(space("diversity=none,mmr", "diversity.weight=interval(0,1)").axes[1].steps) == 101


def test_log_tag_spaces_values_by_their_ratio() -> None:
    steps = [step[0].partition("=")[2] for step in space("chunk.overlap=tag(log,interval(0.01,1))").axes[0].steps]
    assert steps[50] == "0.1", "the middle is ten times the start"


def test_long_intervals_are_thinned_and_short_intervals_have_no_repeats() -> None:
    assert len(space("chunk.size=interval(1,1000000)").axes[0].steps) == 1001
    steps = space("chunk.size=tag(log,interval(1,9))").axes[0].steps
    assert len(set(steps)) == len(steps) <= 9


@pytest.mark.parametrize(
    "interval", ["interval(9,2)", "interval(1,inf)", "interval(2,2)", "interval(1.2,1.8)", "tag(log,interval(0,9))"]
)
def test_impossible_search_interval_is_refused(interval: str) -> None:
    with pytest.raises(ConfigError, match="expected two numbers"):
        space(f"chunk.size={interval}")


def test_only_monotonic_number_axes_are_ordered() -> None:
    axes = space("a=1,2,4", "b=4,2,1", "c=2,1,4", "d=x,y", "e=true,false", "f=range(1,9)").axes
    assert [axis.is_ordered for axis in axes] == [True, True, False, False, False, True]


def test_model_axes_are_model_options_and_model_names() -> None:
    axes = space("llm=a,b", "llm.model=a,b", "+llm@judge.llm=a,b", "llm.top_p=1,2", "reranker=a,b", "chunk=a,b").axes
    assert [axis.shape.is_model for axis in axes] == [True, True, False, False, True, False]


def test_coupled_search_axes_advance_together() -> None:
    found = space("top_k=2,8", "llm=a", "chunk.size=64,128", "chunk=x,y", coupled=(("top_k", "chunk.size"),))
    assert found.n_cells == 4
    assert [axis.names for axis in found.axes] == [["top_k", "chunk.size"], ["chunk"]]
    assert found.axes[0].text == "2/64, 8/128"
    assert found.overrides((1, 0)) == ["top_k=8", "llm=a", "chunk.size=128", "chunk=x"]


def test_search_corners_have_every_option_and_the_ends_of_ordered_axes() -> None:
    found = space("chunk.size=interval(64,1024)", "retriever=a,b,c", "top_k=2,4,8")
    assert list(found.corners()) == [(0, 0, 0), (960, 0, 0), (0, 1, 0), (0, 2, 0), (0, 0, 2)]


def test_search_space_without_axes_is_refused() -> None:
    with pytest.raises(ConfigError, match="search: no axis has several values"):
        space("top_k=5", "llm=a")


def test_configuration_searches_only_with_a_strategy() -> None:
    assert searches(CONFIG)
    assert not searches(OmegaConf.create({"search": {"strategy": "none"}}))
    assert not searches(OmegaConf.create({"top_k": 5})), "a configuration without the group"
