"""Definitions of the units by which texts are compared. Each class satisfies `TextForm`."""

import re
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import ClassVar

from components.limits import expected_one_of
from components.protocols import Tokenizer
from components.text.normalize import ANSWER_FORM_VERSION, answer_form
from components.tokenizers.jieba_words import JiebaWords

_SACREBLEU_TOKENIZERS = {"zh": "zh", "en": "13a", "char": "char"}


@dataclass(frozen=True)
class TextWords:
    """Words of the unchanged text. `white_space` keeps whitespace as words."""

    tokenizer: Tokenizer = field(default_factory=JiebaWords)
    white_space: bool = False

    version: ClassVar[int] = 1

    def units(self, texts: Sequence[str]) -> Iterator[Sequence[str]]:
        """Yield the words of each text, in order."""
        for words in self.tokenizer.tokenize(texts):
            yield words if self.white_space else [word for word in words if not word.isspace()]


@dataclass(frozen=True)
class AnswerWords:
    """Words of the text's `answer_form`, without whitespace."""

    tokenizer: Tokenizer = field(default_factory=JiebaWords)

    version: ClassVar[int] = ANSWER_FORM_VERSION

    def units(self, texts: Sequence[str]) -> Iterator[Sequence[str]]:
        """Yield the words of each text, in order."""
        for words in self.tokenizer.tokenize([answer_form(text) for text in texts]):
            yield [word for word in words if not word.isspace()]


@dataclass(frozen=True)
class WholeAnswer:
    """The text's `answer_form` as a single unit; no unit if it is empty."""

    version: ClassVar[int] = ANSWER_FORM_VERSION

    def units(self, texts: Sequence[str]) -> Iterator[Sequence[str]]:
        """Yield one unit per text, or none."""
        return ([form] if (form := answer_form(text)) else [] for text in texts)


@dataclass(frozen=True)
class SacreBleuTokens:
    """Tokens of SacreBLEU's tokenizers.

    "zh" splits Chinese characters and leaves the rest to 13a. "en" is 13a, which also suits other European languages.
    "char" is every character.
    """

    language: str = "zh"

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return an error message if the language has no tokenizer."""
        if self.language in _SACREBLEU_TOKENIZERS:
            return []
        return [f"language: got {self.language!r}{expected_one_of(self.language, _SACREBLEU_TOKENIZERS)}"]

    @property
    def tokenizer_name(self) -> str:
        """The tokenizer's name in SacreBLEU."""
        return _SACREBLEU_TOKENIZERS[self.language]

    def units(self, texts: Sequence[str]) -> Iterator[Sequence[str]]:
        """Yield the tokens of each text, in order."""
        tokenize = _sacrebleu(self.tokenizer_name)
        if self.tokenizer_name == "zh":
            return (_chinese_tokens(text.strip(), tokenize) for text in texts)
        return (tokenize(text.rstrip()).split() for text in texts)


def _sacrebleu(tokenizer_name: str) -> Callable[[str], str]:
    """Return a tokenizer of SacreBLEU, which caches the texts that it has tokenized."""
    from sacrebleu.metrics.bleu import BLEU

    tokenize: Callable[[str], str] = BLEU(tokenize=tokenizer_name).tokenizer
    return tokenize


_OTHER_THAN_CHINESE = re.compile("([^\u3001-\u3011\u4e00-\u9fa5\uff01-\uff5e]+)")
"""Runs of characters that SacreBLEU may not treat as Chinese. Including some that it does is harmless."""
_ANY_CHINESE = "一"
_MAX_RUN_LENGTH = 50
_short_run_tokenizer = cache(_sacrebleu)


def _chinese_tokens(text: str, tokenize: Callable[[str], str]) -> Sequence[str]:
    """Return SacreBLEU's tokens, calling it only for the runs between Chinese characters.

    Each Chinese character is a token and separates its neighbours. Text beyond it therefore does not change the tokens
    of a run.
    """
    pieces = _OTHER_THAN_CHINESE.split(text)  # every second piece is a run
    tokens: list[str] = []
    for index, piece in enumerate(pieces):
        if index % 2 == 0:
            tokens.extend(piece)
            continue
        before, after = bool(pieces[index - 1]), bool(pieces[index + 1])
        if len(piece) <= _MAX_RUN_LENGTH:
            tokens.extend(_tokenize_short_run(piece, before, after))
        else:
            tokens.extend(_tokenize_run(piece, before, after, tokenize))
    return tokens


@lru_cache(maxsize=50_000)
def _tokenize_short_run(run: str, before: bool, after: bool) -> Sequence[str]:
    return _tokenize_run(run, before, after, _short_run_tokenizer("zh"))


def _tokenize_run(run: str, before: bool, after: bool, tokenize: Callable[[str], str]) -> Sequence[str]:
    """Return the tokens of a run. `before` and `after` are true if Chinese characters are next to it."""
    tokens = tokenize(f"{_ANY_CHINESE * before}{run}{_ANY_CHINESE * after}").split()
    return tokens[before : len(tokens) - after]


@dataclass(frozen=True)
class OmniEvalAnswer:
    """OmniEval's normal form as a single unit.

    It is in lower case, without ASCII punctuation and English articles, with collapsed whitespace. Full-width
    punctuation stays. A text without other characters is the unit "".
    """

    version: ClassVar[int] = 1

    def units(self, texts: Sequence[str]) -> Iterator[Sequence[str]]:
        """Yield one unit per text."""
        return ([_omnieval_form(text)] for text in texts)


@dataclass(frozen=True)
class OmniEvalCharacters:
    """Characters of OmniEval's normal form, split into jieba words and joined by spaces. The spaces count."""

    tokenizer: Tokenizer = field(default_factory=JiebaWords)

    version: ClassVar[int] = 1

    def units(self, texts: Sequence[str]) -> Iterator[Sequence[str]]:
        """Yield the characters of each text, in order."""
        return (" ".join(words) for words in self.tokenizer.tokenize([_omnieval_form(text) for text in texts]))


@dataclass(frozen=True)
class RougeChineseWords:
    """Words that the package rouge-chinese reads from jieba words joined by spaces.

    The package inserts line breaks after sentences, also after six full stops inside a word, and reads the words of
    each line. Whitespace is not a word, but a blank line between two line breaks of the text is the word "".
    """

    tokenizer: Tokenizer = field(default_factory=JiebaWords)

    version: ClassVar[int] = 1

    def units(self, texts: Sequence[str]) -> Iterator[Sequence[str]]:
        """Yield the words of each text, in order."""
        for text, words in zip(texts, self.tokenizer.tokenize(texts), strict=True):
            if "\n" in text or _MANY_STOPS in text:
                yield list(_line_words(" ".join(words)))
            else:
                yield [word for word in words if not word.isspace()]


_MANY_STOPS = "." * 6
_END_OF_SENTENCE = re.compile(r"([。！？?]|\.{6})([^”’])")


def _line_words(joined: str) -> Iterator[str]:
    for line in _END_OF_SENTENCE.sub(r"\1\n\2", joined).rstrip().split("\n"):
        if line:
            yield from line.split() or [""]


_ARTICLES = re.compile(r"\b(a|an|the)\b")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


def _omnieval_form(text: str) -> str:
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_WITHOUT_PUNCTUATION)).split())
