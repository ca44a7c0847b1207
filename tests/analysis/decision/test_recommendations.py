"""Recommendations, on sweeps whose best level is known."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.decision import Recommendations, axis_effects, recommendations
from analysis.decision.recommendations import CANCELLED, NOT_SHOWN, SAME, SHOWN, TOO_FEW
from components.errors import DataError
from runner.results.loaded_sweep import load
from tests.analysis import tiny_sweep
from tests.analysis.decision.planted import write
from tests.analysis.tiny_sweep import TinyCell


def recommend(folder: Path, metric: str = "rouge_l") -> Recommendations:
    return recommendations(load(folder), metric)


def test_too_few_samples_name_no_level(sweep: Path) -> None:
    found = recommend(sweep)
    assert {entry.verdict for entry in found.entries} == {TOO_FEW}
    assert found.n_tested == 0
    assert found.entries[0].text() == "too few samples to name one (n = 7, 6 groups)"


def test_too_few_groups_of_many_samples_name_no_level(tmp_path: Path) -> None:
    n = 12
    cells = [
        TinyCell(
            f"{place}{place}{place}{place}",
            {"top_k": 2 + place},
            [0.1 * place + 0.01 * row for row in range(n)],
            ids=[str(row) for row in range(n)],
            subsets=["read"] * n,
            documents=[["d1"]] * n,
            topics=[None] * n,
            tasks=[None] * n,
            measured=("overall", "read"),
        )
        for place in range(2)
    ]
    (entry, *_) = recommend(tiny_sweep.write(tmp_path, cells)).entries
    assert (entry.verdict, entry.n) == (TOO_FEW, n)
    assert entry.text() == "too few groups of samples (1) to tell"


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sizes 256 and 512 are better than 64 by .1; top_k changes nothing."""
    effects = {"64": 0.0, "256": 0.1, "512": 0.1}
    return write(tmp_path_factory.mktemp("planted"), {"size": ["64", "256", "512"], "k": [2, 8]}, {"size": effects})


def test_recommendation_names_only_the_truly_best_levels(planted: Path) -> None:
    found = recommend(planted).find("overall", "size")
    assert found is not None
    assert (found.verdict, set(found.best)) == (SHOWN, {"256", "512"})
    assert [level.may_be_best for level in found.levels] == [True, True, False]
    assert found.text() in ("256 or 512; cheapest 512", "512 or 256; cheapest 512")


def test_insignificant_axis_reports_cheapest_level_and_detectable_size(planted: Path) -> None:
    found = recommend(planted).find("overall", "k")
    assert found is not None
    assert (found.verdict, found.best, found.cheapest) == (NOT_SHOWN, (), "2")
    assert found.detectable is not None
    assert found.text().startswith("no significant difference; cheapest 2; smallest detectable difference 0.0")


def test_recommendation_and_effect_records_are_plain_json(planted: Path) -> None:
    record = json.loads(json.dumps(recommend(planted).as_record(), allow_nan=False))
    assert record["entries"][0]["text"] == recommend(planted).entries[0].text()
    effects = json.loads(json.dumps(axis_effects(load(planted), "rouge_l").as_record(), allow_nan=False))
    assert [axis["axis"] for axis in effects["axes"]] == ["size", "k"]
    assert "gains" in effects["interactions"][0]["text"]


def test_levels_equal_in_every_sample_are_reported_as_the_same(tmp_path: Path) -> None:
    folder = write(tmp_path, {"size": ["64", "256"], "k": [2, 8]}, {}, same=("k",))
    found = recommend(folder)
    entry = found.find("overall", "k")
    assert entry is not None
    assert (entry.verdict, entry.text()) == (SAME, "the same in every sample; cheapest 2")
    assert (entry.p, entry.p_adjusted) == (None, None)
    assert found.n_tested == sum(one.axis == "size" for one in found.entries)


def test_gains_and_losses_in_one_group_are_not_reported_as_the_same(tmp_path: Path) -> None:
    values = np.full(20, 0.5)
    facts: dict[str, Any] = {
        "ids": [f"s{n}" for n in range(20)],
        "documents": [[f"d{n // 2}"] for n in range(20)],
        "subsets": ["create"] * 20,
        "topics": [None] * 20,
        "tasks": [None] * 20,
        "measured": ("overall", "create"),
    }
    cells = [
        TinyCell(name * 12, {"top_k": top_k}, list(values + change), **facts)
        for name, top_k, change in (("a", 2, 0.0), ("b", 8, np.append([0.25, -0.25], np.zeros(18))))
    ]
    entry = recommend(tiny_sweep.write(tmp_path / "s", cells)).find("overall", "top_k")
    assert entry is not None
    assert entry.verdict == CANCELLED
    assert entry.text().startswith("gains and losses cancel out in every group of samples")
    assert entry.p is None


def test_recommendation_of_a_single_cell_is_refused(tmp_path: Path) -> None:
    folder = tiny_sweep.write(tmp_path, tiny_sweep.CELLS[:1])
    with pytest.raises(DataError, match="fewer than two cells with a value of rouge_l of all samples"):
        recommend(folder)


@pytest.mark.parametrize("metric", ["rouge_l", "macro:rouge_l"])
def test_levels_are_compared_without_the_combination_of_a_failed_cell(tmp_path: Path, metric: str) -> None:
    folder = write(tmp_path / "s", {"size": ["64", "256"], "k": [2, 8]}, {"k": {8: 0.1}}, failed=[("64", 2)])
    found = recommend(folder, metric)
    for axis in ("size", "k"):
        entry = found.find(found.entries[0].scenario.subset, axis)
        assert entry is not None
        assert (entry.n_combinations, entry.n_possible) == (1, 1)
    entry = found.find(found.entries[0].scenario.subset, "k")
    assert entry is not None
    assert entry.text() == "8"


def test_draws_and_judges_are_not_chosen(tmp_path: Path) -> None:
    axes = {"size": ["64", "256"], "repeat": [0, 1], "judge": ["a", "b"]}
    found = recommend(write(tmp_path / "s", axes, {}))
    assert found.axes() == ["size"]
    assert {entry.n_combinations for entry in found.entries} == {4}


def test_corpus_metric_is_compared_by_its_statistics(tmp_path: Path) -> None:
    entry = recommend(write(tmp_path / "s", {"k": [2, 8]}, {"k": {8: 0.1}}), "bleu").entries[0]
    assert (entry.verdict, entry.n) == (SAME, 60)  # the made up statistics are those of all samples
    assert entry.levels[0].mean == pytest.approx((8 / 9 * 7 / 8 * 6 / 7 * 5 / 6) ** 0.25)


def test_subsets_with_equal_values_are_still_separate_subsets(tmp_path: Path) -> None:
    """Each document has a question of every subset, and all answers are equal."""
    two = {"subsets": ["read/qa_1doc", "create"] * 12, "documents": [[f"d{i // 2}"] for i in range(24)]}
    cells = [
        tiny_sweep.TinyCell(
            f"{place:012x}",
            {"k": k},
            [0.5] * 24,
            ids=[f"s{i}" for i in range(24)],
            topics=[None] * 24,
            tasks=[None] * 24,
            measured=("overall", "read", "read/qa_1doc", "create"),
            **two,
        )
        for place, k in enumerate([2, 8])
    ]
    found = recommend(tiny_sweep.write(tmp_path / "s", cells))
    assert [(own.subset, own.same_as) for own in found.scenarios()] == [
        ("overall", ()),
        ("create", ()),
        ("read", ("read/qa_1doc",)),
    ]
