"""Which questions can be answered from the passages that a benchmark gives.

Whether a question can be answered is a fact of the data set, as long as a retriever searches the whole corpus. Where a
benchmark gives the passages, and a share of noise with them, it is a fact of the cell.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from components.metrics.gold_spans import Span, gold_positions, gold_spans, n_common_characters
from components.protocols import PickingArm
from components.records import Context, Documents, Sample, Spans
from runner.engine.codecs import Codec
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus.loaded_data import SamplesCodec, SampleSet
from runner.pipeline.scoring.retrieval_scores import context_spans


@dataclass(frozen=True, eq=False)
class GivenAnswerable(Stage[SampleSet]):
    """The samples as a cell with given passages answers them: a question is not answerable if it has gold in the
    corpus, and its prompt holds none of it. Questions with `fake_answers` stay as they are: their passages are false on
    purpose, and the right answer is still asked for.
    """

    kind: ClassVar[str] = "given_answerable"
    version: ClassVar[int] = 1
    work: ClassVar[Work] = Work.BENCHMARK
    codec: ClassVar[Codec[SampleSet]] = SamplesCodec()

    samples: Stage[SampleSet]
    corpus: Stage[Documents]
    chunks: Stage[Spans]
    context: Stage[Context]

    def make(self, run: Run) -> SampleSet:
        """Looks up the gold in every context."""
        sample_set, documents = run.read(self.samples), run.read(self.corpus)
        samples = sample_set.samples
        positions = gold_positions(samples, documents)
        held = context_spans(run.read(self.context), run.read(self.chunks))
        gold = [gold_spans(sample.gold, documents, positions) for sample in samples]
        told = [_told(*own) for own in zip(samples, gold, held, strict=True)]
        return replace(sample_set, samples=tuple(told))


def _told(sample: Sample, gold: Sequence[Span], held: Sequence[Span]) -> Sample:
    is_without = bool(gold) and not sample.fake_answers and not n_common_characters(gold, held)
    return replace(sample, answerable=False) if is_without else sample


def gives_passages(arm: object) -> bool:
    """Whether an arm puts passages of the benchmark's choice, noise among them, into the prompt: it says so in
    `gives_passages`.
    """
    return isinstance(arm, PickingArm) and bool(getattr(arm, "gives_passages", False))
