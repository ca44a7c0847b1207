"""Fields of the topic x task matrix: their content, and when they name cells."""

import json
from pathlib import Path

import pytest

from analysis.decision import FieldMatrix, topic_task_matrix
from components.subsets import AVERAGE
from runner.results.loaded_sweep import load
from tests.analysis.decision.planted import write


def matrix(folder: Path) -> FieldMatrix | None:
    sweep = load(folder)
    return topic_task_matrix(sweep, "rouge_l", sweep.cells[0])


@pytest.fixture(scope="module")
def field_matrix(tmp_path_factory: pytest.TempPathFactory) -> FieldMatrix:
    """Twenty samples for each of two topics and none. Every second sample is in `create`, where k=8 is better."""
    folder = write(
        tmp_path_factory.mktemp("matrix") / "sweep",
        {"size": ["64", "256"], "k": [2, 8]},
        {"k": {8: 0.3}},
        only="create",
    )
    made = matrix(folder)
    assert made is not None
    return made


def test_matrix_has_a_field_for_every_topic_and_task_and_margins(field_matrix: FieldMatrix) -> None:
    assert (field_matrix.topics, field_matrix.tasks) == (("bonds", "funds"), ("extractive", "long_form"))
    places = {(one.topic, one.task): one.n for one in field_matrix.fields}
    margins = {("bonds", AVERAGE): 20, ("funds", AVERAGE): 20, (AVERAGE, "extractive"): 30, (AVERAGE, "long_form"): 30}
    assert places == {(topic, task): 10 for topic in field_matrix.topics for task in field_matrix.tasks} | margins


def test_matrix_names_cells_only_in_fields_with_a_significant_gain(field_matrix: FieldMatrix) -> None:
    for one in field_matrix.fields:
        is_better_there = one.task == "long_form" and one.topic != AVERAGE
        assert sorted(one.best) == (["000000000001", "000000000003"] if is_better_there else [])


def test_matrix_margins_are_not_tested(field_matrix: FieldMatrix) -> None:
    assert field_matrix.n_tested == 4
    assert {one.p_adjusted is None for one in field_matrix.fields if AVERAGE in (one.topic, one.task)} == {True}


def test_matrix_record_holds_the_value_of_the_cell(field_matrix: FieldMatrix) -> None:
    record = json.loads(json.dumps(field_matrix.as_record(), allow_nan=False))
    assert record["fields"][0]["value"] == field_matrix.fields[0].value is not None


def test_matrix_names_no_cell_with_fewer_than_ten_samples(tmp_path: Path) -> None:
    folder = write(tmp_path / "s", {"k": [2, 8]}, {"k": {8: 0.5}}, n=54)
    made = matrix(folder)
    assert made is not None
    assert {one.n for one in made.fields if AVERAGE not in (one.topic, one.task)} == {9}
    assert made.n_tested == 0
    assert not any(one.best for one in made.fields)


def test_matrix_is_missing_without_topics(sweep: Path) -> None:
    assert matrix(sweep) is None
