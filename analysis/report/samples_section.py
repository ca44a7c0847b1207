"""Section: single samples with their hits and gold, compared between two cells."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analysis.report.answer_section import ReportAnswer
from analysis.report.failures_section import cells_to_examine, pair
from analysis.report.report_input import ReportSource
from analysis.report.sample_classes import CLASSES
from analysis.samples.stories import find_corpus_texts
from components.errors import DataError
from components.json_value import Json
from components.subsets import UNNAMED
from runner.results import CellResult, CorpusTexts, is_corpus_metric, read_hits, read_samples

if TYPE_CHECKING:
    import pandas as pd

N_WORST, N_DIFFERENT = 24, 20
"""Numbers of shown samples: the lowest scores, subsets in turn, and the largest differences. One sample of each class
is added.
"""
MAX_CHARACTERS, MAX_HITS, MAX_GOLD_UNITS = 600, 4, 4
_COLUMNS = ("id", "subset", "topic", "task", "question", "references", "gold", "answer", "state", "error")
_AROUND_GOLD = 80


@dataclass(frozen=True)
class Text:
    """A text as the page shows it: alternating plain and marked pieces, and the number of omitted characters."""

    pieces: tuple[str, ...]
    n_cut: int = 0


@dataclass(frozen=True)
class Hit:
    """A hit: its span, its text (None if texts are not stored), and whether it is gold and in the prompt."""

    rank: int
    place: str
    text: Text | None
    is_gold: bool
    in_context: bool


@dataclass(frozen=True)
class SampleAnswer:
    """A cell's result for a sample.

    `score` is None if the metric has no value. `rank_needed` is the rank down to which the hits contain the gold, None
    if all of them together do not.
    """

    cell: str
    class_name: str
    doubts: str
    score: float | None
    rank_needed: int | None
    stage: str
    answer: Text
    hits: tuple[Hit, ...]
    n_more_hits: int


@dataclass(frozen=True)
class SampleView:
    """A sample, the reason for showing it, and its results in the cell to take and in the cell compared with it."""

    id: str
    subset: str
    topic: str
    task: str
    why: str
    question: Text
    references: tuple[Text, ...]
    gold: tuple[tuple[str, Text | None], ...]
    answers: tuple[SampleAnswer, ...]
    difference: float | None


@dataclass(frozen=True)
class SamplesSection:
    """A selection of the `n` samples, by `metric`. `cells` are the names of the compared cells."""

    metric: str
    n: int
    cells: tuple[str, ...]
    cell_ids: tuple[str, ...]
    has_texts: bool
    views: tuple[SampleView, ...]

    @property
    def classes(self) -> list[str]:
        """The classes of the shown samples in the cell to take."""
        shown_classes = {view.answers[0].class_name for view in self.views}
        return [name for name in CLASSES if name in shown_classes]


def gather(source: ReportSource, answer: ReportAnswer) -> SamplesSection | None:
    """Return the section; None if no cell has results, or if the results of an earlier version lack the gold."""
    if not answer.take:
        return None
    take, other = pair(source, answer, cells_to_examine(source, answer))
    cells = [take, *([other] if other else [])]
    try:
        tables = [_CellSamples(source, cell) for cell in cells]
    except DataError:  # the section of failures reports the reason
        return None
    metric = tables[0].metric
    reasons = _choose(tables)
    corpus = find_corpus_texts(source.sweep, take)
    hits = [_read_hits(source, each, reasons) for each in tables]
    views = [_view(source, sample_id, why, tables, hits, corpus) for sample_id, why in reasons.items()]
    names = tuple(source.names.short_name(cell) for cell in cells)
    return SamplesSection(
        metric, len(tables[0].rows), names, tuple(cell.cell_id for cell in cells), corpus is not None, tuple(views)
    )


class _CellSamples:
    """The stored results of a cell by sample id."""

    def __init__(self, source: ReportSource, cell: CellResult) -> None:
        self.cell = cell
        self.verdicts: dict[str, dict[str, Json]] = _by_id(source.verdicts(cell))
        self.metric = _metric_of_samples(source, cell)
        score = [f"score/{self.metric}"] if self.metric else []
        rows = read_samples(source.sweep.folder_of(cell), [*_COLUMNS, *score])
        self.rows: dict[str, Mapping[str, Json]] = {row["id"]: row for row in rows}
        self.places = {row["id"]: index for index, row in enumerate(rows)}

    def score(self, sample_id: str) -> float | None:
        value = self.rows[sample_id].get(f"score/{self.metric}") if sample_id in self.rows else None
        return None if value is None else float(value)

    def class_name(self, sample_id: str) -> str:
        return str(self.verdicts[sample_id]["class"])


def _by_id(frame: "pd.DataFrame") -> dict[str, dict[str, Json]]:
    """Return the rows by sample id, with None for missing values."""
    indexed = frame.set_index("id")
    ranks = indexed["rank_needed"].astype(object).where(indexed["rank_needed"].notna(), None)
    verdicts: dict[str, dict[str, Json]] = indexed.assign(rank_needed=ranks).to_dict("index")
    return verdicts


def _metric_of_samples(source: ReportSource, cell: CellResult) -> str:
    """Return the first metric of the report with values for single samples, which metrics of a whole corpus lack."""
    for metric in source.metrics:
        if metric.value(cell) is not None and not is_corpus_metric(source.sweep.folder_of(cell), metric.metric):
            return metric.metric
    return ""


def _choose(tables: Sequence[_CellSamples]) -> dict[str, str]:
    """Return the ids of the samples to show, with the reason.

    They are one sample of each class, the worst samples with subsets in turn, and the samples that differ most.
    """
    first = tables[0]
    scored = [(score, sample_id) for sample_id in first.rows if (score := first.score(sample_id)) is not None]
    by_score = [sample_id for _, sample_id in sorted(scored)]
    ascending = [*by_score, *(sample_id for sample_id in first.rows if first.score(sample_id) is None)]
    chosen: dict[str, str] = {}
    for name in CLASSES:
        members = [sample_id for sample_id in ascending if first.class_name(sample_id) == name]
        members.sort(key=lambda sample_id: bool(first.verdicts[sample_id]["doubts"]))
        for sample_id in members[:1]:
            chosen.setdefault(sample_id, "an example of its class")
    for sample_id in _take_turns(ascending, first, N_WORST):
        chosen.setdefault(sample_id, "among the lowest scores of its subset")
    if len(tables) > 1:
        apart = {sample_id: gap for sample_id in first.rows if (gap := _difference(tables, sample_id))}
        for sample_id in sorted(apart, key=lambda sample_id: -abs(apart[sample_id]))[:N_DIFFERENT]:
            chosen.setdefault(sample_id, "among the largest differences between the two cells")
    return chosen


def _take_turns(ascending: Sequence[str], table: _CellSamples, n: int) -> list[str]:
    """Return the first of every subset, then the second of every subset, and so on."""
    by_subset: dict[str, list[str]] = {}
    for sample_id in ascending:
        by_subset.setdefault(table.rows[sample_id]["subset"], []).append(sample_id)
    turns = sorted((turn, i, ids[turn]) for i, ids in enumerate(by_subset.values()) for turn in range(len(ids)))
    return [sample_id for _, _, sample_id in turns[:n]]


def _difference(tables: Sequence[_CellSamples], sample_id: str) -> float | None:
    """Return the score of the cell to take minus the score of the other cell, or None if a score is missing."""
    scores = [each.score(sample_id) for each in tables]
    return None if len(scores) < 2 or scores[0] is None or scores[1] is None else scores[0] - scores[1]


def _read_hits(
    source: ReportSource, table: _CellSamples, sample_ids: Iterable[str]
) -> dict[str, list[dict[str, Json]]]:
    present = [sample_id for sample_id in sample_ids if sample_id in table.places]
    hits = read_hits(source.sweep.folder_of(table.cell), [table.places[sample_id] for sample_id in present])
    return dict(zip(present, hits, strict=True))


def _view(
    source: ReportSource,
    sample_id: str,
    why: str,
    tables: Sequence[_CellSamples],
    hits: Sequence[Mapping[str, list[dict[str, Json]]]],
    corpus: CorpusTexts | None,
) -> SampleView:
    row = tables[0].rows[sample_id]
    labels = tables[0].cell.dataset.get("labels", {})
    return SampleView(
        sample_id,
        "" if row["subset"] == UNNAMED else str(labels.get(row["subset"], row["subset"])),
        str(labels.get(row["topic"], row["topic"]) or ""),
        str(labels.get(row["task"], row["task"]) or ""),
        why,
        shorten_around(row["question"]),
        tuple(shorten_around(text) for text in row["references"][:2]),
        tuple((_place(unit), _text(unit, corpus, [])) for unit in row["gold"][:MAX_GOLD_UNITS]),
        tuple(
            _answer(source, each, hits_by_id.get(sample_id, []), sample_id, corpus)
            for each, hits_by_id in zip(tables, hits, strict=True)
            if sample_id in each.rows
        ),
        _difference(tables, sample_id),
    )


def _answer(
    source: ReportSource,
    table: _CellSamples,
    hits: Sequence[Mapping[str, Json]],
    sample_id: str,
    corpus: CorpusTexts | None,
) -> SampleAnswer:
    row, verdict = table.rows[sample_id], table.verdicts[sample_id]
    shown_hits = _hits_to_show(hits)
    return SampleAnswer(
        source.names.short_name(table.cell),
        table.class_name(sample_id),
        verdict["doubts"],
        table.score(sample_id),
        verdict["rank_needed"],
        verdict["stage"],
        shorten_around(row["answer"] or row["error"] or ""),
        tuple(
            Hit(
                int(hit["rank"]),
                _place(hit),
                _text(hit, corpus, row["gold"]),
                bool(hit["gold_grade"]),
                bool(hit["in_context"]),
            )
            for hit in shown_hits
        ),
        len(hits) - len(shown_hits),
    )


def _hits_to_show(hits: Sequence[Mapping[str, Json]]) -> list[Mapping[str, Json]]:
    """Return the first hits, and the first hit with gold if it is below them."""
    first = list(hits[:MAX_HITS])
    if any(hit["gold_grade"] for hit in first):
        return first
    return [*first[: MAX_HITS - 1], *[hit for hit in hits if hit["gold_grade"]][:1]] if len(hits) > MAX_HITS else first


def _place(unit: Mapping[str, Json]) -> str:
    """Return e.g. "news2-05-b:115-152"; only the document for a whole document."""
    return unit["document_id"] if unit["start"] is None else f"{unit['document_id']}:{unit['start']}-{unit['end']}"


def _text(unit: Mapping[str, Json], corpus: CorpusTexts | None, gold: Sequence[Mapping[str, Json]]) -> Text | None:
    """Return the unit's text, with the gold in it marked."""
    if corpus is None:
        return None
    try:
        whole = corpus.text(unit["document_id"], unit["start"], unit["end"])
    except DataError:  # gold outside the corpus has no text
        return None
    start = unit["start"] or 0
    spans = [
        (max(gold_unit["start"] - start, 0), min(gold_unit["end"] - start, len(whole)))
        for gold_unit in gold
        if gold_unit["document_id"] == unit["document_id"] and gold_unit["start"] is not None
    ]
    return shorten_around(whole, [span for span in spans if span[0] < span[1]])


def shorten_around(text: str, marked: Iterable[tuple[int, int]] = ()) -> Text:
    """Return a limited number of characters, starting a little before the first marked span."""
    spans = sorted(marked)
    start = 0
    if spans and spans[0][1] > MAX_CHARACTERS:
        start = max(spans[0][0] - _AROUND_GOLD, 0)
    end = min(start + MAX_CHARACTERS, len(text))
    pieces, position = ["\u2026" if start else ""], start
    for low, high in spans:
        low, high = max(low, position), min(high, end)
        if low < high:
            pieces[-1] += text[position:low]
            pieces += [text[low:high], ""]
            position = high
    pieces[-1] += text[position:end]
    return Text(tuple(pieces), len(text) - (end - start))
