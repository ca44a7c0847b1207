"""Findings of gates, and the verdict from them."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from components.testset.records import PASSED, GateVerdict, VerdictState


class Finding(NamedTuple):
    """A slug that counts in the coverage, and a description for readers."""

    reason: str
    detail: str


def decide_verdict(findings: Iterable[Finding], tags: bool, only_tagged: Collection[str] = ()) -> GateVerdict:
    """Return REJECTED for the first finding, or PASSED if there are no findings.

    The verdict is TAGGED if the gate `tags`, or if all findings are among `only_tagged`.
    """
    ordered = sorted(findings, key=lambda finding: finding.reason in only_tagged)
    if not ordered:
        return PASSED
    reason, detail = ordered[0]
    state = VerdictState.TAGGED if tags or reason in only_tagged else VerdictState.REJECTED
    return GateVerdict(state, reason, shorten_detail(detail))


_MAX_SHOWN_CHARACTERS = 200


def shorten_detail(text: str) -> str:
    """Return at most 200 characters of a text, for a detail."""
    return text if len(text) <= _MAX_SHOWN_CHARACTERS else f"{text[: _MAX_SHOWN_CHARACTERS - 1]}…"
