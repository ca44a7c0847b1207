"""The whole corpus in each prompt, as the baseline of long-context models."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.protocols import Chunker
from components.records import Documents, Hits, Sample, Spans
from components.retrievers.arms import depth_problems
from components.text.ranking import hits_in_order


@dataclass(frozen=True)
class WholeCorpus:
    """A retriever without a search: the first top_k texts of the corpus, in its order, the same for every sample.

    The budget of the context builder decides how many of them fit into the prompt. The rank of a text is its place in
    the corpus and says nothing about its relevance. `chunker` cuts the corpus, normally into whole documents. `depth`
    is the largest top_k. A corpus of more than `max_characters` is rejected: no prompt could hold enough of it.
    Source: Li et al. 2024, "Retrieval Augmented Generation or Long-Context LLMs?", section 3 (long context).
    """

    chunker: Chunker
    depth: int = 10_000
    max_characters: int = 50_000_000

    version: ClassVar[int] = 1
    fusion: ClassVar[None] = None
    picks_for_prompt: ClassVar[bool] = True

    def check(self) -> list[str]:
        """Return an error message for a depth below 1."""
        return depth_problems(self.depth)

    @property
    def arms(self) -> tuple["WholeCorpus"]:
        """The retriever itself, its only arm."""
        return (self,)

    def pick(self, samples: Sequence[Sample], documents: Documents, chunks: Spans, n: int) -> Hits:
        """Return the first `n` chunks for every sample."""
        return hits_in_order([range(min(n, len(chunks)))] * len(samples))
