"""Secrets whose characters are escaped: each literal, percent-encoded, escaped with backslashes, or an entity of HTML.

Programs differ in the characters that they escape, so a list of encoded forms misses some. We undo the escapes instead,
in the text and in the secret, and search one result in the other. Escapes of several kinds or layers may be mixed
within one occurrence.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html.entities import html5

_ESCAPE = rb"""
      %(?:25)*(?:([0-9A-Fa-f]{2}) | u([0-9A-Fa-f]{4}))                           # %2B, %252B, %u002B
    | \\(?<!\\\\)\\*+(?:                                                         # any number of backslashes
          u([Dd][89ABab][0-9A-Fa-f]{2})\\++u([Dd][C-Fc-f][0-9A-Fa-f]{2})         # the halves of one character
        | u([0-9A-Fa-f]{4}) | U([0-9A-Fa-f]{8}) | [ux]\{([0-9A-Fa-f]{1,8})\}     # \u002B, \U0000002B, \u{2B}
        | x([0-9A-Fa-f]{2}))                                                     # \x2B, a byte
    | &(?:amp;)*(?:\#0{0,8}([0-9]{1,7}); | \#[xX]0{0,8}([0-9A-Fa-f]{1,6}); | ([A-Za-z][A-Za-z0-9]{1,31};))
"""
"""An escape of one character. Every alternative starts with its sign, and no sign is tried twice: linear in time."""

_BACKSLASHED = (rb"([0-3][0-7]{2})", rb"([0-9A-Fa-f]{2,6})(?:\r\n|[\ \n\r\t\f])?+")
"""After a backslash, the digits of a byte in octal, and those of a character in CSS. `\163` may be either, and `\be`
may begin a word of LaTeX, so the text is read in each way.
"""

_SIGNS = ("%", "\\", "&")
_MAX_LAYERS = 6
_MIN_LENGTH = 6

_DROPPED = b"\\'\""
"""A backslash before any other character means that character. Quotes may be doubled, or closed and reopened."""

_DROPS = re.compile(rb"[\\'\"]+")
_AS_LETTERS = bytes.maketrans(b"\n\r\t\b\f\v", b"nrtbfv")
"""Control characters become the letters that follow the backslash in their escapes."""


@dataclass(frozen=True, slots=True)
class _Edits:
    """Replaced parts of a text: `starts` and `ends` in the result, `sources` in the original."""

    starts: list[int]
    ends: list[int]
    sources: list[tuple[int, int]]

    def map_start(self, place: int) -> int:
        """Return the position in the original text of a byte of the result."""
        return self._source(place)[0]

    def map_end(self, place: int) -> int:
        """Return the end in the original text of a part of the result that ends at `place`."""
        return self._source(place - 1)[1]

    def _source(self, place: int) -> tuple[int, int]:
        edit = bisect_right(self.starts, place) - 1
        if edit < 0:
            return place, place + 1
        if place < self.ends[edit]:
            return self.sources[edit]
        place += self.sources[edit][1] - self.ends[edit]
        return place, place + 1


def has_escapes(text: str) -> bool:
    """Return False if the text contains no sign of an escape. Such a text need not be searched."""
    return any(sign in text for sign in _SIGNS)


(
    _PERCENT,
    _PERCENT_U,
    _HIGH_HALF,
    _LOW_HALF,
    _SHORT,
    _LONG,
    _BRACED,
    _BYTE,
    _DECIMAL,
    _HEXADECIMAL,
    _NAMED,
    _BACKSLASH_ONLY,
) = range(1, 13)
"""The groups of the pattern."""


class EscapedSecrets:
    """Known secrets to be found in text with escapes."""

    def __init__(self, forms: Iterable[str]) -> None:
        """Take the secrets, including their encodings that are not mere escapes, such as base64."""
        raw = [form.encode("utf-8", "surrogatepass") for form in forms]
        self._usual = _Reading(raw)
        self._others = [_Reading(raw, digits) for digits in _BACKSLASHED]

    def are_in(self, text: str) -> bool:
        """Return True if the text contains one of the secrets."""
        raw = text.encode("utf-8", "surrogatepass")
        usual = self._usual.unescape(raw)
        if usual is raw and b"\\" not in raw:
            return False
        return bool(self._usual.find_secrets(usual)) or any(
            reading.find_secrets(reading.unescape(raw)) for reading in self._find_other_readings(usual)
        )

    def hide(self, text: str, instead: str) -> str:
        """Return the text with `instead` in place of secrets; the same text if it contains none."""
        before = raw = text.encode("utf-8", "surrogatepass")
        usual = self._usual.unescape(raw)
        raw = self._usual.hide(raw, usual, instead.encode())
        for reading in self._find_other_readings(usual):
            raw = reading.hide(raw, reading.unescape(raw), instead.encode())
        return text if raw is before else raw.decode("utf-8", "surrogatepass")

    def _find_other_readings(self, usual: bytes) -> "list[_Reading]":
        return [reading for reading in self._others if b"\\" in usual and reading.differs(usual)]


class _Reading:
    """A way to undo escapes, and the secrets read in that way."""

    def __init__(self, forms: Iterable[bytes], digits: bytes = b"") -> None:
        backslashed = rb"\\(?<!\\\\)\\*+" + digits
        self._own = re.compile(backslashed, re.VERBOSE)
        self._escape = re.compile(_ESCAPE + b"|" + backslashed if digits else _ESCAPE, re.VERBOSE)
        self._radix = 8 if digits == _BACKSLASHED[0] else 16
        undone = {form: self.unescape(form) for form in forms}
        self._quoted = [form for form, each in undone.items() if each.strip(_DROPPED) != each]
        plain = set(map(_searchable, undone.values()))
        self._secrets = sorted(
            (each for each in plain if len(each) >= _MIN_LENGTH), key=lambda each: (-len(each), each)
        )

    def differs(self, usual: bytes) -> bool:
        """Return True if this reading finds more escapes in a text than the usual one."""
        return self._own.search(usual) is not None

    def unescape(self, raw: bytes) -> bytes:
        """Decode all escapes except single-character ones. Returns the argument if nothing changes."""
        for _ in range(_MAX_LAYERS):
            undone, n_undone = self._escape.subn(self._unescape_match, raw)
            if not n_undone:
                break
            raw = undone
        return raw

    def find_secrets(self, undone: bytes) -> list[bytes]:
        """Return the secrets in a text without escapes."""
        plain = _searchable(undone)
        return [secret for secret in self._secrets if secret in plain]

    def hide(self, raw: bytes, undone: bytes, instead: bytes) -> bytes:
        """Return the text with `instead` in place of secrets; the same object if it contains none."""
        if (undone is raw and b"\\" not in raw) or not (spans := self.find_secrets(undone)):
            return raw
        layers = self._layers(raw)
        pieces, done = [], 0
        for start, end in _merge_parts(sorted(_occurrences(_searchable(undone), spans))):
            for edits in reversed(layers):
                start, end = edits.map_start(start), edits.map_end(end)
            start, end = _whole(raw, *self._with_quotes(raw, start, end))
            if end > done:
                pieces += [raw[done:start], instead] if start >= done else []
                done = end
        return b"".join([*pieces, raw[done:]])

    def _with_quotes(self, raw: bytes, start: int, end: int) -> tuple[int, int]:
        """Return a part, extended by the quotes around it that belong to the secret in common notations."""
        for form in self._quoted:
            place = raw.find(form, max(0, end - len(form)), start + len(form))
            if 0 <= place <= start and place + len(form) >= end:
                return place, place + len(form)
        return start, end

    def _layers(self, raw: bytes) -> list[_Edits]:
        """Return the edits that lead to the searched text, in order."""
        layers = []
        for _ in range(_MAX_LAYERS):
            undone, edits = _replace_matches(self._escape, self._unescape_match, raw)
            if not edits.starts:
                break
            layers.append(edits)
            raw = undone
        return [*layers, _replace_matches(_DROPS, lambda _: b"", raw)[1]]

    def _unescape_match(self, match: re.Match[bytes]) -> bytes:
        kind = match.lastindex
        assert kind is not None
        digits = match[kind]
        if kind in (_PERCENT, _BYTE) or (kind == _BACKSLASH_ONLY and self._radix == 8):
            return bytes((int(digits, 8 if kind == _BACKSLASH_ONLY else 16),))
        if kind == _NAMED:
            named = html5.get(digits.decode("ascii"))
            return match[0] if named is None else named.encode()
        if kind == _LOW_HALF:
            pair = 0x10000 + ((int(match[_HIGH_HALF], 16) - 0xD800) << 10) + int(digits, 16) - 0xDC00
            return chr(pair).encode()
        code = int(digits, 10 if kind == _DECIMAL else 16)
        return chr(code).encode("utf-8", "surrogatepass") if code < 0x110000 else match[0]


def _searchable(undone: bytes) -> bytes:
    return undone.translate(_AS_LETTERS, _DROPPED)


def _replace_matches(
    pattern: re.Pattern[bytes], change: Callable[[re.Match[bytes]], bytes], raw: bytes
) -> tuple[bytes, _Edits]:
    """Replace all matches as `re.sub` does, and note where."""
    edits = _Edits([], [], [])
    pieces, done, n_written = [], 0, 0
    for match in pattern.finditer(raw):
        new = change(match)
        n_written += match.start() - done
        edits.starts.append(n_written)
        n_written += len(new)
        edits.ends.append(n_written)
        edits.sources.append(match.span())
        pieces += [raw[done : match.start()], new]
        done = match.end()
    return b"".join([*pieces, raw[done:]]), edits


def _occurrences(plain: bytes, secrets: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    for secret in secrets:
        start = plain.find(secret)
        while start >= 0:
            yield start, start + len(secret)
            start = plain.find(secret, start + len(secret))


def _merge_parts(parts: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield parts without overlaps, given in order."""
    start = end = 0
    for first, last in parts:
        if first >= end:
            if end:
                yield start, end
            start, end = first, last
        else:
            end = max(end, last)
    if end:
        yield start, end


def _whole(raw: bytes, start: int, end: int) -> tuple[int, int]:
    """Return a part with whole characters, and with the backslashes that escape its first sign."""
    while _continues(raw, start):
        start -= 1
    while _continues(raw, end):
        end += 1
    if raw[start] < 0x80 and not chr(raw[start]).isalnum():  # `\/` is one character: `\***` would not be JSON
        while start and raw[start - 1 : start] == b"\\":
            start -= 1
    return start, end


def _continues(raw: bytes, place: int) -> bool:
    return place < len(raw) and raw[place] & 0xC0 == 0x80
