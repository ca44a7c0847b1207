"""Scores answers and rankings of any system with the metrics of this project."""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from rich.table import Table

from components.errors import ConfigError, DataError
from components.json_value import Json
from components.metrics.bleu_crud import BleuCrud
from components.metrics.interval import Intervals
from components.protocols import AnswerMetric
from components.records import Kind, Sample, Scores, ScoreState, TextsWithUnits
from components.subsets import UNNAMED
from components.text.units import number_units
from runner.console.display import make_console
from runner.console.excluded_samples import excluded_texts
from runner.console.written_files import require_other_files, write_lines
from runner.pipeline.external_scoring.answer_lines import ScoreLine, line_clusters, read_lines
from runner.pipeline.external_scoring.metric_names import Scorer, metrics_by_name
from runner.pipeline.external_scoring.quest_lines import QuestAnswers
from runner.pipeline.scoring.aggregate import ScoredMetric, score_subsets
from runner.pipeline.scoring.score_stages import expand_scores

_EMPTY = "empty"


def run(options: argparse.Namespace) -> int:
    """Score the input and return 0. Raises RagGridError if some input cannot be used."""
    names = _names(options.metrics)
    metrics = metrics_by_name(names, options.language)
    _require_folders(options.out, options.summary)
    require_other_files([options.input], options.out, options.summary)
    lines = read_lines(options.input)
    scored = score_lines(lines, names, metrics)
    write_lines(options.out, (json.dumps(row, ensure_ascii=False) for row in _rows(lines, scored)))
    summary = summarize(scored, lines)
    if options.summary:
        write_lines(options.summary, [json.dumps(summary, ensure_ascii=False, indent=2)])
    _print_summary(summary, len(lines))
    return 0


def _names(argument: str) -> list[str]:
    names = list(dict.fromkeys(name.strip() for name in argument.split(",") if name.strip()))
    if not names:
        raise ConfigError("--metrics: got none, expected comma-separated names, e.g. rouge_l,f1,ndcg@10")
    return names


def score_lines(
    lines: Sequence[ScoreLine], names: Sequence[str], metrics: Mapping[str, Scorer]
) -> dict[str, ScoredMetric]:
    """Return the scores of all lines by metric.

    A line without the fields that a metric reads is NOT_APPLICABLE for it. Raises DataError if no line has these
    fields.
    """
    by_component: dict[int, Mapping[str, ScoredMetric]] = {}
    for name, metric in metrics.items():
        if id(metric) not in by_component:
            score = _score_rankings
            if isinstance(metric, AnswerMetric):
                score = _score_answers
            elif isinstance(metric, QuestAnswers):
                score = _score_quests
            by_component[id(metric)] = {n: ScoredMetric(metric, s) for n, s in score(lines, metric, name).items()}
    return {name: by_component[id(metrics[name])][name] for name in names}


def _score_answers(lines: Sequence[ScoreLine], metric: Scorer, name: str) -> dict[str, Scores]:
    states = [ScoreState.NOT_APPLICABLE if line.answer is None else ScoreState.VALUE for line in lines]
    _require_any(states, name, "prediction and references")
    for row, line in enumerate(lines):
        if line.answer and line.answer.prediction is None:
            states[row] = ScoreState.ANSWER_ERROR
    rows = [row for row, state in enumerate(states) if state is ScoreState.VALUE]
    samples, predictions = [], []
    for row in rows:
        answer = lines[row].answer
        assert answer is not None
        samples.append(
            Sample(
                lines[row].id,
                UNNAMED,
                Kind.QA,
                "",
                answer.references,
                answer_parts=answer.answer_parts,
                answerable=answer.answerable,
                fake_answers=answer.fake_answers,
            )
        )
        predictions.append(answer.prediction or "")
    references = [reference for sample in samples for reference in sample.references]
    scores = metric.score_answers(samples, _texts(metric, predictions), _texts(metric, references))
    return {name: expand_scores(score, rows, states) for name, score in scores.items()}


def _texts(metric: AnswerMetric, texts: Sequence[str]) -> TextsWithUnits:
    return TextsWithUnits(texts, number_units(metric.form.units(texts)) if metric.form else None)


def _score_rankings(lines: Sequence[ScoreLine], metric: Scorer, name: str) -> dict[str, Scores]:
    states = [ScoreState.NOT_APPLICABLE if line.ranking is None else ScoreState.VALUE for line in lines]
    _require_any(states, name, "ranking and relevant")
    ranking_rows = [(row, line.ranking) for row, line in enumerate(lines) if line.ranking is not None]
    scores = metric.score_rankings([r.ranking for _, r in ranking_rows], [r.relevant for _, r in ranking_rows])
    return {name: expand_scores(score, [row for row, _ in ranking_rows], states) for name, score in scores.items()}


