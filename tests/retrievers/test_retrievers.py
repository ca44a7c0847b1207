import pytest

from components.embedders.hashing import Hashing
from components.fusions.rrf import ReciprocalRank
from components.protocols import DenseArm, PickingArm, Retriever, SparseArm
from components.retrievers.closed_book import ClosedBook
from components.retrievers.dense import Dense
from components.retrievers.hybrid import Hybrid
from components.retrievers.sparse import Sparse
from components.sparse_indexes.bm25 import Bm25
from components.vector_indexes.faiss_index import Flat
from tests.contracts.component_contract import ComponentContract


class RetrieverContract(ComponentContract):
    """Contract of retrievers."""

    component: Retriever

    def test_has_its_role(self) -> None:
        assert isinstance(self.component, Retriever)

    def test_every_arm_is_of_one_kind(self) -> None:
        for arm in self.component.arms:
            assert [isinstance(arm, kind) for kind in (DenseArm, SparseArm, PickingArm)].count(True) == 1

    def test_picks_or_searches(self) -> None:
        picks = [isinstance(arm, PickingArm) for arm in self.component.arms]
        assert not any(picks) or len(picks) == 1

    def test_has_a_fusion_if_there_are_several_rankings(self) -> None:
        assert len(self.component.arms) < 2 or self.component.fusion is not None

    def test_has_a_depth_exactly_if_it_retrieves(self) -> None:
        assert (self.component.depth > 0) == bool(self.component.arms)


class TestClosedBook(RetrieverContract):
    component = ClosedBook()


class TestDense(RetrieverContract):
    component = Dense(Hashing(), Flat())


class TestSparse(RetrieverContract):
    component = Sparse(Bm25())


class TestHybrid(RetrieverContract):
    component = Hybrid(Hashing(), Flat(), Bm25(), ReciprocalRank())


def test_hybrid_makes_the_searches_of_the_two_others() -> None:
    """Else a sweep over the three would search twice."""
    hybrid = Hybrid(Hashing(), Flat(), Bm25(), ReciprocalRank())
    assert hybrid.arms == (*Dense(Hashing(), Flat()).arms, *Sparse(Bm25()).arms)


@pytest.mark.parametrize(
    "retriever",
    [Dense(Hashing(), Flat(), 0), Sparse(Bm25(), 0), Hybrid(Hashing(), Flat(), Bm25(), ReciprocalRank(), 0)],
)
def test_a_depth_of_nothing_is_a_mistake(retriever: Dense | Sparse | Hybrid) -> None:
    assert retriever.check() == ["depth: got 0, wanted at least 1 hit per query"]
