"""Numbers depend neither on the executor nor on its number of threads."""

from pathlib import Path

import pytest

from components.threads import n_cores
from runner.engine.store import Store
from tests.runner.sweeping import (
    FEW_METRICS,
    SMALL,
    cells_in,
    only_sweep,
    run_command,
    start_command,
    store_of,
    wait_until,
)

CELLS = (*SMALL, *FEW_METRICS, "retriever=dense,hybrid", "embedder=lsa", "tracking=none", "run.progress=false")


def _checksums(store: Store) -> dict[str, list[str]]:
    """Return the checksums of all results without times."""
    timed = ("baseline_answers", "result")
    entries = [entry for entry in store.entries() if entry.manifest.kind not in timed]
    return {entry.manifest.key: sorted(digest for digest, _ in entry.manifest.files.values()) for entry in entries}


def test_local_executor_and_two_workers_store_the_same_results(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder, executor in (one, "executor=local"), (two, "run.workers=2"):
        folder.mkdir()
        done = run_command(folder, "-m", *CELLS, executor)
        assert done.returncode == 0, done.stderr
    assert _checksums(store_of(one)) == _checksums(store_of(two))
    metrics = [[cell.metrics for cell in cells_in(folder, only_sweep(folder).name)] for folder in (one, two)]
    assert metrics[0] == metrics[1]
    assert len(metrics[0]) == 2


PARTS = """
import os
from dataclasses import dataclass
from typing import ClassVar

from components.tokenizers.rjieba_words import RjiebaWords


@dataclass(frozen=True)
class NotesProcesses(RjiebaWords):
    version: ClassVar[int] = 1

    def tokenize(self, texts):
        with open("processes.txt", "a") as file:
            file.write(f"{os.getpid()} {os.getppid()}\\n")
        return super().tokenize(texts)
"""


def _children(process: int) -> list[int]:
    """Return the children of a process, as Linux lists them; none if it has ended."""
    try:
        return list(map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split()))
    except FileNotFoundError:
        return []


@pytest.mark.skipif(n_cores() < 2, reason="with one core there is one worker, this process")
class TestWorkers:
    def test_workers_are_forked_from_a_server_that_loads_early(self, tmp_path: Path) -> None:
        command = start_command(tmp_path, "-m", *CELLS)
        wait_until(lambda: any(map(_children, _children(command.pid))), command)
        told = command.communicate(timeout=120)
        assert command.returncode == 0, told

    def test_workers_are_forked_from_the_command_with_user_code(self, tmp_path: Path) -> None:
        """Users' modules may rely on being imported once."""
        (tmp_path / "my_parts.py").write_text(PARTS, encoding="utf-8")
        mine = ("tokenizer={_target_: my_parts.NotesProcesses}", "run.plugins=[my_parts]")
        command = start_command(tmp_path, "-m", *CELLS, *mine)
        told = command.communicate(timeout=120)
        assert command.returncode == 0, told
        noted = [list(map(int, line.split())) for line in (tmp_path / "processes.txt").read_text().splitlines()]
        assert {parent for process, parent in noted if process != command.pid} == {command.pid}
