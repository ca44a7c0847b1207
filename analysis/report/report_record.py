"""The report as a plain record. The page, the Markdown and the JSON file are made from it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass

from analysis.report import answer_section as answer
from analysis.report import axes_section as axes
from analysis.report import cells_section as cells
from analysis.report import cost_section as cost
from analysis.report import failures_section as failures
from analysis.report import matrix_section as matrix
from analysis.report import published_section as published
from analysis.report import reproduce
from analysis.report import samples_section as samples
from analysis.report import scenarios_section as scenarios
from analysis.report import trust_section as trust
from analysis.report.answer_section import ReportAnswer
from analysis.report.axes_section import ScenarioEffects
from analysis.report.cells_section import Cells
from analysis.report.cost_section import QualityAgainstCost
from analysis.report.failures_section import Failures
from analysis.report.matrix_section import MatrixSection
from analysis.report.published_section import PublishedTable
from analysis.report.report_input import ReportSource
from analysis.report.reproduce import ReproductionSection
from analysis.report.samples_section import SamplesSection
from analysis.report.scenarios_section import Scenarios
from analysis.report.trust_section import WARNING, TrustCheck
from runner.console.styled_text import Prose

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Report:
    """The whole report, section by section. A section is None if it does not apply to the sweep."""

    schema_version: int
    sweep: str
    metric: str
    subset: str
    cell_names: str
    compared_at: str
    answer: ReportAnswer
    scenarios: Scenarios | None
    cells: Cells
    axes: tuple[ScenarioEffects, ...]
    cost: QualityAgainstCost | None
    matrix: MatrixSection | None
    failures: Failures | None
    why_no_failures: str
    samples: SamplesSection | None
    published: tuple[PublishedTable, ...]
    checks: tuple[TrustCheck, ...]
    reproduce: ReproductionSection

    @property
    def warnings(self) -> tuple[TrustCheck, ...]:
        """The checks that the banner names."""
        return tuple(check for check in self.checks if check.kind == WARNING)


def gather(source: ReportSource) -> Report:
    """Compute the whole report from the cells and samples of a sweep. Raises DataError if one is unreadable."""
    report_answer = answer.gather(source)
    failed = failures.gather(source, report_answer)
    main = source.main
    return Report(
        schema_version=SCHEMA_VERSION,
        sweep=source.described.sweep_id,
        metric=main.metric.metric if main else "",
        subset=main.metric.subset if main else "",
        cell_names=source.names.rule,
        compared_at=source.names.compared_at,
        answer=answer.add_losses(report_answer, failed.n_lost, failed.n_with_gold)
        if isinstance(failed, Failures)
        else report_answer,
        scenarios=scenarios.gather(source),
        cells=cells.gather(source),
        axes=axes.gather(source),
        cost=cost.gather(source),
        matrix=matrix.gather(source, report_answer),
        failures=failed if isinstance(failed, Failures) else None,
        why_no_failures=failed if isinstance(failed, str) else "",
        samples=samples.gather(source, report_answer),
        published=published.gather(source),
        checks=trust.gather(source),
        reproduce=reproduce.gather(source, report_answer),
    )


def as_json(report: Report) -> str:
    """Return the report as JSON with one value per line, without the pictures."""
    return json.dumps(_plain(report), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _plain(value: object) -> object:
    """Convert records to mappings, and sentences to texts."""
    if isinstance(value, Prose):
        return str(value)
    if is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value) if each.name != "svg"}
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
