"""python -m runner.judge_agreement: validates a judge against human labels before its numbers are trusted."""

if __name__ == "__main__":  # first, so that Ctrl-C during the slow imports below ends cleanly
    from runner.console.interruptible import run_main

    run_main("runner.judge_agreement")


import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from components.errors import ConfigError, RagGridError
from components.json_value import Json
from components.statistics.agreement import Agreement, Measure, agree
from runner.console.command_parser import SWEEP, CommandParser
from runner.console.display import make_console, one_line, print_error
from runner.console.written_files import require_other_files, write_lines
from runner.engine.plugins.trusted_packages import add_option, trust

if TYPE_CHECKING:
    from runner.engine.store import Store
    from runner.labels.agreement.labelled_claims import ChecksAnswers
    from runner.labels.agreement.labelled_sweep import CellEstimate
    from runner.labels.rating import Rating

_OVERALL = "all metrics"


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code.

    0 is success. 1 means that requests failed: they are left out, counted, and sent again next time. 2 means that
    nothing was run.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    if sum(file is not None for file in (options.labels, options.claims, options.write_claims)) != 1:
        parser.error("expected one of --labels, --claims and --write-claims")
    from runner.engine.store import open_store  # --help needs none of these imports
    from runner.labels.agreement.labelled_claims import claim_judge, rate_claims
    from runner.labels.agreement.labelled_sweep import cells_by_answer, compare_with_labels, foreign_labels_warning
    from runner.labels.claim_labels import read_claim_labels
    from runner.labels.graders import labelled_graders
    from runner.labels.label_files import read_labels
    from runner.labels.rating import rate_items
    from runner.launch.compose import compose_config
    from runner.pipeline.building import read_plugins
    from runner.results import find_sweep

    try:
        require_other_files([file for file in (options.labels, options.claims) if file], options.json)
        config = compose_config([f"judge={options.judge}", *options.overrides])
        trust(read_plugins(config))
        store = open_store(config["run"]["store_dir"], config["run"]["cache_dir"])
        sweep = find_sweep(options.sweep) if options.sweep else None
        if options.write_claims:
            return _write_claims(options, sweep, claim_judge(config), store)
        cells_of = cells_by_answer(sweep) if sweep else {}
        if options.claims:
            claims = read_claim_labels(options.claims)
            rated, cells = rate_claims(claim_judge(config), claims, store), []
            n_ties = sum(claim.verdict is None for claim in claims)
        else:
            items = read_labels(options.labels)
            graders = labelled_graders(config, items)
            if sweep and (warning := foreign_labels_warning(items, cells_of, sweep)):
                print_error(warning)  # before the judge is asked
            rated = [rating for grader in graders.values() for rating in rate_items(grader, items, store)]
            cells = compare_with_labels(sweep, graders, items) if sweep else []
            n_ties = sum(len(item.ties) for item in items)
        report = {**_report(rated, n_ties, cells_of), "cells": [_cell_entry(each) for each in cells]}
        if options.json:
            write_lines(options.json, [json.dumps(report, ensure_ascii=False, indent=2)])
    except RagGridError as error:
        print_error(error)
        return 2
    _show(make_console(), report)
    return 1 if any(entry["n_failed"] for entry in report["metrics"].values()) else 0


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m runner.judge_agreement",
        description="Compare a judge with human labels before you trust its numbers. Exit code 1 if requests failed, 2 "
        "if nothing was run.",
        example="python -m runner.judge_agreement --labels labels.csv --judge omnieval --sweep latest",
        page="docs/judges.md",
    )
    parser.add_argument(
        "--labels", metavar="FILE", type=Path, help="human labels: .jsonl, .csv, or Label Studio's .json"
    )
    parser.add_argument("--claims", metavar="FILE", type=Path, help="human verdicts on claims, in the same formats")
    parser.add_argument(
        "--write-claims",
        metavar="FILE",
        type=Path,
        help=("write claims of answers in --sweep to this file, for people to label"),
    )
    parser.add_argument(
        "--answers",
        metavar="N",
        type=int,
        default=100,
        help=("number of answers for --write-claims (default: %(default)s)"),
    )
    parser.add_argument("--judge", required=True, metavar="NAME", help="an option of conf/judge/, e.g. omnieval")
    parser.add_argument(
        "--sweep",
        metavar="SWEEP",
        help=(
            f"{SWEEP}. If some of its answers are labelled, the report adds the judge's bias and a corrected mean "
            "for each cell"
        ),
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write the whole report to this file, with every disagreement"
    )
    add_option(parser)
    parser.add_argument(
        "overrides", nargs="*", help="overrides, as in python -m runner, e.g. judge.llm.model=qwen2.5-72b-instruct"
    )
    return parser


