"""Common n-grams of many pairs of texts, counted in one pass.

An n-gram is one number, with its pair in the upper bits and a hash of its units in the lower bits. For 10,000 pairs,
the hash has 50 bits. The probability that two different n-grams of any pair of 200-word texts collide is then 2e-7 over
all pairs.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.records import Units

Keys = NDArray[np.uint64]

_FACTOR = np.uint64(0x9E3779B97F4A7C15)


class DistinctNgrams(NamedTuple):
    """Numbers of distinct n-grams per pair: in both texts, in the answer, in the reference. Each is int64[n_pairs]."""

    shared: NDArray[np.int64]
    in_answers: NDArray[np.int64]
    in_references: NDArray[np.int64]


def count_matches(
    answers: Units, references: Units, n: int, owners: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Return per answer the number of its n-grams that also occur in its reference, int64[n_answers].

    An n-gram counts as often as both texts contain it. Reference i belongs to answer i, or to answer `owners[i]`. With
    several references, the largest count of an n-gram in any of them applies.
    """
    n_texts = max(len(answers), len(references))
    answer_keys, answer_counts = _count(_keys(answers, n, n_texts))
    reference_keys, reference_counts = _count(_keys(references, n, n_texts))
    if owners is not None and not np.array_equal(owners, np.arange(len(references))):
        reference_keys, reference_counts = _largest_by_owner(reference_keys, reference_counts, owners, n_texts)
    index, is_common = _find(answer_keys, reference_keys)
    common = np.minimum(answer_counts[is_common], reference_counts[index[is_common]])
    return np.bincount(_texts(answer_keys[is_common], n_texts), weights=common, minlength=len(answers)).astype(np.int64)


def count_distinct_ngrams(answers: Units, references: Units, n: int) -> DistinctNgrams:
    """Return the numbers of distinct n-grams of answer i and reference i."""
    n_texts = len(answers)
    (answer_keys, _), (reference_keys, _) = (_count(_keys(units, n, n_texts)) for units in (answers, references))
    _, is_common = _find(answer_keys, reference_keys)
    texts_by_side = [_texts(keys, n_texts) for keys in (answer_keys[is_common], answer_keys, reference_keys)]
    return DistinctNgrams(*(np.bincount(texts, minlength=n_texts).astype(np.int64) for texts in texts_by_side))


def _hash_bits(n_texts: int) -> np.uint64:
    return np.uint64(64 - max(1, n_texts.bit_length()))


def _texts(keys: Keys, n_texts: int) -> NDArray[np.int64]:
    """Return the texts that n-grams belong to."""
    return (keys >> _hash_bits(n_texts)).astype(np.int64)


def _keys(units: Units, n: int, n_texts: int) -> Keys:
    """Return every n-gram of every text, in no particular order."""
    counts = np.maximum(np.diff(units.offsets) - n + 1, 0)
    text = np.repeat(np.arange(len(counts), dtype=np.uint64), counts)
    first = np.arange(counts.sum()) + np.repeat(units.offsets[:-1] - np.cumsum(counts) + counts, counts)
    numbers = np.zeros(len(first), dtype=np.uint64)
    for offset in range(n):
        numbers = (numbers + units.ids[first + offset].astype(np.uint64)) * _FACTOR
        numbers ^= numbers >> np.uint64(29)
    bits = _hash_bits(n_texts)
    return (text << bits) | (numbers >> (np.uint64(64) - bits))


def _count(keys: Keys) -> tuple[Keys, NDArray[np.int64]]:
    """Return the distinct keys in order, and the count of each. (`np.unique` with counts sorts several times
    slower.)
    """
    ordered = np.sort(keys)
    is_first = np.append(np.ones(min(1, len(ordered)), dtype=bool), ordered[1:] != ordered[:-1])
    places = np.flatnonzero(is_first)
    return ordered[places], np.diff(np.append(places, len(ordered)))


def _largest_by_owner(
    keys: Keys, counts: NDArray[np.int64], owners: NDArray[np.int64], n_texts: int
) -> tuple[Keys, NDArray[np.int64]]:
    """Return the n-grams of references, assigned to their answers, each with its largest count."""
    bits = _hash_bits(n_texts)
    moved = (owners[_texts(keys, n_texts)].astype(np.uint64) << bits) | (keys & ((np.uint64(1) << bits) - np.uint64(1)))
    order = np.lexsort((-counts, moved))
    distinct, first = np.unique(moved[order], return_index=True)
    return distinct, counts[order][first]


def _find(keys: Keys, among: Keys) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the index of each key in the sorted `among`, and whether the key occurs there."""
    if not len(among):
        return np.zeros(len(keys), dtype=np.int64), np.zeros(len(keys), dtype=bool)
    index = np.minimum(np.searchsorted(among, keys), len(among) - 1)
    return index, among[index] == keys
