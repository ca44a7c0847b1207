"""Numbers printed in papers, with their sources, and the cells of a sweep that correspond to their rows.

`<paper>_<table>.csv` contain the numbers as printed, one per line. `levels.csv` maps the levels of a table to values of
our axes ("Hybrid+Rerank" is retriever=hybrid_rerank), including the names of models.
"""

from analysis.published.missing_numbers import missing_lines
from analysis.published.pairing import Difference, PrintedPair, TablePairing, pair
from analysis.published.papers import TABLES, MetricNames, Paper, TableInfo
from analysis.published.printed_comparison import PrintedBlock, PrintedComparison, PrintedLine, compare_with_printed
from analysis.published.printed_numbers import PrintedNumber, PrintedTable, Row, read_table

__all__ = [
    "TABLES",
    "Difference",
    "MetricNames",
    "Paper",
    "PrintedBlock",
    "PrintedComparison",
    "PrintedLine",
    "PrintedNumber",
    "PrintedPair",
    "PrintedTable",
    "Row",
    "TableInfo",
    "TablePairing",
    "compare_with_printed",
    "missing_lines",
    "pair",
    "read_table",
]
