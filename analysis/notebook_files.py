"""python -m analysis notebooks: writes the notebooks as .ipynb files, preset to one of your sweeps."""

import argparse
from pathlib import Path
from typing import Any

from analysis import table_output as terminal
from analysis.notebooks import NOTEBOOKS
from components.errors import DataError, MissingExtraError
from runner.console.command_parser import SWEEP
from runner.results import find_sweep

_FOLDER = Path(__file__).parent / "notebooks"
_NO_SWEEP = 'SWEEP = ""'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to the parser."""
    parser.add_argument("sweep", nargs="?", help=f"{SWEEP} (default: a small demo)")
    parser.add_argument(
        "--out",
        "--output",
        type=Path,
        metavar="FOLDER",
        default=Path("notebooks"),
        help="folder for the notebooks (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> int:
    """Write the files and print their paths. Returns 0.

    Raises DataError if the sweep is missing or an output file already exists, and MissingExtraError without jupytext.
    """
    folder = str(find_sweep(options.sweep).resolve()) if options.sweep else ""
    files = write_notebooks(options.out, folder)
    console = terminal.make_console()
    for file in files:
        console.print(str(file))
    console.print("[dim]open them with Jupyter (python -m pip install jupyterlab; jupyter lab) or an editor[/]")
    return 0


def write_notebooks(folder: Path, sweep: str = "") -> list[Path]:
    """Write the notebooks without outputs, numbered in their order. They read the sweep in the folder `sweep`, "" for
    the demo.

    Raises DataError if the files cannot be written, or if one of them exists, because it may contain the reader's work.
    """
    files = {folder / f"{number}_{name}.ipynb": name for number, name in enumerate(NOTEBOOKS, start=1)}
    terminal.make_folder(folder, "--out")
    if existing := [file for file in files if file.exists()]:
        raise DataError(f"{existing[0]}: already exists and may contain your work. Choose another --out.")
    notebooks = {file: read_notebook(name, sweep) for file, name in files.items()}
    import nbformat

    for file, notebook in notebooks.items():
        terminal.write_text(file, nbformat.writes(notebook))
    return list(files)


def read_notebook(name: str, sweep: str = "") -> Any:
    """Return one of NOTEBOOKS as nbformat's NotebookNode, with the folder of a sweep as its parameter."""
    try:
        import jupytext
    except ImportError as error:
        raise MissingExtraError("jupytext", "notebooks", "python -m analysis notebooks") from error
    notebook = jupytext.read(_FOLDER / f"{name}.py")
    (parameters,) = (cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", ()))
    parameters.source = parameters.source.replace(_NO_SWEEP, f"SWEEP = {sweep!r}", 1)
    return notebook
