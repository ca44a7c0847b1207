"""n-grams in common, against counting them one by one."""

from collections import Counter

import numpy as np
import pytest

from components.metrics.lcs import lcs_lengths
from components.metrics.ngrams import count_distinct_ngrams, count_matches
from components.text.units import number_units

_RANDOM = np.random.default_rng(5)
_ANSWERS = ["".join(_RANDOM.choice(list("abcd"), _RANDOM.integers(0, 15))) for _ in range(60)]
_REFERENCES = ["".join(_RANDOM.choice(list("abcd"), _RANDOM.integers(0, 15))) for _ in range(60)]


def _ngrams(text: str, n: int) -> Counter[str]:
    return Counter(text[i : i + n] for i in range(len(text) - n + 1))


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_clipped_ngram_matches_equal_hand_computed_counts(n: int) -> None:
    expected = [(_ngrams(a, n) & _ngrams(r, n)).total() for a, r in zip(_ANSWERS, _REFERENCES, strict=True)]
    assert count_matches(number_units(_ANSWERS), number_units(_REFERENCES), n).tolist() == expected


@pytest.mark.parametrize("n", [1, 2, 4])
def test_ngram_matches_are_clipped_by_the_largest_reference_count(n: int) -> None:
    owners = np.sort(_RANDOM.integers(0, 20, size=60))
    expected = []
    for i, answer in enumerate(_ANSWERS[:20]):
        union: Counter[str] = Counter()
        for owner, reference in zip(owners, _REFERENCES, strict=True):
            if owner == i:
                union |= _ngrams(reference, n)
        expected.append((_ngrams(answer, n) & union).total())
    assert count_matches(number_units(_ANSWERS[:20]), number_units(_REFERENCES), n, owners).tolist() == expected


@pytest.mark.parametrize("n", [1, 2])
def test_distinct_ngrams_are_counted(n: int) -> None:
    found = count_distinct_ngrams(number_units(_ANSWERS), number_units(_REFERENCES), n)
    sets = [(set(_ngrams(a, n)), set(_ngrams(r, n))) for a, r in zip(_ANSWERS, _REFERENCES, strict=True)]
    assert found.shared.tolist() == [len(a & r) for a, r in sets]
    assert found.in_answers.tolist() == [len(a) for a, _ in sets]
    assert found.in_references.tolist() == [len(r) for _, r in sets]


def test_empty_texts_share_no_ngrams() -> None:
    empty = number_units([])
    assert count_matches(empty, empty, 2).tolist() == []
    assert count_matches(number_units(["", "ab"]), number_units(["ab", ""]), 1).tolist() == [0, 0]


def _lcs(a: str, b: str) -> int:
    """Return the length by the textbook's table."""
    lengths = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            lengths[i + 1][j + 1] = lengths[i][j] + 1 if x == y else max(lengths[i][j + 1], lengths[i + 1][j])
    return lengths[-1][-1]


def test_lcs_lengths_equal_a_plain_implementation() -> None:
    expected = [_lcs(a, r) for a, r in zip(_ANSWERS, _REFERENCES, strict=True)]
    assert lcs_lengths(number_units(_ANSWERS), number_units(_REFERENCES)).tolist() == expected
