"""Exports of small sweeps, in this process, without MLflow's own files: its import takes seconds."""

from pathlib import Path
from typing import Any

import pytest

from runner.export import main
from runner.serving.exporting import exported_folder as export_folder
from runner.serving.pipeline import Pipeline, load_pipeline
from tests.runner.sweeping import SWEEP_ID


def export(folder: Path, cell: str, out: Path, *options: str, sweep: str = SWEEP_ID) -> int:
    """The exit code of `python -m runner.export` of a cell of the sweep in `folder`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(export_folder, "write_model", lambda *_: None)
        return main([str(folder / "results" / sweep), cell, "--out", str(out), *options])


def exported(folder: Path, cell: str, out: Path) -> Pipeline:
    """The pipeline of a cell that can be exported."""
    assert export(folder, cell, out) == 0
    return load_pipeline(out)


def texts_in(folder: Path) -> dict[str, Any]:
    """The contents of all files, by path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
