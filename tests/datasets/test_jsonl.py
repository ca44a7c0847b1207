"""A user's own questions."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from components.datasets import document_files
from components.datasets.document_files import read_documents
from components.datasets.jsonl import Jsonl
from components.datasets.jsonl_samples import path_slugs, read_samples
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


def single_sample(root: Path, **fields: Any) -> Sample:
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


def test_jsonl_documents_fingerprint_depends_only_on_content(tmp_path: Path) -> None:
    samples = str(write(tmp_path) / "samples.jsonl")
    for name, text in (("one", "x"), ("same", "x"), ("other", "y")):
        write_lines(tmp_path / f"{name}.jsonl", [{"text": text}])
    one, same, other = [
        Jsonl(str(tmp_path / f"{name}.jsonl"), samples).fingerprint() for name in ("one", "same", "other")
    ]
    assert one == same != other


class TestFields:
    def test_question_with_only_an_id_is_accepted(self, tmp_path: Path) -> None:
        assert single_sample(tmp_path) == Sample("1", "all", Kind.QA, "When was it opened?", ())

    def test_samples_without_references_remain_and_are_counted(self, tmp_path: Path) -> None:
        benchmark = load(
            tmp_path,
            QUESTION,
            {**QUESTION, "id": "2", "references": " "},
            {**QUESTION, "id": "3", "references": "1932"},
        )
        assert [sample.references for sample in benchmark.samples] == [(), (), ("1932",)]
        assert benchmark.notes["n_samples_without_reference"] == 2

    def test_parts_of_the_answer_have_wordings(self, tmp_path: Path) -> None:
        parts = [["1932", "nineteen thirty-two"], "team"]
        assert single_sample(tmp_path, answer_parts=parts).answer_parts == (("1932", "nineteen thirty-two"), ("team",))

    def test_jsonl_passages_become_documents(self, tmp_path: Path) -> None:
        passages = [
            {"text": "It was opened in 1932. ", "title": "News", "relevant": True},
            "It is green.",
            {"document": "a.md", "relevant": True},
            "The harbour is deep.",
            "It is green.",
        ]
        benchmark = load(tmp_path, {**QUESTION, "passages": passages, "gold": "a.md"})
        (sample,) = benchmark.samples
        title_of = dict(zip(benchmark.documents.ids, benchmark.documents.titles, strict=True))
        text_of = dict(zip(benchmark.documents.ids, benchmark.documents.texts, strict=True))
        assert [text_of[passage] for passage in sample.passages] == [
            "It was opened in 1932.",
            "It is green.",
            TEXTS["a.md"],
            "The harbour is deep.",
        ]
        assert sample.passages[2:] == ("a.md", "b.md")
        assert title_of[sample.passages[0]] == "News"
        assert sample.gold == (Evidence("a.md"), Evidence(sample.passages[0]))
        assert benchmark.notes["n_passages_added"] == 2

    def test_passages_of_questions_may_be_the_whole_corpus(self, tmp_path: Path) -> None:
        write(tmp_path, {**QUESTION, "passages": ["x", "y"]})
        benchmark = Jsonl("", str(tmp_path / "samples.jsonl")).load()
        assert sorted(benchmark.documents.texts) == ["x", "y"]
        assert benchmark.documents.ids == sorted(benchmark.samples[0].passages)

    def test_jsonl_without_documents_or_passages_is_rejected(self, tmp_path: Path) -> None:
        write(tmp_path, QUESTION)
        with pytest.raises(DataError, match=r"dataset\.documents is empty, and no question has passages"):
            Jsonl("", str(tmp_path / "samples.jsonl")).load()

    def test_question_may_be_unanswerable(self, tmp_path: Path) -> None:
        assert not single_sample(tmp_path, answerable=False).answerable

    @pytest.mark.parametrize(
        ("fields", "said"),
        [
            ({"answerable": "no"}, "field 'answerable': got 'no', expected true or false"),
            ({"answer_parts": "1932"}, "got a string, expected a list"),
            ({"answer_parts": [["1932"], " "]}, "a part is blank"),
            ({"passages": [" "]}, "a passage is blank"),
            ({"passages": [{"txt": "x"}]}, "unknown field 'txt', expected one of text, title, document, relevant"),
            ({"passages": [{"document": "c.md"}]}, "the corpus has no document 'c.md'"),
            (
                {"passages": [{"text": "x", "relevant": 0}]},
                "field 'relevant': got 0, expected true or false, or the number",
            ),
            ({"answer_parts": [3]}, "got a number, expected a string or a list of strings"),
        ],
    )
    def test_invalid_answer_parts_and_answerable_flags_are_rejected(
        self, tmp_path: Path, fields: dict[str, Any], said: str
    ) -> None:
        with pytest.raises(DataError, match=said):
            single_sample(tmp_path, **fields)

    def test_references_are_read_from_a_text_or_a_list(self, tmp_path: Path) -> None:
        assert single_sample(tmp_path, references="1932").references == ("1932",)
        assert single_sample(tmp_path, references=["1932", "in 1932"]).references == ("1932", "in 1932")

    @pytest.mark.parametrize(
        ("unit", "expected"),
        [
            ("a.md", Evidence("a.md")),
            ({"document": "a.md"}, Evidence("a.md")),
            ({"document": "a.md", "quote": "opened in 1932"}, Evidence("a.md", 15, 29)),
            ({"document": "a.md", "quote": "opened\n in 1932"}, Evidence("a.md", 15, 29)),
            ({"document": "a.md", "start": 4, "end": 10}, Evidence("a.md", 4, 10)),
            ({"document": "b.md", "grade": 2}, Evidence("b.md", grade=2)),
        ],
    )
    def test_jsonl_gold_is_read_in_every_form(self, tmp_path: Path, unit: object, expected: Evidence) -> None:
        assert single_sample(tmp_path, gold=[unit]).gold == (expected,)

    def test_history_makes_a_question_a_conversation(self, tmp_path: Path) -> None:
        sample = single_sample(tmp_path, history=[{"question": "What is it?", "answer": "A bridge."}])
        assert (sample.kind, sample.history) == (Kind.CONVERSATION, (Turn("What is it?", "A bridge."),))
        assert single_sample(tmp_path, kind="summarization").kind is Kind.SUMMARIZATION

    def test_jsonl_subsets_topics_and_tasks_may_be_any_text(self, tmp_path: Path) -> None:
        benchmark = load(tmp_path, {**QUESTION, "subset": "Short answers", "topic": "交通", "task": "look-up"})
        (sample,) = benchmark.samples
        assert (sample.subset, sample.task) == ("short_answers", "look_up")
        assert sample.topic is not None
        assert benchmark.labels[sample.topic] == "交通"
        assert benchmark.labels["short_answers"] == "Short answers"

    def test_slash_nests_subsets_but_not_topics(self, tmp_path: Path) -> None:
        benchmark = load(tmp_path, {**QUESTION, "subset": "金融/Funds", "topic": "Banks/Retail"})
        (sample,) = benchmark.samples
        group = sample.subset.removesuffix("/funds")
        assert "/" not in group
        assert (benchmark.labels[group], benchmark.labels[sample.subset]) == ("金融", "金融/Funds")
        assert (sample.topic, benchmark.labels["banks_retail"]) == ("banks_retail", "Banks/Retail")

    @pytest.mark.parametrize(
        ("document", "hint"),
        [
            ("absent", "its ids are like 'a.md'"),
            ("A.md", "did you mean a.md"),
            ("b", "did you mean b.md"),
            ("docs/b.md", "did you mean b.md"),
        ],
    )
    def test_misspelled_gold_document_suggests_the_nearest_id(self, tmp_path: Path, document: str, hint: str) -> None:
        with pytest.raises(DataError, match=f"sample '1' .* no document '{document}' with text; {hint}"):
            load(tmp_path, {**QUESTION, "gold": ["a.md", {"document": document, "start": 0, "end": 9}]})

    def test_all_missing_gold_of_a_jsonl_file_is_reported_together(self, tmp_path: Path) -> None:
        lost = [{**QUESTION, "id": str(n), "gold": {"document": "a.md", "quote": f"nowhere {n}"}} for n in range(3)]
        with pytest.raises(DataError) as raised:
            load(tmp_path, lost[0], QUESTION, *lost[1:])
        lines = str(raised.value).split("\n")
        assert [line.partition(", ")[2].partition(":")[0] for line in lines] == ["line 1", "line 3", "line 4"]

    @pytest.mark.parametrize("gold", ["a.md", {"document": "a.md"}, ["a.md"]])
    def test_jsonl_gold_may_be_a_single_document(self, tmp_path: Path, gold: object) -> None:
        assert single_sample(tmp_path, gold=gold).gold == (Evidence("a.md"),)

    def test_jsonl_id_may_be_a_number(self, tmp_path: Path) -> None:
        assert single_sample(tmp_path, id=7).id == "7"

    def test_unknown_jsonl_fields_are_ignored_and_named(self, tmp_path: Path) -> None:
        notes = load(tmp_path, {**QUESTION, "year": 1932, "source": "web", "provenance": {}}).notes
        assert (notes["n_fields_left_aside"], notes["fields_left_aside"]) == (2, "source, year")

    def test_answer_field_next_to_references_is_ignored_and_counted(self, tmp_path: Path) -> None:
        benchmark = load(tmp_path, {**QUESTION, "references": "1932", "answer": "a long one"})
        assert benchmark.samples[0].references == ("1932",)
        assert benchmark.notes["n_fields_left_aside"] == 1

    def test_jsonl_limit_reduces_the_samples(self, tmp_path: Path) -> None:
        write(tmp_path, QUESTION, {**QUESTION, "id": "2"})
        limited = Jsonl(str(tmp_path / "docs"), str(tmp_path / "samples.jsonl"), limit=1)
        assert len(limited.load().samples) == 1


def test_slugs_of_similar_paths_are_distinct() -> None:
    slugs = path_slugs(["", "/", "Read/QA 1", "Read/QA 2", "read", "金融/基金", "/last//one"])
    assert set(slugs) == {
        "Read",
        "Read/QA 1",
        "Read/QA 2",
        "read",
        "金融",
        "金融/基金",
        "/last",
        "/last/",
        "/last//one",
    }
    assert slugs["Read/QA 1"] == f"{slugs['Read']}/qa_1"
    assert slugs["Read"] != slugs["read"], "two names that differ in case alone stay apart"
    assert slugs["金融/基金"].startswith(f"{slugs['金融']}/")
    assert slugs["/last//one"] == "last/one"


class TestBadInput:
    @pytest.mark.parametrize("name", ["faq.csv", "faq.XLSX"])
    def test_table_of_questions_names_the_command_that_converts_it(self, tmp_path: Path, name: str) -> None:
        (tmp_path / name).write_text("Question\nWho?\n")
        with pytest.raises(DataError, match=r"is a table, .* python -m runner\.datasets table faq\.csv --question"):
            Jsonl(str(write(tmp_path) / "docs"), str(tmp_path / name)).load()

    @pytest.mark.parametrize(
        ("record", "message"),
        [
            ({"question": "?"}, "line 1: no field 'id'"),
            ({"id": "1"}, "line 1: no field 'question'"),
            ({**QUESTION, "answer": "x"}, "unknown field 'answer', expected one of .*; did you mean references"),
            (
                {**QUESTION, "refrences": ["x"]},
                "unknown field 'refrences', expected one of .*; did you mean references",
            ),
            ({"id": "1", "query": "?"}, "unknown field 'query', expected one of .*; did you mean question"),
            ({"id": "1", "question": "?", "Gold": []}, "unknown field 'Gold', expected one of .*; did you mean gold"),
            ({**QUESTION, "topics": "x"}, "unknown field 'topics', expected one of .*; did you mean topic"),
            (["x"], "line 1: got a list, expected an object"),
            ({**QUESTION, "id": 1.5}, "field 'id': got a number, expected a string"),
            ({**QUESTION, "references": [1]}, "field 'references': got a number"),
            ({**QUESTION, "gold": 3}, "is not in the corpus, which has no document '3'"),
            ({**QUESTION, "history": "x"}, "line 1, field 'history': got a string, expected a list"),
            ({**QUESTION, "gold": [{"quote": "x"}]}, "no field 'document'"),
            ({**QUESTION, "gold": [{"document": "a.md", "quote": "The bridge"}]}, "which contains it 2 times"),
            ({**QUESTION, "gold": [{"document": "a.md", "quote": "a tunnel"}]}, "which contains it 0 times"),
            (
                {**QUESTION, "gold": [{"document": "c.md", "quote": "x"}]},
                "is not in the corpus, which has no document 'c.md'",
            ),
            ({**QUESTION, "gold": [{"document": "a.md", "quote": " "}]}, "field 'quote'"),
            (
                {**QUESTION, "gold": [{"document": "a.md", "start": "4"}]},
                "field 'start': got '4', expected a whole number",
            ),
            (
                {**QUESTION, "gold": [{"document": "a.md", "start": 4}]},
                "start 4 and end None in document 'a.md', expected both",
            ),
            (
                {**QUESTION, "gold": [{"document": "a.md", "qoute": "x"}]},
                "field 'gold': unknown field 'qoute', expected one of document",
            ),
            ({**QUESTION, "gold": [{"document": "b.md", "start": 0, "end": 21}]}, "'b.md', expected at most 20"),
            ({**QUESTION, "gold": [{"document": "a.md", "grade": True}]}, "field 'grade': got True, expected a whole"),
            ({**QUESTION, "gold": [{"document": "a.md", "grade": 0}]}, "got the grade 0, expected at least 1"),
            ({**QUESTION, "kind": "essay"}, "got kind 'essay', expected one of qa, long_form"),
            (
                {**QUESTION, "history": [{"role": "user"}]},
                """got {'role': 'user'}, expected {"question", "answer"}""",
            ),
            ({**QUESTION, "question": " "}, "the question of sample '1' is empty"),
        ],
    )
    def test_invalid_jsonl_samples_are_rejected(self, tmp_path: Path, record: object, message: str) -> None:
        with pytest.raises(DataError, match=message):
            load(tmp_path, record)

    def test_jsonl_line_that_is_not_json_is_rejected(self, tmp_path: Path) -> None:
        (tmp_path / "samples.jsonl").write_text(json.dumps(QUESTION) + "\n{", encoding="utf-8")
        with pytest.raises(DataError, match=r"samples\.jsonl, line 2: is not JSON"):
            read_samples(tmp_path / "samples.jsonl", TEXTS)

    def test_duplicate_jsonl_sample_ids_are_rejected(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="the sample id '1' occurs twice"):
            load(tmp_path, QUESTION, QUESTION)

    def test_duplicate_document_id_names_the_file_of_the_documents(self, tmp_path: Path) -> None:
        documents = [{"id": an_id, "text": "x"} for an_id in ("b", "a", "b")]
        write_lines(tmp_path / "documents.jsonl", documents)
        write(tmp_path)
        source = Jsonl(str(tmp_path / "documents.jsonl"), str(tmp_path / "samples.jsonl"))
        with pytest.raises(
            DataError, match=r"documents\.jsonl: the document id 'b' occurs twice, as document 1 and as document 3"
        ):
            source.load()

    def test_metadata_may_be_booleans_and_lists(self, tmp_path: Path) -> None:
        facts = {"tags": ["price", 2, None], "is_public": True, "authors": [], "year": 2024}
        write_lines(tmp_path / "documents.jsonl", [{"id": "a", "text": "x", "metadata": facts}])
        documents, _ = read_documents(tmp_path / "documents.jsonl")
        assert documents.metadata == [{"tags": "price, 2", "is_public": "true", "year": "2024"}]

    @pytest.mark.parametrize("fact", [{"name": "X"}, [{"name": "X"}], [["x"]]])
    def test_nested_metadata_is_refused_with_advice(self, fact: object, tmp_path: Path) -> None:
        write_lines(tmp_path / "documents.jsonl", [{"id": "a", "text": "x", "metadata": {"author": fact}}])
        with pytest.raises(DataError, match=r"'author': got an? .*Give each value of an object its own name"):
            read_documents(tmp_path / "documents.jsonl")

    def test_missing_values_of_pandas_are_no_metadata(self, tmp_path: Path) -> None:
        facts = {"year": float("nan"), "month": None, "day": 1.5}
        write_lines(tmp_path / "documents.jsonl", [{"id": "a", "text": "x", "metadata": facts}])
        write(tmp_path)
        source = Jsonl(str(tmp_path / "documents.jsonl"), str(tmp_path / "samples.jsonl"))
        assert source.load().documents.metadata == [{"day": "1.5"}]
        write_lines(tmp_path / "documents.jsonl", [{"id": "a", "text": "x", "metadata": {"year": float("inf")}}])
        with pytest.raises(DataError, match=r"'year': got a number that is not finite, expected a string, a number"):
            source.load()

    def test_missing_reader_package_is_a_configuration_error(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (write(tmp_path) / "docs" / "c.html").write_text("<p>x", encoding="utf-8")
        monkeypatch.setattr(document_files, "find_spec", lambda name: None)
        with pytest.raises(ConfigError, match=r"needs the package 'bs4'.* -e '\.\[readers\]'"):
            Jsonl(str(tmp_path / "docs"), str(tmp_path / "samples.jsonl")).load()

    @pytest.mark.parametrize("name", ["", "two words", "x" * 61, "a/b", "-x"])
    def test_invalid_jsonl_data_set_names_are_rejected(self, tmp_path: Path, name: str) -> None:
        root = write(tmp_path)
        (problem,) = Jsonl(str(root / "docs"), str(root / "samples.jsonl"), name=name).check()
        assert problem.startswith(f"name: got {name!r}")
        assert Jsonl(str(root / "docs"), str(root / "samples.jsonl"), name="手册-2.1").check() == []

    def test_jsonl_rejects_missing_paths_and_zero_limit(self, tmp_path: Path) -> None:
        problems = Jsonl("", "", limit=0).check()
        assert [problem.split(":")[0] for problem in problems] == ["documents", "samples", "limit"]
        (problem,) = Jsonl(str(tmp_path / "gone"), "x").check()
        assert "does not exist" in problem
        with pytest.raises(ConfigError):
            Jsonl("", "").load()
        with pytest.raises(DataError, match=r"gone\.jsonl: does not exist"):
            Jsonl(str(write(tmp_path) / "docs"), str(tmp_path / "gone.jsonl")).fingerprint()
