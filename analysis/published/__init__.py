"""Numbers printed in papers, with their sources, and the cells of a sweep that correspond to their rows.

`<paper>_<table>.csv` hold the numbers as printed, one per line. `levels.csv` says which of our axis values a level of a
table corresponds to ("Hybrid+Rerank" is retriever=hybrid_rerank), with the names by which a model is known.
"""

from analysis.published.missing import missing_lines
from analysis.published.pairing import Difference, Pair, Paired, pair
from analysis.published.papers import TABLES, MetricNames, Paper, TableInfo
from analysis.published.printed_beside import Beside, Block, Line, put_beside
from analysis.published.printed_numbers import Number, Row, Table, read_table

__all__ = [
    "TABLES",
    "Beside",
    "Block",
    "Difference",
    "Line",
    "MetricNames",
    "Number",
    "Pair",
    "Paired",
    "Paper",
    "Row",
    "Table",
    "TableInfo",
    "missing_lines",
    "pair",
    "put_beside",
    "read_table",
]
