"""python -m runner.export_rankings: writes the rankings of a cell, or a judge's relevance judgements, to a file."""

if __name__ == "__main__":  # first, so that Ctrl-C during the slow imports below ends cleanly
    from runner.console.interruptible import run_main

    run_main("runner.export_rankings")


import argparse
from pathlib import Path

from components.errors import ConfigError, DataError, RagGridError
from runner.console.command_parser import CELL, SWEEP, CommandParser
from runner.console.display import print_error, say
from runner.console.styled_text import count
from runner.console.written_files import write_lines
from runner.engine.plugins.trusted_packages import add_option
from runner.results import CellResult
from runner.results.loaded_sweep import LoadedSweep, load
from runner.results.ranking_formats import (
    RankingFormat,
    financerag_lines,
    qrels_lines,
    read_rankings,
    trec_lines,
)
from runner.results.scored_samples import require_own_samples

_DEPTH_OF_SUBMISSIONS = 10  # submissions are scored by NDCG@10


def main(arguments: list[str] | None = None) -> int:
    """Export the rankings. Return the exit code: 0, or 2 after one clear message if some input cannot be used."""
    options = _parser().parse_args(arguments)
    try:
        if options.depth is not None and options.depth < 1:
            raise ConfigError(f"--depth: got {options.depth}, expected at least 1 document per question")
        sweep = load(options.sweep)
        if options.format is RankingFormat.QRELS:
            return _export_judgements(sweep, options)
        cell = _cell(sweep, options.cell)
        require_own_samples(cell, sweep.folder_of(cell))
        rankings = read_rankings(sweep.folder_of(cell))
        n_found = sum(bool(ranking.documents) for ranking in rankings)
        if not n_found:
            raise DataError(
                f"{cell.cell_id}: found no document for any question, as with retriever=closed_book. Choose a cell "
                "that searches."
            )
        if options.format is RankingFormat.TREC:
            lines = list(trec_lines(rankings, options.depth, options.tag or cell.cell_id))
        else:
            lines = list(financerag_lines(rankings, options.depth or _DEPTH_OF_SUBMISSIONS))
        write_lines(options.out, lines)
    except RagGridError as error:
        print_error(error)
        return 2
    nothing = f"; found nothing for {len(rankings) - n_found}" if n_found < len(rankings) else ""
    say(f"wrote the rankings of {count(n_found, 'question')} of {cell.cell_id} to {options.out}{nothing}")
    return 0


def _export_judgements(sweep: LoadedSweep, options: argparse.Namespace) -> int:
    """Export the grades of all cells, or of one, as relevance judgements."""
    cells = [sweep.cell(options.cell)] if options.cell else [cell for cell in sweep.cells if cell.metrics]
    for cell in cells:
        if (order := cell.config["context"].get("order", "best_first")) != "best_first":
            raise DataError(f"{cell.cell_id}: has context.order={order}; --format qrels needs best_first")
    lines = list(qrels_lines(sweep.folder_of(cell) for cell in cells))
    write_lines(options.out, lines)
    say(f"wrote {count(len(lines) - 1, 'judgement')} of {count(len(cells), 'cell')} to {options.out}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m runner.export_rankings",
        description=(
            "Write the rankings of a cell as a TREC run or a FinanceRAG submission, or a judge's grades as qrels."
        ),
        example="python -m runner.export_rankings latest --cell best --format trec --out run.txt",
        page="docs/results.md",
    )
    parser.add_argument("sweep", help=SWEEP)
    parser.add_argument("--cell", metavar="CELL", help=f"{CELL} (default: the only cell; all cells for qrels)")
    parser.add_argument(
        "--format", type=RankingFormat, choices=list(RankingFormat), required=True, help="format of the file"
    )
    parser.add_argument(
        "--depth", type=int, metavar="N", help="documents per question (default: all for trec, 10 for financerag)"
    )
    parser.add_argument("--tag", metavar="NAME", help="the name of the run in a TREC file (default: the cell's id)")
    parser.add_argument("--out", "--output", type=Path, required=True, metavar="FILE", help="file to write")
    add_option(parser)
    return parser


def _cell(sweep: LoadedSweep, text: str | None) -> CellResult:
    if text is not None:
        return sweep.cell(text)
    if len(sweep.cells) != 1:
        if not sweep.cells:
            raise DataError(f"{sweep.name}: no cell has finished. Run the sweep's command again.")
        raise DataError(
            f"{sweep.name}: has {len(sweep.cells)} finished cells, expected one. Choose it with --cell, by its id "
            f"or its values of {', '.join(sweep.axes())}"
        )
    return sweep.cells[0]