def _write_claims(options: argparse.Namespace, sweep: Path | None, judge: "ChecksAnswers", store: "Store") -> int:
    """Write claims of answers of the sweep for people to label, and return the exit code."""
    from runner.labels.agreement.labelled_claims import claims_to_label
    from runner.labels.claim_labels import claims_file

    if sweep is None:
        raise ConfigError("--write-claims: got no --sweep, expected the sweep with the answers")
    answers = claims_to_label(sweep, judge, options.answers, store)
    for extension, lines in claims_file(options.write_claims.name, answers).items():
        write_lines(options.write_claims.with_suffix(extension), lines)
    n_claims = sum(len(claims) for _, claims in answers)
    make_console().print(f"{options.write_claims}: {n_claims} claims of {len(answers)} answers", markup=False)
    return 0


def _report(rated: Sequence["Rating"], n_ties: int, cells_of: Mapping[tuple[str, str], list[str]]) -> dict[str, Json]:
    """Return the agreement by metric, and each disagreement with its answer and the cells of the sweep that gave it."""
    names = list(dict.fromkeys(rating.metric for rating in rated))
    groups = {name: [rating for rating in rated if rating.metric == name] for name in names}
    entries = {name: _entry(ratings) for name, ratings in groups.items()}
    if len(names) > 1:
        entries[_OVERALL] = _drop_grades(_entry(rated))
    return {
        "metrics": entries,
        "n_ties": n_ties,
        "failures": dict(Counter(r.remark for r in rated if r.judged is None).most_common()),
        "disagreements": [
            {
                "id": r.item_id,
                "metric": r.metric,
                "label": r.label,
                "judged": r.judged,
                "remark": r.remark,
                "answer": r.answer,
                "cells": cells_of.get((r.item_id, r.answer), []),
            }
            for r in rated
            if r.judged is not None and r.judged != r.label
        ],
    }


def _entry(ratings: Sequence["Rating"]) -> dict[str, Json]:
    rated = [(rating.label, rating.judged, rating.question) for rating in ratings if rating.judged is not None]
    n_failed = len(ratings) - len(rated)
    if not rated:
        return {"n": 0, "n_failed": n_failed}
    labels, judged, questions = zip(*rated, strict=True)
    agreement: Agreement = agree(labels, judged, questions)
    return {
        "n": agreement.n,
        "n_questions": agreement.n_questions,
        "n_failed": n_failed,
        "n_graded": agreement.n_graded,
        **_measure_entry("accuracy", agreement.accuracy),
        **_measure_entry("kappa", agreement.kappa),
        **_measure_entry("weighted_kappa", agreement.weighted_kappa),
        "confusion": {
            label: dict(zip(agreement.classes, row, strict=True))
            for label, row in zip(agreement.classes, agreement.confusion.tolist(), strict=True)
        },
    }


def _measure_entry(name: str, measure: Measure) -> dict[str, Json]:
    return {name: measure.value, f"{name}_interval": measure.interval}


def _drop_grades(entry: Mapping[str, Json]) -> dict[str, Json]:
    """Drop the measures of grades: a distance between the grades of different scales is meaningless."""
    return {name: value for name, value in entry.items() if name != "n_graded" and "weighted" not in name}


