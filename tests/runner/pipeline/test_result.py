"""The files in which a cell stores its samples."""

from pathlib import Path

from runner.output.mlflow_metrics import logged_metrics
from tests.runner.sweeping import RANKING_ONLY, cells_in, own_data, run_small, samples_in

TEXTS = {"a": "The red bridge.", "b": "The old bridge."}
SAMPLES = [
    {"id": "1", "question": "Which bridge is red?", "gold": [{"document": "a", "grade": 3}, "b"]},
    {"id": "2", "question": "Which bridge is old?", "gold": [{"document": "b", "quote": "old bridge", "grade": 2}]},
]


def test_result_gold_keeps_its_places_and_grades(tmp_path: Path) -> None:
    assert run_small(tmp_path, [*own_data(tmp_path, TEXTS, SAMPLES), "llm=none", *RANKING_ONLY]) == 0
    assert [row["gold"] for row in samples_in(tmp_path)] == [
        [
            {"document_id": "a", "start": None, "end": None, "grade": 3, "n_characters": 15, "n_in_context": 15},
            {"document_id": "b", "start": None, "end": None, "grade": 1, "n_characters": 15, "n_in_context": 15},
        ],
        [{"document_id": "b", "start": 4, "end": 14, "grade": 2, "n_characters": 10, "n_in_context": 10}],
    ]


def test_result_gold_keeps_which_units_are_alternatives(tmp_path: Path) -> None:
    samples = [{**SAMPLES[0], "gold": [["a", "b"]]}, SAMPLES[1]]
    overrides = ["llm=none", *RANKING_ONLY, "top_k=1"]
    assert run_small(tmp_path, [*own_data(tmp_path, TEXTS, samples), *overrides]) == 0
    either, single = samples_in(tmp_path)
    assert [unit["one_of"] for unit in either["gold"]] == [1, 1]
    assert [unit["one_of"] for unit in single["gold"]] == [0]
    assert either["score/passage_coverage"] == 1.0
    assert either["score/recall@5"] == 1.0


def test_result_stores_answer_parts_and_answerability(tmp_path: Path) -> None:
    samples = [
        {**SAMPLES[0], "answer_parts": [["a", "the first"], "red"]},
        {**SAMPLES[1], "answerable": False},
    ]
    assert run_small(tmp_path, [*own_data(tmp_path, TEXTS, samples), "llm=none", *RANKING_ONLY]) == 0
    rows = samples_in(tmp_path)
    assert [row["answer_parts"] for row in rows] == [[["a", "the first"], ["red"]], []]
    assert [row["answerable"] for row in rows] == [True, False]


def test_data_without_subsets_is_logged_only_overall(tmp_path: Path) -> None:
    assert run_small(tmp_path, [*own_data(tmp_path, TEXTS, SAMPLES), "llm=none", *RANKING_ONLY]) == 0
    (cell,) = cells_in(tmp_path)
    names = [name for name, _ in logged_metrics(cell)]
    assert "overall/mrr" in names
    assert not [name for name in names if name.startswith("subset/")]


def test_samples_without_a_subset_are_separate_from_named_subsets(tmp_path: Path) -> None:
    samples = [{**SAMPLES[0], "subset": "colours"}, SAMPLES[1]]
    assert run_small(tmp_path, [*own_data(tmp_path, TEXTS, samples), "llm=none", *RANKING_ONLY]) == 0
    (cell,) = cells_in(tmp_path)
    names = {name for name, _ in logged_metrics(cell)}
    assert {"overall/mrr", "subset/all/mrr", "subset/colours/mrr", "subset/macro/mrr"} <= names
