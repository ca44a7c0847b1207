"""Results are decoded by the key of their stage, and their files hashed once."""

from collections import Counter
from pathlib import Path
from typing import ClassVar

import pytest

from runner.engine.cache import Cache
from runner.engine.codecs import Parts
from runner.engine.executors.local import Local
from runner.engine.outcome import StageRun
from runner.engine.plan import make_plan
from runner.engine.schedule import run_stages
from runner.engine.stage import Stage
from runner.engine.stage_run import Run
from runner.engine.store import Store
from runner.engine.store import stored_result as entry
from runner.engine.store import stored_results as entries
from tests.runner.engine.adding import Number
from tests.runner.pipeline.fixed import fixed_cell, graph_in, run_all
from tests.runner.sweeping import read_or_make


class _CountingCodec:
    """A number; counts how often it is decoded."""

    n_decoded: ClassVar[int] = 0

    def encode(self, result: int) -> Parts:
        return {"number": result}

    def decode(self, parts: Parts) -> int:
        _CountingCodec.n_decoded += 1
        return int(parts["number"])


class _Other(Number, kind="other"):
    """Another stage with a function of the same name."""

    codec = _CountingCodec()

    def make(self, run: Run) -> int:
        return -super().make(run)


def run(store: Store, *wanted: Stage[int]) -> list[StageRun]:
    order = make_plan([(stage, 1) for stage in wanted], store).order
    return list(run_stages(order, store, Local()))


def test_stages_with_equally_named_functions_are_distinguished(tmp_path: Path) -> None:
    store = Store(tmp_path)
    inputs = (Number(3), Number(4), _Other(3), _Other(5))
    total = Number(100, inputs)
    run(store, total)
    assert read_or_make(total, store) == 100 + 3 + 4 - 3 - 5
    cache = Cache()
    for stage in (*inputs, *reversed(inputs)):
        entry = store.find(stage.kind, stage.key)
        assert entry is not None
        assert cache.get(stage, entry) == read_or_make(stage, store)


def test_result_read_by_several_stages_is_decoded_once(tmp_path: Path) -> None:
    shared = _Other(7)
    run(Store(tmp_path), shared)
    _CountingCodec.n_decoded = 0
    run(Store(tmp_path), Number(1, (shared,)), Number(2, (shared,)), Number(3, (shared,)))
    assert _CountingCodec.n_decoded == 1


def test_store_files_are_hashed_once_per_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: Counter[Path] = Counter()
    checksum = entry.checksum

    def counting(path: Path) -> str:
        hashed[path] += 1
        return checksum(path)

    first = Store(tmp_path)
    run_all(first, graph_in(first, fixed_cell(top_k=2)).result)
    for module in (entries, entry):
        monkeypatch.setattr(module, "checksum", counting)
    later = Store(tmp_path)  # another process's view
    for top_k in (1, 2, 3):
        result = graph_in(later, fixed_cell(top_k=top_k)).result
        run_all(later, result)
        read_or_make(result, later)
        read_or_make(result, later)
    stored = {path: n for path, n in hashed.items() if path.is_relative_to(tmp_path / "entries")}
    assert stored, "results of the first process were read"
    assert max(stored.values()) == 1
    written = [path for path in hashed if path not in stored]
    assert all(hashed[path] == 1 for path in written)
