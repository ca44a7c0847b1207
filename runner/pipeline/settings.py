"""Settings of metrics, judges, language, tracking and runs."""

import importlib.util
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import ClassVar, TypeVar
from urllib.parse import parse_qsl, urlsplit

from components.judges.claim_checks import Entailment
from components.metrics.interval import Intervals
from components.protocols import (
    LLM,
    AnswerMetric,
    CitationMetric,
    ContextMetric,
    JudgedMetric,
    Metric,
    RankingMetric,
    Tokenizer,
)
from components.secrets.names import names_secret
from runner.engine.spending import Budget
from runner.engine.store.bucket.address import address_problems
from runner.pipeline.corpus.partition import DOCUMENTS_PER_BLOCK

M = TypeVar("M", bound=Metric)

_METRIC_NAME = re.compile(r"(?![.\s])[^/\\<>\x00-\x1f\x7f]+")


@dataclass(frozen=True)
class MetricSettings:
    """Settings of the metrics and of their confidence intervals.

    With `credit_copies`, a copy of gold evidence counts as gold. With `without_citations`, metrics of answers read them
    without their citations. The selections by kind are cached, because the cells of a sweep share these settings.
    """

    scores: Mapping[str, Metric]
    interval: Intervals
    credit_copies: bool = True
    without_citations: bool = False

    @cached_property
    def ranking_metrics(self) -> dict[str, RankingMetric]:
        """Metrics that score rankings."""
        return _select_kind(self.scores, RankingMetric)

    @cached_property
    def context_metrics(self) -> dict[str, ContextMetric]:
        """Metrics that score the content of the prompt."""
        return _select_kind(self.scores, ContextMetric)

    @cached_property
    def answer_metrics(self) -> dict[str, AnswerMetric]:
        """Metrics that score answers without a judge."""
        return _select_kind(self.scores, AnswerMetric)

    @cached_property
    def citation_metrics(self) -> dict[str, CitationMetric]:
        """Metrics that score the citations of answers."""
        return _select_kind(self.scores, CitationMetric)

    def check(self) -> list[str]:
        """Return error messages for metrics that two components compute, names that no file can have, and components
        that score nothing.
        """
        if problems := _bad_declarations(self.scores):
            return problems
        usable = {*self.ranking_metrics, *self.context_metrics, *self.answer_metrics, *self.citation_metrics}
        return [
            *_duplicate_metrics(self.scores, "~metrics.scores"),
            *_bad_names(self.scores),
            *(
                f"scores.{name}: {type(metric).__name__} has no score_rankings, score_contexts, "
                "score_citations or score_answers (with `form`), expected one: see components/protocols/"
                for name, metric in self.scores.items()
                if name not in usable
            ),
        ]


@dataclass(frozen=True)
class JudgeSettings:
    """Metrics that send requests to a language model. Each has a field `llm`, for which `llm` here is the shared model.

    `entailment` is the shared model of metrics of claims that check claims without a language model. `sample` limits
    the judges to this many samples, which `sample_seed` draws; None for all.
    """

    llm: LLM | None
    scores: Mapping[str, JudgedMetric]
    entailment: Entailment | None = None
    sample: int | None = None
    sample_seed: int = 0

    def check(self) -> list[str]:
        """Return messages for metrics that two judges compute, names that no file can have, and a sample below 1."""
        if problems := _bad_declarations(self.scores):
            return problems
        problems = [*_duplicate_metrics(self.scores, "~judge.scores"), *_bad_names(self.scores)]
        if self.sample is not None and self.sample < 1:
            problems.append(f"sample: got {self.sample}, expected at least 1, or null for all samples")
        return problems


def _select_kind(metrics: Mapping[str, Metric], kind: type[M]) -> dict[str, M]:
    return {name: metric for name, metric in metrics.items() if isinstance(metric, kind)}


def _bad_declarations(scores: Mapping[str, Metric]) -> list[str]:
    """Return one message per custom metric whose `names` or `larger_is_better` has another type than declared."""
    problems: list[str] = []
    for component, metric in scores.items():
        names: object = metric.names
        direction: object = metric.larger_is_better
        prefix = f"scores.{component}: {type(metric).__name__}"
        if not isinstance(names, tuple | list) or not all(isinstance(name, str) for name in names):
            problems.append(f"{prefix} has the names {names!r}, expected a tuple of strings")
        if direction is not None and not isinstance(direction, bool):
            problems.append(f"{prefix} has larger_is_better={direction!r}, expected True, False or None")
    return problems


def _duplicate_metrics(scores: Mapping[str, Metric], drop: str) -> list[str]:
    """Return one message per metric that several components compute. `drop` is the override that removes one."""
    computed_by: dict[str, list[str]] = {}
    for component, metric in scores.items():
        for name in metric.names:
            computed_by.setdefault(name, []).append(component)
    return [
        f"scores: {name!r} is computed by {' and by '.join(components)}. Drop one: {drop}.{components[0]}"
        for name, components in computed_by.items()
        if len(components) > 1
    ]


def _bad_names(scores: Mapping[str, Metric]) -> list[str]:
    """Return one message per metric whose name cannot be part of a file, column or page name."""
    return [
        f"scores.{component}: {type(metric).__name__} names a metric {name!r}, expected letters, digits and characters "
        "like @, - and _, without /, \\, <, > and control characters, and no dot in front"
        for component, metric in scores.items()
        for name in metric.names
        if not _METRIC_NAME.fullmatch(name)
    ]


@dataclass(frozen=True)
class LanguageSettings:
    """The language of the data. Choosing one sets the tokenizer, the prompt and the wording of judges.

    `words` splits texts into words for metrics. `bleu` is the language for BLEU.
    """

    name: str
    words: Tokenizer
    bleu: str

    is_axis: ClassVar[bool] = False


