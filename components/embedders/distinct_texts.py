"""Embedding each distinct text once, and blank texts not at all."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.pretrained.model_folder import torch_device


def distinct_texts(texts: Sequence[str]) -> list[str]:
    """Return the distinct texts that are not blank, in order."""
    return list(dict.fromkeys(text for text in texts if text.strip()))


def embed_distinct(
    texts: Sequence[str], distinct: Sequence[str], vectors: NDArray[np.float32], n_dimensions: int
) -> NDArray[np.float32]:
    """Return float32[n_texts, n_dimensions] from the vectors of the distinct texts; zero for blank texts."""
    row_of = {text: row for row, text in enumerate(distinct)}
    all_vectors = np.zeros((len(texts), n_dimensions), dtype=np.float32)
    embedded = [row for row, text in enumerate(texts) if text in row_of]
    if embedded:
        all_vectors[embedded] = vectors[[row_of[texts[row]] for row in embedded]]
    return all_vectors


def unit_vectors(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the vectors scaled to length 1; zero vectors stay zero."""
    unit: NDArray[np.float32] = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return unit


def chunks_per_block(device: str) -> int:
    """Return the number of chunks that a model on the device embeds in a few minutes.

    Texts are sorted by length within a block.
    """
    return 2048 if torch_device(device) == "cpu" else 32_768
