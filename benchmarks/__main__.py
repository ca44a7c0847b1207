"""python -m benchmarks [NAME ...]: runs benchmarks one after another and prints a table."""

if __name__ == "__main__":  # first, so that Ctrl-C during the slow imports below ends cleanly
    from runner.console.interruptible import run_main

    run_main("benchmarks.__main__")


import argparse
import importlib
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import crud_rag
from benchmarks.measure import Measure
from benchmarks.settings import SCALES, Settings

NAMES = (
    "bm25_pipeline",
    "grid",
    "again",
    "cells",
    "many_cells",
    "report",
    "memory",
    "rank_bm25",
    "blocks",
    "quantised",
    "large_vectors",
    "encoding",
    "reranking",
    "language_models",
    "text_metrics",
    "error_rates",
    "racing",
    "rate_limits",
    "search",
    "coverage",
    "decisions",
    "asking",
    "chaos",
    "cache_soundness",
    "ray_nodes",
    "store",
    "secrets",
    "workers",
    "executors",
    "generation",
    "unit_costs",
)
"""Modules of this package, each with a function `measure`."""

ON_REQUEST = ("parsers", "real")
"""Modules that run only when named, because they need an extra."""

SELF_CONTAINED = frozenset(
    {"cache_soundness", "coverage", "error_rates", "parsers", "rate_limits", "search", "secrets"}
)
"""Benchmarks that make all data that they need."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the requested benchmarks. Return 1 if a bound is broken, 2 without data or an extra."""
    options = _parser().parse_args(arguments)
    names, root = options.names or NAMES, Path()
    try:
        if not SELF_CONTAINED.issuperset(names):
            root = crud_rag.find(options.data)
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    measured = {}
    for name in names:
        print(f"{name} ...", file=sys.stderr, flush=True)
        try:
            measured[name] = _measure(name, root, options.scale)
        except ModuleNotFoundError as error:
            print(error, file=sys.stderr)
            return 2
    _show(measured)
    if options.json:
        _write(options.json, measured, options.scale)
    return 0 if all(measure.holds for measures in measured.values() for measure in measures) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        type=_name,
        metavar="NAME",
        help=f"{', '.join(NAMES)}; none: all these; {', '.join(ON_REQUEST)}",
    )
    parser.add_argument(
        "--data", type=Path, metavar="FOLDER", help="the folder that holds crud_rag/ (default: $RAG_GRID_SHARED/data)"
    )
    parser.add_argument("--scale", choices=SCALES, default="full", help="bounds are meant for full (the default)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="a file for the numbers")
    return parser


def _name(text: str) -> str:
    if text not in (*NAMES, *ON_REQUEST):
        raise argparse.ArgumentTypeError(f"{text}: expected one of {', '.join((*NAMES, *ON_REQUEST))}")
    return text


def _measure(name: str, root: Path, scale: str) -> list[Measure]:
    """Return the measures of one module, run with an empty folder that is removed afterwards."""
    with tempfile.TemporaryDirectory() as scratch:
        module = importlib.import_module(f"benchmarks.{name}")
        measures: list[Measure] = module.measure(Settings(root, Path(scratch), SCALES[scale]))
        return measures


def _show(measured: Mapping[str, Sequence[Measure]]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("benchmark", "measure", "value", "bound", "", "of"):
        table.add_column(column, justify="right" if column == "value" else "left")
    for name, measures in measured.items():
        for measure in measures:
            verdict = "" if measure.bound is None else "holds" if measure.holds else "BROKEN"
            value = f"{measure.value:.2f} {measure.unit}"
            table.add_row(name, measure.name, value, str(measure.bound or ""), verdict, measure.detail)
    Console(width=None if sys.stdout.isatty() else 200).print(table)


def _write(file: Path, measured: Mapping[str, Sequence[Measure]], scale: str) -> None:
    benchmarks = {
        name: [{**asdict(measure), "holds": measure.holds} for measure in measures]
        for name, measures in measured.items()
    }
    file.write_text(json.dumps({"scale": scale, "benchmarks": benchmarks}, indent=1) + "\n", encoding="utf-8")
