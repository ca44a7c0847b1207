"""Dropped hits are counted and reported. The others keep their order through a reranker."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from components.diversity.none import KeepAll
from components.records import Hits, Passages
from runner.engine.executors.local import Local
from runner.engine.plan import make_plan
from runner.engine.schedule import run_stages
from runner.engine.store import Store
from runner.launch.sweep import EXIT_OK
from tests.runner.pipeline.fixed import bm25, fixed_cell, graph_in
from tests.runner.sweeping import RANKING_ONLY, cells_in, own_data, run_small, samples_in

TEXTS = {
    "a": "the bank raised its rate in may to three percent",
    "b": "the bank raised its rate in may to three percent again",
    "c": "the rate of the river is high",
}
OPTIONS = (
    "llm=none",
    "tokenizer=bigrams",
    "expander=none",
    "retriever.sparse_index.max_share_without_hits=1",
    *RANKING_ONLY,
)


def documents_found(folder: Path, sweep_id: str) -> list[list[str]]:
    return [[hit["document_id"] for hit in sample["retrieved"]] for sample in samples_in(folder, sweep_id)]


def run(folder: Path, *overrides: str) -> list[list[str]]:
    samples = [{"id": "1", "question": "bank rate"}, {"id": "2", "question": "river"}]
    options = (*own_data(folder, TEXTS, samples), *OPTIONS, *overrides)
    sweep_id = "-".join(overrides) or "plain"
    assert run_small(folder, options, sweep_id=sweep_id) == EXIT_OK
    return documents_found(folder, sweep_id)


def test_redundant_hits_are_dropped_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path) == [["a", "b", "c"], ["c"]]
    (plain,) = cells_in(tmp_path, "plain")
    assert plain.steps == {}
    assert run(tmp_path, "diversity=near_duplicates") == [["a", "c"], ["c"]]
    line = "diversity: 1 of 4 hits repeated a better hit, and were dropped"
    (cell,) = cells_in(tmp_path, "diversity=near_duplicates")
    assert cell.steps == {"diversity": {"n_hits": 4, "n_dropped": 1, "n_samples_with_fewer": 1, "line": line}}
    assert line in capsys.readouterr().out
    assert run(tmp_path, "diversity=near_duplicates", "reranker=lexical") == [["a", "c"], ["c"]]


@dataclass(frozen=True)
class MakesUp(KeepAll):
    """Gives a hit that was never found."""

    depth: ClassVar[int] = 1

    def diversify(self, hits: Hits, chunks: Passages) -> Hits:
        return Hits(np.where(hits.chunk >= 0, hits.chunk + 100, -1).astype(np.int32), hits.score)


def test_diversified_hits_that_no_search_found_are_rejected(tmp_path: Path) -> None:
    store = Store(tmp_path)
    graph = graph_in(store, fixed_cell(retriever=bm25(), diversity=MakesUp()))
    runs: Sequence[object] = list(run_stages(make_plan([(graph.result, 1)], store).order, store, Local()))
    assert any("MakesUp: query 0: " in getattr(each, "error", "") for each in runs)