def _cell_entry(each: "CellEstimate") -> dict[str, Json]:
    estimate = {} if each.estimate is None else asdict(each.estimate)
    return {"metric": each.metric, "cell_id": each.cell.cell_id, "overrides": list(each.cell.overrides), **estimate}


def _cells_table(entries: Sequence[Mapping[str, Json]]) -> Table:
    """Build the table with the estimated mean of human grades of each cell, and the judge's bias."""
    table = Table(title="Estimated human grades of the cells", title_justify="left", box=None, padding=(0, 2, 0, 0))
    titles = ("judge's mean", "bias [dim]95% interval[/]", "human mean [dim]95% interval[/]", "labelled")
    for column in ("metric", "cell", *titles):
        table.add_column(column, justify="left" if column in ("metric", "cell") else "right", no_wrap=True)
    for entry in entries:
        if "mean" in entry:
            bias, mean = entry["bias_interval"], entry["interval"]
            numbers = (
                f"{entry['judged_mean']:.3f}",
                f"{entry['bias']:+.3f} [dim]{_bounds(bias, '+.3f')}[/]",
                f"{entry['mean']:.3f} [dim]{_bounds(mean, '.3f')}[/]",
                f"{entry['n_labelled']} of {entry['n']}",
            )
        else:
            numbers = ("–", "–", "–", "none")
        table.add_row(entry["metric"], entry["cell_id"], *numbers)
    return table


def _bounds(interval: tuple[float, float] | None, form: str) -> str:
    return "too few labels" if interval is None else " ".join(format(bound, form) for bound in interval)


def _show(console: Console, report: Mapping[str, Json]) -> None:
    table = Table(title="Judge against human labels", title_justify="left", box=None, padding=(0, 2, 0, 0))
    measures = ("accuracy", "kappa", "weighted_kappa")
    titles = (f"{measure.replace('_', ' ')} [dim]95% interval[/]" for measure in measures)
    for column in ("metric", "n", "questions", *titles, "failed"):
        table.add_column(column, justify="left" if column == "metric" else "right", no_wrap=True)
    for name, entry in report["metrics"].items():
        cells = [_format_measure(entry, measure) for measure in measures]
        table.add_row(name, str(entry["n"]), str(entry.get("n_questions", 0)), *cells, str(entry["n_failed"]))
    console.print(table)
    for name, entry in report["metrics"].items():
        if "confusion" in entry and name != _OVERALL:
            console.print(_confusion_table(name, entry["confusion"]))
    if report["cells"]:
        console.print(_cells_table(report["cells"]))
    if report["n_ties"]:
        console.print(f"[dim]{report['n_ties']} labels left out because their votes are tied[/]")
    for reason, n in report["failures"].items():
        console.print(f"failed, left out: {n} x {reason}", markup=False)
    console.print(f"disagreements: {len(report['disagreements'])}")
    for row in report["disagreements"]:
        remark = f": {row['remark']}" if row["remark"] else ""
        given_by = f"  [{', '.join(row['cells'])}]" if row["cells"] else ""
        verdict = f"human {row['label']}, judge {row['judged']}{remark}"
        console.print(f"  {row['id']}{given_by}  {row['metric']}  {verdict}", markup=False)
        console.print(f"    answer: {one_line(row['answer'])}", markup=False, style="dim")


def _format_measure(entry: Mapping[str, Json], measure: str) -> str:
    if entry.get(measure) is None:
        return "–"
    if entry[f"{measure}_interval"] is None:
        return f"{entry[measure]:.3f} [dim]too few questions[/]"
    low, high = entry[f"{measure}_interval"]
    return f"{entry[measure]:.3f} [dim]{low:.3f}–{high:.3f}[/]"


def _confusion_table(name: str, confusion: Mapping[str, Mapping[str, int]]) -> Table:
    table = Table(
        title=f"{name}: human labels (rows), judge (columns)", title_justify="left", box=None, padding=(0, 2, 0, 0)
    )
    table.add_column("")
    for column in confusion:
        table.add_column(column, justify="right")
    for label, row in confusion.items():
        table.add_row(label, *map(str, row.values()))
    return table
