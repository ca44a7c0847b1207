"""Sentence numbers and quotes become gold: whole sentences, once in their document; or a reason."""

from dataclasses import replace

import pytest

from components.errors import ComponentError
from components.records import Evidence, Kind
from components.testset.quotes import locate
from components.testset.records import Draft, EvidenceSet, Extract, GateVerdict, Quote, VerdictState

BANK = "封面。存款增长了5%。 贷款增长了7%。不良率没有上升。\n存款增长了5%。利润持平。"
FUND = "基金规模为30亿元。风险自负。费率为1.2%。风险自负。规模创新高。风险自负。"
TEXTS = {"bank": BANK, "fund": FUND}


def _extract(document_id: str, start: int = 0, end: int | None = None) -> Extract:
    text = TEXTS[document_id][start:end]
    return Extract(document_id, "", start, start + len(text), text)


def _draft(*quotes: Quote, extracts: tuple[Extract, ...] = (), kind: Kind = Kind.QA) -> Draft:
    evidence = EvidenceSet("set", "extractive", "", extracts or (_extract("bank", 3),))
    return Draft("draft", "extractive", "", kind, evidence, "问题？", ("答案",), quotes)


def _gold(verdict: GateVerdict) -> list[str]:
    assert verdict.draft is not None
    return [TEXTS[unit.document_id][unit.start : unit.end] for unit in verdict.draft.gold]


def _rejected(verdict: GateVerdict) -> str:
    assert verdict.state is VerdictState.REJECTED
    assert verdict.draft is None
    assert verdict.detail
    return verdict.reason


def test_cited_sentences_are_gold_in_places_of_the_document() -> None:
    verdict = locate(_draft(Quote((2,))), TEXTS)
    assert verdict.state is VerdictState.PASSED
    assert verdict.reason == ""
    assert verdict.draft is not None
    assert verdict.draft.gold == (Evidence("bank", 12, 20),)
    assert _gold(verdict) == ["贷款增长了7%。"]


@pytest.mark.parametrize("words", ["贷款增长了7%", "“贷款 增长了７％”", "增长了7%"])
def test_words_within_a_cited_sentence_pass(words: str) -> None:
    assert locate(_draft(Quote((2,), words)), TEXTS).state is VerdictState.PASSED


def test_adjacent_cited_sentences_are_one_gold_unit() -> None:
    assert _gold(locate(_draft(Quote((3,)), Quote((2,))), TEXTS)) == ["贷款增长了7%。不良率没有上升。"]
    assert _gold(locate(_draft(Quote((5, 2)), Quote((5,))), TEXTS)) == ["贷款增长了7%。", "利润持平。"]


def test_quoted_words_without_a_number_cite_their_sentences() -> None:
    assert _gold(locate(_draft(Quote((), "不良率没有上升")), TEXTS)) == ["不良率没有上升。"]
    assert _gold(locate(_draft(Quote((), "7%。不良率没有")), TEXTS)) == ["贷款增长了7%。不良率没有上升。"]


def test_words_beyond_the_cited_sentence_include_the_next_sentence() -> None:
    verdict = locate(_draft(Quote((2,), "贷款增长了7%。不良率没有上升")), TEXTS)
    assert verdict.state is VerdictState.PASSED
    assert _gold(verdict) == ["贷款增长了7%。不良率没有上升。"]


def test_words_found_elsewhere_override_the_sentence_number() -> None:
    for number in (1, 99):
        verdict = locate(_draft(Quote((number,), "不良率没有上升")), TEXTS)
        assert (verdict.state, verdict.reason) == (VerdictState.TAGGED, "cited_elsewhere")
        assert _gold(verdict) == ["不良率没有上升。"]


def test_words_in_several_places_are_ambiguous_unless_one_is_cited() -> None:
    assert _rejected(locate(_draft(Quote((), "存款增长了5%")), TEXTS)) == "quote_ambiguous"
    assert _rejected(locate(_draft(Quote((3,), "存款增长了5%")), TEXTS)) == "quote_ambiguous"
    assert _gold(locate(_draft(Quote((4,), "存款增长了5%")), TEXTS)) == ["存款增长了5%。利润持平。"]


def test_gold_is_widened_until_unique_in_the_document() -> None:
    assert _gold(locate(_draft(Quote((1,))), TEXTS)) == ["存款增长了5%。 贷款增长了7%。"]
    fund = (_extract("fund"),)
    assert _gold(locate(_draft(Quote((2,)), extracts=fund), TEXTS)) == ["风险自负。费率为1.2%。"]
    assert _gold(locate(_draft(Quote((6,)), extracts=fund), TEXTS)) == ["规模创新高。风险自负。"]
    assert _gold(locate(_draft(Quote((2, 4)), extracts=fund), TEXTS)) == [
        "风险自负。费率为1.2%。风险自负。规模创新高。"
    ]


def test_gold_that_occurs_twice_is_ambiguous() -> None:
    assert _rejected(locate(_draft(Quote((2,)), extracts=(_extract("fund"),)), TEXTS, max_added=0)) == "quote_ambiguous"
    alone = (_extract("bank", 3, 11),)
    assert _rejected(locate(_draft(Quote((1,)), extracts=alone), TEXTS)) == "quote_ambiguous"


@pytest.mark.parametrize(
    "quotes",
    [
        (),
        (Quote(),),
        (Quote((), "。。"),),
        (Quote((0,)),),
        (Quote((2, 99)),),
        (Quote((2,), "贷款增长了8%"),),
        (Quote((2,), "不良率上升"),),
        (Quote((2,)), Quote((), "从未写过的话")),
    ],
)
def test_quotes_that_are_not_found_are_reported(quotes: tuple[Quote, ...]) -> None:
    assert _rejected(locate(_draft(*quotes), TEXTS)) == "quote_not_found"


def test_question_needs_all_of_its_quotes_and_a_turn_some() -> None:
    both = (_extract("bank", 3), _extract("fund"))
    draft = _draft(Quote((2,)), extracts=both)
    assert _rejected(locate(draft, TEXTS)) == "evidence_unused"
    assert locate(replace(draft, kind=Kind.CONVERSATION), TEXTS).state is VerdictState.PASSED
    assert locate(replace(draft, kind=Kind.SUMMARIZATION), TEXTS).state is VerdictState.PASSED
    verdict = locate(_draft(Quote((6,)), Quote((2,)), extracts=both), TEXTS)
    assert _gold(verdict) == ["贷款增长了7%。", "基金规模为30亿元。"]


def test_gold_in_a_removed_document_is_rejected() -> None:
    draft = replace(_draft(Quote((2,))), removed=("bank",))
    assert _rejected(locate(draft, TEXTS)) == "evidence_removed"


def test_known_gold_is_unchanged() -> None:
    draft = replace(_draft(), gold=(Evidence("bank", 0, 3),))
    assert locate(draft, TEXTS) == GateVerdict(VerdictState.PASSED)


def test_draft_of_another_corpus_is_an_error() -> None:
    with pytest.raises(ComponentError, match="document 'bank'"):
        locate(_draft(Quote((1,))), {"bank": "另一篇文章"})
