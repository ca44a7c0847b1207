"""Tables of the stages at which samples of cells fail, and the reasons, from the verdicts of `components.forensics`."""

from analysis.forensics.failure_tables import evidence_depth, failure_counts, transitions
from analysis.forensics.verdict_table import all_verdicts, verdicts

__all__ = ["all_verdicts", "evidence_depth", "failure_counts", "transitions", "verdicts"]
