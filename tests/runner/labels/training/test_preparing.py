"""`python -m runner.judge_training prepare`: a folder of training data from labels, and from a sweep's answers."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from runner.judge_training import main
from runner.labels.label_files import read_labels
from runner.labels.training.prepared_folder import LABELS, SPLITS, read_manifest, read_pairs
from runner.results import cell_folders, read_samples

Record = dict[str, Any]


def records(n: int = 20) -> list[Record]:
    return [
        {
            "id": f"q{i}",
            "question": f"Who is number {i}?",
            "references": ["She"],
            "answer": f"answer {i}",
            "labels": {"accuracy": i % 3, **({"numerical_accuracy": -1} if i % 2 else {})},
        }
        for i in range(n)
    ]


def prepare(folder: Path, rows: Sequence[Record], *more: str, out: str = "data") -> int:
    labels = folder / "labels.jsonl"
    labels.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return main(["prepare", "--labels", str(labels), "--judge", "omnieval_en", "--out", str(folder / out), *more])


def ids(folder: Path) -> dict[str, set[str]]:
    return {split: {pair["id"] for pair in read_pairs(folder, split)} for split in SPLITS}


def test_training_splits_share_no_question(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = [{**row, "answer": "another", "labels": {"accuracy": 0}} for row in records()]
    turns = [{"question": "Who is number 3?", "answer": "She"}]
    later = {"id": "later", "question": "And then?", "history": turns, "answer": "x", "references": ["y"]}
    assert prepare(tmp_path, [*records(), *again, {**later, "labels": {"accuracy": 1}}]) == 0
    train, validation, test = ids(tmp_path / "data").values()
    assert (train & validation, train & test, validation & test) == (set(), set(), set())
    assert train | validation | test == {*(f"q{i}" for i in range(20)), "later"}
    assert any({"q3", "later"} <= split for split in (train, validation, test))
    manifest = read_manifest(tmp_path / "data")
    assert [manifest.n_questions[split] for split in SPLITS] == [len(train), len(validation), len(test)]
    assert len(train) in range(9, 13)
    assert len(test) in range(7, 10)
    said = capsys.readouterr().out
    assert "next: python -m runner.judge_training train --data " in said
    assert f"questions {len(train)} {len(validation)} {len(test)}" in " ".join(said.split())
    assert "does not apply" in said


def test_held_out_labels_can_be_read_again(tmp_path: Path) -> None:
    assert prepare(tmp_path, records()) == 0
    held_out = read_labels(tmp_path / "data" / LABELS)
    assert {item.judged.sample.id for item in held_out} == ids(tmp_path / "data")["test"]
    given = {row["id"]: row for row in records()}
    assert all(item.labels == given[item.judged.sample.id]["labels"] for item in held_out)


def test_hostile_texts_are_verbatim_in_training_pairs(tmp_path: Path) -> None:
    hostile = "a\x00\x1b[31m\u202e\u2028\r\n<script>😀{references} [/] " + "long " * 20_000
    rows = [{**row, "answer": f"{hostile} {row['id']}", "reasons": {"accuracy": hostile}} for row in records(5)]
    assert prepare(tmp_path, rows) == 0
    pairs = [pair for split in SPLITS for pair in read_pairs(tmp_path / "data", split) if pair["metric"] == "accuracy"]
    assert len(pairs) == 5
    for pair in pairs:
        assert f"{hostile} {pair['id']}" in pair["prompt"][-1]["content"]
        assert json.loads(pair["completion"][0]["content"])["reason"] == hostile.strip()


def test_tied_labels_are_counted_and_not_used_for_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def given(grade: int) -> Record:
        return {"result": [{"from_name": "accuracy", "type": "choices", "value": {"choices": [str(grade)]}}]}

    tasks = [
        {"id": i, "data": row, "annotations": [given(1), given(2)] if i == 0 else [given(2)]}
        for i, row in enumerate(records())
    ]
    (tmp_path / "export.json").write_text(json.dumps(tasks), encoding="utf-8")
    command = ["--labels", str(tmp_path / "export.json"), "--judge", "omnieval", "--out", str(tmp_path / "data")]
    assert main(["prepare", *command]) == 0
    assert "1 x the annotators were evenly split" in capsys.readouterr().out
    assert set.union(*ids(tmp_path / "data").values()) == {f"q{i}" for i in range(1, 20)}


def test_prepared_training_data_is_equal_for_equal_input(tmp_path: Path) -> None:
    assert [prepare(tmp_path, records(), out=out) for out in ("one", "two", "two")] == [0, 0, 0]
    assert prepare(tmp_path, records(), "--seed", "1", out="three") == 0
    contents = [
        {file.name: file.read_bytes() for file in (tmp_path / out).iterdir()} for out in ("one", "two", "three")
    ]
    assert contents[0] == contents[1]
    assert contents[0]["train.jsonl"] != contents[2]["train.jsonl"]
    assert not list(tmp_path.glob(".*partial*"))


@pytest.mark.parametrize(
    ("rows", "more", "said"),
    [
        (
            [{**records()[0], "labels": {"accuracy": 3}}],
            (),
            "got the label 3 of accuracy, which is not a grade of the judge",
        ),
        ([records()[0], {**records()[0], "labels": {"accuracy": 2}}], (), "labels disagree: accuracy of 'q0'"),
        (records(2), (), "got 2 groups of questions that have to stay together, expected at least 3"),
        (records(), ("--split", "5:0:5"), "--split: got '5:0:5', expected three numbers above 0"),
        (records(), ("--split", "nan:1:1"), "--split: got 'nan:1:1', expected three numbers above 0"),
        (records(), ("--split", "1:nan:1"), "--split: got '1:nan:1', expected three numbers above 0"),
        (records(), ("--sweep", "nowhere"), "nowhere: no sweep here"),
    ],
)
def test_training_preparation_rejects_invalid_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: list[Record], more: tuple[str, ...], said: str
) -> None:
    assert prepare(tmp_path, rows, *more) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "data").exists()


def test_prepare_does_not_overwrite_a_folder_with_other_contents(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [prepare(tmp_path, records()), prepare(tmp_path, records(19))] == [0, 2]
    assert "exists and has other contents" in capsys.readouterr().err
    (tmp_path / "data" / "train.jsonl").write_text("")
    assert main(["train", "--data", str(tmp_path / "data"), "--model", "a", "--out", str(tmp_path / "out")]) == 2


class TestOfASweep:
    @pytest.fixture
    def sweep(self, single_run: Path) -> Path:
        (file,) = single_run.glob("results/*/sweep.json")
        return file.parent

    @pytest.fixture
    def rows(self, sweep: Path) -> list[Record]:
        (folder,) = cell_folders(sweep)
        return read_samples(folder, ["id", "question", "references", "answer", "cluster"])

    def labels(self, rows: list[Record]) -> list[Record]:
        return [{"id": r["id"], "question": r["question"], "labels": {"accuracy": i % 3}} for i, r in enumerate(rows)]

    def run(self, folder: Path, sweep: Path, labels: list[Record]) -> int:
        return prepare(folder, labels, "--sweep", str(sweep))

    def test_missing_label_fields_are_taken_from_the_sweep(
        self, sweep: Path, rows: list[Record], tmp_path: Path
    ) -> None:
        assert self.run(tmp_path, sweep, self.labels(rows)) == 0
        shown = {pair["id"]: pair["prompt"][-1]["content"] for s in SPLITS for pair in read_pairs(tmp_path / "data", s)}
        for row in rows:
            assert row["answer"] in shown[row["id"]]
            assert row["references"][0] in shown[row["id"]]

    def test_training_questions_about_one_document_stay_together(
        self, sweep: Path, rows: list[Record], tmp_path: Path
    ) -> None:
        assert len({row["cluster"] for row in rows}) < len(rows)
        assert self.run(tmp_path, sweep, self.labels(rows)) == 0
        split_of = {name: split for split, names in ids(tmp_path / "data").items() for name in names}
        splits: dict[int, set[str]] = {}
        for row in rows:
            splits.setdefault(row["cluster"], set()).add(split_of[row["id"]])
        assert all(len(own) == 1 for own in splits.values())

    def test_labels_that_do_not_match_the_sweep_are_rejected(
        self, sweep: Path, rows: list[Record], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        first, *others = self.labels(rows)
        for problem, said in (
            ({"id": "unknown"}, "does not have the labelled samples 'unknown'"),
            ({"question": "Another?"}, "the label has the question 'Another?', and the sweep's sample with this id"),
            ({"answer": "never given"}, "no cell of the sweep gave the answer 'never given'"),
        ):
            assert self.run(tmp_path, sweep, [{**first, **problem}, *others]) == 2
            assert said in capsys.readouterr().err
