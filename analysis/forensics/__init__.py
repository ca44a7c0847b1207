"""Where the samples of cells fail, and why: tables of what `components.forensics` says of each."""

from analysis.forensics.verdicts import verdicts

__all__ = ["verdicts"]
