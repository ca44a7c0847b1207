"""Japanese words by Janome, a morphological analyser in plain Python with its dictionary (extra: languages)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from components.errors import MissingExtraError
from components.loading import cache_slow_loader
from components.tokenizers.word_spans import AnalysedWords, Span, spans_in_order

if TYPE_CHECKING:
    from janome.tokenizer import Tokenizer


@cache_slow_loader
def _analyser() -> "Tokenizer":
    try:
        from janome.tokenizer import Tokenizer
    except ImportError as error:
        raise MissingExtraError("janome", "languages", "language=ja") from error
    return Tokenizer(wakati=True)


@dataclass(frozen=True)
class JanomeWords(AnalysedWords):
    """Words as segmented by Janome, for the index and for metrics."""

    version: ClassVar[int] = 2
    max_tokens_per_character: ClassVar[int] = 1
    languages: ClassVar[tuple[str, ...]] = ("ja",)

    def spans(self, text: str) -> list[Span]:
        """Return the spans of the words. Words that Janome rewrites, so that the text does not contain them, are left
        out.
        """
        return spans_in_order(text, list(_analyser().tokenize(text)))
