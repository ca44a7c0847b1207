"""Outcomes of answers."""

from dataclasses import replace

import pytest

from components.forensics.outcomes import AnsweredSample, JudgedOutcome, Outcome, classify_outcome
from components.records import AnswerState, Kind

ASKED = AnsweredSample(
    Kind.QA, "Who built the red bridge, and when?", ["Ada Stone built it in 1887."], (), True, AnswerState.OK, ""
)
CHINESE = replace(ASKED, question="公司2023年的营业收入是多少？", references=["营业收入为12.5亿元，同比增长8%。"])


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ("Ada Stone built the red bridge in 1887.", Outcome.RIGHT),
        ("In 1887, by ADA STONE", Outcome.RIGHT),
        ("Ada Stone built it.", Outcome.WRONG),  # without its only number
        ("Somebody else built it in 1887.", Outcome.WRONG),
        ("One Stone, in 1887", Outcome.PARTLY),
        ("The red bridge", Outcome.WRONG),
    ],
)
def test_answer_is_compared_with_the_additions_of_the_reference(answer: str, outcome: Outcome) -> None:
    assert classify_outcome(replace(ASKED, answer=answer)).outcome is outcome


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ("2023年营业收入为12.5亿元,同比增长8%", Outcome.RIGHT),
        ("营业收入为１２．５亿元，同比增长８％", Outcome.RIGHT),
        ("公司营业收入为12.5亿元", Outcome.PARTLY),
        ("公司2023年的营业收入是3.1亿元", Outcome.WRONG),
        ("公司2023年的营业收入", Outcome.WRONG),
    ],
)
def test_chinese_answer_is_compared_with_the_additions_of_the_reference(answer: str, outcome: Outcome) -> None:
    assert classify_outcome(replace(CHINESE, answer=answer)).outcome is outcome


def test_answer_need_not_repeat_numbers_of_the_question() -> None:
    sample = replace(CHINESE, references=["2023年为12亿元"], answer="12亿元")
    assert classify_outcome(sample).outcome is Outcome.RIGHT


def test_reference_without_new_words_is_compared_as_a_whole() -> None:
    sample = replace(ASKED, question="Is it red or blue?", references=["Blue"])
    assert classify_outcome(replace(sample, answer="It is blue.")).outcome is Outcome.RIGHT
    assert classify_outcome(replace(sample, answer="It is red.")).outcome is Outcome.WRONG


def test_reference_number_from_the_question_is_compared_as_a_whole() -> None:
    sample = replace(ASKED, question="Was it 1887?", references=["1887"])
    assert classify_outcome(replace(sample, answer="In 1887")).outcome is Outcome.RIGHT
    assert classify_outcome(replace(sample, answer="Never")).outcome is Outcome.WRONG


def test_best_of_several_references_decides_the_outcome() -> None:
    sample = replace(ASKED, references=["Nobody knows", "Ada Stone"], answer="Ada Stone")
    assert classify_outcome(sample).outcome is Outcome.RIGHT


def test_required_answer_parts_decide_the_outcome() -> None:
    sample = replace(ASKED, references=["unlike anything"], answer_parts=[["Ada", "Mrs Stone"], ["1887"]])
    assert classify_outcome(replace(sample, answer="Mrs Stone, 1887")).outcome is Outcome.RIGHT
    assert classify_outcome(replace(sample, answer="Mrs Stone")).outcome is Outcome.PARTLY
    assert classify_outcome(replace(sample, answer="Mr Wood")).outcome is Outcome.WRONG


@pytest.mark.parametrize(
    ("state", "outcome"),
    [
        (AnswerState.ERROR, Outcome.ERROR),
        (AnswerState.EMPTY, Outcome.EMPTY),
        (AnswerState.REFUSED, Outcome.REFUSED),
        (AnswerState.NOT_ASKED, Outcome.NOT_JUDGED),
    ],
)
def test_missing_answer_has_the_outcome_of_its_state(state: AnswerState, outcome: Outcome) -> None:
    assert classify_outcome(replace(ASKED, state=state)) == JudgedOutcome(outcome)


def test_truncated_answer_may_still_be_right() -> None:
    cut_off = replace(ASKED, state=AnswerState.TRUNCATED)
    assert classify_outcome(replace(cut_off, answer="Ada Stone, in 1887. The bridge")).outcome is Outcome.RIGHT
    assert classify_outcome(replace(cut_off, answer="The red")).outcome is Outcome.TRUNCATED


