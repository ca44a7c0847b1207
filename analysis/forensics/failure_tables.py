"""Summaries of the verdicts on many samples: numbers of failures, depth of the evidence, changes between cells."""

from typing import TYPE_CHECKING

from components.errors import DataError
from components.forensics.failures import Failure
from components.forensics.stages import EvidenceStage

if TYPE_CHECKING:
    import pandas as pd

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
