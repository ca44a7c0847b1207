"""Checks the axes of a sweep and expands them to jobs: crossed, advanced together, or varied one at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import product
from math import ceil, prod

from hydra.core.override_parser.types import Override, RangeSweep, ValueType

from components.errors import ConfigError

Axes = Mapping[str, Sequence[str]]
"""Overrides by key, e.g. {"top_k": ["top_k=2", "top_k=8"]}. A key with a fixed value has a single override."""

Step = tuple[str, ...]


@dataclass
class SweeperSettings:
    """`hydra.sweeper`: the fields of Hydra's basic sweeper, and how our axes combine. Hydra checks the types."""

    _target_: str = "hydra_plugins.rag_grid.GridSweeper"
    max_batch_size: int | None = None
    params: dict[str, str] | None = None
    coupled: list[list[str]] = field(default_factory=list)
    one_at_a_time: bool = False
    max_cells: int = 10_000


def check_axis(override: Override, max_cells: int) -> None:
    """Raise ConfigError for an axis without values, with more than `max_cells` values, or with an interval.

    Called before Hydra expands the values: some would fail an assertion in Hydra, others would take it hours.
    """
    if override.value_type is ValueType.INTERVAL_SWEEP:
        raise ConfigError(
            [
                f"{override.input_line}: got an interval, expected single values. List them, as "
                f"in {override.get_key_element()}=64,128, or as range(64,129,step=64), or add search=random, greedy "
                "or tpe."
            ]
        )
    if override.value_type is ValueType.GLOB_CHOICE_SWEEP and not list(override.sweep_string_iterator()):
        raise ConfigError(
            [f"{override.input_line}: matches no option; only groups have options to choose from, such as retriever"]
        )
    if override.value_type is ValueType.RANGE_SWEEP:
        n_values = _n_values(override)
        if not n_values:
            raise ConfigError([f"{override.input_line}: is an empty range, expected one such as range(2,9,step=2)"])
        require_fewer_cells(n_values, max_cells)


def _n_values(override: Override) -> int:
    """Return the number of values of a range. 0 for a range that never begins or never ends."""
    sweep = override.value()
    assert isinstance(sweep, RangeSweep)
    start, stop, step = Decimal(sweep.start or 0), Decimal(sweep.stop or 0), Decimal(sweep.step)
    length = stop - start
    return max(0, ceil(length / step)) if length.is_finite() and step else 0


def expand(
    axes: Axes, coupled: Sequence[Sequence[str]], *, one_at_a_time: bool, max_cells: int = SweeperSettings.max_cells
) -> list[list[str]]:
    """Return the overrides of every job, each in the order of `axes`. The first axis varies slowest.

    The axes of a group in `coupled` advance together, at the place of the group's first axis. With `one_at_a_time`, the
    first values of all axes are the base, which comes first. Each other job differs from the base in one axis or in one
    group of coupled axes. Raises ConfigError for invalid groups, and for more than `max_cells` jobs.
    """
    groups = group_keys(axes, coupled)
    lengths = [len(axes[group[0]]) for group in groups]
    require_fewer_cells(1 + sum(n - 1 for n in lengths) if one_at_a_time else prod(lengths), max_cells)
    steps: list[list[Step]] = [list(zip(*(axes[key] for key in group), strict=True)) for group in groups]
    keys = [key for group in groups for key in group]
    jobs = _one_at_a_time(steps) if one_at_a_time else product(*steps)
    return [_sort_overrides(axes, keys, [override for step in job for override in step]) for job in jobs]


def require_fewer_cells(n_cells: int, max_cells: int) -> None:
    """Raise ConfigError for more cells than a sweep may have."""
    if n_cells > max_cells:
        raise ConfigError(
            [
                f"the sweep has {n_cells:,} cells, more than hydra.sweeper.max_cells={max_cells} allows. Use "
                f"fewer values, or raise the limit: hydra.sweeper.max_cells={n_cells}"
            ]
        )


def _one_at_a_time(steps: Sequence[Sequence[Step]]) -> list[list[Step]]:
    base = [step[0] for step in steps]
    return [base, *([*base[:i], step, *base[i + 1 :]] for i, axis_steps in enumerate(steps) for step in axis_steps[1:])]


def _sort_overrides(axes: Axes, keys: Sequence[str], overrides: Sequence[str]) -> list[str]:
    """Sort the overrides of `keys` in the order of the axes. If several set the same key, Hydra uses the last one."""
    by_key = dict(zip(keys, overrides, strict=True))
    return [by_key[key] for key in axes]


def group_keys(axes: Axes, coupled: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the keys that advance together, in the order of the axes. Uncoupled keys form groups of one."""
    _check(axes, coupled)
    key_of = {_name(key): key for key in axes}
    group_of = {key_of[name]: tuple(key_of[name] for name in group) for group in coupled for name in group}
    return list(dict.fromkeys(group_of.get(key, (key,)) for key in axes))


def _check(axes: Axes, coupled: Sequence[Sequence[str]]) -> None:
    n_values = {_name(key): len(values) for key, values in axes.items()}
    problems: list[str] = []
    seen: set[str] = set()
    for group in coupled:
        path = f"hydra.sweeper.coupled: [{', '.join(group)}]"
        for name in group:
            if name in seen:
                problems.append(f"{path}: {name} is coupled twice, expected each axis in one group, once")
            seen.add(name)
        single = [name for name in group if n_values.get(name, 0) < 2]
        problems += [f"{path}: {_not_swept(name, n_values)}" for name in single]
        if not single and len({n_values[name] for name in group}) > 1:
            counts = ", ".join(f"{name} has {n_values[name]} values" for name in group)
            problems.append(f"{path}: {counts}; axes that advance together need equal numbers of values")
    if problems:
        raise ConfigError(problems)


def _not_swept(name: str, n_values: Mapping[str, int]) -> str:
    swept = ", ".join(other for other, n in n_values.items() if n > 1) or "none"
    return f"{name} is not swept, expected several values, as in {name}=a,b (swept axes: {swept})"


def _name(key: str) -> str:
    """Return the key as a user thinks of it, without the plus that marks an addition for Hydra."""
    return key.lstrip("+")
