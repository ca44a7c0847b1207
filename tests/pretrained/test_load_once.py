import gc
import weakref
from dataclasses import dataclass
from pathlib import Path

import pytest

from components.pretrained.load_once import _LoadedModels, declare_needed, keep_all_models, load_once


class Network:
    """A stand-in for a model of some gigabytes."""


@pytest.fixture(autouse=True)
def _nothing_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_LoadedModels, "by_arguments", {})
    monkeypatch.setattr(_LoadedModels, "needed", None)


@load_once
def _load(model: str, revision: str, device: str = "cpu") -> Network:
    return Network()


@load_once
def _load_otherwise(model: str, revision: str) -> Network:
    return Network()


@dataclass(frozen=True)
class WithAdapter:
    adapter: str


@load_once
def _load_with_adapter(model: str, revision: str, wanted: WithAdapter) -> Network:
    return Network()


def test_models_with_equal_arguments_are_loaded_once() -> None:
    assert _load("a", "1") is _load("a", "1")
    assert _load("a", "1") is not _load("a", "2")
    assert _load("a", "1", "cuda") is not _load("a", "1")
    assert _load_otherwise("a", "1") is not _load("a", "1")


def test_model_folder_with_changed_files_is_loaded_again(tmp_path: Path) -> None:
    for name in ("model", "adapter"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "weights.bin").write_bytes(b"1")
    wanted = WithAdapter(str(tmp_path / "adapter"))
    before = _load_with_adapter(str(tmp_path / "model"), "", wanted)
    assert _load_with_adapter(str(tmp_path / "model"), "", wanted) is before
    for name in ("model", "adapter"):
        (tmp_path / name / "weights.bin").write_bytes(b"changed")
        after = _load_with_adapter(str(tmp_path / "model"), "", wanted)
        assert after is not before
        assert len(_LoadedModels.by_arguments) == 1, "the earlier one is released"
        before = after


def test_unneeded_models_are_released_when_another_is_loaded() -> None:
    declare_needed([("a", "")])
    a = weakref.ref(_load("a", ""))
    declare_needed([("b", "")])
    gc.collect()
    assert a() is not None, "as long as nothing else is loaded, it stays"
    _load("b", "")
    assert a() is None


def test_models_needed_together_stay_loaded() -> None:
    declare_needed([("a", ""), ("b", "")])
    a, b = _load("a", ""), _load("b", "")
    assert _load("a", "") is a
    assert _load("b", "") is b


def test_keep_all_overrides_the_needed_models() -> None:
    declare_needed([("a", "")])
    keep_all_models()
    a, b = _load("a", ""), _load("b", "")
    assert (_load("a", ""), _load("b", "")) == (a, b)


def test_failed_model_load_is_tried_again() -> None:
    tries = []

    @load_once
    def fail(model: str, revision: str) -> None:
        tries.append(model)
        raise ValueError(model)

    for _ in range(2):
        with pytest.raises(ValueError, match="broken"):
            fail("broken", "")
    assert len(tries) == 2
