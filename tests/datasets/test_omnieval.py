"""OmniEval: small files with every known pitfall, and the real layout if it is available."""

import json
import shutil
from pathlib import Path

import pytest

from components.datasets.omnieval import OmniEval, Split
from components.datasets.omnieval_gold import find_span, locate_gold
from components.errors import ConfigError, DataError
from components.protocols import Dataset
from components.records import Benchmark, Evidence, Kind, Sample, Turn

NODES: list[object] = [
    {"id": "node-1", "title": "年报", "contents": "澜安银行成立于1998年。\n  总部设在青砚市。"},
    {"id": "node-2", "title": "公告", "contents": "栖禾银行发行了大额存单。利率为2.60%。"},
    {"id": "node-3", "contents": "  "},
]


def item(**changes: object) -> dict[str, object]:
    return {
        "though_process": "想一想",
        "question": "哪年成立?",
        "answer": ["1998年"],
        "relevant_passage": ["澜安银行成立于1998年。"],
        "topic_name": "金融 - 银行业务 - 零售银行",
        "task_name": "抽取类问答",
        "relevant_node": ["node-1"],
        "evaluation": 2,
    } | changes


ITEMS: dict[str, list[object]] = {
    "银行业务/零售银行/抽取类问答": [item(), item(answer="1998年", relevant_node="node-1", evaluation=-1)],
    "银行业务/零售银行/多轮对话能力": [
        [item(), item(question="总部呢?", answer=["青砚市", "青砚"], relevant_passage=["总部设在青砚市。"])],
        [],
        [item(question="利率多少?", answer="2.60%", relevant_node=["node-2"], relevant_passage="利率为2.60%。")],
    ],
    "投资/信托/长答案形式问答": [{"question": "为什么?", "answer": "因为。"}],
}


def write(root: Path, items: dict[str, list[object]] | None = None, nodes: list[object] | None = None) -> Path:
    corpus = root / "corpus" / "nodes_dir" / "set-2048-256_nodes"
    corpus.mkdir(parents=True, exist_ok=True)
    write_lines(corpus / "corpus.jsonl", NODES if nodes is None else nodes)
    (corpus / "0.pkl").write_bytes(b"not read")
    for name, lines in (ITEMS if items is None else items).items():
        file = root / "gen_datas_set_final" / f"{name}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        write_lines(file, lines)
    return root


def write_lines(file: Path, values: list[object]) -> None:
    file.write_text("".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values), encoding="utf-8")


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    return OmniEval(str(write(tmp_path))).load()


@pytest.fixture
def samples(benchmark: Benchmark) -> dict[str, Sample]:
    return {sample.id: sample for sample in benchmark.samples}


