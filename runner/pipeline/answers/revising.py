"""Stages that check answers against their passages, and change them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import pyarrow as pa

from components.fields import runtime_only
from components.json_value import Json
from components.protocols import LLM, AnswersFrom, AnyReviser, Ask, Reviser, UnrevisedAnswers
from components.records import Answer, AnswerCheck, AnswerState, AskedText, JudgeInput, Request, Sample
from components.revisers.scores import verdict_text
from components.revisers.support_check import PURPOSE
from components.secrets.mask import shorten_masked
from runner.engine.broken_contracts import contract_error
from runner.engine.codecs import Parts
from runner.engine.stage import Stage, StageGroup, Work
from runner.engine.stage_run import Run
from runner.pipeline.answers.answer_stages import AnswersCodec
from runner.pipeline.answers.prompt_passages import PromptPassages
from runner.pipeline.corpus.loaded_data import SampleSet
from runner.pipeline.corpus.reply_counts import ReplyCounts, model_problems, reply_counts, step_counts

REVISER = "reviser"
"""Name of the counts of a reviser. They are listed with the counts of judges."""

_SHOWN_CHARACTERS = 200


@dataclass(frozen=True)
class Revisions:
    """The answers after a reviser, and the checks before it, one per sample.

    An answer has the tokens of the first answer, and the latency of all requests. `replies` and `usage` count the
    requests of the reviser.
    """

    answers: Sequence[Answer]
    checks: Sequence[AnswerCheck]
    replies: Mapping[str, Json]
    usage: Mapping[str, int | None]


class RevisionsCodec:
    """Stores answers as `AnswersCodec` does, and the rest as JSON."""

    def encode(self, result: Revisions) -> Parts:
        rest = {"replies": dict(result.replies), "usage": dict(result.usage)}
        return {**AnswersCodec().encode(result.answers), "checks": [asdict(check) for check in result.checks], **rest}

    def decode(self, parts: Parts) -> Revisions:
        checks = [
            AnswerCheck(**{**raw, "unsupported": tuple(raw["unsupported"]), "missing": tuple(raw["missing"])})
            for raw in parts["checks"]
        ]
        return Revisions(AnswersCodec().decode(parts), checks, parts["replies"], parts["usage"])


class Revised(Stage[Revisions], kind="revisions", version=1, work=Work.ASKING, repeats_unreadable=True):
    """The checks of all answers that have a text, and the answers that follow from them."""

    codec = RevisionsCodec()

    reviser: Reviser
    samples: Stage[SampleSet]
    passages: PromptPassages
    answers: Stage[Sequence[Answer]]
    n_samples: int = runtime_only(0, "the samples are part of the key")

    @property
    def n_requests(self) -> int:
        """Number of requests: the reviser's number per sample, at most."""
        return self.n_samples * self.reviser.n_requests

    @property
    def n_rounds(self) -> int:
        """Number of requests about one answer, each after the reply to the last."""
        return self.reviser.n_requests

    def make(self, run: Run) -> Revisions:
        """Check the answers, and revise those with a finding. Each reply is stored as it arrives, by request."""
        samples, answers = run.read(self.samples).samples, list(run.read(self.answers))
        passages = list(self.passages.read(run))
        items = {
            row: JudgeInput(samples[row], answer.text, passages[row])
            for row, answer in enumerate(answers)
            if answer.state in (AnswerState.OK, AnswerState.TRUNCATED) and answer.text.strip()
        }
        asking, seconds = run.ask(self.reviser.llm, PURPOSE), defaultdict[str, float](float)
        ask = _record_seconds(asking, seconds)
        checks = dict(zip(items, self._check_answers(list(items.values()), ask), strict=True))
        rows_to_revise = [row for row, check in checks.items() if check.unsupported or check.missing]
        texts = self._revise([items[row] for row in rows_to_revise], [checks[row] for row in rows_to_revise], ask)
        for row, text in zip(rows_to_revise, texts, strict=True):
            if text.text:
                answers[row] = replace(answers[row], text=text.text, state=AnswerState.OK)
        return Revisions(
            [
                replace(answer, latency_s=answer.latency_s + seconds[sample.id])
                for sample, answer in zip(samples, answers, strict=True)
            ],
            [checks.get(row, AnswerCheck(None)) for row in range(len(samples))],
            reply_counts([*checks.values(), *texts], len(items)),
            dict(asking.usage),
        )

    def _check_answers(self, items: Sequence[JudgeInput], ask: Ask) -> Sequence[AnswerCheck]:
        checks = self.reviser.check_answers(items, ask)
        if not _are_all(AnswerCheck, checks, len(items)) or not all(map(_is_valid, checks)):
            raise contract_error(
                self.reviser,
                f"check_answers returned {shorten_masked(repr(checks), _SHOWN_CHARACTERS)}, expected a list of "
                f"{len(items)} AnswerCheck: true, false or None, strings, and tuples of strings",
            )
        return checks

    def _revise(self, items: Sequence[JudgeInput], checks: Sequence[AnswerCheck], ask: Ask) -> Sequence[AskedText]:
        texts = self.reviser.revise(items, checks, ask) if items else []
        if not _are_all(AskedText, texts, len(items)) or not all(_are_texts(vars(text).values()) for text in texts):
            raise contract_error(
                self.reviser,
                f"revise returned {shorten_masked(repr(texts), _SHOWN_CHARACTERS)}, expected a list of {len(items)} "
                "AskedText",
            )
        return texts


