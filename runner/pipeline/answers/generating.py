"""Answers that take several requests each, with a record of how each was generated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from components.fields import added_later, runtime_only
from components.openai_server.limiter import Tokens
from components.protocols import LLM, Ask, Generator, Prompt
from components.records import Answer, AnswerTask
from runner.engine.codecs import Parts
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.answers.answer_stages import AnswersCodec, Messages, PromptsCodec, tokens_without_passages
from runner.pipeline.answers.checked_prompts import validate_generation
from runner.pipeline.answers.prompt_examples import ChosenExamples, renderer
from runner.pipeline.answers.prompt_passages import PromptPassages
from runner.pipeline.answers.revising import unrevised_answers
from runner.pipeline.corpus.loaded_data import SampleSet


@dataclass(frozen=True)
class Generation:
    """The output of a generator: one answer, the messages of the last request, and one of `paths` per sample.

    A path describes how the answer was generated. `usage` counts the requests and their tokens.
    """

    answers: Sequence[Answer]
    prompts: Sequence[Messages]
    paths: Sequence[str]
    usage: Mapping[str, int | None]


class GenerationCodec:
    """Stores answers and prompts as `AnswersCodec` and `PromptsCodec` do, and paths and usage as JSON."""

    def encode(self, result: Generation) -> Parts:
        return {
            **AnswersCodec().encode(result.answers),
            **PromptsCodec().encode(result.prompts),
            "paths": list(result.paths),
            "usage": dict(result.usage),
        }

    def decode(self, parts: Parts) -> Generation:
        return Generation(AnswersCodec().decode(parts), PromptsCodec().decode(parts), parts["paths"], parts["usage"])


class GeneratedInSteps(Stage[Generation], kind="generation", version=1, work=Work.ASKING):
    """The generation of all samples. `draw` numbers repeated answers to the same prompts."""

    codec = GenerationCodec()

    generator: Generator
    llm: LLM
    prompt: Prompt
    samples: Stage[SampleSet]
    passages: PromptPassages
    draw: int
    examples: tuple[ChosenExamples, ...] = added_later(())
    n_samples: int = runtime_only(0, "the samples are part of the key")
    n_passages: int = runtime_only(0, "the passages are part of the key")
    """Maximum number of passages in a prompt."""
    n_passage_tokens: int | None = runtime_only(None, "the passages are part of the key")
    """Upper bound of their tokens, as the generator counts them; None if unknown."""
    n_context_tokens: int = runtime_only(0, "the passages are part of the key")
    """Approximate upper bound of the tokens of passages and examples."""

    @property
    def n_requests(self) -> int:
        """Number of requests: the generator's number per sample, times the samples."""
        return self.n_samples * self.generator.n_requests(self.n_passages, self.n_passage_tokens)

    @property
    def n_rounds(self) -> int:
        """Number of rounds of requests, as the generator reports it."""
        return self.generator.n_rounds(self.n_passages)

    def max_request_tokens(self, run: Run) -> Tokens:
        """Return an upper bound of the tokens, as if every request contained all passages and two earlier answers."""
        n_each = self.generator.n_requests(self.n_passages, self.n_passage_tokens)
        tokens = tokens_without_passages(self.llm, self.prompt, run.read(self.samples).samples)
        n_prompt = tokens.n_prompt + self.n_samples * self.n_context_tokens + 2 * tokens.n_completion
        return Tokens(n_each * n_prompt, n_each * tokens.n_completion)

    def make(self, run: Run) -> Generation:
        """Send the requests. Each reply is stored as it arrives, by request."""
        samples = run.read(self.samples).samples
        # A generator may show only some passages. They are cited by their numbers among all passages.
        tasks = [
            AnswerTask(sample, tuple(replace(passage, number=n) for n, passage in enumerate(passages, 1)))
            for sample, passages in zip(samples, self.passages.read(run), strict=True)
        ]
        render = renderer(run, self.prompt, self.passages, self.examples)
        ask = run.ask(self.llm, "answers")
        generated = self.generator.generate(tasks, render, _shift_draws(ask, self.draw * self.generator.n_draws))
        generated = validate_generation(generated, tasks, self.generator)
        return Generation(
            [each.answer for each in generated],
            [each.prompt for each in generated],
            [each.path for each in generated],
            dict(ask.usage),
        )


def _shift_draws(ask: Ask, first: int) -> Ask:
    """Shift the draws of requests, so that they differ from the draws of earlier answers."""
    return lambda requests: ask([replace(request, draw=first + request.draw) for request in requests])


class GeneratedAnswers(Stage[Sequence[Answer]], kind="generated_answers", version=1, work=Work.ASKING):
    """Only the answers of a generation, for stages that read answers."""

    codec = AnswersCodec()

    generation: Stage[Generation]

    def make(self, run: Run) -> Sequence[Answer]:
        """Return the answers of the generation."""
        return run.read(self.generation).answers


def find_generation_stages(answers: Stage[Sequence[Answer]]) -> tuple[Stage[Generation], ...]:
    """Return the stage that generated these answers in steps, if any."""
    answers = unrevised_answers(answers)
    return (answers.generation,) if isinstance(answers, GeneratedAnswers) else ()


def draw_problems(generator: Generator, llm: LLM) -> list[str]:
    """Return an error message for a generator that needs several draws of a deterministic model."""
    if generator.n_draws == 1 or getattr(llm, "temperature", None) != 0:
        return []
    return [
        f"llm.temperature: got 0, so that all {generator.n_draws} draws of {type(generator).__name__} are the "
        "same answer, expected more, e.g. llm.temperature=0.7"
    ]
