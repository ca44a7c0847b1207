"""The parts of `python -m benchmarks.peers` that need no peer."""

import sys
from pathlib import Path

import pytest

from benchmarks.peers import processes

_READS = """
import os, sys, time
for number in range(int(sys.argv[1])):
    with open(f"{os.environ['BENCHMARK_PEERS_COUNTS']}/{os.getpid()}", "a") as file:
        file.write("8 100\\n")
if sys.argv[2:]:
    time.sleep(600)
"""


def test_peer_command_reports_texts_calls_and_tokens(tmp_path: Path) -> None:
    ran = processes.run([sys.executable, "-c", _READS, "3"], tmp_path, {}, tmp_path / "log")
    assert (ran.n_texts, ran.n_calls, ran.n_tokens, ran.was_killed) == (24, 3, 300, False)


def test_peer_process_tree_is_killed_after_the_given_texts(tmp_path: Path) -> None:
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {_READS!r}, '2', 'wait'], check=True)"
    ran = processes.run([sys.executable, "-c", child], tmp_path, {}, tmp_path / "log", kill_after=16)
    assert ran.was_killed
    assert ran.n_texts == 16
    assert ran.peak_gib > 0


def test_failed_peer_command_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="exit code 3"):
        processes.run([sys.executable, "-c", "raise SystemExit(3)"], tmp_path, {}, tmp_path / "log")
