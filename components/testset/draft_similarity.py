"""Comparison of drafts: the parts of a draft that count, and the rule for near duplicates."""

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache

from components.testset.gates.form import ASKED
from components.testset.quotes.safeguards import numbers
from components.testset.records import Draft
from components.testset.tokens import is_character, n_characters, tokens
from components.text.languages import function_words

_NEGATION = re.compile(r"[不没未无非]|\b(?:not|no|never|without|except|excluding)\b|n['’]t\b")
_ASKS_WHETHER = re.compile(r"是不是|有没有|能不能|会不会")
_SAYS_NO_NUMBER = ("一", "one")
_FUNCTION_CHARACTERS = frozenset(
    "的了是在和与及或吗呢么什哪些个多少几何怎样为有请问并对其中被把从由于以它他她该此这那各等分别"
)
_ANOTHER_MATTER, _ANOTHER_MATTER_OF_ONE_TEXT = 2, 5
"""Content characters (a word counts as two) in which questions about different things differ.

The first number applies to each of the two questions. The second applies to both together if they share a document, so
that a single replaced word does not make a different question.
"""
_MIN_SHARED_PARTS = 0.5

Parts = frozenset[str]


@dataclass(frozen=True)
class ComparedQuestions:
    """The parts of a draft that are compared.

    Only drafts of one `group` can be alike: the numbers and negations of a question, or the kind of a text. `question`,
    `history` and `references` (with their numbers) are sets of parts (see NearDuplicates). `words` are all words of the
    questions, in order.
    """

    id: str
    group: tuple[object, ...]
    documents: frozenset[str]
    question: Parts
    history: Parts
    references: tuple[tuple[Parts, frozenset[str]], ...]
    words: tuple[str, ...]
    is_text: bool


def comparison_form(draft: Draft) -> ComparedQuestions:
    """Return the compared parts of a draft in folded form: width, case and punctuation are ignored."""
    before = "\n".join(turn.question for turn in draft.history)
    earlier, question = tokens(before), tokens(draft.question)
    is_text = draft.kind not in ASKED
    return ComparedQuestions(
        draft.id,
        (draft.kind,) if is_text else _facts(f"{before}\n{draft.question}"),
        frozenset(unit.document_id for unit in draft.gold or draft.evidence.extracts),
        _parts(question),
        _parts(earlier),
        tuple((_parts(tokens(text)), frozenset(numbers(text))) for text in draft.references),
        (*earlier, "", *question),
        is_text,
    )


def are_alike(one: ComparedQuestions, other: ComparedQuestions, threshold: float) -> bool:
    """Return True if one of two drafts of a group nearly repeats the other; see NearDuplicates."""
    if one.words == other.words:
        return True
    if not (_are_near(one.question, other.question, threshold) and _are_near(one.history, other.history, threshold)):
        return False
    return one.is_text or (_are_about_one_thing(one, other) and _have_one_answer(one, other))


def _facts(question: str) -> tuple[object, ...]:
    plain = _ASKS_WHETHER.sub("", question.lower())
    stated_numbers = sorted(number for number in numbers(plain) if number not in _SAYS_NO_NUMBER)
    return tuple(stated_numbers), tuple(sorted(_NEGATION.findall(plain)))


def _parts(words: list[str]) -> Parts:
    """Return pairs of neighbouring characters, including the edges, and single words."""
    neighbours = zip(["", *words], [*words, ""], strict=True) if words else ()
    pairs = (f"{one} {other}" for one, other in neighbours if is_character(one) or is_character(other))
    return frozenset([*pairs, *(token for token in words if not is_character(token))])


def _are_near(one: Parts, other: Parts, threshold: float) -> bool:
    """Return True if the Jaccard similarity reaches the threshold, or if both sets are empty."""
    fewer, more = sorted((len(one), len(other)))
    if fewer < threshold * more:
        return False
    n_shared = len(one & other)
    return n_shared >= threshold * (fewer + more - n_shared)


def _are_about_one_thing(one: ComparedQuestions, other: ComparedQuestions) -> bool:
    words, other_words = Counter(one.words), Counter(other.words)
    mine, its = _content_length(words - other_words), _content_length(other_words - words)
    if min(mine, its) < _ANOTHER_MATTER:
        return True
    return not one.documents.isdisjoint(other.documents) and mine + its < _ANOTHER_MATTER_OF_ONE_TEXT


def _content_length(words: Counter[str]) -> int:
    """Return the length of all words that are not function words."""
    return n_characters(word for word in words.elements() if word not in _words_without_content())


@cache
def _words_without_content() -> frozenset[str]:
    return _FUNCTION_CHARACTERS | function_words()["en"] | {""}


def _have_one_answer(one: ComparedQuestions, other: ComparedQuestions) -> bool:
    return any(_agree(mine, its) for mine in one.references for its in other.references)


def _agree(one: tuple[Parts, frozenset[str]], other: tuple[Parts, frozenset[str]]) -> bool:
    (fewer, fewer_numbers), (more, more_numbers) = sorted((one, other), key=lambda reference: len(reference[0]))
    return fewer_numbers <= more_numbers and len(fewer & more) >= _MIN_SHARED_PARTS * len(fewer)
