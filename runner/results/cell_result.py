"""Results of one cell and of one sweep, as stored in their JSON files, and checks of the numbers in them."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from components.json_value import Json

SCHEMA_VERSION = 2
OK, FAILED, RUNNING, INTERRUPTED, STOPPED = "OK", "FAILED", "RUNNING", "INTERRUPTED", "STOPPED"

_DATASET_COUNTS = (
    "n_documents",
    "n_samples",
    "n_gold_units_not_in_corpus",
    "n_samples_without_gold_in_corpus",
    "n_gold_units_with_copies",
)
"""Counts of a data set. Other entries may be notes of a custom data set."""
_METRIC_COUNTS = ("n", "n_clusters")
_METRIC_VALUES = ("value", "ci_low", "ci_high")
_OF_JUDGE = ("n_judged", "n_unparsable", "n_failed")
_OF_TEXTS = ("n", "n_cut")
_OF_SPENT = ("n_requests", "n_prompt_tokens", "n_completion_tokens", "cost", "n_unpriced")
_OF_SEARCH = ("seed", "n_cells", "n_space", "n_tried")


BUILT_IN = "built_in"
"""The level of the axis `pipeline` of cells that the built-in components answer."""


@dataclass(frozen=True)
class CellResult:
    """One `cell.json`.

    `axes` are None where the cell does not use them. `status` is OK or FAILED, with the `reason`; a failed cell
    may have numbers. A cell that a race or the user stopped is STOPPED, and has no metrics.

    `race` describes the stop by a race, {} for the user: `{metric, n, n_samples, look, wealth, opponent, behind,
    confidence, margin, n_targets, against}`. The cell had answered `n` of `n_samples` samples at this look, when
    `opponent` led. In the full run, it would be at least `behind` worse than the winner, at this confidence. `wealth`
    is the evidence against it; None if it could not have caught up even with perfect answers. With several targets,
    these describe all samples.

    `search` says which search proposed the cell: `{strategy, seed, n_cells, n_space, number, axes}`. It was the
    `number`th cell of at most `n_cells` of the `n_space` cells of the space, which has these axes. {} if no search did.

    `metrics` is `{subset: {metric: {value, n, n_excluded, ci_low, ci_high, n_clusters, method}}}`. `larger_is_better`
    is by metric; None means that neither direction is better, so that the metric ranks nothing. `own_metrics` are
    metrics of custom packages. `ranking_metrics` read rankings only; None in results of an earlier version.
    `signatures` are by metric, such as sacreBLEU's.

    `counts` are answers by state, and `errors` are failed answers by kind of failure. `judges` is `{judge: {n_judged,
    n_unparsable, reasons, commonest}}`: the number of samples without a readable reply, the reasons, and the commonest
    such reply. Expanders and rerankers with a language model are listed as "expander" and "reranker", also with
    `n_failed` and `commonest_error`. `cut_texts` counts the chunks and the queries that are longer than the model that
    reads them allows. `steps` are facts that steps report, by axis, such as what was left out and why, with a `line`
    for the reader.

    `tokens` are counted by the providers; `completion` includes `reasoning`. `usage` is `{"answers", "judge/<name>",
    "expander" or "reranker": {n_requests, n_prompt_tokens, n_completion_tokens, n_cached_tokens, cost}}`, and `cost` is
    its sum in `currency`. They are the totals as if nothing were cached. A cost is None if a server counted no
    tokens or if no price list has the model. Prompt tokens include cached tokens.

    `seconds` and `reused` are by stage: the time that its results took when computed, and whether all of them were
    cached. `one_time_s` is the time of the stages that a corpus needs once. `latency_s` is per question: `p50` and
    `p95` over the answers, including the share `batched` of work that is done for all questions together. `batched_s`
    is that share by stage, {} in results of an earlier version. `versions` are the library versions that the results
    were computed with.
    """

    cell_id: str
    status: str
    axes: Mapping[str, Json]
    overrides: tuple[str, ...]
    config: Mapping[str, Json]
    dataset: Mapping[str, Json]
    reason: str = ""
    metrics: Mapping[str, Mapping[str, Mapping[str, Json]]] = field(default_factory=dict)
    larger_is_better: Mapping[str, bool | None] = field(default_factory=dict)
    own_metrics: tuple[str, ...] = ()
    ranking_metrics: tuple[str, ...] | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    errors: Mapping[str, int] = field(default_factory=dict)
    judges: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    tokens: Mapping[str, int | None] = field(default_factory=dict)
    usage: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    cost: float | None = None
    currency: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)
    one_time_s: float = 0.0
    latency_s: Mapping[str, float] = field(default_factory=dict)
    batched_s: Mapping[str, float] = field(default_factory=dict)
    reused: Mapping[str, bool] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    signatures: Mapping[str, str] = field(default_factory=dict)
    cut_texts: tuple[Mapping[str, Json], ...] = ()
    steps: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    race: Mapping[str, Json] = field(default_factory=dict)
    search: Mapping[str, Json] = field(default_factory=dict)
    git_commit: str = ""
    host: Mapping[str, Json] = field(default_factory=dict)
    schema_version: int = SCHEMA_VERSION

    @property
    def has_own_pipeline(self) -> bool:
        """True if a custom pipeline answered instead of the built-in components."""
        return bool(self.axes.get("pipeline", BUILT_IN) != BUILT_IN)

    def value(self, metric: str, subset: str = "overall") -> float | None:
        """Return a metric's value, None if it was not computed or nothing could be scored."""
        value = self.metrics.get(subset, {}).get(metric, {}).get("value")
        return None if value is None else float(value)


