"""`runner.run`: a sweep from a program, which finds Hydra as it left it."""

import gc
import json
import logging
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig

import analysis
import runner
from components.errors import ConfigError, DataError, StoreError
from runner.launch import python_api
from runner.launch.hydra_startup import BASE_VERSION
from runner.pipeline.planned_cells import Job
from runner.results.loaded_sweep import LoadedSweep
from tests.runner.sweeping import FEW_METRICS, QUIET, RANKING_ONLY, SMALL, run_small

CELL = (*SMALL, *QUIET, *RANKING_ONLY)


@pytest.fixture
def results(tmp_path: Path) -> str:
    return f"run.results_dir={tmp_path / 'results'}"


def test_python_api_runs_the_same_sweep_as_the_command(results: str) -> None:
    sweep = runner.run([*CELL, results, "chunk.size=64,128", "top_k=2"])
    assert [(cell.axes["chunk.size"], cell.status) for cell in sweep.cells] == [(64, "OK"), (128, "OK")]
    assert (sweep.failed, sweep.unfinished) == ((), ())
    assert sweep == analysis.load(sweep.folder).results == analysis.load(sweep).results
    written = json.loads((sweep.folder / "sweep.json").read_text(encoding="utf-8"))
    assert written["command"].startswith("python -m runner -m dataset.limit=12")
    assert repr(sweep) == f"<LoadedSweep {sweep.folder}: 2 cells, 0 of them failed, 0 unfinished>"


def test_python_api_runs_presets_and_single_cells(results: str) -> None:
    assert len(runner.run(["+sweeps=smoke", *CELL[:-1], "metrics=retrieval", results]).cells) == 1
    assert (
        len(runner.run(["+sweeps=smoke", "embedder=hashing", "dataset.limit=12", *QUIET, *RANKING_ONLY, results]).cells)
        == 2
    )


def test_python_api_accepts_a_user_config_folder(results: str, tmp_path: Path) -> None:
    (tmp_path / "mine" / "chunk").mkdir(parents=True)
    (tmp_path / "mine" / "chunk" / "tiny.yaml").write_text("defaults: [sentence, _self_]\nsize: 32\n")
    sweep = runner.run([*CELL, results, "chunk=tiny"], config_dir=tmp_path / "mine")
    written = json.loads((sweep.folder / "sweep.json").read_text(encoding="utf-8"))
    assert written["command"].startswith(f"python -m runner -m --config-dir {tmp_path / 'mine'} ")
    (cell,) = sweep.cells
    assert (cell.axes["chunk"], cell.axes["chunk.size"]) == ("tiny", 32)


def test_python_run_restores_the_state_of_the_process(results: str, tmp_path: Path) -> None:
    def state() -> tuple[object, ...]:
        return sys.argv, list(sys.argv), os.getcwd(), list(logging.root.handlers), dict(os.environ)  # noqa: PTH109

    (tmp_path / "config.yaml").write_text("a: 1\n")
    before = state()
    with initialize_config_dir(str(tmp_path), **BASE_VERSION):
        runner.run([*CELL, results, "run.plan_only=true"])
        assert compose("config") == {"a": 1}
        with pytest.raises(ConfigError):
            runner.run(["top_k=0", results])
        assert compose("config") == {"a": 1}
    assert not GlobalHydra.instance().is_initialized()
    assert HydraConfig.instance().cfg is None
    assert state() == before


def test_python_api_reports_a_failed_cell_without_raising(results: str) -> None:
    sweep = runner.run([*CELL, results, "tokenizer=rjieba,english"])
    assert [cell.status for cell in sweep.cells] == ["OK", "FAILED"]
    assert [cell.axes["tokenizer"] for cell in sweep.failed] == ["english"]


@pytest.mark.parametrize(
    ("override", "error", "message"),
    [
        ("top_k=0", ConfigError, "top_k: got 0, expected at least 1"),
        ("retriver=bm25", ConfigError, "retriver: unknown; did you mean retriever?"),
        ("retriever=bm26", ConfigError, "retriever: got 'bm26'"),
        ("hydra/launcher=basic", ConfigError, "hydra/launcher: runner.run supports only hydra/launcher=grid"),
        ("hydra.sweeper.coupled=[[chunk.size,top_k]]", ConfigError, "hydra.sweeper.coupled"),
        ("dataset=beir dataset.root=nowhere", DataError, "nowhere: does not exist"),
    ],
)
def test_python_api_raises_configuration_errors(
    override: str, error: type[Exception], message: str, results: str
) -> None:
    with pytest.raises(error) as caught:
        runner.run([*SMALL[1:], *QUIET, results, *override.split()])
    assert message in str(caught.value)


@pytest.mark.parametrize("overrides", ["top_k=5", ["top_k=5", 5]])
def test_python_api_rejects_overrides_that_are_not_strings(overrides: Any) -> None:
    with pytest.raises(ConfigError, match=r"overrides: got .*5.*, expected a list of strings, e\.g\."):
        runner.run(overrides)


def test_python_api_axis_error_has_one_heading(results: str) -> None:
    with pytest.raises(ConfigError) as caught:
        runner.run(["chunk.size=interval(64,128)", results])
    assert str(caught.value).count("in the configuration") == 1
    assert "got an interval, expected single values" in caught.value.problems[0]


def test_sweeps_of_several_threads_run_one_after_another(results: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line and Hydra belong to the whole process, so a sweep would record another sweep's values."""
    at_work, most, commands = 0, 0, {}
    before = sys.argv

    def note(jobs: Sequence[Job], *_: object, **__: object) -> int:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        time.sleep(0.3)
        commands[jobs[0].axes["top_k"]] = sys.argv[-1]
        at_work -= 1
        return 0

    monkeypatch.setattr(python_api, "start_sweep", note)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda top_k: runner.run([*CELL, results, f"top_k={top_k}"]), (2, 3)))
    assert (most, commands) == (1, {2: "top_k=2", 3: "top_k=3"})
    assert sys.argv is before


def test_unwritable_results_folder_raises_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "a-file").touch()
    with pytest.raises(StoreError, match=r"run\.results_dir"):
        runner.run([*CELL, f"run.results_dir={tmp_path / 'a-file' / 'results'}"])


def test_missing_config_folder_raises_a_config_error(results: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"config_dir: got .*nowhere"):
        runner.run([*CELL, results], config_dir=tmp_path / "nowhere")


def test_plan_only_returns_no_cells(results: str) -> None:
    planned = runner.run([*CELL, results, "run.plan_only=true"])
    assert planned == LoadedSweep(planned.folder, ())


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are counted in /proc")
def test_sweeps_of_one_process_leave_no_file_open(tmp_path: Path) -> None:
    """A notebook runs many sweeps in one process, and the next sweep finds only the marks of the last one's owner."""
    for name in ("first", "second"):
        gc.collect()  # the tests collect rarely
        run_small(tmp_path / name, (*FEW_METRICS, "llm=scripted"))
    targets = [link.readlink() for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    left = [str(target.parent.relative_to(tmp_path)) for target in targets if target.is_relative_to(tmp_path)]
    assert sorted(left) == ["second/results/a-sweep/.running", "second/results/store/writers"]
