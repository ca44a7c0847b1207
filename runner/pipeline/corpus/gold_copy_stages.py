"""Stages that find documents with copies of gold evidence."""

from components.gold_copies import GoldCopies, empty_copies, find_copies
from components.records import Documents
from runner.engine.codecs import Columns
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus.loaded_data import Samples


class FoundCopies(Stage[GoldCopies], kind="gold_copies", version=3, work=Work.BENCHMARK):
    """Copies and near-copies of the gold in the corpus."""

    codec = Columns(GoldCopies)

    samples: Samples
    corpus: Stage[Documents]

    def make(self, run: Run) -> GoldCopies:
        """Compare every gold unit with every document, once for all chunkers."""
        return find_copies(run.read(self.samples).samples, run.read(self.corpus))


class NoCopies(Stage[GoldCopies], kind="no_gold_copies", version=1, work=Work.BENCHMARK):
    """An empty result in place of copies: only the gold itself counts."""

    codec = Columns(GoldCopies)

    def make(self, run: Run) -> GoldCopies:
        return empty_copies()
