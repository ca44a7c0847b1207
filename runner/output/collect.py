"""From what the stages of a cell made to the cell's result."""

from collections.abc import Container, Mapping
from functools import partial
from pathlib import Path

from components.clusters import Groups
from components.json_value import Json
from components.protocols import RankingMetric
from components.records import AnswerState, ErrorClass, ScoreState
from components.subsets import OVERALL
from runner.console.display import one_line
from runner.console.unread_replies import unread_cause
from runner.engine import environment
from runner.engine.outcome import StageRun
from runner.engine.stage import Work
from runner.engine.store import Store, StoredResult
from runner.engine.worker import read_kept
from runner.output.answer_states import listed_errors
from runner.output.matrices import matrix_files
from runner.output.money import priced
from runner.pipeline.corpus.chunk_headers import HEADER
from runner.pipeline.corpus.refined_corpora import REFINER
from runner.pipeline.planned import PlannedCell
from runner.pipeline.ranking.list_reranking import RERANKER
from runner.pipeline.retrieved import Retrieved
from runner.pipeline.search.expanding import EXPANDER
from runner.pipeline.settings import Pictures, RunSettings
from runner.results import FAILED, OK, CellResult, documents_file
from runner.results.leaderboard_order import N_FIRST, headlines

Files = dict[str, bytes]


def collect_cell(
    cell: PlannedCell, runs: Mapping[str, StageRun], store: Store, settings: RunSettings, headline: str, folder: Path
) -> tuple[CellResult, Files]:
    """The result and the files to be written beside it; `samples.parquet`, which the store has, is put in the cell's
    `folder` already. A cell whose last stage failed has a reason and a trace instead of numbers.

    `runs` are the stages that this sweep looked at, by key; `settings` say how much may fail in a cell that is OK, and
    of which metrics there are pictures. `headline` is the metric that ranks the cells, "" for the usual one.
    """
    data = cell.graph.data
    facts: dict[str, Json] = {
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
        "own_metrics": _own_metrics(cell),
        "ranking_metrics": _ranking_metrics(cell),
        "signatures": _signatures(cell),
        **_stage_facts(cell, runs, store),
    }
    run = runs.get(cell.graph.result.key)
    if run and run.failed:
        return CellResult(**facts, status=FAILED, reason=run.error), {"error.txt": run.trace.encode()}
    summary = read_kept(cell.graph.result, store, partial(_summary, folder))
    facts["dataset"] |= {**summary["notes"], "labels": summary["labels"]}
    _list_documents(cell, store, folder.parent)
    reasons = [*_too_many_failures(summary, settings.max_failure_rate), *_too_many_unread(summary, settings)]
    reason = "; ".join(reasons)
    facts["latency_s"] = with_answers(facts["latency_s"]["batched"], summary["latency_s"])
    numbers = {name: summary[name] for name in ("metrics", "counts", "errors", "judges", "tokens")}
    numbers["cut_texts"] = tuple(summary["cut_texts"])
    numbers["steps"] = summary.get("steps", {})
    numbers |= priced(summary["usage"], cell.request.cell)
    result = CellResult(**facts, **numbers, status=FAILED if reason else OK, reason=reason)
    drawn = _drawn(result, settings.pictures, headline)
    return result, matrix_files(result.metrics, summary["labels"], drawn)


def _summary(folder: Path, result: StoredResult) -> dict[str, Json]:
    """The samples' file is taken as it is: reading the table would only cost time."""
    folder.mkdir(parents=True, exist_ok=True)
    result.put_file("samples.parquet", folder / "samples.parquet")
    summary: dict[str, Json] = result.part("summary")
    return summary


def _list_documents(cell: PlannedCell, store: Store, sweep_folder: Path) -> None:
    """Once for all cells of the sweep that search a corpus."""
    retrieved = cell.graph.result.retrieved
    path = documents_file(sweep_folder, cell.graph.data.corpus.key)
    if isinstance(retrieved, Retrieved) and not path.exists():
        read_kept(retrieved.listing, store, lambda entry: entry.put_file("documents.parquet", path))


def _groups(cell: PlannedCell) -> dict[str, Json]:
    """Where they are not the default."""
    groups = cell.graph.result.groups
    return {} if groups is Groups.DOCUMENT else {"groups": groups.value}


def _drawn(result: CellResult, pictures: Pictures, headline: str) -> Container[str]:
    """The metrics whose matrix is drawn."""
    if pictures is Pictures.HEADLINE:
        return headlines([result], headline)[:N_FIRST]
    return result.metrics.get(OVERALL, {}) if pictures is Pictures.ALL else ()


def with_answers(batched_s: float, answers: Mapping[str, float]) -> dict[str, float]:
    """The latency of a question: its share of what is done for all questions at once, and the answer's own on top."""
    return {"batched": batched_s, **{name: batched_s + answers.get(name, 0.0) for name in ("p50", "p95")}}


def _directions(cell: PlannedCell) -> dict[str, bool | None]:
    """By name of a metric, whether larger is better."""
    return {name: metric.larger_is_better for name, metric in cell.request.cell.computed_metrics.items()}


def _own_metrics(cell: PlannedCell) -> tuple[str, ...]:
    """Metrics of the user's own packages."""
    metrics = cell.request.cell.computed_metrics
    return tuple(name for name in metrics if not type(metrics[name]).__module__.startswith("components."))


