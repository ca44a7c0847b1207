import dataclasses
from collections import Counter
from itertools import pairwise
from math import log
from pathlib import Path
from random import Random

import pytest

from components.datasets.demo import Demo
from components.llms.extractive import Extractive, _join
from components.records import AnswerState, Kind, Request, Turn
from components.text.sentences import sentence_ends
from components.tokenizers.character_bigrams import CharacterBigrams
from tests.contracts.llm_contract import LLMContract, request
from tests.contracts.passages import make_passages


class TestExtractive(LLMContract):
    component = Extractive()


class TestWithOtherWords(LLMContract):
    component = Extractive(tokenizer=CharacterBigrams())


def answer(given: Request, llm: Extractive | None = None) -> str:
    (only,) = (llm or Extractive()).generate([given])
    return only.text


def sentences_of(*texts: str) -> set[str]:
    return {text[start:end].strip() for text in texts for start, end in pairwise([0, *sentence_ends(text).tolist()])}


NEWS = (
    "青砚市新建了三座桥。桥长共两公里。工程耗资九亿元。",
    "市长出席了通车仪式。桥长共两公里。天气晴好。",
)


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.CORRECTION])
def test_extractive_answer_has_only_sentences_of_the_context(kind: Kind) -> None:
    samples = [sample for sample in Demo().load().samples if sample.kind is kind]
    documents = Demo().load().documents.texts[:6]
    for sample in samples[:20]:
        text = answer(Request(sample.id, (), sample, make_passages(*documents)))
        assert text
        assert sentences_of(text) <= sentences_of(*documents)


@pytest.mark.parametrize("kind", [Kind.QA, Kind.CONVERSATION])
def test_extractive_answer_shares_most_words_with_the_question(kind: Kind) -> None:
    brief = Extractive(answer_characters=1)
    assert answer(request("工程耗资多少？", NEWS, kind), brief) == "工程耗资九亿元。"
    assert answer(request("谁出席了通车仪式？", NEWS, kind), brief) == "市长出席了通车仪式。"


def test_extractive_answer_considers_earlier_turns() -> None:
    brief = Extractive(answer_characters=1)
    history = (Turn("工程耗资多少？", "不清楚。"),)
    assert answer(request("它呢？", NEWS, Kind.CONVERSATION, history), brief) == "工程耗资九亿元。"


@pytest.mark.parametrize("kind", [Kind.LONG_FORM, Kind.SUMMARIZATION])
def test_extractive_text_follows_the_context_without_repetition(kind: Kind) -> None:
    whole = Extractive(text_characters=1000)
    assert answer(request("通车仪式", NEWS, kind), whole) == (
        "青砚市新建了三座桥。桥长共两公里。工程耗资九亿元。市长出席了通车仪式。天气晴好。"
    )


@pytest.mark.parametrize(("kind", "limit"), [(Kind.QA, 20), (Kind.SUMMARIZATION, 30)])
def test_extractive_limit_applies_from_the_second_sentence_on(kind: Kind, limit: int) -> None:
    text = answer(request("桥", NEWS, kind), Extractive(answer_characters=20, text_characters=30))
    assert len(sentences_of(text)) > 1
    assert len(text) <= limit


def test_extractive_continuation_does_not_repeat_the_beginning() -> None:
    beginning = "青砚市新建了三座桥。工程耗资九亿元。"
    brief = Extractive(text_characters=10)
    assert answer(request(beginning, NEWS, Kind.SUMMARIZATION), brief) in sentences_of(beginning)
    assert answer(request(beginning, NEWS, Kind.CONTINUATION), brief) not in sentences_of(beginning)


def test_extractive_correction_replaces_contradicted_statements() -> None:
    stated = "青砚市新建了五座桥。工程耗资九亿元。此事无人报道过。"
    assert answer(request(stated, NEWS, Kind.CORRECTION)) == "青砚市新建了三座桥。工程耗资九亿元。此事无人报道过。"


