from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from components.protocols import LLM, Ask
from components.records import Kind
from components.testset.evidence import EvidenceSettings, evidence_sets, facts
from components.testset.protocols import SourceCorpus, Task
from components.testset.records import EvidenceSet, WrittenDrafts
from tests.testset.corpora import SmallCorpus

SETTINGS = EvidenceSettings(n_characters=200, least_characters=10, characters_per_set=300)


@dataclass(frozen=True)
class Wanted:
    """A task that only determines the evidence."""

    n_documents: int = 1
    removes_source: bool = False

    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = Kind.QA
    llm: ClassVar[LLM | None] = None
    n_requests: ClassVar[int] = 0

    def write(self, name: str, evidence: Sequence[EvidenceSet], corpus: SourceCorpus, ask: Ask) -> WrittenDrafts:
        raise NotImplementedError


def sentences(subject: str, first: int, n: int = 4) -> str:
    return " ".join(
        f"The {subject} of Port Elsa sold {number} boats in {1900 + number}." for number in range(first, first + n)
    )


CORPUS = SmallCorpus(
    {
        "a": sentences("yard", 10),
        "b": sentences("museum", 50),
        "c": sentences("bank", 70),
        "copy": sentences("yard", 10) + " And more.",
        "blank": " \n ",
        "digits": "12345 67890 " * 5,
        "spaced": "A 1.\n\n\n\n\n\n B 2.",
        "short": "Hi 1.",
    }
)


def make_sets(
    task: Task, ids: Sequence[str], settings: EvidenceSettings = SETTINGS, corpus: SourceCorpus = CORPUS
) -> list[EvidenceSet]:
    return evidence_sets("some_task", task, ids, corpus, settings)


def test_evidence_set_begins_with_a_piece_of_its_document() -> None:
    (own,) = make_sets(Wanted(), ["a"])
    (extract,) = own.extracts
    assert (own.task, own.topic, own.near) == ("some_task", "", ())
    assert extract.document_id == "a"
    assert CORPUS.texts["a"][extract.start : extract.end] == extract.text


def test_documents_without_content_give_no_evidence_set() -> None:
    assert make_sets(Wanted(), ["blank", "digits", "short", "spaced"]) == []


def test_evidence_partners_are_other_documents_and_not_copies() -> None:
    (own,) = make_sets(Wanted(n_documents=3), ["a"])
    assert own.extracts[0].document_id == "a"
    assert {extract.document_id for extract in own.extracts[1:]} == {"b", "c"}


def test_evidence_without_enough_partners_gives_no_set() -> None:
    assert make_sets(Wanted(n_documents=4), ["a"]) == []
    assert make_sets(Wanted(n_documents=2), ["a"], replace(SETTINGS, n_candidates=1, most_contained=0.01)) == []


def test_removable_source_needs_near_documents_and_no_copy() -> None:
    (own,) = make_sets(Wanted(removes_source=True), ["b"], replace(SETTINGS, n_near=2))
    assert len(own.extracts) == 1
    assert len(own.near) == 2
    assert "b" not in own.near
    assert make_sets(Wanted(removes_source=True), ["a"]) == []


def test_removable_copy_and_partner_may_stay() -> None:
    both = SmallCorpus(CORPUS.texts, leaving={"a", "copy"})
    assert make_sets(Wanted(removes_source=True), ["a"], corpus=both) == []
    for leaving, partner in ({"a", "copy"}, "c"), ({"c", "copy"}, "a"):
        (own,) = make_sets(Wanted(n_documents=2), ["b"], corpus=SmallCorpus(CORPUS.texts, leaving=leaving))
        assert own.extracts[1].document_id == partner


def test_long_document_gets_more_evidence_sets_only_after_other_documents() -> None:
    corpus = SmallCorpus({"long": sentences("yard", 10, 25), "other": sentences("bank", 70)})
    found = [own.extracts[0] for own in make_sets(Wanted(), ["long", "other"], corpus=corpus)]
    assert [extract.document_id for extract in found] == ["long", "other", "long", "long", "long"]
    assert len({(extract.document_id, extract.start) for extract in found}) == 5


def test_evidence_sets_of_a_document_depend_only_on_it_and_the_seed() -> None:
    corpus = SmallCorpus({"long": sentences("yard", 10, 30), "other": sentences("bank", 70)})
    alone = make_sets(Wanted(), ["long"], corpus=corpus)
    assert {own.id for own in alone} < {own.id for own in make_sets(Wanted(), ["other", "long"], corpus=corpus)}
    assert len({own.id for own in alone}) == len(alone)
    assert alone != make_sets(Wanted(), ["long"], replace(SETTINGS, seed=1), corpus)
    assert [own.extracts for own in alone] != [
        own.extracts for own in evidence_sets("other_task", Wanted(), ["long"], corpus, SETTINGS)
    ]


def test_evidence_settings_out_of_range_are_rejected() -> None:
    assert EvidenceSettings().check() == []
    wrong = EvidenceSettings(n_characters=50, least_characters=60, most_contained=0.0, most_sets=0)
    assert len(wrong.check()) == 4


@pytest.mark.parametrize("text", ["‮" * 50 + "abc. " * 20, "\x00a" * 100, "😀 and more. " * 20, "\ud800 a. " * 40])
def test_evidence_of_strange_characters_is_part_of_the_text(text: str) -> None:
    (own,) = make_sets(Wanted(), ["x"], corpus=SmallCorpus({"x": text}))
    assert own.extracts[0].text in text


def test_facts_are_numbers_names_and_quoted_titles() -> None:
    found = facts('On 3 May the Bank of England raised rates to 5.25%, said "Blue Moon" of Mr Smith.')
    assert found == {"3", "May", "Bank", "England", "5.25", '"Blue Moon"', "Mr Smith"}


def test_quoted_chinese_titles_and_wide_digits_are_facts() -> None:
    assert facts("２０２３年《人民日报》报道“一带一路”增长12.5%。") == {"2023", "《人民日报》", "“一带一路”", "12.5"}


def test_capital_at_the_beginning_of_a_sentence_is_not_a_name() -> None:
    assert facts("They left. Nobody asked.") == frozenset()