def name_stopper(cells: Iterable[CellResult]) -> str:
    """Name the cause that stopped these cells of the status STOPPED: "the race", "the user", or both."""
    return " or ".join(sorted({"the race" if cell.race else "the user" for cell in cells}))


def all_failed_text(cells: Collection[CellResult]) -> str:
    """Return e.g. "all 3 cells failed. The first reason: out of memory"; "" unless all cells failed."""
    reasons = [cell.reason for cell in cells if cell.status == FAILED]
    if not reasons or len(reasons) < len(cells):
        return ""
    failed = "the only cell" if len(reasons) == 1 else f"all {len(reasons):,} cells"
    return f"{failed} failed. The first reason: {reasons[0] or 'unknown'}"


@dataclass(frozen=True)
class SweepResult:
    """One `sweep.json`. `overrides` are the overrides of the whole sweep, e.g. "top_k=2,8".

    `cells` have `cell_id`, `status`, `reason`, `axes`, `overrides`, and `same_as`: the overrides of other requests for
    the same cell. `headline` is the metric that ranks the cells, "" for the default one. `spent` are the requests and
    the cost of this run, without cached replies: `{n_requests, n_prompt_tokens, n_cached_tokens, n_completion_tokens,
    cost, currency, n_unpriced, n_unanswered}`. `search` describes a search, {} for a grid: `{strategy, seed, n_cells,
    n_space, n_tried, n_failed, n_invalid, is_whole, objectives, axes}`. `is_whole` is true if every cell of the space
    was tried. `steered` are the requests of users that the sweep carried out, as `{at, action}` and `cell_id` for a
    stopped cell.
    """

    sweep_id: str
    name: str
    status: str
    command: str
    overrides: tuple[str, ...]
    started: str
    finished: str
    cells: tuple[Mapping[str, Json], ...]
    plan: Mapping[str, Json]
    headline: str = ""
    spent: Mapping[str, Json] = field(default_factory=dict)
    search: Mapping[str, Json] = field(default_factory=dict)
    steered: tuple[Mapping[str, Json], ...] = ()
    schema_version: int = SCHEMA_VERSION


def require_numbers(cell: CellResult) -> None:
    """Raise TypeError for the first count, value or bound that is not a number, with its path.

    Type annotations do not cover these. Also raise it for a metric that lacks its value or a count of samples.
    """
    for path, holder, names in _holders(cell):
        for name in names:
            value = holder.get(name, 0)
            if type(value) not in (int, float) and not (value is None and name in _METRIC_VALUES):
                raise TypeError(f"{path}.{name}: got {value!r}, expected a number")


def require_sweep_numbers(sweep: SweepResult) -> None:
    """Raise TypeError for an amount that was spent, or a count of a search, that is not a number, with its path."""
    amounts = [("spent", name, sweep.spent.get(name) or 0) for name in _OF_SPENT]
    amounts += [("search", name, sweep.search.get(name)) for name in _OF_SEARCH if sweep.search]
    for field_name, name, value in amounts:
        if type(value) not in (int, float):
            raise TypeError(f"{field_name}.{name}: got {value!r}, expected a number")
    if sweep.search and not {"strategy", "is_whole"} <= sweep.search.keys():
        raise TypeError("search: lacks strategy or is_whole")


def _holders(cell: CellResult) -> Iterator[tuple[str, Mapping[str, Json], Iterable[str]]]:
    yield "dataset", cell.dataset, _DATASET_COUNTS
    for subset, metrics in cell.metrics.items():
        for metric, entry in metrics.items():
            path = f"metrics.{subset}.{metric}"
            if missing := {"value", "n", "n_excluded"} - entry.keys():
                raise TypeError(f"{path}: has no {' and no '.join(sorted(missing))}")
            if not isinstance(excluded := entry["n_excluded"], Mapping):
                raise TypeError(f"{path}.n_excluded: got {excluded!r}, expected counts by reason")
            yield path, entry, (*_METRIC_COUNTS, *_METRIC_VALUES)
            yield f"{path}.n_excluded", excluded, excluded
    for judge, counts in cell.judges.items():
        yield f"judges.{judge}", counts, _OF_JUDGE
    for index, cut in enumerate(cell.cut_texts):
        yield f"cut_texts.{index}", cut, _OF_TEXTS
