"""Facts in a text that a question can ask for: numbers, quoted names, capitalised names."""

import re
import unicodedata

_FACT = re.compile(
    r"""
      \d+(?:[.,:：]\d+)*                                   # 1,200 and 12.5 and 10:30 are one number each
    | 《[^》\n]{1,30}》 | “[^”\n]{2,20}” | "[^"\n]{2,30}"
    | (?<=[^\s.!?:;"“(]\s)[A-Z][\w&'-]+(?:\s[A-Z][\w&'-]+)*    # not at the beginning of a sentence
    """,
    re.VERBOSE,
)


def facts(text: str) -> frozenset[str]:
    """Return the distinct numbers and names of a text, in NFKC. Unmarked names, as in Chinese, are not found."""
    return frozenset(_FACT.findall(unicodedata.normalize("NFKC", text)))
