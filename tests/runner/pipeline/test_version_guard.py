"""A stage whose result changes must change its version; and the guard that says so can fail."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from runner.engine.stage_run import Run
from runner.pipeline.answers.context_stages import ChosenContext
from runner.pipeline.search.fusing import FusedHits
from tests.runner.pipeline.version_guard import Row, computed, disagreements, kinds, read_table, stage_classes

HYBRID = ["hybrid, reranked, judged"]
"""One cell, with stages that are fused and a context."""


@pytest.fixture(scope="module")
def computed_rows(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Row]:
    return computed(tmp_path_factory.mktemp("guard"))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Row]:
    """Return the rows of the kinds of `HYBRID`."""
    return computed(tmp_path_factory.mktemp("hybrid"), HYBRID)


def test_every_stage_result_matches_the_version_table(computed_rows: Mapping[str, Row]) -> None:
    wrong = disagreements(read_table(), computed_rows, kinds())
    assert wrong == [], "\n".join(wrong)


def test_stage_kinds_are_unique() -> None:
    assert sorted(kinds()) == sorted(cls.kind for cls in stage_classes())


def test_repeated_computations_give_equal_results(computed_rows: Mapping[str, Row], tmp_path: Path) -> None:
    assert computed(tmp_path) == computed_rows


def test_changed_result_under_the_same_key_requires_a_version(
    table: Mapping[str, Row], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = ChosenContext.make

    def fewer(stage: ChosenContext, run: Run) -> object:
        context = before(stage, run)
        context.chunk[:, -1] = -1
        return context

    monkeypatch.setattr(ChosenContext, "make", fewer)
    wrong = disagreements(table, computed(tmp_path, HYBRID), table)
    of_context = wrong[0]
    assert of_context.startswith("context: computes another result")
    assert "Raise `version` (1) in the class" in of_context
    assert "python -m tests.runner.pipeline.version_guard --write" in of_context


def test_raised_version_requires_only_a_table_update(
    table: Mapping[str, Row], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(FusedHits, "version", FusedHits.version + 1)
    wrong = disagreements(table, computed(tmp_path, HYBRID), table)
    assert any(line.startswith("fused_hits: has other keys") for line in wrong)
    assert not any("Raise `version`" in line for line in wrong)


def test_version_table_reports_missing_and_extra_rows(computed_rows: Mapping[str, Row]) -> None:
    table = {kind: row for kind, row in computed_rows.items() if kind != "context"}
    wrong = disagreements({**table, "gone": computed_rows["context"]}, computed_rows, {**kinds(), "unseen": object})
    assert [line.split(".")[0] for line in wrong] == [
        "context: a new kind without a row",
        "gone: the table has a row for it, and there is no such stage",
        "unseen: no fixed cell has such a stage",
    ]
