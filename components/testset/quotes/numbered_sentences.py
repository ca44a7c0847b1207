"""The sentences of extracts, numbered from 1 over all extracts so that a writer can cite them."""

from collections.abc import Sequence
from typing import NamedTuple

from components.testset.records import Extract
from components.text.sentences import sentence_ends


class ShownSentence(NamedTuple):
    """The characters [start, end) of the document of `extracts[extract]`."""

    extract: int
    start: int
    end: int


def numbered_sentences(extracts: Sequence[Extract]) -> list[ShownSentence]:
    """Return the sentences of all extracts. Sentence n is at position n - 1.

    The sentences of an extract cover all of its text. Leading whitespace belongs to the first sentence. An empty
    extract has no sentences.
    """
    return [
        ShownSentence(position, extract.start + start, extract.start + end)
        for position, extract in enumerate(extracts)
        for start, end in _sentences(extract.text)
    ]


def _sentences(text: str) -> list[tuple[int, int]]:
    ends = sentence_ends(text).tolist()
    if len(ends) > 1 and not text[: ends[0]].strip():
        del ends[0]
    return list(zip([0, *ends], ends, strict=False))
