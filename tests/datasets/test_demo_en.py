"""The bundled English benchmark: the consistency of its texts, and the language that it selects."""

import io
import re
from collections import Counter
from collections.abc import Mapping
from itertools import chain
from pathlib import Path

import pytest
from rich.console import Console

from components.datasets.demo import Demo
from components.datasets.demo_en import DemoEn
from components.datasets.labels import TASK_LABELS
from components.protocols import Dataset
from components.records import Benchmark, Kind, Sample, Turn
from components.text.languages import detect_language
from runner.output.plan_report import show_plan
from tests.datasets.numbers_in_text import not_derivable
from tests.runner.sweeping import compose_job, plan_small

TOPICS = {"transport", "energy", "health", "finance", "software"}
SUBSETS = {"one_document", "several_documents", "conversations", "unanswerable"}
NUMBER_WORDS = {
    word: str(number)
    for number, word in chain(
        enumerate(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
            "seventeen eighteen nineteen".split()
        ),
        [(22, "twenty-two"), (31, "thirty-one")],
    )
} | {"fifteenth": "15"}
NUMBERS_IN_SEVERAL_STEPS: Mapping[str, tuple[str, ...]] = {
    "software-multi_hop-4": ("15",),  # 04:47 and eleven hours
    "software-multi_hop-8": ("1840",),  # 5 percent and 5 percent, so 10 percent of 18,400
}
"""Sample id -> numbers of its references that take more operations on those of its gold than are tried: by hand."""


@pytest.fixture(scope="module")
def demo() -> Benchmark:
    return DemoEn().load()


@pytest.fixture(scope="module")
def texts(demo: Benchmark) -> dict[str, str]:
    return dict(zip(demo.documents.ids, demo.documents.texts, strict=True))


class TestBundledData:
    def test_english_demo_has_a_separate_name_and_fingerprint(self) -> None:
        assert isinstance(DemoEn(), Dataset)
        assert (DemoEn().name, DemoEn().check()) == ("demo_en", [])
        assert DemoEn().fingerprint() == DemoEn(limit=3).fingerprint() != Demo().fingerprint()

    def test_english_demo_is_written_in_english(self, demo: Benchmark) -> None:
        assert detect_language([*demo.documents.texts, *(sample.question for sample in demo.samples)]) == "en"
        everything = [*demo.documents.titles, *demo.documents.texts, *(s.question for s in demo.samples)]
        assert [text for text in everything if re.search(r"[\u3000-\u9fff\uff00-\uffef]", text)] == []

    def test_english_demo_has_the_documented_counts(self, demo: Benchmark) -> None:
        assert len(demo.documents) >= 80
        assert len(demo.samples) >= 200
        assert len({sample.id for sample in demo.samples}) == len(demo.samples)
        assert len({sample.question for sample in demo.samples if not sample.history}) == len(
            [sample for sample in demo.samples if not sample.history]
        )

    def test_english_demo_documents_have_titles_and_120_to_250_words(
        self, demo: Benchmark, texts: dict[str, str]
    ) -> None:
        assert len(set(demo.documents.texts)) == len(set(demo.documents.titles)) == len(demo.documents)
        assert {an_id: n for an_id, text in texts.items() if not 120 <= (n := len(text.split())) <= 250} == {}

    def test_english_demo_matrix_fields_have_3_items(self, demo: Benchmark) -> None:
        counts = Counter((sample.topic, sample.task) for sample in demo.samples if sample.answerable)
        assert set(counts) == {(topic, task) for topic in TOPICS for task in TASK_LABELS}
        assert min(counts.values()) >= 3

    def test_every_english_demo_slug_has_a_label(self, demo: Benchmark) -> None:
        slugs = {slug for sample in demo.samples for slug in (sample.subset, sample.topic, sample.task) if slug}
        assert slugs == {*TOPICS, *TASK_LABELS, *SUBSETS} == set(demo.labels)

    def test_only_answerable_english_demo_questions_have_gold_quotes(self, demo: Benchmark) -> None:
        assert [sample.id for sample in demo.samples if sample.answerable != bool(sample.gold)] == []
        assert all(unit.end is not None for sample in demo.samples for unit in sample.gold)

    def test_english_demo_has_two_unanswerable_questions_per_topic(self, demo: Benchmark) -> None:
        unanswerable = [sample for sample in demo.samples if not sample.answerable]
        assert Counter(sample.topic for sample in unanswerable) == dict.fromkeys(TOPICS, 2)
        assert {(sample.subset, sample.task) for sample in unanswerable} == {("unanswerable", None)}

    def test_every_english_demo_document_is_gold_of_a_question(self, demo: Benchmark) -> None:
        assert {unit.document_id for sample in demo.samples for unit in sample.gold} == set(demo.documents.ids)

    def test_english_demo_subsets_match_the_number_of_gold_documents(self, demo: Benchmark) -> None:
        for sample in demo.samples:
            n_documents = len({unit.document_id for unit in sample.gold})
            if sample.subset == "one_document":
                assert n_documents == 1, sample.id
            if sample.subset == "several_documents" or sample.task in ("multi_hop", "contrast"):
                assert n_documents >= 2, sample.id
            assert (sample.subset == "conversations") == (sample.kind is Kind.CONVERSATION), sample.id

    def test_english_demo_conversations_have_three_turns_with_cumulative_history(self, demo: Benchmark) -> None:
        turns = {sample.id: sample for sample in demo.samples if sample.kind is Kind.CONVERSATION}
        conversations = {an_id.rpartition("-t")[0] for an_id in turns}
        assert sorted(turns) == sorted(f"{name}-t{number}" for name in conversations for number in (1, 2, 3))
        for name in conversations:
            first, second, third = (turns[f"{name}-t{number}"] for number in (1, 2, 3))
            history = (Turn(first.question, first.references[0]), Turn(second.question, second.references[0]))
            assert (first.history, second.history, third.history) == ((), history[:1], history)

    def test_every_number_of_an_english_demo_reference_is_derivable(self, demo: Benchmark) -> None:
        wrong = {sample.id: not_derivable(sample.references, source_of(sample, demo)) for sample in demo.samples}
        unexplained = {
            an_id: numbers
            for an_id, numbers in wrong.items()
            if set(numbers) - set(NUMBERS_IN_SEVERAL_STEPS.get(an_id, ()))
        }
        assert unexplained == {}


