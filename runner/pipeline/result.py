"""The last stage of a cell: its metrics, and one table with everything about every sample."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
import pyarrow as pa

from components.clusters import Groups, number_clusters
from components.fields import added_later
from components.json_value import Json
from components.records import Answer, AnswerState, ErrorClass, Sample, ScoreState
from components.secrets.mask import current_mask
from runner.engine.ask import total
from runner.engine.checked_answers import safe_answer
from runner.engine.codecs import Columns
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.answers.answer_stages import Answers, Prompts, count_usage
from runner.pipeline.answers.generating import Generation
from runner.pipeline.answers.pipeline_replies import PipelineAnswers
from runner.pipeline.answers.revising import RevisedPart, reviser_counts, revision_columns, unrevised_answers
from runner.pipeline.corpus.loaded_data import SampleSet
from runner.pipeline.corpus.reply_counts import ReplyCounts
from runner.pipeline.retrieval_result import NothingRetrieved, PipelineRetrieved, Retrieved
from runner.pipeline.scoring.judging import JudgedScores, judge_counts
from runner.pipeline.scoring.score_stages import Scoring


@dataclass(frozen=True)
class CellSummary:
    """Metrics and counts of a cell, and its table of samples.

    `summary` is JSON: metrics, counts (answers by state, failures by kind, judge replies, truncated texts), reports of
    steps, tokens, the commonest errors, notes and labels. `samples` has a row per sample.
    """

    summary: Mapping[str, Json]
    samples: pa.Table


class Result(Stage[CellSummary], kind="result", version=18, work=Work.BENCHMARK):
    """All results of a cell."""

    codec = Columns(CellSummary)

    samples: Stage[SampleSet]
    retrieved: Retrieved | NothingRetrieved | PipelineRetrieved
    prompts: tuple[Prompts, ...]
    answers: Stage[Sequence[Answer]]
    scorings: tuple[Stage[Scoring], ...]
    generation: tuple[Stage[Generation], ...] = added_later(())
    """Answers that took several requests each, if any. `prompts` is then empty."""
    groups: Groups = added_later(Groups.DOCUMENT)
    revised: tuple[RevisedPart, ...] = added_later(())
    """Revisions that the answers come from, if any."""

    def make(self, run: Run) -> CellSummary:
        """Join the metrics of all scoring stages, and build one table of all samples."""
        sample_set = run.read(self.samples)
        samples, labels = sample_set.samples, sample_set.labels
        answers = run.read(self.answers)
        scorings = [run.read(stage) for stage in self.scorings]
        step_counts = {**self.retrieved.count_replies(run), **reviser_counts(run, self.revised)}
        columns = {
            **_sample_columns(samples),
            "cluster": pa.array(number_clusters(samples, self.groups), pa.int64()),
            **self.retrieved.columns(run, samples),
            "prompt": self._prompts(run, len(samples)),
            **_answer_columns(answers),
            **self._paths(run),
            **revision_columns(run, self.revised, samples),
        }
        metrics: dict[str, dict[str, Json]] = {}
        for scoring in scorings:
            for subset, values in scoring.metrics.items():
                metrics.setdefault(subset, {}).update(values)
            columns.update({name: scoring.scores[name] for name in scoring.scores.column_names})
        summary = {
            "metrics": metrics,
            "counts": dict(sorted(Counter(answer.state.value for answer in answers).items())),
            "errors": _errors_by_class(answers),
            "judges": {
                **judge_counts(scoring.scores for scoring in scorings),
                **{name: dict(counts.replies) for name, counts in step_counts.items()},
            },
            "n_samples": len(samples),
            "tokens": _tokens(answers, scorings, step_counts),
            "usage": self._usage(run, answers, scorings, step_counts),
            "latency_s": _latency_s(answers),
            "commonest_errors": _commonest_errors(columns),
            "notes": self.retrieved.notes(run),
            "cut_texts": self.retrieved.cut_texts(run),
            "labels": {slug: labels[slug] for slug in _slugs(samples) if slug in labels},
        }
        if steps := self.retrieved.steps(run):
            summary["steps"] = steps
        return CellSummary(summary, pa.table(columns))

    def _usage(
        self, run: Run, answers: Sequence[Answer], scorings: Iterable[Scoring], step_counts: Mapping[str, ReplyCounts]
    ) -> dict[str, Mapping[str, int | None]]:
        """Return the requests and tokens that the cell takes when nothing is cached.

        Counts the answers, every judge ("judge/<name>"), and all other steps with a language model.
        """
        usage = {name: counts.usage for name, counts in step_counts.items()}
        if isinstance(unrevised_answers(self.answers), Answers | PipelineAnswers):
            usage["answers"] = count_usage(answers)
        for generation in self.generation:
            usage["answers"] = run.read(generation).usage
        for stage, scoring in zip(self.scorings, scorings, strict=True):
            if isinstance(stage, JudgedScores):
                usage[f"judge/{stage.name}"] = scoring.usage
        return usage

    def _prompts(self, run: Run, n_samples: int) -> pa.Array:
        """Return the prompt of each sample, from its last request. "" if no request was sent."""
        prompt_lists = [run.read(stage) for stage in self.prompts] + [
            run.read(stage).prompts for stage in self.generation
        ]
        texts = [
            "\n\n".join(message.content for message in messages) for prompts in prompt_lists for messages in prompts
        ]
        return pa.array(texts or [""] * n_samples, pa.large_string())

    def _paths(self, run: Run) -> dict[str, pa.Array]:
        """Return the path by which each answer was generated, if the generator has several ways."""
        paths = [run.read(stage).paths for stage in self.generation]
        return {"generation": pa.array(paths[0], pa.string())} if paths else {}


def _tokens(
    answers: Sequence[Answer], scorings: Iterable[Scoring], step_counts: Mapping[str, ReplyCounts]
) -> dict[str, int | None]:
    """Sum the tokens that the models' providers counted. None if some answer was not counted."""
    tokens = {
        "prompt": total([answer.n_prompt_tokens for answer in answers]),
        "completion": total([answer.n_completion_tokens for answer in answers]),
        "reasoning": total([answer.n_reasoning_tokens for answer in answers]),
    }
    usages = {
        "judge": [scoring.usage for scoring in scorings if scoring.usage],
        **{name: [counts.usage] for name, counts in step_counts.items()},
    }
    for role, role_counts in usages.items():
        if role_counts:
            for name in ("prompt", "completion"):
                tokens[f"{role}_{name}"] = total([usage[f"n_{name}_tokens"] for usage in role_counts])
    return tokens


