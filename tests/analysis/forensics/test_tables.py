"""Summaries of the verdicts on many samples."""

import pandas as pd
import pytest

from analysis.forensics import all_verdicts, evidence_depth, failure_counts, transitions
from components.errors import DataError
from runner.results.loaded_sweep import LoadedSweep

FOUND = pd.DataFrame(
    [
        ("one", "s1", "in_context", "", False, 1),
        ("one", "s2", "ranked_low", "ranked_low", True, 4),
        ("one", "s3", "ranked_low", "ranked_low", False, None),
        ("one", "s4", "not_in_corpus", "not_in_corpus", False, None),
        ("two", "s1", "in_context", "distracted", False, 1),
        ("two", "s2", "in_context", "", False, 2),
        ("two", "s3", "in_context", "", False, 1),
        ("two", "s5", "no_gold", "", False, None),
        ("book", "s1", "not_searched", "unexplained", False, None),
    ],
    columns=["cell_id", "id", "stage", "failure", "is_uncertain", "rank_needed"],
).astype({"rank_needed": "Int64"})


def test_failure_counts_list_every_class_of_each_cell_in_order() -> None:
    counts = failure_counts(FOUND)
    assert counts["failure"].tolist() == ["", "not_in_corpus", "ranked_low", "distracted", "unexplained"] * 3
    of_one = counts[counts["cell_id"] == "one"].set_index("failure")
    assert of_one["n"].tolist() == [1, 1, 2, 0, 0]
    assert of_one["n_uncertain"].tolist() == [0, 0, 1, 0, 0]
    assert of_one["share"].tolist() == [0.25, 0.25, 0.5, 0.0, 0.0]


def test_evidence_depth_counts_only_samples_with_findable_evidence() -> None:
    depth = evidence_depth(FOUND)
    assert set(depth["cell_id"]) == {"one", "two"}
    one, two = (depth[depth["cell_id"] == own] for own in ("one", "two"))
    assert one["k"].tolist() == [1, 2, 3, 4]
    assert one["share"].tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 2 / 3])
    assert two["share"].tolist() == pytest.approx([2 / 3, 1, 1, 1])
    assert one["n"].tolist() == [3] * 4


def test_evidence_depth_is_empty_without_evidence() -> None:
    assert evidence_depth(FOUND[FOUND["cell_id"] == "book"]).empty


def test_transitions_list_the_changes_between_two_cells() -> None:
    changed = transitions(FOUND, "one", "two")
    assert list(changed.itertuples(index=False, name=None)) == [("ranked_low", "", 2), ("", "distracted", 1)]
    with pytest.raises(DataError, match="no sample in common"):
        transitions(FOUND, "one", "elsewhere")


def test_verdicts_table_has_a_row_per_cell_and_sample(planted: LoadedSweep) -> None:
    found = all_verdicts(planted)
    n_samples = len(found) // 2
    assert found["cell_id"].tolist() == [cell.cell_id for cell in planted.cells for _ in range(n_samples)]
    assert list(found.columns) == [
        "cell_id", "id", "subset", "topic", "task", "stage", "outcome", "failure", "rule", "is_uncertain", "doubts",
        "rank_needed",
    ]  # fmt: skip
    assert found["is_uncertain"].dtype == bool
    assert str(found["rank_needed"].dtype) == "Int64"
    assert (found["is_uncertain"] == (found["doubts"] != "")).all()
    assert failure_counts(found)["n"].sum() == len(found)


def test_verdicts_of_a_sweep_without_cells_are_refused(planted: LoadedSweep) -> None:
    with pytest.raises(DataError, match="no cell has samples"):
        all_verdicts(LoadedSweep(planted.folder, ()))
