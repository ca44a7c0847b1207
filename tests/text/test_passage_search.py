"""Passages in a corpus: their places, and passages without a place."""

from components.records import Documents
from components.text.passage_search import FoundPlace, SoughtPassage, locate_passages

LAKE = "The lake is in the west of the town. It has 3 islands, and 6.5 square kilometres of water. Many come to see it."
COPY = f"Reprinted: {LAKE}"
PALACE = "The palace was finished in 1420. It stands in the north, and has 9,999 rooms behind red walls."
DOCUMENTS = Documents(["a/copy", "b/lake", "c/palace"], ["A reprint", "The lake", "Palace"], [COPY, LAKE, PALACE])


def place_of(text: str, *hints: str, start: int | None = None) -> FoundPlace | None:
    return locate_passages([SoughtPassage(text, hints, start)], DOCUMENTS)[0]


def test_exact_text_is_found_in_the_first_document() -> None:
    at = COPY.index("It has 3")
    assert place_of("It has 3 islands, and 6.5") == FoundPlace(0, at, at + 25, is_exact=True)


def test_hints_decide_only_between_equal_texts() -> None:
    assert place_of("It has 3 islands", "b/lake") == FoundPlace(1, 37, 53, is_exact=True)
    assert place_of("It has 3 islands", "The lake") == FoundPlace(1, 37, 53, is_exact=True)
    found = place_of("finished in 1420", "b/lake")
    assert found is not None
    assert found.document == 2


def test_chunk_cut_within_words_is_found() -> None:
    assert place_of("e palace was finished in 14") == FoundPlace(2, 2, 29, is_exact=True)


def test_place_at_the_hinted_start_comes_first() -> None:
    twice = Documents(["d"], [""], ["again and again and again"])
    assert locate_passages([SoughtPassage("again", ("d",), 10), SoughtPassage("again", ("d",))], twice) == [
        FoundPlace(0, 10, 15, is_exact=True),
        FoundPlace(0, 0, 5, is_exact=True),
    ]


def test_texts_with_other_whitespace_or_small_edits_are_near_copies() -> None:
    for text in (PALACE.replace(" ", "\n "), PALACE.replace("red walls", "white walls"), f"# {PALACE}"):
        found = place_of(text)
        assert found is not None
        assert (found.document, found.is_exact) == (2, False)
        assert PALACE[found.start : found.end].startswith("The palace was finished in 1420")


def test_text_with_different_numbers_is_not_a_copy() -> None:
    assert (
        place_of("The palace was finished in 1812. It stands in the north, and has 7 rooms behind red walls.") is None
    )


def test_texts_outside_the_documents_have_no_place() -> None:
    assert place_of("Nothing in this sentence is part of any document here.") is None
    assert place_of(f"{LAKE[:50]} {PALACE[:50]}") is None
    assert place_of("") is None
    assert place_of("   ") is None
    assert place_of("qqq") is None


def test_short_texts_are_found_exactly() -> None:
    assert place_of(" 1420") == FoundPlace(2, 27, 31, is_exact=True)


def test_locating_accepts_no_passages_or_no_documents() -> None:
    assert locate_passages([], DOCUMENTS) == []
    assert locate_passages([SoughtPassage("some text that is long enough")], Documents([], [], [])) == [None]
