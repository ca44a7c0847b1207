"""Settings that the executor of a sweep does not use."""

from dataclasses import replace
from pathlib import Path

import pytest

from components.errors import ConfigError
from runner.launch.request import check_jobs
from runner.launch.sweep import run_sweep
from tests.runner.sweeping import SWEEP_ID, small_job

GPUS = "+executor.resources.vectors={cpus: 2, gpus: 0.5, memory_gb: 0}"


@pytest.mark.parametrize(
    "override", [GPUS, "+executor.resources.vectors.gpus=1", "+executor.resources={vectors: {gpus: 1}}"]
)
def test_ignored_executor_settings_of_an_override_are_errors(tmp_path: Path, override: str) -> None:
    with pytest.raises(ConfigError) as refused:
        check_jobs([small_job(tmp_path, "executor=processes", override)])
    (problem,) = refused.value.problems
    assert problem.startswith("executor.resources.vectors.gpus: has no effect with executor=processes")
    assert problem.endswith("use executor=ray or executor=slurm")


def test_ignored_executor_settings_of_a_preset_are_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    job = replace(small_job(tmp_path, GPUS, "metrics=retrieval"), overrides=("metrics=retrieval",))
    assert run_sweep([job], SWEEP_ID, ()) == 0
    (told,) = caplog.messages
    assert told.startswith("executor.resources.vectors.gpus: has no effect")


def test_used_executor_settings_are_accepted(tmp_path: Path) -> None:
    check_jobs([small_job(tmp_path, "+executor.resources.vectors={cpus: 2}")])
