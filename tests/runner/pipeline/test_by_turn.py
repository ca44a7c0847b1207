"""Scores by the number of the turn, and over conversations, only on request."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.launch.sweep import EXIT_OK
from runner.results import CellResult
from runner.results.joined_samples import common_samples
from runner.results.loaded_sweep import load
from tests.runner.sweeping import SWEEP_ID, cells_in, own_data, plan_small, run_small, samples_in

TEXTS = {"a": "The bridge was opened in 1932.", "b": "The mill is red.", "c": "The tower is high."}
TALKS = {
    "long": (("Which bridge?", "a"), ("When was it opened?", "a"), ("Is the mill red?", "b")),
    "short": (("The tower?", "b"), ("Is the tower high?", "c")),
    "alone": (("What of the mill?", "c"),),
}


def samples() -> Iterator[dict[str, Any]]:
    for name, talk in TALKS.items():
        for n, (question, gold) in enumerate(talk):
            history = [{"question": earlier, "answer": "?"} for earlier, _ in talk[:n]]
            yield {"id": f"{name}{n}", "question": question, "history": history, "references": ["1932"], "gold": [gold]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("by-turn")
    cell = [*own_data(folder, TEXTS, samples()), "language=en", "llm=scripted", "metrics.interval.by_turn=true"]
    assert run_small(folder, cell) == EXIT_OK
    return folder


@pytest.fixture(scope="module")
def cell(folder: Path) -> CellResult:
    (found,) = cells_in(folder)
    return found


@pytest.fixture(scope="module")
def values(folder: Path) -> dict[str, float]:
    return {row["id"]: row["score/mrr"] for row in samples_in(folder)}


def mean(*values: float) -> float:
    return sum(values) / len(values)


def test_turn_subsets_are_numbered_by_turn(cell: CellResult, values: dict[str, float]) -> None:
    assert len(set(values.values())) > 1
    assert [name for name in cell.metrics if name.startswith("turn/")] == [
        "turn/1", "turn/2", "turn/3", "turn/by_conversation",
    ]  # fmt: skip
    assert cell.value("mrr", "turn/1") == pytest.approx(mean(values["long0"], values["short0"]))
    assert cell.value("mrr", "turn/2") == pytest.approx(mean(values["long1"], values["short1"]))
    assert cell.metrics["turn/3"]["mrr"]["n"] == 1


def test_conversations_weigh_equally_regardless_of_their_length(cell: CellResult, values: dict[str, float]) -> None:
    talks = [mean(*(values[f"{name}{n}"] for n in range(len(TALKS[name])))) for name in ("long", "short")]
    entry = cell.metrics["turn/by_conversation"]["mrr"]
    assert entry["value"] == pytest.approx(mean(*talks))
    assert (entry["n"], entry["n_conversations"]) == (5, 2)
    assert cell.metrics["turn/by_conversation"]["bleu"]["n_conversations"] == 2, "a metric of a corpus, for each"


def test_turn_subsets_of_cells_are_compared_on_the_same_samples(folder: Path, cell: CellResult) -> None:
    sweep = load(str(folder / "results" / SWEEP_ID))
    for subset in ("turn/1", "turn/2", "turn/by_conversation"):
        found = common_samples([cell], sweep.folder_of, "mrr", subset)
        assert found.means().tolist() == [pytest.approx(cell.value("mrr", subset))]


def test_turn_metrics_change_only_scoring_stages(folder: Path, cell: CellResult) -> None:
    data = [*own_data(folder, TEXTS, samples()), "language=en", "llm=scripted"]
    plan = plan_small(folder, data, [*data, "metrics.interval.by_turn=true"])
    plain, by_turn = ({s.key: s.kind for s in each.graph.result.upstream()} for each in plan.cells)
    assert {(plain | by_turn)[key] for key in plain.keys() ^ by_turn.keys()} == {
        "ranking_scores", "context_scores", "answer_scores", "result",
    }  # fmt: skip
    assert run_small(folder, data, sweep_id="plain") == EXIT_OK
    (without,) = cells_in(folder, "plain")
    assert without.metrics == {name: own for name, own in cell.metrics.items() if not name.startswith("turn/")}
