"""A reranker that is chosen on some samples is reported only on the others."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from components.clusters import number_clusters
from components.errors import ComponentError, ConfigError
from components.metrics.trec import TrecMeasures
from components.records import Documents, Evidence, Kind, Sample, Turn
from runner.engine.store import Store
from runner.launch.sweep import EXIT_OK
from runner.pipeline.corpus.loaded_data import SampleSet
from runner.pipeline.ranking.selecting import ChosenByScores, SelectedHits, SelectionSplit
from runner.pipeline.scoring.score_stages import Scoring
from tests.contracts.fusion_contract import hits_of
from tests.runner.pipeline.fixed import CELLS, fixed_cell, graph_in, run_all
from tests.runner.sweeping import (
    RANKING_ONLY,
    cells_in,
    own_data,
    read_or_make,
    run_small,
    samples_in,
    small_graph,
    small_request,
)


class Given:
    """A run whose inputs are given by their names."""

    def __init__(self, **results: Any) -> None:
        self.results = results

    def read(self, stage: str) -> Any:
        return self.results[stage]


def sample(number: int, subset: str, *gold: str, history: tuple[Turn, ...] = ()) -> Sample:
    return Sample(f"s{number}", subset, Kind.QA, f"Question {number}?", (), tuple(map(Evidence, gold)), history=history)


def split(samples: Sequence[Sample], share: float = 0.3, seed: int = 0) -> list[bool]:
    ids = sorted({unit.document_id for each in samples for unit in each.gold} - {"elsewhere"})
    documents = Documents(ids, [""] * len(ids), ["text"] * len(ids))
    stage = SelectionSplit(share, seed, "samples", "corpus")  # type: ignore[arg-type]
    run: Any = Given(samples=SampleSet(tuple(samples), {}), corpus=documents)
    held_out: list[bool] = stage.make(run).tolist()
    return held_out


class TestSplit:
    SAMPLES = (
        *(sample(i, f"a/{i % 2}", f"a{i}") for i in range(10)),
        *(sample(i, "b", f"b{i // 2}") for i in range(10, 20)),
        *(sample(i, "c") for i in range(20, 25)),
        sample(25, "d", "elsewhere"),
        sample(26, "e", "e"),
    )

    def test_split_holds_out_a_share_of_every_top_level_set(self) -> None:
        held_out = split(self.SAMPLES)
        chosen = Counter(each.subset[0] for each, own in zip(self.SAMPLES, held_out, strict=True) if own)
        assert chosen == {"a": 3, "b": 4}, "b in pairs, rounded up; of a single group none"

    @pytest.mark.parametrize("seed", range(5))
    def test_split_keeps_groups_together(self, seed: int) -> None:
        held_out, groups = split(self.SAMPLES, seed=seed), number_clusters(self.SAMPLES).tolist()
        assert len(set(zip(groups, held_out, strict=True))) == len(set(groups))

    def test_split_keeps_conversations_whole(self) -> None:
        turns = [
            sample(i, "talk", *([f"t{talk}"] if turn else []), history=(Turn(f"Question {10 * talk}?", "So."),) * turn)
            for talk in range(4)
            for turn, i in ((0, 10 * talk), (1, 10 * talk + 1))
        ]
        held_out = split(turns, share=0.25)
        assert sorted(held_out[::2]) == [False, False, False, True]
        assert held_out[::2] == held_out[1::2]

    def test_split_depends_on_the_seed_and_not_on_later_samples(self) -> None:
        assert len({tuple(split(self.SAMPLES, seed=seed)) for seed in range(8)}) > 3
        assert split(self.SAMPLES)[:10] == split(self.SAMPLES[:10])


def chosen(values: Mapping[str, Sequence[float]], subsets: str, held_out: str, metric: Any = None) -> Mapping[str, Any]:
    """`subsets` and `held_out` have a character per sample, "x" for one that chooses."""
    columns = {name: pa.array(own, pa.float64(), from_pandas=True) for name, own in values.items()}
    scores = {name: Scoring({}, pa.table({"score/m": column}), {}) for name, column in columns.items()}
    samples = SampleSet(tuple(sample(i, name) for i, name in enumerate(subsets)), {})
    names: Any = tuple((name, name) for name in values)
    stage = ChosenByScores("m", metric or TrecMeasures(("mrr",)), names, "samples", "split")  # type: ignore[arg-type]
    run: Any = Given(samples=samples, split=np.array([own == "x" for own in held_out]), **scores)
    return stage.make(run)


VALUES = {"one": [0.2, 1.0, 0.9, 0.1, float("nan"), 0.0], "two": [0.4, 0.0, 0.1, 0.6, float("nan"), 1.0]}


class TestChoice:
    def test_best_candidate_is_chosen_per_set_by_the_choosing_samples(self) -> None:
        found = chosen(VALUES, "aabbbc", "x-xxx-")
        assert found["sets"]["a"] == {"chosen": "two", "values": {"one": 0.2, "two": 0.4}, "n": 1}
        assert (found["sets"]["b"]["chosen"], found["sets"]["b"]["n"]) == ("one", 2)
        assert found["overall"]["n"] == 3

    def test_set_without_choosing_samples_takes_the_best_of_all(self) -> None:
        found = chosen(VALUES, "aabbbc", "x-xxx-")
        assert found["sets"]["c"] == {"chosen": found["overall"]["chosen"], "values": {}, "n": 0}

    def test_first_of_equal_candidates_is_chosen(self) -> None:
        assert chosen({"two": [0.5], "one": [0.5]}, "a", "x")["sets"]["a"]["chosen"] == "two"

    def test_smallest_value_is_chosen_for_a_metric_to_minimize(self) -> None:
        class Smaller(TrecMeasures):
            larger_is_better = False

        assert chosen(VALUES, "aabbbc", "x-xxx-", Smaller(("mrr",)))["sets"]["a"]["chosen"] == "one"

    def test_choice_without_scored_samples_is_an_error(self) -> None:
        with pytest.raises(ComponentError, match="none of the 6 samples has a value of m and belongs to the part"):
            chosen(VALUES, "aabbbc", "----x-")


def test_samples_take_the_ranking_chosen_for_their_set() -> None:
    rankings = {name: hits_of(*({first: 2.0, 9: 1.0} for _ in range(3))) for name, first in (("one", 1), ("two", 2))}
    choice: Any = {"sets": {"a": {"chosen": "two"}, "b": {"chosen": "one"}}}
    samples = SampleSet(tuple(sample(i, name) for i, name in enumerate(("a/x", "b", "a"))), {})
    chosen_stage = SimpleNamespace(samples="samples")
    run: Any = SimpleNamespace(
        read=lambda stage: choice if stage is chosen_stage else {**rankings, "samples": samples}[stage]
    )
    hits = SelectedHits({"one": "one", "two": "two"}, chosen_stage).make(run)  # type: ignore[arg-type, dict-item]
    assert hits.chunk[:, 0].tolist() == [2, 1, 2]


SELECTED = ("reranker=selected", "+reranker@reranker.candidates.terms=lexical_terms")


def test_candidate_stages_are_shared_with_cells_of_one_candidate() -> None:
    own = {stage.key for stage in small_graph(*SELECTED, "llm=none").result.upstream()}
    for alone in (("reranker=lexical",), ("reranker=none",), ("reranker=lexical_terms",)):
        stages = small_graph(*alone, "llm=none").result.upstream()
        shared = {"sample_hits", "reranked_hits", "ranking_scores", "reference_units"}
        assert {stage.key for stage in stages if stage.kind in shared} <= own


def test_order_of_candidates_changes_the_key(tmp_path: Path) -> None:
    cell = CELLS["the best of two rerankers"]
    reversed_order = dict(reversed(cell["reranker"].candidates.items()))
    keys = [
        graph_in(Store(tmp_path), fixed_cell(**{**cell, "reranker": reranker})).result.key
        for reranker in (cell["reranker"], replace(cell["reranker"], candidates=reversed_order))
    ]
    assert keys[0] != keys[1]


def test_selection_by_an_uncomputed_metric_is_rejected() -> None:
    with pytest.raises(
        ConfigError,
        match=r"reranker.metric: got 'ndcg@7', .* scores rankings: .*ndcg@10",
    ):
        small_request(*SELECTED, "reranker.metric=ndcg@7")


def test_selection_report_is_equal_when_computed_and_when_cached(tmp_path: Path) -> None:
    store = Store(tmp_path)
    graph = graph_in(store, fixed_cell(**CELLS["the best of two rerankers"]))
    made = read_or_make(graph.result, store).summary["steps"]["reranker"]
    entry = store.find(graph.result.kind, graph.result.key)
    assert entry is not None
    store.discard(entry)
    again = read_or_make(graph.result, Store(tmp_path)).summary["steps"]["reranker"]
    assert json.dumps(again) == json.dumps(made)


def test_choosing_samples_are_excluded_from_aggregates(tmp_path: Path) -> None:
    """No metric counts the samples that chose the reranker, and no judge grades them."""
    store = Store(tmp_path)
    graph = graph_in(store, fixed_cell(**CELLS["the best of two rerankers"]))
    run_all(store, graph.result)
    found = read_or_make(graph.result, store)
    rows = found.samples.to_pylist()
    (held_out,) = [row for row in rows if row["held_out"]]
    assert held_out["subset"] == "east"
    metrics = {name.removeprefix("score_state/") for name in held_out if name.startswith("score_state/")}
    assert {held_out[f"score_state/{name}"] for name in metrics} == {"held_out"}
    assert {held_out[f"score/{name}"] for name in metrics} == {None}
    for name, entry in found.summary["metrics"]["overall"].items():
        assert entry["n_excluded"]["held_out"] == 1, name
        assert entry["n"] + sum(entry["n_excluded"].values()) == len(rows)
    (judge,) = [name for name in held_out if name.startswith("judge/")]
    assert [bool(row[judge]) for row in rows] == [not row["held_out"] for row in rows]
    assert found.summary["judges"][judge.removeprefix("judge/")]["n_judged"] == len(rows) - 1
    assert found.summary["steps"]["reranker"]["sets"]["west"]["n"] == 0


def test_chosen_rerankers_are_reported_with_their_evidence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = {f"{color}{i}": f"The {color} bridge number {i} is long." for i in range(8) for color in ("red", "blue")}
    samples = [
        {
            "id": f"{color}{i}",
            "question": f"Which {color} bridge is number {i}?",
            "gold": [f"{color}{i}"],
            "subset": color,
        }
        for i in range(8)
        for color in ("red", "blue")
    ]
    options = (*own_data(tmp_path, texts, samples), *SELECTED, "llm=none", "tokenizer=bigrams", *RANKING_ONLY)
    assert run_small(tmp_path, options) == EXIT_OK
    (cell,) = cells_in(tmp_path)
    told = cell.steps["reranker"]
    assert (told["metric"], told["n_held_out"], told["n_samples"]) == ("ndcg@10", 6, 16)
    assert {name: own["n"] for name, own in told["sets"].items()} == {"red": 3, "blue": 3}
    assert set(told["sets"]["red"]["values"]) == {"none", "lexical", "terms"}
    assert cell.metrics["overall"]["ndcg@10"]["n"] == 10
    assert (
        "reranker: chosen by ndcg@10 on 6 of 16 samples, which count in no metric; blue -> " in capsys.readouterr().out
    )
    rows = samples_in(tmp_path)
    assert sum(row["held_out"] for row in rows) == 6
    assert {row["reranker"] for row in rows} == {own["chosen"] for own in told["sets"].values()}
    assert json.loads(json.dumps(cell.steps)) == cell.steps
