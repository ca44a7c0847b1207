"""trec_eval's measures of document rankings."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.means import combine_mean, mean_scores
from components.records import Scores, ScoreState

_WITH_CUTOFF = {"map": "map_cut", "ndcg": "ndcg_cut", "recall": "recall", "precision": "P"}
_KNOWN_FORMS = "mrr, " + ", ".join(f"{measure}@k" for measure in _WITH_CUTOFF) + " with k >= 1"


@dataclass(frozen=True)
class TrecMeasures:
    """`mrr`, `map@k`, `ndcg@k`, `recall@k` and `precision@k` for any k >= 1, as trec_eval defines them.

    Level: sample. Range: [0, 1], no unit, larger is better. Tokenizer: none. `ndcg@k` uses grades; for the other
    measures, every document with a grade is relevant. `precision@k` divides by k, even if the ranking is shorter.
    `map@k` and `recall@k` divide by the number of relevant documents. Empty ranking: 0. No relevant document: NO_GOLD.
    The name of a `strict` measure ends in "_strict". Give it rankings in which copies of gold documents do not count as
    gold.
    Source: trec_eval's recip_rank, map_cut, ndcg_cut, recall and P, computed by pytrec_eval.
    """

    measures: tuple[str, ...] = ("mrr", "map@10", "ndcg@10", "recall@10", "precision@10")
    strict: bool = False

    version: ClassVar[int] = 1
    larger_is_better: ClassVar[bool | None] = True

    @property
    def names(self) -> tuple[str, ...]:
        """The measures as given, followed by "_strict" if strict."""
        return tuple(map(self._name, self.measures))

    def check(self) -> list[str]:
        """Return an error message for an unknown measure, a repeated measure, or an empty list."""
        if not self.measures:
            return [f"measures: got none, expected at least one of {_KNOWN_FORMS}"]
        unknown = [name for name in self.measures if _trec_name(name) is None]
        repeated = sorted({name for name in self.measures if self.measures.count(name) > 1})
        return [
            *(f"measures: got {name!r}, expected one of {_KNOWN_FORMS}" for name in unknown),
            *(f"measures: got {name!r} more than once, expected it once" for name in repeated),
        ]

    def score_rankings(
        self, rankings: Sequence[Sequence[str]], relevant: Sequence[Mapping[str, int]]
    ) -> dict[str, Scores]:
        """Return every measure of each ranking.

        Raises ComponentError for a measure that `check` rejects, for a repeated document in a ranking, or unless there
        is one mapping per ranking.
        """
        trec_names = {name: _require_trec_name(name) for name in self.measures}
        _require_valid(rankings, relevant)
        evaluated = _evaluate(rankings, relevant, trec_names.values())
        return {
            self._name(name): mean_scores([values[trec_name] if values else ScoreState.NO_GOLD for values in evaluated])
            for name, trec_name in trec_names.items()
        }

    def _name(self, measure: str) -> str:
        return f"{measure}_strict" if self.strict else measure

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)


def _trec_name(measure: str) -> str | None:
    """Return trec_eval's name of a measure, such as "ndcg_cut_10" for "ndcg@10"; None if unknown."""
    if measure == "mrr":
        return "recip_rank"
    match = re.fullmatch(r"([a-z]+)@([1-9][0-9]*)", measure)
    return f"{_WITH_CUTOFF[match[1]]}_{match[2]}" if match and match[1] in _WITH_CUTOFF else None


def _require_trec_name(measure: str) -> str:
    trec_name = _trec_name(measure)
    if trec_name is None:
        raise ComponentError(f"TrecMeasures: got the measure {measure!r}, expected one of {_KNOWN_FORMS}")
    return trec_name


def _require_valid(rankings: Sequence[Sequence[str]], relevant: Sequence[Mapping[str, int]]) -> None:
    if len(rankings) != len(relevant):
        raise ComponentError(
            f"score_rankings: got {len(relevant)} mappings for {len(rankings)} rankings, expected one each"
        )
    for row, ranking in enumerate(rankings):
        if len(set(ranking)) != len(ranking):
            raise ComponentError(
                f"score_rankings: ranking {row} contains a document twice, expected distinct documents"
            )


def _evaluate(
    rankings: Sequence[Sequence[str]], relevant: Sequence[Mapping[str, int]], trec_names: Collection[str]
) -> list[dict[str, float]]:
    """Return trec_eval's values per ranking; an empty dictionary if no document is relevant."""
    from pytrec_eval import RelevanceEvaluator

    queries = [str(row) for row in range(len(rankings))]
    graded: dict[str, dict[str, int]] = {}
    ranked: dict[str, dict[str, float]] = {}
    for query, ranking, grades in zip(queries, rankings, relevant, strict=True):
        # Numbers instead of ids: trec_eval compares C strings, which end at a NUL.
        number = {document_id: str(n) for n, document_id in enumerate(dict.fromkeys([*ranking, *grades]))}
        graded[query] = {number[document_id]: grade for document_id, grade in grades.items()}
        if ranking:
            # Scores that decrease with rank: trec_eval ignores the order, and sorts by score.
            ranked[query] = {number[document_id]: float(-rank) for rank, document_id in enumerate(ranking)}
    evaluated = RelevanceEvaluator(graded, set(trec_names)).evaluate(ranked)
    # pytrec_eval omits queries without a hit, which must count as 0.
    misses = dict.fromkeys(trec_names, 0.0)
    return [evaluated.get(query, misses) if grades else {} for query, grades in zip(queries, relevant, strict=True)]
