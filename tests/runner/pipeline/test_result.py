"""What a cell keeps of its samples."""

from pathlib import Path

from tests.runner.sweeping import RANKING_ONLY, own_data, run_small, samples_in

TEXTS = {"a": "The red bridge.", "b": "The old bridge."}
SAMPLES = [
    {"id": "1", "question": "Which bridge is red?", "gold": [{"document": "a", "grade": 3}, "b"]},
    {"id": "2", "question": "Which bridge is old?", "gold": [{"document": "b", "quote": "old bridge", "grade": 2}]},
]


def test_gold_keeps_its_places_and_grades(tmp_path: Path) -> None:
    assert run_small(tmp_path, [*own_data(tmp_path, TEXTS, SAMPLES), "llm=none", *RANKING_ONLY]) == 0
    assert [row["gold"] for row in samples_in(tmp_path)] == [
        [
            {"document_id": "a", "start": None, "end": None, "grade": 3},
            {"document_id": "b", "start": None, "end": None, "grade": 1},
        ],
        [{"document_id": "b", "start": 4, "end": 14, "grade": 2}],
    ]
