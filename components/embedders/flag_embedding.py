"""Embedders of the package FlagEmbedding: BGE's encoders in the reference implementation."""

import io
from collections.abc import Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from components.embedders.distinct_texts import chunks_per_block, distinct_texts, embed_distinct, unit_vectors
from components.errors import ComponentError
from components.fields import runtime_only
from components.pretrained.dimensions import token_dimensions
from components.pretrained.dtype import Dtype
from components.pretrained.features import max_input_tokens
from components.pretrained.load_once import load_once
from components.pretrained.model_files import fetch_folder, has_safetensors
from components.pretrained.model_folder import (
    checkpoint_problems,
    explain_load_errors,
    hash_folder,
    missing_package_errors,
    torch_device,
)
from components.pretrained.token_limit import count_tokens, max_length_problems, token_limit
from components.protocols import EmbedderState
from components.records import Passages

_PACKAGES = ("FlagEmbedding", "torch", "transformers")
_SMALL = ("*.json", "*.txt", "*.model")
"""Patterns of a model's files besides its weights."""


class FlagPooling(StrEnum):
    """Pooling of the token vectors of a text into one: the first one, as in BGE's models, or their mean."""

    CLS = "cls"
    MEAN = "mean"


@dataclass(frozen=True)
class FlagEmbeddings:
    """The vectors of FlagEmbedding's FlagModel, with unit length. Equal texts are embedded once; blank texts are zero.

    `model` is a hub id with its commit as `revision`, or a local folder with revision "". `query_prefix` and
    `passage_prefix` precede every query and every chunk, for example BGE's instruction for queries. The model reads up
    to `max_length` tokens of a text, or fewer if its limit is smaller. `dtype` is the data type of the computation; on
    a CPU the package supports float32 only.
    """

    model: str
    revision: str
    query_prefix: str = ""
    passage_prefix: str = ""
    pooling: FlagPooling = FlagPooling.CLS
    max_length: int = 512
    dtype: Dtype = Dtype.FLOAT32
    batch_size: int = runtime_only(32, "texts are padded differently: changes rounding, about 1e-7")
    device: str = runtime_only("auto", "the same sums on another device: changes rounding, about 1e-6")

    version: ClassVar[int] = 1
    is_pretrained: ClassVar[Literal[True]] = True
    tokenizer: ClassVar[None] = None

    def check(self) -> list[str]:
        """Return error messages about missing packages, an unusable model, and numbers that are too small."""
        problems = checkpoint_problems(self.model, self.revision, _PACKAGES, "the embedder flag_embedding")
        problems += max_length_problems(self.max_length)
        if self.batch_size < 1:
            problems.append(f"batch_size: got {self.batch_size}, expected at least 1")
        if self.dtype is not Dtype.FLOAT32 and self.device == "cpu":
            problems.append(f"dtype: {self.dtype} requires a GPU with FlagModel. Use float32.")
        return problems

    def content_hash(self) -> str:
        """Return the SHA-256 (hex) of a local folder, "" for a hub id, which its revision pins.

        Raises ComponentError if the folder does not exist.
        """
        return hash_folder(self.model)

    def token_limit(self) -> int | None:
        """Return `max_length`, or the model's limit if it is smaller.

        Raises ComponentError if the model cannot be reached.
        """
        return min(self.max_length, token_limit(self.model, self.revision) or self.max_length)

    def count_query_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return int64[n_texts], including the prefix and special tokens."""
        return count_tokens(self.model, self.revision, [self.query_prefix + text for text in texts])

    def count_chunk_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return int64[n_texts], including the prefix and special tokens."""
        return count_tokens(self.model, self.revision, [self.passage_prefix + text for text in texts])

    def max_dimensions(self) -> int | None:
        """Return the dimensions in the model's config, None if unknown."""
        return token_dimensions(self.model, self.revision)

    @property
    def n_chunks_per_block(self) -> int:
        """Number of chunks that take a few minutes."""
        return chunks_per_block(self.device)

    def fit(self, documents: Passages) -> EmbedderState:
        """Return {}, because this embedder does not learn."""
        return {}

    def embed_chunks(self, chunks: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """Return float32[n_chunks, d]. Raises ComponentError if the model cannot be loaded or run."""
        return self._embed(chunks.texts, self.passage_prefix)

    def embed_queries(self, queries: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """Return the vectors of queries; see `embed_chunks`."""
        return self._embed(queries.texts, self.query_prefix)

    def _embed(self, texts: Sequence[str], prefix: str) -> NDArray[np.float32]:
        encoder = _load(self.model, self.revision, self.pooling, self.dtype, self.device)
        texts = list(texts)
        distinct = distinct_texts(texts)
        n_dimensions = encoder.model.config.hidden_size
        vectors = np.zeros((0, n_dimensions), dtype=np.float32)
        if distinct:
            # With more tokens than positions, the package would search endlessly for a batch that fits.
            max_length = min(self.max_length, max_input_tokens(encoder.model, encoder.tokenizer))
            vectors = self._encode(encoder, [prefix + text for text in distinct], max_length)
        return embed_distinct(texts, distinct, vectors, n_dimensions)

    def _encode(self, encoder: Any, texts: list[str], max_length: int) -> NDArray[np.float32]:
        with redirect_stderr(io.StringIO()):  # FlagEmbedding's progress bars would overwrite the sweep's
            encoded = encoder.encode(texts, batch_size=self.batch_size, max_length=max_length)
        vectors = np.asarray(encoded, dtype=np.float32)
        if not np.isfinite(vectors).all():
            raise ComponentError(
                f"model {self.model!r}: got NaN or infinite numbers among the vectors of {len(texts)} texts with "
                f"dtype={self.dtype}. Use dtype=float32."
            )
        return unit_vectors(vectors)


@load_once
def _load(model: str, revision: str, pooling: FlagPooling, dtype: Dtype, device: str) -> Any:
    """Load a FlagModel that does not scale its vectors. The package does not support revisions."""
    if missing := missing_package_errors(_PACKAGES, "the embedder flag_embedding"):
        raise missing[0]
    resolved_device = torch_device(device)
    if dtype is not Dtype.FLOAT32 and resolved_device == "cpu":
        raise ComponentError(f"dtype: {dtype} requires a GPU with FlagModel. Use float32.")
    with explain_load_errors(model, revision):
        from FlagEmbedding import FlagModel

        weights = "*.safetensors" if has_safetensors(model, revision) else "*.bin"
        return FlagModel(
            str(fetch_folder(model, revision, (*_SMALL, weights))),
            normalize_embeddings=False,
            use_fp16=dtype is Dtype.FLOAT16,
            use_bf16=dtype is Dtype.BFLOAT16,
            devices=resolved_device,
            pooling_method=pooling.value,
        )
