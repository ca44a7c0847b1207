"""A user's own questions."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from components.datasets.jsonl import Jsonl
from components.datasets.jsonl_samples import read_samples, slugs_of
from components.errors import ConfigError, DataError
from components.protocols import Dataset
from components.records import Benchmark, Evidence, Kind, Sample, Turn
from tests.contracts.dataset_contract import DatasetContract
from tests.datasets.test_beir import write_lines

TEXTS = {"a.md": "The bridge was opened in 1932. The bridge is long.", "b.md": "The harbour is deep."}
QUESTION = {"id": "1", "question": "When was it opened?"}


def write(root: Path, *samples: object) -> Path:
    (root / "docs").mkdir(parents=True, exist_ok=True)
    for name, text in TEXTS.items():
        (root / "docs" / name).write_text(text, encoding="utf-8")
    write_lines(root / "samples.jsonl", samples or [QUESTION])
    return root


def load(root: Path, *samples: object) -> Benchmark:
    write(root, *samples)
    return Jsonl(str(root / "docs"), str(root / "samples.jsonl")).load()


def only(root: Path, **fields: Any) -> Sample:
    (sample,) = load(root, {**QUESTION, **fields}).samples
    return sample


class TestContract(DatasetContract):
    references_required = False

    @pytest.fixture(autouse=True)
    def written(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        root = write(tmp_path_factory.mktemp("own"))
        self.component = Jsonl(str(root / "docs"), str(root / "samples.jsonl"))

    component: Dataset = Jsonl("somewhere", "somewhere")

    def with_one_byte_more(self, tmp_path: Path) -> Sequence[Dataset]:
        copies = []
        for number, longer in enumerate(("", "docs/a.md", "samples.jsonl")):
            root = write(tmp_path / str(number))
            if longer:
                (root / longer).write_bytes((root / longer).read_bytes() + b"\n")
            copies.append(Jsonl(str(root / "docs"), str(root / "samples.jsonl")))
        return copies


class TestFields:
    def test_id_and_question_suffice(self, tmp_path: Path) -> None:
        assert only(tmp_path) == Sample("1", "all", Kind.QA, "When was it opened?", ())

    def test_references_are_a_text_or_a_list(self, tmp_path: Path) -> None:
        assert only(tmp_path, references="1932").references == ("1932",)
        assert only(tmp_path, references=["1932", "in 1932"]).references == ("1932", "in 1932")

    @pytest.mark.parametrize(
        ("unit", "expected"),
        [
            ("a.md", Evidence("a.md")),
            ({"document": "a.md"}, Evidence("a.md")),
            ({"document": "a.md", "quote": "opened in 1932"}, Evidence("a.md", 15, 29)),
            ({"document": "a.md", "start": 4, "end": 10}, Evidence("a.md", 4, 10)),
            ({"document": "b.md", "grade": 2}, Evidence("b.md", grade=2)),
        ],
    )
    def test_gold(self, tmp_path: Path, unit: object, expected: Evidence) -> None:
        assert only(tmp_path, gold=[unit]).gold == (expected,)

    def test_a_history_makes_a_conversation(self, tmp_path: Path) -> None:
        sample = only(tmp_path, history=[{"question": "What is it?", "answer": "A bridge."}])
        assert (sample.kind, sample.history) == (Kind.CONVERSATION, (Turn("What is it?", "A bridge."),))
        assert only(tmp_path, kind="summarization").kind is Kind.SUMMARIZATION

    def test_subsets_topics_and_tasks_are_any_text(self, tmp_path: Path) -> None:
        benchmark = load(tmp_path, {**QUESTION, "subset": "Short answers", "topic": "交通", "task": "look-up"})
        (sample,) = benchmark.samples
        assert (sample.subset, sample.task) == ("short_answers", "look_up")
        assert sample.topic is not None
        assert benchmark.labels[sample.topic] == "交通"
        assert benchmark.labels["short_answers"] == "Short answers"

    def test_other_fields_are_left_aside_and_counted(self, tmp_path: Path) -> None:
        assert load(tmp_path, {**QUESTION, "source": "web", "year": 1932}).notes["n_fields_left_aside"] == 2

    def test_a_limit(self, tmp_path: Path) -> None:
        write(tmp_path, QUESTION, {**QUESTION, "id": "2"})
        limited = Jsonl(str(tmp_path / "docs"), str(tmp_path / "samples.jsonl"), limit=1)
        assert len(limited.load().samples) == 1


def test_slugs_tell_all_names_apart() -> None:
    names = ["Retail banking", "retail-banking", "funds", "基金", "股票", "finance/Retail banking", "100 %", "%"]
    slugs = slugs_of(["", *names, "funds"])
    assert set(slugs) == set(names)
    assert len(set(slugs.values())) == len(names)
    assert slugs["funds"] == "funds"
    assert slugs["finance/Retail banking"] == "finance/retail_banking"
    assert slugs["100 %"] == "100"


class TestBadInput:
    @pytest.mark.parametrize(
        ("record", "message"),
        [
            ({"question": "?"}, "line 1: no field 'id'"),
            ({"id": "1"}, "line 1: no field 'question'"),
            ({**QUESTION, "answer": "x"}, "field 'answer' came; did you mean 'references'"),
            ({**QUESTION, "refrences": ["x"]}, "field 'refrences' came; did you mean 'references'"),
            ({**QUESTION, "references": [1]}, "field 'references' holds a number"),
            ({**QUESTION, "gold": "a.md"}, "a string came where a list was wanted"),
            ({**QUESTION, "gold": [{"quote": "x"}]}, "no field 'document'"),
            ({**QUESTION, "gold": [{"document": "a.md", "quote": "The bridge"}]}, "which holds it 2 times"),
            ({**QUESTION, "gold": [{"document": "a.md", "quote": "a tunnel"}]}, "which holds it 0 times"),
            ({**QUESTION, "gold": [{"document": "c.md", "quote": "x"}]}, "which is not there"),
            ({**QUESTION, "gold": [{"document": "a.md", "start": "4"}]}, "field 'start' is '4', wanted a whole number"),
            ({**QUESTION, "gold": [{"document": "a.md", "start": 4}]}, "is no span"),
            ({**QUESTION, "gold": [{"document": "a.md", "grade": 0}]}, "the grade 0 came, 1 or more"),
            ({**QUESTION, "kind": "essay"}, "kind 'essay' came, one of qa, long_form"),
            ({**QUESTION, "history": [{"answer": "x"}]}, "no field 'question'"),
            ({**QUESTION, "question": " "}, "the question of sample '1' is empty"),
        ],
    )
    def test_samples(self, tmp_path: Path, record: object, message: str) -> None:
        with pytest.raises(DataError, match=message):
            load(tmp_path, record)

    def test_a_line_that_is_not_json(self, tmp_path: Path) -> None:
        (tmp_path / "samples.jsonl").write_text(json.dumps(QUESTION) + "\n{", encoding="utf-8")
        with pytest.raises(DataError, match=r"samples\.jsonl, line 2: not JSON"):
            read_samples(tmp_path / "samples.jsonl", TEXTS)

    def test_ids_that_occur_twice(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="the sample id '1' occurs twice"):
            load(tmp_path, QUESTION, QUESTION)

    def test_settings(self, tmp_path: Path) -> None:
        mistakes = Jsonl("", "", limit=0).check()
        assert [mistake.split(":")[0] for mistake in mistakes] == ["documents", "samples", "limit"]
        (mistake,) = Jsonl(str(tmp_path / "gone"), "x").check()
        assert "no such file or folder" in mistake
        with pytest.raises(ConfigError):
            Jsonl("", "").load()
        with pytest.raises(DataError, match=r"gone\.jsonl: no such file"):
            Jsonl(str(write(tmp_path) / "docs"), str(tmp_path / "gone.jsonl")).fingerprint()
