"""Stages with requests to judges, first about each question and then about each answer, and unreadable replies."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import ClassVar

import pyarrow as pa

from components.datasets.subsampling import limit_samples
from components.fields import added_later, runtime_only
from components.json_value import Json
from components.metrics.interval import Intervals
from components.protocols import Ask, JudgedMetric, JudgePreparation, JudgesByGold
from components.records import Answer, Documents, JudgeInput, Sample, ScoreState
from runner.console.unreadable_replies import count_reasons
from runner.engine.ask import total
from runner.engine.codecs import Columns
from runner.engine.stage import Stage, StageGroup, Work
from runner.engine.stage_run import Run
from runner.pipeline.answers.answer_stages import NoAnswers
from runner.pipeline.answers.prompt_passages import AnyPassages
from runner.pipeline.corpus.loaded_data import Samples, SampleSet
from runner.pipeline.scoring.score_stages import SCORING, Scoring, expand_scores, rows_to_score, scoring

_JUDGE, _STATE = "judge/", "score_state/"
_JUDGED = {ScoreState.VALUE, ScoreState.UNPARSABLE, ScoreState.FAILED}


def judge_purpose(metric: JudgedMetric) -> str:
    """Return the purpose of a judge's requests, under which their replies are stored.

    If the wording or the limits of a judge change, replies to unchanged requests remain valid. Judges with a `purpose`
    share the replies to equal requests.
    """
    shared: str | None = getattr(metric, "purpose", None)
    return shared or f"judge {' '.join(metric.names)}"


@dataclass(frozen=True)
class JudgedPart(StageGroup):
    """The part of the samples that is judged: `n` of them, drawn by `seed` in proportion to subsets, topics and tasks.

    The draw depends only on the samples, so all cells judge the same ones.
    """

    n: int
    seed: int

    def drawn_mask(self, samples: Sequence[Sample]) -> list[bool]:
        """Return True for each sample that is judged."""
        drawn_ids = {sample.id for sample in limit_samples(samples, self.n, self.seed)}
        return [sample.id in drawn_ids for sample in samples]


@dataclass(frozen=True)
class JudgeDecisions:
    """The decisions of a judge, and the usage of its requests."""

    decisions: JudgePreparation
    usage: dict[str, int | None]


class PreparedJudge(
    Stage[JudgeDecisions],
    kind="judge_preparation",
    display_name="preparing to judge",
    version=3,
    work=Work.BENCHMARK,
    repeats_unreadable=True,
    has_quick_inputs=True,
):
    """The decisions of a judge from questions and references, before it sees answers. All answers share them."""

    codec = Columns(JudgeDecisions)

    metric: JudgedMetric
    samples: Samples
    n_samples: int = runtime_only(0, "the samples are part of the key")
    part: JudgedPart | None = added_later(None)
    name: str = runtime_only("", "names the metric for users")
    documents: Stage[Documents] | None = added_later(None)
    """The corpus, for a metric that reads gold documents."""

    @property
    def request_group(self) -> str:
        """Name of the metric."""
        return self.name

    @property
    def n_requests(self) -> int:
        """Number of requests: one per sample that is judged, and round."""
        return _n_drawn(self.part, self.n_samples) * self.n_rounds

    @property
    def n_rounds(self) -> int:
        """Number of rounds, as the judge reports it; 0 for a judge that does not ask in advance."""
        return self.metric.n_rounds_to_prepare

    def make(self, run: Run) -> JudgeDecisions:
        ask = run.ask(self.metric.llm, judge_purpose(self.metric))
        samples = run.read(self.samples).samples
        drawn = compress(samples, self.part.drawn_mask(samples)) if self.part else samples
        decisions = dict(prepare_judge(self.metric, list(drawn), lambda: self._read_documents(run), ask))
        return JudgeDecisions(decisions, dict(ask.usage))

    def _read_documents(self, run: Run) -> Documents:
        assert self.documents, "a metric that reads gold documents has a corpus"
        return run.read(self.documents)


def reads_gold(metric: JudgedMetric) -> bool:
    """Return True for a judge that prepares from gold documents."""
    return isinstance(metric, JudgesByGold) and metric.reads_gold


def prepare_judge(
    metric: JudgedMetric, samples: Sequence[Sample], read_documents: Callable[[], Documents], ask: Ask
) -> JudgePreparation:
    """Return the decisions of a judge about samples. The corpus is read only for a judge that reads gold documents."""
    if not (isinstance(metric, JudgesByGold) and metric.reads_gold):
        return metric.prepare(samples, ask)
    documents = read_documents()
    row_of = {document_id: row for row, document_id in enumerate(documents.ids)}
    gold = [
        list(
            dict.fromkeys(
                documents.texts[row_of[unit.document_id]][unit.start : unit.end]
                for unit in sample.gold
                if unit.document_id in row_of
            )
        )
        for sample in samples
    ]
    return metric.prepare_by_gold(samples, gold, ask)


@dataclass(frozen=True)
class JudgedAnswers(StageGroup):
    """Answers for a judge. Failed answers are not judged, and are counted."""

    answers: Stage[Sequence[Answer]]

    @property
    def exists(self) -> bool:
        """False in a cell without a generator, which has no answers to judge."""
        return not isinstance(self.answers, NoAnswers)

    def read(self, run: Run, n_samples: int) -> tuple[list[str], list[int], list[ScoreState]]:
        """Return the texts, the rows to judge, and the states of the other rows."""
        answers = run.read(self.answers)
        return [answer.text for answer in answers], *rows_to_score(answers)


@dataclass(frozen=True)
class JudgedPassages(StageGroup):
    """Input of a judge that only reads passages, shared by cells with equal contexts."""

    exists: ClassVar[bool] = True

    def read(self, run: Run, n_samples: int) -> tuple[list[str], list[int], list[ScoreState]]:
        """Return empty texts and all rows."""
        return [""] * n_samples, list(range(n_samples)), [ScoreState.VALUE] * n_samples


class JudgedScores(
    Stage[Scoring],
    kind="judged_scores",
    display_name="judging",
    version=4,
    work=Work.BENCHMARK,
    repeats_unreadable=True,
):
    """The judgements of each answer, or of the passages. `draw` numbers repeated judgements."""

    codec = SCORING

    name: str
    metric: JudgedMetric
    interval: Intervals
    samples: Stage[SampleSet]
    passages: AnyPassages
    judged: JudgedAnswers | JudgedPassages
    preparation: PreparedJudge
    draw: int
    n_samples: int = runtime_only(0, "the samples are part of the key")
    n_passages: int = runtime_only(0, "the passages are part of the key")
    """Maximum number of passages in a prompt."""
    part: JudgedPart | None = added_later(None)

    @property
    def request_group(self) -> str:
        """Name of the metric."""
        return self.name

    @property
    def n_requests(self) -> int:
        """Number of requests: the judge's number per sample, times the samples that it may judge."""
        n_judged = _n_drawn(self.part, self.n_samples) if self.judged.exists else 0
        return n_judged * self.metric.n_requests_per_sample(self.n_passages)

    @property
    def n_rounds(self) -> int:
        """Maximum number of rounds per sample: 1, or the number of its requests if the judge asks in rounds."""
        asks_again = getattr(self.metric, "n_rounds", 1) > 1
        return self.metric.n_requests_per_sample(self.n_passages) if asks_again else 1

    def make(self, run: Run) -> Scoring:
        samples = run.read(self.samples).samples
        texts, rows, states = self.judged.read(run, len(samples))
        # requests about samples that count nowhere would cost money
        left_out = self.left_out(samples)
        rows = [row for row in rows if left_out[row] is None]
        states = [reason or state for reason, state in zip(left_out, states, strict=True)]
        passages = list(self.passages.read(run))
        ask = run.ask(self.metric.llm, judge_purpose(self.metric))
        inputs = [JudgeInput(samples[row], texts[row], passages[row]) for row in rows]
        prepared = run.read(self.preparation)
        # the plan needs only the requests, and nothing that this process would compute from the replies
        without_local_models: Callable[[], JudgedMetric] | None = getattr(self.metric, "without_local_models", None)
        metric = without_local_models() if run.only_counts and without_local_models else self.metric
        judgements = metric.judge(inputs, prepared.decisions, _set_draw(ask, self.draw))
        scores = {name: expand_scores(score, rows, states) for name, score in judgements.scores.items()}
        remarks = [""] * len(samples)
        for row, remark in zip(rows, judgements.remarks, strict=True):
            remarks[row] = remark
        result = scoring(samples, [(self.metric, scores)], self.interval)
        table = result.scores.append_column(f"judge/{self.name}", pa.array(remarks, pa.string()))
        usage = {name: total([n, prepared.usage[name]]) for name, n in ask.usage.items()}
        return replace(result, scores=table, usage=usage)

    def left_out(self, samples: Sequence[Sample]) -> list[ScoreState | None]:
        """Return, per sample, the reason why it is never judged, None if it is judged."""
        drawn = self.part.drawn_mask(samples) if self.part else [True] * len(samples)
        return [
            ScoreState.HELD_OUT if sample.held_out else None if is_drawn else ScoreState.NOT_DRAWN
            for sample, is_drawn in zip(samples, drawn, strict=True)
        ]


