"""Tables of the verdicts on all samples of cells: failures, depth of the evidence, changes between cells."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from components.errors import DataError
from components.forensics.stages import THETA
from runner.results import CellResult, LoadedSweep, sample_verdicts

if TYPE_CHECKING:
    import pandas as pd
from components.forensics.failures import Failure
from components.forensics.stages import EvidenceStage


def verdicts(sweep: LoadedSweep, cell: CellResult, theta: float = THETA) -> "pd.DataFrame":
    """Return a row per sample, in the order of `samples.parquet`.

    The columns are id, subset, topic, task, stage, outcome, failure ("" without a failure), rule, is_uncertain (bool),
    doubts (the reason for it, or "") and rank_needed (Int64). `rule` is "claims" or "characters" if the failure says
    where a wrong answer comes from, else "". `rank_needed` is the rank down to which the hits contain the
    evidence; it is missing if all of them together do not.

    `theta` is the share of a gold unit's characters that counts as enough of it. Raises DataError for a cell without a
    table of samples, or with a table of an earlier version.
    """
    import pandas as pd

    found = sample_verdicts(sweep, cell, theta)
    return pd.DataFrame(
        {
            "id": [own.id for own in found],
            "subset": [own.subset for own in found],
            "topic": [own.topic for own in found],
            "task": [own.task for own in found],
            "stage": [own.verdict.stage.value for own in found],
            "outcome": [own.verdict.outcome.value for own in found],
            "failure": [own.verdict.failure.value for own in found],
            "rule": [own.verdict.rule.value if own.verdict.rule else "" for own in found],
            "is_uncertain": [bool(own.verdict.doubts) for own in found],
            "doubts": ["; ".join(own.verdict.doubts) for own in found],
            "rank_needed": pd.array([own.verdict.rank_needed for own in found], dtype="Int64"),
        }
    )


def all_verdicts(sweep: LoadedSweep, cells: Iterable[CellResult] | None = None, theta: float = THETA) -> "pd.DataFrame":
    """Return the verdicts on the samples of several cells, one cell after the other, with `cell_id` first.

    None stands for all cells with results. Raises the DataError of `verdicts`, and a DataError if there is no such
    cell.
    """
    import pandas as pd

    chosen = [cell for cell in sweep.cells if cell.metrics] if cells is None else list(cells)
    if not chosen:
        raise DataError(f"{sweep.name}: no cell to look at: all failed")
    tables = [verdicts(sweep, cell, theta) for cell in chosen]
    for cell, table in zip(chosen, tables, strict=True):
        table.insert(0, "cell_id", cell.cell_id)
    return pd.concat(tables, ignore_index=True)


_WITHOUT_EVIDENCE = (EvidenceStage.NO_GOLD, EvidenceStage.NOT_SEARCHED, EvidenceStage.NOT_IN_CORPUS)


def failure_counts(found: "pd.DataFrame") -> "pd.DataFrame":
    """Return a row per cell and class that occurs in any cell, from the frame of `all_verdicts`.

    The columns are cell_id, failure ("" for samples without a failure), n, n_uncertain (int64) and share (float64 of
    the cell's samples). Rows are in the order of the cells and of `Failure`.
    """
    import pandas as pd

    cells = list(dict.fromkeys(found["cell_id"]))
    classes = [own.value for own in Failure if (found["failure"] == own.value).any()]
    every = pd.MultiIndex.from_product([cells, classes], names=["cell_id", "failure"])
    groups = found.groupby(["cell_id", "failure"])["is_uncertain"]
    counts = pd.DataFrame({"n": groups.size(), "n_uncertain": groups.sum()}).reindex(every, fill_value=0)
    counts["share"] = counts["n"] / counts.groupby("cell_id")["n"].transform("sum")
    return counts.astype({"n": "int64", "n_uncertain": "int64"}).reset_index()


def evidence_depth(found: "pd.DataFrame") -> "pd.DataFrame":
    """Return, by cell and rank k, the share of samples whose first k hits contain enough of all evidence.

    `found` is the frame of `all_verdicts`. The columns are cell_id, k (int64, from 1 to the deepest rank that any
    sample needs), share (float64) and n (int64), the samples with evidence in the corpus. Cells without such samples
    have no row.
    """
    import pandas as pd

    known = found[~found["stage"].isin([stage.value for stage in _WITHOUT_EVIDENCE])]
    deepest = int(known["rank_needed"].max()) if known["rank_needed"].notna().any() else 0
    rows = []
    for cell_id, own in known.groupby("cell_id", sort=False):
        needed = own["rank_needed"].dropna().astype("int64").value_counts()
        shares = needed.reindex(range(1, deepest + 1), fill_value=0).cumsum() / len(own)
        rows += [(cell_id, k, share, len(own)) for k, share in shares.items()]
    table = pd.DataFrame(rows, columns=["cell_id", "k", "share", "n"])
    return table.astype({"k": "int64", "share": "float64", "n": "int64"})


def transitions(found: "pd.DataFrame", cell_id: str, other_id: str) -> "pd.DataFrame":
    """Return how often samples change their class from one cell to the other, over the samples that both have.

    `found` is the frame of `all_verdicts`. There is a row per pair of classes that occurs, the most frequent first:
    before, after (classes, "" for none) and n (int64). Raises DataError for cells without a common sample.
    """
    sides = [found[found["cell_id"] == own].set_index("id")["failure"] for own in (cell_id, other_id)]
    both = sides[0].to_frame("before").join(sides[1].rename("after"), how="inner")
    if both.empty:
        raise DataError(f"{cell_id}, {other_id}: no sample in common; expected two cells over the same data")
    counts = both.groupby(["before", "after"]).size().rename("n").reset_index()
    return counts.sort_values(["n", "before", "after"], ascending=[False, True, True], ignore_index=True)
