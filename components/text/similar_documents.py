"""Search for nearly equal documents: MinHash over character shingles.

A document is the set of its runs of 5 characters, without whitespace. Each of 64 hash functions keeps the smallest
hash of the set. Documents that agree in all 4 hashes of one of 16 bands share a bucket. At a Jaccard similarity of 0.8,
this happens with a probability of 0.9998. Each document is compared with only the next 8 of its bucket, so that
thousands of pages from one template cost no more than others. A pair is skipped if the share of equal hashes is below
the threshold minus 0.2, which is four standard deviations at 0.8. The similarity of other pairs is computed exactly.
Source: Broder 1997, "On the resemblance and containment of documents"; Leskovec et al., "Mining of Massive Datasets",
section 3.4.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

SHINGLE_CHARACTERS = 5
THRESHOLD = 0.8
CONTAINED_SHINGLE_CHARACTERS = 8
"""Longer shingles, because a much longer text contains many short ones by chance."""

_N_HASHES, _N_BANDS, _N_NEIGHBOURS = 64, 16, 8
_SEED = 0
_BLOCK = 20_000
_MARGIN = 0.2
_MAX_CACHED = 8_000_000
_SHINGLES_AT_ONCE = 1_024
"""Few enough for their hashes to fit the processor's cache."""

Shingles = NDArray[np.uint64]
Number = TypeVar("Number", np.uint64, np.int64)


def count_near_duplicates(texts: Sequence[str], threshold: float = THRESHOLD) -> int:
    """Return the number of texts for which another text has at least this Jaccard similarity.

    It is never too high. It is too low if similar texts share no bucket, or are more than 8 texts apart in it. Texts
    shorter than a shingle are ignored.
    """
    similar: set[int] = set()
    similarity = _Similarities(texts)
    for one, other in _candidate_pairs(texts, threshold):
        if not {one, other} <= similar and similarity.measure(one, other) >= threshold:
            similar |= {one, other}
    return len(similar)


def repeated_texts(texts: Sequence[str], threshold: float = THRESHOLD) -> dict[int, int]:
    """Return the positions of texts that may be left out, each with the position of an earlier, similar text.

    The similarity is at least this Jaccard similarity. The earlier text is never left out itself. As in
    `count_near_duplicates`, some pairs may be missed, but groups of equal texts of any size are found.
    """
    repeated: dict[int, int] = {}
    similarity = _Similarities(texts)
    for other, pairs in groupby(_candidate_pairs(texts, threshold), key=itemgetter(1)):
        # In a large bucket, all neighbours may be left out themselves. Then compare with the texts that they repeat.
        earlier = dict.fromkeys(repeated.get(one, one) for one, _ in pairs)
        original = next((one for one in earlier if similarity.measure(one, other) >= threshold), None)
        if original is not None:
            repeated[other] = original
    return repeated


def _candidate_pairs(texts: Sequence[str], threshold: float) -> Iterator[tuple[int, int]]:
    """Yield pairs of positions of texts that may be similar, the smaller first, ordered by the larger."""
    signatures = np.zeros((len(texts), _N_HASHES), dtype=np.uint64)
    multipliers = np.random.default_rng(_SEED).integers(1, 2**63, size=_N_HASHES, dtype=np.uint64) * 2 + 1
    with_shingles = []
    for row, text in enumerate(texts):
        shingles = hash_shingles(text)
        if len(shingles):
            signatures[row] = _minima(shingles, multipliers)
            with_shingles.append(row)
    pairs = _bucket_neighbours(signatures, np.array(with_shingles, dtype=np.int64))
    for start in range(0, len(pairs), _BLOCK):
        others, ones = np.divmod(pairs[start : start + _BLOCK], len(texts))
        is_near = (signatures[ones] == signatures[others]).mean(axis=1) >= threshold - _MARGIN
        yield from zip(ones[is_near].tolist(), others[is_near].tolist(), strict=True)