def _n_drawn(part: JudgedPart | None, n_samples: int) -> int:
    return min(part.n, n_samples) if part else n_samples


def _set_draw(ask: Ask, draw: int) -> Ask:
    """Request this draw of every reply."""
    return lambda requests: ask([replace(request, draw=draw) for request in requests])


@dataclass(frozen=True)
class SharedJudgeInputs:
    """Inputs that all judges of a cell share.

    `n_passages` is the largest number of passages in a prompt. `reported` are the samples; samples that aggregates
    exclude are marked. `part` are the samples to judge, None for all. `documents` have the gold evidence.
    """

    interval: Intervals
    samples: Samples
    reported: Stage[SampleSet]
    passages: AnyPassages
    answers: Stage[Sequence[Answer]]
    n_samples: int
    n_passages: int
    part: JudgedPart | None
    documents: Stage[Documents]


def choose_judged_part(sample: int | None, seed: int, n_samples: int) -> JudgedPart | None:
    """Return the part with `sample` of `n_samples` samples, None for all of them."""
    return JudgedPart(sample, seed) if sample is not None and sample < n_samples else None


def build_judged_scoring(name: str, metric: JudgedMetric, judging: SharedJudgeInputs, draw: int) -> JudgedScores:
    """Return the stage that scores by one judged metric. Decisions about questions are shared by all draws."""
    return JudgedScores(
        name,
        metric,
        judging.interval,
        judging.reported,
        judging.passages,
        JudgedAnswers(judging.answers) if metric.reads_answers else JudgedPassages(),
        PreparedJudge(
            metric,
            judging.samples,
            judging.n_samples,
            judging.part,
            name,
            judging.documents if reads_gold(metric) else None,
        ),
        draw,
        judging.n_samples,
        judging.n_passages,
        judging.part,
    )


