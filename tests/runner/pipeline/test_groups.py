"""dataset.groups: which samples intervals and tests take as dependent."""

from pathlib import Path

import pytest

from analysis.comparison import compare_cells
from components.statistics import PairedTest
from runner.output.headline_lines import headline_lines
from runner.results.loaded_sweep import load
from tests.runner.sweeping import cells_in, own_data, plan_small, run_small, samples_in, small_graph, store_of

TEXTS = {name: f"Bridge {name} was opened in 19{number}." for number, name in enumerate("abcdefgh", 30)}
GOLD = ("ab", "bc", "cd", "de", "ef", "fg", "gh", "ha")
"""One chain of documents, which ties all samples together."""
SAMPLES = tuple({"id": own, "question": f"When was {own[0]} opened?", "gold": list(own)} for own in GOLD)
CELL = ("metrics=retrieval", "llm=none")


def keys(*overrides: str) -> dict[str, str]:
    return {stage.kind: stage.key for stage in small_graph(*overrides).result.upstream()}


def test_groups_change_the_keys_of_intervals_and_results_only() -> None:
    default = keys("llm=scripted")
    assert keys("llm=scripted", "dataset.groups=document") == default
    changed = keys("llm=scripted", "dataset.groups=source")
    assert keys("llm=scripted", "metrics.interval.groups=source") == changed
    assert {kind for kind in default if changed[kind] != default[kind]} == {
        "answer_scores",
        "context_scores",
        "ranking_scores",
        "result",
    }


@pytest.mark.parametrize(("groups", "n_groups"), [("document", 1), ("source", 8), ("none", 8)])
def test_dataset_groups_determine_clusters_of_intervals_and_samples(
    tmp_path: Path, groups: str, n_groups: int, capsys: pytest.CaptureFixture[str]
) -> None:
    own = own_data(tmp_path, TEXTS, SAMPLES)
    assert run_small(tmp_path, (*own, *CELL, f"dataset.groups={groups}")) == 0
    (cell,) = cells_in(tmp_path)
    assert cell.metrics["overall"]["ndcg@10"]["n_clusters"] == n_groups
    assert cell.dataset.get("groups") == (None if groups == "document" else groups)
    assert len({row["cluster"] for row in samples_in(tmp_path)}) == n_groups
    assert (f"dataset.groups={groups}: " in capsys.readouterr().out) == (groups != "document")


def test_dataset_groups_determine_clusters_of_comparisons_and_plans(tmp_path: Path) -> None:
    own = own_data(tmp_path, TEXTS, SAMPLES)
    cells = [(*own, *CELL, "dataset.groups=none", f"retriever={name}") for name in ("bm25", "dense")]
    assert run_small(tmp_path, *cells, sweep_id="alone") == 0
    results = tmp_path / "results"
    sweep = load("alone", results)
    assert compare_cells(sweep, sweep.metric("ndcg@10"), PairedTest()).n_clusters == 8

    def lines(*planned: tuple[str, ...]) -> list[str]:
        return list(headline_lines(plan_small(tmp_path, *planned).cells, "ndcg@10", results, store_of(tmp_path)))

    (of_same,) = lines(*cells)
    assert of_same.startswith("ndcg@10: with 8 samples in 8 groups (dataset.groups=none), the smallest ")
    assert of_same.endswith(f"As measured in {results / 'alone'}.")
    too_few, tied = lines(*((*cell, "dataset.groups=document") for cell in cells))
    assert too_few == "ndcg@10: too few groups of samples (1) to tell."
    assert tied.startswith("All 8 samples form one group: 8 gold documents tie them together, most of all a (2 ")
