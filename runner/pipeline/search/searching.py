"""Base of all searches of chunks: they can be repeated, at a larger depth and only for some queries."""

from abc import abstractmethod
from collections.abc import Iterator

from components.records import Hits
from runner.engine.stage import Stage
from runner.engine.stage_run import Run
from runner.pipeline.corpus.sub_corpora import Rows


class Search(Stage[Hits]):
    """A stage that searches. Its result holds the `depth` best chunks of every query."""

    depth: int

    @abstractmethod
    def search(self, run: Run, depth: int, query_rows: Rows) -> Hits:
        """Return the `depth` best chunks for the chosen queries."""


def iterate_search_inputs(search: Search) -> Iterator[Stage[object]]:
    """Yield the inputs of a search, and recursively the inputs of searches among them."""
    for stage in search.inputs:
        yield stage
        if isinstance(stage, Search):
            yield from iterate_search_inputs(stage)
