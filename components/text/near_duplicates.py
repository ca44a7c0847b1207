"""Finds documents that are nearly the same among many: MinHash over character shingles.

Each document is the set of its runs of 5 characters, without white space. 64 hash functions each keep the smallest hash
of the set; documents that agree in all 4 hashes of one of 16 bands share a bucket, which at a Jaccard similarity of 0.8
happens with a probability of 0.9998. Within a bucket each document is compared with the next 8, so that thousands of
pages from one template cost no more than others. Pairs for which fewer hashes agree than the threshold less 0.2, four
standard deviations at 0.8, are passed over; the similarity of the others is computed exactly.
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
"""Longer, as one text may be much longer than the other, and holds many short shingles by chance."""

_N_HASHES, _N_BANDS, _N_NEIGHBOURS = 64, 16, 8
_SEED = 0
_BLOCK = 20_000
_MARGIN = 0.2
_MOST_REMEMBERED = 8_000_000
_SHINGLES_AT_ONCE = 1_024
"""Few enough for their hashes to fit the processor's cache."""

Shingles = NDArray[np.uint64]
Number = TypeVar("Number", np.uint64, np.int64)


def count_near_duplicates(texts: Sequence[str], threshold: float = THRESHOLD) -> int:
    """The number of texts for which another has at least this Jaccard similarity. It is never too high, but too low if
    similar texts share no bucket or are more than 8 texts apart in it. Texts shorter than a shingle do not count.
    """
    similar: set[int] = set()
    similarity = _Similarities(texts)
    for one, other in _candidates_among(texts, threshold):
        if not {one, other} <= similar and similarity.of(one, other) >= threshold:
            similar |= {one, other}
    return len(similar)


def repeated_texts(texts: Sequence[str], threshold: float = THRESHOLD) -> dict[int, int]:
    """The places of texts that may be left out, and for each that of an earlier text, not itself among them, with at
    least this Jaccard similarity. Found as by `count_near_duplicates`; of texts that are alike any number is found.
    """
    repeated: dict[int, int] = {}
    similarity = _Similarities(texts)
    for other, pairs in groupby(_candidates_among(texts, threshold), key=itemgetter(1)):
        # In a large bucket only texts that may be left out themselves are near: what they repeat is compared then.
        earlier = dict.fromkeys(repeated.get(one, one) for one, _ in pairs)
        found = next((one for one in earlier if similarity.of(one, other) >= threshold), None)
        if found is not None:
            repeated[other] = found
    return repeated


def _candidates_among(texts: Sequence[str], threshold: float) -> Iterator[tuple[int, int]]:
    """Pairs of places, the smaller one first, of texts that may be similar: in the order of the larger one."""
    signatures = np.zeros((len(texts), _N_HASHES), dtype=np.uint64)
    multipliers = np.random.default_rng(_SEED).integers(1, 2**63, size=_N_HASHES, dtype=np.uint64) * 2 + 1
    kept = []
    for row, text in enumerate(texts):
        shingles = shingles_of(text)
        if len(shingles):
            signatures[row] = _minima(shingles, multipliers)
            kept.append(row)
    pairs = _candidates(signatures, np.array(kept, dtype=np.int64))
    for start in range(0, len(pairs), _BLOCK):
        others, ones = np.divmod(pairs[start : start + _BLOCK], len(texts))
        is_near = (signatures[ones] == signatures[others]).mean(axis=1) >= threshold - _MARGIN
        yield from zip(ones[is_near].tolist(), others[is_near].tolist(), strict=True)


class _Similarities:
    """Jaccard similarities of texts by their places. Remembers shingles, up to a number: of many texts that are made
    from one template each is compared with a hundred others.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._shingles: dict[int, Shingles] = {}
        self._n_remembered = 0

    def of(self, one: int, other: int) -> float:
        """Of two of them."""
        return jaccard(self._shingles_of(one), self._shingles_of(other))

    def _shingles_of(self, place: int) -> Shingles:
        if place not in self._shingles:
            shingles = shingles_of(self._texts[place])
            while self._shingles and self._n_remembered + len(shingles) > _MOST_REMEMBERED:
                self._n_remembered -= len(self._shingles.pop(next(iter(self._shingles))))
            self._shingles[place] = shingles
            self._n_remembered += len(shingles)
        return self._shingles[place]


def shingles_of(text: str, n_characters: int = SHINGLE_CHARACTERS) -> Shingles:
    """The distinct shingles of a text as sorted hashes."""
    characters = np.frombuffer("".join(text.split()).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    n = len(characters) - n_characters + 1
    hashes = np.zeros(max(n, 0), dtype=np.uint64)
    for place in range(n_characters if n > 0 else 0):
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + characters[place : place + n]
        hashes ^= hashes >> np.uint64(31)
    return _distinct(hashes)


def jaccard(one: Shingles, other: Shingles) -> float:
    """The share of all shingles that both texts have; 0 for two texts without any."""
    both = np.concatenate((one, other))
    both.sort(kind="stable")  # which merges what is sorted
    n_shared = np.count_nonzero(both[1:] == both[:-1])
    n_all = len(both) - n_shared
    return n_shared / n_all if n_all else 0.0


def overlap(one: Shingles, other: Shingles) -> float:
    """The share of the shingles of the text with fewer that the other has too; 0 for a text without any."""
    fewer = min(len(one), len(other))
    return len(np.intersect1d(one, other, assume_unique=True)) / fewer if fewer else 0.0


def contained_share(text: str, others: Sequence[str]) -> float:
    """The share of a text's shingles, of 8 characters, that the others have, all together; 0 for a text without any."""
    own = shingles_of(text, CONTAINED_SHINGLE_CHARACTERS)
    shared = [np.isin(own, shingles_of(other, CONTAINED_SHINGLE_CHARACTERS)) for other in others]
    return float(np.any(shared, axis=0).mean()) if shared and len(own) else 0.0


def _candidates(signatures: NDArray[np.uint64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Neighbours in the buckets of every band, each pair once, in order: int64[n_pairs], for each the larger row times
    the number of rows, plus the smaller one.
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
    return _distinct(np.concatenate(pairs))


def _distinct(numbers: NDArray[Number]) -> NDArray[Number]:
    """Each once, sorted in place: `np.unique` hashes them first, which takes several times the time and memory."""
    numbers.sort()
    is_first = np.ones(len(numbers), dtype=np.bool_)
    is_first[1:] = numbers[1:] != numbers[:-1]
    return numbers[is_first]


def _minima(shingles: Shingles, multipliers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The smallest hash of the shingles under each hash function, uint64[n_multipliers]."""
    smallest = np.full(len(multipliers), np.iinfo(np.uint64).max)
    for start in range(0, len(shingles), _SHINGLES_AT_ONCE):
        hashes = np.multiply.outer(shingles[start : start + _SHINGLES_AT_ONCE], multipliers)
        hashes ^= hashes >> np.uint64(29)
        np.minimum(smallest, hashes.min(axis=0), out=smallest)
    return smallest
