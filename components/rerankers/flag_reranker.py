"""Cross-encoders (BGE's) in the implementation of the package FlagEmbedding."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.fields import runtime_only
from components.limits import too_small
from components.pretrained.dtype import Dtype
from components.pretrained.model_folder import checkpoint_problems, hash_folder
from components.records import Passages
from components.rerankers.flag_embedding import PACKAGES, flag_scores, load_flag_reranker
from components.rerankers.query_chunk_pairs import MIN_TOKENS, count_chunks, count_queries, distinct_pairs, pair_limit


@dataclass(frozen=True)
class FlagCrossEncoder:
    """A model of FlagEmbedding's FlagReranker, without a sigmoid.

    Pairs that fit have the scores of `reranker=cross_encoder`. Longer pairs are cut differently: the query after three
    quarters of `max_length` tokens, then the chunk. `model`, `revision`, `depth` and `max_length` are as in that
    reranker. `query_instruction` precedes the query, "" for none. `dtype` is float32 or, on a GPU, float16.
    """

    model: str
    revision: str = ""
    depth: int = 100
    max_length: int = 512
    query_instruction: str = ""
    dtype: Dtype = Dtype.FLOAT32
    batch_size: int = runtime_only(32, "pairs are padded differently: changes rounding, about 1e-6")
    device: str = runtime_only("auto", "the same sums on another device: changes rounding, about 1e-6")

    version: ClassVar[int] = 1
    tokenizer: ClassVar[None] = None
    n_pairs_per_block: ClassVar[int] = 4096

    def check(self) -> list[str]:
        """Return error messages about missing packages, an unusable model, and numbers out of range."""
        problems = checkpoint_problems(self.model, self.revision, PACKAGES, "reranker=flag_reranker")
        problems += too_small(self, depth=1, max_length=MIN_TOKENS, batch_size=1)
        if self.dtype is Dtype.BFLOAT16:
            problems.append("dtype: got bfloat16, expected float32 or float16 (reranker=cross_encoder supports it)")
        return problems

    def content_hash(self) -> str:
        """Return the SHA-256 (hex) of a local folder, "" for a hub id, which its revision pins.

        Raises ComponentError if the folder does not exist.
        """
        return hash_folder(self.model)

    def token_limit(self) -> int:
        """Return the maximum number of tokens of query and chunk together. Raises ComponentError if the model cannot be
        reached.
        """
        return pair_limit(self.model, self.revision, self.max_length)

    def count_query_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return int64[n_texts], including the instruction and the special tokens of a pair."""
        return count_queries(self.model, self.revision, [self.query_instruction + text for text in texts])

    def count_chunk_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return int64[n_texts], without special tokens."""
        return count_chunks(self.model, self.revision, texts)

    def score(self, queries: Passages, chunks: Passages, pairs: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return float32[n_pairs]. Raises ComponentError if the model cannot be loaded or has not exactly one score."""
        if not len(pairs):
            return np.zeros(0, dtype=np.float32)
        texts, row = distinct_pairs(queries, chunks, pairs)
        options = (("query_instruction_for_rerank", self.query_instruction or None),)
        reranker = load_flag_reranker(self.model, self.revision, "FlagReranker", self.dtype, self.device, options)
        # With more tokens than positions, the package fails with an error about batches without rows.
        return flag_scores(reranker, texts, self.token_limit(), self.batch_size)[row]
