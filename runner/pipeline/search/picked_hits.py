"""Stages of chunks that samples name themselves, instead of a search."""

from components.protocols import PickingArm
from components.records import Documents, Hits, Spans
from runner.engine.broken_contracts import contract_error
from runner.engine.codecs import Columns
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus.loaded_data import SampleSet
from runner.pipeline.search.checked_hits import validate_hits


class PickedHits(Stage[Hits], kind="picked_hits", version=2, work=Work.PER_QUERY):
    """The chunks that an arm picks for every sample, at most `n`."""

    codec = Columns(Hits)

    arm: PickingArm
    n: int
    samples: Stage[SampleSet]
    corpus: Stage[Documents]
    chunks: Stage[Spans]

    def make(self, run: Run) -> Hits:
        """Pick the chunks. Raises ComponentError for hits that break the contract of the arm."""
        samples, documents, chunks = run.read(self.samples).samples, run.read(self.corpus), run.read(self.chunks)
        hits = validate_hits(self.arm.pick(samples, documents, chunks, self.n), len(samples), len(chunks), self.arm)
        if hits.chunk.shape[1] > self.n and (hits.chunk[:, self.n :] >= 0).any():
            raise contract_error(
                self.arm, f"picked {hits.chunk.shape[1]} chunks for a sample, expected at most {self.n}"
            )
        return hits
