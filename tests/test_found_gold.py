"""Gold that spans contain."""

import numpy as np

from components.gold_copies import GoldCopies, empty_copies
from components.gold_places import GoldLocator, SampleSpans
from components.records import Evidence, Kind, Sample

POSITIONS = {"a": 0, "c": 2}
LENGTHS = np.array([100, 50, 80], dtype=np.int32)


def sample(*gold: Evidence) -> Sample:
    return Sample("s", "all", Kind.QA, "?", (), gold)


SAMPLES = [
    sample(Evidence("a", 10, 30), Evidence("c")),
    sample(),
    sample(Evidence("a", 10, 30), Evidence("elsewhere", 0, 9)),
]


def spans(*rows: tuple[int, int, int, int]) -> SampleSpans:
    """Return spans from (sample, document, start, end)."""
    return SampleSpans(*np.array(rows, dtype=np.int64).reshape(-1, 4).T)


def pieces(places: GoldLocator, *rows: tuple[int, int, int, int]) -> list[tuple[int, ...]]:
    """Return the pieces as (span, gold, start, end)."""
    held = places.find_pieces(spans(*rows))
    return sorted(zip(*(column.tolist() for column in (held.span, held.gold, held.start, held.end)), strict=True))


def test_gold_units_have_lengths_only_inside_the_corpus() -> None:
    assert list(GoldLocator(SAMPLES, POSITIONS, LENGTHS, empty_copies()).lengths) == [20, 80, 20, None]


def test_gold_spans_count_only_for_their_own_sample() -> None:
    places = GoldLocator(SAMPLES, POSITIONS, LENGTHS, empty_copies())
    assert pieces(places, (0, 0, 0, 15), (0, 0, 15, 100), (0, 2, 70, 80), (1, 0, 0, 100), (2, 0, 20, 25)) == [
        (0, 0, 0, 5),
        (1, 0, 5, 20),
        (2, 1, 70, 80),
        (4, 2, 10, 15),
    ]
    assert pieces(places, (0, 0, 30, 100), (0, 0, 0, 10), (0, 1, 0, 50)) == []
    assert pieces(places) == []


def test_text_in_a_copy_counts_as_the_gold() -> None:
    # Document 1 repeats characters 12 to 22 of document 0, a part of the first unit, at 40.
    copies = GoldCopies(*(np.array([value], dtype=np.int32) for value in (0, 0, 12, 1, 40, 10)))
    places = GoldLocator(SAMPLES, POSITIONS, LENGTHS, copies)
    assert pieces(places, (0, 1, 45, 50), (2, 1, 0, 42)) == [(0, 0, 7, 12), (1, 2, 2, 4)]


def test_character_in_several_spans_counts_once() -> None:
    places = GoldLocator(SAMPLES, POSITIONS, LENGTHS, empty_copies())
    held = places.find_pieces(spans((0, 0, 0, 15), (0, 0, 12, 20), (0, 0, 13, 14), (0, 2, 0, 5), (2, 0, 0, 100)))
    assert held.n_characters(4).tolist() == [10, 5, 20, 0]
    assert places.find_pieces(spans()).n_characters(4).tolist() == [0, 0, 0, 0]
