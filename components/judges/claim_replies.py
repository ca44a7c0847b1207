"""Replies of a judge that splits texts into claims and checks them: their schemas, and their parsing."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from components.asking.model_reply import copies_placeholder, json_values, parse_whole_number
from components.json_value import Json


class Support(StrEnum):
    """The relation of a text to a claim: it supports the claim, it contradicts it, or it does neither."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    NEITHER = "neither"


@dataclass(frozen=True)
class ClaimVerdict:
    """The relation of a text to one claim, with the judge's reason ("" if it gave none)."""

    support: Support
    reason: str = ""

    @property
    def is_supported(self) -> bool:
        """True if the text supports the claim."""
        return self.support is Support.SUPPORTED


CLAIMS_SCHEMA: Mapping[str, Json] = {
    "type": "object",
    "properties": {"claims": {"type": "array", "items": {"type": "string"}}},
    "required": ["claims"],
    "additionalProperties": False,
}

VERDICTS_SCHEMA: Mapping[str, Json] = {
    "type": "object",
    "properties": {
        "verdicts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "number": {"type": "integer"},
                    "reason": {"type": "string"},
                    "verdict": {"type": "string", "enum": [support.value for support in Support]},
                },
                "required": ["number", "reason", "verdict"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["verdicts"],
    "additionalProperties": False,
}
"""The reason comes before the verdict, so that the model reasons before it decides."""


def read_claims(text: str, prompt: str) -> tuple[str, ...] | None:
    """Return the distinct claims of a reply, in order and each on one line; () if it lists none.

    Return None if the reply cannot be read, or repeats the placeholders in `prompt`.
    """
    claims = read_list(text, "claims")
    if claims is None or not all(isinstance(claim, str) for claim in claims):
        return None
    if any(copies_placeholder(claim, prompt) for claim in claims):
        return None
    return tuple(dict.fromkeys(" ".join(claim.split()) for claim in claims))


def read_verdicts(text: str, n_claims: int) -> tuple[ClaimVerdict, ...] | None:
    """Return the verdicts on claims 1 to `n_claims`. Return None unless the reply has exactly one for each number.

    Verdicts are matched to claims by number, not by position: a model that skips a claim would shift all later ones. A
    verdict on a claim that was not shown is as unreadable as a missing one.
    """
    verdicts = []
    for entry in read_numbered(text, "verdicts", n_claims) or ():
        support = _SUPPORTS.get(str(entry.get("verdict")).strip().lower())
        if support is None:
            return None
        verdicts.append(ClaimVerdict(support, " ".join(str(entry.get("reason") or "").split())))
    return tuple(verdicts) if len(verdicts) == n_claims else None


_SUPPORTS = {support.value: support for support in Support}


def read_list(text: str, key: str) -> list[Json] | None:
    """Return the list under `key` in the likeliest object of a reply that has `key`, or None if no object has it.

    `read_object` reads single values: to it, braces in a claim end the object, and a reason such as "we cannot tell"
    retracts it. Here the reason concerns one item.
    """
    found_objects = (value for value in json_values(text) if isinstance(value, dict) and key in value)
    entries = next(found_objects, {}).get(key)
    return entries if isinstance(entries, list) else None


def read_numbered(text: str, key: str, n_items: int) -> list[dict[str, Json]] | None:
    """Return the entries of the list `key` of a reply in the order of their `number`, 1 to `n_items`.

    Return None unless the reply has exactly one for each number.
    """
    entries = read_list(text, key)
    if entries is None or not all(isinstance(entry, dict) for entry in entries):
        return None
    by_number = {parse_whole_number(entry.get("number")): entry for entry in entries}
    if len(entries) != n_items or set(by_number) != set(range(1, n_items + 1)):
        return None
    return [by_number[number] for number in range(1, n_items + 1)]
