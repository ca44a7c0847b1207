from itertools import pairwise

from components.testset.quotes import ShownSentence, numbered_sentences
from components.testset.records import Extract

CHINESE = "公司去年盈利。“今年会更好！”董事长说。"
ENGLISH = "\n\n  Revenue rose 3.5 percent. Costs fell.\nNo dividend"


def _extract(document: str, title_page: str) -> Extract:
    """The document without its first characters, which are a title page."""
    return Extract(document, "", len(title_page), len(document), document[len(title_page) :])


def test_sentence_numbers_run_over_all_extracts_with_document_positions() -> None:
    page = "第一页。"
    extracts = [_extract(page + CHINESE, page), Extract("b", "", 0, len(ENGLISH), ENGLISH)]
    shown = numbered_sentences(extracts)
    documents = [page + CHINESE, ENGLISH]
    assert [documents[sentence.extract][sentence.start : sentence.end] for sentence in shown] == [
        "公司去年盈利。",
        "“今年会更好！”",
        "董事长说。",
        "\n\n  Revenue rose 3.5 percent. ",
        "Costs fell.\n",
        "No dividend",
    ]
    assert [sentence.extract for sentence in shown] == [0, 0, 0, 1, 1, 1]


def test_numbered_sentences_cover_the_whole_extract() -> None:
    for text in (CHINESE, ENGLISH, "   \n \n", "x" * 1000, "\n\n", "a\u2028b\x00\u202e。😀!?", "。" * 50):
        shown = numbered_sentences([Extract("a", "", 7, 7 + len(text), text)])
        assert shown[0].start == 7
        assert shown[-1].end == 7 + len(text)
        assert all(one.end == other.start for one, other in pairwise(shown))


def test_empty_extract_has_no_sentence() -> None:
    assert numbered_sentences([Extract("a", "", 0, 0, ""), Extract("b", "", 0, 2, "b.")]) == [ShownSentence(1, 0, 2)]
