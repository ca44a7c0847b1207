"""Collects the results of a cell's stages into the cell's result and files."""

from collections.abc import Container, Mapping
from functools import partial
from pathlib import Path

from components.clusters import Groups
from components.directions import metric_larger_is_better
from components.json_value import Json
from components.protocols import RankingMetric
from components.records import AnswerState, ErrorClass, ScoreState
from components.subsets import OVERALL
from runner.console.display import one_line
from runner.console.unreadable_replies import unread_cause
from runner.engine import environment
from runner.engine.outcome import StageRun
from runner.engine.stage import Work
from runner.engine.store import Store, StoredResult
from runner.engine.worker import read_cached
from runner.output.matrices import matrix_files
from runner.output.money import usage_fields
from runner.output.sweep_warnings import error_counts
from runner.pipeline.answers.compressing import COMPRESSOR
from runner.pipeline.answers.revising import REVISER
from runner.pipeline.corpus.chunk_facts import GRAPH
from runner.pipeline.corpus.chunk_headers import HEADER
from runner.pipeline.corpus.refined_corpora import REFINER
from runner.pipeline.planned_cells import PlannedCell
from runner.pipeline.ranking.list_reranking import RERANKER
from runner.pipeline.retrieval_result import Retrieved
from runner.pipeline.search.expanding import EXPANDER
from runner.pipeline.search.iterating import ITERATIVE
from runner.pipeline.settings import Pictures, RunSettings
from runner.results import FAILED, OK, STOPPED, CellResult, documents_file
from runner.results.leaderboard_order import N_FIRST, headlines

Files = dict[str, bytes]


def collect_cell(
    cell: PlannedCell, runs: Mapping[str, StageRun], store: Store, settings: RunSettings, headline: str, folder: Path
) -> tuple[CellResult, Files]:
    """Return the result of a cell, and the content of files to write next to it.

    `samples.parquet` is copied or linked from the store into `folder` here. A cell whose last stage failed has a reason
    and a traceback instead of numbers.

    `runs` are the stages that this sweep ran or looked up, by key. `settings` limit the failures in a cell that is OK,
    and choose the metrics with pictures. `headline` is the metric that ranks the cells, "" for the default.
    """
    facts = _facts(cell, runs, store)
    run = runs.get(cell.graph.result.key)
    if run and run.failed:
        return CellResult(**facts, status=FAILED, reason=run.error), {"error.txt": run.trace.encode()}
    summary = read_cached(cell.graph.result, store, partial(_take_summary, folder))
    facts["dataset"] |= {**summary["notes"], "labels": summary["labels"]}
    _write_documents(cell, store, folder.parent)
    reasons = [*_too_many_failures(summary, settings.max_failure_rate), *_too_many_unread(summary, settings)]
    reason = "; ".join(reasons)
    facts["latency_s"] = add_answer_latency(facts["latency_s"]["batched"], summary["latency_s"])
    numbers = {name: summary[name] for name in ("metrics", "counts", "errors", "judges", "tokens")}
    numbers["cut_texts"] = tuple(summary["cut_texts"])
    numbers["steps"] = summary.get("steps", {})
    numbers |= usage_fields(summary["usage"], cell.request.cell)
    result = CellResult(**facts, **numbers, status=FAILED if reason else OK, reason=reason)
    with_picture = _metrics_with_picture(result, settings.pictures, headline)
    return result, matrix_files(result.metrics, summary["labels"], with_picture)


def stopped_cell(cell: PlannedCell, store: Store, race: Mapping[str, Json]) -> CellResult:
    """Return the result of a cell that a race or the user stopped. `race` is described at `CellResult`, {} for the
    user.
    """
    if not race:
        return CellResult(**_facts(cell, {}, store), status=STOPPED, reason="stopped by the user")
    reason = f"stopped by the race after {race['n']:,} of {race['n_samples']:,} samples"
    if race["behind"]:  # a cell that stopped within the margin is behind by 0
        reason += f", at least {race['behind']:.4f} behind the winner in {race['metric']}"
    return CellResult(**_facts(cell, {}, store), status=STOPPED, reason=reason, race=race)


