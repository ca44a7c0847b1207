"""Sweeps in separate processes, for things that a process has only once: imports and environment."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from components.json_value import Json

REPOSITORY = Path(__file__).resolve().parents[2]

Found = Mapping[str, Json]
"""Metrics and columns of a cell, or the reason for its refusal."""


def step(store: Path, overrides: Sequence[str], edit: Mapping[Path, str] | None = None) -> dict[str, Json]:
    """Return one sweep after some edits, as a step of `benchmarks.cache_soundness.child`."""
    edits = {str(file): text for file, text in (edit or {}).items()}
    return {"store": str(store), "overrides": list(overrides), "edit": edits}


class RunSteps(Protocol):
    """A way to run sweeps in a new process that finds users' packages in a folder."""

    def __call__(
        self, steps: Sequence[Mapping[str, Json]], packages: Path | None, environment: Mapping[str, str]
    ) -> list[Found]:
        """Return the outcome of each step, in order. Raises RuntimeError if the process ends otherwise."""


def format_order(steps: Sequence[Mapping[str, Json]], packages: Path | None) -> str:
    """Return the argument of `benchmarks.cache_soundness.child`."""
    return json.dumps({"packages": str(packages or ""), "steps": steps})


def in_new_process(
    steps: Sequence[Mapping[str, Json]],
    packages: Path | None = None,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> list[Found]:
    """Run sweeps by `subprocess` in the folder; see `RunSteps`."""
    command = [sys.executable, "-m", "benchmarks.cache_soundness.child", format_order(steps, packages)]
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1", **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{command}: exit code {done.returncode}: {done.stderr[-2000:]}")
    found: list[Found] = json.loads(done.stdout)
    return found
