"""What in a text can be asked for and checked: numbers, quoted names, capitalised names."""

import re
import unicodedata

_FACT = re.compile(
    r"""
      \d+(?:[.,:：]\d+)*                                   # 1,200 and 12.5 and 10:30 once each
    | 《[^》\n]{1,30}》 | “[^”\n]{2,20}” | "[^"\n]{2,30}"
    | (?<=[^\s.!?:;"“(]\s)[A-Z][\w&'-]+(?:\s[A-Z][\w&'-]+)*    # not at the beginning of a sentence
    """,
    re.VERBOSE,
)


def facts(text: str) -> frozenset[str]:
    """Its numbers and names, each once, in NFKC. Names without a mark of their own, as in Chinese, are not found."""
    return frozenset(_FACT.findall(unicodedata.normalize("NFKC", text)))
