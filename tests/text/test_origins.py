"""Positions of refined texts in the originals, and the reverse."""

import numpy as np

from components.records import Documents, Origins, Spans
from components.refiners.pieces import Piece, assemble_documents, copy_piece
from components.text.origins import find_refined_spans, identity_origins, join_origins, trace_origins

TEXT = "0123456789"
#            copied  added  not a copy        copied, repeated
PIECES = [copy_piece(TEXT, 2, 6), Piece("--"), Piece("seven", 6, 9), copy_piece(TEXT, 4, 8)]
REFINED = assemble_documents(Documents(["a", "b"], ["", ""], ["x", TEXT]), [[], PIECES])


def spans(*rows: tuple[int, int, int]) -> Spans:
    return Spans(*(np.array(column, dtype=np.int32) for column in zip(*rows, strict=True)))


def places(chunks: Spans, *origins: Origins) -> list[list[tuple[int, int, int]]]:
    found = identity_origins(chunks)
    for own in origins:
        found = trace_origins(found, own)
    rows: list[list[tuple[int, int, int]]] = [[] for _ in range(len(chunks))]
    for chunk, *place in zip(*(c.tolist() for c in (found.chunk, found.document, found.start, found.end)), strict=True):
        rows[chunk].append((place[0], place[1], place[2]))
    assert found.chunk.tolist() == sorted(found.chunk.tolist())
    return rows


def test_refined_text_joins_its_pieces() -> None:
    assert list(REFINED.texts) == ["", "2345--seven4567"]


def test_chunk_of_a_copy_originates_from_the_copied_span() -> None:
    assert places(spans((1, 1, 3)), REFINED.origins) == [[(1, 3, 5)]]


def test_rewritten_chunk_originates_from_everything_it_replaces() -> None:
    assert places(spans((1, 7, 8)), REFINED.origins) == [[(1, 6, 9)]]


def test_chunk_of_several_pieces_has_their_places_in_order() -> None:
    assert places(spans((1, 3, 13)), REFINED.origins) == [[(1, 5, 6), (1, 6, 9), (1, 4, 6)]]


def test_added_chunk_has_no_place_and_keeps_its_document() -> None:
    assert places(spans((1, 0, 1), (1, 4, 6), (1, 5, 7)), REFINED.origins) == [
        [(1, 2, 3)], [(1, 0, 0)], [(1, 6, 9)],
    ]  # fmt: skip


def test_several_refinements_are_traced_back_in_order() -> None:
    again = assemble_documents(REFINED, [[], [copy_piece(REFINED.texts[1], 11), copy_piece(REFINED.texts[1], 0, 2)]])
    assert list(again.texts) == ["", "456723"]
    assert places(spans((1, 3, 5)), again.origins, REFINED.origins) == [[(1, 7, 8), (1, 2, 3)]]


def test_empty_spans_have_no_places() -> None:
    none = np.zeros(0, dtype=np.int32)
    assert places(Spans(none, none, none), REFINED.origins) == []


def test_original_characters_are_found_after_refinement() -> None:
    assert find_refined_spans(1, 5, 7, REFINED.origins) == [(3, 4), (6, 11), (12, 14)]
    assert find_refined_spans(1, 0, 2, REFINED.origins) == []
    assert find_refined_spans(0, 0, 1, REFINED.origins) == []


def test_consecutive_copies_are_joined_into_one_piece() -> None:
    made = assemble_documents(
        Documents(["a"], [""], [TEXT]), [[copy_piece(TEXT, 0, 3), copy_piece(TEXT, 3, 5), copy_piece(TEXT, 6)]]
    )
    assert made.origins.original_end.tolist() == [5, 10]


def test_joined_origins_shift_document_positions() -> None:
    origins = join_origins([REFINED.origins, REFINED.origins], [2, 2])
    assert origins.document.tolist() == [1, 1, 1, 3, 3, 3]
    assert len(join_origins([], [])) == 0
