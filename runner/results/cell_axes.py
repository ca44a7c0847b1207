"""Axes that distinguish the cells of a sweep, and what a cell changes relative to a base."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from components.json_value import Json
from runner.results.cell_result import CellResult

DATA_KEY = "dataset.key"
"""The axis that distinguishes data sets of the same name, such as the texts of several parsers."""

DRAWS = ("repeat", "judge_repeat")
"""Axes that number draws. Cells that differ only in these are one configuration."""

WHOLE_GOLD_ADVICE = (
    "passage_coverage asks for all of their text, so it favours large chunks. Quote the evidence to compare chunks "
    "(docs/own-data.md)"
)
"""Advice for data whose gold is whole documents. It follows the number of samples and a colon."""

_MIN_AXES_WITH_BASE = 4


def parse_override_key(override: str) -> str:
    """Return the key that an override sets, adds or removes: "chunk.size" of "+chunk.size=64"."""
    return override.lstrip("+~").partition("=")[0]


def parse_config_path(key: str) -> str:
    """Return the configuration path that a key sets: "judge.llm" for "llm@judge.llm". Without "@", it is the key."""
    return key.rpartition("@")[2]


def identify_configuration(cell: CellResult) -> str:
    """Return an identifier that is equal for cells that differ only in their draws.

    It includes the overrides, because an axis shows only the class of a component.
    """
    axes = {name: value for name, value in cell.axes.items() if name not in DRAWS}
    overrides = [each for each in cell.overrides if parse_override_key(each) not in DRAWS]
    return repr([axes, overrides])


def are_draws(cells: Sequence[CellResult]) -> bool:
    """Return True for several draws of one configuration. Cells of the same draw come from different code or data."""
    draws = {tuple(cell.axes.get(name) for name in DRAWS) for cell in cells}
    return len(cells) > 1 and len(draws) == len(cells) and len(set(map(identify_configuration, cells))) == 1


def count_whole_gold(starts: Iterable[Sequence[int | None]]) -> tuple[int, int] | None:
    """Count the samples with a whole document as gold, and the samples with gold. None if at most half of those do.

    `starts` are the first characters of the gold units of each sample, None for a whole document.
    """
    with_gold = [units for units in starts if units]
    n_whole = sum(None in units for units in with_gold)
    return (n_whole, len(with_gold)) if 2 * n_whole > len(with_gold) else None


def varies_chunks(axes: Iterable[str]) -> bool:
    """Return True if one of the axes changes how documents are cut into chunks."""
    return any(axis == "chunk" or axis.startswith(("chunk.", "chunk@")) for axis in axes)


def normalize_level(value: Json) -> Json:
    """Return a value of an axis as readers compare it. A list or a mapping becomes the string that one types for it."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{normalize_level(below)}" for key, below in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ",".join(str(normalize_level(below)) for below in value) + "]"
    return value


def find_varying_axes(cells: Iterable[CellResult]) -> list[str]:
    """Return the axes that vary among cells: see `varying_axes`."""
    cells = list(cells)
    searched = {name for cell in cells for name in cell.search.get("axes", ())}
    return varying_axes((cell.axes for cell in cells), searched)


def find_shown_axes(cells: Iterable[CellResult]) -> list[str]:
    """Return the axes that tables and names of cells show: the varying ones, and those that were set along with them.

    An axis that was set follows from another one in a sweep of coupled axes, or in sweeps that are compared. Readers
    must see it, because a difference may come from either.
    """
    cells = list(cells)
    varying = find_varying_axes(cells)
    was_set = {parse_config_path(parse_override_key(each)) for cell in cells for each in cell.overrides}
    names = dict.fromkeys(name for cell in cells for name in cell.axes)
    return [name for name in names if name in varying or (name in was_set and _has_several_values(cells, name))]


def _has_several_values(cells: Iterable[CellResult], axis: str) -> bool:
    return len({repr(cell.axes.get(axis)) for cell in cells} - {"None"}) > 1


def coupling_notes(cells: Iterable[CellResult]) -> list[str]:
    """Return a sentence for each shown axis whose value follows from another one."""
    cells = list(cells)
    varying = find_varying_axes(cells)
    rows = {name: [str(cell.axes.get(name)) for cell in cells] for name in find_shown_axes(cells)}
    leaders = {
        name: next((other for other in varying if _follows_from(rows[name], rows[other])), None)
        for name in rows
        if name not in varying
    }
    return [
        f"{name} varies only along with {leader}: a difference may come from either of them"
        for name, leader in leaders.items()
        if leader
    ]


