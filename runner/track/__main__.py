"""python -m runner.track SWEEP_FOLDER: logs a sweep to MLflow from its results files."""

import argparse
import sys

from components.errors import DataError
from runner import results
from runner.display import say_error
from runner.output.logging_process import told
from runner.output.mlflow_runs import Tracker
from runner.output.tracking import default_uri, where_to_look


def main(arguments: list[str] | None = None) -> int:
    """Logs the sweep; cells that were logged before are not logged again. Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m runner.track", description="Logs a sweep to MLflow from its results."
    )
    parser.add_argument("sweep", help="a sweep's folder, or its id in results/")
    parser.add_argument(
        "--uri", default="", help="tracking URI (default: mlflow.db in the folder that holds the results)"
    )
    options = parser.parse_args(arguments)
    try:
        folder = results.find_sweep(options.sweep)
        sweep = results.read_sweep(folder)
        cells = list(results.cell_folders(folder))
    except DataError as error:
        say_error(error)
        return 2
    uri = options.uri or default_uri(folder.resolve().parent)
    try:
        tracker = Tracker(uri, sweep.name, folder)
        tracker.log_cells(cells)
        page = tracker.finish()
    except Exception as error:  # noqa: BLE001 - whatever MLflow raises
        say_error(f"{uri}: could not be logged to: {told(error)}")
        return 2
    print(f"logged {len(cells)} cell(s)\nMLflow:   {where_to_look(uri, page)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
