"""Connects the stages of a cell's answers: the content of the prompts, and the language model's replies."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from components.compressors.none import NoCompressor
from components.protocols import (
    LLM,
    AnswersFrom,
    AnyChunker,
    AnyCompressor,
    AnyReviser,
    ContextBuilder,
    Examples,
    Generator,
    History,
    Prompt,
)
from components.records import Answer, Context, Queries
from components.revisers.none import NoReviser
from components.tokenizers.cl100k import Cl100k
from runner.engine.source_code import is_ours
from runner.engine.stage import Stage
from runner.pipeline.answers.answer_stages import Answers, BaselineAnswers, NoAnswers, Prompts
from runner.pipeline.answers.compressing import ContextTexts, build_context_texts
from runner.pipeline.answers.context_stages import EmptyContext
from runner.pipeline.answers.generating import GeneratedAnswers, GeneratedInSteps
from runner.pipeline.answers.model_history import AnsweredTurn, Conversations, OwnTurns, TurnContext
from runner.pipeline.answers.prompt_examples import ChosenExamples, choose_examples
from runner.pipeline.answers.prompt_passages import (
    AnyPassages,
    NoPassages,
    PipelinePassages,
    PromptPassages,
    RetrievedPassages,
)
from runner.pipeline.answers.revising import RevisedAnswers, RevisedPart, build_revised_parts
from runner.pipeline.corpus.cell_texts import CorpusStages
from runner.pipeline.corpus.chunk_stages import find_chunk_facts
from runner.pipeline.corpus.loaded_data import DatasetStages, SampleSet
from runner.pipeline.search.cell_search import find_picking_arm
from runner.pipeline.search.existing_index_search import find_existing_index_arm

if TYPE_CHECKING:
    from runner.pipeline.cell import Cell

_ASSUMED_PASSAGES = 10
"""Passages per sample that a plan assumes for a custom pipeline, if a judge reads them one by one."""


@dataclass(frozen=True, kw_only=True)
class AnswerComponents:
    """Components of a cell that build the prompts and answer them."""

    context: ContextBuilder
    compressor: AnyCompressor = NoCompressor()
    prompt: Prompt
    examples: Examples
    llm: LLM
    generator: Generator
    history: History
    reviser: AnyReviser = NoReviser()


@dataclass(frozen=True)
class AnswerStages:
    """The answers of a cell and its prompts.

    `prompts` is () if no language model reads prompts, or if it takes several per answer. `revised` are the revisions
    that the answers come from, or () if the cell has no reviser.
    """

    prompts: tuple[Prompts, ...]
    answers: Stage[Sequence[Answer]]
    revised: tuple[RevisedPart, ...] = ()


def build_passages(cell: "Cell", texts: CorpusStages, context: Stage[Context], queries: Stage[Queries]) -> ContextTexts:
    """Return the passages in the prompts of a cell that retrieves. `queries` are those that rerankers read."""
    merges = getattr(cell.context, "merges", False)
    passages = RetrievedPassages(texts.corpus, texts.chunks, context, merges, find_chunk_facts(texts.chunks))
    tokenizer = getattr(cell.context, "tokenizer", Cl100k())
    return build_context_texts(cell.compressor, tokenizer, queries, passages, texts.data.n_samples)


def build_empty_passages(data: DatasetStages) -> NoPassages:
    """Return the empty passages of a closed-book cell."""
    return NoPassages(EmptyContext(data.samples))


def build_answers(
    cell: "Cell", data: DatasetStages, passages: PromptPassages, pool: DatasetStages | None
) -> AnswerStages:
    """Return the stages that answer for a cell. `pool` is the data set of its few-shot examples.

    A cell without a language model has no prompts, and reads no history.
    """
    if cell.llm.answers_from is AnswersFrom.NOTHING:
        return AnswerStages((), NoAnswers(data.samples))
    if cell.llm.answers_from is AnswersFrom.SAMPLE:
        baseline = AnswerStages((), BaselineAnswers(cell.llm, data.samples, passages))
        return _revise_answers(cell, data.samples, data.n_samples, passages, baseline)
    examples = choose_examples(cell.examples, data, pool)
    if len(data.n_by_turn) == 1 or not cell.history.has_rounds:
        return _answer_stages(cell, data.samples, data.n_samples, passages, examples)
    turns: list[AnsweredTurn] = []
    revised: list[RevisedPart] = []
    for n_earlier, n_samples in enumerate(data.n_by_turn):  # each turn is answered after the earlier turns
        turn = OwnTurns(cell.history, n_earlier, data.samples, tuple(turns))
        turn_passages = replace(passages, context=TurnContext(passages.context, turn))
        answered = _answer_stages(cell, turn, n_samples, turn_passages, examples)
        turns.append(AnsweredTurn(turn, answered.prompts, answered.answers))
        revised += answered.revised
    conversations = Conversations(cell.history, data.samples, tuple(turns))
    return AnswerStages((), GeneratedAnswers(conversations), tuple(revised))


def count_passages(cell: "Cell", passages: AnyPassages) -> int:
    """Return the largest number of passages in a prompt of the cell. For a custom pipeline it is a guess."""
    if isinstance(passages, PipelinePassages):
        return _ASSUMED_PASSAGES
    return 0 if isinstance(passages, NoPassages) else cell.top_k


def _answer_stages(
    cell: "Cell",
    samples: Stage[SampleSet],
    n_samples: int,
    passages: PromptPassages,
    examples: tuple[ChosenExamples, ...],
) -> AnswerStages:
    """Return prompts for the samples, and the answers of the language model after the reviser."""
    first_answers = _first_answers(cell, samples, n_samples, passages, examples)
    return _revise_answers(cell, samples, n_samples, passages, first_answers)


def _revise_answers(
    cell: "Cell", samples: Stage[SampleSet], n_samples: int, passages: PromptPassages, first_answers: AnswerStages
) -> AnswerStages:
    """Return the answers after the reviser. A closed book has no passages to check them against."""
    if isinstance(passages, NoPassages):
        return first_answers
    parts = build_revised_parts(cell.reviser, samples, passages, first_answers.answers, n_samples)
    return replace(first_answers, answers=RevisedAnswers(parts[0].revised), revised=parts) if parts else first_answers


def _first_answers(
    cell: "Cell",
    samples: Stage[SampleSet],
    n_samples: int,
    passages: PromptPassages,
    examples: tuple[ChosenExamples, ...],
) -> AnswerStages:
    """Return prompts for the samples, and the answers of the language model."""
    max_passage_tokens = _max_passage_tokens(cell, passages)
    about_tokens = _n_context_tokens(cell, passages) + cell.examples.n * cell.examples.max_tokens
    n = count_passages(cell, passages)
    # One request per answer, as Single sends.
    if is_ours(type(cell.generator)) and cell.generator.n_requests(n, max_passage_tokens) == 1:
        prompts = Prompts(cell.prompt, samples, passages, examples)
        return AnswerStages((prompts,), Answers(cell.llm, prompts, cell.repeat, n_samples, about_tokens))
    parts = cell.generator, cell.llm, cell.prompt, samples, passages, cell.repeat, examples
    return AnswerStages((), GeneratedAnswers(GeneratedInSteps(*parts, n_samples, n, max_passage_tokens, about_tokens)))


def _max_passage_tokens(cell: "Cell", passages: PromptPassages) -> int | None:
    """Return an upper bound of the tokens of the passages in a prompt.

    Returns None if there is no limit, or if the context builder and the generator use different tokenizers.
    """
    if isinstance(passages, NoPassages):
        return 0
    counted_by = getattr(cell.context, "tokenizer", None)
    counts_alike = getattr(cell.generator, "tokenizer", counted_by) == counted_by
    return getattr(cell.context, "max_tokens", None) if counts_alike else None


def _n_context_tokens(cell: "Cell", passages: PromptPassages) -> int:
    """Return an upper bound of the tokens of a context, from the limits of the context builder and of the chunker.

    Returns 0 if neither has a limit.
    """
    if isinstance(passages, NoPassages):
        return 0
    n_chunks = cell.top_k * getattr(cell.context, "n_chunks_per_hit", 1)
    size = 0 if find_existing_index_arm(cell.retriever) else getattr(_chunker(cell), "size", 0)
    limits = [getattr(cell.context, "max_tokens", None), n_chunks * size or None]
    return min((limit for limit in limits if limit), default=0)


def _chunker(cell: "Cell") -> AnyChunker:
    """Return the chunker of the cell, or the chunker of an arm that cuts the corpus itself."""
    picking = find_picking_arm(cell)
    return (picking and picking.chunker) or cell.chunk
