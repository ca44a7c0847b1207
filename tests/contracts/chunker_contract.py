"""The contract of every chunker, for many sizes and overlaps in both units."""

import dataclasses
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from components.chunkers.budget import Unit, overlap_tokens
from components.protocols import Chunker
from components.records import Documents, Segments, Spans
from components.text.corpus_tables import segment
from tests.contracts.component_contract import ComponentContract

_TEXTS = (
    "",
    " \n\t\u3000 ",
    "好",
    "杭州是浙江的省会。西湖在城西，面积6.5平方公里！钱塘江流经市区；每年八月十八观潮？游人如织……\n\n第二段很短。",
    "  Prices rose 3.5 percent in May. Analysts had expected 2.75; they were wrong! Why? Nobody knows.\n\nThe end.  ",
    "这一句话没有任何标点而且非常长所以无论块的大小是多少都必须在中间切开才能放得下" * 3,
    "啊" * 60,
    "雨。雨。雨。雨。雨。雨。雨。雨。雨。雨。雨。雨。",
    "表情😀😀👨‍👩‍👧‍👦和生僻字𠮷龘鱻𠮷𠮷𠮷😀结尾🚀",
    "前" + " " * 40 + "后。" + "\n" * 20 + "末",
    "He said: “Done.”" * 8,
    "等，，等；；a,, b;;; c... d?! -- “”",
)
DOCUMENTS = Documents(ids=tuple(f"d{i:02}" for i in range(len(_TEXTS))), titles=("",) * len(_TEXTS), texts=_TEXTS)

SIZES = (4, 5, 7, 16, 64, 1000)
OVERLAPS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.95)
"""Whatever `check` refuses among their combinations is not asked for."""


def documents_of(*texts: str) -> Documents:
    """Return a corpus in which only the texts matter."""
    return Documents(tuple(f"d{i:02}" for i in range(len(texts))), ("",) * len(texts), texts)


def chunk(chunker: Chunker, documents: Documents) -> Spans:
    """Chunks as a sweep makes them."""
    return chunker.chunk(documents, segment(documents.texts, chunker.length_tokenizer))


@cache
def chunked(chunker: Chunker) -> Spans:
    """The chunks of the contract's documents, made once for all tests that only look at them."""
    return chunk(chunker, DOCUMENTS)


def chunk_texts(chunker: Chunker, text: str) -> list[str]:
    """The chunks of one text."""
    spans = chunk(chunker, documents_of(text))
    return [text[start:end] for start, end in zip(spans.start, spans.end, strict=True)]


def by_document(spans: Spans) -> dict[int, list[tuple[int, int]]]:
    """Document position -> (start, end) of its chunks."""
    found: dict[int, list[tuple[int, int]]] = {}
    for document, start, end in zip(spans.document.tolist(), spans.start.tolist(), spans.end.tolist(), strict=True):
        found.setdefault(document, []).append((start, end))
    return found


