from dataclasses import replace

from components.records import Evidence, Kind
from components.testset.gates.location import Location
from components.testset.records import Quote
from tests.contracts.gate_contract import SilentGateContract
from tests.testset.gates.drafts import SmallCorpus, ask_nobody, draft_on

CORPUS = SmallCorpus({"a": "存款增长了5%。贷款增长了7%。存款增长了5%。"})
DRAFT = draft_on(CORPUS, "贷款增长了多少？", "7%")


class TestLocation(SilentGateContract):
    component = Location(max_added_sentences=4)
    corpus = CORPUS
    good = replace(DRAFT, quotes=(Quote((2,), "贷款增长了7%"),))
    bad = replace(DRAFT, quotes=(Quote((2,), "贷款增长了8%"),))


def test_continuation_passes_without_gold() -> None:
    assert not Location(0).applies_to(replace(DRAFT, kind=Kind.CONTINUATION))
    assert Location(0).applies_to(replace(DRAFT, kind=Kind.SUMMARIZATION))


def test_location_gate_widens_gold_up_to_its_limit() -> None:
    draft = replace(DRAFT, quotes=(Quote((1,)),))
    (wide,) = Location(4).verdicts([draft], CORPUS, ask_nobody)
    assert wide.draft is not None
    assert wide.draft.gold == (Evidence("a", 0, 16),)
    (narrow,) = Location(0).verdicts([draft], CORPUS, ask_nobody)
    assert narrow.reason == "quote_ambiguous"
