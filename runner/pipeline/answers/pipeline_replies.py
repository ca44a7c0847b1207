"""Stages that send questions to a custom pipeline, and read its replies."""

from collections.abc import Sequence
from dataclasses import replace

from components.fields import runtime_only
from components.pipelines.pipeline_reply import PipelineReply, parse_stored_replies
from components.protocols import Pipeline
from components.records import Answer, AnswerState, Message, Request, Sample
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.answers.answer_stages import AnswersCodec
from runner.pipeline.corpus.loaded_data import Samples


def build_conversation(sample: Sample) -> tuple[Message, ...]:
    """Return the earlier turns of a sample as messages, and finally its question."""
    turns = [Message(role, text) for turn in sample.history for role, text in _exchange(turn.question, turn.answer)]
    return (*turns, Message("user", sample.question))


def _exchange(question: str, answer: str) -> tuple[tuple[str, str], tuple[str, str]]:
    return ("user", question), ("assistant", answer)


class PipelineReplies(
    Stage[Sequence[Answer]], kind="pipeline_replies", version=1, work=Work.ASKING, has_quick_inputs=True
):
    """The whole reply of a pipeline to each sample, as JSON. `draw` numbers repeated replies to the same question."""

    codec = AnswersCodec()

    pipeline: Pipeline
    samples: Samples
    draw: int
    n_samples: int = runtime_only(0, "the samples are part of the key")

    @property
    def n_requests(self) -> int:
        """Number of requests: one per sample."""
        return self.n_samples

    def make(self, run: Run) -> Sequence[Answer]:
        """Send the questions. Each reply is stored as it arrives, by request."""
        samples = run.read(self.samples).samples
        requests = [Request(sample.id, build_conversation(sample), sample, (), draw=self.draw) for sample in samples]
        return run.ask(self.pipeline, "answers")(requests)


class PipelineAnswers(Stage[Sequence[Answer]], kind="pipeline_answers", version=1, work=Work.ASKING):
    """Only the answers of a pipeline's replies, for stages that read answers."""

    codec = AnswersCodec()

    replies: Stage[Sequence[Answer]]

    def make(self, run: Run) -> Sequence[Answer]:
        """Return the answers. A reply with an empty answer is EMPTY, and a failed request stays failed."""
        replies = run.read(self.replies)
        return [_answer(answer, reply) for answer, reply in zip(replies, parse_stored_replies(replies), strict=True)]


def _answer(answer: Answer, reply: PipelineReply | None) -> Answer:
    if reply is None:
        return answer
    text = reply.answer.strip()
    return replace(answer, state=AnswerState.OK if text else AnswerState.EMPTY, text=text)
