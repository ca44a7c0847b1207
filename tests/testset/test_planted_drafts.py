"""Planted bad drafts: each is rejected at its own gate for its own reason, and good drafts pass.

Gates, tasks and wordings come from the configuration. A scripted model writes, reads and inspects.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import pytest

from components.testset.protocols import DraftGate, Task
from components.testset.records import Draft, EvidenceSet, Extract, GateVerdict, Topic, VerdictState
from components.testset.topics.voting import TopicVoting
from tests.testset.composed import built, options
from tests.testset.corpora import SmallCorpus
from tests.testset.rehearsed import ask

TOPICS = (Topic("trams", ("Transport", "tramway")), Topic("banks", ("Finance", "savings")))
TRAM = (
    "The Oakham tramway carried 4120 passengers on its northern branch between the harbour and the old mill. "
    "Winters were mild in those days."
)
DRIVERS = "Altogether 23 drivers have worked along the southern line."
BANK = "The Wexford savings institution lent 880 millions to harbour companies. It had good years."
LEAP_YEAR = "Leap years have 366 days in the tramway calendar of Oakham. Others have fewer."
ASKED = 'As to tramway: What is the exact figure for "Oakham" and "mill"?'


def corpus_of(*texts: str, **named: str) -> SmallCorpus:
    return SmallCorpus({**{f"d{n}": text for n, text in enumerate(texts)}, **named}, {}, TOPICS)


@cache
def gates(language: str = "fr") -> dict[str, DraftGate]:
    """All of them, in their order; French has the English wording."""
    return {name: built(node, DraftGate) for name, node in options(language)["gates"].items()}


def written(task: str, corpus: SmallCorpus, n_documents: int = 1, language: str = "fr") -> tuple[Draft, ...]:
    """Return the scripted writer's drafts for the first documents."""
    ids = list(corpus.texts)[:n_documents]
    extracts = tuple(Extract(own, "", 0, len(corpus.texts[own]), corpus.texts[own]) for own in ids)
    writer = built(options(language)["tasks"][task], Task)
    result = writer.write(task, [EvidenceSet(f"{task} set", task, "trams", extracts)], corpus, ask)
    assert result.not_drafted == ()
    return result.drafts


def through_the_gates(draft: Draft, corpus: SmallCorpus, language: str = "fr") -> tuple[str, GateVerdict, Draft]:
    """Return the gate at which a draft ends ("" for none), its verdict and the draft. A corrected draft passes through
    again.
    """
    for name, gate in gates(language).items():
        if gate.applies_to(draft):
            (verdict,) = gate.verdicts([draft], corpus, ask)
            if verdict.state is VerdictState.CORRECTED:
                assert verdict.draft is not None
                return through_the_gates(verdict.draft, corpus, language)
            if verdict.state not in (VerdictState.PASSED, VerdictState.TAGGED):
                return name, verdict, draft
            draft = verdict.draft or draft
    return "", GateVerdict(VerdictState.PASSED), draft


Case = tuple[Draft, SmallCorpus]


def flawed(flaw: str, *texts: str, task: str = "extractive", turn: int = 0) -> Case:
    """Return a draft of documents; the first document contains a marker for the model."""
    first, *others = texts or (TRAM,)
    corpus = corpus_of(f"{first} (flaw:{flaw})", *others)
    return written(task, corpus, len(texts) or 1)[turn], corpus


def good(*texts: str, task: str = "extractive", **changes: object) -> Case:
    """A good draft of documents, with something changed."""
    corpus = corpus_of(*(texts or (TRAM,)))
    return replace(written(task, corpus, len(texts) or 1)[0], **changes), corpus  # type: ignore[arg-type]


def draft_with_title() -> Case:
    draft, corpus = good()
    return draft, replace(corpus, titles={"d0": ASKED})


def beside_another() -> Case:
    draft, _ = good()
    return draft, corpus_of(TRAM, TRAM.replace("4120", "5230"))


