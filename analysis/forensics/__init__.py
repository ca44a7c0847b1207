"""Where the samples of cells fail, and why: tables of what `components.forensics` says of each."""

from analysis.forensics.failure_tables import evidence_depth, failure_counts, transitions
from analysis.forensics.verdict_table import all_verdicts, verdicts

__all__ = ["all_verdicts", "evidence_depth", "failure_counts", "transitions", "verdicts"]
