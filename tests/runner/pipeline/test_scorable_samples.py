"""The samples that a metric can score, found before the sweep, are those that it scores in the sweep."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from components.errors import ComponentError
from components.means import mean_scores
from components.metrics.contains import Contains
from components.records import Documents, Sample, Scores, TextsWithUnits
from runner.output.planned_metric import PlannedMetrics
from runner.pipeline.planned_cells import PlannedCell
from runner.pipeline.scorable_samples import trial_states
from tests.runner.sweeping import cells_in, own_data, plan_small, run_small, store_of

TEXTS = {name: f"The {name} bridge was opened in 19{number}." for number, name in enumerate(["red", "old", "new"], 30)}

SAMPLES = (
    {"id": "1", "question": "When was the red bridge opened?", "references": ["In 1930"], "gold": ["red"]},
    {"id": "2", "question": "When was the old bridge opened?", "references": ["In 1931"]},
    {"id": "3", "question": "When was the new bridge opened?", "gold": ["new"]},
    {"id": "4", "question": "When was the blue bridge opened?", "answerable": False},
    {"id": "5", "question": "Which bridges are red or old?", "references": ["?"], "gold": ["red", "old"]},
)

CELLS = {
    "default": ("metrics=default", "llm=extractive"),
    "short answers": ("metrics=qa", "llm=extractive"),
    "no model": ("metrics=default", "llm=none"),
    "closed book": ("metrics=default", "retriever=closed_book", "llm=scripted"),
    "chosen reranker": ("metrics=retrieval", "reranker=selected", "llm=none"),
}


def planned(folder: Path, *overrides: str) -> tuple[PlannedCell, PlannedMetrics]:
    (cell,) = plan_small(folder, overrides).cells
    return cell, PlannedMetrics([cell], cell.graph.data, store_of(folder))


@pytest.mark.parametrize("overrides", CELLS.values(), ids=CELLS)
def test_planned_sample_counts_equal_the_sweep(tmp_path: Path, overrides: Sequence[str]) -> None:
    own = (*own_data(tmp_path, TEXTS, SAMPLES), "language=en", "metrics.interval.n_resamples=100", *overrides)
    _, metrics = planned(tmp_path, *own)
    assert run_small(tmp_path, own) == 0
    (result,) = cells_in(tmp_path)
    overall = result.metrics["overall"]
    assert {name: len(metrics.plan_metric(name).rows) for name in overall} == {
        name: entry["n"] for name, entry in overall.items()
    }
    left_out = {name: metrics.plan_metric(name).left_out for name in overall if metrics.plan_metric(name).cells}
    assert left_out == {name: Counter(overall[name]["n_excluded"]) for name in left_out}


def test_plan_counts_samples_with_undetermined_scores(tmp_path: Path) -> None:
    """Answers may cite, and judges' replies may be readable: the plan counts these samples."""
    own = (*own_data(tmp_path, TEXTS, SAMPLES), "language=en", "llm=scripted")
    _, cited = planned(tmp_path, *own, "metrics=cited")
    assert cited.plan_metric("citation_precision").rows.tolist() == [0, 2, 4]
    _, judged = planned(tmp_path, *own, "judge=omnieval", "judge.llm=${llm}")
    assert judged.plan_metric("accuracy").left_out == {"not_applicable": 2}
    assert judged.plan_metric("relevance").rows.tolist() == [0, 1, 2, 3, 4]
    assert judged.plan_metric("accuracy").waits
    assert cited.plan_metric("citation_precision").waits
    assert not cited.plan_metric("rouge_l").waits


@dataclass(frozen=True)
class Failing(Contains):
    """A metric that cannot score an answer without a full stop."""

    __module__: ClassVar[str] = "my_package"

    def score_answers(
        self, samples: Sequence[Sample], answers: TextsWithUnits, references: TextsWithUnits
    ) -> dict[str, Scores]:
        return dict.fromkeys(self.names, mean_scores([float(text.index(".")) for text in answers.texts]))


def test_error_names_the_metric_that_failed_in_the_trial(tmp_path: Path) -> None:
    cell, metrics = planned(tmp_path, "metrics=qa")
    scores = next(stage for stage in cell.graph.result.scorings if "contains" in getattr(stage, "metrics", {}))
    scores.metrics["contains"] = Failing()  # type: ignore[attr-defined]
    with pytest.raises(ComponentError, match=r"my_package.Failing: cannot score a trial .* Fix the class"):
        trial_states(scores, "contains_any", metrics.samples, lambda: Documents((), (), ()))  # type: ignore[arg-type]
