"""Fields of a cell, and other values for them: by type, by the class's `check`, and from other options of the group.

No field is listed by hand. The fields come from the dataclasses of a cell.
"""

import dataclasses
import inspect
import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, get_args, get_origin, get_type_hints

from runner.engine.identity import walk_components
from runner.pipeline.cell import Cell
from runner.pipeline.component_conflicts import combination_problems

Path = tuple[str | int, ...]
Pools = Mapping[str, Sequence[object]]

_NOT_OF_THE_GRAPH = frozenset({"tracking", "experiment", "executor", "prices", "run"})
"""Groups that define where and how a cell is run and reported. No stage reads them."""

_MODEL_FIELDS = frozenset({"base_url", "class_path", "revision"})
"""Fields of components that load a model or use a server."""

_TOGETHER = tuple(inspect.signature(combination_problems).parameters)


@dataclass(frozen=True)
class Change:
    """Another value for one field of a cell."""

    path: Path
    value: object
    field: str

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.path))}={self.value!r:.60}"

    def apply(self, cell: Cell) -> Cell:
        """Return the cell with that value. Raises KeyError, IndexError or AttributeError if an earlier change replaced
        its place.
        """
        changed = _replace_at(cell, self.path, self.value)
        assert isinstance(changed, Cell)
        return changed


def is_model_free(cell: Cell) -> bool:
    """Return True if no component of the cell loads a model or uses a server."""
    others = [part for part in walk_components(cell) if part is not cell.pipeline or not cell.pipeline.is_built_in]
    return not any(hasattr(part, name) for part in others for name in _MODEL_FIELDS)


def is_sound(cell: Cell) -> bool:
    """Return True if the check before any loading accepts these values."""
    try:
        own = [problem for part in walk_components(cell) for problem in getattr(part, "check", list)()]
        return not own and not combination_problems(**{name: getattr(cell, name) for name in _TOGETHER})
    except (TypeError, ValueError, AttributeError):
        return False


def component_pools(cells: Iterable[Cell]) -> dict[str, list[object]]:
    """Return all components of some cells by the type of their field. Components of a type may replace each other."""
    pools: dict[str, dict[str, object]] = {}
    for cell in cells:
        for _, annotation, value in _fields(cell):
            if dataclasses.is_dataclass(value):
                pools.setdefault(str(annotation), {}).setdefault(repr(value), value)
    return {name: list(values.values()) for name, values in pools.items()}


def fields_in(cells: Mapping[str, Cell]) -> dict[str, list[tuple[str, Path]]]:
    """Return the cells that have each field, with its path. Cells of the field's own group come first."""
    found: dict[str, list[tuple[str, Path]]] = {}
    for option, cell in cells.items():
        seen = set()
        for path, _, _ in _fields(cell):
            name = _name(cell, path)
            if name not in seen:
                seen.add(name)
                places = found.setdefault(name, [])
                places.insert(0 if option.startswith(f"{path[0]}=") else len(places), (option, path))
    return found


def changes_at(cell: Cell, path: Path, pools: Pools, at_most: int = 3) -> list[Change]:
    """Return other values for the field at a path and for its items, only those with which the cell is sound."""
    found: list[Change] = []
    for place, annotation, value in _fields(cell):
        if place[: len(path)] == path and _name(cell, place) == _name(cell, path):
            n_here = 0
            for other in _other_values(annotation, value, pools):
                change = Change(place, other, _name(cell, place))
                is_new = repr(other) != repr(value) and str(change) not in map(str, found)
                if n_here < at_most and is_new and is_sound(change.apply(cell)):
                    n_here += 1
                    found.append(change)
    return found


def _name(cell: Cell, path: Path) -> str:
    """Return the class and field at a path. Items of a field have its name."""
    owner: Any = cell
    name = ""
    for step in path:
        if dataclasses.is_dataclass(owner):
            name = f"{type(owner).__name__}.{step}"
        owner = _step(owner, step)
    return name


def _fields(value: object, path: Path = (), annotation: Any = None) -> Iterator[tuple[Path, Any, object]]:
    if path:
        yield path, annotation, value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        hints = get_type_hints(type(value))
        for field in dataclasses.fields(value):
            if path or field.name not in _NOT_OF_THE_GRAPH:
                yield from _fields(getattr(value, field.name), (*path, field.name), hints[field.name])
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _fields(item, (*path, name), _item_type(annotation))
    elif isinstance(value, tuple):
        for number, item in enumerate(value):
            yield from _fields(item, (*path, number), _item_type(annotation))


def _item_type(annotation: Any) -> Any:
    arguments = [each for each in get_args(annotation) if each not in (type(None), Ellipsis)]
    return arguments[-1] if arguments else Any


def _other_values(annotation: Any, value: object, pools: Pools) -> Iterator[object]:
    if get_origin(annotation) in (typing.Union, types.UnionType) and type(None) in get_args(annotation):
        yield from (
            [None] if value is not None else [each for kind in get_args(annotation) for each in _values_for_none(kind)]
        )
    yield from _like(value) if isinstance(value, _LIKE) else pools.get(str(annotation), ())


_LIKE = (bool, Enum, int, float, str, tuple, Mapping)


def _like(value: object) -> Iterator[object]:
    """Yield other values of the same type. A bool is also an int, and an Enum may be a str."""
    match value:
        case bool():
            yield not value
        case Enum():
            yield from type(value)
        case int():
            yield from (value + 1, value - 1, value * 2, value // 2, 0, 1)
        case float():
            yield from (value / 2, value + 0.1, value * 2, 0.0, 1.0)
        case str():
            yield from (f"{value} more", value[: len(value) // 2], "")
        case tuple():
            yield from (value[:-1], value[::-1], (*value, *value[:1]))
        case Mapping():
            yield dict(list(value.items())[::-1])
            yield dict(list(value.items())[:-1])


def _values_for_none(kind: Any) -> Iterator[object]:
    yield from {int: (1, 2), float: (0.5, 0.1), str: ("east",), bool: (True,)}.get(kind, ())


def _step(owner: Any, step: str | int) -> Any:
    if isinstance(owner, Mapping | tuple):
        return owner[step]  # type: ignore[index]
    return getattr(owner, str(step))


def _replace_at(owner: Any, path: Path, value: object) -> Any:
    if not path:
        return value
    step, *rest = path
    inner = _replace_at(_step(owner, step), tuple(rest), value)
    if isinstance(owner, Mapping):
        return {**owner, step: inner}
    if isinstance(owner, tuple):
        return tuple(inner if number == step else item for number, item in enumerate(owner))
    return dataclasses.replace(owner, **{str(step): inner})
