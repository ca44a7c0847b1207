"""python -m runner.export: exports the pipeline of one cell as a folder that answers questions."""

if __name__ == "__main__":  # first, so that Ctrl-C during the slow imports below ends cleanly
    from runner.console.interruptible import run_main

    run_main("runner.export")


import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from components.errors import RagGridError
from runner.console.command_parser import CELL, SWEEP, CommandParser
from runner.console.display import make_console, print_error
from runner.engine.plugins.trusted_packages import add_option

if TYPE_CHECKING:
    from runner.serving.exporting.exported_cell import ExportedCell


def main(arguments: list[str] | None = None) -> int:
    """Export the cell. Return the exit code: 0, or 2 after one clear message, with nothing written."""
    options = _parser().parse_args(arguments)
    from runner.results.loaded_sweep import load  # --help needs none of these imports
    from runner.serving.exporting.exported_cell import collect_export
    from runner.serving.exporting.exported_folder import write_folder

    try:
        sweep = load(options.sweep)
        cell = collect_export(sweep, sweep.cell(options.cell), options.store_dir)
        n_bytes = write_folder(cell, options.out)
    except RagGridError as error:
        print_error(error)
        return 2
    _say(cell, options.out, n_bytes)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m runner.export",
        description="Export the pipeline of one cell as a folder that answers questions.",
        example="python -m runner.export latest best --out winner",
        page="docs/export.md",
    )
    parser.add_argument("sweep", help=SWEEP)
    parser.add_argument("cell", help=CELL)
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FOLDER", help="the folder to write; an earlier export is replaced"
    )
    parser.add_argument(
        "--store-dir",
        "--store",
        type=Path,
        metavar="FOLDER",
        help="the sweep's store (default: the store that it ran with)",
    )
    add_option(parser)
    return parser


def _say(cell: "ExportedCell", out: Path, n_bytes: int) -> None:
    script = shlex.quote(str(out / "pipeline.py"))
    option = " --trust" if cell.code else ""
    lines = [
        f"exported {cell.result.cell_id} to {out} ({n_bytes / 1e6:,.1f} MB)",
        f'next: python {script} --check{option}     or: python {script}{option} "a question"',
        *(["it has no language model (llm=none), so it shows passages and no answer"] if cell.is_search_only else []),
        *(f"answering runs {each}" for each in cell.code),
        *(
            f"it calls a server with the key in the environment variable {variable}, which is not exported"
            for variable in cell.key_variables
        ),
        *(f"it loads the model {model} from the Hugging Face hub, which is not exported" for model in cell.hub_models),
    ]
    console = make_console()
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)
