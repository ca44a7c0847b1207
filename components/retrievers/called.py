"""Base of retrievers that are called in the process of the sweep."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.protocols import Fusion
from components.records import IndexedText
from components.retrievers.arms import depth_problems
from components.retrievers.custom_hits import in_order, read_hits
from components.secrets.mask import shorten_masked
from components.user_code.calling import call_each
from components.user_code.calls import CallsUserCode, format_call_failure

_SHOWN_CHARACTERS = 300

Self = TypeVar("Self", bound="CalledRetriever")


@dataclass(frozen=True, kw_only=True)
class CalledRetriever(CallsUserCode):
    """Searches for each query by one call, and takes the first `depth` passages: see `read_passages`.

    If a call raises, takes too long or returns anything else, the whole search fails. `fusion` is needed
    only for an expander with several queries per sample.
    """

    depth: int = 100
    fusion: Fusion | None = None

    reads_vectors: ClassVar[bool] = False
    is_free: ClassVar[bool] = True
    embedder: ClassVar[None] = None
    option: ClassVar[str]
    """The name of the retriever in a command, for messages."""

    @abstractmethod
    def searching(self) -> Callable[[str], object]:
        """Return the search function, which takes a query. Raises ComponentError if it cannot be imported or built."""

    @property
    def arms(self: Self) -> tuple[Self]:
        """The retriever itself, its only arm."""
        return (self,)

    def check(self) -> list[str]:
        """Import the object at the path. Return one message per error in the fields and in the object."""
        return [*depth_problems(self.depth), *super().check()]

    def find(
        self, queries: Sequence[str], vectors: NDArray[np.float32] | None, depth: int
    ) -> Iterator[list[IndexedText]]:
        """Yield the hits of each query. Raises ComponentError for a call that fails."""
        return in_order(self._search(queries, depth))

    def _search(self, queries: Sequence[str], depth: int) -> Iterator[tuple[int, list[IndexedText]]]:
        searching = self.searching()

        def search(row: int, _: Callable[[], float]) -> list[IndexedText]:
            return read_hits(searching(queries[row]), depth)

        rows = range(len(queries))
        for row, outcome in call_each(search, rows, self.concurrency, self.timeout_s, setting="retriever.timeout_s"):
            if not isinstance(outcome, list):
                failure = format_call_failure(outcome, self.path) if outcome else "was not searched"
                why = shorten_masked(failure, _SHOWN_CHARACTERS)
                raise ComponentError(f"{self.option}: {self.path}: {why} (query {row + 1:,} of {len(queries):,})")
            yield row, outcome