def _facts(cell: PlannedCell, runs: Mapping[str, StageRun], store: Store) -> dict[str, Json]:
    """Return the facts about a cell that do not depend on its results."""
    data = cell.graph.data
    return {
        "cell_id": cell.cell_id,
        "axes": cell.axes,
        "overrides": cell.request.job.overrides,
        "config": cell.request.job.config,
        "dataset": {
            "name": cell.request.cell.dataset.name,
            "key": data.key,
            "corpus": data.corpus.key,
            "n_documents": data.n_documents,
            "n_samples": data.n_samples,
            **_groups(cell),
            **data.notes,
        },
        "git_commit": environment.git_commit(),
        "host": environment.host(),
        "larger_is_better": _directions(cell),
        "own_metrics": _custom_metrics(cell),
        "ranking_metrics": _ranking_metrics(cell),
        "signatures": _signatures(cell),
        **_stage_facts(cell, runs, store),
    }


def _take_summary(folder: Path, result: StoredResult) -> dict[str, Json]:
    """Put the file of samples into `folder` without reading the table, and return the summary."""
    folder.mkdir(parents=True, exist_ok=True)
    result.put_file("samples.parquet", folder / "samples.parquet")
    summary: dict[str, Json] = result.part("summary")
    return summary


def _write_documents(cell: PlannedCell, store: Store, sweep_folder: Path) -> None:
    """Write the documents' file of a corpus, once for all cells that search it."""
    retrieved = cell.graph.result.retrieved
    path = documents_file(sweep_folder, cell.graph.data.corpus.key)
    if isinstance(retrieved, Retrieved) and not path.exists():
        read_cached(retrieved.listing, store, lambda entry: entry.put_file("documents.parquet", path))


def _groups(cell: PlannedCell) -> dict[str, Json]:
    """Return the groups of samples, unless they are the default."""
    groups = cell.graph.result.groups
    return {} if groups is Groups.DOCUMENT else {"groups": groups.value}


def _metrics_with_picture(result: CellResult, pictures: Pictures, headline: str) -> Container[str]:
    if pictures is Pictures.HEADLINE:
        return headlines([result], headline)[:N_FIRST]
    return result.metrics.get(OVERALL, {}) if pictures is Pictures.ALL else ()


def add_answer_latency(batched_s: float, answers: Mapping[str, float]) -> dict[str, float]:
    """Return the latencies of a question in seconds: its share of batched work, and p50 and p95 with the answer."""
    return {"batched": batched_s, **{name: batched_s + answers.get(name, 0.0) for name in ("p50", "p95")}}


def _directions(cell: PlannedCell) -> dict[str, bool | None]:
    """Return by metric whether larger values are better; None where neither direction is."""
    return {name: metric_larger_is_better(metric, name) for name, metric in cell.request.cell.computed_metrics.items()}


def _custom_metrics(cell: PlannedCell) -> tuple[str, ...]:
    """Return the metrics from users' packages."""
    metrics = cell.request.cell.computed_metrics
    return tuple(name for name in metrics if not type(metrics[name]).__module__.startswith("components."))


def _ranking_metrics(cell: PlannedCell) -> tuple[str, ...]:
    """Return the metrics that read only rankings."""
    metrics = cell.request.cell.computed_metrics
    return tuple(name for name, metric in metrics.items() if isinstance(metric, RankingMetric))


def _signatures(cell: PlannedCell) -> dict[str, str]:
    """Return the signatures of metrics that have one, such as sacreBLEU's."""
    metrics = cell.request.cell.metrics.scores
    return {name: metric.signature for name, metric in metrics.items() if hasattr(metric, "signature")}


def _too_many_failures(summary: Mapping[str, Json], max_failure_rate: float) -> list[str]:
    """Return a reason for each kind of work that failed too often: answers, requests of other steps, judgements."""
    n_samples: int = summary["n_samples"]
    judges = {name: counts for name, counts in summary["judges"].items() if "n_failed" in counts}
    # Rerankers count samples; other roles count documents, chunks, variants of queries, and answers.
    n_of = {name: counts["n_judged"] for name, counts in judges.items() if _parse_role(name) != RERANKER}
    failed = {"answers": summary["counts"].get(AnswerState.ERROR, 0)}
    failed |= {name: counts["n_failed"] for name, counts in judges.items()}
    causes = summary["commonest_errors"] | {name: counts["commonest_error"] for name, counts in judges.items()}
    for name, entry in summary["metrics"].get(OVERALL, {}).items():
        failed[name] = entry["n_excluded"].get(ScoreState.FAILED, 0)
        n_of[name] = entry["n"] + failed[name] + entry["n_excluded"].get(ScoreState.UNPARSABLE, 0)  # were requested
    # The class "other" says nothing by itself. With other classes, it completes their sum.
    has_classes = set(summary["errors"]) != {ErrorClass.OTHER}
    by_class = {"answers": error_counts(summary["errors"]) if has_classes else ""}
    return [
        f"{n_failed} of {n_of.get(name) or n_samples} {_work(name)} failed, more than "
        f"run.max_failure_rate={max_failure_rate:g} allows{_cause(causes.get(name, ''), by_class.get(name, ''))}"
        for name, n_failed in failed.items()
        if n_failed > max_failure_rate * (n_of.get(name) or n_samples)
    ]


