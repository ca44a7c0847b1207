"""python -m runner.track SWEEP_FOLDER: logs a sweep to MLflow from its results files."""

import argparse
import sys

from components.errors import DataError
from runner import results
from runner.output.tracking import SafeTracker, default_uri
from runner.pipeline.cell import TrackingSettings


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
        cells = list(results.read_cells(folder))
    except DataError as error:
        print(error, file=sys.stderr)
        return 2
    uri = options.uri or default_uri(folder.resolve().parent)
    tracker = SafeTracker(TrackingSettings(enabled=True, uri=uri), sweep.name, folder)
    tracker.start(sweep)
    for cell in cells:
        tracker.log_cell(folder / cell.cell_id)
    tracker.finish()
    if tracker.error:
        print(f"{uri}: could not be logged to: {tracker.error}", file=sys.stderr)
        return 2
    print(f"logged {len(cells)} cell(s); compare them with: mlflow ui --backend-store-uri {uri}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
