"""Determines which questions can be answered from the passages that a benchmark gives.

If a retriever searches the whole corpus, this is a property of the data set. If a benchmark gives passages, with a
share of noise, it is a property of the cell.
"""

from collections.abc import Sequence
from dataclasses import replace

from components.metrics.gold_spans import Span, count_common_characters, gold_positions, gold_spans
from components.protocols import PickingArm
from components.records import Context, Documents, Sample, Spans
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus.loaded_data import SamplesCodec, SampleSet
from runner.pipeline.scoring.retrieval_scores import context_spans


class GivenAnswerable(Stage[SampleSet], kind="given_answerable", version=1, work=Work.BENCHMARK):
    """The samples, each marked as answerable or not from the given passages in its prompt.

    A question is unanswerable if it has gold in the corpus, but the prompt lacks all of it. Questions with
    `fake_answers` are not changed: their passages are false on purpose, and the right answer is still expected.
    """

    codec = SamplesCodec()

    samples: Stage[SampleSet]
    corpus: Stage[Documents]
    chunks: Stage[Spans]
    context: Stage[Context]

    def make(self, run: Run) -> SampleSet:
        """Search every context for gold."""
        sample_set, documents = run.read(self.samples), run.read(self.corpus)
        samples = sample_set.samples
        positions = gold_positions(samples, documents)
        held = context_spans(run.read(self.context), run.read(self.chunks))
        gold = [gold_spans(sample.gold, documents, positions) for sample in samples]
        marked = [
            _mark_answerable(sample, units, spans) for sample, units, spans in zip(samples, gold, held, strict=True)
        ]
        return replace(sample_set, samples=tuple(marked))


def _mark_answerable(sample: Sample, gold: Sequence[Span], held: Sequence[Span]) -> Sample:
    is_without = bool(gold) and not sample.fake_answers and not count_common_characters(gold, held)
    return replace(sample, answerable=False) if is_without else sample


def gives_passages(arm: object) -> bool:
    """Return True if an arm puts given passages, including noise, into the prompt, according to its
    `gives_passages`.
    """
    return isinstance(arm, PickingArm) and bool(getattr(arm, "gives_passages", False))
