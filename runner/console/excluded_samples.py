"""Words for the reasons why a metric leaves out samples."""

from collections.abc import Iterable, Mapping

from components.records import ScoreState

_WORDS: Mapping[str, str] = {
    ScoreState.NOT_APPLICABLE: "not applicable",
    ScoreState.NO_GOLD: "without gold",
    ScoreState.NO_GOLD_IN_CORPUS: "without gold in the corpus",
    ScoreState.ANSWER_ERROR: "with a failed answer",
    ScoreState.UNPARSABLE: "with an unreadable judgement",
    ScoreState.FAILED: "with a failed judgement",
    ScoreState.NO_CITATIONS: "without citations",
    ScoreState.HELD_OUT: "held out",
    ScoreState.NOT_DRAWN: "not drawn",
}


def excluded_texts(n_by_reason: Mapping[str, int], omitted: Iterable[str] = ()) -> list[str]:
    """Return, for example, ["10 without gold"]. Unknown reasons are shown as they are. Reasons in `omitted` are left
    out.
    """
    left_out = set(omitted)
    return [f"{n:,} {_WORDS.get(reason, reason)}" for reason, n in n_by_reason.items() if reason not in left_out]
