"""The metrics of a cell as MLflow has them: names and values."""

from collections.abc import Iterator
from hashlib import sha256

from components.subsets import GROUPINGS, OVERALL, UNNAMED
from runner.results import CellResult
from runner.results.leaderboard_order import N_FIRST, headlines

BEST = "best"
"""In place of a subset: the values of the cell to take over all samples, at the parent run."""

_LONGEST_NAME = 250
_HASH_DIGITS = 12


def metric_name(subset: str, metric: str) -> str:
    """MLflow's names hold no "@" (overall/ndcg_at_10), and fit its columns: a long one ends in a hash.

    The data set's own subsets, and the mean over them, are under subset/: MLflow shows metrics by the alphabet, and
    those of all samples are to come first.
    """
    group = subset if subset.partition("/")[0] in (BEST, OVERALL, *GROUPINGS) else f"subset/{subset}"
    name = f"{group}/{metric.replace('@', '_at_')}"
    if len(name) <= _LONGEST_NAME:
        return name
    digest = sha256(name.encode()).hexdigest()[:_HASH_DIGITS]
    return f"{name[: _LONGEST_NAME - _HASH_DIGITS - 1]}-{digest}"


def logged_metrics(cell: CellResult, headline: str = "", *, every: bool = False) -> Iterator[tuple[str, float]]:
    """All metrics over all samples, and those that come first in leaderboards over subsets, tasks and topics; then
    what the cell cost. With `every` all metrics of all subsets, the fields of the matrix among them, and the seconds of
    each kind of stage: all of these are in the cell's tables and `cell.json` anyway. Where a data set names no subsets,
    the one of all samples is not logged beside `overall`.
    """
    first = set(headlines([cell], headline)[:N_FIRST])
    for subset, values in cell.metrics.items():
        if (subset == UNNAMED and values == cell.metrics[OVERALL]) or (is_field(subset) and not every):
            continue
        for metric, entry in values.items():
            if entry["value"] is not None and (every or subset == OVERALL or metric in first):
                yield metric_name(subset, metric), entry["value"]
    yield from ((f"run/{name}_tokens", float(n)) for name, n in cell.tokens.items() if n is not None)
    for part, usage in cell.usage.items():
        yield f"run/requests/{part}", float(usage["n_requests"])
        if usage["cost"] is not None:
            yield f"run/cost/{part}", usage["cost"]
    if cell.usage and cell.cost is not None:
        yield "run/cost", cell.cost
    yield "run/one_time_s", cell.one_time_s
    yield from ((f"run/latency_s/{name}", seconds) for name, seconds in cell.latency_s.items())
    if every:
        yield from ((f"run/seconds/{kind}", seconds) for kind, seconds in cell.seconds.items())
    yield from ((f"run/answers/{state}", float(n)) for state, n in cell.counts.items())
    yield from ((f"run/errors/{error_class}", float(n)) for error_class, n in cell.errors.items())
    yield from (
        (f"run/unparsable/{judge}", of["n_unparsable"] / max(1, of["n_judged"])) for judge, of in cell.judges.items()
    )


def is_field(subset: str) -> bool:
    """Whether a subset is a field of the topic x task matrix."""
    return subset.startswith("matrix/")