def _ranking_metrics(cell: PlannedCell) -> tuple[str, ...]:
    """Metrics that read nothing but rankings."""
    metrics = cell.request.cell.computed_metrics
    return tuple(name for name, metric in metrics.items() if isinstance(metric, RankingMetric))


def _signatures(cell: PlannedCell) -> dict[str, str]:
    """Those of the metrics that have one, such as sacreBLEU's."""
    metrics = cell.request.cell.metrics.scores
    return {name: metric.signature for name, metric in metrics.items() if hasattr(metric, "signature")}


def _too_many_failures(summary: Mapping[str, Json], max_failure_rate: float) -> list[str]:
    """Of answers, of what steps of retrieval ask for, or of a metric's judgements."""
    n_samples: int = summary["n_samples"]
    asked = {name: counts for name, counts in summary["judges"].items() if _role_of(name) in _ASKED_FOR}
    # A reranker is asked about samples; the others about documents, chunks, and variants of queries.
    n_of = {name: counts["n_judged"] for name, counts in asked.items() if _role_of(name) != RERANKER}
    failed = {"answers": summary["counts"].get(AnswerState.ERROR, 0)}
    failed |= {name: counts["n_failed"] for name, counts in asked.items()}
    causes = summary["commonest_errors"] | {name: own["commonest_error"] for name, own in asked.items()}
    for name, entry in summary["metrics"].get(OVERALL, {}).items():
        failed[name] = entry["n_excluded"].get(ScoreState.FAILED, 0)
    # A kind that says nothing is not worth a word; beside others it makes their sum whole.
    is_told = set(summary["errors"]) != {ErrorClass.OTHER}
    by_class = {"answers": listed_errors(summary["errors"]) if is_told else ""}
    return [
        f"{n_failed} of {n_of.get(what) or n_samples} {_shown(what)} failed, more than "
        f"run.max_failure_rate={max_failure_rate:g} allows{_cause(causes.get(what, ''), by_class.get(what, ''))}"
        for what, n_failed in failed.items()
        if n_failed > max_failure_rate * (n_of.get(what) or n_samples)
    ]


def _too_many_unread(summary: Mapping[str, Json], settings: RunSettings) -> list[str]:
    """Judges whose replies could not be read: their metrics are over what few samples they were clear about."""
    reasons = [
        f"{of['n_unparsable']} of {of['n_judged']} {_shown(judge)} could not be read, more than "
        f"run.max_unparsable_rate={settings.max_unparsable_rate:g} allows ({unread_cause(of, _MOST_OF_CAUSE)})"
        for judge, of in summary["judges"].items()
        if of["n_unparsable"] > settings.max_unparsable_rate * of["n_judged"]
    ]
    return [*reasons, _WHEN_UNREAD] if reasons else []


_WHEN_UNREAD = (
    "if replies are cut off, raise max_new_tokens of the model (judge.llm for a judge, llm for a step without a model "
    "of its own); if they are no JSON, or hold a value that is not allowed, try another json_mode or model"
)


_MOST_OF_CAUSE = 500
"""Characters of an error, whose advice is at its end."""

_ASKED_FOR = {REFINER: "documents", HEADER: "texts", EXPANDER: "queries", RERANKER: "orders"}
"""What a language model is asked for on the way to an answer, by role."""


def _role_of(name: str) -> str:
    """Of what stands among the judges: a role, or one with the name of a step, as "reranker/<step>"."""
    return name.partition("/")[0]


def _shown(what: str) -> str:
    if asked_for := _ASKED_FOR.get(_role_of(what)):
        return f"{asked_for} of the {what}"
    return "answers" if what == "answers" else f"judgements of {what}"


def _cause(commonest: str, kinds: str = "") -> str:
    """Of failures: how many of each kind, where that is known, and the commonest message."""
    told = [*filter(None, [kinds]), *([f"most often: {one_line(commonest, _MOST_OF_CAUSE)}"] if commonest else [])]
    return f" ({'; '.join(told)})" if told else ""


def _stage_facts(cell: PlannedCell, runs: Mapping[str, StageRun], store: Store) -> dict[str, Json]:
    """By kind of stage: seconds that the results took when they were computed, and whether all of them were kept. And
    the versions that they were computed with, all of them where kept results are of several.
    """
    seconds: dict[str, float] = {}
    batched: dict[str, float] = {}
    n_samples = max(cell.graph.data.n_samples, 1)
    of_work = dict.fromkeys(Work, 0.0)
    reused: dict[str, bool] = {}
    versions: dict[str, dict[str, None]] = {}
    for stage in cell.graph.result.upstream():
        run = runs.get(stage.key)
        if entry := store.find(stage.kind, stage.key):
            seconds[stage.kind] = seconds.get(stage.kind, 0.0) + entry.manifest.seconds
            of_work[stage.work] += entry.manifest.seconds
            if stage.work is Work.PER_QUERY:
                batched[stage.kind] = batched.get(stage.kind, 0.0) + entry.manifest.seconds / n_samples
            is_reused = run.reused if run else not store.has_made(stage.kind, stage.key)  # the plan makes some
            reused[stage.kind] = reused.get(stage.kind, True) and is_reused
            for package, version in entry.manifest.made_with.items():
                versions.setdefault(package, {})[version] = None
    return {
        "seconds": seconds,
        "one_time_s": of_work[Work.ONE_TIME],
        "latency_s": {"batched": of_work[Work.PER_QUERY] / n_samples},
        "batched_s": batched,
        "reused": reused,
        "versions": {name: " and ".join(found) for name, found in versions.items()},
    }
