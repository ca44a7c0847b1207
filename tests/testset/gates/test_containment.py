from dataclasses import replace
from pathlib import Path

import pytest

from components.datasets.crud_split import read_split
from components.records import Evidence
from components.testset.gates.containment import Containment
from components.testset.records import PASSED, Draft, EvidenceSet
from tests.contracts.gate_contract import SilentGateContract
from tests.testset.gates.drafts import SmallCorpus, ask_nobody, draft_on

TRAM = "青砚有轨电车2号线今晨载客，线路西起望渡站，东至鹤汀站，全长17.6公里。"
SCHOOL = "沿线分布着七所学校和三家医院，客流预测模型给出的初期日均客流为三万五千人次。"
GATE = Containment(half=0.5, whole=0.9, shortest=30, tags=False)


def _draft(*texts: str) -> Draft:
    corpus = SmallCorpus({str(number): text for number, text in enumerate(texts)})
    return draft_on(corpus, "有何异同？", "不同")


class TestContainment(SilentGateContract):
    component = GATE
    corpus = SmallCorpus({})
    good = _draft(TRAM, SCHOOL)
    bad = _draft(TRAM + SCHOOL, SCHOOL)


def test_full_and_half_containment_have_different_reasons() -> None:
    drafts = [_draft(TRAM, SCHOOL, f"{TRAM[:20]} {TRAM[20:]}"), _draft(TRAM + SCHOOL, TRAM, "另一篇没有人读过的文章。")]
    half = _draft(TRAM[:25] + "其余部分与别处不同，写的是另一件事情了。", TRAM)
    verdicts = GATE.verdicts([*drafts, half], SmallCorpus({}), ask_nobody)
    assert [verdict.reason for verdict in verdicts] == ["text_contained", "text_contained", "text_half_contained"]


def test_containment_compares_gold_texts_without_extracts() -> None:
    corpus = SmallCorpus({"a": f"甲。{TRAM}", "b": f"{TRAM}乙。", "c": SCHOOL})
    draft = draft_on(corpus, "？", "！", gold=[("a", TRAM), ("b", TRAM)])
    bare = replace(draft, evidence=EvidenceSet("", "", "", ()))
    assert GATE.verdicts([bare], corpus, ask_nobody)[0].reason == "text_contained"
    assert GATE.verdicts([replace(bare, gold=bare.gold[:1])], corpus, ask_nobody) == [PASSED]
    assert not GATE.applies_to(replace(bare, gold=bare.gold[:1]))


def test_overlapping_gold_spans_contain_each_other() -> None:
    corpus = SmallCorpus({"a": f"{TRAM}{SCHOOL}"})
    bare = replace(draft_on(corpus, "？", "！"), evidence=EvidenceSet("", "", "", ()))
    within = (Evidence("a", 0, len(TRAM)), Evidence("a", 2, len(TRAM) + 5))
    assert GATE.applies_to(replace(bare, gold=within))
    assert GATE.verdicts([replace(bare, gold=within)], corpus, ask_nobody)[0].reason == "text_contained"
    assert GATE.applies_to(replace(bare, gold=(Evidence("a"), within[0])))
    assert not GATE.applies_to(replace(bare, gold=(within[0], Evidence("a", len(TRAM), len(TRAM + SCHOOL)))))


def test_containment_ignores_single_documents_and_short_texts() -> None:
    assert not GATE.applies_to(_draft(TRAM))
    assert GATE.verdicts([_draft("同样短的话", "同样短的话")], SmallCorpus({}), ask_nobody) == [PASSED]


def test_short_texts_are_either_contained_whole_or_not_contained() -> None:
    strict = replace(GATE, shortest=100)
    half = _draft(TRAM[:30] + "其余部分与别处不同。", TRAM + TRAM)
    assert strict.verdicts([half], SmallCorpus({}), ask_nobody) == [PASSED]
    assert GATE.verdicts([half], SmallCorpus({}), ask_nobody)[0].reason == "text_half_contained"
    assert strict.verdicts([_draft(TRAM, TRAM)], SmallCorpus({}), ask_nobody)[0].reason == "text_contained"
    assert replace(GATE, shortest=1).check() == ["shortest: got 1, expected at least 16"]


@pytest.mark.parametrize("shares", [(0.0, 0.9), (0.9, 0.5), (0.5, 1.1)])
def test_invalid_containment_shares_are_rejected(shares: tuple[float, float]) -> None:
    assert Containment(*shares, 30, tags=False).check()


def test_containment_rejects_nine_of_thirty_published_questions(shared_data: Path) -> None:
    file = shared_data / "crud_rag" / "crud_split" / "split_merged.json"
    items = read_split(file, ["read/qa_3docs"], accept_truncated=False).items
    verdicts = GATE.verdicts([_draft(*item.gold_texts) for item in items], SmallCorpus({}), ask_nobody)
    assert len(verdicts) == 30
    assert sum(verdict.reason != "" for verdict in verdicts) == 9
    assert sum(verdict.reason == "text_contained" for verdict in verdicts) == 2
