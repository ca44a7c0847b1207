"""What is searched for."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from components.protocols import QueryVariant
from components.records import Queries
from runner.engine.codecs import Codec, Parts
from runner.engine.run import Run
from runner.engine.stage import Stage
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
    codec: ClassVar[Codec[Queries]] = QueriesCodec()

    variant: QueryVariant
    samples: Samples

    def make(self, run: Run) -> Queries:
        """One query or more per sample, in the order of the samples."""
        expanded = self.variant.expand(run.read(self.samples).samples)
        sample = np.repeat(np.arange(len(expanded), dtype=np.int32), [len(texts) for texts in expanded])
        return Queries([text for texts in expanded for text in texts], sample)
