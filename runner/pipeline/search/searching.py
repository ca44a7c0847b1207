"""What all searches of chunks have in common: they can be made again, deeper and for some queries alone."""

from abc import abstractmethod
from collections.abc import Iterator

from components.records import Hits
from runner.engine.stage import Stage
from runner.engine.stage_run import Run
from runner.pipeline.corpus.sub_corpora import Rows


class Search(Stage[Hits]):
    """A stage that searches: its result are the `depth` best chunks of every query."""

    depth: int

    @abstractmethod
    def search(self, run: Run, depth: int, chosen: Rows) -> Hits:
        """The `depth` best chunks for the chosen ones among the queries, from what the stage reads."""


def read_by(search: Search) -> Iterator[Stage[object]]:
    """What a search reads, and what those read that it searches through."""
    for stage in search.inputs:
        yield stage
        if isinstance(stage, Search):
            yield from read_by(stage)
