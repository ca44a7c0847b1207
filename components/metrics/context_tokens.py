"""Tokens of text in the prompts, and tokens that did not fit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.means import combine_mean, mean_scores
from components.records import Context, Documents, Sample, Scores


@dataclass(frozen=True)
class ContextTokens:
    """`context_tokens`: tokens of the chunks in the prompt; `context_tokens_dropped`: tokens of hits that did not fit.

    Level: sample. Range: [0, inf), unit: tokens; fewer are cheaper, fewer dropped are better.
    Tokenizer: the context builder's. Empty context: 0. References and gold are not read. Source: a count.
    """

    version: ClassVar[int] = 1
    larger_is_better: ClassVar[bool | None] = False
    is_share: ClassVar[bool] = False
    reads_tokens: ClassVar[bool] = True

    @property
    def names(self) -> tuple[str, ...]:
        """Both names: ("context_tokens", "context_tokens_dropped")."""
        return ("context_tokens", "context_tokens_dropped")

    def score_contexts(
        self,
        samples: Sequence[Sample],
        documents: Documents,
        spans: Sequence[Sequence[tuple[int, int, int]]],
        context: Context,
    ) -> dict[str, Scores]:
        """Return both counts of each context. Raises ComponentError unless there is one context per sample."""
        if not len(samples) == len(context.n_tokens) == len(context.n_tokens_dropped):
            raise ComponentError(
                f"score_contexts: got {len(context.n_tokens)} contexts for {len(samples)} samples, "
                "expected one per sample"
            )
        return {
            "context_tokens": mean_scores(context.n_tokens.tolist()),
            "context_tokens_dropped": mean_scores(context.n_tokens_dropped.tolist()),
        }

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)
