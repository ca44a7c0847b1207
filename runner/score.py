"""python -m runner.score: scores answers and rankings of any system with the metrics of rag-grid."""

if __name__ == "__main__":  # first, so that Ctrl-C during the slow imports below ends cleanly
    from runner.console.interruptible import run_main

    run_main("runner.score")


import argparse
from pathlib import Path

from components.errors import RagGridError
from runner.console.command_parser import CommandParser
from runner.console.display import print_error
from runner.launch.command_help import list_options


def main(arguments: list[str] | None = None) -> int:
    """Score the input. Return the exit code: 0, or 2 after one clear message if some input cannot be used."""
    options = _parser().parse_args(arguments)
    from runner.pipeline.external_scoring.score_command import run  # --help does not need this import

    try:
        return run(options)
    except RagGridError as error:
        print_error(error)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m runner.score",
        description="Score answers and rankings of any system with the metrics of rag-grid.",
        example="python -m runner.score --input mine.jsonl --metrics rouge_l,f1 --out scores.jsonl",
        page="docs/metrics.md",
    )
    parser.add_argument(
        "--input",
        type=Path,
        required=True,
        metavar="FILE",
        help="JSON Lines: see docs/metrics.md, 'Scoring any other system'",
    )
    parser.add_argument(
        "--metrics", required=True, metavar="METRICS", help="comma-separated names, e.g. rouge_l,f1,ndcg@10"
    )
    parser.add_argument(
        "--out",
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help="write the scores to this file, as JSON Lines {id, scores, states} in input order",
    )
    parser.add_argument(
        "--language",
        choices=list_options("language"),
        default="zh",
        help="language whose word segmentation the metrics use (default: zh)",
    )
    parser.add_argument(
        "--summary",
        type=Path,
        metavar="FILE",
        help="write value, n, n_excluded and interval of every metric to this file, as JSON",
    )
    return parser
