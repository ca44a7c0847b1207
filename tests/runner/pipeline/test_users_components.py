"""Results of users' components that break their contract end the stage with one line that names the class."""

from typing import Any

import numpy as np
import pytest

from components.errors import ComponentError
from components.filters.none import NoFilter
from components.means import combine_mean, mean_scores
from components.metrics.interval import Intervals
from components.records import AllowedDocuments, Kind, Sample, Scores, ScoreState
from runner.pipeline.corpus.checked_arrays import EmbeddedTexts, validate_arrays, validate_scores, validate_vectors
from runner.pipeline.scoring.score_stages import scoring
from runner.pipeline.search.checked_hits import validate_allowed
from runner.pipeline.search.query_stages import join_queries

SAMPLES = [Sample(str(number), "all", Kind.QA, "who?", ("me",)) for number in range(2)]


class Mine:
    names = ("mine",)
    version = 1
    larger_is_better = True

    def combine(self, name: str, sums: Any) -> Any:
        return combine_mean(sums)


class Unbounded(Mine):
    is_share = False


class Tripling(Mine):
    """A metric of a corpus."""

    def combine(self, name: str, sums: Any) -> Any:
        return 3 * combine_mean(sums)


ME = rf"^{__name__}\.\w+: "


def scored(metric: Any, scores: Scores) -> float:
    found: Any = scoring(SAMPLES, [(metric, {"mine": scores})], Intervals(n_resamples=100)).metrics
    value: float = found["all"]["mine"]["value"]
    return value


@pytest.mark.parametrize("value", [1.5, -0.5])
def test_metric_share_outside_its_bounds_is_refused(value: float) -> None:
    message = rf"mine of sample '1' is {value} \(n=1 alike\), expected a share in \[0, 1\]\. .* `is_share = False`"
    with pytest.raises(ComponentError, match=ME + message):
        scored(Mine(), mean_scores([0.5, value]))
    assert scored(Unbounded(), mean_scores([0.5, value])) == (0.5 + value) / 2


def test_corpus_metric_share_outside_its_bounds_is_refused() -> None:
    scores = mean_scores([0.5, 0.5])
    with pytest.raises(ComponentError, match=ME + r"mine of all samples is 1\.5, expected a share in \[0, 1\]"):
        scored(Tripling(), Scores(scores.statistics, scores.states, np.full(2, np.nan)))


def test_metric_shares_at_their_bounds_pass_the_check() -> None:
    assert scored(Mine(), mean_scores([0.0, 1.0 + 1e-8])) == pytest.approx(0.5)
    assert scored(Mine(), mean_scores([1.0, ScoreState.FAILED])) == 1.0


@pytest.mark.parametrize("n", [1, 3])
def test_metric_scores_of_another_number_of_samples_are_refused(n: int) -> None:
    with pytest.raises(ComponentError, match=ME + rf"mine has {n} rows of statistics, .* for 2 samples"):
        scored(Mine(), mean_scores([1.0] * n))


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (None, "returned NoneType, expected a list"),
        ("ab", "returned str, expected a list"),
        ((text for text in "ab"), "returned generator, expected a list"),
        (["a", "b"], "returned str for sample 0"),
        ([["a"], None], "returned NoneType for sample 1"),
        ([["a"], [7]], "returned int as a query of sample 1, expected a string"),
        ([["a"], []], "got queries for 1 of 2 samples"),
        ([["a"]], "got queries for 1 of 2 samples"),
        ([["a"], ["b"], ["c"]], "got queries for 3 of 2 samples"),
    ],
)
def test_non_string_queries_are_rejected(texts: Any, message: str) -> None:
    with pytest.raises(ComponentError, match=ME + message):
        join_queries(Mine(), texts, 2)


def allowed(group: list[int], offsets: list[int], document: list[int]) -> AllowedDocuments:
    return AllowedDocuments(*(np.array(each, dtype=np.int64) for each in (group, offsets, document)))  # type: ignore[arg-type]


