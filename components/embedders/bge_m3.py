"""BGE-M3 with its three heads: one vector per text, a weight per token and a vector per token, in one pass."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from components.embedders.distinct_texts import chunks_per_block
from components.encodings import Encodings
from components.errors import ComponentError
from components.fields import runtime_only
from components.pretrained.batches import length_batches, prepared_ahead
from components.pretrained.dimensions import token_dimensions
from components.pretrained.dtype import Dtype
from components.pretrained.features import (
    Features,
    feature_batches,
    fitting_into_memory,
    suitable_batch_tokens,
)
from components.pretrained.m3_model import PACKAGES, HeadsOfText, load_m3
from components.pretrained.model_folder import folder_hash, missing_packages, model_mistakes, tokenizer_mistakes
from components.pretrained.token_limit import count_tokens, max_length_mistakes, token_limit
from components.protocols import EmbedderState
from components.records import Passages

_WINDOW_CHARACTERS = 2**18
"""So many are tokenized at once, padding included."""


@dataclass(frozen=True)
class BgeM3:
    """The three representations of Chen et al. 2024, "M3-Embedding", as FlagEmbedding's BGEM3FlagModel computes them:
    `dense_vecs`, `lexical_weights` and `colbert_vecs`, the latter kept as float16. A text is read up to `max_length`
    tokens, special ones included, or as many as the model has positions. Blank texts have none of the three.

    `model` is an id of the Hugging Face hub, `revision` its commit; or a local folder, with revision "", that holds an
    encoder, its tokenizer, and the heads `sparse_linear.pt` and `colbert_linear.pt`, which are read by torch's loader
    of tensors. No code from the folder is run. As an embedder alone it gives the dense vectors. A batch is
    `batch_tokens` tokens with padding, or one text; None for what suits the device.
    """

    model: str
    revision: str = ""
    max_length: int = 8192
    dtype: Dtype = Dtype.FLOAT32
    batch_tokens: int | None = runtime_only(None, "texts are padded differently: changes rounding, about 1e-6")
    device: str = runtime_only("auto", "the same sums on another device: changes rounding, about 1e-6")

    version: ClassVar[int] = 1
    is_pretrained: ClassVar[Literal[True]] = True
    tokenizer: ClassVar[None] = None

    def check(self) -> list[str]:
        """Missing packages, a model that cannot be meant, numbers out of range."""
        mistakes = [str(error) for error in missing_packages(PACKAGES, "the embedder bge-m3-heads")]
        mistakes += model_mistakes(self.model, self.revision) or tokenizer_mistakes(self.model)
        mistakes += max_length_mistakes(self.max_length)
        if self.batch_tokens is not None and self.batch_tokens < 1:
            mistakes.append(
                f"batch_tokens: got {self.batch_tokens}, expected at least 1, or null for what suits the device"
            )
        return mistakes

    def content_hash(self) -> str:
        """SHA-256 (hex) of a local folder, "" for an id of the hub, whose revision is its content. Raises
        ComponentError if there is no such folder.
        """
        return folder_hash(self.model)

    def token_limit(self) -> int:
        """`max_length`, or as many as the model's folder says. Raises ComponentError if the model cannot be reached."""
        return min(self.max_length, token_limit(self.model, self.revision) or self.max_length)

    def count_query_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """With special tokens."""
        return count_tokens(self.model, self.revision, texts)

    def count_chunk_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """With special tokens."""
        return count_tokens(self.model, self.revision, texts)

    def most_dimensions(self) -> int | None:
        """As the model's config says."""
        return token_dimensions(self.model, self.revision)

    @property
    def n_chunks_per_block(self) -> int:
        """A few minutes of work, for the dense vectors alone."""
        return chunks_per_block(self.device)

    def fit(self, documents: Passages) -> EmbedderState:
        """Nothing to learn: {}."""
        return {}

    def embed_chunks(self, chunks: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """float32[n_chunks, d]: the dense vectors alone. Raises ComponentError as `encode_chunks` does."""
        return self._encoded(chunks.texts, dense_alone=True).dense

    def embed_queries(self, queries: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """Like `embed_chunks`."""
        return self._encoded(queries.texts, dense_alone=True).dense

    def encode_chunks(self, chunks: Passages) -> Encodings:
        """All three, in one pass. Raises ComponentError if the model cannot be loaded, has no heads, makes numbers that
        are not finite, or needs more memory than there is.
        """
        return self._encoded(chunks.texts)

    def encode_queries(self, queries: Passages) -> Encodings:
        """Like `encode_chunks`."""
        return self._encoded(queries.texts)

    def _encoded(self, texts: Sequence[str], *, dense_alone: bool = False) -> Encodings:
        model = load_m3(self.model, self.revision, self.dtype, self.max_length, self.device)
        batch_tokens = self.batch_tokens or suitable_batch_tokens(model.network.device.type)
        read = [row for row, text in enumerate(texts) if text.strip()]
        windows = length_batches([len(texts[row]) for row in read], _WINDOW_CHARACTERS)
        dense = np.zeros((len(texts), model.n_dimensions), dtype=np.float32)
        heads = dict.fromkeys(range(len(texts)), _NO_TOKENS)

        def tokenized(window: NDArray[np.int64]) -> Features:
            return model.tokenized([texts[read[place]] for place in window.tolist()])

        for window, features in prepared_ahead(tokenized, windows):
            for rows, batch in feature_batches(features, batch_tokens):
                places = [read[place] for place in window[rows].tolist()]
                with fitting_into_memory(batch_tokens, model.network.device):
                    dense[places], tokens = model.forward(batch, dense_alone=dense_alone)
                heads.update(zip(places, tokens, strict=False))  # no tokens for the dense vectors alone
        if not np.isfinite(dense).all():
            raise ComponentError(
                f"model {self.model!r}: vectors are not finite with dtype={self.dtype}; float16 overflows in some "
                "models: try bfloat16 or float32"
            )
        return _joined(dense, list(heads.values()), model.n_token_dimensions)


_NO_TOKENS = HeadsOfText(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32), None)


def _joined(dense: NDArray[np.float32], texts: list[HeadsOfText], n_token_dimensions: int) -> Encodings:
    vectors = [np.zeros((0, n_token_dimensions), dtype=np.float16) if t.vectors is None else t.vectors for t in texts]
    nothing = np.zeros((0, n_token_dimensions), dtype=np.float16)
    return Encodings(
        dense=dense,
        weight_ids=np.concatenate([_NO_TOKENS.ids, *(text.ids for text in texts)]),
        weights=np.concatenate([_NO_TOKENS.weights, *(text.weights for text in texts)]),
        weight_offsets=np.cumsum([0, *(len(text.ids) for text in texts)], dtype=np.int64),
        vectors=np.concatenate([nothing, *vectors]),
        vector_offsets=np.cumsum([0, *map(len, vectors)], dtype=np.int64),
    )
