"""A judge is trained on its own prompts, and on replies that it reads as the human labels."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from components.errors import DataError
from components.judges.graded import Graded
from components.judges.graded_replies import read_applicability, read_verdict
from components.protocols import Ask
from components.records import Answer, AnswerState, JudgeInput, Kind, Message, Passage, Request, Sample, Turn
from runner.labels.graders import labelled_graders
from runner.labels.label_files import NOT_APPLICABLE, LabelledItem
from runner.labels.training.preparing import NO_MODEL
from runner.labels.training.training_pairs import REASON_UNREADABLE, SETTLED, UNSAYABLE, TrainingPair, make_pairs
from runner.launch.compose import compose_config

METRICS = ("accuracy", "completeness", "relevance", "hallucination", "completeness_omnieval_compat")


@pytest.fixture(scope="module")
def graders() -> Mapping[str, Graded]:
    config = compose_config(["judge=omnieval_en", NO_MODEL])
    return labelled_graders(config, [replace(item(), labels=dict.fromkeys(METRICS, 1))])


def item(answer: str = "Her", passage: str = "She did.", **fields: Any) -> LabelledItem:
    sample = Sample("q", "all", Kind.QA, "Who?", ("She",), history=(Turn("What is it?", "A bridge."),))
    return LabelledItem(JudgeInput(sample, answer, (Passage(passage),)), **{"labels": {}, **fields})


def labelled(grader: Graded, label: int, reason: str = "", **fields: Any) -> LabelledItem:
    return item(labels={grader.name: label}, reasons={grader.name: reason} if reason else {}, **fields)


def asked_by(grader: Graded, of: LabelledItem) -> list[tuple[Message, ...]]:
    """Return the requests of the judge to a model that replies to everything, in order."""
    asked: list[tuple[Message, ...]] = []

    def ask(requests: list[Request]) -> list[Answer]:
        asked.extend(request.messages for request in requests)
        return [Answer(r.id, AnswerState.OK, '{"reason": "", "grade": 1, "applicable": true}') for r in requests]

    asking: Ask = ask  # type: ignore[assignment]  # a list is a sequence
    grader.judge([of.judged], grader.prepare([of.judged.sample], asking), asking)
    return asked


def single_pair(grader: Graded, of: LabelledItem) -> TrainingPair:
    (pair,) = make_pairs([grader], [of]).pairs
    return pair


@pytest.mark.parametrize("metric", METRICS)
def test_training_prompts_equal_the_requests_of_the_judge(graders: Mapping[str, Graded], metric: str) -> None:
    of = labelled(graders[metric], 1)
    assert [pair.messages for pair in make_pairs([graders[metric]], [of]).pairs] == asked_by(graders[metric], of)


@pytest.mark.parametrize("metric", METRICS)
def test_judge_reads_training_replies_as_the_human_labels(graders: Mapping[str, Graded], metric: str) -> None:
    grader = graders[metric]
    for label in grader.grades:
        (pair,) = (p for p in make_pairs([grader], [labelled(grader, label, "so it is")]).pairs if p.grade is not None)
        verdict = read_verdict(pair.reply, grader.grades)
        assert verdict is not None
        assert (verdict.grade, verdict.reason) == (label, "so it is")


def test_training_prompt_shows_earlier_turns(graders: Mapping[str, Graded]) -> None:
    assert "What is it?" in single_pair(graders["accuracy"], labelled(graders["accuracy"], 2)).messages[-1].content


def test_training_pair_without_a_reason_keeps_the_reply_form(graders: Mapping[str, Graded]) -> None:
    assert single_pair(graders["accuracy"], labelled(graders["accuracy"], 2)).reply == '{"reason": "", "grade": 2}'


def test_not_applicable_label_is_trained_only_if_the_judge_can_say_it(graders: Mapping[str, Graded]) -> None:
    of = labelled(graders["completeness"], NOT_APPLICABLE, "a single fact")
    applicability = read_applicability(single_pair(graders["completeness"], of).reply)
    assert applicability is not None
    assert (applicability.applicable, applicability.reason) == (False, "a single fact")
    compat = graders["completeness_omnieval_compat"]
    assert single_pair(compat, labelled(compat, NOT_APPLICABLE)).reply == '{"reason": "", "grade": -1}'
    found = make_pairs([graders["accuracy"]], [labelled(graders["accuracy"], NOT_APPLICABLE)])
    assert (found.pairs, found.n_left_out) == ((), {UNSAYABLE: 1})


def test_applicability_is_trained_once_per_question(graders: Mapping[str, Graded]) -> None:
    grader = graders["completeness"]
    items = [labelled(grader, grade, answer=f"answer {grade}") for grade in (0, 1, 2)]
    assert [pair.says for pair in make_pairs([grader], items).pairs] == ["applies", "0", "1", "2"]


def test_answers_settled_without_the_model_are_left_out_and_counted(graders: Mapping[str, Graded]) -> None:
    found = make_pairs([graders["accuracy"]], [labelled(graders["accuracy"], 0, "says nothing", answer=" ")])
    assert (found.pairs, found.n_left_out) == ((), {SETTLED: 1})


def test_reason_that_makes_the_reply_unreadable_is_left_out(graders: Mapping[str, Graded]) -> None:
    of = labelled(graders["accuracy"], 2, 'the form, for example {"grade": 1}, is kept')
    found = make_pairs([graders["accuracy"]], [of])
    assert [pair.reply for pair in found.pairs] == ['{"reason": "", "grade": 2}']
    assert found.n_left_out == {REASON_UNREADABLE: 1}


def test_contradicting_training_labels_are_rejected(graders: Mapping[str, Graded]) -> None:
    grader = graders["accuracy"]
    once = labelled(grader, 2)
    assert len(make_pairs([grader], [once, once]).pairs) == 1
    with pytest.raises(DataError, match=r'labels disagree: accuracy of \'q\': {"grade": 2} and {"grade": 1}, expected'):
        make_pairs([grader], [once, labelled(grader, 1)])
    applies = graders["completeness"]
    both = [labelled(applies, 2), labelled(applies, NOT_APPLICABLE, answer="Another")]
    with pytest.raises(DataError, match=r'completeness of \'q\': {"applicable": true} and {"applicable": false}'):
        make_pairs([applies], both)
