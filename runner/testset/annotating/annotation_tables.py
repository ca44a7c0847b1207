"""Tables of agreement, acceptance and splits, for the terminal and for JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Literal

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from components.json_value import Json
from runner.testset.annotating.acceptance import CellAcceptance
from runner.testset.annotating.annotation_choices import THRESHOLDS
from runner.testset.annotating.annotator_agreement import AnnotatorAgreement
from runner.testset.annotating.disjoint_parts import DisjointPart


def show_agreement(console: Console, agreement: AnnotatorAgreement) -> None:
    """Print the alphas and marks of all annotators, then the ratings of each pair."""
    rows = [
        (name, f"{alpha.n_units:,}", _with_interval(alpha.value, alpha.low, alpha.high))
        for name, alpha in agreement.alphas.items()
    ]
    marks = agreement.marks
    table = _table(f"Agreement of {agreement.n_annotators} annotators: Krippendorff's alpha", ("", "samples", "alpha"))
    for row in rows:
        table.add_row(*row)
    console.print(table)
    f1 = _with_interval(marks.value, marks.low, marks.high)
    console.print(f"characters marked: F1 {f1}, {agreement.n_marked} samples")
    if agreement.pairs:
        columns = ("annotators", "samples", "equal ratings", "weighted kappa")
        pairs = _table("Ratings of each pair", columns)
        for pair in agreement.pairs:
            equal, kappa = pair.ratings.accuracy, pair.ratings.weighted_kappa
            pairs.add_row(
                escape(f"{pair.first} and {pair.second}"),
                f"{pair.ratings.n:,}",
                *(_with_interval(measure.value, *(measure.interval or (None, None))) for measure in (equal, kappa)),
            )
        console.print(pairs)


def agreement_record(agreement: AnnotatorAgreement) -> dict[str, Json]:
    """Return the whole agreement as JSON values."""
    pairs = [
        {
            "annotators": [pair.first, pair.second],
            "n": pair.ratings.n,
            "equal": asdict(pair.ratings.accuracy),
            "weighted_kappa": asdict(pair.ratings.weighted_kappa),
        }
        for pair in agreement.pairs
    ]
    alphas = {name: asdict(alpha) for name, alpha in agreement.alphas.items()}
    marks: dict[str, Json] = {"f1": agreement.marks.value, "low": agreement.marks.low, "high": agreement.marks.high}
    return {"alphas": alphas, "marks": {**marks, "n": agreement.n_marked}, "pairs": pairs}


def show_acceptance(console: Console, cells: Sequence[CellAcceptance]) -> None:
    """Print the acceptance of the whole set, then of each matrix field."""
    thresholds = (f"rated {threshold} or more" for threshold in THRESHOLDS)
    table = _table("Acceptance", ("topic", "task", "samples", "rated", *thresholds), 2)
    for cell in cells:
        shares = (cell.shares[threshold] for threshold in THRESHOLDS)
        intervals = (_with_interval(share.value, share.low, share.high) for share in shares)
        table.add_row(escape(cell.topic), escape(cell.task), f"{cell.n_samples:,}", f"{cell.n_rated:,}", *intervals)
    console.print(table)


def show_split(console: Console, parts: Sequence[DisjointPart]) -> None:
    """Print the requested and the actual sizes of the parts."""
    table = _table("Parts without a gold document in common", ("part", "requested", "samples", "groups"))
    for part in parts:
        table.add_row(part.name, f"{part.n_requested:,.1f}", f"{len(part.samples):,}", f"{part.n_groups:,}")
    console.print(table)


def _table(title: str, columns: Sequence[str], n_texts: int = 1) -> Table:
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for i, column in enumerate(columns):
        justify: Literal["left", "right"] = "left" if i < n_texts else "right"
        table.add_column(column, justify=justify)
    return table


def _with_interval(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" + (f" [dim]{low:.3f}–{high:.3f}[/]" if low is not None and high is not None else "")
