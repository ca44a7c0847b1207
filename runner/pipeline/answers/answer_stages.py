"""Stages of the prompts and of the answers to them."""

from collections.abc import Iterator, Sequence
from dataclasses import fields

import pyarrow as pa

from components.fields import added_later, runtime_only
from components.json_value import Json
from components.openai_server.limiter import Tokens
from components.protocols import LLM, Prompt
from components.records import Answer, AnswerState, ErrorClass, Message, Request, Sample
from runner.engine.ask import total
from runner.engine.codecs import Parts
from runner.engine.spending.admission import max_request_tokens
from runner.engine.stage import AnyStage, Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.answers.prompt_examples import ChosenExamples, renderer
from runner.pipeline.answers.prompt_passages import PromptPassages
from runner.pipeline.corpus.loaded_data import SampleSet

Messages = tuple[Message, ...]

_N_PROMPTS_WRITTEN_AHEAD = 200
"""Number of prompts that are written ahead to estimate the length of all."""

_MESSAGES = pa.list_(pa.struct([("role", pa.string()), ("content", pa.large_string())]))


class PromptsCodec:
    """Stores the messages of each sample as a row."""

    def encode(self, result: Sequence[Messages]) -> Parts:
        rows = [[vars(message) for message in messages] for messages in result]
        return {"prompts": pa.table({"messages": pa.array(rows, _MESSAGES)})}

    def decode(self, parts: Parts) -> Sequence[Messages]:
        rows: list[list[Json]] = parts["prompts"]["messages"].to_pylist()
        return [tuple(Message(**message) for message in messages) for messages in rows]


class AnswersCodec:
    """Stores one row per sample, in order."""

    def encode(self, result: Sequence[Answer]) -> Parts:
        columns: dict[str, Json] = {
            field.name: [getattr(answer, field.name) for answer in result] for field in fields(Answer)
        }
        for name in ("n_prompt_tokens", "n_completion_tokens", "n_reasoning_tokens", "n_cached_tokens"):
            columns[name] = pa.array(columns[name], pa.int64())
        for name in ("request_id", "state", "text", "error", "error_class", "thoughts"):
            columns[name] = pa.array(columns[name], pa.large_string())
        return {"answers": pa.table(columns)}

    def decode(self, parts: Parts) -> Sequence[Answer]:
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
    """Return an upper bound of the tokens of all prompts, without passages, and of their answers.

    The bound is extrapolated from some prompts that are written for it.
    """
    sampled = samples[:: 1 + len(samples) // _N_PROMPTS_WRITTEN_AHEAD]
    tokens = sum((max_request_tokens(llm, prompt.render_closed_book(each)) for each in sampled), Tokens())
    share = len(samples) / max(len(sampled), 1)
    return Tokens(int(tokens.n_prompt * share), int(tokens.n_completion * share))


def count_usage(answers: Sequence[Answer]) -> dict[str, int | None]:
    """Return the requests and tokens of answers that took one prompt each."""
    return {
        "n_requests": len(answers),
        "n_prompt_tokens": total([answer.n_prompt_tokens for answer in answers]),
        "n_completion_tokens": total([answer.n_completion_tokens for answer in answers]),
        "n_cached_tokens": sum(answer.n_cached_tokens for answer in answers),
    }


class Prompts(Stage[Sequence[Messages]], kind="prompts", version=1, work=Work.PER_QUERY):
    """The messages for every sample. They are stored, so that the plan can count the requests without a reply."""

    codec = PromptsCodec()

    prompt: Prompt
    samples: Stage[SampleSet]
    passages: PromptPassages
    examples: tuple[ChosenExamples, ...] = added_later(())

    @property
    def also_read(self) -> Sequence[AnyStage]:
        return [stage for chosen in self.examples for stage in chosen.inputs]

    def make(self, run: Run) -> Sequence[Messages]:
        samples = run.read(self.samples).samples
        render = renderer(run, self.prompt, self.passages, self.examples)
        return [render(sample, passages) for sample, passages in zip(samples, self.passages.read(run), strict=True)]


class Answers(Stage[Sequence[Answer]], kind="answers", version=4, work=Work.ASKING):
    """One answer of a language model per sample. `draw` numbers repeated answers to the same prompts."""

    codec = AnswersCodec()

    llm: LLM
    prompts: Prompts
    draw: int
    n_samples: int = runtime_only(0, "the samples are part of the prompts' key")
    n_context_tokens: int = runtime_only(0, "the passages are part of the prompts' key")
    """Upper bound of the tokens of passages and examples in a prompt."""

    @property
    def also_read(self) -> Sequence[AnyStage]:
        """The stages that the prompts are made from: a request also holds its sample and its passages."""
        return self.prompts.inputs

    def max_request_tokens(self, run: Run) -> Tokens:
        """Return an upper bound of the tokens of all requests.

        It is estimated from some prompts without passages, plus the limit of passages per prompt.
        """
        samples = run.read(self.prompts.samples).samples
        tokens = tokens_without_passages(self.llm, self.prompts.prompt, samples)
        return tokens + Tokens(self.n_context_tokens * len(samples), 0)

    @property
    def n_requests(self) -> int:
        """Number of requests: one per sample."""
        return self.n_samples

    def make(self, run: Run) -> Sequence[Answer]:
        """Send the requests. Each reply is stored as it arrives, by request."""
        return run.ask(self.llm, "answers")(list(self._requests(run)))

    def _requests(self, run: Run) -> Iterator[Request]:
        samples = run.read(self.prompts.samples).samples
        prompts = run.read(self.prompts)
        for sample, messages, passages in zip(samples, prompts, self.prompts.passages.read(run), strict=True):
            yield Request(sample.id, messages, sample, passages, draw=self.draw)


class BaselineAnswers(Stage[Sequence[Answer]], kind="baseline_answers", version=3, work=Work.ASKING):
    """One answer of a stand-in per sample.

    A stand-in reads samples and passages and no prompt, so that changing the prompt does not change the cell.
    """

    codec = AnswersCodec()

    llm: LLM
    samples: Stage[SampleSet]
    passages: PromptPassages

    def make(self, run: Run) -> Sequence[Answer]:
        samples = run.read(self.samples).samples
        requests = [
            Request(sample.id, (), sample, passages)
            for sample, passages in zip(samples, self.passages.read(run), strict=True)
        ]
        return run.ask(self.llm, "answers")(requests)


class NoAnswers(Stage[Sequence[Answer]], kind="no_answers", version=3, work=Work.ASKING):
    """Answers of a cell without a generator: no request is sent, and metrics of answers are not applicable."""

    codec = AnswersCodec()

    samples: Stage[SampleSet]

    def make(self, run: Run) -> Sequence[Answer]:
        """Return an answer in the state NOT_ASKED for each sample."""
        return [Answer(sample.id, AnswerState.NOT_ASKED) for sample in run.read(self.samples).samples]
