"""Token vectors by models of the package sentence-transformers: ColBERT and its relatives."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.encodings import MultiEncodings
from components.fields import code_metadata, runtime_only
from components.pretrained.batches import batch_tokens_problems
from components.pretrained.dtype import Dtype
from components.pretrained.model_folder import checkpoint_problems, hash_folder
from components.pretrained.multi_vector_files import count_side_tokens, side_prompt, vector_dimensions
from components.pretrained.multi_vector_model import MultiVectorModel
from components.pretrained.sentence_encoder import PACKAGES, Side
from components.pretrained.token_limit import max_length_problems
from components.records import Passages


@dataclass(frozen=True)
class MultiVectorTextEncoder:
    """Computes token vectors by `MultiVectorEncoder.encode_query` and `encode_document`: unit length, half precision.
    Equal texts are encoded once; blank texts have no vectors.

    `model` is a ColBERT checkpoint: a hub id with its commit as `revision`, or a local folder with revision "". Code
    from the model's folder runs only with `trust_remote_code`. The model's files define which tokens have vectors: most
    models skip the punctuation of documents, and fill short queries up with mask tokens. `query_prefix` and
    `passage_prefix` precede every query and every chunk; None stands for the marker in the model's files.

    The model reads up to `max_length` tokens of a chunk and `max_query_length` of a query, but at most as many as it
    has positions; None stands for the number in its files. Longer texts are cut, and counted in the results. If the
    model fills queries up to a fixed number of tokens, `max_query_length` replaces that number. A batch has
    `batch_tokens` tokens including padding, or a single text; None chooses a size for the device.
    Sources: Khattab and Zaharia 2020, "ColBERT: Efficient and Effective Passage Search via Contextualized Late
    Interaction over BERT"; Santhanam et al. 2022, "ColBERTv2: Effective and Efficient Retrieval via Lightweight Late
    Interaction".
    """

    model: str
    revision: str
    query_prefix: str | None = None
    passage_prefix: str | None = None
    max_length: int | None = None
    max_query_length: int | None = None
    dtype: Dtype = Dtype.FLOAT32
    trust_remote_code: bool = field(default=False, metadata=code_metadata("the code in its model's folder"))
    batch_tokens: int | None = runtime_only(None, "texts are padded differently: changes rounding, about 1e-6")
    device: str = runtime_only("auto", "the same sums on another device: changes rounding, about 1e-6")

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return error messages about missing packages, an unusable model, and numbers that are too small."""
        problems = checkpoint_problems(self.model, self.revision, PACKAGES, "token vectors")
        problems += max_length_problems(self.max_length)
        problems += [error.replace("max_", "max_query_", 1) for error in max_length_problems(self.max_query_length)]
        problems += batch_tokens_problems(self.batch_tokens)
        return problems

    def content_hash(self) -> str:
        """Return the SHA-256 (hex) of a local folder, "" for a hub id, which its revision pins.

        Raises ComponentError if the folder does not exist.
        """
        return hash_folder(self.model)

    def token_limit(self) -> int | None:
        """Return the maximum number of tokens of a chunk, None if it is unknown.

        Raises ComponentError if the model cannot be reached.
        """
        return self._model.lengths(Side.PASSAGE).limit

    def query_token_limit(self) -> int | None:
        """Return the maximum number of tokens of a query, None if it is unknown."""
        return self._model.lengths(Side.QUERY).limit

    def count_query_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return int64[n_texts], including the prefix and special tokens, without mask tokens."""
        return self._count(texts, Side.QUERY)

    def count_chunk_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return int64[n_texts], including the prefix and special tokens."""
        return self._count(texts, Side.PASSAGE)

    def bytes_per_token(self) -> int | None:
        """Return the bytes of a token's vector, None if the model is not on this machine or does not state its
        dimensions.
        """
        n_dimensions = vector_dimensions(self.model, self.revision)
        return n_dimensions and n_dimensions * np.dtype(np.float16).itemsize

    def encode_chunk_tokens(self, chunks: Passages) -> MultiEncodings:
        """Return the token vectors of chunks.

        Raises ComponentError if the model cannot be loaded or run, or if a vector is not finite.
        """
        return self._encode(chunks.texts, Side.PASSAGE)

    def encode_query_tokens(self, queries: Passages) -> MultiEncodings:
        """Return the token vectors of queries; see `encode_chunk_tokens`."""
        return self._encode(queries.texts, Side.QUERY)

    @property
    def _model(self) -> MultiVectorModel:
        return MultiVectorModel(
            self.model, self.revision, self.dtype, self.max_length, self.max_query_length, self.trust_remote_code
        )

    def _encode(self, texts: Sequence[str], side: Side) -> MultiEncodings:
        texts = list(texts)
        row_of = {text: row for row, text in enumerate(dict.fromkeys(text for text in texts if text.strip()))}
        distinct = self._model.encode(list(row_of), side, self._prompt(side), self.batch_tokens, self.device)
        none = np.zeros((0, self._model.n_dimensions(self.device)), dtype=np.float16)
        vectors = [distinct[row_of[text]] if text in row_of else none for text in texts]
        return MultiEncodings(
            vectors=np.concatenate([none, *vectors]),
            vector_offsets=np.cumsum([0, *map(len, vectors)], dtype=np.int64),
        )

    def _prompt(self, side: Side) -> str:
        prompt = self.query_prefix if side is Side.QUERY else self.passage_prefix
        return side_prompt(self.model, self.revision, side, prompt)

    def _count(self, texts: Sequence[str], side: Side) -> NDArray[np.int64]:
        return count_side_tokens(self.model, self.revision, texts, side, self._prompt(side))
