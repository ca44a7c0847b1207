"""Korean morphemes by Kiwi (extra: languages). It separates particles and endings from the words that carry the
meaning.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from components.errors import MissingExtraError
from components.loading import cache_slow_loader
from components.tokenizers.word_spans import AnalysedWords, Span

if TYPE_CHECKING:
    from kiwipiepy import Kiwi


@cache_slow_loader
def _analyser() -> "Kiwi":
    try:
        from kiwipiepy import Kiwi
    except ImportError as error:
        raise MissingExtraError("kiwipiepy", "languages", "language=ko") from error
    return Kiwi(num_workers=1)


@dataclass(frozen=True)
class KiwiWords(AnalysedWords):
    """Morphemes in their written form, for the index and for metrics."""

    version: ClassVar[int] = 2
    max_tokens_per_character: ClassVar[int] = 1
    languages: ClassVar[tuple[str, ...]] = ("ko",)

    def spans(self, text: str) -> list[Span]:
        """Return the spans of the morphemes. If morphemes share characters, such as contracted endings, the first
        counts.
        """
        spans: list[Span] = []
        done = 0
        for token in _analyser().tokenize(text):
            if token.start >= done and token.len > 0:
                done = token.start + token.len
                spans.append((token.start, done))
        return spans
