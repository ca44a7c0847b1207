"""The executor on a real Slurm: python -m pytest -n 0 -m server tests/runner/engine"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from components.errors import ConfigError
from runner.engine.executors.slurm import Slurm
from runner.engine.stage_run import Run
from runner.engine.store import Store
from tests.extras import skip_without
from tests.runner.engine.executors import slurm_stages
from tests.runner.engine.executors.slurm_bed import SlurmBed, lacking
from tests.runner.engine.executors.slurm_stages import add_the_third_time, be_cancelled, be_preempted_by_another
from tests.runner.engine.executors.test_slurm import run
from tests.runner.engine.fake_stages import Adder, Left, Right, Sum
from tests.runner.engine.process_stages import noted
from tests.runner.engine.test_executors import chain, goes_silent, result
from tests.runner.sweeping import REPOSITORY, wait_until

skip_without("submitit", extra="slurm")
if why := lacking():
    pytest.skip(why, allow_module_level=True)
pytestmark = pytest.mark.server

SMALL = Slurm(cpus_per_worker=1, mem_gb=0.5, silence_s=5.0)


@pytest.fixture(scope="module")
def bed() -> Iterator[SlurmBed]:
    bed = SlurmBed()
    yield bed
    bed.close()


@pytest.fixture
def slurm(bed: SlurmBed, monkeypatch: pytest.MonkeyPatch) -> SlurmBed:
    monkeypatch.setenv("SLURM_CONF", bed.environment["SLURM_CONF"])
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))  # for processes that a stage starts in its job
    return bed


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store", run_id="this run")


def test_real_slurm_gives_the_same_results_and_leaves_no_job(
    slurm: SlurmBed, store: Store, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    order = chain(tmp_path / "calls")
    ended = run(order, store, tmp_path / "sweep", SMALL, n_workers=2)
    assert not any(one.failed for one in ended.values())
    assert result(store, order[-1]) == 6
    assert sorted(noted(tmp_path / "calls")) == ["left", "right", "source", "top"]
    assert capfd.readouterr() == ("", ""), "what Slurm says by the way is nobody's business"
    slurm.wait_until(lambda: not slurm.jobs())
    assert [path.name for path in (tmp_path / "sweep").iterdir()] == ["logs"]


@pytest.mark.parametrize("how", [be_cancelled, be_preempted_by_another])
def test_slurm_job_that_ends_is_replaced_for_its_stage(
    how: Callable[[Sum, Run], int], slurm: SlurmBed, store: Store, tmp_path: Path
) -> None:
    stage = Left(Adder(calls=str(tmp_path / "calls")), compute=how)
    ended = run([stage], store, tmp_path / "sweep", SMALL)
    assert not ended["left"].failed, ended["left"].error
    assert len(noted(tmp_path / "calls")) == 2


def test_dead_slurm_worker_is_replaced_in_the_same_job(slurm: SlurmBed, store: Store, tmp_path: Path) -> None:
    stage = Right(Adder(calls=str(tmp_path / "calls")), compute=add_the_third_time)
    ended = run([stage], store, tmp_path / "sweep", SMALL)
    assert not ended["right"].failed, ended["right"].error
    assert len(noted(tmp_path / "calls")) == 3
    assert len(list((tmp_path / "sweep" / "logs").glob("*.err"))) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_slurm_jobs_end_with_the_command(number: signal.Signals, slurm: SlurmBed, tmp_path: Path) -> None:
    code = f"from {slurm_stages.__name__} import beat_on_slurm; beat_on_slurm({str(tmp_path)!r})"
    driver = subprocess.Popen([sys.executable, "-c", code], cwd=REPOSITORY, start_new_session=True)
    beats = tmp_path / "beats"
    wait_until(lambda: bool(noted(beats)), driver)
    os.kill(driver.pid, number)
    driver.wait(20)
    if number is not signal.SIGKILL:
        assert driver.returncode == 0
        assert not slurm.jobs(), "they were cancelled before it ended"
    slurm.wait_until(lambda: not slurm.jobs())
    assert goes_silent(beats)


def test_invalid_slurm_partition_is_reported_in_the_words_of_slurm(
    slurm: SlurmBed, store: Store, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=r"Slurm refuses the jobs: .*invalid partition specified: nosuch"):
        run(chain(), store, tmp_path / "sweep", Slurm(partition="nosuch", mem_gb=0.5, cpus_per_worker=1))
