"""Reading human labels in the three formats."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from components.errors import DataError
from components.records import Passage, Turn
from runner.labels.label_files import LabelledItem, list_metrics, read_labels

ITEM = {"id": "a", "question": "Who?", "references": ["She"], "answer": "Her", "passages": ["She did."]}


RANGES = [
    *(
        "1-2",
        "2–3",
        "2 or 3",
        "2;3",
        "1:00",
        "2-Jan",
        "1~2",
        "1～2",
        "1、2",
        "1，2",
        "1 and 2",
        "1 & 2",
        "2|3",
        "1−2",
        "1 2",
    ),
    *(
        "01. Feb",
        "1-févr",
        "2-Mai",
        "2-Mrz",
        "2 bis 3",
        "1至2",
        "1 或 2",
        "1-Mar-24",
        "2-янв",
        "2 или 3",
        "2 o 3",
        "2 vs 3",
    ),
    *("2 または 3", "2或者3", "2-3 stars", "1 - 2", "1..2", "1->2"),
]
COMMENTED = [
    *("2: 4 of 5 facts", "2 - 1 error", "2 (2 annotators)", "2 - 100% right", "2 (5/5)", "2 - 2023 is right"),
    *("2. 2 errors", "2 - 1st claim wrong", "2 mar", "2 may", "2-bad", "2 = 3 of 4 facts"),
]


def test_apostrophes_that_protect_cells_are_removed(tmp_path: Path) -> None:
    rows = [["id", "question", "references", "answer", "label:accuracy"], ["a", "Who?", "She", "'- 0.50", "1"]]
    rows += [["b", "'0.50?", "'0.5", "'12 March 2020", "2"], ["c", "Who?", "x", "'tis she", "2"]]
    with (tmp_path / "labels.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    items = [item.judged for item in read_labels(tmp_path / "labels.csv")]
    assert [item.answer for item in items] == ["- 0.50", "12 March 2020", "'tis she"]
    assert (items[1].sample.question, items[1].sample.references) == ("0.50?", ("0.5",))


def write(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("\n".join(json.dumps(record) for record in records), encoding="utf-8")
    return path


def task(*annotations: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"id": 7, "data": dict(ITEM), "annotations": [{"result": result} for result in annotations], **more}


def choice(name: str, value: str) -> dict[str, Any]:
    return {"from_name": name, "type": "choices", "value": {"choices": [value]}}


def studio(folder: Path, *tasks: dict[str, Any]) -> list[LabelledItem]:
    path = folder / "export.json"
    path.write_text(json.dumps(list(tasks)), encoding="utf-8")
    return read_labels(path)


class TestJsonLines:
    def test_labelled_item_is_read_with_all_fields(self, tmp_path: Path) -> None:
        (item,) = read_labels(write(tmp_path / "labels.jsonl", {**ITEM, "labels": {"accuracy": 2, "hallucination": 0}}))
        assert item.labels == {"accuracy": 2, "hallucination": 0}
        assert (item.judged.sample.question, item.judged.answer) == ("Who?", "Her")
        assert (item.judged.sample.references, item.judged.passages) == (("She",), (Passage("She did."),))

    def test_label_reasons_and_history_are_read(self, tmp_path: Path) -> None:
        turns = [{"question": "What is it?", "answer": "A bridge."}]
        record = {**ITEM, "history": turns, "labels": {"accuracy": 2}, "reasons": {"accuracy": "right", "other": None}}
        (item,) = read_labels(write(tmp_path / "labels.jsonl", record))
        assert item.reasons == {"accuracy": "right"}
        assert item.judged.sample.history == (Turn("What is it?", "A bridge."),)

    def test_line_number_is_the_id_of_a_label_without_id(self, tmp_path: Path) -> None:
        records = [{**ITEM, "id": None, "labels": {"accuracy": 1}}] * 2
        assert [i.judged.sample.id for i in read_labels(write(tmp_path / "labels.jsonl", *records))] == ["1", "2"]

    @pytest.mark.parametrize("label", ["n/a", "not applicable", -1])
    def test_not_applicable_label_is_read_as_minus_one(self, tmp_path: Path, label: object) -> None:
        (item,) = read_labels(write(tmp_path / "labels.jsonl", {**ITEM, "labels": {"completeness": label}}))
        assert item.labels == {"completeness": -1}

    @pytest.mark.parametrize("label", ["good", 1.5, None, True, "", "1.5", "0,5", "1/2", "2x", *RANGES])
    def test_invalid_label_grade_is_an_error_with_its_line(self, tmp_path: Path, label: object) -> None:
        records = [{**ITEM, "labels": {"accuracy": 1}}, {**ITEM, "labels": {"accuracy": label}}]
        with pytest.raises(DataError, match=r"line 2: got the label .*, expected a whole number"):
            read_labels(write(tmp_path / "labels.jsonl", *records))

    def test_different_questions_with_one_label_id_are_rejected(self, tmp_path: Path) -> None:
        one = {**ITEM, "id": "a", "labels": {"accuracy": 1}}
        path = write(tmp_path / "labels.jsonl", one, {**one, "answer": "Another"}, {**one, "question": "When?"})
        with pytest.raises(DataError, match="two questions have the id 'a'"):
            read_labels(path)
        assert len(read_labels(write(path, one, {**one, "answer": "Another"}))) == 2

    def test_label_file_without_labels_is_rejected(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="got 1 items without any label"):
            read_labels(write(tmp_path / "labels.jsonl", ITEM))

    @pytest.mark.parametrize("label", [2, 2.0, "2", " 2.0", "2 - all of it", "2. all", "2 of 2", *COMMENTED])
    def test_label_grade_may_be_followed_by_words(self, tmp_path: Path, label: object) -> None:
        (item,) = read_labels(write(tmp_path / "labels.jsonl", {**ITEM, "labels": {"accuracy": label}}))
        assert item.labels == {"accuracy": 2}


class TestCsv:
    def test_label_file_that_is_not_utf8_is_an_error_with_its_position(self, tmp_path: Path) -> None:
        path = tmp_path / "labels.csv"
        path.write_bytes("question,label:accuracy\n谁？,1\n".encode("gbk"))
        with pytest.raises(DataError, match=r"labels\.csv: byte 0xa3 at byte offset 26 \(line 2\) is not UTF-8"):
            read_labels(path)

    def test_long_label_csv_cell_is_read(self, tmp_path: Path) -> None:
        path = tmp_path / "labels.csv"
        path.write_text(f"question,answer,label:accuracy\nWho?,{'x' * 200_000},1\n", encoding="utf-8")
        (item,) = read_labels(path)
        assert len(item.judged.answer) == 200_000

    def test_invalid_label_csv_is_rejected(self, tmp_path: Path) -> None:
        path = tmp_path / "labels.csv"
        path.write_text('question,label:accuracy\n"Who?"x,1\n', encoding="utf-8")
        with pytest.raises(DataError, match=r"labels\.csv, line 2: is not CSV"):
            read_labels(path)

    def test_label_csv_columns_are_read(self, tmp_path: Path) -> None:
        path = tmp_path / "labels.csv"
        path.write_text(
            "id,question,references,answer,passages,label:accuracy,label:completeness,reason:accuracy\n"
            'a,Who?,"[""She"", ""her""]",Her,She did.,2,,She it is\n'
            "b,What?,It,,,0,1,\n",
            encoding="utf-8-sig",
        )
        first, second = read_labels(path)
        assert first.judged.sample.references == ("She", "her")
        assert (first.judged.passages, first.labels) == ((Passage("She did."),), {"accuracy": 2})
        assert (first.reasons, second.reasons) == ({"accuracy": "She it is"}, {})
        assert (second.judged.answer, second.judged.passages, second.labels) == (
            "", (), {"accuracy": 0, "completeness": 1},
        )  # fmt: skip
        assert list_metrics([first, second]) == ["accuracy", "completeness"]

    def test_semicolon_separated_label_file_is_read(self, tmp_path: Path) -> None:
        path = tmp_path / "labels.csv"
        path.write_text("id;question;answer;label:accuracy\na;Who, she?;Her;2\n", encoding="utf-8-sig")
        (item,) = read_labels(path)
        assert (item.judged.sample.question, item.labels) == ("Who, she?", {"accuracy": 2})

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("question,answer,label:accuracy\nWho?,Her, or not,2\n", "row 1: got 4 cells, expected 3 as in the first"),
            ("question,label:accuracy\nWho?,1\n\nWho,she?,2\n", "row 3: got 3 cells, expected 2 as in the first row"),
            ("question,label:accuracy,label:accuracy\nWho?,1,2\n", "has the column 'label:accuracy' 2 times"),
        ],
    )
    def test_label_csv_rows_and_columns_that_do_not_match_are_rejected(
        self, text: str, problem: str, tmp_path: Path
    ) -> None:
        path = tmp_path / "labels.csv"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match=problem):
            read_labels(path)

    @pytest.mark.parametrize(
        ("cell", "problem"),
        [
            ("[" * 100_000, "lists or objects are nested too deeply"),
            ("[null]", "got a list with values that are not strings"),
            ('["a", {"b": 1}]', "got a list with values that are not strings"),
            ("[NaN]", "got a list with values that are not strings"),
            (f"[{'9' * 5000}]", "a number has too many digits"),
            (r'["\ud83d"]', r"\\ud83d is half of a character"),
        ],
    )
    @pytest.mark.parametrize("column", ["references", "passages"])
    def test_label_lists_of_other_values_than_texts_are_rejected(
        self, column: str, cell: str, problem: str, tmp_path: Path
    ) -> None:
        path = tmp_path / "labels.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([["question", column, "label:accuracy"], ["Who?", cell, "1"]])
        with pytest.raises(DataError, match=f"row 1: the column '{column}' cannot be read: {problem}"):
            read_labels(path)

    @pytest.mark.parametrize("cell", ["['She']", '"[""She"", ""her"""', "[“She”]"])
    def test_reference_list_that_is_not_json_is_rejected(self, cell: str, tmp_path: Path) -> None:
        path = tmp_path / "labels.csv"
        path.write_text(f"question,references,label:accuracy\nWho?,{cell},1\n", encoding="utf-8")
        with pytest.raises(DataError, match=r"row 1: the column 'references' cannot be read: not a list of strings"):
            read_labels(path)

    @pytest.mark.parametrize("label", ["9" * 5000, f"{'1' * 5000}.0", "-1234567890"])
    def test_label_of_too_many_digits_is_rejected(self, label: str, tmp_path: Path) -> None:
        path = tmp_path / "labels.csv"
        path.write_text(f"question,label:accuracy\nWho?,{label}\n", encoding="utf-8")
        with pytest.raises(DataError, match=r"row 1: got the label .* expected a whole number or n/a") as raised:
            read_labels(path)
        assert len(str(raised.value)) < 400


