"""python -m benchmarks.cache_soundness.child ORDER: runs sweeps one after another in one process.

ORDER is the JSON of {"packages", "steps"}. `packages` is a folder with the user's packages. `steps` is a list of
{"edit": {file: text}, "store", "overrides"}. Each edit is made just before its sweep, as in a notebook. The output is a
list of {"metrics", "samples"} of the only cell, or of {"refused"} with the message.
"""

import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pyarrow.parquet as pq

import runner
from benchmarks.cache_soundness.comparing import plain
from components.errors import RagGridError
from components.json_value import Json
from runner.results import OK, read_cells


def _run(store: str, overrides: list[str]) -> Mapping[str, Json]:
    with tempfile.TemporaryDirectory() as folder:
        places = [f"run.results_dir={folder}/results", f"run.store_dir={store}"]
        try:
            runner.run([*overrides, *places, "tracking=none", "run.progress=false"])
        except RagGridError as error:
            return {"refused": str(error)}
        (path,) = Path(folder, "results").glob("*/*/cell.json")
        (cell,) = read_cells(path.parents[1])
        if cell.status != OK:
            return {"refused": cell.reason}
        samples = pq.read_table(path.with_name("samples.parquet"))
        return {"metrics": plain(dict(cell.metrics)), "samples": plain(samples)}


def main(order: str) -> None:
    """Print the results to standard output. Messages of sweeps go to standard error."""
    output, sys.stdout = sys.stdout, sys.stderr
    asked, found = json.loads(order), []
    if asked["packages"]:
        sys.path.insert(0, asked["packages"])
        os.environ["PYTHONPATH"] = os.pathsep.join([asked["packages"], os.environ.get("PYTHONPATH", "")])
    for step in asked["steps"]:
        for file, text in step.get("edit", {}).items():
            Path(file).write_text(text, encoding="utf-8")
        found.append(_run(step["store"], step["overrides"]))
    json.dump(found, output)


if __name__ == "__main__":
    main(sys.argv[1])