class TestSamples:
    def test_omnieval_item_becomes_a_sample(self, samples: dict[str, Sample]) -> None:
        assert samples["retail_banking/extractive/0"] == Sample(
            id="retail_banking/extractive/0",
            subset="finance",
            kind=Kind.QA,
            question="哪年成立?",
            references=("1998年",),
            gold=(Evidence("node-1", 0, 13),),
            topic="retail_banking",
            task="extractive",
        )

    def test_omnieval_accepts_single_strings_for_lists(self, samples: dict[str, Sample]) -> None:
        first, second = samples["retail_banking/extractive/0"], samples["retail_banking/extractive/1"]
        assert (second.references, second.gold) == (first.references, first.gold)

    def test_omnieval_conversation_has_one_sample_per_turn(self, samples: dict[str, Sample]) -> None:
        name = "retail_banking/conversational"
        turns = {an_id: sample for an_id, sample in samples.items() if an_id.startswith(name)}
        assert list(turns) == [f"{name}/0#0", f"{name}/0#1", f"{name}/2#0"]
        assert {sample.kind for sample in turns.values()} == {Kind.CONVERSATION}
        assert [sample.history for sample in turns.values()] == [(), (Turn("哪年成立?", "1998年"),), ()]
        assert turns[f"{name}/0#1"].references == ("青砚市", "青砚")

    def test_item_with_an_unknown_topic_gets_a_generated_slug(
        self, benchmark: Benchmark, samples: dict[str, Sample]
    ) -> None:
        (sample,) = [sample for sample in samples.values() if sample.task == "long_form"]
        assert (sample.kind, sample.gold) == (Kind.LONG_FORM, ())
        assert sample.topic is not None
        assert sample.topic.isascii()
        assert benchmark.labels[sample.topic] == "信托"
        assert benchmark.labels["retail_banking"] == "Retail banking"
        assert benchmark.labels["finance"] == "Finance"

    def test_equal_subtopics_of_two_omnieval_topics_are_distinct(self, tmp_path: Path) -> None:
        root = write(tmp_path, {f"{area}/基金/抽取类问答": [item()] for area in ("投资", "银行业务")})
        assert len({sample.topic for sample in OmniEval(str(root)).load().samples}) == 2

    def test_omnieval_notes_count_excluded_items(self, benchmark: Benchmark) -> None:
        assert benchmark.notes == {
            "n_empty_conversations": 1,
            "n_gold_passages_missing": 0,
            "n_gold_passages_not_found": 0,
            "n_evaluations_unusable": 1,
            "n_items_rejected": 0,
            "n_documents": 2,
            "n_empty_documents": 1,
            "empty_documents": "node-3",
            "n_samples_read": 6,
            "n_samples_repeated": 2,
            "n_samples": 6,
            "n_samples_without_gold_in_corpus": 1,
            "n_gold_units_not_in_corpus": 0,
        }

    def test_omnieval_documents_are_read_from_the_corpus(self, benchmark: Benchmark) -> None:
        assert list(benchmark.documents.ids) == ["node-1", "node-2"]
        assert list(benchmark.documents.titles) == ["年报", "公告"]

    def test_omnieval_sample_limit_keeps_every_task(self, tmp_path: Path) -> None:
        limited = OmniEval(str(write(tmp_path)), limit=3).load()
        assert {sample.task for sample in limited.samples} == {"extractive", "conversational", "long_form"}

    def test_omnieval_line_numbers_of_ids_count_blank_lines(self, tmp_path: Path) -> None:
        root = write(tmp_path, {"银行业务/基金/抽取类问答": []})
        (file,) = root.glob("gen_datas_set_final/*/*/*.jsonl")
        file.write_text(f"\n\n{json.dumps(item())}\n", encoding="utf-8")
        assert [sample.id for sample in OmniEval(str(root)).load().samples] == ["funds/extractive/2"]


TEXTS = {"one": "甲乙丙。\n  丁戊己。", "two": "庚辛壬。"}


class TestGold:
    def test_omnieval_gold_spans_are_located_in_all_nodes(self) -> None:
        gold = locate_gold(["one", "two"], ["丁戊己。", "庚辛", "甲乙"], TEXTS)
        assert gold.units == (Evidence("one", 7, 11), Evidence("one", 0, 2), Evidence("two", 0, 2))
        assert gold.n_passages_not_found == 0

    def test_gold_span_is_found_regardless_of_white_space(self) -> None:
        assert find_span("乙丙。丁 戊", TEXTS["one"]) == (1, 9)
        assert find_span("a.c", "abc") is None

    def test_omnieval_node_without_a_passage_is_gold_as_a_whole(self) -> None:
        gold = locate_gold(["one", "two"], ["甲乙", "没有这句"], TEXTS)
        assert gold.units == (Evidence("one", 0, 2), Evidence("two"))
        assert gold.n_passages_not_found == 1
        assert locate_gold(["two"], [], TEXTS) == ((Evidence("two"),), 0)

    def test_missing_gold_nodes_remain_and_are_counted(self, tmp_path: Path) -> None:
        lines: list[object] = [item(), item(relevant_node=["node-1", "elsewhere"]), item(relevant_node="elsewhere")]
        benchmark = OmniEval(str(write(tmp_path, {"银行业务/零售银行/对比类问答": lines}))).load()
        assert [sample.gold[-1].document_id for sample in benchmark.samples] == ["node-1", "elsewhere", "elsewhere"]
        assert benchmark.notes["n_samples_without_gold_in_corpus"] == 1
        assert benchmark.notes["n_gold_units_not_in_corpus"] == 2

    def test_items_of_another_corpus_are_rejected(self, tmp_path: Path) -> None:
        root = write(tmp_path, {"银行业务/零售银行/对比类问答": [item(relevant_node="elsewhere")]})
        with pytest.raises(
            DataError, match="gold belongs to another corpus: none of its 1 documents, such as 'elsewhere'"
        ):
            OmniEval(str(root)).load()


