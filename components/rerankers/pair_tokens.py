"""How many tokens a query and a chunk have that a model reads together."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.pretrained.token_limit import count_tokens, special_tokens, token_limit

LEAST_TOKENS = 8
"""Of a pair. Up to four are special ones; where these alone do not fit, transformers cuts nothing at all."""


def pair_limit(model: str, revision: str, max_length: int) -> int:
    """`max_length`, or as many tokens as the model reads if these are fewer. Raises ComponentError if the model cannot
    be reached.
    """
    return min(max_length, token_limit(model, revision) or max_length)


def count_queries(model: str, revision: str, texts: Sequence[str]) -> NDArray[np.int64]:
    """int64[n_texts], with the special tokens of a pair. Raises ComponentError if the tokenizer cannot be loaded."""
    return count_chunks(model, revision, texts) + special_tokens(model, revision, of_pair=True)


def count_chunks(model: str, revision: str, texts: Sequence[str]) -> NDArray[np.int64]:
    """int64[n_texts], without special tokens. Raises ComponentError if the tokenizer cannot be loaded."""
    return count_tokens(model, revision, texts) - special_tokens(model, revision, of_pair=False)