PLANTED: dict[str, tuple[str, Callable[[], Case]]] = {
    "not_a_question": ("form", lambda: flawed("not_a_question")),
    "points_at_document": ("form", lambda: flawed("points_at_document")),
    "non_answer": ("form", lambda: flawed("no_answer")),
    "question_in_other_language": ("form", lambda: flawed("other_language")),
    "personal_email": ("form", lambda: flawed("personal_data")),
    "quote_not_found": ("location", lambda: flawed("changed_number")),
    "quote_ambiguous": ("location", lambda: good(" ".join([TRAM.partition(" Winters")[0]] * 12))),
    "evidence_unused": ("location", lambda: flawed("first_document_alone", TRAM, BANK, task="multi_hop")),
    "reference_in_question": (
        "leaks",
        lambda: good(references=("4120 passengers",), question=ASKED.replace("figure", "figure of 4120 passengers")),
    ),
    "gold_wording_in_question": (
        "leaks",
        lambda: good(
            question="How many passengers on its northern branch between the harbour and the old mill had Oakham?"
        ),
    ),
    "title_in_question": ("leaks", draft_with_title),
    "text_contained": ("containment", lambda: good(TRAM, f"{BANK} {TRAM}", task="multi_hop")),
    "arithmetic_wrong": ("arithmetic", lambda: good(expression="4120 * 7")),
    "operand_not_in_gold": ("arithmetic", lambda: good(expression="4000 + 120")),
    "expression_unreadable": ("arithmetic", lambda: good(expression="about four thousand")),
    "other_topic": ("same_topic", lambda: flawed("no_topic")),
    "not_self_contained": ("self_contained", lambda: flawed("nothing_named")),
    "history_not_needed": (
        "self_contained",
        lambda: flawed("no_follow_up", f"{TRAM} {DRIVERS}", task="conversational", turn=1),
    ),
    "not_answerable": ("answerable", lambda: flawed("other_citation")),
    "other_answer": ("answerable", lambda: flawed("other_number")),
    "not_supported": ("supported", lambda: flawed("unsupported", TRAM, BANK, task="summary")),
    "closed_book": ("closed_book", lambda: good(LEAP_YEAR)),
    "document_not_needed": ("each_document", lambda: flawed("one_fact_asked", TRAM, BANK, task="multi_hop")),
    "several_answers": ("single_answer", beside_another),
    "dropped_by_inspector": ("inspection", lambda: flawed("dropped")),
    "needs_second_correction": ("inspection", lambda: flawed("corrected_twice")),
    "verdict_unreadable": ("inspection", lambda: flawed("no_verdict")),
}


@pytest.mark.parametrize("reason", PLANTED)
def test_planted_bad_draft_is_rejected_with_its_own_reason(reason: str) -> None:
    gate, case = PLANTED[reason]
    name, verdict, _ = through_the_gates(*case())
    assert (name, verdict.reason, verdict.state) == (gate, reason, VerdictState.REJECTED)
    assert verdict.detail


def test_every_gate_has_a_planted_bad_draft() -> None:
    assert [gate for gate in gates() if gate not in {name for name, _ in PLANTED.values()}] == []


CHINESE = {
    "tram": "青砚有轨电车公司全年运送乘客4120万人次。该线路共有司机23名长期值守南段。",
    "bank": "澜江储蓄银行向港务集团发放贷款880亿元。没有人料到会有1200份信贷申请。",
}
ENGLISH = {"tram": f"{TRAM} {DRIVERS}", "bank": BANK}
IN_CHINESE = (Topic("trams", ("交通", "电车")), Topic("banks", ("金融", "储蓄")))


@pytest.mark.parametrize(("texts", "language", "topics"), [(ENGLISH, "fr", TOPICS), (CHINESE, "zh", IN_CHINESE)])
def test_good_drafts_pass_the_gates_with_gold(texts: dict[str, str], language: str, topics: Sequence[Topic]) -> None:
    corpus = SmallCorpus(texts, {}, topics)
    drafts = [
        *written("extractive", corpus, 1, language),
        *written("multi_hop", corpus, 2, language),
        *written("conversational", corpus, 1, language),
    ]
    assert [draft.turn for draft in drafts] == [0, 0, 0, 1]
    for draft in drafts:
        name, verdict, passed = through_the_gates(draft, corpus, language)
        assert (name, verdict.reason) == ("", "")
        assert {unit.document_id for unit in passed.gold} == {own.document_id for own in draft.evidence.extracts}


def test_corrected_draft_passes_the_gates_on_the_second_attempt() -> None:
    name, _, passed = through_the_gates(*flawed("corrected"))
    assert (name, passed.was_corrected) == ("", True)
    assert "precise figure" in passed.question
    assert passed.gold
    assert passed.notes["question_before"] == ASKED


@pytest.mark.parametrize("language", ["fr", "zh"])
def test_planted_tied_vote_is_adjudicated(language: str) -> None:
    voting = built(options(language)["topics"]["voting"], TopicVoting)
    texts = [TRAM, f"{TRAM} (flaw:tied_vote)", f"{TRAM} (flaw:out_of_domain)"]
    agreed, tied, outside = voting.classify(["a", "b", "c"], texts, TOPICS, lambda _: ask)
    assert (agreed.winner, agreed.was_adjudicated) == ("trams", False)
    assert len({vote.slug for vote in tied.votes.values()}) > 1
    assert (tied.winner, tied.was_adjudicated) == ("trams", True)
    assert (outside.winner, outside.was_adjudicated) == ("", False)
