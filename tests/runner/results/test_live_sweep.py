"""The progress of a stranger's sweep: any value is read, or is one error."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.errors import DataError
from runner.results.live_sweep import PROGRESS, Progress, read_live
from tests.runner.results.test_results import SWEEP

RUNNING = {
    "process": "vm-1-abc", "ledger": ".ledger", "currency": "USD", "budget": {"run.max_requests": 3}, "written": 1.8e9,
    "n_stages": 5, "n_stages_done": 1, "n_cells_running": 1, "running": [{"title": "x", "n": 1, "n_cells": 1}],
    "left_s": 5.0, "is_paused": False, "note": "",
}  # fmt: skip
VALUES = [
    None, "x", "", -1, 0, 1e308, float("inf"), float("nan"), 10**400, [], {}, "../../etc", True, [1], {"a": 1},
    "\ud800", "a\0b", "\x1b[2J", {"run.max_requests": 10**400}, {"run.max_cost": float("nan")},
]  # fmt: skip


def live(folder: Path, record: dict[str, Any]) -> Progress | None:
    (folder / PROGRESS).write_text(json.dumps(record), encoding="utf-8")
    return read_live(folder, replace(SWEEP, status="RUNNING")).progress


def test_sound_progress_record_is_read(tmp_path: Path) -> None:
    progress = live(tmp_path, RUNNING)
    assert progress is not None
    assert progress.budget == {"run.max_requests": 3}


@pytest.mark.parametrize("name", RUNNING)
def test_progress_record_value_is_read_or_one_error(name: str, tmp_path: Path) -> None:
    refused = []
    for value in VALUES:
        try:
            live(tmp_path, RUNNING | {name: value})
        except DataError as error:
            refused.append(str(error))
    assert len(refused) >= (3 if name in ("currency", "note") else 5)
    assert all(str(tmp_path) in message for message in refused)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("written", 1e308),
        ("written", float("nan")),
        ("left_s", float("inf")),
        ("budget", {"run.max_requests": 10**400}),
        ("budget", {"run.max_cost": float("nan")}),
        ("process", "\ud800"),
        ("process", "a\0b"),
    ],
)
def test_unshowable_progress_values_are_refused(name: str, value: object, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"progress\.json: is not the progress of a sweep"):
        live(tmp_path, RUNNING | {name: value})
