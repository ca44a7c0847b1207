from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from components.chunkers.budget import Unit
from components.chunkers.semantic import SemanticPacking, SentenceWindows
from components.embedders.hashing import Hashing
from components.protocols import EmbeddingChunker
from components.records import Documents, Spans
from components.text.corpus_tables import segment
from tests.contracts.chunker_contract import DOCUMENTS, by_document, documents_of
from tests.contracts.component_contract import ComponentContract

TEXT = "One. Two. Three. Four. Five."
SENTENCES = ["One. ", "Two. ", "Three. ", "Four. ", "Five."]


def turning(*angles: float) -> NDArray[np.float32]:
    """Vectors in these directions, in degrees, of various lengths."""
    radians = np.radians(angles)
    return (np.stack([np.cos(radians), np.sin(radians)], axis=1) * np.arange(1, len(angles) + 1)[:, None]).astype("f4")


def cut(chunker: SemanticPacking, vectors: NDArray[np.float32], documents: Documents) -> Spans:
    return chunker.chunk_by_vectors(documents, segment(documents.texts, chunker.length_tokenizer), vectors)


def chunks(vectors: NDArray[np.float32], percentile: float, **fields: object) -> list[str]:
    chunker = SemanticPacking(Hashing(), percentile, **fields)  # type: ignore[arg-type]
    spans = cut(chunker, vectors, documents_of(TEXT))
    return [TEXT[start:end] for start, end in zip(spans.start, spans.end, strict=True)]


class TestSemanticPacking(ComponentContract):
    component = SemanticPacking(Hashing())

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, EmbeddingChunker)

    def test_every_character_but_white_space_is_in_one_chunk(self) -> None:
        windows = self.component.windows.chunk(DOCUMENTS, segment(DOCUMENTS.texts, None))
        vectors = np.random.default_rng(0).normal(size=(len(windows), 4)).astype(np.float32)
        for size, unit in ((1000, Unit.TOKEN), (7, Unit.CHAR)):
            found = by_document(cut(SemanticPacking(Hashing(), 50.0, size=size, unit=unit), vectors, DOCUMENTS))
            for i, text in enumerate(DOCUMENTS.texts):
                covered = [place for start, end in found.get(i, []) for place in range(start, end)]
                assert len(covered) == len(set(covered))
                assert not any(text[place].strip() for place in set(range(len(text))) - set(covered))
                assert all(start < following for (start, _), (following, _) in pairwise(found.get(i, [])))

    def test_semantic_chunker_rejects_percentile_101_and_negative_neighbours(self) -> None:
        assert SemanticPacking(Hashing(), 101.0, -1).check() == [
            "percentile: got 101.0, expected a number in [0, 100], e.g. 95",
            "n_neighbours: got -1, expected at least 0",
        ]


@pytest.mark.parametrize(
    ("angles", "percentile", "expected"),
    [
        ((0, 5, 90, 95, 100), 75.0, ["One. Two. ", "Three. Four. Five."]),
        ((0, 5, 90, 95, 180), 50.0, ["One. Two. ", "Three. Four. ", "Five."]),
        ((0, 0, 0, 0, 0), 95.0, [TEXT]),
        ((0, 90, 180, 270, 360), 100.0, [TEXT]),
    ],
)
def test_semantic_chunk_ends_at_the_largest_distances(
    angles: list[float], percentile: float, expected: list[str]
) -> None:
    assert chunks(turning(*angles), percentile) == expected


def test_sentence_without_a_vector_causes_no_split() -> None:
    vectors = turning(0, 0, 0, 0, 90)
    vectors[2] = 0
    assert chunks(vectors, 50.0) == ["One. Two. Three. Four. ", "Five."]


def test_oversized_semantic_chunk_is_split_between_sentences() -> None:
    assert chunks(turning(0, 0, 0, 0, 0), 95.0, size=11, unit=Unit.CHAR) == ["One. Two. ", "Three. ", "Four. Five."]


@pytest.mark.parametrize(
    ("n_neighbours", "expected"),
    [
        (0, SENTENCES),
        (1, ["One. Two. ", "One. Two. Three. ", "Two. Three. Four. ", "Three. Four. Five.", "Four. Five."]),
    ],
)
def test_sentences_are_embedded_with_their_neighbours(n_neighbours: int, expected: list[str]) -> None:
    spans = SentenceWindows(n_neighbours).chunk(documents_of("", TEXT), segment(["", TEXT], None))
    assert [TEXT[start:end] for start, end in zip(spans.start, spans.end, strict=True)] == expected
    assert set(spans.document.tolist()) == {1}