class TestFolders:
    def test_omnieval_reads_the_configured_folders(self, tmp_path: Path) -> None:
        root = write(tmp_path)
        (root / "gen_datas_set_final").rename(root / "mine")
        (root / "corpus" / "nodes_dir" / "set-2048-256_nodes").rename(root / "my_corpus")
        omnieval = OmniEval(str(root), corpus_folder="my_corpus", samples_folder="mine")
        assert len(omnieval.load().samples) == 6
        assert len(omnieval.fingerprint()) == 64

    def test_omnieval_items_are_found_under_data_generator(self, tmp_path: Path) -> None:
        root = write(tmp_path)
        (root / "data_generator").mkdir()
        (root / "gen_datas_set_final").rename(root / "data_generator" / "gen_datas_set_final")
        assert len(OmniEval(str(root)).load().samples) == 6

    def test_several_omnieval_folders_are_listed(self, tmp_path: Path) -> None:
        root = write(tmp_path)
        (root / "gen_datas_other_final").mkdir()
        with pytest.raises(
            DataError, match=r"gen_datas_other_final, gen_datas_set_final\. Choose one with samples_folder"
        ):
            OmniEval(str(root)).load()
        other = root / "corpus" / "nodes_dir" / "other_nodes"
        other.mkdir()
        write_lines(other / "corpus.jsonl", NODES)
        with pytest.raises(DataError, match=r"other_nodes, set-2048-256_nodes\. Choose one with corpus_folder"):
            OmniEval(str(root)).load()

    def test_omnieval_fingerprint_depends_on_file_names_and_contents(self, tmp_path: Path) -> None:
        one, two = write(tmp_path / "one"), write(tmp_path / "two")
        known = OmniEval(str(one)).fingerprint()
        assert known == OmniEval(str(two)).fingerprint()
        (two / "gen_datas_set_final" / "投资").rename(two / "gen_datas_set_final" / "保险")
        assert known != OmniEval(str(two)).fingerprint()


