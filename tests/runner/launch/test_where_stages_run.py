"""Numbers do not depend on what runs the stages, nor on how many threads it has for them."""

from pathlib import Path

from runner.engine.store import Store
from tests.runner.sweeping import FEW_METRICS, SMALL, cells_in, only_sweep, run_command, store_of

CELLS = (*SMALL, *FEW_METRICS, "retriever=dense,hybrid", "embedder=lsa", "tracking=none", "run.progress=false")


def _checksums(store: Store) -> dict[str, list[str]]:
    """Of all results but those that hold times."""
    timed = ("baseline_answers", "result")
    entries = [entry for entry in store.entries() if entry.manifest.kind not in timed]
    return {entry.manifest.key: sorted(digest for digest, _ in entry.manifest.files.values()) for entry in entries}


def test_in_this_process_and_in_two_others(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder, executor in (one, "executor=local"), (two, "run.workers=2"):
        folder.mkdir()
        done = run_command(folder, "-m", *CELLS, executor)
        assert done.returncode == 0, done.stderr
    assert _checksums(store_of(one)) == _checksums(store_of(two))
    metrics = [[cell.metrics for cell in cells_in(folder, only_sweep(folder).name)] for folder in (one, two)]
    assert metrics[0] == metrics[1]
    assert len(metrics[0]) == 2
