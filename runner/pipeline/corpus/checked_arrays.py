"""Checks the numbers of a component before they are stored. A NaN would silently change a ranking."""

import logging
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from components.protocols import Arrays
from runner.engine.broken_contracts import contract_error

log = logging.getLogger(__name__)

A = TypeVar("A", bound=Arrays)


class EmbeddedTexts(StrEnum):
    """Texts whose vectors are checked."""

    CHUNKS = "chunks"
    QUERIES = "queries"
    FACTS = "facts"
    PHRASES = "phrases"


_ZERO_VECTOR_EFFECTS = {
    EmbeddedTexts.CHUNKS: "a dense search never finds them",
    EmbeddedTexts.QUERIES: "a dense search finds nothing for them",
    EmbeddedTexts.FACTS: "no query is near them",
    EmbeddedTexts.PHRASES: "they have no synonyms",
}
"""Consequence of a zero vector."""

_FILE_NAME = re.compile(r"\w[\w.-]{0,99}", re.ASCII)


def validate_scores(scores: object, n_pairs: int, reranker: object) -> NDArray[np.float32]:
    """Return float32[n_pairs]. Raises ComponentError, which names the class, for anything but finite numbers."""
    return _validate_numbers(
        scores, (n_pairs,), reranker, f"scores of shape {{}} for {n_pairs} pairs, expected one finite score each"
    )


def validate_vectors(
    vectors: object, n_texts: int, embedder: object, *, texts: EmbeddedTexts = EmbeddedTexts.CHUNKS
) -> NDArray[np.float32]:
    """Return float32[n_texts, d]. Raises ComponentError, which names the class, for anything but finite numbers.

    Logs the number of zero vectors and the consequence for `texts`. A single text logs nothing: it is a question to an
    exported pipeline.
    """
    numbers = _validate_numbers(
        vectors, (n_texts, None), embedder, f"vectors of shape {{}} for {n_texts} texts, expected a row each"
    )
    if n_texts and not numbers.shape[1]:
        raise contract_error(embedder, "returned vectors without dimensions, which are all equally near")
    n_zero = int((~numbers.any(axis=1)).sum())
    if n_zero and n_texts > 1:
        log.warning(
            "%s: %d of %d %s have a zero vector, such as texts without a known word: %s",
            type(embedder).__name__,
            n_zero,
            n_texts,
            texts.value,
            _ZERO_VECTOR_EFFECTS[texts],
        )
    return numbers


def validate_arrays(arrays: A, component: object) -> A:
    """Return arrays by name that can be stored. Raises ComponentError, which names the class, for anything else."""
    if not isinstance(arrays, Mapping):
        raise contract_error(component, f"returned {type(arrays).__name__}, expected a mapping of arrays by name")
    for name, array in arrays.items():
        if not isinstance(name, str) or not _FILE_NAME.fullmatch(name):
            label = repr(name)[:100] if isinstance(name, str) else type(name).__name__
            raise contract_error(component, f"returned an array named {label}, expected a name of letters and digits")
        if not isinstance(array, np.ndarray) or array.dtype.hasobject:
            what = f"an array of {array.dtype}" if isinstance(array, np.ndarray) else type(array).__name__
            raise contract_error(component, f"returned {what} as {name!r}, expected an array of numbers or strings")
    return arrays


def _validate_numbers(
    values: object, shape: tuple[int | None, ...], component: object, expected: str
) -> NDArray[np.float32]:
    if isinstance(values, np.ma.MaskedArray):
        raise contract_error(component, "returned a masked array, expected a plain array", "Call .filled(0) first")
    try:
        array = np.asarray(values)
    except ValueError as error:  # NumPy refuses rows of different lengths
        raise contract_error(component, f"returned {type(values).__name__} that is not an array ({error})") from error
    if array.dtype.kind not in "fiub":
        raise contract_error(
            component, f"returned {type(values).__name__} of {array.dtype}, expected an array of numbers"
        )
    if len(array.shape) != len(shape) or any(
        n not in (None, length) for n, length in zip(shape, array.shape, strict=True)
    ):
        raise contract_error(component, f"got {expected.format(array.shape)}")
    # Checked after the conversion, because a float64 may be too large.
    with np.errstate(over="ignore"):
        numbers = np.asarray(array, dtype=np.float32)
    if not np.isfinite(numbers).all():
        n_wrong, n_all = int((~np.isfinite(numbers)).sum()), numbers.size
        raise contract_error(component, f"{n_wrong} of {n_all} numbers are NaN or infinite")
    return numbers
