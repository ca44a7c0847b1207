"""Language detection: by script, and for Latin script by the commonest words of each language."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import islice

UNKNOWN = "multi"

NAMES = {
    "zh": "Chinese", "en": "English", "de": "German", "fr": "French", "es": "Spanish", "ja": "Japanese",
    "ko": "Korean",
}  # fmt: skip

_N_TEXTS, _N_CHARACTERS = 500, 1000
"""Limits of the sample to examine: the beginnings of the first texts."""
_LATIN_WORD = re.compile(r"[a-zà-öø-ÿœß]+")
_MIN_SCRIPT_SHARE = 0.7
_MIN_KANA = 0.1
_MIN_STOP_WORDS = 0.08
_CHARACTERS_OF_A_WORD = 5
"""Makes a Latin word weigh as much as a Chinese character."""


def detect_language(texts: Iterable[str]) -> str:
    """Return one of NAMES; UNKNOWN for mixed or other languages, and for texts without a letter."""
    beginnings = [text[:_N_CHARACTERS].lower() for text in islice(texts, _N_TEXTS)]
    scripts = _scripts(beginnings)
    total = scripts.total()
    if not total:
        return UNKNOWN
    if scripts["hangul"] >= _MIN_SCRIPT_SHARE * total:
        return "ko"
    east_asian = scripts["han"] + scripts["kana"]
    if east_asian >= _MIN_SCRIPT_SHARE * total:
        return "ja" if scripts["kana"] >= _MIN_KANA * east_asian else "zh"
    return _latin_language(beginnings) if scripts["latin"] >= _MIN_SCRIPT_SHARE * total else UNKNOWN


@cache
def languages_of_prompts(*texts: str) -> tuple[str, ...]:
    """Return the languages of texts that suit a prompt with these parts.

    This is ("zh",) for Chinese prompts. It is () for other prompts, because models apply them to texts in any language.
    """
    return ("zh",) if detect_language(texts) == "zh" else ()


def _scripts(texts: Iterable[str]) -> Counter[str]:
    """Return the weight of each script: characters of Chinese and Japanese, words of other scripts."""
    letters = Counter(character for text in texts for character in text if character.isalpha())
    scripts: Counter[str] = Counter()
    for character, n in letters.items():
        scripts[_detect_script(character)] += n
    return Counter(
        {name: n if name in ("han", "kana") else -(-n // _CHARACTERS_OF_A_WORD) for name, n in scripts.items()}
        | ({"hangul": scripts["hangul"]} if scripts["hangul"] else {})
    )


@cache
def _detect_script(character: str) -> str:
    name = unicodedata.name(character, "").lower()
    if name.startswith("cjk"):
        return "han"
    first = name.split(" ")[0]
    return {"hiragana": "kana", "katakana": "kana", "hangul": "hangul", "latin": "latin"}.get(first, "other")


def _latin_language(texts: Iterable[str]) -> str:
    words = Counter(word for text in texts for word in _LATIN_WORD.findall(text))
    total = words.total()
    shares = {
        language: sum(words[word] for word in stop_words) / total for language, stop_words in function_words().items()
    }
    best = max(shares, key=shares.__getitem__)
    return best if shares[best] >= _MIN_STOP_WORDS else UNKNOWN


@cache
def function_words() -> Mapping[str, frozenset[str]]:
    """The commonest words of each language in Latin script, which carry little meaning."""
    from bm25s import stopwords

    return {
        "en": frozenset(stopwords.STOPWORDS_EN_PLUS),
        "de": frozenset(stopwords.STOPWORDS_GERMAN),
        "fr": frozenset(stopwords.STOPWORDS_FRENCH),
        "es": frozenset(stopwords.STOPWORDS_SPANISH),
    }
