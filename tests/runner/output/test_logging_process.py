"""The process that logs a sweep to MLflow, and what it does if the sweep, MLflow or itself ends suddenly."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from runner.output import logging_process, tracking
from runner.output.tracking import SafeTracker
from runner.pipeline.cell import TrackingSettings
from runner.results import read_sweep
from tests.analysis import tiny_sweep
from tests.runner.sweeping import REPOSITORY


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """Write a sweep whose cells have all facts that MLflow logs."""
    data = {"dataset": {"name": "demo", "key": "0" * 64}}
    cells = [tiny_sweep.TinyCell(c.cell_id, c.axes, c.rouge_l, data) for c in tiny_sweep.CELLS]
    return tiny_sweep.write(tmp_path / "results" / "tiny", cells)


def tracker_of(sweep: Path, uri: str = "", *, enabled: bool = True) -> SafeTracker:
    return SafeTracker(TrackingSettings(enabled=enabled, uri=uri), "tests", sweep)


def process_of(tracker: SafeTracker) -> "subprocess.Popen[str]":
    assert tracker._logging is not None
    return tracker._logging.process


def start_order(sweep: Path) -> list[str]:
    return ["start", f"sqlite:///{sweep.parent}/m.db", "tests", str(sweep)]


def lines_of(*orders: list[str]) -> str:
    return "".join(f"{json.dumps(order)}\n" for order in orders)


def answer_to(orders: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the answer of the logging process. We run it in this process, which has loaded MLflow."""
    monkeypatch.setattr(sys, "stdin", StringIO(orders))
    return logging_process._log()


def process_starter(code: str) -> Callable[[object], "subprocess.Popen[str]"]:
    """Another program in place of the process."""
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)
    return lambda said: subprocess.Popen([sys.executable, "-S", "-c", code], text=True, **pipes)


def test_logging_process_survives_an_interrupt_and_logs_the_whole_sweep(sweep: Path) -> None:
    from mlflow import MlflowClient

    tracker = tracker_of(sweep)
    tracker.prepare()
    tracker.start()
    _wait_for(sweep.parent.parent / "mlflow.db")
    os.kill(process_of(tracker).pid, signal.SIGINT)
    for cell in read_sweep(sweep).cells:
        tracker.log_cell(sweep / cell["cell_id"])
    tracker.ask_to_finish()
    tracker.finish()
    assert tracker.error == ""
    client = MlflowClient(tracker.uri)
    runs = client.search_runs([client.get_experiment_by_name("tests").experiment_id])
    assert sorted(run.data.tags["role"] for run in runs) == ["cell"] * 4 + ["sweep"]
    assert {run.info.status for run in runs} == {"FINISHED"}


def test_disabled_tracker_starts_no_process(sweep: Path) -> None:
    tracker = tracker_of(sweep, enabled=False)
    tracker.start()
    tracker.log_cell(sweep / "a1a1a1a1a1a1")
    tracker.finish()
    assert (tracker.error, tracker._logging) == ("", None)


def test_mlflow_error_of_the_logging_process_is_reported(sweep: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    orders = lines_of(["start", "no-such-scheme://nowhere", "tests", str(sweep)], ["finish", "0"])
    answer = answer_to(orders, monkeypatch)
    assert "no-such-scheme" in answer["error"]
    assert "\n" not in answer["error"]
    monkeypatch.setattr(tracking, "_early", [])
    monkeypatch.setattr(tracking, "_start_process", process_starter(f"print({json.dumps(answer)!r})"))
    tracker = tracker_of(sweep, "no-such-scheme://nowhere")
    tracker.start()
    tracker.finish()
    assert tracker.error == answer["error"]


def test_killed_logging_process_is_reported_without_raising(sweep: Path) -> None:
    tracker = tracker_of(sweep)
    tracker.start()
    process_of(tracker).kill()
    process_of(tracker).wait()
    tracker.log_cell(sweep / "a1a1a1a1a1a1")
    tracker.finish()
    assert tracker.error == f"its process ended with exit code {-signal.SIGKILL}"


def test_missing_interpreter_is_reported_without_raising(sweep: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(sweep / "python"))
    tracker = tracker_of(sweep)
    tracker.start()
    tracker.finish()
    assert tracker.error.startswith("its process did not start")


def test_logging_process_ends_with_its_input(sweep: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sweep's end closes the input of the process."""
    answer = answer_to(lines_of(start_order(sweep)), monkeypatch)
    assert answer == {"page": "", "samples": "", "summary": "", "error": ""}


def test_interrupt_during_the_wait_ends_only_the_logging(sweep: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tracker = tracker_of(sweep)
    tracker.start()

    def interrupted(timeout: float | None) -> None:
        raise KeyboardInterrupt

    process = process_of(tracker)
    monkeypatch.setattr(process, "communicate", interrupted)
    tracker.finish()
    assert tracker.error == "interrupted before all cells were logged"
    assert process.returncode == -signal.SIGTERM


def test_waiting_for_the_logging_process_has_a_limit(sweep: Path) -> None:
    tracker = tracker_of(sweep)
    tracker.start()
    tracker.finish(limit_s=0.01)
    assert tracker.error == "interrupted before all cells were logged"


def test_silent_tracking_server_is_reported(sweep: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    silent = 'import time; time.sleep(0.5); print(\'{"page": "", "error": ""}\')'
    monkeypatch.setattr(tracking, "_early", [])
    monkeypatch.setattr(tracking, "_start_process", process_starter(silent))
    said: list[str] = []
    for patience_s in (60.0, 0.1):
        monkeypatch.setattr(tracking, "_ANNOUNCE_AFTER_S", patience_s)
        tracker = tracker_of(sweep, "http://127.0.0.1:9")
        tracker.start()
        tracker.finish(announce=said.append)
        assert tracker.error == ""
    assert said == ["waiting for MLflow at http://127.0.0.1:9; the results are written, and Ctrl-C stops waiting"]


def test_abandoned_tracker_ends_its_process(sweep: Path) -> None:
    tracker = tracker_of(sweep)
    tracker.prepare()
    process = process_of(tracker)
    del tracker
    assert process.returncode == 0
    assert not (sweep.parent.parent / "mlflow.db").exists()


def test_logging_process_prints_only_its_answer_and_loads_no_model_library(sweep: Path) -> None:
    code = (
        "import sys; from runner.output import logging_process as p; p.main();"
        "print(sorted({'torch', 'transformers', 'faiss', 'hydra'} & set(sys.modules)), file=sys.stderr)"
    )
    orders = lines_of(start_order(sweep), ["cell", str(sweep / "a1a1a1a1a1a1")], ["finish", "0"])
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=REPOSITORY, input=orders, capture_output=True, text=True, check=False)
    answer = json.loads(done.stdout)
    assert (answer["page"].rpartition("=")[2], answer["error"]) == (sweep.name, "")
    assert done.stderr.splitlines()[-1] == "[]"


def _wait_for(path: Path, timeout_s: float = 60) -> None:
    limit = time.monotonic() + timeout_s
    while not path.exists():
        assert time.monotonic() < limit, f"{path} never came"
        time.sleep(0.02)
