"""What became of an answer: right, wrong, or none at all.

Short answers are held against the references word by word; what a question says already shows nothing. Long texts have
too many right wordings for that: they are held against the other answers of their subset, by a metric.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from components.records import AnswerState, Kind
from components.text.citations import without_citations
from components.text.containing import contains
from components.text.facts import fact_form
from components.text.languages import function_words
from components.text.normalize import is_word_character
from components.text.refusals import is_refusal
from components.tokenizers.rjieba_words import RjiebaWords

RIGHT_FROM, WRONG_BELOW = 0.8, 0.4
"""Shares of the words, numbers among them, that a reference adds to its question."""
LONG_REFERENCE = 30
"""A reference that adds more words than this can be said in many other ways."""
RELATIVE_KINDS = (Kind.LONG_FORM, Kind.CONTINUATION, Kind.SUMMARIZATION)
"""Kinds of samples whose answers are long texts."""


class Outcome(StrEnum):
    """ERROR, EMPTY, REFUSED, TRUNCATED: how the answer ended, or that it says that there is none; one that was cut off
    may be RIGHT, or WRONG by the numbers that it had stated. RIGHT, PARTLY, WRONG
    by the references. TYPICAL and LOW are relative: LOW is the lowest quarter of the answers that a sweep has for a
    subset. NOT_JUDGED: nobody was asked, or nothing tells.
    """

    ERROR = "error"
    EMPTY = "empty"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    RIGHT = "right"
    PARTLY = "partly"
    WRONG = "wrong"
    TYPICAL = "typical"
    LOW = "low"
    NOT_JUDGED = "not_judged"


@dataclass(frozen=True)
class AnsweredSample:
    """What is known of an answer. `score` is its metric (None where it has none), and `low_below` the lower quartile of
    that metric over its subset, both for long texts alone, larger being better.
    """

    kind: Kind
    question: str
    references: Sequence[str]
    answer_parts: Sequence[Sequence[str]]
    answerable: bool
    state: AnswerState
    answer: str
    score: float | None = None
    low_below: float | None = None


@dataclass(frozen=True)
class JudgedOutcome:
    """An outcome; `doubt` says why it is uncertain: "long text", "paraphrase" or "cut off", else ""."""

    outcome: Outcome
    doubt: str = ""


def outcome_of(sample: AnsweredSample) -> JudgedOutcome:
    """The outcome of one answer."""
    match sample.state:
        case AnswerState.NOT_ASKED:
            return JudgedOutcome(Outcome.NOT_JUDGED)
        case AnswerState.ERROR:
            return JudgedOutcome(Outcome.ERROR)
    if not sample.answerable:
        # As the metric of abstention has it: who writes nothing, or refuses, has not answered either.
        has_abstained = not sample.answer.strip() or is_refusal(sample.answer)
        return JudgedOutcome(Outcome.RIGHT if has_abstained else Outcome.WRONG)
    if sample.state in (AnswerState.EMPTY, AnswerState.REFUSED):
        return JudgedOutcome(Outcome(sample.state.value))
    judged = _relative(sample) if sample.kind in RELATIVE_KINDS else _by_references(sample)
    if judged.outcome in (Outcome.RIGHT, Outcome.TYPICAL):
        return judged
    if is_refusal(sample.answer):
        return JudgedOutcome(Outcome.REFUSED)
    if sample.state is AnswerState.TRUNCATED:
        is_wrong = judged.outcome is Outcome.WRONG and _states_another_number(sample)
        return JudgedOutcome(Outcome.WRONG, "cut off") if is_wrong else JudgedOutcome(Outcome.TRUNCATED)
    return judged


def _states_another_number(sample: AnsweredSample) -> bool:
    """Whether numbers are wanted, and the answer states others in their place: numbers that its question lacks. Numbers
    of citations and of the items of a list do not count.
    """
    asked = _wanted(sample.question)
    texts = [wording for wordings in sample.answer_parts for wording in wordings] or sample.references
    wanted = {number for text in texts for number in _added(sample.question, text).numbers}
    said = _numbers(fact_form(_ITEM.sub("", without_citations(sample.answer))))
    stated = {number for number in said if not contains(asked, number)}
    return bool(wanted and stated) and wanted.isdisjoint(stated)


def _relative(sample: AnsweredSample) -> JudgedOutcome:
    if sample.score is None or sample.low_below is None:
        return JudgedOutcome(Outcome.NOT_JUDGED)
    return JudgedOutcome(Outcome.LOW if sample.score < sample.low_below else Outcome.TYPICAL, "long text")


def _by_references(sample: AnsweredSample) -> JudgedOutcome:
    """By the parts that an answer must contain, where the data set says so; else by the best of the references."""
    form = fact_form(sample.answer)
    parts = [own for own in ([_wanted(text) for text in wordings] for wordings in sample.answer_parts) if any(own)]
    if parts:
        n_found = sum(any(contains(form, wording) for wording in wordings) for wordings in parts)
        return _judged(n_found / len(parts), n_found == len(parts), is_long=False)
    found = [_against(form, sample.question, reference) for reference in sample.references if _wanted(reference)]
    if not found:
        return JudgedOutcome(Outcome.NOT_JUDGED)
    return max(found, key=lambda judged: _GOODNESS[judged.outcome])


_GOODNESS = {Outcome.WRONG: 0, Outcome.PARTLY: 1, Outcome.RIGHT: 2}


def _against(form: str, question: str, reference: str) -> JudgedOutcome:
    added = _added(question, reference)
    is_long = len(added.words) > LONG_REFERENCE
    if not is_long and contains(form, _wanted(reference)):
        return JudgedOutcome(Outcome.RIGHT)
    numbers = [contains(form, number) for number in added.numbers]
    said = [*numbers, *(contains(form, word) for word in added.words)]
    share = sum(said) / len(said)
    if numbers and not any(numbers):
        return JudgedOutcome(Outcome.WRONG, "long text" if is_long else "")
    return _judged(share, share >= RIGHT_FROM and all(numbers), is_long=is_long)


def _judged(share: float, is_right: bool, *, is_long: bool) -> JudgedOutcome:
    """Some of the right words may stand in an answer that says it all in other words; none hardly do."""
    outcome = Outcome.RIGHT if is_right else Outcome.WRONG if share < WRONG_BELOW else Outcome.PARTLY
    is_other_wording = outcome is not Outcome.RIGHT and share > 0
    return JudgedOutcome(outcome, "long text" if is_long else "paraphrase" if is_other_wording else "")


_wanted = lru_cache(maxsize=50_000)(fact_form)
"""Forms of questions and references, which all cells of a sweep share."""


@dataclass(frozen=True)
class _Added:
    """What a reference says that its question does not: words, and numbers, each once."""

    words: tuple[str, ...]
    numbers: tuple[str, ...]


_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_ITEM = re.compile(r"^\s*\d{1,2}[.)、](?=\s|\D)", re.MULTILINE)
"""How an item of a list begins."""


@lru_cache(maxsize=20_000)
def _added(question: str, reference: str) -> _Added:
    """Function words of English and single Chinese characters say little, and are left out where anything else is
    added. What adds nothing to its question is taken as a whole.
    """
    asked, form = _wanted(question), _wanted(reference)
    numbers = _numbers(form)
    words = [word for word in dict.fromkeys(_words(form)) if not _NUMBER.fullmatch(word)]
    new_numbers, new_words = ([own for own in owns if not contains(asked, own)] for owns in (numbers, words))
    if not (new_numbers or new_words):
        return _Added(tuple(words), tuple(numbers))
    telling = [word for word in new_words if _tells(word)]
    return _Added(tuple(telling or ([] if new_numbers else new_words)), tuple(new_numbers))


def _numbers(form: str) -> list[str]:
    """The whole numbers of a form, each once."""
    return [number for number in dict.fromkeys(_NUMBER.findall(form)) if contains(form, number)]


def _words(form: str) -> list[str]:
    tokens = RjiebaWords().tokenize([form])[0] if _HAN.search(form) else form.split()
    return [token for token in tokens if any(map(is_word_character, token))]


def _tells(word: str) -> bool:
    return len(word) > 1 and word not in function_words()["en"]
