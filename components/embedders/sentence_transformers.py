"""Embedders of the package sentence-transformers: models of the Hugging Face hub, and local folders."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from components.embedders.distinct_texts import chunks_per_block, distinct_texts, unit_vectors, vectors_of_all
from components.errors import ComponentError
from components.fields import naming_code, runtime_only
from components.pretrained.dimensions import text_dimensions
from components.pretrained.dtype import Dtype
from components.pretrained.encoder_processes import devices_for, encode_in_processes
from components.pretrained.model_folder import (
    folder_hash,
    missing_packages,
    model_mistakes,
    tokenizer_mistakes,
    torch_device,
)
from components.pretrained.sentence_encoder import PACKAGES, Pooling, SentenceEncoder, Side, own_prompt
from components.pretrained.token_limit import count_tokens, max_length_mistakes, model_json, token_limit
from components.protocols import EmbedderState
from components.records import Passages


class Truncation(StrEnum):
    """What becomes of a text that is longer than the model reads."""

    CUT = "cut"
    ERROR = "error"


@dataclass(frozen=True)
class SentenceTransformers:
    """Vectors as `SentenceTransformer.encode` gives them, scaled to unit length. Equal texts are embedded once; the
    vectors of blank ones are zero.

    `model` is an id on the Hugging Face hub, `revision` its commit; or a local folder, with revision "". Code from
    the model's folder is run only if `trust_remote_code` says so. `query_prefix` and `passage_prefix` stand before
    every query and every chunk; None is for the prompt that the model's folder names for that side, or none. `pooling`
    is that of the model's folder unless another is named.

    A text is read up to `max_length` tokens, or as many as the model reads if these are fewer; None for these. What is
    longer is cut off, and counted in the results; or an error, by `truncation`. Without `normalize` a vector is as
    long as the model makes it, for models that were trained for inner products. `dtype` is what the model computes
    with; the vectors are float32. A batch is `batch_tokens` tokens with padding, or one text; None for what suits the
    device. Of several `n_processes` each has the model on a GPU of its own (0: one per GPU), or a share of the cores.
    """

    model: str
    revision: str
    query_prefix: str | None = None
    passage_prefix: str | None = None
    pooling: Pooling = Pooling.MODEL
    max_length: int | None = None
    truncation: Truncation = Truncation.CUT
    normalize: bool = True
    dtype: Dtype = Dtype.FLOAT32
    trust_remote_code: bool = field(default=False, metadata=naming_code("the code in its model's folder"))
    batch_tokens: int | None = runtime_only(None, "texts are padded differently: changes rounding, about 1e-7")
    device: str = runtime_only("auto", "the same sums on another device: changes rounding, about 1e-6")
    n_processes: int = runtime_only(1, "a vector does not depend on which process makes it")

    version: ClassVar[int] = 1
    is_pretrained: ClassVar[Literal[True]] = True
    tokenizer: ClassVar[None] = None

    def check(self) -> list[str]:
        """Missing packages, a model that cannot be meant, numbers that are too small."""
        mistakes = [str(error) for error in missing_packages(PACKAGES, "the embedder sentence_transformers")]
        mistakes += model_mistakes(self.model, self.revision) or tokenizer_mistakes(self.model)
        if self.max_length is not None:
            mistakes += max_length_mistakes(self.max_length)
        if self.batch_tokens is not None and self.batch_tokens < 1:
            mistakes.append(
                f"batch_tokens: got {self.batch_tokens}, expected at least 1, or null for what suits the device"
            )
        if self.n_processes < 0:
            mistakes.append(f"n_processes: got {self.n_processes}, expected at least 1, or 0 for one per GPU")
        return mistakes

    def content_hash(self) -> str:
        """SHA-256 (hex) of a local folder, "" for an id of the hub, whose revision is its content. Raises
        ComponentError if there is no such folder.
        """
        return folder_hash(self.model)

    def token_limit(self) -> int | None:
        """`max_length`, or as many as the model's folder says. Raises ComponentError if the model cannot be reached."""
        own = token_limit(self.model, self.revision)
        return min((limit for limit in (self.max_length, own) if limit), default=None)

    def count_query_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """With the prefix and special tokens."""
        return self._count(texts, Side.QUERY)

    def count_chunk_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """With the prefix and special tokens."""
        return self._count(texts, Side.PASSAGE)

    def most_dimensions(self) -> int | None:
        """As the files of the model say."""
        return text_dimensions(self.model, self.revision)

    @property
    def n_chunks_per_block(self) -> int:
        """A few minutes of work of all processes."""
        on_cpu = torch_device(self.device) == "cpu"
        return chunks_per_block(self.device) * (max(self.n_processes, 1) if on_cpu else 1)

    def fit(self, documents: Passages) -> EmbedderState:
        """Nothing to learn: {}."""
        return {}

    def embed_chunks(self, chunks: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """float32[n_chunks, d]. Raises ComponentError if the model cannot be loaded or run, or a text is too long."""
        return self._embed(chunks.texts, Side.PASSAGE)

    def embed_queries(self, queries: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """Like `embed_chunks`."""
        return self._embed(queries.texts, Side.QUERY)

    def _embed(self, texts: Sequence[str], side: Side) -> NDArray[np.float32]:
        texts = list(texts)
        distinct = distinct_texts(texts)
        if self.truncation is Truncation.ERROR:
            self._refuse_longer(distinct, side)
        encoder = SentenceEncoder(
            self.model, self.revision, self.dtype, self.pooling, self.max_length, self.trust_remote_code
        )
        devices = devices_for(self.device, self.n_processes)
        vectors = encode_in_processes(encoder, distinct, side, self._prefix(side), self.batch_tokens, devices)
        if self.normalize:
            vectors = unit_vectors(vectors)
        return vectors_of_all(texts, distinct, vectors, vectors.shape[1])

    def _prefix(self, side: Side) -> str:
        prefix = self.query_prefix if side is Side.QUERY else self.passage_prefix
        if prefix is not None:
            return prefix
        prompts = model_json(self.model, self.revision, "config_sentence_transformers.json").get("prompts") or {}
        return own_prompt(prompts, side)

    def _count(self, texts: Sequence[str], side: Side) -> NDArray[np.int64]:
        prefix = self._prefix(side)
        return count_tokens(self.model, self.revision, [prefix + text for text in texts])

    def _refuse_longer(self, texts: Sequence[str], side: Side) -> None:
        limit, n_tokens = self.token_limit(), self._count(texts, side)
        if limit is not None and n_tokens.max(initial=0) > limit:
            what = "queries" if side is Side.QUERY else "chunks"
            raise ComponentError(
                f"model {self.model!r} reads {limit} tokens: {np.count_nonzero(n_tokens > limit):,} of {len(texts):,} "
                f"{what} are longer, the longest has {n_tokens.max():,}; expected shorter ones (a smaller "
                "chunk.size), a model that reads more, or truncation=cut"
            )
