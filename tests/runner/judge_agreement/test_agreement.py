"""Agreement of a judge with people, against scikit-learn and a plain bootstrap."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, confusion_matrix

from runner.judge_agreement.agreement import agree


@pytest.fixture
def raters() -> tuple[list[str], list[str]]:
    random = np.random.default_rng(3)
    labels = random.integers(0, 3, size=150)
    noise = random.random(150) < 0.3
    judged = np.where(noise, random.integers(0, 3, size=150), labels)
    return [str(x) for x in labels], [str(x) for x in judged]


def test_values_are_those_of_scikit_learn(raters: tuple[list[str], list[str]]) -> None:
    labels, judged = raters
    found = agree(labels, judged)
    assert found.kappa == pytest.approx(cohen_kappa_score(labels, judged))
    assert found.accuracy == pytest.approx(np.mean(np.array(labels) == np.array(judged)))
    np.testing.assert_array_equal(found.confusion, confusion_matrix(labels, judged, labels=found.classes))


def test_intervals_are_those_of_drawing_items(raters: tuple[list[str], list[str]]) -> None:
    labels, judged = (np.array(one) for one in raters)
    found = agree(labels.tolist(), judged.tolist())
    random = np.random.default_rng(1)
    drawn = random.integers(0, len(labels), size=(2000, len(labels)))
    kappas = [cohen_kappa_score(labels[rows], judged[rows]) for rows in drawn[:600]]
    accuracies = (labels == judged)[drawn].mean(axis=1)
    assert found.accuracy_interval == pytest.approx(np.quantile(accuracies, [0.025, 0.975]), abs=0.02)
    assert found.kappa_interval == pytest.approx(np.quantile(kappas, [0.025, 0.975]), abs=0.03)
    assert found.kappa_interval is not None
    assert found.kappa is not None
    assert found.kappa_interval[0] < found.kappa < found.kappa_interval[1]


def test_one_class_throughout_has_no_kappa() -> None:
    found = agree(["2", "2"], ["2", "2"])
    assert (found.accuracy, found.kappa, found.kappa_interval) == (1.0, None, None)


def test_a_constant_judge_agrees_no_better_than_chance() -> None:
    found = agree(["0", "1", "2", "2"], ["2", "2", "2", "2"])
    assert (found.accuracy, found.kappa) == (0.5, 0.0)


def test_the_same_raters_give_the_same_intervals(raters: tuple[list[str], list[str]]) -> None:
    assert agree(*raters).kappa_interval == agree(*raters).kappa_interval
