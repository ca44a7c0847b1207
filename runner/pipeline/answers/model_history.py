"""Conversations with the answers of the model as history. They are answered turn by turn.

    samples ─┬─ turns 1 ── prompts ── answers ─┬───────────────────────────────────────────┐
             ├─ turns 2 ───────────────────────┴─ prompts ── answers ─┬────────────────────┼─ conversations
             └─ turns 3 ──────────────────────────────────────────────┴─ prompts ── answers┘

The stages of a turn are the same as for any samples, so that every generator can answer them. The search reads only the
questions of earlier turns, and so does not wait for answers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

from components.protocols import History
from components.records import Answer, AnswerState, Context, Sample, Turn
from runner.engine.ask import total
from runner.engine.codecs import Columns, Parts
from runner.engine.stage import AnyStage, Stage, StageGroup, Work
from runner.engine.stage_run import Run
from runner.pipeline.answers.answer_stages import Messages, Prompts, count_usage
from runner.pipeline.answers.checked_prompts import validate_turns
from runner.pipeline.answers.generating import Generation, GenerationCodec, find_generation_stages
from runner.pipeline.corpus.loaded_data import Samples, SamplesCodec, SampleSet


@dataclass(frozen=True)
class TurnSet(SampleSet):
    """The samples of one turn, with the model's answers to earlier turns as history.

    `rows` are their positions among all samples. Samples with a failed earlier answer are left out.
    """

    rows: tuple[int, ...]


class TurnSetCodec:
    """Stores samples and labels as `SamplesCodec` does, and rows as JSON."""

    def encode(self, result: TurnSet) -> Parts:
        return {**SamplesCodec().encode(result), "rows": list(result.rows)}

    def decode(self, parts: Parts) -> TurnSet:
        sample_set = SamplesCodec().decode(parts)
        return TurnSet(sample_set.samples, sample_set.labels, tuple(parts["rows"]))


@dataclass(frozen=True)
class AnsweredTurn(StageGroup):
    """One turn of all conversations, with its prompts and answers."""

    turns: Stage[TurnSet]
    prompts: tuple[Prompts, ...]
    answers: Stage[Sequence[Answer]]

    @property
    def also_read(self) -> Sequence[AnyStage]:
        return find_generation_stages(self.answers)

    def answers_by_row(self, run: Run) -> dict[int, Answer]:
        """Return the answers by position among all samples."""
        return dict(zip(run.read(self.turns).rows, run.read(self.answers), strict=True))

    def prompts_by_row(self, run: Run) -> dict[int, Messages]:
        """Return the prompts by position among all samples."""
        prompt_lists = [run.read(stage) for stage in self.prompts]
        prompt_lists += [run.read(stage).prompts for stage in find_generation_stages(self.answers)]
        return {
            row: messages
            for prompts in prompt_lists
            for row, messages in zip(run.read(self.turns).rows, prompts, strict=True)
        }

    def paths_by_row(self, run: Run) -> dict[int, str]:
        """Return the way of generation by position among all samples, if the generator records it."""
        paths = [run.read(stage).paths for stage in find_generation_stages(self.answers)]
        return {
            row: path for stage_paths in paths for row, path in zip(run.read(self.turns).rows, stage_paths, strict=True)
        }

    def usage(self, run: Run) -> Mapping[str, int | None]:
        """Return the usage of the turn's requests."""
        in_steps = [run.read(stage).usage for stage in find_generation_stages(self.answers)]
        return in_steps[0] if in_steps else count_usage(run.read(self.answers))


class OwnTurns(Stage[TurnSet], kind="turns", display_name="turns of conversations", version=1, work=Work.PER_QUERY):
    """The samples with `n_earlier` earlier turns, with the model's answers to these turns in their history."""

    codec = TurnSetCodec()

    history: History
    n_earlier: int
    samples: Samples
    before: tuple[AnsweredTurn, ...]

    def make(self, run: Run) -> TurnSet:
        """Insert the answers. Empty, refused and truncated answers are inserted as they are."""
        sample_set = run.read(self.samples)
        answers = {row: answer for turn in self.before for row, answer in turn.answers_by_row(run).items()}
        turn_samples = {
            row: earlier
            for row, earlier in enumerate(_earlier_turns(self.history, sample_set.samples))
            if len(earlier) == self.n_earlier and all(_is_answered(answers.get(turn)) for turn in earlier)
        }
        samples = [
            replace(
                sample_set.samples[row],
                history=tuple(Turn(sample_set.samples[turn].question, answers[turn].text) for turn in earlier),
            )
            for row, earlier in turn_samples.items()
        ]
        return TurnSet(tuple(samples), sample_set.labels, tuple(turn_samples))


def _earlier_turns(history: History, samples: Sequence[Sample]) -> list[tuple[int, ...]]:
    return validate_turns(history.earlier_turns(samples), samples, history)


def _is_answered(answer: Answer | None) -> bool:
    return answer is not None and answer.state is not AnswerState.ERROR


class TurnContext(Stage[Context], kind="turn_context", version=1, work=Work.PER_QUERY):
    """The contexts of one turn, selected from the contexts of all samples."""

    codec = Columns(Context)

    context: Stage[Context]
    turns: OwnTurns

    def make(self, run: Run) -> Context:
        """Select the rows of the turn."""
        context, rows = run.read(self.context), list(run.read(self.turns).rows)
        return Context(**{field.name: getattr(context, field.name)[rows] for field in fields(Context)})


class Conversations(Stage[Generation], kind="conversations", version=1, work=Work.ASKING):
    """The answers of all turns, in the order of the samples. A turn after a failed turn was not sent, and
    fails too.
    """

    codec = GenerationCodec()

    history: History
    samples: Samples
    turns: tuple[AnsweredTurn, ...]

    def make(self, run: Run) -> Generation:
        """Join the answers of all turns."""
        samples = run.read(self.samples).samples
        answers: dict[int, Answer] = {}
        prompts: dict[int, Messages] = {}
        paths: dict[int, str] = {}
        for turn in self.turns:
            answers |= turn.answers_by_row(run)
            prompts |= turn.prompts_by_row(run)
            paths |= turn.paths_by_row(run)
        earlier = _earlier_turns(self.history, samples)
        for row in sorted(set(range(len(samples))) - answers.keys(), key=lambda row: len(earlier[row])):
            failed = next(answers[turn] for turn in earlier[row] if answers[turn].state is AnswerState.ERROR)
            answers[row] = Answer(
                samples[row].id,
                AnswerState.ERROR,
                error=f"{_EARLIER}{failed.error.removeprefix(_EARLIER)}",
                error_class=failed.error_class,
            )
        numbers = [f"turn {len(turns) + 1}" for turns in earlier]
        return Generation(
            [answers[row] for row in range(len(samples))],
            [prompts.get(row, ()) for row in range(len(samples))],
            [": ".join(filter(None, [number, paths.get(row)])) for row, number in enumerate(numbers)],
            _sum_usages([turn.usage(run) for turn in self.turns]),
        )


_EARLIER = "an earlier turn failed: "


def _sum_usages(usages: Sequence[Mapping[str, int | None]]) -> dict[str, int | None]:
    return {name: total([usage[name] for usage in usages]) for name in usages[0]}
