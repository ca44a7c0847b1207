"""Data sets in BEIR's layout: small files with every variant of the format and every kind of error."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from components.datasets.beir import Beir, Gold
from components.datasets.beir_files import Qrels, read_answers, read_corpus, read_qrels
from components.errors import ConfigError, DataError
from components.protocols import Dataset
from components.records import Benchmark, Evidence, Kind, Sample
from tests.contracts.dataset_contract import DatasetContract

CORPUS = [
    {"_id": "d2", "title": "Bridge", "text": "It was opened in 1932."},
    {"_id": "d1", "title": "", "text": "The harbour is deep."},
]
QUERIES = [{"_id": "q1", "title": "", "text": "When was it opened?"}, {"_id": "q2", "text": "How deep is it?"}]
ANSWERS = [{"_id": "q1", "answer": "1932"}]
QRELS = "query-id\tcorpus-id\tscore\nq1\td2\t2\nq1\td1\t1\nq2\td1\t0\n"


def write_lines(path: Path, records: Sequence[object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def write(root: Path, qrels: str = QRELS, answers: Sequence[object] = (), qrels_at: str = "qrels.tsv") -> Path:
    write_lines(root / "corpus.jsonl", CORPUS)
    write_lines(root / "queries.jsonl", QUERIES)
    (root / qrels_at).parent.mkdir(parents=True, exist_ok=True)
    (root / qrels_at).write_text(qrels, encoding="utf-8")
    if answers:
        write_lines(root / "answers.jsonl", answers)
    return root


def load(root: Path) -> Benchmark:
    return Beir(str(root)).load()


class TestContract(DatasetContract):
    references_required = False

    @pytest.fixture(autouse=True)
    def written(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        self.component = Beir(str(write(tmp_path_factory.mktemp("beir"), answers=ANSWERS)))

    component: Dataset = Beir("somewhere")

    def with_one_byte_more(self, tmp_path: Path) -> Sequence[Dataset]:
        copies = []
        for longer in ("", "corpus.jsonl", "queries.jsonl", "qrels.tsv", "answers.jsonl"):
            root = write(tmp_path / f"longer-{longer}", answers=ANSWERS)
            if longer:
                (root / longer).write_bytes((root / longer).read_bytes() + b"\n")
            copies.append(Beir(str(root)))
        return copies


class TestLoading:
    def test_judgements_become_alternatives_with_gold_any(self, tmp_path: Path) -> None:
        write(tmp_path, QRELS + "q2\td2\t1\n")
        either, single = Beir(str(tmp_path), gold=Gold.ANY).load().samples
        assert either.gold == (Evidence("d2", grade=2, one_of=1), Evidence("d1", one_of=1))
        assert single.gold == (Evidence("d2"),)

    def test_beir_folder_loads_documents_and_samples(self, tmp_path: Path) -> None:
        benchmark = load(write(tmp_path))
        assert list(benchmark.documents.ids) == ["d1", "d2"]
        assert list(benchmark.documents.texts) == ["The harbour is deep.", "Bridge\nIt was opened in 1932."]
        assert benchmark.samples == (
            Sample("q1", "all", Kind.QA, "When was it opened?", (), (Evidence("d2", grade=2), Evidence("d1"))),
            Sample("q2", "all", Kind.QA, "How deep is it?", ()),
        )

    def test_beir_notes_count_unknown_queries_and_documents(self, tmp_path: Path) -> None:
        unknown = "q8\td1\t0\nq9\td1\t1\nq9\td2\t1\nq2\tabsent\t0\n"
        notes = load(write(tmp_path, f"{QRELS}q1\td2\t2\n{unknown}")).notes
        assert notes == {
            "n_documents": 2,
            "n_empty_documents": 0,
            "n_queries": 2,
            "n_queries_labelled": 1,
            "share_labelled": 0.5,
            "n_queries_without_qrels": 0,
            "n_qrels_repeated": 1,
            "n_qrels_not_relevant": 3,
            "n_qrels_of_unknown_queries": 3,
            "n_qrels_of_unknown_documents": 1,
            "n_answers_of_unknown_queries": 0,
            "n_samples": 2,
            "n_samples_read": 2,
            "n_samples_without_reference": 2,
            "n_samples_without_gold_in_corpus": 1,
            "n_gold_units_not_in_corpus": 0,
        }

    def test_queries_without_qrels_have_no_gold_and_are_counted(self, tmp_path: Path) -> None:
        write_lines(write(tmp_path) / "queries.jsonl", [*QUERIES, {"_id": "q3", "text": "How long is it?"}])
        benchmark = load(tmp_path)
        assert [len(sample.gold) for sample in benchmark.samples] == [2, 0, 0]
        assert benchmark.notes["n_queries_without_qrels"] == 1
        assert benchmark.notes["share_labelled"] == 0.3333

    def test_queries_file_limit_and_subset_are_configurable(self, tmp_path: Path) -> None:
        write_lines(write(tmp_path) / "queries" / "dev.jsonl", [{"_id": f"q{n}", "text": "?"} for n in range(9)])
        benchmark = Beir(str(tmp_path), queries_file="queries/dev.jsonl", limit=4, subset="dev").load()
        assert (benchmark.notes["n_samples_read"], len(benchmark.samples), len(benchmark.documents)) == (9, 4, 2)
        assert {sample.subset for sample in benchmark.samples} == {"dev"}

    @pytest.mark.parametrize("header", ["query-id\tcorpus-id\tscore\n", "query_id\tcorpus_id\tscore\n", ""])
    def test_qrels_header_is_optional(self, tmp_path: Path, header: str) -> None:
        assert load(write(tmp_path, f"{header}q1\td2\t1\n")).samples[0].gold == (Evidence("d2"),)

    def test_qrels_with_windows_line_ends_and_blank_lines_are_read(self, tmp_path: Path) -> None:
        (tmp_path / "qrels.tsv").write_bytes(b"query-id\tcorpus-id\tscore\r\nq1\td2\t2\r\n\r\n")
        assert read_qrels(tmp_path / "qrels.tsv") == Qrels({"q1": {"d2": 2}}, 0)

    def test_qrels_file_is_found_in_the_qrels_folder(self, tmp_path: Path) -> None:
        root = write(tmp_path, qrels_at="qrels/test.tsv")
        assert load(root).samples[0].gold
        write(root)
        with pytest.raises(DataError, match=r"both .*qrels\.tsv and .*test\.tsv\. Choose one with dataset.qrels_file"):
            load(root)
        assert Beir(str(root), qrels_file="qrels/test.tsv").load().samples[0].gold

    @pytest.mark.parametrize(
        ("separator", "text"), [(" ", "Bridge It was opened in 1932."), (None, "It was opened in 1932.")]
    )
    def test_title_is_joined_to_the_text_with_the_separator(
        self, tmp_path: Path, separator: str | None, text: str
    ) -> None:
        documents = Beir(str(write(tmp_path)), title_separator=separator).load().documents
        assert (documents.texts[1], documents.titles[1]) == (text, "Bridge")

    @pytest.mark.parametrize(
        ("title", "text", "whole"),
        [
            (" ", "Deep.", "Deep."),
            (None, "Deep.", "Deep."),
            ("Bridge", "", "Bridge"),
            ("Bridge", "Old.", "Bridge\nOld."),
        ],
    )
    def test_blank_title_or_text_adds_no_separator(
        self, tmp_path: Path, title: str | None, text: str, whole: str
    ) -> None:
        write_lines(tmp_path / "corpus.jsonl", [{"_id": "d", "title": title, "text": text}])
        assert read_corpus(tmp_path / "corpus.jsonl", "\n").texts == [whole]

    def test_gold_outside_the_beir_corpus_remains_and_is_counted(self, tmp_path: Path) -> None:
        benchmark = load(write(tmp_path, "q1\tabsent\t1\nq1\td1\t1\n"))
        assert benchmark.samples[0].gold == (Evidence("absent"), Evidence("d1"))
        assert benchmark.notes["n_gold_units_not_in_corpus"] == 1

    def test_qrels_of_another_corpus_are_rejected(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="none of its 1 documents, such as 'absent', is in this corpus"):
            load(write(tmp_path, "q1\tabsent\t1\n"))


@pytest.mark.parametrize(
    ("record", "references"),
    [
        ({"answer": "In 1932"}, ("In 1932",)),
        ({"answer": ["2018", "2019"]}, ("2018, 2019",)),
        ({"answer": -61.02, "scale": "percent"}, ("-61.02", "-61.02 percent")),
        ({"answer": 59, "scale": ""}, ("59",)),
        ({"answer": ["$8.6 million"], "scale": "million"}, ("$8.6 million",)),
        ({"answer": " "}, ()),
        ({"answer": [], "scale": "percent"}, ()),
        ({"answer": None}, ()),
        ({"answer": math.nan, "scale": "percent"}, ()),
        ({"answer": ["2018", math.nan]}, ("2018",)),
    ],
)
def test_beir_reference_answers_are_read(
    tmp_path: Path, record: dict[str, object], references: tuple[str, ...]
) -> None:
    write_lines(tmp_path / "answers.jsonl", [{"_id": "q1", **record}])
    assert read_answers(tmp_path / "answers.jsonl") == {"q1": references}


@pytest.mark.parametrize("record", [{}, {"Answer": "x"}, {"answer": math.inf}, {"answer": [True]}])
def test_beir_record_without_a_usable_answer_is_rejected(tmp_path: Path, record: dict[str, object]) -> None:
    write_lines(tmp_path / "answers.jsonl", [{"_id": "q1", **record}])
    with pytest.raises(DataError, match=r"line 1, field 'answer'"):
        read_answers(tmp_path / "answers.jsonl")


def test_answers_file_becomes_references(tmp_path: Path) -> None:
    benchmark = load(write(tmp_path, answers=[{"_id": "q1", "answer": "1932"}, {"_id": "q9", "answer": "x"}]))
    assert [sample.references for sample in benchmark.samples] == [("1932",), ()]
    assert benchmark.notes["n_answers_of_unknown_queries"] == 1


class TestBadInput:
    @pytest.mark.parametrize(
        ("qrels", "message"),
        [
            ("q1\td2\n", r"line 1: got 2 columns"),
            ("q1 d2 1\n", r"line 1: got 1 columns"),
            (QRELS + "q1\td2\thigh\n", "line 5: got the score 'high', expected a whole number"),
            (QRELS + "\nq1\td2\t0.5\n", "line 6: got the score '0.5', expected a whole number"),
            ("query\tdocument\tgrade\n", "line 1: got the score 'grade'"),
            (QRELS + "q1\td2\t1\n", "line 5: document 'd2' has the score 1 for query 'q1', but an earlier line says 2"),
        ],
    )
    def test_invalid_qrels_are_rejected(self, tmp_path: Path, qrels: str, message: str) -> None:
        (tmp_path / "qrels.tsv").write_text(qrels, encoding="utf-8")
        with pytest.raises(DataError, match=message):
            read_qrels(tmp_path / "qrels.tsv")

    @pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl"])
    def test_missing_or_broken_beir_file_is_an_error(self, tmp_path: Path, name: str) -> None:
        root = write(tmp_path)
        (root / name).write_text('{"_id": "x", "text": "y"}\n{', encoding="utf-8")
        with pytest.raises(DataError, match=rf"{name}, line 2: is not JSON"):
            load(root)
        (root / name).unlink()
        with pytest.raises(DataError, match=rf"{name}: does not exist"):
            load(root)

    def test_missing_qrels_are_an_error(self, tmp_path: Path) -> None:
        (write(tmp_path) / "qrels.tsv").unlink()
        with pytest.raises(DataError, match=r"has neither qrels\.tsv nor qrels/test\.tsv"):
            load(tmp_path)

    @pytest.mark.parametrize("qrels", ["d2\tq1\t1\nd1\tq1\t1\n", "q8\td2\t1\n"], ids=["swapped", "of-others"])
    def test_qrels_of_other_queries_are_rejected(self, tmp_path: Path, qrels: str) -> None:
        root = write(tmp_path, qrels, answers=ANSWERS)
        with pytest.raises(DataError, match=r"qrels\.tsv: judges none of the 2 queries in queries\.jsonl, whose ids"):
            load(root)

    def test_zero_byte_qrels_are_rejected(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"qrels\.tsv: is empty, expected .*Fetch it again"):
            load(write(tmp_path, ""))

    @pytest.mark.parametrize("qrels", ["q1\td2\t0\n", "\n"], ids=["irrelevant", "blank"])
    def test_queries_without_relevant_documents_or_answers_are_rejected(self, tmp_path: Path, qrels: str) -> None:
        with pytest.raises(DataError, match=r"qrels\.tsv: names no relevant document .* of the 2 queries"):
            load(write(tmp_path, qrels))
        assert load(write(tmp_path, qrels, answers=ANSWERS)).samples[0].references == ("1932",)

    def test_dangling_answers_link_is_an_error(self, tmp_path: Path) -> None:
        (write(tmp_path) / "answers.jsonl").symlink_to("fetched_later.jsonl")
        with pytest.raises(DataError, match=r"answers\.jsonl: does not exist"):
            load(tmp_path)

    @pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels.tsv", "answers.jsonl"])
    def test_beir_link_out_of_the_root_is_rejected(self, tmp_path: Path, name: str) -> None:
        root = write(tmp_path / "data", answers=ANSWERS)
        (root / name).rename(root / "inside")
        (root / name).symlink_to("inside")
        (tmp_path / "linked").symlink_to(root)
        assert load(tmp_path / "linked").samples
        (root / "inside").rename(tmp_path / "outside")
        (root / name).unlink()
        (root / name).symlink_to("../outside")
        with pytest.raises(DataError, match=rf"{name}: is a link to {tmp_path}/outside, outside of {root}, expected"):
            load(root)

    def test_hub_snapshot_links_are_followed_to_its_blobs(self, tmp_path: Path) -> None:
        root = write(tmp_path / "datasets--a--b" / "snapshots" / "1f2e")
        blobs = tmp_path / "datasets--a--b" / "blobs"
        blobs.mkdir()
        (root / "corpus.jsonl").rename(blobs / "77ab")
        (root / "corpus.jsonl").symlink_to("../../blobs/77ab")
        assert load(root).samples
        (blobs / "77ab").rename(tmp_path / "77ab")
        (root / "corpus.jsonl").unlink()
        (root / "corpus.jsonl").symlink_to("../../../77ab")
        with pytest.raises(DataError, match="is a link to"):
            load(root)

    def test_duplicate_beir_ids_are_rejected(self, tmp_path: Path) -> None:
        write_lines(write(tmp_path) / "queries.jsonl", [*QUERIES, QUERIES[0]])
        with pytest.raises(DataError, match=r"queries\.jsonl, line 3: the query id 'q1' is already"):
            load(tmp_path)
        with pytest.raises(DataError, match=r"answers\.jsonl, line 2: the query id 'q1' is already"):
            load(write(tmp_path, answers=[*ANSWERS, *ANSWERS]))
        (tmp_path / "answers.jsonl").unlink()
        write_lines(write(tmp_path) / "corpus.jsonl", [*CORPUS, CORPUS[0]])
        with pytest.raises(DataError, match="the document id 'd2' occurs twice"):
            load(tmp_path)

    def test_beir_corpus_without_text_is_rejected(self, tmp_path: Path) -> None:
        write_lines(write(tmp_path) / "corpus.jsonl", [])
        with pytest.raises(DataError, match=r"corpus\.jsonl: none of its 0 documents has a text"):
            load(tmp_path)
        write_lines(write(tmp_path) / "corpus.jsonl", [{"_id": "d1", "text": " "}])
        with pytest.raises(DataError, match=r"corpus\.jsonl: none of its 1 documents has a text"):
            load(tmp_path)

    def test_missing_beir_queries_are_an_error(self, tmp_path: Path) -> None:
        write_lines(write(tmp_path) / "queries.jsonl", [])
        with pytest.raises(DataError, match=r"queries\.jsonl: contains no query"):
            load(tmp_path)

    def test_missing_configured_beir_files_are_errors(self, tmp_path: Path) -> None:
        root = str(write(tmp_path))
        for dataset in (Beir(root, qrels_file="qrels/dev.tsv"), Beir(root, queries_file="dev.jsonl")):
            with pytest.raises(DataError, match=r"dev\.(tsv|jsonl): does not exist, expected BEIR's"):
                dataset.load()
        with pytest.raises(DataError, match=r"nowhere: does not exist, expected a data set in BEIR's layout"):
            load(tmp_path / "nowhere")

    @pytest.mark.parametrize(
        ("record", "value"),
        [({"answer": {}}, r"\{\}"), ({"answer": True}, "True"), ({"answer": ["a", {"b": 1}]}, r"\{'b': 1\}")],
    )
    def test_beir_answer_that_is_not_a_string_is_rejected(
        self, tmp_path: Path, record: dict[str, object], value: str
    ) -> None:
        with pytest.raises(DataError, match=rf"answers\.jsonl, line 1, field 'answer': got {value}, expected a string"):
            load(write(tmp_path, answers=[{"_id": "q1", **record}]))

    def test_beir_rejects_an_empty_root_bad_subset_and_zero_limit(self) -> None:
        assert Beir("").check()[0].startswith("root: is empty")
        assert Beir("x", subset="My set").check()[0].startswith("subset: got 'My set', expected a name of a-z")
        assert Beir("x", limit=0).check() == ["limit: got 0, expected at least 1, or null for all samples"]
        with pytest.raises(ConfigError):
            Beir("").load()