@pytest.mark.parametrize(
    ("answer", "judged"),
    [
        ("It was built in 1650 by a man who", JudgedOutcome(Outcome.WRONG, "cut off")),
        ("According to passage [3], the", JudgedOutcome(Outcome.TRUNCATED)),
        ("1. The passages say:\n2) the", JudgedOutcome(Outcome.TRUNCATED)),
        ("Mrs Stone, who later in 1901 had", JudgedOutcome(Outcome.WRONG, "cut off")),
        ("Somebody in 1887, no, in 1650, when", JudgedOutcome(Outcome.TRUNCATED)),
        ("Somebody whose name", JudgedOutcome(Outcome.TRUNCATED)),
    ],
)
def test_truncated_answer_is_wrong_if_it_already_contradicts(answer: str, judged: JudgedOutcome) -> None:
    cut_off = replace(ASKED, state=AnswerState.TRUNCATED, answer=answer)
    assert classify_outcome(cut_off) == judged
    assert classify_outcome(replace(cut_off, answer_parts=[["1887"], ["Ada"], ["bridge"]])).outcome is judged.outcome
    without_numbers = replace(cut_off, references=["Ada"], answer=answer)
    assert classify_outcome(without_numbers).outcome is Outcome.TRUNCATED


@pytest.mark.parametrize(
    "answer", ["October 19th, 2021", "On 19 October 2021.", "Oct. 19, 2021", "the 19th of October 2021"]
)
def test_date_in_another_format_is_right_without_doubt(answer: str) -> None:
    dated = replace(ASKED, question="When was it opened?", references=["October 19 2021"], answer=answer)
    assert classify_outcome(dated) == JudgedOutcome(Outcome.RIGHT)
    assert classify_outcome(replace(dated, answer="October 20th, 2021")).doubt == "paraphrase"


@pytest.mark.parametrize(
    "answer", ["I cannot answer this from the context.", "根据所给资料无法回答该问题。", "信息不足"]
)
def test_refusal_phrase_has_outcome_refused(answer: str) -> None:
    assert classify_outcome(replace(ASKED, answer=answer)).outcome is Outcome.REFUSED


def test_reference_that_sounds_like_a_refusal_can_be_right() -> None:
    sample = replace(CHINESE, references=["公司没有提供担保"], answer="公司没有提供任何担保")
    assert classify_outcome(sample).outcome is Outcome.RIGHT


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [("Insufficient information.", Outcome.RIGHT), ("资料中没有提到。", Outcome.RIGHT), ("In 1887.", Outcome.WRONG)],
)
def test_abstaining_on_an_unanswerable_question_is_right(answer: str, outcome: Outcome) -> None:
    assert classify_outcome(replace(ASKED, answerable=False, references=[], answer=answer)).outcome is outcome


def test_empty_answer_to_an_unanswerable_question_is_right() -> None:
    unanswerable = replace(ASKED, answerable=False, references=[])
    assert classify_outcome(replace(unanswerable, state=AnswerState.EMPTY)).outcome is Outcome.RIGHT
    assert classify_outcome(replace(unanswerable, state=AnswerState.REFUSED)).outcome is Outcome.RIGHT
    assert classify_outcome(replace(unanswerable, state=AnswerState.ERROR)).outcome is Outcome.ERROR


def test_long_text_outcome_follows_its_metric_with_doubt() -> None:
    story = replace(ASKED, kind=Kind.CONTINUATION, answer="Once upon a time", low_below=0.2)
    assert classify_outcome(replace(story, score=0.1)) == JudgedOutcome(Outcome.LOW, "long text")
    assert classify_outcome(replace(story, score=0.2)) == JudgedOutcome(Outcome.TYPICAL, "long text")
    assert classify_outcome(story).outcome is Outcome.NOT_JUDGED


def test_possible_paraphrase_is_doubtful() -> None:
    assert (
        classify_outcome(replace(ASKED, references=["It was made of fine red bricks"], answer="Bricks")).doubt
        == "paraphrase"
    )
    assert classify_outcome(replace(ASKED, references=["It was made of fine red bricks"], answer="Wood")).doubt == ""
    assert classify_outcome(replace(ASKED, answer="Somebody, in 1650")).doubt == ""
    long = " ".join(f"word{i}" for i in range(40))
    assert classify_outcome(replace(ASKED, references=[long], answer=long)) == JudgedOutcome(Outcome.RIGHT, "long text")


def test_outcome_without_a_reference_is_not_judged() -> None:
    assert classify_outcome(replace(ASKED, references=[], answer="Yes")).outcome is Outcome.NOT_JUDGED
    assert classify_outcome(replace(ASKED, references=["..."], answer="Yes")).outcome is Outcome.NOT_JUDGED
