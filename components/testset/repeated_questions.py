"""Detection of questions that nearly repeat a question of the set.

Questions are compared by their parts: words, numbers, and pairs of neighbouring Chinese or Japanese characters. Even
short questions have such parts, but may have no run of five characters. An index over the rarest parts of each question
finds all near duplicates, because two sets with a Jaccard similarity of t share one of these parts.
Source: Bayardo, Ma and Srikant 2007, "Scaling up all pairs similarity search" (prefix filtering).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from components.testset.draft_similarity import ComparedQuestions, are_alike, comparison_form
from components.testset.records import Draft


@dataclass(frozen=True)
class NearDuplicateFinder:
    """Finds near duplicates among drafts.

    Two questions are near duplicates if all of these hold:

    - they, and the earlier questions of their conversations, share at least `threshold` of their parts (Jaccard);
    - they have the same numbers and negations;
    - their answers agree: half of the parts of the shorter reference are in the other, and all of its numbers.

    A question about 2019 does not repeat one about 2020, nor does a question about one company repeat one about
    another: if both questions have content words that the other lacks, they ask about different things. Questions that
    are equal word for word are duplicates, whatever their references. Texts to continue, summarize or correct are
    compared only by their parts.
    """

    threshold: float = 0.6

    def check(self) -> list[str]:
        """Return an error message for a share out of range."""
        if 0 < self.threshold <= 1:
            return []
        return [f"threshold: got {self.threshold:g}, expected a share above 0 and up to 1"]

    def repeats(self, new: Sequence[Draft], earlier: Sequence[Draft]) -> Mapping[str, str]:
        """Map the id of each draft in `new` that repeats another draft to the id of the first draft that it repeats.

        It may repeat one of `earlier`, or an earlier draft of `new` that repeats none itself. Drafts in `earlier`
        always stay.
        """
        drafts = [comparison_form(draft) for draft in (*earlier, *new)]
        index = _Index(self.threshold, Counter(part for draft in drafts for part in draft.question))
        repeated: dict[str, str] = {}
        for position, draft in enumerate(drafts):
            like = index.first_like(draft) if position >= len(earlier) else None
            if like is None:
                index.add(draft)
            else:
                repeated[draft.id] = like.id
        return repeated


@dataclass
class _Index:
    """Drafts of the set in order, indexed by their rarest parts according to `counts` of all parts."""

    threshold: float
    counts: Mapping[str, int]
    drafts: list[ComparedQuestions] = field(default_factory=list)
    places: dict[object, list[int]] = field(default_factory=lambda: defaultdict(list))

    def add(self, draft: ComparedQuestions) -> None:
        for key in self._keys(draft):
            self.places[key].append(len(self.drafts))
        self.drafts.append(draft)

    def first_like(self, draft: ComparedQuestions) -> ComparedQuestions | None:
        positions = {position for key in self._keys(draft) for position in self.places.get(key, ())}
        candidates = (self.drafts[position] for position in sorted(positions))
        return next((other for other in candidates if are_alike(draft, other, self.threshold)), None)

    def _keys(self, draft: ComparedQuestions) -> list[object]:
        rarest = sorted(draft.question, key=lambda part: (self.counts[part], part))
        n = len(rarest) - math.ceil(self.threshold * len(rarest) - 1e-9) + 1
        return [(draft.group, part) for part in rarest[:n]]
