"""What a judge says: once per question what it decides before it sees an answer, then of each answer."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import pyarrow as pa

from components.fields import runtime_only
from components.metrics.interval import Intervals
from components.protocols import Ask, JudgedMetric, JudgePreparation
from components.records import Answer, JudgeInput, ScoreState
from runner.engine.ask import total
from runner.engine.codecs import Codec, Columns
from runner.engine.stage import Stage, StageGroup, Work
from runner.engine.stage_run import Run
from runner.pipeline.answers.answer_stages import NoAnswers
from runner.pipeline.answers.prompt_passages import PromptPassages
from runner.pipeline.corpus.loaded_data import Samples, SampleSet
from runner.pipeline.scoring.score_stages import SCORING, Scoring, rows_to_score, scoring, spread


def purpose_of(metric: JudgedMetric) -> str:
    """What a judge's model is asked for. Other words or other limits of the judge are other requests, or more of them,
    and leave the replies to the same ones as they are.
    """
    return f"judge {' '.join(metric.names)}"


@dataclass(frozen=True)
class JudgeDecisions:
    """What a judge decided, and what its requests cost."""

    decisions: JudgePreparation
    usage: dict[str, int | None]


@dataclass(frozen=True, eq=False)
class PreparedJudge(Stage[JudgeDecisions]):
    """What the judge decides from questions and references alone, the same for every answer."""

    kind: ClassVar[str] = "judge_preparation"
    in_words: ClassVar[str] = "preparing to judge"
    version: ClassVar[int] = 3
    work: ClassVar[Work] = Work.BENCHMARK
    codec: ClassVar[Codec[JudgeDecisions]] = Columns(JudgeDecisions)

    metric: JudgedMetric
    samples: Samples
    n_samples: int = runtime_only(0, "the samples stand in the key themselves")

    must_read_replies: ClassVar[bool] = True

    @property
    def n_requests(self) -> int:
        """One per sample and round."""
        return self.n_samples * self.n_rounds

    @property
    def n_rounds(self) -> int:
        """As the judge says; 0 for one that does not ask before it judges."""
        return self.metric.n_rounds_to_prepare

    def make(self, run: Run) -> JudgeDecisions:
        """Asks the judge."""
        ask = run.ask(self.metric.llm, purpose_of(self.metric))
        decisions = dict(self.metric.prepare(run.read(self.samples).samples, ask))
        return JudgeDecisions(decisions, dict(ask.usage))


@dataclass(frozen=True)
class JudgedAnswers(StageGroup):
    """For a judge of answers. Answers that failed are not judged, and counted."""

    answers: Stage[Sequence[Answer]]

    @property
    def is_there(self) -> bool:
        """False in a cell without a generator."""
        return not isinstance(self.answers, NoAnswers)

    def read(self, run: Run, n_samples: int) -> tuple[list[str], list[int], list[ScoreState]]:
        """The texts, the rows to judge, and the states of the others."""
        answers = run.read(self.answers)
        return [answer.text for answer in answers], *rows_to_score(answers)


@dataclass(frozen=True)
class JudgedPassages(StageGroup):
    """For a judge of passages alone: cells with equal contexts share it."""

    is_there: ClassVar[bool] = True

    def read(self, run: Run, n_samples: int) -> tuple[list[str], list[int], list[ScoreState]]:
        """No texts, all rows."""
        return [""] * n_samples, list(range(n_samples)), [ScoreState.VALUE] * n_samples


@dataclass(frozen=True, eq=False)
class JudgedScores(Stage[Scoring]):
    """What the judge says of each answer, or of the passages: in `draw`, where it is to say it several times."""

    kind: ClassVar[str] = "judged_scores"
    in_words: ClassVar[str] = "judging"
    version: ClassVar[int] = 4
    work: ClassVar[Work] = Work.BENCHMARK
    codec: ClassVar[Columns[Scoring]] = SCORING

    name: str
    metric: JudgedMetric
    interval: Intervals
    samples: Stage[SampleSet]
    passages: PromptPassages
    judged: JudgedAnswers | JudgedPassages
    preparation: PreparedJudge
    draw: int
    n_samples: int = runtime_only(0, "the samples stand in the key themselves")
    n_passages: int = runtime_only(0, "the passages stand in the key themselves")
    """In a prompt, at most."""

    must_read_replies: ClassVar[bool] = True

    @property
    def n_requests(self) -> int:
        """As many as the judge makes for a sample, for each that has something to judge."""
        n_judged = self.n_samples if self.judged.is_there else 0
        return n_judged * self.metric.n_requests_per_sample(self.n_passages)

    def make(self, run: Run) -> Scoring:
        """Asks the judge."""
        samples = run.read(self.samples).samples
        texts, rows, states = self.judged.read(run, len(samples))
        rows = [row for row in rows if not samples[row].held_out]  # nobody pays for what counts nowhere
        states = [
            ScoreState.HELD_OUT if sample.held_out else state for sample, state in zip(samples, states, strict=True)
        ]
        passages = list(self.passages.read(run))
        ask = run.ask(self.metric.llm, purpose_of(self.metric))
        inputs = [JudgeInput(samples[row], texts[row], passages[row]) for row in rows]
        prepared = run.read(self.preparation)
        judgements = self.metric.judge(inputs, prepared.decisions, _of_draw(ask, self.draw))
        scores = {name: spread(score, rows, states) for name, score in judgements.scores.items()}
        remarks = [""] * len(samples)
        for row, remark in zip(rows, judgements.remarks, strict=True):
            remarks[row] = remark
        result = scoring(samples, [(self.metric, scores)], self.interval)
        table = result.scores.append_column(f"judge/{self.name}", pa.array(remarks, pa.string()))
        usage = {name: total([n, prepared.usage[name]]) for name, n in ask.usage.items()}
        return replace(result, scores=table, usage=usage)


def _of_draw(ask: Ask, draw: int) -> Ask:
    """Asks for this draw of every reply."""
    return lambda requests: ask([replace(request, draw=draw) for request in requests])


@dataclass(frozen=True)
class Judging:
    """What all judges of a cell have in common; `n_passages` are those in a prompt, at most, and `reported` the samples
    with a mark on those that count in no aggregate.
    """

    interval: Intervals
    samples: Samples
    reported: Stage[SampleSet]
    passages: PromptPassages
    answers: Stage[Sequence[Answer]]
    n_samples: int
    n_passages: int


def judged_scores(name: str, metric: JudgedMetric, judging: Judging, draw: int) -> JudgedScores:
    """The scores of one judged metric. Whether it applies to a question is decided once for all draws."""
    return JudgedScores(
        name,
        metric,
        judging.interval,
        judging.reported,
        judging.passages,
        JudgedAnswers(judging.answers) if metric.reads_answers else JudgedPassages(),
        PreparedJudge(metric, judging.samples, judging.n_samples),
        draw,
        judging.n_samples,
        judging.n_passages,
    )
