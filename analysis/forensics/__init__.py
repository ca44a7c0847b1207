"""Tables of the stages at which samples of cells fail, and the reasons, from the verdicts of `components.forensics`."""

from analysis.forensics.verdict_tables import all_verdicts, evidence_depth, failure_counts, transitions, verdicts

__all__ = ["all_verdicts", "evidence_depth", "failure_counts", "transitions", "verdicts"]
