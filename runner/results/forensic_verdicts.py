"""Explains why each sample of a cell failed, from its stored results and the rules of `components.forensics`."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from components.errors import DataError
from components.forensics.outcomes import RELATIVE_KINDS
from components.forensics.stages import THETA, EvidenceStage
from components.forensics.verdicts import COLUMNS, FAITHFULNESS, ExaminedSample, PromptTexts, Verdict, examine
from components.json_value import Json
from runner.results.cell_result import CellResult
from runner.results.hit_texts import corpus_texts, read_hit_texts, read_hits
from runner.results.loaded_sweep import LoadedSweep
from runner.results.metric_components import larger_is_better
from runner.results.samples_file import read_column_names, read_samples

_METRICS_OF_LONG_TEXTS = ("rouge_l", "rouge_l_crud_compat", "rouge_l_omnieval_compat", "bert_score", "f1")
"""Metrics that compare long answers, by preference. The first that a sweep has is used."""


@dataclass(frozen=True)
class SampleVerdict:
    """The verdict on one sample."""

    id: str
    subset: str
    topic: str | None
    task: str | None
    verdict: Verdict


def sample_verdicts(sweep: LoadedSweep, cell: CellResult, theta: float = THETA) -> list[SampleVerdict]:
    """Return the verdict on each sample of a cell, in the order of its table.

    Long answers are compared with the answers of the sweep's other cells. Raises DataError for a cell without a table
    of samples, or with a table of another version.
    """
    folder = sweep.folder_of(cell)
    metric = metric_of_long_texts(sweep.cells)
    scored = [f"score/{metric}"] if cell.value(metric) is not None else []
    judged = [FAITHFULNESS] if cell.value(FAITHFULNESS.removeprefix("score/")) is not None else []
    rows = _read(folder, ["id", "subset", "topic", "task", *COLUMNS, *scored, *judged])
    valued = tuple(sweep.folder_of(other) for other in sweep.cells if other.value(metric) is not None)
    low_below = _lower_quartiles(valued, metric) if scored else {}
    top_k = read_top_k(cell)

    def examined_row(row: Mapping[str, Json]) -> ExaminedSample:
        return examine(row, top_k, row[scored[0]] if scored else None, low_below.get(row["subset"]), theta)

    examined = list(map(examined_row, rows))
    cut = [index for index, sample in enumerate(examined) if sample.stage.stage is EvidenceStage.CUT]
    for index, hits in zip(cut, read_hits(folder, cut) if cut else [], strict=True):
        examined[index] = examined_row({**rows[index], "retrieved": hits})
    texts = _prompt_texts(examined, rows, cell, folder)
    return [
        SampleVerdict(row["id"], row["subset"], row["topic"], row["task"], sample.verdict(texts.get(index)))
        for index, (row, sample) in enumerate(zip(rows, examined, strict=True))
    ]


def read_top_k(cell: CellResult) -> int:
    """Return the largest number of hits in a prompt of a cell. A custom pipeline has no limit."""
    if cell.has_own_pipeline:
        return sys.maxsize
    return int(cell.config.get("top_k", 0))


def metric_of_long_texts(cells: Iterable[CellResult]) -> str:
    """Return the metric that compares long answers, "" if the sweep has none."""
    cells = tuple(cells)
    return next((name for name in _METRICS_OF_LONG_TEXTS if larger_is_better(name, cells)), "")


def _read(folder: Path, columns: Sequence[str]) -> list[dict[str, Json]]:
    path = folder / "samples.parquet"
    if "found_gold" not in read_column_names(folder):
        raise DataError(
            f"{path}: has no column found_gold, as another version wrote it. Run the sweep's command again: "
            "finished work is cached."
        )
    return read_samples(folder, columns)


@lru_cache(maxsize=8)
def _lower_quartiles(folders: tuple[Path, ...], metric: str) -> Mapping[str, float]:
    """Return the lower quartile of the scores of long answers by subset, over all of these cells.

    Cached, because finished cells do not change.
    """
    scores: dict[str, list[float]] = {}
    score = f"score/{metric}"
    for folder in folders:
        for row in read_samples(folder, ["subset", "kind", score]):
            if row["kind"] in RELATIVE_KINDS and row[score] is not None:
                scores.setdefault(row["subset"], []).append(row[score])
    return {subset: float(np.quantile(values, 0.25)) for subset, values in scores.items()}


def _prompt_texts(
    examined: Sequence[ExaminedSample], rows: Sequence[Mapping[str, Json]], cell: CellResult, folder: Path
) -> dict[int, PromptTexts]:
    """Return the texts of the samples that need them, by place of the sample. Empty if the texts are no longer
    stored.
    """
    needed = [index for index, sample in enumerate(examined) if sample.needs_texts]
    if not needed:
        return {}
    try:
        corpus = corpus_texts(cell, folder.parent)
    except DataError:
        return {}  # the verdicts mention the missing texts
    texts = {}
    for index, hits in zip(needed, read_hits(folder, needed), strict=True):
        in_prompt = [hit for hit in hits if hit["in_context"]]
        holds_gold = {piece["rank"] for piece in rows[index]["found_gold"]}
        texts[index] = PromptTexts(
            read_hit_texts([hit for hit in in_prompt if hit["rank"] in holds_gold], corpus),
            read_hit_texts([hit for hit in in_prompt if hit["rank"] not in holds_gold], corpus),
        )
    return texts
