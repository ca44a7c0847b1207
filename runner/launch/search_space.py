"""The space of a search: the values of every axis, listed or in an interval, and the cells that they form."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, prod

import numpy as np
from hydra.core.override_parser.types import IntervalSweep, Override, QuotedString, ValueType
from omegaconf import DictConfig, OmegaConf

from components.errors import ConfigError
from components.json_value import Json
from runner.launch.grid_sweeper import group_keys
from runner.launch.search_strategies import AxisShape, Point
from runner.pipeline.search_settings import Strategy
from runner.results.cell_axes import parse_config_path

_MAX_WHOLE_VALUES, _N_FRACTIONS = 1001, 101
"""Values of an interval: the most whole numbers, or the number of fractions."""

_DIGITS = 4
"""Significant digits of a fraction."""

_MODELS = frozenset({"llm", "embedder", "reranker"})
"""Groups whose options are models."""

_SHOWN = 60
"""Maximum number of characters of the values of an axis."""


@dataclass(frozen=True)
class SearchAxis:
    """The values of one axis as overrides, each for all of its keys, which are several for coupled axes."""

    keys: tuple[str, ...]
    steps: tuple[tuple[str, ...], ...]
    is_ordered: bool
    text: str

    @property
    def names(self) -> list[str]:
        """The names of its keys, as cells name their axes."""
        return [_name(key) for key in self.keys]

    @property
    def shape(self) -> AxisShape:
        """The axis as strategies see it."""
        group, _, field = self.names[0].partition(".")
        is_model = group in _MODELS and field in ("", "model")
        return AxisShape(len(self.steps), self.is_ordered, is_model)


@dataclass(frozen=True)
class SearchSpace:
    """The axes of a search, and the order of all overrides, among them those with a single value."""

    axes: tuple[SearchAxis, ...]
    fixed: Mapping[str, str]
    keys: tuple[str, ...]

    @property
    def n_cells(self) -> int:
        """Number of combinations of values."""
        return prod(len(axis.steps) for axis in self.axes)

    def overrides(self, point: Point) -> list[str]:
        """Return the overrides of a cell, in the order of the command: if two set the same key, Hydra uses the later
        one.
        """
        by_key = dict(self.fixed)
        for axis, index in zip(self.axes, point, strict=True):
            by_key |= dict(zip(axis.keys, axis.steps[index], strict=True))
        return [by_key[key] for key in self.keys]

    def corners(self) -> Iterator[Point]:
        """Yield points with every value at least once, changing one axis at a time. Ordered axes only take their end
        values.
        """
        base = tuple(0 for _ in self.axes)
        yield base
        for axis in range(len(self.axes)):
            yield from self.along(axis, base)[1:]

    def along(self, axis: int, base: Point) -> list[Point]:
        """Return `base` with each value of an axis, or with the end values of an ordered axis. The first value comes
        first.
        """
        last = len(self.axes[axis].steps) - 1
        indices = [0, last] if self.axes[axis].is_ordered else range(last + 1)
        return [(*base[:axis], index, *base[axis + 1 :]) for index in indices]


def searches(config: DictConfig) -> bool:
    """Return True if the configuration of a sweep asks for a search."""
    none = Strategy.NONE.value
    return bool(OmegaConf.select(config, "search.strategy", default=none) != none)


def read_space(
    overrides: Sequence[Override],
    config: DictConfig,
    coupled: Sequence[Sequence[str]],
    values: Callable[[Override], list[str]],
    value_in: Callable[[str, Sequence[str]], Json],
) -> SearchSpace:
    """Return the space of the overrides of a sweep. Keys with a single value are not an axis.

    `config` has the present values of fields, and `value_in` returns the value of a field that only some options of a
    group have. `values` expands an override to single ones, unless it is an interval. Raises ConfigError for an invalid
    axis, and if nothing is left to choose.
    """
    axes: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    ordered: set[str] = set()
    for override in overrides:
        key = override.get_key_element()
        if override.value_type is ValueType.INTERVAL_SWEEP:
            group = key.partition(".")[0]
            options = [option for each in overrides if each.get_key_element() == group for option in values(each)]
            present = OmegaConf.select(config, override.key_or_group)
            axes[key], texts[key] = _interval_values(override, value_in(key, options) if present is None else present)
        else:
            axes[key] = values(override)
        ordered |= {key} if _has_order(override) else set()
    searched = []
    for keys in group_keys(axes, coupled):
        if len(axes[keys[0]]) > 1:
            steps = tuple(zip(*(axes[key] for key in keys), strict=True))
            text = texts.get(keys[0]) or _list_values(
                ["/".join(each.partition("=")[2] for each in step) for step in steps]
            )
            searched.append(SearchAxis(keys, steps, ordered.issuperset(keys), text))
    if not searched:
        raise ConfigError(
            [
                "search: no axis has several values. Give an axis several, as in chunk.size=interval(64,1024) "
                "retriever=bm25,hybrid."
            ]
        )
    fixed = {key: choices[0] for key, choices in axes.items() if len(choices) == 1}
    return SearchSpace(tuple(searched), fixed, tuple(axes))


def _interval_values(override: Override, present: object) -> tuple[list[str], str]:
    """Return the values of an interval, and their description.

    They are whole numbers if the `present` value of the field is one, or, for a field that does not exist yet, if the
    interval was written with whole numbers. A tag `log` spaces them by their ratio. Raises ConfigError for limits that
    are not ascending and finite (with `log`: positive).
    """
    interval = override.value()
    assert isinstance(interval, IntervalSweep)
    low, high = float(interval.start or 0), float(interval.end or 0)
    key, text = override.get_key_element(), str(override.input_line).partition("=")[2]
    is_log = "log" in interval.tags
    is_whole = isinstance(present, int) or (not isinstance(present, float) and "." not in text and "float" not in text)
    if is_whole and np.isfinite([low, high]).all():
        low, high = ceil(low), floor(high)
    if not low < high or not np.isfinite([low, high]).all() or (is_log and low <= 0):
        above = ", both above 0" if is_log else ""
        expected = f"two numbers, the smaller one first{above}, as in {key}=interval(64,1024)"
        raise ConfigError([f"{override.input_line}: expected {expected}"])
    n = min(int(high - low) + 1, _MAX_WHOLE_VALUES) if is_whole else _N_FRACTIONS
    spaced = (np.geomspace if is_log else np.linspace)(low, high, n).tolist()
    numbers = dict.fromkeys(f"{round(value)}" if is_whole else f"{value:.{_DIGITS}g}" for value in spaced)
    return [f"{key}={number}" for number in numbers], f"{low:g} to {high:g} ({len(numbers):,} values)"


def _has_order(override: Override) -> bool:
    """Return True if the values of an axis are numbers that increase or decrease."""
    if override.value_type in (ValueType.INTERVAL_SWEEP, ValueType.RANGE_SWEEP):
        return True
    if override.value_type not in (ValueType.CHOICE_SWEEP, ValueType.SIMPLE_CHOICE_SWEEP):
        return False
    values = list(override.sweep_iterator())
    if not all(isinstance(value, int | float) and not isinstance(value, bool | QuotedString) for value in values):
        return False
    return values in (sorted(values), sorted(values, reverse=True))


def _name(key: str) -> str:
    """Return the name of an axis: "judge.llm" of "+llm@judge.llm"."""
    return parse_config_path(key.lstrip("+"))


def _list_values(values: Sequence[str]) -> str:
    text = ", ".join(values)
    return text if len(text) <= _SHOWN else f"{len(values)} values from {values[0]} to {values[-1]}"
