"""CRUD-RAG: small files with every known pitfall, and the published data if they are available."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from components.datasets.crud_rag import CrudRag
from components.errors import ConfigError, DataError
from components.protocols import Dataset
from components.records import Benchmark, Evidence, Kind
from runner.output.plan_report import data_losses

FIRST = "青砚市昨日发布了新的公共交通方案。方案计划在三年内新增十二条公交线路。"
SECOND = "首批四条线路将在明年三月正式开通。票价与现有的线路保持一致不变。"
THIRD = "临澜市的博物馆在周末迎来一万名观众。馆方决定把开放时间延长一小时。"
ABSENT = "漠川县的苹果今年获得了难得的大丰收。合作社预计收入比去年增加两成。"
OTHER_ABSENT = "霁禾乳业宣布在青砚市建设第二座工厂。新的工厂预计在后年年底投产。"

SPLIT: dict[str, list[dict[str, object]]] = {
    "event_summary": [{"ID": "1", "event": "交通方案", "summary": "新增十二条线路。", "text": FIRST, "url": ""}],
    "continuing_writing": [{"ID": "1", "beginning": "青砚市昨日", "continuing": "发布了方案。"}],
    "hallu_modified": [
        {
            "ID": "doc_1",
            "newsBeginning": "  博物馆人多。",
            "hallucinatedContinuation": "\n馆方决定关门。",
            "hallucinatedMod": "馆方决定延长开放时间。",
            "newsRemainder": THIRD,
        }
    ],
    "questanswer_1doc": [{"ID": "1", "news1": ABSENT, "questions": "收入增加多少?", "answers": "两成。"}],
    "questanswer_2docs": [
        {"ID": "1", "news1": FIRST, "news2": ABSENT, "questions": "哪两个地方?", "answers": "青砚和漠川。"}
    ],
    "questanswer_3docs": [
        {
            "ID": "1",
            "news1": FIRST + SECOND,
            "news2": THIRD,
            "news3": OTHER_ABSENT,
            "questions": "谁?",
            "answers": "三地。",
        }
    ],
}
CORPUS = {"part_1": [FIRST, THIRD, FIRST], "part_2": [SECOND, "  "]}


def write(root: Path, split: object = SPLIT, corpus: dict[str, list[str]] | None = None) -> Path:
    """Write a data set. Lists that the split lacks are empty."""
    for folder in ("80000_docs", "crud_split"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for name, lines in (CORPUS if corpus is None else corpus).items():
        (root / "80000_docs" / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    if isinstance(split, dict) and split.keys() <= SPLIT.keys():
        split = {**split, **{name: [] for name in SPLIT.keys() - split.keys()}}
    text = json.dumps(split, ensure_ascii=False, indent=1)
    (root / "crud_split" / "split_merged.json").write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write(tmp_path)


def gold_of(benchmark: Benchmark) -> dict[str, tuple[Evidence, ...]]:
    return {sample.id: sample.gold for sample in benchmark.samples}


class TestDocuments:
    def test_crud_document_ids_are_file_and_line(self, root: Path) -> None:
        documents = CrudRag(str(root), add_gold=False).load().documents
        assert list(documents.ids) == ["part_1:000001", "part_1:000002", "part_2:000001"]
        assert list(documents.texts) == [FIRST, THIRD, SECOND]
        assert set(documents.titles) == {""}

    def test_crud_duplicates_are_merged_unless_disabled(self, root: Path) -> None:
        merged = CrudRag(str(root)).load()
        separate = CrudRag(str(root), merge_duplicates=False).load()
        assert merged.notes["n_documents_read"] == separate.notes["n_documents_read"] == 5
        assert merged.notes["n_empty_documents"] == separate.notes["n_empty_documents"] == 1
        assert (merged.notes["n_duplicates_merged"], separate.notes["n_duplicates_merged"]) == (1, 0)
        assert len(separate.documents) == len(merged.documents) + 1
        assert gold_of(separate) == gold_of(merged)

    def test_hidden_files_are_not_crud_documents(self, root: Path) -> None:
        (root / "80000_docs" / ".DS_Store").write_bytes(b"\xff")
        (root / "80000_docs" / ".folder").mkdir()
        assert CrudRag(str(root)).load().notes["n_documents_read"] == 5

    @pytest.mark.parametrize("name", ["documents_dup_part_10_part_2", "documents_hallu.txt_part_1", "part"])
    def test_files_with_published_names_are_crud_documents(self, root: Path, name: str) -> None:
        (root / "80000_docs" / name).write_text(ABSENT, encoding="utf-8")
        assert f"{name}:000001" in CrudRag(str(root)).load().documents.ids


class TestSamples:
    def test_crud_rag_loads_all_six_lists(self, root: Path) -> None:
        samples = {sample.id: sample for sample in CrudRag(str(root)).load().samples}
        assert {an_id: (sample.kind, sample.question, sample.references) for an_id, sample in samples.items()} == {
            "create/continuation/1": (Kind.CONTINUATION, "青砚市昨日", ("发布了方案。",)),
            "delete/summarization/1": (Kind.SUMMARIZATION, "交通方案", ("新增十二条线路。",)),
            "read/qa_1doc/1": (Kind.QA, "收入增加多少?", ("两成。",)),
            "read/qa_2docs/1": (Kind.QA, "哪两个地方?", ("青砚和漠川。",)),
            "read/qa_3docs/1": (Kind.QA, "谁?", ("三地。",)),
            "update/hallucination/doc_1": (
                Kind.CORRECTION,
                "博物馆人多。\n馆方决定关门。",
                ("馆方决定延长开放时间。",),
            ),
        }
        assert all(sample.subset == an_id.rpartition("/")[0] for an_id, sample in samples.items())

    def test_crud_counts_empty_lists_and_skips_unselected_ones(self, tmp_path: Path) -> None:
        root = write(tmp_path, {"questanswer_1doc": SPLIT["questanswer_1doc"], "event_summary": SPLIT["event_summary"]})
        benchmark = CrudRag(str(root)).load()
        assert [s.subset for s in benchmark.samples] == ["delete/summarization", "read/qa_1doc"]
        empty = "create/continuation, read/qa_2docs, read/qa_3docs, update/hallucination"
        assert f"4 subsets without items ({empty})" in data_losses(benchmark.notes)["incomplete"]
        chosen = CrudRag(str(root), subsets=("read/qa_1doc",)).load()
        assert [s.subset for s in chosen.samples] == ["read/qa_1doc"]

    def test_sample_limit_keeps_all_documents(self, root: Path) -> None:
        whole, limited = CrudRag(str(root)).load(), CrudRag(str(root), limit=2).load()
        assert len(limited.samples) == 2
        assert limited.documents == whole.documents


class TestGold:
    def test_crud_gold_is_located_in_documents_or_added(self, root: Path) -> None:
        benchmark = CrudRag(str(root)).load()
        gold = gold_of(benchmark)
        first, second, third = (
            Evidence("part_1:000001", 0, len(FIRST)),
            Evidence("part_2:000001", 0, len(SECOND)),
            Evidence("part_1:000002", 0, len(THIRD)),
        )
        (added,) = gold["read/qa_1doc/1"]
        assert gold["create/continuation/1"] == ()
        assert gold["delete/summarization/1"] == (first,)
        assert gold["update/hallucination/doc_1"] == (third,)
        assert gold["read/qa_2docs/1"] == (first, added)
        assert gold["read/qa_3docs/1"][:3] == (first, second, third)
        texts = dict(zip(benchmark.documents.ids, benchmark.documents.texts, strict=True))
        assert texts[added.document_id] == ABSENT
        assert (added.start, added.end) == (None, None)
        assert added.document_id.startswith("gold:")

    def test_crud_notes_count_the_gold_by_result(self, root: Path) -> None:
        notes = CrudRag(str(root)).load().notes
        assert (notes["n_gold_texts"], notes["n_gold_found_in_corpus"], notes["n_gold_added"]) == (5, 3, 2)
        assert (notes["n_gold_within_added"], notes["n_gold_not_in_corpus"]) == (0, 0)
        assert notes["n_samples_without_gold_in_corpus"] == 1

    @pytest.mark.parametrize("record", [{"news2": ""}, {"news2": None}, {"News2": ABSENT}])
    def test_missing_gold_texts_are_counted(self, tmp_path: Path, record: dict[str, object]) -> None:
        full = SPLIT["questanswer_2docs"][0]
        item = {**{name: text for name, text in full.items() if name != "news2"}, **record}
        benchmark = CrudRag(str(write(tmp_path, {**SPLIT, "questanswer_2docs": [item]}))).load()
        assert benchmark.notes["n_gold_texts_missing"] == 1
        assert data_losses(benchmark.notes) == {
            "left out": "1 empty document (part_2:000002), 1 merged duplicate document",
            "incomplete": "1 missing gold text",
        }

    def test_add_gold_false_adds_no_documents(self, root: Path) -> None:
        added, plain = CrudRag(str(root)).load(), CrudRag(str(root), add_gold=False).load()
        assert gold_of(plain) == gold_of(added)
        assert [an_id for an_id in plain.documents.ids if an_id.startswith("gold:")] == []
        assert (plain.notes["n_gold_added"], plain.notes["n_gold_not_in_corpus"]) == (0, 2)
        assert (plain.notes["n_samples_without_gold_in_corpus"], plain.notes["n_gold_units_not_in_corpus"]) == (2, 3)

    def test_gold_text_contained_in_another_is_added_once(self, tmp_path: Path) -> None:
        long = ABSENT + OTHER_ABSENT
        split = {
            "questanswer_1doc": [{"ID": "1", "news1": ABSENT, "questions": "?", "answers": "答"}],
            "questanswer_2docs": [{"ID": "1", "news1": long, "news2": ABSENT, "questions": "?", "answers": "答"}],
            "event_summary": [{"ID": "1", "event": "?", "summary": "答", "text": OTHER_ABSENT}],
        }
        benchmark = CrudRag(str(write(tmp_path, split))).load()
        (whole, part) = gold_of(benchmark)["read/qa_2docs/1"]
        assert gold_of(benchmark)["read/qa_1doc/1"] == (part,)
        assert part == Evidence(whole.document_id, 0, len(ABSENT))
        assert gold_of(benchmark)["delete/summarization/1"] == (Evidence(whole.document_id, len(ABSENT), len(long)),)
        assert (benchmark.notes["n_gold_added"], benchmark.notes["n_gold_within_added"]) == (1, 2)

    def test_only_texts_of_questions_are_added(self, tmp_path: Path) -> None:
        split = {"event_summary": [{"ID": "1", "event": "事件", "summary": "摘要", "text": ABSENT}]}
        benchmark = CrudRag(str(write(tmp_path, split))).load()
        assert benchmark.notes["n_gold_added"] == 0
        assert benchmark.notes["n_samples_without_gold_in_corpus"] == 1


class TestFingerprint:
    def test_crud_fingerprint_depends_only_on_content(self, tmp_path: Path) -> None:
        one, two = write(tmp_path / "one"), write(tmp_path / "two")
        known = CrudRag(str(one)).fingerprint()
        assert known == CrudRag(str(two)).fingerprint()
        (two / "80000_docs" / "part_2").rename(two / "80000_docs" / "part_3")
        assert known != CrudRag(str(two)).fingerprint()
        write(one, {"event_summary": SPLIT["event_summary"]})
        assert known != CrudRag(str(one)).fingerprint()


class TestBadInput:
    def test_crud_rejects_unknown_subsets_zero_overlap_and_zero_limit(self) -> None:
        assert CrudRag("somewhere").check() == []
        problems = CrudRag(subsets=("read/qa_9docs",), gold_overlap=0, limit=0).check()
        assert [problem.split(":")[0] for problem in problems] == ["root", "subsets", "gold_overlap", "limit"]
        assert "got ['read/qa_9docs']" in problems[1]
        with pytest.raises(ConfigError, match="4 errors"):
            CrudRag(subsets=(), gold_overlap=1.5, limit=-1).load()

    def test_missing_crud_folder_and_file_are_errors(self, root: Path) -> None:
        with pytest.raises(DataError, match=r"docs: does not exist, expected CRUD-RAG's corpus"):
            CrudRag(str(root), corpus_folder="docs").load()
        with pytest.raises(DataError, match=r"split\.json: does not exist, expected CRUD-RAG's split"):
            CrudRag(str(root), split_file="split.json").load()
        with pytest.raises(DataError, match="does not exist"):
            CrudRag(str(root / "nowhere")).fingerprint()

    def test_dangling_corpus_link_is_an_error(self, root: Path) -> None:
        (root / "80000_docs" / "part_3").symlink_to("fetched_later")
        with pytest.raises(DataError, match=r"part_3: does not exist"):
            CrudRag(str(root)).load()

    @pytest.mark.parametrize("others", [True, False])
    def test_folders_in_the_corpus_folder_are_errors(self, tmp_path: Path, others: bool) -> None:
        root = write(tmp_path, corpus=CORPUS if others else {})
        (root / "80000_docs" / "more").mkdir()
        (root / "80000_docs" / "more" / "part_3").write_text(ABSENT, encoding="utf-8")
        with pytest.raises(
            DataError, match=r"80000_docs: contains the folders 'more', expected files only: CRUD-RAG's"
        ):
            CrudRag(str(root)).load()

    @pytest.mark.parametrize(
        "name",
        [
            "README.md",
            "LICENSE",
            "notes.txt",
            "part_1.sha256",
            "part_1~",
            "notes_part_one",
            "README_part",
            "copy of part_1",
            "x\npart_1",
        ],
    )
    def test_files_beside_the_corpus_are_errors(self, root: Path, name: str) -> None:
        (root / "80000_docs" / name).write_text("Not news.\n", encoding="utf-8")
        message = (
            rf"80000_docs: contains the files {re.escape(repr(name))}, expected the names .*part_<number>.*\. Move"
        )
        for use in (CrudRag(str(root)).load, CrudRag(str(root)).fingerprint):
            with pytest.raises(DataError, match=message):
                use()

    def test_zero_byte_crud_files_are_errors(self, root: Path) -> None:
        (root / "80000_docs" / "part_1").write_bytes(b"")
        for use in (CrudRag(str(root)).load, CrudRag(str(root)).fingerprint):
            with pytest.raises(DataError, match=r"80000_docs: the files 'part_1' are empty, .* Fetch them again"):
                use()

    def test_gaps_between_crud_file_numbers_are_noted(self, root: Path) -> None:
        assert "gaps_in_corpus_files" not in CrudRag(str(root)).load().notes
        folder = root / "80000_docs"
        for name in ("documents_dup_part_1_part_2", "documents_dup_part_3_part_1", "documents_hallu.txt_part_1"):
            (folder / name).write_text(f"{name}\n", encoding="utf-8")
        (folder / "part_1").rename(folder / "part_99999999999")
        missing = "documents_dup_part_2, documents_dup_part_1_part_1, part_1"
        notes = CrudRag(str(root)).load().notes
        assert (notes["gaps_in_corpus_files"], notes["n_gaps_in_corpus_files"]) == (missing, 3)

    def test_crud_corpus_folder_without_files_is_rejected(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"80000_docs: contains no file, expected CRUD-RAG's corpus"):
            CrudRag(str(write(tmp_path, corpus={}))).load()

    @pytest.mark.parametrize("name", ["80000_docs/part_3", "80000_docs", "crud_split/split_merged.json"])
    def test_crud_link_out_of_the_root_is_rejected(self, root: Path, name: str) -> None:
        outside = root.with_name(f"{root.name}_outside")
        outside.mkdir()
        path = root / name
        if path.exists():
            path = path.rename(outside / path.name)
        else:
            (outside / path.name).write_text(ABSENT, encoding="utf-8")
        (root / name).symlink_to(outside / path.name)
        for use in (CrudRag(str(root)).load, CrudRag(str(root)).fingerprint):
            with pytest.raises(DataError, match=rf"{name}\S*: is a link to {outside}/\S+, outside of {root}, expected"):
                use()

    def test_crud_links_within_a_linked_root_are_read(self, root: Path) -> None:
        linked = root.with_name(f"{root.name}_linked")
        linked.symlink_to(root)
        (root / "80000_docs" / "part_2").rename(root / "part_2")
        (root / "80000_docs" / "part_2").symlink_to("../part_2")
        assert CrudRag(str(linked)).load().notes["n_documents_read"] == 5

    def test_missing_crud_list_error_names_the_other_lists(self, root: Path) -> None:
        path = root / "crud_split" / "split_merged.json"
        lists = {name: SPLIT[name] for name in SPLIT if name != "questanswer_1doc"}
        path.write_text(json.dumps(lists), encoding="utf-8")
        rest = "create/continuation,delete/summarization,read/qa_2docs,read/qa_3docs,update/hallucination"
        message = rf"but lacks 'questanswer_1doc' \(read/qa_1doc\), expected .* dataset\.subsets=\[{rest}\]"
        with pytest.raises(DataError, match=message):
            CrudRag(str(root)).load()
        assert len(CrudRag(str(root), subsets=tuple(rest.split(","))).load().samples) == 5

    def test_invalid_utf8_in_the_crud_corpus_is_an_error(self, root: Path) -> None:
        (root / "80000_docs" / "part_3").write_bytes("好\n".encode() + b"\xe5\n")
        with pytest.raises(DataError, match=r"part_3: byte 0xe5 at byte offset 4 \(line 2\) is not UTF-8"):
            CrudRag(str(root)).load()

    @pytest.mark.parametrize("corpus", [{"part_1": [""]}, {"part_1": ["", "\u3000"]}])
    def test_empty_crud_corpus_is_rejected(self, tmp_path: Path, corpus: dict[str, list[str]]) -> None:
        with pytest.raises(DataError, match="no document of the corpus has text"):
            CrudRag(str(write(tmp_path, corpus=corpus)), add_gold=False).load()

    def test_truncated_crud_split_is_rejected(self, root: Path) -> None:
        file = root / "crud_split" / "split_merged.json"
        file.write_bytes(file.read_bytes()[: file.read_bytes().index(b"questanswer_2docs") + 40])
        with pytest.raises(
            DataError, match=r"split_merged\.json: the JSON is cut off at byte offset \d+.* the 4 records"
        ):
            CrudRag(str(root)).load()
        benchmark = CrudRag(str(root), accept_truncated=True).load()
        assert len(benchmark.samples) == 4
        assert benchmark.notes["n_split_files_cut_off"] == 1
        assert benchmark.notes["subsets_without_items"] == "read/qa_2docs, read/qa_3docs"

    def test_duplicate_ids_in_a_crud_list_are_rejected(self, tmp_path: Path) -> None:
        record = SPLIT["questanswer_1doc"][0]
        for twin in (record, {**record, "questions": "另一个问题?"}):
            root = write(tmp_path, {"questanswer_1doc": [record, twin]})
            with pytest.raises(DataError, match="id 'read/qa_1doc/1' occurs twice, as sample 1 and as sample 2 of 2"):
                CrudRag(str(root)).load()

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"answers": " "}, r"record 1 \(ID 1\): the item has no reference, because field 'answers'"),
            ({"questions": ""}, "the question of sample 'read/qa_1doc/1' is empty"),
            ({"questions": None, "ID": 5}, r"record 1 \(ID 5\), field 'ID': got a number, expected a string"),
            ({"news1": ["甲"]}, "field 'news1': got a list, expected a string"),
        ],
    )
    def test_broken_crud_record_is_rejected(self, tmp_path: Path, changes: dict[str, object], message: str) -> None:
        root = write(tmp_path, {"questanswer_1doc": [{**SPLIT["questanswer_1doc"][0], **changes}]})
        with pytest.raises(DataError, match=message):
            CrudRag(str(root)).load()

    def test_missing_crud_field_is_rejected(self, tmp_path: Path) -> None:
        root = write(tmp_path, {"questanswer_1doc": [{"ID": "1", "news1": ABSENT}]})
        with pytest.raises(DataError, match=r"list 'questanswer_1doc', record 1 \(ID 1\): no field 'questions'"):
            CrudRag(str(root)).load()

    @pytest.mark.parametrize(
        ("split", "message"),
        [
            ([], r"got a bare list, .* but 6 subsets are chosen. Choose .* dataset.subsets="),
            ({"event_summary": {}}, "list 'event_summary': got a JSON object, expected a list"),
            ({"event_summary": ["x"]}, "record 1: got a string, expected an object"),
            ({"other": []}, r"has the lists other, but lacks 'continuing_writing' \(create/continuation\), 'event_"),
            ({name: [] for name in SPLIT}, "no samples were found"),
        ],
    )
    def test_split_file_of_another_shape_is_rejected(self, tmp_path: Path, split: object, message: str) -> None:
        with pytest.raises(DataError, match=message):
            CrudRag(str(write(tmp_path, split))).load()


@pytest.fixture(scope="module")
def crud(shared_data: Path) -> CrudRag:
    return CrudRag(str(shared_data / "crud_rag"))


@pytest.fixture(scope="module")
def published(crud: CrudRag) -> Benchmark:
    return crud.load()


class TestPublishedData:
    def test_crud_rag_is_a_dataset_with_a_sha256_fingerprint(self, crud: CrudRag) -> None:
        assert isinstance(crud, Dataset)
        assert len(crud.fingerprint()) == 64

    def test_published_crud_data_has_the_expected_counts(self, published: Benchmark) -> None:
        notes = published.notes
        assert (notes["n_documents_read"], notes["n_duplicates_merged"]) == (68_798, 577)
        assert (notes["n_documents"], notes["n_samples"]) == (68_221 + int(notes["n_gold_added"]), 4_038)
        assert list(published.documents.ids) == sorted(published.documents.ids)

    def test_published_crud_questions_have_all_gold_in_the_corpus(self, published: Benchmark) -> None:
        known = set(published.documents.ids)
        samples = [s for s in published.samples if s.subset.startswith(("read/", "update/"))]
        assert len(samples) == 39
        assert all(sample.gold and known.issuperset(unit.document_id for unit in sample.gold) for sample in samples)

    def test_published_crud_gold_passages_are_found_in_the_corpus(self, published: Benchmark) -> None:
        """Whole passages of 3-document items in the corpus: 32 of 90 by the data's own README; here by overlap."""
        notes = published.notes
        assert (notes["n_gold_texts"], notes["n_gold_found_in_corpus"], notes["n_gold_added"]) == (2_091, 201, 56)
        texts = dict(zip(published.documents.ids, published.documents.texts, strict=True))
        sample = next(s for s in published.samples if s.id == "read/qa_3docs/64fa9b27b82641eb8ecbe14d")
        unit = sample.gold[0]
        assert unit.document_id == "documents_dup_part_11_part_2:000914"
        assert texts[unit.document_id][unit.start : unit.end].startswith("在第15个全民健身日来临之际，上海市体育局")

    def test_truncated_file_is_accepted_as_the_list_of_one_subset(self, root: Path, shared_data: Path) -> None:
        file = str(shared_data / "crud_rag" / "event_summary_truncated.json")
        crud = CrudRag(str(root), subsets=("delete/summarization",), split_file=file)
        with pytest.raises(DataError, match="the 1328 records before it are complete"):
            crud.load()
        benchmark = replace(crud, accept_truncated=True).load()
        assert len(benchmark.samples) == 1328
        assert benchmark.notes["n_split_files_cut_off"] == 1


@pytest.mark.parametrize("name", ["event_summaries", "EVENT_SUMMARY"])
def test_misspelled_crud_list_is_refused(tmp_path: Path, name: str) -> None:
    write(tmp_path, {name if each == "event_summary" else each: records for each, records in SPLIT.items()})
    with pytest.raises(DataError, match=f"unknown list '{name}', expected one of .*; did you mean event_summary"):
        CrudRag(str(tmp_path)).load()
