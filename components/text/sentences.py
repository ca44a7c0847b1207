"""Where sentences end, in Chinese and English text."""

import re

import numpy as np
from numpy.typing import NDArray

_END = re.compile(
    r"""
    (?: [。！？；…!?;]+ [”’"'」』）)\]】]*      # Chinese and strong marks, with what closes after them
      | (?: (?<![\d.]) | (?<=\d\.) ) \.++       # full stops, not a decimal point; thousands of them once
        ["')\]”’]*+ (?=\s|$)                   # ... before white space
      | (?<=\d) \.  ["')\]”’]* (?=\s+[A-Z]|$)   # after a digit only where a capital follows
      | \n )
    \s*                                         # white space belongs to the sentence before it
    """,
    re.VERBOSE,
)


def sentence_ends(text: str) -> NDArray[np.int32]:
    """Character offsets where sentences end, int32, increasing, the last is len(text); empty for an empty text.

    Nothing is lost: the sentences are the slices between consecutive ends. A sentence ends at 。！？；… or a line
    break, at ! ? ; and at a full stop followed by white space; closing quotes and brackets belong to it.
    """
    ends = [match.end() for match in _END.finditer(text)]
    if text and (not ends or ends[-1] != len(text)):
        ends.append(len(text))
    return np.array(ends, dtype=np.int32)
