"""Static embedders: the mean of one vector per token. Hundreds of times as fast as a network, on a CPU."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from components.pretrained.model_folder import folder_hash, missing_packages, model_mistakes
from components.pretrained.static_table import load_static_table
from components.protocols import EmbedderState
from components.records import Passages

_PACKAGES = ("safetensors", "tokenizers")


@dataclass(frozen=True)
class StaticEmbeddings:
    """The mean over the vectors of a text's tokens, all of them, scaled to unit length unless `normalize` is off. The
    vector of a text without tokens is zero. Neither torch nor transformers is needed.

    `model` is an id on the Hugging Face hub, `revision` its commit; or a local folder, with revision "": one that
    model2vec saved, or sentence-transformers with its StaticEmbedding. As there, model2vec's unknown tokens are left
    out, and those of sentence-transformers have a vector of their own.
    Source: model2vec (Tulkens and van Dongen 2024); `StaticEmbedding` of sentence-transformers.
    """

    model: str
    revision: str
    normalize: bool = True

    version: ClassVar[int] = 1
    is_pretrained: ClassVar[Literal[True]] = True
    tokenizer: ClassVar[None] = None

    def check(self) -> list[str]:
        """Missing packages, and a model that cannot be meant."""
        mistakes = [str(error) for error in missing_packages(_PACKAGES, "the embedder static")]
        return mistakes + model_mistakes(self.model, self.revision)

    def content_hash(self) -> str:
        """SHA-256 (hex) of a local folder, "" for an id of the hub, whose revision is its content. Raises
        ComponentError if there is no such folder.
        """
        return folder_hash(self.model)

    def fit(self, documents: Passages) -> EmbedderState:
        """Nothing to learn: {}."""
        return {}

    def embed_chunks(self, chunks: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """float32[n_chunks, d]. Raises ComponentError if the model cannot be loaded."""
        return self._embed(chunks.texts)

    def embed_queries(self, queries: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """Like `embed_chunks`."""
        return self._embed(queries.texts)

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = load_static_table(self.model, self.revision).means([text if text.strip() else "" for text in texts])
        if self.normalize:
            vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return vectors
