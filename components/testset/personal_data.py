"""Personal data in texts: e-mail addresses, telephone numbers, Chinese identity numbers, numbers of payment cards."""

import re
import unicodedata
from datetime import date

_EMAIL = re.compile(r"[A-Za-z0-9][\w.+-]{0,63}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,4}\.[A-Za-z]{2,24}")
_PHONE = re.compile(
    r"""
    (?<![\w.,+$€£¥-]) (?:
        (?:\+?86[\s-]?)? 1[3-9]\d [\s-]? \d{4} [\s-]? \d{4}           # a Chinese mobile number
      | \(?0(?:10|2\d|[3-9]\d{2})\)? [\s-] \d{7,8} (?:-\d{1,6})?       # a Chinese fixed one
      | \+[1-9]\d{0,2} (?:[\s.-]? \(?\d{1,4}\)?){2,5}                  # an international one
      | (?:1[\s.-])? (?:\(\d{3}\)\s? | \d{3}[\s.-]) \d{3}[\s.-]\d{4}   # a North American one
    ) (?![\w%]|[.,-]\d)
    """,
    re.VERBOSE | re.ASCII,
)
_IDENTITY = re.compile(r"(?<![\dA-Za-z])(\d{6})(\d{4})(\d{2})(\d{2})\d{3}[\dXx](?![\dA-Za-z])", re.ASCII)
_CARD = re.compile(r"(?<![\d.,A-Za-z-])[2-6](?:[ -]?\d){12,18}(?![\dA-Za-z]|[.,-]\d)", re.ASCII)
_MIN_PHONE_DIGITS, _MAX_PHONE_DIGITS = 9, 15

_IDENTITY_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_IDENTITY_CHECKS = "10X98765432"
_FIRST_YEAR_OF_BIRTH = 1850


def personal_data(text: str) -> dict[str, str]:
    """Return the first match of each kind of personal data in a text, by kind.

    The kinds are "email", "phone", "identity_number" (with a valid date and check character, GB 11643) and
    "card_number" (13 to 19 digits that satisfy ISO 7812's check).
    """
    plain = unicodedata.normalize("NFKC", text)
    identity = [number[0] for number in _IDENTITY.finditer(plain) if _is_identity_number(number)]
    rest = _remove(plain, identity)
    cards = [number[0] for number in _CARD.finditer(rest) if _satisfies_luhn(number[0])]
    phones = [number[0] for number in _PHONE.finditer(_remove(rest, cards)) if _is_phone_length(number[0])]
    emails = _EMAIL.findall(plain)
    matches = {"email": emails, "phone": phones, "identity_number": identity, "card_number": cards}
    return {kind: texts[0] for kind, texts in matches.items() if texts}


def _remove(text: str, numbers: list[str]) -> str:
    for number in numbers:
        text = text.replace(number, " ")
    return text


def _is_identity_number(number: re.Match[str]) -> bool:
    digits = number[0].upper()
    try:
        born = date(int(number[2]), int(number[3]), int(number[4]))
    except ValueError:
        return False
    total = sum(int(digit) * weight for digit, weight in zip(digits, _IDENTITY_WEIGHTS, strict=False))
    return born.year >= _FIRST_YEAR_OF_BIRTH and _IDENTITY_CHECKS[total % 11] == digits[-1]


def _satisfies_luhn(number: str) -> bool:
    digits = [int(digit) for digit in number if digit.isdigit()]
    doubled = [digit if index % 2 == 0 else sum(divmod(2 * digit, 10)) for index, digit in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0 and len(set(digits)) > 1


def _is_phone_length(number: str) -> bool:
    return _MIN_PHONE_DIGITS <= sum(map(str.isdigit, number)) <= _MAX_PHONE_DIGITS
