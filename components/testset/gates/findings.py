"""What gates that ask no model find, and the verdict that comes of it."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from components.testset.records import PASSED, GateVerdict, VerdictState


class Finding(NamedTuple):
    """A slug that counts in the coverage, and what was seen, for people."""

    reason: str
    detail: str


def verdict_of(findings: Iterable[Finding], tags: bool, only_tagged: Collection[str] = ()) -> GateVerdict:
    """REJECTED for the first finding, TAGGED if the gate `tags` or if there are none but such as are `only_tagged`;
    PASSED without any.
    """
    found = sorted(findings, key=lambda finding: finding.reason in only_tagged)
    if not found:
        return PASSED
    reason, detail = found[0]
    state = VerdictState.TAGGED if tags or reason in only_tagged else VerdictState.REJECTED
    return GateVerdict(state, reason, cut(detail))


_MOST_SHOWN = 200


def cut(text: str) -> str:
    """At most 200 characters of a text, for a detail."""
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"
