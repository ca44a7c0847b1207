"""Which models a worker keeps in memory from stage to stage."""

import weakref
from pathlib import Path

import pytest

from components.pretrained.load_once import _Loaded, load_once
from runner.engine.run import Run
from runner.engine.store import Store
from runner.engine.worker import Worker
from tests.runner.engine.fake_stages import Adder, Sum


class Network:
    """Stands for some gigabytes."""


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


def test_a_model_is_kept_until_a_stage_loads_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Loaded, "by_arguments", {})
    monkeypatch.setattr(_Loaded, "needed", None)
    loaded.clear()
    worker = Worker(Store(tmp_path, "run"))
    alive = []
    for amount, model in enumerate(["small", "small", "", "large"]):
        worker.run_or_raise(Sum(Adder(amount, model), compute=use_model))
        alive.append([reference() is not None for reference in loaded])
    assert alive == [[True], [True], [True], [False, True]]