class TestBadInput:
    def test_omnieval_rejects_an_empty_root_and_zero_limit(self) -> None:
        assert OmniEval("somewhere", limit=1).check() == []
        with pytest.raises(ConfigError, match="2 errors"):
            OmniEval(limit=0).load()

    def test_missing_omnieval_folders_and_files_are_errors(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"nodes_dir: does not exist, expected OmniEval's corpus"):
            OmniEval(str(tmp_path)).load()
        root = write(tmp_path)
        with pytest.raises(DataError, match=r"corpus\.jsonl: does not exist, expected OmniEval's corpus"):
            OmniEval(str(root), corpus_folder="nowhere").load()
        with pytest.raises(DataError, match=r"nowhere: does not exist, expected OmniEval's items"):
            OmniEval(str(root), samples_folder="nowhere").load()

    def test_missing_omnieval_items_are_an_error(self, tmp_path: Path) -> None:
        root = write(tmp_path, {})
        with pytest.raises(DataError, match="does not contain a folder gen_datas"):
            OmniEval(str(root)).load()
        (root / "gen_datas_x_final").mkdir()
        with pytest.raises(DataError, match=r"no file <topic>/<subtopic>/<task>\.jsonl"):
            OmniEval(str(root)).load()

    @pytest.mark.parametrize(
        "name",
        [
            "a.jsonl",
            "银行业务/a.jsonl",
            "银行业务/零售银行/a.json",
            "银行业务/零售银行/a.JSONL",
            "银行业务/零售银行/a.jsonl.gz",
        ],
    )
    def test_omnieval_files_in_other_places_or_formats_are_errors(self, tmp_path: Path, name: str) -> None:
        folder = write(tmp_path) / "gen_datas_set_final"
        (folder / "银行业务" / ".DS_Store").touch()
        (folder / "Thumbs.db").touch()
        (folder / "__MACOSX").mkdir()
        OmniEval(str(tmp_path)).load()
        write_lines(folder / name, [item()])
        with pytest.raises(DataError, match=rf"gen_datas_set_final: contains files .*: {name}, expected"):
            OmniEval(str(tmp_path)).fingerprint()

    def test_omnieval_files_in_deeper_folders_are_errors(self, tmp_path: Path) -> None:
        root = write(tmp_path, {**ITEMS, "银行业务/零售银行/更深/抽取类问答": [item()]})
        with pytest.raises(
            DataError, match=r"contains files or folders that are not .*: 银行业务/零售银行/更深, expected"
        ):
            OmniEval(str(root)).load()

    @pytest.mark.parametrize("name", ["投资/基金", "保险"])
    def test_omnieval_topic_without_items_is_an_error(self, tmp_path: Path, name: str) -> None:
        (write(tmp_path) / "gen_datas_set_final" / name).mkdir()
        with pytest.raises(DataError, match=f"contains no items in {name}, expected"):
            OmniEval(str(tmp_path)).load()

    def test_item_with_nodes_but_without_passages_is_counted(self, tmp_path: Path) -> None:
        without = {name: value for name, value in item().items() if name != "relevant_passage"}
        root = write(tmp_path, {"银行业务/零售银行/抽取类问答": [item(), without]})
        assert OmniEval(str(root)).load().notes["n_gold_passages_missing"] == 1

    def test_items_of_a_copied_file_are_counted(self, tmp_path: Path) -> None:
        folder = write(tmp_path) / "gen_datas_set_final" / "投资" / "信托"
        before = OmniEval(str(tmp_path)).load()
        shutil.copy(folder / "长答案形式问答.jsonl", folder / "长答案形式问答 (1).jsonl")
        after = OmniEval(str(tmp_path)).load()
        assert len(after.samples) == len(before.samples) + 1
        assert after.notes["n_samples_repeated"] == int(before.notes["n_samples_repeated"]) + 1

    @pytest.mark.parametrize("content", ["", "\n \n"])
    def test_empty_omnieval_items_file_is_an_error(self, tmp_path: Path, content: str) -> None:
        file = write(tmp_path) / "gen_datas_set_final" / "投资" / "信托" / "抽取类问答.jsonl"
        file.write_text(content, encoding="utf-8")
        with pytest.raises(DataError, match=r"抽取类问答\.jsonl: contains no item, expected"):
            OmniEval(str(tmp_path)).load()

    @pytest.mark.parametrize(
        "name",
        [
            "corpus/nodes_dir/set-2048-256_nodes/corpus.jsonl",
            "gen_datas_set_final/投资/信托/长答案形式问答.jsonl",
            "gen_datas_set_final/投资",
        ],
    )
    def test_omnieval_link_out_of_the_root_is_rejected(self, tmp_path: Path, name: str) -> None:
        root = write(tmp_path / "data")
        (root / name).rename(tmp_path / "outside")
        (root / name).symlink_to(tmp_path / "outside")
        with pytest.raises(
            DataError, match=f"{name}.*: is a link to {tmp_path}/outside.*, outside of {root}, expected"
        ):
            OmniEval(str(root)).load()

    def test_omnieval_links_within_the_root_are_read(self, tmp_path: Path) -> None:
        root = write(tmp_path)
        (root / "gen_datas_set_final" / "投资").rename(root / "moved")
        (root / "gen_datas_set_final" / "投资").symlink_to("../moved")
        assert len(OmniEval(str(root)).load().samples) == 6

    @pytest.mark.parametrize("nodes", [[], [{"id": "a", "contents": " "}]])
    def test_empty_omnieval_corpus_is_rejected(self, tmp_path: Path, nodes: list[object]) -> None:
        with pytest.raises(DataError, match="no document of the corpus has text"):
            OmniEval(str(write(tmp_path, nodes=nodes))).load()

    def test_duplicate_omnieval_node_is_rejected(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="document id 'node-1' occurs twice"):
            OmniEval(str(write(tmp_path, nodes=[*NODES, NODES[0]]))).load()

    def test_omnieval_line_that_is_not_json_is_rejected(self, tmp_path: Path) -> None:
        root = write(tmp_path)
        (file,) = root.glob("gen_datas_set_final/投资/*/*.jsonl")
        file.write_text('{"question": "为', encoding="utf-8")
        with pytest.raises(DataError, match=r"长答案形式问答\.jsonl, line 1: is not JSON at byte 13"):
            OmniEval(str(root)).load()

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            (item(answer=[""]), "line 1: the item has no reference, because field 'answer'"),
            ([item(), item(answer=[])], "line 1, turn 1: the item has no reference"),
            ({"answer": "答"}, "line 1: no field 'question'"),
            ("x", "line 1: got a string, expected an object"),
            (item(evaluation="0"), "line 1, field 'evaluation': got a string, expected a number"),
            (item(evaluation=[0]), "line 1, field 'evaluation': got a list, expected a number"),
            (item(evaluation=True), "line 1, field 'evaluation': got a boolean, expected a number"),
            (
                [item(), item(evaluation={"score": 0})],
                "line 1, turn 1, field 'evaluation': got a JSON object, expected",
            ),
            (item(relevant_node=[1]), "field 'relevant_node': got a number"),
            (item(question=" "), "the question of sample 'retail_banking/extractive/0' is empty"),
        ],
    )
    def test_broken_omnieval_item_is_rejected(self, tmp_path: Path, line: object, message: str) -> None:
        with pytest.raises(DataError, match=message):
            OmniEval(str(write(tmp_path, {"银行业务/零售银行/抽取类问答": [line]}))).load()


