"""Stages that choose the hits for the prompts."""

import numpy as np

from components.protocols import ContextBuilder
from components.records import Context, Hits, SpanTexts
from runner.engine.codecs import Columns
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.answers.checked_context import validate_context
from runner.pipeline.corpus.loaded_data import Samples
from runner.pipeline.corpus.text_passages import ChunkPassages


class ChosenContext(Stage[Context], kind="context", version=1, work=Work.PER_QUERY):
    """The chunks in each prompt."""

    codec = Columns(Context)

    builder: ContextBuilder
    top_k: int
    hits: Stage[Hits]
    chunks: ChunkPassages

    def make(self, run: Run) -> Context:
        """Choose from the first `top_k` hits, or from all if there are fewer."""
        hits = run.read(self.hits)
        texts = SpanTexts(run.read(self.chunks.corpus).texts, run.read(self.chunks.chunks))
        top_k = min(self.top_k, hits.chunk.shape[1])
        return validate_context(self.builder.build(hits, texts, top_k), hits, texts.spans, top_k, self.builder)


class EmptyContext(Stage[Context], kind="empty_context", version=1, work=Work.PER_QUERY):
    """Contexts without chunks, for a closed-book cell."""

    codec = Columns(Context)

    samples: Samples

    def make(self, run: Run) -> Context:
        """Return an empty row per sample."""
        n_samples = len(run.read(self.samples).samples)
        none = np.zeros(n_samples, dtype=np.int64)
        return Context(np.zeros((n_samples, 0), dtype=np.int32), none, none)