def _too_many_unread(summary: Mapping[str, Json], settings: RunSettings) -> list[str]:
    """Return a reason for each judge with too many unreadable replies: its metrics would cover too few samples."""
    reasons = [
        f"{counts['n_unparsable']} of {counts['n_judged']} {_work(judge)} could not be read, more than "
        f"run.max_unparsable_rate={settings.max_unparsable_rate:g} allows "
        f"({unread_cause(counts, _MAX_CAUSE_CHARACTERS)})"
        for judge, counts in summary["judges"].items()
        if counts["n_unparsable"] > settings.max_unparsable_rate * counts["n_judged"]
    ]
    return [*reasons[:-1], f"{reasons[-1]}. {_UNREAD_ADVICE}"] if reasons else []


_UNREAD_ADVICE = (
    "If replies are truncated, raise max_new_tokens of the model (judge.llm for a judge, llm for a step without its "
    "own model). If they are not JSON, or contain a value that is not allowed, try another json_mode or model."
)

_MAX_CAUSE_CHARACTERS = 500
"""Characters of an error message. It is long, because advice is at the end of a message."""

_ASKED_FOR = {
    REFINER: "documents of the {}",
    HEADER: "texts of the {}",
    GRAPH: "lists of facts of the {}",
    EXPANDER: "queries of the {}",
    ITERATIVE: "decisions about a next search",
    RERANKER: "orders of the {}",
    COMPRESSOR: "selections of the {}",
    REVISER: "revisions of the {}",
}
"""Results that the steps request from a language model, by role."""


def _parse_role(name: str) -> str:
    """Return the role in a name such as "reranker" or "reranker/<step>"."""
    return name.partition("/")[0]


def _work(name: str) -> str:
    if asked_for := _ASKED_FOR.get(_parse_role(name)):
        return asked_for.format(name)
    return "answers" if name == "answers" else f"judgements of {name}"


def _cause(commonest: str, classes: str = "") -> str:
    """Format the cause of failures: the number of each class, if known, and the commonest message."""
    parts = [
        *filter(None, [classes]),
        *([f"most often: {one_line(commonest, _MAX_CAUSE_CHARACTERS)}"] if commonest else []),
    ]
    return f" ({'; '.join(parts)})" if parts else ""


def _stage_facts(cell: PlannedCell, runs: Mapping[str, StageRun], store: Store) -> dict[str, Json]:
    """Return facts about the results of a cell's stages.

    By kind of stage: the seconds that computing them took, and whether all of them were cached. Also the versions of
    packages that computed them; if results differ in a version, all of its values are listed.
    """
    seconds: dict[str, float] = {}
    batched: dict[str, float] = {}
    n_samples = max(cell.graph.data.n_samples, 1)
    seconds_by_work = dict.fromkeys(Work, 0.0)
    reused: dict[str, bool] = {}
    versions: dict[str, dict[str, None]] = {}
    for stage in cell.graph.result.upstream():
        run = runs.get(stage.key)
        if entry := store.find(stage.kind, stage.key):
            seconds[stage.kind] = seconds.get(stage.kind, 0.0) + entry.manifest.seconds
            seconds_by_work[stage.work] += entry.manifest.seconds
            if stage.work is Work.PER_QUERY:
                batched[stage.kind] = batched.get(stage.kind, 0.0) + entry.manifest.seconds / n_samples
            is_reused = (
                run.reused if run else not store.was_computed_here(stage.kind, stage.key)
            )  # planning itself computes some stages
            reused[stage.kind] = reused.get(stage.kind, True) and is_reused
            for package, version in entry.manifest.made_with.items():
                versions.setdefault(package, {})[version] = None
    return {
        "seconds": seconds,
        "one_time_s": seconds_by_work[Work.ONE_TIME],
        "latency_s": {"batched": seconds_by_work[Work.PER_QUERY] / n_samples},
        "batched_s": batched,
        "reused": reused,
        "versions": {name: " and ".join(numbers) for name, numbers in versions.items()},
    }