def test_null_answer_counts_as_missing(tmp_path: Path) -> None:
    records = [
        {**ITEM, "id": str(n), "answer": answer, "labels": {"accuracy": 1}} for n, answer in enumerate([None, ""])
    ]
    items = read_labels(write(tmp_path / "labels.jsonl", *records))
    assert [item.has_answer for item in items] == [False, True]


class TestLabelStudio:
    def test_label_studio_choices_ratings_and_numbers_are_read(self, tmp_path: Path) -> None:
        result = [
            choice("accuracy", "2 - right"),
            {"from_name": "utilization", "type": "rating", "value": {"rating": 1}},
            {"from_name": "relevance", "type": "number", "value": {"number": 2}},
            {"from_name": "comment", "type": "textarea", "value": {"text": ["fine"]}},
        ]
        (item,) = studio(tmp_path, task(result))
        assert item.labels == {"accuracy": 2, "utilization": 1, "relevance": 2}
        assert item.judged.sample.id == "a"

    def test_majority_of_annotators_decides_a_label(self, tmp_path: Path) -> None:
        (item,) = studio(
            tmp_path, task([choice("accuracy", "2")], [choice("accuracy", "1")], [choice("accuracy", "2")])
        )
        assert (item.labels, item.ties) == ({"accuracy": 2}, ())

    def test_label_studio_reason_comes_from_an_annotator_of_that_grade(self, tmp_path: Path) -> None:
        said = [("1", "half of it"), ("2", "all of it"), ("2", "no more to say")]
        why = [{"from_name": "reason_accuracy", "type": "textarea", "value": {"text": [text]}} for _, text in said]
        given = [[reason, choice("accuracy", grade)] for reason, (grade, _) in zip(why, said, strict=True)]
        (item,) = studio(tmp_path, task(*given))
        assert (item.labels, item.reasons) == ({"accuracy": 2}, {"accuracy": "all of it"})

    def test_tied_label_studio_choices_are_no_label(self, tmp_path: Path) -> None:
        tied = task([choice("accuracy", "2")], [choice("accuracy", "1")])
        first, _ = studio(tmp_path, tied, task([choice("accuracy", "0")]))
        assert (first.labels, first.ties) == ({}, ("accuracy",))

    def test_cancelled_label_studio_annotations_are_ignored(self, tmp_path: Path) -> None:
        one = task([choice("accuracy", "2")], [choice("accuracy", "0")])
        one["annotations"][1]["was_cancelled"] = True
        (item,) = studio(tmp_path, one)
        assert item.labels == {"accuracy": 2}

    def test_two_label_studio_choices_in_one_annotation_are_rejected(self, tmp_path: Path) -> None:
        both = {"from_name": "accuracy", "type": "choices", "value": {"choices": ["1", "2"]}}
        with pytest.raises(DataError, match="task 1: got 2 choices, expected one"):
            studio(tmp_path, task([both]))


def test_unknown_label_file_extension_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"got the extension '\.txt', expected one of \.jsonl, \.csv, \.json"):
        read_labels(tmp_path / "labels.txt")
