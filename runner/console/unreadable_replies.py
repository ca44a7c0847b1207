"""Counts the reasons for unreadable replies of a language model."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from components.json_value import Json
from components.records import AnswerState
from runner.console.display import one_line

_OTHER_FORM = "not in the requested form"
_KINDS: dict[str, str] = {
    AnswerState.TRUNCATED: "truncated at max_new_tokens",
    AnswerState.EMPTY: "empty",
    AnswerState.REFUSED: "refused",
}
_REASON = re.compile(r"(?:[\w ]+: )?cannot be read:\s*(?:\((\w+) reply\))?\s*")
"""Start of a reason from `components.asking`: perhaps what was to be read, the state of a reply that did not end
normally, then the reply.
"""


def count_reasons(unread: Iterable[str]) -> tuple[dict[str, int], str]:
    """Count reasons by kind, commonest first, and return the commonest single reason of the commonest kind.

    Both are empty without reasons.
    """
    singles = Counter(unread)
    kinds: Counter[str] = Counter()
    for reason, n in singles.items():
        kinds[_kind(reason)] += n
    by_kind = dict(kinds.most_common())
    first = next(iter(by_kind), "")
    return by_kind, next((reason for reason, _ in singles.most_common() if _kind(reason) == first), "")


def unread_cause(counts: Mapping[str, Json], n_characters: int = 200) -> str:
    """Return the commonest cause, such as "most often truncated at max_new_tokens: 18 of 20, e.g. {"grade":".

    `counts` are as in `CellResult.judges`. Steps of retrieval, and cells of earlier versions, do not count kinds, so
    that no number is given. Returns "" if nothing is known.
    """
    kind, example = _commonest(counts, n_characters)
    if kinds := counts.get("reasons"):
        return f"most often {kind}: {kinds[kind]:,} of {counts['n_unparsable']:,}{example}"
    return f"{kind}{example}"


def judges_by_cause(worst: Mapping[str, Mapping[str, Json]], n_characters: int = 200) -> dict[str, list[str]]:
    """Return the names of judges by their commonest cause, such as "most often empty"; "" for an unknown one.

    `worst` has the counts of each judge, as in `CellResult.judges`. A model that judges several metrics often fails at
    all of them in the same way.
    """
    names: dict[str, list[str]] = {}
    for judge, counts in worst.items():
        kind, example = _commonest(counts, n_characters)
        names.setdefault(f"most often {kind}{example}" if kind else "", []).append(judge)
    return names


def _commonest(counts: Mapping[str, Json], n_characters: int) -> tuple[str, str]:
    """Return the commonest cause, and ", e.g." with a reply of that kind; "" for what is unknown."""
    reason = str(counts.get("commonest") or "")
    reply = one_line(_REASON.sub("", reason, count=1), n_characters)
    kind = next(iter(counts.get("reasons") or {}), "") or (_kind(reason) if reason else "")
    return kind, f", e.g. {reply}" if reply else ""


def _kind(reason: str) -> str:
    match = _REASON.match(reason)
    return _KINDS.get(match[1], _OTHER_FORM) if match and match[1] else _OTHER_FORM