def source_of(sample: Sample, demo: Benchmark) -> str:
    """Return all texts from which the numbers in a sample's references may come, with number words as digits."""
    rows = {an_id: row for row, an_id in enumerate(demo.documents.ids)}
    history = [text for turn in sample.history for text in (turn.question, turn.answer)]
    gold = [demo.documents.texts[rows[unit.document_id]][unit.start : unit.end] for unit in sample.gold]
    titles = [demo.documents.titles[rows[unit.document_id]] for unit in sample.gold]
    text = "\n".join([sample.question, *history, *titles, *gold])
    return re.sub(r"[A-Za-z]+(-[a-z]+)?", lambda word: NUMBER_WORDS.get(word[0].lower(), word[0]), text)


class TestLanguage:
    """A data set in one language selects that language, unless the user names another."""

    def test_english_demo_selects_the_english_language(self) -> None:
        brought, named = (compose_job(*overrides).config for overrides in (["dataset=demo_en"], ["language=en"]))
        assert brought["language"]["name"] == "en"
        for group in ("language", "tokenizer", "prompt", "metrics", "embedder", "retriever", "llm"):
            assert brought[group] == named[group], group

    def test_part_of_the_english_demo_selects_the_english_language(self) -> None:
        config = compose_job("dataset=part", "dataset@dataset.of=demo_en").config
        assert config["language"]["name"] == "en"

    def test_chinese_data_keeps_the_chinese_language(self) -> None:
        for overrides in ([], ["dataset=demo"]):
            config = compose_job(*overrides).config
            assert config["language"]["name"] == "zh"
            assert config["tokenizer"]["_target_"].endswith("RjiebaWords")

    @pytest.mark.parametrize("overrides", [["dataset=demo_en", "language=zh"], ["language=zh", "dataset=demo_en"]])
    def test_named_language_overrides_the_language_of_the_data(self, overrides: list[str]) -> None:
        config = compose_job(*overrides).config
        assert config["language"]["name"] == "zh"
        assert config["tokenizer"] == compose_job("language=zh").config["tokenizer"]
        assert config["prompt"] == compose_job("language=zh").config["prompt"]

    def test_named_tokenizer_overrides_the_tokenizer_of_the_language(self) -> None:
        config = compose_job("dataset=demo_en", "tokenizer=bigrams").config
        assert config["language"]["name"] == "en"
        assert config["tokenizer"]["_target_"].endswith("CharacterBigrams")

    def test_unfitting_language_is_one_line_that_names_the_switch(self, tmp_path: Path) -> None:
        shown = plan(tmp_path, "dataset=demo_en", "language=zh")
        assert shown.count("the texts look English, but these components are made for other languages:") == 1
        assert "Add language=en" in shown
        assert "made for others" not in plan(tmp_path, "dataset=demo_en")


def plan(folder: Path, *overrides: str) -> str:
    output = io.StringIO()
    show_plan(Console(file=output, width=1000), plan_small(folder, overrides), by_stage=False)
    return output.getvalue()
