"""Equal texts are embedded once, and blank ones not at all."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.pretrained.model_folder import torch_device


def distinct_texts(texts: Sequence[str]) -> list[str]:
    """Those with something to embed, in order, each once."""
    return list(dict.fromkeys(text for text in texts if text.strip()))


def vectors_of_all(
    texts: Sequence[str], distinct: Sequence[str], vectors: NDArray[np.float32], n_dimensions: int
) -> NDArray[np.float32]:
    """float32[n_texts, n_dimensions] from the vectors of the distinct texts, a row each; zero for blank texts."""
    row_of = {text: row for row, text in enumerate(distinct)}
    of_all = np.zeros((len(texts), n_dimensions), dtype=np.float32)
    embedded = [row for row, text in enumerate(texts) if text in row_of]
    if embedded:
        of_all[embedded] = vectors[[row_of[texts[row]] for row in embedded]]
    return of_all


def unit_vectors(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scaled to length 1; a zero vector stays one."""
    unit: NDArray[np.float32] = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return unit


def chunks_per_block(device: str) -> int:
    """A few minutes of work for a model on that device, in which texts are sorted by length."""
    return 2048 if torch_device(device) == "cpu" else 32_768