def complete_axes(cells: Sequence[CellResult]) -> tuple[CellResult, ...]:
    """Return the cells with the axes of all of them. An axis that only some sweeps name has its value in the
    configuration of the others. Equal numbers are equal values: 0 becomes 0.0 if another cell has fractions.
    """
    names = dict.fromkeys(name for cell in cells for name in cell.axes)
    rows = [
        {name: cell.axes[name] if name in cell.axes else _in_config(cell, name) for name in names} for cell in cells
    ]
    fractional = {name for row in rows for name, value in row.items() if isinstance(value, float)}
    return tuple(
        replace(cell, axes={name: _as_number(value) if name in fractional else value for name, value in row.items()})
        for cell, row in zip(cells, rows, strict=True)
    )


def _as_number(value: Json) -> Json:
    return float(value) if type(value) is int else value


def _in_config(cell: CellResult, axis: str) -> Json:
    """Return the value of an axis in the configuration of a cell; None if the cell does not use its component."""
    group = axis.partition(".")[0]
    if group in cell.axes and cell.axes[group] is None:
        return None
    value = config_value(cell.config, axis)
    return None if isinstance(value, Mapping) else value


def config_value(config: Mapping[str, Json], dotted: str) -> Json:
    """Return the value at a dotted path of a configuration; None without one."""
    value: Json = config
    for key in dotted.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def varying_axes(axes: Iterable[Mapping[str, Json]], searched: Collection[str] = ()) -> list[str]:
    """Return the axes with more than one value among the cells that use them, in their order.

    An axis whose value follows from another axis is left out. Of axes that vary together, only the first remains. This
    does not apply to the axes of a search: if each cell has another value of one of them, all others follow from it.
    """
    rows = [{name: repr(value) for name, value in each.items() if value is not None} for each in axes]
    levels = {name: [row.get(name) for row in rows] for name in dict.fromkeys(name for row in rows for name in row)}
    varying = {name: row for name, row in levels.items() if len({*row} - {None}) > 1}
    for name, row in reversed(list(varying.items())):
        if name not in searched and any(
            other != name and _follows_from(row, other_row) for other, other_row in varying.items()
        ):
            del varying[name]
    return list(varying)


def common_base(cells: Iterable[Mapping[str, Json]], varied: Sequence[str]) -> dict[str, Json] | None:
    """Return the base of cells that each change one of many axes: the commonest value of each axis.

    Returns None if some cell differs from the base in several axes, or if fewer than four axes vary. Such cells are
    named by all their axes.
    """
    if len(varied) < _MIN_AXES_WITH_BASE:
        return None
    rows = [{name: each[name] for name in varied if each.get(name) is not None} for each in cells]
    base = {name: _commonest(row[name] for row in rows if name in row) for name in varied}
    return base if all(len(changed_axes(row, base)) <= 1 for row in rows) else None


def changed_axes(axes: Mapping[str, Json], base: Mapping[str, Json]) -> list[str]:
    """Return the axes for which the cell uses a different value from the base."""
    return [name for name in base if axes.get(name) is not None and axes[name] != base[name]]


def change_name(axes: Mapping[str, Json], base: Mapping[str, Json]) -> str:
    """Return the changes of a cell against the base, such as "refiner=tables"."""
    return " ".join(f"{name}={axes[name]}" for name in changed_axes(axes, base)) or "the base"


def _commonest(values: Iterable[Json]) -> Json:
    """Return the commonest value, the first one if several are equally common."""
    listed = list(values)
    n = Counter(map(repr, listed))
    return max(listed, key=lambda value: n[repr(value)])


def _follows_from(row: Sequence[str | None], other_row: Sequence[str | None]) -> bool:
    """Return True if the value in `other_row` determines the value in `row`, and `row` is None where `other_row` is."""
    pairs = set(zip(other_row, row, strict=True))
    return len(pairs) == len({value for value, _ in pairs}) and all(
        value is None for other_value, value in pairs if other_value is None
    )


def format_level(value: object) -> str:
    """Return an axis value as it is displayed and typed; a dash for an axis that a cell does not use."""
    return "–" if value is None else str(value)


def join_levels(cells: Sequence[CellResult], axis: str, separator: str = ", ") -> str:
    """Return the values of an axis in cells that share a row, such as "2, 8".

    If the cells are not all combinations of their values, the values of all would name further cells. Then only the
    first cell's value is named, as in "2, ...".
    """
    levels = list(dict.fromkeys(format_level(cell.axes.get(axis)) for cell in cells))
    sizes = (len({format_level(cell.axes.get(name)) for cell in cells}) for name in find_varying_axes(cells))
    if len(levels) > 1 and math.prod(sizes) > len(cells):
        levels = [levels[0], "..."]
    return separator.join(levels)
