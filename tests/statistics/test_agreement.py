"""Agreement of a judge with people, against scikit-learn and simulations."""

import numpy as np
import pytest
from numpy.typing import NDArray

from components.statistics import agreement
from components.statistics.agreement import Measure, agree, gain


def bounds(measure: Measure) -> tuple[float, float]:
    assert measure.interval is not None
    return measure.interval


@pytest.fixture
def raters() -> tuple[list[str], list[str]]:
    random = np.random.default_rng(3)
    labels = random.integers(0, 3, size=150)
    noise = random.random(150) < 0.3
    judged = np.where(noise, random.integers(0, 3, size=150), labels)
    return [str(x) for x in labels], [str(x) for x in judged]


def test_agreement_values_equal_scikit_learn(raters: tuple[list[str], list[str]]) -> None:
    from sklearn.metrics import cohen_kappa_score, confusion_matrix

    labels, judged = raters
    found = agree(labels, judged, range(150))
    assert found.kappa.value == pytest.approx(cohen_kappa_score(labels, judged))
    assert found.weighted_kappa.value == pytest.approx(cohen_kappa_score(labels, judged, weights="quadratic"))
    assert found.accuracy.value == pytest.approx(np.mean(np.array(labels) == np.array(judged)))
    np.testing.assert_array_equal(found.confusion, confusion_matrix(labels, judged, labels=found.classes))


def test_agreement_intervals_equal_a_resampling_of_items(raters: tuple[list[str], list[str]]) -> None:
    from sklearn.metrics import cohen_kappa_score

    labels, judged = (np.array(one) for one in raters)
    found = agree(labels.tolist(), judged.tolist(), range(150))
    random = np.random.default_rng(1)
    drawn = random.integers(0, len(labels), size=(300, len(labels)))
    kappas = [cohen_kappa_score(labels[rows], judged[rows]) for rows in drawn]
    assert bounds(found.kappa) == pytest.approx(np.quantile(kappas, [0.025, 0.975]), abs=0.04)
    low, high = bounds(found.kappa)
    assert found.kappa.value is not None
    assert low < found.kappa.value < high


def test_answers_to_one_question_are_one_observation(raters: tuple[list[str], list[str]]) -> None:
    labels, judged = raters
    once = bounds(agree(labels, judged, range(150)).kappa)
    fourfold = agree(labels * 4, judged * 4, [*range(150)] * 4)
    assert (fourfold.n, fourfold.n_questions) == (600, 150)
    assert bounds(fourfold.kappa) == pytest.approx(once, abs=0.02)


def test_single_class_has_no_kappa() -> None:
    found = agree(["2"] * 9, ["2"] * 9, range(9))
    assert (found.accuracy.value, found.kappa, found.weighted_kappa) == (1.0, Measure(None, None), Measure(None, None))


def test_constant_judge_has_zero_kappa_with_an_interval() -> None:
    found = agree(["0", "1", "2", "2"] * 5, ["2"] * 20, range(20))
    assert (found.accuracy.value, found.kappa.value, found.weighted_kappa.value) == (0.5, 0.0, 0.0)
    for measure in (found.kappa, found.weighted_kappa):
        low, high = bounds(measure)
        assert low < -0.001
        assert high > 0.05


def test_full_agreement_has_an_uncertain_interval() -> None:
    found = agree(["0", "2"] * 10, ["0", "2"] * 10, range(20))
    assert (found.accuracy.value, found.kappa.value) == (1.0, 1.0)
    for measure, most in ((found.accuracy, 0.95), (found.kappa, 0.9), (found.weighted_kappa, 0.9)):
        low, high = bounds(measure)
        assert 0.5 < low < most
        assert high == 1.0


def test_one_grade_of_disagreement_weighs_less_than_two() -> None:
    labels = ["0", "1", "2"] * 10
    near = agree(labels, ["0", "1", "1"] * 10, range(30))
    far = agree(labels, ["0", "1", "0"] * 10, range(30))
    assert near.kappa.value == pytest.approx(far.kappa.value)
    assert near.weighted_kappa.value is not None
    assert far.weighted_kappa.value is not None
    assert near.weighted_kappa.value > far.weighted_kappa.value + 0.3


def test_weighted_kappa_uses_only_grades() -> None:
    found = agree(["0", "2", "2", "not_applicable"] * 5, ["0", "2", "unparsable", "2"] * 5, range(20))
    assert (found.n, found.n_graded, found.weighted_kappa.value) == (20, 10, 1.0)


