"""Stems of words of European languages, by Snowball."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from components.limits import expected_one_of
from components.loading import cache_slow_loader
from components.records import Words
from components.text.normalize import index_term
from components.tokenizers.composed_text import find_words
from components.tokenizers.word_spans import spaced_words

if TYPE_CHECKING:
    import Stemmer

_CODES = {"english": "en", "german": "de", "french": "fr", "spanish": "es"}
"""Codes of the languages that `detect_language` recognizes."""
_ELISION = re.compile(r"^(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu)['’]")


@cache_slow_loader
def _stemmer(language: str) -> "Stemmer.Stemmer":
    import Stemmer

    return Stemmer.Stemmer(language)


@cache_slow_loader
def _stop_words(language: str) -> frozenset[str]:
    """Return bm25s's stop words for the language, empty if bm25s lacks the language."""
    from bm25s import stopwords

    return frozenset(getattr(stopwords, f"STOPWORDS_{language.upper()}", ()))


@dataclass(frozen=True)
class SnowballStems:
    """Words by a regular expression (numbers such as 1.250,5 stay whole), Snowball's stemmer, and bm25s's stop words,
    if any.

    In French, elided articles (l'eau) are removed.
    """

    language: str = "german"

    version: ClassVar[int] = 2

    @property
    def languages(self) -> tuple[str, ...]:
        """The code of the language, as `detect_language` returns it."""
        return (_CODES.get(self.language, self.language),)

    def check(self) -> list[str]:
        """Return an error message if Snowball has no stemmer for the language."""
        import Stemmer

        algorithms = Stemmer.algorithms()
        return (
            []
            if self.language in algorithms
            else [f"language: got {self.language!r}{expected_one_of(self.language, algorithms)}"]
        )

    def words(self, texts: Sequence[str]) -> Iterator[Words]:
        """Yield the words of each text."""
        return find_words(texts, spaced_words)

    def normalize(self, token: str) -> str:
        """Return the stem in NFKC and lower case; "" for a stop word."""
        term = index_term(token)
        if self.language == "french":
            term = _ELISION.sub("", term)
        return "" if term in _stop_words(self.language) else str(_stemmer(self.language).stemWord(term))
