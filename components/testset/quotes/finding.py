"""Search for a quote in texts: exact, without whitespace, in folded form, and finally fuzzy."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from components.testset.quotes.quote_forms import QuoteForm, fold, keep_unchanged, strip_marks, strip_white_space
from components.testset.quotes.safeguards import have_same_facts, is_cut_off, is_number_left_out

FUZZY_PERCENT = 95.0
_MAX_NEAR_MATCHES = 5
_MASK = "\x00"


class QuotePlace(NamedTuple):
    """The characters [start, end) of `texts[text]`."""

    text: int
    start: int
    end: int


def find_quote(quote: str, texts: Sequence[str]) -> list[QuotePlace]:
    """Return all occurrences of a quote in the texts, in order, by the first of these methods that finds any:

    1. The exact quote.
    2. Without whitespace.
    3. In folded form: ignoring width, compatibility characters and punctuation, and finally case.
    4. Fuzzy: at least 95% of the folded characters (Indel ratio), at most 5 non-overlapping places in each text.

    Except in 1, the quote and the match must have the same numbers and negations. A match must never begin
    or end within a number or a word, or next to a negation that it leaves out. Return [] for a quote without a letter
    or digit.
    """
    if not fold(quote).text:
        return []
    quote = quote.strip()
    for find in _WAYS:
        if places := [
            QuotePlace(number, start, end)
            for number, text in enumerate(texts)
            for start, end in sorted(find(quote, text))
        ]:
            return places
    return []


def _find_equal(form: Callable[[str], QuoteForm], quote: str, text: str) -> Iterator[tuple[int, int]]:
    pattern, searched = form(quote).text, form(text)
    start = searched.text.find(pattern)
    while start >= 0:
        span = searched.original(start, start + len(pattern))
        if _is_same(quote, text, *span):
            yield span
        start = searched.text.find(pattern, start + 1)


def _is_same(quote: str, text: str, start: int, end: int) -> bool:
    if is_cut_off(text, start, end):
        return False
    passage = text[start:end]  # an exact copy leaves out nothing, although a number may follow its full stop
    return passage == quote or (have_same_facts(quote, passage) and not is_number_left_out(quote, text, start, end))


def _find_near(quote: str, text: str) -> Iterator[tuple[int, int]]:
    from rapidfuzz import fuzz

    pattern, form = fold(quote).text, fold(text)
    rest = form.text
    for _ in range(_MAX_NEAR_MATCHES):
        if len(pattern) > len(rest):  # rapidfuzz would search for the text in the quote
            start, end, score = 0, len(rest), fuzz.ratio(pattern, rest)
        else:
            alignment = fuzz.partial_ratio_alignment(pattern, rest, score_cutoff=FUZZY_PERCENT - 5)
            if alignment is None:
                return
            start, end, score = _exact_ends(pattern, rest, alignment.dest_start, alignment.dest_end)
        if score < FUZZY_PERCENT or not end:
            return
        span = form.original(start, end)
        if _is_same(quote, text, *span):
            yield span
        rest = rest[:start] + _MASK * (end - start) + rest[end:]


def _exact_ends(quote: str, text: str, start: int, end: int) -> tuple[int, int, float]:
    """Return the nearby ends at which the text resembles the quote most, with their score.

    The ends from rapidfuzz are as far apart as the quote is long, and its score covers only a part of the quote.
    """
    from rapidfuzz import fuzz

    reach = max(2, round(len(quote) * (100 - FUZZY_PERCENT) / 100) + 1)
    ends = range(max(start + 1, end - reach), min(len(text), end + reach) + 1)
    end = max(ends, key=lambda place: fuzz.ratio(quote, text[start:place]))
    starts = range(max(0, start - reach), min(end, start + reach + 1))
    start = max(starts, key=lambda place: (fuzz.ratio(quote, text[place:end]), place))
    return start, end, fuzz.ratio(quote, text[start:end])


_WAYS: Sequence[Callable[[str, str], Iterator[tuple[int, int]]]] = (
    partial(_find_equal, keep_unchanged),
    partial(_find_equal, strip_white_space),
    partial(_find_equal, strip_marks),
    partial(_find_equal, fold),
    _find_near,
)
