"""Removal of file artifacts from texts: invisible characters, stray whitespace, words broken at line ends.

Every function is idempotent, and its result depends only on the text.
"""

import re

from components.text.normalize import whole_characters

_LINE_ENDS = re.compile("\r\n?|[\x0b\x85\u2028\u2029]")
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f"  # control characters except tab, line break and form feed (which ends a page)
    "\xad\u180e\u200b\u2060-\u2064\ufeff\ufff9-\ufffb"  # soft hyphens, and spaces without a width
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"  # marks that change the writing direction
    "\U000e0000-\U000e007f]"  # tags, which spell invisible words
)
_EMPTY_LINES = re.compile(r"\n{3,}")
_LINE_BREAK_IN_WORD = re.compile(r"(?<=[^\W\d_])-\n[ \t]*(?=[^\W\d_])")
_WORD_WITH_HYPHEN = re.compile(r"[^\W\d_]{1,40}-[^\W\d_]{1,40}")
_LETTERS = re.compile(r"[^\W\d_]{1,40}")


def strip_invisible_characters(text: str) -> str:
    r"""Return a text without control characters, marks of writing direction, invisible tags and lone surrogates.

    Every kind of line end becomes "\n". Joiners stay, because emoji and some scripts need them.
    """
    return _UNSEEN.sub("", _LINE_ENDS.sub("\n", whole_characters(text)))


def tidy_white_space(text: str) -> str:
    """Collapse spaces within lines to one, and empty lines to one. Strip the ends of lines and the text.

    Indentation is kept, because it is meaningful in lists and code.
    """
    pages = ("\n".join(map(_tidy_line, page.split("\n"))).strip("\n") for page in text.split("\f"))
    return _EMPTY_LINES.sub("\n\n", "\n\f\n".join(pages)).strip("\n\f")


def _tidy_line(line: str) -> str:
    words = " ".join(line.split())
    return line[: len(line) - len(line.lstrip(" \t"))] + words if words else ""


def join_broken_words(text: str) -> str:
    """Join words that were broken at the end of a line: "bro-" and "ken" become "broken", and the two lines become one.

    The hyphen stays if the text contains the same word with a hyphen elsewhere. Only lower-case letters are joined,
    because names and numbers keep their hyphens.
    """

    def join(match: "re.Match[str]") -> str:
        before = _LETTERS.findall(text, max(match.start() - 40, 0), match.start())[-1]
        after = _LETTERS.findall(text, match.end(), match.end() + 40)[0]
        if not (before[-1].islower() and after[0].islower()):
            return match[0]
        return "-" if f"{before}-{after}".lower() in hyphenated else ""

    if "-\n" not in text:
        return text
    hyphenated = {word.lower() for word in _WORD_WITH_HYPHEN.findall(text)}
    return _LINE_BREAK_IN_WORD.sub(join, text)
