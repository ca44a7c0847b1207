"""Results of one cell and of one sweep, as their JSON files hold them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from components.json_value import Json

SCHEMA_VERSION = 2
OK, FAILED, RUNNING, INTERRUPTED = "OK", "FAILED", "RUNNING", "INTERRUPTED"


@dataclass(frozen=True)
class CellResult:
    """One `cell.json`.

    `axes` are None where the experiment does not use them. `metrics` is `{subset: {metric: {value, n, n_excluded,
    ci_low, ci_high, n_clusters, method}}}`; `larger_is_better` is by metric, None where neither is (such a metric ranks
    nothing). `own_metrics` are those of the user's own packages, `ranking_metrics` those of rankings alone, None in
    results of an earlier version. `counts` are answers by state, `errors` those that failed by what kind of failure it
    was. `judges` is `{judge: {n_judged, n_unparsable, reasons, commonest}}`: of how many samples no reply could be
    read, why, and the commonest of these replies; an expander and a reranker that ask a language model stand
    there as "expander" and "reranker", also with `n_failed` and `commonest_error`. `tokens` are those that providers
    counted, `reasoning` among `completion`.
    `seconds` and `reused` are by stage: the time that its results took when computed, and whether all of them were in
    the store. `one_time_s` is that of the stages that a corpus needs once; `latency_s` is per question: `p50` and `p95`
    over the answers, of which `batched` is its share of what is done for all questions at once; `batched_s` is that
    share by stage, {} in results of an earlier version. `versions` are those that the results were computed with.
    `signatures` are by metric, such as sacreBLEU's. `cut_texts` says for the chunks and for the queries, by the model
    that reads them, how many are longer than it reads. `steps` are facts that steps tell of themselves, by axis: what
    was left out, what was chosen and why, with a `line` for the reader.
    `usage` is `{"answers", "judge/<name>", "expander" or "reranker": {n_requests, n_prompt_tokens, n_completion_tokens,
    n_cached_tokens, cost}}` and `cost` their sum in `currency`: what the cell takes when nothing is kept, None where a
    server counted no tokens or no price list names the model; cached tokens are among those of the prompt. `status` is
    OK or FAILED, with the `reason`; a failed cell may have numbers.
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
    git_commit: str = ""
    host: Mapping[str, Json] = field(default_factory=dict)
    schema_version: int = SCHEMA_VERSION

    def value(self, metric: str, subset: str = "overall") -> float | None:
        """A metric's value; None if it was not computed or nothing could be scored."""
        value = self.metrics.get(subset, {}).get(metric, {}).get("value")
        return None if value is None else float(value)


@dataclass(frozen=True)
class SweepResult:
    """One `sweep.json`. `overrides` are those of the whole sweep, e.g. "top_k=2,8".

    `cells` hold `cell_id`, `status`, `reason`, `axes`, `overrides`, and `same_as`: the overrides of further requests
    that turned out to be the same experiment. `headline` is the metric that ranks the cells, "" for the usual one.
    `spent` is what was asked and paid in this run, kept replies not among it: `{n_requests, n_prompt_tokens,
    n_cached_tokens, n_completion_tokens, cost, currency, n_unpriced, n_unanswered}`.
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
    schema_version: int = SCHEMA_VERSION
