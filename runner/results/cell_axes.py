"""What tells the cells of a sweep apart: the axes that vary, and what a cell changes of a base."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from components.json_value import Json
from runner.results.cell_result import CellResult

DRAWS = ("repeat", "judge_repeat")
"""Axes that number draws: cells that differ in nothing else are one configuration."""

_FEWEST_AXES_WITH_BASE = 4


def configuration_of(cell: CellResult) -> str:
    """Equal for cells that differ in nothing but their draws. By the overrides too: an axis shows no more of a
    component than its class.
    """
    axes = {name: value for name, value in cell.axes.items() if name not in DRAWS}
    overrides = [each for each in cell.overrides if each.lstrip("+").partition("=")[0] not in DRAWS]
    return repr([axes, overrides])


def level(value: Json) -> Json:
    """Return a value of an axis as readers compare it: a list or a mapping becomes the text that one types for it."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{level(below)}" for key, below in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ",".join(str(level(below)) for below in value) + "]"
    return value


def varying_axes(axes: Iterable[Mapping[str, Json]]) -> list[str]:
    """Names of the axes with more than one value among the cells that use them, in their order.

    An axis whose value follows from that of another one is left out: of axes that vary together only the first stays.
    """
    rows = [{name: repr(value) for name, value in each.items() if value is not None} for each in axes]
    levels = {name: [row.get(name) for row in rows] for name in dict.fromkeys(name for row in rows for name in row)}
    kept = {name: row for name, row in levels.items() if len({*row} - {None}) > 1}
    for name, row in reversed(list(kept.items())):
        if any(other != name and _says_all_of(row, known) for other, known in kept.items()):
            del kept[name]
    return list(kept)


def common_base(cells: Iterable[Mapping[str, Json]], varied: Sequence[str]) -> dict[str, Json] | None:
    """Of cells that change one of many axes at a time, the values that they start from, by axis: the commonest of each.

    None for cells of which some differ from these in several axes, and where fewer than four axes vary: such cells are
    told apart by all of them.
    """
    if len(varied) < _FEWEST_AXES_WITH_BASE:
        return None
    rows = [{name: each[name] for name in varied if each.get(name) is not None} for each in cells]
    base = {name: _commonest(row[name] for row in rows if name in row) for name in varied}
    return base if all(len(changes(row, base)) <= 1 for row in rows) else None


def changes(axes: Mapping[str, Json], base: Mapping[str, Json]) -> list[str]:
    """Axes that the cell uses and whose values are not those of the base."""
    return [name for name in base if axes.get(name) is not None and axes[name] != base[name]]


def change_name(axes: Mapping[str, Json], base: Mapping[str, Json]) -> str:
    """What a cell changes of the base: "refiner=tables"."""
    return " ".join(f"{name}={axes[name]}" for name in changes(axes, base)) or "the base"


def _commonest(values: Iterable[Json]) -> Json:
    """Of those that are equally common the first."""
    listed = list(values)
    n = Counter(map(repr, listed))
    return max(listed, key=lambda value: n[repr(value)])


def _says_all_of(row: list[str | None], known: list[str | None]) -> bool:
    """Whether `row` has a value only where `known` has one too, and the same one wherever that is the same."""
    pairs = set(zip(known, row, strict=True))
    return len(pairs) == len({value for value, _ in pairs}) and all(
        value is None for given, value in pairs if given is None
    )
