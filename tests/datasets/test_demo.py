"""The bundled benchmark: its loader, and the consistency of its texts."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from components.datasets.crud_split import SUBSETS
from components.datasets.demo import Demo, read_demo
from components.datasets.labels import TASK_LABELS, TOPIC_LABELS
from components.errors import ConfigError, DataError
from components.protocols import Dataset
from components.records import Benchmark, Evidence, Kind, Sample, Turn
from tests.datasets.numbers_in_text import not_derivable

NUMBERS_IN_SEVERAL_STEPS: Mapping[str, tuple[str, ...]] = {
    "fin-derivatives-multi_hop-2": ("2628", "144"),  # (19150 - 18420) x 10 x 3600 = 2628 万; 2628 - 690 x 3.6 = 144
}
"""Sample id -> numbers of its references that take more operations on those of its gold than are tried: by hand."""

DOCUMENT = {"id": "d1", "title": "标题", "text": "青砚市新建了三座桥。桥长共两公里。"}
SAMPLE = {
    "id": "s1",
    "subset": "finance",
    "topic": "funds",
    "task": "conversational",
    "question": "它有多长?",
    "history": [{"question": "建了什么?", "answer": "三座桥。"}],
    "references": ["两公里。"],
    "gold": [{"document": "d1", "quote": "桥长共两公里。"}, {"document": "d1", "quote": None}],
}


def read(folder: Path, **changes: object) -> Benchmark:
    for name, record in (("documents.jsonl", DOCUMENT), ("samples.jsonl", {**SAMPLE, **changes})):
        (folder / name).write_text(json.dumps(record, ensure_ascii=False), encoding="utf-8")
    return read_demo(folder / "documents.jsonl", folder / "samples.jsonl", Demo.labels)


class TestReading:
    def test_demo_sample_is_read_with_all_fields(self, tmp_path: Path) -> None:
        (sample,) = read(tmp_path).samples
        assert sample == Sample(
            id="s1",
            subset="finance",
            kind=Kind.CONVERSATION,
            question="它有多长?",
            references=("两公里。",),
            gold=(Evidence("d1", 10, 17), Evidence("d1")),
            topic="funds",
            task="conversational",
            history=(Turn("建了什么?", "三座桥。"),),
        )

    @pytest.mark.parametrize(
        ("subset", "task", "kind"),
        [
            ("create/continuation", None, Kind.CONTINUATION),
            ("delete/summarization", None, Kind.SUMMARIZATION),
            ("update/hallucination", None, Kind.CORRECTION),
            ("read/qa_3docs", None, Kind.QA),
            ("finance", "long_form", Kind.LONG_FORM),
            ("finance", "multi_hop", Kind.QA),
        ],
    )
    def test_demo_samples_have_the_kind_of_their_subset_and_task(
        self, tmp_path: Path, subset: str, task: str | None, kind: Kind
    ) -> None:
        (sample,) = read(tmp_path, subset=subset, task=task).samples
        assert sample.kind is kind

    @pytest.mark.parametrize("quote", ["四座桥", "桥"])
    def test_demo_quote_that_does_not_occur_once_is_rejected(self, tmp_path: Path, quote: str) -> None:
        with pytest.raises(DataError, match=rf"line 1 \(id s1\): the quote '{quote}' of the gold occurs \d times"):
            read(tmp_path, gold=[{"document": "d1", "quote": quote}])

    def test_demo_gold_in_an_unknown_document_is_rejected(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="gold of sample 's1' is not in the corpus, which has no document 'd2'"):
            read(tmp_path, gold=[{"document": "d2", "quote": "桥长"}])

    def test_demo_sample_without_a_reference_is_rejected(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"\(id s1\): the item has no reference"):
            read(tmp_path, references=[" "])

    def test_demo_rejects_a_limit_of_zero(self) -> None:
        assert Demo(limit=0).check() == ["limit: got 0, expected at least 1, or null for all samples"]
        with pytest.raises(ConfigError, match="limit: got 0"):
            Demo(limit=0).load()


@pytest.fixture(scope="module")
def demo() -> Benchmark:
    return Demo().load()


@pytest.fixture(scope="module")
def texts(demo: Benchmark) -> dict[str, str]:
    return dict(zip(demo.documents.ids, demo.documents.texts, strict=True))


class TestBundledData:
    def test_demo_is_a_dataset_with_a_fingerprint(self) -> None:
        assert isinstance(Demo(), Dataset)
        assert Demo().name == "demo"
        assert Demo().check() == []
        assert Demo().fingerprint() == Demo(limit=3).fingerprint()

    def test_demo_ids_are_unique(self, demo: Benchmark) -> None:
        assert len(set(demo.documents.ids)) == len(demo.documents)
        assert len({sample.id for sample in demo.samples}) == len(demo.samples)

    def test_demo_documents_differ_and_have_titles(self, demo: Benchmark) -> None:
        assert len(set(demo.documents.texts)) == len(demo.documents)
        assert all(title.strip() for title in demo.documents.titles)

    def test_demo_documents_are_200_to_900_characters_long(self, texts: dict[str, str]) -> None:
        assert {an_id: len(text) for an_id, text in texts.items() if not 200 <= len(text) <= 900} == {}

    def test_demo_subsets_of_crud_have_8_items(self, demo: Benchmark) -> None:
        counts = Counter(sample.subset for sample in demo.samples)
        assert set(counts) == {*SUBSETS, "finance"}
        assert min(counts.values()) >= 8

    def test_demo_matrix_fields_have_2_items(self, demo: Benchmark) -> None:
        counts = Counter((sample.topic, sample.task) for sample in demo.samples if sample.subset == "finance")
        assert set(counts) == {(topic, task) for topic in TOPIC_LABELS for task in TASK_LABELS}
        assert min(counts.values()) >= 2

    def test_every_demo_slug_has_a_label(self, demo: Benchmark) -> None:
        slugs = {slug for sample in demo.samples for slug in (sample.subset, sample.topic, sample.task) if slug}
        assert slugs <= set(demo.labels)

    def test_every_demo_sample_has_gold_in_the_corpus(self, demo: Benchmark, texts: dict[str, str]) -> None:
        assert [sample.id for sample in demo.samples if not sample.gold] == []
        units = [unit for sample in demo.samples for unit in sample.gold]
        assert all(unit.document_id in texts for unit in units)
        assert all(unit.end is None or unit.end <= len(texts[unit.document_id]) for unit in units)
        assert demo.notes["n_gold_units_not_in_corpus"] == 0

    @pytest.mark.parametrize(("name", "n_documents"), [("read/qa_2docs", 2), ("contrast", 2), ("read/qa_3docs", 3)])
    def test_multi_document_demo_items_have_gold_in_several_documents(
        self, demo: Benchmark, name: str, n_documents: int
    ) -> None:
        samples = [sample for sample in demo.samples if name in (sample.subset, sample.task)]
        n_gold = {sample.id: len({unit.document_id for unit in sample.gold}) for sample in samples}
        assert {an_id: n for an_id, n in n_gold.items() if n < n_documents} == {}

    def test_demo_conversations_have_three_turns_with_cumulative_history(self, demo: Benchmark) -> None:
        turns = {sample.id: sample for sample in demo.samples if sample.kind is Kind.CONVERSATION}
        conversations = {an_id.rpartition("-t")[0] for an_id in turns}
        assert sorted(turns) == sorted(f"{name}-t{number}" for name in conversations for number in (1, 2, 3))
        for name in conversations:
            first, second, third = (turns[f"{name}-t{number}"] for number in (1, 2, 3))
            history = (Turn(first.question, first.references[0]), Turn(second.question, second.references[0]))
            assert (first.history, second.history, third.history) == ((), history[:1], history)

    def test_every_number_of_a_demo_reference_is_derivable(self, demo: Benchmark, texts: dict[str, str]) -> None:
        wrong = {sample.id: not_derivable(sample.references, source_of(sample, texts)) for sample in demo.samples}
        unexplained = {
            an_id: numbers
            for an_id, numbers in wrong.items()
            if set(numbers) - set(NUMBERS_IN_SEVERAL_STEPS.get(an_id, ()))
        }
        assert unexplained == {}


def source_of(sample: Sample, texts: Mapping[str, str]) -> str:
    """All that the numbers of a sample's references may come from."""
    history = [text for turn in sample.history for text in (turn.question, turn.answer)]
    gold = [texts[unit.document_id][unit.start : unit.end] for unit in sample.gold]
    return "\n".join([sample.question, *history, *gold])
