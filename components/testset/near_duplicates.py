"""Questions that nearly repeat one that is in the set already."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from components.testset.records import Draft
from components.text.near_duplicates import jaccard, shingles_of


@dataclass(frozen=True)
class NearDuplicates:
    """Two questions are near duplicates if at least this share of their character shingles is the same."""

    threshold: float = 0.8

    def check(self) -> list[str]:
        """A share out of range."""
        if 0 < self.threshold <= 1:
            return []
        return [f"threshold: got {self.threshold:g}, wanted a share above 0 and up to 1"]

    def repeats(self, new: Sequence[Draft], earlier: Sequence[Draft]) -> Mapping[str, str]:
        """By id of those among `new` that repeat one of `earlier`, or of `new` before them, the id of that one."""
        found: dict[str, str] = {}
        kept = [(draft.id, shingles_of(_text(draft))) for draft in earlier]
        for draft in new:
            own = shingles_of(_text(draft))
            like = next((other for other, shingles in kept if jaccard(own, shingles) >= self.threshold), None)
            if like is None:
                kept.append((draft.id, own))
            else:
                found[draft.id] = like
        return found


def _text(draft: Draft) -> str:
    return " ".join([*(turn.question for turn in draft.history), draft.question])
