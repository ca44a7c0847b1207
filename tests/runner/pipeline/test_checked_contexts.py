"""Contexts that break the contract of context builders end the stage with the name of the class."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from components.contexts.packed import PackedContext
from components.errors import ComponentError
from components.records import Context, Spans, SpanTexts
from components.text.ranking import hits_in_order
from runner.pipeline.answers.checked_context import validate_context

ROWS = np.array([(0, 0, 5), (0, 5, 9), (0, 9, 12), (1, 0, 4), (1, 4, 8)], dtype=np.int32)
SPANS = Spans(*ROWS.T)
HITS = hits_in_order([[0, 4], [3, 1], []])


class Mine:
    """Reads only the hit."""


class Around:
    """Reads a hit and a chunk on either side."""

    n_chunks_per_hit = 3


def context(chunk: Sequence[Sequence[int]], n_tokens: Sequence[int] = (1, 1, 0)) -> Context:
    return Context(np.array(chunk, dtype=np.int32), np.array(n_tokens), np.array([0, 0, 0]))


SOUND = context([[0, 4], [3, -1], [-1, -1]])


def check(found: Any, builder: object, top_k: int = 2) -> Context:
    return validate_context(found, HITS, SPANS, top_k, builder)


def test_valid_contexts_pass_the_check() -> None:
    assert check(SOUND, Mine()) is SOUND
    check(context([[1, 0, 3], [4, 2, 0], [-1, -1, -1]]), Around())
    check(context([[], [], []]), Mine())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (None, "returned NoneType, expected Context"),
        (replace(SOUND, chunk=[[0], [3], [-1]]), "returned list as chunks, expected integers of two dimensions with 3"),
        (replace(SOUND, chunk=SOUND.chunk.astype(float)), "returned float64 of shape (3, 2) as chunks"),
        (replace(SOUND, chunk=SOUND.chunk[:2]), "returned int32 of shape (2, 2) as chunks"),
        (replace(SOUND, n_tokens=[1, 1, 0]), "returned list as n_tokens, expected 3 integers of at least 0"),
        (
            context(SOUND.chunk.tolist(), (1, -1, 0)),
            "returned int64 of shape (3,) as n_tokens, expected 3 integers of at least 0",
        ),
        (context([[0, 5], [3, -1], [-1, -1]]), "query 0 has the chunk 5, expected 0 to 4, or -1 for none"),
        (context([[0, -2], [3, -1], [-1, -1]]), "query 0 has the chunk -2"),
        (context([[0, 4], [-1, 3], [-1, -1]]), "query 1 has no chunk in column 0 but one"),
        (context([[0, 4], [3, 3], [-1, -1]]), "query 1 has the chunk 3 twice, expected each once"),
        (context([[0, 1], [3, -1], [-1, -1]]), "query 0 has the chunk 1, which is not among its first 2 hits. "),
        (context([[0, 4], [3, -1], [0, -1]]), "query 2 has the chunk 0, which is not among its first 2 hits"),
    ],
)
def test_invalid_contexts_are_rejected(wrong: Context, message: str) -> None:
    with pytest.raises(ComponentError, match=rf"^{__name__}\.Mine: {re.escape(message)}"):
        check(wrong, Mine())


def test_context_with_a_hit_beyond_top_k_is_rejected() -> None:
    with pytest.raises(ComponentError, match=r"query 0 has the chunk 4, which is not among its first 1 hits"):
        check(SOUND, Mine(), top_k=1)


@pytest.mark.parametrize("far", [2, 3])
def test_context_chunk_beyond_the_window_or_document_is_rejected(far: int) -> None:
    hits = hits_in_order([[0] if far == 2 else [2], [], []])
    found = context([[far], [-1], [-1]])
    builder = type("Pair", (), {"n_chunks_per_hit": 2})()
    with pytest.raises(ComponentError, match=rf"chunk {far}, .* nor around one in its document \(n_chunks_per_hit=2\)"):
        validate_context(found, hits, SPANS, 1, builder)


@pytest.mark.parametrize("window", [0, 1, 2])
def test_packed_context_passes_the_check(window: int) -> None:
    builder = PackedContext(window=window)
    built = builder.build(HITS, SpanTexts(["a" * 12, "b" * 8], SPANS), 2)
    assert validate_context(built, HITS, SPANS, 2, builder) is built
