"""Language models of the package FlagEmbedding as rerankers, such as BGE's on Gemma."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.fields import runtime_only
from components.limits import too_small
from components.pretrained.dtype import Dtype
from components.pretrained.model_folder import checkpoint_problems, hash_folder
from components.pretrained.token_limit import count_tokens, token_limit
from components.records import Passages
from components.rerankers.flag_embedding import PACKAGES, flag_scores, load_flag_reranker
from components.rerankers.query_chunk_pairs import MIN_TOKENS, distinct_pairs

_MAX_DEFAULT_PROMPT_TOKENS = 128
"""Tokens for FlagEmbedding's default question, more than any usual tokenizer needs."""


@dataclass(frozen=True)
class FlagLanguageModel:
    """A model of FlagEmbedding's FlagLLMReranker.

    The score is the logit of "Yes" after the question whether the passage answers the query. `model`, `revision` and
    `depth` are as in `reranker=cross_encoder`. The model reads `query_instruction` and the query (at most three
    quarters of `max_length` tokens), then `passage_instruction` and the chunk, cut to `max_length` tokens together, and
    then `prompt`. None stands for FlagEmbedding's default question.
    """

    model: str
    revision: str = ""
    depth: int = 100
    max_length: int = 512
    query_instruction: str = "A: "
    passage_instruction: str = "B: "
    prompt: str | None = None
    dtype: Dtype = Dtype.FLOAT32
    batch_size: int = runtime_only(8, "pairs are padded differently: changes rounding, about 1e-6")
    device: str = runtime_only("auto", "the same sums on another device: changes rounding, about 1e-6")

    version: ClassVar[int] = 1
    tokenizer: ClassVar[None] = None
    n_pairs_per_block: ClassVar[int] = 1024

    def check(self) -> list[str]:
        """Return error messages about missing packages, an unusable model, and numbers that are too small."""
        problems = checkpoint_problems(self.model, self.revision, PACKAGES, "reranker=flag_llm_reranker")
        return problems + too_small(self, depth=1, max_length=MIN_TOKENS, batch_size=1)

    def content_hash(self) -> str:
        """Return the SHA-256 (hex) of a local folder, "" for a hub id, which its revision pins.

        Raises ComponentError if the folder does not exist.
        """
        return hash_folder(self.model)

    def score(self, queries: Passages, chunks: Passages, pairs: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return float32[n_pairs]. Raises ComponentError if the model cannot be loaded or its limit is too small."""
        if not len(pairs):
            return np.zeros(0, dtype=np.float32)
        texts, row = distinct_pairs(queries, chunks, pairs)
        options = (
            ("query_instruction_for_rerank", self.query_instruction),
            ("passage_instruction_for_rerank", self.passage_instruction),
            ("prompt", self.prompt),
        )
        reranker = load_flag_reranker(self.model, self.revision, "FlagLLMReranker", self.dtype, self.device, options)
        return flag_scores(reranker, texts, self._max_length(), self.batch_size)[row]

    def _max_length(self) -> int:
        """Return the tokens for query and chunk, such that the question after them still fits."""
        n_readable = token_limit(self.model, self.revision)
        if n_readable is None:
            return self.max_length
        n_prompt = _MAX_DEFAULT_PROMPT_TOKENS if self.prompt is None else self._n_tokens(self.prompt)
        if n_readable <= n_prompt:
            raise ComponentError(
                f"model {self.model!r} reads {n_readable} tokens, but the question alone has up to {n_prompt}, "
                "expected a model that reads more, or a shorter prompt"
            )
        return min(self.max_length, n_readable - n_prompt)

    def _n_tokens(self, prompt: str) -> int:
        """Count the tokens, including the line break before the prompt and the token that begins a text."""
        return int(count_tokens(self.model, self.revision, [f"\n{prompt}"])[0]) + 1
