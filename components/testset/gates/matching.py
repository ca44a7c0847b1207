"""Whether an answer says what a reference says, as far as that can be told without a model."""

import re
from collections.abc import Sequence

from components.text.containing import contains, form_to_search
from components.text.refusals import is_refusal

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_NEGATED = re.compile(r"不|没|無|无|未|非|否|莫|勿|\b(?:not?|nor|never|none|neither|without|cannot|\w+nt)\b")
_LONGEST_REFERENCE, _LONGEST_ADDITION = 60, 60
"""Characters. What says more than a fact is for a model to compare, and so is what says much beside it."""


def matches_by_rule(answer: str, references: Sequence[str]) -> bool | None:
    """True for an answer that is one of the references, case, width and punctuation aside, or that holds a short one
    in a short sentence with no other number and no negation beside it. False for no answer, and for one that differs
    from every reference in whole numbers alone. None for all else: a model must compare them.
    """
    form = form_to_search(answer)
    forms = [own for own in map(form_to_search, references) if own]
    if not form or is_refusal(answer):
        return False
    if form in forms or any(_holds(form, own) for own in forms):
        return True
    return False if forms and all(_other_numbers(form, own) for own in forms) else None


def _holds(form: str, reference: str) -> bool:
    beside = form.replace(reference, " ", 1)
    return (
        len(reference) <= _LONGEST_REFERENCE
        and len(beside) <= _LONGEST_ADDITION
        and contains(form, reference)
        and not _NEGATED.search(beside)
        and not _NUMBER.search(beside)
    )


def _other_numbers(form: str, reference: str) -> bool:
    """Whether two texts are the same but for numbers, all of them whole: those with a point may be rounded."""
    own, wanted = _NUMBER.findall(form), _NUMBER.findall(reference)
    if own == wanted or any("." in number for number in (*own, *wanted)):
        return False
    return len(own) == len(wanted) and _NUMBER.sub("0", form) == _NUMBER.sub("0", reference)
