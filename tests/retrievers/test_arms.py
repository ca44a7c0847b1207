import pytest

from components.fusions.rrf import ReciprocalRank
from components.protocols import Retriever
from components.retrievers.arms import ClosedBook, Dense, Hybrid, Sparse
from components.sparse_indexes.bm25 import Bm25
from components.vector_indexes.faiss_index import Flat
from tests.contracts.component_contract import ComponentContract


class RetrieverContract(ComponentContract):
    """Contract of retrievers."""

    component: Retriever

    def test_has_its_role(self) -> None:
        assert isinstance(self.component, Retriever)

    def test_has_a_fusion_exactly_if_there_are_two_rankings(self) -> None:
        rankings = [self.component.vector_index, self.component.sparse_index]
        assert (self.component.fusion is not None) == (None not in rankings)

    def test_has_a_depth_exactly_if_it_retrieves(self) -> None:
        retrieves = any((self.component.vector_index, self.component.sparse_index))
        assert (self.component.depth > 0) == retrieves


class TestClosedBook(RetrieverContract):
    component = ClosedBook()


class TestDense(RetrieverContract):
    component = Dense(Flat())


class TestSparse(RetrieverContract):
    component = Sparse(Bm25())


class TestHybrid(RetrieverContract):
    component = Hybrid(Flat(), Bm25(), ReciprocalRank())


@pytest.mark.parametrize(
    "retriever", [Dense(Flat(), 0), Sparse(Bm25(), 0), Hybrid(Flat(), Bm25(), ReciprocalRank(), 0)]
)
def test_a_depth_of_nothing_is_a_mistake(retriever: Dense | Sparse | Hybrid) -> None:
    assert retriever.check() == ["depth: got 0, wanted at least 1 hit per query"]
