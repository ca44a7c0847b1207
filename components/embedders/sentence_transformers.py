"""Embedders of the package sentence-transformers: models of the Hugging Face hub, and local folders."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from components.embedders.distinct_texts import chunks_per_block, distinct_texts, embed_distinct, unit_vectors
from components.errors import ComponentError
from components.fields import added_later, code_metadata, runtime_only
from components.pretrained.batches import batch_tokens_problems
from components.pretrained.dimensions import text_dimensions
from components.pretrained.dtype import Dtype
from components.pretrained.encoder_processes import encode_in_processes, list_devices
from components.pretrained.late_chunking import LateChunking
from components.pretrained.model_folder import checkpoint_problems, hash_folder, torch_device
from components.pretrained.sentence_encoder import PACKAGES, Pooling, SentenceEncoder, Side, side_prefix
from components.pretrained.token_limit import count_tokens, max_length_problems, token_limit
from components.protocols import EmbedderState
from components.records import Passages, Spans


class Truncation(StrEnum):
    """The treatment of texts that exceed the model's limit."""

    CUT = "cut"
    ERROR = "error"


@dataclass(frozen=True)
class SentenceTransformers:
    """The vectors of `SentenceTransformer.encode`. Equal texts are embedded once; blank texts are zero.

    `model` is a hub id with its commit as `revision`, or a local folder with revision "". Code from the model's folder
    runs only with `trust_remote_code`. `query_prefix` and `passage_prefix` precede every query and every chunk; None
    stands for the prompt that the model's folder specifies for that side, if any. `pooling` is also the folder's unless
    it is set.

    The model reads up to `max_length` tokens of a text, but at most its own limit; None stands for that limit. Longer
    texts are cut and counted in the results, or are an error, as `truncation` says. `normalize` scales vectors to unit
    length; switch it off for models trained for inner products. `dtype` is the data type of the computation; vectors
    are float32. A batch has `batch_tokens` tokens including padding, or a single text; None chooses a size for the
    device. With several `n_processes`, each has the model on a separate GPU (0: one per GPU), or a share of the cores.

    With pooling=late, a chunk is read in its document, and its vector is the mean over its tokens: see `LateChunking`.
    Documents longer than the limit are read in windows, each of which repeats `window_overlap` of the previous one. The
    vector of a query is the mean over all of its tokens.
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
    trust_remote_code: bool = field(default=False, metadata=code_metadata("the code in its model's folder"))
    window_overlap: float = added_later(0.25)
    batch_tokens: int | None = runtime_only(None, "texts are padded differently: changes rounding, about 1e-7")
    device: str = runtime_only("auto", "the same sums on another device: changes rounding, about 1e-6")
    n_processes: int = runtime_only(1, "a vector does not depend on which process makes it")

    version: ClassVar[int] = 1
    is_pretrained: ClassVar[Literal[True]] = True
    tokenizer: ClassVar[None] = None

    def check(self) -> list[str]:
        """Return error messages about missing packages, an unusable model, and numbers that are too small."""
        problems = checkpoint_problems(self.model, self.revision, PACKAGES, "the embedder sentence_transformers")
        problems += max_length_problems(self.max_length)
        problems += batch_tokens_problems(self.batch_tokens)
        if self.n_processes < 0:
            problems.append(f"n_processes: got {self.n_processes}, expected at least 1, or 0 for one per GPU")
        if not 0 <= self.window_overlap < 1:
            problems.append(f"window_overlap: got {self.window_overlap}, expected a fraction in [0, 1)")
        if self.reads_documents and self.n_processes != 1:
            problems.append(f"n_processes: got {self.n_processes} with pooling=late, expected 1")
        return problems

    def content_hash(self) -> str:
        """Return the SHA-256 (hex) of a local folder, "" for a hub id, which its revision pins.

        Raises ComponentError if the folder does not exist.
        """
        return hash_folder(self.model)

    def token_limit(self) -> int | None:
        """Return `max_length`, or the model's limit if it is smaller or `max_length` is None; None if both are unknown.

        Raises ComponentError if the model cannot be reached.
        """
        model_limit = token_limit(self.model, self.revision)
        return min((limit for limit in (self.max_length, model_limit) if limit), default=None)

    def count_query_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return int64[n_texts], including the prefix and special tokens."""
        return self._count(texts, Side.QUERY)

    def count_chunk_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return int64[n_texts], including the prefix and special tokens."""
        return self._count(texts, Side.PASSAGE)

    def max_dimensions(self) -> int | None:
        """Return the dimensions in the model's files, None if unknown."""
        return text_dimensions(self.model, self.revision)

    @property
    def n_chunks_per_block(self) -> int:
        """Number of chunks that take all processes a few minutes."""
        on_cpu = torch_device(self.device) == "cpu"
        return chunks_per_block(self.device) * (max(self.n_processes, 1) if on_cpu else 1)

    def fit(self, documents: Passages) -> EmbedderState:
        """Return {}, because this embedder does not learn."""
        return {}

    def embed_chunks(self, chunks: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """Return float32[n_chunks, d].

        With pooling=late each text is a document of one chunk. Raises ComponentError if the model cannot be loaded or
        run, or if a text is too long for truncation=error.
        """
        if self.reads_documents:
            texts = [text if text.strip() else "" for text in chunks.texts]
            ends = np.fromiter(map(len, texts), dtype=np.int32, count=len(texts))
            whole = Spans(np.arange(len(texts), dtype=np.int32), np.zeros_like(ends), ends)
            return self.embed_in_documents(texts, whole)
        return self._embed(chunks.texts, Side.PASSAGE)

    @property
    def reads_documents(self) -> bool:
        """True with pooling=late."""
        return self.pooling is Pooling.LATE

    def embed_in_documents(self, documents: Sequence[str], chunks: Spans) -> NDArray[np.float32]:
        """Return float32[n_chunks, d]. A chunk without a token, such as a blank one, is zero.

        Raises ComponentError if the model cannot be loaded or run, or if it gives no outputs by token.
        """
        late = LateChunking(self._encoder, self._prefix(Side.PASSAGE), self.window_overlap)
        (device,) = list_devices(self.device, 1)
        vectors = late.embed(documents, chunks, self.batch_tokens, device)
        return unit_vectors(vectors) if self.normalize else vectors

    def embed_queries(self, queries: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """Return the vectors of queries; see `embed_chunks`."""
        return self._embed(queries.texts, Side.QUERY)

    def _embed(self, texts: Sequence[str], side: Side) -> NDArray[np.float32]:
        texts = list(texts)
        distinct = distinct_texts(texts)
        if self.truncation is Truncation.ERROR:
            self._reject_long(distinct, side)
        devices = list_devices(self.device, self.n_processes)
        vectors = encode_in_processes(self._encoder, distinct, side, self._prefix(side), self.batch_tokens, devices)
        if self.normalize:
            vectors = unit_vectors(vectors)
        return embed_distinct(texts, distinct, vectors, vectors.shape[1])

    @property
    def _encoder(self) -> SentenceEncoder:
        return SentenceEncoder(
            self.model, self.revision, self.dtype, self.pooling, self.max_length, self.trust_remote_code
        )

    def _prefix(self, side: Side) -> str:
        prefix = self.query_prefix if side is Side.QUERY else self.passage_prefix
        return side_prefix(self.model, self.revision, side, prefix)

    def _count(self, texts: Sequence[str], side: Side) -> NDArray[np.int64]:
        prefix = self._prefix(side)
        return count_tokens(self.model, self.revision, [prefix + text for text in texts])

    def _reject_long(self, texts: Sequence[str], side: Side) -> None:
        limit, n_tokens = self.token_limit(), self._count(texts, side)
        if limit is not None and n_tokens.max(initial=0) > limit:
            side_name = "queries" if side is Side.QUERY else "chunks"
            raise ComponentError(
                f"model {self.model!r} reads {limit} tokens: {np.count_nonzero(n_tokens > limit):,} of "
                f"{len(texts):,} {side_name} are longer, up to {n_tokens.max():,} tokens, expected shorter texts "
                "(a smaller chunk.size), a model that reads more, or truncation=cut"
            )
