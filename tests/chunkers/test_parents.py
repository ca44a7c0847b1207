from components.chunkers.budget import Unit
from components.chunkers.parents import ParentChunks
from components.chunkers.sentence import SentencePacking
from components.chunkers.whole import WholeDocuments
from components.protocols import ParentChunker
from tests.contracts.component_contract import ComponentContract


class TestParentChunks(ComponentContract):
    component = ParentChunks(SentencePacking(size=16), SentencePacking(size=64))

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, ParentChunker)

    def test_parent_chunks_have_the_size_of_the_parents(self) -> None:
        assert self.component.size == 64
        assert ParentChunks(SentencePacking(), WholeDocuments()).size == 0

    def test_child_chunks_are_smaller_than_their_parents(self) -> None:
        problems = ParentChunks(SentencePacking(size=64), SentencePacking(size=64)).check()
        assert problems == ["children.size: got 64, expected less than parents.size=64"]
        assert ParentChunks(SentencePacking(size=64), SentencePacking(size=50, unit=Unit.CHAR)).check() == []
        assert ParentChunks(SentencePacking(size=64), WholeDocuments()).check() == []
