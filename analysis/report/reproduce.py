"""Section: commands that reproduce the numbers, and the code, data and packages behind them."""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from analysis.report.answer_section import ReportAnswer
from analysis.report.report_input import ReportSource
from runner.results import cell_command

_OF_THE_BENCHMARK = ("oracle", "given")
"""Retrievers that take the passages of the benchmark, so that other questions cannot be asked."""


@dataclass(frozen=True)
class Reproduction:
    """A command line and its purpose."""

    purpose: str
    line: str


@dataclass(frozen=True)
class ReproductionSection:
    """Commands, and the data, the code and the packages behind the numbers."""

    commands: tuple[Reproduction, ...]
    facts: tuple[tuple[str, str], ...]
    versions: Mapping[str, str]
    signatures: Mapping[str, str]


def gather(source: ReportSource, answer: ReportAnswer) -> ReproductionSection:
    """Return commands that repeat the sweep and its tests, and export the cell that the report is about."""
    cells, described = source.sweep.cells, source.described
    code, versions = _join_distinct(cell.git_commit for cell in cells), _merge(cell.versions for cell in cells)
    stored_by = versions.pop("commit", "")
    facts = [
        ("sweep", f"{described.sweep_id}, {described.started} to {described.finished or 'unfinished'}"),
        ("data", _join_distinct(f"{cell.dataset.get('name')} {cell.dataset.get('key', '')}" for cell in cells)),
        ("code", code),
        ("code of stored results", stored_by if stored_by != code else ""),
        ("cells", _join_distinct(cell.cell_id for cell in cells)),
    ]
    return ReproductionSection(
        tuple(_commands(source, answer)),
        tuple((name, text) for name, text in facts if text.strip()),
        versions,
        _merge(cell.signatures for cell in cells),
    )


def _commands(source: ReportSource, answer: ReportAnswer) -> Iterable[Reproduction]:
    folder = shlex.quote(str(source.sweep.folder))
    yield Reproduction("the whole sweep; finished work is cached", source.described.command)
    if source.main:
        metric = source.main.metric
        name = shlex.quote(f"{metric.subset}:{metric.metric}" if metric.subset != "overall" else metric.metric)
        if source.main.family:
            yield Reproduction("the tests behind the verdicts", f"python -m analysis compare {folder} --metric {name}")
        yield Reproduction("this report", f"python -m analysis report {folder} --metric {name}")
    if answer.take:
        cell = next(cell for cell in source.sweep.cells if cell.cell_id == answer.take)
        yield Reproduction(f"only {answer.cell}", cell_command(cell, source.described.command))
        if cell.axes.get("retriever") not in _OF_THE_BENCHMARK:
            line = f"python -m runner.export {folder} {cell.cell_id} --out winner"
            can_answer = cell.axes.get("llm") != "none"
            purpose = "answers your questions" if can_answer else "searches your documents"
            yield Reproduction(f"{answer.cell} as a folder that {purpose}", line)


def _join_distinct(texts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(filter(None, texts)))


def _merge(mappings: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return the values by name; all distinct values if cells differ."""
    by_name: dict[str, dict[str, None]] = {}
    for mapping in mappings:
        for name, text in mapping.items():
            by_name.setdefault(name, {})[str(text)] = None
    return {name: " and ".join(texts) for name, texts in by_name.items()}
