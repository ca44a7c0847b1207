"""The form in which the facts of an answer are looked for: amounts of money and dates in one spelling.

A number is found as a whole number. A currency, a percent sign or a unit beside it does not count: where a reference
leaves the unit to its question, an answer may say it.
"""

import re
import unicodedata

from components.text.containing import form_to_search

FACT_FORM_VERSION = 1
"""A part of the version of what is kept of facts that were looked for, beside `ANSWER_FORM_VERSION`."""

_COUNTRY = re.compile(
    r"(?<![a-z\d])(?:us|au?|ca?|hk|nt|nz|sg?|cn|jp|r)(?=[$€£¥]\s?-?[.\d])|"
    r"(?<![a-z\d])(?:usd|eur|gbp|cny|rmb|jpy|hkd|cad|aud|chf)(?=-?[.\d])",
    re.IGNORECASE,
)
"""Letters that say whose money a symbol stands for, and codes that are written against their number."""

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_MONTH_OF = {name: month for month in _MONTHS for name in (month, month[:3])} | {"sept": "september"}
_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTH_OF, key=len, reverse=True))})\b\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?\b"
_MONTH_FIRST = re.compile(rf"\b{_MONTH}\s+(?:the\s+)?{_DAY}", re.IGNORECASE)
_DAY_FIRST = re.compile(rf"\b{_DAY}\s+(?:of\s+)?{_MONTH}", re.IGNORECASE)


def fact_form(text: str) -> str:
    """The text as `form_to_search` has it, where US$5 is $5 and so 5, and where the day and the month of an English
    date are October 19, whether it says October 19th, Oct. 19, 19 October or the 19th of October.
    """
    plain = _COUNTRY.sub("", unicodedata.normalize("NFKC", text))
    for date in (_MONTH_FIRST, _DAY_FIRST):
        plain = date.sub(_spelled_out, plain)
    return form_to_search(plain)


def _spelled_out(date: re.Match[str]) -> str:
    return f"{_MONTH_OF[date['month'].lower()]} {date['day']}"
