"""Excerpts of documents for display."""

from analysis.samples.story import Excerpt

_AROUND, _BEGINNING, _END = 60, 220, 80
"""Characters shown around gold, and at both ends of longer gold."""


def excerpt(text: str, start: int | None, end: int | None) -> Excerpt:
    """Return the characters [start, end) of a text with some text around them. None is the beginning or the end."""
    first, last = start or 0, len(text) if end is None else end
    before, gold, behind = text[max(0, first - _AROUND) : first], text[first:last], text[last : last + _AROUND]
    n_left_out = len(gold) - _BEGINNING - _END
    if n_left_out <= 0:
        return Excerpt(before, gold, behind=behind)
    return Excerpt(before, gold[:_BEGINNING], n_left_out, gold[-_END:], behind)
