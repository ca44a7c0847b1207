"""Whether an answer says what a reference says, as far as that can be told without a model."""

import re
import unicodedata
from collections.abc import Sequence

from components.text.containing import contains, form_to_search
from components.text.refusals import is_refusal

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_NEGATED = re.compile(r"不|没|無|无|未|非|否|莫|勿|\b(?:not?|nor|never|none|neither|without|cannot|\w+nt)\b")
_JOINED = re.compile(r"和|及|或|与|與|并|且|\b(?:and|or)\b")
_LISTED = re.compile(r"[、;；，]|,(?!\d)")
"""In the text itself: a form for comparison has no marks."""
_UNITS = {"%": " percent ", "‰": " permille ", "$": " dollar ", "€": " euro ", "£": " pound ", "¥": " yuan "}
"""Marks that a form for comparison leaves out, and that tell numbers apart."""
_LONGEST_REFERENCE, _LONGEST_ADDITION = 60, 60
"""Characters. What says more than a fact is for a model to compare, and so is what says much beside it."""


def matches_by_rule(answer: str, references: Sequence[str]) -> bool | None:
    """True for an answer that is one of the references, case, width and punctuation aside, or that holds a short one
    in a short sentence with no other number, no negation and nothing listed beside it. False for no answer, and for one
    that differs from every reference in whole numbers alone. None for all else: a model must compare them.
    """
    form = _form(answer)
    forms = [own for own in map(_form, references) if own]
    if not form or is_refusal(answer):
        return False
    if form in forms or (not _LISTED.search(answer) and any(_holds(form, own) for own in forms)):
        return True
    return False if forms and all(_other_numbers(form, own) for own in forms) else None


def _form(text: str) -> str:
    """With the marks of units in words."""
    plain = unicodedata.normalize("NFKC", text)
    return form_to_search("".join(_UNITS.get(character, character) for character in plain))


def _holds(form: str, reference: str) -> bool:
    """A reference that ends with a number is not looked for: a unit may follow that makes another one of it."""
    beside = form.replace(reference, " ", 1)
    return (
        len(reference) <= _LONGEST_REFERENCE
        and len(beside) <= _LONGEST_ADDITION
        and not reference[-1].isdigit()
        and contains(form, reference)
        and not any(sign.search(beside) for sign in (_NUMBER, _NEGATED, _JOINED))
    )


def _other_numbers(form: str, reference: str) -> bool:
    """Whether two texts are the same but for numbers, all of them whole: those with a point may be rounded."""
    own, wanted = _NUMBER.findall(form), _NUMBER.findall(reference)
    if own == wanted or any("." in number for number in (*own, *wanted)):
        return False
    return len(own) == len(wanted) and _NUMBER.sub("0", form) == _NUMBER.sub("0", reference)
