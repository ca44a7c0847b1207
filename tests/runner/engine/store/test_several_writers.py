"""Concurrent writes of several processes into one store. The full size is `python -m benchmarks store`."""

import sys
from pathlib import Path

import pytest

from benchmarks.store import Impatient, kill_repeatedly, stop_a_holder, write_together

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the system has no such signals")


def test_two_processes_with_separate_locks_store_one_result_each(tmp_path: Path) -> None:
    written = write_together(tmp_path, n_results=40, n_reads=400)
    assert written.errors == []
    assert written.n_second > 20, "both made most of them"


def test_stopped_process_reports_the_result_of_its_replacement(tmp_path: Path) -> None:
    assert 1.0 < stop_a_holder(Impatient(tmp_path)) < 20


def test_finished_work_survives_repeated_kills(tmp_path: Path) -> None:
    killed = kill_repeatedly(tmp_path, n_rounds=12)
    assert killed.errors == []
    assert killed.n_done > 12
    assert killed.longest_wait_s < 5
