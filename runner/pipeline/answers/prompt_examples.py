"""Few-shot examples in prompts: their choice and their form."""

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from components.examples.solved import gold_passages
from components.protocols import Examples, Prompt, Render
from components.records import Documents, Message, Passage, Sample
from runner.engine.codecs import SinglePart
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.answers.checked_prompts import validate_examples, validate_messages
from runner.pipeline.answers.prompt_passages import NoPassages, PromptPassages
from runner.pipeline.corpus.loaded_data import DatasetStages, Samples


class ChosenExamples(Stage[NDArray[np.int32]], kind="examples", version=1, work=Work.PER_QUERY):
    """Positions of each sample's examples in the pool, int32[n_samples, n]."""

    codec = SinglePart("examples")

    examples: Examples
    samples: Samples
    pool: Samples
    documents: Stage[Documents]

    def make(self, run: Run) -> NDArray[np.int32]:
        """Choose the examples. Raises DataError if there are too few."""
        samples, pool = run.read(self.samples).samples, run.read(self.pool).samples
        documents = run.read(self.documents)
        chosen = self.examples.choose(samples, pool, documents)
        return validate_examples(chosen, samples, pool, documents, self.examples)


def choose_examples(examples: Examples, data: DatasetStages, pool: DatasetStages | None) -> tuple[ChosenExamples, ...]:
    """Return the stage that chooses examples from the training split, or () if prompts have no examples."""
    if pool is None:
        return ()
    return (ChosenExamples(examples, data.samples, pool.samples, pool.corpus),)


def renderer(run: Run, prompt: Prompt, passages: PromptPassages, examples: tuple[ChosenExamples, ...]) -> Render:
    """Return a function that renders the prompt of a sample, without passages in a closed book.

    Each example of the sample becomes a chat turn before the question. The turn consists of the last message of the
    example's prompt, with the example's gold as passages, and of its reference.
    """

    def render_question(sample: Sample, sample_passages: Sequence[Passage]) -> tuple[Message, ...]:
        is_closed_book = isinstance(passages, NoPassages)
        messages = prompt.render_closed_book(sample) if is_closed_book else prompt.render(sample, sample_passages)
        return validate_messages(messages, sample, prompt)

    if not examples:
        return render_question
    (chosen,) = examples
    pool, documents = run.read(chosen.pool).samples, run.read(chosen.documents)
    position = {document_id: row for row, document_id in enumerate(documents.ids)}

    @cache
    def turn(row: int) -> tuple[Message, Message]:
        example = pool[row]
        question = render_question(example, gold_passages(example, documents, position))[-1]
        return question, Message("assistant", example.references[0])

    examples_by_sample = zip(run.read(chosen.samples).samples, run.read(chosen).tolist(), strict=True)
    rows_by_sample = {sample.id: rows for sample, rows in examples_by_sample}

    def with_examples(sample: Sample, sample_passages: Sequence[Passage]) -> tuple[Message, ...]:
        *before, question = render_question(sample, sample_passages)
        return (*before, *(message for row in rows_by_sample[sample.id] for message in turn(row)), question)

    return with_examples
