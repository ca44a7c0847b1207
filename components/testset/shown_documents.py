"""Documents in the form shown to writers and inspectors."""

from collections.abc import Sequence

from components.testset.quotes import numbered_sentences
from components.testset.records import Extract
from components.testset.wording import quote_text

_MAX_TITLE_CHARACTERS = 200


def shown_documents(extracts: Sequence[Extract]) -> str:
    """Return each extract as a numbered document, with one sentence per line after its number in brackets.

    `numbered_sentences` defines the numbers. Text of a document cannot begin a line, so it cannot imitate another
    sentence or the end of a document.
    """
    lines: list[list[str]] = [[] for _ in extracts]
    for number, (extract, start, end) in enumerate(numbered_sentences(extracts), 1):
        first = extracts[extract].start
        lines[extract].append(f"[{number}] {quote_text(extracts[extract].text[start - first : end - first])}")
    documents = [
        "\n".join(
            [f"<document {n}>{quote_text(extract.title)[:_MAX_TITLE_CHARACTERS]}", *sentences, f"</document {n}>"]
        )
        for n, (extract, sentences) in enumerate(zip(extracts, lines, strict=True), 1)
    ]
    return "\n\n".join(documents)
