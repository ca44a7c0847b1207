"""What is searched for."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from components.errors import ComponentError
from components.protocols import QueryVariant
from components.records import Queries
from runner.engine.codecs import Codec, Parts
from runner.engine.run import Run
from runner.engine.stage import Stage, Work
from runner.pipeline.data import Samples


class QueriesCodec:
    """Texts as JSON, the samples that they are of as an array."""

    def encode(self, result: Queries) -> Parts:
        """Texts and samples."""
        return {"texts": list(result.texts), "sample": result.sample}

    def decode(self, parts: Parts) -> Queries:
        """The queries."""
        return Queries(parts["texts"], parts["sample"])


@dataclass(frozen=True, eq=False)
class SampleQueries(Stage[Queries]):
    """The queries of all samples in one variant: cells whose expanders have the variant in common share them."""

    kind: ClassVar[str] = "queries"
    version: ClassVar[int] = 2
    work: ClassVar[Work] = Work.PER_QUERY
    codec: ClassVar[Codec[Queries]] = QueriesCodec()

    variant: QueryVariant
    samples: Samples

    def make(self, run: Run) -> Queries:
        """One query or more per sample, in the order of the samples. Raises ComponentError if some sample has none."""
        samples = run.read(self.samples).samples
        expanded = self.variant.expand(samples)
        n_queries = [len(texts) for texts in expanded]
        if len(expanded) != len(samples) or 0 in n_queries:
            raise ComponentError(
                f"{type(self.variant).__name__}: queries came for {np.count_nonzero(n_queries)} of {len(samples)} "
                "samples, wanted one or more for each; give the question where there is nothing better"
            )
        sample = np.repeat(np.arange(len(expanded), dtype=np.int32), n_queries)
        return Queries([text for texts in expanded for text in texts], sample)
