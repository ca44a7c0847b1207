from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

import conf
from components.embedders.hashing import Hashing
from components.fusions.comb_sum import CombSum
from components.fusions.rrf import ReciprocalRank
from components.fusions.weighted import WeightedScores
from components.retrievers.arms import ByEmbedding, ByTerms
from components.retrievers.dense import Dense
from components.retrievers.hybrid import Hybrid
from components.retrievers.multi_arm import MultiArm
from components.sparse_indexes.bm25 import Bm25
from components.tokenizers.character_bigrams import CharacterBigrams
from components.vector_indexes.faiss_index import Flat
from tests.retrievers.test_retrievers import RetrieverContract
from tests.runner.sweeping import small_request

ARMS = sorted(path.stem for path in (Path(conf.__file__).parent / "retriever" / "arm").glob("*.yaml"))
SEARCHES: dict[str, ByEmbedding | ByTerms] = {
    "dense": ByEmbedding(Hashing(), Flat()),
    "words": ByTerms(Bm25()),
    "bigrams": ByTerms(Bm25(tokenizer=CharacterBigrams())),
}
RULE = ReciprocalRank(weights=())


def retriever(rule: Any = RULE, **weights: float) -> MultiArm:
    return MultiArm(SEARCHES, weights, rule)


class TestMultiArm(RetrieverContract):
    component = retriever(words=0.5)


def test_named_arm_weights_are_passed_to_the_fusion_in_order() -> None:
    assert retriever(words=0.5).fusion == ReciprocalRank(weights=(1.0, 0.5, 1.0))
    assert retriever(CombSum(), bigrams=3.0).fusion == CombSum((1.0, 1.0, 3.0))


def test_search_with_zero_weight_is_skipped() -> None:
    """The result equals a retriever with only the remaining searches."""
    hybrid = Hybrid(Hashing(), Flat(), Bm25(), ReciprocalRank())
    assert (retriever(bigrams=0).arms, retriever(bigrams=0).fusion) == (hybrid.arms, hybrid.fusion)
    alone, dense = (
        retriever(dense=2.0, words=0, bigrams=0),
        Dense(Hashing(), Flat(), fusion=ReciprocalRank(weights=(1.0,))),
    )
    assert (alone.arms, alone.fusion) == (dense.arms, dense.fusion)


@pytest.mark.parametrize(
    ("component", "problem"),
    [
        (MultiArm(SEARCHES, {}, RULE, depth=0), "depth: got 0"),
        (retriever(word=1), "weights.word: unknown search, expected one of dense, words, bigrams"),
        (retriever(words=-1), "weights.words: got -1, expected at least 0"),
        (retriever(words=nan), "weights.words: got nan, expected at least 0"),
        (retriever(words=inf), "weights.words: got inf, expected at least 0"),
        (MultiArm({}, {}, RULE), "searches: got no search with a weight"),
        (retriever(dense=0, words=0, bigrams=0), "searches: got no search with a weight"),
        (retriever(ReciprocalRank()), r"rule.weights: got [1.0, 1.0], expected []"),
        (retriever(WeightedScores(), words=0.5), "rule: WeightedScores does not support weights, expected equal ones"),
    ],
)
def test_multi_arm_retrievers_reject_invalid_settings(component: MultiArm, problem: str) -> None:
    (found,) = component.check()
    assert found.startswith(problem)


def test_fusion_without_weights_joins_equally_weighted_searches() -> None:
    assert retriever(WeightedScores(), dense=0).check() == []
    assert retriever(WeightedScores(), dense=0).fusion == WeightedScores()


@pytest.mark.parametrize("arm", ARMS)
def test_every_arm_option_adds_one_arm(arm: str) -> None:
    model = [f"retriever.searches.more.encoder.{field}" for field in ("model=owner/name", f"revision={'0' * 40}")]
    of_arm = {"splade": model, "colbert": model, "graph": ["llm=scripted"]}.get(arm, [])
    cell = small_request("retriever=arms", f"+retriever/arm@retriever.searches.more={arm}", *of_arm).cell
    assert len(cell.retriever.arms) == 4


def test_arm_may_have_its_own_embedder() -> None:
    overrides = ("retriever/arm@retriever.searches.dense=own_embedder", "embedder@retriever.searches.dense.embedder")
    cell = small_request("retriever=arms", overrides[0], f"{overrides[1]}=hashing", "embedder=lsa").cell
    assert isinstance(cell.retriever.arms[0], ByEmbedding)
    assert isinstance(cell.retriever.arms[0].embedder, Hashing)
