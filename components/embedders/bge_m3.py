"""BGE-M3 with its three heads: a vector per text, a weight per token and a vector per token, in one pass."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from components.embedders.distinct_texts import chunks_per_block
from components.encodings import Encodings
from components.errors import ComponentError
from components.fields import runtime_only
from components.pretrained.batches import batch_by_length, batch_tokens_problems, prepare_ahead
from components.pretrained.dimensions import token_dimensions
from components.pretrained.dtype import Dtype
from components.pretrained.features import (
    Features,
    default_batch_tokens,
    explain_out_of_memory,
    split_into_batches,
)
from components.pretrained.m3_model import PACKAGES, HeadsOfText, load_m3
from components.pretrained.model_folder import checkpoint_problems, hash_folder
from components.pretrained.token_limit import count_tokens, max_length_problems, token_limit
from components.protocols import EmbedderState
from components.records import Passages

_WINDOW_CHARACTERS = 2**18
"""Characters tokenized per call, including padding."""


@dataclass(frozen=True)
class BgeM3:
    """The three representations of Chen et al. 2024, "M3-Embedding", as FlagEmbedding's BGEM3FlagModel computes them.

    They are `dense_vecs`, `lexical_weights` and `colbert_vecs`; the last are stored as float16. The model reads up to
    `max_length` tokens of a text, including special tokens, but at most its number of positions. Blank texts have no
    representation. As an embedder, this component returns the dense vectors only.

    `model` is a hub id with its commit as `revision`, or a local folder with revision "". The folder contains an
    encoder, its tokenizer, and the heads `sparse_linear.pt` and `colbert_linear.pt`, which torch's tensor loader reads.
    No code from the folder runs. A batch has `batch_tokens` tokens including padding, or a single text; None chooses a
    size for the device.
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
        """Return error messages about missing packages, an unusable model, and numbers out of range."""
        problems = checkpoint_problems(self.model, self.revision, PACKAGES, "the embedder bge-m3-heads")
        problems += max_length_problems(self.max_length)
        problems += batch_tokens_problems(self.batch_tokens)
        return problems

    def content_hash(self) -> str:
        """Return the SHA-256 (hex) of a local folder, "" for a hub id, which its revision pins.

        Raises ComponentError if the folder does not exist.
        """
        return hash_folder(self.model)

    def token_limit(self) -> int:
        """Return `max_length`, or the model's limit if it is smaller.

        Raises ComponentError if the model cannot be reached.
        """
        return min(self.max_length, token_limit(self.model, self.revision) or self.max_length)

    def count_query_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return int64[n_texts], including special tokens."""
        return count_tokens(self.model, self.revision, texts)

    def count_chunk_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return int64[n_texts], including special tokens."""
        return count_tokens(self.model, self.revision, texts)

    def max_dimensions(self) -> int | None:
        """Return the dimensions in the model's config, None if unknown."""
        return token_dimensions(self.model, self.revision)

    def bytes_per_token(self) -> int | None:
        """Return the bytes of a token's vector, None if its dimensions are unknown."""
        n_dimensions = self.max_dimensions()
        return n_dimensions and n_dimensions * np.dtype(np.float16).itemsize

    @property
    def n_chunks_per_block(self) -> int:
        """Number of chunks that take a few minutes, for the dense vectors only."""
        return chunks_per_block(self.device)

    def fit(self, documents: Passages) -> EmbedderState:
        """Return {}, because this embedder does not learn."""
        return {}

    def embed_chunks(self, chunks: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """Return the dense vectors, float32[n_chunks, d].

        Raises ComponentError if the model cannot be loaded or run.
        """
        return self._encode(chunks.texts, dense_alone=True).dense

    def embed_queries(self, queries: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """Return the dense vectors of queries; see `embed_chunks`."""
        return self._encode(queries.texts, dense_alone=True).dense

    def encode_chunks(self, chunks: Passages) -> Encodings:
        """Return all three representations, computed in one pass.

        Raises ComponentError if the model cannot be loaded, has no heads, computes numbers that are not finite, or does
        not fit into memory.
        """
        return self._encode(chunks.texts)

    def encode_queries(self, queries: Passages) -> Encodings:
        """Return all three representations of queries; see `encode_chunks`."""
        return self._encode(queries.texts)

    def _encode(self, texts: Sequence[str], *, dense_alone: bool = False) -> Encodings:
        model = load_m3(self.model, self.revision, self.dtype, self.max_length, self.device)
        batch_tokens = self.batch_tokens or default_batch_tokens(model.network.device.type)
        read = [row for row, text in enumerate(texts) if text.strip()]
        windows = batch_by_length([len(texts[row]) for row in read], _WINDOW_CHARACTERS)
        dense = np.zeros((len(texts), model.n_dimensions), dtype=np.float32)
        heads = dict.fromkeys(range(len(texts)), _NO_TOKENS)

        def tokenize(window: NDArray[np.int64]) -> Features:
            return model.tokenize([texts[read[position]] for position in window.tolist()])

        for window, features in prepare_ahead(tokenize, windows):
            for rows, batch in split_into_batches(features, batch_tokens):
                text_rows = [read[position] for position in window[rows].tolist()]
                with explain_out_of_memory(batch_tokens, model.network.device):
                    dense[text_rows], tokens = model.forward(batch, dense_alone=dense_alone)
                heads.update(zip(text_rows, tokens, strict=False))  # `tokens` is empty with `dense_alone`
        if not np.isfinite(dense).all():
            raise ComponentError(
                f"model {self.model!r}: got NaN or infinite vectors with dtype={self.dtype}. "
                "float16 overflows in some models. Use bfloat16 or float32."
            )
        return _join(dense, list(heads.values()), model.n_token_dimensions)


_NO_TOKENS = HeadsOfText(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32), None)


def _join(dense: NDArray[np.float32], texts: list[HeadsOfText], n_token_dimensions: int) -> Encodings:
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