def test_published_omnieval_layout_is_read(shared_data: Path) -> None:
    omnieval = OmniEval(str(shared_data / "omnieval_layout"))
    assert isinstance(omnieval, Dataset)
    benchmark = omnieval.load()
    assert (benchmark.notes["n_documents"], benchmark.notes["n_samples"]) == (40, 2_032)
    assert benchmark.notes["n_samples_without_gold_in_corpus"] == 0
    assert benchmark.notes["n_gold_passages_not_found"] == 0
    assert {sample.task for sample in benchmark.samples} == {"extractive", "multi_hop", "contrast", "long_form"}
    assert len({sample.topic for sample in benchmark.samples}) == 68
    texts = dict(zip(benchmark.documents.ids, benchmark.documents.texts, strict=True))
    sample = next(sample for sample in benchmark.samples if "各自的道德与诚信事件中采取了哪些" in sample.question)
    quotes = [texts[unit.document_id][unit.start : unit.end] for unit in sample.gold]
    assert "为了应对这一事件，公司采取了一系列的应对措施。" in quotes


class TestHumanAnnotated:
    """The flat file: each item names its topic and task."""

    def write(self, root: Path, *lines: object) -> Path:
        write(root, {})
        file = root / "data_generator" / "human_annotated" / "v1022" / "v1022.jsonl"
        file.parent.mkdir(parents=True)
        write_lines(file, list(lines))
        return root

    def load(self, root: Path) -> Benchmark:
        return OmniEval(str(root), split=Split.HUMAN).load()

    def test_human_items_are_assigned_to_their_topic_and_task(self, tmp_path: Path) -> None:
        other = item(topic_name="金融 - 投资 - 基金", task_name="对比类问答", question="哪个?")
        benchmark = self.load(self.write(tmp_path, item(), other))
        assert [(sample.id, sample.topic, sample.task) for sample in benchmark.samples] == [
            ("retail_banking/extractive/0", "retail_banking", "extractive"), ("funds/contrast/1", "funds", "contrast"),
        ]  # fmt: skip
        assert benchmark.samples[0].gold == (Evidence("node-1", 0, 13),)
        assert benchmark.labels["funds"] == "Funds"

    def test_conversation_takes_topic_and_task_of_its_first_turn(self, tmp_path: Path) -> None:
        turns = [item(task_name="多轮对话能力"), item(question="总部呢?", answer="青砚市")]
        benchmark = self.load(self.write(tmp_path, [], turns))
        assert [sample.id for sample in benchmark.samples] == [
            "retail_banking/conversational/1#0", "retail_banking/conversational/1#1",
        ]  # fmt: skip
        assert benchmark.samples[1].history == (Turn("哪年成立?", "1998年"),)
        assert benchmark.notes["n_empty_conversations"] == 1

    def test_human_items_without_topic_or_task_are_loaded_and_counted(self, tmp_path: Path) -> None:
        bare = {"question": "哪年?", "answer": "1998年", "relevant_node": "node-1"}
        (sample,) = self.load(self.write(tmp_path, bare)).samples
        assert (sample.id, sample.topic, sample.task) == ("no_topic/no_task/0", None, None)
        assert self.load(tmp_path).notes["n_items_without_topic_or_task"] == 1

    def test_golden_answers_override_answer(self, tmp_path: Path) -> None:
        (sample,) = self.load(self.write(tmp_path, item(golden_answers=["1998"]))).samples
        assert sample.references == ("1998",)

    def test_human_annotated_file_changes_the_fingerprint(self, tmp_path: Path) -> None:
        root = self.write(tmp_path, item())
        before = OmniEval(str(root), split=Split.HUMAN).fingerprint()
        file = root / "data_generator" / "human_annotated" / "v1022" / "v1022.jsonl"
        file.write_bytes(file.read_bytes() + b"\n")
        assert OmniEval(str(root), split=Split.HUMAN).fingerprint() != before

    def test_missing_human_file_names_the_setting(self, tmp_path: Path) -> None:
        with pytest.raises(
            DataError, match=r"does not contain human_annotated/\*/\*\.jsonl\. Set .* or dataset\.human_file"
        ):
            self.load(write(tmp_path))
        with pytest.raises(DataError, match=r"x\.jsonl: does not exist, expected OmniEval's human-annotated items"):
            OmniEval(str(tmp_path), split=Split.HUMAN, human_file="x.jsonl").load()


