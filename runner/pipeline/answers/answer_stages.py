"""Prompts, and the answers to them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar

import pyarrow as pa

from components.fields import added_later, runtime_only
from components.json_value import Json
from components.openai_server.gate import Tokens
from components.protocols import LLM, Prompt
from components.records import Answer, AnswerState, ErrorClass, Message, Request, Sample
from runner.engine.ask import total
from runner.engine.codecs import Codec, Parts
from runner.engine.spending.admitted import most_tokens
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.answers.prompt_examples import ChosenExamples, renderer
from runner.pipeline.answers.prompt_passages import PromptPassages
from runner.pipeline.corpus.loaded_data import SampleSet

Messages = tuple[Message, ...]

_N_PROMPTS_WRITTEN_AHEAD = 200
"""To estimate the length of all."""

_MESSAGES = pa.list_(pa.struct([("role", pa.string()), ("content", pa.large_string())]))


class PromptsCodec:
    """A row of messages per sample."""

    def encode(self, result: Sequence[Messages]) -> Parts:
        """The table."""
        rows = [[vars(message) for message in messages] for messages in result]
        return {"prompts": pa.table({"messages": pa.array(rows, _MESSAGES)})}

    def decode(self, parts: Parts) -> Sequence[Messages]:
        """The messages of every sample."""
        rows: list[list[Json]] = parts["prompts"]["messages"].to_pylist()
        return [tuple(Message(**message) for message in messages) for messages in rows]


class AnswersCodec:
    """One row per sample, in order."""

    def encode(self, result: Sequence[Answer]) -> Parts:
        """The table."""
        columns: dict[str, Json] = {
            field.name: [getattr(answer, field.name) for answer in result] for field in fields(Answer)
        }
        for name in ("n_prompt_tokens", "n_completion_tokens", "n_reasoning_tokens", "n_cached_tokens"):
            columns[name] = pa.array(columns[name], pa.int64())
        for name in ("request_id", "state", "text", "error", "error_class", "thoughts"):
            columns[name] = pa.array(columns[name], pa.large_string())
        return {"answers": pa.table(columns)}

    def decode(self, parts: Parts) -> Sequence[Answer]:
        """The answers."""
        rows: list[Json] = parts["answers"].to_pylist()
        return [
            Answer(
                **{
                    **row,
                    "state": AnswerState(row["state"]),
                    "error_class": ErrorClass(row["error_class"]) if row["error_class"] else None,
                }
            )
            for row in rows
        ]


def tokens_without_passages(llm: LLM, prompt: Prompt, samples: Sequence[Sample]) -> Tokens:
    """What the prompts of all samples and the answers to them take at most, passages apart: told by some that are
    written for this.
    """
    drawn = samples[:: 1 + len(samples) // _N_PROMPTS_WRITTEN_AHEAD]
    alone = sum((most_tokens(llm, prompt.render_closed_book(each)) for each in drawn), Tokens())
    share = len(samples) / max(len(drawn), 1)
    return Tokens(int(alone.n_prompt * share), int(alone.n_completion * share))


def usage_of(answers: Sequence[Answer]) -> dict[str, int | None]:
    """Requests and tokens of answers to one prompt each."""
    return {
        "n_requests": len(answers),
        "n_prompt_tokens": total([answer.n_prompt_tokens for answer in answers]),
        "n_completion_tokens": total([answer.n_completion_tokens for answer in answers]),
        "n_cached_tokens": sum(answer.n_cached_tokens for answer in answers),
    }


@dataclass(frozen=True, eq=False)
class Prompts(Stage[Sequence[Messages]]):
    """The messages for every sample: kept, so that the plan can count what is still to be asked."""

    kind: ClassVar[str] = "prompts"
    version: ClassVar[int] = 1
    work: ClassVar[Work] = Work.PER_QUERY
    codec: ClassVar[Codec[Sequence[Messages]]] = PromptsCodec()

    prompt: Prompt
    samples: Stage[SampleSet]
    passages: PromptPassages
    examples: tuple[ChosenExamples, ...] = added_later(())

    def make(self, run: Run) -> Sequence[Messages]:
        """Renders them."""
        samples = run.read(self.samples).samples
        render = renderer(run, self.prompt, self.passages, self.examples)
        return [render(*own) for own in zip(samples, self.passages.read(run), strict=True)]


@dataclass(frozen=True, eq=False)
class Answers(Stage[Sequence[Answer]]):
    """One answer per sample by a language model: the one of `draw`, where it is to answer several times."""

    kind: ClassVar[str] = "answers"
    version: ClassVar[int] = 4
    work: ClassVar[Work] = Work.ASKING
    codec: ClassVar[Codec[Sequence[Answer]]] = AnswersCodec()

    llm: LLM
    prompts: Prompts
    draw: int
    n_samples: int = runtime_only(0, "the samples stand in the key of the prompts")
    n_context_tokens: int = runtime_only(0, "the passages stand in the key of the prompts")
    """Of the passages and the examples in a prompt, at most."""

    def most_tokens(self, run: Run) -> Tokens:
        """Of prompts without passages, some of which are written for this, and of all passages that may be in them."""
        samples = run.read(self.prompts.samples).samples
        alone = tokens_without_passages(self.llm, self.prompts.prompt, samples)
        return alone + Tokens(self.n_context_tokens * len(samples), 0)

    @property
    def n_requests(self) -> int:
        """One per sample."""
        return self.n_samples

    def make(self, run: Run) -> Sequence[Answer]:
        """Asks the model. Replies are kept one by one, by request."""
        return run.ask(self.llm, "answers")(list(self._requests(run)))

    def _requests(self, run: Run) -> Iterator[Request]:
        samples = run.read(self.prompts.samples).samples
        prompts = run.read(self.prompts)
        for sample, messages, passages in zip(samples, prompts, self.prompts.passages.read(run), strict=True):
            yield Request(sample.id, messages, sample, passages, draw=self.draw)


@dataclass(frozen=True, eq=False)
class BaselineAnswers(Stage[Sequence[Answer]]):
    """One answer per sample by a baseline, which reads samples and passages: no prompt is written, and another one
    makes no other experiment.
    """

    kind: ClassVar[str] = "baseline_answers"
    version: ClassVar[int] = 3
    work: ClassVar[Work] = Work.ASKING
    codec: ClassVar[Codec[Sequence[Answer]]] = AnswersCodec()

    llm: LLM
    samples: Stage[SampleSet]
    passages: PromptPassages

    def make(self, run: Run) -> Sequence[Answer]:
        """Has them computed."""
        samples = run.read(self.samples).samples
        requests = [
            Request(sample.id, (), sample, passages)
            for sample, passages in zip(samples, self.passages.read(run), strict=True)
        ]
        return run.ask(self.llm, "answers")(requests)


@dataclass(frozen=True, eq=False)
class NoAnswers(Stage[Sequence[Answer]]):
    """A cell without a generator: nothing is asked, and metrics of answers are not applicable."""

    kind: ClassVar[str] = "no_answers"
    version: ClassVar[int] = 3
    work: ClassVar[Work] = Work.ASKING
    codec: ClassVar[Codec[Sequence[Answer]]] = AnswersCodec()

    samples: Stage[SampleSet]

    def make(self, run: Run) -> Sequence[Answer]:
        """An answer that says so for each sample."""
        return [Answer(sample.id, AnswerState.NOT_ASKED) for sample in run.read(self.samples).samples]
