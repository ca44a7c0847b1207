"""Static embedders: the mean of one vector per token. They run on a CPU, hundreds of times as fast as a network."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from components.pretrained.model_folder import hash_folder, missing_package_errors, model_problems
from components.pretrained.static_table import load_static_table
from components.protocols import EmbedderState
from components.records import Passages

_PACKAGES = ("safetensors", "tokenizers")


@dataclass(frozen=True)
class StaticEmbeddings:
    """Embeds a text as the mean of its token vectors, with unit length if `normalize` is on. It needs no torch.

    Texts without tokens are zero. `model` is a hub id with its commit as `revision`, or a local folder with revision
    "", saved by model2vec or by sentence-transformers with its StaticEmbedding. As in these packages, unknown tokens
    are left out for model2vec, and have a vector for sentence-transformers.
    Source: model2vec (Tulkens and van Dongen 2024); `StaticEmbedding` of sentence-transformers.
    """

    model: str
    revision: str
    normalize: bool = True

    version: ClassVar[int] = 1
    is_pretrained: ClassVar[Literal[True]] = True
    tokenizer: ClassVar[None] = None

    def check(self) -> list[str]:
        """Return error messages about missing packages and an unusable model."""
        problems = [str(error) for error in missing_package_errors(_PACKAGES, "the embedder static")]
        return problems + model_problems(self.model, self.revision)

    def content_hash(self) -> str:
        """Return the SHA-256 (hex) of a local folder, "" for a hub id, which its revision pins.

        Raises ComponentError if the folder does not exist.
        """
        return hash_folder(self.model)

    def fit(self, documents: Passages) -> EmbedderState:
        """Return {}, because this embedder does not learn."""
        return {}

    def embed_chunks(self, chunks: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """Return float32[n_chunks, d]. Raises ComponentError if the model cannot be loaded."""
        return self._embed(chunks.texts)

    def embed_queries(self, queries: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """Return the vectors of queries; see `embed_chunks`."""
        return self._embed(queries.texts)

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = load_static_table(self.model, self.revision).means([text if text.strip() else "" for text in texts])
        if self.normalize:
            vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return vectors
