import numpy as np
import pytest

from components.chunkers.budget import Unit
from components.chunkers.structure import SectionPacking
from components.protocols import DescribingChunker
from components.tokenizers.rjieba_words import RjiebaWords
from tests.contracts.chunker_contract import ExactOverlapContract, by_document, chunk, chunk_texts, documents_of

TEXT = "Intro.\n\n# One\n\nA first. A second.\n\n# Two\n## Three\n\nA third.\n\f\nA fourth."


class TestSectionPacking(ExactOverlapContract):
    component = SectionPacking()

    def test_section_packing_is_a_describing_chunker(self) -> None:
        assert isinstance(self.component, DescribingChunker)


class TestInWords(ExactOverlapContract):
    component = SectionPacking(tokenizer=RjiebaWords())


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (100, ["Intro.", "# One\n\nA first. A second.", "# Two\n## Three\n\nA third.", "A fourth."]),
        (16, ["Intro.", "# One\n\nA first.", "A second.", "# Two\n## Three", "A third.", "A fourth."]),
    ],
)
def test_structure_chunks_end_at_sections_and_pages(size: int, expected: list[str]) -> None:
    assert [text.strip() for text in chunk_texts(SectionPacking(size, unit=Unit.CHAR), TEXT)] == expected


def test_heading_directly_above_an_equal_heading_is_its_own_chunk() -> None:
    assert [text.strip() for text in chunk_texts(SectionPacking(), "# One\n# Two\nText.")] == ["# One", "# Two\nText."]


def test_structure_chunker_packs_text_without_headings_as_a_whole() -> None:
    text = "A first. A second. A third. " * 8
    assert len(chunk_texts(SectionPacking(), text)) == 1


def test_structure_chunks_know_their_section_and_page() -> None:
    documents = documents_of("plain", TEXT)
    chunker = SectionPacking()
    assert chunker.facts(documents, chunk(chunker, documents)) == [
        {}, {"page": "1"}, {"section": "One", "page": "1"}, {"section": "Two > Three", "page": "1"},
        {"section": "Two > Three", "page": "2"},
    ]  # fmt: skip


def test_structure_chunks_do_not_cross_documents() -> None:
    documents = documents_of(TEXT, "", TEXT)
    spans = by_document(chunk(SectionPacking(), documents))
    assert spans.keys() == {0, 2}
    assert spans[0] == spans[2]
    assert chunk(SectionPacking(), documents).start.dtype == np.int32
