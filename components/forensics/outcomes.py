"""Outcomes of answers: right, wrong, or no answer.

Short answers are compared with the references word by word, ignoring words of the question. Long texts have too many
right wordings for that. They are compared with the other answers of their subset, by a metric.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from components.records import AnswerState, Kind
from components.text.citation_marks import strip_citations
from components.text.containing import contains
from components.text.languages import function_words
from components.text.normalize import is_word_character
from components.text.normalized_facts import fact_form
from components.text.refusals import is_refusal
from components.tokenizers.rjieba_words import RjiebaWords

RIGHT_FROM, WRONG_BELOW = 0.8, 0.4
"""Shares of the words and numbers that a reference adds to its question."""
LONG_REFERENCE = 30
"""Words that a reference adds to its question, beyond which many other wordings are right."""
RELATIVE_KINDS = (Kind.LONG_FORM, Kind.CONTINUATION, Kind.SUMMARIZATION)
"""Kinds of samples whose answers are long texts."""


class Outcome(StrEnum):
    """The outcome of an answer.

    - ERROR, EMPTY, REFUSED, TRUNCATED: the way in which the answer ended. REFUSED also covers answers that refuse in
      words. A truncated answer may be RIGHT, or WRONG by its numbers;
    - RIGHT, PARTLY, WRONG: by the references;
    - TYPICAL, LOW: relative to the answers of a sweep to a subset. LOW is the lowest quarter;
    - NOT_JUDGED: no request was sent, or no rule decides.
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
    """A sample with its answer.

    `score` is the metric of the answer, or None if it has no score. `low_below` is the lower quartile of that metric
    over the sample's subset. Both are only for long texts, and larger is better.
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
    """An outcome. `doubt` says why it is uncertain: "long text", "paraphrase" or "cut off", else ""."""

    outcome: Outcome
    doubt: str = ""


def classify_outcome(sample: AnsweredSample) -> JudgedOutcome:
    """Return the outcome of one answer."""
    match sample.state:
        case AnswerState.NOT_ASKED:
            return JudgedOutcome(Outcome.NOT_JUDGED)
        case AnswerState.ERROR:
            return JudgedOutcome(Outcome.ERROR)
    if not sample.answerable:
        # As in the metric of abstention, an empty answer or a refusal is an abstention.
        has_abstained = not sample.answer.strip() or is_refusal(sample.answer)
        return JudgedOutcome(Outcome.RIGHT if has_abstained else Outcome.WRONG)
    if sample.state in (AnswerState.EMPTY, AnswerState.REFUSED):
        return JudgedOutcome(Outcome(sample.state.value))
    judged = _judge_by_score(sample) if sample.kind in RELATIVE_KINDS else _judge_by_references(sample)
    if judged.outcome in (Outcome.RIGHT, Outcome.TYPICAL):
        return judged
    if is_refusal(sample.answer):
        return JudgedOutcome(Outcome.REFUSED)
    if sample.state is AnswerState.TRUNCATED:
        is_wrong = judged.outcome is Outcome.WRONG and _states_another_number(sample)
        return JudgedOutcome(Outcome.WRONG, "cut off") if is_wrong else JudgedOutcome(Outcome.TRUNCATED)
    return judged


def _states_another_number(sample: AnsweredSample) -> bool:
    """Return True if the references add numbers to the question and the answer states only other numbers.

    Numbers of the question, of citations and of list items are ignored.
    """
    question = _fact_form(sample.question)
    texts = [wording for wordings in sample.answer_parts for wording in wordings] or sample.references
    expected = {number for text in texts for number in _addition(sample.question, text).numbers}
    answer_numbers = _numbers(fact_form(_ITEM.sub("", strip_citations(sample.answer))))
    stated = {number for number in answer_numbers if not contains(question, number)}
    return bool(expected and stated) and expected.isdisjoint(stated)


def _judge_by_score(sample: AnsweredSample) -> JudgedOutcome:
    if sample.score is None or sample.low_below is None:
        return JudgedOutcome(Outcome.NOT_JUDGED)
    return JudgedOutcome(Outcome.LOW if sample.score < sample.low_below else Outcome.TYPICAL, "long text")


def _judge_by_references(sample: AnsweredSample) -> JudgedOutcome:
    """Judge by the parts that an answer must contain, if the sample has any, else by the best of the references."""
    form = fact_form(sample.answer)
    parts = [
        part for part in ([_fact_form(text) for text in wordings] for wordings in sample.answer_parts) if any(part)
    ]
    if parts:
        n_found = sum(any(contains(form, wording) for wording in wordings) for wordings in parts)
        return _share_outcome(n_found / len(parts), n_found == len(parts), is_long=False)
    outcomes = [_compare(form, sample.question, reference) for reference in sample.references if _fact_form(reference)]
    if not outcomes:
        return JudgedOutcome(Outcome.NOT_JUDGED)
    return max(outcomes, key=lambda judged: _GOODNESS[judged.outcome])


_GOODNESS = {Outcome.WRONG: 0, Outcome.PARTLY: 1, Outcome.RIGHT: 2}


def _compare(form: str, question: str, reference: str) -> JudgedOutcome:
    added = _addition(question, reference)
    is_long = len(added.words) > LONG_REFERENCE
    if not is_long and contains(form, _fact_form(reference)):
        return JudgedOutcome(Outcome.RIGHT)
    numbers = [contains(form, number) for number in added.numbers]
    stated = [*numbers, *(contains(form, word) for word in added.words)]
    share = sum(stated) / len(stated)
    if numbers and not any(numbers):
        return JudgedOutcome(Outcome.WRONG, "long text" if is_long else "")
    return _share_outcome(share, share >= RIGHT_FROM and all(numbers), is_long=is_long)


def _share_outcome(share: float, is_right: bool, *, is_long: bool) -> JudgedOutcome:
    """Return the outcome for a share of the right words. A paraphrase usually contains some of them."""
    outcome = Outcome.RIGHT if is_right else Outcome.WRONG if share < WRONG_BELOW else Outcome.PARTLY
    is_other_wording = outcome is not Outcome.RIGHT and share > 0
    return JudgedOutcome(outcome, "long text" if is_long else "paraphrase" if is_other_wording else "")


_fact_form = lru_cache(maxsize=50_000)(fact_form)
"""Normal forms of questions and references, cached because all cells of a sweep share them."""


@dataclass(frozen=True)
class _Addition:
    """Words and numbers that a reference adds to its question, each once."""

    words: tuple[str, ...]
    numbers: tuple[str, ...]


_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_ITEM = re.compile(r"^\s*\d{1,2}[.)、](?=\s|\D)", re.MULTILINE)
"""The beginning of a list item."""


@lru_cache(maxsize=20_000)
def _addition(question: str, reference: str) -> _Addition:
    """Return the words and numbers that the reference adds to its question; all of them if it adds nothing.

    English function words and single Chinese characters say little. They are left out if anything else is added.
    """
    base, form = _fact_form(question), _fact_form(reference)
    numbers = _numbers(form)
    words = [word for word in dict.fromkeys(_words(form)) if not _NUMBER.fullmatch(word)]
    new_numbers, new_words = ([term for term in terms if not contains(base, term)] for terms in (numbers, words))
    if not (new_numbers or new_words):
        return _Addition(tuple(words), tuple(numbers))
    telling = [word for word in new_words if _is_telling(word)]
    return _Addition(tuple(telling or ([] if new_numbers else new_words)), tuple(new_numbers))


def _numbers(form: str) -> list[str]:
    """Return the whole numbers of a form, each once."""
    return [number for number in dict.fromkeys(_NUMBER.findall(form)) if contains(form, number)]


def _words(form: str) -> list[str]:
    tokens = RjiebaWords().tokenize([form])[0] if _HAN.search(form) else form.split()
    return [token for token in tokens if any(map(is_word_character, token))]


def _is_telling(word: str) -> bool:
    return len(word) > 1 and word not in function_words()["en"]
