"""Ends of sentences in Chinese and English text."""

import re

import numpy as np
from numpy.typing import NDArray

_END = re.compile(
    r"""
    (?: [。！？；…!?;]+ [”’"'」』）)\]】]*      # Chinese and strong marks, with closing marks after them
      | (?: (?<![\d.]) | (?<=\d\.) ) \.++       # full stops, not a decimal point; long runs only once
        ["')\]”’]*+ (?=\s|$)                   # ... before whitespace
      | (?<=\d) \.  ["')\]”’]* (?=\s+[A-Z]|$)   # after a digit only where a capital follows
      | \n )
    \s*                                         # whitespace belongs to the sentence before it
    """,
    re.VERBOSE,
)


def sentence_ends(text: str) -> NDArray[np.int32]:
    """Return the character offsets where sentences end, int32, increasing; empty for an empty text.

    The last end is len(text), so the slices between consecutive ends contain the whole text. A sentence ends at a line
    break, at ! ? ; or 。！？；…, and at a full stop followed by whitespace. Closing quotes and brackets belong to it.
    """
    ends = [match.end() for match in _END.finditer(text)]
    if text and (not ends or ends[-1] != len(text)):
        ends.append(len(text))
    return np.array(ends, dtype=np.int32)


def split_sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a text in order, each on one line, without blank ones."""
    starts = [0, *(ends := sentence_ends(text).tolist())]
    sentences = (" ".join(text[start:end].split()) for start, end in zip(starts, ends, strict=False))
    return tuple(sentence for sentence in sentences if sentence)
