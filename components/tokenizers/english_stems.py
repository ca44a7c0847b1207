"""English words, lower-cased and stemmed, without stop words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from components.loading import cache_slow_loader
from components.records import Words
from components.text.normalize import index_term
from components.tokenizers.composed_text import find_words
from components.tokenizers.word_spans import spaced_words

if TYPE_CHECKING:
    import Stemmer


@cache_slow_loader
def _stemmer() -> "Stemmer.Stemmer":
    import Stemmer

    return Stemmer.Stemmer("english")


@cache_slow_loader
def _stop_words() -> frozenset[str]:
    from bm25s.stopwords import STOPWORDS_EN

    return frozenset(STOPWORDS_EN)


@dataclass(frozen=True)
class EnglishStems:
    """Words by a regular expression (numbers such as 1,250.5 stay whole), Snowball's English stemmer, and bm25s's stop
    words.
    """

    version: ClassVar[int] = 2
    languages: ClassVar[tuple[str, ...]] = ("en",)

    def words(self, texts: Sequence[str]) -> Iterator[Words]:
        """Yield the words of each text."""
        return find_words(texts, spaced_words)

    def normalize(self, token: str) -> str:
        """Return the stem in NFKC and lower case; "" for a stop word."""
        term = index_term(token)
        return "" if term in _stop_words() else str(_stemmer().stemWord(term))
