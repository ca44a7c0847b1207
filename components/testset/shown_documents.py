"""Documents as writers and inspectors are shown them."""

from collections.abc import Sequence

from components.testset.quotes import numbered_sentences
from components.testset.records import Extract
from components.testset.wording import quoted

_LONGEST_TITLE = 200


def shown_documents(extracts: Sequence[Extract]) -> str:
    """Each extract as a numbered document, a sentence to a line with its number in brackets: see `numbered_sentences`.
    What a document says cannot begin a line, and so cannot look like another sentence, nor like the end of a document.
    """
    lines: list[list[str]] = [[] for _ in extracts]
    for number, (extract, start, end) in enumerate(numbered_sentences(extracts), 1):
        first = extracts[extract].start
        lines[extract].append(f"[{number}] {quoted(extracts[extract].text[start - first : end - first])}")
    shown = [
        "\n".join([f"<document {n}>{quoted(extract.title)[:_LONGEST_TITLE]}", *own, f"</document {n}>"])
        for n, (extract, own) in enumerate(zip(extracts, lines, strict=True), 1)
    ]
    return "\n\n".join(shown)
