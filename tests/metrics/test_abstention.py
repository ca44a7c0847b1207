from components.metrics.abstention import Abstention
from components.metrics.abstention_errors import AbstentionErrors
from components.records import Kind, Sample, ScoreState
from tests.contracts.metric_contract import AnswerMetricContract, score_texts

NAN = ScoreState.NOT_APPLICABLE


class TestAbstention(AnswerMetricContract):
    metric = Abstention()


class TestAbstentionErrors(AnswerMetricContract):
    metric = AbstentionErrors()


def outcomes(answerable: bool) -> dict[str, list[float | ScoreState]]:
    """The values (or states) of four answers: two that abstain, an empty one, and one that answers."""
    answers = ["Insufficient  information!", "资料信息不足，无法作答。", "", "In 1932."]
    samples = [Sample(str(i), "qa", Kind.QA, "?", ("1932",), answerable=answerable) for i in range(4)]
    scores = {**score_texts(Abstention(), samples, answers), **score_texts(AbstentionErrors(), samples, answers)}
    return {
        name: [v if s is ScoreState.VALUE else s for v, s in zip(own.values.tolist(), own.states, strict=True)]
        for name, own in scores.items()
    }


def test_refusals_of_unanswerable_questions_are_right() -> None:
    assert outcomes(answerable=False) == {
        "right_refusals": [1, 1, 1, 0],
        "wrong_refusals": [NAN] * 4,
        "false_answers": [0, 0, 0, 1],
    }


def test_refusals_of_answerable_questions_are_wrong() -> None:
    assert outcomes(answerable=True) == {
        "right_refusals": [NAN] * 4,
        "wrong_refusals": [1, 1, 1, 0],
        "false_answers": [NAN] * 4,
    }


def test_empty_abstention_phrases_are_rejected() -> None:
    for component in (Abstention, AbstentionErrors):
        assert component(phrases=()).check()[0].startswith("phrases: got []")
        assert component(phrases=("no answer", "!")).check()[0].startswith("phrases: got ['no answer', '!']")