def test_rejected_turn_is_only_in_the_history(tmp_path: Path) -> None:
    turns = [item(question="一？"), item(question="二？", evaluation=0), item(question="三？")]
    benchmark = OmniEval(str(write(tmp_path, {"银行业务/零售银行/多轮对话类问答": [turns]}))).load()
    assert [sample.question for sample in benchmark.samples] == ["一？", "三？"]
    assert [turn.question for turn in benchmark.samples[1].history] == ["一？", "二？"]
    assert benchmark.notes["n_items_rejected"] == 1


def test_rejected_omnieval_items_are_left_out_and_counted(tmp_path: Path) -> None:
    root = write(tmp_path, {"银行业务/零售银行/抽取类问答": [item(evaluation=0), item(evaluation=1)]})
    benchmark = OmniEval(str(root)).load()
    assert [sample.id for sample in benchmark.samples] == ["retail_banking/extractive/1"]
    assert benchmark.notes["n_items_rejected"] == 1


def test_labels_exist_for_topics_and_tasks_of_earlier_releases(tmp_path: Path) -> None:
    root = write(tmp_path, {"监管与合规/客户知识产权（KYC）/结构化知识问答": [item()]})
    benchmark = OmniEval(str(root)).load()
    assert benchmark.samples[0].id == "know_your_customer/structured_knowledge/0"
    assert benchmark.labels["structured_knowledge"] == "Structured-knowledge QA"