class _Similarities:
    """Jaccard similarities of texts by their positions.

    It caches the shingles of a limited number of texts, because a text from a template is compared with a hundred
    others.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._shingles: dict[int, Shingles] = {}
        self._n_cached = 0

    def measure(self, one: int, other: int) -> float:
        """Return the similarity of two texts."""
        return jaccard(self._get_shingles(one), self._get_shingles(other))

    def _get_shingles(self, row: int) -> Shingles:
        if row not in self._shingles:
            shingles = hash_shingles(self._texts[row])
            while self._shingles and self._n_cached + len(shingles) > _MAX_CACHED:
                self._n_cached -= len(self._shingles.pop(next(iter(self._shingles))))
            self._shingles[row] = shingles
            self._n_cached += len(shingles)
        return self._shingles[row]


def hash_shingles(text: str, n_characters: int = SHINGLE_CHARACTERS) -> Shingles:
    """Return the distinct shingles of a text as sorted hashes."""
    characters = np.frombuffer("".join(text.split()).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    n = len(characters) - n_characters + 1
    hashes = np.zeros(max(n, 0), dtype=np.uint64)
    for offset in range(n_characters if n > 0 else 0):
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + characters[offset : offset + n]
        hashes ^= hashes >> np.uint64(31)
    return _sort_distinct(hashes)


def jaccard(one: Shingles, other: Shingles) -> float:
    """Return the share of all shingles that both texts have; 0 for two texts without shingles."""
    both = np.concatenate((one, other))
    both.sort(kind="stable")  # merges the two sorted halves
    n_shared = np.count_nonzero(both[1:] == both[:-1])
    n_all = len(both) - n_shared
    return n_shared / n_all if n_all else 0.0


def overlap(one: Shingles, other: Shingles) -> float:
    """Return the share of the smaller set of shingles that the other contains; 0 for an empty set."""
    fewer = min(len(one), len(other))
    return len(np.intersect1d(one, other, assume_unique=True)) / fewer if fewer else 0.0


def contained_share(text: str, others: Sequence[str]) -> float:
    """Return the share of a text's shingles, of 8 characters, that the others contain together, or 0 if it has no
    shingles.
    """
    shingles = hash_shingles(text, CONTAINED_SHINGLE_CHARACTERS)
    shared = [np.isin(shingles, hash_shingles(other, CONTAINED_SHINGLE_CHARACTERS)) for other in others]
    return float(np.any(shared, axis=0).mean()) if shared and len(shingles) else 0.0


def _bucket_neighbours(signatures: NDArray[np.uint64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return neighbours in the buckets of all bands, each pair once, in order: int64[n_pairs].

    A pair is encoded as the larger row times the number of rows, plus the smaller row.
    """
    width = _N_HASHES // _N_BANDS
    pairs = [np.empty(0, dtype=np.int64)]
    for band in range(_N_BANDS):
        part = np.ascontiguousarray(signatures[rows, band * width : (band + 1) * width])
        buckets = part.view([("", part.dtype)] * width).ravel()
        order = np.argsort(buckets, kind="stable")
        buckets, members = buckets[order], rows[order]
        for gap in range(1, min(_N_NEIGHBOURS, len(members) - 1) + 1):
            same = buckets[gap:] == buckets[:-gap]
            # A stable order makes the first row the smaller one.
            pairs.append(members[gap:][same] * len(signatures) + members[:-gap][same])
    return _sort_distinct(np.concatenate(pairs))


def _sort_distinct(numbers: NDArray[Number]) -> NDArray[Number]:
    """Return the distinct numbers, sorted in place. `np.unique` would hash them, which takes several times the time and
    memory.
    """
    numbers.sort()
    is_first = np.ones(len(numbers), dtype=np.bool_)
    is_first[1:] = numbers[1:] != numbers[:-1]
    return numbers[is_first]


def _minima(shingles: Shingles, multipliers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the smallest hash of the shingles under each hash function, uint64[n_multipliers]."""
    smallest = np.full(len(multipliers), np.iinfo(np.uint64).max)
    for start in range(0, len(shingles), _SHINGLES_AT_ONCE):
        hashes = np.multiply.outer(shingles[start : start + _SHINGLES_AT_ONCE], multipliers)
        hashes ^= hashes >> np.uint64(29)
        np.minimum(smallest, hashes.min(axis=0), out=smallest)
    return smallest
