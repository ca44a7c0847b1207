"""Files of a sweep in shared folders are removed after its process was killed, and not before."""

import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from runner.engine.executors.leftovers import clear_probes, clear_queues, find_drivers, new_probe, new_queue
from runner.engine.store import Store
from runner.engine.store.heartbeat import kernel
from runner.store import main as store_command

REPOSITORY = Path(__file__).resolve().parents[4]
SWEEPS = ("one", "two")
LONG_AGO = 1_700_000_000


def keep_some(folder: str) -> None:
    """Create the files that a driver keeps for two sweeps. A test runs this in a separate process."""
    results, store = Path(folder) / "results", Store(Path(folder) / "store")
    drivers = find_drivers(results)
    for sweep in SWEEPS:
        (results / sweep / "logs").mkdir(parents=True)
        new_queue(results / sweep, drivers).mkdir()
        for name in ("1_submitted.pkl", "1_0_log.err"):
            (results / sweep / "logs" / name).touch()
    probe = new_probe(store)
    assert probe is not None
    probe.touch()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.read()


def remaining_files(folder: Path) -> list[str]:
    """Return the names of the remaining files, without heartbeats, and without the parts that make names unique."""
    places = [*(folder / "results").glob("*/*"), *(folder / "results").glob("*/logs/*"), *folder.glob("store/tmp/*")]
    names = [path.relative_to(folder) for path in places if path.name != "logs"]
    return sorted(str(name).partition("-")[0] for name in names if ".drivers" not in name.parts)


ALL = [f"results/{sweep}/{name}" for sweep in SWEEPS for name in (".slurm", "logs/1_0_log.err", "logs/1_submitted.pkl")]


def test_prune_removes_files_of_killed_processes_only(tmp_path: Path) -> None:
    results, store = tmp_path / "results", Store(tmp_path / "store")
    prune = ["--store-dir", str(store.root), "prune"]
    code = f"from {__name__} import keep_some; keep_some({str(tmp_path)!r})"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as driver:
        try:
            assert driver.stdout is not None
            assert driver.stdout.readline() == "ready\n"
            os.kill(driver.pid, signal.SIGSTOP)  # which is no end, however long it lasts
            for sign in (*results.glob(".drivers/*"), *store.root.glob("writers/*")):
                os.utime(sign, (LONG_AGO, LONG_AGO))
            clear_queues(results, drivers := find_drivers(results))
            clear_probes(store)
            assert store_command(prune) == 0
            assert remaining_files(tmp_path) == [*ALL, "store/tmp/probe"]
        finally:
            driver.kill()

    assert store_command(prune) == 0
    assert remaining_files(tmp_path) == ALL
    ours = new_queue(results / "two", drivers)
    ours.mkdir()
    clear_queues(results, drivers)
    assert remaining_files(tmp_path) == ["results/one/logs/1_0_log.err", *ALL[3:]], (
        "pickles may be those of a live driver's jobs"
    )
    assert ours.is_dir()


def test_prune_keeps_files_of_other_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, *, missing_ok: bool = False) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    results, drivers = tmp_path / "results", find_drivers(tmp_path / "results")
    (results / "one" / "logs").mkdir(parents=True)
    results.chmod(0o1777)  # several users share the folder
    pickled = results / "one" / "logs" / "1_submitted.pkl"
    pickled.touch()
    (results / "one" / ".slurm-killed-1-abc.0123").mkdir()
    assert stat.S_IMODE(drivers.own_path.parent.stat().st_mode) == 0o1777
    sign = drivers.own_path.with_name("killed-1-abc")
    sign.write_bytes(kernel())  # a heartbeat file that no process holds
    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", refuse)
        clear_queues(results, drivers)
    assert pickled.exists()
    assert sign.exists()


def test_prune_keeps_files_in_linked_sweep_folders(tmp_path: Path) -> None:
    """The drivers of these sweeps write their heartbeats there."""
    queue = new_queue(tmp_path / "elsewhere" / "one", drivers := find_drivers(tmp_path / "elsewhere"))
    queue.mkdir(parents=True)
    (drivers.own_path.with_name("killed-1-abc")).touch()
    left = queue.rename(queue.with_name(".slurm-killed-1-abc.0123"))
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "one").symlink_to(queue.parent, target_is_directory=True)
    clear_queues(tmp_path / "results", find_drivers(tmp_path / "results"))
    assert left.is_dir()


def test_prune_keeps_files_without_a_known_process(tmp_path: Path) -> None:
    queue = tmp_path / "results" / "one" / ".slurm-0123"
    queue.mkdir(parents=True)
    clear_queues(tmp_path / "results", find_drivers(tmp_path / "results"))
    assert queue.is_dir()