class LoggedSubsets(Enum):
    """Metrics that are logged for subsets, tasks and topics: those that come first in leaderboards, or all."""

    HEADLINE = "headline"
    ALL = "all"


@dataclass(frozen=True)
class TrackingSettings:
    """Settings of the log of results in MLflow.

    An empty `uri` is a local SQLite file, mlflow.db in the folder that contains `run.results_dir`. `traces` is the
    number of samples that are logged step by step at the end of the sweep, None for all: see
    `runner.output.traces.traced_samples`. `subsets` sets how many metrics of a cell are logged: see
    `runner.output.mlflow_runs.logged_metrics`.
    """

    enabled: bool
    uri: str
    traces: int | None = 0
    subsets: LoggedSubsets = LoggedSubsets.HEADLINE

    is_axis: ClassVar[bool] = False

    def check(self) -> list[str]:
        """Return error messages for a password in the URI, which would end up in the results, and for a negative number
        of traces.
        """
        problems = self._password()
        if self.traces is not None and self.traces < 0:
            problems.append(f"traces: got {self.traces}, expected a number of samples, or null for all")
        return problems

    def _password(self) -> list[str]:
        parts = urlsplit(self.uri)
        names = [name for name, _ in parse_qsl(f"{parts.query}&{parts.fragment}", keep_blank_values=True)]
        if "@" not in parts.netloc and not any(names_secret(name) or "user" in name.lower() for name in names):
            return []
        return [
            "uri: contains a user name or password. Set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD instead."
        ]


class Pictures(Enum):
    """Metrics whose topic x task matrix is drawn: the first of the leaderboard, all or none."""

    HEADLINE = "headline"
    ALL = "all"
    NONE = "none"


@dataclass(frozen=True)
class RunSettings:
    """Settings of how a sweep is run. They change no metric, except that hits with nearly equal neural scores may swap.

    `workers` is the number of workers; 0 lets the executor choose. `headline` is the metric that ranks the cells; ""
    for the default one. `max_requests`, `max_tokens` and `max_cost` limit the requests, tokens and cost of all
    processes of the sweep together. With `report`, the finished sweep writes its report, as `python -m analysis report`
    does. Corpora are processed in blocks of at most `documents_per_block` documents. `store_dir` is a folder, or a
    bucket ("s3://...") that is read through `cache_dir`. Cached results of the stage kinds in `fresh` are computed
    again if other library versions produced them.
    """

    results_dir: str
    store_dir: str
    workers: int
    max_failure_rate: float
    plan_only: bool
    progress: bool
    plugins: tuple[str, ...] = ()
    max_unparsable_rate: float = 0.1
    headline: str = ""
    pictures: Pictures = Pictures.HEADLINE
    max_requests: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    report: bool = False
    documents_per_block: int = DOCUMENTS_PER_BLOCK
    cache_dir: str = "results/cache"
    fresh: tuple[str, ...] = ()

    is_axis: ClassVar[bool] = False

    @property
    def budget(self) -> Budget:
        """Limits of the sweep's spending."""
        return Budget(self.max_requests, self.max_tokens, self.max_cost)

    def check(self) -> list[str]:
        """Return error messages for numbers out of range, unusable paths, and plugins that are not packages."""
        problems = [
            f"plugins: got {name!r}, expected a package that can be imported, from the current folder or installed"
            + _note_on_safe_path(name)
            for name in self.plugins
            if not all(part.isidentifier() for part in name.split(".")) or not _is_importable(name.partition(".")[0])
        ]
        problems += [f"store_dir: {problem}" for problem in address_problems(self.store_dir)]
        for name in ("store_dir", "cache_dir"):
            if not getattr(self, name).strip():
                problems.append(f"{name}: got {getattr(self, name)!r}, expected a folder, e.g. results/{name[:5]}")
        folder = Path(self.results_dir).resolve()
        if not self.results_dir.strip() or folder == folder.parent:
            problems.append(
                f"results_dir: got {self.results_dir!r}, expected a folder that is only for results, e.g. results"
            )
        problems += [] if self.workers >= 0 else [f"workers: got {self.workers}, expected at least 1, or 0 to choose"]
        for name, budget in vars(self.budget).items():
            if budget is not None and not budget > 0:
                problems.append(f"{name}: got {budget}, expected more than 0, or null for no limit")
        if self.documents_per_block < 1:
            problems.append(f"documents_per_block: got {self.documents_per_block}, expected at least 1")
        for name in ("max_failure_rate", "max_unparsable_rate"):
            if not 0 <= getattr(self, name) <= 1:
                problems.append(f"{name}: got {getattr(self, name)}, expected a share in [0, 1]")
        return problems


def _note_on_safe_path(name: str) -> str:
    """Return the reason why Python does not find a package in the working directory, "" if it is not there."""
    top = name.partition(".")[0]
    is_here = top.isidentifier() and (Path(top).is_dir() or Path(f"{top}.py").is_file())
    if not (sys.flags.safe_path and is_here):
        return ""
    return (
        "; it is in the current folder, which -P (PYTHONSAFEPATH) keeps off the path. Leave that out, or put the "
        "folder on PYTHONPATH"
    )


def _is_importable(package: str) -> bool:
    return package in sys.modules or importlib.util.find_spec(package) is not None


@dataclass(frozen=True)
class ExperimentSettings:
    """Name of the sweep in MLflow."""

    name: str

    is_axis: ClassVar[bool] = False

    def check(self) -> list[str]:
        """Return an error message for an empty name."""
        return [] if self.name.strip() else ["name: got an empty name, expected one for the MLflow experiment"]
