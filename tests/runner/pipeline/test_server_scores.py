"""Scores from a server are requested once, even if several stages need them at the same time."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from components.errors import ComponentError
from components.openai_server.limiter import Account
from components.openai_server.received_replies import current_received
from components.records import Passages
from runner.engine.store import Store
from runner.engine.worker import Worker
from runner.pipeline.ranking.rerank_stages import RerankedHits
from tests.runner.pipeline.fixed import fixed_cell, graph_in, run_all

WAIT_S = 30


@dataclass(frozen=True)
class PaidReranker:
    """A stand-in for a reranker behind a server. It stores received scores, and fails after `most` pairs."""

    depth: int = 2

    version: ClassVar[int] = 1
    tokenizer: ClassVar[None] = None
    batch_size: ClassVar[int] = 1
    account: ClassVar[Account] = Account("a server", "a model", "")
    asked: ClassVar[list[tuple[str, str]]] = []
    most: ClassVar[int] = 1000
    both: ClassVar[threading.Barrier | None] = None

    def score(self, queries: Passages, chunks: Passages, pairs: NDArray[np.int32]) -> NDArray[np.float32]:
        if self.both and not self.both.broken:
            with suppress(threading.BrokenBarrierError):  # the other stage waits for the scores, as it should
                self.both.wait(0.3)
        scores = []
        for query, chunk in pairs.tolist():
            pair = queries.texts[query], chunks.texts[chunk]
            received = current_received().get_all([repr(pair)])
            if not received:
                if len(self.asked) >= self.most:
                    raise ComponentError("the server is down")
                self.asked.append(pair)
                received = {repr(pair): np.array([-len(pair[1])], dtype=np.float32)}
                current_received().add_all(received)
            scores.append(received[repr(pair)][0])
        return np.array(scores, dtype=np.float32)


@pytest.fixture(autouse=True)
def _nothing_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PaidReranker, "asked", [])


def reranking(store: Store, depth: int) -> RerankedHits:
    """The stage of the fixed cell, whose inputs are made."""
    upstream = graph_in(store, fixed_cell(reranker=PaidReranker(depth))).result.upstream()
    (stage,) = [stage for stage in upstream if isinstance(stage, RerankedHits)]
    for before in stage.inputs:
        run_all(store, before)
    return stage


def test_concurrent_stages_pay_for_a_shared_pair_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stages = [reranking(Store(tmp_path), depth) for depth in (2, 4)]
    monkeypatch.setattr(PaidReranker, "both", threading.Barrier(2))
    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda stage: Worker(Store(tmp_path)).run(stage), stages))
    assert [run.error for run in runs] == ["", ""]
    assert len(PaidReranker.asked) == len(set(PaidReranker.asked)) > 0


def test_changed_depth_reuses_scores_from_before_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path)
    first, second = reranking(store, 2), reranking(store, 4)
    monkeypatch.setattr(PaidReranker, "most", 3)
    assert "the server is down" in Worker(store).run(first).error
    monkeypatch.setattr(PaidReranker, "most", 1000)
    assert [Worker(store).run(stage).error for stage in (second, first)] == ["", ""]
    assert len(PaidReranker.asked) == len(set(PaidReranker.asked)) > 3
    assert not list((tmp_path / "workspaces").iterdir())


def test_stage_leaves_the_scores_that_an_interrupted_stage_received(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    deep, shallow = reranking(store, 4), reranking(store, 1)
    monkeypatch.setattr(PaidReranker, "most", 3)
    assert "the server is down" in Worker(store).run(deep).error
    monkeypatch.setattr(PaidReranker, "most", 1000)
    assert [Worker(Store(tmp_path)).run(stage).error for stage in (shallow, deep)] == ["", ""]
    assert len(PaidReranker.asked) == len(set(PaidReranker.asked)) > 3
    assert not list((tmp_path / "workspaces").iterdir())
