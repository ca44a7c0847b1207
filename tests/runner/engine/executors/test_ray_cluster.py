"""Stages on a Ray cluster of two nodes: which workers compute them, and what happens if workers or nodes die."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.results import read_cells
from tests.extras import skip_without
from tests.runner.engine.executors.ray_bed import SECRETS, Bed, bed
from tests.runner.sweeping import FEW_METRICS, REPOSITORY, SMALL, metrics_text, only_sweep, run_small, wait_until

skip_without("ray", extra="ray")

SCENARIOS = "tests.runner.engine.executors.ray_scenarios"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Bed]:
    """Start a head with two cores. Tests start the other node when they need it."""
    for cluster in bed():
        cluster.start("head", 2)
        yield cluster


@pytest.fixture(scope="module")
def together(cluster: Bed) -> dict[str, Any]:
    """Return the findings of the scenario of this name."""
    folder = _folder(cluster, "together")
    process = cluster.command("-m", SCENARIOS, "together", str(folder))
    return _facts(process, folder)


def _facts(process: "subprocess.Popen[str]", folder: Path) -> dict[str, Any]:
    """Return the files of a scenario, its notes, its output and its log."""
    output, _ = process.communicate(timeout=240)
    assert process.returncode == 0, output
    facts: dict[str, Any] = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
    return facts | {"notes": _notes(folder), "lines": _lines(folder), "output": output}


def _lines(folder: Path) -> list[str]:
    """Return the log lines, without lines that are logged only on slow machines."""
    path = folder / "lines"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    slow = ("starting Ray ...", "waiting for free resources in the Ray cluster")
    return [line for line in lines if not line.startswith(slow)]


def _folder(cluster: Bed, name: str) -> Path:
    folder = cluster.folder / name
    folder.mkdir()
    return folder


def _notes(folder: Path) -> list[list[str]]:
    """Return the number, model, process and node of each started stage."""
    return sorted(path.name.split(".") for path in (folder / "notes").glob("*.*"))


class TestWorkers:
    def test_ray_worker_keeps_one_model(self, together: dict[str, Any]) -> None:
        processes = {model: {pid for _, of, pid, _ in together["notes"] if of == model} for model in "ab"}
        assert all(len(pids) == 1 for pids in processes.values())
        assert not processes["a"] & processes["b"]

    def test_ray_workers_run_later_stages(self, together: dict[str, Any]) -> None:
        first, then = ({pid for number, _, pid, _ in together["notes"] if int(number) // 10 == tens} for tens in (3, 4))
        assert together["kept"] == [""] * 12
        assert first & then

    def test_warning_of_several_ray_workers_is_logged_once(self, together: dict[str, Any]) -> None:
        assert [line for line in together["lines"] if not line.endswith("; trying it again")] == [
            "a warning with [brackets] of all workers"
        ]


class TestAStage:
    def test_stage_that_kills_every_ray_worker_fails_alone(self, together: dict[str, Any]) -> None:
        assert "was killed, most likely because memory ran out" in together["fatal"]
        assert together["inherited"] == together["fatal"]
        assert sum(number == "10" for number, *_ in together["notes"]) == 3

    def test_stage_that_loses_two_ray_workers_succeeds(self, together: dict[str, Any]) -> None:
        assert together["others"] == [""] * (8 + 1 + 8)
        assert sum(number == "11" for number, *_ in together["notes"]) == 3

    def test_stage_too_large_for_every_node_is_a_configuration_error(self, together: dict[str, Any]) -> None:
        assert "executor.resources.sum: got {cpus: 1, gpus: 0.5}, which no node" in together["unfit"]


@pytest.fixture(scope="module")
def cluster_facts(cluster: Bed) -> dict[str, Any]:
    """While two stages run on the head, a node comes on which another SciPy is installed, then one that begins a
    third stage and is killed under it, as are the workers of the other two.
    """
    folder = _folder(cluster, "coming")
    process = cluster.command("-m", SCENARIOS, "coming_and_going", str(folder))
    begun = folder / "notes"
    wait_until(lambda: len(list(begun.glob("*.head"))) == 2, process)
    cluster.start(
        "other", 1, {"PYTHONPATH": f"{_other_scipy(cluster.folder)}:{REPOSITORY}:{REPOSITORY}/tests/top_level"}
    )
    wait_until(lambda: bool(_lines(folder)), process)
    cluster.kill("other")
    assert not list(begun.glob("*.other"))
    cluster.start("other", 1)
    wait_until(lambda: bool(list(begun.glob("*.other"))), process)
    cluster.kill("other")
    for _, _, pid, node in _notes(folder):
        if node == "head":
            os.kill(int(pid), signal.SIGKILL)
    (begun / "go").touch()
    return _facts(process, folder) | {"temporary": list((folder / "store" / "tmp").iterdir())}


class TestNodes:
    def test_ray_cluster_refuses_nodes_with_different_versions(self, cluster_facts: dict[str, Any]) -> None:
        refusal, *lost = cluster_facts["lines"]
        assert "of the Ray cluster is not used: scipy is 0.0.1 there and" in refusal
        assert {line.rpartition("; ")[2] for line in lost} == {"trying it again"}

    def test_lost_ray_node_loses_no_result(self, cluster_facts: dict[str, Any]) -> None:
        assert cluster_facts["errors"] == [""]
        assert cluster_facts["total"] == 1 + sum(range(12))
        assert cluster_facts["temporary"] == []

    def test_ray_nodes_share_the_budget(self, cluster_facts: dict[str, Any]) -> None:
        assert cluster_facts["reached"] == "run.max_requests=3"
        assert cluster_facts["n_requests"] == 3
        assert cluster_facts["n_ended"] == 12 + 1 + 3

    def test_ray_prints_no_messages(self, cluster_facts: dict[str, Any]) -> None:
        assert [
            line for line in cluster_facts["output"].splitlines() if "Failed to determine local IP" not in line
        ] == []


def _other_scipy(folder: Path) -> Path:
    facts = folder / "packages" / "scipy-0.0.1.dist-info" / "METADATA"
    facts.parent.mkdir(parents=True)
    facts.write_text("Metadata-Version: 2.1\nName: scipy\nVersion: 0.0.1\n", encoding="utf-8")
    return facts.parents[1]


@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_ray_workers_end_with_the_command(cluster: Bed, how: signal.Signals, code: int) -> None:
    folder = _folder(cluster, how.name)
    process = cluster.command("-m", SCENARIOS, "busy", str(folder))
    wait_until(lambda: bool(list(folder.glob("notes/*"))), process)
    process.send_signal(how)
    process.communicate(timeout=10)
    assert process.returncode == code
    limit = time.monotonic() + 10
    while cluster.workers:
        assert time.monotonic() < limit
        time.sleep(0.05)


def test_ray_sweep_gives_the_local_numbers_and_hides_secrets(cluster: Bed, tmp_path: Path) -> None:
    folder = _folder(cluster, "sweep")
    overrides = (*SMALL, *FEW_METRICS, "tracking=none", "executor=ray", f"run.results_dir={folder / 'results'}")
    process = cluster.command("-m", "runner", "-m", *overrides, "top_k=2,4")
    output, _ = process.communicate(timeout=240)
    assert process.returncode == 0, output
    assert run_small(tmp_path, *((*FEW_METRICS, f"top_k={k}") for k in (2, 4))) == 0
    assert metrics_text(only_sweep(folder)) == metrics_text(only_sweep(tmp_path))
    written = [path for place in (folder, cluster.logs) for path in place.rglob("*") if path.is_file()]
    assert len(written) > 50
    for secret in SECRETS.values():
        assert [path for path in written if secret.encode() in path.read_bytes()] == []
        assert secret not in output


def test_race_on_ray_stops_the_same_cells_as_locally(cluster: Bed, tmp_path: Path) -> None:
    folder, replies = _folder(cluster, "race"), ("{question}", "nothing")
    race = (*FEW_METRICS, "dataset.limit=80", "llm=scripted", "race=betting", "race.metric=rouge_l")
    ray = ("tracking=none", "executor=ray", f"run.results_dir={folder / 'results'}")
    process = cluster.command("-m", "runner", "-m", *SMALL, *race, *ray, f"llm.reply='{replies[0]}','{replies[1]}'")
    output, _ = process.communicate(timeout=240)
    assert process.returncode == 0, output
    assert run_small(tmp_path, *((*race, "executor=local", f"llm.reply='{reply}'") for reply in replies)) == 0
    assert metrics_text(only_sweep(folder)) == metrics_text(only_sweep(tmp_path))
    here, there = ({cell.cell_id: cell.race for cell in read_cells(only_sweep(place))} for place in (tmp_path, folder))
    assert here == there
    assert sorted(map(bool, here.values())) == [False, True]
