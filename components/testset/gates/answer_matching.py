"""Comparison of an answer with references by rules, as far as rules can decide."""

import re
import unicodedata
from collections.abc import Sequence

from components.text.containing import contains, form_to_search
from components.text.refusals import is_refusal

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_NEGATED = re.compile(r"不|没|無|无|未|非|否|莫|勿|\b(?:not?|nor|never|none|neither|without|cannot|\w+nt)\b")
_JOINED = re.compile(r"和|及|或|与|與|并|且|\b(?:and|or)\b")
_LISTED = re.compile(r"[、;；，]|,(?!\d)")
"""List marks, searched in the original text because a form for comparison has no marks."""
_UNITS = {"%": " percent ", "‰": " permille ", "$": " dollar ", "€": " euro ", "£": " pound ", "¥": " yuan "}
"""Marks that a form for comparison leaves out, although they distinguish numbers."""
_MAX_REFERENCE_CHARACTERS, _MAX_ADDITION_CHARACTERS = 60, 60
"""Characters. A model must compare longer references, and answers that add more to a reference."""


def matches_by_rule(answer: str, references: Sequence[str]) -> bool | None:
    """Return True if the answer matches a reference, False if it does not, None if a model must compare them.

    True: the answer equals a reference, ignoring case, width and punctuation. Or it contains a short reference in a
    short sentence, without another number, a negation or a list. False: the answer is empty or a refusal, or it differs
    from every reference only in whole numbers.
    """
    form = _form(answer)
    forms = [expected for expected in map(_form, references) if expected]
    if not form or is_refusal(answer):
        return False
    if form in forms or (not _LISTED.search(answer) and any(_contains_reference(form, expected) for expected in forms)):
        return True
    return False if forms and all(_differ_in_numbers(form, expected) for expected in forms) else None


def _form(text: str) -> str:
    """Return the form for comparison, with the marks of units as words."""
    plain = unicodedata.normalize("NFKC", text)
    return form_to_search("".join(_UNITS.get(character, character) for character in plain))


def _contains_reference(form: str, reference: str) -> bool:
    """Return True if a short answer contains the reference and adds nothing that could change it.

    A reference that ends with a number is not searched, because a following unit may change it.
    """
    beside = form.replace(reference, " ", 1)
    return (
        len(reference) <= _MAX_REFERENCE_CHARACTERS
        and len(beside) <= _MAX_ADDITION_CHARACTERS
        and not reference[-1].isdigit()
        and contains(form, reference)
        and not any(sign.search(beside) for sign in (_NUMBER, _NEGATED, _JOINED))
    )


def _differ_in_numbers(form: str, reference: str) -> bool:
    """Return True if two texts differ only in whole numbers. Numbers with a decimal point may be rounded."""
    stated, expected = _NUMBER.findall(form), _NUMBER.findall(reference)
    if stated == expected or any("." in number for number in (*stated, *expected)):
        return False
    return len(stated) == len(expected) and _NUMBER.sub("0", form) == _NUMBER.sub("0", reference)
