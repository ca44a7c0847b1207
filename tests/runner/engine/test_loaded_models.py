"""Models that a worker keeps in memory between stages."""

import time
import weakref
from pathlib import Path

import pytest

from components.loading import loading
from components.pretrained.load_once import _LoadedModels, load_once
from runner.engine.stage_run import Run
from runner.engine.store import Store
from runner.engine.worker import Worker
from tests.runner.engine.fake_stages import Adder, Sum


class Network:
    """A stand-in for a model of some gigabytes."""


loaded: list["weakref.ref[Network]"] = []


@load_once
def _load(model: str, revision: str) -> Network:
    network = Network()
    loaded.append(weakref.ref(network))
    return network


def use_model(stage: Sum, run: Run) -> int:
    assert stage.component is not None
    if stage.component.model:
        _load(stage.component.model, "")
    return 0


def test_loaded_model_stays_until_a_stage_loads_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_LoadedModels, "by_arguments", {})
    monkeypatch.setattr(_LoadedModels, "needed", None)
    loaded.clear()
    worker = Worker(Store(tmp_path, "run"))
    alive = []
    for amount, model in enumerate(["small", "small", "", "large"]):
        worker.run_or_raise(Sum(Adder(amount, model), compute=use_model))
        alive.append([reference() is not None for reference in loaded])
    assert alive == [[True], [True], [True], [False, True]]


def test_loading_time_is_not_part_of_the_stage_time(tmp_path: Path) -> None:
    def load_and_work(stage: Sum, run: Run) -> int:
        with loading():
            time.sleep(0.2)
        time.sleep(0.01)
        return 0

    store = Store(tmp_path, "run")
    stage = Sum(Adder(), compute=load_and_work)
    assert Worker(store).run(stage).seconds >= 0.2
    entry = store.find(stage.kind, stage.key)
    assert entry is not None
    assert 0.01 <= entry.manifest.seconds < 0.2
