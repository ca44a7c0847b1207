"""Token counts of queries and chunks that a model reads together."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.pretrained.token_limit import count_tokens, special_tokens, token_limit

LEAST_TOKENS = 8
"""Least `max_length` of a pair. Up to four tokens are special; if only these fit, transformers cuts nothing at all."""


def pair_limit(model: str, revision: str, max_length: int) -> int:
    """Return `max_length`, or the model's limit if it is smaller. Raises ComponentError if the model cannot be
    reached.
    """
    return min(max_length, token_limit(model, revision) or max_length)


def count_queries(model: str, revision: str, texts: Sequence[str]) -> NDArray[np.int64]:
    """Return int64[n_texts], including the special tokens of a pair. Raises ComponentError if the tokenizer cannot be
    loaded.
    """
    return count_chunks(model, revision, texts) + special_tokens(model, revision, of_pair=True)


def count_chunks(model: str, revision: str, texts: Sequence[str]) -> NDArray[np.int64]:
    """Return int64[n_texts], without special tokens. Raises ComponentError if the tokenizer cannot be loaded."""
    return count_tokens(model, revision, texts) - special_tokens(model, revision, of_pair=False)