def _score_quests(lines: Sequence[ScoreLine], metric: Scorer, name: str) -> dict[str, Scores]:
    states = [ScoreState.NOT_APPLICABLE if line.quest is None else ScoreState.VALUE for line in lines]
    _require_any(states, name, "answers_reference and answers_generated")
    quest_rows = [(row, line.quest) for row, line in enumerate(lines) if line.quest is not None]
    scores = metric.score([quest for _, quest in quest_rows])
    return {name: expand_scores(score, [row for row, _ in quest_rows], states) for name, score in scores.items()}


def _require_any(states: Sequence[ScoreState], name: str, expected: str) -> None:
    if ScoreState.VALUE not in states:
        raise DataError(f"--input: no line has the fields that {name} reads, expected {expected}")


def _rows(lines: Sequence[ScoreLine], scored: Mapping[str, ScoredMetric]) -> Iterator[dict[str, Json]]:
    """Yield one output row per line, with null and a state where there is no value.

    CRUD-RAG's BLEU as published has no value for an empty answer: the answer gets the state "empty", and counts as 0.
    """
    values = {name: scores.values.tolist() for name, (_, scores) in scored.items()}
    for row, line in enumerate(lines):
        yield {
            "id": line.id,
            "scores": {name: None if values[name][row] != values[name][row] else values[name][row] for name in scored},
            "states": {
                name: _EMPTY if _is_unscored_as_published(metric, line) else scores.states[row].value
                for name, (metric, scores) in scored.items()
            },
        }


def _is_unscored_as_published(metric: Scorer, line: ScoreLine) -> bool:
    """Return True if the published code of a metric has no value for this line: an empty answer with a reference."""
    answer = line.answer
    return isinstance(metric, BleuCrud) and answer is not None and answer.prediction == "" and bool(answer.references)


def summarize(scored: Mapping[str, ScoredMetric], lines: Sequence[ScoreLine]) -> dict[str, Json]:
    """Return value, n, n_excluded by state and the 95% confidence interval [low, high] of each metric.

    Includes the method of the interval and the number of clusters of lines that it is computed from. CRUD-RAG's BLEU
    also has the mean without empty answers, as published, and the number of empty answers.
    """
    (entries,) = score_subsets(scored, [list(range(len(lines)))], Intervals(), line_clusters(lines))
    summary = {}
    for name, entry in entries.items():
        summary[name] = {
            "value": entry["value"],
            "n": entry["n"],
            "n_excluded": entry["n_excluded"],
            "interval": [entry["ci_low"], entry["ci_high"]],
            "n_clusters": entry["n_clusters"],
            "method": entry["method"],
        }
        if isinstance(scored[name].metric, BleuCrud):
            summary[name] |= _mean_without_empty(scored[name], lines)
    return summary


def _mean_without_empty(scored: ScoredMetric, lines: Sequence[ScoreLine]) -> dict[str, Json]:
    is_empty = np.array([_is_unscored_as_published(scored.metric, line) for line in lines])
    values = scored.scores.values[~is_empty & ~np.isnan(scored.scores.values)]
    return {"n_empty": int(is_empty.sum()), "value_without_empty": float(values.mean()) if len(values) else None}


def _print_summary(summary: Mapping[str, Mapping[str, Json]], n_lines: int) -> None:
    table = Table(title=f"{n_lines:,} lines", title_justify="left", box=None, padding=(0, 2, 0, 0))
    for column in ("metric", "value", "95% interval", "n", "excluded"):
        table.add_column(column, justify="right" if column in ("value", "n") else "left")
    for name, entry in summary.items():
        low, high = entry["interval"]
        table.add_row(
            name,
            "–" if entry["value"] is None else f"{entry['value']:.4f}",
            "–" if low is None else f"{low:.4f} to {high:.4f}",
            f"{entry['n']:,}",
            ", ".join(excluded_texts(entry["n_excluded"])),
        )
    make_console().print(table)


def _require_folders(*paths: Path | None) -> None:
    """Raise DataError for paths without a folder."""
    for path in filter(None, paths):
        if not path.parent.is_dir():
            raise DataError(f"{path}: the folder {path.parent} does not exist. Create it, or choose another path.")
