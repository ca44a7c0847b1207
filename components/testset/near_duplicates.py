"""Questions that nearly repeat one that is in the set already.

They are compared by their parts: words and numbers, and pairs of neighbouring Chinese or Japanese characters. Short
questions have some too, which runs of five characters do not have. All are found, by an index over the rarest parts of
each: of two sets with a Jaccard similarity of t, these have one in common.
Source: Bayardo, Ma and Srikant 2007, "Scaling up all pairs similarity search" (prefix filtering).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from components.testset.likeness import ComparedQuestions, are_alike, compared
from components.testset.records import Draft


@dataclass(frozen=True)
class NearDuplicates:
    """Two questions are near duplicates if they, and the questions before them in their conversations, have at least
    the share `threshold` of their parts in common (Jaccard), the same numbers and negations, and
    answers that agree: half of the parts of the shorter reference are in the other, and all of its numbers. A question
    for 2019 is not the same for 2020, nor is one of a company the same of another: where each of two questions has
    content words of its own, they are about different things. Questions that are equal word for word are duplicates
    whatever their references say. Texts to go on with, to sum up or to correct are compared by their parts alone.
    """

    threshold: float = 0.6

    def check(self) -> list[str]:
        """A share out of range."""
        if 0 < self.threshold <= 1:
            return []
        return [f"threshold: got {self.threshold:g}, expected a share above 0 and up to 1"]

    def repeats(self, new: Sequence[Draft], earlier: Sequence[Draft]) -> Mapping[str, str]:
        """By id of those among `new` that repeat one of `earlier`, or of `new` before them that does not itself repeat
        another, the id of the first such one. What is `earlier` stays, whatever it repeats.
        """
        drafts = [compared(draft) for draft in (*earlier, *new)]
        index = _Index(self.threshold, Counter(part for draft in drafts for part in draft.question))
        found: dict[str, str] = {}
        for place, draft in enumerate(drafts):
            like = index.first_like(draft) if place >= len(earlier) else None
            if like is None:
                index.add(draft)
            else:
                found[draft.id] = like.id
        return found


@dataclass
class _Index:
    """What is kept, in order, under its rarest parts; `counts` of all parts say which these are."""

    threshold: float
    counts: Mapping[str, int]
    kept: list[ComparedQuestions] = field(default_factory=list)
    places: dict[object, list[int]] = field(default_factory=lambda: defaultdict(list))

    def add(self, draft: ComparedQuestions) -> None:
        for key in self._keys(draft):
            self.places[key].append(len(self.kept))
        self.kept.append(draft)

    def first_like(self, draft: ComparedQuestions) -> ComparedQuestions | None:
        near = {place for key in self._keys(draft) for place in self.places.get(key, ())}
        kept = (self.kept[place] for place in sorted(near))
        return next((other for other in kept if are_alike(draft, other, self.threshold)), None)

    def _keys(self, draft: ComparedQuestions) -> list[object]:
        rarest = sorted(draft.question, key=lambda part: (self.counts[part], part))
        n = len(rarest) - math.ceil(self.threshold * len(rarest) - 1e-9) + 1
        return [(draft.group, part) for part in rarest[:n]]
