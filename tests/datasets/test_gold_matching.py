"""Passages are found by the characters that they share with documents, in one document or in two."""

import pytest

from components.datasets.gold_matching import PassageFinder
from components.records import Evidence

FIRST = "青砚市昨日发布了新的公共交通方案。"
SECOND = "方案计划在三年内新增十二条公交线路！"
THIRD = "市民可以在网站上查看每条线路的走向；"
FOURTH = "首批四条线路将在明年三月正式开通。"
OTHER = "这是一句与上面的新闻毫无关系的句子。"


def find_gold(passage: str, *documents: str, overlap: float = 0.8) -> tuple[Evidence, ...]:
    finder = PassageFinder([passage], overlap)
    finder.add([f"d{number}" for number in range(len(documents))], documents)
    return finder.find(passage)


def test_gold_that_covers_a_whole_document_is_located() -> None:
    assert find_gold(FIRST + SECOND, OTHER, FIRST + SECOND) == (Evidence("d1", 0, len(FIRST + SECOND)),)


def test_gold_span_in_the_middle_of_a_document_is_found() -> None:
    document = f"{OTHER}  {FIRST}\u3000{SECOND}{OTHER}"
    (unit,) = find_gold(FIRST + SECOND, document)
    assert document[unit.start : unit.end] == f"{FIRST}\u3000{SECOND}"


def test_gold_matching_ignores_white_space() -> None:
    document = FIRST.replace("昨日", "昨 日") + "\n" + SECOND
    assert find_gold(FIRST + "   " + SECOND, document) == (Evidence("d0", 0, len(document)),)


def test_gold_sentence_without_final_punctuation_is_found() -> None:
    assert find_gold(FIRST, FIRST[:-1]) == (Evidence("d0", 0, len(FIRST) - 1),)


def test_gold_matching_splits_sentences_at_line_breaks() -> None:
    """A headline has no mark at its end. Without its line break, it joins the next sentence."""
    passage = FIRST[:-1] + "\n" + SECOND[:-1] + "\n" + THIRD
    assert find_gold(passage, OTHER + FIRST[:-1], SECOND[:-1] + THIRD + OTHER) == (
        Evidence("d0", len(OTHER), len(OTHER + FIRST) - 1),
        Evidence("d1", 0, len(SECOND + THIRD) - 1),
    )


def test_gold_that_begins_and_ends_within_a_sentence_is_found() -> None:
    document = FIRST + SECOND + THIRD + FOURTH
    passage = document[6:-5]
    assert find_gold(passage, OTHER, document) == (Evidence("d1", 6, len(document) - 5),)


def test_passage_finder_searches_documents_added_later() -> None:
    finder = PassageFinder([FIRST, SECOND], 0.8)
    finder.add(["a"], [FIRST])
    assert finder.find(SECOND) == ()
    finder.add(["b"], [OTHER + SECOND])
    assert finder.find(FIRST) == (Evidence("a", 0, len(FIRST)),)
    assert finder.find(SECOND) == (Evidence("b", len(OTHER), len(OTHER + SECOND)),)


def test_gold_across_two_documents_matches_both() -> None:
    passage = FIRST + SECOND + THIRD + FOURTH
    units = find_gold(passage, THIRD + FOURTH + OTHER, OTHER, OTHER + FIRST + SECOND)
    assert units == (
        Evidence("d0", 0, len(THIRD + FOURTH)),
        Evidence("d2", len(OTHER), len(OTHER + FIRST + SECOND)),
    )


def test_boilerplate_is_not_a_second_gold_document() -> None:
    """A notice that ends many pages ends the passage too: any of them would do, so none is evidence."""
    passage = FIRST + SECOND + OTHER
    pages = [f"{number}。{OTHER}" for number in range(6)]
    assert find_gold(passage, *pages, FIRST + SECOND) == (Evidence("d6", 0, len(FIRST + SECOND)),)
    assert len(find_gold(passage, *pages[:2], FIRST + SECOND)) == 2


def test_gold_with_little_overlap_or_in_three_documents_is_not_found() -> None:
    assert find_gold(FIRST + SECOND, FIRST + OTHER) == ()
    assert find_gold(FIRST + SECOND, FIRST + OTHER, overlap=0.4) == (Evidence("d0", 0, len(FIRST)),)
    assert find_gold(FIRST + SECOND + THIRD, FIRST, SECOND, THIRD) == ()


def test_gold_matches_the_best_document_and_the_first_of_equal_documents() -> None:
    assert find_gold(FIRST + SECOND, FIRST + SECOND, FIRST + SECOND)[0].document_id == "d0"
    assert find_gold(FIRST + SECOND, FIRST, FIRST + SECOND)[0].document_id == "d1"


@pytest.mark.parametrize("passage", ["", "好。", "短句。短句！"])
def test_gold_shorter_than_a_character_run_is_not_found(passage: str) -> None:
    assert find_gold(passage, passage, FIRST) == ()