def judge_counts(tables: Iterable[pa.Table]) -> dict[str, dict[str, Json]]:
    """Return `{judge: {n_judged, n_unparsable, reasons, commonest}}` of tables of scores with a judge.

    `n_judged` counts the samples to which a metric of the judge applies, including failed requests. `n_unparsable`
    counts the samples without a readable reply. These leave metrics with few samples, or with none. `reasons` and
    `commonest` explain them (see `count_reasons`).
    """
    counts: dict[str, dict[str, Json]] = {}
    for table in tables:
        states = [table[name].to_pylist() for name in table.column_names if name.startswith(_STATE)]
        for name in (name for name in table.column_names if name.startswith(_JUDGE)):
            states_by_sample = [set(sample_states) for sample_states in zip(*states, strict=True)]
            unparsable = [ScoreState.UNPARSABLE in sample_states for sample_states in states_by_sample]
            unread = (reason for reason, is_it in zip(table[name].to_pylist(), unparsable, strict=True) if is_it)
            reasons, commonest = count_reasons(unread)
            counts[name.removeprefix(_JUDGE)] = {
                "n_judged": sum(not sample_states.isdisjoint(_JUDGED) for sample_states in states_by_sample),
                "n_unparsable": sum(unparsable),
                "reasons": reasons,
                "commonest": commonest,
            }
    return counts
