"""Tables of the verdicts on all samples of cells: failures, depth of the evidence, changes between cells."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from components.errors import DataError
from components.forensics.stages import THETA
from runner.results import CellResult, LoadedSweep, all_failed_text, sample_verdicts

if TYPE_CHECKING:
    import pandas as pd
from components.forensics.failures import Failure
from components.forensics.stages import EvidenceStage


def verdicts(sweep: LoadedSweep, cell: CellResult, theta: float = THETA) -> "pd.DataFrame":
    """Return a row per sample, in the order of `samples.parquet`.

    The columns are id, subset, topic, task, stage, outcome, failure ("" for an answer that did not fail), rule,
    is_uncertain (bool), doubts (the reason for it, or "") and rank_needed (Int64). `rule` is "claims" or "characters"
    if the failure says where a wrong answer comes from, else "". `rank_needed` is the rank down to which the hits
    contain the evidence; it is missing if all of them together do not.

    `theta` is the share of a gold unit's characters that counts as enough of it. Raises DataError for a cell without a
    table of samples, or with a table of an earlier version.
    """
    import pandas as pd

    samples = sample_verdicts(sweep, cell, theta)
    return pd.DataFrame(
        {
            "id": [sample.id for sample in samples],
            "subset": [sample.subset for sample in samples],
            "topic": [sample.topic for sample in samples],
            "task": [sample.task for sample in samples],
            "stage": [sample.verdict.stage.value for sample in samples],
            "outcome": [sample.verdict.outcome.value for sample in samples],
            "failure": [sample.verdict.failure.value for sample in samples],
            "rule": [sample.verdict.rule.value if sample.verdict.rule else "" for sample in samples],
            "is_uncertain": [bool(sample.verdict.doubts) for sample in samples],
            "doubts": ["; ".join(sample.verdict.doubts) for sample in samples],
            "rank_needed": pd.array([sample.verdict.rank_needed for sample in samples], dtype="Int64"),
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
        raise DataError(f"{sweep.name}: {all_failed_text(sweep.cells) or 'no cell has samples'}")
    tables = [verdicts(sweep, cell, theta) for cell in chosen]
    for cell, table in zip(chosen, tables, strict=True):
        table.insert(0, "cell_id", cell.cell_id)
    return pd.concat(tables, ignore_index=True)


_WITHOUT_EVIDENCE = (EvidenceStage.NO_GOLD, EvidenceStage.NOT_SEARCHED, EvidenceStage.NOT_IN_CORPUS)


def failure_counts(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return a row per cell and class that occurs in any cell, from the frame of `all_verdicts`.

    The columns are cell_id, failure ("" for samples without a failure), n, n_uncertain (int64) and share (float64 of
    the cell's samples). Rows are in the order of the cells and of `Failure`.
    """
    import pandas as pd

    cells = list(dict.fromkeys(frame["cell_id"]))
    classes = [failure.value for failure in Failure if (frame["failure"] == failure.value).any()]
    every = pd.MultiIndex.from_product([cells, classes], names=["cell_id", "failure"])
    groups = frame.groupby(["cell_id", "failure"])["is_uncertain"]
    counts = pd.DataFrame({"n": groups.size(), "n_uncertain": groups.sum()}).reindex(every, fill_value=0)
    counts["share"] = counts["n"] / counts.groupby("cell_id")["n"].transform("sum")
    return counts.astype({"n": "int64", "n_uncertain": "int64"}).reset_index()


def evidence_depth(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return, by cell and rank k, the share of samples whose first k hits contain enough of all evidence.

    `frame` is the frame of `all_verdicts`. The columns are cell_id, k (int64, from 1 to the deepest rank that any
    sample needs), share (float64) and n (int64), the samples with evidence in the corpus. Cells without such samples
    have no row.
    """
    import pandas as pd

    with_evidence = frame[~frame["stage"].isin([stage.value for stage in _WITHOUT_EVIDENCE])]
    deepest = int(with_evidence["rank_needed"].max()) if with_evidence["rank_needed"].notna().any() else 0
    rows = []
    for cell_id, group in with_evidence.groupby("cell_id", sort=False):
        needed = group["rank_needed"].dropna().astype("int64").value_counts()
        shares = needed.reindex(range(1, deepest + 1), fill_value=0).cumsum() / len(group)
        rows += [(cell_id, k, share, len(group)) for k, share in shares.items()]
    table = pd.DataFrame(rows, columns=["cell_id", "k", "share", "n"])
    return table.astype({"k": "int64", "share": "float64", "n": "int64"})


def transitions(frame: "pd.DataFrame", cell_id: str, other_id: str) -> "pd.DataFrame":
    """Count how samples change their class from one cell to the other, over the samples that both have.

    `frame` is the frame of `all_verdicts`. There is a row per pair of classes that occurs, the most frequent first:
    before, after (classes, "" for none) and n (int64). Raises DataError for cells without a common sample.
    """
    sides = [frame[frame["cell_id"] == side].set_index("id")["failure"] for side in (cell_id, other_id)]
    both = sides[0].to_frame("before").join(sides[1].rename("after"), how="inner")
    if both.empty:
        raise DataError(f"{cell_id}, {other_id}: no sample in common, expected two cells over the same data")
    counts = both.groupby(["before", "after"]).size().rename("n").reset_index()
    return counts.sort_values(["n", "before", "after"], ascending=[False, True, True], ignore_index=True)
