"""python -m benchmarks.crud_directions SWEEP --baseline CELL: which directions of CRUD-RAG's tables a sweep sees.

A sweep that changes one axis of the base at a time has a cell for a row of table 3 (chunk size), 4 (overlap), 5
(retriever) or 7 (top_k). A line has the paper's difference between that row and the row of the base, and our difference
between the cells with its interval and n. Chunk sizes count only with as many tokens in the prompt as the base, as in
table 3.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from analysis import comparison
from analysis.published import PrintedNumber, read_table
from components.errors import DataError
from components.statistics import PairedTest
from runner import results
from runner.results import format_level

_TABLES = {"chunk.size": "crud_rag/3", "chunk.overlap": "crud_rag/4", "retriever": "crud_rag/5", "top_k": "crud_rag/7"}
_WITH = {"chunk.size": ("top_k",), "retriever": ("embedder", "reranker")}
"""Axes that may change together with an axis."""


class Verdict(StrEnum):
    """SHOWN: our interval has the paper's sign alone. SEEN: only our mean has it. OPPOSITE: our interval has the other
    sign alone. NOT_SHOWN: our mean has the other sign or is 0, and our interval contains 0.
    """

    SHOWN = "shown"
    SEEN = "seen"
    NOT_SHOWN = "not shown"
    OPPOSITE = "opposite"


@dataclass(frozen=True)
class Direction:
    """A change of the base. `published` is None if the paper has no such row."""

    subset: str
    change: str
    published: float | None
    ours: float
    low: float
    high: float
    n: int
    n_groups: int

    @property
    def verdict(self) -> Verdict | None:
        """None if no difference was published, or if it is 0."""
        return verdict(self.published, self.ours, self.low, self.high) if self.published else None


def verdict(published: float, ours: float, low: float, high: float) -> Verdict:
    """Return the verdict on our difference and its interval. `published` is not 0."""
    sign = 1 if published > 0 else -1
    nearer, farther = sorted((sign * low, sign * high))
    if nearer > 0:
        return Verdict.SHOWN
    if farther < 0:
        return Verdict.OPPOSITE
    return Verdict.SEEN if sign * ours > 0 else Verdict.NOT_SHOWN


def directions(sweep: str, baseline: str, metric: str, printed: str, subset: str) -> list[Direction]:
    """Return the changes of `baseline` in a subset, in the order of axes and levels. Raises DataError."""
    loaded = results.load(sweep)
    wanted = loaded.metric(f"{subset}:{metric}")
    family = comparison.compare_cells(loaded, wanted, PairedTest(), baseline=baseline)
    base = {axis: format_level(value) for axis, value in family.baseline.cell.axes.items()}
    numbers = {
        axis: [number for number in read_table(table).numbers if (number.subset, number.metric) == (subset, printed)]
        for axis, table in _TABLES.items()
    }
    found = []
    for row in family.rows:
        for cell in row.standing.cells:
            levels = {axis: format_level(value) for axis, value in cell.axes.items()}
            axis = _find_changed_axis(base, levels)
            published = _difference(numbers[axis], axis, base, levels) if axis in numbers else None
            test = row.comparison
            if test.difference is None or test.low is None or test.high is None:
                raise DataError(f"{loaded.name}: {subset} has too few samples for an interval of {metric}")
            change = _change(axis, base, levels)
            found.append(
                Direction(subset, change, published, test.difference, test.low, test.high, test.n, test.n_clusters)
            )
    order = [*_TABLES, "embedder"]
    return sorted(found, key=lambda each: (order.index(each.change.partition("=")[0]), each.change))


def _find_changed_axis(base: Mapping[str, str], levels: Mapping[str, str]) -> str:
    """Return the axis on which a cell differs from the base. Raises DataError if it differs in none or in several."""
    # Cells that do not use an axis (the embedder under bm25) do not differ on it.
    differing = [axis for axis, level in levels.items() if len({level, base[axis]} - {format_level(None)}) > 1]
    coupled = {other for axis in differing for other in _WITH.get(axis, ())}
    owners = [axis for axis in differing if axis not in coupled]
    if len(owners) != 1:
        raise DataError(f"a cell differs from the base in {', '.join(owners) or 'nothing'}, expected one axis")
    return owners[0]


def _change(axis: str, base: Mapping[str, str], levels: Mapping[str, str]) -> str:
    """Return the levels that differ from the base, e.g. "chunk.size=256, top_k=4"."""
    axes = [
        axis,
        *(other for other in _WITH.get(axis, ()) if levels[other] not in (base[other], format_level(None), "none")),
    ]
    return ", ".join(f"{each}={levels[each]}" for each in axes)


def _difference(
    numbers: Sequence[PrintedNumber], axis: str, base: Mapping[str, str], levels: Mapping[str, str]
) -> float | None:
    if axis == "chunk.size" and _budget(base) != _budget(levels):
        return None
    values = [_find_printed(numbers, axis, own[axis]) for own in (levels, base)]
    return None if None in values else values[0] - values[1]  # type: ignore[operator]


def _budget(levels: Mapping[str, str]) -> float:
    return float(levels["chunk.size"]) * float(levels["top_k"])


def _find_printed(numbers: Sequence[PrintedNumber], axis: str, level: str) -> float | None:
    table = read_table(_TABLES[axis])
    for number in numbers:
        own = next(each for each in table.own_levels(number.row) if axis in each.axes)
        if level in own.axes[axis] or any(_same(level, other) for other in own.axes[axis]):
            return number.value
    return None


def _same(one: str, other: str) -> bool:
    try:
        return float(one) == float(other)
    except ValueError:
        return False


def as_markdown(found: Sequence[Direction]) -> Iterator[str]:
    """Yield the lines of a table in Markdown."""
    yield "| subset | change | paper | ours, 95 % interval | n (groups) | direction |"
    yield "|---|---|---|---|---|---|"
    for each in found:
        published = "" if each.published is None else f"{each.published:+.3f}"
        ours = f"{each.ours:+.3f} ({each.low:+.3f} to {each.high:+.3f})"
        n = f"{each.n} ({each.n_groups})"
        yield f"| {each.subset} | `{each.change}` | {published} | {ours} | {n} | {each.verdict or ''} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table. Returns 0, or 1 for an error."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crud_directions")
    parser.add_argument("sweep", help="folder or id of a sweep, or latest")
    parser.add_argument("--baseline", required=True, metavar="CELL", help="the base: its id or values of its axes")
    parser.add_argument(
        "--metric", default="rouge_l_crud_compat", metavar="METRIC", help="metric of the sweep (default: %(default)s)"
    )
    parser.add_argument(
        "--printed", default="rouge_l", metavar="METRIC", help="metric of the paper (default: %(default)s)"
    )
    parser.add_argument(
        "--subset", action="append", required=True, metavar="SUBSET", help="a subset; may be given again"
    )
    options = parser.parse_args(arguments)
    try:
        found = [
            each
            for subset in options.subset
            for each in directions(options.sweep, options.baseline, options.metric, options.printed, subset)
        ]
    except DataError as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join(as_markdown(found)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
