"""Replies of a judge that splits texts into claims and checks them: their schemas, and their parsing."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from components.asking.reply import json_values, read_object, repeats_form, whole_number
from components.json_value import Json


class Support(StrEnum):
    """The relation of a text to a claim: it supports the claim, it contradicts it, or it does neither."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    NEITHER = "neither"


@dataclass(frozen=True)
class Verdict:
    """The relation of a text to one claim, with the judge's reason ("" without one)."""

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
    claims = (read_object(text, "claims") or {}).get("claims")
    if not (isinstance(claims, list) and all(isinstance(claim, str) for claim in claims)):
        return None
    if any(repeats_form(claim, prompt) for claim in claims):
        return None
    return tuple(dict.fromkeys(" ".join(claim.split()) for claim in claims))


def read_verdicts(text: str, n_claims: int) -> tuple[Verdict, ...] | None:
    """Return the verdicts on claims 1 to `n_claims`. Return None unless the reply has exactly one for each number.

    Verdicts are matched to claims by number, not by position: a model that skips a claim would shift all later ones. A
    verdict on a claim that was not shown is as unreadable as a missing one.
    """
    # Not `read_object`: a reason such as "we cannot tell" concerns one claim, and does not retract the whole reply.
    found_objects = (value for value in json_values(text) if isinstance(value, dict) and "verdicts" in value)
    entries = next(found_objects, {}).get("verdicts")
    if not isinstance(entries, list):
        return None
    found: dict[int, Verdict] = {}
    for entry in entries:
        number = whole_number(entry.get("number")) if isinstance(entry, dict) else None
        support = _SUPPORTS.get(str(entry.get("verdict")).strip().lower()) if number is not None else None
        if number is None or support is None or number in found:
            return None
        found[number] = Verdict(support, " ".join(str(entry.get("reason") or "").split()))
    return tuple(found[n] for n in range(1, n_claims + 1)) if set(found) == set(range(1, n_claims + 1)) else None


_SUPPORTS = {support.value: support for support in Support}