def _errors_by_class(answers: Sequence[Answer]) -> dict[str, int]:
    """Count failed answers by kind of failure, commonest first."""
    failed = [answer.error_class or ErrorClass.OTHER for answer in answers if answer.state is AnswerState.ERROR]
    return {name.value: n for name, n in sorted(Counter(failed).items(), key=lambda item: (-item[1], item[0]))}


def _latency_s(answers: Sequence[Answer]) -> dict[str, float]:
    """Return the median (`p50`) and the 95th percentile (`p95`) of the latencies of successful answers.

    Return {} if no answer was successful.
    """
    came = [answer.latency_s for answer in answers if answer.state not in (AnswerState.ERROR, AnswerState.NOT_ASKED)]
    if not came:
        return {}
    p50, p95 = np.quantile(came, [0.5, 0.95]).tolist()
    return {"p50": p50, "p95": p95}


def _commonest_errors(columns: Mapping[str, pa.Array]) -> dict[str, str]:
    """Return the commonest error of the answers ("answers"), and of the judgements of each metric, by its name."""
    errors = {"answers": [error for error in columns["error"].to_pylist() if error]}
    judges = [name.removeprefix("judge/") for name in columns if name.startswith("judge/")]
    for metric in (name.removeprefix("score_state/") for name in columns if name.startswith("score_state/")):
        metric_judges = [judge for judge in judges if f"{metric}_".startswith(f"{judge}_")]
        if metric_judges:
            states = columns[f"score_state/{metric}"].to_pylist()
            remarks = columns[f"judge/{max(metric_judges, key=len)}"].to_pylist()
            errors[metric] = [r for r, state in zip(remarks, states, strict=True) if state == ScoreState.FAILED]
    return {what: Counter(messages).most_common(1)[0][0] for what, messages in errors.items() if messages}


def _slugs(samples: Iterable[Sample]) -> list[str]:
    """Return the distinct subsets, topics and tasks of the samples."""
    slugs = [slug for sample in samples for slug in (sample.subset, sample.topic, sample.task) if slug]
    return list(dict.fromkeys(slugs))


def _sample_columns(samples: Sequence[Sample]) -> dict[str, pa.Array]:
    history = [json.dumps([vars(turn) for turn in sample.history], ensure_ascii=False) for sample in samples]
    return {
        "id": pa.array([sample.id for sample in samples], pa.string()),
        "subset": pa.array([sample.subset for sample in samples], pa.string()),
        "kind": pa.array([sample.kind.value for sample in samples], pa.string()),
        "topic": pa.array([sample.topic for sample in samples], pa.string()),
        "task": pa.array([sample.task for sample in samples], pa.string()),
        "question": pa.array([sample.question for sample in samples], pa.string()),
        "history": pa.array(history, pa.string()),
        "references": pa.array([list(sample.references) for sample in samples], pa.list_(pa.string())),
        "answer_parts": pa.array([sample.answer_parts for sample in samples], pa.list_(pa.list_(pa.string()))),
        "answerable": pa.array([sample.answerable for sample in samples], pa.bool_()),
    }


def _answer_columns(answers: Sequence[Answer]) -> dict[str, pa.Array]:
    types = {
        "n_prompt_tokens": pa.int64(),
        "n_completion_tokens": pa.int64(),
        "n_reasoning_tokens": pa.int64(),
        "n_cached_tokens": pa.int64(),
        "latency_s": pa.float64(),
    }
    mask = current_mask()  # a reply in an older store may contain an API key
    answers = [safe_answer(answer, mask) for answer in answers]
    names = {"text": "answer", "request_id": ""}
    columns = {
        names.get(field.name, field.name): pa.array(
            [getattr(answer, field.name) for answer in answers], types.get(field.name, pa.string())
        )
        for field in fields(Answer)
    }
    del columns[""]
    return columns
