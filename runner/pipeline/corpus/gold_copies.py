"""Stages that find documents with copies of gold evidence."""

from dataclasses import dataclass
from typing import ClassVar

from components.gold_copies import GoldCopies, find_copies, no_copies
from components.records import Documents
from runner.engine.codecs import Codec, Columns
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus.loaded_data import Samples


@dataclass(frozen=True, eq=False)
class FoundCopies(Stage[GoldCopies]):
    """Copies and near-copies of the gold in the corpus."""

    kind: ClassVar[str] = "gold_copies"
    version: ClassVar[int] = 2
    work: ClassVar[Work] = Work.BENCHMARK
    codec: ClassVar[Codec[GoldCopies]] = Columns(GoldCopies)

    samples: Samples
    corpus: Stage[Documents]

    def make(self, run: Run) -> GoldCopies:
        """Compare every gold unit with every document, once for all chunkers."""
        return find_copies(run.read(self.samples).samples, run.read(self.corpus))


@dataclass(frozen=True, eq=False)
class NoCopies(Stage[GoldCopies]):
    """An empty result in place of copies: only the gold itself counts."""

    kind: ClassVar[str] = "no_gold_copies"
    version: ClassVar[int] = 1
    work: ClassVar[Work] = Work.BENCHMARK
    codec: ClassVar[Codec[GoldCopies]] = Columns(GoldCopies)

    def make(self, run: Run) -> GoldCopies:
        return no_copies()
