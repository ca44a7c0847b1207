"""What is searched for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from components.errors import ComponentError
from components.protocols import QueryVariant
from components.records import Queries
from runner.engine.codecs import Codec, Parts
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus.loaded_data import Samples


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
        return queries_of(self.variant, self.variant.expand(samples), len(samples))


def queries_of(variant: object, texts: Sequence[Sequence[str]], n_samples: int) -> Queries:
    """What a variant gave for each sample, in a row. Raises ComponentError if some sample has none."""
    n_queries = [len(own) for own in texts]
    if len(texts) != n_samples or 0 in n_queries:
        raise ComponentError(
            f"{type(variant).__name__}: queries came for {np.count_nonzero(n_queries)} of {n_samples} samples, wanted "
            "one or more for each; give the question where there is nothing better"
        )
    return Queries([text for own in texts for text in own], np.repeat(np.arange(n_samples, dtype=np.int32), n_queries))
