"""The form in which facts of an answer are searched, with one spelling for amounts of money and dates.

Numbers match as whole numbers. A currency, a percent sign or a unit next to a number is ignored, because a
reference may leave the unit to its question while the answer states it.
"""

import re
import unicodedata

from components.text.containing import form_to_search

FACT_FORM_VERSION = 1
"""Part of the version of all results that depend on `fact_form`, together with `ANSWER_FORM_VERSION`."""

_COUNTRY = re.compile(
    r"(?<![a-z\d])(?:us|au?|ca?|hk|nt|nz|sg?|cn|jp|r)(?=[$€£¥]\s?-?[.\d])|"
    r"(?<![a-z\d])(?:usd|eur|gbp|cny|rmb|jpy|hkd|cad|aud|chf)(?=-?[.\d])",
    re.IGNORECASE,
)
"""Country letters before a currency symbol, and currency codes directly before a number."""

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
    """Return the form of `form_to_search`, with one spelling for amounts and dates.

    US$5 and $5 become 5. October 19th, Oct. 19, 19 October and the 19th of October become October 19.
    """
    plain = _COUNTRY.sub("", unicodedata.normalize("NFKC", text))
    for date in (_MONTH_FIRST, _DAY_FIRST):
        plain = date.sub(_month_and_day, plain)
    return form_to_search(plain)


def _month_and_day(date: re.Match[str]) -> str:
    return f"{_MONTH_OF[date['month'].lower()]} {date['day']}"