def test_valid_filter_results_pass_the_check() -> None:
    sound = allowed([0, 1], [0, 2, 3], [1, 2, 0])
    assert validate_allowed(sound, 2, 3, NoFilter()) is sound
    assert validate_allowed(allowed([0, 0], [0, 0], []), 2, 3, NoFilter()).n_groups == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (None, "returned NoneType, expected AllowedDocuments"),
        (AllowedDocuments([0], [0], []), "returned AllowedDocuments whose columns"),  # type: ignore[arg-type]
        (allowed([0], [0, 1], [1]), "returned groups of 1 samples, expected one for each of 2"),
        (allowed([0, 1], [0, 1], [1]), "sample 1 has the group 1, expected 0 to 0"),
        (allowed([0, 0], [0, 2], [1]), "returned offsets that do not increase"),
        (allowed([0, 0], [0, 1], [3]), "allows the document 3, expected 0 to 2"),
        (allowed([0, 0], [0, 2], [1, 1]), "allows document 1 after 1"),
        (allowed([0, 0], [0, 2], [2, 1]), "allows document 1 after 2"),
    ],
)
def test_malformed_filter_results_are_rejected(wrong: Any, message: str) -> None:
    with pytest.raises(ComponentError, match=ME + message):
        validate_allowed(wrong, 2, 3, Mine())


MASKED = np.ma.masked_array([[1.0], [2.0]], [[False], [True]])
WRONG_NUMBERS = [None, "ab", [None, 1.0], ["a", "b"], [np.nan, 1.0], [1e300, 1.0], [1.0], (n for n in range(2)), MASKED]


@pytest.mark.parametrize("scores", [*WRONG_NUMBERS, MASKED[:, 0]])
def test_malformed_reranker_scores_are_rejected(scores: Any) -> None:
    with pytest.raises(ComponentError, match=ME):
        validate_scores(scores, 2, Mine())


@pytest.mark.parametrize(
    "vectors", [*WRONG_NUMBERS, [1.0, 2.0], [[1.0], [1.0, 2.0]], [[np.inf], [1.0]], [[1.0]] * 3, [[], []]]
)
def test_malformed_embedder_vectors_are_rejected(vectors: Any) -> None:
    with pytest.raises(ComponentError, match=ME):
        validate_vectors(vectors, 2, Mine())


def test_user_scores_and_vectors_become_float32() -> None:
    assert validate_scores([1, 2], 2, Mine()).tolist() == [1.0, 2.0]
    assert validate_vectors(np.ones((2, 3)), 2, Mine()).dtype == np.float32
    assert validate_vectors(np.zeros((0, 3), dtype=np.float32), 0, Mine()).shape == (0, 3)


def test_zero_vectors_are_counted_in_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    validate_vectors([[0.0, 1.0], [0.0, -0.0], [0.0, 0.0]], 3, Mine())
    assert "Mine: 2 of 3 chunks have a zero vector" in caplog.text
    assert "a dense search never finds them" in caplog.text
    caplog.clear()
    validate_vectors([[0.0, 1.0], [0.0, 0.0]], 2, Mine(), texts=EmbeddedTexts.QUERIES)
    assert "Mine: 1 of 2 queries have a zero vector" in caplog.text
    assert "a dense search finds nothing for them" in caplog.text
    caplog.clear()
    validate_vectors([[0.0], [0.0]], 2, Mine(), texts=EmbeddedTexts.PHRASES)
    assert "Mine: 2 of 2 phrases have a zero vector" in caplog.text
    assert "they have no synonyms" in caplog.text
    caplog.clear()
    validate_vectors(np.ones((2, 3)), 2, Mine())
    assert not caplog.text


@pytest.mark.parametrize(
    "arrays",
    [
        None,
        [1],
        {"a": "text"},
        {"a": np.array([{}], dtype=object)},
        {1: np.ones(1)},
        {"a/b": np.ones(1)},
        {"": np.ones(1)},
    ],
)
def test_unstorable_learned_values_are_refused(arrays: Any) -> None:
    with pytest.raises(ComponentError, match=ME):
        validate_arrays(arrays, Mine())


def test_named_learned_arrays_pass_the_check() -> None:
    arrays = {"0.ids": np.ones(2), "words": np.array(["a"])}
    assert validate_arrays(arrays, Mine()) is arrays
