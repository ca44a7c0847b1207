import pytest

from components.metrics.contains import Contains
from components.records import Kind, Sample, ScoreState
from tests.contracts.metric_contract import AnswerMetricContract, qa_sample, score_texts, value_of


class TestContains(AnswerMetricContract):
    metric = Contains()


def make_sample(*parts: tuple[str, ...]) -> Sample:
    return Sample("s", "qa", Kind.QA, "?", references=("not looked at",), answer_parts=parts)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("In 1932, by a team of engineers.", (1.0, 1.0)),
        ("By a crew, in nineteen thirty-two", (1.0, 1.0)),
        ("A crew did.", (1.0, 0.0)),
        ("In 1832, by the steamship company.", (0.0, 0.0)),
        ("", (0.0, 0.0)),
    ],
)
def test_contains_requires_every_part_in_any_wording(answer: str, expected: tuple[float, float]) -> None:
    sample = make_sample(("1932", "nineteen thirty-two"), ("team", "crew"))
    scores = score_texts(Contains(), [sample], [answer])
    assert (value_of(scores["contains_any"]), value_of(scores["contains_all"])) == expected


def test_several_references_are_wordings_of_one_part() -> None:
    scores = score_texts(Contains(), [qa_sample("北京", "Beijing")], ["它在北京。"])
    assert value_of(scores["contains_any"]) == value_of(scores["contains_all"]) == 1.0


def test_wordings_blank_after_normalisation_are_left_out() -> None:
    samples = [make_sample(("！",), ("1932",)), qa_sample("。"), qa_sample()]
    scores = score_texts(Contains(), samples, ["1932"] * 3)["contains_all"]
    assert scores.states == (ScoreState.VALUE, ScoreState.NOT_APPLICABLE, ScoreState.NOT_APPLICABLE)
    assert scores.values[0] == 1.0
