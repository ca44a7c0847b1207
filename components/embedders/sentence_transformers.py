"""Embedders of the package sentence-transformers: models of the Hugging Face hub, and local folders."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.fields import runtime_only
from components.pretrained.dtype import Dtype
from components.pretrained.model_folder import folder_hash, missing_packages, model_mistakes
from components.pretrained.sentence_encoder import PACKAGES, Pooling, SentenceEncoder, Side
from components.protocols import EmbedderState
from components.records import Passages


@dataclass(frozen=True)
class SentenceTransformers:
    """Vectors as `SentenceTransformer.encode` gives them, of unit length unless `normalize` is off. A text is read up
    to `max_length` tokens; None is for the model's own limit. Equal texts are embedded once; the vectors of blank ones
    are zero.

    `model` is an id on the Hugging Face hub, `revision` its commit; or a local folder, with revision "". Code
    from the model's folder is run only with `trust_remote_code`. `query_prefix` and `passage_prefix` stand before every
    query and every chunk; None is for the model's own prompt, which its folder names in
    config_sentence_transformers.json, or none.

    Without `normalize` the vectors are as long as the model makes them, for models that were trained for inner
    products. `dtype` is what the model computes with: the vectors are float32 in any case.
    """

    model: str
    revision: str
    query_prefix: str | None = None
    passage_prefix: str | None = None
    pooling: Pooling = Pooling.MODEL
    max_length: int | None = None
    normalize: bool = True
    dtype: Dtype = Dtype.FLOAT32
    trust_remote_code: bool = False
    batch_tokens: int = runtime_only(16_384, "texts are padded differently: changes rounding, about 1e-7")
    device: str = runtime_only("auto", "the same sums on another device: changes rounding, about 1e-6")

    version: ClassVar[int] = 1
    tokenizer: ClassVar[None] = None

    def check(self) -> list[str]:
        """Missing packages, a model that cannot be meant, numbers below 1."""
        mistakes = [str(error) for error in missing_packages(PACKAGES, "the embedder sentence_transformers")]
        mistakes += model_mistakes(self.model, self.revision)
        if self.batch_tokens < 1:
            mistakes.append(f"batch_tokens: got {self.batch_tokens}, wanted at least 1")
        if self.max_length is not None and self.max_length < 1:
            mistakes.append(f"max_length: got {self.max_length}, wanted at least 1, or null for the model's own")
        return mistakes

    def content_hash(self) -> str:
        """SHA-256 (hex) of a local folder, "" for an id of the hub, whose revision is its content. Raises
        ComponentError if there is no such folder.
        """
        return folder_hash(self.model)

    def fit(self, documents: Passages) -> EmbedderState:
        """Nothing to learn: {}."""
        return {}

    def embed_chunks(self, chunks: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """float32[n_chunks, d]. Raises ComponentError if the model cannot be loaded or run."""
        return self._embed(chunks.texts, Side.PASSAGE, self.passage_prefix)

    def embed_queries(self, queries: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """Like `embed_chunks`."""
        return self._embed(queries.texts, Side.QUERY, self.query_prefix)

    def _embed(self, texts: Sequence[str], side: Side, prefix: str | None) -> NDArray[np.float32]:
        encoder = SentenceEncoder(
            self.model, self.revision, self.dtype, self.pooling, self.max_length, self.trust_remote_code
        )
        row_of = {text: row for row, text in enumerate(dict.fromkeys(text for text in texts if text.strip()))}
        distinct = encoder.encode(list(row_of), side, prefix, self.batch_tokens, self.device)
        if self.normalize:
            distinct /= np.maximum(np.linalg.norm(distinct, axis=1, keepdims=True), 1e-12)
        vectors = np.zeros((len(texts), distinct.shape[1]), dtype=np.float32)
        embedded = [row for row, text in enumerate(texts) if text in row_of]
        vectors[embedded] = distinct[[row_of[texts[row]] for row in embedded]]
        return vectors
