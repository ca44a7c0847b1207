"""A stage declares all stages that it reads: a missing or damaged one is computed again before the stage runs."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from runner.engine.stage import AnyStage
from runner.engine.stage_run import Run
from runner.engine.store import Store, StoredResult
from tests.runner.pipeline.fixed import CELLS, fixed_cell, graph_in, run_all
from tests.runner.pipeline.version_guard import computed


def test_stages_read_only_declared_inputs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    undeclared, read = set(), Run.entry
    begin = Run.__init__

    def remember(run: Any, stage: AnyStage, *others: Any) -> None:
        run.stage = stage
        begin(run, stage, *others)

    def check(run: Any, stage: AnyStage) -> StoredResult:
        if stage.key not in {before.key for before in run.stage.inputs}:
            undeclared.add(f"{run.stage.kind} reads {stage.kind}")
        return read(run, stage)

    monkeypatch.setattr(Run, "__init__", remember)
    monkeypatch.setattr(Run, "entry", check)
    computed(tmp_path)
    assert undeclared == set()


@pytest.mark.parametrize("kind", ["samples", "chunks", "context"])
def test_answers_are_recomputed_after_their_inputs_were_deleted(kind: str, tmp_path: Path) -> None:
    answers = judged_answers(store := Store(tmp_path, "a run"))
    run_all(store, answers)
    for gone in (kind, "answers"):
        shutil.rmtree(tmp_path / "entries" / gone)
    run_all(later := Store(tmp_path, "a later run"), judged_answers(later))


def judged_answers(store: Store) -> AnyStage:
    fields: Any = CELLS["hybrid, reranked, judged"]
    graph = graph_in(store, fixed_cell(**fields))
    return next(stage for stage in graph.result.upstream() if stage.kind == "answers")
