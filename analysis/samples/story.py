"""One sample as it is shown: records without behaviour, for the terminal, for pages and for JSON."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from components.forensics.verdicts import Verdict


@dataclass(frozen=True)
class Excerpt:
    """Part of a document: the text before some gold, the gold, and the text behind it.

    If the middle of the gold is left out, `rest` is its end. All are "" if the texts are not stored.
    """

    before: str = ""
    gold: str = ""
    n_left_out: int = 0
    rest: str = ""
    behind: str = ""


@dataclass(frozen=True)
class GoldText:
    """A unit of gold. `start` and `end` are None for a whole document, `n_characters` for one not in the corpus. Units
    with the same `one_of` above 0 are alternatives.
    """

    document_id: str
    title: str
    start: int | None
    end: int | None
    grade: int
    n_characters: int | None
    excerpt: Excerpt
    one_of: int = 0


@dataclass(frozen=True)
class FoundUnit:
    """Coverage of a unit of gold by a cell: the share of its characters by rank of the hit, and the share in the
    prompt.
    """

    shares: Sequence[tuple[int, float]]
    share_in_prompt: float


@dataclass(frozen=True)
class ShownHit:
    """A passage in a prompt. `ranks` are its ranks in other rankings, by name."""

    rank: int
    document_id: str
    title: str
    holds_gold: bool
    ranks: Sequence[tuple[str, int]]
    text: str


@dataclass(frozen=True)
class ShownSearch:
    """A search of an iterative search. `gold` are the indices of the gold units that its passages completed."""

    query: str
    thought: str
    gold: Sequence[int]


@dataclass(frozen=True)
class StorySide:
    """A cell's result for a sample. `score` is None if the metric has no value, for the reason `score_state`.

    `searches` is () for a cell that searches once. `first_answer` is the answer before the `check` of a reviser, or
    None if the cell has no reviser.
    """

    cell: str
    score: float | None
    score_state: str
    answer: str
    state: str
    error: str
    verdict: Verdict
    found: Sequence[FoundUnit]
    prompt: Sequence[ShownHit]
    searches: Sequence[ShownSearch] = ()
    first_answer: str | None = None
    check: str = ""


@dataclass(frozen=True)
class Story:
    """A sample with the results of one or two cells. `history` are earlier turns as (question, answer)."""

    id: str
    subset: str
    topic: str | None
    task: str | None
    question: str
    history: Sequence[tuple[str, str]]
    references: Sequence[str]
    is_answerable: bool
    gold: Sequence[GoldText]
    sides: Sequence[StorySide]

    @property
    def difference(self) -> float | None:
        """The first cell's score minus the second cell's; None for a single cell, and if a score is missing."""
        scores = [side.score for side in self.sides]
        if len(scores) < 2 or scores[0] is None or scores[1] is None:
            return None
        return scores[0] - scores[1]

    def as_record(self) -> dict[str, object]:
        """Return the story as plain JSON values."""
        return {**asdict(self), "difference": self.difference}


_AROUND, _BEGINNING, _END = 60, 220, 80
"""Characters shown around gold, and at both ends of longer gold."""


def excerpt(text: str, start: int | None, end: int | None) -> Excerpt:
    """Return the characters [start, end) of a text with some text around them. None is the beginning or the end."""
    first, last = start or 0, len(text) if end is None else end
    before, gold, behind = text[max(0, first - _AROUND) : first], text[first:last], text[last : last + _AROUND]
    n_left_out = len(gold) - _BEGINNING - _END
    if n_left_out <= 0:
        return Excerpt(before, gold, behind=behind)
    return Excerpt(before, gold[:_BEGINNING], n_left_out, gold[-_END:], behind)