class ChunkerContract(ComponentContract):
    """Contract of chunkers with a size, an overlap and a unit."""

    component: Chunker

    def variants(self) -> Iterator[Any]:
        """The component in every size, overlap and unit that it accepts."""
        for unit in Unit:
            for size in SIZES:
                for overlap in OVERLAPS:
                    fields: dict[str, Any] = {"size": size, "overlap": overlap, "unit": unit}
                    variant: Any = dataclasses.replace(self.component, **fields)  # type: ignore[type-var]
                    if not variant.check():
                        yield variant

    def n_tokens(self, chunker: Any, segments: Segments, document: int, start: int, end: int) -> int:
        """Tokens (of the length tokenizer) that begin and end in the span. A character on the border may be cut."""
        ends = segments.token_ends[segments.token_offsets[document] : segments.token_offsets[document + 1]]
        before = int(np.searchsorted(ends, start, side="right"))
        return int(np.searchsorted(ends, end, side="left")) + 1 - before

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, Chunker)

    def test_chunker_variants_include_small_sizes(self) -> None:
        assert min(variant.size for variant in self.variants()) == SIZES[0]
        assert {variant.overlap for variant in self.variants()} == set(OVERLAPS)

    def test_spans_are_sorted_and_not_empty(self) -> None:
        for variant in self.variants():
            spans = chunked(variant)
            assert spans.document.dtype == spans.start.dtype == spans.end.dtype == np.int32
            assert (spans.start < spans.end).all()
            places = list(zip(spans.document.tolist(), spans.start.tolist(), strict=True))
            assert places == sorted(places)

    def test_chunks_of_a_document_do_not_depend_on_other_documents(self) -> None:
        found = by_document(chunked(self.component))
        for i, text in enumerate(DOCUMENTS.texts):
            assert by_document(chunk(self.component, documents_of(text))).get(0, []) == found.get(i, [])

    def test_every_character_but_white_space_is_in_a_chunk(self) -> None:
        for variant in self.variants():
            found = by_document(chunked(variant))
            for i, text in enumerate(DOCUMENTS.texts):
                covered = {place for start, end in found.get(i, []) for place in range(start, end)}
                lacking = [place for place in range(len(text)) if place not in covered and not text[place].isspace()]
                assert lacking == [], (variant, text)

    def test_chunks_are_never_inside_another_chunk(self) -> None:
        for variant in self.variants():
            for i, spans in by_document(chunked(variant)).items():
                for (start, end), (next_start, next_end) in pairwise(spans):
                    assert start < next_start, (variant, DOCUMENTS.texts[i])
                    assert end < next_end, (variant, DOCUMENTS.texts[i])

    def test_chunks_are_never_blank(self) -> None:
        for variant in self.variants():
            for i, spans in by_document(chunked(variant)).items():
                assert all(DOCUMENTS.texts[i][start:end].strip() for start, end in spans)

    def test_chunks_never_exceed_the_size(self) -> None:
        for variant in self.variants():
            segments = segment(DOCUMENTS.texts, variant.length_tokenizer)
            for i, spans in by_document(chunked(variant)).items():
                sizes = [self.n_tokens(variant, segments, i, start, end) for start, end in spans]
                assert max(sizes) <= variant.size, (variant, DOCUMENTS.texts[i])

    def test_document_that_fits_is_one_chunk(self) -> None:
        large: Any = dataclasses.replace(self.component, size=1000, overlap=0.0)  # type: ignore[type-var]
        chunks = by_document(chunk(large, DOCUMENTS))
        assert {i: len(spans) for i, spans in chunks.items()} == dict.fromkeys(range(2, len(_TEXTS)), 1)

    @pytest.mark.parametrize("texts", [(), ("",), ("", " \n", "\u3000")])
    def test_blank_documents_have_no_chunks(self, texts: tuple[str, ...]) -> None:
        spans = chunk(self.component, documents_of(*texts))
        assert len(spans) == 0
        assert spans.document.dtype == spans.start.dtype == spans.end.dtype == np.int32

    def test_chunking_is_deterministic(self) -> None:
        for variant in self.variants():
            assert by_document(chunk(variant, DOCUMENTS)) == by_document(chunked(variant))

    def test_document_is_chunked_the_same_alone(self) -> None:
        together = by_document(chunk(self.component, DOCUMENTS))
        for i, text in enumerate(DOCUMENTS.texts):
            assert by_document(chunk(self.component, documents_of(text))).get(0) == together.get(i)


class ExactOverlapContract(ChunkerContract):
    """Contract of chunkers that repeat exactly `size * overlap` tokens."""

    @pytest.mark.parametrize("unit", Unit)
    @pytest.mark.parametrize("overlap", OVERLAPS)
    @pytest.mark.parametrize("size", [20, 64])
    def test_neighbouring_chunks_share_the_configured_overlap(self, size: int, overlap: float, unit: Unit) -> None:
        fields: dict[str, Any] = {"size": size, "overlap": overlap, "unit": unit}
        variant: Any = dataclasses.replace(self.component, **fields)  # type: ignore[type-var]
        if variant.check():
            return
        text = "我在中国，有一个大的！他是人。It is 3.5 km long. Nobody knows why." * 12
        segments = segment([text], variant.length_tokenizer)
        boundaries = [0, *segments.token_ends.tolist()]
        assert len(set(boundaries)) == len(boundaries), "no character of the text needs several tokens"
        (spans,) = by_document(variant.chunk(documents_of(text), segments)).values()
        assert len(spans) > 2
        for (_, end), (start, _) in pairwise(spans):
            n_before = boundaries.index(end)
            assert n_before - boundaries.index(start) == min(overlap_tokens(size, overlap), n_before)
