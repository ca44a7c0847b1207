"""Answers that take several requests each, and how each came about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from components.fields import added_later, runtime_only
from components.openai_server.gate import Tokens
from components.protocols import LLM, Ask, Generator, Prompt
from components.records import Answer, AnswerTask
from runner.engine.codecs import Codec, Parts
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.answers.answer_stages import AnswersCodec, Messages, PromptsCodec, tokens_without_passages
from runner.pipeline.answers.checked_generation import checked_generation
from runner.pipeline.answers.prompt_examples import ChosenExamples, renderer
from runner.pipeline.answers.prompt_passages import PromptPassages
from runner.pipeline.corpus.loaded_data import SampleSet


@dataclass(frozen=True)
class Generation:
    """What a generator made: per sample its answer, the messages of the last request, and how it came about (`paths`);
    `usage` is what the requests cost.
    """

    answers: Sequence[Answer]
    prompts: Sequence[Messages]
    paths: Sequence[str]
    usage: Mapping[str, int | None]


class GenerationCodec:
    """Answers and prompts as they are kept by themselves, paths, usage."""

    def encode(self, result: Generation) -> Parts:
        """All four."""
        return {
            **AnswersCodec().encode(result.answers),
            **PromptsCodec().encode(result.prompts),
            "paths": list(result.paths),
            "usage": dict(result.usage),
        }

    def decode(self, parts: Parts) -> Generation:
        """The generation."""
        return Generation(AnswersCodec().decode(parts), PromptsCodec().decode(parts), parts["paths"], parts["usage"])


@dataclass(frozen=True, eq=False)
class GeneratedInSteps(Stage[Generation]):
    """What a generator makes of all samples: in `draw`, where it is to answer several times."""

    kind: ClassVar[str] = "generation"
    version: ClassVar[int] = 1
    work: ClassVar[Work] = Work.ASKING
    codec: ClassVar[Codec[Generation]] = GenerationCodec()

    generator: Generator
    llm: LLM
    prompt: Prompt
    samples: Stage[SampleSet]
    passages: PromptPassages
    draw: int
    examples: tuple[ChosenExamples, ...] = added_later(())
    n_samples: int = runtime_only(0, "the samples stand in the key themselves")
    n_passages: int = runtime_only(0, "the passages stand in the key themselves")
    """In a prompt, at most."""
    n_passage_tokens: int | None = runtime_only(None, "the passages stand in the key themselves")
    """That they hold, at most, as the generator counts them; None if nobody knows."""
    n_context_tokens: int = runtime_only(0, "the passages stand in the key themselves")
    """About as many do they and the examples hold, at most."""

    @property
    def n_requests(self) -> int:
        """As many as the generator makes for a sample, for each."""
        return self.n_samples * self.generator.n_requests(self.n_passages, self.n_passage_tokens)

    @property
    def n_rounds(self) -> int:
        """As the generator says."""
        return self.generator.n_rounds(self.n_passages)

    def most_tokens(self, run: Run) -> Tokens:
        """As if every request held all passages, and two answers from before."""
        n_each = self.generator.n_requests(self.n_passages, self.n_passage_tokens)
        alone = tokens_without_passages(self.llm, self.prompt, run.read(self.samples).samples)
        n_prompt = alone.n_prompt + self.n_samples * self.n_context_tokens + 2 * alone.n_completion
        return Tokens(n_each * n_prompt, n_each * alone.n_completion)

    def make(self, run: Run) -> Generation:
        """Asks the model. Replies are kept one by one, by request."""
        samples = run.read(self.samples).samples
        # A generator may show some passages alone, which are cited by the numbers that they have among all.
        tasks = [
            AnswerTask(sample, tuple(replace(passage, number=n) for n, passage in enumerate(passages, 1)))
            for sample, passages in zip(samples, self.passages.read(run), strict=True)
        ]
        render = renderer(run, self.prompt, self.passages, self.examples)
        ask = run.ask(self.llm, "answers")
        made = self.generator.generate(tasks, render, _from_draw(ask, self.draw * self.generator.n_draws))
        made = checked_generation(made, tasks, self.generator)
        return Generation(
            [each.answer for each in made],
            [each.prompt for each in made],
            [each.path for each in made],
            dict(ask.usage),
        )


def _from_draw(ask: Ask, first: int) -> Ask:
    """Asks for other draws than those before the first."""
    return lambda requests: ask([replace(request, draw=first + request.draw) for request in requests])


@dataclass(frozen=True, eq=False)
class GeneratedAnswers(Stage[Sequence[Answer]]):
    """The answers alone, for all that reads answers."""

    kind: ClassVar[str] = "generated_answers"
    version: ClassVar[int] = 1
    work: ClassVar[Work] = Work.ASKING
    codec: ClassVar[Codec[Sequence[Answer]]] = AnswersCodec()

    generation: Stage[Generation]

    def make(self, run: Run) -> Sequence[Answer]:
        """Takes them out."""
        return run.read(self.generation).answers


def generations(answers: Stage[Sequence[Answer]]) -> tuple[Stage[Generation], ...]:
    """The stage that made these answers in steps, if one did."""
    return (answers.generation,) if isinstance(answers, GeneratedAnswers) else ()


def draw_mistakes(generator: Generator, llm: LLM) -> list[str]:
    """A generator that wants several draws of a model that gives the same answer each time."""
    if generator.n_draws == 1 or getattr(llm, "temperature", None) != 0:
        return []
    return [
        f"llm.temperature: got 0, at which all {generator.n_draws} draws of {type(generator).__name__} are one and the "
        "same answer; expected more, e.g. llm.temperature=0.7"
    ]
