"""Names and values of a cell's metrics in MLflow."""

from collections.abc import Iterator
from hashlib import sha256

from components.subsets import GROUPINGS, OVERALL, UNNAMED
from runner.results import CellResult
from runner.results.leaderboard_order import N_FIRST, headlines

BEST = "best"
"""Used in place of a subset, in the parent run: the values of the cell to take over all samples."""

_MAX_NAME_CHARACTERS = 250
_HASH_DIGITS = 12


def metric_name(subset: str, metric: str) -> str:
    """Return the name of a metric in MLflow, such as "overall/ndcg_at_10". A long name ends in a hash to fit a column.

    MLflow's names may not contain "@". It sorts metrics by name, and the metrics over all samples should come first.
    Therefore the names of a data set's subsets, and of the mean over them, begin with "subset/".
    """
    group = subset if subset.partition("/")[0] in (BEST, OVERALL, *GROUPINGS) else f"subset/{subset}"
    name = f"{group}/{metric.replace('@', '_at_')}"
    if len(name) <= _MAX_NAME_CHARACTERS:
        return name
    digest = sha256(name.encode()).hexdigest()[:_HASH_DIGITS]
    return f"{name[: _MAX_NAME_CHARACTERS - _HASH_DIGITS - 1]}-{digest}"


def logged_metrics(cell: CellResult, headline: str = "", *, every: bool = False) -> Iterator[tuple[str, float]]:
    """Yield the metrics of a cell by MLflow's names: their values, what the cell cost, latencies and counts.

    All metrics are logged over all samples, and the first metrics of leaderboards over subsets, tasks and topics. With
    `every`, all metrics are logged over all subsets and matrix fields, and also the seconds of each kind of
    stage. Without it, these are only in the cell's tables and in `cell.json`. If a data set names no subsets, the
    unnamed subset of all samples is left out.
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
    for judge, counts in cell.judges.items():
        yield f"run/unparsable/{judge}", counts["n_unparsable"] / max(1, counts["n_judged"])


def is_field(subset: str) -> bool:
    """Return True if a subset is a matrix field."""
    return subset.startswith("matrix/")
