"""Learned sparse vectors by models of the package sentence-transformers: SPLADE and its relatives."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.encodings import SparseEncodings
from components.fields import code_metadata, runtime_only
from components.pretrained.batches import batch_tokens_problems
from components.pretrained.dtype import Dtype
from components.pretrained.model_folder import checkpoint_problems, hash_folder
from components.pretrained.sentence_encoder import PACKAGES, Side, side_prefix
from components.pretrained.sparse_model import SparseModel
from components.pretrained.sparse_routes import count_side_tokens, document_token_limit
from components.pretrained.token_limit import max_length_problems
from components.records import Passages


@dataclass(frozen=True)
class SparseTextEncoder:
    """Computes token weights by `SparseEncoder.encode_query` and `encode_document`. Equal texts are encoded once; blank
    texts have no weights.

    `model` is a hub id with its commit as `revision`, or a local folder with revision "". Code from the model's folder
    runs only with `trust_remote_code`. A model may encode the two sides differently. Inference-free models look up the
    weights of a query's tokens in a table. `query_prefix` and `passage_prefix` precede every query and every chunk;
    None stands for the prompt that the model's folder specifies for that side, if any.

    The model reads up to `max_length` tokens of a text, but at most its own limit; None stands for that limit. Longer
    texts are cut, and counted in the results. A text keeps its `max_weights` largest weights; None stands for the
    number in the model's files, which by default keep all. A batch has `batch_tokens` tokens including padding, or a
    single text; None chooses a size for the device and the vocabulary.
    Sources: Formal et al. 2021, "SPLADE: Sparse Lexical and Expansion Model for First Stage Ranking"; Lassance et al.
    2024, "SPLADE-v3: New baselines for SPLADE".
    """

    model: str
    revision: str
    query_prefix: str | None = None
    passage_prefix: str | None = None
    max_length: int | None = None
    max_weights: int | None = None
    dtype: Dtype = Dtype.FLOAT32
    trust_remote_code: bool = field(default=False, metadata=code_metadata("the code in its model's folder"))
    batch_tokens: int | None = runtime_only(None, "texts are padded differently: changes rounding, about 1e-6")
    device: str = runtime_only("auto", "the same sums on another device: changes rounding, about 1e-6")

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return error messages about missing packages, an unusable model, and numbers that are too small."""
        problems = checkpoint_problems(self.model, self.revision, PACKAGES, "learned sparse vectors")
        problems += max_length_problems(self.max_length)
        if self.max_weights is not None and self.max_weights < 1:
            problems.append(f"max_weights: got {self.max_weights}, expected at least 1, or null for the model's number")
        problems += batch_tokens_problems(self.batch_tokens)
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
        model_limit = document_token_limit(self.model, self.revision)
        return min((limit for limit in (self.max_length, model_limit) if limit), default=None)

    def count_query_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return int64[n_texts], including the prefix, and special tokens if the model reads them."""
        return self._count(texts, Side.QUERY)

    def count_chunk_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return int64[n_texts], including the prefix and special tokens."""
        return self._count(texts, Side.PASSAGE)

    def weigh_chunks(self, chunks: Passages) -> SparseEncodings:
        """Return the weights of chunks.

        Raises ComponentError if the model cannot be loaded or run, or if a weight is negative or not finite.
        """
        return self._weigh(chunks.texts, Side.PASSAGE)

    def weigh_queries(self, queries: Passages) -> SparseEncodings:
        """Return the weights of queries; see `weigh_chunks`."""
        return self._weigh(queries.texts, Side.QUERY)

    def _weigh(self, texts: Sequence[str], side: Side) -> SparseEncodings:
        texts = list(texts)
        row_of = {text: row for row, text in enumerate(dict.fromkeys(text for text in texts if text.strip()))}
        model = SparseModel(
            self.model, self.revision, self.dtype, self.max_length, self.max_weights, self.trust_remote_code
        )
        distinct = model.encode(list(row_of), side, self._prefix(side), self.batch_tokens, self.device)
        text_weights = [distinct[row_of[text]] if text in row_of else _NO_WEIGHTS for text in texts]
        return SparseEncodings(
            weight_ids=np.concatenate([_NO_WEIGHTS[0], *(ids for ids, _ in text_weights)]),
            weights=np.concatenate([_NO_WEIGHTS[1], *(weights for _, weights in text_weights)]),
            weight_offsets=np.cumsum([0, *(len(ids) for ids, _ in text_weights)], dtype=np.int64),
        )

    def _prefix(self, side: Side) -> str:
        prefix = self.query_prefix if side is Side.QUERY else self.passage_prefix
        return side_prefix(self.model, self.revision, side, prefix)

    def _count(self, texts: Sequence[str], side: Side) -> NDArray[np.int64]:
        prefix = self._prefix(side)
        return count_side_tokens(self.model, self.revision, [prefix + text for text in texts], side)


_NO_WEIGHTS = (np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32))
