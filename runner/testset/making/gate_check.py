"""python -m runner.generate check dataset=...: the gates without a model, on any data set."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from runner.console.command_parser import CommandParser
from runner.console.display import make_console
from runner.console.written_files import write_lines
from runner.engine.plugins.plugin_loading import load_plugins
from runner.pipeline.building import build_component, read_plugins
from runner.testset.making.composing import compose_generation
from runner.testset.making.sample_checks import CheckReport, CheckSettings, check_dataset

EXIT_FOUND = 1


def check(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code: 0, or 1 if a gate would reject a sample.

    Raises RagGridError for a wrong configuration or unusable data.
    """
    options = _parser().parse_intermixed_args(arguments)
    config = compose_generation(options.overrides, "check")
    checked = {field.name: config[field.name] for field in fields(CheckSettings)}
    load_plugins(read_plugins({"run": config}))
    settings: CheckSettings = build_component(checked, CheckSettings, "", read_plugins({"run": config}))
    report = check_dataset(settings.dataset.load(), settings.gates, settings.near_duplicates)
    if options.out:
        write_lines(options.out, (json.dumps(finding.to_json(), ensure_ascii=False) for finding in report.findings))
    console = make_console()
    show(console, settings.dataset.name, report)
    if report.findings:
        note = f"all findings: {options.out}" if options.out else "--out FILE writes all findings as JSON Lines"
        console.print(note, markup=False, soft_wrap=True)
    return EXIT_FOUND if report.n_samples_found else 0


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m runner.generate check",
        description="Run the gates that need no model, on any data set. Exit code 1 if a gate would reject a sample.",
        example="python -m runner.generate check dataset=demo gates=[form,leaks]",
        page="docs/generation-checks.md",
    )
    parser.add_argument(
        "overrides", nargs="*", help="overrides, e.g. dataset=omnieval dataset.root=PATH gates=[form,leaks]"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the findings to this file, as JSON Lines")
    return parser


def show(console: Console, name: str, report: CheckReport) -> None:
    """Print, for each gate and reason, the samples with findings, the samples checked, and the first sample found."""
    summary = f"{report.n_samples_found:,} of {report.n_samples:,} samples would be rejected"
    console.print(f"[bold]{escape(name)}[/]: {summary}")
    table = Table("gate", "reason", "samples", "of", "share", "the first", box=None, padding=(0, 2, 0, 0))
    for (gate, reason), n in report.counts().items():
        first = next(finding for finding in report.findings if (finding.gate, finding.reason) == (gate, reason))
        n_checked = report.n_checked[gate]
        label = f"{reason} (remark)" if first.is_remark else reason
        table.add_row(gate, label, f"{n:,}", f"{n_checked:,}", f"{n / n_checked:.1%}", escape(first.sample.id))
    silent = [gate for gate in report.n_checked if gate not in {checked for checked, _ in report.counts()}]
    for gate in silent:
        table.add_row(gate, "–", "0", f"{report.n_checked[gate]:,}", "", "")
    console.print(table)
