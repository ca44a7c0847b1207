"""Stages of the queries that are searched for."""

from collections.abc import Sequence

import numpy as np

from components.protocols import QueryVariant
from components.records import Queries
from runner.engine.broken_contracts import contract_error
from runner.engine.codecs import Parts
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus.loaded_data import Samples


class QueriesCodec:
    """Stores texts as JSON, and their samples as an array."""

    def encode(self, result: Queries) -> Parts:
        return {"texts": list(result.texts), "sample": result.sample}

    def decode(self, parts: Parts) -> Queries:
        return Queries(parts["texts"], parts["sample"])


class SampleQueries(Stage[Queries], kind="queries", version=2, work=Work.PER_QUERY):
    """The queries of all samples in one variant. Cells with the same variant share them."""

    codec = QueriesCodec()

    variant: QueryVariant
    samples: Samples

    def make(self, run: Run) -> Queries:
        """Expand every sample to one query or more, in order. Raises ComponentError if a sample gets no query."""
        samples = run.read(self.samples).samples
        return join_queries(self.variant, self.variant.expand(samples), len(samples))


def join_queries(variant: object, texts: Sequence[Sequence[str]], n_samples: int) -> Queries:
    """Return the queries of all samples, in order, from a variant's queries for each sample.

    Raises ComponentError, which names the class of the variant, for a sample without a query and for a query that is
    not a string.
    """
    if problem := _problem(texts, n_samples):
        raise contract_error(variant, problem)
    n_queries = [len(queries) for queries in texts]
    return Queries(
        [text for queries in texts for text in queries], np.repeat(np.arange(n_samples, dtype=np.int32), n_queries)
    )


def _problem(texts: object, n_samples: int) -> str:
    """Describe a contract violation, or return "" if the output is valid."""
    if not isinstance(texts, list | tuple):
        return f"returned {type(texts).__name__}, expected a list with the queries of each sample"
    for row, queries in enumerate(texts):
        if not isinstance(queries, list | tuple):
            return f"returned {type(queries).__name__} for sample {row}, expected a list or tuple of strings"
        for text in queries:
            if not isinstance(text, str):
                return f"returned {type(text).__name__} as a query of sample {row}, expected a string"
    n_with = sum(bool(queries) for queries in texts)
    if len(texts) != n_samples or n_with != n_samples:
        return (
            f"got queries for {n_with} of {n_samples} samples, expected at least one for each. Return the question if "
            "there is no better query."
        )
    return ""
