"""Masks for private data in questions, answers and passages: the rules that the user names, and nothing else."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from components.errors import ConfigError
from components.limits import closest_name, expected_one_of

RULES = {
    "email": r"[\w.%+-]+@[\w-]+(?:\.[\w-]+)+",
    "phone": r"(?<![\w.+])(?:\+\d|\(0|0\d|1[3-9]\d(?=\d{8}(?!\d)))[\d ()/-]{5,18}\d(?!\w)",
    "card": r"(?<!\d)(?:\d[ -]?){12,18}\d(?!\d)",
    "ip": r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])",
}
"""Rules by name. They find the usual forms, and do not prove that nothing private is left."""


@dataclass
class PrivateData:
    """Replaces matches of rules by "[name]", or "[masked]" for a custom rule, and counts them by rule."""

    rules: tuple[tuple[str, re.Pattern[str]], ...] = ()
    counts: Counter[str] = field(default_factory=Counter)

    def mask(self, text: str) -> str:
        """Return the text without matches."""
        for name, pattern in self.rules:
            label = f"[{name}]" if name in RULES else "[masked]"
            text, n = pattern.subn(lambda _, label=label: label, text)  # type: ignore[misc]  # a default of a lambda
            self.counts[name] += n
        return text


def private_data(options: Sequence[str]) -> PrivateData:
    """Return the rules of the option --mask: names, separated by commas, and at the end a regular expression.

    Raises ConfigError for an expression that cannot be compiled, or that matches the empty text.
    """
    rules: dict[str, re.Pattern[str]] = {}
    for text in options:
        rest = text
        while rest:
            name, _, after = rest.partition(",")
            if name in RULES:
                rules[name], rest = re.compile(RULES[name]), after
                continue
            _refuse_misspelling(rest)
            rules[rest], rest = _compile(rest), ""
    return PrivateData(tuple(rules.items()))


def _refuse_misspelling(text: str) -> None:
    """Raise ConfigError for an expression of plain words of which one is like the name of a rule, such as "emial"."""
    words = [word.strip() for word in text.split(",")]
    if all(re.fullmatch(r"[\w -]+", word) for word in words):
        for word in words:
            if closest_name(word.lower(), RULES, cutoff=0.75):
                hint = f"To mask the word itself, write [{word[0]}]{word[1:]}"
                raise ConfigError([f"--mask: got {word!r}{expected_one_of(word, RULES)}. {hint}"])


def _compile(text: str) -> re.Pattern[str]:
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise ConfigError(
            [f"--mask: got {text!r}, expected one of {', '.join(RULES)}, or a regular expression ({error})"]
        ) from error
    if pattern.match(""):
        raise ConfigError(
            [f"--mask: {text!r} matches the empty text, expected an expression for private text, e.g. ORDER-[0-9]+"]
        )
    return pattern
