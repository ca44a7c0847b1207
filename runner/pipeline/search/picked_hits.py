"""Chunks that samples name themselves, in the place of a search."""

from dataclasses import dataclass
from typing import ClassVar

from components.protocols import PickingArm
from components.records import Documents, Hits, Spans
from runner.engine.codecs import Codec, Columns
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus.loaded_data import SampleSet


@dataclass(frozen=True, eq=False)
class PickedHits(Stage[Hits]):
    """What an arm picks for every sample: at most `n` chunks."""

    kind: ClassVar[str] = "picked_hits"
    version: ClassVar[int] = 2
    work: ClassVar[Work] = Work.PER_QUERY
    codec: ClassVar[Codec[Hits]] = Columns(Hits)

    arm: PickingArm
    n: int
    samples: Stage[SampleSet]
    corpus: Stage[Documents]
    chunks: Stage[Spans]

    def make(self, run: Run) -> Hits:
        """Picks them."""
        samples, documents = run.read(self.samples).samples, run.read(self.corpus)
        return self.arm.pick(samples, documents, run.read(self.chunks), self.n)
