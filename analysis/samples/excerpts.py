"""Parts of documents, as they are shown."""

from analysis.samples.story import Excerpt

_AROUND, _BEGINNING, _END = 60, 220, 80
"""Characters that are shown around gold, and of gold that is longer than both together."""


def excerpt(text: str, start: int | None, end: int | None) -> Excerpt:
    """The characters [start, end) of a text with some around them; None for those from its beginning, or to its end."""
    first, last = start or 0, len(text) if end is None else end
    before, gold, behind = text[max(0, first - _AROUND) : first], text[first:last], text[last : last + _AROUND]
    n_left_out = len(gold) - _BEGINNING - _END
    if n_left_out <= 0:
        return Excerpt(before, gold, behind=behind)
    return Excerpt(before, gold[:_BEGINNING], n_left_out, gold[-_END:], behind)
