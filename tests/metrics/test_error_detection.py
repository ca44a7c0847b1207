from components.metrics.error_detection import ErrorDetection
from components.metrics.followed_false import FollowedFalse
from components.records import Kind, Sample, ScoreState
from tests.contracts.metric_contract import AnswerMetricContract, score_texts

NAN = ScoreState.NOT_APPLICABLE
FALSE = Sample(
    "s", "qa", Kind.QA, "When and by whom?", (), answer_parts=(("1932", "1930s"), ("team",)), fake_answers=("1954",)
)


class TestErrorDetection(AnswerMetricContract):
    metric = ErrorDetection(phrases=("北京",))


class TestFollowedFalse(AnswerMetricContract):
    metric = FollowedFalse()


def outcomes(answer: str, sample: Sample = FALSE) -> list[float | ScoreState]:
    """Detection, correction, followed: the value of each, or its state."""
    scores = {**score_texts(ErrorDetection(), [sample], [answer]), **score_texts(FollowedFalse(), [sample], [answer])}
    return [own.values[0] if own.states[0] is ScoreState.VALUE else own.states[0] for own in scores.values()]


def test_false_passages_are_detected_corrected_or_followed() -> None:
    assert outcomes("There are factual errors. A team opened it in 1932.") == [1, 1, 0]
    assert outcomes("There are Factual  Errors: it was not 1954, but 1932.") == [1, 0, 0]
    assert outcomes("资料中存在事实性错误。1932年，team") == [1, 1, 0]
    assert outcomes("A team, in 1932.") == [0, NAN, 0]
    assert outcomes("In 1954.") == [0, NAN, 1]
    assert outcomes("Not in 1954, but by a team in 1932.") == [0, NAN, 0]
    assert outcomes("In 1832, for US$19541.") == [0, NAN, 0]
    assert outcomes("") == [0, NAN, 0]


def test_error_detection_scores_only_questions_with_false_passages() -> None:
    assert outcomes("There are factual errors: 1954", Sample("s", "qa", Kind.QA, "?", ("1954",))) == [NAN, NAN, NAN]


def test_error_correction_needs_a_right_answer() -> None:
    unknown = Sample("s", "qa", Kind.QA, "?", (), fake_answers=("1954",))
    assert outcomes("There are factual errors.", unknown) == [1, NAN, 0]
    assert outcomes("1954", unknown) == [0, NAN, 1]


def test_error_detection_rejects_phrases_without_words() -> None:
    for component in (ErrorDetection, FollowedFalse):
        (problem,) = component(phrases=("!",)).check()
        assert problem == "phrases: got ['!'], expected words by which an answer says that its passages are wrong"
