"""Combines human labels of some answers of a sweep with the judge's grades of all answers, cell by cell."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from components.errors import ConfigError, DataError
from components.json_value import Json
from components.judges.graded import Graded
from runner.console.display import one_line
from runner.engine.identity import describe
from runner.engine.plugins.trusted_packages import list_trusted, require_trusted
from runner.labels.agreement.prediction_powered import PredictionPowered, prediction_powered
from runner.labels.label_files import NOT_APPLICABLE, LabelledItem
from runner.pipeline.building import build_component
from runner.pipeline.settings import JudgeSettings
from runner.results import CellResult, cell_folders, read_cell, read_samples

Labels = Mapping[tuple[str, str], float]
"""People's mean grades in [0, 1], by sample id and answer."""


@dataclass(frozen=True)
class CellEstimate:
    """A metric of one cell. `estimate` is None if no answer of the cell has a label."""

    metric: str
    cell: CellResult
    estimate: PredictionPowered | None


def compare_with_labels(
    sweep_dir: Path, graders: Mapping[str, Graded], items: Sequence[LabelledItem]
) -> list[CellEstimate]:
    """Return an estimate for each cell and each metric that grades answers, in the order of the sweep.

    A label belongs to the answer with its id and text, in every cell that gave this answer. Raises DataError if no
    label belongs to an answer of the sweep, ConfigError if a cell was judged by another judge.
    """
    labels = {name: _labels(items, grader) for name, grader in graders.items() if grader.reads_answers}
    results = []
    for folder in cell_folders(sweep_dir):
        cell = read_cell(folder)
        for name, labels_of_metric in labels.items():
            if name in cell.larger_is_better:
                _require_same_judge(cell, graders[name])
                results.append(CellEstimate(name, cell, _estimate(folder, name, labels_of_metric)))
    if not any(result.estimate for result in results):
        n_labels = sum(map(len, labels.values()))
        raise DataError(
            f"{sweep_dir}: none of the {n_labels} labelled answers is a judged answer of this sweep, expected labels "
            "with ids and answers from samples.parquet, for metrics that the sweep's judge computed"
        )
    return results


def cells_by_answer(sweep_dir: Path) -> dict[tuple[str, str], list[str]]:
    """Return the ids of the cells that gave an answer, by sample id and answer, in the order of the sweep."""
    cells: dict[tuple[str, str], list[str]] = {}
    for folder in cell_folders(sweep_dir):
        for row in read_samples(folder, ["id", "answer"]):
            cells.setdefault((row["id"], row["answer"]), []).append(folder.name)
    return cells


def foreign_labels_warning(items: Sequence[LabelledItem], answers: Collection[tuple[str, str]], sweep: Path) -> str:
    """Return a warning about labels of answers that the sweep does not have. "" if it has all.

    `answers` are the sample ids and texts of the sweep's answers.
    """
    answered = [item.judged for item in items if item.has_answer]
    foreign = [judged for judged in answered if (judged.sample.id, judged.answer) not in answers]
    if not foreign:
        return ""
    ids = {sample_id for sample_id, _ in answers}
    n_changed = sum(item.sample.id in ids for item in foreign)
    changed = f", {n_changed} of them with the id of one of its questions" if n_changed else ""
    first = f"{foreign[0].sample.id!r}: {one_line(foreign[0].answer, 80)!r}"
    return (
        f"{len(foreign)} of {len(answered)} labelled answers are not in {sweep.name}{changed}, e.g. "
        f"{first}. The judge grades them as they are in the file, and the estimates of the cells leave them "
        "out. If a spreadsheet changed the texts, write the file again as in docs/judges.md."
    )


def _labels(items: Sequence[LabelledItem], grader: Graded) -> dict[tuple[str, str], float]:
    """Return the mean label of each answer, without labels that say that the metric does not apply."""
    labels: dict[tuple[str, str], list[float]] = {}
    for item in items:
        label = item.labels.get(grader.name, NOT_APPLICABLE)
        if label != NOT_APPLICABLE:
            labels.setdefault((item.judged.sample.id, item.judged.answer), []).append(label / max(grader.grades))
    return {key: sum(values) / len(values) for key, values in labels.items()}


def _require_same_judge(cell: CellResult, grader: Graded) -> None:
    """Raise ConfigError if another judge graded the cell, because its bias differs.

    Also raise it if the judge needs code that the user did not trust.
    """
    require_trusted({"judge": cell.config["judge"]}, f"--sweep: cell {cell.cell_id}")
    settings: JudgeSettings = build_component(cell.config["judge"], JudgeSettings, "judge", list_trusted())
    judges = [score for score in settings.scores.values() if grader.name in score.names]
    used = describe(judges[0]) if len(judges) == 1 else None
    if used != describe(grader):
        raise ConfigError(
            f"--sweep: a judge other than --judge graded {grader.name} of cell {cell.cell_id}. They differ in "
            f"{', '.join(_differences(used, describe(grader))) or 'their number'}. Pass the judge of the sweep, with "
            "its overrides, such as language=en."
        )


def _differences(one: Json, other: Json, name: str = "") -> list[str]:
    """Return the names of fields that two descriptions of components do not share, such as "llm.temperature"."""
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return [] if one == other else [name]
    found = []
    for key in one | other:
        field = key.removeprefix("field ")
        found += _differences(one.get(key), other.get(key), f"{name}.{field}" if name else field)
    return found


def _estimate(folder: Path, metric: str, labels: Labels) -> PredictionPowered | None:
    score = f"score/{metric}"
    rows = [row for row in read_samples(folder, ["id", "answer", "cluster", score]) if row[score] is not None]
    labels_of_rows = np.array([labels.get((row["id"], row["answer"]), np.nan) for row in rows], dtype=np.float64)
    if not np.isfinite(labels_of_rows).any():
        return None
    judged = np.array([row[score] for row in rows], dtype=np.float64)
    return prediction_powered(judged, labels_of_rows, np.array([row["cluster"] for row in rows], dtype=np.int64))