def test_agreement_of_few_questions_has_no_interval() -> None:
    found = agree(["0", "1", "2", "2"], ["0", "1", "2", "1"], range(4))
    assert found.accuracy == Measure(0.75, None)


def test_agreement_intervals_are_deterministic(raters: tuple[list[str], list[str]]) -> None:
    assert agree(*raters, range(150)).kappa == agree(*raters, range(150)).kappa


SHARES = {
    "good": [[0.20, 0.02, 0.00], [0.03, 0.15, 0.05], [0.00, 0.05, 0.50]],
    "nearly constant judge": [[0.003, 0.0, 0.147], [0.002, 0.002, 0.20], [0.003, 0.003, 0.64]],
}


@pytest.mark.parametrize("name", SHARES)
@pytest.mark.parametrize(("n_questions", "n_answers"), [(12, 1), (20, 4)])
def test_agreement_intervals_cover_the_truth(
    monkeypatch: pytest.MonkeyPatch, name: str, n_questions: int, n_answers: int
) -> None:
    """Half of the answers to a question receive the judgement of its first answer."""
    monkeypatch.setattr(agreement, "N_DRAWS", 400)
    shares: NDArray[np.float64] = np.array(SHARES[name]) / np.sum(SHARES[name])
    by_chance = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    truth = 1 - (1 - np.trace(shares)) / (1 - np.trace(by_chance))
    random = np.random.default_rng(0)
    n_held = 0
    for _ in range(200):
        first = np.repeat(random.choice(9, n_questions, p=shares.ravel()), n_answers)
        pairs = np.where(random.random(len(first)) < 0.5, first, random.choice(9, len(first), p=shares.ravel()))
        questions = np.repeat(np.arange(n_questions), n_answers).tolist()
        kappa = agree((pairs // 3).astype(str).tolist(), (pairs % 3).astype(str).tolist(), questions).kappa
        n_held += kappa.interval is None or kappa.interval[0] <= truth <= kappa.interval[1]
    assert n_held >= 0.92 * 200


def judged_like(labels: list[str], share_wrong: float, seed: int) -> list[str]:
    """The labels, some of them one class further."""
    wrong = np.random.default_rng(seed).random(len(labels)) < share_wrong
    return [str((int(label) + 1) % 3) if is_wrong else label for label, is_wrong in zip(labels, wrong, strict=True)]


def test_agreement_gain_is_the_difference_of_agreements(raters: tuple[list[str], list[str]]) -> None:
    labels, before = raters
    after = judged_like(labels, 0.1, 5)
    found, old, new = gain(labels, before, after, range(150)), *(agree(labels, j, range(150)) for j in (before, after))
    for measure in ("accuracy", "kappa"):
        value = getattr(found, measure).value
        assert value == pytest.approx(getattr(new, measure).value - getattr(old, measure).value)
        low, high = bounds(getattr(found, measure))
        assert low < value < high


def test_agreement_gain_is_resampled_in_pairs(raters: tuple[list[str], list[str]]) -> None:
    """The second judge is the first one with a few corrections: far surer than two independent judges."""
    labels, before = raters
    mended = [label if i % 10 == 0 else said for i, (label, said) in enumerate(zip(labels, before, strict=True))]
    low, high = bounds(gain(labels, before, mended, range(150)).kappa)
    alone = bounds(agree(labels, before, range(150)).kappa)
    assert high - low < 0.6 * (alone[1] - alone[0])
    assert bounds(gain(labels, before, mended[::-1], range(150)).kappa)[1] < low


def test_equal_judges_have_zero_gain_with_an_interval() -> None:
    found = gain(["0", "2"] * 10, ["0", "2"] * 10, ["0", "2"] * 10, range(20))
    assert (found.accuracy.value, found.kappa.value) == (0.0, 0.0)
    low, high = bounds(found.accuracy)
    assert low < -0.005
    assert high > 0.005
    assert gain(["0"] * 6, ["0"] * 6, ["0"] * 6, range(6)).kappa == Measure(None, None)
    assert gain(["0", "1"], ["0", "0"], ["0", "1"], range(2)).accuracy == Measure(0.5, None)


def test_intervals_of_agreement_gains_cover_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement, "N_DRAWS", 400)
    random = np.random.default_rng(0)
    n_held = 0
    for seed in range(200):
        labels = [str(label) for label in random.integers(0, 3, 30)]
        before, after = (judged_like(labels, share, 10 * seed + share_of) for share_of, share in ((1, 0.4), (2, 0.2)))
        low, high = bounds(gain(labels, before, after, range(30)).accuracy)
        n_held += low <= 0.2 <= high
    assert n_held >= 0.92 * 200