def _are_all(kind: type, items: object, n: int) -> bool:
    return isinstance(items, list) and len(items) == n and all(isinstance(item, kind) for item in items)


def _is_valid(check: AnswerCheck) -> bool:
    """Return True for fields of their types, which a custom class may violate."""
    lists: Sequence[object] = (check.unsupported, check.missing)
    are_texts = all(isinstance(texts, tuple) and _are_texts(texts) for texts in lists)
    return isinstance(check.supported, bool | None) and are_texts and _are_texts((check.unread, check.failed))


def _are_texts(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) for value in values)


def _record_seconds(ask: Ask, seconds: dict[str, float]) -> Ask:
    """Return `ask` that adds the latency of each reply to the `seconds` of its sample."""

    def timed_ask(requests: Sequence[Request]) -> list[Answer]:
        replies = ask(requests)
        for request, reply in zip(requests, replies, strict=True):
            seconds[request.sample.id] += reply.latency_s
        return replies

    return timed_ask


class RevisedAnswers(Stage[Sequence[Answer]], kind="revised_answers", version=1, work=Work.ASKING):
    """Only the answers of revisions, for stages that read answers."""

    codec = AnswersCodec()

    revised: Revised

    def make(self, run: Run) -> Sequence[Answer]:
        """Return the answers after the reviser."""
        return run.read(self.revised).answers


def unrevised_answers(answers: Stage[Sequence[Answer]]) -> Stage[Sequence[Answer]]:
    """Return the stage of the answers before a reviser."""
    return answers.revised.answers if isinstance(answers, RevisedAnswers) else answers


@dataclass(frozen=True)
class Revision:
    """An answer before and after the reviser, and the check in between."""

    first: Answer
    check: AnswerCheck
    answer: Answer


@dataclass(frozen=True)
class RevisedPart(StageGroup):
    """The revisions of all samples, or of one turn of all conversations, with the `first` answers."""

    revised: Revised
    first: Stage[Sequence[Answer]]

    def revisions_by_sample(self, run: Run) -> dict[str, Revision]:
        """Return the revisions by the ids of their samples."""
        revised = run.read(self.revised)
        parts = zip(run.read(self.first), revised.checks, revised.answers, strict=True)
        return {first.request_id: Revision(first, check, answer) for first, check, answer in parts}


def build_revised_parts(
    reviser: AnyReviser,
    samples: Stage[SampleSet],
    passages: PromptPassages,
    answers: Stage[Sequence[Answer]],
    n_samples: int,
) -> tuple[RevisedPart, ...]:
    """Return the revisions of some answers; () if the reviser changes nothing."""
    if isinstance(reviser, UnrevisedAnswers):
        return ()
    return (RevisedPart(Revised(reviser, samples, passages, answers, n_samples), answers),)


def read_revisions(run: Run, parts: Sequence[RevisedPart]) -> dict[str, Revision]:
    """Return the revisions of all parts by the ids of their samples."""
    return {sample_id: revision for part in parts for sample_id, revision in part.revisions_by_sample(run).items()}


def revision_columns(run: Run, parts: Sequence[RevisedPart], samples: Sequence[Sample]) -> dict[str, pa.Array]:
    """Return the columns `first_answer` and `check` of the table of samples, or {} if the cell has no reviser."""
    if not parts:
        return {}
    revisions = read_revisions(run, parts)
    rows = [revisions.get(sample.id) for sample in samples]
    return {
        "first_answer": pa.array([revision.first.text if revision else "" for revision in rows], pa.large_string()),
        "check": pa.array([verdict_text(revision.check) if revision else "" for revision in rows], pa.large_string()),
    }


def reviser_counts(run: Run, parts: Sequence[RevisedPart]) -> dict[str, ReplyCounts]:
    """Return the counts of a reviser, by REVISER, or {} if the cell has no reviser."""
    return step_counts(REVISER, [run.read(part.revised) for part in parts])


def reviser_problems(reviser: AnyReviser, llm: LLM) -> list[str]:
    """Return an error message for a reviser with another kind of model than a language model. Without an `llm` that
    answers, there is nothing to revise.
    """
    if not isinstance(reviser, Reviser) or llm.answers_from is AnswersFrom.NOTHING:
        return []
    return model_problems(REVISER, "checks", [reviser.llm])
