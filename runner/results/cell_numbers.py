"""Checks of numbers in `cell.json` that type annotations do not cover."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from components.json_value import Json

if TYPE_CHECKING:
    from runner.results.cell_result import CellResult

_OF_DATASET = (
    "n_documents",
    "n_samples",
    "n_gold_units_not_in_corpus",
    "n_samples_without_gold_in_corpus",
    "n_gold_units_with_copies",
)
"""Counts of a data set. Other entries may be notes of a custom data set."""
_OF_METRIC = ("n", "n_clusters")
_OF_METRIC_OR_NULL = ("value", "ci_low", "ci_high")
_OF_JUDGE = ("n_judged", "n_unparsable", "n_failed")
_OF_TEXTS = ("n", "n_cut")


def require_numbers(cell: "CellResult") -> None:
    """Raise TypeError for the first count, value or bound that is not a number, with the path to it.

    Also raise it for a metric that lacks its value or its count of samples.
    """
    for where, holder, names in _holders(cell):
        if where.startswith("metrics.") and (missing := {"value", "n"} - holder.keys()):
            raise TypeError(f"{where}: has no {' and no '.join(sorted(missing))}")
        for name in names:
            value = holder.get(name, 0)
            if type(value) not in (int, float) and not (value is None and name in _OF_METRIC_OR_NULL):
                raise TypeError(f"{where}.{name}: got {value!r}, expected a number")


def _holders(cell: "CellResult") -> Iterator[tuple[str, Mapping[str, Json], Iterable[str]]]:
    yield "dataset", cell.dataset, _OF_DATASET
    for subset, metrics in cell.metrics.items():
        for metric, entry in metrics.items():
            yield f"metrics.{subset}.{metric}", entry, (*_OF_METRIC, *_OF_METRIC_OR_NULL)
    for judge, counts in cell.judges.items():
        yield f"judges.{judge}", counts, _OF_JUDGE
    for place, cut in enumerate(cell.cut_texts):
        yield f"cut_texts.{place}", cut, _OF_TEXTS
