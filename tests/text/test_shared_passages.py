"""Runs of characters that passages and documents share."""

import pytest

from components.text.shared_passages import (
    RUN,
    Segment,
    SharedPassages,
    contained_number_share,
    copied_number_share,
    segments,
)

TEXT = "abcdefghijklmnopqrstuvwxyz0123456789"


def covered(passage: str, *documents: str) -> dict[int, int]:
    shared = SharedPassages([passage])
    shared.add(documents)
    coverage = shared.coverage(0)
    return dict(zip(coverage.documents.tolist(), coverage.n_covered.tolist(), strict=True))


def test_every_character_in_a_shared_run_is_covered() -> None:
    assert covered(TEXT, TEXT, TEXT[5:20], f"__{TEXT[:12]}__{TEXT[20:31]}") == {0: 36, 1: 15, 2: 23}


def test_run_across_two_documents_is_not_shared() -> None:
    assert covered(TEXT, TEXT[: RUN - 1], TEXT[RUN - 1 : 2 * RUN - 2]) == {}


def test_overlapping_shared_runs_count_their_characters_once() -> None:
    assert covered("aaaaaaaaaaaaaaa", "a" * 30) == {0: 15}


def test_shared_passages_ignore_white_space() -> None:
    assert covered("abcde fghij\nklmno", "abc def\u3000ghijklmno") == {0: 15}


def test_many_documents_are_read_in_batches() -> None:
    assert covered(TEXT, *["no"] * 1500, TEXT, *["no"] * 1000, TEXT[:20]) == {1500: 36, 2501: 20}


def test_passages_without_a_shared_run_are_not_covered() -> None:
    assert covered("", TEXT) == covered("short", TEXT) == covered(TEXT) == covered(TEXT, "", " ") == {}


def test_segments_are_equal_characters_in_places_of_both_texts() -> None:
    passage, document = "abcde fghijklmnopqrstuvwxyz", "..abcdefghijkl no pqrstuvwxyz"
    found = list(segments(passage, document))
    assert found
    for segment in found:
        assert (
            passage[segment.start : segment.start + segment.length]
            == document[segment.place : segment.place + segment.length]
        )
    own = {place for segment in found for place in range(segment.start, segment.start + segment.length)}
    assert own >= set(range(5)) | set(range(18, 27))


def test_passage_in_a_repetitive_document_is_one_segment() -> None:
    passage = "The Company reported higher revenue. The Company reported lower costs."
    document = (
        f"The Company reported nothing. Lower costs. The Company reported higher. {passage} The Company reported."
    )
    assert list(segments(passage, document)) == [Segment(0, document.index(passage), len(passage))]


def test_each_shared_character_has_one_place_in_the_longest_stretch() -> None:
    passage, document = f"{TEXT}__{TEXT[:12]}", f"{TEXT[3:15]}..{TEXT}"
    found = list(segments(passage, document))
    assert found == [Segment(0, 14, 36), Segment(38, 14, 12)]
    assert sum(segment.length for segment in found) == covered(passage, document)[0]


def test_endless_repeats_are_compared_in_time() -> None:
    found = list(segments("." * 3_000, "." * 4_000))
    assert sum(segment.length for segment in found) == 3_000


def test_share_of_contained_numbers_is_computed() -> None:
    assert contained_number_share("1,200 and 3.5 and 7", "7 1,200") == 2 / 3
    assert contained_number_share("none", "7") == 1.0


@pytest.mark.parametrize(
    ("document", "share"),
    [
        ("A licence is granted for 18 months and costs 1,200 crowns.", 1.0),
        ("A  licence is\ngranted for 18 months and costs 1,200 crowns.", 1.0),
        ("A licence is granted for 14 months and costs 1,200 crowns. Answers take 18 days.", 0.5),
        ("A licence is granted for 180 months and costs 1,200 crowns.", 0.5),
        ("A licence is granted for 18 months and costs 1,200.50 crowns.", 0.5),
        ("A licence is granted for 18-months and costs about 1,200 crowns.", 1.0),
        ("A licence is granted for **18** months and costs 1,200 crowns.", 1.0),
        ("A licence is granted for months (18) and costs 1,200 crowns.", 1.0),
        ("Nothing else.", 0.0),
    ],
)
def test_numbers_count_as_copied_only_inside_the_copied_text(document: str, share: float) -> None:
    passage = "A licence is granted for 18 months and costs 1,200 crowns."
    assert copied_number_share(passage, document, list(segments(passage, document))) == share


def test_repeated_number_counts_once() -> None:
    report = "In 2021 revenue was {} million; 2021 had four quarters, 2021 was a good year, and 2021 ended well."
    passage, document = report.format(310), report.format(355)
    assert copied_number_share(passage, document, list(segments(passage, document))) == 0.5


def test_passage_without_numbers_has_all_numbers_copied() -> None:
    assert copied_number_share("none", "7", []) == 1.0
