from dataclasses import replace

import pytest

from components.embedders.bge_m3 import BgeM3
from components.embedders.hashing import Hashing
from components.fact_graph.entity_graph import EntityGraph
from components.fact_graph.written_facts import WrittenFacts
from components.fusions.rrf import ReciprocalRank
from components.fusions.weighted import WeightedScores
from components.llms.scripted import Scripted
from components.multi_vector_encoders.multi_vector_text_encoder import MultiVectorTextEncoder
from components.protocols import (
    DenseArm,
    EncodedDenseArm,
    EncodedSparseArm,
    ExistingIndexArm,
    GraphArm,
    LateInteractionArm,
    PickingArm,
    Retriever,
    SparseArm,
)
from components.retrievers.arms import ByTerms
from components.retrievers.closed_book import ClosedBook
from components.retrievers.dense import Dense
from components.retrievers.graph import GraphSearch
from components.retrievers.hybrid import Hybrid
from components.retrievers.late_interaction import LateInteractionSearch
from components.retrievers.learned_sparse import LearnedSparse
from components.retrievers.sparse import Sparse
from components.retrievers.three_way import ThreeWay
from components.sparse_encoders.sparse_text_encoder import SparseTextEncoder
from components.sparse_indexes.bm25 import Bm25
from components.sparse_indexes.token_weights import TokenWeights
from components.vector_indexes.faiss_index import Flat
from tests.contracts.component_contract import ComponentContract

KINDS = (
    DenseArm,
    SparseArm,
    EncodedDenseArm,
    EncodedSparseArm,
    LateInteractionArm,
    GraphArm,
    PickingArm,
    ExistingIndexArm,
)
HEADS = BgeM3("owner/name", "0" * 40)
EQUAL = ReciprocalRank(weights=(1.0, 1.0, 1.0))


class RetrieverContract(ComponentContract):
    component: Retriever

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, Retriever)

    def test_every_retriever_arm_is_of_one_kind(self) -> None:
        for arm in self.component.arms:
            assert [isinstance(arm, kind) for kind in KINDS].count(True) == 1

    def test_retriever_has_either_one_picking_arm_or_searching_arms(self) -> None:
        picks = [isinstance(arm, PickingArm) for arm in self.component.arms]
        assert not any(picks) or len(picks) == 1

    def test_several_rankings_require_a_fusion(self) -> None:
        assert len(self.component.arms) < 2 or self.component.fusion is not None

    def test_depth_is_positive_exactly_for_retrievers_with_arms(self) -> None:
        assert (self.component.depth > 0) == bool(self.component.arms)


class TestClosedBook(RetrieverContract):
    component = ClosedBook()


class TestDense(RetrieverContract):
    component = Dense(Hashing(), Flat())


class TestSparse(RetrieverContract):
    component = Sparse(Bm25())


class TestLearnedSparse(RetrieverContract):
    component = LearnedSparse(SparseTextEncoder("owner/name", "0" * 40), TokenWeights())


class TestLateInteractionSearch(RetrieverContract):
    component = LateInteractionSearch(MultiVectorTextEncoder("owner/name", "0" * 40))

    def test_late_interaction_takes_candidates_from_its_arm(self) -> None:
        (arm,) = self.component.arms
        assert arm.candidates == ()
        (arm,) = replace(self.component, candidates={"words": ByTerms(Bm25())}).arms
        assert arm.candidates == (ByTerms(Bm25()),)


class TestGraphSearch(RetrieverContract):
    component = GraphSearch(Hashing(), WrittenFacts(Scripted(), "", "{passage}", "Again."), EntityGraph())


class TestHybrid(RetrieverContract):
    component = Hybrid(Hashing(), Flat(), Bm25(), ReciprocalRank())


class TestThreeWay(RetrieverContract):
    component = ThreeWay(HEADS, Flat(), TokenWeights(), EQUAL)

    def test_late_arm_ranks_the_other_hits_or_all_chunks(self) -> None:
        dense, sparse, late = self.component.arms
        assert late.candidates == (dense, sparse)
        assert replace(self.component, exhaustive=True).arms[2].candidates == ()


def test_weights_for_another_number_of_searches_are_rejected() -> None:
    """Equal passages fit any number."""
    uneven = ReciprocalRank(weights=(1.0, 0.5))
    assert ThreeWay(HEADS, Flat(), TokenWeights(), ReciprocalRank()).check() == []
    assert Hybrid(Hashing(), Flat(), Bm25(), WeightedScores(0.3)).check() == []
    assert ThreeWay(HEADS, Flat(), TokenWeights(), uneven).check() == [
        "fusion: got weights [1.0, 0.5], expected 3, one per search, or equal weights"
    ]
    assert Hybrid(Hashing(), Flat(), Bm25(), ReciprocalRank(weights=(1.0, 1.0, 0.5))).check() == [
        "fusion: got weights [1.0, 1.0, 0.5], expected 2, one per search, or equal weights"
    ]


def test_hybrid_shares_the_arms_of_dense_and_sparse() -> None:
    """Shared arms save a sweep over the three a second search."""
    hybrid = Hybrid(Hashing(), Flat(), Bm25(), ReciprocalRank())
    assert hybrid.arms == (*Dense(Hashing(), Flat()).arms, *Sparse(Bm25()).arms)


@pytest.mark.parametrize(
    "retriever",
    [Dense(Hashing(), Flat(), 0), Sparse(Bm25(), 0), Hybrid(Hashing(), Flat(), Bm25(), ReciprocalRank(), 0)],
)
def test_retriever_rejects_zero_depth(retriever: Dense | Sparse | Hybrid) -> None:
    assert retriever.check() == ["depth: got 0, expected at least 1 hit per query"]