def test_extractive_correction_keeps_statements_below_the_threshold() -> None:
    stated = "青砚市新建了五座桥。"
    strict = dataclasses.replace(Extractive(), replace_overlap=1.0)
    assert answer(request(stated, NEWS, Kind.CORRECTION), strict) == stated


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("passages", [(), ("",), ("。", " \n！")])
def test_extractive_answer_is_empty_without_a_usable_sentence(kind: Kind, passages: tuple[str, ...]) -> None:
    (only,) = Extractive().generate([request("西湖在哪里？", passages, kind)])
    assert only.state is AnswerState.EMPTY


def _plainly(given: Request, llm: Extractive) -> str:
    """Return the answer by its definition, without caches, and with every sum computed again."""
    sentences = [
        (text, frozenset(llm._terms(text))) for text in llm._sentences([passage.text for passage in given.passages])
    ]
    asked = frozenset(llm._terms(given.sample.question))
    counts = Counter(term for _, terms in sentences for term in terms)
    weight = {term: log(1 + len(sentences) / n) for term, n in counts.items()}
    left, chosen, open_terms = list(enumerate(sentences)), [], set(asked)
    while left:

        def gain(numbered: tuple[int, tuple[str, frozenset[str]]], wanted: frozenset[str]) -> tuple[float, int]:
            place, (_, terms) = numbered
            value = sum(weight[term] for term in sorted(terms & wanted))
            value += 0.1 * sum(weight[term] for term in sorted(terms & asked))
            return value / (len(terms) + 5) ** 0.5, -place

        best = max(left, key=lambda numbered: gain(numbered, frozenset(open_terms)))
        if chosen and sum(len(text) for _, (text, _) in chosen) + len(best[1][0]) > llm.answer_characters:
            break
        chosen.append(best)
        terms = best[1][1]
        open_terms -= terms
        left = [o for o in left if o is not best and len(o[1][1] & terms) / len(o[1][1] | terms) < 0.7]
    return _join([text for _, (text, _) in sorted(chosen)])


def test_extractive_answers_equal_a_plain_implementation() -> None:
    data = Demo().load()
    samples = [sample for sample in data.samples if sample.kind is Kind.QA and not sample.history][:60]
    random = Random(0)
    for sample in samples:
        given = Request(sample.id, (), sample, make_passages(*random.choices(data.documents.texts, k=5)))
        expected = _plainly(given, Extractive())
        assert expected
        assert answer(given) == expected


def test_cached_terms_are_separate_for_each_tokenizer() -> None:
    """Terms are remembered by text and by tokenizer."""
    assert Extractive()._terms("青砚市新建了三座桥") != Extractive(tokenizer=CharacterBigrams())._terms(
        "青砚市新建了三座桥"
    )


@dataclasses.dataclass(frozen=True)
class ReadsFile(CharacterBigrams):
    """Leaves out the words of a file."""

    file: Path = Path("stop.txt")

    def content_hash(self) -> str:
        return self.file.read_text(encoding="utf-8")

    def normalize(self, token: str) -> str:
        return "" if token in self.file.read_text(encoding="utf-8").split() else token


def test_tokenizer_file_is_read_again_in_the_next_sweep(tmp_path: Path) -> None:
    """A notebook runs several sweeps in one process."""
    words = tmp_path / "stop.txt"
    llm = Extractive(answer_characters=1, tokenizer=ReadsFile(words))
    sample = dataclasses.replace(Demo().load().samples[0], question="old river or new bridge", kind=Kind.QA)
    given = Request("1", (), sample, make_passages("A new bridge. An old river."))
    words.write_text("old river")
    assert answer(given, llm) == "A new bridge."
    words.write_text("new bridge")
    assert answer(given, llm) == "An old river."


def test_extractive_rejects_zero_lengths_and_overlap() -> None:
    assert [problem.split(":")[0] for problem in Extractive(0, 0, 0.0).check()] == [
        "answer_characters",
        "text_characters",
        "replace_overlap",
    ]
